"""The rounding errors of a function, measured by a table of differences.

The fifth difference of a smooth function at points `h` apart is of order ``h**5``: with h = 2^-41,
2^-62 and 2^-104 in dd, qd and od it lies below the rounding errors, whose fifth difference is about
16 times as large as they are (J. J. More and S. M. Wild, Estimating computational noise, 2011).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mdqr._array.array import MDArray
from mdqr._precision import Precision
from mdqr.optimize._model.box import Box
from mdqr.optimize._model.function import Function
from mdqr.optimize._model.points import leading

ORDER = 5
GOLDEN = 0.618034  # its multiples, modulo 1, are far apart
# By how much rounding errors may exceed eps: those of exp, powers and long sums.
EXPECTED = 2.0**14
# A length that moves parameters rounded to float32, and the errors that differences over it show.
COARSE, SHOWN = 2.0**-16, 2.0**-44


class Noise(NamedTuple):
    """Rounding errors of a function in one precision.

    `absolute` are bounds estimated for each residual, float64 ``(m,)``, and `unit` is the error
    relative to the values, at least eps of the precision.
    """

    absolute: np.ndarray
    unit: float

    def exceeds(self, precision: Precision) -> bool:
        """Return True if the function is less precise than its parameters."""
        return self.unit > EXPECTED * precision.eps


def underflow(precision: Precision) -> float:
    """Return what operations lose below the smallest double, at the most."""
    return precision.limbs**2 * 2.0**-1074


def measure(
    function: Function, x: MDArray, sizes: np.ndarray, box: Box, precision: Precision
) -> Noise:
    """Return the rounding errors of a function near a point, from six evaluations."""
    h = 2.0 ** -(precision.bits // ORDER + 20)
    r = _table(function, x, sizes, box, h)
    if leading(r).any() and not np.asarray(r != r[0]).any():
        # The function is constant, or rounds parameters to fewer digits than the table moves.
        noise = _of_table(_table(function, x, sizes, box, COARSE), COARSE)
        if noise.unit > SHOWN:
            return noise
    noise = _of_table(r, h)
    # Underflow may be the same in all values, and no difference shows it.
    return noise._replace(absolute=noise.absolute + underflow(precision) * function.scale)


def _table(function: Function, x: MDArray, sizes: np.ndarray, box: Box, h: float) -> MDArray:
    """Return values at points h apart, ``(ORDER + 1, m)``."""
    n = x.shape[0]
    # Of 41 bits: multiples are exact, so that points are equally spaced, but not where a function
    # rounds its parameters to float64.
    steps = h * sizes * (1.0 + np.round(2.0**40 * (GOLDEN * (1.0 + np.arange(n)) % 1.0)) / 2.0**40)
    steps = steps * box.signs(x, (ORDER + 1) * steps)
    return function.at_all(x[None] + np.arange(ORDER + 1.0)[:, None] * steps, x.precision)


def _of_table(r: MDArray, h: float) -> Noise:
    precision, difference = r.precision, r
    for _ in range(ORDER):
        difference = difference[1:] - difference[:-1]
    rough = np.abs(leading(difference)[0])
    near = leading(r)
    slope = np.abs(leading(r[ORDER] - r[0])) / (ORDER * h)
    size = np.max(np.abs(near), axis=0) + slope
    if not np.isfinite(rough).all():
        return Noise(precision.eps * np.nan_to_num(size), precision.eps)
    largest = float(np.max(size, initial=0.0))
    unit = float(np.max(rough, initial=0.0)) / 16.0 / largest if largest > 0 else 0.0
    unit = max(unit, precision.eps)
    floor = (unit if unit > EXPECTED * precision.eps else precision.eps) * size
    return Noise(np.maximum(rough / 4.0, 4.0 * floor), unit)
