"""From operands of any kind to blocks of one precision."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from numbers import Number
from typing import Any, NamedTuple

import numpy as np

from mdqr import _limbs
from mdqr._array import MDArray
from mdqr._backend.protocol import Block
from mdqr._device import check_together
from mdqr._precision import Precision

_EXACT_INTEGER = 2**53


class Operands(NamedTuple):
    """Blocks of one field, with at most ``precision.limbs`` limbs each."""

    precision: Precision
    is_complex: bool
    blocks: list[Block]

    def wrap(self, block: Block) -> MDArray:
        """Return the array of a result of the same field."""
        return MDArray._wrap(block, self.precision, self.is_complex)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the values of the first block."""
        return _limbs.value_shape(self.blocks[0], self.is_complex)

    def full_blocks(self) -> list[Block]:
        """Return the blocks with as many limbs as the precision has."""
        limbs = self.precision.limbs
        return [_limbs.widen(block, self.is_complex, limbs) for block in self.blocks]


def is_operand(x: object) -> bool:
    """Return whether `x` is answered here: with a result, or with what is wrong with a string."""
    kinds = (MDArray, np.ndarray, np.generic, Number, list, tuple, str, bytes)
    return isinstance(x, kinds) or _is_symbolic(x)


def _is_symbolic(x: object) -> bool:
    kind = type(x)
    return any(hasattr(kind, name) for name in ("_mpf_", "_mpc_", "__sympy__"))


def promote(*values: Any, precision: Precision | None = None) -> Operands:
    """Convert operands to one field and at most one precision; the shapes stay as they are.

    Parameters
    ----------
    *values : array_like
        `MDArray`, NumPy arrays, sequences and scalars, but no strings.
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
    OverflowError
        If an exact integer or fraction is beyond the largest double.
    """
    target = precision or highest_precision(values)
    pairs = [to_block(value, target.limbs) for value in values]
    is_complex = any(field for _, field in pairs)
    blocks = [
        _limbs.complexify(block) if is_complex and not field else block for block, field in pairs
    ]
    check_together(blocks)
    return Operands(target, is_complex, blocks)


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
    if _alike(values):
        first = values[0]
        return Operands(first._precision, first._complex, [x._block for x in values])
    ops = promote(*values)
    front = _limbs.lead(ops.is_complex)
    shape = common_shape([block.shape[front:] for block in ops.blocks])
    return ops._replace(
        blocks=[_limbs.broadcast(block, ops.is_complex, shape) for block in ops.blocks]
    )


def _alike(values: tuple[Any, ...]) -> bool:
    """Return whether nothing has to be converted or broadcast, the most frequent case."""
    first = values[0]
    if not isinstance(first, MDArray):
        return False
    shape = first._block.shape
    for x in values[1:]:
        if not isinstance(x, MDArray) or x._block.shape != shape or x._complex != first._complex:
            return False
    return all(isinstance(x._block, np.ndarray) for x in values)


def highest_precision(values: Any) -> Precision:
    """Return the highest precision of the arrays in `values`, nested ones included."""
    found = precisions_in(list(values))
    if not found:
        kinds = ", ".join(type(value).__name__ for value in values)
        raise TypeError(
            f"no operand is an MDArray; got {kinds}: "
            "give the precision first, as in mdqr.array(x, precision=mdqr.qd)"
        )
    return max(found)


def precisions_in(x: Any) -> set[Precision]:
    """Return the precisions of the arrays in a nested sequence."""
    if isinstance(x, MDArray):
        return {x._precision}
    if isinstance(x, (list, tuple)):
        return set().union(*map(precisions_in, x))
    return set()


def common_shape(shapes: list[tuple[int, ...]]) -> tuple[int, ...]:
    """Return the shape to which `shapes` broadcast."""
    first = shapes[0]
    if all(shape == first for shape in shapes):
        return first
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise ValueError(
            f"the shapes {', '.join(map(str, shapes))} do not broadcast to one shape; "
            "axes must be equal or 1, counted from the last"
        ) from None


def to_block(x: Any, limbs: int) -> tuple[Block, bool]:
    """Return the block of `x`, rounded once to at most `limbs` limbs, and whether it is complex."""
    if isinstance(x, MDArray):
        return _limbs.narrow(x._block, x._complex, limbs), x._complex
    if isinstance(x, float):
        return np.array([float(x)]), False
    if isinstance(x, (bool, np.bool_, int)) and abs(int(x)) <= _EXACT_INTEGER:
        return np.array([float(x)]), False
    if isinstance(x, complex):
        return np.array([[x.real], [x.imag]]), True
    if isinstance(x, (str, bytes)):
        raise TypeError(
            f"a string is not a number in arithmetic; got {x!r}: "
            "convert it first, as in mdqr.array('0.1', precision=mdqr.qd)"
        )
    if isinstance(x, (np.ndarray, np.generic)):
        return _from_numpy(np.asanyarray(x), limbs)
    if isinstance(x, (list, tuple)):
        return from_sequence(x, limbs)
    if isinstance(x, Number) or _is_symbolic(x):
        return scalar_block(x, limbs)
    if hasattr(type(x), "__array__"):
        return _from_numpy(np.asarray(x), limbs)
    if hasattr(x, "__cuda_array_interface__"):
        raise ValueError(
            f"the operands are on different devices: an array on the CPU and a {type(x).__name__} "
            'on a GPU; move the first with a.to_device("cuda") or convert the second to NumPy'
        )
    raise TypeError(
        f"operands must be MDArray, NumPy arrays, nested sequences or numbers; "
        f"got {type(x).__name__}"
    )


