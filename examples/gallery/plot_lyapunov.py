"""
A Lyapunov function with 60 digits
==================================

A linear system ``x' = A x`` is stable if there is a positive definite X for which
``A^T X + X A = -I``: then ``x^T X x`` falls along every path. A chain of twelve slow stages, each
feeding the next, is stable, as its eigenvalues are all -1/20. But small disturbances grow by powers
of ten before they die, and X shows it: its condition number is beyond float64. The coordinates are
mixtures of the stages, as measured ones are.

Reference: the recurrence that the equation is for the chain, in exact rational arithmetic.
"""

import itertools
from fractions import Fraction

import matplotlib.pyplot as plt
import numpy as np
import scipy.linalg

import mdqr

N, RATE = 12, Fraction(1, 20)

# %%
# The chain, reflected by ``I - 2/n 1 1^T``, and X in float64 and in octo-double.

chain = [[-RATE if i == j else Fraction(i == j + 1) for j in range(N)] for i in range(N)]
mirror = np.array([[Fraction(i == j) - Fraction(2, N) for j in range(N)] for i in range(N)])
mixed = mirror @ np.array(chain) @ mirror
A = mdqr.array(mixed, precision="od")
X = mdqr.linalg.solve_continuous_lyapunov(A.mT, -mdqr.eye(N, precision="od"))
alone = scipy.linalg.solve_continuous_lyapunov(A.mT.to_numpy(), -np.eye(N))
print(f"largest entry {float(abs(X).max()):.0e}")

# %%
# float64 gives an X with negative eigenvalues: no Lyapunov function, although the chain is stable.

values = mdqr.linalg.eigvalsh(X).to_numpy()
lost = np.linalg.eigvalsh((alone + alone.T) / 2)
print(
    f"eigenvalues from {values.min():.2g} to {values.max():.2g}; in float64 from {lost.min():.2g}"
)

# %%
# Digits of each entry. Of the chain itself
# ``2 r X[i, j] = (i == j) + X[i + 1, j] + X[i, j + 1]``.

known = np.full((N + 1, N + 1), Fraction(0))
for i, j in itertools.product(reversed(range(N)), repeat=2):
    known[i, j] = (Fraction(i == j) + known[i + 1, j] + known[i, j + 1]) / (2 * RATE)
exact = mirror @ known[:N, :N] @ mirror
found = X.to_fractions()
errors = [abs(float(y / x - 1)) for x, y in zip(exact.ravel(), found.ravel(), strict=True)]
print(f"largest relative error of an entry {max(errors):.0e}")

# %%
# A disturbance of the first stage: the state grows by powers of ten, the Lyapunov function falls.

times = np.linspace(0.0, 600.0, 121)
step = mdqr.linalg.expm(A * 5)
state = mdqr.array(mirror[0], precision="od")
size, function, wrong = [], [], []
for _ in times:
    size.append(float(mdqr.linalg.norm(state)))
    function.append(state @ X @ state)
    wrong.append(float(state.to_numpy() @ alone @ state.to_numpy()))
    state = step @ state

fig, ax = plt.subplots(figsize=(5, 4))
ax.semilogy(times, size, label="norm of the state")
ax.semilogy(times, [float(each) for each in function], label="$x^T X x$, od")
ax.semilogy(times, np.abs(wrong), ":", label="its modulus, X of float64")
ax.set(xlabel="time", title="A disturbance of a stable chain")
ax.legend()
fig.tight_layout()
plt.show()

# %%
# What this page claims.

assert max(errors) < 1e-60
assert all(after < before for before, after in itertools.pairwise(function))
assert values.min() > 0 > lost.min()
