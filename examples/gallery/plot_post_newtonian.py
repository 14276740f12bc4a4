"""
Post-Newtonian coefficients out of numbers
==========================================

Can one read ``41 pi^2/32 - 121/3`` off a table of numbers? The redshift of a small body on a
circular orbit about a black hole is a series in y, the mass over the radius, with half-integer
powers and logarithms. Shah, Friedman and Whiting (2014) computed it at large radii to more than two
hundred digits, fitted the series, and recognised exact coefficients: rational numbers times powers
of pi, logarithms and Euler's constant.

Reference: the analytic series to order 21.5, C. Kavanagh, A. C. Ottewill, B. Wardell (2015), as in
`PostNewtonianSelfForce <https://github.com/BlackHolePerturbationToolkit/PostNewtonianSelfForce>`_.
"""

import matplotlib.pyplot as plt
import mpmath
import numpy as np

import mdqr
from mdqr.linalg import lstsq

mpmath.mp.dps = 140
pi2, gamma, log = mpmath.pi**2, mpmath.euler, mpmath.log
EXACT = {  # by the power of y and that of log(y)
    (1, 0): -1,
    (2, 0): -2,
    (3, 0): -5,
    (4, 0): mpmath.mpf(-121) / 3 + 41 * pi2 / 32,
    (5, 0): (-592384 - 196608 * gamma + 10155 * pi2 - 393216 * log(2)) / 7680,
    (5, 1): mpmath.mpf(-64) / 5,
    (6, 0): (205680256 + 7342080 * gamma - 31680075 * pi2 + 28968960 * log(2) - 13996800 * log(3))
    / 403200,
    (6, 1): mpmath.mpf(956) / 105,
    (6.5, 0): -13696 * mpmath.pi / 525,
}

# %%
# The table: 70 radii from 10^4 to 10^12, with all digits of each precision. In place of a solver of
# the perturbation equations stand the published terms to order 5.5 and, beyond them, 74 terms with
# coefficients drawn at random that grow with the order. The fit knows none of the coefficients.

orders = np.arange(7, 22.1, 0.5)
later = [(k, j) for k in orders for j in range(1 + (k == int(k)) + (k >= 9))]
draws = np.random.default_rng(1).uniform(-1, 1, len(later))
terms = EXACT | {term: 3 ** term[0] * x for term, x in zip(later, draws, strict=True)}
radii = np.array([mpmath.mpf(10) ** (4 + mpmath.mpf(8 * k) / 69) for k in range(70)])
numbers = sum(
    c * radii ** -mpmath.mpf(k) * [log(1 / r) ** j for r in radii] for (k, j), c in terms.items()
)
print("at 10^4:", mpmath.nstr(numbers[0], 60))

# %%
# A least-squares fit of all terms up to some power, from float64 of four terms and from octo-double
# of 53. The columns span 200 decades. What is left out and the rounding of the numbers are their
# errors, so they say the weights.


def fitted(precision, highest):
    """The coefficients by their powers of y and log(y)."""
    table, y = mdqr.array(numbers, precision=precision), 1 / mdqr.array(radii, precision=precision)
    basis = [term for term in terms if term[0] <= highest]
    columns = [mdqr.sqrt(y) ** int(2 * k) * mdqr.log(y) ** j for k, j in basis]
    error = y ** (highest + 1) + y * precision.eps
    fit = lstsq(mdqr.stack(columns, axis=1), table, weights=1 / error**2)
    print(f"{precision.name}: {len(basis)} terms, condition {fit.info.condition:.0e}")
    return dict(zip(basis, fit.x.to_mpmath(), strict=True))


def shared_digits(x, y, most=127):
    """In how many decimal digits two numbers agree."""
    return float(-mpmath.log10(abs(x / y - 1) + mpmath.mpf(10) ** -most))


fits, digits = {}, {}
for precision, highest in ((mdqr.d, 4), (mdqr.dd, 8), (mdqr.qd, 12), (mdqr.od, 16)):
    fits[precision.name] = found = fitted(precision, highest)
    digits[precision.name] = {
        term: shared_digits(found[term], exact, precision.digits)
        for term, exact in EXACT.items()
        if term in found
    }
    shown = " ".join(f"{value:5.1f}" for value in digits[precision.name].values())
    print(f"    right digits: {shown}")

# %%
# PSLQ finds the integers between a coefficient and the constants that may be in it. It takes as
# many digits as do not change when the fit has a power less, and finds nothing by chance where
# these are many more than the integers have.


def recognised(value, digits, constants):
    """A combination of the constants with rational coefficients, as text, and its digits."""
    values = [value, *(known[name] for name in constants)]
    tolerance = mpmath.mpf(10) ** (8 - digits)  # the errors are multiplied by the integers
    relation = mpmath.pslq(values, tol=tolerance, maxcoeff=10**10, maxsteps=10**5)
    if relation is None:
        return "nothing"
    pairs = zip(relation[1:], constants, strict=True)
    sign = -1 if relation[0] > 0 else 1
    text = " ".join(f"{sign * c:+}*{name}" for c, name in pairs if c).replace("*1 ", " ")
    return f"({text}) / {abs(relation[0])}"


known = {"1": mpmath.mpf(1), "pi^2": pi2, "gamma": gamma, "log(2)": log(2), "log(3)": log(3)}
names = tuple(known)
answers = {}
before = fitted(mdqr.od, 15)
for term, constants in (((4, 0), names[:2]), ((5, 0), names[:4]), ((6, 0), names)):
    reach = int(shared_digits(before[term], fits["od"][term]))
    answers[term] = recognised(fits["od"][term], reach, constants)
    print(f"y^{term[0]}, {reach} digits: {answers[term]}")

# %%
# Each power of y costs ten digits or so, and there are no more than the numbers have.

fig, ax = plt.subplots(figsize=(7, 4.5))
for precision, each in digits.items():
    ax.plot(
        [k for k, j in each if not j], [each[k, j] for k, j in each if not j], "o-", label=precision
    )
ax.set(xlabel="power of y", ylabel="right digits of the coefficient")
ax.legend(title="numbers and fit in")
plt.show()

# %%
# What this page claims: 63 digits of the ninth coefficient, and three exact ones. Float64 has four
# digits of the first of these.

assert min(digits["od"].values()) > 63
assert answers == {
    (4, 0): "(-3872 +123*pi^2) / 96",
    (5, 0): "(-592384 +10155*pi^2 -196608*gamma -393216*log(2)) / 7680",
    (6, 0): "(+205680256 -31680075*pi^2 +7342080*gamma +28968960*log(2) -13996800*log(3)) / 403200",
}
