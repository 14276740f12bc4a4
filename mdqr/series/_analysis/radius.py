"""The radius of convergence: the nearest singularity by ratios, a recurrence, Pade poles."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np

import mdqr
from mdqr._array.array import MDArray
from mdqr._errors import shortened
from mdqr._pickles import pickled_fields
from mdqr._typing import RadiusMethod
from mdqr.linalg import Info
from mdqr.series._analysis.limits import PARTS, Limit, extrapolations, limit
from mdqr.series._analysis.pade import Pade, level_pade
from mdqr.series._analysis.units import Unit, ldexp
from mdqr.series._arithmetic.functions import power_of
from mdqr.series._arithmetic.series import PowerSeries
from mdqr.series._errors import required

_MOST_ORDER = 12
_METHODS = ("auto", "fabry", "recurrence", "pade")
# A pole this near a zero, relative to its modulus, as a power of eps, cancels: it is noise.
_DOUBLET = 0.375
# Coefficients of so many eps of their neighbours may be rounding errors.
_HIDDEN = 2.0**8
# Poles that lie together, at most.
_MOST_MULTIPLE = 6
# Claims as wide as this part of the value are none.
_WIDEST = 0.25
# Below this degree singularities nearer to each other than a part of their modulus look like one.
_FEWEST, _NEAR = 24, 2.0**-4
# Relative errors of a coefficient, in eps.
_ROUNDED = 8.0


@pickled_fields
class Radius(NamedTuple):
    """The radius of convergence of a series, as estimated.

    Attributes
    ----------
    value : MDArray
        The radius, 0-d; infinite where no singularity was found.
    location : MDArray
        The singularity, complex, 0-d, relative to t0; of a pair of conjugate ones that above the
        real axis, of those that symmetry makes alike (a series in ``t^p``) the principal root.
    uncertainty : float
        By how much `value` may be wrong, absolute; an estimate, see the notes of `radius`. Infinite
        if the orders do not determine it.
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

    @property
    def info(self) -> Info:
        """The estimate `uncertainty` as an `error_bound`, and the digits of `value` by that."""
        size, error = abs(float(self.value)), self.uncertainty
        return Info(self.value.precision, size, error, bound_kind="estimated", method=self.method)


Radius.__module__ = "mdqr.series"


class _Estimate(NamedTuple):
    """A singularity, how its modulus was judged, and the method."""

    found: Limit
    method: str


def radius(series: PowerSeries, method: RadiusMethod = "auto") -> Radius:
    """Estimate the radius of convergence of one series, or of the components of several.

    Parameters
    ----------
    series : PowerSeries
        One series, or n of them: the nearest singularity of all is the result.
    method : {"auto", "fabry", "recurrence", "pade"}, optional
        "fabry": the limit of ``c_k / c_(k+1)`` by Richardson extrapolation, for one singularity on
        the circle of convergence. "recurrence": from two ratios that conjugate ones make, for real
        series. "pade": the nearest pole of the diagonal approximant that no zero cancels. "auto"
        takes the one with the least uncertainty, and widens that where another contradicts it.

    Returns
    -------
    Radius
        The estimate and its uncertainty.

    Raises
    ------
    TypeError
        If `series` is none.
    ValueError
        If the method is unknown, the degree below 4, or the series more than an array of n.

    Notes
    -----
    E. Fabry 1896. Of the orders of extrapolation that which changes least is taken. Series in
    ``t^p``, even and odd ones among them, are taken for series in ``t^p``. All is computed in a
    unit of t in which coefficients are near one size, so that the unit of t makes no difference.

    No finite number of orders determines the radius. What `uncertainty` promises is

        ``abs(value - radius of components[component]) <= uncertainty``

    for functions with finitely many poles and branch points (powers and logarithms) in some
    neighbourhood of the disk of convergence, of which the nearest make up more than half of each
    coefficient from the middle order on, and coefficients that are accurate to a few eps.
    Singularities whose distance is less than a part ``1 / degree`` of their modulus count as one,
    anywhere between them, since these orders may not resolve them. `uncertainty` is 32 or
    more times the estimate by the changes of the last half of the orders, if errors fall at least
    as ``k^(-1/2)``, and infinite where changes do not fall, are too few, or leave more than a
    quarter of the value open: for entire functions, polynomials, two singularities that these
    orders do not resolve. Below degree 24 it is at least 1/16 of the value, except for quotients of
    polynomials that fit more orders than they have coefficients. `value` is infinite where nothing
    was found, or estimates grow without end; else the last estimate.

    Examples
    --------
    >>> from mdqr import series
    >>> t = series.PowerSeries.identity(64, precision="qd")
    >>> found = series.radius((1 + 2 * t).sqrt())
    >>> float(found.value), found.uncertainty < 1e-18
    (0.5, True)
    """
    required("radius", "series", series, PowerSeries)
    if method not in _METHODS:
        wanted = ", ".join(_METHODS)
        raise ValueError(f"method must be one of {wanted}; got {shortened(repr(method))}")
    if series.degree < 4:
        raise ValueError(f"a radius needs a degree of at least 4; got {series.degree}")
    if len(series.shape) > 1:
        raise ValueError(f"one series or n of them; the shape is {series.shape}")
    parts = [series] if not series.shape else [series[i] for i in range(len(series))]
    found = [_of_one(part.coeffs.to_device("cpu"), method) for part in parts]
    values = np.array([float(abs(each.found.value)) for each in found])
    nearest = int(values.argmin())
    best, way = found[nearest]
    return Radius(abs(best.value), best.value, best.uncertainty, way, nearest, values)


