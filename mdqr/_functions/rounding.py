"""Integers near values, remainders, and values within bounds."""

from __future__ import annotations

import builtins
import operator
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from mdqr._backend import for_block
from mdqr._core.promotion import operands
from mdqr._core.with_precision import with_precision
from mdqr._docstrings import NEW_ARRAY, REAL_FUNCTION, REAL_PAIR, documented
from mdqr._functions import comparison, elementwise
from mdqr._functions.creation import array
from mdqr._functions.manipulation.axes import operand
from mdqr._limbs import planes

if TYPE_CHECKING:
    from mdqr._array.array import MDArray
    from mdqr._typing import Mask, PrecisionLike

_FINEST = 1074  # every value is a multiple of 10**-1074
_HIGHEST = 310  # no value is above half of 10**310


@with_precision
@documented(elementwise.floor)
def trunc(x: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return the integers next to `x` on the side of zero, exactly.

    >>> float(mdqr.trunc(mdqr.qd("-2.7")))
    -2.0
    """
    given = operand(x)
    return copysign(elementwise.floor(elementwise.abs(_real(given, "trunc"))), given)


@with_precision
@documented(NEW_ARRAY)
def round(a: Any, /, decimals: int = 0, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return the nearest multiples of a power of ten, halves to even.

    Parameters
    ----------
    a : MDArray or array_like
        The values; of complex ones both parts are rounded.
    decimals : int, optional
        The number of decimal places; negative ones count before the point.

    Returns
    -------
    MDArray
        A new array. Halves are recognised exactly; a result that is not an integer is rounded once,
        to the nearest of the precision.

    Raises
    ------
    TypeError
        If `decimals` is not an integer.

    >>> print(mdqr.round(mdqr.qd("2.675"), 2), mdqr.round(mdqr.qd(1250), -2))
    2.68 1200.0
    """
    given, places = operand(a), operator.index(decimals)
    if not places:
        return elementwise.rint(given)
    if given.is_complex:
        result = given.copy()
        result.real, result.imag = round(given.real, places), round(given.imag, places)
        return result
    # A multiple of the power needs more bits than the value, and halves must not be made up.
    if places > _FINEST:  # of which every value is a multiple
        return given.copy()
    places = builtins.max(places, -_HIGHEST)  # beyond which all are nearer to 0
    finite = comparison.isfinite(given)
    values = comparison.where(finite, given, 0).to_fractions()
    exact = np.array([_rounded(v, places) for v in values.reshape(-1)], dtype=object)
    rounded = array(exact.reshape(given.shape), precision=given.precision, device=given.device)
    return comparison.where(finite, copysign(rounded, given), given)


def _rounded(x: Fraction, places: int) -> Fraction:
    return Fraction(x.__round__(places))


@with_precision
@documented(REAL_PAIR)
def copysign(x1: Any, x2: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return the sizes of `x1` with the signs of `x2`, exactly.

    Parameters
    ----------
    x1, x2 : MDArray or array_like
        Real values. The sign of a zero or NaN counts.

    >>> float(mdqr.copysign(mdqr.qd(3), -0.0))
    -3.0
    """
    ops = operands(x1, x2)
    if ops.is_complex:
        raise TypeError("copysign is for real values; take a.real and a.imag")
    sizes, signs = ops.full_blocks()
    xp = planes.namespace(sizes)
    flipped = xp.signbit(sizes[0]) != xp.signbit(signs[0])
    return ops.wrap(planes.select(flipped, planes.negate(sizes, False), sizes))


@with_precision
@documented(REAL_FUNCTION)
def signbit(x: Any, /, *, precision: PrecisionLike | None = None) -> Mask:
    """Return where the sign is negative, for zeros and NaN as well.

    Returns
    -------
    numpy.ndarray or numpy.bool
        Of the shape of `x`.

    >>> bool(mdqr.signbit(mdqr.qd(-0.0)))
    True
    """
    block = _real(operand(x), "signbit")._block
    return planes.namespace(block).signbit(block[0])[()]


@with_precision
@documented(REAL_PAIR)
def remainder(x1: Any, x2: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return ``x1 - x2 * floor(x1 / x2)``, with the sign of `x2`.

    By integers on the host, as the quotient may have far more digits than the precision.

    Returns
    -------
    MDArray
        Rounded once from the exact remainder. Special values as in NumPy: NaN for a divisor 0 or
        an infinite dividend.

    >>> float(mdqr.remainder(mdqr.qd(-7), 3))
    2.0
    """
    return _divided(x1, x2)[1]


@with_precision
@documented(REAL_PAIR)
def floor_divide(x1: Any, x2: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return the largest integers not above the exact quotients ``x1 / x2``.

    Returns
    -------
    MDArray
        Rounded once from the exact integer. A divisor 0 gives what ``x1 / x2`` is, an infinite
        dividend NaN.

    >>> float(mdqr.floor_divide(mdqr.qd(-7), 3))
    -3.0
    """
    return _divided(x1, x2)[0]


@with_precision
@documented(REAL_PAIR)
def divmod(
    x1: Any, x2: Any, /, *, precision: PrecisionLike | None = None
) -> tuple[MDArray, MDArray]:
    """Return `mdqr.floor_divide` and `mdqr.remainder` together.

    Returns
    -------
    quotient, remainder : MDArray
        New arrays of the broadcast shape.

    >>> [float(x) for x in mdqr.divmod(mdqr.qd(-7), 3)]
    [-3.0, 2.0]
    """
    return _divided(x1, x2)


@with_precision
@documented(REAL_PAIR)
def fmod(x1: Any, x2: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return ``x1 - x2 * trunc(x1 / x2)``, with the sign of `x1`, as the function of C.

    Returns
    -------
    MDArray
        Rounded once from the exact remainder. NaN for a divisor 0 or an infinite dividend.

    >>> float(mdqr.fmod(mdqr.qd(-7), 3))
    -1.0
    """
    ops = operands(x1, x2)
    if ops.is_complex:
        raise TypeError("remainders are of real values; take a.real and a.imag")
    x, y = map(ops.wrap, ops.full_blocks())
    return copysign(remainder(elementwise.abs(x), elementwise.abs(y)), x)


@with_precision
@documented(REAL_FUNCTION)
def modf(x: Any, /, *, precision: PrecisionLike | None = None) -> tuple[MDArray, MDArray]:
    """Return the parts behind and in front of the point, both with the sign of `x`, exactly.

    Returns
    -------
    fraction, integer : MDArray
        New arrays; their sum is `x`. Of infinity the fraction is 0.

    >>> [float(part) for part in mdqr.modf(mdqr.qd("-2.75"))]
    [-0.75, -2.0]
    """
    given = _real(operand(x), "modf")
    whole = trunc(given)
    block = given._block
    xp = planes.namespace(block)
    # Limbs of one size side by side: their exact sum has no more limbs than the value.
    pairs = xp.stack([block, -whole._block], axis=1).reshape(-1, *given.shape)
    pairs = xp.where(xp.isfinite(block[0]), pairs, 0.0)
    rest = planes.narrow(planes.renormalize(pairs), False, block.shape[0])
    found = comparison.where(comparison.isnan(given), given, given._like(rest))
    return copysign(found, given), whole


def _divided(x1: Any, x2: Any) -> tuple[MDArray, MDArray]:
    """Return the floors of quotients, and the remainders."""
    ops = operands(x1, x2)
    if ops.is_complex:
        raise TypeError("remainders are of real values; take a.real and a.imag")
    x, y = map(ops.wrap, ops.full_blocks())
    plain = comparison.isfinite(x) & comparison.isfinite(y) & (y != 0)
    tops, bottoms = (comparison.where(plain, z, 1).to_fractions().reshape(-1) for z in (x, y))
    pairs = [builtins.divmod(top, bottom) for top, bottom in zip(tops, bottoms, strict=True)]
    found = []
    for exact in zip(*pairs, strict=True) if pairs else ((), ()):
        values = np.empty(len(exact), dtype=object)
        values[:] = exact
        found.append(array(values.reshape(x.shape), precision=ops.precision, device=x.device))
    # Beside infinite divisors and zeros: what IEEE and NumPy say.
    nan = x * float("nan")
    beyond = comparison.isfinite(x) & comparison.isinf(y)
    same = (x == 0) | (signbit(x) == signbit(y))
    quotient = comparison.where(beyond, comparison.where(same, x * 0 * copysign(1, y), -1), nan)
    quotient = comparison.where((y == 0) & ~comparison.isnan(x), x / y, quotient)
    rest = comparison.where(beyond, comparison.where(same, x, y), nan)
    rest = comparison.where(beyond & (x == 0), copysign(0.0, y), rest)
    zero = copysign(found[1] * 0, y)
    signed = comparison.where(found[1] == 0, zero, found[1])
    zero_quotient = copysign(found[0] * 0, elementwise.divide(x, y))
    whole = comparison.where(found[0] == 0, zero_quotient, found[0])
    return comparison.where(plain, whole, quotient), comparison.where(plain, signed, rest)


@with_precision
@documented(REAL_PAIR)
def nextafter(x1: Any, x2: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return the neighbours of `x1` on the side of `x2`, a unit in the last place away.

    Sums of doubles have neighbours much nearer, since gaps between limbs may be wide; this is the
    distance that the precision keeps for every value.

    Returns
    -------
    MDArray
        In precision d the next double. Else ``x1`` changed by ``2**(1 - bits)`` of the power of two
        below it, or by the smallest subnormal where that is larger; `x2` where both are equal.

    >>> x = mdqr.qd(1)
    >>> (mdqr.nextafter(x, 2) - x).to_fractions().item() == mdqr.qd(2).to_fractions().item() ** -211
    True
    """
    ops = operands(x1, x2)
    if ops.is_complex:
        raise TypeError("nextafter is for real values; take a.real and a.imag")
    x, y = map(ops.wrap, ops.full_blocks())
    order = comparison.compare(y, x)
    if ops.precision.limbs == 1:
        return ops.wrap(planes.namespace(x._block).nextafter(x._block[0], y._block[0])[None])
    unit = unit_in_last_place(x)
    moved = comparison.where(order == 1, x + unit, x - unit)
    moved = comparison.where(moved == 0, copysign(0.0, x), moved)  # from the smallest ones
    moved = comparison.where(comparison.isinf(x), copysign(ops.precision.huge, x), moved)
    return comparison.where(order == 2, x + y, comparison.where(order == 0, y, moved))


def unit_in_last_place(x: MDArray) -> MDArray:
    """Return ``2**(1 - bits)`` of the powers of two below real values, at least ``2**-1074``."""
    xp, leading = planes.namespace(x._block), x._block[0]
    _, exponents = xp.frexp(xp.where(xp.isfinite(leading), leading, 0.0))
    lowest = -1074
    steps = xp.where(leading == 0, lowest, xp.maximum(exponents - x.precision.bits, lowest))
    one = x._like(planes.widen(xp.ones((1, *x.shape)), False, x.precision.limbs))
    return x._like(for_block(one._block).ldexp(one._block, steps.astype(np.int64)))


@with_precision
@documented(NEW_ARRAY)
def clip(
    a: Any,
    /,
    a_min: Any = None,
    a_max: Any = None,
    *,
    min: Any = None,
    max: Any = None,
    precision: PrecisionLike | None = None,
) -> MDArray:
    """Return values, and the bounds where they lie beyond.

    Parameters
    ----------
    a : MDArray or array_like
        The values; complex ones in lexicographic order.
    a_min, a_max : MDArray or array_like, optional
        The bounds, which broadcast; the upper one counts where they cross.
    min, max : MDArray or array_like, optional
        Names of the bounds in the array API.

    Returns
    -------
    MDArray
        Of the highest precision; NaN where a value or a bound is.

    Raises
    ------
    ValueError
        If a bound is given twice.

    >>> mdqr.clip(mdqr.arange(5, precision=mdqr.qd), 1, 3).to_numpy()
    array([1., 1., 2., 3., 3.])
    """
    if (a_min is not None and min is not None) or (a_max is not None and max is not None):
        raise ValueError("a bound is given twice: a_min and min are one thing, as a_max and max")
    low, high = a_min if min is None else min, a_max if max is None else max
    result = a if low is None else comparison.maximum(a, low)
    return operand(result).copy() if high is None else comparison.minimum(result, high)


@with_precision
@documented(NEW_ARRAY)
def nan_to_num(
    x: Any,
    /,
    *,
    nan: float = 0.0,
    posinf: Any = None,
    neginf: Any = None,
    precision: PrecisionLike | None = None,
) -> MDArray:
    """Return values with numbers instead of NaN and infinities.

    Parameters
    ----------
    nan, posinf, neginf : real number, optional
        Replacements of NaN, 0 by default, and of infinities, the largest doubles by default.

    Raises
    ------
    TypeError
        If `x` is not an `MDArray` and `precision` is missing.

    >>> mdqr.nan_to_num(mdqr.array(["nan", "1"], precision=mdqr.qd)).to_numpy()
    array([0., 1.])
    """
    given = operand(x)
    if given.is_complex:
        result = given.copy()
        for part in (result.real, result.imag):
            part[...] = nan_to_num(part, nan=nan, posinf=posinf, neginf=neginf)
        return result
    huge = given.precision.huge
    result = comparison.where(comparison.isnan(given), nan, given)
    result = comparison.where(result == float("inf"), huge if posinf is None else posinf, result)
    return comparison.where(result == -float("inf"), -huge if neginf is None else neginf, result)


def _real(x: MDArray, name: str) -> MDArray:
    if x.is_complex:
        raise TypeError(f"{name} is for real values; take a.real and a.imag")
    return x
