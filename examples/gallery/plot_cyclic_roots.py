"""
Cyclic n-roots in powers of t, and where they end
=================================================

How far does the power series solution of a polynomial system carry its digits, and does it know
where the solution becomes singular? The cyclic n-roots system, a benchmark of algebraic solvers,
with its product set to ``1 + t`` has solutions in closed form: ``x_i(t) = w^i (1 + t)^(1/n)`` with
a root of unity w. So every coefficient can be checked, and the singularity is at -1.

Reference: the binomial series; E. Fabry, 1896, for the ratios of coefficients.
"""

import matplotlib.pyplot as plt
import mpmath
import numpy as np

from mdqr.series import PowerSeries, SingularJacobianError, System, newton_series, radius

N, DEGREE = 7, 63


def cyclic(n):
    """The system, and its start at t = 0 in float64, which newton_series refines."""
    names = [f"x{i}" for i in range(n)]
    equations = [
        " + ".join("*".join(names[(i + j) % n] for j in range(length)) for i in range(n))
        for length in range(1, n)
    ]
    start = np.exp(2j * np.pi * (np.arange(n) + (n % 2 == 0) / 2) / n)
    return System.from_strings([*equations, "*".join(names) + " - 1 - t"], names), start


# %%
# Seven equations and unknowns, 64 orders. In float64 the errors grow with the order, in
# octo-double as well, but there are digits to spare.

system, start = cyclic(N)
solutions, errors = {}, {}
for precision in ("d", "dd", "qd", "od"):
    solutions[precision] = newton_series(system, start, degree=DEGREE, precision=precision)
    with mpmath.workdps(150):
        binomials = [mpmath.binomial(mpmath.mpf(1) / N, k) for k in range(DEGREE + 1)]
        found = solutions[precision].coeffs[0].to_mpmath()
        errors[precision] = [float(abs(x / y - 1)) for x, y in zip(found, binomials, strict=True)]
    claimed = solutions[precision].digits.min()
    largest = max(errors[precision])
    print(f"{precision:>2}: largest relative error {largest:.0e}, {claimed:.0f} digits claimed")

# %%
# At n = 8, which has a square factor, the solution from the roots of unity is one of a curve, and
# there is no such series. That is seen at the start:

try:
    newton_series(*cyclic(8), degree=DEGREE, precision="qd")
except SingularJacobianError as error:
    print(error)

# %%
# The ratios of successive coefficients tend to the singularity, slowly: by 1/k. ``radius``
# extrapolates them, which costs digits: so many orders from float64 coefficients are noise.

whole = solutions["od"]["x0"]
rounded = PowerSeries(whole.to_numpy(), precision="od")
orders = np.arange(8, DEGREE + 1, 5)
reached = {"ratio": [], "extrapolated, from float64": [], "extrapolated, from octo-double": []}
for order in orders:
    ratio = whole.coeffs[order - 1] / whole.coeffs[order]
    located = [radius(each.truncated(order), "fabry").location for each in (rounded, whole)]
    for points, point in zip(reached.values(), [ratio, *located], strict=True):
        points.append(float(abs(point + 1)))
for label, points in reached.items():
    print(f"{label:32} error of the singularity {points[-1]:.0e}")

# %%
# Left the errors of the coefficients by order, right those of the singularity.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
for precision, each in errors.items():
    left.semilogy(np.maximum(each, 1e-130), label=precision)
left.set(xlabel="order", ylabel="relative error of a coefficient of x0")
left.legend(loc=(0.75, 0.15))
for label, points in reached.items():
    right.semilogy(orders, points, "o-", label=label)
right.set(xlabel="orders used", ylabel="error of the singularity at -1")
right.legend(loc="lower left", fontsize=8)
figure.tight_layout()
plt.show()

# %%
# What this page claims: 120 digits of all coefficients, 32 of the singularity.

assert max(errors["od"]) < 1e-120
assert reached["extrapolated, from octo-double"][-1] < 1e-32
