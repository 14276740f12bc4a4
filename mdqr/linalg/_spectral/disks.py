"""Disks of S. Gershgorin that contain eigenvalues, and what they prove of each.

The matrix is ``diag(w) + M``, of which only upper bounds of the moduli of M are known. float64 is
enough: `SLACK` is more than all that rounding takes from the numbers here.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

SLACK = 1.0 + 2.0**-30


class Disks(NamedTuple):
    """What is proven of eigenvalues.

    Attributes
    ----------
    radii : numpy.ndarray
        float64 ``(n,)``: exact eigenvalues can be numbered so that each is that near to its value.
    counts : numpy.ndarray
        int64 ``(n,)``: of how many eigenvalues a value stands for one, all of which are in a union
        of as many disks; 1 where one disk has one eigenvalue.
    """

    radii: np.ndarray
    counts: np.ndarray


class Together(NamedTuple):
    """Eigenvalues of triangular blocks: for each value the rows of its block, and their coupling.

    `labels` are equal within a block; `coupling` is the largest row sum of the moduli above its
    diagonal, `counts` its order.
    """

    labels: np.ndarray
    coupling: np.ndarray
    counts: np.ndarray

    def radii(self, sums: np.ndarray) -> np.ndarray:
        """Return how far what has row sums `sums` may move the eigenvalues of each block."""
        same = self.labels[:, None] == self.labels[None, :]
        worst = np.where(same, sums[None, :], 0.0).max(axis=1, initial=0.0)
        return np.where(self.counts > 1, _reach(worst, self.coupling, self.counts), sums)


def _reach(size: np.ndarray, coupling: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return d with ``size sum_(j < k) coupling**j / d**(j + 1) <= 1``, k from `counts`."""
    found = np.zeros(len(size))
    for j in range(int(counts.max(initial=1))):
        # Each term is at most 1 / k.
        log = (np.log2(counts * size) + (j * np.log2(coupling) if j else 0.0)) / (j + 1)
        found = np.maximum(found, np.where(j < counts, np.exp2(log), 0.0))
    return found * (1 + 2.0**-20)


@np.errstate(all="ignore")
def disks(apart: np.ndarray, moduli: np.ndarray, together: Together | None = None) -> Disks:
    """Return disks about w.

    Parameters
    ----------
    apart : numpy.ndarray
        ``abs(w[i] - w[j])``, float64 ``(n, n)``, right to `SLACK`.
    moduli : numpy.ndarray
        Upper bounds of ``abs(M)``, float64 ``(n, n)``.
    together : Together, optional
        Blocks of the matrix that are triangular in place of diagonal, beside M.

    Notes
    -----
    A similarity by ``diag(1, ..., t_i, ..., 1)`` makes disk i small, and the others larger, as long
    as they do not meet (R. S. Varga, Gersgorin and His Circles, 2004). Blocks have the disks of
    D. G. Feingold and R. S. Varga, Block diagonally dominant matrices, 1962, in the maximum norm.
    """
    own = np.diagonal(moduli)
    sums = moduli.sum(axis=1) * SLACK
    near, radii = apart / SLACK, sums
    # Of the distance of disks i and j one half is left to grow into.
    left = (near - sums[:, None] - sums[None, :]) / (2 * SLACK * moduli.T)
    single = np.ones(len(own), bool)
    if together is not None and (together.counts > 1).any():
        single, radii = together.counts == 1, together.radii(sums)
        twice = together.radii(2 * sums)
        # Row sums of blocks may double.
        blocks = np.where(near > sums[:, None] + twice[None, :], sums / (SLACK * moduli.T), 0.0)
        left = np.where(single[None, :], left, blocks)
    np.fill_diagonal(left, np.inf)
    t = np.nan_to_num(left.min(axis=1, initial=np.inf), nan=0.0)
    alone = (t >= 1.0) & single
    rest = np.maximum(sums - own, 0.0)
    small = (own + np.where(rest > 0, rest / np.minimum(t, 2.0**400), 0.0)) * SLACK
    bounds, counts = linked(apart, radii)
    bounds = np.where(alone, np.minimum(small, sums), bounds)
    return Disks(np.nan_to_num(bounds, nan=np.inf, posinf=np.inf), np.where(alone, 1, counts))


def linked(apart: np.ndarray, radii: np.ndarray) -> Disks:
    """Return bounds for disks that meet: k disks have k eigenvalues, in any order."""
    n = len(radii)
    meet = ~(apart / SLACK > radii[:, None] + radii[None, :])
    np.fill_diagonal(meet, True)
    labels = components(meet)
    same = labels[:, None] == labels[None, :]
    extents = np.where(same, (apart + radii[None, :]) * SLACK, 0.0)
    return Disks(extents.max(axis=1, initial=0.0).reshape(n), same.sum(axis=1))


def components(linked: np.ndarray) -> np.ndarray:
    """Return the first member of what each is linked to, directly or not."""
    labels = np.arange(len(linked))
    while True:
        found = np.where(linked, labels, len(labels)).min(axis=-1, initial=len(labels))
        if (found == labels).all():
            return labels
        labels = found


@np.errstate(all="ignore")
def conjugates(mirrored: np.ndarray, found: Disks) -> np.ndarray:
    """Return, for problems that are real, where the conjugate of each eigenvalue is; or -1.

    ``mirrored[i, j]`` is ``abs(conj(w[i]) - w[j])``. Disks that have one eigenvalue and whose
    mirror image meets one other, or themselves, have conjugates, or a real one.
    """
    meet = ~(mirrored / SLACK > found.radii[:, None] + found.radii[None, :])
    partner = meet.argmax(axis=1) if len(meet) else np.zeros(0, dtype=np.int64)
    sure = (meet.sum(axis=1) == 1) & (found.counts == 1)
    return np.where(sure & (found.counts[partner] == 1), partner, -1)
