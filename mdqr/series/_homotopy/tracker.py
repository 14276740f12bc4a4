"""Many paths followed at once: Hermite's interpolation predicts, Newton's method corrects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from mdqr import concatenate
from mdqr._array.array import MDArray
from mdqr._functions.creation import array
from mdqr._precision import Precision
from mdqr.series._homotopy.homotopy import Homotopy, Points, doubles, newton

# A first correction, relative to the point, that a step aims at; the factor that is accepted; what
# a second one may be.
TOLERANCE, _ACCEPTED, _CONTRACTION, _SMALL = 1e-5, 8.0, 1e-3, 1e-13
_LONGEST, _FIRST = 0.1, 0.02
_SHRINK, _GROW = 0.3, 2.0
# Paths that are worked on at once: more leave the cache.
_BLOCK = 256
# Points before the last one that predictions know; with k points the order of their error is 2 k.
_PAST = 3

RUNNING, THERE, FAILED = 0, 1, 2


@dataclass
class Paths:
    """Paths at their points: arrays with the path as last axis.

    Attributes
    ----------
    x : complex128 or MDArray
        ``(v, paths)``.
    s : numpy.ndarray
        Complex.
    step : numpy.ndarray
        The lengths that the last steps should have had.
    tangent : numpy.ndarray
        dx/ds.
    past : list
        The last points before: differences from x, tangents, and their s.
    held : numpy.ndarray
        How many points with tangents are known, 0 at the start.
    steps : numpy.ndarray
        The numbers of accepted steps.
    """

    x: Points
    s: np.ndarray
    step: np.ndarray
    tangent: np.ndarray
    past: list[Any]
    held: np.ndarray
    steps: np.ndarray

    @classmethod
    def at(cls, x: Points, s: complex) -> Paths:
        """Return paths that begin at points."""
        shape = x.shape
        count = shape[1]

        def zeros() -> np.ndarray:
            return np.zeros(shape, complex)

        past = [[zeros(), zeros(), np.zeros(count, complex)] for _ in range(_PAST)]
        return cls(
            x.copy(), np.full(count, s, complex), np.full(count, _FIRST), zeros(), past,
            np.zeros(count, np.int8), np.zeros(count, int),
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.s)

    def __getitem__(self, which: np.ndarray) -> Paths:
        """Return copies of some paths."""
        past = [[d[:, which], t[:, which], s[which]] for d, t, s in self.past]
        return Paths(
            self.x[:, which], self.s[which], self.step[which], self.tangent[:, which], past,
            self.held[which], self.steps[which],
        )  # fmt: skip

    def __setitem__(self, which: np.ndarray, other: Paths) -> None:
        self.x[:, which], self.tangent[:, which] = other.x, other.tangent
        self.s[which], self.step[which] = other.s, other.step
        self.held[which], self.steps[which] = other.held, other.steps
        for mine, new in zip(self.past, other.past, strict=True):
            mine[0][:, which], mine[1][:, which], mine[2][which] = new

    def within(self, x: Points) -> Paths:
        """Return the same with other points, in another precision."""
        past = [[d.copy(), t.copy(), s.copy()] for d, t, s in self.past]
        return Paths(
            x, self.s.copy(), self.step.copy(), self.tangent.copy(), past, self.held.copy(),
            self.steps.copy(),
        )  # fmt: skip

    def predicted(self, s: np.ndarray) -> np.ndarray:
        """Return the change of x from here to s, by Hermite's interpolation of known points."""
        nodes = [self.s, *(each[2] for each in self.past)]
        tangents = [self.tangent, *(each[1] for each in self.past)]
        values = [0.0, *(each[0] for each in self.past)]
        z = [node for node in nodes for _ in range(2)]
        # Newton's divided differences; those of nodes that are not known are left out.
        row: list[np.ndarray] = []
        found = self.tangent * (s - self.s)
        weight = s - self.s
        with np.errstate(divide="ignore", invalid="ignore"):
            for k, tangent in enumerate(tangents):
                if k:
                    row.append((values[k] - values[k - 1]) / (nodes[k] - nodes[k - 1]))
                row.append(tangent)
            leading = []
            for order in range(2, len(z)):
                row = [
                    (right - left) / (z[i + order] - z[i])
                    for i, (left, right) in enumerate(pairwise(row))
                ]
                leading.append(row[0])
            for order, difference in enumerate(leading, 2):
                weight = weight * (s - z[order - 1])
                known = self.held > order // 2
                found += np.where(known, difference * weight, 0.0)
        return found

    def moved(self, which: np.ndarray, new: _Step) -> None:
        """Put paths at their new points."""
        change = new.change
        known = self.held[which]
        for mine, before in pairwise(reversed(self.past)):
            mine[0][:, which] = before[0][:, which] - change
            mine[1][:, which], mine[2][which] = before[1][:, which], before[2][which]
        last = self.past[0]
        last[0][:, which], last[1][:, which] = -change, self.tangent[:, which]
        last[2][which] = self.s[which]
        self.x[:, which], self.tangent[:, which] = new.x, new.tangent
        self.held[which] = np.minimum(known + 1, len(self.past) + 1)
        self.s[which], self.steps[which] = new.s, self.steps[which] + 1


