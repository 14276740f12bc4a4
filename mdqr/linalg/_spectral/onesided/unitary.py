"""Unitary matrices of small angles, formed by products."""

from __future__ import annotations

import math

from mdqr._backend.protocol import Backend
from mdqr._limbs import planes
from mdqr._limbs.planes import Block, Kind
from mdqr.linalg._factor.condition import GOLDEN
from mdqr.linalg._products.exact import product as exact
from mdqr.linalg._shared.operands import kind_with, precision_for


def more_than_one(backend: Backend, w: Block, *, size: float, kind: Kind, far: bool) -> Block:
    """Return the turn by W less 1."""
    eps = precision_for(kind.limbs).eps
    if size * size <= eps:
        return w
    few = kind_of_small(size * size, kind)
    square = planes.first_limbs(w, kind.is_complex, few.limbs)
    square = mixed_product(backend, square, square, few, far)
    w = backend.binary("add", w, 0.5 * square, kind=kind)
    if size**4 > eps:
        root = _inverse_root(backend, square, size**4, eps, few, far)
        both = mixed_product(backend, w, root, kind, far)
        w = backend.binary("add", backend.binary("add", w, root, kind=kind), both, kind=kind)
    return w


def in_common_units(backend: Backend, w: Block, powers: Block, kind: Kind) -> Block:
    """Return ``2**powers[p, q] w[p, q]``, skew, from the half whose entries do not underflow."""
    xp, field = backend.xp, kind.is_complex
    below = backend.ldexp(w, xp.minimum(powers, 0), is_complex=field)
    return xp.where(powers <= 0, below, -planes.adjoint(below, field))


def mixed_product(backend: Backend, a: Block, b: Block, kind: Kind, far: bool) -> Block:
    """Return products of square matrices, right to eps of their norms if `far`."""
    if far and kind.limbs > 2:
        a, b = mixed(backend, a, kind), mixed(backend, b.swapaxes(-1, -2), kind)
        b = b.swapaxes(-1, -2)
    return exact.matmul(backend, a, b, kind=kind)


def mixed(backend: Backend, x: Block, kind: Kind) -> Block:
    """Return ``x (1 - 2 s s^T / m)``, s of signs: entries of a row get near each other in size.

    Products of matrices whose terms are far below the largest entries of rows and columns are slow.
    """
    xp, m = backend.xp, int(x.shape[-1])
    signs = kind.zeros(xp, (m, 1))
    plane = signs[0] if kind.is_complex else signs
    plane[0, :, 0] = xp.where((xp.arange(1, m + 1) * GOLDEN) % 1.0 < 0.5, 1.0, -1.0)
    total = backend.matmul(x, signs, kind=kind)
    total = backend.binary("divide", total, _constant(backend, m / 2, 2, kind), kind=kind)
    return backend.matmul(total, signs.swapaxes(-1, -2), c=x, subtract=True, kind=kind)


def _inverse_root(
    backend: Backend, square: Block, size: float, eps: float, kind: Kind, far: bool
) -> Block:
    """Return ``(1 + S^2 / 4)^(-1/2) - 1`` to `eps`, S^2 of a norm of at most `size`."""
    ratio = -(2.0**-4) * mixed_product(backend, square, square, kind, far)
    total = 2.0 * ratio
    power, terms = ratio, 1
    while (size / 4) ** (terms + 1) > eps:
        terms += 1
        power = mixed_product(backend, power, ratio, kind, far)
        term = _times(backend, power, math.comb(2 * terms, terms), kind)
        total = backend.binary("add", total, term, kind=kind)
    return total


def _times(backend: Backend, x: Block, factor: float, kind: Kind) -> Block:
    """Return `x` times a double."""
    block = _constant(backend, factor, x.ndim - kind.lead, kind)
    return backend.binary("multiply", x, block, kind=kind)


def _constant(backend: Backend, value: float, axes: int, kind: Kind) -> Block:
    """Return a double as a block of so many axes."""
    block = kind.zeros(backend.xp, (1,) * axes)
    (block[0] if kind.is_complex else block)[0] = value
    return block


def kind_of_small(size: float, kind: Kind) -> Kind:
    """Return the kind whose limbs count of what is added to 1 and no larger than `size`."""
    return kind_with(precision_for(kind.limbs).eps / size, kind)
