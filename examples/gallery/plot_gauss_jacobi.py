"""
A Gauss-Jacobi rule of 400 points
=================================

Gauss rules of many points are found by eigenvalues or by asymptotic formulas. Their weights may
differ by many powers of ten: for ``(1 - x)^60`` those next to 1 are tiny. How many digits do they
have, relative to themselves?

Reference: the rule of 400 points must integrate all polynomials of degree up to 799 exactly, and
`mdqr.quadrature.gauss` proves a bound of each node and weight.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.special

import mdqr

N, ALPHA, BETA = 400, 60, "0.5"

# %%
# SciPy's rule in float64, and one with 63 digits, each weight with a proven bound.

nodes, weights = scipy.special.roots_jacobi(N, ALPHA, float(BETA))
rule = mdqr.quadrature.gauss("jacobi", N, alpha=ALPHA, beta=BETA, precision="qd")
print("weights from", f"{float(rule.weights.min()):.0e} to {float(rule.weights.max()):.0e}")
print(
    "digits of each node and weight, proven:", rule.info.digits.min(), rule.info.weight_digits.min()
)

# %%
# The relative errors of float64: the smallest weights are far below the rounding of the largest.

errors = abs(weights / rule.weights - 1).to_numpy()
middle, worst = -np.log10([np.median(errors), errors.max()])
print(f"float64: {middle:.0f} digits in the median, {worst:.0f} in the worst weight")

# %%
# The moment of ``((1 + x) / 2)^799`` is the last that the rule must give, a quotient of gamma
# functions. It needs all nodes next to 1.

half = (1 + rule.nodes) / 2
a, b = mdqr.array(ALPHA, precision="od"), mdqr.array(BETA, precision="od")
degree = 2 * N - 1
exact = mdqr.exp(
    (a + b + 1) * mdqr.log(mdqr.array(2, precision="od"))
    + mdqr.lgamma(a + 1)
    + mdqr.lgamma(b + degree + 1)
    - mdqr.lgamma(a + b + degree + 2)
)
found = (rule.weights * half**degree).sum()
defect = float(abs(found / exact - 1))
alone = abs((weights * ((1 + nodes) / 2) ** degree).sum() / float(exact) - 1)
print(f"relative error of the last moment: {defect:.0e}; in float64 {alone:.0e}")

# %%
# Weights, and how many of their digits float64 has.

fig, (above, below) = plt.subplots(2, 1, figsize=(5, 5), sharex=True)
above.semilogy(rule.nodes.to_numpy(), rule.weights.to_numpy(), ".", markersize=3)
above.set(ylabel="weight", title="400 points for $(1 - x)^{60} (1 + x)^{1/2}$")
below.semilogy(nodes, errors, ".", markersize=3, label="float64")
below.axhline(10.0 ** -rule.info.weight_digits.min(), color="C1", label="qd, bound")
below.set(xlabel="node", ylabel="relative error of the weight")
below.legend()
fig.tight_layout()
plt.show()

# %%
# What this page claims: 60 digits of the last moment.

assert defect < 1e-60
