"""Eigenvalues, unit vectors and bounds, by those that are proven of a scaled problem."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mdqr._backend.blocks import native_abs, to_native
from mdqr._limbs import planes
from mdqr._limbs.planes import Block
from mdqr.linalg._factor.lu import permuted
from mdqr.linalg._general.certificate import Certified, distances, perturbation, together
from mdqr.linalg._general.matrix import Problem
from mdqr.linalg._general.subspaces.newton import Basis, inverse_step
from mdqr.linalg._general.vector_bounds import (
    distances_of,
    lengths_of,
    of_inverse,
    other_components,
)
from mdqr.linalg._general.vectors import (
    Mirrored,
    Vectors,
    mirror_rows,
    mirrored,
    normalised,
    order_of,
    ordered,
    vectors_of,
)
from mdqr.linalg._shared.operands import precision_for
from mdqr.linalg._spectral.disks import SLACK, Disks, disks, linked

# What underflow takes from entries of vectors in the units of their problem.
_UNDERFLOW = 2.0**-1060
# Bounds get 2^-1070 when values leave the scaled problem: below, that may be more than they were.
_TINY = 2.0**-1040


class Wanted(NamedTuple):
    """The requested result: limbs of the answer, real values if proven, and vectors."""

    limbs: int
    is_real: bool
    right: bool
    left: bool


class Conclusion:
    """Eigenvalues in their order, vectors, and bounds ``(batch, n)``, the latter when asked for."""

    # Whether some limbs were enough for an inverse: of pairs next to singular ones none may be.
    resolved = True

    def __init__(self, problem: Problem, known: Certified, wanted: Wanted) -> None:
        self._problem, self._known, self._wanted = problem, known, wanted
        backend, kind = problem.backend, problem.kind
        self._both: Vectors | None = None
        if wanted.right or wanted.left:
            self._both = vectors_of(backend, known.basis, kind)
        if wanted.is_real:
            self._mirrored = mirrored(backend, known, kind)
        else:
            nothing = np.zeros(0, np.int64)
            self._mirrored = Mirrored(known.values, known.disks.radii, *(nothing,) * 3)
        found, radii, *_ = self._mirrored
        values, radii = problem.eigenvalues(found, radii, wanted.limbs)
        radii, counts = _widened(values, Disks(radii, known.disks.counts))
        self._order, self._radii = order_of(values), radii
        self.values = ordered(values, self._order)
        with np.errstate(all="ignore"):
            self.sizes = native_abs(self.values, True)
        self.error_bound = self._ordered(radii)
        self.counts = self._ordered(counts)
        self.right: Block | None = None
        self.left: Block | None = None
        if self._both is not None:
            self._finish(self._both)

    def _ordered(self, x: np.ndarray) -> np.ndarray:
        rows = np.arange(len(x))[:, None]
        return np.asarray(x[rows, self._order])

    def _finish(self, both: Vectors) -> None:
        """Make vectors that were asked for."""
        problem, wanted = self._problem, self._wanted
        for rows in (both.right.swapaxes(-1, -2), both.left):
            mirror_rows(self._mirrored, rows)
        if wanted.right:
            self.right = self._normalised(both.right, problem.right)
        self._separate: Basis | None = None
        if wanted.left:
            self._separate = separate = self._separated(both)
            y, together = separate.y, self._unresolved()
            if together.any():
                y = np.where(together[..., None], self._inverse(both.right, both.left), y)
            self.left = self._normalised(planes.conjugate(y).swapaxes(-1, -2), problem.left)

    def _normalised(self, x: Block, powers: np.ndarray) -> Block:
        """Return columns times ``2**powers``, in the order of the values, of length 1."""
        backend, kind = self._problem.backend, self._problem.kind
        if powers.any():
            x = backend.ldexp(x, powers[:, :, None], is_complex=True)
        x = permuted(x.swapaxes(-1, -2), self._order).swapaxes(-1, -2)
        return normalised(backend, x, kind, (self.values[1, 0] == 0) & self._wanted.is_real)

    def _inverse(self, x: Block, y: Block) -> Block:
        problem = self._problem
        return inverse_step(problem.backend, problem.of_vectors(x), y, problem.kind)

    def _unresolved(self) -> np.ndarray:
        """Return which values belong to blocks in which disks do not tell all values apart."""
        labels, counts = self._known.start.labels, self._known.disks.counts
        same = labels[:, :, None] == labels[:, None, :]
        alone = same.sum(axis=-1) == 1
        return np.asarray((same & (counts != 1)[:, None, :]).any(axis=-1) & ~alone)

    def _separated(self, both: Vectors) -> Basis:
        """Return a basis of eigenvectors, and blocks where disks do not tell values apart."""
        known, kind = self._known, self._problem.kind
        labels, unresolved = known.start.labels, self._unresolved()
        labels = np.where(unresolved, labels, np.arange(labels.shape[-1]))
        x, y = both
        if unresolved.any():
            x = np.where(unresolved[:, None, :], known.basis.x, x)
            y = np.where(unresolved[..., None], known.basis.y, y)
        m = np.where(labels[:, :, None] == labels[:, None, :], np.triu(known.start.m, 1), 0.0)
        planes.diagonal(m)[...] = planes.widen(self._mirrored.values, True, kind.limbs)
        return Basis(x, self._inverse(x, y), m, labels, known.start.sound)

    def condition(self) -> np.ndarray:
        """Return estimates of the conditions of eigenvalues."""
        right, left = self._vectors()
        with np.errstate(all="ignore"):
            found = lengths_of(right, self._problem.right, -2)
            found = found * lengths_of(left, self._problem.left, -1)
        return self._ordered(np.where(np.isnan(found), np.inf, found))

    def _vectors(self) -> Vectors:
        if self._both is None:
            self._both = vectors_of(self._problem.backend, self._known.basis, self._problem.kind)
        return self._both

    def vector_bound(self) -> np.ndarray:
        """Return bounds of the distances of vectors from exact ones; NaN without any."""
        if not (self._wanted.left or self._wanted.right):
            return np.full(self.error_bound.shape, np.nan)
        known, wanted, kind = self._known, self._wanted, self._problem.kind
        n, eps = int(known.values.shape[-1]), precision_for(kind.limbs).eps
        # Corrections count twice in bounds by what is known of vectors before them.
        if wanted.left or (known.moved > eps).any() or together(known.start) is not None:
            within = self._of_separated()
        else:
            within = self._of_corrected()
        within = within + (n + 64) * eps + precision_for(wanted.limbs).eps
        self._mirrored.copy(within)
        return self._ordered(np.where(known.disks.counts == 1, within, np.inf))

    @np.errstate(all="ignore")
    def _of_corrected(self) -> np.ndarray:
        """Return bounds of right vectors ``X (I + E)`` by what is known of X."""
        known, powers = self._known, self._problem.right
        parts = other_components(known.apart, known.disks, known.moduli, None)
        lengths = lengths_of(known.start.x, powers, -2)
        own = lengths_of(self._vectors().right, powers, -2)
        lost = (known.moved * lengths[..., None]).sum(axis=-2)
        lost = SLACK * lost + _UNDERFLOW * np.ldexp(1.0, powers).sum(axis=-1)[:, None]
        return distances_of(parts, lengths, own, lost)

    @np.errstate(all="ignore")
    def _of_separated(self) -> np.ndarray:
        """Return bounds of vectors by a certificate of their own."""
        problem, known, wanted = self._problem, self._known, self._wanted
        found = self._separate or self._separated(self._vectors())
        backend, kind, rest = problem.backend, problem.kind, problem.remainder(found)
        _, moduli, _, off = perturbation(backend, rest, found, kind, closely=wanted.left)
        values = self._mirrored.values
        apart, within = distances(backend, values, values, kind), []
        if wanted.right:
            parts = other_components(apart, known.disks, moduli, together(found))
            lengths = lengths_of(found.x, problem.right, -2)
            within.append(distances_of(parts, lengths, lengths, np.zeros(lengths.shape)))
        if wanted.left:
            blocks = together(found, -2)
            parts = other_components(apart, known.disks, moduli.swapaxes(-1, -2), blocks)
            own = lengths_of(found.y, problem.left, -1)
            lengths, lost = of_inverse(off, own)
            within.append(distances_of(parts, lengths, own, lost))
        return np.maximum(within[0], within[-1])

    @np.errstate(all="ignore")
    def data_perturbation(self) -> np.ndarray:
        """Return what errors of the entries add to Z."""
        of_y, off = native_abs(self._known.start.y, True), self._known.off
        rows = off.sum(axis=-1)
        norm = rows.max(axis=-1, initial=0.0)[:, None, None]
        most = of_y.max(axis=-2, initial=0.0)[:, None, :] / np.where(norm < 0.5, 1 - norm, 0.0)
        inverse = SLACK * (of_y + rows[..., None] * most)
        found = SLACK * self._problem.data_perturbation(inverse, self._known)
        return np.where(np.isnan(found), np.inf, found)

    def may_lose_all_digits(self) -> np.ndarray:
        """Return where errors of the entries may move a value, to first order, by half of it."""
        own = planes.diagonal(self.data_perturbation())
        sizes = native_abs(self._known.values, True)
        return self._ordered(~(2 * (own + self._known.disks.radii) < sizes))

    @np.errstate(all="ignore")
    def data_error_bound(self) -> np.ndarray:
        """Return bounds for the values of every problem whose entries are within their errors."""
        problem, known, values = self._problem, self._known, self._mirrored.values
        moduli = known.moduli + self.data_perturbation()
        moved = problem.backend.binary("subtract", values, known.values, kind=problem.kind)
        planes.diagonal(moduli)[...] += SLACK * native_abs(moved, True)
        apart = distances(problem.backend, values, values, problem.kind)
        radii = disks(apart, moduli, together(known.start)).radii
        return self._ordered(problem.radii(values, radii) + self._radii)


@np.errstate(all="ignore")
def _widened(values: Block, found: Disks) -> Disks:
    """Return disks of values near the smallest double, which meet where they are wider for that."""
    tiny = found.radii < _TINY
    if not tiny.any():
        return found
    native = to_native(np, values, True)
    radii, counts = linked(abs(native[..., :, None] - native[..., None, :]), found.radii)
    return Disks(
        np.where(tiny, np.maximum(radii, found.radii), found.radii),
        np.where(tiny, np.maximum(counts, found.counts), found.counts),
    )
