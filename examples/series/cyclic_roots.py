"""Cyclic n-roots with their product set to 1 + t: a test with a closed form in every order.

The solution from the roots of unity is ``x_i = w^i (1 + t)^(1/n)``. For n with a square factor the
start is singular.
"""

from __future__ import annotations

import time

import mpmath
import numpy as np

import mdqr
from mdqr.series import SingularJacobianError, System, newton_series

DEGREE = 31


def cyclic(n: int) -> tuple[System, np.ndarray]:
    """Return the system, and its start in float64."""
    names = [f"x{i}" for i in range(n)]
    equations = [
        " + ".join("*".join(names[(i + j) % n] for j in range(length)) for i in range(n))
        for length in range(1, n)
    ]
    turn = (np.arange(n) + (n % 2 == 0) / 2) / n
    return System.from_strings([*equations, "*".join(names) + " - 1 - t"], names), np.exp(
        2j * np.pi * turn
    )


def largest_error(coeffs: mdqr.MDArray, n: int) -> float:
    """Return the largest relative error of a coefficient."""
    with mpmath.workdps(160):
        found, worst = coeffs.to_mpmath(), 0.0
        for i, k in np.ndindex(found.shape):
            root = mpmath.expjpi((2 * i + (n % 2 == 0)) / mpmath.mpf(n))
            exact = root * mpmath.binomial(mpmath.mpf(1) / n, k)
            worst = max(worst, float(abs(found[i, k] / exact - 1)))
    return worst


def main() -> None:
    """Print errors and times for several n in each precision."""
    for n in (5, 6, 7, 8, 11):
        system, start = cyclic(n)
        for precision in (mdqr.d, mdqr.dd, mdqr.qd, mdqr.od):
            begin = time.perf_counter()
            try:
                s = newton_series(system, start, degree=DEGREE, precision=precision)
            except SingularJacobianError as error:
                print(f"n = {n}: {error}")
                break
            seconds = time.perf_counter() - begin
            error = largest_error(s.coeffs, n)
            claimed = f"{s.digits.min():.0f} digits claimed"
            print(f"n = {n}, {precision.name}: error {error:.0e}, {claimed}, {seconds:.3f} s")


if __name__ == "__main__":
    main()
