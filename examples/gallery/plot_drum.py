"""
The lowest tone of an L-shaped drum
===================================

At which frequency does a membrane over three unit squares sound? The eigenfunction is the
MathWorks logo; the corner that points inward keeps finite elements at a few digits.

The method of particular solutions of Fox, Henrici and Moler (1967), as Betcke and Trefethen
mended it (*Reviving the method of particular solutions*, 2005): Bessel functions
``J_v(sqrt(lambda) r) sin(v phi)``, ``v = 2k / 3``, solve the equation and vanish on both sides of
that corner. Where lambda is an eigenvalue a combination vanishes on the other sides as well: the
least singular value of the rows of an orthogonal basis that belong to the boundary, as a function
of lambda, touches zero. How near it comes, and so the digits, is what the precision allows.

Reference: 104 digits in OEIS `A262701 <https://oeis.org/A262701>`_, by R. S. Jones, 2015
(*Computing ultra-precise eigenvalues of the Laplacian within polygons*, arXiv:1602.08636).
"""

import matplotlib.pyplot as plt
import numpy as np

import mdqr
from mdqr.linalg import norm, qr, solve_triangular, svdvals

EIGENVALUE = "9.63972384402194105271145926236482315626728952582190645610957970056403564786337"


def points(count, precision):
    """Half of the boundary, in Chebyshev points of each side, and as many points inside."""
    k = mdqr.arange(count, precision=precision)
    t, one = (1 - mdqr.cospi((k + 0.5) / count)) / 2, mdqr.ones_like(k)
    angles, radii = 3 * mdqr.sqrt(2 * (k + 1)) % 1 * 0.75, mdqr.sqrt(3 * (k + 1)) % 1 * 0.9
    x = mdqr.concatenate([one, 1 - t, -t, radii * mdqr.cospi(angles)])
    y = mdqr.concatenate([t, one, one, radii * mdqr.sinpi(angles)])
    return mdqr.hypot(x, y), mdqr.arctan2(y, x)


def basis(count, square, r, phi):
    """Functions by columns, those that are even about the diagonal, up to factors."""
    v = mdqr.array(4 * np.arange(count) + 2, precision=r.precision) / 3
    argument = (-square / 4 * r * r)[:, None]
    total = term = mdqr.ones((len(r), count), precision=r.precision)
    for j in range(1, 42):
        term = term * argument * (1 / (j * (v + j)))
        total = total + term
    return total * mdqr.exp(v * mdqr.log(r)[:, None]) * mdqr.sin(v * phi[:, None])


def boundary(count, square, precision):
    """The boundary's rows of an orthogonal basis."""
    matrix = basis(count, mdqr.array(square, precision=precision), *points(count, precision))
    return qr(matrix / abs(matrix).max(axis=0)).Q[: 3 * count]


def tension(rows):
    """The least singular value, if it is far below the others: inverse iteration."""
    r = qr(rows, mode="r")
    x = mdqr.ones(len(r), precision=r.precision)
    for _ in range(3):
        y = solve_triangular(r, x / norm(x), trans="T")
        x = solve_triangular(r, y)
    return norm(y) / norm(x)


def lowest(count, guess, precision):
    """Where the square of the tension is least, by parabolas: Newton's method."""
    guess = mdqr.array(guess, precision=precision)
    width = float(guess.precision.eps) ** 0.5
    while True:
        each = (boundary(count, guess + side * width, precision) for side in (-1, 0, 1))
        near = [tension(rows) ** 2 for rows in each]
        step = width * (near[0] - near[2]) / (2 * (near[0] - 2 * near[1] + near[2]))
        guess = guess + step
        if abs(step) < width:
            return guess


# %%
# The curve in float64 finds the eigenvalues of all functions that are even about the diagonal.

squares = np.linspace(2, 52, 101)
curve = np.array([float(svdvals(boundary(20, square, "d"))[-1]) for square in squares])
found = squares[curve[:30].argmin()]

# %%
# The minimum of its square is the eigenvalue, by parabolas. Each function more gives a third of a
# digit, until the precision ends: that is at 15 digits in float64 and at 31 in double-double. In
# quad-double 176 functions have 61, and are as many as a page has time for. Each computation starts
# from what the one before found.

exact = mdqr.array(EIGENVALUE, precision="od")
functions = {"d": range(8, 57, 8), "dd": range(8, 105, 8), "qd": (88, 112, 144, 176)}
errors = {}
for precision, counts in functions.items():
    errors[precision] = {}
    for count in counts:
        found = lowest(count, found, precision)
        errors[precision][count] = float(abs(found - exact))
    print(f"{precision:>2}: {found.to_strings(digits=62)}, error {errors[precision][count]:.0e}")
print("   ", EIGENVALUE[:63], "is the reference")

# %%
# The curve touches zero at each eigenvalue; the first is the logo's, the second is ``2 pi^2``,
# that of a single square. The digits of the first, by the number of functions.

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4))
left.plot(squares, curve, ".-")
left.axvline(float(exact), color="black", linestyle=":")
left.set(xlabel=r"$\lambda$", ylabel=r"$\sigma_{\min}(\lambda)$", ylim=0)
for precision, each in errors.items():
    right.semilogy(list(each), list(each.values()), "o-", markersize=4, label=precision)
right.set(xlabel="functions", ylabel="error of the eigenvalue")
right.legend()
fig.tight_layout()
plt.show()

# %%
# What this page claims: 60 digits.

assert errors["qd"][176] < 1e-60
