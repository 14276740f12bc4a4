"""Binary exponents of values, and what is scaled by them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mdqr._backend import for_block
from mdqr._core.promotion import common_shape, operands
from mdqr._core.with_precision import with_precision
from mdqr._docstrings import REAL_FUNCTION, REAL_PAIR, documented
from mdqr._functions import filled
from mdqr._functions.comparison import isfinite, isnan, maximum, where
from mdqr._functions.elementary import exp2, log, log1p
from mdqr._functions.elementwise import abs as absolute
from mdqr._functions.manipulation.axes import operand
from mdqr._functions.manipulation.selection import integers
from mdqr._functions.rounding import copysign, unit_in_last_place
from mdqr._limbs import planes

if TYPE_CHECKING:
    from mdqr._array.array import MDArray
    from mdqr._typing import Places, PrecisionLike


@with_precision
@documented(REAL_FUNCTION)
def frexp(x: Any, /, *, precision: PrecisionLike | None = None) -> tuple[MDArray, Places]:
    """Return fractions and exponents: ``x == fraction * 2**exponent``.

    Returns
    -------
    fraction : MDArray
        Of size 1/2 to 1 without 1, or 0, infinite or NaN where `x` is. Exact, but that bits below
        ``2**-1074`` are rounded.
    exponent : numpy.ndarray
        Integers; of CuPy on a GPU. 0 of values that are 0 or not finite.

    >>> fraction, exponent = mdqr.frexp(mdqr.qd(10))
    >>> float(fraction), int(exponent)
    (0.625, 4)
    """
    given = _real("frexp", x)
    block = given._block
    xp = planes.namespace(block)
    finite = xp.isfinite(block[0])
    parts, exponents = xp.frexp(xp.where(finite, block[0], 0.0))
    if block.shape[0] > 1:  # a power of two less lower limbs lies below it
        lower = (xp.abs(parts) == 0.5) & (block[1] != 0)
        lower &= xp.signbit(block[0]) != xp.signbit(block[1])
        exponents = exponents - lower
    exponents = exponents.astype(np.int64)
    return given._like(for_block(block).ldexp(block, -exponents)), exponents[()]


def ldexp(x1: Any, x2: Any, /) -> MDArray:
    """Return ``x1 * 2**x2``: exact, unless bits fall below ``2**-1074`` or the result overflows.

    Parameters
    ----------
    x1 : MDArray
        The values, real or complex.
    x2 : array_like of int
        The exponents.

    Returns
    -------
    MDArray
        A new array of the broadcast shape.

    Raises
    ------
    IndexError
        If the exponents are not integers.

    Examples
    --------
    >>> import mdqr
    >>> float(mdqr.ldexp(mdqr.qd("0.625"), 4))
    10.0
    """
    given = operand(x1)
    exponents = integers(x2, given._block)
    shape = common_shape([given.shape, exponents.shape])
    block = planes.broadcast(given._block, given.is_complex, shape)
    xp = planes.namespace(block)
    powers = xp.ascontiguousarray(xp.broadcast_to(exponents, shape)).reshape(shape)
    return given._like(for_block(block).ldexp(block, powers, is_complex=given.is_complex))


@with_precision
@documented(REAL_FUNCTION)
def spacing(x: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return the distances to the next values, away from zero, with the signs of `x`.

    A unit in the last place of the precision, as `mdqr.nextafter` steps.

    Returns
    -------
    MDArray
        Powers of two, exactly; NaN of infinities and NaN.

    >>> bool(mdqr.spacing(mdqr.qd(1)) == mdqr.nextafter(mdqr.qd(1), 2) - 1)
    True
    """
    given = _real("spacing", x)
    unit = copysign(unit_in_last_place(given), given)
    return where(isfinite(given), unit, float("nan"))


@with_precision
@documented(REAL_PAIR)
def heaviside(x1: Any, x2: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return 0 for negative `x1`, 1 for positive and `x2` for 0; NaN of NaN.

    >>> mdqr.heaviside(mdqr.array([-2, 0, 3], precision=mdqr.qd), 0.5).to_numpy()
    array([0. , 0.5, 1. ])
    """
    ops = operands(x1, x2)
    x, at_zero = (_real("heaviside", ops.wrap(block)) for block in ops.full_blocks())
    step = where(x < 0, 0.0, where(x > 0, 1.0, at_zero))
    return where(isnan(x), x, step)


@with_precision
@documented(REAL_PAIR)
def logaddexp2(x1: Any, x2: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return ``log2(2**x1 + 2**x2)`` without overflow.

    ``max(x1, x2) + log1p(2**-abs(x1 - x2)) / log(2)``. Where an operand is infinite the result is
    the larger one; NaN wins.

    Returns
    -------
    MDArray
        A new array of the broadcast shape. The error is at most
        ``eps * (2 * abs(result) + 16)``.

    >>> float(mdqr.logaddexp2(mdqr.qd(1000), 1000))
    1001.0
    """
    # With d the distance, u = 2**-d: u has 2 d log(2) eps of the distance and 4 eps of exp2, the
    # logarithm 4 eps of its own, and it is at most u. With 2 d u log(2) <= 2 / e this is at most
    # 8.8 eps; the quotient by log(2) makes it 12.7, and its own errors, of the constant too, 2.
    ops = operands(x1, x2)
    x, y = (_real("logaddexp2", ops.wrap(block)) for block in ops.full_blocks())
    largest = maximum(x, y)
    distance = where(isfinite(x) & isfinite(y), absolute(x - y), float("inf"))
    two = filled.full((), 2.0, precision=x.precision, device=x.device)
    near = log1p(exp2(-distance)) / log(two)
    return where(x == y, x + 1.0, largest + near)


def _real(name: str, x: Any) -> MDArray:
    given = operand(x)
    if given.is_complex:
        raise TypeError(f"{name} is for real values; take a.real and a.imag")
    return given
