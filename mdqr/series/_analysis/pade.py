"""Pade approximants: quotients of polynomials that agree with a series."""

from __future__ import annotations

import math
import operator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

import mdqr
from mdqr._array.array import MDArray
from mdqr._limbs.scaling import norms
from mdqr._pickles import State, pickled, pickled_fields
from mdqr.linalg import Info, qr, roots, solve_triangular, svdvals
from mdqr.series._analysis.units import Unit
from mdqr.series._arithmetic.functions import extended
from mdqr.series._arithmetic.products import multiply
from mdqr.series._arithmetic.series import PowerSeries, is_series
from mdqr.series._errors import required

# Rounding errors of a sum of n terms, in n eps of them.
_ROUNDING = 4.0


@pickled_fields
class Roots(NamedTuple):
    """Approximate roots and their error bounds.

    They are the roots of the polynomial as it is stored. Coefficients of an approximant are
    rounded and, where its equations are ill conditioned, have few right digits: then a pole of the
    exact approximant may be farther away than that.

    Attributes
    ----------
    values : MDArray
        Complex, ``(n,)``, by increasing modulus.
    error_bound : numpy.ndarray
        float64 ``(n,)``: the exact roots of the stored polynomial can be numbered so that each is
        that near to its value.
    """

    values: MDArray
    error_bound: np.ndarray

    @property
    def info(self) -> Info:
        """The bounds in the form of other results."""
        return Info(self.values.precision, abs(self.values).to_numpy(), self.error_bound)


