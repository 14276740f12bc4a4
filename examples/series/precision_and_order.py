"""How many orders each precision carries: products of unknowns that are exponentials.

``x_1 ... x_i = exp(b_i t)`` has the solutions ``exp(a_i t)``. All residuals are as small as the
precision lets them be, and yet high orders lose their digits.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import accumulate

import numpy as np

import mdqr
from mdqr.series import System, newton_series

UNKNOWNS, DEGREE, DIGITS = 8, 31, 8


def exponential_system(n: int, degree: int) -> tuple[System, list[Fraction]]:
    """Return the system, and the exponents a_i, near 1 and -1."""
    rng = np.random.default_rng(n)
    a = [Fraction(x) for x in rng.uniform(63 / 64, 1, n) * rng.choice([-1, 1], n)]
    exponents = np.concatenate([np.tri(n, dtype=int), np.zeros((n, n), int)])
    coefficients = np.zeros((2 * n, degree + 1), dtype=object)
    for i, b in enumerate(accumulate(a)):
        coefficients[i, 0] = 1
        coefficients[n + i] = [-(b**k) / math.factorial(k) for k in range(degree + 1)]
    given = mdqr.array(coefficients, precision=mdqr.od)
    return System.from_arrays(exponents, given, [*range(n), *range(n)]), a


def main() -> None:
    """Print the digits of orders, claimed and true, in each precision."""
    system, a = exponential_system(UNKNOWNS, DEGREE)
    print("precision  residual  order: digits claimed / true")
    for precision in (mdqr.d, mdqr.dd, mdqr.qd, mdqr.od):
        s = newton_series(system, np.ones(UNKNOWNS), degree=DEGREE, precision=precision)
        found = s.coeffs.to_fractions()
        parts = []
        for k in (7, 15, 31):
            errors = [
                abs(c - x**k / math.factorial(k)) for c, x in zip(found[:, k], a, strict=True)
            ]
            size = max(abs(x) ** k for x in a) / math.factorial(k)
            true = -math.log10(max(*errors, Fraction(1, 10**200)) / size)
            parts.append(f"{k}: {s.digits[k]:.0f} / {max(true, 0.0):.0f}")
        carried = int((s.digits >= DIGITS).sum()) - 1
        residual = abs(s.residual()).to_numpy().max()
        print(f"{precision.name:9}  {residual:.0e}     {'   '.join(parts)}", end="   ")
        print(f"orders up to {carried} have {DIGITS} digits")


if __name__ == "__main__":
    main()
