"""Angles in degrees and radians, and of complex numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mdqr._convert.constants import pi
from mdqr._core.axes import counted_axis
from mdqr._core.with_precision import with_precision
from mdqr._docstrings import REAL_FUNCTION, documented
from mdqr._functions.comparison import where
from mdqr._functions.elementary import arctan2
from mdqr._functions.elementwise import abs as absolute
from mdqr._functions.elementwise import ceil
from mdqr._functions.filled import zeros_like
from mdqr._functions.manipulation.axes import moveaxis, operand
from mdqr._functions.rounding import copysign
from mdqr._functions.sampled import diff
from mdqr._functions.sequences import concatenate
from mdqr._functions.statistics.running import cumsum

if TYPE_CHECKING:
    from mdqr._array.array import MDArray
    from mdqr._typing import PrecisionLike


@with_precision
@documented(REAL_FUNCTION)
def deg2rad(x: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return ``x * pi / 180``, with all digits of pi that the precision has.

    >>> bool(mdqr.deg2rad(mdqr.qd(180)) == mdqr.qd.pi)
    True
    """
    return _real("deg2rad", x) * (pi / 180)


@with_precision
@documented(REAL_FUNCTION)
def rad2deg(x: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return ``x * 180 / pi``, with all digits of pi that the precision has.

    >>> float(mdqr.rad2deg(mdqr.qd.pi / 2))
    90.0
    """
    return _real("rad2deg", x) * (180 / pi)


@with_precision
@documented(REAL_FUNCTION)
def angle(z: Any, /, deg: bool = False, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return the angles of complex numbers, in ``[-pi, pi]``; of negative real ones pi.

    Parameters
    ----------
    z : MDArray or array_like
        The values, real or complex.
    deg : bool, optional
        Whether the result is in degrees, not radians.

    Returns
    -------
    MDArray
        Real; relative error at most ``4 * eps``, of degrees ``8 * eps``.

    Raises
    ------
    TypeError
        If no value is an `MDArray` and `precision` is missing.

    >>> float(mdqr.angle(mdqr.qd(1 + 1j), deg=True))
    45.0
    """
    given = operand(z)
    found = arctan2(given.imag if given.is_complex else zeros_like(given), given.real)
    return rad2deg(found) if deg else found


@with_precision
def unwrap(
    p: Any,
    /,
    discont: Any = None,
    axis: int = -1,
    *,
    period: Any = 2 * pi,
    precision: PrecisionLike | None = None,
) -> MDArray:
    """Return angles without jumps: multiples of the period added, that neighbours are near.

    Parameters
    ----------
    p : MDArray or array_like
        Real values.
    discont : real number, optional
        Jumps below it stay; by default, and at least, half of the period.
    axis : int, optional
        The axis.
    period : real number, optional
        The period; 2 pi in all digits by default.

    Returns
    -------
    MDArray
        A new array. Turns are counted as integers: after n of them the error is at most
        ``4 * eps * (abs(result) + n * period)``, besides a jump of half a period within
        ``4 * eps``, which may go to either side.

    Raises
    ------
    TypeError
        If values are complex.
    ValueError
        If the axis does not exist, or `p` is 0-d.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.unwrap(mdqr.array([0, 3, 6, 0, 3], precision=mdqr.qd), period=8).to_numpy()
    array([ 0.,  3.,  6.,  8., 11.])
    """
    given = _real("unwrap", p)
    rows = moveaxis(given, counted_axis(axis, given.ndim), -1)
    step = zeros_like(rows[(0,) * rows.ndim] if rows.size else rows) + period
    if not rows.size:
        return given.copy()
    jumps = diff(rows)
    sizes = absolute(jumps)
    half = step / 2
    turns = ceil(sizes / step - 0.5)
    rest = sizes - turns * step
    turns = where(rest > half, turns + 1.0, where(rest <= -half, turns - 1.0, turns))
    if discont is not None:
        turns = where(sizes < discont, 0.0, turns)
    turns = where(sizes < half, 0.0, turns)
    counted = cumsum(copysign(turns, -jumps), -1)
    found = concatenate([rows[..., :1], rows[..., 1:] + counted * step], -1)
    return moveaxis(found, -1, axis)


def _real(name: str, x: Any) -> MDArray:
    given = operand(x)
    if given.is_complex:
        raise TypeError(f"{name} is for real values; take a.real or a.imag")
    return given
