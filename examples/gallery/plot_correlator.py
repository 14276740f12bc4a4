"""
Masses out of a correlator
==========================

A correlator of lattice field theory is a sum of decaying exponentials whose rates are masses.
Neighbouring times have nearly the same noise, so that the fit needs the full covariance matrix of
the data: ``sigma``, of which ``curve_fit`` takes the Cholesky factor. Its condition number and
that of the exponentials multiply, and in float64 the third state is lost.

The data are made: three states, 24 times, noise of relative size 1e-9 with correlations of
``exp(-(t - t')^2 / 8)``. The fit in octo-double is the reference.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
import scipy.optimize

import mdqr

TIMES, STATES = 24, 3
AMPLITUDES, MASSES = ["1.0", "0.7", "0.4"], ["0.21", "0.48", "0.83"]


def correlator(m, t, *b):
    """Return the sum of exponentials; amplitudes and masses take turns."""
    return sum(b[2 * k] * m.exp(-b[2 * k + 1] * t) for k in range(STATES))


# %%
# Data with the noise of the covariance matrix, drawn once in octo-double.

t = mdqr.arange(TIMES, precision="od")
true = [
    mdqr.array(v, precision="od") for pair in zip(AMPLITUDES, MASSES, strict=True) for v in pair
]
mean = correlator(mdqr, t, *true)
gap = t[:, None] - t
size = mean * mdqr.array("1e-9", precision="od")
covariance = size[:, None] * size * mdqr.exp(-(gap**2) / 8)
noise = mdqr.linalg.cholesky(covariance) @ mdqr.random.normal(TIMES, precision="od", rng=4)
data = mean + noise
s = np.linalg.svd(
    covariance.to_numpy() / np.outer(size.to_numpy(), size.to_numpy()), compute_uv=False
)
print(f"condition of the correlation matrix {s[0] / s[-1]:.1e}")

# %%
# The fit in three precisions, from the same start; and SciPy's, with the same matrix.

start = ["0.9", "0.2", "0.8", "0.5", "0.5", "0.9"]
fits = {
    p: mdqr.optimize.curve_fit(
        lambda t, *b: correlator(mdqr, t, *b), t, data, start, sigma=covariance,
        absolute_sigma=True, precision=p,
    )
    for p in ("dd", "qd", "od")
}  # fmt: skip
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    plain, _ = scipy.optimize.curve_fit(
        lambda t, *b: correlator(np, t, *b), t.to_numpy(), data.to_numpy(),
        np.array(start, dtype=float), sigma=covariance.to_numpy(), absolute_sigma=True,
        maxfev=10**5,
    )  # fmt: skip
exact = fits["od"].popt
deviations = mdqr.sqrt(fits["od"].pcov[np.arange(6), np.arange(6)])
for k in range(STATES):
    a, m = exact[2 * k], exact[2 * k + 1]
    print(f"a = {a.to_strings(12)} +- {deviations[2 * k].to_strings(2)}", end="   ")
    print(f"m = {m.to_strings(12)} +- {deviations[2 * k + 1].to_strings(2)}   SciPy "
          f"{plain[2 * k]:.6f} {plain[2 * k + 1]:.6f}")  # fmt: skip
errors = {p: float((abs(fits[p].popt / exact - 1)).max()) for p in ("dd", "qd")}
errors["float64"] = float(np.max(np.abs(plain / exact.to_numpy() - 1)))
for name, value in errors.items():
    print(f"{name:8} relative error of the worst parameter {value:.1e}")

# %%
# Data over the fit, in standard deviations of each; and the effective mass, which the first
# state dominates only at the end.

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4))
residual = (data - correlator(mdqr, t, *exact)) / size
left.plot(t.to_numpy(), residual.to_numpy(), "o-", markersize=4)
left.axhline(0, color="grey", linewidth=0.8)
left.set(xlabel="t", ylabel="(data - fit) / standard deviation")
effective = mdqr.log(data[:-1] / data[1:])
right.plot(t.to_numpy()[:-1], effective.to_numpy(), "k.", label="log C(t) / C(t + 1)")
for k in range(STATES):
    right.axhline(float(exact[2 * k + 1]), color=f"C{k}", label=f"state {k + 1}")
right.set(xlabel="t", ylabel="mass")
right.legend()
figure.tight_layout()
plt.show()

# %%
# What this page claims: 20 digits in double-double, and 50 in quad-double.

assert errors["dd"] < 1e-20
assert errors["qd"] < 1e-50
