"""Solutions from the ends of paths: refined, certified, told apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mdqr import concatenate
from mdqr._array.array import MDArray
from mdqr._functions.creation import array
from mdqr._functions.from_limbs import from_limbs
from mdqr._precision import PRECISIONS, Precision
from mdqr.series._homotopy.classify import Cluster, clusters, is_on_set
from mdqr.series._homotopy.endgame import INFINITY, REGULAR, Ends
from mdqr.series._homotopy.follow import Followed, close_pairs
from mdqr.series._homotopy.homotopy import Homotopy, condition
from mdqr.series._homotopy.proofs.certify import Certificates, certificates
from mdqr.series._homotopy.proofs.magnitudes import Magnitudes
from mdqr.series._homotopy.refine import refined, separated
from mdqr.series._homotopy.solutions import Solutions, SolveInfo
from mdqr.series._systems.polynomial import Gaussian
from mdqr.series._systems.terms import Terms, gaussian

# Singular solutions are real with imaginary parts below this, relative to the point; solutions of
# combinations of equations solve the equations where these are left with less of their terms, and
# of what errors of the point make: so many roundings at a regular one, this at a singular one.
_REAL, _LEFT, _ROUNDINGS, _SINGULAR_ERROR = 1e-6, 1e-8, 1e3, 1e-6
# Conditions of Jacobians that may be singular.
_DOUBTFUL = 1e13
# Roundings of all limbs, and of a bound, to subnormal numbers.
UNDERFLOW = 2.0**-1069


@dataclass(frozen=True)
class Found:
    """The solved problem: terms in the units ``2**powers`` of the unknowns, and squared ones."""

    variables: tuple[str, ...]
    terms: Terms
    square: Terms
    powers: np.ndarray
    precision: Precision
    method: str


@dataclass
class _Part:
    """Solutions in the units, ``(k, n)``, with their flags."""

    x: MDArray
    multiplicity: np.ndarray
    real: np.ndarray
    singular: np.ndarray
    certified: np.ndarray
    error: np.ndarray
    unique: np.ndarray


def collected(found: Found, homotopy: Homotopy, followed: Followed, *, certify: bool) -> Solutions:
    """Return the solutions that paths ended at."""
    ends = followed.ends
    on_sets = _on_sets(found, homotopy, ends)
    regular = ends.x[:, (ends.kind == REGULAR) & ~on_sets]
    groups = clusters(ends)
    on_set = [is_on_set(homotopy, cluster) for cluster in groups]
    isolated = [cluster for cluster, on in zip(groups, on_set, strict=True) if not on]
    # Ends without a winding may be regular ones of a large condition: certificates tell.
    single = [c for c in isolated if len(c.members) == 1]
    many = [c for c in isolated if len(c.members) > 1]
    first = _regular(found, _affine(regular), certify)
    parts = [first]
    if single:
        parts.append(_doubtful(found, _affine(np.stack([c.end for c in single], axis=1)), certify))
    for cluster in many:
        points = _affine(ends.points[:, cluster.members])
        apart = close(found, points) if certify else None
        parts.append(_singular(found, cluster) if apart is None else apart)
    sets = [cluster for cluster, on in zip(groups, on_set, strict=True) if on]
    proven = [_proven(found, ends, cluster) for cluster in sets]
    # If the test is wrong once, none of these ends is known to be on a set.
    is_refuted = any(part.certified.any() for part in proven)
    whole = _distinct(_joined(parts + proven))
    extraneous = 0
    if found.square is not found.terms:
        held = _solves(found.terms, whole.x, whole.singular)
        extraneous = int(whole.multiplicity[~held].sum())
        whole = _some(whole, np.flatnonzero(held))
        whole.certified[:] = False
        whole.error[:] = np.nan
    counts = {
        "paths": len(ends.kind),
        "at_infinity": int((ends.kind == INFINITY).sum()),
        "positive_dimensional": int(on_sets.sum())
        + (0 if is_refuted else sum(len(cluster.members) for cluster in sets)),
        "extraneous": extraneous,
        "followed_again": followed.again,
    }
    others = counts["at_infinity"] + counts["positive_dimensional"] + extraneous
    counts["failed"] = counts["paths"] - others - int(whole.multiplicity.sum())
    return _in_order(found, whole, counts, int(followed.steps.max(initial=0)))


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
        x = refined(found.square, _affine(ends.x[:, doubtful]), found.precision)
        for j in doubtful[~certificates(found.square, x).certified]:
            on[j] = is_on_set(homotopy, Cluster(np.array([j]), 1, ends.x[:, j]))
    return on


def _doubtful(found: Found, x: np.ndarray, certify: bool) -> _Part:
    """Return ends of single paths: those without a certificate are called singular."""
    part = _regular(found, x, certify)
    left = np.flatnonzero(~part.certified)
    if certify and left.size and np.isfinite(x).all():
        # Close solutions need more steps.
        more = _regular(found, separated(found.square, x[left], found.precision), True)
        good = np.flatnonzero(more.certified)
        rest = np.setdiff1d(np.arange(len(x)), left[good])
        part = _joined([_some(part, rest), _some(more, good)])
    part.singular = ~part.certified
    return part


def _proven(found: Found, ends: Ends, cluster: Cluster) -> _Part:
    """Return the certified solutions near ends that seem to be on a set of solutions.

    Equations that are nearly dependent have isolated solutions and, nearly, a set.
    """
    x = ends.points[:, cluster.members] if len(cluster.members) > 1 else cluster.end[:, None]
    points = _affine(x)
    points = points[np.isfinite(points).all(axis=1)]
    part = _regular(found, separated(found.square, points, found.precision), True)
    return _some(part, np.flatnonzero(part.certified))


def _affine(x: np.ndarray) -> np.ndarray:
    """Return points ``(k, n)`` of homogeneous ones ``(n + 1, k)``."""
    found: np.ndarray = (x[1:] / x[0]).T
    return found


def _regular(found: Found, x: np.ndarray | MDArray, certify: bool) -> _Part:
    count, n = x.shape
    part = _Part(
        array(x, precision=found.precision), np.ones(count, int), np.zeros(count, bool),
        np.zeros(count, bool), np.zeros(count, bool), np.full((count, n), np.nan),
        np.zeros((count, n)),
    )  # fmt: skip
    if not count:
        return part
    part.x = refined(found.square, x, found.precision)
    near = part.x.to_numpy()
    size = abs(near).max(axis=1)
    part.real = found.terms.is_real & (abs(near.imag).max(axis=1) <= _REAL * size)
    if certify:
        proven = certificates(found.square, part.x)
        if found.square.is_real:
            sure = real_ones(proven)
            part.real = np.where(proven.certified, sure, part.real)
        part.certified, part.unique = proven.certified, proven.unique.T
        part.error = np.where(part.certified, proven.error, np.nan).T
    return part


def _distinct(part: _Part) -> _Part:
    """Return solutions that differ; a certificate that does not show it is none."""
    proven = Certificates(part.certified, part.error.T, part.unique.T, part.x)
    doubtful, again = met(proven)
    part.certified = part.certified & ~doubtful
    part.error[~part.certified] = np.nan
    return _some(part, np.flatnonzero(~again))


def real_ones(proven: Certificates) -> np.ndarray:
    """Tell which solutions are real: the conjugate one is in the disks of uniqueness.

    Its distance from the point is at most the error and twice the imaginary part.
    """
    imaginary = abs(proven.points.to_numpy().imag.T) * (1 + 2.0**-50)
    return np.asarray((proven.error + 2 * imaginary < proven.unique * (1 - 2.0**-50)).all(axis=0))


def met(proven: Certificates) -> tuple[np.ndarray, np.ndarray]:
    """Tell which solutions are not shown to differ from one before, and which are that one.

    They differ where a coordinate differs by more than both errors, and are one if the disks of
    the error lie in the disks of uniqueness.
    """
    doubtful, again = (np.zeros(len(proven.certified), bool) for _ in range(2))
    which = np.flatnonzero(proven.certified)
    points, error = proven.points.to_numpy().T[:, which], proven.error[:, which]
    # Points near each other are compared exactly.
    for pair in close_pairs(points, error + 2.0**-49 * abs(points)):
        i, j = sorted(which[list(pair)].tolist())
        apart = _difference(proven, i, j)
        both = proven.error[:, i] + proven.error[:, j]
        doubtful[j] |= not (apart * (1 - 2.0**-50) > both * (1 + 2.0**-50)).any()
        again[j] |= bool((apart + proven.error[:, j] < proven.unique[:, i] * (1 - 2.0**-50)).all())
    return doubtful, again


def _difference(proven: Certificates, i: int, j: int) -> np.ndarray:
    pairs = zip(proven.points[i], proven.points[j], strict=True)
    return np.array([_distance(gaussian(a), gaussian(b)) for a, b in pairs])


def _distance(a: Gaussian, b: Gaussian) -> float:
    return abs(complex(float(a.real - b.real), float(a.imag - b.imag)))


def close(found: Found, x: np.ndarray) -> _Part | None:
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
    count = len(points)
    return _Part(
        points, np.ones(count, int), real_ones(proven) & found.square.is_real,
        np.zeros(count, bool), np.ones(count, bool), proven.error.T, proven.unique.T,
    )  # fmt: skip


def _singular(found: Found, cluster: Cluster) -> _Part:
    x = _affine(cluster.end[:, None])
    size = max(float(abs(x).max()), 1e-8)
    real = found.terms.is_real and float(abs(x.imag).max()) <= _REAL * size
    return _Part(
        array(x, precision=found.precision), np.array([len(cluster.members)]), np.array([real]),
        np.ones(1, bool), np.zeros(1, bool), np.full(x.shape, np.nan), np.zeros(x.shape),
    )  # fmt: skip


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


def _joined(parts: list[_Part]) -> _Part:
    x = concatenate([part.x for part in parts])
    names = ("multiplicity", "real", "singular", "certified", "error", "unique")
    return _Part(x, *(np.concatenate([getattr(part, n) for part in parts]) for n in names))


def _some(part: _Part, which: np.ndarray) -> _Part:
    names = ("x", "multiplicity", "real", "singular", "certified", "error", "unique")
    return _Part(*(getattr(part, name)[which] for name in names))


def errors_in_units(error: np.ndarray, powers: np.ndarray) -> np.ndarray:
    """Return bounds ``(..., n)`` times ``2**powers``; and what limbs lose that underflow."""
    found: np.ndarray = np.ldexp(error, powers) * (1 + 2.0**-52) + UNDERFLOW
    return found


def _in_order(found: Found, part: _Part, counts: dict[str, int], steps: int) -> Solutions:
    """Return solutions in the units of the problem: real ones first, by their coordinates."""
    near = part.x.to_numpy()
    keys = [near[:, j].real.round(9) for j in reversed(range(near.shape[1]))]
    part = _some(part, np.lexsort([near[:, 0].imag, *keys, ~part.real]))
    limbs = part.x.limbs.copy()
    limbs[1][:, part.real] = 0.0
    x = from_limbs(np.ldexp(limbs, found.powers), dtype=complex)
    error = errors_in_units(part.error, found.powers)
    # What leaves the range of doubles.
    outside = ~np.isfinite(x.to_numpy()).all(axis=1)
    part.certified[outside], error[outside] = False, np.nan
    info = SolveInfo(counts, found.precision, method=found.method, iterations=steps)
    return Solutions(
        found.variables, x, part.multiplicity, part.real, part.singular, part.certified, error,
        info,
    )  # fmt: skip
