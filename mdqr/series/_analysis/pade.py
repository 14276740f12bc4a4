"""Pade approximants: quotients of polynomials that agree with a series."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

import mdqr
from mdqr._array.array import MDArray
from mdqr.linalg import qr, roots, solve_triangular
from mdqr.series._arithmetic.functions import extended
from mdqr.series._arithmetic.products import multiply
from mdqr.series._arithmetic.series import PowerSeries


class Roots(NamedTuple):
    """Approximate roots and radii.

    Attributes
    ----------
    values : MDArray
        Complex, ``(n,)``, by increasing modulus.
    radii : numpy.ndarray
        float64 ``(n,)``: the exact roots can be numbered so that each is that near to its value.
    """

    values: MDArray
    radii: np.ndarray


class Pade:
    """A quotient ``p(t) / q(t)`` with ``q(0) = 1`` that agrees with a series.

    Attributes
    ----------
    numerator, denominator : MDArray
        Coefficients ``(L + 1,)`` and ``(M + 1,)``, that of order 0 first; L and M may be smaller
        than asked for.
    error : MDArray
        The first coefficient in which ``q(t) c(t) - p(t)`` is not made zero, 0-d: the error of the
        approximant is about that times ``t^(L + M + 1)``.
    """

    __slots__ = ("__dict__", "denominator", "error", "numerator")

    def __init__(self, numerator: MDArray, denominator: MDArray, error: MDArray) -> None:
        self.numerator, self.denominator, self.error = numerator, denominator, error

    def __repr__(self) -> str:
        degrees = f"[{self.numerator.shape[0] - 1}/{self.denominator.shape[0] - 1}]"
        return f"<Pade {degrees}, {self.numerator.precision}>"

    def __call__(self, t: Any) -> MDArray:
        """Return its values at points, an MDArray of their shape."""
        p, q = map(PowerSeries, (self.numerator, self.denominator))
        return p(t) / q(t)

    @cached_property
    def poles(self) -> Roots:
        """The roots of the denominator, with radii."""
        return _roots(self.denominator)

    @cached_property
    def zeros(self) -> Roots:
        """The roots of the numerator, with radii."""
        return _roots(self.numerator)


Pade.__module__ = "mdqr.series"


def pade(series: PowerSeries, L: int, M: int) -> Pade:
    """Return the Pade approximant ``[L/M]`` of one series.

    Parameters
    ----------
    series : PowerSeries
        One series, of degree L + M at least.
    L, M : int
        Degrees of the numerator and the denominator.

    Returns
    -------
    Pade
        The approximant; of lower degrees where the series is that of a simpler quotient, as far as
        its precision tells.

    Raises
    ------
    ValueError
        If the series is too short, or an array of series.

    Notes
    -----
    Computed on the host, wherever the series is. The denominator solves a Toeplitz system, by QR
    with columns scaled to one; where that is singular to ``eps**0.75``, degrees are lowered by one
    each (P. Gonnet, S. Guttel and L. N. Trefethen 2013 on why).

    Examples
    --------
    >>> from mdqr import series
    >>> t = series.PowerSeries.variable(4, precision="qd")
    >>> series.pade(1 / (1 - 2 * t), 1, 1).poles.values.to_numpy().round(6).tolist()
    [(0.5+0j)]
    """
    if series.shape:
        raise ValueError(f"pade takes one series; the shape is {series.shape}")
    if L < 0 or M < 0:
        raise ValueError(f"degrees must be at least 0; got {L} and {M}")
    if series.degree < L + M:
        raise ValueError(f"[{L}/{M}] needs a series of degree {L + M}; this has {series.degree}")
    c = series.coeffs.to_device("cpu")
    while M:
        denominator, missing = _denominator(c, L, M)
        if not missing:
            break
        L, M = max(L - missing, 0), M - missing
    if not M:
        denominator = c[:1] * 0 + 1
    denominator = _without_leading_zeros(denominator)
    product = multiply(extended(denominator, c.shape[-1]), c)
    at = L + M + 1
    error = product[at] if at < c.shape[-1] else product[0] * 0
    return Pade(product[: L + 1].copy(), denominator, error.copy())


def _denominator(c: MDArray, L: int, M: int) -> tuple[MDArray, int]:
    """Return q with ``q_0 = 1``, and how many of its equations depend on others."""
    orders = L + np.arange(1, M + 1)[:, None] - np.arange(1, M + 1)
    a = c[np.maximum(orders, 0)] * (orders >= 0)
    scale = abs(a).max(axis=0).to_numpy()
    powers = np.ldexp(1.0, -np.frexp(scale)[1])
    q, r = qr(a * powers)
    diagonal = abs(r.to_numpy()).diagonal()
    missing = int((diagonal <= c.precision.eps**0.75 * diagonal.max()).sum())
    if missing:
        return c[:1], missing
    x = solve_triangular(r, q.H @ -c[L + 1 : L + M + 1]) * powers
    return mdqr.concatenate([x[:1] * 0 + 1, x]), 0


def _roots(p: MDArray) -> Roots:
    found = roots(p.to_device("cpu")[::-1])
    return Roots(found.roots[::-1], found.radii[::-1])


def _without_leading_zeros(p: MDArray) -> MDArray:
    held = np.flatnonzero(p != 0)
    return p[: 1 + (int(held[-1]) if held.size else 0)]
