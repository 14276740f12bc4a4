"""
The 1/9 constant
================

How fast do rational functions approach ``exp(-x)`` on ``[0, oo)``? Each degree more divides the
error of the best approximation by the same number, and for years it was believed to be 9. By
numbers alone Trefethen and Gutknecht, and Carpenter, Ruttan and Varga, found in 1983 and 1984
that it is not.

By Caratheodory and Fejer the errors are, but for what vanishes, the singular values of a Hankel
matrix of Chebyshev coefficients. They fall by 9.289 from one to the next, and in float64 reach
the noise at the fifteenth; octo-double follows a hundred, enough to extrapolate the ratio.

Reference: OEIS `A072558 <https://oeis.org/A072558>`_, the reciprocal of the constant, 105 digits.
"""

import matplotlib.pyplot as plt
import numpy as np

import mdqr
import mdqr.plot
from mdqr.linalg import svdvals

ORDER, NODES, SCALE = 200, 1500, 60
RECIPROCAL = "0.107653919226484576615323445090947190587976563290115086698568"
FIRST, TERMS = 15, 25  # of the ratios that are extrapolated


def errors(precision):
    """The singular values for ``exp(SCALE (t - 1) / (t + 1))``, -1 < t < 1."""
    j = np.arange(NODES)
    cosines = mdqr.cospi(mdqr.arange(4 * NODES, precision=precision) / (2 * NODES))
    t = cosines[2 * j + 1]
    f = mdqr.exp(SCALE * (t - 1) / (t + 1))
    k = np.arange(2 * ORDER)
    coefficients = cosines[np.outer(k, 2 * j + 1) % (4 * NODES)] @ f * 2 / NODES
    return svdvals(coefficients[1 + np.add.outer(k[:ORDER], k[:ORDER])])


# %%
# The ratios come near to the constant, until a precision has no digits left for the next value.

sigma = {p: errors(p) for p in ("d", "dd", "qd", "od")}
ratios = {p: each[:-1] / each[1:] for p, each in sigma.items()}
for p, each in ratios.items():
    print(
        f"{p:>2}: ratios 5, 10, 20, 40, 60:",
        *(f"{float(each[n]):.6f}" for n in (5, 10, 20, 40, 60)),
    )

# %%
# They have an expansion in powers of ``1 / (n + 1)^2``. A polynomial through more and more of
# them, at every other n, gives its value at 0: the limit. It multiplies the errors of the ratios,
# and needs ratios that float64 does not have: all but the last precision turn round.

exact = 1 / mdqr.array(RECIPROCAL, precision="od")


def limits(ratios):
    """The limit from the first ratio, two, three, ...: Neville's scheme."""
    n = FIRST + 2 * np.arange(TERMS)
    x, values = 1 / mdqr.array((n + 1) ** 2, precision=ratios.precision), ratios[n]
    found = [values[0]]
    for m in range(1, TERMS):
        values = (x[:-m] * values[1:] - x[m:] * values[:-1]) / (x[:-m] - x[m:])
        found.append(values[0])
    return mdqr.stack(found)


found = {p: limits(each) for p, each in ratios.items()}
for p, each in found.items():
    print(
        f"{p:>2}: {each[-1].to_strings(digits=48)}, best error {float(abs(each - exact).min()):.0e}"
    )
print("    " + exact.to_strings(digits=48), "is the reference")

# %%
# The decay of the singular values with the floor of float64, and the errors of the
# extrapolations.

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4))
mdqr.plot.singular_values(sigma, ax=left)
between = {"loc": (0.36, 0.55), "ncols": 2, "handlelength": 1, "columnspacing": 1}
left.legend(fontsize=7, **between)  # between the levels of dd and qd
mdqr.plot.convergence(found, exact, ax=right)
right.set(xlabel="ratios extrapolated, but one", ylabel="error of the constant", ylim=(1e-50, 1e3))
fig.tight_layout()
plt.show()

# %%
# What this page claims: 45 digits, and that the constant is not 9.

assert abs(found["od"][-1] - exact) < 1e-45
