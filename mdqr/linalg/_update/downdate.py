"""Rows that leave an R without Q: the part of Q that belongs to them, from R and the rows.

With ``R^H E = u^H`` the rows of Q are ``E^H``, and with ``C^H C = I - E^H E`` the columns of
``[E; C]`` are orthonormal: a sweep that reduces them to the identity takes the rows out of R. No
hyperbolic rotation is needed (M. A. Saunders 1972; LINPACK's downdate for one row).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mdqr._backend.blocks import to_native
from mdqr._backend.protocol import Block
from mdqr.linalg._shared.checks import Checks
from mdqr.linalg._update.engine import Engine, adjoint, adjoint_multiply, set_identity
from mdqr.linalg._update.state import Loss, column_norms, rounding, smallest_share, spectral_bound


class Leverage(NamedTuple):
    """E and C as above, and the triangle C for more solutions."""

    e: Block
    c: Block
    loss: Loss


def leverage(engine: Engine, r: Block, u: Block, checks: Checks, function: str) -> Leverage:
    """Find E and C for rows `u` ``(..., p, n)`` of the matrix that `r` ``(..., n, n)`` belongs to.

    Notes
    -----
    Columns of R known to ``n eps`` of their lengths D leave the eigenvalues of ``I - E^H E``
    uncertain by ``n eps norm(D R^-1 E)``, since the norm of E is at most 1: what is not above that
    is lost.
    """
    xp = engine.backend.xp
    n = int(r.shape[-1])
    system = engine.triangle(r, function, checks)
    e = engine.from_block(system.solve(engine.to_block(adjoint(engine, u)), "C"))
    back = to_native(xp, system.solve(engine.to_block(e), "N"), engine.is_complex)
    one = engine.zeros(e, int(e.shape[-1]), int(e.shape[-1]))
    set_identity(engine, one)
    gram = adjoint_multiply(engine, e, e, c=one, subtract=True)
    c = engine.cholesky(gram)
    with np.errstate(all="ignore"):
        size = spectral_bound(engine, column_norms(engine, r)[..., :, None] * back)
    share = smallest_share(engine, c) ** 2
    return Leverage(e, c, Loss(share, rounding(engine, n) * xp.maximum(size, 1.0)))