def scalar_block(x: Any, limbs: int) -> tuple[Block, bool]:
    """Return the 0-d block of an exact or multiple-precision number, correctly rounded."""
    from mdqr._convert import scalar_to_limbs

    real, imag = scalar_to_limbs(x, limbs)
    return (np.array(real), False) if imag is None else (np.array([real, imag]), True)


def _from_numpy(x: np.ndarray, limbs: int) -> tuple[Block, bool]:
    kind = x.dtype.kind
    if isinstance(x, np.ma.MaskedArray) and np.ma.is_masked(x):
        raise TypeError("a masked array has places without a value; fill them with x.filled(value)")
    if kind == "b" or (kind == "f" and x.dtype.itemsize <= 8):
        x = x if _limbs.has_whole_strides(x) else x.copy()
        return x.astype(np.float64, copy=False)[None], False
    if kind == "c" and x.dtype.itemsize <= 16:
        return np.stack([x.real, x.imag]).astype(np.float64, copy=False)[:, None], True
    if kind in "iu":
        return _split_integers(x, limbs), False
    if kind in "US":
        to_block(str(x.flat[0]) if x.size else "", limbs)
    if kind not in "fcO":
        raise TypeError(
            f"arrays of dtype {x.dtype} are not numbers; "
            "wanted are bool, integer, float, complex or object arrays of numbers"
        )
    if kind == "O":
        _refuse_strings(x.ravel().tolist())
    return convert_objects(x, limbs)


def _split_integers(x: np.ndarray, limbs: int) -> Block:
    """Return integers of at most 64 bits in one limb or, exactly, in two."""
    nearest = x.astype(np.float64)
    if limbs == 1 or x.dtype.itemsize <= 4:
        return nearest[None]
    high = (x >> 32).astype(np.float64) * 2.0**32
    low = (x & 0xFFFFFFFF).astype(np.float64)
    return np.stack([nearest, low - (nearest - high)])


def convert_objects(x: Any, limbs: int, dtype: type | None = None) -> tuple[Block, bool]:
    """Return the block of exact numbers or strings in a nested sequence or a NumPy array."""
    from mdqr._convert import objects_to_block

    block, is_complex = objects_to_block(x, limbs, dtype)
    return block, bool(is_complex)


def from_sequence(x: Any, limbs: int, *, strings: bool = False) -> tuple[Block, bool]:
    """Return the block of a nested sequence, whose leaves may be arrays of any kind."""
    if _has_arrays(x):
        return _stack([_leaf(item, limbs, strings) for item in x])
    if not strings:
        _refuse_strings(x)
    return convert_objects(x, limbs)


def _leaf(x: Any, limbs: int, strings: bool) -> tuple[Block, bool]:
    if isinstance(x, (list, tuple)):
        return from_sequence(x, limbs, strings=strings)
    return convert_objects(x, limbs) if strings and isinstance(x, str) else to_block(x, limbs)


def _has_arrays(x: Any) -> bool:
    return any(
        _has_arrays(item)
        if isinstance(item, (list, tuple))
        else isinstance(item, (MDArray, np.ndarray))
        for item in x
    )


def _refuse_strings(x: Any) -> None:
    for item in x:
        if isinstance(item, (list, tuple)):
            _refuse_strings(item)
        elif isinstance(item, (str, bytes)):
            to_block(item, 1)


def _stack(pairs: list[tuple[Block, bool]]) -> tuple[Block, bool]:
    is_complex = any(field for _, field in pairs)
    blocks = [
        _limbs.complexify(block) if is_complex and not field else block for block, field in pairs
    ]
    shapes = {_limbs.value_shape(block, is_complex) for block in blocks}
    if len(shapes) > 1:
        raise ValueError(
            f"the items of a nested sequence must have one shape; got {sorted(shapes)}"
        )
    check_together(blocks)
    limbs = max(_limbs.limb_count(block, is_complex) for block in blocks)
    wide = [_limbs.widen(block, is_complex, limbs) for block in blocks]
    return _limbs.namespace(wide[0]).stack(wide, axis=_limbs.lead(is_complex)), is_complex


def exact_value(x: Any) -> Fraction | None:
    """Return the exact value of a finite real number, or None where it has no finite fraction."""
    if isinstance(x, (int, Fraction)):
        return Fraction(x)
    if isinstance(x, Decimal):
        return Fraction(x) if x.is_finite() else None
    if hasattr(type(x), "_mpf_"):
        _, mantissa, exponent, _ = x._mpf_
        if mantissa or exponent == 0:
            value = int(mantissa) * Fraction(2) ** int(exponent)
            return -value if x._mpf_[0] else value
    return None
