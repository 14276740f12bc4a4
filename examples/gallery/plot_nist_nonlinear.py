"""
Certified fits of NIST
======================

A fit that is not linear in its parameters ends where its steps become small, and that may be far
from the minimum. For 27 sets of data NIST publishes the answers to 11 digits: here are five
short ones, each from two starting points, by SciPy and by ``mdqr.optimize.curve_fit``.

Reference: NIST, `Nonlinear Regression <https://www.itl.nist.gov/div898/strd/nls/nls_main.shtml>`_.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
import scipy.optimize

import mdqr

# %%
# Data and starting points, and the certified parameters. A model takes the module of its functions:
# NumPy for SciPy, mdqr for digits.

SETS = {
    "Misra1a": (
        lambda m, x, a, b: a * (1 - m.exp(-b * x)),
        "10.07 14.73 17.94 23.93 29.61 35.18 40.02 44.82 50.76 55.05 61.01 66.40 75.47 81.78",
        "77.6 114.9 141.1 190.8 239.9 289.0 332.8 378.4 434.8 477.3 536.8 593.1 689.1 760.0",
        [["500", "0.0001"], ["250", "0.0005"]], ["238.94212918", "5.5015643181e-4"],
    ),
    "BoxBOD": (
        lambda m, x, a, b: a * (1 - m.exp(-b * x)), "109 149 149 191 213 224", "1 2 3 5 7 10",
        [["1", "1"], ["100", "0.75"]], ["213.80940889", "0.54723748542"],
    ),
    "Rat43": (
        lambda m, x, a, b, c, d: a / m.exp(m.log(1 + m.exp(b - c * x)) / d),
        "16.08 33.83 65.80 97.20 191.55 326.20 386.87 520.53 590.03 651.92 724.93 699.56 689.96 "
        "637.56 717.41", "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15",
        [["100", "10", "1", "1"], ["700", "5", "0.75", "1.3"]],
        ["699.64151270", "5.2771253025", "0.75962938329", "1.2792483859"],
    ),
    "MGH09": (
        lambda m, x, a, b, c, d: a * (x * x + x * b) / (x * x + x * c + d),
        "0.1957 0.1947 0.1735 0.1600 0.0844 0.0627 0.0456 0.0342 0.0323 0.0235 0.0246",
        "4 2 1 0.5 0.25 0.167 0.125 0.1 0.0833 0.0714 0.0625",
        [["25", "39", "41.5", "39"], ["0.25", "0.39", "0.415", "0.39"]],
        ["0.19280693458", "0.19128232873", "0.12305650693", "0.13606233068"],
    ),
    "MGH10": (
        lambda m, x, a, b, c: a * m.exp(b / (x + c)),
        "34780 28610 23650 19630 16370 13720 11540 9744 8261 7030 6005 5147 4427 3820 3307 2872",
        "50 55 60 65 70 75 80 85 90 95 100 105 110 115 120 125",
        [["2", "400000", "25000"], ["0.02", "4000", "250"]],
        ["0.0056096364710", "6181.3463463", "345.22363462"],
    ),
}  # fmt: skip


def right_digits(found, certified):
    """Return right digits of the worst parameter, at most the eleven that are certified."""
    exact = np.array(certified, dtype=float)
    error = np.max(np.abs(np.asarray(found, dtype=float) / exact - 1))
    return float(np.clip(-np.log10(max(error, 1e-11)), 0, 11))


# %%
# SciPy by its default method, and as carefully as it can be asked: scales of the Jacobian,
# derivatives of three points, and tolerances near the rounding errors.

CAREFUL = {"method": "trf", "x_scale": "jac", "jac": "3-point", "max_nfev": 10**5} | dict.fromkeys(
    ("xtol", "ftol", "gtol"), 1e-15
)
digits, claimed = {}, {}
for name, (model, y, x, starts, certified) in SETS.items():
    for k, start in enumerate(starts):
        in_float64 = [np.array(v.split(), dtype=float) for v in (x, y)]
        for who, options in {"scipy": {"maxfev": 10**5}, "scipy, careful": CAREFUL}.items():
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                try:
                    found, _ = scipy.optimize.curve_fit(
                        lambda x, *b, model=model: model(np, x, *b), *in_float64,
                        np.array(start, dtype=float), **options,
                    )  # fmt: skip
                except RuntimeError:
                    found = np.zeros(len(certified))
            digits[who, name, k] = right_digits(found, certified)
        exact = [mdqr.array(v.split(), precision=mdqr.qd) for v in (x, y)]
        fit = mdqr.optimize.curve_fit(lambda x, *b, model=model: model(mdqr, x, *b), *exact, start)
        digits["mdqr", name, k] = right_digits(fit.popt.to_numpy(), certified)
        claimed[name, k] = float(fit.info.digits.min())
who = ("scipy", "scipy, careful", "mdqr")
print(f"{'digits of 11':20}", *(f"{w:>15}" for w in who), f"{'mdqr claims':>15}")
for name in SETS:
    for k in range(2):
        cells = (f"{digits[w, name, k]:15.1f}" for w in who)
        print(f"{name}, start {k + 1:<10}", *cells, f"{claimed[name, k]:15.1f}")

# %%
# The digits of each fit.

places = [f"{name} {k + 1}" for name in SETS for k in range(2)]
figure, ax = plt.subplots(figsize=(9, 4.5))
for w, marker in zip(who, ("kx", "C1s", "C0o"), strict=True):
    ax.plot(places, [digits[w, n, k] for n in SETS for k in range(2)], marker, label=w)
ax.axhline(11, color="grey", linewidth=0.8)
ax.set(ylabel="right digits of the worst parameter", ylim=(-0.5, 12), yticks=range(0, 12, 2))
ax.tick_params(axis="x", rotation=60)
ax.legend(loc="lower center", ncols=3)
figure.tight_layout()
plt.show()

# %%
# What this page claims: all certified digits from every starting point, and more than 50 of each
# parameter.

assert min(digits["mdqr", n, k] for n in SETS for k in range(2)) > 10.3
assert min(claimed.values()) > 50
