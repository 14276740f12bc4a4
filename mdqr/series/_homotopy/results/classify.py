"""Ends that are one solution, their multiplicities, and sets of positive dimension."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mdqr._functions.creation import array
from mdqr._precision import PRECISIONS
from mdqr.series._homotopy.endgame import SINGULAR, Ends
from mdqr.series._homotopy.follow import close_pairs
from mdqr.series._homotopy.homotopy import Homotopy, doubles

# Singular ends are one within this, relative to their size.
_CLUSTER = 1e-6
# The slice test walks along a null vector, at least so far, and so far that an end of
# multiplicity m is left with this; what is found is on the set if it is left with that.
_WALK, _LEFT, _ON_SET = 1e-2, 1e-6, 1e-12
_LONGEST_WALK, _STEPS, _DIRECTIONS = 0.3, 30, 4
# The equations vanish on a set, and do not only become small, if their distances do, by Newton's
# method in qd: to this part of the size, as coefficients may be rounded, or by half in half of the
# steps, on multiple sets.
_VANISHES, _STILL = 1e-13, 0.5
# Terms of an equation that are a smaller part of others count as that.
_NULL, _LEAST = 1e-6, 1e-16


class Cluster(NamedTuple):
    """Paths that end at one point.

    Attributes
    ----------
    members : numpy.ndarray
        The paths.
    winding : int
        The largest winding number.
    end : numpy.ndarray
        Their mean ``(v,)``.
    """

    members: np.ndarray
    winding: int
    end: np.ndarray


def clusters(ends: Ends) -> list[Cluster]:
    """Return the singular ends that differ."""
    which = np.flatnonzero(ends.kind == SINGULAR)
    if not which.size:
        return []
    x = ends.x[:, which]
    group = np.arange(len(which))
    for one, other in close_pairs(x, _CLUSTER * abs(x).max(axis=0) / 2):
        group[group == group[other]] = group[one]
    found = []
    for value in np.unique(group):
        members = which[group == value]
        end = ends.x[:, members].mean(axis=1)
        found.append(Cluster(members, int(ends.winding[members].max()), end))
    return found


def is_on_set(homotopy: Homotopy, cluster: Cluster) -> tuple[bool, bool]:
    """Tell whether the target has solutions at a distance, along the null space of the Jacobian.

    On a set of positive dimension residuals are near zero there, at an end of multiplicity m
    about the distance to the power m. The first answer is of float64, the second one of qd.
    """
    x = cluster.end
    size = abs(x).max()
    walk = min(max(_WALK, _LEFT ** (1.0 / len(cluster.members))), _LONGEST_WALK)
    if walk ** len(cluster.members) < _ON_SET:
        # The test decides nothing. So many paths meet at isolated points alone.
        return False, False
    _, hx, _ = homotopy.jet(x[:, None], np.zeros(1, complex))
    _, values, vh = np.linalg.svd(hx[0])
    null = vh[values <= _NULL * values[0]].conj()
    if not len(null):
        return False, False
    rng = np.random.default_rng(0)
    mixed = rng.normal(size=(_DIRECTIONS, len(null))) + 1j * rng.normal(
        size=(_DIRECTIONS, len(null))
    )
    directions = np.concatenate([null, mixed @ null]) if len(null) > 1 else null
    nearly = False
    for v in directions / np.linalg.norm(directions, axis=1)[:, None]:
        left, y = _residual(homotopy, x, v, walk * size)
        if left < _ON_SET:
            if _vanish(homotopy, y, v):
                return True, True
            nearly = True
    return nearly, False


def _vanish(homotopy: Homotopy, y: np.ndarray, v: np.ndarray) -> bool:
    """Tell whether all equations have a common zero on the slice near a point.

    Where many solutions are near, products are small relative to their terms, not to their slopes.
    """
    precise, zero = homotopy.within(PRECISIONS[2]), np.zeros(1, complex)
    point, known = array(y[:, None], precision=PRECISIONS[2]), []
    for _ in range(_STEPS):
        h, hx, _ = precise.jet(point, zero)
        values, slopes = doubles(h)[0], doubles(hx)[0]
        sizes = np.linalg.norm(slopes, axis=1)
        sizes[sizes == 0] = 1.0
        right = np.append(values / sizes, 0.0)
        known.append(float(abs(right).max()))
        if not known[-1] > _VANISHES * abs(y).max():
            return bool(np.isfinite(known[-1]))
        matrix = np.concatenate([slopes / sizes[:, None], v.conj()[None]])
        if not np.isfinite(matrix).all():
            return False
        point = point - np.linalg.lstsq(matrix, right, rcond=1e-12)[0][:, None]
    return known[-1] < _STILL * known[_STEPS // 2]


def _residual(
    homotopy: Homotopy, x: np.ndarray, v: np.ndarray, walk: float
) -> tuple[float, np.ndarray]:
    """Return the residual of the equations on the slice at a distance, and the point.

    By Gauss-Newton's method, relative to the terms of each equation, which may be small in all of
    the neighbourhood.
    """
    y, zero = x + walk * v, np.zeros(1, complex)
    left = np.inf
    for _ in range(_STEPS):
        h, hx, _ = homotopy.jet(y[:, None], zero)
        sizes = np.append(homotopy.moduli(y[:, None], zero)[:, 0], [1.0, walk])
        sizes = np.maximum(sizes, _LEAST * sizes.max())
        right = np.append(h[0], v.conj() @ (y - x) - walk) / sizes
        left = float(abs(right).max())
        if not left > _ON_SET / 100:
            return left, y
        matrix = np.concatenate([hx[0], v.conj()[None]]) / sizes[:, None]
        if not np.isfinite(matrix).all():
            return np.inf, y
        y = y - np.linalg.lstsq(matrix, right, rcond=1e-12)[0]
        # What walked away, or came back, says nothing.
        if not 0.1 * walk < abs(y - x).max() < 10 * walk:
            return np.inf, y
    return left, y