def _of_one(c: MDArray, method: str) -> _Estimate:
    """Return the estimate of one series."""
    none = mdqr.array(math.inf, precision=c.precision, dtype=complex)
    nothing = _Estimate(Limit(none, math.inf, math.inf, False, True), method)
    if not bool(mdqr.isfinite(c).all()):
        return nothing
    first, stride = _stride(Unit.of(c).inward(c))
    c = c[first::stride]
    held = np.flatnonzero(c != 0)
    # A polynomial, as far as its orders tell.
    if len(c) < 3 or not held.size or held[-1] < len(c) // 2:
        return nothing
    unit = Unit.of(c)
    level = unit.inward(c)
    methods = {"fabry": _fabry, "recurrence": _recurrence, "pade": _pade}
    names = [method] if method != "auto" else list(methods)
    found = [(methods[name](level), name) for name in names]
    estimates = [_Estimate(judged, name) for judged, name in found if judged is not None]
    if not estimates:
        return nothing
    best = _best(estimates)
    if best.found.uncertainty > _WIDEST * float(abs(best.found.value)):
        best = best._replace(found=best.found._replace(uncertainty=math.inf))
    if math.isinf(best.found.uncertainty) and best.found.is_growing:
        return nothing
    return best._replace(found=_outward(best.found, unit.time, stride, c.is_complex))


def _best(estimates: list[_Estimate]) -> _Estimate:
    """Return the estimate with the least uncertainty, with more where others contradict it."""
    best = min(estimates, key=lambda one: (one.found.uncertainty, one.found.change))
    size, error = abs(best.found.value), best.found.uncertainty
    for other, _ in estimates:
        gap = float(abs(abs(other.value) - size))
        if math.isfinite(other.uncertainty) and gap > error + other.uncertainty:
            error = gap + other.uncertainty
    return best._replace(found=best.found._replace(uncertainty=error))


