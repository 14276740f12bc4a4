"""Solutions from the ends of paths: refined, certified, told apart."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mdqr._array.array import MDArray
from mdqr._functions.from_limbs import from_limbs
from mdqr._precision import PRECISIONS
from mdqr.series._homotopy.endgame import INFINITY, REGULAR, Ends
from mdqr.series._homotopy.follow import Followed, close_pairs
from mdqr.series._homotopy.homotopy import Homotopy, condition
from mdqr.series._homotopy.proofs.certify import certificates
from mdqr.series._homotopy.proofs.magnitudes import Magnitudes
from mdqr.series._homotopy.refine import refined, separated
from mdqr.series._homotopy.results.classify import Cluster, clusters, is_on_set
from mdqr.series._homotopy.results.multiple import merged, taken_apart
from mdqr.series._homotopy.results.parts import (
    Found,
    Part,
    affine,
    distinct,
    joined,
    met,
    real_ones,
    refined_part,
    single,
    some,
)
from mdqr.series._homotopy.solutions import Solutions, SolveInfo
from mdqr.series._systems.terms import Terms

# Solutions of combinations of equations solve the equations where these are left with less of their
# terms, and of what errors of the point make: so many roundings at a regular one, this at a
# singular one.
_LEFT, _ROUNDINGS, _SINGULAR_ERROR = 1e-8, 1e3, 1e-6
# Conditions of Jacobians that may be singular; refined points are one within this power of eps.
_DOUBTFUL, _SAME = 1e13, 0.75
# Roundings of all limbs, and of a bound, to subnormal numbers.
UNDERFLOW = 2.0**-1069


class Outcome(NamedTuple):
    """Solutions; of each path which one it ended at, negative if at none, and where else."""

    solutions: Solutions
    place: np.ndarray
    infinite: np.ndarray
    on_set: np.ndarray


def collected(found: Found, homotopy: Homotopy, followed: Followed, *, certify: bool) -> Outcome:
    """Return the solutions that paths ended at."""
    ends = followed.ends
    on_set = _on_sets(found, homotopy, ends)
    groups = [(cluster, *is_on_set(homotopy, cluster)) for cluster in clusters(ends)]
    isolated = [cluster for cluster, nearly, _ in groups if not nearly]
    proven = [_proven(found, ends, cluster) for cluster, nearly, _ in groups if nearly]
    # If the test is wrong once, none of these ends is known to be on a set.
    if not any(part.certified.any() for part in proven):
        for cluster, nearly, on in groups:
            on_set[cluster.members] = on
            if nearly and not on:
                isolated.append(cluster)
    parts = [_of_regular(found, ends, on_set, certify)]
    parts += [_of_cluster(found, homotopy, ends, cluster, certify) for cluster in isolated]
    whole = distinct(joined(parts + proven))
    extraneous = 0
    if found.square is not found.terms:
        held = _solves(found.terms, whole.x, whole.singular)
        extraneous = int(whole.multiplicity[~held].sum())
        whole = some(whole, np.flatnonzero(held))
        whole.certified[:] = False
        whole.error[:] = np.nan
    infinite = ends.kind == INFINITY
    counts = {
        "paths": len(ends.kind),
        "at_infinity": int(infinite.sum()),
        "positive_dimensional": int(on_set.sum()),
        "extraneous": extraneous,
        "followed_again": followed.again,
    }
    others = counts["at_infinity"] + counts["positive_dimensional"] + extraneous
    counts["failed"] = counts["paths"] - others - int(whole.multiplicity.sum())
    whole = _in_order(whole)
    place = np.full(len(ends.kind), -1)
    for i, paths in enumerate(whole.paths):
        place[paths] = i
    info = SolveInfo(
        counts, found.precision, method=found.method,
        iterations=int(followed.steps.max(initial=0)),
    )  # fmt: skip
    return Outcome(_in_units(found, whole, info), place, infinite, on_set)


def _of_regular(found: Found, ends: Ends, on_set: np.ndarray, certify: bool) -> Part:
    which = np.flatnonzero((ends.kind == REGULAR) & ~on_set)
    part = single(found, affine(ends.x[:, which]), which, certify)
    # Certificates tell ends that are one; else refined points do.
    return part if certify else _different(part)


def _different(part: Part) -> Part:
    """Return the points that differ from all before, to most of their digits."""
    near, eps = part.x.to_numpy().T, part.x.precision.eps
    size = abs(near).max(axis=0, initial=0.0)
    later = []
    for pair in close_pairs(near, (eps**_SAME + 2.0**-49) * size):
        i, j = sorted(pair)
        if (abs((part.x[i] - part.x[j]).to_numpy()) <= eps**_SAME * size[i]).all():
            later.append(j)
    return some(part, np.setdiff1d(np.arange(len(part.x)), later))


def _of_cluster(
    found: Found, homotopy: Homotopy, ends: Ends, cluster: Cluster, certify: bool
) -> Part:
    """Return the solutions of singular ends that are one point, nearly."""
    if len(cluster.members) == 1:
        # It may be a regular end of a large condition: certificates tell.
        part = single(found, affine(cluster.end[:, None]), cluster.members, certify)
        part.singular = ~part.certified
        return part
    if not certify:
        return merged(found, ends, cluster)
    apart = _simple(found, affine(ends.points[:, cluster.members]), cluster.members)
    return taken_apart(found, homotopy, ends, cluster) if apart is None else apart


def _on_sets(found: Found, homotopy: Homotopy, ends: Ends) -> np.ndarray:
    """Return the ends, regular by Newton's corrections, that are on sets of solutions.

    Corrections are small there, too, if roundings leave a singular Jacobian an inverse.
    """
    on = np.zeros(len(ends.kind), bool)
    regular = np.flatnonzero(ends.kind == REGULAR)
    if not regular.size:
        return on
    conditions = condition(homotopy, ends.x[:, regular], np.zeros(len(regular), complex))
    doubtful = regular[conditions > _DOUBTFUL]
    if doubtful.size:
        x = refined(found.square, affine(ends.x[:, doubtful]), found.precision)
        for j in doubtful[~certificates(found.square, x).certified]:
            on[j] = is_on_set(homotopy, Cluster(np.array([j]), 1, ends.x[:, j]))[1]
    return on


def _proven(found: Found, ends: Ends, cluster: Cluster) -> Part:
    """Return the certified solutions near ends that seem to be on a set of solutions.

    Equations that are nearly dependent have isolated solutions and, nearly, a set.
    """
    many = len(cluster.members) > 1
    points = affine(ends.points[:, cluster.members] if many else cluster.end[:, None])
    good = np.isfinite(points).all(axis=1)
    points, paths = points[good], cluster.members[good]
    x = separated(found.square, points, found.precision)
    part = refined_part(found, x, paths, True)
    return some(part, np.flatnonzero(part.certified))


def _simple(found: Found, x: np.ndarray, paths: np.ndarray) -> Part | None:
    """Return solutions so close that their paths seem to end at one; None unless all are certified.

    `x` has the points of the paths before that end.
    """
    if not np.isfinite(x).all():
        return None
    points = separated(found.square, x, found.precision)
    if not np.isfinite(points.to_numpy()).all():
        return None
    proven = certificates(found.square, points)
    if not proven.certified.all() or met(proven)[0].any():
        return None
    part = Part.unproven(points, [path[None] for path in paths])
    part.real, part.certified[:] = real_ones(proven) & found.square.is_real, True
    part.error, part.unique = proven.error.T, proven.unique.T
    return part


def _solves(terms: Terms, x: MDArray, singular: np.ndarray) -> np.ndarray:
    """Tell which points ``(k, n)`` leave little of all equations.

    A coordinate that should be zero leaves all terms that have it as a factor.
    """
    if not len(x):
        return np.zeros(0, bool)
    left = abs(terms.precise(x.precision).values(x).to_numpy()).T
    size = abs(x.to_numpy()).T
    # Zeros come to no more digits in od.
    error = np.where(
        singular, _SINGULAR_ERROR, _ROUNDINGS * max(x.precision.eps, PRECISIONS[1].eps)
    )
    error = np.broadcast_to(error * np.maximum(size.max(axis=0), 1.0), size.shape)
    moduli, first, second = Magnitudes(terms).orders(size, error)
    return np.asarray((left <= _LEFT * moduli + first + second).all(axis=0))


def points_in_units(x: MDArray, real: np.ndarray, powers: np.ndarray) -> MDArray:
    """Return points ``(..., n)`` times ``2**powers``, real ones without imaginary parts."""
    limbs = x.limbs.copy()
    limbs[1][:, real] = 0.0
    return from_limbs(np.ldexp(limbs, powers), dtype=complex)


def errors_in_units(error: np.ndarray, powers: np.ndarray) -> np.ndarray:
    """Return bounds ``(..., n)`` times ``2**powers``; and what limbs lose that underflow."""
    found: np.ndarray = np.ldexp(error, powers) * (1 + 2.0**-52) + UNDERFLOW
    return found


def _in_order(part: Part) -> Part:
    """Return real solutions first, by their coordinates."""
    near = part.x.to_numpy()
    keys = [near[:, j].real.round(9) for j in reversed(range(near.shape[1]))]
    return some(part, np.lexsort([near[:, 0].imag, *keys, ~part.real]))


def _in_units(found: Found, part: Part, info: SolveInfo) -> Solutions:
    """Return solutions in the units of the problem."""
    x = points_in_units(part.x, part.real, found.powers)
    error = errors_in_units(part.error, found.powers)
    # Solutions beyond the range of doubles.
    outside = ~np.isfinite(x.to_numpy()).all(axis=1)
    part.certified[outside], error[outside] = False, np.nan
    return Solutions(
        found.variables, x, part.multiplicity, part.real, part.singular, part.certified, error,
        part.radius, info,
    )  # fmt: skip
