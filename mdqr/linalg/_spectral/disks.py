"""Disks of S. Gershgorin that contain eigenvalues, and what they prove of each.

The matrix is ``diag(w) + M``, of which only upper bounds of the moduli of M are known, or the
operands are a batch of such. float64 is enough: `SLACK` is more than all that rounding takes from
the numbers here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

SLACK = 1.0 + 2.0**-30


class Disks(NamedTuple):
    """Verified disks of eigenvalues.

    Attributes
    ----------
    radii : numpy.ndarray
        float64 ``(..., n)``: exact eigenvalues can be numbered so that each is that near to its
        value.
    counts : numpy.ndarray
        int64 ``(..., n)``: of how many eigenvalues a value stands for one, all of which are in a
        union of as many disks; 1 where one disk has one eigenvalue.
    """

    radii: np.ndarray
    counts: np.ndarray


class Together(NamedTuple):
    """Eigenvalues of triangular blocks: for each value the rows of its block, and their coupling.

    All ``(..., n)``.

    `labels` are equal within a block; `coupling` is the largest row sum of the moduli above its
    diagonal, `counts` its order.
    """

    labels: np.ndarray
    coupling: np.ndarray
    counts: np.ndarray

    def radii(self, sums: np.ndarray) -> np.ndarray:
        """Return how far what has row sums `sums` may move the eigenvalues of each block."""
        worst = over_blocks(np.max, sums, self.labels)
        return np.where(self.counts > 1, _reach(worst, self.coupling, self.counts), sums)


def over_blocks(function: Callable[..., Any], x: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return `x` ``(..., n)`` with a maximum or a minimum of those of its block for each entry.

    `labels` have the shape of x but for axes of 1 before the last.
    """
    ordered = np.sort(labels, axis=-1)
    found = x
    for place in np.argwhere((ordered[..., 1:] == ordered[..., :-1]).any(axis=-1)):
        label = labels[tuple(place)]
        # An axis of 1 stands for all of that axis of x.
        lengths = labels.shape[: len(place)]
        index = tuple(
            slice(i, i + 1) if length > 1 else slice(None)
            for i, length in zip(place, lengths, strict=True)
        )
        found = found.copy() if found is x else found
        for first, count in zip(*np.unique(label, return_counts=True), strict=True):
            if count > 1:
                members = np.flatnonzero(label == first)
                found[index][..., members] = function(
                    x[index][..., members], axis=-1, keepdims=True
                )
    return found


def _reach(size: np.ndarray, coupling: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return d with ``size sum_(j < k) coupling**j / d**(j + 1) <= 1``, k from `counts`."""
    found = np.zeros(size.shape)
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
        ``abs(w[i] - w[j])``, float64 ``(..., n, n)``, right to `SLACK`.
    moduli : numpy.ndarray
        Upper bounds of ``abs(M)``, float64 ``(..., n, n)``.
    together : Together, optional
        Blocks of the matrix that are triangular instead of diagonal, beside M.

    Notes
    -----
    A similarity by ``diag(1, ..., t_i, ..., 1)`` makes disk i small, and the others larger, as long
    as they do not meet (R. S. Varga, Gersgorin and His Circles, 2004). Blocks have the disks of
    D. G. Feingold and R. S. Varga, Block diagonally dominant matrices, 1962, in the maximum norm.
    """
    own, n = np.diagonal(moduli, axis1=-2, axis2=-1), moduli.shape[-1]
    sums = moduli.sum(axis=-1) * SLACK
    near, radii = apart / SLACK, sums
    # Of the distance of disks i and j one half is left to grow into.
    across = SLACK * moduli.swapaxes(-1, -2)
    left = (near - sums[..., :, None] - sums[..., None, :]) / (2 * across)
    single = np.ones(own.shape, bool)
    if together is not None and (together.counts > 1).any():
        single, radii = together.counts == 1, together.radii(sums)
        twice = together.radii(2 * sums)
        # Row sums of blocks may double.
        blocks = near > sums[..., :, None] + twice[..., None, :]
        blocks = np.where(blocks, sums[..., None, :] / across, 0.0)
        left = np.where(single[..., None, :], left, blocks)
    left[..., np.arange(n), np.arange(n)] = np.inf
    t = np.nan_to_num(left.min(axis=-1, initial=np.inf), nan=0.0)
    alone = (t >= 1.0) & single
    rest = np.maximum(sums - own, 0.0)
    small = (own + np.where(rest > 0, rest / np.minimum(t, 2.0**400), 0.0)) * SLACK
    bounds, counts = linked(apart, radii)
    bounds = np.where(alone, np.minimum(small, sums), bounds)
    return Disks(np.nan_to_num(bounds, nan=np.inf, posinf=np.inf), np.where(alone, 1, counts))


def linked(apart: np.ndarray, radii: np.ndarray) -> Disks:
    """Return bounds for disks that meet: k disks have k eigenvalues, in any order."""
    n = radii.shape[-1]
    meet = ~(apart / SLACK > radii[..., :, None] + radii[..., None, :])
    meet[..., np.arange(n), np.arange(n)] = True
    labels = components(meet)
    same = labels[..., :, None] == labels[..., None, :]
    extents = np.where(same, (apart + radii[..., None, :]) * SLACK, 0.0)
    return Disks(extents.max(axis=-1, initial=0.0), same.sum(axis=-1))


def components(linked: np.ndarray) -> np.ndarray:
    """Return the first member of what each is linked to, directly or not, ``(..., n)``."""
    n = linked.shape[-1]
    labels = np.broadcast_to(np.arange(n), linked.shape[:-1])
    while True:
        found = np.where(linked, labels[..., None, :], n).min(axis=-1, initial=n)
        if (found == labels).all():
            return found
        labels = found


@np.errstate(all="ignore")
def conjugates(mirrored: np.ndarray, found: Disks) -> np.ndarray:
    """Return, for problems that are real, where the conjugate of each eigenvalue is; or -1.

    ``mirrored[..., i, j]`` is ``abs(conj(w[i]) - w[j])``. Disks that have one eigenvalue and whose
    mirror image meets one other, or themselves, have conjugates, or a real one.
    """
    radii, counts = found
    meet = ~(mirrored / SLACK > radii[..., :, None] + radii[..., None, :])
    partner = meet.argmax(axis=-1)
    sure = (meet.sum(axis=-1) == 1) & (counts == 1)
    return np.where(sure & (np.take_along_axis(counts, partner, axis=-1) == 1), partner, -1)
