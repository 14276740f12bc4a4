"""Promotion of operands of any kind to blocks of one precision."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from numbers import Number
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mdqr._backend.blocks import broadcast_shapes
from mdqr._convert.array_like import (
    EXACT_INTEGER,
    check_characters,
    exact_value,
    is_frame,
    is_number,
    is_weak,
    plain,
)
from mdqr._convert.arrays import check_depth, objects_to_block, refuse_text, scalar_to_limbs
from mdqr._convert.constants import Constant
from mdqr._convert.enclosures import between_doubles
from mdqr._core import float_warnings
from mdqr._core.base import ArrayBase
from mdqr._limbs import planes
from mdqr._limbs.device import check_together, device_of, is_cuda_array, place_on_device_of
from mdqr._limbs.planes import Block, Kind
from mdqr._limbs.rounding_mode import require_nearest
from mdqr._precision import Precision

if TYPE_CHECKING:
    from mdqr._array.array import MDArray

_NO_TEXT = frozenset({int, float, complex, bool, Fraction, Decimal})
_NO_ARRAYS = _NO_TEXT | {str}
_FAR = 1200  # the sizes of all doubles lie well within 2**-1200 .. 2**1200
_LOG2_10 = math.log2(10)


class Operands(NamedTuple):
    """Blocks of one field, with at most ``precision.limbs`` limbs each."""

    precision: Precision
    is_complex: bool
    blocks: list[Block]

    @property
    def kind(self) -> Kind:
        """The kind of results in the precision of the operands."""
        return Kind(self.precision.limbs, self.is_complex)

    def wrap(self, block: Block) -> MDArray:
        """Return the array of a result of the same field."""
        return ArrayBase._wrap(block, self.precision, self.is_complex)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the values of the first block."""
        return planes.value_shape(self.blocks[0], self.is_complex)

    def full_blocks(self) -> list[Block]:
        """Return the blocks with as many limbs as the precision has."""
        limbs = self.precision.limbs
        return [planes.widen(block, self.is_complex, limbs) for block in self.blocks]


def is_operand(x: object) -> bool:
    """Return whether `x` is answered here: with a result, or with what is wrong with a string."""
    kinds = (ArrayBase, np.ndarray, np.generic, Number, list, tuple, str, bytes)
    return isinstance(x, kinds) or is_cuda_array(x) or is_number(x) or is_weak(x) or is_frame(x)


def promote(*values: Any, precision: Precision | None = None) -> Operands:
    """Convert operands to one field and at most one precision; the shapes stay as they are.

    Parameters
    ----------
    *values : array_like
        `MDArray`, and what `mdqr._convert.array_like.plain` takes.
    precision : Precision, optional
        The precision of the result, by default the highest one of the arrays.

    Returns
    -------
    Operands
        The blocks, rounded once where they must be.

    Raises
    ------
    TypeError
        If no operand is an `MDArray` and `precision` is missing, or one is not a number.
    ValueError
        If the operands live on two devices.
    """
    given, values = values, tuple(map(unwrapped, values))
    target = precision or highest_precision(values, given)
    if float_warnings.contexts:
        float_warnings.check(values, target)
    pairs = together([to_block(value, target.limbs) for value in values], values)
    blocks, is_complex = one_field(pairs)
    return Operands(target, is_complex, blocks)


def arithmetic(x: Any) -> Any:
    """Return an operand of an operator as `unwrapped` does.

    Raises
    ------
    TypeError
        If it is a text or holds one; functions convert texts.
    """
    if isinstance(x, ArrayBase) or type(x) in _NO_TEXT:
        return x
    x = unwrapped(x)
    _refuse_texts(x, 0)
    return x


def _refuse_texts(x: Any, depth: int) -> None:
    if isinstance(x, (str, bytes)):
        refuse_text(x)
    if isinstance(x, np.ndarray):
        if x.dtype.kind in "UST":
            if x.dtype.kind == "U":
                check_characters(x)
            # Not by x.flat, which has no more than 32 axes.
            refuse_text(str(x[(0,) * x.ndim]) if x.size else "")
        entries: Any = x.reshape(-1).tolist() if x.dtype == object else ()
    else:
        entries = x if isinstance(x, (list, tuple)) else ()
        check_depth(depth)
    if not _NO_TEXT.issuperset(map(type, entries)):
        for entry in entries:
            if not isinstance(entry, ArrayBase):
                _refuse_texts(unwrapped(entry), depth + 1)


