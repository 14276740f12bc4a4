"""
An orbit out of an hour
=======================

A body that is seen for an hour has moved little, and its distance follows from how little the
motion differs from a straight line. The normal matrix of such a fit is so ill-conditioned that
its inverse in float64, the covariance of the orbit, is wrong by powers of ten, and has negative
variances: no error bars at all. The same happens to satellites that are tracked for a minute, and
the usual cures change the problem.

Here the body and the observer move in one plane around the Sun, times are in days, distances in
astronomical units, and 40 directions are given to 60 digits, so that the orbit that made them is
the reference.
"""

import matplotlib.pyplot as plt
import numpy as np

import mdqr

PRECISION = mdqr.qd
MU = mdqr.array("2.9591220828559109e-4", precision="od")  # of the Sun, in AU^3 / day^2
TRUE = mdqr.array(["1.9", "0.3", "-0.0021", "0.0123"], precision="od")  # position and velocity

# %%
# Kepler's problem: the eccentric anomaly by Newton's method, then position from the coefficients f
# and g of Lagrange. Every line broadcasts, so that one call gets an orbit a row.


def position(t, x, y, u, v):
    """Return the place at a time after the start, for a state of position and velocity."""
    mu = MU.astype(x.precision)
    r = mdqr.sqrt(x * x + y * y)
    a = 1 / (2 / r - (u * u + v * v) / mu)
    n = mdqr.sqrt(mu / a) / a
    s = (x * u + y * v) / mdqr.sqrt(mu * a)
    change = n * t
    for _ in range(9):
        sine, cosine = mdqr.sin(change), mdqr.cos(change)
        wrong = change - (1 - r / a) * sine + s * (1 - cosine) - n * t
        change = change - wrong / (1 - (1 - r / a) * cosine + s * sine)
    f = 1 - a / r * (1 - mdqr.cos(change))
    g = t - (change - mdqr.sin(change)) / n
    return f * x + g * u, f * y + g * v


def direction(t, x, y, u, v):
    """Return the direction in which an observer on a circle of radius 1 sees the body."""
    mu = MU.astype(x.precision)
    turned = mdqr.sqrt(mu) * t
    east, north = position(t, x, y, u, v)
    return mdqr.arctan2(north - mdqr.sin(turned), east - mdqr.cos(turned))


# %%
# Forty directions within an hour, and fits from a start that is wrong by a hundredth.

t = mdqr.arange(40, precision="od") / (24 * 39)
seen = direction(t, *TRUE)
start = TRUE * mdqr.array(["1.01", "1.02", "0.98", "0.99"], precision="od")
fit = mdqr.optimize.curve_fit(direction, t, seen, start, precision=PRECISION)
error = abs(fit.popt - TRUE)
for name, value, digits in zip("xyuv", fit.popt, fit.info.digits, strict=True):
    print(f"{name} = {value.to_strings(digits=25)}   {digits:.1f} digits")
print(f"condition of the Jacobian {fit.info.condition:.1e}")

# %%
# The covariance for directions good to 0.1 arc seconds, by the inverse of the normal matrix: in
# float64, and in quad-double.

sigma = 0.1 / 206265
jacobian = fit.result.jac
in_float64 = np.linalg.inv(jacobian.to_numpy().T @ jacobian.to_numpy()) * sigma**2
in_qd = mdqr.linalg.inv(jacobian.T @ jacobian) * sigma**2
variances = np.diag(in_float64), np.diag(in_qd.to_numpy())
for name, wrong, right in zip("xyuv", *variances, strict=True):
    print(f"variance of {name}: float64 {wrong:10.2e}   quad-double {right:10.2e}")

# %%
# Arcs from a minute to a month: the condition number squared is what float64 loses. Below are the
# standard errors of x; crosses at the bottom are arcs for which float64 has a negative variance.

hours = np.geomspace(1 / 60, 720, 15)
names = ("float64", "quad-double")
deviations = {name: [] for name in names}
negative = []
for span in hours:
    times = mdqr.arange(40, precision="qd") * float(span) / (24 * 39)
    steps = mdqr.array(np.diag(2.0 ** -np.array([100, 100, 105, 105])), precision="od")
    state = TRUE.astype("od")
    rows = [
        (direction(times.astype("od"), *(state + step)) - direction(times.astype("od"), *state))
        / step.sum()
        for step in steps
    ]
    a = mdqr.stack(rows).T.astype("qd")
    a = a * np.array([1, 1, 0.01, 0.01])
    plain = np.diag(np.linalg.inv(a.to_numpy().T @ a.to_numpy()))
    negative += [span] if plain.min() < 0 else []
    deviations["float64"].append(np.sqrt(plain[0]) * sigma if plain.min() > 0 else np.nan)
    deviations["quad-double"].append(float(mdqr.sqrt(mdqr.linalg.inv(a.T @ a)[0, 0])) * sigma)
figure, ax = plt.subplots(figsize=(8, 4.5))
ax.loglog(hours, deviations["quad-double"], "C0o-", label="quad-double")
ax.loglog(hours, deviations["float64"], "ks", markerfacecolor="none", label="float64")
ax.plot(negative, np.full(len(negative), 0.02), "rx", transform=ax.get_xaxis_transform(),
        label="float64, negative")  # fmt: skip
print("negative variances at hours", np.round(negative, 3).tolist())
ax.set(xlabel="hours of observation", ylabel="standard error of x, AU")
ax.legend()
figure.tight_layout()
plt.show()

# %%
# What this page claims: the orbit to thirty digits and within its bounds, and a negative
# variance in float64.

assert (error.to_numpy() <= fit.info.error_bound).all()
assert float((error / abs(TRUE)).max()) < 1e-30
assert negative
assert all(np.isfinite(deviations["quad-double"]))
