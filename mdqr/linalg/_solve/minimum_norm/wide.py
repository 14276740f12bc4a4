"""Matrices with fewer rows than columns, scaled.

Rows are scaled by powers of two, which changes nothing of the shortest solution. Columns are not,
for it would be another: unknowns are, which are held in units of their own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from mdqr._backend.blocks import native_abs
from mdqr._backend.protocol import Backend
from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Block, Kind
from mdqr.linalg._shared.caller import Caller
from mdqr.linalg._shared.checks import Checks
from mdqr.linalg._shared.operands import Callback, precision_for
from mdqr.linalg._solve.reports.data_error import DataErrors
from mdqr.linalg._solve.system import Scaled, System, added


@dataclass
class Wide(System):
    """A problem with fewer rows than columns.

    `a` is `given` multiplied by ``2**(tall.powers[i] - powers[j])``, and unknowns are multiplied by
    ``2**-powers`` too. `rows`, `weight` and `root` are for sums of squares: positive weights do not
    change x. `tall` is the system of ``A^H``.
    """

    tall: System = field(kw_only=True)

    @classmethod
    def of(
        cls,
        caller: Caller,
        backend: Backend,
        given: Block,
        checks: Checks,
        *,
        kind: Kind,
        rows: Block | None = None,
        weight: Block | None = None,
        root: Block | None = None,
        callback: Callback | None = None,
        line: str = "row",
    ) -> Wide:
        """Scale matrices with fewer rows than columns, as `System.of` has it."""
        tall = System.of(
            caller,
            backend,
            planes.adjoint(given, kind.is_complex),
            checks,
            kind=kind,
            callback=callback,
            line=line,
        )
        a, powers = backend.balance_columns(given, tall.powers, is_complex=kind.is_complex)
        return cls(
            caller,
            backend,
            kind,
            a,
            checks,
            given,
            -powers,
            rows,
            weight,
            root,
            callback=callback,
            line=line,
            tall=tall,
        )

    @property
    def factored(self) -> System:
        """The system of the conjugate transposes."""
        return self.tall

    @cached_property
    def squared(self) -> Block:
        """The powers of two of ``a x`` beside those of unknowns, as a column."""
        return 2 * self.powers[..., :, None]

    def size(self, block: Block) -> Block:
        """Return the moduli of the leading limbs."""
        return native_abs(block, self.kind.is_complex)

    def image(self, y: Block, c: Block | None, limbs: int) -> Block:
        """Return ``c + A^H y`` in the units of unknowns, computed in so many limbs."""
        return self._product(self.a.swapaxes(-1, -2), y, c, limbs, adjoint=True)

    def less(self, c: Block, x: Block, limbs: int) -> Block:
        """Return ``c - A x``, computed in so many limbs."""
        return self._product(self.a, self.lowered(x), c, limbs, adjoint=False)

    def lowered(self, x: Block) -> Block:
        """Return unknowns in the units of the columns of `a`."""
        return self.backend.ldexp(x, self.squared, is_complex=self.kind.is_complex)

    def rounded(self, *blocks: Block) -> Block:
        """Return the sum of blocks, correctly rounded to the limbs of the work."""
        kind = self.kind
        if len(blocks) == 1 and planes.limb_count(blocks[0], kind.is_complex) <= kind.limbs:
            return blocks[0]
        return added(self.backend, blocks, kind)

    @np.errstate(all="ignore")
    def moved(self, b: Scaled, x: Block, errors: DataErrors) -> Block:
        """Return by how much errors of the data may move x, of which the moduli are given.

        ``|A^+| (|g| + |dA| |h|) + |h|`` with ``|g| = |dA| |x| + |db|``, ``P = I - A^+ A``, ``C =
        (A A^H)^-1``, ``|h| = |P| |dA^H| (|y| + |dy|)``, and ``|dy| = |C| (|g| + |dA| |dA^H| |y|) +
        |A^+^H| |dA^H| |y|``, but for what changes make of ``A^+``; infinite where the errors may
        make rows dependent. P projects: the modulus of an entry is at most the geometric mean of
        those on the diagonal, in its row and in its column.
        """
        xp, kind, near = self.backend.xp, self.kind, self.powers[..., :, None]
        up = self.tall.powers if self.rows is None else self.tall.powers - self.rows
        c, down = self.backend.balance_columns(b.block, up, is_complex=kind.is_complex)
        up, unit = self.tall.powers[..., :, None], (b.exponents - down)[..., None, :]
        shift = near + unit
        of_a = errors.a.of(xp, self.size(self.a), up - self.powers[..., None, :])
        of_c = errors.b.of(xp, self.size(c), up - unit)
        y = self.size(self.tall.triangle.solve(self.tall.triangle.solve(c, "C")))
        inverse, held = self.inverses()
        basis, diagonal = self.size(held), self._beside(held)
        pseudo = self.backend.matmul(held, inverse.swapaxes(-1, -2), conj_b=True, kind=kind)
        rows = self.size(pseudo)
        change = of_a @ xp.ldexp(x, 2 * near - shift) + of_c
        normal = self.size(
            self.backend.matmul(inverse, inverse.swapaxes(-1, -2), conj_b=True, kind=kind)
        )
        turned = of_a.swapaxes(-1, -2) @ y
        held_x = xp.ldexp(turned, self.squared)
        y = y + normal @ (change + of_a @ held_x) + rows.swapaxes(-1, -2) @ held_x
        turned = of_a.swapaxes(-1, -2) @ y
        lowered = xp.ldexp(turned, near)
        across = turned + basis @ (xp.ldexp(basis, near).swapaxes(-1, -2) @ lowered)
        beside = xp.ldexp(diagonal, -near) * (diagonal * lowered).sum(axis=-2, keepdims=True)
        across = xp.minimum(across, beside)
        change = change + of_a @ xp.ldexp(across, self.squared)
        rate = scaling.largest((of_a @ xp.ldexp(rows, self.squared)).sum(axis=-1), -1, 0.0)
        rate = rate[..., None, None]
        moved = (rows @ change + across) / (1.0 - rate)
        return xp.ldexp(xp.where(rate < 1.0, moved, xp.inf), shift)

    def inverses(self) -> tuple[Block, Block]:
        """Return the inverse of R, and ``A^H`` times it in the units of unknowns."""
        inverse = self.tall.triangle.solve(self.tall.identity())
        return inverse, self.image(inverse, None, self.kind.limbs)

    def _beside(self, held: Block) -> Block:
        """Return the roots of the diagonal of ``I - A^+ A``, as a column."""
        xp, is_complex = self.backend.xp, self.kind.is_complex
        kind = self.kind._replace(limbs=max(self.kind.limbs, 2))
        rows = self.backend.ldexp(held, self.powers[..., :, None], is_complex=is_complex)
        one = xp.ones((1, *planes.value_shape(rows, is_complex)[:-1], 1, 1))
        share = self.backend.matmul(
            rows[..., None, :],
            rows[..., :, None],
            conj_b=is_complex,
            c=planes.complexify(one) if is_complex else one,
            subtract=True,
            kind=kind,
        )
        eps = rows.shape[-1] * precision_for(self.kind.limbs).eps
        return (self.size(share)[..., 0] + eps) ** 0.5

    def _product(self, a: Block, x: Block, c: Block | None, limbs: int, *, adjoint: bool) -> Block:
        field = self.kind.is_complex
        a, x = planes.first_limbs(a, field, limbs), planes.first_limbs(x, field, limbs)
        c = None if c is None else planes.first_limbs(c, field, limbs)
        kind = self.kind._replace(limbs=limbs)
        return self.backend.matmul(a, x, conj_a=adjoint, c=c, subtract=not adjoint, kind=kind)