def together(pairs: list[tuple[Block, bool]], values: Sequence[Any]) -> list[tuple[Block, bool]]:
    """Move the blocks of numbers, which live nowhere, to the device of the arrays.

    Raises
    ------
    ValueError
        If arrays live on two devices.
    """
    if all(isinstance(block, np.ndarray) for block, _ in pairs):
        return pairs
    arrays = [block for (block, _), value in zip(pairs, values, strict=True) if _has_place(value)]
    check_together(arrays)
    return [
        (place_on_device_of(block, arrays[0]) if isinstance(block, np.ndarray) else block, field)
        for block, field in pairs
    ]


def one_field(pairs: list[tuple[Block, bool]]) -> tuple[list[Block], bool]:
    """Return blocks, complex ones if one is, and whether they are."""
    is_complex = True in [field for _, field in pairs]
    return [
        planes.complexify(block) if is_complex and not field else block for block, field in pairs
    ], is_complex


def _has_place(x: Any) -> bool:
    """Return whether `x` is an array of one device, not a number or a list of numbers."""
    return _is_array(x) or (isinstance(x, (list, tuple)) and bool(_arrays_in(x)))


def _is_array(x: Any) -> bool:
    return isinstance(x, (ArrayBase, np.ndarray)) or is_cuda_array(x)


def _arrays_in(x: list[Any] | tuple[Any, ...]) -> list[Any]:
    """Return the arrays among the leaves of a nested sequence.

    Raises
    ------
    ValueError
        If a list contains itself.
    """
    found: list[Any] = []
    _gather_arrays(x, found, 0)
    return found


def _gather_arrays(x: list[Any] | tuple[Any, ...], found: list[Any], depth: int) -> None:
    check_depth(depth)
    if _NO_ARRAYS.issuperset(map(type, x)):
        return
    for item in x:
        if isinstance(item, (list, tuple)):
            _gather_arrays(item, found, depth + 1)
        elif _is_array(item):
            found.append(item)


def unwrapped(x: Any) -> Any:
    """Return `x` as `mdqr._convert.array_like.plain` does, arrays of mdqr and CuPy as they are.

    An array of objects among which are arrays of mdqr becomes a nested list, or the only one.
    """
    if isinstance(x, ArrayBase) or is_cuda_array(x):
        return x
    x = plain(x)
    if isinstance(x, np.ndarray) and x.dtype == object:
        kinds = set(map(type, x.flat))
        return x.tolist() if any(issubclass(kind, ArrayBase) for kind in kinds) else x
    return x


def operands(*values: Any) -> Operands:
    """Convert the operands of an elementwise operation; see `promote`.

    Returns
    -------
    Operands
        Blocks of the common shape; read-only views where something was broadcast.

    Raises
    ------
    ValueError
        If the shapes do not broadcast.
    """
    if alike(values):
        first = values[0]
        return Operands(first._precision, first._complex, [x._block for x in values])
    if len(values) == 2 and (quick := _with_number(*values)) is not None:
        return quick
    ops = real_arrays(*values) or promote(*values)
    front = planes.lead(ops.is_complex)
    shape = common_shape([block.shape[front:] for block in ops.blocks])
    return ops._replace(
        blocks=[planes.broadcast(block, ops.is_complex, shape) for block in ops.blocks]
    )


def alike(values: tuple[Any, ...]) -> bool:
    """Return whether nothing has to be converted or broadcast, the most frequent case."""
    first = values[0]
    if not isinstance(first, ArrayBase):
        return False
    block = first._block
    shape, on_host = block.shape, isinstance(block, np.ndarray)
    for x in values[1:]:
        if not isinstance(x, ArrayBase) or x._block.shape != shape or x._complex != first._complex:
            return False
        if not (on_host and isinstance(x._block, np.ndarray)) and (
            device_of(x._block) != device_of(block)
        ):
            return False
    return True


