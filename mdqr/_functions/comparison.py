"""Exact comparisons, and what follows from them."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mdqr._backend import for_block
from mdqr._convert.array_like import plain
from mdqr._core.base import ArrayBase
from mdqr._core.promotion import (
    alike,
    common_shape,
    comparable_value,
    highest_precision,
    operands,
    to_block,
    together,
)
from mdqr._core.with_precision import with_precision
from mdqr._docstrings import documented
from mdqr._limbs import planes
from mdqr._limbs.device import check_together, is_cuda_array, place_on_device_of
from mdqr._limbs.exact import sum_of_units
from mdqr._limbs.planes import Block
from mdqr._precision import PRECISIONS
from mdqr._typing import Mask, PrecisionLike

if TYPE_CHECKING:
    from mdqr._array.array import MDArray

_UNORDERED = 2
_MOST_LIMBS = max(precision.limbs for precision in PRECISIONS)


@with_precision
def equal(x1: Any, x2: Any, /, *, precision: PrecisionLike | None = None) -> Mask:
    """Return ``x1 == x2`` for each pair of values, exactly.

    Parameters
    ----------
    x1, x2 : MDArray or array_like
        The operands.

    Returns
    -------
    bool or numpy.ndarray of bool
        Of CuPy on a GPU.

    Examples
    --------
    >>> import mdqr
    >>> bool(mdqr.equal(mdqr.qd(1), "1.5"))
    False
    """
    return compare(x1, x2) == 0


@with_precision
@documented(equal)
def not_equal(x1: Any, x2: Any, /, *, precision: PrecisionLike | None = None) -> Mask:
    """Return ``x1 != x2`` for each pair of values, exactly.

    >>> bool(mdqr.not_equal(mdqr.qd(1), "1.5"))
    True
    """
    return compare(x1, x2) != 0


@with_precision
@documented(equal)
def less(x1: Any, x2: Any, /, *, precision: PrecisionLike | None = None) -> Mask:
    """Return ``x1 < x2`` for each pair, exactly; complex values in lexicographic order, as NumPy.

    >>> bool(mdqr.less(mdqr.qd(1), "1.5"))
    True
    """
    return compare(x1, x2) == -1


@with_precision
@documented(equal)
def less_equal(x1: Any, x2: Any, /, *, precision: PrecisionLike | None = None) -> Mask:
    """Return ``x1 <= x2`` for each pair, exactly; complex values in lexicographic order, as NumPy.

    >>> bool(mdqr.less_equal(mdqr.qd(1), "1.5"))
    True
    """
    return compare(x1, x2) <= 0


@with_precision
@documented(equal)
def greater(x1: Any, x2: Any, /, *, precision: PrecisionLike | None = None) -> Mask:
    """Return ``x1 > x2`` for each pair, exactly; complex values in lexicographic order, as NumPy.

    >>> bool(mdqr.greater(mdqr.qd(1), "1.5"))
    False
    """
    return compare(x1, x2) == 1


@with_precision
@documented(equal)
def greater_equal(x1: Any, x2: Any, /, *, precision: PrecisionLike | None = None) -> Mask:
    """Return ``x1 >= x2`` for each pair, exactly; complex values in lexicographic order, as NumPy.

    >>> bool(mdqr.greater_equal(mdqr.qd(1), "1.5"))
    False
    """
    order = compare(x1, x2)
    return (order == 0) | (order == 1)


def compare(x: Any, y: Any) -> Any:
    """Return the signs of the exact differences; 2 where a NaN takes part.

    Parameters
    ----------
    x, y : MDArray or array_like
        The operands. Numbers that no precision holds, such as ``Fraction(1, 3)``, are
        compared exactly, too.

    Returns
    -------
    numpy.ndarray or numpy.int8
        -1, 0, 1 or 2, of the broadcast shape. Complex values are ordered lexicographically.
    """
    if alike((x, y)) and not x._complex:
        return for_block(x._block).compare(x._block, y._block)[()]
    highest_precision((x, y))
    left, right = _exact_operand(x), _exact_operand(y)
    pairs = together([(side.block, side.is_complex) for side in (left, right)], (x, y))
    left, right = (
        side._replace(block=block) for side, (block, _) in zip((left, right), pairs, strict=True)
    )
    shape = common_shape([left.shape, right.shape])
    left_parts, right_parts = left.parts(shape), right.parts(shape)
    backend = for_block(left.block)
    order = backend.compare(left_parts[0], right_parts[0])
    if left.rest != right.rest:
        order = backend.xp.where(order == 0, np.int8(left.rest - right.rest), order)
    if left.is_complex or right.is_complex:
        second = backend.compare(left_parts[1], right_parts[1])
        order = backend.xp.where((order == 0) | (second == _UNORDERED), second, order)
    return order[()]


@with_precision
def maximum(x1: Any, x2: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return the larger of each pair; NaN if one is NaN.

    Parameters
    ----------
    x1, x2 : MDArray or array_like
        Complex values are ordered lexicographically, as NumPy does.

    Returns
    -------
    MDArray
        A new array of the broadcast shape.

    Examples
    --------
    >>> import mdqr
    >>> float(mdqr.maximum(mdqr.qd(3), 4))
    4.0
    """
    return _choose(x1, x2, 1)


