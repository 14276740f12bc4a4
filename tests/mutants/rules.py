"""Gauss rules against 250 digits, before and after the last rounding."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
from quadrature import reference

import mdqr
from mdqr._precision import Precision
from mdqr.quadrature import gauss
from mdqr.quadrature._classical import weight_of
from mdqr.quadrature._tridiagonal import solve
from mutants.judges import Claims

_CASES: tuple[tuple[str, int, Fraction | None, Fraction | None], ...] = (
    ("legendre", 9, None, None),
    ("hermite", 8, None, None),
    ("laguerre", 7, Fraction(1, 3), None),
    ("jacobi", 10, Fraction(-1, 3), Fraction(5, 7)),
)
_ARGUMENTS = tuple(Fraction(k, 7) for k in (1, 9, 50, 301, 1000))


def _exact(case: tuple[Any, ...]) -> tuple[list[mpmath.mpf], list[mpmath.mpf], mpmath.mpf]:
    kind, n, alpha, beta = case
    starts = gauss(kind, n, alpha=alpha, beta=beta, precision="od").nodes.to_fractions().tolist()
    nodes, weights = reference.rule(kind, n, starts, alpha, beta)
    with mpmath.workdps(300):
        return nodes, weights, reference.integral(kind, alpha or Fraction(0), beta or Fraction(0))


def _compared(values: mdqr.MDArray, exact: Iterable[Any], bounds: np.ndarray) -> Iterator[float]:
    with mpmath.workdps(300):
        for value, reference_, bound in zip(values.to_fractions(), exact, bounds, strict=True):
            error = abs(mpmath.mpf(value.numerator) / value.denominator - reference_)
            if error > mpmath.mpf(10) ** -240:
                yield float(mpmath.log(error, 2)) - (math.log2(bound) if bound else -math.inf)


def _refined(precision: Precision) -> Iterator[float]:
    """Yield log2 of the errors of eigenvalues and components before rounding, over their bounds."""
    for case in _CASES:
        kind, n, alpha, beta = case
        found = solve(weight_of(kind, n, alpha, beta), precision, None)
        nodes, weights, mass = _exact(case)
        yield from _compared(found.values, nodes, found.errors[0])
        with mpmath.workdps(300):
            squares = [weight / mass for weight in weights]
        yield from _compared(found.squares, squares, found.errors[1])


def _rounded(precision: Precision) -> Iterator[float]:
    """Yield the same of nodes and weights."""
    for case in _CASES:
        kind, n, alpha, beta = case
        found = gauss(kind, n, alpha=alpha, beta=beta, precision=precision)
        nodes, weights, _ = _exact(case)
        yield from _compared(found.nodes, nodes, found.info.error_bound)
        yield from _compared(found.weights, weights, found.info.weight_error_bound)


def _integrals(precision: Precision) -> Iterator[float]:
    """Yield the same of integrals of weights."""
    for alpha in _ARGUMENTS:
        weight = weight_of("laguerre", 1, alpha, None)
        value, error = weight.integral(precision)
        with mpmath.workdps(300):
            exact = reference.integral("laguerre", alpha, Fraction(0))
        yield from _compared(value.reshape(1), [exact], np.array([error * float(exact)]))


REFINED = Claims("eigenvalues of Jacobi matrices", _refined)
ROUNDED = Claims("Gauss rules", _rounded)
INTEGRALS = Claims("integrals of weights", _integrals)
