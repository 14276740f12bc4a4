"""
The exponentials that a table is the sum of
===========================================

Which exponentials, and how much of each, are in a table of values? Lanczos (*Applied Analysis*,
1956) showed how little such tables say: 24 values of ``0.0951 e^-t + 0.8607 e^-3t + 1.5576
e^-5t``, rounded to two decimals, are fitted as well by two other exponentials.

Prony's method of 1795 is exact for exact values: they satisfy one linear recurrence, whose
characteristic polynomial has the roots ``e^(-rate / 20)``. Which digits of the answer are right
is decided by what the data were rounded to first, and by the precision of the solver after that.

Reference: `NIST's Lanczos1 <https://www.itl.nist.gov/div898/strd/nls/data/lanczos1.shtml>`_, the
function above to 14 digits, with the amplitudes and rates as certified values.
"""

import matplotlib.pyplot as plt
import numpy as np

import mdqr
from mdqr.linalg import lstsq, roots

AMPLITUDES, RATES = ["0.0951", "0.8607", "1.5576"], [1, 3, 5]
COUNT, STEPS = 24, 20  # values, and steps of unit time


def table(digits):
    """The values, rounded to so many digits."""
    t = mdqr.arange(COUNT, precision="od") / STEPS
    amplitudes, rates = (mdqr.array(x, precision="od") for x in (AMPLITUDES, RATES))
    values = mdqr.exp(-t[:, None] * rates) @ amplitudes
    return mdqr.array(values.to_strings(digits=digits), precision="od")


def prony(y, precision):
    """Amplitudes and rates of three exponentials."""
    y = y.astype(precision)
    hankel = y[np.add.outer(np.arange(COUNT - 3), np.arange(4))]
    recurrence = lstsq(hankel[:, :3], hankel[:, 3]).x
    found = roots([1, *(-recurrence[::-1])]).roots.real
    amplitudes = lstsq(found ** np.arange(COUNT)[:, None], y).x
    return amplitudes, -STEPS * mdqr.log(found)


# %%
# Of the 14 digits that NIST gives four are lost to the problem, and float64 is as good as any.

amplitudes, rates = prony(table(14), "od")
for amplitude, rate in zip(amplitudes, rates, strict=True):
    print(f"{amplitude.to_strings(digits=12)} exp(-{rate.to_strings(digits=12)} t)")

# %%
# With more digits of data the solver decides: float64 stays where it was, each precision goes on
# until its own digits end.

exact = mdqr.array(AMPLITUDES, precision="od"), mdqr.array(RATES, precision="od")
digits = (5, 8, 11, 14, 20, 26, 32, 40, 50, 60, 70, 80, 95, 110, 125)
errors = {p.name: [] for p in (mdqr.d, mdqr.dd, mdqr.qd, mdqr.od)}
for count in digits:
    y = table(count)
    for name, each in errors.items():
        found = prony(y, name)
        each.append(max(float(abs(x - z).max()) for x, z in zip(found, exact, strict=True)))
for name, each in errors.items():
    print(f"{name:>2}:", " ".join(f"{error:.0e}" for error in each))

# %%
# The errors of the answer over the digits of the data; and what Lanczos showed: by his table of
# two decimals nobody can tell the three exponentials from two, ``2.202 e^-4.45t + 0.305
# e^-1.58t``.

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4))
for name, each in errors.items():
    left.semilogy(digits, each, "o-", markersize=4, label=name)
left.set(xlabel="digits of the data", ylabel="largest error of amplitudes and rates")
left.legend()
t = np.arange(COUNT) / STEPS
three = table(16).to_numpy()
two = 2.202 * np.exp(-4.45 * t) + 0.305 * np.exp(-1.58 * t)
for label, fitted in {"three exponentials": three, "two exponentials": two}.items():
    right.plot(t, three.round(2) - fitted, "o", label=label)
right.set(xlabel="t", ylabel="data of two decimals less the function", ylim=(-0.015, 0.015))
right.legend()
fig.tight_layout()
plt.show()

# %%
# What this page claims: 110 digits of amplitudes and rates from 125 of the data, where
# float64 has eleven.

assert errors["od"][-1] < 1e-110
assert errors["d"][-1] > 1e-13
