"""Inverses of R with bounds of their errors, in as many limbs as that takes.

With X near ``R^-1``, ``B = A X`` and ``I - B^H B`` of norm g < 1, L the sum of its powers,

    A^+ = X (I + L) B^H,    (A^H A)^-1 = X (I + L) X^H,    A A^+ = B (I + L) B^H.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import ModuleType

import numpy as np

from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Block, Kind
from mdqr.linalg._shared.checks import Checks, fetch
from mdqr.linalg._shared.operands import precision_for
from mdqr.linalg._solve.system import System, triangle_of

# Departures from orthogonality that need no more limbs.
_SMALL = 2.0**-10
# More than underflow takes from products of moduli near 1.
LEAST = 2.0**-1060


@dataclass(frozen=True)
class NearInverse:
    """X and B with their errors; moduli that are returned include all of them.

    Blocks `x` and `b` are of this `kind`, and `unit` bounds the rounding of products, relative to
    products of moduli. `off` bounds the distance of `b` from ``A X``, and `sums` is |L|, infinite
    or NaN where no precision leaves a g below 1.
    """

    system: System
    kind: Kind
    x: Block
    b: Block
    unit: float
    off: Block
    sums: Block

    @property
    def size_x(self) -> Block:
        """The moduli of X."""
        return self.system.size(self.x)

    @property
    def size_b(self) -> Block:
        """The moduli of B."""
        return self.system.size(self.b) + self.off

    def pseudo_inverse(self) -> Block:
        """Return the moduli of ``A^+``."""
        adjoint, turned = planes.adjoint(self.b, self.kind.is_complex), self.size_b
        turned = turned.swapaxes(-1, -2)
        found = self._product(self.x, adjoint) + self.size_x @ (
            self.sums @ turned + self.off.swapaxes(-1, -2) + self.unit * turned
        )
        return found + LEAST

    def normal(self) -> Block:
        """Return the moduli of ``(A^H A)^-1``."""
        adjoint, size = planes.adjoint(self.x, self.kind.is_complex), self.size_x
        turned = size.swapaxes(-1, -2)
        found = self._product(self.x, adjoint)
        return found + size @ (self.sums @ turned + self.unit * turned) + LEAST

    def normal_times(self, c: Block) -> Block:
        """Return the moduli of ``(A^H A)^-1 c``."""
        adjoint, size = planes.adjoint(self.x, self.kind.is_complex), self.size_x
        c = planes.widen(c, self.kind.is_complex, self.kind.limbs)
        image = self.system.backend.matmul(adjoint, c, kind=self.kind)
        off = self.unit * (size.swapaxes(-1, -2) @ self.system.size(c)) + LEAST
        whole = self.system.size(image) + off
        left = off + self.sums @ whole + self.unit * whole
        return self._product(self.x, image) + size @ left + LEAST

    def beside(self, powers: Block) -> Block:
        """Return the roots of the diagonal of ``I - A A^+``, as a column; as `near_inverse`."""
        xp, field, kind = self.system.backend.xp, self.kind.is_complex, self.kind
        near = self.system.backend.ldexp(self.b, powers[..., :, None], is_complex=field)
        ones = xp.ones((1, *planes.value_shape(near, field)[:-1], 1, 1))
        share = self.system.backend.matmul(
            near[..., None, :],
            near[..., :, None],
            conj_b=field,
            c=planes.complexify(ones) if field else ones,
            subtract=True,
            kind=kind._replace(limbs=max(kind.limbs, 2)),
        )
        off, size = (xp.ldexp(x, powers[..., :, None]) for x in (self.off, self.size_b))
        left = (size * (2.0 * off + size @ self.sums)).sum(axis=-1, keepdims=True)
        unit = near.shape[-1] * precision_for(max(kind.limbs, 2)).eps
        return (self.system.size(share)[..., 0] + left + 16 * unit) ** 0.5

    def _product(self, x: Block, y: Block) -> Block:
        return self.system.size(self.system.backend.matmul(x, y, kind=self.kind))


@np.errstate(all="ignore")
def near_inverse(system: System, a: Block, powers: Block | None = None) -> NearInverse:
    """Return an inverse of R with bounds of its errors, infinite or NaN where R is singular.

    Parameters
    ----------
    system : System
        The problem that is factored, with at least as many rows as columns.
    a : Block
        Its (weighted) matrix, with rows multiplied by ``2**-powers``, and then B also.
    powers : Block, optional
        Exponents ``(..., m)``; zeros by default.
    """
    field, xp, backend = system.kind.is_complex, system.backend.xp, system.backend
    kind, factors = system.kind, system.factors
    # Entries of the product with the roots are rounded.
    of_root = 0.0 if system.root is None else 8 * precision_for(kind.limbs).eps
    while True:
        triangle = triangle_of(factors, system.caller, Checks(ignore=True), system.line)
        x = triangle.solve(system.identity())
        wide = planes.widen(a, field, kind.limbs)
        b = backend.matmul(wide, x, kind=kind)
        unit = (8 * sum(wide.shape[-2:]) + 64) * precision_for(kind.limbs).eps
        off = (unit + of_root) * (system.size(wide) @ system.size(x)) + unit * system.size(b)
        off = off + LEAST
        found = NearInverse(system, kind, x, b, unit, off, off)
        near, size, off = b, found.size_b, off
        if powers is not None:
            near = backend.ldexp(b, powers[..., :, None], is_complex=field)
            size, off = (xp.ldexp(y, powers[..., :, None]) + LEAST for y in (size, off))
        one = kind.identity(xp, (*planes.value_shape(x, field)[:-1], x.shape[-1]))
        adjoint, turned = planes.adjoint(near, field), size.swapaxes(-1, -2)
        left = system.size(backend.matmul(adjoint, near, c=one, subtract=True, kind=kind))
        left = left + unit * (turned @ size + xp.eye(x.shape[-1])) + LEAST
        left = left + turned @ off + off.swapaxes(-1, -2) @ size
        norm = scaling.largest(left.sum(axis=-1), None, 0.0)
        more = precision_for(kind.limbs).next
        if more.limbs == kind.limbs or fetch(norm < _SMALL)[0]:
            return replace(found, sums=sum_of_powers(xp, left))
        kind = kind._replace(limbs=more.limbs)
        whole = planes.widen(system.weighted_matrix, field, kind.limbs)
        factors = replace(system, kind=kind, a=whole, root=None, report=None).factors


@np.errstate(all="ignore")
def sum_of_powers(xp: ModuleType, left: Block) -> Block:
    """Return ``E + E^2 + ...`` for moduli E, or more: infinite or NaN where that may not converge.

    Where ``E^3 <= c E^2`` entry by entry, c < 1, the terms from the second on are at most ``E^2 /
    (1 - c)``; else they are at most the sums of rows times the largest of columns over ``1 - g``.
    """
    square = left @ left
    cube = square @ left
    ratio = xp.where(cube > 0, cube / square, 0.0)
    ratio = scaling.largest(ratio, (-2, -1), 0.0, keepdims=True)
    lengths = left.sum(axis=-1, keepdims=True)
    norm = scaling.largest(lengths, (-2, -1), 0.0, keepdims=True)
    rest = lengths * scaling.largest(left, -2, 0.0, keepdims=True) / (1.0 - norm)
    rest = xp.where(norm < 1.0, rest, xp.inf)
    return left + xp.where(ratio < 0.5, square / (1.0 - ratio), rest)
