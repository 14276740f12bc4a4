"""Conversion of operands of the caller to blocks of one field, and back to arrays."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from mdqr._array.array import MDArray
from mdqr._backend import for_block
from mdqr._backend.blocks import broadcast_shapes
from mdqr._backend.protocol import Backend
from mdqr._convert.array_like import EXACT_INTEGER, is_frame
from mdqr._core.promotion import precisions_in, to_block, together, unwrapped
from mdqr._limbs import planes
from mdqr._limbs.device import check_together, is_cuda_array
from mdqr._limbs.planes import Block, Kind
from mdqr._precision import PRECISIONS, Precision, as_precision
from mdqr._typing import PrecisionLike
from mdqr.linalg._shared.checks import fetch

# Functions of rectangular matrices, in place of one that takes none.
_OF_RECTANGULAR = {
    "solve": ": use lstsq for rectangular systems",
    "inv": ": use pinv for rectangular matrices",
    "eig": ": use svd for rectangular matrices",
}
# An index for each axis of a batch, on the host.
Items = tuple[np.ndarray, ...]


class Inputs(NamedTuple):
    """Blocks of one field without trailing zero planes, and the precisions of the work."""

    precision: Precision
    work: Precision
    is_complex: bool
    blocks: list[Block]

    @property
    def backend(self) -> Backend:
        """The backend of the blocks, for callers that compute there."""
        return for_block(self.blocks[0])

    @property
    def kind(self) -> Kind:
        """The kind of the results of the work."""
        return Kind(self.work.limbs, self.is_complex)

    def shape(self, index: int) -> tuple[int, ...]:
        """Return the shape of the values of one operand."""
        return tuple(self.blocks[index].shape[1 + self.is_complex :])

    def wrap(self, block: Block, is_complex: bool | None = None) -> MDArray:
        """Return the array of a result of the work, rounded once to the precision asked for.

        A rounded one shares no memory with `block`, which an info may hold.
        """
        field = self.is_complex if is_complex is None else is_complex
        limbs = self.precision.limbs
        if block.shape[field] > limbs:
            block = planes.narrow(block, field, limbs).copy()
        return MDArray._wrap(block, self.precision, field)


def gather(*values: Any, precision: PrecisionLike | None, trimmed: bool = True) -> Inputs:
    """Convert the operands of a function of linear algebra.

    Data stay as they are: an operand of a higher precision than the answer is used in full, and
    the answer is rounded once.

    On a device, the search for zero planes of all operands together waits for it once.

    Parameters
    ----------
    *values : array_like
        What `mdqr.array` takes.
    precision : Precision, str or None
        The precision of the answer; None means the highest of the operands, where a NumPy array
        or a sequence of Python numbers counts as d, unless it holds integers beyond 2**53.
    trimmed : bool, optional
        Leave trailing zero planes out. If false, only where there are more limbs than the answer
        has, so that nothing waits for a device otherwise.

    Returns
    -------
    Inputs
        The blocks and the precisions.

    Raises
    ------
    TypeError
        If an operand is not numeric, or exact numbers come without a precision.
    ValueError
        If the operands live on two devices.
    """
    if precision is None and _have_one_kind(values) and not (trimmed and _have_zero_planes(values)):
        first = values[0]
        blocks = [value._block for value in values]
        return Inputs(first._precision, first._precision, first._complex, blocks)
    given = [value if isinstance(value, MDArray) else unwrapped(value) for value in values]
    answer = as_precision(precision) if precision is not None else _highest(given)
    arrays = [(v._block, v._complex) for v in given if isinstance(v, MDArray)]
    pairs = trim(arrays, 1 if trimmed else answer.limbs)
    work = precision_for(max([answer.limbs, *[planes.limb_count(*pair) for pair in pairs]]))
    if len(pairs) < len(given):
        known = iter(pairs)
        pairs = [
            next(known) if isinstance(value, MDArray) else _converted(value, work.limbs)
            for value in given
        ]
        pairs = together(pairs, given)
    is_complex = True in [field for _, field in pairs]
    blocks = [
        planes.complexify(block) if is_complex and not field else block for block, field in pairs
    ]
    return Inputs(answer, work, is_complex, blocks)


def as_array(x: Any, precision: PrecisionLike | None) -> MDArray:
    """Return an operand as an array of the precision of the answer, by default its own."""
    inputs = gather(x, precision=precision)
    return inputs.wrap(planes.widen(inputs.blocks[0], inputs.is_complex, inputs.kind.limbs))


def _have_one_kind(values: tuple[Any, ...]) -> bool:
    """Return whether all are arrays of one kind in host memory: nothing has to be converted."""
    first = values[0]
    for value in values:
        if (
            not isinstance(value, MDArray)
            or not isinstance(value._block, np.ndarray)
            or value._precision is not first._precision
            or value._complex != first._complex
        ):
            return False
    return True


def _have_zero_planes(values: tuple[Any, ...]) -> bool:
    """Return whether `trim` may leave planes of arrays in host memory out."""
    for value in values:
        block = value._block
        last = block[:, -1] if value._complex else block[-1]
        # By bits: who flushes subnormals takes a plane of them for zeros.
        if value._precision.limbs > 1 and not last.view(np.int64).any():
            return True
    return False


def on_host(*values: Any) -> bool:
    """Return whether no operand is in the memory of a device, which would have to be waited for."""
    return all(
        isinstance(v._block, np.ndarray) if isinstance(v, MDArray) else not is_cuda_array(v)
        for v in values
    )


def _converted(value: Any, limbs: int) -> tuple[Block, bool]:
    return trim([to_block(value, limbs)])[0]


@cache
def precision_for(limbs: int) -> Precision:
    """Return the lowest precision with at least `limbs` limbs."""
    return min(p for p in PRECISIONS if p.limbs >= limbs)


def precision_with(eps: float, least: int = 1) -> Precision:
    """Return the lowest precision with such an eps and `least` limbs at least, or the highest."""
    for precision in PRECISIONS:
        if precision.limbs >= least and precision.eps <= eps:
            return precision
    return PRECISIONS[-1]


def kind_with(eps: float, most: Kind, least: int = 1) -> Kind:
    """Return the kind of `precision_with`, of no more limbs than another."""
    return Kind(min(precision_with(eps, least).limbs, most.limbs), most.is_complex)


def half_of(limbs: int) -> int:
    """Return the limbs of the lowest precision with at least half of them."""
    return precision_for((limbs + 1) // 2).limbs


def square_of(eps: float) -> float:
    """Return ``eps**2`` as a factor of bounds, not 0 where that underflows: from 11 limbs on."""
    return max(eps * eps, 2.0**-1074)


def trim(pairs: list[tuple[Block, bool]], least: int = 1) -> list[tuple[Block, bool]]:
    """Return blocks, and whether they are complex, as views without zero planes at the end.

    They have the limbs of the lowest precision that holds every value; those of at most `least`
    limbs keep them.

    Raises
    ------
    ValueError
        If the blocks live on two devices.
    """
    check_together([block for block, _ in pairs])
    asked = [pair for pair in pairs if planes.limb_count(*pair) > least]
    if all(isinstance(block, np.ndarray) for block, _ in asked):
        counts = [planes.held_limbs(*pair) for pair in asked]
    else:
        # A device answers for all blocks by one transfer, so that nothing stops early.
        blocks, fields = zip(*asked, strict=True)
        counts = fetch(for_block(blocks[0]).held_limbs(blocks, fields))[0].tolist()
    held = iter(counts)
    return [_cut(*pair, next(held)) if planes.limb_count(*pair) > least else pair for pair in pairs]


def _cut(block: Block, is_complex: bool, held: int) -> tuple[Block, bool]:
    """Return `block` in the lowest precision with so many limbs, and whether it is complex."""
    limbs = precision_for(max(held, 1)).limbs
    if limbs < planes.limb_count(block, is_complex):
        block = planes.first_limbs(block, is_complex, limbs)
    return block, is_complex


def _highest(values: list[Any]) -> Precision:
    found = [precision for value in values for precision in _precisions(value)]
    if found:
        return max(found, key=attrgetter("limbs"))
    for value in values:
        if _kind(value) not in "biufc":
            to_block(value, 1)  # raises where there are no numbers at all
            raise TypeError(
                f"exact numbers have no precision of their own; got {type(value).__name__}: "
                "give one, as in precision=mdqr.qd"
            )
    return PRECISIONS[0]


def _precisions(value: Any) -> Iterable[Precision]:
    if isinstance(value, MDArray):
        return (value._precision,)
    return precisions_in(unwrapped(value) if is_frame(value) else value)


def data_precision(value: Any, work: Precision) -> Precision:
    """Return the precision to which the entries of `value` are known.

    An `MDArray` has its precision's, floats have that of one limb; integers and exact numbers are
    known to working precision.
    """
    held = _precisions(value)
    if held:
        return min(held, key=attrgetter("limbs"))
    return PRECISIONS[0] if _kind(value) in "fc" else work


def entry_unit(value: Any, precision: Precision) -> float:
    """Return half a unit of the last place of entries known to a precision, relative to them.

    Arrays of float32 and narrower ones have fewer bits than precision d.
    """
    dtype = None if isinstance(value, MDArray) else getattr(value, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind in "fc" and dtype.itemsize:
        return max(float(np.finfo(dtype).eps) / 2, 2.0**-precision.bits)
    return float(2.0**-precision.bits)


def _kind(value: Any) -> str:
    """Return the kind of the dtype of an array, or of NumPy's array of other values.

    Integers beyond those that all are doubles are exact numbers as fractions are, "O", whether
    NumPy has a type for them or not.
    """
    array = unwrapped(value)
    if _has_large_integer(array):
        return "O"
    try:
        return str((array if is_cuda_array(array) else np.asarray(array)).dtype.kind)
    except ValueError:  # a list that holds other sequences than lists
        return "O"


def _has_large_integer(x: Any) -> bool:
    """True if an integer is larger than those that all are doubles."""
    if isinstance(x, np.ndarray) or is_cuda_array(x):
        return bool(
            x.dtype.kind in "iu"
            and x.dtype.itemsize == 8
            and x.size
            and (x.max() > EXACT_INTEGER or x.min() < -EXACT_INTEGER)
        )
    if isinstance(x, (list, tuple)):
        kinds = set(map(type, x))
        if kinds == {int}:
            return max(x) > EXACT_INTEGER or min(x) < -EXACT_INTEGER
        return kinds != {float} and any(_has_large_integer(unwrapped(item)) for item in x)
    return isinstance(x, int) and abs(x) > EXACT_INTEGER


def as_integer(value: Any) -> int | None:
    """Return the value of an integer of any type; None for all others, bool among them."""
    if isinstance(value, (bool, np.bool_)):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


@contextmanager
def memory_guard(function: str, inputs: Inputs, values: int, advice: str) -> Iterator[None]:
    """Say how much `function` wanted, for each matrix of the batch `values`, if memory runs out."""
    try:
        yield
    except MemoryError:
        parts = 2 if inputs.is_complex else 1
        wanted = 8 * inputs.work.limbs * parts * math.prod(inputs.shape(0)[:-2]) * values
        raise MemoryError(
            f"{function}: no memory for about {wanted / 2**30:.3g} GiB; "
            f"{advice}, or a lower precision"
        ) from None


def matrix_shape(function: str, name: str, shape: tuple[int, ...]) -> tuple[int, int]:
    """Return the last two lengths of `shape`.

    Raises
    ------
    numpy.linalg.LinAlgError
        If there are fewer than two.
    """
    if len(shape) < 2:
        raise np.linalg.LinAlgError(
            f"{function}: {name} must have at least two dimensions; got shape {shape}"
            + (f": use {name}.reshape(-1, 1) for one column" if len(shape) == 1 else "")
        )
    return shape[-2], shape[-1]


def pair_of(function: str, name: str, value: Any) -> tuple[Any, Any]:
    """Return the two parts of a tuple, which an array whose rows are as many would pass for."""
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise TypeError(f"{function}: {name} must be a tuple of two; got {type(value).__name__}")
    return value[0], value[1]


def square_order(function: str, name: str, shape: tuple[int, ...]) -> int:
    """Return the order of a square matrix.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the last two lengths differ.
    """
    m, n = matrix_shape(function, name, shape)
    if m != n:
        raise np.linalg.LinAlgError(
            f"{function}: {name} must be square; got shape {shape}"
            + _OF_RECTANGULAR.get(function, "")
        )
    return n


def broadcast_batch(
    function: str, blocks: list[Block], is_complex: bool
) -> tuple[tuple[int, ...], list[Block]]:
    """Return the common batch shape, and the blocks as views with it.

    Raises
    ------
    ValueError
        If the leading dimensions do not broadcast.
    """
    front = 1 + is_complex
    batch = blocks[0].shape[front:-2]
    for block in blocks:
        if block.shape[front:-2] != batch:
            break
    else:
        return batch, blocks
    shapes = [block.shape[front:] for block in blocks]
    try:
        batch = broadcast_shapes(*(shape[:-2] for shape in shapes))
    except ValueError:
        raise ValueError(
            f"{function}: the leading dimensions of {' and '.join(map(str, shapes))} "
            "do not broadcast to one batch"
        ) from None
    wide = [
        planes.broadcast(block, is_complex, batch + shape[-2:])
        for block, shape in zip(blocks, shapes, strict=True)
    ]
    return batch, wide


def taken(x: Block, lead: int, items: Items) -> Block:
    """Return some items of a batch as a batch of one axis, behind `lead` axes."""
    return x[(slice(None),) * lead + tuple(map(planes.namespace(x).asarray, items))]


def right_hand_side(
    function: str, block: Block, shape: tuple[int, ...], rows: int
) -> tuple[Block, bool]:
    """Return the block of `b` as columns, and whether `b` is a vector.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the number of rows is wrong.
    """
    is_vector = len(shape) == 1
    found, _ = matrix_shape(function, "b", (*shape, 1) if is_vector else shape)
    if found != rows:
        raise np.linalg.LinAlgError(
            f"{function}: b must have {rows} rows, as a has; got shape {shape}"
            + (" (only a 1-D b is a vector)" if len(shape) > 1 else "")
        )
    return (block[..., None] if is_vector else block), is_vector
