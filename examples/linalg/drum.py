"""The lowest tone of an L-shaped drum, to 24 digits: the eigenvalue behind the MathWorks logo.

The method of particular solutions, as Betcke and Trefethen (2005) mended it: Bessel functions
``J_v(sqrt(lambda) r) sin(v phi)`` solve the equation and vanish on both sides of the corner that
points inward. Where lambda is an eigenvalue a combination vanishes on the other sides as well: the
least singular value of the rows of an orthogonal basis that belong to the boundary, as a function
of lambda, touches zero. How near it comes, and so the digits, is what the precision allows.

Reference: OEIS A262701.
"""

from __future__ import annotations

import numpy as np

import mdqr
from mdqr.linalg import qr, svdvals

EIGENVALUE = "9.63972384402194105271145926236482315626728952582190645610957970056403564786337"
COUNTS = {"d": 12, "dd": 32, "qd": 64}  # of functions


def points(count: int, precision: str) -> tuple[mdqr.MDArray, mdqr.MDArray]:
    """Return half of the boundary, in Chebyshev points of each side, and points inside."""
    odd, more = (
        mdqr.array(k, precision=precision) for k in np.arange(count) + np.array([[0.5], [1.0]])
    )
    t, one = (1 - mdqr.cospi(odd / count)) / 2, mdqr.ones_like(odd)
    angles, radii = 3 * mdqr.sqrt(more * 2) % 1 * 0.75, mdqr.sqrt(more * 3) % 1 * 0.9
    x = mdqr.concatenate([one, 1 - t, -t, radii * mdqr.cospi(angles)])
    y = mdqr.concatenate([t, one, one, radii * mdqr.sinpi(angles)])
    return mdqr.hypot(x, y), mdqr.arctan2(y, x)


def basis(count: int, square: mdqr.MDArray, r: mdqr.MDArray, phi: mdqr.MDArray) -> mdqr.MDArray:
    """Return functions by columns, those that are even about the diagonal, up to factors."""
    v = mdqr.array(4 * np.arange(count) + 2, precision=r.precision) / 3
    argument = (-square / 4 * r * r)[:, None]
    total = term = mdqr.ones((len(r), count), precision=r.precision)
    for j in range(1, 50):
        term = term * argument * (1 / (j * (v + j)))
        total = total + term
    return total * mdqr.exp(v * mdqr.log(r)[:, None]) * mdqr.sin(v * phi[:, None])


def tension(count: int, square: mdqr.MDArray, r: mdqr.MDArray, phi: mdqr.MDArray) -> mdqr.MDArray:
    """Return the least singular value of the boundary's rows of an orthogonal basis."""
    matrix = basis(count, square, r, phi)
    orthogonal = qr(matrix / mdqr.max(abs(matrix), axis=0)).Q
    return svdvals(orthogonal[: 3 * count])[-1]


def lowest(
    count: int, guess: mdqr.MDArray, width: mdqr.MDArray
) -> tuple[mdqr.MDArray, mdqr.MDArray]:
    """Return where the square of the tension is least, by parabolas that become narrower."""
    r, phi = points(count, guess.precision)
    while True:
        low, here, high = (tension(count, guess + side * width, r, phi) ** 2 for side in (-1, 0, 1))
        step = width * (low - high) / (2 * (low - 2 * here + high))
        guess, before, width = guess + step, width, abs(step)
        if width > before / 16:
            return guess, width


def main() -> None:
    """Print the eigenvalue in each precision, which starts where the one before ends."""
    exact = mdqr.array(EIGENVALUE, precision="od")
    found, width = 9.64, 2.0**-8
    for precision, count in COUNTS.items():
        start = (mdqr.array(x, precision=precision) for x in (found, width))
        found, width = lowest(count, *start)
        error = float(abs(found - exact))
        print(f"{precision:>2}, {count:2} functions: {str(found)[:45]}, error {error:.0e}")
    assert error < 1e-24


if __name__ == "__main__":
    main()
