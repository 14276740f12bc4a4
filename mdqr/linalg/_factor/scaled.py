"""QR factors of matrices whose columns are scaled by powers of two, and their signs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from mdqr._limbs import planes
from mdqr._limbs.planes import Block, Kind, diagonal
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
