"""Residuals of the solution itself, where those of a rounded one are not near."""

from __future__ import annotations

import numpy as np

from mdqr._backend.blocks import to_native
from mdqr._limbs.planes import Block
from mdqr.linalg._solve.system import Scaled, System

# The part of residuals in the range of A may be so large: squares of it are rounding errors.
_PART = 2.0**-26


def orthogonal(system: System, r: Scaled, condition: np.ndarray) -> Scaled:
    """Return residuals less their part in the range of A, in the inner product of the weights.

    Of a row that is large beside others ``b - A x`` has what is missing of x times its length,
    which may be above all that others leave. With ``W^(1/2) A = Q R`` the part is ``Q R^-H A^H W
    r``, no longer than the condition times ``A^H W r``, of scaled columns, which float64 tells.
    Each correction by the augmented system leaves eps times the condition of that part.
    """
    if system.is_square or not r.block.size or not system.columns:
        return r
    block, before = r.block, np.inf
    while True:
        if not system.checks.settle(_part(system, block, condition)[1].any())[0]:
            break
        # In float64 that may be rounding errors.
        gradient = system.gradient([], block)
        part, shows = _part(system, block, condition, gradient)
        # So is a part that is not halved.
        if not system.checks.settle((shows & (part < 0.5 * before)).any())[0]:
            break
        _, dr = system.correct(system.backend.xp.zeros_like(block), gradient)
        block, before = system.binary("add", block, dr), part
    return Scaled(block, r.exponents)


@np.errstate(all="ignore")
def _part(
    system: System, r: Block, condition: np.ndarray, gradient: Block | None = None
) -> tuple[Block, Block]:
    """Return bounds of the parts of residuals in the range of A, and whether squares show them.

    `gradient` is ``A^H W r``, in float64 by default; its sign and conjugate change no modulus.
    """
    xp, field = system.backend.xp, system.kind.is_complex
    a, r = (to_native(xp, block, field) for block in (system.a, r))
    weighted = r if system.weight is None else to_native(xp, system.weight, field) * r
    if gradient is None:
        found = a.swapaxes(-1, -2) @ weighted.conj()
    else:
        found = to_native(xp, gradient, field)
    part = xp.asarray(condition)[..., None] * (abs(found) ** 2).sum(axis=-2) ** 0.5
    return part, part > _PART * (r.conj() * weighted).real.sum(axis=-2) ** 0.5
