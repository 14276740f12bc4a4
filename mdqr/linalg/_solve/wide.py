"""Matrices with fewer rows than columns, scaled, and error bounds of their minimum-norm solutions.

Rows are scaled by powers of two, which changes nothing of the shortest solution. Columns are not,
for it would be another: unknowns are, which are held in units of their own.

The shortest solution of ``A x = b`` is ``x = A^H y`` with ``A A^H y = b``. X is an approximate
inverse of R, ``A^H = Q R``, so that the columns of ``B = A^H X`` are nearly orthonormal. For any x
and y with ``f = b - A x`` and ``g = A^H y - x`` the error of x is ``g + B z``, where ``B^H B z =
X^H f - B^H g``: with ``norm(I - B^H B) <= alpha < 1`` in the 2-norm component i is at most

    |g|_i + (|B| w)_i + norm(row i of B) norm(w) alpha / (1 - alpha),  w = |X^H f| + |B^H| |g|

which is as small as row i of B where column i of A is small.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from mdqr._backend.blocks import from_native, to_native, turned
from mdqr._backend.protocol import Backend
from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Block, Kind
from mdqr._progress import Reporter
from mdqr.linalg._inverse.approximate_inverse import UP, ApproximateInverse, U
from mdqr.linalg._shared.caller import Caller
from mdqr.linalg._shared.checks import Checks
from mdqr.linalg._shared.operands import precision_for
from mdqr.linalg._solve.system import System, added


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
        report: Reporter | None = None,
        line: str = "row",
        **scales: Block | None,
    ) -> Wide:
        """Scale matrices with fewer rows than columns, as `System.of` has it.

        `scales` are its `rows`, `weight` and `root`.
        """
        tall = System.of(
            caller,
            backend,
            planes.adjoint(given, kind.is_complex),
            checks,
            kind=kind,
            report=report,
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
            report=report,
            line=line,
            tall=tall,
            **scales,
        )

    @property
    def factored(self) -> System:
        """The system of the conjugate transposes."""
        return self.tall

    @cached_property
    def squared(self) -> Block:
        """The powers of two of ``a x`` beside those of unknowns, as a column."""
        return 2 * self.powers[..., :, None]

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

    def inverses(self) -> tuple[Block, Block]:
        """Return the inverse of R, and ``A^H`` times it in the units of unknowns."""
        inverse = self.tall.triangle.solve(self.tall.identity())
        return inverse, self.image(inverse, None, self.kind.limbs)

    def _product(self, a: Block, x: Block, c: Block | None, limbs: int, *, adjoint: bool) -> Block:
        field = self.kind.is_complex
        a, x = planes.first_limbs(a, field, limbs), planes.first_limbs(x, field, limbs)
        c = None if c is None else planes.first_limbs(c, field, limbs)
        kind = self.kind._replace(limbs=limbs)
        return self.backend.matmul(a, x, conj_a=adjoint, c=c, subtract=not adjoint, kind=kind)


@dataclass(frozen=True)
class Basis:
    """X and ``2**q B`` in float64, and bounds of the errors of solutions.

    `step` returns y near that of ``A A^H y = v``, of `limbs` limbs, with the moduli of ``X^H v``;
    `image` returns these alone, which are as large as those of ``A^H y``, within ``unit |X^H|
    |v|``. `a`, `x` and `b` are moduli of A, X and ``2**q B``, that within ``loose |A^H| |X|``;
    `rate` ``(..., 1, 1)`` is alpha.
    """

    system: Wide
    limbs: int
    step: Callable[[Block], tuple[Block, Block]]
    image: Callable[[Block], Block]
    unit: float
    a: Block
    x: Block
    b: Block
    loose: float
    rate: Block

    @classmethod
    def of_inverse(cls, system: Wide, inverse: ApproximateInverse) -> Basis:
        """Return the basis of an approximate inverse of the tall system in float64."""
        xp, is_complex = system.backend.xp, system.kind.is_complex
        a = to_native(xp, system.a, is_complex)
        x = inverse.native
        b = xp.abs(turned(a) @ x)
        adjoint = turned(x)

        def step(v: Block) -> tuple[Block, Block]:
            image = adjoint @ to_native(xp, v, is_complex)
            return from_native(xp, x @ image, is_complex), xp.abs(image)

        def image(v: Block) -> Block:
            return xp.abs(adjoint @ to_native(xp, v, is_complex))

        unit = 2.0 * (x.shape[-1] + 8) * (4 if is_complex else 1) * U
        return cls(system, 1, step, image, unit, xp.abs(a), xp.abs(x), b, unit, inverse.rate)

    @classmethod
    def of_factors(cls, system: Wide) -> Basis:
        """Return the basis of the factors of the tall system, in working precision."""
        kind, triangle = system.kind, system.tall.triangle
        (m, n), eps = system.a.shape[-2:], precision_for(system.kind.limbs).eps
        factor = 2 if kind.is_complex else 1
        one, (inverse, held) = system.tall.identity(), system.inverses()

        def step(v: Block) -> tuple[Block, Block]:
            image = triangle.solve(system.rounded(v), "C")
            return triangle.solve(image), system.size(image)

        def image(v: Block) -> Block:
            v, turned = system.rounded(v), inverse.swapaxes(-1, -2)
            return system.size(system.backend.matmul(turned, v, conj_a=True, kind=kind))

        b = system.backend.ldexp(held, system.powers[..., :, None], is_complex=kind.is_complex)
        h = system.backend.matmul(
            b.swapaxes(-1, -2), b, conj_a=True, c=one, subtract=True, kind=kind
        )
        a, x, loose = system.size(system.a), system.size(inverse), (m + 12) * factor * eps
        off = loose * _frobenius(system.size(system.tall.a) @ x)
        left = _frobenius(system.size(h))
        left = left + (n + 12) * factor * eps * (_frobenius(system.size(b)) ** 2 + m**0.5)
        rate = (left + off * (2.0 * (1.0 + left) ** 0.5 + off)) * UP
        return cls(system, kind.limbs, step, image, loose, a, x, system.size(held), loose, rate)

    def bound(self, f: Block, error: Block, g: Block) -> Block:
        """Bound the errors of unknowns, in their units, by f, its errors and the sizes of g."""
        xp, at, xt = self.system.backend.xp, self.a.swapaxes(-1, -2), self.x.swapaxes(-1, -2)
        low = xp.ldexp(g, self.system.squared)
        w = self.image(f) + xt @ (error + self.unit * self.system.size(f))
        w = w + self.b.swapaxes(-1, -2) @ low + self.loose * (xt @ (self.a @ low))
        image = self.b @ w + self.loose * (at @ (self.x @ w))
        lengths = scaling.norms(self.b, -1, keepdims=True)
        lengths = lengths + self.loose * (at @ self.x.sum(axis=-1, keepdims=True))
        rate = xp.where(self.rate < 1.0, self.rate / (1.0 - self.rate), xp.inf)
        rest = lengths * w.sum(axis=-2, keepdims=True)
        found = (g + image + xp.where(rest > 0.0, rest * rate, 0.0)) * UP
        return xp.where(xp.isnan(found), xp.inf, found)


def _frobenius(x: Block) -> Block:
    return scaling.norms(x, (-2, -1), keepdims=True)
