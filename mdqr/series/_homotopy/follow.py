"""All paths from their start points to their ends; those that met are followed again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mdqr._precision import PRECISIONS, Precision
from mdqr._progress import Reporter
from mdqr.series._homotopy.endgame import (
    BEGIN,
    FAILED,
    NOISE,
    REGULAR,
    Ends,
    corrected,
    finish,
    kind_without_x0,
)
from mdqr.series._homotopy.homotopy import Homotopy, doubles, noise, part_of_x0
from mdqr.series._homotopy.rescaled import in_own_units
from mdqr.series._homotopy.tracker import FAILED as LOST
from mdqr.series._homotopy.tracker import THERE, TOLERANCE, Paths, advance, in_precision

# Points at which two paths are taken for one, relative to their size, and by how much smaller the
# tolerance is with which they are followed again, as often.
_EQUAL, _SMALLER, _TIMES = 1e-8, 1e-2, 2
# The same of regular ends in qd.
_EQUAL_QD = 1e-24
# So many paths, at most, are followed again in units of their own.
_MOST_RESCALED = 200
# The same for paths that a precision lost, once more with each: some have others near by.
_CAREFUL = 1e-4


@dataclass
class Followed:
    """Ends of paths, the steps that they took, and how many were followed again."""

    ends: Ends
    steps: np.ndarray
    again: int


def follow(homotopy: Homotopy, x: np.ndarray, most: Precision, report: Reporter | None) -> Followed:
    """Follow paths from their points ``(v, paths)`` at s = 1 to s = 0.

    Parameters
    ----------
    homotopy : Homotopy
        In complex128.
    x : numpy.ndarray
        Start points.
    most : Precision
        The highest precision that a path may take.
    report : callable or None
        Called with the stages "paths" and "ends".
    """
    count = x.shape[1]
    every = np.arange(count)
    paths, lost = _to_end(homotopy, x, most, TOLERANCE, report)
    again: set[int] = set()
    tolerance = np.full(count, TOLERANCE)
    for _ in range(_TIMES):
        met = equal(paths.x, np.setdiff1d(every, lost), _EQUAL)
        if not met.size:
            break
        again.update(met.tolist())
        tolerance[met] *= _SMALLER
        paths[met], _ = _to_end(homotopy, x[:, met], most, float(tolerance[met].min()), None)
    if report is not None:
        report("ends", 0, count)
    ends = Ends.unknown(homotopy.variables, count)
    good = np.setdiff1d(every, lost)
    moving = paths[good]
    ends.put(good, finish(homotopy, moving, most, tolerance=TOLERANCE))
    paths.steps[good] = moving.steps
    ends.kind[lost] = _kinds_of_lost(homotopy, paths.x[:, lost])
    far = _in_own_units(homotopy, x, ends, np.flatnonzero(ends.kind == FAILED))
    for time in range(_TIMES + 1):
        regular = np.setdiff1d(np.flatnonzero(ends.kind == REGULAR), far)
        met = _one(homotopy, ends.x, equal(ends.x, regular, _EQUAL))
        if not met.size:
            break
        again.update(met.tolist())
        if time == _TIMES:
            _in_own_units(homotopy, x, ends, met)
            break
        tolerance[met] *= _SMALLER
        step = float(tolerance[met].min())
        moving, _ = _to_end(homotopy, x[:, met], most, step, None)
        ends.put(met, finish(homotopy, moving, most, tolerance=step))
        paths.steps[met] += moving.steps
    if report is not None:
        report("ends", count, count)
    return Followed(ends, paths.steps, len(again))


def _to_end(
    homotopy: Homotopy, x: np.ndarray, most: Precision, tolerance: float, report: Reporter | None
) -> tuple[Paths, np.ndarray]:
    """Follow paths to where the end begins; return them, and which are lost."""
    paths = Paths.at(x, 1.0)
    count = len(paths)

    def tell(done: int) -> None:
        if report is not None:
            report("paths", done, count)

    state = advance(
        homotopy, paths, np.arange(count), BEGIN, tolerance=tolerance, least=1e-10, report=tell
    )
    lost = np.flatnonzero((state == LOST) | _is_noisy(homotopy, paths))
    for precision in PRECISIONS[1 : PRECISIONS.index(most) + 1]:
        # Paths on the way to infinity are at their end.
        hard = lost[part_of_x0(homotopy, paths.x[:, lost]) >= homotopy.no_x0]
        if not hard.size:
            break
        moved = in_precision(Paths.at(x[:, hard], 1.0), precision)
        state = advance(
            homotopy.within(precision), moved, np.arange(len(hard)), BEGIN,
            tolerance=tolerance * _CAREFUL ** PRECISIONS.index(precision), least=1e-14,
        )  # fmt: skip
        found = np.flatnonzero((state == THERE) & ~_is_noisy(homotopy.within(precision), moved))
        paths[hard] = moved.within(doubles(moved.x))
        lost = np.setdiff1d(lost, hard[found])
    return paths, lost


def _is_noisy(homotopy: Homotopy, paths: Paths) -> np.ndarray:
    """Tell of paths whether roundings in this precision may have moved them to others."""
    return np.asarray(noise(homotopy, doubles(paths.x), paths.s) > NOISE)


def _in_own_units(homotopy: Homotopy, x: np.ndarray, ends: Ends, which: np.ndarray) -> np.ndarray:
    """Take the ends of paths of a generic homotopy in units of their own; return which they are.

    Paths that are lost there keep their ends: regular ones near each other may differ.
    """
    which = which[:_MOST_RESCALED] if homotopy.generic else which[:0]
    for j in which:
        found = in_own_units(homotopy, x[:, j])
        if found.kind[0] != FAILED:
            ends.put(j[None], found)
    return which


def _kinds_of_lost(homotopy: Homotopy, x: np.ndarray) -> np.ndarray:
    far = part_of_x0(homotopy, x) < homotopy.no_x0
    return np.where(far, kind_without_x0(homotopy), FAILED).astype(np.int8)


def _one(homotopy: Homotopy, x: np.ndarray, which: np.ndarray) -> np.ndarray:
    """Return the regular ends of some that equal others of them after corrections in qd."""
    if not which.size:
        return which
    points = corrected(homotopy, x[:, which])[1]
    size = abs(doubles(points)).max(axis=0)
    met = ~np.isfinite(size)
    for i, j in close_pairs(doubles(points), _EQUAL * size):
        met[[i, j]] |= abs(doubles(points[:, i] - points[:, j])).max() <= _EQUAL_QD * size[i]
    return which[met]


def equal(x: np.ndarray, which: np.ndarray, within: float) -> np.ndarray:
    """Return the points of some ``(v, points)`` that equal another one of them."""
    if len(which) < 2:
        return which[:0]
    points = x[:, which]
    met = np.zeros(len(which), bool)
    for one, other in close_pairs(points, within * abs(points).max(axis=0)):
        met[one] = met[other] = True
    return which[met]


def close_pairs(points: np.ndarray, within: np.ndarray) -> list[tuple[int, int]]:
    """Return the pairs of points ``(n, points)`` all whose coordinates differ by no more.

    `within` is a distance of each point, or ``(n, points)``; of a pair its sum counts. Points are
    sorted by a projection on a random line, where close ones are close.
    """
    weights = np.random.default_rng(0).normal(size=len(points))
    radius = np.broadcast_to(within, points.shape)
    # A little more than the projections of the disks: sums are rounded.
    slack = abs(weights) @ (radius * 1.01 + 1e-14 * abs(points))
    keys = (weights @ points).real
    order = np.argsort(keys - slack)
    ends = np.searchsorted((keys - slack)[order], (keys + slack)[order], side="right")
    found = []
    for i, (first, end) in enumerate(zip(order.tolist(), ends.tolist(), strict=True)):
        others = order[i + 1 : end]
        apart = abs(points[:, others] - points[:, [first]])
        near = (apart <= radius[:, others] + radius[:, [first]]).all(axis=0)
        found += [(first, int(other)) for other in others[near]]
    return found
