"""Solutions at many values of the parameters at once, from those at one.

All paths of many values are followed by one call of the kernel, refined and certified together.
Values at which a path is lost, or an end is singular or at infinity, are solved one by one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mdqr import zeros
from mdqr._array.array import MDArray
from mdqr._backend import expect_paths
from mdqr._backend.path_calls import PathGoal
from mdqr._functions.creation import array
from mdqr._functions.from_limbs import from_limbs
from mdqr._precision import PRECISIONS, Precision, dd, precisions_with_paths
from mdqr._progress import Reporter
from mdqr.series._homotopy.attempts import Given, best
from mdqr.series._homotopy.follow import close_pairs
from mdqr.series._homotopy.homotopy import Parameters, doubles
from mdqr.series._homotopy.problem import Problem
from mdqr.series._homotopy.proofs.certify_batch import proofs
from mdqr.series._homotopy.results.collect import errors_in_units, points_in_units
from mdqr.series._homotopy.results.parts import REAL
from mdqr.series._homotopy.sweeps.parameter_tables import ParameterTables
from mdqr.series._homotopy.sweeps.solution_sweep import SolutionSweep, sweep_info
from mdqr.series._homotopy.tracker import THERE, TOLERANCE, Paths, by_kernel
from mdqr.series._systems.terms import Terms, gaussian

# Paths that are followed at once.
_TOGETHER = 2**17
# Two of Newton's corrections move points in dd, and then in higher precisions, by less than this.
_FIRST_CHANGE, _CHANGE = 1e-6, 1e-20
# Ends at which x0 is a smaller part are looked at again; ends that are one path's.
_SMALL_X0, _EQUAL = 1e-8, 1e-8
_NEAR = 1 - 2.0**-50


@dataclass(frozen=True)
class Sweep:
    """A problem with start points.

    Attributes
    ----------
    problem : Problem
        With parameters.
    given : tuple
        Start points ``(k, n)``, and the values of the parameters there.
    terms : Terms
        Its terms in the units of the unknowns.
    homotopy : Parameters
        From the parameters of the start points.
    start : numpy.ndarray
        Start points ``(v, k)`` on the patch.
    precision : Precision
        Of the solutions.
    certify : bool
        True to certify solutions.
    """

    problem: Problem
    given: tuple[np.ndarray, Any]
    terms: Terms
    homotopy: Parameters
    start: np.ndarray
    precision: Precision
    certify: bool

    def run(
        self, targets: MDArray, rng: np.random.Generator, report: Reporter | None
    ) -> SolutionSweep:
        """Return the solutions at targets ``(m, q)``, which are exact."""
        m, k, n = len(targets), self.start.shape[1], len(self.problem.variables)
        found = _Ends.unknown(m, k, n, self.precision)
        together, again = max(1, _TOGETHER // max(k, 1)), 0
        for first in range(0, m, together):
            if report is not None:
                report("paths", first * k, m * k)
            some = slice(first, first + together)
            part, good = self._together(targets[some])
            found.put(some, self._in_units(part))
            for i in (first + np.flatnonzero(~good.all(axis=1))).tolist():
                found.put(slice(i, i + 1), self._alone(targets[i], rng))
                again += k
        if report is not None:
            report("paths", m * k, m * k)
        return self._result(found, again)

    def _together(self, targets: MDArray) -> tuple[_Ends, np.ndarray]:
        """Return the ends at targets, and which of them are as good as can be."""
        m, k, n = len(targets), self.start.shape[1], len(self.problem.variables)
        point, good = self._followed(targets)
        affine = (point[1:] / point[0]).T
        affine[np.flatnonzero(~good)] = 0.0
        ends = _Ends.unknown(m, k, n, self.precision)
        ends.x[:] = array(affine, precision=self.precision).reshape(m, k, n)
        near = ends.x.to_numpy()
        imaginary, size = abs(near.imag), abs(near).max(axis=-1)
        real = imaginary.max(axis=-1) <= REAL * size
        radius = _EQUAL * np.broadcast_to(size[..., None], near.shape) / 2
        if self.certify:
            rows = np.repeat(np.arange(m), k)
            proven = proofs(self.terms, ends.x.reshape(m * k, n), targets[rows])
            good &= proven.certified
            error, unique = (part.reshape(m, k, n) for part in proven[1:])
            real = (error + 2 * imaginary * (1 + 2.0**-50) < unique * _NEAR).all(axis=-1)
            ends.error[:], ends.certified[:] = error, proven.certified.reshape(m, k)
            radius = np.where(ends.certified[..., None], error, 0.0)
        ends.found[:] = good.reshape(m, k)
        of_reals = (targets.to_numpy().imag == 0).all(axis=1) & self.terms.is_real
        ends.real[:] = real & of_reals[:, None]
        return ends, ends.found & ~_may_meet(near, radius)

    def _followed(self, targets: MDArray) -> tuple[MDArray, np.ndarray]:
        """Return the ends of all paths ``(v, m k)``, and which of them are regular."""
        m, k, device = len(targets), self.start.shape[1], self.homotopy.device
        tables, every = ParameterTables(self.homotopy), np.arange(m * k)
        sets = np.repeat(np.arange(m), k)
        paths = Paths.at(np.tile(self.start, m), 1.0, set=sets)
        goal = PathGoal(0.0, TOLERANCE, 1e-10, 0.1, self.homotopy.no_x0)
        system = tables.paths(doubles(targets))
        works = precisions_with_paths()[1 : max(PRECISIONS.index(self.precision) + 1, 2) + 1]
        expect_paths(device, system, m * k, [1, *(precision.limbs for precision in works)])
        good = by_kernel(system, paths, every, goal, device) == THERE
        point = paths.x
        # Two of Newton's corrections in each precision.
        goal = PathGoal(0.0, 1.0, 1.0, 1.0)
        for precision in works:
            before = array(point, precision=precision)
            paths = Paths.at(before, 0.0, set=sets)
            by_kernel(tables.ends(targets, precision), paths, every, goal, device)
            point = paths.x
            with np.errstate(invalid="ignore"):
                size = abs(doubles(before)).max(axis=0)
                change = abs(doubles(point - before)).max(axis=0)
                good &= change < (_FIRST_CHANGE if precision is dd else _CHANGE) * size
                good &= abs(doubles(point[0])) > _SMALL_X0 * size
        return point, good

    def _alone(self, target: MDArray, rng: np.random.Generator) -> _Ends:
        """Return the ends at one value of the parameters, as `solve` finds them."""
        k, n = self.start.shape[1], len(self.problem.variables)
        ends, values = _Ends.unknown(1, k, n, self.precision), [gaussian(p) for p in target]
        device = self.homotopy.device
        given = Given(self.given, None, values, self.precision, self.certify, device)
        try:
            terms = self.problem.at(values)
        except ValueError:  # an equation has lost all unknowns
            return ends
        powers = self.homotopy.units
        assert powers is not None
        one = best(self.problem, given, terms, powers, rng, None)
        found, here = one.solutions, np.flatnonzero(one.place >= 0)
        which = one.place[here]
        ends.x[0, here], ends.error[0, here] = found.x[which], found.error_bound[which]
        ends.found[0, here], ends.radius[0, here] = True, found.cluster_radius[which]
        ends.real[0, here], ends.singular[0, here] = found.is_real[which], found.is_singular[which]
        ends.certified[0, here] = found.is_certified[which]
        ends.infinite[0], ends.on_set[0] = one.infinite, one.on_set
        return ends

    def _in_units(self, ends: _Ends) -> _Ends:
        """Return ends in the units of the problem."""
        powers = self.homotopy.units
        assert powers is not None
        x = points_in_units(ends.x, ends.real, powers)
        return replace(ends, x=x, error=errors_in_units(ends.error, powers))

    def _result(self, ends: _Ends, again: int) -> SolutionSweep:
        lost = ~ends.found
        limbs = ends.x.limbs.copy()
        limbs[:, :, lost] = np.nan
        for flags in (ends.real, ends.singular, ends.certified):
            flags[lost] = False
        ends.error[~ends.certified] = np.nan
        return SolutionSweep(
            self.problem.variables, from_limbs(limbs, dtype=complex),
            ends.found, ends.infinite, ends.on_set, ends.real, ends.singular, ends.certified,
            ends.error, ends.radius,
            sweep_info(ends.found, ends.infinite, ends.on_set, self.precision, again),
        )  # fmt: skip


@dataclass
class _Ends:
    """The ends of k paths to each of m targets: arrays ``(m, k)``, points ``(m, k, n)``."""

    x: MDArray
    error: np.ndarray
    radius: np.ndarray
    found: np.ndarray
    infinite: np.ndarray
    on_set: np.ndarray
    real: np.ndarray
    singular: np.ndarray
    certified: np.ndarray

    @classmethod
    def unknown(cls, m: int, k: int, n: int, precision: Precision) -> _Ends:
        """Return ends of which none is found."""
        x = zeros((m, k, n), precision=precision, dtype=complex)
        flags = (np.zeros((m, k), bool) for _ in range(6))
        return cls(x, np.full((m, k, n), np.nan), np.zeros((m, k)), *flags)

    def put(self, some: slice, other: _Ends) -> None:
        """Take the ends at some targets."""
        for name, part in vars(other).items():
            getattr(self, name)[some] = part


def _may_meet(x: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """Return which points of each target ``(m, k, n)`` may equal another one, by their radii.

    Points are sorted by a projection on a random line, where close ones are close.
    """
    rng, n = np.random.default_rng(0), x.shape[-1]
    weights = rng.normal(size=n) + 1j * rng.normal(size=n)
    # A little more than the projections of the disks: sums are rounded.
    slack = (radius * 1.01 + 1e-14 * abs(x)) @ abs(weights)
    low = (x @ weights).real - slack
    order = np.argsort(low, axis=1)
    low, high = (np.take_along_axis(part, order, axis=1) for part in (low, low + 2 * slack))
    touching = low[:, 1:] <= np.maximum.accumulate(high, axis=1)[:, :-1]
    found = np.zeros(x.shape[:2], bool)
    for row in np.flatnonzero(touching.any(axis=1)).tolist():
        for pair in close_pairs(x[row].T, (radius[row] + 1e-14 * abs(x[row])).T):
            found[row, list(pair)] = True
    return found