def real_arrays(*values: Any) -> Operands | None:
    """Return real arrays on the host, which need no conversion; None for others."""
    blocks = []
    for x in values:
        if not isinstance(x, ArrayBase) or x._complex or not isinstance(x._block, np.ndarray):
            return None
        blocks.append(x._block)
    return Operands(max(x._precision for x in values), False, blocks)


def _with_number(x: Any, y: Any) -> Operands | None:
    """Return a real array on the host and a Python number that is a double, the next frequent."""
    array, number = (x, y) if isinstance(x, ArrayBase) else (y, x)
    if type(number) is not float and not (
        type(number) is int and -EXACT_INTEGER <= number <= EXACT_INTEGER
    ):
        return None
    if not isinstance(array, ArrayBase) or array._complex:
        return None
    if not isinstance(array._block, np.ndarray):
        return None
    if float_warnings.contexts:
        float_warnings.check((number,), array._precision)
    block: Block = np.array([number], dtype=np.float64)
    if array._block.ndim > 1:
        block = planes.broadcast(block, False, array._block.shape[1:])
    blocks = [array._block, block] if array is x else [block, array._block]
    return Operands(array._precision, False, blocks)


def highest_precision(values: Any, given: Any = None) -> Precision:
    """Return the highest precision of the arrays in `values`, nested ones included.

    Raises
    ------
    TypeError
        If there is none; the message names the types of `given`, by default of `values`.
    """
    found = {precision for value in values for precision in precisions_in(value)}
    if not found:
        kinds = ", ".join(type(value).__name__ for value in given or values)
        raise TypeError(
            f"no operand is an MDArray; got {kinds}: give the precision, by precision=mdqr.qd "
            "where the function has it, or as in mdqr.array(x, precision=mdqr.qd)"
        )
    return max(found)


def precisions_in(x: Any) -> set[Precision]:
    """Return the precisions of an array, or of the arrays in a nested sequence."""
    if isinstance(x, ArrayBase):
        return {x._precision}
    if isinstance(x, (list, tuple)):
        return {array._precision for array in _arrays_in(x) if isinstance(array, ArrayBase)}
    return set()


def common_shape(shapes: list[tuple[int, ...]]) -> tuple[int, ...]:
    """Return the shape to which `shapes` broadcast."""
    try:
        return broadcast_shapes(*shapes)
    except ValueError:
        raise ValueError(
            f"the shapes {', '.join(map(str, shapes))} do not broadcast to one shape; "
            "axes must be equal or 1, counted from the last"
        ) from None


def to_block(x: Any, limbs: int) -> tuple[Block, bool]:
    """Return the block of `x`, rounded once to at most `limbs` limbs, and whether it is complex."""
    if isinstance(x, ArrayBase):
        return planes.narrow(x._block, x._complex, limbs), x._complex
    if isinstance(x, float):
        return np.array([float(x)]), False
    if isinstance(x, (bool, np.bool_, int)) and abs(int(x)) <= EXACT_INTEGER:
        return np.array([float(x)]), False
    if isinstance(x, complex):
        return np.array([[x.real], [x.imag]]), True
    x = unwrapped(x)
    if isinstance(x, np.ndarray):
        return _from_numpy(x, limbs)
    if is_cuda_array(x):
        return _from_floats_or_integers(x, limbs)
    if isinstance(x, (list, tuple)):
        return from_sequence(x, limbs)
    if isinstance(x, (str, bytes)) or is_number(x):
        return scalar_block(x, limbs)
    hint = "; mdqr.sparse.matmul, solve and lstsq take it" if hasattr(x, "tocoo") else ""
    raise TypeError(
        f"operands must be MDArray, NumPy or CuPy arrays, nested sequences or numbers; "
        f"got {type(x).__name__}{hint}"
    )


def scalar_block(x: Any, limbs: int) -> tuple[Block, bool]:
    """Return the 0-d block of an exact or multiple-precision number, correctly rounded."""
    require_nearest()
    real, imag = scalar_to_limbs(x, limbs)
    return (np.array(real), False) if imag is None else (np.array([real, imag]), True)


