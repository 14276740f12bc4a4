"""Float64 rotations by LAPACK that orthogonal vectors start from."""

from __future__ import annotations

from typing import Any

import numpy as np

from mdqr._backend.blocks import from_native, one_by_one, to_native
from mdqr._backend.protocol import Backend
from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Block
from mdqr.linalg._shared import tuning
from mdqr.linalg._shared.checks import fetch
from mdqr.linalg._spectral.disks import components

# No more powers of two between vectors are told apart.
FAR = 480
# The norm of angles that all pairs are rotated by together.
SMALL = 2.0**-6
# So many powers of two may lie between vectors for each limb in which they are turned first.
SPREAD = 36
# Within so many the smallest are not lost in a Gram matrix of float64.
_LIKE = 12


def by_size(backend: Backend, x: Block, exponents: Block, first: int) -> Block:
    """Return float64 rotations that make vectors of like sizes orthogonal but for what that leaves.

    Vectors whose exponents lie within `SPREAD` are turned together by LAPACK; the largest ones
    within `first`, so that borders can be elsewhere the next time.
    """
    xp, is_complex = backend.xp, x.ndim == exponents.ndim + 3
    values = to_native(xp, x, is_complex)
    bits = scaling.largest(scaling.magnitude_bits(x, is_complex), -1, 0)
    known, present = fetch(exponents, bits > 0)
    apart = known.max(axis=-1, keepdims=True, initial=-FAR) - known
    if present.all() and (apart <= first).all():
        top = scaling.largest(exponents, -1, 0, keepdims=True)
        scale = xp.ldexp(1.0, (exponents - top).astype(np.int32))
        rows, near = values * scale[..., None], bool((apart <= _LIKE).all())
        find = _by_gram if near and tuning.starts_from_grams(backend) else _by_lapack
        return from_native(xp, find(xp, rows), is_complex)
    turn = xp.zeros((*values.shape[:-1], values.shape[-2]), dtype=values.dtype)
    # Vectors of zeros stay where they are.
    planes.diagonal(turn)[...] = xp.where(bits > 0, 0.0, 1.0)
    for place in np.ndindex(known.shape[:-1]):
        order = np.argsort(apart[place], kind="stable")
        order = order[present[place][order]]
        width, start = first, 0
        while start < order.size:
            below = apart[place][order] - apart[place][order[start]]
            stop = int(np.searchsorted(below, width, side="right"))
            members = xp.asarray(order[start:stop].tolist())
            top = int(known[place][order[start]])
            scale = xp.ldexp(1.0, (exponents[place][members] - top).astype(np.int32))
            rows = values[(*place, members)] * scale[:, None]
            turn[(*place, members[:, None], members)] = _by_lapack(xp, rows)
            width, start = SPREAD, stop
    return from_native(xp, turn, is_complex)


def by_length(xp: Any, gram: Block, gap: Block, exponents: Block) -> Block:
    """Return float64 rotations of vectors whose lengths are nearly equal, to orthogonal ones.

    Vectors are linked where the angle of a turn is not small. What their products differ in from
    the square of one length is a Hermitian matrix that LAPACK diagonalises.
    """
    n = int(gram.shape[-1])
    with np.errstate(all="ignore"):
        linked = abs(gram) * n > SMALL * abs(gap)
    linked = linked | linked.swapaxes(-1, -2)
    planes.diagonal(linked)[...] = True
    turn = xp.zeros(gram.shape, dtype=gram.dtype)
    planes.diagonal(turn)[...] = 1.0
    known, powers = fetch(linked, exponents)
    for place in np.ndindex(known.shape[:-2]):
        labels = components(known[place])
        for first in np.unique(labels):
            members = np.flatnonzero(labels == first)
            if members.size == 1:
                continue
            scale = np.ldexp(1.0, (powers[place][members] - powers[place][first]).astype(np.int32))
            scale, members = (xp.asarray(each.tolist()) for each in (scale, members))
            inner = (*place, members[:, None], members)
            matrix = gram[inner] * (scale[:, None] * scale)
            planes.diagonal(matrix)[...] = gap[(*place, members, int(first))]
            turn[inner] = xp.linalg.eigh(matrix)[1].conj().swapaxes(-1, -2)
    return from_native(xp, turn, gram.dtype.kind == "c")


def _by_gram(xp: Any, rows: Block) -> Block:
    """Return a unitary matrix that makes rows of like sizes nearly orthogonal."""
    gram = rows @ rows.conj().swapaxes(-1, -2)
    vectors = one_by_one(xp.linalg.eigh, gram)[1]
    return vectors.conj().swapaxes(-1, -2)


def _by_lapack(xp: Any, rows: Block) -> Block:
    """Return a unitary matrix that makes rows orthogonal."""
    left = one_by_one(xp.linalg.svd, rows)[0]
    return left.conj().swapaxes(-1, -2)
