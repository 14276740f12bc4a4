"""Solutions with their flags and certificates: joined, selected, shown to differ."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mdqr import concatenate
from mdqr._array.array import MDArray
from mdqr._functions.creation import array
from mdqr._precision import Precision
from mdqr.series._homotopy.follow import close_pairs
from mdqr.series._homotopy.homotopy import Points, doubles
from mdqr.series._homotopy.proofs.certify import Certificates, certificates
from mdqr.series._homotopy.refine import refined, separated
from mdqr.series._systems.polynomial import Gaussian
from mdqr.series._systems.terms import Terms, gaussian

# Solutions without a certificate are real with imaginary parts below this, relative to the point.
REAL = 1e-6


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
class Part:
    """Solutions in the units, ``(k, n)``, with their flags, and the paths that end at each.

    The radius of a cluster is in the units of the problem.
    """

    x: MDArray
    paths: list[np.ndarray]
    real: np.ndarray
    singular: np.ndarray
    certified: np.ndarray
    error: np.ndarray
    unique: np.ndarray
    radius: np.ndarray

    @property
    def multiplicity(self) -> np.ndarray:
        """The number of paths of each solution."""
        return np.array([len(each) for each in self.paths], int)

    @classmethod
    def unproven(cls, x: MDArray, paths: list[np.ndarray]) -> Part:
        """Return solutions of which nothing is known."""
        count = len(x)
        real, singular, certified = np.zeros((3, count), bool)
        error, unique = np.full(x.shape, np.nan), np.zeros(x.shape)
        return cls(x, paths, real, singular, certified, error, unique, np.zeros(count))


_ARRAYS = ("real", "singular", "certified", "error", "unique", "radius")


def joined(parts: list[Part]) -> Part:
    """Return the solutions of all parts."""
    x = concatenate([part.x for part in parts])
    paths = [each for part in parts for each in part.paths]
    return Part(x, paths, *(np.concatenate([getattr(part, n) for part in parts]) for n in _ARRAYS))


def some(part: Part, which: np.ndarray) -> Part:
    """Return the solutions with some indices."""
    paths = [part.paths[i] for i in which.tolist()]
    return Part(part.x[which], paths, *(getattr(part, name)[which] for name in _ARRAYS))


def affine(x: Points) -> Points:
    """Return points ``(k, n)`` of homogeneous ones ``(n + 1, k)``."""
    return (x[1:] / x[0]).T


def is_nearly_real(x: MDArray) -> np.ndarray:
    """Tell which points ``(k, n)`` have small imaginary parts."""
    near = x.to_numpy()
    size = np.maximum(abs(near).max(axis=1), 1e-8)
    return np.asarray(abs(near.imag).max(axis=1) <= REAL * size)


def single(found: Found, x: np.ndarray | MDArray, paths: np.ndarray, certify: bool) -> Part:
    """Return the ends ``(k, n)`` of single paths, refined and certified.

    Those without a certificate are refined once more, as close solutions.
    """
    part = refined_part(found, x, paths, certify)
    left = np.flatnonzero(~part.certified)
    if certify and left.size and np.isfinite(near := doubles(x)).all():
        again = separated(found.square, near[left], found.precision)
        more = refined_part(found, again, paths[left], True)
        good = np.flatnonzero(more.certified)
        rest = np.setdiff1d(np.arange(len(x)), left[good])
        part = joined([some(part, rest), some(more, good)])
    return part


def refined_part(found: Found, x: np.ndarray | MDArray, paths: np.ndarray, certify: bool) -> Part:
    """Return points near solutions, refined and certified."""
    part = Part.unproven(array(x, precision=found.precision), [path[None] for path in paths])
    if not len(x):
        return part
    part.x = refined(found.square, x, found.precision)
    part.real = found.terms.is_real & is_nearly_real(part.x)
    if certify:
        proven = certificates(found.square, part.x)
        if found.square.is_real:
            part.real = np.where(proven.certified, real_ones(proven), part.real)
        part.certified, part.unique = proven.certified, proven.unique.T
        part.error = np.where(part.certified, proven.error, np.nan).T
    return part


def distinct(part: Part) -> Part:
    """Return solutions that differ; a certificate that does not show it is none."""
    proven = Certificates(part.certified, part.error.T, part.unique.T, part.x)
    doubtful, again = met(proven)
    part.certified = part.certified & ~doubtful
    part.error[~part.certified] = np.nan
    return some(part, np.flatnonzero(~again))


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
