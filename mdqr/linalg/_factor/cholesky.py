"""Cholesky factors of small matrices by tiles."""

from __future__ import annotations

import numpy as np

from mdqr._backend.protocol import Backend
from mdqr._limbs import planes
from mdqr._limbs.planes import Block, Kind

_TILE = 16


def cholesky(backend: Backend, a: Block, kind: Kind) -> Block:
    """Return the upper triangular C with ``C^H C = a``; NaN where `a` is not positive definite."""
    limbs, is_complex = kind
    rest, n = planes.widen(a, is_complex, limbs).copy(), int(a.shape[-1])
    c = backend.xp.zeros_like(rest)
    for start in range(0, n, _TILE):
        stop = min(start + _TILE, n)
        for j in range(start, stop):
            row = _row(backend, rest[..., j : j + 1, j:stop], kind)
            c[..., j : j + 1, j:stop] = row
            if j + 1 < stop:
                _subtract_gram(backend, rest[..., j + 1 : stop, j + 1 : stop], row[..., 1:], kind)
        if stop < n:
            tile = c[..., start:stop, start:stop].swapaxes(-1, -2)
            if is_complex:
                tile = planes.conjugate(tile)
            row = backend.solve_triangular_tile(
                tile, rest[..., start:stop, stop:], lower=True, unit_diagonal=False, kind=kind
            )
            c[..., start:stop, stop:] = row
            _subtract_gram(backend, rest[..., stop:, stop:], row, kind)
    return c


def _row(backend: Backend, row: Block, kind: Kind) -> Block:
    """Divide a row by the root of its first entry, whose imaginary part is rounding error."""
    real = row[0] if kind.is_complex else row
    with np.errstate(all="ignore"):
        root = backend.unary("sqrt", real[..., :1], kind=kind.real)
        if kind.is_complex:
            row = row.copy()
            row[1][..., 0] = 0.0
            root = planes.complexify(root)
        return backend.binary("divide", row, root, kind=kind)


def _subtract_gram(backend: Backend, x: Block, row: Block, kind: Kind) -> None:
    """Subtract ``row^H row`` from `x` in place."""
    x[...] = backend.matmul(row.swapaxes(-1, -2), row, conj_a=True, c=x, subtract=True, kind=kind)
