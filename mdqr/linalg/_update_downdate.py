"""Rows that leave an R without Q: the part of Q that belongs to them, from R and the rows.

With ``R^H E = u^H`` the rows of Q are ``E^H``, and with ``C^H C = I - E^H E`` the columns of
``[E; C]`` are orthonormal: a sweep that reduces them to the identity takes the rows out of R. No
hyperbolic rotation is needed (M. A. Saunders 1972; LINPACK's downdate for one row).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mdqr import _limbs
from mdqr._backend.protocol import Backend, Block
from mdqr.linalg._checks import Checks
from mdqr.linalg._triangular import Triangle, conjugated
from mdqr.linalg._update_engine import Engine, adjoint, adjoint_multiply, set_identity
from mdqr.linalg._update_state import Loss, magnitudes, smallest_share

_TILE = 16


class Leverage(NamedTuple):
    """E and C as above, and the triangle C for more solutions."""

    e: Block
    c: Block
    loss: Loss


def triangle(engine: Engine, r: Block, function: str, checks: Checks) -> Triangle:
    """Return the square upper triangle `r`, ready for solutions."""
    return Triangle(
        engine.backend,
        engine.to_block(r),
        limbs=engine.limbs,
        is_complex=engine.is_complex,
        function=function,
        checks=checks,
    )


def leverage(engine: Engine, r: Block, u: Block, checks: Checks) -> Leverage:
    """Find E and C for rows `u` ``(..., p, n)`` of the matrix that `r` ``(..., n, n)`` belongs to.

    Notes
    -----
    A triangle known to ``n eps`` leaves the smallest eigenvalue of ``I - E^H E`` uncertain by
    ``n eps norm(|E|^H |R| |R^-1 E|)``: what is not above that is lost.
    """
    xp = engine.backend.xp
    n = int(r.shape[-1])
    system = triangle(engine, r, "qr_delete", checks)
    e = engine.from_block(system.solve(engine.to_block(adjoint(engine, u)), "C"))
    back = engine.from_block(system.solve(engine.to_block(e), "N"))
    one = engine.zeros(e, int(e.shape[-1]), int(e.shape[-1]))
    set_identity(engine, one)
    gram = adjoint_multiply(engine, e, e, c=one, subtract=True)
    c = engine.from_block(
        cholesky(engine.backend, engine.to_block(gram), engine.limbs, engine.is_complex)
    )
    with np.errstate(all="ignore"):
        size = magnitudes(engine, r) @ magnitudes(engine, back)
        size = magnitudes(engine, e).swapaxes(-1, -2) @ size
        size = xp.sqrt((size**2).sum(axis=(-2, -1)))
    share = smallest_share(engine, c) ** 2
    return Leverage(e, c, Loss(share, n * engine.eps * xp.maximum(size, 1.0)))


def cholesky(backend: Backend, a: Block, limbs: int, is_complex: bool) -> Block:
    """Return the upper triangular C with ``C^H C = a``; NaN where `a` is not positive definite."""
    options: dict[str, Any] = {"limbs": limbs, "is_complex": is_complex}
    rest, n = _limbs.widen(a, is_complex, limbs).copy(), int(a.shape[-1])
    c = backend.xp.zeros_like(rest)
    for start in range(0, n, _TILE):
        stop = min(start + _TILE, n)
        for j in range(start, stop):
            row = _row(backend, rest[..., j : j + 1, j:stop], options)
            c[..., j : j + 1, j:stop] = row
            if j + 1 < stop:
                _subtract_gram(
                    backend, rest[..., j + 1 : stop, j + 1 : stop], row[..., 1:], options
                )
        if stop < n:
            tile = c[..., start:stop, start:stop].swapaxes(-1, -2)
            if is_complex:
                tile = conjugated(tile)
            row = backend.solve_triangular_tile(
                tile, rest[..., start:stop, stop:], lower=True, unit_diagonal=False, **options
            )
            c[..., start:stop, stop:] = row
            _subtract_gram(backend, rest[..., stop:, stop:], row, options)
    return c


def _row(backend: Backend, row: Block, options: dict[str, Any]) -> Block:
    """Divide a row by the root of its first entry, whose imaginary part is rounding error."""
    real = row[0] if options["is_complex"] else row
    with np.errstate(all="ignore"):
        root = backend.unary("sqrt", real[..., :1], limbs=options["limbs"], is_complex=False)
        if options["is_complex"]:
            row = row.copy()
            row[1][..., 0] = 0.0
            root = _limbs.complexify(root)
        return backend.binary("divide", row, root, **options)


def _subtract_gram(backend: Backend, x: Block, row: Block, options: dict[str, Any]) -> None:
    """Subtract ``row^H row`` from `x` in place."""
    x[...] = backend.matmul(row.swapaxes(-1, -2), row, conj_a=True, c=x, subtract=True, **options)
