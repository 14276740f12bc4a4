"""Solutions at many values of the parameters at once, from those at one.

All paths of many values are followed by one call of the kernel, refined and certified together.
Values at which a path is lost, or an end is singular or at infinity, go on one by one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mdqr import zeros
from mdqr._array.array import MDArray
from mdqr._backend.protocol import PathGoal
from mdqr._functions.creation import array
from mdqr._functions.from_limbs import from_limbs
from mdqr._precision import MOST_OF_FUNCTIONS, PRECISIONS, Precision, dd
from mdqr._progress import Reporter
from mdqr.series._homotopy.classify import Cluster, clusters
from mdqr.series._homotopy.endgame import INFINITY, REGULAR
from mdqr.series._homotopy.follow import close_pairs, equal, follow
from mdqr.series._homotopy.homotopy import Parameters, doubles
from mdqr.series._homotopy.problem import Problem, in_units
from mdqr.series._homotopy.proofs.certify import certificates
from mdqr.series._homotopy.proofs.certify_batch import proofs
from mdqr.series._homotopy.refine import refined
from mdqr.series._homotopy.results import Found, close, errors_in_units, met, real_ones
from mdqr.series._homotopy.solutions import SolveInfo
from mdqr.series._homotopy.sweeps.parameter_tables import ParameterTables
from mdqr.series._homotopy.sweeps.solution_sweep import SolutionSweep
from mdqr.series._homotopy.tracker import THERE, TOLERANCE, Paths, by_kernel
from mdqr.series._systems.terms import Terms, gaussian

# Paths that are followed at once.
_TOGETHER = 2**17
# Two of Newton's corrections move points in dd, and then in higher precisions, by less than this.
_FIRST_CHANGE, _CHANGE = 1e-6, 1e-20
# Ends at which x0 is a smaller part are looked at again; ends that are one path's; imaginary parts
# of real solutions without a certificate.
_SMALL_X0, _EQUAL, _REAL = 1e-8, 1e-8, 1e-6
_NEAR = 1 - 2.0**-50


@dataclass(frozen=True)
class Sweep:
    """A problem with start points.

    Attributes
    ----------
    problem : Problem
        With parameters.
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
    terms: Terms
    homotopy: Parameters
    start: np.ndarray
    precision: Precision
    certify: bool

    def run(self, targets: MDArray, report: Reporter | None) -> SolutionSweep:
        """Return the solutions at targets ``(m, q)``, which are exact."""
        m, k, n = len(targets), self.start.shape[1], len(self.problem.variables)
        found = _Ends.unknown(m, k, n, self.precision)
        together, again = max(1, _TOGETHER // max(k, 1)), 0
        for first in range(0, m, together):
            if report is not None:
                report("paths", first * k, m * k)
            some = slice(first, first + together)
            part, good = self._together(targets[some])
            found.put(some, part)
            for i in (first + np.flatnonzero(~good.all(axis=1))).tolist():
                found.put(slice(i, i + 1), self._alone(targets[i]))
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
        real = imaginary.max(axis=-1) <= _REAL * size
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
        good = by_kernel(tables.paths(doubles(targets)), paths, every, goal, device) == THERE
        point, last = paths.x, max(PRECISIONS.index(self.precision) + 1, 2)
        # Two of Newton's corrections in each precision.
        goal = PathGoal(0.0, 1.0, 1.0, 1.0)
        for precision in (p for p in PRECISIONS[1 : last + 1] if p.limbs <= MOST_OF_FUNCTIONS):
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

    def _alone(self, target: MDArray) -> _Ends:
        """Return the ends at one value of the parameters."""
        ends = _Ends.unknown(1, self.start.shape[1], len(self.problem.variables), self.precision)
        powers = self.homotopy.units
        assert powers is not None
        try:
            terms = in_units(self.problem.at([gaussian(p) for p in target]), powers)
        except ValueError:  # an equation has lost all unknowns
            return ends
        homotopy = replace(self.homotopy, end=doubles(target).astype(complex), _within={})
        paths = follow(homotopy, self.start, max(self.precision, PRECISIONS[2]), None).ends
        ends.infinite[0] = paths.kind == INFINITY
        regular = np.flatnonzero(paths.kind == REGULAR)
        if regular.size:
            x = refined(terms, (paths.x[1:, regular] / paths.x[0, regular]).T, self.precision)
            self._put_regular(terms, x, regular, ends)
        for cluster in clusters(paths):
            self._put_cluster(terms, cluster, paths.points[:, cluster.members], ends)
        return ends

    def _put_cluster(self, terms: Terms, cluster: Cluster, points: np.ndarray, ends: _Ends) -> None:
        """Set ends that are one or close together; `points` are of their paths before."""
        which, x = cluster.members, cluster.end[1:] / cluster.end[0]
        if self.certify and len(which) == 1:
            self._put_regular(terms, refined(terms, x[None], self.precision), which, ends)
            if ends.certified[0, which]:
                return
        elif self.certify:
            units = np.zeros(terms.variables, int)
            found = Found(self.problem.variables, terms, terms, units, self.precision, "")
            apart = close(found, (points[1:] / points[0]).T)
            if apart is not None:
                ends.x[0, which], ends.real[0, which] = apart.x, apart.real
                ends.found[0, which] = ends.certified[0, which] = True
                ends.error[0, which] = apart.error
                return
        ends.x[0, which] = array(x, precision=self.precision)
        ends.found[0, which] = ends.singular[0, which] = True
        size = max(float(abs(x).max()), 1e-8)
        ends.real[0, which] = terms.is_real and bool((abs(x.imag) <= _REAL * size).all())

    def _put_regular(self, terms: Terms, x: MDArray, which: np.ndarray, ends: _Ends) -> None:
        near = x.to_numpy()
        real = abs(near.imag).max(axis=1) <= _REAL * abs(near).max(axis=1)
        same = np.zeros(len(which), bool)
        if self.certify:
            proven = certificates(terms, x)
            real = np.where(proven.certified, real_ones(proven), real)
            doubtful, same = met(proven)
            ends.certified[0, which] = proven.certified & ~doubtful & ~same
            ends.error[0, which] = proven.error.T
        else:
            same[equal(near.T, np.arange(len(near)), _EQUAL)] = True
        ends.x[0, which], ends.found[0, which] = x, ~same
        ends.real[0, which] = real & terms.is_real

    def _result(self, ends: _Ends, again: int) -> SolutionSweep:
        counts = {
            "paths": ends.found.size,
            "at_infinity": int(ends.infinite.sum()),
            "positive_dimensional": 0,
            "extraneous": 0,
            "failed": int((~ends.found & ~ends.infinite).sum()),
            "followed_again": again,
        }
        powers, lost = self.homotopy.units, ~ends.found
        assert powers is not None
        limbs = ends.x.limbs.copy()
        limbs[1][:, ends.real] = 0.0
        limbs[:, :, lost] = np.nan
        for flags in (ends.real, ends.singular, ends.certified):
            flags[lost] = False
        ends.error[~ends.certified] = np.nan
        return SolutionSweep(
            self.problem.variables, from_limbs(np.ldexp(limbs, powers), dtype=complex),
            ends.found, ends.infinite, ends.real, ends.singular, ends.certified,
            errors_in_units(ends.error, powers),
            SolveInfo(counts, self.precision, method="parameters"),
        )  # fmt: skip


@dataclass
class _Ends:
    """The ends of k paths to each of m targets: arrays ``(m, k)``, points ``(m, k, n)``."""

    x: MDArray
    error: np.ndarray
    found: np.ndarray
    infinite: np.ndarray
    real: np.ndarray
    singular: np.ndarray
    certified: np.ndarray

    @classmethod
    def unknown(cls, m: int, k: int, n: int, precision: Precision) -> _Ends:
        """Return ends of which none is found."""
        x = zeros((m, k, n), precision=precision, dtype=complex)
        return cls(x, np.full((m, k, n), np.nan), *(np.zeros((m, k), bool) for _ in range(5)))

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
