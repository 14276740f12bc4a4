"""Error bounds of eigenvectors, by ``X^-1 A X = M + Z`` of the vectors themselves.

Of the exact ``(M + Z) v = w v`` with ``v_i = 1``, the other rows bound the rest of v; of left
vectors, ``t (M + Z) = w t`` with ``t_i = 1`` the other columns. float64 is enough, as for disks.
"""

from __future__ import annotations

import numpy as np

from mdqr._backend.blocks import native_abs
from mdqr._limbs.planes import Block
from mdqr.linalg._spectral.disks import SLACK, Disks, Together, over_blocks

# Longer distances say nothing of vectors of length 1.
_MOST = 0.25


@np.errstate(all="ignore")
def other_components(
    apart: np.ndarray, disks: Disks, moduli: np.ndarray, blocks: Together | None
) -> np.ndarray:
    """Return bounds of ``v_k``, k other than i, in row i: ``(batch, n, n)``, 0 on the diagonal.

    ``w - M`` has an inverse of at most ``sum(coupling**j / gap**(j + 1))`` in a block that is
    `gap` away from w. Infinite where another eigenvalue may be w, and for all of one block.
    """
    gaps = apart / SLACK - disks.radii[..., None]
    sums, column = moduli.sum(axis=-1)[:, None, :], moduli.swapaxes(-1, -2)
    if blocks is None:
        reach = 1 / gaps
    else:
        labels, coupling, counts = (each[:, None, :] for each in blocks)
        gaps = over_blocks(np.min, gaps, labels)
        sums, column = (over_blocks(np.max, each, labels) for each in (sums, column))
        reach = sum(
            np.where(j < counts, coupling**j / gaps ** (j + 1), 0.0) for j in range(counts.max())
        )
    one = np.eye(gaps.shape[-1], dtype=bool)
    reach = np.where(one, 0.0, np.where(gaps > 0, reach, np.inf))
    left = 1 - SLACK * (reach * sums).max(axis=-1, initial=0.0)
    most = (reach * column).max(axis=-1, initial=0.0) / np.where(left > 0, left, 0.0)
    rest = SLACK * reach * (sums * most[..., None] + column)
    return np.where(one, 0.0, np.where(np.isnan(rest), np.inf, rest))


@np.errstate(all="ignore")
def distances_of(
    parts: np.ndarray, lengths: np.ndarray, own: np.ndarray, lost: np.ndarray
) -> np.ndarray:
    """Return how far vectors of length 1 are from exact ones, ``(batch, n)``.

    An exact one is vector i and at most ``parts[i, k]`` times each vector k, of these `lengths`;
    what stands for vector i has the length `own` and an error of `lost`. Making both of length 1
    doubles their distance; what a real vector loses with its imaginary part is of second order.
    """
    n = lengths.shape[-1]
    total = np.where(parts > 0, parts * lengths[:, None, :], 0.0).sum(axis=-1) + lost
    bounds = SLACK * 2 * total / own
    bounds = bounds * (1 + n * bounds)
    return np.where(bounds <= _MOST, bounds, np.inf)


@np.errstate(all="ignore")
def of_inverse(off: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return bounds of the lengths of rows of the exact inverse, and of their distances from Y.

    `off` bounds ``I - Y X``, `lengths` are those of the rows of Y.
    """
    rows = off.sum(axis=-1)
    norm = rows.max(axis=-1, initial=0.0)[:, None]
    most = lengths.max(axis=-1, initial=0.0)[:, None] / np.where(norm < 0.5, 1 - norm, 0.0)
    exact = SLACK * (lengths + rows * most)
    return exact, SLACK * (off @ exact[..., None])[..., 0]


@np.errstate(all="ignore")
def lengths_of(x: Block, powers: np.ndarray, axis: int) -> np.ndarray:
    """Return lengths of columns (axis -2) or rows (-1), whose entries are scaled by powers."""
    sizes = native_abs(x, True)
    if powers.any():
        factors = np.ldexp(1.0, powers)
        sizes = sizes * (factors[:, :, None] if axis == -2 else factors[:, None, :])
    found = np.hypot.reduce(sizes, axis=axis)
    return np.where(np.isnan(found), np.inf, found)
