"""New directions orthogonal to those of Q, by block Gram-Schmidt."""

from __future__ import annotations

import numpy as np

from mdqr._backend.blocks import from_native
from mdqr._limbs.planes import Block
from mdqr.linalg._shared.checks import fetch
from mdqr.linalg._update.arithmetic.engine import Engine, adjoint_multiply, set_identity
from mdqr.linalg._update.loss import column_norms, diagonal_magnitudes, float_share

# Twice is enough unless the first pass left nothing but rounding errors, and that the second shows.
_MOST_PASSES = 4


_BLIND_PASSES = 3


# A pass is the last if new directions keep so much of their length: rounding errors along Q grow by
# no more than its reciprocal.
_KEPT = 0.25


# What is left of a column is nothing below so many eps of its length.
_NOTHING = 64.0


def outside(
    engine: Engine, q: Block, u: Block, w: Block, *, look: bool = True
) -> tuple[Block, Block, Block]:
    """Split ``u = Q w' + Qu Ru`` with [Q Qu] orthonormal.

    Block Gram-Schmidt with Householder factorisations inside of the block; from the second pass on
    it is the orthonormal basis that is cleaned, so that columns of every length come out right. A
    pass is repeated if it left too little (J. W. Daniel, W. B. Gragg, L. Kaufman and G. W. Stewart
    1976).

    Parameters
    ----------
    engine : Engine
        The arithmetic.
    q : Block
        ``(..., m, n)``, orthonormal.
    u : Block
        ``(..., m, p)``, p <= m - n.
    w : Block
        ``Q^H u``.
    look : bool, optional
        Read after each pass whether another is needed. Otherwise there are three.

    Returns
    -------
    tuple
        ``w'``, ``Qu`` and ``Ru``.
    """
    size = column_norms(engine, u)
    basis, r = _cleaned(engine, q, u, w)
    triangle = r
    for _ in range((_MOST_PASSES if look else _BLIND_PASSES) - 1):
        if look and not _worn(engine, triangle, size):
            break
        basis = _directed(engine, basis, triangle, size)
        more = adjoint_multiply(engine, q, basis)
        basis, triangle = _cleaned(engine, q, basis, more)
        size = engine.backend.xp.ones_like(size)
        w, r = engine.multiply(more, r, c=w), engine.multiply(triangle, r)
    return w, basis, r


def _worn(engine: Engine, triangle: Block, size: Block) -> bool:
    """Return whether directions of lengths `size` lost so much that Q shows in what is left.

    `triangle` is R of what is left; rounding errors relative to `size` are multiplied by its
    inverse. A device is waited for.
    """
    if not triangle.shape[-1]:
        return False
    safe = engine.backend.xp.where(size > 0, size, 1.0)
    share = float_share(engine, triangle, safe)
    (found,) = fetch(share * int(triangle.shape[-1]) ** 0.5 < _KEPT)
    return bool(found.any())


def _directed(engine: Engine, basis: Block, triangle: Block, size: Block) -> Block:
    """Give columns of which nothing was left a direction, by less than a rounding error.

    Otherwise they could be columns of the identity that lie in the span of Q, pass after pass.
    """
    xp = engine.backend.xp
    m, p = int(basis.shape[-2]), int(basis.shape[-1])
    lost = diagonal_magnitudes(engine, triangle) <= _NOTHING * engine.eps * size
    noise = xp.cos(xp.arange(1.0, m * p + 1).reshape(m, p)) * (engine.eps / (4.0 * m**0.5))
    noise = xp.where(lost[..., None, :], noise, 0.0)
    native = noise.astype(np.complex128) if engine.kind.is_complex else noise
    return engine.add(basis, engine.from_block(from_native(xp, native, engine.kind.is_complex)))


def _cleaned(engine: Engine, q: Block, u: Block, w: Block) -> tuple[Block, Block]:
    """Factor ``u - q w``; return the orthonormal basis and R."""
    p = int(u.shape[-1])
    rest = engine.multiply(q, w, c=u, subtract=True)
    return engine.factor(rest).form_q(p), rest[..., :p, :]


def unit_columns(engine: Engine, q: Block, first: int, count: int) -> Block:
    """Return columns `first` and later of the identity with as many rows as `q`."""
    unit = engine.zeros(q, int(q.shape[-2]), count)
    set_identity(engine, unit[..., first : first + count, :])
    return unit
