"""Singular values of the matrices of least-squares problems, NumPy's `s`."""

from __future__ import annotations

from mdqr._array.array import MDArray
from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Block
from mdqr.linalg._shared.operands import Inputs, precision_for
from mdqr.linalg._solve.system import System
from mdqr.linalg._solve.wide import Wide
from mdqr.linalg._spectral.svd import svdvals


def of_system(system: System, inputs: Inputs) -> MDArray:
    """Return the values of the (weighted) matrix before it was scaled, ``(..., min(m, n))``."""
    xp, field = system.backend.xp, system.kind.is_complex
    shift = -system.powers[..., None, :]
    if isinstance(system, Wide):
        shift = -shift - system.tall.powers[..., :, None]
        shift = shift if system.rows is None else shift + system.rows[..., :, None]
    bits = scaling.exponents_or_absent(scaling.magnitude_bits(system.a, field)) + shift
    top = scaling.largest(bits, (-2, -1), 0)
    top = xp.where(top > scaling.ABSENT // 2, top, 0)
    rows = system.backend.ldexp(system.a, shift - top[..., None, None], is_complex=field)
    if system.root is not None:
        rows = system.binary("multiply", rows, system.root)
    rows = planes.widen(rows, field, system.kind.limbs)
    return of_rows(rows, top, inputs._replace(work=precision_for(system.kind.limbs)))


def of_rows(rows: Block, top: Block, inputs: Inputs) -> MDArray:
    """Return the values of ``2**top rows``, in the precision of the answer."""
    backend = inputs.backend
    values = svdvals(MDArray._wrap(rows, inputs.work, inputs.is_complex))
    values = backend.ldexp(values.limbs, top[..., None])
    return inputs.wrap(values, is_complex=False)
