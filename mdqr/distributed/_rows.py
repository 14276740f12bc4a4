"""Rows of a problem in chunks: where they come from, and one chunk as blocks of limbs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from mdqr._array.array import MDArray
from mdqr._errors import shown
from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Block, Kind
from mdqr._precision import Precision
from mdqr._stability import experimental
from mdqr._typing import PrecisionLike
from mdqr.linalg._shared.checks import fetch, where_not_finite
from mdqr.linalg._shared.operands import (
    as_integer,
    data_precision,
    entry_unit,
    gather,
    precision_for,
)

# Bytes of limbs in a chunk of an array that is cut here.
_CHUNK_BYTES = 2**25
# Exceptions that a text makes.
_PLAIN = frozenset({
    np.linalg.LinAlgError, ValueError, TypeError, KeyError, IndexError, LookupError, OSError,
    FileNotFoundError, PermissionError, ConnectionError, TimeoutError, EOFError, ImportError,
    AttributeError, NameError, MemoryError, ArithmeticError, ZeroDivisionError, OverflowError,
    FloatingPointError, AssertionError, RecursionError, RuntimeError,
    Warning, UserWarning, RuntimeWarning, DeprecationWarning,
})  # fmt: skip


@experimental
class Rows:
    """Rows that a function gives, chunk by chunk, as often as they are asked for.

    Parameters
    ----------
    function : callable
        Called as ``function(i)``; returns chunk i: ``(a, b)``, ``(a, b, weights)``, or a matrix
        alone for problems without right-hand sides. For other processes it can be pickled.
    count : int
        The number of chunks.

    Raises
    ------
    TypeError, ValueError
        If `function` cannot be called, or `count` is not an integer from 0 on.

    Examples
    --------
    >>> import numpy as np
    >>> from mdqr import distributed as md
    >>> def chunk(i):
    ...     t = np.arange(10.0 * i, 10.0 * i + 10.0)
    ...     return np.vander(t, 2), 3 * t + 1
    >>> md.lstsq(md.Rows(chunk, 5), precision="qd").x.to_numpy().round(12).tolist()
    [3.0, 1.0]
    """

    def __init__(self, function: Callable[[int], Any], count: int) -> None:
        if not callable(function):
            raise TypeError(f"Rows: function must be callable with i; got {shown(function)}")
        number = as_integer(count)
        if number is None:
            raise TypeError(f"Rows: count must be an integer; got {shown(count)}")
        if number < 0:
            raise ValueError(f"Rows: count must not be negative; got {count}")
        self.function, self.count = function, number

    def __repr__(self) -> str:
        return f"<Rows of {self.count} chunks>"

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Any:
        if not 0 <= index < self.count:
            raise IndexError(f"chunk {index} of {self.count} does not exist")
        return self.function(index)


Rows.__module__ = "mdqr.distributed"


def integer_from(least: int, x: Any, name: str, other: str = "") -> int:
    """Return an option that is an integer from `least` on, as Python's, which cannot overflow.

    Raises
    ------
    ValueError
        If it is none; `other` names further values for the message.
    """
    number = as_integer(x)
    if number is None or number < least:
        raise ValueError(f"{name} must be {other}an integer from {least} on; got {shown(x)}")
    return number


class Source(NamedTuple):
    """Chunks in their order.

    An item is a chunk, the parts of one as Dask's delayed objects, or `Rows` with an index. `once`
    means that items can be taken only once, `delayed` that Dask computes them, and `held` that all
    lie in memory of their own.
    """

    items: Iterable[Any]
    length: int | None
    once: bool = False
    delayed: bool = False
    held: bool = False


class Form(NamedTuple):
    """The common form of all chunks: precisions, field, columns, and right-hand sides.

    `units` are half a unit in the last place of entries of a and of b, relative to them; chunks may
    have the limbs of `most`. With `changes` chunks may be others in each pass.
    """

    precision: Precision
    work: Precision
    is_complex: bool
    n: int
    right: int
    is_vector: bool
    units: tuple[float, float]
    most: Precision
    changes: bool = True

    @property
    def kind(self) -> Kind:
        """The kind of the working precision."""
        return Kind(self.work.limbs, self.is_complex)


class Chunk(NamedTuple):
    """Blocks ``(m, n)`` and ``(m, k)``, and real weights ``(m,)`` or None; `place` among all."""

    place: int
    a: Block
    b: Block
    weights: Block | None


class ChunkError(Exception):
    """A chunk that cannot be used; `made` is the exception for the caller."""

    def __init__(self, index: int, made: Exception) -> None:
        super().__init__(index, made)
        self.index, self.made = index, made


def source(
    function: str, a: Any, b: Any = None, weights: Any = None, *, cuts: int | None = None
) -> Source:
    """Return the chunks of the operands; of an array as many as `cuts`.

    Raises
    ------
    TypeError, ValueError
        If it has no rows, or parts that do not fit.
    """
    if _is_dask(a) or _is_dask(b):
        return _of_dask(function, [x for x in (a, b, weights) if x is not None])
    if isinstance(a, Rows):
        _require_alone(function, b, weights)
        return Source([(a, i) for i in range(a.count)], a.count)
    if isinstance(a, (MDArray, np.ndarray)) or (b is not None and hasattr(a, "__len__")):
        return _of_arrays(function, a, b, weights, cuts)
    _require_alone(function, b, weights)
    if isinstance(a, Sequence) and not isinstance(a, (str, bytes)):
        delayed = any(_is_dask(x) for item in a for x in (item, *_parts(item)))
        return Source(list(a), len(a), delayed=delayed)
    if isinstance(a, Iterator):
        return Source(a, None, once=True)
    raise TypeError(
        f"{function}: rows are arrays a and b, Dask arrays, a list or an iterator of chunks "
        f"(a, b), or mdqr.distributed.Rows; got {type(a).__name__}"
    )


def _require_alone(function: str, b: Any, weights: Any) -> None:
    if b is not None or weights is not None:
        raise ValueError(
            f"{function}: chunks bring their right-hand sides and weights along, as (a, b, weights)"
        )


def _is_dask(x: Any) -> bool:
    return callable(getattr(x, "__dask_graph__", None))


def _parts(item: Any) -> tuple[Any, ...]:
    return tuple(item) if isinstance(item, (tuple, list)) else (item,)


def _of_dask(function: str, arrays: list[Any]) -> Source:
    """Return the blocks of Dask arrays or data frames, which must have the same cuts."""
    names, first = ("a", "b", "weights"), arrays[0]
    if not all(map(_is_dask, arrays)):
        raise TypeError(f"{function}: give a, b and weights all as Dask arrays")
    if getattr(first, "numblocks", (1, 1))[1:] not in ((), (1,)):
        raise ValueError(
            f"{function}: a has {first.numblocks[1]} blocks of columns: a.rechunk({{1: -1}})"
        )
    blocks = [np.ravel(x.to_delayed()).tolist() for x in arrays]
    lengths = getattr(first, "chunks", ((),))[0]
    for name, x, parts in zip(names, arrays, blocks, strict=False):
        own = getattr(x, "chunks", ((),))[0]
        known = bool(lengths and own) and not np.isnan([*lengths, *own]).any()
        if len(parts) != len(blocks[0]) or (known and own != lengths):
            raise ValueError(
                f"{function}: the chunks of {name} are not those of a: "
                f"{name}.rechunk({{0: a.chunks[0]}})"
            )
    items = [list(parts) for parts in zip(*blocks, strict=True)]
    return Source(items, len(items), delayed=True)


def _of_arrays(function: str, a: Any, b: Any, weights: Any, cuts: int | None) -> Source:
    """Cut arrays in memory into chunks."""
    try:
        given = [_array(x) for x in (a, b, weights) if x is not None]
    except ValueError as error:
        raise ValueError(f"{function}: {error}") from None
    lengths = [x.shape[0] if x.ndim else 0 for x in given]
    if len(set(lengths)) > 1 or given[0].ndim != 2:
        shapes = ", ".join(str(tuple(x.shape)) for x in given)
        raise ValueError(f"{function}: a must be (m, n), and b have m rows; got {shapes}")
    size = max(1, getattr(given[0], "nbytes", 8) // max(lengths[0], 1))
    rows = max(4 * given[0].shape[1], _CHUNK_BYTES // size, 1)
    if cuts is not None:
        rows = max(1, -(-lengths[0] // cuts))
    items = [tuple(x[i : i + rows] for x in given) for i in range(0, lengths[0], rows)]
    return Source(items or [tuple(given)], max(len(items), 1))


def _array(x: Any) -> Any:
    """Return an array: of numbers, or of objects, which keep their digits."""
    if hasattr(x, "shape"):
        return x
    found = np.asarray(x)
    return found if found.dtype.kind in "biufc" else np.asarray(x, dtype=object)


def opened(item: Any) -> tuple[Any, ...]:
    """Return the parts of a chunk: a, b and weights, as far as they are given."""
    if isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], Rows):
        item = item[0][item[1]]
    return _parts(item)


def form_of(
    function: str, parts: tuple[Any, ...], precision: PrecisionLike | None, *, sides: bool
) -> Form:
    """Return the form of all chunks from the first.

    Raises
    ------
    ValueError, TypeError
        If it is none.
    """
    a, b = _matrix_and_sides(function, 0, parts, sides)
    try:
        inputs = gather(*[x for x in (a, b) if x is not None], precision=precision, trimmed=False)
    except (ValueError, TypeError) as error:
        raise named(function, 0, error) from None
    shapes = [inputs.shape(i) for i in range(len(inputs.blocks))]
    if len(shapes[0]) != 2 or (b is not None and len(shapes[1]) not in (1, 2)):
        raise ValueError(
            f"{function}: chunk 0: a must be (m, n) and b (m,) or (m, k); got "
            f"{' and '.join(map(str, shapes))}"
        )
    # In one limb the residual of the next pass could not be held.
    work = max(inputs.work, precision_for(2), key=lambda p: p.limbs)
    is_vector = b is not None and len(shapes[1]) == 1
    right = 0 if b is None else 1 if is_vector else shapes[1][1]
    units = [entry_unit(x, data_precision(x, work)) for x in (a, b) if x is not None]
    return Form(
        *(inputs.precision, work, inputs.is_complex, shapes[0][1], right, is_vector),
        units=(units[0], units[-1]),
        most=inputs.work if precision is None else work,
    )


def _matrix_and_sides(
    function: str, index: int, parts: tuple[Any, ...], sides: bool
) -> tuple[Any, Any]:
    least = 2 if sides else 1
    if not least <= len(parts) <= 3:
        wanted = "(a, b) or (a, b, weights)" if sides else "a matrix"
        raise ValueError(f"{function}: chunk {index} has {len(parts)} parts; wanted {wanted}")
    return parts[0], parts[1] if sides else None


def chunk_of(
    function: str, index: int, item: Any, form: Form, *, sides: bool, known: bool = False
) -> Chunk:
    """Return a chunk as blocks in the working precision; `known` if a pass has seen all of it.

    Raises
    ------
    ChunkError
        If it cannot be read, does not fit the form, or is not finite.
    """
    try:
        parts = opened(item)
        given = _matrix_and_sides(function, index, parts, sides)
        weights = parts[2] if sides and len(parts) == 3 else None
        return _chunk(function, index, given, weights, form, known=known and not form.changes)
    except Exception as error:  # a source may raise anything
        raise ChunkError(index, named(function, index, error)) from error


def named(function: str, index: int, error: Exception) -> Exception:
    """Return an exception that names the chunk, of the type or of its next base that takes a text.

    So it can be pickled, whatever the constructor of the type takes.
    """
    text, where = str(error), f"{function}: chunk {index}"
    if isinstance(error, OSError) and error.errno is not None and error.strerror is not None:
        # It prints the number first, and the name of the file last.
        return OSError(error.errno, f"{where}: {error.strerror}", error.filename)
    kind = next((known for known in type(error).__mro__ if known in _PLAIN), RuntimeError)
    is_own = kind is type(error) or type(error).__module__.partition(".")[0] == "mdqr"
    name = "" if is_own else f"{type(error).__name__}: "
    return kind(text if text.startswith(where) else f"{where}: {name}{text}")


def numbered(function: str, items: Iterable[Any]) -> Iterator[tuple[int, Any]]:
    """Yield the chunks with their index.

    Raises
    ------
    ChunkError
        If the next one cannot be had.
    """
    steps, index = iter(items), 0
    while True:
        try:
            item = next(steps)
        except StopIteration:
            return
        except Exception as error:
            raise ChunkError(index, named(function, index, error)) from error
        yield index, item
        index += 1


def _chunk(
    function: str, index: int, given: tuple[Any, Any], weights: Any, form: Form, *, known: bool
) -> Chunk:
    b = given[1]
    where = f"{function}: chunk {index}"
    present = [x for x in given if x is not None]
    inputs = gather(*present, precision=form.precision, trimmed=False)
    if inputs.work > form.most:
        raise ValueError(
            f"{where} has precision {inputs.work.name}, and chunk 0 {form.most.name}: "
            f"precision={inputs.work.name!r} takes both"
        )
    if inputs.is_complex and not form.is_complex:
        raise ValueError(f"{where} is complex, and chunk 0 is real: give chunk 0 as complex")
    m = inputs.shape(0)[0]
    shapes = [inputs.shape(i) for i in range(len(present))]
    wanted = [(m, form.n), (m,) if form.is_vector else (m, form.right)][: len(present)]
    if shapes != wanted:
        raise ValueError(
            f"{where}: shapes {', '.join(map(str, shapes))}; with {m} rows and the columns of "
            f"chunk 0 wanted are {', '.join(map(str, wanted))}"
        )
    blocks = [_widened(x, inputs.is_complex, form) for x in inputs.blocks]
    if form.is_vector and b is not None:
        blocks[1] = blocks[1][..., None]
    for name, block in zip("ab" if not known else "", blocks, strict=False):
        _require_finite(where, name, block, form.is_complex)
    right = blocks[0][..., :0] if b is None else blocks[1]
    found = Chunk(index, blocks[0], right, None)
    return found if weights is None else _with_weights(where, found, weights, form)


def _widened(block: Block, is_complex: bool, form: Form) -> Block:
    if form.is_complex and not is_complex:
        block, is_complex = planes.complexify(block), True
    return planes.widen(block, is_complex, form.work.limbs)


def _require_finite(where: str, name: str, block: Block, is_complex: bool) -> None:
    if not bool(fetch(scaling.finite(block, is_complex))[0]):
        place = where_not_finite(name, block, is_complex)
        raise np.linalg.LinAlgError(f"{where}: {place} is NaN or infinite")


def _with_weights(where: str, chunk: Chunk, weights: Any, form: Form) -> Chunk:
    """Return the rows of positive weight, with their weights."""
    inputs = gather(weights, precision=form.work, trimmed=False)
    block = planes.widen(inputs.blocks[0], inputs.is_complex, form.work.limbs)
    if inputs.is_complex or inputs.shape(0) != chunk.a.shape[-2:-1]:
        raise ValueError(f"{where}: weights must be real, one a row; got {shown(weights)}")
    (signs,) = fetch(block[0])
    if not (np.isfinite(signs).all() and (signs >= 0).all()):
        row = int(np.argmin(np.isfinite(signs) & (signs >= 0)))
        raise ValueError(f"{where}: the weight of row {row} is negative or not finite")
    if (signs > 0).all():
        return chunk._replace(weights=block)
    held = planes.namespace(block).asarray(np.flatnonzero(signs > 0))
    return Chunk(chunk.place, chunk.a[..., held, :], chunk.b[..., held, :], block[..., held])
