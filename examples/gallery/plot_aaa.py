"""
Poles of the gamma function out of a hundred values
===================================================

The gamma function is known at 100 points between -1.5 and 1.5. Where are its poles, far outside of
them? The AAA algorithm fits a rational function, and its poles are the answer: 0, -1, -2 and so on.
In float64 it ends when the values are met to 13 digits, and shows few poles. With more digits it
goes on.

Reference: the poles are the integers ``-k``, and the residues ``(-1)^k / k!``.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.interpolate
import scipy.special

import mdqr

# %%
# The same points in each precision; SciPy has the algorithm for float64.

PRECISIONS = ("dd", "qd", "od")
K = range(13)


def digits(found, exact):
    """Return the correct digits of the nearest number to each exact one."""
    found = mdqr.array(found, precision="od")
    nearest = [abs(found - each).min() for each in exact]
    return [float(min(120.0, max(0.0, -mdqr.log10(each)))) for each in nearest]


points = np.linspace(-1.5, 1.5, 100)
alone = scipy.interpolate.AAA(points, scipy.special.gamma(points))
right = {"SciPy": digits(alone.poles(), [-k for k in K])}
support = {}
for p in PRECISIONS:
    x = mdqr.linspace("-1.5", "1.5", 100, precision=p)
    r = mdqr.approx.AAA(x, mdqr.gamma(x))
    right[p] = digits(r.poles(), [-k for k in K])
    support[p] = len(r.support_points)
    print(f"{p}: {support[p]} support points, digits of the poles", *(f"{d:.0f}" for d in right[p]))
print("SciPy: digits of the poles", *(f"{d:.0f}" for d in right["SciPy"]))

# %%
# Digits of the poles, from the nearest to the points to the farthest.

fig, ax = plt.subplots(figsize=(5, 4))
for name, found in right.items():
    ax.plot([-k for k in K], found, "o-", markersize=4, label=name)
ax.axvspan(-1.5, 0.3, color="0.9", zorder=0)
ax.set(xlabel="pole", ylabel="correct digits", title="Poles of the gamma function")
ax.legend()
fig.tight_layout()
plt.show()

# %%
# What this page claims: octo-double has 20 digits of the pole at -5, where float64 has none.

assert right["od"][5] > 20 > 1 > right["SciPy"][5]