def _stride(c: MDArray) -> tuple[int, int]:
    """Return s and p if only the orders s, s + p, s + 2 p, ... count, of all or of those behind.

    Coefficients that rounding errors of their neighbours hide do not.
    """
    size = abs(c).to_numpy()
    around = np.maximum(np.append(0.0, size[:-1]), np.append(size[1:], 0.0))
    held = np.flatnonzero(size > _HIDDEN * c.precision.eps * around)
    for start in (0, len(c) // 4):
        orders = held[held >= start]
        stride = int(np.gcd.reduce(np.diff(orders))) if len(orders) > 1 else 1
        if stride > 1:
            return int(orders[0]), stride
    return 0, 1


def _outward(found: Limit, time: int, stride: int, is_complex: bool) -> Limit:
    """Return a singularity in t from that in ``t^stride / 2^time``: the principal root."""
    time, rest = divmod(time, stride)
    place, error = ldexp(found.value, rest), math.ldexp(found.uncertainty, rest)
    if stride > 1:
        relative = error / float(abs(place))
        place = power_of(place, Fraction(1, stride))
        if not is_complex and bool(place.imag < 0):
            place = place.conj()
        # The ends of the interval of the modulus.
        low = -math.expm1(math.log1p(-relative) / stride) if relative < 1 else 1.0
        high = math.expm1(math.log1p(relative) / stride)
        error = float(abs(place)) * (max(low, high) + _ROUNDED * place.precision.eps)
    # What underflows is not zero.
    error = max(math.ldexp(error, time), np.nextafter(0.0, 1.0)) if error else 0.0
    return found._replace(value=ldexp(place, time), uncertainty=float(error))


def _fabry(c: MDArray) -> Limit | None:
    """Extrapolate ratios of neighbours to infinite order."""
    d = len(c) - 1
    most = min(_MOST_ORDER, d // 4)
    first = max(1, d // 2 - most)
    if (c[first:] == 0).any():
        return None
    ratios = c[first - 1 : -1] / c[first:]
    # In 1/k those of branch points, (1 - t)^a with 0 < a < 1, converge faster than in 1/(k + 1).
    return _extrapolated([ratios], 1.0, most, lambda ratio: ratio, d, d - 1)


def _recurrence(c: MDArray) -> Limit | None:
    """Fit ``c_(k+1) = s c_k - q c_(k-1)``, ``q = 1/R^2``, for conjugate singularities."""
    if c.is_complex:
        return None
    d = len(c) - 1
    if d < 4:
        return None
    most = min(_MOST_ORDER, d // 4)
    first = max(3, d // 2 - most)
    a, b, x, y = (c[first - 3 + i : d - 2 + i] for i in range(4))
    # x = s b - q a, y = s x - q b
    determinant = b * b - a * x
    if (determinant == 0).any():
        return None
    s, q = (b * x - a * y) / determinant, (x * x - b * y) / determinant
    terms = [abs(u).to_numpy() for u in (a, b, x, y, determinant)]
    loss = float(((terms[1] ** 2 + terms[0] * terms[2]) / terms[4]).max())
    return _extrapolated([s, q], loss, most, _upper_root, d, d)


def _upper_root(s: MDArray, q: MDArray) -> MDArray:
    """Return the roots of ``1 - s z + q z^2`` above the real axis, NaN where they are real."""
    square = 4 * q - s * s
    root = mdqr.sqrt(mdqr.where(square > 0, square, square * math.nan))
    return s / (2 * q) + root / (2 * q) * 1j


def _extrapolated(
    parts: list[MDArray], loss: float, most: int, place: Callable[..., MDArray], d: int, last: int
) -> Limit | None:
    """Judge a result of values extrapolated from orders up to `last`: the one that changed least.

    Two orders more show whether others than powers of 1/n are left: another singularity so near
    that both look like one between them, for a long time.
    """
    found: list[Limit] = []
    sequences = [extrapolations(part, last, most) for part in parts]
    for several in zip(*sequences, strict=True):
        sums = several[0][1]
        wanted = min(len(sums), d - d // 2 + 1)
        estimates = place(*(each[0][-wanted:] for each in several))
        size = float(abs(estimates[-1]))
        floor = _ROUNDED * estimates.precision.eps * loss * size * float(sums[-wanted:].max())
        judged = limit(estimates, floor)
        if judged is None:
            break
        found.append(judged)
    if not found:
        return None
    place_of_best = int(np.argmin([one.change for one in found]))
    best = found[place_of_best]
    if any(one.is_drifting for one in found[place_of_best : place_of_best + 3]):
        best = best._replace(uncertainty=math.inf)
    if d < _FEWEST:
        # So few orders do not tell singularities apart that are nearer than this.
        error = max(best.uncertainty, _NEAR * float(abs(best.value)))
        best = best._replace(uncertainty=error)
    return best._replace(value=best.value.astype(dtype=complex))


def _pade(c: MDArray) -> Limit | None:
    """Judge the nearest poles of diagonal approximants of rising degree."""
    d = len(c) - 1
    top = (d - 1) // 2
    first, spread = level_pade(c, top, top)
    pole = _nearest(first)
    if pole is None:
        return None
    floor = _pole_error(first.denominator, spread, pole)
    if not c.is_complex and bool(pole.imag < 0):
        pole = pole.conj()
    # A quotient of polynomials, as more orders tell than it has coefficients.
    reached = len(first.denominator) - 1
    if bool(mdqr.isnan(first.error)) and d - 2 * reached >= PARTS:
        return Limit(pole, floor, floor, False, False)
    if d < _FEWEST or reached < 3 * PARTS:
        return Limit(pole, math.inf, math.inf, False, False)
    low = reached // 2
    degrees = sorted({low + (reached - low) * i // PARTS for i in range(PARTS)})
    below = [_nearest(level_pade(c, m, m)[0]) for m in degrees]
    sizes = [abs(each) for each in (*below, pole) if each is not None]
    if len(sizes) <= PARTS:
        return Limit(pole, math.inf, math.inf, False, False)
    found = limit(mdqr.stack(sizes), floor)
    return None if found is None else found._replace(value=pole)


def _nearest(found: Pade) -> MDArray | None:
    """Return the nearest pole that no zero cancels."""
    poles, zeros = found.poles.values, found.zeros.values
    noise = found.numerator.precision.eps**_DOUBLET
    for i in range(poles.shape[0]):
        pole = poles[i]
        gaps = abs(zeros - pole).to_numpy()
        if gaps.size == 0 or gaps.min() > noise * float(abs(pole)):
            return pole
    return None


def _pole_error(q: MDArray, spread: np.ndarray, pole: MDArray) -> float:
    """Return by how much errors `spread` of a denominator move one of its roots."""
    size, degree = float(abs(pole)), len(q) - 1
    changed = float(spread @ size ** np.arange(len(spread)))
    moved, derivative = [], PowerSeries(q)
    # A root is as near as the k-th derivative tells, for every k: of multiple ones the k-th root.
    for k in range(1, min(degree, _MOST_MULTIPLE) + 1):
        derivative = derivative.deriv()
        slope = float(abs(derivative(pole))) / math.perm(degree, k)
        moved.append((changed / slope) ** (1 / k) if slope else math.inf)
    return min(moved) + _ROUNDED * q.precision.eps * size
