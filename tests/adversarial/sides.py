"""Right-hand sides and weights: integers ``(parts, m, k)`` with exponents, from random draws.

Each maker gets the integers of the matrix, in units of powers of two that its columns have.
"""

from __future__ import annotations

import math

import numpy as np

from .draws import conjugate_transpose, product


def general(r, a, k, bits):
    parts, m, _ = a.shape
    return r.full((parts, m, k), bits), 0


def exact(r, a, k, bits):
    """The image of small integers, some of them zero."""
    x = r.small((1, a.shape[2], k), r.choice([1, 2, 9]))
    return product(a, x), 0


def consistent(r, a, k, bits):
    """The image of full-width numbers, rounded."""
    return product(a, r.full((len(a), a.shape[2], k), bits)), 0


def uneven(r, a, k, bits):
    """The image of unknowns of far scales, rounded."""
    most = r.choice([20, bits // 2, 2 * bits, 600])
    x = r.full((len(a), a.shape[2], k), bits)
    scale = np.array([r.randint(0, most) for _ in range(a.shape[2] * k)], dtype=object)
    return product(a, x << scale.reshape(1, -1, k)), -most


def nearly(r, a, k, bits):
    """The image of small integers and a residual that is small beside it."""
    below = r.randint(1, 2 * bits)
    image = product(a, r.small((1, a.shape[2], k))) << below
    return image + r.full((len(a), a.shape[1], k), r.choice([1, bits])), -below


def column(r, a, k, bits):
    """Columns of the matrix: unit vectors as solutions."""
    return a[:, :, [r.randrange(a.shape[2]) for _ in range(k)]].copy(), 0


def unit(r, a, k, bits):
    b = np.zeros((len(a), a.shape[1], k), dtype=object)
    for j in range(k):
        b[0, r.randrange(a.shape[1]), j] = r.choice([1, -1, 3])
    return b, 0


def sparse(r, a, k, bits):
    """Full-width numbers among zeros."""
    b = r.full((len(a), a.shape[1], k), bits)
    return b * np.array([[r.chance(0.25) for _ in range(k)] for _ in range(a.shape[1])]), 0


def zero(r, a, k, bits):
    b = np.zeros((len(a), a.shape[1], k), dtype=object)
    if r.chance(0.5):
        return b, 0
    return general(r, a, k, bits)[0] * np.array([r.randrange(2) for _ in range(k)], dtype=object), 0


def small(r, a, k, bits):
    return r.small((len(a), a.shape[1], k), r.choice([1, 9])), 0


def wide(r, a, k, bits):
    """Components that span up to the whole range."""
    most = r.choice([40, 200, 500, 1000])
    shape = (a.shape[1], k)
    exponents = r.exponents(shape, most)
    if r.chance(0.4):
        exponents = np.where(exponents > 0, most, -most)
    return r.full((len(a), *shape), r.choice([1, 4, bits])), exponents


def split(r, a, k, bits):
    """Runs of rows of far scales: what blocks of a matrix see."""
    m = a.shape[1]
    b = r.small((len(a), m, k)) if r.chance(0.5) else r.full((len(a), m, k), bits)
    far = r.choice([20, 133, 400, 900])
    exponents = np.zeros((m, 1), dtype=np.int64)
    for cut in sorted(r.randrange(m) for _ in range(r.randint(1, 2))):
        exponents[cut:] = r.randint(-far, far)
    return b, exponents


def orthogonal(r, a, k, bits):
    """A vector orthogonal to the range but for a small part, by Gram-Schmidt in integers."""
    parts, m, n = a.shape
    y = r.small((parts, m, k), 9)
    if m == n or n > 3:
        return y, 0
    basis = []
    for j in range(n):
        basis.append(_without(basis, a[:, :, j : j + 1]))
    below = r.randint(0, 2 * bits)
    image = product(a, r.small((1, n, k), 2))
    return (_without(basis, y) << below) + image, -below


def _without(basis, v):
    """Return a multiple of `v` less its part in the span of orthogonal vectors."""
    for u in basis:
        adjoint = conjugate_transpose(u)
        v = v * int(product(adjoint, u)[0, 0, 0]) - product(u, product(adjoint, v))
        v = v // max(math.gcd(*(int(value) for value in v.ravel())), 1)
    return v


SIDES = (
    (general, 16),
    (exact, 14),
    (consistent, 10),
    (uneven, 8),
    (nearly, 8),
    (column, 8),
    (unit, 6),
    (zero, 2),
    (small, 6),
    (wide, 10),
    (split, 7),
    (orthogonal, 5),
)


def weights(r, m, bits):
    """Integers and exponents of weights: mild, wide, in two groups, with zeros."""
    most = r.choice([0, 4, 30, 150, 500, 950])
    ints = np.abs(r.full((1, m), r.choice([1, 3, bits])))
    exponents = r.exponents((m,), most)
    if r.chance(0.4):
        exponents = np.where(exponents > 0, most, -most)
    if r.chance(0.2):
        ints = ints * np.array([r.random() < 0.8 for _ in range(m)], dtype=int)
    return ints, exponents


# For zeros that reach few unknowns.
SPARSE = ((sparse, 3), (unit, 2), (zero, 1), (column, 1))
