"""Paths of sparse systems that were lost are followed again in units of their own.

Where coordinates differ by many powers of ten, distances relative to the largest one say nothing of
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
from mdqr.series._homotopy.homotopy import Homotopy
from mdqr.series._homotopy.tracker import THERE, Paths, advance
from mdqr.series._systems.polynomial import Gaussian
from mdqr.series._systems.terms import Terms, power_of_two

# Coordinates grow or shrink by no more powers of two from one change of units to the next; at ends.
_WIDE, _WIDE_END = 8, 24
# Parts of the way from s = 1 to `BEGIN`, and the shortest; paths are followed so precisely.
_FIRST, _SHORTEST, _TOLERANCE = 0.05, 1e-7, 1e-6
# Radii of an end from one change of units to the next, and how often these change.
_RADII, _TIMES = 2, 24
# The largest change of units. On the way to infinity coordinates are as powers of s, some negative
# and below this; they count as settled where they changed by so little, twice, each time less.
_LARGEST, _LEAST_POWER, _SETTLED, _EXACT = 900, 0.02, 0.02, 1e-6
_LAST_RADIUS = 2e-3


class _Lost(Exception):
    """No step leads on."""


def in_own_units(homotopy: Homotopy, x: np.ndarray) -> Ends:
    """Return the end of one path from x ``(v,)`` at s = 1, in the units of the homotopy."""
    ends = Ends.unknown(homotopy.variables, 1)
    ends.kind[0] = FAILED
    path = _Path(homotopy, x)
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
            if path.s < _LAST_RADIUS and _is_settled(powers[-3:]):
                ends.kind[0], ends.x[1:, 0] = INFINITY, path.x[1:]
                return ends
    except _Lost:
        pass
    return ends


def _is_settled(powers: list[np.ndarray]) -> bool:
    """Tell whether coordinates are powers of s, some of which grow."""
    if len(powers) < 3:
        return False
    first, second = abs(np.diff(powers, axis=0)).max(axis=1)
    most = abs(powers[-1]).max()
    alike = max(first, second) < _SETTLED * most and (second < first or second < _EXACT)
    return bool(alike and powers[-1].min() < -_LEAST_POWER)


class _Path:
    """A path, its homotopy in units of its own, and their exponents in those of the first one."""

    def __init__(self, homotopy: Homotopy, x: np.ndarray) -> None:
        self.homotopy, self.x, self.s = homotopy, x, 1.0
        self.total = np.zeros(homotopy.variables - 1, int)
        self.powers = np.zeros(homotopy.variables - 1)

    def moving(self) -> Paths:
        """Return the path at its point."""
        return Paths.at(self.x[:, None], self.s)

    def advance(self, end: float = BEGIN) -> None:
        """Go on to s, in parts in which no coordinate changes much."""
        part = _FIRST * (self.s - end)
        while self.s > end:
            target = max(self.s - part, end)
            if self.s - part < end * (1 + 1e-6):
                target = end
            moving = self.moving()
            state = advance(
                self.homotopy, moving, np.zeros(1, int), target, tolerance=_TOLERANCE,
                least=1e-12 * (self.s - target), most=5000,
            )  # fmt: skip
            if state[0] != THERE or _logs(moving.x[:, 0]).max() > _WIDE:
                part /= 4
                if part < _SHORTEST * self.s:
                    raise _Lost
                continue
            self.x, self.s = moving.x[:, 0], target
            slopes = moving.tangent[:, 0] / self.x
            self.powers = self.s * (slopes[1:] - slopes[0]).real
            part *= 2
            self._rescale()

    def _rescale(self) -> None:
        logs = np.rint(_exact_logs(self.x)).astype(int)
        if abs(logs).max() <= 1:
            return
        self.total += logs
        if abs(self.total).max() > _LARGEST:
            raise _Lost
        self.homotopy = _in_units(self.homotopy, logs)
        y = self.x * np.ldexp(1.0, -np.append(0, logs))
        self.x = y / (self.homotopy.patch @ y)

    def in_first_units(self, ends: Ends) -> Ends:
        """Return ends in the units of the first homotopy."""
        scale = np.append(0, self.total)
        scale -= scale.max()
        for points in (ends.x, ends.points):
            points *= np.ldexp(1.0, scale)[:, None]
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
    terms, v = homotopy.terms, homotopy.variables
    shifts = (terms.exponents[:, 1:v] @ powers).tolist()
    top: dict[int, int] = {}
    # The same factor for both ends of the homotopy.
    rows = (terms.equation % (v - 1)).tolist()
    for row, c, shift in zip(rows, terms.coefficients, shifts, strict=True):
        size = max(abs(c.real), abs(c.imag))
        bits = size.numerator.bit_length() - size.denominator.bit_length() + shift
        top[row] = max(top.get(row, bits), bits)
    scaled = [
        Gaussian(c.real * power_of_two(shift - top[row]), c.imag * power_of_two(shift - top[row]))
        for row, c, shift in zip(rows, terms.coefficients, shifts, strict=True)
    ]
    units = powers if homotopy.units is None else homotopy.units + powers
    found = Terms(terms.exponents, scaled, terms.equation, terms.equations)
    return replace(homotopy, terms=found, units=units, _within={})
