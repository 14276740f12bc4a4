"""Quantiles of Student's distribution, for intervals."""

from __future__ import annotations

import math


def t_quantile(level: float, degrees: float) -> float:
    """Return t for which Student's distribution has the probability `level` in (-t, t).

    The incomplete beta function of mpmath, solved for by bisection; NaN without a degree of
    freedom, and the normal distribution for infinitely many.
    """
    if degrees < 1:
        return float("nan")
    from mpmath import betainc, erfinv, mp

    with mp.workdps(20):
        if math.isinf(degrees):
            return float(mp.sqrt(2) * erfinv(mp.mpf(repr(level))))
        half = mp.mpf(degrees) / 2

        most = 1 - mp.mpf(repr(level))

        def is_outside(t: float) -> bool:
            x = degrees / (degrees + mp.mpf(t) ** 2)
            return bool(betainc(half, 0.5, 0, x, regularized=True) > most)

        low, high = 0.0, 1.0
        while is_outside(high):
            low, high = high, 2 * high
        while (middle := (low + high) / 2) not in (low, high):
            low, high = (middle, high) if is_outside(middle) else (low, middle)
    return high
