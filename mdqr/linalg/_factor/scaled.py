"""QR factors of matrices whose columns are scaled by powers of two, and their signs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mdqr._backend import for_block
from mdqr._backend.blocks import to_native
from mdqr._limbs import planes
from mdqr._limbs.device import place
from mdqr._limbs.planes import Block, Kind, diagonal
from mdqr._pickles import State
from mdqr._precision import PRECISIONS
from mdqr._progress import Reporter
from mdqr.linalg._factor import householder, pivoted
from mdqr.linalg._factor.householder import Factors
from mdqr.linalg._shared.checks import Checks
from mdqr.linalg._shared.operands import Inputs


@dataclass
class Scaled:
    """Factors of a matrix whose columns were multiplied by ``2**-exponents``."""

    factors: Factors
    exponents: Block

    @cached_property
    def signs(self) -> Block:
        """Return -1 where the diagonal of the implicit R is negative, else 1: ``(..., k)``."""
        xp = self.factors.backend.xp
        plane = self.factors.h[0, 0] if self.factors.kind.is_complex else self.factors.h[0]
        return xp.where(diagonal(plane)[..., : self.factors.count] < 0, -1.0, 1.0)

    def unscaled_r(self, rows: int) -> Block:
        """Return the first rows of the factored matrix, scaled back: R and what is below it."""
        h, exponents = self.factors.h[..., :rows, :], self.exponents[..., None, :]
        return self.factors.backend.ldexp(h, exponents, is_complex=self.factors.kind.is_complex)

    def signed_r(self, rows: int) -> Block:
        """Return R of the original matrix with a diagonal that is not negative."""
        r = self.unscaled_r(rows)
        count = self.factors.count
        multiply_signs(r[..., :count, :], self.signs[..., :, None], self.factors.kind.is_complex)
        planes.clear_below(r)
        clear_diagonal_signs(r, self.factors.kind.is_complex)
        return r

    def signed_q(self, columns: int) -> Block:
        """Return the columns of Q that belong to `signed_r`."""
        q = self.factors.form_q(columns)
        count = self.factors.count
        multiply_signs(q[..., :count], self.signs[..., None, :], self.factors.kind.is_complex)
        return q


def stored_factors(state: State, kind: Kind) -> Scaled:
    """Return the factors of a pickle; see `QRFactor`.

    Raises
    ------
    ValueError
        If the arrays do not fit together, or the device is not there.
    """
    front = planes.value_shape(state.checked("h", np.ndarray), kind.is_complex)
    if len(front) < 2:
        raise ValueError("this pickle is damaged: it has no factors of matrices")
    (*batch, m, n), count = front, min(front[-2:])
    state.array("h", np.float64, *kind.planes(front))
    state.array("tau", np.float64, *kind.planes((*batch, count)))
    state.array("exponents", np.int64, *batch, n)
    start, held = 0, [state.checked(name, list) for name in ("v", "t")]
    for v, t in zip(*held, strict=True):
        tile = State(v=v, t=t)
        width = tile.checked("t", np.ndarray).shape[-1]
        tile.array("v", np.float64, *kind.planes((*batch, m - start, width)))
        tile.array("t", np.float64, *kind.planes((*batch, width, width)))
        start += width
    device = state.checked("device", ("cpu", "cuda").__contains__)
    h, tau = (place(state[name], device) for name in ("h", "tau"))
    backend = for_block(h)
    vs, ts = ([place(x, device) for x in group] for group in held)
    factors = Factors(backend, kind, h, tau, vs, ts)
    if not held[0] and count:
        raw = to_native(backend.xp, h, kind.is_complex).swapaxes(-1, -2)
        factors.library = backend.reflectors(raw, to_native(backend.xp, tau, kind.is_complex))
    if start != count and factors.library is None:
        raise ValueError("this pickle is damaged: reflectors of the factors are missing")
    return Scaled(factors, place(state["exponents"], device))


def multiply_signs(block: Block, signs: Block, is_complex: bool) -> None:
    """Multiply values by 1 or -1 in place; zero lower limbs stay +0.

    On the bits: arithmetic would flush subnormal limbs where the caller has that mode set.
    """
    xp = planes.namespace(block)
    bits = block.view(xp.int64)
    first, lower = (bits[:, :1], bits[:, 1:]) if is_complex else (bits[:1], bits[1:])
    mask = xp.where(signs < 0, xp.int64(-(2**63)), xp.int64(0))
    first ^= mask
    lower ^= xp.where(lower == 0, 0, mask)


def clear_diagonal_signs(r: Block, is_complex: bool) -> None:
    """Write +0 where the diagonal of R has -0, in imaginary parts too."""
    xp = planes.namespace(r)
    for part in r if is_complex else r[None]:
        found = diagonal(part[0])
        found[...] = xp.where(found.view(xp.int64) == -(2**63), 0.0, found)


def scaled_factors(
    inputs: Inputs,
    width: int | None,
    checks: Checks | None,
    function: str,
    report: Reporter | None = None,
    *,
    keep_q: bool = True,
) -> Scaled:
    """Scale the columns of the first operand by powers of two and factor it."""
    block, field, backend = inputs.blocks[0], inputs.is_complex, inputs.backend
    if checks is not None:
        checks.require_finite(function, "a", block, field)
    scaled, powers = backend.balance_columns(block, None, is_complex=field)
    work = planes.widen(scaled, field, inputs.work.limbs)
    del scaled
    factors = householder.factor(
        backend,
        work,
        kind=inputs.kind,
        tile=width,
        keep_q=keep_q,
        report=report,
    )
    return Scaled(factors, -powers)


def pivoted_factors(
    inputs: Inputs,
    *,
    tile: int | None = None,
    keep_q: bool = True,
    enough: float = 0.0,
    least: int = 0,
    report: Reporter | None = None,
) -> tuple[Scaled, pivoted.Pivoted]:
    """Scale the columns of the first operand ``(batch, m, n)``, finite, and factor with pivoting.

    In two limbs or more: of one, rounding errors would have another order. The options are those of
    `pivoted.factor`.
    """
    backend, field = inputs.backend, inputs.is_complex
    kind = Kind(max(inputs.work.limbs, PRECISIONS[1].limbs), field)
    block, powers = backend.balance_columns(inputs.blocks[0], None, is_complex=field)
    work = planes.widen(block, field, kind.limbs)
    found = pivoted.factor(
        backend,
        work,
        -powers,
        kind=kind,
        tile=tile,
        keep_q=keep_q,
        enough=enough,
        least=least,
        report=report,
    )
    return Scaled(found.factors, found.exponents), found
