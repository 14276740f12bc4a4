"""Jacobi rotations: pairs of vectors that are made orthogonal, many disjoint ones at once."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mdqr._backend.blocks import from_native, to_native
from mdqr._backend.protocol import Backend
from mdqr._limbs import planes
from mdqr._limbs.planes import Block, Kind
from mdqr.linalg._shared.checks import fetch
from mdqr.linalg._spectral.onesided import starts


class _Pairs(NamedTuple):
    """Pairs of vectors, the first of which has the higher exponent."""

    first: Block
    second: Block
    apart: Block  # exponents of the second less those of the first
    rows: Block  # (batch, pairs, 2, m)


def rounds(n: int) -> list[np.ndarray]:
    """Return rounds of disjoint pairs, int64 ``(pairs, 2)``, in which each pair meets once."""
    players = [*range(n), *([-1] if n % 2 else [])]
    found = []
    for _ in range(len(players) - 1):
        half = len(players) // 2
        pairs = zip(players[:half], reversed(players[half:]), strict=True)
        found.append(np.array([pair for pair in pairs if -1 not in pair], dtype=np.int64))
        players = [players[0], players[-1], *players[1:-1]]
    return found


@np.errstate(all="ignore")
def rotate(
    backend: Backend,
    x: Block,
    v: Block,
    exponents: Block,
    indices: Block,
    kind: Kind,
    tolerance: float,
) -> None:
    """Make pairs orthogonal, in place."""
    xp, pairs = backend.xp, _gathered(backend.xp, x, exponents, indices)
    gram = backend.matmul(
        pairs.rows, pairs.rows.swapaxes(-1, -2), conj_a=kind.is_complex, kind=kind
    )
    # Lengths may be equal to many digits.
    gap = backend.binary(
        "subtract",
        gram[..., 0, 0],
        backend.ldexp(gram[..., 1, 1], 2 * pairs.apart, is_complex=kind.is_complex),
        kind=kind,
    )
    gap = to_native(xp, gap, kind.is_complex).real
    gram = to_native(xp, gram, kind.is_complex)
    size = abs(gram[..., 0, 1])
    g = gram[..., 0, 1]
    turned = size > tolerance * xp.sqrt(abs(gram[..., 0, 0] * gram[..., 1, 1]))
    if not fetch(turned.any())[0]:
        return
    shift = xp.ldexp(1.0, pairs.apart.astype(np.int32))
    root = xp.sqrt(gap * gap + (2.0 * size * shift) ** 2)
    # The tangent over the shift, with the phase that makes the product of the vectors real.
    tangent = 2.0 * size / (gap + xp.where(gap < 0, -root, root))
    tangent = xp.where(turned, tangent * (g.conj() / xp.where(turned, size, 1.0)), 0.0)
    cosine = _cosine(backend, tangent * shift, kind)
    batch = xp.arange(x.shape[-3])[:, None]
    for target, left, right in (
        (x, tangent * shift * shift, tangent),
        (v, tangent * shift, tangent * shift),
    ):
        rows = pairs.rows if target is x else _stacked(xp, target, batch, pairs)
        turn = _rotation(backend, cosine, left, -right.conj(), kind)
        rows = backend.matmul(turn, rows, kind=kind)
        target[..., batch, pairs.first, :] = rows[..., 0, :]
        target[..., batch, pairs.second, :] = rows[..., 1, :]


def _gathered(xp: Any, x: Block, exponents: Block, indices: Block) -> _Pairs:
    """Return pairs of vectors, the first with the higher exponent."""
    batch = xp.arange(x.shape[-3])[:, None]
    first, second = (indices[None, :, i] for i in (0, 1))
    behind = exponents[batch, second] > exponents[batch, first]
    first, second = xp.where(behind, second, first), xp.where(behind, first, second)
    apart = exponents[batch, second] - exponents[batch, first]
    found = _Pairs(first, second, xp.maximum(apart, -starts.FAR), None)
    return found._replace(rows=_stacked(xp, x, batch, found))


def _stacked(xp: Any, x: Block, batch: Block, pairs: _Pairs) -> Block:
    """Return vectors of pairs as ``(batch, pairs, 2, m)``."""
    return xp.stack([x[..., batch, pairs.first, :], x[..., batch, pairs.second, :]], axis=-2)


def _cosine(backend: Backend, tangent: Block, kind: Kind) -> Block:
    """Return ``1 / sqrt(1 + |tangent|**2)`` for float64 or complex128 tangents, a real block."""
    real, xp = kind.real, backend.xp
    parts = [tangent.real, tangent.imag] if kind.is_complex else [tangent]
    total = xp.ones_like(parts[0])[None]
    for part in parts:
        square = backend.unary("square", planes.widen(part[None], False, kind.limbs), kind=real)
        total = backend.binary("add", total, square, kind=real)
    return backend.unary("reciprocal", backend.unary("sqrt", total, kind=real), kind=real)


def _rotation(backend: Backend, cosine: Block, right: Block, left: Block, kind: Kind) -> Block:
    """Return ``cosine [[1, right], [left, 1]]``; the tangents are float64 or complex128."""
    xp, field = backend.xp, kind.is_complex
    full = planes.complexify(cosine) if field else cosine
    found = kind.empty(xp, (*right.shape, 2, 2))
    found[..., 0, 0] = found[..., 1, 1] = full
    for (i, j), tangent in (((0, 1), right), ((1, 0), left)):
        block = from_native(xp, tangent, field)
        found[..., i, j] = backend.binary("multiply", full, block, kind=kind)
    return found
