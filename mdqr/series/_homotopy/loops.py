"""Loops around s = 0: which paths belong to one cycle, and the end that they share.

A. P. Morgan, A. J. Sommese and C. W. Wampler, Numerische Mathematik 58 (1991): the end is the mean
of the points on a circle, run through until they come back.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mdqr.series._homotopy.homotopy import Homotopy, doubles
from mdqr.series._homotopy.tracker import THERE, Paths, advance, joined

# Chords of a turn.
CHORDS = 8
# Points are the same within this, relative to their size; and are taken for one within that.
_SAME, _CLOSE = 1e-6, 1e-5
_NO_PATH, _UNCLEAR = -1, -2
# Negative powers of a Laurent series, relative to the positive ones and to the end; what equations
# may be left with.
_NEGATIVE, _NOISE, _RESIDUAL = 1e-3, 1e-10, 1e-5


# Points that are no path's are followed, too: at most so many a path, and in all beside the paths.
_MOST_TURNS, _SPARE = 24, 40


class Turn(NamedTuple):
    """One turn of paths: points on the circle, and the path where each one ends.

    Behind the paths are others, which they led to. Where an end is not known it is negative.
    """

    samples: np.ndarray  # (chords, v, paths)
    image: np.ndarray


class Cycle(NamedTuple):
    """Paths of one cycle, its winding number, and the point that they share."""

    members: np.ndarray
    winding: int
    end: np.ndarray


def turn(homotopy: Homotopy, paths: Paths, radius: float, which: np.ndarray) -> Turn:
    """Follow some of the paths, which all are at `radius`, once around zero.

    And those where they end, and so on. The paths themselves stay where they are.
    """
    most = len(paths) + min(_SPARE, _MOST_TURNS * len(paths))
    samples, image = np.zeros((CHORDS, *paths.x.shape), complex), np.full(len(paths), _UNCLEAR)
    done = np.zeros(len(paths), bool)
    while which.size:
        done[which] = True
        moving = paths[which]
        good = _around(homotopy, moving, radius, which, samples)
        found = matches(doubles(paths.x), doubles(moving.x)[:, good])
        new = np.flatnonzero(found == _NO_PATH)[: most - len(paths)]
        found[new] = len(paths) + np.arange(len(new))
        image[which[good]] = found
        paths = joined(paths, moving[good[new]])
        wider = np.zeros((CHORDS, samples.shape[1], len(new)), complex)
        samples = np.concatenate([samples, wider], axis=2)
        image = np.concatenate([image, np.full(len(new), _UNCLEAR)])
        done = np.concatenate([done, np.zeros(len(new), bool)])
        reached = np.unique(found[found >= 0])
        which = reached[~done[reached]]
    return Turn(samples, image)


def _around(
    homotopy: Homotopy, moving: Paths, radius: float, which: np.ndarray, samples: np.ndarray
) -> np.ndarray:
    """Move paths around zero, note the points, and return which of them came around."""
    moving.step = np.minimum(moving.step, radius)
    good = np.arange(len(which))
    for k in range(1, CHORDS + 1):
        samples[k - 1][:, which] = doubles(moving.x)
        angle = 2 * np.pi * k / CHORDS
        target = radius * (complex(np.cos(angle), np.sin(angle)) if k < CHORDS else 1.0)
        state = advance(homotopy, moving, good, target, least=1e-5 * radius)
        good = good[state == THERE]
    return good


def matches(known: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return which of the known points ``(v, k)`` each point is, or that it is none of them."""
    weights = np.random.default_rng(0).normal(size=len(known))
    keys, wanted = (weights @ known).real, (weights @ points).real
    order = np.argsort(keys)
    size = abs(known).max(axis=0)
    margin = 2 * _CLOSE * abs(weights).sum() * size.max(initial=0.0)
    first = np.searchsorted(keys[order], wanted - margin)
    last = np.searchsorted(keys[order], wanted + margin)
    found = np.full(points.shape[1], _NO_PATH)
    for i, (start, stop) in enumerate(zip(first.tolist(), last.tolist(), strict=True)):
        near = order[start:stop]
        apart = abs(known[:, near] - points[:, i, None]).max(axis=0) / size[near]
        close = near[apart < _CLOSE]
        if len(close):
            found[i] = close[0] if len(close) == 1 and apart.min() < _SAME else _UNCLEAR
    return found


def cycles(homotopy: Homotopy, found: Turn) -> list[Cycle]:
    """Return the closed cycles whose points lie on a power series in a root of s.

    Where branch points lie between zero and the circle a cycle may close and its mean be wrong:
    negative powers show that, and the residuals of the equations at the mean.
    """
    image = found.image
    closed = []
    seen = np.zeros(len(image), bool)
    for first in range(len(image)):
        members, place = [], first
        while place >= 0 and not seen[place]:
            seen[place] = True
            members.append(place)
            place = int(image[place])
        if members and place == members[0]:
            closed.append(np.array(members))
    return [cycle for members in closed if (cycle := _cycle(homotopy, found, members)) is not None]


def _cycle(homotopy: Homotopy, found: Turn, members: np.ndarray) -> Cycle | None:
    points = found.samples[:, :, members].transpose(2, 0, 1).reshape(-1, found.samples.shape[1])
    powers = abs(np.fft.fft(points, axis=0)).max(axis=1) / len(points)
    end = points.mean(axis=0)
    size = abs(end).max()
    half = len(points) // 2
    positive, negative = powers[1:half].max(initial=0.0), powers[half + 1 :].max(initial=0.0)
    if not negative < _NEGATIVE * positive + _NOISE * size:
        return None
    h, _, _ = homotopy.within(None).jet(end[:, None], np.zeros(1, complex))
    return Cycle(members, len(members), end) if abs(h).max() < _RESIDUAL * max(size, 1.0) else None
