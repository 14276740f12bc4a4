"""The acceptance of Householder panels, by exact arithmetic."""

from __future__ import annotations

from fractions import Fraction

import linalg_cases as cases
import numpy as np

import mdqr


def array_of(block, is_complex):
    return mdqr.from_limbs(block, dtype=complex if is_complex else float, normalize=False)


def exact(block, is_complex):
    return cases.Exact.of(array_of(block, is_complex))


def vectors(h):
    """V with its unit diagonal."""
    v = np.tril(h, -1)
    diagonal = np.arange(h.shape[-1])
    v[(0,) * (h.ndim - 2)][diagonal, diagonal] = 1.0
    return v


def errors(a, h, t):
    """Exact errors of H R against `a`, columnwise, and of H^H H against I, in multiples of eps.

    H = I - V T V^H, and so I - H^H H = V (T + T^H - T^H (V^H V) T) V^H.
    """
    v, triangle, found = factors(h, t, a.is_complex)
    columns = column_errors(exact(a.limbs, a.is_complex), found, a.shape[0])
    middle = triangle + triangle.H - triangle.H @ ((v.H @ v) @ triangle)
    gap = v @ middle @ v.H
    orthogonality = cases.quotients(np.sum(gap.squares()), gap.exponent, 1, 0)
    return columns / a.precision.eps, float(orthogonality) / a.precision.eps


def factors(h, t, is_complex):
    """V, T and H R."""
    w = h.shape[-1]
    blocks = (vectors(h), vectors(h)[..., :w, :], t, np.triu(h), np.triu(h[..., :w, :]))
    v, top, triangle, below, r = (exact(block, is_complex) for block in blocks)
    return v, triangle, below - v @ (triangle @ (top.H @ r))


def row_error(a, h, t):
    """The largest error of an element of H R relative to the largest of its row, in eps."""
    wanted = exact(a.limbs, a.is_complex)
    difference = wanted - factors(h, t, a.is_complex)[-1]
    errors, sizes = (x.squares().max(axis=1) for x in (difference, wanted))
    quotients = cases.quotients(errors, difference.exponent, sizes, wanted.exponent)
    return quotients.max() / a.precision.eps


def column_errors(wanted, found, rows):
    """The largest columnwise error beyond what underflow may cost, relative to the column."""
    difference = wanted - found
    slack = rows * Fraction(2) ** (difference.exponent - 1070)
    squares = difference.squares().sum(axis=0)
    squares = np.where([value <= slack**2 for value in squares], 0, squares)
    sizes = wanted.squares().sum(axis=0)
    return cases.quotients(squares, difference.exponent, sizes, wanted.exponent).max()


def check_form(h, tau, t, is_complex):
    """T is upper triangular with tau on its diagonal, the diagonal of R real, limbs normalised."""
    assert not np.tril(t, -1).any()
    assert np.array_equal(np.diagonal(t, axis1=-2, axis2=-1), tau)
    if is_complex:
        assert not np.diagonal(h[1], axis1=-2, axis2=-1).any()
    for block in (h, tau, t):
        for part in block if is_complex else [block]:
            assert np.array_equal(part[:-1] + part[1:], part[:-1])
