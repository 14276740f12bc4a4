"""Windows for sequences, and the functions of which they are made.

A window is a sum of positive terms in ``sin(pi k / (M - 1))**2``, k counted from the nearer end,
so that all values have small relative errors, those at the ends too.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from mdqr._convert.constants import pi
from mdqr._core.with_precision import with_precision
from mdqr._docstrings import REAL_FUNCTION, documented
from mdqr._functions import creation
from mdqr._functions.comparison import isfinite, where
from mdqr._functions.elementary import sinpi
from mdqr._functions.elementwise import abs as absolute
from mdqr._functions.elementwise import sqrt
from mdqr._functions.filled import ones
from mdqr._functions.manipulation.axes import operand
from mdqr._limbs import planes

if TYPE_CHECKING:
    from mdqr._array.array import MDArray
    from mdqr._typing import PrecisionLike

_OVERFLOW = 715.0  # the function I_0 is above all doubles there

_WINDOW = """
Parameters
----------
M : int
    The number of values.
precision : Precision or str
    The precision.
device : str, optional
    As in `mdqr.array`.

Returns
-------
MDArray
    A vector, symmetric; 1 for one value, none for `M` below 1. Relative error at most
    ``16 * eps``.
"""


@with_precision
@documented(REAL_FUNCTION)
def sinc(x: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return ``sin(pi x) / (pi x)``, 1 of 0.

    Returns
    -------
    MDArray
        A new array of the shape and precision of `x`. Error at most ``8 * eps``.

    >>> float(mdqr.sinc(mdqr.qd("0.5")) * mdqr.qd.pi)
    2.0
    """
    given = operand(x)
    found = sinpi(given) / (given * pi)
    return where(absolute(given) < 2.0**-300, 1.0, found)  # where quotients would underflow


@with_precision
def i0(x: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return the modified Bessel function of the first kind of order 0.

    Parameters
    ----------
    x : MDArray or array_like
        Real values.

    Returns
    -------
    MDArray
        A new array of the shape and precision of `x`. Relative error at most ``2 * eps``, in
        hexa-double ``(2 * abs(x) + 4) * eps``.

    Raises
    ------
    TypeError
        If `x` is complex.

    Notes
    -----
    The sum of ``(x**2 / 4)**k / k!**2`` by Horner's scheme, in the next precision. Term k has k
    roundings of the square, 2 k of products and quotients and k + 1 of sums, and the mean of k,
    weighted by the terms, is ``x I_1(x) / (2 I_0(x)) < abs(x) / 2``.

    Examples
    --------
    >>> import mdqr
    >>> float(mdqr.i0(mdqr.qd(1)))
    1.2660658777520084
    """
    given = operand(x)
    if given.is_complex:
        raise TypeError("i0 is for real values; take a.real or a.imag")
    if not given.size:
        return given.copy()
    work = absolute(given.astype(given.precision.next))
    inside = work < _OVERFLOW
    sizes = where(inside, work, 0.0)
    square = sizes * sizes * 0.25
    total = where(inside, 1.0, where(isfinite(work), float("inf"), work))
    largest = planes.namespace(sizes._block).max(sizes._block[0])
    for k in range(_terms(float(largest), sizes.precision.eps), 0, -1):
        total = where(inside, 1.0 + total * square / float(k * k), total)
    return total.astype(given.precision)


def _terms(x: float, eps: float) -> int:
    """Return how many terms of the sum at most `x` leave out less than ``eps / 16``."""
    count, size = 0, 0.0  # the logarithm of a term, all after which halve twice
    while count < 2 * x or size > math.log(eps / 16):
        count += 1
        size += 2 * (math.log(x / 2) - math.log(count)) if x else -math.inf
    return count


@documented(_WINDOW)
def bartlett(M: int, *, precision: PrecisionLike, device: str | None = None) -> MDArray:
    """Return the triangular window that is 0 at both ends.

    >>> mdqr.bartlett(5, precision=mdqr.qd).to_numpy()
    array([0. , 0.5, 1. , 0.5, 0. ])
    """
    return _window(M, precision, device, lambda k, last: 2.0 * k / last)


@documented(_WINDOW)
def hanning(M: int, *, precision: PrecisionLike, device: str | None = None) -> MDArray:
    """Return the Hann window, ``sin(pi k / (M - 1))**2``.

    >>> mdqr.hanning(5, precision=mdqr.qd).to_numpy()
    array([0. , 0.5, 1. , 0.5, 0. ])
    """
    return _window(M, precision, device, _square_of_sine)


@documented(_WINDOW)
def hamming(M: int, *, precision: PrecisionLike, device: str | None = None) -> MDArray:
    """Return the Hamming window, ``0.54 - 0.46 cos(2 pi k / (M - 1))``.

    >>> mdqr.hamming(3, precision=mdqr.qd).to_strings(3).tolist()
    ['0.0800', '1.00', '0.0800']
    """
    return _window(M, precision, device, _hamming)


@documented(_WINDOW)
def blackman(M: int, *, precision: PrecisionLike, device: str | None = None) -> MDArray:
    """Return the Blackman window, ``0.42 - 0.5 cos(x) + 0.08 cos(2 x)``, x = ``2 pi k / (M - 1)``.

    Returns
    -------
    MDArray
        A vector, symmetric; 1 for one value, none for `M` below 1. Relative error at most
        ``24 * eps``.

    >>> mdqr.blackman(5, precision=mdqr.qd).to_strings(3).tolist()
    ['0.00', '0.340', '1.00', '0.340', '0.00']
    """
    return _window(M, precision, device, _blackman)


@documented(_WINDOW)
def kaiser(M: int, beta: Any, *, precision: PrecisionLike, device: str | None = None) -> MDArray:
    """Return the Kaiser window.

    ``i0(beta * sqrt(1 - (2 k / (M - 1) - 1)**2)) / i0(beta)``.

    Parameters
    ----------
    beta : real number
        The shape of the window.

    Returns
    -------
    MDArray
        A vector, symmetric; 1 for one value, none for `M` below 1. Relative error at most
        ``(8 + 4 * abs(beta)) * eps``, in hexa-double ``(16 + 8 * abs(beta)) * eps``.

    >>> float(mdqr.kaiser(3, 0, precision=mdqr.qd)[0])
    1.0
    """

    # Errors of the argument are worth x I_1(x) / I_0(x) < x: 3 eps, and 1 of a rounded beta.
    def values(k: MDArray, last: float) -> MDArray:
        shape = creation.asarray(beta, precision=k.precision, device=k.device)
        root = sqrt(4.0 * k * (last - k)) / last
        return i0(shape * root) / i0(shape)

    return _window(M, precision, device, values)


def _square_of_sine(k: MDArray, last: float) -> MDArray:
    sine = sinpi(k / last)
    return sine * sine


def _hamming(k: MDArray, last: float) -> MDArray:
    low, high = (k.precision(text) for text in ("0.08", "0.92"))
    return low + high * _square_of_sine(k, last)


def _blackman(k: MDArray, last: float) -> MDArray:
    first, second = (k.precision(text) for text in ("0.36", "0.64"))
    square = _square_of_sine(k, last)
    return square * (first + second * square)


def _window(
    M: int, precision: Any, device: str | None, values: Callable[[MDArray, float], MDArray]
) -> MDArray:
    """Return values of a function of the distance from the nearer end, and of the last place."""
    count = operator.index(M)
    if count <= 1:
        return ones(max(count, 0), precision=precision, device=device)
    places = np.arange(float(count))
    near = np.minimum(places, places[::-1])
    return values(creation.array(near, precision=precision, device=device), float(count - 1))
