"""
A spectral density from a lattice correlator
============================================

Which spectral density belongs to a correlator ``C(t) = sum of exp(-t E) rho(E)`` that is known at
few times t, with errors? Hansen, Lupo and Tantalo (2019) ask for the density smeared by a Gaussian
of width sigma, as a sum of ``g(t) C(t)``. The coefficients g solve a system with the matrix
``1 / (t + t')``, a relative of Hilbert's, plus lambda times the covariance of the data.

Reference: the density here is one peak, so that the smeared one is a Gaussian; this is the test of
the code of `lsdensities <https://github.com/LupoA/lsdensities>`_, which wants an error below 1e-6
at 32 times, in mpmath with 128 digits. For the matrix: Cauchy's inverse in closed form.
"""

import math

import matplotlib.pyplot as plt
import numpy as np

import mdqr
from mdqr.linalg import LinAlgError, inv, solve

PRECISIONS = (mdqr.d, mdqr.dd, mdqr.qd, mdqr.od)
SIGMA, PEAK = 0.25, 1


def system(n, energies, precision):
    """The times 1, ..., n, the matrix, and a right-hand side for each energy."""
    t = mdqr.arange(1, n + 1, precision=precision)
    edge = (t[:, None] * SIGMA**2 - energies) / (SIGMA * mdqr.sqrt(precision(2)))
    smeared = mdqr.exp(-t[:, None] * energies + (t[:, None] * SIGMA) ** 2 / 2) * mdqr.erfc(edge) / 2
    return t, 1 / (t[:, None] + t), smeared


def gaussian(energies):
    """The density that is asked for."""
    return np.exp(-(((PEAK - energies) / SIGMA) ** 2) / 2) / (SIGMA * math.sqrt(2 * math.pi))


# %%
# Digits of the inverse, which is known exactly: its entries are integers. Each time more costs one
# and a half digits; float64 ends before a dozen times.


def digits_of_inverse(n, precision):
    """Right digits of the worst entry, none if the matrix is refused as singular."""
    _, matrix, _ = system(n, np.array([0.5]), precision)
    factor = [math.comb(n + i, n) * math.comb(n, i) * i * (-1) ** i for i in range(1, n + 1)]
    exact = [[p * q // (i + j) for j, q in enumerate(factor, 1)] for i, p in enumerate(factor, 1)]
    exact = mdqr.array(np.array(exact, dtype=object), precision=mdqr.od)
    try:
        return max(0, -math.log10(float(abs(inv(matrix) / exact - 1).max())))
    except LinAlgError:
        return 0


counts = (4, 8, 12, 16, 24, 32, 48, 64)
digits = {p.name: [digits_of_inverse(n, p) for n in counts] for p in PRECISIONS}
for name, each in digits.items():
    print(f"{name:>2}:", *(f"n = {n}: {value:.0f}" for n, value in zip(counts, each, strict=True)))

# %%
# With exact data the density at E = 0.5 converges with the number of times.

misses = []
for n in (8, 16, 32, 48, 64):
    t, matrix, smeared = system(n, np.array([0.5]), mdqr.od)
    density = solve(matrix, smeared[:, 0]) @ mdqr.exp(-t * PEAK)
    misses.append(abs(float(density) - gaussian(0.5)))
    print(f"{n:2} times: error {misses[-1]:.1e}")

# %%
# Real data have errors, here 1e-8 of each value. Where lambda is large the density is that of a
# wider kernel; where it is too small the errors take over. Between them it does not depend on
# lambda: that plateau is the answer. 50 energies, 46 values of lambda: 2,300 systems in one call.

energies, lambdas = np.arange(1, 51) / 20, 10.0 ** np.arange(-45, 1)
t, matrix, smeared = system(32, energies, mdqr.od)
exact = mdqr.exp(-t * PEAK)
error = 1e-8 * exact
data = exact + error * np.random.default_rng(1).standard_normal(32)
scale = mdqr.array(lambdas[:, None, None], precision=mdqr.od)
matrices = matrix + scale * mdqr.diag(exact**2)
right = mdqr.broadcast_to(smeared, (len(lambdas), *smeared.shape))
g = solve(matrices, right)
density = mdqr.einsum("ltk,t->lk", g, data).to_numpy()
spread = mdqr.sqrt(mdqr.einsum("ltk,t->lk", g**2, error**2)).to_numpy()


def solve_in_float64(matrix, right):
    """Solve in float64, or return NaN where LAPACK meets a zero pivot, as not all machines do."""
    try:
        return np.linalg.solve(matrix, right)
    except np.linalg.LinAlgError:
        return np.full(right.shape, np.nan)


pairs = zip(matrices.to_numpy(), right.to_numpy(), strict=True)
in_float64 = np.stack([solve_in_float64(*pair) for pair in pairs])
in_float64 = np.einsum("ltk,t->lk", in_float64, data.to_numpy())

# %%
# Digits by the number of times, and the plateau with the band of the data's errors. Rounding errors
# lead float64 to a plateau too, and to a wrong density; where its matrix is singular there is no
# answer to draw.

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2))
for name, each in digits.items():
    left.plot(counts, each, "o-", label=name)
left.set(xlabel="times", ylabel="right digits of the inverse")
left.legend()
k = 24
right.semilogx(lambdas, density[:, k], "o-", markersize=3, label="octo-double")
right.fill_between(lambdas, *(density[:, k] + side * spread[:, k] for side in (-1, 1)), alpha=0.3)
right.semilogx(lambdas, in_float64[:, k], "x", label="float64")
right.axhline(gaussian(energies[k]), color="black", linestyle=":", label="exact")
right.set(xlabel="lambda", ylabel=f"density at E = {energies[k]}", ylim=(0.8, 1.3), xlim=(1e-28, 1))
right.legend()
fig.tight_layout()
plt.show()

# %%
# What this page claims: 36 digits of the inverse for 64 times; errors as in the test of
# lsdensities; all densities within a standard error from lambda = 1e-22 to 1e-17, and that of the
# picture to 1e-3 at 1e-18.

assert digits["od"][-1] > 36
assert misses == sorted(misses, reverse=True)
assert misses[2] < 1.1e-7
miss = abs(density - gaussian(energies))
assert (miss < spread)[(lambdas > 0.5e-22) & (lambdas < 2e-17)].all()
assert miss[np.searchsorted(lambdas, 0.5e-18), k] < 1e-3
