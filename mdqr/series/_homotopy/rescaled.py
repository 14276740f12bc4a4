"""Paths of sparse systems that were lost go on in units of their own.

Where coordinates differ by many powers of ten, Newton's method converges next to the path alone, if
distances are relative to the largest one. In units near the point all coordinates are near one.
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
    UNDECIDED,
    Ends,
    finish,
)
from mdqr.series._homotopy.homotopy import Line
from mdqr.series._homotopy.tracker import THERE, Paths, advance
from mdqr.series._systems.polynomial import Gaussian
from mdqr.series._systems.terms import Terms, power_of_two

# Times that units are changed, radii from one to the next, and the largest change in powers of two.
_TIMES, _RADII, _LARGEST = 40, 6, 300
# Coordinates beyond this power of two that still grow lead to infinity.
_INFINITE = 100


def in_own_units(line: Line, x: np.ndarray, s: complex, tolerance: float) -> Ends:
    """Return the end of one path that was at x ``(v,)`` for s, in the units of `line`."""
    ends, total = Ends.unknown(line.variables, 1), np.zeros(line.variables - 1, int)
    for stage in range(_TIMES):
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.rint(np.log2(abs(x[1:] / x[0])))
        if not np.isfinite(logs).all() or abs(logs).max() > _LARGEST:
            break
        powers = logs.astype(int)
        line, total = _rescaled(line, powers), total + powers
        if stage and total.max() > _INFINITE and powers.max() > 0:
            ends.kind[0], ends.x[:, 0] = INFINITY, np.append(0.0, x[1:])
            return ends
        y = np.append(x[0], np.ldexp(1.0, -powers) * x[1:])
        paths = Paths.at((y / (line.patch @ y))[:, None], s)
        if abs(s) > BEGIN:
            only = np.zeros(1, int)
            state = advance(line, paths, only, BEGIN, tolerance=tolerance, least=1e-12)
            if state[0] != THERE:
                break
        first = max(1, int(np.ceil(np.log(BEGIN / abs(paths.s[0])) / np.log(RATIO) + 1e-9)))
        ends = finish(line, paths, PRECISIONS[2], first=first, radii=_RADII, tolerance=tolerance)
        if ends.kind[0] != UNDECIDED:
            break
        x, s = paths.x[:, 0], complex(paths.s[0])
    if ends.kind[0] == UNDECIDED:
        ends.kind[:] = FAILED
    scale = np.ldexp(1.0, np.append(0, total))
    for points in (ends.x, ends.points):
        points *= scale[:, None]
        points /= max(abs(points).max(), 2.0**-1000)
    return ends


def _rescaled(line: Line, powers: np.ndarray) -> Line:
    """Return the homotopy for ``x_j = 2**powers_j y_j``, equations times powers of two."""
    terms, n = line.terms, line.variables - 1
    shifts = (terms.exponents[:, 1:] @ powers).tolist()
    top: dict[int, int] = {}
    # The same factor for both ends of the homotopy.
    rows = (terms.equation % n).tolist()
    for row, c, shift in zip(rows, terms.coefficients, shifts, strict=True):
        size = max(abs(c.real), abs(c.imag))
        bits = size.numerator.bit_length() - size.denominator.bit_length() + shift
        top[row] = max(top.get(row, bits), bits)
    scaled = [
        Gaussian(c.real * power_of_two(shift - top[row]), c.imag * power_of_two(shift - top[row]))
        for row, c, shift in zip(rows, terms.coefficients, shifts, strict=True)
    ]
    units = powers if line.units is None else line.units + powers
    found = Terms(terms.exponents, scaled, terms.equation, terms.equations)
    return replace(line, terms=found, units=units, _within={})
