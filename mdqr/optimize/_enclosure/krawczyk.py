"""A proof that a system has one solution in a box (R. Krawczyk 1969; S. M. Rump 1983).

Let F be defined in a box of half widths ``w`` about x, its derivatives there in the matrix of balls
D, and C any matrix. By the mean value theorem ``y -> y - C F(y)`` maps y to
``x - C F(x) + (I - C D')(y - x)`` with a D' in D, which lies within
``abs(C F(x)) + abs(I - C D) w`` of x. Where that is below w in each component, the map has a fixed
point in the box (Brouwer), all matrices in D and C are regular, and the fixed point is the only
zero of F there. It is as near to x as the image. Complex boxes are products of disks, which are
convex: the same holds for functions that are analytic.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np

import mdqr
from mdqr._array.array import MDArray
from mdqr._errors import PrecisionWarning
from mdqr._limbs.scaling import powers_of_two
from mdqr.linalg import LinAlgError, cholesky, inv
from mdqr.optimize._enclosure.ball import Ball, enclosed, up

# Half widths of boxes that are tried, in multiples of the first correction.
_WIDTHS = (2.0, 32.0, 2.0**12)
_INDEFINITE = "the Hessian is not shown to be positive definite"


class Unproven(Exception):
    """The reason why a proof failed."""


def nearest(
    value: Ball, slopes: Callable[[np.ndarray], Ball], inverse: MDArray
) -> tuple[np.ndarray, np.ndarray]:
    """Return how far a zero is at most, and the half widths of the box in which it is the only one.

    Parameters
    ----------
    value : Ball
        F at the point, ``(n,)``.
    slopes : callable
        Called with half widths, returns the derivatives in that box, ``(n, n)``.
    inverse : MDArray
        Any matrix near the inverse of the derivatives.

    Raises
    ------
    Unproven
        If no box is found.
    """
    c = Ball(inverse)
    shift = (c @ value).size
    if not np.isfinite(shift).all():
        raise Unproven("the equations have no bounded values at x")
    identity = enclosed(np.eye(len(shift)), inverse.precision)
    for factor in _WIDTHS:
        width = up(factor * shift)
        rest = (identity - c @ slopes(width)).size
        moved = up(shift + up(rest @ width))
        if np.all(moved < width):  # False for NaN
            return moved, width
    raise Unproven("derivatives vary too much near x, or are nearly singular")


def definite(h: Ball) -> MDArray:
    """Return a matrix near the inverse of all symmetric matrices in h, which are positive definite.

    Raises
    ------
    Unproven
        If some may not be.
    """
    lower, _ = triangle(h)
    return lower.T @ lower


def triangle(h: Ball) -> tuple[MDArray, float]:
    """Return a triangular M, and a q < 1 so that ``|| M H M^T - I || <= q`` for symmetric H in h.

    With a regular M the matrices ``M H M^T`` are positive definite where they differ from I by less
    than 1 in the sums of the moduli of each row (S. A. Gershgorin), and so are the H.

    Raises
    ------
    Unproven
        If some H may not be positive definite.
    """
    index = np.arange(h.shape[0])
    diagonal = h.mid[index, index].to_numpy()
    if not (np.isfinite(h.rad).all() and np.isfinite(diagonal).all() and np.all(diagonal > 0)):
        raise Unproven(_INDEFINITE)
    scale = powers_of_two(-0.5 * np.log2(diagonal))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrecisionWarning)
            root = inv(cholesky(h.mid * scale[:, None] * scale)) * scale
    except LinAlgError:
        raise Unproven(_INDEFINITE) from None
    lower = mdqr.tril(root)
    m, transposed = Ball(lower), Ball(lower.T)
    rest = (m @ h @ transposed - enclosed(np.eye(len(scale)), lower.precision)).size
    q = float(np.max(up(rest.sum(axis=1))))
    if not (q < 1.0 and np.all(lower[index, index].to_numpy() != 0)):
        raise Unproven(_INDEFINITE)
    return lower, q
