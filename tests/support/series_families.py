"""Polynomial systems with known series."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np

import mdqr
from mdqr.series import System


def cyclic(n):
    """Cyclic n-roots with ``x_0 ... x_(n-1) = 1 + t``: ``x_i = w^i (1 + t)^(1/n)``."""
    names = [f"x{i}" for i in range(n)]
    equations = [
        " + ".join("*".join(names[(i + j) % n] for j in range(length)) for i in range(n))
        for length in range(1, n)
    ]
    return System.from_strings([*equations, "*".join(names) + " - 1 - t"], names)


def cyclic_start(n):
    """The start at t = 0 in float64."""
    return np.exp(2j * np.pi * (np.arange(n) + (n % 2 == 0) / 2) / n)


def cyclic_errors(coeffs, n):
    """The relative errors of all coefficients ``(n, d + 1)``."""
    with mpmath.workdps(320):
        found = coeffs.to_mpmath()
        errors = np.zeros(found.shape)
        roots = [mpmath.expjpi((2 * i + (n % 2 == 0)) / mpmath.mpf(n)) for i in range(n)]
        binomials = [mpmath.mpf(1)]  # of 1 / n over k
        for k in range(found.shape[1]):
            binomials.append(binomials[k] * (mpmath.mpf(1) / n - k) / (k + 1))
        for i, k in np.ndindex(found.shape):
            errors[i, k] = abs(found[i, k] - roots[i] * binomials[k]) / abs(binomials[k])
    return errors


def triangular_rational(n):
    """``x_1 ... x_i (1 - c_i t) = 1``, and the exact coefficients of x_i as a function."""
    c = [Fraction(0), *(Fraction(i % 7 + 1, 8) for i in range(1, n + 1))]
    exponents = np.concatenate([np.tri(n, dtype=int), np.zeros((n, n), int)])
    coefficients = np.zeros((2 * n, 2))
    coefficients[:n] = [[1.0, -float(value)] for value in c[1:]]
    coefficients[n:, 0] = -1.0

    def exact(i, k):
        return c[i] ** k - c[i - 1] * c[i] ** (k - 1) if k else Fraction(1)

    return System.from_arrays(exponents, coefficients, [*range(n), *range(n)]), exact


def triangular_exponential(n, degree, precision):
    """``x_1 ... x_i = exp(b_i t)``: ``x_i = exp(a_i t)`` with a_i near 1 or -1.

    Returns the system, the exact a_i and b_i.
    """
    rng = np.random.default_rng(n)
    a = [Fraction(x) for x in rng.uniform(63 / 64, 1, n) * rng.choice([-1, 1], n)]
    b = list(itertools.accumulate(a))
    exponents = np.concatenate([np.tri(n, dtype=int), np.zeros((n, n), int)])
    coefficients = np.zeros((2 * n, degree + 1), dtype=object)
    for i in range(n):
        coefficients[i, 0] = 1
        for k in range(degree + 1):
            coefficients[n + i, k] = -(b[i] ** k) / math.factorial(k)
    given = mdqr.array(coefficients, precision=precision)
    return System.from_arrays(exponents, given, [*range(n), *range(n)]), a, b


def katsura(number):
    """The equations and unknowns of katsura."""
    names = [f"u{i}" for i in range(number + 1)]

    def name(i):
        return names[abs(i)] if abs(i) <= number else None

    around = range(-number, number + 1)
    equations = [
        "+".join(f"{name(i)}*{name(m - i)}" for i in around if name(m - i)) + f"-{name(m)}"
        for m in range(number)
    ]
    return [*equations, "+".join(name(i) for i in around) + "-1"], names


def total_degree(equations, names, degrees):
    """A homotopy from ``x^d = 1`` with a fixed complex constant, and its start points."""
    mixed = [
        f"(3/5+4/5*i)*(1-t)*({name}^{d}-1) + t*({equation})"
        for name, d, equation in zip(names, degrees, equations, strict=True)
    ]
    roots = [np.exp(2j * np.pi * np.arange(d) / d).round(15) for d in degrees]
    return System.from_strings(mixed, names), np.array(list(itertools.product(*roots)))
