"""
Gauss rules for an awkward weight
=================================

Which n points and weights integrate ``-log(x) p(x)`` over (0, 1) exactly, for all polynomials p
of degree up to ``2n - 1``? The moments ``1 / (k + 1)^2`` of the weight determine them, and every
textbook warns of using them: the Hankel matrix of 2n moments has a condition that grows about
thirtyfold from one n to the next.

That is a question of digits. Golub and Welsch (*Calculation of Gauss quadrature rules*, 1969)
take a tridiagonal matrix from the Cholesky factor of the moments, the nodes from its eigenvalues
and the weights from its eigenvectors: n = 14 is the end in float64, octo-double uses moments as
they are.

Reference: the rule of four points in table 25.7 of Abramowitz and Stegun, *Handbook of
Mathematical Functions*, 1964; and the integral of ``-log(x) / (1 + x)``, ``pi^2 / 12``, the
alternating sum of the moments (*NIST Digital Library of Mathematical Functions*, `25.2.3
<https://dlmf.nist.gov/25.2.E3>`_).
"""

import matplotlib.pyplot as plt
import numpy as np

import mdqr
from mdqr.linalg import LinAlgError, cholesky, eigh

NODES, WEIGHTS = [0.041448, 0.245275, 0.556165, 0.848982], [0.383464, 0.386875, 0.190435, 0.039225]


def gauss(n, precision):
    """Nodes and weights of n points."""
    k = np.arange(2 * n + 1)
    moments = 1 / mdqr.array((k + 1) ** 2, precision=precision)
    r = cholesky(moments[np.add.outer(k[: n + 1], k[: n + 1])], upper=True)
    diagonal = mdqr.diagonal(r)
    ratio = mdqr.diagonal(r, 1) / diagonal[:-1]
    alpha = mdqr.diff(ratio, prepend=mdqr.zeros(1, precision=precision))
    beta = diagonal[1:-1] / diagonal[:-2]
    nodes, vectors = eigh(mdqr.diag(alpha) + mdqr.diag(beta, 1) + mdqr.diag(beta, -1))
    return nodes, moments[0] * vectors[0] ** 2


# %%
# Nodes and weights of four points: the handbook prints six decimals.

for found, printed in zip(gauss(4, "od"), (NODES, WEIGHTS), strict=True):
    print(*found.to_strings(digits=30), sep="\n")
    assert abs(found.to_numpy() - printed).max() < 6e-7

# %%
# Errors of the integral fall by 34 with each point more, in every precision that still has a
# rule. Where moments have lost all digits their matrix is no longer positive definite, and
# Cholesky's method says so. It does not say how many digits of the rule were lost before.

exact = (4 * mdqr.arctan(mdqr.array(1, precision="od"))) ** 2 / 12
sizes = (*range(2, 32, 2), *range(32, 73, 4))
precisions = ("d", "dd", "qd", "od")
errors, defects = ({p: [] for p in precisions} for _ in range(2))
for p in precisions:
    for n in sizes:
        try:
            nodes, weights = gauss(n, p)
        except LinAlgError as error:
            print(f"{p:>2}, n = {n:2}: {error}")
            break
        errors[p].append(float(abs((weights / (1 + nodes)).sum() - exact)))
        defects[p].append(float(abs(4 * n**2 * (weights * nodes ** (2 * n - 1)).sum() - 1)))

# %%
# A rule of n points must be exact for ``x^(2n - 1)``: that checks itself, without a reference.
# All lose half a digit with each point, from the first one on.

for p in precisions:
    print(f"{p:>2}: {len(errors[p]):2} rules, best error {min(errors[p]):.0e}, ", end="")
    print(f"largest defect at the last moment {max(defects[p]):.0e}")

# %%
# The errors of the integral, and what each rule leaves of the moment that it should give exactly.

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4), sharex=True)
for p in precisions:
    shown = sizes[: len(errors[p])]
    left.semilogy(shown, errors[p], "o-", markersize=4, label=p)
    right.semilogy(shown, np.where(defects[p], defects[p], np.nan), "o-", markersize=4, label=p)
left.set(xlabel="points", ylabel="error of the integral")
right.set(xlabel="points", ylabel=r"relative error of the moment of $x^{2n-1}$")
left.legend()
fig.tight_layout()
plt.show()

# %%
# What this page claims: 110 digits of the integral from 72 points.

print(f"n = {sizes[len(errors['od']) - 1]}: error {errors['od'][-1]:.0e}")
assert errors["od"][-1] < 1e-110