@dataclass
class _Step:
    """Points that a step leads to, and by what predictions were wrong."""

    x: Points
    s: np.ndarray
    change: np.ndarray
    tangent: np.ndarray
    first: np.ndarray
    second: np.ndarray

    def __getitem__(self, which: np.ndarray) -> _Step:
        return _Step(
            self.x[:, which], self.s[which], self.change[:, which], self.tangent[:, which],
            self.first[which], self.second[which],
        )  # fmt: skip


def advance(
    homotopy: Homotopy,
    paths: Paths,
    which: np.ndarray,
    target: complex,
    *,
    tolerance: float = TOLERANCE,
    least: float = 1e-10,
    jump: bool = False,
    report: Callable[[int], object] | None = None,
) -> np.ndarray:
    """Follow paths straight to a target, and return their states: THERE or FAILED.

    Parameters
    ----------
    homotopy : Homotopy
        In the precision of the points.
    paths : Paths
        Changed in place.
    which : numpy.ndarray
        Indices of the paths to follow.
    target : complex
        Where they are to end.
    tolerance : float, optional
        By how much a prediction may be wrong, relative to the point.
    least : float, optional
        Steps that would become shorter are failures.
    jump : bool, optional
        Whether a step that reaches zero may go there at once: then s is 0.
    report : callable, optional
        Called with the number of paths that ended.
    """
    state = np.full(len(which), RUNNING, np.int8)
    if not which.size:
        return state
    fresh = which[paths.held[which] == 0]
    for start in range(0, len(fresh), _BLOCK):
        _begin(homotopy, paths, fresh[start : start + _BLOCK])
    state[paths.s[which] == target] = THERE
    while True:
        running = np.flatnonzero(state == RUNNING)[:_BLOCK]
        if not running.size:
            return state
        state[running] = _round(homotopy, paths, which[running], target, tolerance, least, jump)
        if report is not None:
            report(int((state != RUNNING).sum()))


def _begin(homotopy: Homotopy, paths: Paths, which: np.ndarray) -> None:
    """Correct start points, and find their tangents."""
    x, s = paths.x[:, which], paths.s[which]
    for _ in range(3):
        d, tangent = newton(homotopy, x, s)
        x = x - d
    paths.x[:, which], paths.tangent[:, which], paths.held[which] = x, tangent, 1


def _round(
    homotopy: Homotopy,
    paths: Paths,
    which: np.ndarray,
    target: complex,
    tolerance: float,
    least: float,
    jump: bool,
) -> np.ndarray:
    """Try one step of each path; return states."""
    now = paths[which]
    way = target - now.s
    left = abs(way)
    wanted = np.minimum(now.step, _LONGEST)
    last = wanted >= left
    with np.errstate(invalid="ignore", divide="ignore"):
        s = np.where(last, target, now.s + way * (wanted / left))
    if jump:
        to_zero = wanted >= abs(now.s)
        s = np.where(to_zero, 0.0, s)
        last |= to_zero
    taken = abs(s - now.s)
    with np.errstate(all="ignore"):
        new = _step(homotopy, now, s)
        good = (new.first < _ACCEPTED * tolerance) & (
            (new.second < _CONTRACTION * new.first) | (new.second < _SMALL)
        )
        factor = 0.9 * (tolerance / new.first) ** (0.5 / np.maximum(now.held, 1))
    factor = np.where(np.isnan(factor), 0.1, factor)
    step = np.where(
        good,
        # A step that an interval cut says nothing of the next one.
        np.maximum(taken * np.clip(factor, _SHRINK, _GROW), np.where(last, now.step, 0.0)),
        taken * np.clip(factor, 0.1, 0.5),
    )
    paths.step[which] = step
    paths.moved(which[good], new[good])
    state = np.where(good & last, THERE, RUNNING)
    return np.where(~good & (step < least), FAILED, state).astype(np.int8)


def _step(homotopy: Homotopy, now: Paths, s: np.ndarray) -> _Step:
    """Predict, and correct twice."""
    change = now.predicted(s)
    x = now.x + change
    d1, _ = newton(homotopy, x, s)
    x = x - d1
    d2, tangent = newton(homotopy, x, s)
    x = x - d2
    size = abs(doubles(x)).max(axis=0)
    change = change - d1 - d2
    first, second = abs(d1).max(axis=0) / size, abs(d2).max(axis=0) / size
    return _Step(x, s, change, tangent, first, second)


def joined(first: Paths, second: Paths) -> Paths:
    """Return paths behind others."""
    if not len(second):
        return first
    x = concatenate if isinstance(first.x, MDArray) else np.concatenate
    past = [
        [np.concatenate(pair, axis=-1) for pair in zip(one, other, strict=True)]
        for one, other in zip(first.past, second.past, strict=True)
    ]
    s, step, tangent, held, steps = (
        np.concatenate([getattr(each, name) for each in (first, second)], axis=-1)
        for name in ("s", "step", "tangent", "held", "steps")
    )
    return Paths(x([first.x, second.x], axis=1), s, step, tangent, past, held, steps)


def in_precision(paths: Paths, precision: Precision) -> Paths:
    """Return paths whose points are held in a precision."""
    return paths.within(array(paths.x, precision=precision))


def in_double(paths: Paths) -> Paths:
    """Return paths whose points are held in complex128."""
    x = paths.x
    return paths.within(doubles(x).copy() if isinstance(x, MDArray) else x.copy())
