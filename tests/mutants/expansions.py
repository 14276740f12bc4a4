"""Coefficients of series, approximants and their poles, against exact ones."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from series_families import triangular_exponential

import mdqr
from mdqr._precision import Precision
from mdqr.series import newton_series
from mdqr.series._analysis import pade
from mutants.judges import Claims

_TRIALS = 12


def _coefficients(precision: Precision) -> Iterator[float]:
    """Estimated errors and digits of the coefficients of exponential functions."""
    n, degree = 6, 24
    system, a, _ = triangular_exponential(n, degree, mdqr.od)
    found = newton_series(system, np.ones(n), degree=degree, precision=precision)
    values = found.coeffs.to_fractions()
    for k in range(degree + 1):
        exact = [x**k / math.factorial(k) for x in a]
        errors = [abs(values[i, k] - each) for i, each in enumerate(exact)]
        for i, error in enumerate(errors):
            bound = found.error_bound[i, k]
            if error and bound < math.inf:
                yield _log2(error) - math.log2(bound)
        if max(errors):
            yield _log2(max(errors) / max(map(abs, exact))) + found.digits[k] * math.log2(10)


def _denominators(precision: Precision) -> Iterator[float]:
    """Rounding errors of the denominators of exact quotients, over their bounds."""
    for trial in range(_TRIALS):
        rng = np.random.default_rng(trial)
        p, q = ([Fraction(int(v), 8) for v in rng.integers(-8, 9, 3)] for _ in range(2))
        q[0], q[2] = Fraction(1), q[2] or Fraction(1)
        c: list[Fraction] = []
        for k in range(5):
            below = sum((q[j] * c[k - j] for j in range(1, min(k, 2) + 1)), Fraction(0))
            c.append((p[k] if k < 3 else Fraction(0)) - below)
        given = mdqr.array(np.array(c, dtype=object), precision=precision)
        # Coefficients that are rounded, for an error.
        given = given * (1 + precision.eps * rng.uniform(-0.25, 0.25, 5))
        found, spread = pade.level_pade(given, 2, 2)
        if len(found.denominator) < 3:
            continue
        for value, exact, bound in zip(found.denominator.to_fractions(), q, spread, strict=True):
            if value != exact:
                yield _log2(abs(value - exact)) - (math.log2(bound) if bound else -math.inf)


def _log2(value: Fraction) -> float:
    return math.log2(value.numerator) - math.log2(value.denominator)


COEFFICIENTS = Claims("coefficients of series", _coefficients)
DENOMINATORS = Claims("denominators of approximants", _denominators)
