"""Angles in degrees and radians, and of complex numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mdqr._convert.constants import pi
from mdqr._core.with_precision import with_precision
from mdqr._docstrings import REAL_FUNCTION, documented
from mdqr._functions.elementary import arctan2
from mdqr._functions.filled import zeros_like
from mdqr._functions.manipulation.axes import operand

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


def _real(name: str, x: Any) -> MDArray:
    given = operand(x)
    if given.is_complex:
        raise TypeError(f"{name} is for real values; take a.real or a.imag")
    return given
