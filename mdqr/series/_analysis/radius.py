"""The radius of convergence: the nearest singularity by ratios, a recurrence, Pade poles."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np

import mdqr
from mdqr._array.array import MDArray
from mdqr.series._analysis.pade import Pade, pade
from mdqr.series._arithmetic.series import PowerSeries

_MOST_ORDER = 12
_METHODS = ("auto", "fabry", "recurrence", "pade")
# A pole this near a zero, relative to its modulus, cancels: it is noise.
_DOUBLET = 1e-6


class Radius(NamedTuple):
    """The radius of convergence of a series, as estimated.

    Attributes
    ----------
    value : MDArray
        The radius, 0-d; infinite where nothing limits it.
    location : MDArray
        The singularity, complex, 0-d, relative to t0; of a pair of conjugate ones that above the
        real axis.
    uncertainty : float
        By how much the estimates that went before differ, absolute: an estimate too.
    method : str
        "fabry", "recurrence" or "pade".
    component : int
        The component with the nearest singularity.
    components : numpy.ndarray
        The radius of each component, float64.
    """

    value: MDArray
    location: MDArray
    uncertainty: float
    method: str
    component: int
    components: np.ndarray


Radius.__module__ = "mdqr.series"


class _Estimate(NamedTuple):
    location: MDArray
    uncertainty: float
    method: str

    @property
    def value(self) -> MDArray:
        return abs(self.location)


def radius(series: PowerSeries, method: str = "auto") -> Radius:
    """Estimate the radius of convergence of one series, or of the components of several.

    Parameters
    ----------
    series : PowerSeries
        One series, or n of them: the nearest singularity of all is the result.
    method : {"auto", "fabry", "recurrence", "pade"}, optional
        "fabry": the limit of ``c_k / c_(k+1)`` by Richardson extrapolation, for one singularity on
        the circle of convergence. "recurrence": from two ratios that conjugate ones make, for real
        series. "pade": the nearest pole of the diagonal approximant that no zero cancels. "auto"
        takes the one with the least uncertainty.

    Returns
    -------
    Radius
        The estimate and its uncertainty.

    Raises
    ------
    ValueError
        If the method is unknown, or the degree below 4.

    Notes
    -----
    E. Fabry 1896. The order of the extrapolation is the one whose neighbour differs least: too
    high ones magnify rounding errors and singularities farther out.

    Examples
    --------
    >>> from mdqr import series
    >>> t = series.PowerSeries.variable(64, precision="qd")
    >>> float(series.radius((1 + 2 * t).sqrt()).value)
    0.5
    """
    if method not in _METHODS:
        raise ValueError(f"method must be one of {', '.join(_METHODS)}; got {method!r}")
    if series.degree < 4:
        raise ValueError(f"a radius needs a degree of at least 4; got {series.degree}")
    if len(series.shape) > 1:
        raise ValueError(f"one series or n of them; the shape is {series.shape}")
    parts = [series] if not series.shape else [series[i] for i in range(len(series))]
    found = [_of_one(part, method) for part in parts]
    values = np.array([float(each.value) for each in found])
    nearest = int(values.argmin())
    best = found[nearest]
    return Radius(best.value, best.location, best.uncertainty, best.method, nearest, values)


def _of_one(series: PowerSeries, method: str) -> _Estimate:
    """Return the estimate of one series."""
    c = series.coeffs.to_device("cpu")
    held = np.flatnonzero(c != 0)
    none = _Estimate(mdqr.array(math.inf, precision=c.precision, dtype=complex), 0.0, method)
    # A polynomial, as far as its orders tell.
    if held.size == 0 or held[-1] < series.degree // 2:
        return none
    methods = {"fabry": _fabry, "recurrence": _recurrence, "pade": _pade}
    wanted = [methods[method]] if method != "auto" else list(methods.values())
    found = [estimate for estimate in (each(c) for each in wanted) if estimate is not None]
    if not found:
        return none
    return min(found, key=lambda one: one.uncertainty / max(float(one.value), 1e-300))


def _fabry(c: MDArray) -> _Estimate | None:
    """Extrapolate ratios of neighbours to infinite order."""
    d = c.shape[0] - 1
    most = min(_MOST_ORDER, d // 4)
    last = c[d - most - 1 :]
    if (last == 0).any():
        return None
    return _limit(last[:-1] / last[1:], d - 1, "fabry")


def _limit(ratios: MDArray, k: int, method: str) -> _Estimate:
    """Extrapolate values at ``k - most, ..., k`` in 1/k, in so high an order as helps."""
    most = ratios.shape[0] - 1
    found = []
    for order in range(most + 1):
        # sum_j (-1)^(order - j) (k - order + j)^order / (j! (order - j)!) r_(k - order + j)
        weights = [
            Fraction((-1) ** (order - j) * (k - order + j) ** order)
            / (math.factorial(j) * math.factorial(order - j))
            for j in range(order + 1)
        ]
        w = mdqr.array(np.array(weights, dtype=object), precision=ratios.precision)
        found.append((ratios[most - order :] * w).sum())
    steps = [float(abs(a - b)) for a, b in zip(found[1:], found[:-1], strict=True)]
    best = int(np.argmin(steps)) if steps else 0
    value = found[best + 1] if steps else found[0]
    return _Estimate(value.astype(dtype=complex), steps[best] if steps else math.inf, method)


def _recurrence(c: MDArray) -> _Estimate | None:
    """Fit ``c_(k+1) = s c_k - q c_(k-1)``, ``q = 1/R^2``, for conjugate singularities."""
    if c.is_complex:
        return None
    d = c.shape[0] - 1
    most = min(_MOST_ORDER, d // 4)
    a, b, x, y = (c[d - 3 - most + i : d + 1 - 3 + i] for i in range(4))
    # x = s b - q a, y = s x - q b
    determinant = b * b - a * x
    if (determinant == 0).any():
        return None
    s, q = (b * x - a * y) / determinant, (x * x - b * y) / determinant
    if not (4 * q > s * s).all():
        return None
    limit_s, limit_q = (_limit(part, d, "recurrence") for part in (s, q))
    s0, q0 = limit_s.location.real, limit_q.location.real
    if not bool(4 * q0 > s0 * s0):
        return None
    # The roots of 1 - s z + q z^2.
    half, root = s0 / (2 * q0), mdqr.sqrt(4 * q0 - s0 * s0) / (2 * q0)
    location = half.astype(dtype=complex) + root * 1j
    size = float(abs(location))
    spread = size**2 * (limit_q.uncertainty * size + limit_s.uncertainty)
    return _Estimate(location, spread, "recurrence")


def _pade(c: MDArray) -> _Estimate | None:
    """Return the nearest pole of two neighbouring approximants."""
    d = c.shape[0] - 1
    series = PowerSeries(c)
    first = pade(series, (d - 1) // 2, (d - 1) // 2)
    m = first.denominator.shape[0] - 1
    poles = [_nearest(first), _nearest(pade(series, m - 1, m - 1)) if m > 1 else None]
    if poles[0] is None:
        return None
    spread = math.inf
    if poles[1] is not None:
        differences = (abs(poles[0] - other) for other in (poles[1], poles[1].conj()))
        spread = min(float(x) for x in differences)
    location = poles[0]
    if not c.is_complex and bool(location.imag < 0):
        location = location.conj()
    return _Estimate(location, spread, "pade")


def _nearest(found: Pade) -> MDArray | None:
    """Return the nearest pole that no zero cancels."""
    poles, zeros = found.poles.values, found.zeros.values
    for i in range(poles.shape[0]):
        pole = poles[i]
        gaps = abs(zeros - pole).to_numpy()
        if gaps.size == 0 or gaps.min() > _DOUBLET * float(abs(pole)):
            return pole
    return None
