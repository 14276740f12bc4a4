"""Clusters of ends taken apart: their paths are followed nearer to zero, in a high precision.

With s below the power m of a distance, the paths to solutions of multiplicities up to m at that
distance are nearer to their ends than these are to each other.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mdqr._array.array import MDArray
from mdqr._functions.creation import array
from mdqr._precision import PRECISIONS, Precision
from mdqr.series._homotopy.endgame import Ends
from mdqr.series._homotopy.homotopy import Homotopy, doubles
from mdqr.series._homotopy.results.classify import Cluster
from mdqr.series._homotopy.results.parts import Found, Part, affine, is_nearly_real, joined, single
from mdqr.series._homotopy.tracker import THERE, Paths, advance

# Paths are followed to this power of eps; so many stages before shows what has stopped to change.
_NEAREST, _STAGES = 0.85, 5
# So far a stage, with predictions wrong by this part of the distance from the next path, and steps.
_RATIO, _PART, _MOST = 64.0, 1e-3, 300
# Predictions take powers of s, which must not underflow.
_SMALL = 1e-25
# Paths whose difference changes by less than this part of it end at different points.
_APART = 0.1


def taken_apart(found: Found, homotopy: Homotopy, ends: Ends, cluster: Cluster) -> Part:
    """Return the solutions of a cluster.

    Simple ones are certified; if one cannot be, all are one solution.
    """
    precision = max(found.precision, PRECISIONS[2])
    points = _followed(homotopy.within(precision), ends, cluster, precision)
    if points is None:
        return merged(found, ends, cluster)
    groups, last = _groups(*points), points[1]
    parts = []
    for members in groups:
        if len(members) > 1:
            parts.append(_multiple(found, last[members], cluster.members[members]))
            continue
        part = single(found, last[members], cluster.members[members], True)
        if not part.certified.all():
            return _multiple(found, last, cluster.members)
        parts.append(part)
    return joined(parts)


def merged(found: Found, ends: Ends, cluster: Cluster) -> Part:
    """Return a cluster as one solution, the mean of its ends."""
    x, points = array(affine(cluster.end[:, None])), array(affine(ends.points[:, cluster.members]))
    return _solution(found, x, points, cluster.members, bool(is_nearly_real(x)[0]))


def _followed(
    homotopy: Homotopy, ends: Ends, cluster: Cluster, precision: Precision
) -> tuple[MDArray, MDArray] | None:
    """Return where the paths are at two places ``(paths, n)``, some stages apart.

    The second is the last one that all reach; None if that is near where they begin.
    """
    s = ends.radius[cluster.members]
    x = array(ends.points[:, cluster.members], precision=precision)
    if not (np.isfinite(x.to_numpy()).all() and (s > 0).all()):
        return None
    paths, moving, now, unit = Paths.at(x, s, step=s / 10), homotopy, float(s.min()), 1.0
    if not _advance(homotopy, paths, now):
        return None
    points = [paths.x]
    while now > precision.eps**_NEAREST:
        if now < _SMALL * unit:
            unit = now
            moving = _in_unit(homotopy, now)
            paths = Paths.at(paths.x, 0.5)
        now /= _RATIO
        if not _advance(moving, paths, now / (unit + now) if unit < 1 else now):
            break
        points.append(paths.x)
    if len(points) <= _STAGES:
        return None
    return affine(points[-1 - _STAGES]), affine(points[-1])


def _advance(homotopy: Homotopy, paths: Paths, target: float) -> bool:
    """Follow all paths to a place, and return True if they are there."""
    # Those next to each other move less than others, and may be mistaken more easily.
    for j, tolerance in enumerate(_PART * _least_distances(paths.x)):
        which, least = np.array([j]), 1e-11 * target
        state = advance(
            homotopy, paths, which, target, tolerance=tolerance, least=least, most=_MOST
        )
        if state[0] != THERE:
            return False
    return True


def _in_unit(homotopy: Homotopy, unit: float) -> Homotopy:
    """Return the homotopy in t with ``s / (1 - s) = unit t / (1 - t)``, of no small numbers."""
    first = homotopy.within(None)
    return replace(first, gamma=first.gamma * unit, _within={}).within(homotopy.precision)


def _least_distances(x: MDArray) -> np.ndarray:
    """Return the distances of points ``(v, paths)`` from the next one, relative to their sizes."""
    apart = abs(_differences(x.T)).max(axis=-1) + np.diag(np.full(x.shape[1], np.inf))
    found: np.ndarray = apart.min(axis=1) / abs(doubles(x)).max(axis=0)
    return found


def _differences(x: MDArray) -> np.ndarray:
    """Return the differences of points ``(paths, n)`` in float64: ``(paths, paths, n)``."""
    found: np.ndarray = (x[:, None] - x[None]).to_numpy()
    return found


def _groups(first: MDArray, last: MDArray) -> list[np.ndarray]:
    """Return the paths of each end: differences of others do not change any more."""
    before, after = _differences(first), _differences(last)
    change = abs(after - before).max(axis=-1)
    one = change > _APART * abs(before).max(axis=-1)
    group = np.arange(len(one))
    for i, j in np.argwhere(one).tolist():
        group[group == group[j]] = group[i]
    return [np.flatnonzero(group == value) for value in np.unique(group)]


def _multiple(found: Found, points: MDArray, paths: np.ndarray) -> Part:
    mean = points.mean(axis=0)[None]
    # A real one is as near to its conjugate as to the paths.
    near = abs(mean.to_numpy().imag).max() <= abs((points - mean).to_numpy()).max()
    return _solution(found, mean, points, paths, near and bool(is_nearly_real(mean)[0]))


def _solution(found: Found, x: MDArray, points: MDArray, paths: np.ndarray, real: bool) -> Part:
    """Return one solution ``(1, n)`` of paths that were seen at some points last."""
    part = Part.unproven(array(x, precision=found.precision), [paths])
    part.real[:], part.singular[:] = found.terms.is_real and real, True
    if part.real[0]:
        part.x = part.x.real.astype(dtype=complex)
    apart = abs((points - part.x).to_numpy())
    part.radius[:] = np.ldexp(apart, found.powers).max()
    return part
