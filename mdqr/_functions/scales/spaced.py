"""Values whose logarithms are evenly spaced."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mdqr._core.base import ArrayBase
from mdqr._docstrings import documented
from mdqr._functions import creation, filled
from mdqr._functions.elementary import exp, log
from mdqr._functions.power import power
from mdqr._functions.sequences import linspace, precision_of
from mdqr._typing import PrecisionLike

if TYPE_CHECKING:
    from mdqr._array.array import MDArray


@documented(linspace)
def logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10,
    *,
    precision: PrecisionLike | None = None,
    device: str | None = None,
) -> MDArray:
    """Return powers of a base, with exponents evenly spaced from `start` to `stop`.

    Parameters
    ----------
    start, stop : array_like
        The first and last exponent, as in `mdqr.array`; arrays give one sequence for each pair,
        along a new first axis.
    base : real number, optional
        The base, positive.
    device : str, optional
        Where the values live, unless an operand is an `MDArray`; as in `mdqr.array`.

    Returns
    -------
    MDArray
        Of shape ``(num, *shape)``, relative error at most ``2 * eps``; in hexa-double,
        which has no guard digits, ``(8 + 16 * abs(log(base)) * m) * eps``, where m is the
        largest modulus of `start` and `stop`.

    Raises
    ------
    ValueError
        If `base` is not positive.

    >>> mdqr.logspace(0, 3, 4, precision=mdqr.qd).to_numpy()
    array([   1.,   10.,  100., 1000.])
    """
    target = precision_of("logspace", precision, start, stop, base)
    place = next((x.device for x in (start, stop, base) if isinstance(x, ArrayBase)), device)
    work = target.next
    radix = creation.asarray(base, precision=work, device=place)
    if radix.is_complex or not bool((radix > 0).all()):
        raise ValueError(f"logspace needs a base that is positive; got {base}")
    exponents = linspace(start, stop, num, endpoint, precision=work, device=place)
    return power(radix, exponents).astype(target)


@documented(linspace)
def geomspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    *,
    precision: PrecisionLike | None = None,
    device: str | None = None,
) -> MDArray:
    """Return values from `start` to `stop` each of which is the same multiple of the one before.

    Parameters
    ----------
    start, stop : array_like
        The ends, as in `mdqr.array`, real of one sign or complex; arrays give one sequence for each
        pair, along a new first axis.
    device : str, optional
        Where the values live, unless an end is an `MDArray`; as in `mdqr.array`.

    Returns
    -------
    MDArray
        Of shape ``(num, *shape)``. The ends are exact; relative error at most ``2 * eps`` between
        them, and in hexa-double, which has no guard digits,
        ``(16 + 16 * abs(log(stop / start))) * eps``.

    Raises
    ------
    ValueError
        If an end is zero, or real ends have two signs.

    >>> mdqr.geomspace(1, 16, 5, precision=mdqr.qd).to_numpy()
    array([ 1.,  2.,  4.,  8., 16.])
    """
    target = precision_of("geomspace", precision, start, stop)
    place = next((x.device for x in (start, stop) if isinstance(x, ArrayBase)), device)
    first, last = (creation.asarray(x, precision=target, device=place) for x in (start, stop))
    if bool((first == 0).any()) or bool((last == 0).any()):
        raise ValueError("geomspace needs ends that are not zero")
    if not (first.is_complex or last.is_complex) and bool(((first < 0) != (last < 0)).any()):
        raise ValueError("geomspace needs real ends of one sign, or complex ones")
    low, high = (x.astype(target.next) for x in (first, last))
    steps = linspace(0 * low, log(high / low), num, endpoint)
    values = (low * exp(steps)).astype(target)
    if len(values):
        values[0] = filled.full(values.shape[1:], first)
    if endpoint and len(values) > 1:
        values[-1] = filled.full(values.shape[1:], last)
    return values
