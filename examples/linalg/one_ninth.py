"""How fast rational functions approach exp(x) on the negative axis: Halphen's constant.

Each degree more makes the best rational approximation 9.289... times better; that it is not 9 was
found by computation. By Caratheodory and Fejer the errors are, but for what vanishes, the singular
values of a Hankel matrix of Chebyshev coefficients. They fall by 9.289 from one to the next, and
in float64 reach the noise at the fifteenth; octo-double follows a hundred, enough to extrapolate.

Reference: OEIS A072558, the reciprocal of the constant.
"""

from __future__ import annotations

import numpy as np

import mdqr
from mdqr.linalg import solve, svdvals

ORDER, NODES, SCALE = 120, 2000, 25
RECIPROCAL = "0.107653919226484576615323445090947190587977"
FIRST, TERMS = 11, 13  # of the ratios that are extrapolated


def errors(precision: str) -> mdqr.MDArray:
    """Return the singular values for ``exp(SCALE (t - 1) / (t + 1))``, -1 < t < 1."""
    j = np.arange(NODES)
    angles = mdqr.array(np.arange(4 * NODES), precision=precision) / (2 * NODES)
    cosines = mdqr.cospi(angles)
    t = cosines[2 * j + 1]
    f = mdqr.exp(SCALE * (t - 1) / (t + 1))
    k = np.arange(2 * ORDER)
    coefficients = cosines[np.outer(k, 2 * j + 1) % (4 * NODES)] @ f * 2 / NODES
    return svdvals(coefficients[1 + np.add.outer(k[:ORDER], k[:ORDER])])


def limit(ratios: mdqr.MDArray) -> mdqr.MDArray:
    """Extrapolate by a polynomial of ``1 / (n + 1)^2``, at every other n."""
    n = FIRST + 2 * np.arange(TERMS)
    x = 1 / mdqr.array((n + 1) ** 2, precision=ratios.precision)
    powers = mdqr.stack([x**p for p in range(TERMS)], axis=1)
    return solve(powers, ratios[n])[0]


def main() -> None:
    """Print the ratios in each precision, and the limit."""
    exact = 1 / mdqr.array(RECIPROCAL, precision="qd")
    for precision in ("d", "dd", "qd", "od"):
        sigma = errors(precision)
        ratios = sigma[:-1] / sigma[1:]
        shown = ", ".join(f"{float(ratios[n]):.6f}" for n in (5, 10, 20, 40, 60))
        print(f"{precision:>2}: ratios 5, 10, 20, 40, 60: {shown}")
    found = limit(ratios)
    print("limit:    ", str(found)[:32])
    print("reference:", str(exact)[:32])
    assert abs(found - exact) < 1e-25


if __name__ == "__main__":
    main()
