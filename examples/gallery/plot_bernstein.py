"""
Bernstein's constant
====================

How well do polynomials approximate abs(x)? The best ones of degree 2n on [-1, 1] miss it by
``E(2n)``, and Bernstein showed in 1914 that ``2n E(2n)`` has a limit, near 0.282. He noted how near
that is to ``1 / (2 sqrt(pi)) = 0.28209...``, and for 70 years nobody knew better: best
approximations of one size give three digits, and only an extrapolation can tell.

Reference: 50 digits by R. S. Varga and A. J. Carpenter, *On the Bernstein conjecture in
approximation theory*, 1985; OEIS `A073001 <https://oeis.org/A073001>`_.
"""

import matplotlib.pyplot as plt
import numpy as np

import mdqr
import mdqr.plot
from mdqr.linalg import solve

REFERENCE = "0.28016949902386913303643649123067200004248213981236"


def chebyshev(x, n):
    """T(0), T(2), ..., T(2n) at x by columns, and their first two derivatives."""
    k = mdqr.array(2 * np.arange(n + 1), precision=x.precision)
    angle = mdqr.arccos(x)[:, None]
    sine, cosine = mdqr.sin(angle), x[:, None]
    value, first = mdqr.cos(k * angle), k * mdqr.sin(k * angle) / sine
    return value, first, (cosine * first - k**2 * value) / sine**2


def best_error(n, precision, x):
    """E(2n) by Remez' exchange, from n + 2 points where the error might be largest."""
    while True:
        signs = mdqr.array((-1.0) ** np.arange(n + 2), precision=precision)
        inner, first, second = chebyshev(x[1:-1], n)
        ends = mdqr.array([(-1.0) ** np.arange(n + 1), np.ones(n + 1)], precision=precision)
        table = mdqr.concatenate([ends[:1], inner, ends[1:]])
        solution = solve(mdqr.column_stack([table, signs]), x)
        coefficients = solution[:-1]
        # The points climb to the extrema of the error, by Newton's method for its derivative.
        slope, bend = 1 - first @ coefficients, second @ coefficients
        length = mdqr.minimum(
            abs(slope / bend), mdqr.minimum(x[2:] - x[1:-1], x[1:-1] - x[:-2]) / 4
        )
        step = length * mdqr.sign(slope * signs[1:-1] * solution[-1])
        x = mdqr.concatenate([x[:1], x[1:-1] + step, x[-1:]])
        if float(abs(step).max()) < precision.eps**0.5 / n**2:
            return abs(solution[-1]), x


# %%
# Points are those of a larger Chebyshev polynomial at first; each precision starts from what the
# one before found. Steps and exchanges double the digits, as all Newton's methods do.

degrees = np.arange(3, 97, 3)
precisions = (mdqr.d, mdqr.dd, mdqr.qd, mdqr.od)
scaled = {precision: [] for precision in precisions}
for n in degrees:
    points = np.sin(np.pi / 2 * np.arange(n + 2) / (n + 1))
    for precision in precisions:
        points = mdqr.array(points, precision=precision)
        error, points = best_error(n, precision, points)
        scaled[precision].append(2 * int(n) * error)

exact = mdqr.array(REFERENCE, precision="od")
for n, value in list(zip(degrees, scaled[mdqr.od], strict=True))[::5]:
    error = float(abs(value - exact))
    print(f"n = {n:2}: 2n E(2n) = {value.to_strings(digits=20)}, error {error:.0e}")

# %%
# ``2n E(2n)`` has an expansion in powers of ``1/n^2``: Richardson's extrapolation to 0, by
# polynomials through more and more values, takes one power after the other away. It multiplies the
# errors of the values by the size of its weights, so that float64 goes wrong after 10 digits or so.


def extrapolations(values):
    """The limit from the last value, two, three, ...: Neville's scheme."""
    x = 1 / mdqr.array(degrees**2, precision=values.precision)
    found = [values[-1]]
    for m in range(1, len(x)):
        values = (x[:-m] * values[1:] - x[m:] * values[:-1]) / (x[:-m] - x[m:])
        found.append(values[-1])
    return mdqr.stack(found)


found = {p.name: extrapolations(mdqr.stack(scaled[p])) for p in precisions}
for name, values in found.items():
    print(f"{name:>2}: best error {abs((values - exact).to_numpy()).min():.0e}")
limit, last_step = found["od"][-1], float(abs(found["od"][-1] - found["od"][-2]))
print("found    ", limit.to_strings(digits=75))
print("reference", REFERENCE)
print(f"last step of the extrapolation {last_step:.0e}")

# %%
# The steps of the extrapolations. The published digits end where octo-double goes on.

fig, ax = plt.subplots(figsize=(7, 4.5))
mdqr.plot.convergence(found, ax=ax)
ax.axhline(1e-50, color="black", linestyle=":", label="the published digits")
ax.set(xlabel="powers of 1/n^2 taken away", ylabel="step of the extrapolation")
ax.legend()
plt.show()

# %%
# What this page claims: all published digits, and that Bernstein's guess is wrong.

assert abs(limit - exact) < 2e-50
assert limit < 1 / (2 * mdqr.sqrt(mdqr.od.pi)) - 0.001
