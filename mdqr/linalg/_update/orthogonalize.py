"""New directions orthogonal to those of Q, by block Gram-Schmidt."""

from __future__ import annotations

import numpy as np

from mdqr._backend.blocks import from_native
from mdqr._limbs.planes import Block
from mdqr.linalg._shared.checks import fetch
from mdqr.linalg._update.arithmetic.engine import Engine
from mdqr.linalg._update.arithmetic.matrices import adjoint_multiply, set_identity
from mdqr.linalg._update.loss import least_distance

# Twice is enough unless the first pass left nothing but rounding errors, and that the second shows.
_MOST_PASSES = 4

_UNCHECKED_PASSES = 3

# A pass is the last if new directions keep so much of their length: rounding errors along Q grow by
# its reciprocal, for float64 the whole of what the update adds to them.
_KEPT = 0.5

# What is left of a column is nothing below so many eps of its length.
_NOTHING = 64.0


def orthogonalize(
    engine: Engine, q: Block, u: Block, w: Block, *, check: bool = True
) -> tuple[Block, Block, Block]:
    """Split ``u = Q w' + Qu Ru`` with [Q Qu] orthonormal.

    Block Gram-Schmidt with Householder factorisations inside of the block. From the second pass on
    it is the orthonormal basis that is projected, so that columns of every length come out right.
    A pass is repeated if it left too little (J. W. Daniel, W. B. Gragg, L. Kaufman and G. W.
    Stewart 1976).

    `q` ``(..., m, n)`` is orthonormal, `u` has at most m - n columns, and `w` is ``Q^H u``. With
    `check` each pass decides, on the host, whether another is needed; otherwise three are made.

    Returns
    -------
    tuple
        ``w'``, ``Qu`` and ``Ru``.
    """
    size = engine.column_norms(u)
    basis, r = _projected_out(engine, q, u, w)
    triangle = r
    for _ in range((_MOST_PASSES if check else _UNCHECKED_PASSES) - 1):
        if check and not _has_cancelled(engine, triangle, size):
            break
        basis = _perturbed(engine, basis, triangle, size)
        more = adjoint_multiply(engine, q, basis)
        basis, triangle = _projected_out(engine, q, basis, more)
        size = engine.backend.xp.ones_like(size)
        w, r = engine.multiply(more, r, c=w), engine.multiply(triangle, r)
    return w, basis, r


def _has_cancelled(engine: Engine, triangle: Block, size: Block) -> bool:
    """Return whether directions of lengths `size` lost so much that Q shows in what is left.

    `triangle` is R of what is left; rounding errors relative to `size` are multiplied by its
    inverse. Synchronizes with a device.
    """
    if not triangle.shape[-1]:
        return False
    safe = engine.backend.xp.where(size > 0, size, 1.0)
    distance = least_distance(engine, triangle, safe)
    (found,) = fetch(distance * int(triangle.shape[-1]) ** 0.5 < _KEPT)
    return bool(found.any())


def _perturbed(engine: Engine, basis: Block, triangle: Block, size: Block) -> Block:
    """Give columns of which nothing was left a direction, by less than a rounding error.

    Otherwise they could be columns of the identity that lie in the span of Q, pass after pass.
    """
    xp = engine.backend.xp
    m, p = int(basis.shape[-2]), int(basis.shape[-1])
    lost = engine.diagonal_magnitudes(triangle) <= _NOTHING * engine.eps * size
    change = xp.cos(xp.arange(1.0, m * p + 1).reshape(m, p)) * (engine.eps / (4.0 * m**0.5))
    change = xp.where(lost[..., None, :], change, 0.0)
    native = change.astype(np.complex128) if engine.kind.is_complex else change
    return engine.add(basis, engine.from_block(from_native(xp, native, engine.kind.is_complex)))


def _projected_out(engine: Engine, q: Block, u: Block, w: Block) -> tuple[Block, Block]:
    """Factor ``u - q w``; return the orthonormal basis and R."""
    p = int(u.shape[-1])
    rest = engine.multiply(q, w, c=u, subtract=True)
    return engine.factor(rest).form_q(p), rest[..., :p, :]


def unit_columns(engine: Engine, q: Block, first: int, count: int) -> Block:
    """Return columns `first` and later of the identity with as many rows as `q`."""
    unit = engine.zeros(q, int(q.shape[-2]), count)
    set_identity(engine, unit[..., first : first + count, :])
    return unit
