"""Scaled least-squares problems, and messages for those whose columns depend on each other.

Residuals, corrections and factorisations work on a `System`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, NoReturn

import numpy as np

from mdqr._backend.blocks import native_abs, to_native
from mdqr._backend.protocol import Backend
from mdqr._limbs import planes, scaling
from mdqr._limbs.folds import is_all
from mdqr._limbs.planes import Block, Kind
from mdqr._progress import Reporter
from mdqr.linalg._factor import householder
from mdqr.linalg._factor.householder import Factors
from mdqr.linalg._factor.triangular import Triangle
from mdqr.linalg._inverse.rounds import float_inverse, float_inverse_of_r
from mdqr.linalg._shared.caller import LSTSQ, Caller
from mdqr.linalg._shared.checks import Checks, first_true, of_batch
from mdqr.linalg._shared.operands import Items, taken

# A limb that underflows loses less than half of 2^-1074, in both parts of a complex value.
LOST = -1074
# What underflow may change in each term of a residual: products of limbs below 2^-1074.
UNDERFLOW = 2.0**-1060
# Rows whose sizes differ by more powers of two are sorted.
_SORTED_SPAN = 8


class Scaled(NamedTuple):
    """A block whose columns are to be multiplied by ``2**exponents``."""

    block: Block
    exponents: Block


@dataclass
class System:
    """A least-squares problem with scaled columns, factored when that is asked for.

    `a` has the matrices that the residuals use, `given` multiplied by ``2**(rows[i] + powers[j])``;
    `rows` ``(..., m)`` is None for zeros. `weight` and `root` are columns ``(..., m, 1)`` near 1 or
    0, None for ones; `sorting` ``(..., m)`` is an order of the rows for the factorisation instead
    of the order of their sizes. Who refines settles `checks`, and looks for overflow.
    """

    caller: Caller
    backend: Backend
    kind: Kind
    a: Block
    checks: Checks
    given: Block
    powers: Block
    rows: Block | None = None
    weight: Block | None = None
    root: Block | None = None
    sorting: Block | None = None
    report: Reporter | None = None
    line: str = "column"

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
        report: Reporter | None = None,
        line: str = "column",
        balanced: tuple[Block, Block] | None = None,
    ) -> System:
        """Scale matrices with at least as many rows as columns.

        Parameters
        ----------
        caller : Caller
            The public function, for messages.
        backend : Backend
            Where the kernels run.
        given : Block
            The matrices.
        checks : Checks
            Gets what is demanded of them once they are factored: that no column depends on others
            exactly, and where rows are sorted that none is zero.
        kind : Kind
            That of the work.
        rows, weight, root : Block, optional
            As the attributes.
        report : callable, optional
            Called as ``report("factor", done, total)`` by the factorisation.
        line : str, optional
            What messages call a column.
        balanced : tuple, optional
            The result of `Backend.balance_columns` for them.
        """
        if balanced is None:
            balanced = backend.balance_columns(given, rows, is_complex=kind.is_complex)
        a, powers = balanced
        return cls(
            caller,
            backend,
            kind,
            a,
            checks,
            given,
            powers,
            rows,
            weight,
            root,
            report=report,
            line=line,
        )

    def tell(self, stage: str, done: int, total: int | None) -> None:
        """Report progress to the callable of the user, or to nobody."""
        if self.report is not None:
            self.report(stage, done, total)

    @cached_property
    def order(self) -> Block | None:
        """The order of the rows in the factorisation ``(..., m)``; None keeps them."""
        # Scaled rows are of one size.
        if self.sorting is not None or (self.rows is not None and self.root is None):
            return self.sorting
        bits = scaling.magnitude_bits(self.weighted_matrix, self.kind.is_complex)
        require_columns(self.caller, self.checks, bits, self.line)
        return _row_order(self.checks, bits, weighted=self.root is not None)

    @cached_property
    def weighted_matrix(self) -> Block:
        """The matrices that are factored: `a` itself, or a product with the roots."""
        return self.a if self.root is None else self.binary("multiply", self.root, self.a)

    @cached_property
    def factors(self) -> Factors:
        """Householder QR of the sorted rows."""
        work = self._sorted(self.weighted_matrix)
        wide = planes.widen(work, self.kind.is_complex, self.kind.limbs)
        wide = wide.copy() if wide is self.weighted_matrix else wide
        return householder.factor(self.backend, wide, kind=self.kind, report=self.report)

    @cached_property
    def float_inverse(self) -> Block:
        """An inverse in float64 of square matrices, not finite for singular ones.

        With more rows, of R of one matrix; NaN if its Gram matrix is not definite.
        """
        native = to_native(self.backend.xp, self.a, self.kind.is_complex)
        find = float_inverse if self.is_square else float_inverse_of_r
        return find(self.backend, native)

    @cached_property
    def triangle(self) -> Triangle:
        """R; the checks get that no diagonal entry is exactly zero, and all are finite."""
        return triangle_of(self.factors, self.caller, self.checks, self.line)

    @property
    def factored(self) -> System:
        """The system with at least as many rows as columns whose factors solve this one."""
        return self

    def take(self, items: Items) -> System:
        """Return the system of some matrices of a batch, not factored."""
        found = {name: getattr(self, name) for name in ("powers", "rows", "sorting")}
        found = {name: x if x is None else taken(x, 0, items) for name, x in found.items()}
        for name in ("a", "given", "weight", "root"):
            x = getattr(self, name)
            found[name] = x if x is None else taken(x, self.kind.lead, items)
        return replace(self, **found)

    def sorted_by(self, order: Block) -> System:
        """Return the system whose rows are factored in another order."""
        return replace(self, sorting=order)

    @cached_property
    def columns(self) -> int:
        """Number of unknowns."""
        return int(self.a.shape[-1])

    @cached_property
    def is_square(self) -> bool:
        """True if a solution leaves no residual: r is zero, and no step changes it."""
        return self.columns == self.a.shape[-2]

    @cached_property
    def lost(self) -> Block | None:
        """The same as `underflow`, of the scaling of `given`."""
        return self.underflow(self.given, self.a, self.powers)

    def underflow(self, given: Block, scaled: Block, powers: Block) -> Block | None:
        """Return a bound of the underflow of scaling, or None without any; the caller waits.

        `scaled` is `given`, the rows multiplied by the row scales of the system and the columns by
        ``2**powers``. The bound is a real block of one limb, in units of ``2**LOST``.
        """
        field, rows = self.kind.is_complex, 0 if self.rows is None else -self.rows[..., :, None]
        back = self.backend.ldexp(scaled, rows - powers[..., None, :], is_complex=field)
        if bool(self.checks.settle((back == given).all())[0]):
            return None
        limbs = planes.limb_count(given, field)
        return (scaling.magnitude_bits(given, field) != 0)[None] * float(limbs)

    def identity(self) -> Block:
        """Return the identity of the order and the batch of the triangle, of one limb."""
        shape = (*planes.value_shape(self.a, self.kind.is_complex)[:-2], self.columns, self.columns)
        return self.kind._replace(limbs=1).identity(self.backend.xp, shape)

    def size(self, block: Block) -> Block:
        """Return the moduli of the leading limbs."""
        return native_abs(block, self.kind.is_complex)

    def binary(self, op: str, x: Block, y: Block) -> Block:
        """Apply an elementwise operation."""
        return self.backend.binary(op, x, y, kind=self.kind)

    def correct(self, f: Block, g: Block | None) -> tuple[Block, Block]:
        """Return dx and dr for the right-hand sides f and g; None for g means zeros."""
        scaled = f if self.root is None else self.binary("multiply", self.root, f)
        qhf = self.factors.apply_qh(self._sorted(scaled))
        if self.is_square:
            return self.triangle.solve(qhf), self.backend.xp.zeros(qhf.shape)
        t = qhf[..., : self.columns, :].copy()
        qhf[..., : self.columns, :] = 0.0
        if g is not None:
            h = self.triangle.solve(g, "C")
            t = self.binary("subtract", t, h)
            qhf[..., : self.columns, :] = h
        dr = self._unsorted(self.factors.apply_q(qhf))
        if self.root is not None:
            dr = self.binary("divide", dr, self._divisor)
        return self.triangle.solve(t), dr

    def residuals(self, b: Block, x: Block, r: Block) -> tuple[Block, Block | None]:
        """Return f and g, as if computed in twice the precision and rounded once."""
        return self.residual(b, x, r), None if self.is_square else self.gradient([], r)

    def residual(self, b: Block, x: Block, r: Block) -> Block:
        """Return f."""
        terms = [(1, b)] if self.is_square else [(1, b), (-1, r)]
        return self.backend.residual(terms, self.a, x, kind=self.kind)

    def gradient(self, terms: list[tuple[int, Block]], r: Block, kind: Kind | None = None) -> Block:
        """Return the sum of `terms` less ``A^H W r``; `kind` is that of the work by default."""
        transposed = self.a.swapaxes(-1, -2)
        for part in self.weighted(r, kind):
            g = self.backend.residual(terms, transposed, part, conj_a=True, kind=kind or self.kind)
            terms = [(1, g)]
        return g

    def weighted(self, r: Block, kind: Kind | None = None) -> list[Block]:
        """Return blocks whose sum is ``W r`` to twice the precision."""
        if self.weight is None:
            return [r]
        kind = kind or self.kind
        scalars, rows = self.weight[..., None], r[..., None, :]
        high = self.backend.matmul(scalars, rows, kind=kind)
        low = self.backend.residual([(1, high)], scalars, rows, kind=kind)
        return [high[..., 0, :], planes.negate(low[..., 0, :], self.kind.is_complex)]

    def add_rounded(self, *blocks: Block, limbs: int = 2) -> tuple[Block, Block]:
        """Return the sum of blocks, correctly rounded, and what that cuts off, to `limbs` limbs."""
        whole = added(self.backend, blocks, self.kind)
        rest = planes.negate(whole, self.kind.is_complex)
        return whole, added(self.backend, (*blocks, rest), self.kind._replace(limbs=limbs))

    @cached_property
    def _divisor(self) -> Block:
        """The roots of the weights with ones for zeros, whose rows of Q are zero."""
        assert self.root is not None
        divisor = self.root.copy()
        plane = divisor[0, 0] if self.kind.is_complex else divisor[0]
        plane[...] = self.backend.xp.where(plane == 0, 1.0, plane)
        return divisor

    @cached_property
    def _original_order(self) -> Block:
        """The order that undoes `order`."""
        return self.backend.xp.argsort(self.order, axis=-1)

    def form_q(self) -> Block:
        """Return as many columns of Q as the system has unknowns, in the order of the rows."""
        return self._unsorted(self.factors.form_q(self.columns))

    def _sorted(self, x: Block) -> Block:
        return x if self.order is None else take_rows(x, self.order)

    def _unsorted(self, x: Block) -> Block:
        return x if self.order is None else take_rows(x, self._original_order)


def added(backend: Backend, blocks: Sequence[Block], kind: Kind) -> Block:
    """Return the sum of blocks, correctly rounded to the limbs of `kind`."""
    terms = backend.xp.concatenate(blocks, axis=int(kind.is_complex))
    return backend.unary("renormalize", terms, kind=kind)


def take_rows(block: Block, order: Block) -> Block:
    """Return `block` with the rows of each matrix in the given order."""
    xp = planes.namespace(block)
    missing = block.ndim - order.ndim - 1
    index = order[(None,) * missing + (..., None)]
    return xp.take_along_axis(block, xp.broadcast_to(index, (*block.shape[:-1], 1)), axis=-2)


def _row_order(checks: Checks, bits: Block, *, weighted: bool) -> Block | None:
    """Return the order of decreasing row maxima, or None where it does not matter."""
    xp = planes.namespace(bits)
    largest = scaling.largest(bits, -1, 0)
    if largest.size == 0:
        return None
    order = xp.argsort(-largest, axis=-1, kind="stable")
    if weighted:
        return order
    exponent = scaling.exponents_of(largest)
    low = xp.where(largest > 0, exponent, -scaling.ABSENT).min(axis=-1, keepdims=True)
    high = xp.where(largest > 0, exponent, scaling.ABSENT).max(axis=-1, keepdims=True)
    wide = high - low > _SORTED_SPAN
    if not checks.settle(wide.any())[0]:
        return None
    return xp.where(wide, order, xp.arange(order.shape[-1]))


def sum_of_squares(system: System, r: Block) -> Block:
    """Return the weighted sums of squares of the columns of `r`: a real block ``(..., k)``."""
    weighted = r if system.weight is None else system.binary("multiply", system.weight, r)
    return inner_products(system.backend, system.kind, r, weighted)


def inner_products(backend: Backend, kind: Kind, x: Block, y: Block) -> Block:
    """Return the real parts of ``x^H y``, column by column: a real block ``(..., k)``."""
    left, right = x.swapaxes(-1, -2)[..., None, :], y.swapaxes(-1, -2)[..., :, None]
    total = backend.matmul(left, right, conj_a=kind.is_complex, kind=kind)[..., 0, 0]
    return total[0] if kind.is_complex else total


def triangle_of(factors: Factors, caller: Caller, checks: Checks, line: str = "column") -> Triangle:
    """Return the triangle R of a factorisation with at least as many rows as columns.

    Demanded: no diagonal entry is exactly zero, and all entries are finite.
    """
    return Triangle(
        factors.backend,
        factors.h[..., : factors.count, :],
        kind=factors.kind,
        function=caller.function,
        checks=checks,
        singular=lambda _, column, batch: deficient(caller, column, batch, line=line),
    )


def deficient(
    caller: Caller,
    column: int,
    batch: tuple[int, ...],
    found: float = np.inf,
    advice: str = "",
    line: str = "column",
) -> str:
    """Return the message for a rank-deficient matrix; `advice` replaces that to leave it out.

    `line` is what messages call a column: "row" for those of the conjugate transpose.
    """
    size = "infinite" if np.isinf(found) else f"about {found:.1e}"
    if caller == LSTSQ:
        advice = advice or "leave it out, or let rtol say what counts as rank"
    return (
        f"{caller.function}: {caller.a} is {_what(caller)}: {line} {column} depends on the other "
        f"{line}s"
        f"{of_batch(batch)} (condition {size})" + (f"; {advice}" if advice else "")
    )


def require_columns(caller: Caller, checks: Checks, bits: Block, line: str = "column") -> None:
    """Demand that no column is zero, from the bits of the leading magnitudes."""
    largest = scaling.largest(bits, -2, 0)
    checks.require(is_all(largest), lambda: raise_for_zero_column(caller, largest == 0, line))


def raise_for_zero_column(caller: Caller, zeros: Block, line: str = "column") -> NoReturn:
    """Raise the LinAlgError that names the first column for which `zeros` is true."""
    *batch, column = first_true(zeros)
    raise np.linalg.LinAlgError(
        f"{caller.function}: {caller.a} is {_what(caller)}: {line} {column} is zero"
        f"{of_batch(tuple(batch))}" + ("; leave it out" if caller == LSTSQ else "")
    )


def _what(caller: Caller) -> str:
    """Return the word for a matrix without full rank: square ones are singular."""
    return "singular" if caller.wants_square else "rank deficient"