def _from_numpy(x: np.ndarray, limbs: int) -> tuple[Block, bool]:
    kind = x.dtype.kind
    planes.check_axes(x.ndim, kind == "c")
    if kind in "biu" or (kind in "fc" and x.dtype.itemsize <= (8 if kind == "f" else 16)):
        return _from_floats_or_integers(x if planes.has_whole_strides(x) else x.copy(), limbs)
    if kind not in "fcOUST":
        raise TypeError(
            f"arrays of dtype {x.dtype} are not numbers; "
            "wanted are bool, integer, float, complex, string or object arrays of numbers"
        )
    return objects_to_block(x, limbs)


def _from_floats_or_integers(x: Any, limbs: int) -> tuple[Block, bool]:
    """Return the block of a NumPy or CuPy array of bools, integers, floats or complex floats."""
    if x.dtype.kind in "iu":
        return _split_integers(x, limbs), False
    if x.dtype.kind == "c":
        parts = [planes.doubles(x.real), planes.doubles(x.imag)]
        return planes.namespace(parts[0]).stack(parts)[:, None], True
    return planes.doubles(x)[None], False


def _split_integers(x: Any, limbs: int) -> Block:
    """Return integers of at most 64 bits in one limb or, exactly, in two."""
    nearest = x.astype(np.float64)
    if limbs == 1 or x.dtype.itemsize <= 4:
        return nearest[None]
    high = (x >> 32).astype(np.float64) * 2.0**32
    low = (x & 0xFFFFFFFF).astype(np.float64)
    return planes.namespace(nearest).stack([nearest, low - (nearest - high)])


def from_sequence(x: Any, limbs: int) -> tuple[Block, bool]:
    """Return the block of a nested sequence, whose leaves may be arrays of any kind."""
    if _arrays_in(x):
        return _stack(together([_leaf(item, limbs) for item in x], x))
    return objects_to_block(x, limbs)


def _leaf(x: Any, limbs: int) -> tuple[Block, bool]:
    return from_sequence(x, limbs) if isinstance(x, (list, tuple)) else to_block(x, limbs)


def _stack(pairs: list[tuple[Block, bool]]) -> tuple[Block, bool]:
    blocks, is_complex = one_field(pairs)
    shapes = {planes.value_shape(block, is_complex) for block in blocks}
    if len(shapes) > 1:
        raise ValueError(
            f"the items of a nested sequence must have one shape; got {sorted(shapes)}"
        )
    planes.check_axes(len(shapes.pop()) + 1, is_complex)
    limbs = max(planes.limb_count(block, is_complex) for block in blocks)
    wide = [planes.widen(block, is_complex, limbs) for block in blocks]
    return planes.namespace(wide[0]).stack(wide, axis=planes.lead(is_complex)), is_complex


def comparable_value(x: Any) -> Fraction | None:
    """Return a fraction that compares with every double, and sum of limbs, as the number `x` does.

    It is the exact value, or a number of its sign beyond all doubles or between zero and them,
    where the exponent would make a gigantic integer. None if `x` is not a finite real number.
    """
    if isinstance(x, Constant):
        return between_doubles(x)
    exact = exact_value(x)
    if exact is not None:
        return exact
    if isinstance(x, Decimal):
        if not x.is_finite():
            return None
        far = _beyond_doubles(x.adjusted() * _LOG2_10) if x else None
        return far * (-1 if x.is_signed() else 1) if far else Fraction(x)
    if hasattr(type(x), "_mpf_"):
        sign, mantissa, exponent, _ = x._mpf_
        if mantissa or exponent == 0:
            far = _beyond_doubles(mantissa.bit_length() + exponent) if mantissa else None
            value = far or int(mantissa) * Fraction(2) ** int(exponent)
            return -value if sign else value
    return None


def _beyond_doubles(power: float) -> Fraction | None:
    """Return a number larger than all doubles or smaller, if about ``2**power`` surely is so."""
    return None if abs(power) < _FAR else Fraction(2) ** (_FAR if power > 0 else -_FAR)
