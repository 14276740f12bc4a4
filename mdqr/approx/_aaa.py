"""The AAA algorithm: rational approximation from values at points."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

import mdqr
from mdqr._array.array import MDArray
from mdqr._errors import warn_caller
from mdqr._pickles import State, pickled
from mdqr._precision import Precision
from mdqr._progress import Bar, Progress, Reporter
from mdqr._stability import experimental
from mdqr._typing import PrecisionLike
from mdqr.approx import _barycentric as barycentric
from mdqr.linalg._shared.operands import gather

_MOST_ITERATIONS = 30
_MOST_BITS = 100  # of an exponent that needs no scaling
_LEAST = -1070


@experimental
@pickled
class AAA:
    """Rational approximation by the AAA algorithm, in the precision of the data.

    An instance is a function of points of any shape, at which it returns values of that shape.

    Parameters
    ----------
    x : array_like
        Points, real or complex, ``(n,)``.
    y : array_like
        Values at the points, ``(n,)``. Pairs in which one is infinite or NaN are left out.
    rtol : float, optional
        The tolerance relative to the largest value; by default ``eps**0.75`` of the precision. Data
        with errors need a larger one: data of float64 about 1e-13.
    max_terms : int, optional
        The largest number of support points.
    clean_up : bool, optional
        Whether support points next to spurious poles are removed, and the weights computed again.
    clean_up_tol : float, optional
        The size of residues below which a pole counts as spurious. It is relative to the distance
        to the nearest point times the geometric mean of the values at support points. By default
        `rtol`.
    precision : Precision or str, optional
        The precision; by default the highest of `x` and `y`, for floats alone d.
    progress : callable or bool, optional
        Called as ``progress("add", done, max_terms)`` after each support point; True for a bar.

    Attributes
    ----------
    support_points, support_values, weights : MDArray
        Of the barycentric form, each ``(m,)``.
    errors : numpy.ndarray
        The largest error at a point after each step, float64.
    precision : Precision
        The precision.

    Raises
    ------
    ValueError
        If the shapes are not equal and one-dimensional, no pair is finite, two points are equal, or
        an option is out of range.

    Warns
    -----
    RuntimeWarning
        If the tolerance is not reached by `max_terms` support points.

    Notes
    -----
    A step adds the point of the largest error to the support points. The weights are the right
    singular vector of the Loewner matrix for its smallest singular value (Y. Nakatsukasa, O. Sete
    and L. N. Trefethen, The AAA algorithm for rational approximation, 2018). Inverse iteration with
    the triangular factor of the matrix finds it. A step with m support points costs about
    ``4 n m**2`` operations.

    Errors at the points are computed in the working precision. Poles have the accuracy that the
    weights determine, which is about `rtol` relative to the size of the residue.

    Examples
    --------
    >>> import mdqr
    >>> x = mdqr.linspace(-1, 1, 200, precision=mdqr.qd)
    >>> r = mdqr.approx.AAA(x, mdqr.exp(x))
    >>> len(r.support_points), float(abs(r(x) - mdqr.exp(x)).max()) < 1e-46
    (16, True)
    """

    def __init__(
        self,
        x: Any,
        y: Any,
        /,
        *,
        rtol: float | None = None,
        max_terms: int = 100,
        clean_up: bool = True,
        clean_up_tol: float | None = None,
        precision: PrecisionLike | None = None,
        progress: Progress = None,
    ) -> None:
        points, data = _checked(x, y, precision)
        work = points.precision
        rtol = _tolerance("rtol", rtol, work.eps**0.75)
        spurious = _tolerance("clean_up_tol", clean_up_tol, rtol)
        if (most := operator.index(max_terms)) < 1:
            raise ValueError(f"AAA: max_terms must be at least 1; got {most}")
        self.precision: Precision = work
        if not (progress is None or isinstance(progress, bool) or callable(progress)):
            raise TypeError(
                f"AAA: progress must be None, True for a bar, or callable as "
                f"progress(stage, done, total); got {type(progress).__name__}"
            )
        self.errors: np.ndarray = np.zeros(0)
        self._power = _power_of(data)
        data = _times_power(data, -self._power)
        # Data near the least float64 number have the errors of that.
        rtol = max(rtol, 2.0 ** (_LEAST - self._power)) if self._power else rtol
        with Bar("AAA: ") as bar:
            self._fit(points, data, rtol, most, bar if progress is True else progress or None)
        if clean_up:
            self._clean_up(points, data, spurious)
        self.errors = np.ldexp(self.errors, self._power)

    def _fit(self, x: MDArray, y: MDArray, rtol: float, most: int, report: Reporter | None) -> None:
        largest = float(abs(y).max())
        chosen: list[int] = []
        errors: list[float] = []
        fit = mdqr.full_like(y, y.mean())
        for done in range(1, min(most, len(x)) + 1):
            distance = abs(y - fit)
            distance[chosen] = 0
            chosen.append(int(distance.argmax()))
            weights, fit = _weights(x, y, chosen)
            errors.append(float(abs(y - fit).max()))
            if report is not None:
                report("add", done, most)
            if errors[-1] <= rtol * largest:
                break
        else:
            if len(errors) == most < len(x):
                warn_caller(
                    RuntimeWarning(
                        f"AAA: {most} support points leave a relative error of "
                        f"{errors[-1] / largest:.1e}, above rtol {rtol:.1e}; more by max_terms="
                    )
                )
        self.errors = np.array(errors)
        self._keep(x[chosen], y[chosen], weights)

    def _keep(self, points: MDArray, values: MDArray, weights: MDArray) -> None:
        """Keep the form of values times ``2**-power``."""
        self.support_points, self._values, self.weights = points, values, weights
        self.support_values = _times_power(values, self._power)

    def _clean_up(self, x: MDArray, y: MDArray, tol: float) -> None:
        poles = self.poles()
        if not len(poles):
            return
        size = abs(self._values).to_numpy()
        with np.errstate(divide="ignore"):
            mean = float(np.exp(np.mean(np.log(size[size > 0])))) if size.any() else 0.0
        near = abs(poles[:, None] - x).min(axis=1)
        small = np.asarray(abs(self._residues(poles)) < tol * mean * near)
        if not small.any():
            return
        distances = abs(poles[small][:, None] - self.support_points).to_numpy()
        kept = np.ones(len(self.support_points), dtype=bool)
        kept[distances.argmin(axis=1)] = False
        if not kept.any():
            return
        chosen = [int(np.flatnonzero(np.asarray(x == z))[0]) for z in self.support_points[kept]]
        weights, fit = _weights(x, y, chosen)
        self.errors = np.append(self.errors, float(abs(y - fit).max()))
        self._keep(x[chosen], y[chosen], weights)

    def __call__(self, x: Any, /) -> MDArray:
        """Return values at points of any shape; at infinity the limit, NaN for NaN."""
        given = mdqr.array(x, precision=self.precision)
        flat = given.ravel()
        finite = np.asarray(mdqr.isfinite(flat))
        limit = (self.weights * self._values).sum() / self.weights.sum()
        found = mdqr.full(flat.shape, mdqr.nan, precision=self.precision, dtype=self._field(flat))
        found[np.asarray(mdqr.isinf(flat))] = limit
        if finite.any():
            found[finite] = barycentric.values(
                flat[finite], self.support_points, self._values, self.weights
            )
        return _times_power(found, self._power).reshape(given.shape)

    def _field(self, x: MDArray) -> type:
        arrays = (x, self.support_points, self.support_values, self.weights)
        return complex if any(each.is_complex for each in arrays) else float

    def poles(self) -> MDArray:
        """Return the poles, complex ``(k,)``."""
        return barycentric.zeros(self.support_points, self.weights)

    def roots(self) -> MDArray:
        """Return the zeros, complex ``(k,)``."""
        return barycentric.zeros(self.support_points, self.weights * self._values)

    def residues(self) -> MDArray:
        """Return the residues at the poles, complex, in their order."""
        return _times_power(self._residues(self.poles()), self._power)

    def _residues(self, poles: MDArray) -> MDArray:
        return barycentric.residues(poles, self.support_points, self._values, self.weights)

    def __repr__(self) -> str:
        return (
            f"<AAA {len(self.support_points)} support points, error {self.errors[-1]:.1e}, "
            f"{self.precision.name}>"
        )

    def _state(self) -> dict[str, Any]:
        names = ("support_points", "support_values", "weights", "errors")
        return {name: getattr(self, name) for name in names}

    @classmethod
    def _restored(cls, state: State) -> AAA:
        self = object.__new__(cls)
        names = ("support_points", "support_values", "weights")
        points, values, weights = (state.checked(name, MDArray) for name in names)
        self._power = _power_of(values)
        self._keep(points, _times_power(values, -self._power), weights)
        self.errors = state.checked("errors", np.ndarray)
        self.precision = self.weights.precision
        return self


AAA.__module__ = "mdqr.approx"


def _checked(x: Any, y: Any, precision: PrecisionLike | None) -> tuple[MDArray, MDArray]:
    """Return points and values of one precision, without pairs that are not finite."""
    work = gather(x, y, precision=precision).work
    points, data = mdqr.array(x, precision=work), mdqr.array(y, precision=work)
    if points.ndim != 1 or points.shape != data.shape:
        raise ValueError(
            f"AAA: x and y must be one-dimensional and of the same length; got shapes "
            f"{points.shape} and {data.shape}"
        )
    finite = np.asarray(mdqr.isfinite(points) & mdqr.isfinite(data))
    if not finite.any():
        raise ValueError("AAA: x and y have no pair of finite numbers")
    points, data = points[finite], data[finite]
    ordered = points[mdqr.argsort(points.real)]
    same = np.asarray(ordered[1:] == ordered[:-1])
    if points.is_complex:
        same = np.asarray((points[:, None] == points).sum(axis=1) > 1)
    if same.any():
        raise ValueError("AAA: two points of x are equal")
    return points, data


def _power_of(values: MDArray) -> int:
    """Return the power of two that values are divided by, where products would leave the range."""
    power = int(np.frexp(float(abs(values).max()))[1])
    return power if abs(power) > _MOST_BITS else 0


def _times_power(values: MDArray, power: int) -> MDArray:
    half = power // 2
    return values * 2.0**half * 2.0 ** (power - half) if power else values


def _tolerance(name: str, given: float | None, default: float) -> float:
    if given is None:
        return default
    if not 0 <= float(given) < np.inf:
        raise ValueError(f"AAA: {name} must be a number that is not negative; got {given}")
    return float(given)


def _weights(x: MDArray, y: MDArray, chosen: list[int]) -> tuple[MDArray, MDArray]:
    """Return the weights of support points by their places in x, and the values at all points."""
    points, support = x[chosen], y[chosen]
    rest = np.ones(len(x), dtype=bool)
    rest[chosen] = False
    fit = y.copy()
    if not rest.any():
        weights = mdqr.ones_like(support)
        return weights, fit
    terms, _ = barycentric.cauchy(x[rest], points)
    loewner = (y[rest][:, None] - support) * terms
    weights = _smallest(loewner)
    fit[rest] = (terms @ (weights * support)) / (terms @ weights)
    return weights, fit


def _smallest(a: MDArray) -> MDArray:
    """Return a unit vector v whose ``norm(a v)`` is at most about 1 % above the smallest possible.

    By inverse iteration with the triangular factor R of tall matrices: ``R^H R v' = v``. Weights
    need no more accuracy, and the SVD takes many times as long.
    """
    if a.shape[0] >= a.shape[1]:
        r = mdqr.linalg.qr(a, "r")
        v, before = mdqr.ones(a.shape[1], precision=a.precision), 0.0
        try:
            for _ in range(_MOST_ITERATIONS):
                v = mdqr.linalg.solve_triangular(r, v, trans="C")
                v = mdqr.linalg.solve_triangular(r, v / mdqr.linalg.norm(v))
                length = mdqr.linalg.norm(v)
                v, growth = v / length, float(length)
                if growth <= 1.01 * before:
                    return v
                before = growth
        except mdqr.linalg.LinAlgError:  # singular, as for data of a rational function
            pass
    return mdqr.linalg.svd(a).Vh[-1].conj()