@pickled
class Pade:
    """A quotient ``p(t) / q(t)`` with ``q(0) = 1`` that agrees with a series.

    Attributes
    ----------
    numerator, denominator : MDArray
        Coefficients ``(L + 1,)`` and ``(M + 1,)``, order 0 first; L and M may be smaller
        than asked for.
    error : MDArray
        The first coefficient of ``q(t) c(t) - p(t)`` behind the numerator that is not zero to
        rounding, 0-d: the error of the approximant is about ``error * t^error_order / q(t)`` for
        small t. NaN if the series ends before it.
    error_order : int
        The order of that coefficient, L + M + 1 usually; if it does not exist, the first order
        behind the series.
    """

    __slots__ = ("__dict__", "denominator", "error", "error_order", "numerator")

    def __init__(
        self, numerator: MDArray, denominator: MDArray, error: MDArray, error_order: int
    ) -> None:
        self.numerator, self.denominator = numerator, denominator
        self.error, self.error_order = error, error_order

    def _state(self) -> dict[str, Any]:
        names = ("numerator", "denominator", "error", "error_order")
        return {name: getattr(self, name) for name in names}

    @classmethod
    def _restored(cls, state: State) -> Pade:
        p, q = (state.checked(name, is_series) for name in ("numerator", "denominator"))
        return cls(p, q, state.checked("error", MDArray), state.checked("error_order", int))

    def __repr__(self) -> str:
        degrees = f"[{self.numerator.shape[0] - 1}/{self.denominator.shape[0] - 1}]"
        return f"<Pade {degrees}, {self.numerator.precision}>"

    def __call__(self, t: Any) -> MDArray:
        """Return its values at points, an MDArray of their shape."""
        p, q = map(PowerSeries, (self.numerator, self.denominator))
        return p(t) / q(t)

    @property
    def info(self) -> Info:
        """The precision of the coefficients; `error` estimates the error."""
        return Info(self.numerator.precision)

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
        The approximant; of lower degrees if to its precision the series belongs to a simpler
        quotient.

    Raises
    ------
    TypeError
        If `series` is none, or a degree is not an integer.
    ValueError
        If the series is too short, not finite up to order L + M, or an array of series.

    Notes
    -----
    Computed on the host, wherever the series is, and in a unit of t, a power of two, in which the
    coefficients up to order L + M are near one size. So in another unit of t or of the series the
    same limbs come out, times powers of two. The denominator solves a Toeplitz system, by QR with
    columns scaled to one. Where that is singular to ``eps**0.75``, degrees are lowered by one each
    (P. Gonnet, S. Guttel and L. N. Trefethen 2013 on why). Denominators of lower degree that fit
    the system to rounding are taken instead of one whose last coefficients are rounding errors.

    Examples
    --------
    >>> from mdqr import series
    >>> t = series.PowerSeries.identity(4, precision="qd")
    >>> series.pade(1 / (1 - 2 * t), 1, 1).poles.values.to_numpy().round(6).tolist()
    [(0.5+0j)]
    """
    required("pade", "series", series, PowerSeries)
    L, M = operator.index(L), operator.index(M)
    if series.shape:
        raise ValueError(f"pade takes one series; the shape is {series.shape}")
    if L < 0 or M < 0:
        raise ValueError(f"degrees must be at least 0; got {L} and {M}")
    if series.degree < L + M:
        raise ValueError(f"[{L}/{M}] needs a series of degree {L + M}; this has {series.degree}")
    c = series.coeffs.to_device("cpu")
    if not bool(mdqr.isfinite(c[: L + M + 1]).all()):
        raise ValueError(f"[{L}/{M}] needs finite coefficients up to order {L + M}")
    unit = Unit.of(c[: L + M + 1])
    found, _ = level_pade(unit.inward(c), L, M)
    at = found.error_order
    return Pade(
        unit.outward(found.numerator),
        unit.outward(found.denominator, size=0),
        unit.outward(found.error[None], at)[0],
        at,
    )


def level_pade(c: MDArray, L: int, M: int) -> tuple[Pade, np.ndarray]:
    """Return an approximant of coefficients near one size, on the host.

    Also what rounding may do to the coefficients of the denominator.
    """
    last = L + M
    while True:
        q, spread, missing = _denominator(c, L, M, L + M)
        if not missing:
            break
        L, M = max(L - missing, 0), M - missing
    lower = _certain(c, q, spread, L)
    if lower != (L, M):
        shorter, error, missing = _denominator(c, *lower, L + M)
        if not missing and _fits(c, shorter, lower[0], L + M):
            q, spread, L = shorter, error, lower[0]
    product = multiply(extended(q, c.shape[-1]), c)
    # What is not finite behind must not reach the orders that determine the approximant.
    product[: last + 1] = multiply(extended(q, last + 1), c[: last + 1])
    with np.errstate(invalid="ignore"):
        held = abs(product).to_numpy() > _rounding(q, c)
    numerator = _trimmed(product[: L + 1], held[: L + 1])
    behind = np.flatnonzero(held[L + 1 :])
    if behind.size:
        at = L + 1 + int(behind[0])
        return Pade(numerator, q, product[at].copy(), at), spread
    none = mdqr.array(math.nan, precision=c.precision, dtype=complex if c.is_complex else None)
    return Pade(numerator, q, none, c.shape[-1]), spread


def _denominator(c: MDArray, L: int, M: int, last: int) -> tuple[MDArray, np.ndarray, int]:
    """Return q of degree M with ``q_0 = 1`` that makes orders L + 1 to `last` of ``q c`` zero.

    More orders than M by least squares. Also what rounding may do to q, and how many of the
    equations depend on others; then q is none.
    """
    one = c[:1] * 0 + 1
    if not M:
        return one, np.zeros(1), 0
    orders = np.arange(L + 1, last + 1)[:, None] - np.arange(1, M + 1)
    a, b = c[np.maximum(orders, 0)] * (orders >= 0), -c[L + 1 : last + 1]
    x, spread, missing = _solved(a, b)
    if missing:
        return one, spread, missing
    parts = abs(a).to_numpy() * abs(x).to_numpy()
    terms = parts.sum(axis=1, keepdims=True) + abs(b).to_numpy()[:, None]
    held = np.append(True, (parts > _ROUNDING * c.precision.eps * terms).any(axis=0))
    return _trimmed(mdqr.concatenate([one, x]), held), np.append(0.0, spread), 0


def _certain(c: MDArray, q: MDArray, spread: np.ndarray, L: int) -> tuple[int, int]:
    """Return the degrees of quotients without the last coefficients that may be rounding alone."""
    m = _last(abs(q).to_numpy() > spread[: len(q)])
    p = abs(multiply(extended(q, L + 1), c[: L + 1])).to_numpy()
    unsure = np.convolve(spread, abs(c[: L + 1]).to_numpy())[: L + 1]
    return _last(p > unsure + _rounding(q, c[: L + 1])), m


def _solved(a: MDArray, b: MDArray) -> tuple[MDArray, np.ndarray, int]:
    """Solve ``a x = b`` by QR; return also what rounding may do to x, and the rank that misses."""
    powers = np.ldexp(1.0, -np.frexp(abs(a).max(axis=0).to_numpy())[1])
    q, r = qr(a * powers)
    diagonal = abs(r.to_numpy()).diagonal()
    eps = a.precision.eps
    if (diagonal <= eps**0.75 * diagonal.max()).any():
        # Only pivots, or these, tell how many depend on others.
        values = svdvals(a * powers).to_numpy()
        return b, diagonal, max(1, int((values <= eps**0.75 * values[0]).sum()))
    right = mdqr.concatenate([(q.H @ b)[:, None], q.H], axis=1)
    solved = solve_triangular(r, right)
    x = solved[:, 0] * powers
    terms = abs(a).to_numpy() @ abs(x).to_numpy() + abs(b).to_numpy()
    inverse = norms(abs(solved[:, 1:]).to_numpy() * powers[:, None], 1)
    return x, _ROUNDING * eps * inverse * norms(terms, 0), 0


def _fits(c: MDArray, q: MDArray, L: int, last: int) -> bool:
    """Return whether orders L + 1 to `last` of ``q c`` are zero to rounding."""
    left = abs(multiply(extended(q, last + 1), c[: last + 1])).to_numpy()
    return bool((left <= _rounding(q, c[: last + 1]))[L + 1 :].all())


def _rounding(q: MDArray, c: MDArray) -> np.ndarray:
    """Return what rounding may do to the orders of ``q c``, those of c, float64."""
    terms = np.convolve(abs(q).to_numpy(), abs(c).to_numpy())[: len(c)]
    return _ROUNDING * len(q) * c.precision.eps * terms


def _roots(p: MDArray) -> Roots:
    found = roots(p.to_device("cpu")[::-1])
    return Roots(found.roots[::-1], found.error_bound[::-1])


def _trimmed(p: MDArray, held: np.ndarray) -> MDArray:
    """Return coefficients with zeros for those that do not count, without zeros at the end."""
    p = p[: 1 + _last(held)].copy()
    p[~held[: len(p)]] = 0
    return p


def _last(held: np.ndarray) -> int:
    """Return the place of the last one that counts, 0 if none does."""
    return int(np.flatnonzero(held).max(initial=0))