@with_precision
@documented(maximum)
def minimum(x1: Any, x2: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return the smaller of each pair; NaN if one is NaN.

    >>> float(mdqr.minimum(mdqr.qd(3), 4))
    3.0
    """
    return _choose(x1, x2, -1)


@with_precision
@documented(maximum)
def fmax(x1: Any, x2: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return the larger of each pair; of a number and NaN the number.

    >>> float(mdqr.fmax(mdqr.qd(3), mdqr.nan))
    3.0
    """
    return _choose(x1, x2, 1, nan=False)


@with_precision
@documented(maximum)
def fmin(x1: Any, x2: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return the smaller of each pair; of a number and NaN the number.

    >>> float(mdqr.fmin(mdqr.qd(3), mdqr.nan))
    3.0
    """
    return _choose(x1, x2, -1, nan=False)


@with_precision
def where(condition: Any, x: Any, y: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return values of `x` where `condition` holds, else of `y`.

    Parameters
    ----------
    condition : array_like
        Booleans; numbers count as true where they are not zero.
    x, y : MDArray or array_like
        The operands.

    Returns
    -------
    MDArray
        A new array of the broadcast shape.

    Examples
    --------
    >>> import mdqr
    >>> a = mdqr.array([1, -2], precision=mdqr.qd)
    >>> [float(v) for v in mdqr.where(a > 0, a, 0)]
    [1.0, 0.0]
    """
    ops = operands(x, y)
    if isinstance(condition, ArrayBase):
        chosen = planes.nonzero(condition._block, condition._complex)
    else:
        given = condition if is_cuda_array(condition) else np.asarray(plain(condition))
        chosen = given.astype(bool, copy=False)
        if not is_cuda_array(condition):
            # A NumPy mask goes where the values are, as the index of an array does.
            chosen = place_on_device_of(chosen, ops.blocks[0])
    check_together([chosen, ops.blocks[0]])
    shape = common_shape([chosen.shape, ops.shape])
    left, right = (planes.broadcast(block, ops.is_complex, shape) for block in ops.full_blocks())
    return ops.wrap(planes.select(chosen, left, right))


@with_precision
def isfinite(x: Any, /, *, precision: PrecisionLike | None = None) -> Mask:
    """Test for values that are neither infinite nor NaN.

    Parameters
    ----------
    x : MDArray or array_like
        The values; of complex ones both parts count.

    Returns
    -------
    numpy.ndarray or numpy.bool
        Of the shape of `x`.

    Examples
    --------
    >>> import mdqr
    >>> bool(mdqr.isfinite(mdqr.qd(1)))
    True
    """
    xp, leading = _leading(x)
    return xp.isfinite(leading).all(axis=0)


@with_precision
@documented(isfinite)
def isnan(x: Any, /, *, precision: PrecisionLike | None = None) -> Mask:
    """Test for NaN.

    Parameters
    ----------
    x : MDArray or array_like
        The values; of complex ones either part counts.

    >>> bool(mdqr.isnan(mdqr.qd("nan")))
    True
    """
    xp, leading = _leading(x)
    return xp.isnan(leading).any(axis=0)


@with_precision
@documented(isnan)
def isinf(x: Any, /, *, precision: PrecisionLike | None = None) -> Mask:
    """Test for infinite values.

    >>> bool(mdqr.isinf(mdqr.qd("-inf")))
    True
    """
    xp, leading = _leading(x)
    return xp.isinf(leading).any(axis=0)


@with_precision
@documented(isnan)
def isposinf(x: Any, /, *, precision: PrecisionLike | None = None) -> Mask:
    """Test for positive infinity.

    Parameters
    ----------
    x : MDArray or array_like
        Real values.

    Raises
    ------
    TypeError
        If `x` is complex.

    >>> bool(mdqr.isposinf(mdqr.qd("-inf")))
    False
    """
    return _is_infinity("isposinf", x, math.inf)


@with_precision
@documented(isposinf)
def isneginf(x: Any, /, *, precision: PrecisionLike | None = None) -> Mask:
    """Test for negative infinity.

    >>> bool(mdqr.isneginf(mdqr.qd("-inf")))
    True
    """
    return _is_infinity("isneginf", x, -math.inf)


def _is_infinity(name: str, x: Any, value: float) -> Mask:
    ops = operands(x)
    if ops.is_complex:
        raise TypeError(f"{name} is for real values; take a.real and a.imag")
    found: Mask = ops.blocks[0][0] == value
    return found


@with_precision
def array_equal(
    a1: Any, a2: Any, /, equal_nan: bool = False, *, precision: PrecisionLike | None = None
) -> bool:
    """True if two arrays have the same shape and equal values, exactly.

    Parameters
    ----------
    a1, a2 : MDArray or array_like
        The precisions may differ.
    equal_nan : bool, optional
        Whether NaN equals NaN.

    Returns
    -------
    bool
        Whether all values are equal.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.array_equal(mdqr.qd(0.5), mdqr.dd("0.5"))
    True
    """
    highest_precision((a1, a2))
    if _exact_operand(a1).shape != _exact_operand(a2).shape:
        return False
    if not equal_nan:
        return bool(np.all(equal(a1, a2)))
    ops = operands(a1, a2)
    left, right = map(ops.wrap, ops.full_blocks())
    return bool(np.all(_same(left, right, equal_nan)))


def array_equiv(a1: Any, a2: Any, /) -> bool:
    """True if two arrays broadcast to one shape and have equal values, exactly.

    Parameters
    ----------
    a1, a2 : MDArray or array_like
        At least one an `MDArray`.

    Returns
    -------
    bool
        True if all values are equal; NaN equals nothing.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.array_equiv(mdqr.qd([0.5, 0.5]), 0.5)
    True
    """
    highest_precision((a1, a2))
    try:
        common_shape([_exact_operand(x).shape for x in (a1, a2)])
    except ValueError:
        return False
    return bool(equal(a1, a2).all())


def _same(left: MDArray, right: MDArray, equal_nan: bool) -> Any:
    same = equal(left, right)
    return same | (isnan(left) & isnan(right)) if equal_nan else same


class _Exact(NamedTuple):
    """A block, and the sign of what rounding took away from the one number it holds."""

    block: Block
    is_complex: bool
    rest: int = 0

    @property
    def shape(self) -> tuple[int, ...]:
        return planes.value_shape(self.block, self.is_complex)

    def parts(self, shape: tuple[int, ...]) -> list[Block]:
        """Return the real and the imaginary planes, broadcast to `shape`."""
        xp = planes.namespace(self.block)
        parts = self.block if self.is_complex else [self.block, xp.zeros((1, *self.shape))]
        return [planes.broadcast(part, False, shape) for part in parts]


def _exact_operand(x: Any) -> _Exact:
    if isinstance(x, ArrayBase):
        return _Exact(x._block, x._complex)
    value = comparable_value(x)
    block, is_complex = to_block(x, _MOST_LIMBS)
    if value is None:
        return _Exact(block, is_complex)
    if math.isinf(block[0]):  # beyond every double: next to infinity, on the side of zero
        return _Exact(np.array([float(block[0])]), False, -1 if value > 0 else 1)
    rest = value - Fraction(sum_of_units(block.tolist()), 2**1074)
    return _Exact(block, is_complex, (rest > 0) - (rest < 0))


def _choose(x: Any, y: Any, wanted: int, *, nan: bool = True) -> MDArray:
    """Return the first of each pair in an order, or NaN if one is NaN and `nan` is true."""
    ops = operands(x, y)
    left, right = map(ops.wrap, ops.full_blocks())
    order = compare(left, right)
    is_left = isnan(left) if nan else isnan(right)
    return where((order == wanted) | (order == 0) | is_left, left, right)


def _leading(x: Any) -> tuple[Any, Block]:
    ops = operands(x)
    block = ops.blocks[0]
    return planes.namespace(block), block[:, 0] if ops.is_complex else block[:1]
