"""Tiled substitution with triangular matrices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from mdqr._backend.protocol import Backend
from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Block, Kind, diagonal
from mdqr._progress import Reporter
from mdqr.linalg._factor import wide_range
from mdqr.linalg._products.exact import product as exact
from mdqr.linalg._shared import tuning
from mdqr.linalg._shared.checks import (
    Checks,
    fetch,
    first_true,
    of_batch,
    raise_nonfinite,
    raise_out_of_range,
)
from mdqr.linalg._shared.operands import broadcast_batch


def _singular(function: str, column: int, batch: tuple[int, ...]) -> str:
    return (
        f"{function}: the matrix is singular: the diagonal entry of column {column} "
        f"is exactly zero{of_batch(batch)}"
    )


class Triangle:
    """A triangular matrix, scaled once, for any number of solutions.

    Rows and columns are multiplied by powers of two so that the largest entry of each is near 1:
    products stay in range and on their fast path, and no bit changes. A matrix whose diagonal
    would be pushed to the end of the range is left as it is.

    Parameters
    ----------
    backend : Backend
        Where the kernels run.
    block : Block
        Matrices ``(..., n, n)``; only the named triangle is read.
    kind : Kind
        That of the work.
    lower : bool
        Which triangle.
    unit_diagonal : bool
        Take the diagonal as ones.
    function : str
        The public function, for messages.
    checks : Checks
        Gets what is demanded of the matrix: finite entries, no zero on the diagonal.
    singular : callable, optional
        Returns the message for a zero on the diagonal: ``singular(function, column, batch)``.
    """

    def __init__(
        self,
        backend: Backend,
        block: Block,
        *,
        kind: Kind,
        lower: bool = False,
        unit_diagonal: bool = False,
        function: str,
        checks: Checks,
        singular: Callable[[str, int, tuple[int, ...]], str] = _singular,
    ) -> None:
        self.backend, self.kind = backend, kind
        is_complex = kind.is_complex
        self.lower, self.function = lower, function
        self.order, self.unit_diagonal = int(block.shape[-1]), unit_diagonal
        self.block, self.rows, self.columns, faults = backend.balance_triangle(
            block, is_complex=is_complex, lower=lower, unit_diagonal=unit_diagonal
        )

        def raise_for_entries() -> NoReturn:
            k = int(unit_diagonal)
            part = backend.xp.tril(block, -k) if lower else backend.xp.triu(block, k)
            raise_nonfinite(function, "a", part, is_complex)

        def raise_for_zero() -> NoReturn:
            zero = scaling.magnitude_bits(diagonal(block), is_complex) == 0
            *batch, column = first_true(zero)
            raise np.linalg.LinAlgError(singular(function, column, tuple(batch)))

        checks.refuse(faults, raise_for_entries, raise_for_zero)

    def solve(
        self,
        b: Block,
        trans: str = "N",
        *,
        checks: Checks | None = None,
        report: Reporter | None = None,
        name: str | None = None,
        entries: Callable[[], Block] | None = None,
        undo: tuple[Block, Block] | None = None,
    ) -> Block:
        """Return the solution of ``op(a) x = b`` for blocks ``(..., n, k)``.

        Parameters
        ----------
        b : Block
            Right-hand sides; leading dimensions broadcast.
        trans : {"N", "T", "C"}, optional
            The matrix, its transpose, or its conjugate transpose.
        checks : Checks, optional
            Gets the demand that the solution does not overflow.
        report : callable, optional
            Called as ``report("substitute", done, total)`` after each tile of rows.
        name : str, optional
            What the caller of the public function calls `b`, if it is given as it came: an entry
            that is not finite is then told from a solution that overflows.
        entries : callable, optional
            Returns the matrix as it was given. With it, and `checks`, the backward error is small
            in every entry however far apart values are, and all checks are settled.
        undo : tuple of Block, optional
            Powers of two of the rows ``(..., n)`` and columns ``(..., k)`` that the solution is
            divided by.

        Returns
        -------
        Block
            The solution.
        """
        rows, columns = (self.rows, self.columns) if trans == "N" else (self.columns, self.rows)
        a = self.block if trans == "N" else self.block.swapaxes(-1, -2)
        lower, field = self.lower == (trans == "N"), self.kind.is_complex
        _, (a, wide) = broadcast_batch(self.function, [a, b], field)
        y, powers = self.backend.balance_columns(wide, rows, is_complex=field)
        conjugate = trans == "C" and field
        y = self._substitute(a, y, lower=lower, conjugate=conjugate, report=report)
        if undo is not None:
            columns, powers = columns - undo[0], powers + undo[1]
        x, fault = self.backend.scale(y, columns, powers, is_complex=field)
        if entries is not None and checks is not None and y.size:
            *found, fault = checks.settle(*wide_range.extremes(a, y, field), fault)
            if wide_range.may_underflow(*found, limbs=self.kind.limbs):
                self._require_finite(checks, name, b)
                x = self._solve_lost(entries(), wide, trans, (a, y, x), report, undo)
                fault = (~scaling.finite(x, field)).astype(np.int64).reshape(1)

        def raise_error() -> NoReturn:
            if name is not None and not fetch(scaling.finite(b, field))[0]:
                raise_nonfinite(self.function, name, b, field)
            raise_out_of_range(self.function, "the solution", x, field)

        if checks is not None:
            checks.refuse(fault, raise_error)
        return x

    def _require_finite(self, checks: Checks, name: str | None, b: Block) -> None:
        checks.require_finite(self.function, name or "b", b, self.kind.is_complex)
        checks.settle()

    def _solve_lost(
        self,
        entries: Block,
        b: Block,
        trans: str,
        solved: tuple[Block, Block, Block],
        report: Reporter | None,
        undo: tuple[Block, Block] | None,
    ) -> Block:
        """Return x, of a triple a, y, x, with those columns solved again where underflow counts."""
        a, y, x = solved
        field, xp, lower = self.kind.is_complex, self.backend.xp, self.lower == (trans == "N")
        given = entries if trans == "N" else entries.swapaxes(-1, -2)
        _, (given, _) = broadcast_batch(self.function, [given, b], field)
        lost = wide_range.lost_columns(self.backend, a, y, given, b, kind=self.kind, lower=lower)
        (places,) = np.nonzero(fetch(lost)[0].reshape(-1, lost.shape[-1]).any(axis=0))
        if places.size == 0:
            return x
        places = xp.asarray(places)
        found, powers = wide_range.substitute(
            self.backend,
            given,
            b[..., places],
            kind=self.kind,
            lower=lower,
            conjugate=trans == "C" and field,
            unit_diagonal=self.unit_diagonal,
            report=report,
        )
        if undo is not None:
            powers = powers - undo[0][..., :, None] - undo[1][..., None, places]
        found = self.backend.ldexp(found, powers, is_complex=field)
        x[..., places] = xp.where(lost[..., None, places], found, x[..., places])
        return x

    def _substitute(
        self, a: Block, b: Block, *, lower: bool, conjugate: bool, report: Reporter | None
    ) -> Block:
        return substitute(
            self.backend,
            a,
            b,
            kind=self.kind,
            lower=lower,
            conjugate=conjugate,
            report=report,
        )


def substitute(
    backend: Backend,
    a: Block,
    b: Block,
    *,
    kind: Kind,
    lower: bool,
    unit_diagonal: bool = False,
    conjugate: bool = False,
    report: Reporter | None = None,
) -> Block:
    """Solve ``a x = b`` for triangles ``(..., n, n)`` and blocks ``(..., n, k)``.

    By tiles of rows; by halves while products of halves are faster through residues. `conjugate`:
    with the conjugate of `a`. Nothing is scaled, and nothing checked.
    """
    x = kind.empty(backend.xp, b.shape[kind.lead :])
    run = _Substitution(backend, a, x, kind, lower, unit_diagonal, conjugate, report)
    run.by_halves(slice(0, int(a.shape[-1])), b)
    return x


@dataclass
class _Substitution:
    """Rows of `x` that are found one after the other; `done` of them are there."""

    backend: Backend
    a: Block
    x: Block
    kind: Kind
    lower: bool
    unit_diagonal: bool
    conjugate: bool
    report: Reporter | None
    done: int = 0

    def by_halves(self, rows: slice, right: Block) -> None:
        """Find some rows, of which `right` is left to solve."""
        columns = int(self.x.shape[-1])
        width = self.backend.triangular_tile(int(self.a.shape[-1]), columns, kind=self.kind)
        half = (rows.stop - rows.start) // 2 // width * width
        if not tuning.residues_are_faster(
            self.backend, half, half, columns, kind=self.kind, is_part=True
        ):
            self._by_tiles(rows, right, width)
            return
        parts = [slice(0, half), slice(half, rows.stop - rows.start)]
        near, far = parts if self.lower else parts[::-1]
        first, second = (slice(rows.start + p.start, rows.start + p.stop) for p in (near, far))
        self.by_halves(first, right[..., near, :])
        rest = exact.matmul(
            self.backend,
            self.a[..., second, first],
            self.x[..., first, :],
            conj_a=self.conjugate,
            c=right[..., far, :],
            subtract=True,
            kind=self.kind,
        )
        self.by_halves(second, rest)

    def _by_tiles(self, part: slice, b: Block, width: int) -> None:
        backend, kind, lower = self.backend, self.kind, self.lower
        starts = range(part.start, part.stop, width)
        for start in starts if lower else reversed(starts):
            rows = slice(start, min(start + width, part.stop))
            known = slice(part.start, start) if lower else slice(rows.stop, part.stop)
            right = b[..., rows.start - part.start : rows.stop - part.start, :]
            if known.start < known.stop:
                right = backend.matmul(
                    self.a[..., rows, known],
                    self.x[..., known, :],
                    conj_a=self.conjugate,
                    c=right,
                    subtract=True,
                    kind=kind,
                )
            tile = self.a[..., rows, rows]
            self.x[..., rows, :] = backend.solve_triangular_tile(
                planes.conjugate(tile) if self.conjugate else tile,
                right,
                lower=lower,
                unit_diagonal=self.unit_diagonal,
                kind=kind,
            )
            self.done += rows.stop - start
            if self.report is not None:
                self.report("substitute", self.done, int(self.a.shape[-1]))
