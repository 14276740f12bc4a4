"""Paths of sparse systems that were lost are followed again in units of their own.

Where coordinates differ by many powers of ten, distances relative to the largest one do not show
the others, and a path may leave its branch. In units near its point all coordinates are near one.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mdqr._precision import PRECISIONS
from mdqr.series._homotopy.endgame import (
    BEGIN,
    FAILED,
    INFINITY,
    RATIO,
    REGULAR,
    SINGULAR,
    Ends,
    finish,
)
from mdqr.series._homotopy.homotopy import Homotopy, Points, doubles
from mdqr.series._homotopy.problem import in_units
from mdqr.series._homotopy.tracker import THERE, Paths, advance, in_precision

# Coordinates grow or shrink by no more powers of two from one change of units to the next; at ends.
_WIDE, _WIDE_END = 8, 24
# Parts of the way from s = 1 to `BEGIN`, and the shortest; paths are followed so precisely.
_FIRST, _SHORTEST, _TOLERANCE = 0.05, 1e-7, 1e-6
# Radii of an end from one change of units to the next, and how often these change.
_RADII, _TIMES = 2, 60
# The largest change of units. On the way to infinity coordinates are as powers of s, some negative
# and below this; they count as settled where they changed by so little, twice, each time less.
_LARGEST, _LEAST_POWER, _SETTLED, _EXACT = 900, 0.02, 0.02, 1e-6
_LAST_RADIUS, _COUNTS = 2e-3, 1e-2


class _Lost(Exception):
    """No step leads on."""


def in_own_units(homotopy: Homotopy, x: np.ndarray) -> Ends:
    """Return the end of one path from x ``(v,)`` at s = 1, in the units of the homotopy."""
    ends = Ends.unknown(homotopy.variables, 1)
    ends.kind[0] = FAILED
    path, last = _Path(homotopy, x), _last_radius(homotopy)
    try:
        path.advance()
        powers: list[np.ndarray] = []
        for k in range(_TIMES):
            found = finish(
                path.homotopy, path.moving(), PRECISIONS[2], first=1 + k * _RADII, radii=_RADII,
                tolerance=_TOLERANCE,
            )  # fmt: skip
            if found.kind[0] in (REGULAR, SINGULAR) and _logs(found.x[:, 0]).max() < _WIDE_END:
                return path.in_first_units(found)
            path.advance(BEGIN / RATIO ** ((k + 1) * _RADII))
            powers.append(path.powers)
            if path.s < last and _is_settled(powers[-3:]):
                ends.kind[0], ends.x[1:, 0] = INFINITY, doubles(path.x)[1:]
                return ends
    except _Lost:
        pass
    return ends


def _last_radius(homotopy: Homotopy) -> float:
    """Return the place where all terms of the target count next to the terms of the start.

    With a coefficient c of the target a path may look like one to infinity down to s of about c.
    """
    terms = homotopy.terms
    size = np.array([float(max(abs(c.real), abs(c.imag))) for c in terms.coefficients])
    least = _LAST_RADIUS
    for row in range(homotopy.variables - 1):
        own = size[terms.equation == row]
        least = min(least, _COUNTS * float(own.min(initial=1.0) / own.max(initial=1.0)))
    return least


def _is_settled(powers: list[np.ndarray]) -> bool:
    """Return True if coordinates are powers of s, some of which grow."""
    if len(powers) < 3:
        return False
    first, second = abs(np.diff(powers, axis=0)).max(axis=1)
    most = abs(powers[-1]).max()
    alike = max(first, second) < _SETTLED * most and (second < first or second < _EXACT)
    return bool(alike and powers[-1].min() < -_LEAST_POWER)


class _Path:
    """A path, its homotopy in units of its own, and their exponents in units of the first one."""

    def __init__(self, homotopy: Homotopy, x: np.ndarray) -> None:
        self.homotopy, self.s = homotopy, 1.0
        self.x: Points = x
        self.total = np.zeros(homotopy.variables - 1, int)
        self.powers = np.zeros(homotopy.variables - 1)

    def moving(self) -> Paths:
        """Return the path at its point."""
        return Paths.at(self.x[:, None], self.s)

    def advance(self, end: float = BEGIN) -> None:
        """Go on to s, in parts in which no coordinate changes much."""
        self._rescale()
        part = _FIRST * (self.s - end)
        while self.s > end:
            target = self.s - part
            if target < end * (1 + 1e-6):
                target = end
            if self._step(target):
                part *= 2
            elif part > 4 * _SHORTEST * self.s:
                part /= 4
            else:
                self._refine()
                part = _FIRST * (self.s - end)

    def _step(self, target: float) -> bool:
        moving = self.moving()
        state = advance(
            self.homotopy, moving, np.zeros(1, int), target, tolerance=_TOLERANCE,
            least=1e-12 * (self.s - target), most=5000,
        )  # fmt: skip
        if state[0] != THERE or _logs(doubles(moving.x)[:, 0]).max() > _WIDE:
            return False
        self.x, self.s = moving.x[:, 0], target
        slopes = moving.tangent[:, 0] / doubles(self.x)
        self.powers = self.s * (slopes[1:] - slopes[0]).real
        self._rescale()
        return True

    def _refine(self) -> None:
        """Go on in the next precision."""
        now = self.homotopy.precision or PRECISIONS[0]
        if now >= PRECISIONS[2]:
            raise _Lost
        self.homotopy = self.homotopy.within(now.next)
        self.x = in_precision(self.moving(), now.next).x[:, 0]

    def _rescale(self) -> None:
        logs = np.rint(_exact_logs(doubles(self.x))).astype(int)
        if abs(logs).max() <= 1:
            return
        self.total += logs
        if abs(self.total).max() > _LARGEST:
            raise _Lost
        self.homotopy = _in_units(self.homotopy, logs)
        y = self.x * np.ldexp(1.0, -np.append(0, logs))
        # Newton's method brings it to the patch.
        self.x = y * complex(1.0 / (self.homotopy.patch @ doubles(y)))

    def in_first_units(self, ends: Ends) -> Ends:
        """Return ends in the units of the first homotopy, on its patch, where they compare."""
        scale = np.append(0, self.total)
        scale -= scale.max()
        for points in (ends.x, ends.points):
            points *= np.ldexp(1.0, scale)[:, None]
            with np.errstate(invalid="ignore"):
                # Regular ends have no points before.
                points /= self.homotopy.patch @ points
        return ends


def _exact_logs(x: np.ndarray) -> np.ndarray:
    """Return the binary logarithms of the moduli of coordinates, relative to x0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.log2(abs(x[1:] / x[0]))
    if not np.isfinite(found).all():
        raise _Lost
    return found


def _logs(x: np.ndarray) -> np.ndarray:
    return abs(_exact_logs(x))


def _in_units(homotopy: Homotopy, powers: np.ndarray) -> Homotopy:
    """Return the homotopy for ``x_j = 2**powers_j y_j``, equations times powers of two."""
    # The same factor for both ends of the homotopy.
    terms = in_units(homotopy.terms, np.append(0, powers)).scaled(homotopy.variables - 1)
    units = powers if homotopy.units is None else homotopy.units + powers
    return replace(homotopy, terms=terms, units=units, _within={})
