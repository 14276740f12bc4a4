"""Approximate inverses of k limbs, with proven bounds of what they leave.

X is an approximate inverse of square A, or of R where ``A = Q R``. What it leaves, ``I - X A`` or
``I - (A X)^H (A X)``, is bounded by its computed value, the rounding errors of the products and the
lower limbs of A. With a bound below 1 every residual bounds the error of an approximate solution
(S. M. Rump 2010; for least squares by ``e = X z``, ``X^H A^H A X z = X^H A^H (b - A x)``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from types import ModuleType
from typing import NamedTuple

import numpy as np

from mdqr._backend.blocks import from_native, native_abs, to_native, turned
from mdqr._backend.protocol import Backend
from mdqr._limbs import planes, scaling
from mdqr._limbs.folds import total
from mdqr._limbs.planes import Block, Kind
from mdqr.linalg._factor.condition import irregular
from mdqr.linalg._inverse import split
from mdqr.linalg._inverse.split import Halves
from mdqr.linalg._products.exact import product as exact
from mdqr.linalg._shared.operands import Items, precision_for, taken

U = 2.0**-53
# In place of a number of limbs: a product of halves of float64.
SPLIT = 0
# For the roundings of float64 in the bounds themselves.
UP = 1 + 2.0**-30
POWER_STEPS = 8


@dataclass(frozen=True)
class ApproximateInverse:
    """X with ``I - X A`` or ``I - (A X)^H (A X)`` of norm at most `rate`.

    `x` is a block ``(..., n, n)`` of any number of limbs, `kind` that of its products. `rate`
    ``(..., 1, 1)`` bounds the norm of the maximum of square matrices, and the 2-norm of others;
    `rows` ``(..., n, 1)`` are the sums of the rows of ``|I - X A|``, or the lengths of the rows of
    X times `rate`; `seen` is what float64 shows of `rate`; `condition` ``(...)``, on the host,
    estimates the 2-norm condition of A from below, and `gain` the bits of a step.
    """

    backend: Backend
    kind: Kind
    is_square: bool
    x: Block
    rate: Block
    rows: Block
    seen: Block
    condition: np.ndarray
    gain: float = 1.0

    def take(self, items: Items) -> ApproximateInverse:
        """Return those of some matrices of a batch."""
        found = {name: taken(getattr(self, name), 0, items) for name in ("rate", "rows", "seen")}
        x = taken(self.x, self.kind.lead, items)
        return replace(self, x=x, condition=self.condition[items], **found)

    def times(self, v: Block) -> Block:
        """Return the step that a residual ``b - A x``, or ``A^H (b - A x)``, asks for."""
        return self.applied(v if self.is_square else self.image(v))

    def applied(self, v: Block) -> Block:
        """Return ``X v``."""
        return self._product(v)

    def image(self, v: Block) -> Block:
        """Return ``X^H v``: of a gradient, what lies in the range of A, in an orthonormal basis."""
        return self._product(v, adjoint=True)

    def correction(self, v: Block, delta: Block) -> tuple[Block, Block]:
        """Return the step that a residual asks for, and a bound of the error that it leaves.

        Parameters
        ----------
        v : Block
            ``b - A x`` ``(..., n, k)``, or ``A^H (b - A x)``.
        delta : Block
            A bound of its error in each component.
        """
        c, size = self._constant, self._moduli(v)
        if self.is_square:
            dx, spread = self._product(v), self.spread(delta + c * size)
            norm = scaling.largest(self._moduli(dx) + spread, -2, 0.0, keepdims=True)
        else:
            image = self.image(v)
            known = self._moduli(image)
            loose = self._floats(self._size.swapaxes(-1, -2), delta + c * size)
            dx, spread = self._product(image), self._floats(self._size, loose + c * known)
            norm = scaling.norms(known + loose, -2, keepdims=True)
        return dx, (spread + self.rows * (norm / (1.0 - self.rate))) * UP

    def correction_by_columns(self, v: Block, delta: Block) -> tuple[Block, Block]:
        """Return `correction` of square matrices, without products of moduli.

        For many columns: the largest error of each column counts for all components, and `delta`
        ``(..., 1, k)`` bounds errors of columns of v.
        """
        dx, sums = self._product(v), total(self._size, -1, keepdims=True)
        left = delta + self._constant * _column_sizes(self._moduli(v))
        norm = _column_sizes(self._moduli(dx)) + _column_sizes(sums) * left
        return dx, (sums * left + self.rows * (norm / (1.0 - self.rate))) * UP

    def spread(self, delta: Block) -> Block:
        """Return what errors `delta` of residuals can do to x."""
        if not self.is_square:
            delta = self._floats(self._size.swapaxes(-1, -2), delta)
        return self._floats(self._size, delta)

    @cached_property
    def native(self) -> Block:
        """The leading limbs as float64 or complex128."""
        return to_native(self.backend.xp, self.x, self.kind.is_complex)

    @cached_property
    def _size(self) -> Block:
        return self.backend.xp.abs(self.native)

    @property
    def _constant(self) -> float:
        return constant(self.kind, int(self.x.shape[-1]))

    def _floats(self, x: Block, y: Block) -> Block:
        return split.multiplied(self.backend, x, y)

    def _moduli(self, v: Block) -> Block:
        return native_abs(v, self.kind.is_complex)

    def _product(self, v: Block, *, adjoint: bool = False) -> Block:
        """Return ``X v`` or ``X^H v``, of the first limbs of v."""
        xp, (limbs, field) = self.backend.xp, self.kind
        if limbs > 1:
            x = self.x.swapaxes(-1, -2) if adjoint else self.x
            v = planes.first_limbs(v, field, limbs)
            return self.backend.matmul(x, v, conj_a=adjoint, kind=self.kind)
        x = turned(self.native) if adjoint else self.native
        return from_native(xp, self._floats(x, to_native(xp, v, field)), field)


class Plan(NamedTuple):
    """The limbs of a product with A, `SPLIT` for halves of float64, and the kind of those of steps.

    `absolute` is that of X, and `condition`, on the host, estimates that of A from below; `off`
    bounds the errors of the product, the sums of rows of square matrices and else its 2-norm.
    """

    product: int
    steps: Kind
    absolute: Block
    condition: np.ndarray
    off: Block


@dataclass(frozen=True)
class Operand:
    """Matrices `a` ``(..., m, n)``, m >= n, to be inverted.

    They are within `unit`, relative to each entry, of those that are meant. `size` has the moduli
    of the leading limbs `native`, and `norm` estimates their 2-norms from below. Inverses have at
    most `most` limbs, and products at most `widest`, for a work of this `eps`.
    """

    backend: Backend
    is_complex: bool
    a: Block
    unit: float
    native: Block
    size: Block
    norm: Block
    most: int
    widest: int
    eps: float

    @classmethod
    def of(
        cls,
        backend: Backend,
        a: Block,
        is_complex: bool,
        unit: float,
        most: int,
        widest: int,
        eps: float,
    ) -> Operand:
        """Find the sizes."""
        native = to_native(backend.xp, a, is_complex)
        norm = largest_singular_value(backend, native)
        return cls(
            backend, is_complex, a, unit, native, backend.xp.abs(native), norm, most, widest, eps
        )

    @cached_property
    def is_square(self) -> bool:
        """True if X is an inverse of A, not of R."""
        return bool(self.a.shape[-1] == self.a.shape[-2])

    @cached_property
    def columns(self) -> int:
        """Number of columns."""
        return int(self.a.shape[-1])

    def first(self, x: Block) -> Block:
        """Return the leading limbs of a block as float64 or complex128."""
        return to_native(self.backend.xp, x, self.is_complex)

    def condition(self, x: Block) -> Block:
        """Estimate the 2-norm condition numbers from an approximate inverse: lower bounds."""
        return self.norm * largest_singular_value(self.backend, self.first(x))

    def absolute(self, x: Block) -> Block:
        """Return bounds ``(..., 1, 1)`` of the norm of ``|X| |A|``, or of ``|A| |X|``."""
        size = self.backend.xp.abs(self.first(x))
        if self.is_square:
            return scaling.largest(self._rows(size), -2, 0.0, keepdims=True)
        # The 2-norm is at most the geometric mean of the other two.
        multiplied = partial(split.multiplied, self.backend)
        rows = multiplied(self.size, total(size, -1, keepdims=True))
        columns = multiplied(total(self.size, -2, keepdims=True), size)
        rows = scaling.largest(rows, -2, 0.0, keepdims=True)
        columns = scaling.largest(columns, -1, 0.0, keepdims=True)
        return rows**0.5 * columns**0.5

    def _rows(self, size: Block) -> Block:
        return split.multiplied(self.backend, size, total(self.size, -1, keepdims=True))

    @cached_property
    def halves(self) -> Halves:
        """A for products by halves."""
        return Halves.of(self.a, self.is_complex, -2 if self.is_square else -1)

    def halved(self, x: Block) -> tuple[Halves, Halves]:
        """Return the operands of ``X A`` or ``A X``."""
        own = Halves.of(x, self.is_complex, -1 if self.is_square else -2)
        return (own, self.halves) if self.is_square else (self.halves, own)

    def product(self, x: Block, limbs: int) -> Block:
        """Return ``X A`` or ``A X``, computed in so many limbs and rounded to float64."""
        if limbs == SPLIT:
            return split.product(self.backend, *self.halved(x))
        pair = (x, self.a) if self.is_square else (self.a, x)
        if limbs == 1:
            return split.multiplied(self.backend, *map(self.first, pair))
        left, right = (planes.first_limbs(each, self.is_complex, limbs) for each in pair)
        kind = Kind(limbs, self.is_complex)
        return self.first(exact.matmul(self.backend, left, right, kind=kind))

    def constant(self, limbs: int) -> float:
        """Return the error of `product` relative to `absolute`."""
        found = constant(Kind(limbs, self.is_complex), self.columns)
        # Half of the room is for lower limbs, and for products of weights.
        return 2.0 * found if limbs == 1 else found + self.unit

    def off(self, x: Block, limbs: int, absolute: Block) -> Block:
        """Bound the errors of `product`, as `Plan` has them; `absolute` is that of X."""
        if limbs != SPLIT:
            sizes = self._rows(self.backend.xp.abs(self.first(x))) if self.is_square else absolute
            return self.constant(limbs) * sizes
        unit = constant(Kind(1, self.is_complex), self.columns)
        bound = split.error_of_rows if self.is_square else split.error_norm
        # Half of the room is for roundings of second halves; then limbs that are cut off.
        off = bound(*self.halved(x), 2.0 * unit)
        return off + (4.0 * precision_for(split.LIMBS).eps + self.unit) * absolute

    def measured(self, x: Block, p: Block, plan: Plan) -> ApproximateInverse:
        """Return X of square matrices with bounds of what it leaves, from its `product` `p`."""
        xp = self.backend.xp
        left = total(xp.abs(xp.eye(self.columns) - p), -1, keepdims=True)
        # The last term is for the rounding of p, and what underflows in it.
        rows = (left + plan.off + 4 * U * (1 + left)) * UP
        rate, seen = (scaling.largest(y, -2, 0.0, keepdims=True) for y in (rows, left))
        return ApproximateInverse(
            self.backend, plan.steps, True, x, rate, rows, seen, plan.condition
        )

    def gram(self, x: Block, p: Block, plan: Plan) -> Gram:
        """Return the Gram matrix of ``A X`` from its `product` `p`."""
        norm = _frobenius(p)
        unit = constant(Kind(1, self.is_complex), int(p.shape[-2]))
        # The last term is for the rounding of p, and what underflows in it.
        off = plan.off + 4 * U * (1 + norm)
        error = unit * (norm**2 + self.columns**0.5)
        g = split.multiplied(self.backend, turned(p), p)
        return Gram(self, plan, x, g, off, error)

    def changed(self, x: Block, t: Block, absolute: Block) -> tuple[Block, Block]:
        """Return ``X (I + T)`` and a bound of the norm of ``|A|`` times the moduli of its errors.

        X has one or two limbs, `absolute` belongs to it; `t` is of float64, and small.
        """
        xp, field, size = self.backend.xp, self.is_complex, _frobenius(t)
        unit = constant(Kind(1, field), self.columns)
        if planes.limb_count(x, field) == 1:
            x = self.first(x)
            x = from_native(xp, x + split.multiplied(self.backend, x, t), field)
            return x, (unit * size + 4 * U * (1 + size)) * absolute
        pair = Halves.of(x, field, -1), Halves.of(from_native(xp, t, field), field, -2)
        eps, kind = precision_for(split.LIMBS).eps, Kind(split.LIMBS, field)
        change = split.pair(self.backend, *pair)
        lost = split.error_norm(*pair, 2.0 * unit, self.size) + 8 * eps * (1 + size) * absolute
        return self.backend.binary("add", x, change, kind=kind), lost


@dataclass(frozen=True)
class Gram:
    """``G`` within `error` of ``P^H P``, where ``A X`` is within `off` of P; in 2-norms."""

    operand: Operand
    plan: Plan
    x: Block
    g: Block
    off: Block
    error: Block

    @property
    def inverse(self) -> ApproximateInverse:
        """X with bounds of what it leaves."""
        operand, plan, xp = self.operand, self.plan, self.operand.backend.xp
        seen = _frobenius(xp.eye(operand.columns) - self.g)
        left = seen + self.error
        # The 2-norm of P squared is at most 1 + left.
        rate = (left + self.off * (2 * (1 + left) ** 0.5 + self.off)) * UP
        rows = _frobenius_of_rows(operand.first(self.x)) * rate * UP
        return ApproximateInverse(
            operand.backend, plan.steps, False, self.x, rate, rows, seen, plan.condition
        )

    def improved(self) -> Gram:
        """Return that of ``X (I + T)``, near ``X G^(-1/2)``: ``T = E / 2 + 3 E^2 / 8``, E = I - G.

        For X of one or two limbs. What G leaves becomes its cube, without a product with A.
        """
        operand, xp = self.operand, self.operand.backend.xp
        multiplied = partial(split.multiplied, operand.backend)
        e = xp.eye(operand.columns) - self.g
        t = 0.5 * e + 0.375 * multiplied(e, e)
        x, lost = operand.changed(self.x, t, self.plan.absolute)
        h = self.g + multiplied(self.g, t)
        g = h + multiplied(turned(t), h)
        size, left = _frobenius(t), _frobenius(e)
        unit = constant(Kind(1, operand.is_complex), operand.columns)
        error = self.error * (1 + size) ** 2
        # The moduli of G have a norm of at most 1 + left.
        error = error + 4 * (unit * size + 4 * U) * (1 + left) * (1 + size) ** 2
        return Gram(operand, self.plan, x, g, (self.off * (1 + size) + lost) * UP, error * UP)


def constant(kind: Kind, terms: int) -> float:
    """Return the bound of the error of a sum of products, relative to that of their moduli.

    For any order of the terms, operands cut to the limbs of the kind, and the product cut to
    float64 aside. Products of complex float64 numbers have errors of ``5**0.5`` units.
    """
    if kind.limbs == 1:
        return (terms + 8) * (4 if kind.is_complex else 1) * U
    return (terms + 12) * (2 if kind.is_complex else 1) * precision_for(kind.limbs).eps


def _column_sizes(size: Block) -> Block:
    return scaling.largest(size, -2, 0.0, keepdims=True)


def _frobenius(x: Block) -> Block:
    return scaling.norms(x, (-2, -1), keepdims=True)


def _squares(xp: ModuleType, x: Block) -> Block:
    size = x if x.dtype.kind == "f" else xp.abs(x)
    return total(size * size, (-2, -1), keepdims=True)


def _frobenius_of_rows(x: Block) -> Block:
    return scaling.norms(x, -1, keepdims=True)


def largest_singular_value(backend: Backend, a: Block) -> Block:
    """Return the 2-norms of matrices ``(..., m, n)`` by power iteration: lower bounds."""
    xp, multiplied = backend.xp, split.multiplier(backend)
    start = irregular(xp, a.shape[-1], 1)
    x = xp.broadcast_to(start, (*a.shape[:-2], *start.shape)).astype(a.dtype)
    # Vectors shrink by the order at most, and no square of them vanishes.
    unit, adjoint = 1.0 / _squares(xp, a), turned(a)
    y = multiplied(a, x)
    for _ in range(POWER_STEPS - 1):
        x = unit * multiplied(adjoint, y)
        y = multiplied(a, x)
    return ((_squares(xp, y) / _squares(xp, x)) ** 0.5)[..., 0, 0]
