"""Rows that leave an R without Q: the part of Q that belongs to them, from R and the rows.

With ``R^H E = u^H`` the rows of Q are ``E^H``, and with ``C^H C = I - E^H E`` the columns of
``[E; C]`` are orthonormal: a sweep that reduces them to the identity takes the rows out of R. No
hyperbolic rotation is needed (M. A. Saunders 1972; LINPACK's downdate for one row).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mdqr._backend.protocol import Block
from mdqr.linalg._checks import Checks
from mdqr.linalg._triangular import Triangle
from mdqr.linalg._update_engine import Engine, adjoint, adjoint_multiply, set_identity
from mdqr.linalg._update_state import Loss, magnitudes, smallest_share


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
    c = engine.cholesky(gram)
    with np.errstate(all="ignore"):
        size = magnitudes(engine, r) @ magnitudes(engine, back)
        size = magnitudes(engine, e).swapaxes(-1, -2) @ size
        size = xp.sqrt((size**2).sum(axis=(-2, -1)))
    share = smallest_share(engine, c) ** 2
    return Leverage(e, c, Loss(share, n * engine.eps * xp.maximum(size, 1.0)))
