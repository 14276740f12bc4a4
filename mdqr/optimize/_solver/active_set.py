"""Linear least squares with bounds: which variables are at a bound, and the others.

C. L. Lawson and R. J. Hanson 1974; P. B. Stark and R. L. Parker 1995: variables that would lower
the sum are set free, one at a time; where the minimum of the free ones lies outside of the bounds,
the point goes towards it until one of them meets its bound. It is found in float64, and then in
the precision of the result from there.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np

import mdqr
from mdqr._array.array import MDArray
from mdqr._errors import PrecisionWarning
from mdqr._limbs.scaling import column_exponents, norms, top_exponents
from mdqr._precision import PRECISIONS, Precision
from mdqr._progress import Steps
from mdqr.linalg import LinAlgError, lstsq
from mdqr.optimize._enclosure.ball import Ball, enclosed, size, up
from mdqr.optimize._enclosure.krawczyk import Unproven, definite, nearest, triangle
from mdqr.optimize._model.points import shifted
from mdqr.optimize._solver.flat import undetermined

_T = TypeVar("_T")

_LOOSER = 2.0**-10  # by what part bounds may be larger than with more limbs
_FAR = 200  # exponents of columns, or of right-hand sides, whose squares may be out of range


class Dependent(LinAlgError):
    """Columns of A, whose variables are free, are zero or depend on each other."""

    def __init__(self, columns: np.ndarray) -> None:
        which = ", ".join(map(str, columns))
        super().__init__(
            f"the columns {which} of A are linearly dependent"
            if columns.size > 1
            else f"the column {which} of A is zero"
        )


class System(NamedTuple):
    """Minimise ``|| a x - b ||`` for ``lower <= x <= upper``; all real."""

    a: MDArray
    b: MDArray
    lower: MDArray
    upper: MDArray

    def astype(self, precision: Precision) -> System:
        """Return the system in another precision."""
        return System(*(each.astype(precision) for each in self))


def in_range(system: System) -> tuple[System, np.ndarray | None]:
    """Return an equivalent system whose squares are in range, and the exponents of its units.

    These are of x, None where the system has not changed; a system that would lose digits has not.
    """
    columns = column_exponents(system.a._block, is_complex=False)
    right = int(top_exponents(system.b._block, is_complex=False, axis=-1))
    if not np.any(np.abs(np.append(columns, right)) > _FAR):
        return system, None
    powers = right - columns
    by = -columns, -right, -powers, -powers
    new = System(*(shifted(part, shift) for part, shift in zip(system, by, strict=True)))
    same = all(
        np.asarray(shifted(there, -shift) == here).all()
        for there, here, shift in zip(new, system, by, strict=True)
    )
    return (new, powers) if same else (system, None)


class Solution(NamedTuple):
    """A point, -1 and 1 where it is at a lower or an upper bound, and how many steps it took.

    `converged` is False where the limit of steps was met.
    """

    x: MDArray
    mask: np.ndarray
    steps: int
    converged: bool


def solve(system: System, precision: Precision, most: int, report: Steps | None) -> Solution:
    """Return the minimum in a precision."""
    start = _first(system)
    if precision > mdqr.d:
        # Only where to begin: what float64 gets wrong is set right after it.
        with contextlib.suppress(LinAlgError):
            rough = Search(system.astype(mdqr.d), most, report).run(*start)
            x = mdqr.minimum(mdqr.maximum(rough.x.astype(precision), system.lower), system.upper)
            start = _on_bounds(system, x.astype(precision), rough.mask), rough.mask
    return Search(system.astype(precision), most, report).run(*start)


def _first(system: System) -> tuple[MDArray, np.ndarray]:
    """Return all variables at the bound that is nearer to zero; those without one are free."""
    low, high = system.lower.to_numpy(), system.upper.to_numpy()
    below = np.isfinite(low) & (~np.isfinite(high) | (np.abs(low) <= np.abs(high)))
    mask = np.where(below, -1, np.where(np.isfinite(high), 1, 0))
    return _on_bounds(system, mdqr.zeros_like(system.lower), mask), mask


def _on_bounds(system: System, x: MDArray, mask: np.ndarray) -> MDArray:
    x = x.copy()
    x[mask < 0], x[mask > 0] = system.lower[mask < 0], system.upper[mask > 0]
    return x


class Search:
    """The steps of the method in one precision."""

    def __init__(self, system: System, most: int, report: Steps | None) -> None:
        self._system, self._most, self._report = system, most, report
        self._precision = system.a.precision
        self._norms = np.sqrt(np.sum(_scaled(system.a) ** 2, axis=0))
        self.steps = 0

    def run(self, x: MDArray, mask: np.ndarray) -> Solution:
        """Return the minimum from a point inside of the bounds."""
        x, mask = x.astype(self._precision), mask.copy()
        x, mask = self._descended(x, mask)
        refused: set[int] = set()
        while self.steps < self._most:
            j = self._next(x, mask, refused)
            if j is None:
                return Solution(x, mask, self.steps, True)
            before, side = x, mask[j]
            mask[j] = 0
            x, mask = self._descended(x, mask)
            # The variable came back at once: its gradient was a rounding error.
            stays = mask[j] == side and bool((x == before).all())
            refused = refused | {j} if stays else set()
        return Solution(x, mask, self.steps, False)

    def _next(self, x: MDArray, mask: np.ndarray, refused: set[int]) -> int | None:
        """Return the variable at a bound whose release gains most, or None."""
        a, b = self._system.a, self._system.b
        r = b - a @ x
        slopes = (r @ a).to_numpy() * -mask
        sizes = np.abs(r.to_numpy()) @ np.abs(a.to_numpy())
        certain = slopes > 8.0 * a.shape[0] * self._precision.eps * sizes
        certain[list(refused)] = False
        gain = np.where(certain, slopes / np.where(self._norms > 0, self._norms, 1.0), 0.0)
        return int(np.argmax(gain)) if gain.max(initial=0.0) > 0 else None

    def _descended(self, x: MDArray, mask: np.ndarray) -> tuple[MDArray, np.ndarray]:
        """Return the minimum of the free variables, some of which may have met bounds."""
        mask = mask.copy()
        while (free := np.flatnonzero(mask == 0)).size:
            self.steps += 1
            if self._report is not None:
                self._report.step()
            z = self.free_minimum(x, mask)
            below, above = (side[free] for side in (self._system.lower, self._system.upper))
            outside = np.asarray((z < below) | (z > above))
            if not outside.any():
                x = x.copy()
                x[free] = z
                return x, mask
            x, mask = self._towards(x, z, mask, free, outside)
        return x, mask

    def _towards(
        self, x: MDArray, z: MDArray, mask: np.ndarray, free: np.ndarray, outside: np.ndarray
    ) -> tuple[MDArray, np.ndarray]:
        """Go towards a point until the first variable meets its bound."""
        where = free[outside]
        goal, at = z[outside], x[where]
        down = np.asarray(goal < self._system.lower[where])
        edge = mdqr.where(down, self._system.lower[where], self._system.upper[where])
        share = (edge - at) / (goal - at)
        first = int(np.argmin(share.to_numpy()))
        new = x.copy()
        new[free] = x[free] + (z - x[free]) * share[first]
        new = mdqr.minimum(mdqr.maximum(new, self._system.lower), self._system.upper)
        mask[where[first]] = -1 if down[first] else 1
        new[where[first]] = edge[first]
        return new, mask

    def free_minimum(self, x: MDArray, mask: np.ndarray) -> MDArray:
        free, held = np.flatnonzero(mask == 0), np.flatnonzero(mask)
        a, b = self._system.a, self._system.b
        right = b - a[:, held] @ x[held] if held.size else b
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrecisionWarning)
            try:
                return lstsq(a[:, free], right).x
            except LinAlgError as failure:
                if "rank deficient" not in str(failure):
                    raise
                columns = undetermined(_scaled(a)[:, free], np.zeros(free.size))
                raise Dependent(free[columns]) from failure


def _scaled(a: MDArray) -> np.ndarray:
    """Return a matrix in float64, times a power of two that keeps squares within range."""
    near = a.to_numpy()
    largest = float(np.max(np.abs(near), initial=0.0))
    return np.ldexp(near, -np.frexp(largest)[1]) if largest else near


def proven_error(system: System, found: Solution, x: MDArray) -> np.ndarray:
    """Return proven bounds of the errors of x, as near as possible to the solution found.

    `system` is exact, x in the precision of the proof. The gradient ``A^T (A x - b)`` of the free
    variables has one zero near them, strictly between the bounds, and gradients of those at bounds
    point outwards: then that is the solution (the conditions of Karush, Kuhn and Tucker).

    Raises
    ------
    Unproven
        If that is not shown.
    """
    free, held = np.flatnonzero(found.mask == 0), np.flatnonzero(found.mask)
    a, b = _within(system.a, x.precision), _within(system.b, x.precision)
    rad = np.zeros(x.shape[0])
    for bound, side in ((system.lower, found.mask < 0), (system.upper, found.mask > 0)):
        ends = enclosed(bound[side], x.precision)
        x[side], rad[side] = ends.mid, ends.rad
    point = Ball(x, rad)
    gradient = a.T @ (a @ point - b)
    moved = np.zeros(free.size)
    if free.size:

        def reach(h: Ball) -> tuple[np.ndarray, bool]:
            found, width = nearest(gradient[free], lambda _: h, definite(h))
            # Of exact inverses it is half of the smallest width.
            return found, bool(np.all(found <= (0.5 + _LOOSER) * width))

        moved = _of_squares(Ball(a.mid[:, free], a.rad[:, free]), x.precision, reach)
        _check_inside(system, x, free, moved)
        rad[free] = moved
        gradient = a.T @ (a @ Ball(x, rad) - b)
    near = -found.mask[held] * gradient.mid[held].to_numpy()
    if not np.all(near > up(gradient.rad[held] + 2.0**-40 * np.abs(near))):
        raise Unproven("a gradient at a bound is not shown to point outwards")
    return rad


def convex_error(system: System, x: MDArray) -> np.ndarray:
    """Return proven bounds of the errors of x within the bounds, whatever variables are at these.

    Let d be the smallest change of the gradient with which the conditions hold at x. With the
    positive definite ``H = A^T A`` the true x* has ``|| x - x* ||_H**2 <= -d^T (x - x*)``, and so
    ``abs(x - x*)_j <= sqrt(inv(H)_jj) sqrt(d^T inv(H) d)``: of M and q as `triangle` has them at
    most ``|| M e_j || || M d || / (1 - q)``.

    Raises
    ------
    Unproven
        If H is not shown to be positive definite, or x lies outside.
    """
    a, b = _within(system.a, x.precision), _within(system.b, x.precision)
    if not bool(((x >= system.lower) & (x <= system.upper)).all()):
        raise Unproven("the bounds have more digits than the precision of the proof")
    gradient = a.T @ (a @ Ball(x) - b)
    near = gradient.mid.to_numpy()
    reach = up(gradient.rad + 2.0**-40 * np.abs(near))
    is_low, is_high = np.asarray(x == system.lower), np.asarray(x == system.upper)
    change = np.where(is_low, reach - near, np.where(is_high, reach + near, reach + np.abs(near)))
    m, q = _of_squares(a, x.precision, _good_triangle)
    moduli = size(m)
    total = norms(up(moduli @ np.maximum(change, 0.0)), 0)
    return np.asarray(up(up(norms(moduli, 0) * total) / (1.0 - q)))


def _within(x: MDArray, precision: Precision) -> Ball:
    """Return numbers in at most a precision."""
    return Ball(x) if x.precision <= precision else enclosed(x, precision)


def _of_squares(a: Ball, most: Precision, find: Callable[[Ball], tuple[_T, bool]]) -> _T:
    """Return what is found of ``A^T A``, in the fewest limbs that show it.

    ``find(h)`` returns it, and whether more limbs would hardly make it better.
    """
    for precision in (p for p in PRECISIONS[1:] if p < most):
        with contextlib.suppress(Unproven):
            found, is_good = find(_square(a, precision))
            if is_good:
                return found
    return find(_square(a, most))[0]


def _square(a: Ball, precision: Precision) -> Ball:
    near = enclosed(a.mid, precision)
    near = Ball(near.mid, up(near.rad + a.rad))
    return near.T @ near


def _good_triangle(h: Ball) -> tuple[tuple[MDArray, float], bool]:
    m, q = triangle(h)
    return (m, q), q <= _LOOSER


def _check_inside(system: System, x: MDArray, free: np.ndarray, moved: np.ndarray) -> None:
    reach = up(moved)
    at = x[free].astype(PRECISIONS[-1])
    if not bool(((at - reach >= system.lower[free]) & (at + reach <= system.upper[free])).all()):
        raise Unproven("a variable is too near to its bound")
