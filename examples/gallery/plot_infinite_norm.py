"""
The norm of an infinite matrix
==============================

What is the norm of the infinite matrix with the entries ``a11 = 1, a12 = 1/2, a21 = 1/3, a13 = 1/4,
a22 = 1/5, a31 = 1/6, ...``, as an operator on sequences? Problem 3 of Trefethen's
hundred-dollar, hundred-digit challenge of 2002 asked for ten digits.

Reference: 105 digits in OEIS `A117233 <https://oeis.org/A117233>`_, by J. Waldvogel; F. Bornemann,
D. Laurie, S. Wagon, J. Waldvogel, *The SIAM 100-Digit Challenge*, 2004, chapter 3.
"""

import math
import warnings

import matplotlib.pyplot as plt
import numpy as np

import mdqr
from mdqr.linalg import LinAlgError, solve

REFERENCE = "1.2742241528212281882123406397250780994724694566385"


def truncated_norm(n, precision):
    """The norm of the leading n x n block: iteration by A^T A, which gains four digits a step."""
    i = np.arange(n)
    diagonal = np.add.outer(i, i)
    a = 1 / mdqr.array(diagonal * (diagonal + 1) // 2 + i[:, None] + 1, precision=precision)
    x = 1 / mdqr.array((i + 1) ** 2, precision=precision)
    before, value = 0, 1
    while abs(value - before) > 16 * precision.eps:
        y = a @ x
        z = a.mT @ y
        before, value = value, mdqr.sqrt((z @ z) / (y @ y))
        x = z / mdqr.sqrt(z @ z)
    return value


# %%
# Blocks alone take us nowhere: the error falls as n^-3, and 16 digits would need n = 300000,
# although float64 gives the norm of each block to 15.

exact = mdqr.array(REFERENCE, precision="od")
for n in (64, 256, 1024):
    value = truncated_norm(n, mdqr.d)
    print(f"n = {n:4}, float64: {float(value):.16f}, error {abs(float(value - exact)):.0e}")

# %%
# But the error has an expansion, in ``log(n)^j / n^k`` with k from 3 on and j up to k - 3 (because
# the singular vectors have one), and norms of many blocks determine the terms of it. One solves for
# the limit and all coefficients at once. Columns so alike are a very ill-conditioned matrix: every
# power of 1/n eats digits, and the norms must have them.

sizes = np.unique(np.geomspace(24, 640, 60).round().astype(int))
norms = mdqr.stack([truncated_norm(n, mdqr.od) for n in sizes])


def limit(powers, precision):
    """Extrapolate with all terms of that many powers, from the largest blocks."""
    terms = [(k, j) for k in range(3, 3 + powers) for j in range(k - 2)]
    used = slice(len(sizes) - len(terms) - 1, None)
    n = mdqr.array(sizes[used], precision=precision)
    columns = [mdqr.log(n) ** j / n**k for k, j in terms]
    matrix = mdqr.stack([mdqr.ones_like(n), *columns], axis=1)
    matrix = matrix / abs(matrix).max(axis=0)
    try:
        return solve(matrix, norms[used].astype(precision=precision))[0]
    except LinAlgError as error:
        print(f"{powers} powers in {precision.name}: {str(error).split(';')[0]}")
        return math.nan


# %%
# In float64 two powers give 13 digits, and that is the end. In octo-double the error is that of the
# expansion alone, even though the condition is beyond what quad-double can bear.

warnings.simplefilter("ignore", mdqr.PrecisionWarning)  # they say that few digits are left
precisions, counts = (mdqr.d, mdqr.dd, mdqr.qd, mdqr.od), range(1, 10)
errors = {p.name: [float(abs(limit(k, p) - exact)) for k in counts] for p in precisions}
for name, each in errors.items():
    print(f"{name:>2}:", " ".join(f"{error:.0e}" for error in each))
found = limit(counts[-1], mdqr.od)
print("found    ", found.to_strings(digits=36))
print("reference", REFERENCE[:37])

# %%
# Convergence of the extrapolations.

fig, ax = plt.subplots(figsize=(7, 4.5))
raw = abs((norms - exact).to_numpy())
for name, each in errors.items():
    ax.semilogy(counts, each, "o-", label=f"extrapolated in {name}")
ax.axhline(raw[-1], color="black", linestyle=":", label=f"the block of {sizes[-1]} itself")
ax.set(xlabel="powers of 1/n taken away", ylabel="error of the norm")
ax.legend(fontsize=8)
plt.show()

# %%
# What this page claims: 32 digits.

assert abs(found - exact) < 1e-32
