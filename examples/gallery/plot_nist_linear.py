"""
Certified regressions of NIST
=============================

How many digits of a regression are right? For eleven sets of data NIST publishes the answers to 15
digits, computed with 500: the Statistical Reference Datasets, by which statistical packages are
judged. ``mdqr.testing`` has the data, and solves the normal equations in rational arithmetic, so
that here every digit can be counted, not only fifteen.

Reference: NIST, `Linear Regression <https://www.itl.nist.gov/div898/strd/lls/lls.shtml>`_.
"""

import math
from fractions import Fraction

import matplotlib.pyplot as plt
import numpy as np

import mdqr
from mdqr.testing import LSTSQ_PROBLEMS, lstsq_problem

# %%
# First what float64 does with them; the worst coefficient counts. The polynomial of degree ten,
# Filip, NumPy takes for rank-deficient, and has not one digit.


def right_digits(found, exact):
    """Right decimal digits of the worst coefficient; an exact one has infinitely many."""
    errors = [abs(Fraction(x) - y) / abs(y) for x, y in zip(found, exact, strict=True)]
    return min(-math.log10(error) if error else math.inf for error in errors)


problems = {name: lstsq_problem(name) for name in LSTSQ_PROBLEMS}
in_numpy = {}
for name, problem in problems.items():
    x = np.linalg.lstsq(problem.a.astype(float), problem.b.astype(float), rcond=None)[0]
    in_numpy[name] = right_digits(x, problem.x)
    print(f"{name:9} {problem.a.shape!s:9} {in_numpy[name]:5.1f} right digits with NumPy")

# %%
# Now each set in every precision. Data are decimal, so they are rounded once to the precision, and
# the answer has the error of that as well: ``data_digits`` counts it, and so should never say more
# than is right. ``digits`` are those for the data as rounded.

precisions = ("d", "dd", "qd", "od")
said, right = {}, {}
for name, problem in problems.items():
    for precision in precisions:
        a, b = (mdqr.array(data, precision=precision) for data in (problem.a, problem.b))
        fit = mdqr.linalg.lstsq(a, b)
        said[name, precision] = fit.info.data_digits.min()
        right[name, precision] = right_digits(fit.x.to_fractions(), problem.x)
print("worst coefficient: right digits / data_digits")
for name in problems:
    cells = [f"{right[name, p]:6.1f} / {said[name, p]:5.1f}" for p in precisions]
    print(f"{name:9}", *cells)

# %%
# NIST's certified values of Filip, its residual standard deviation, and ours.

certified = [
    *(-1467.48961422980, -2772.17959193342, -2316.37108160893, -1127.97394098372),
    *(-354.478233703349, -75.1242017393757, -10.8753180355343, -1.06221498588947),
    *(-0.670191154593408e-01, -0.246781078275479e-02, -0.402962525080404e-04),
]
filip = problems["filip"]
a, b = (mdqr.array(data, precision="qd") for data in (filip.a, filip.b))
fit = mdqr.linalg.lstsq(a, b)
for value, known in zip(fit.x, certified, strict=True):
    print(f"{value.to_strings(digits=15)}   certified {known:.15g}")
assert np.allclose(fit.x.to_numpy(), certified, rtol=5e-15, atol=0)
assert abs(float(fit.info.residual_std) / 0.334801051324544e-02 - 1) < 1e-14

# %%
# The digits of each set: points are right, bars below them what ``data_digits`` promises.

figure, ax = plt.subplots(figsize=(9, 4.5))
ax.plot(list(problems), np.maximum(list(in_numpy.values()), 0), "kx", label="NumPy")
for k, precision in enumerate(precisions):
    limit = getattr(mdqr, precision).digits
    shown = [min(right[name, precision], limit) for name in problems]
    ax.plot(list(problems), shown, "o", color=f"C{k}", label=precision)
    promised = [said[name, precision] for name in problems]
    ax.plot(list(problems), promised, "_", color=f"C{k}", markersize=14)
ax.set(ylabel="digits of the worst coefficient", yticks=[0, 15, 31, 63, 127])
ax.tick_params(axis="x", rotation=45)
ax.legend(loc=(0.02, 0.6), ncols=2)
figure.tight_layout()
plt.show()

# %%
# What this page claims: ``data_digits`` never says too much, and octo-double has 120 digits or more
# of every set.

assert all(said[key] <= right[key] + 0.01 for key in said)
assert min(right[name, "od"] for name in problems) >= 120
