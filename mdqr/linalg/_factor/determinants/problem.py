"""One call of `det` or `slogdet`: the operands, how the determinants are found, what is claimed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from mdqr._backend.blocks import native_abs
from mdqr._backend.protocol import Backend
from mdqr._errors import DataPrecisionWarning, place_of_least, warn_of_precision
from mdqr._limbs import planes, scaling
from mdqr._limbs.device import host_block
from mdqr._limbs.planes import Block, Kind
from mdqr._precision import PRECISIONS, Precision
from mdqr._progress import Reporter
from mdqr._typing import PrecisionLike
from mdqr.linalg._factor import lu
from mdqr.linalg._factor.determinants import elimination, exact
from mdqr.linalg._factor.determinants.elimination import Elimination, Scaled
from mdqr.linalg._shared.checks import Checks, fetch
from mdqr.linalg._shared.data_error import Errors, check_data_error, may_be_rounded, operand_errors
from mdqr.linalg._shared.digits import digits_within
from mdqr.linalg._shared.operands import (
    data_precision,
    entry_unit,
    gather,
    memory_guard,
    square_order,
)

# Matrices of at most this order have exact determinants at once, if their orders, cubed, sum to no
# more than that of so many of order 3.
_SMALL_ORDER, _FEW = 6, 64
# Matrices that no precision decides are eliminated exactly if that takes so many seconds at most.
_LONGEST = 2.0
_UP = 1.0 + 2.0**-30
_SMALLEST = 2.0**-1074


class Problem:
    """Matrices whose determinants are asked for, flattened to one batch dimension."""

    def __init__(
        self,
        function: str,
        a: Any,
        precision: PrecisionLike | None,
        data_error: Mapping[str, Any] | None,
        report: Reporter | None,
    ) -> None:
        check_data_error(function, data_error, ("a",))
        # None again once the call ends: what is asked for later reports nothing.
        self.function, self.report = function, report
        self.inputs = inputs = gather(a, precision=precision)
        checks = Checks()
        self.order = square_order(function, "a", inputs.shape(0))
        self.batch = inputs.shape(0)[:-2]
        checks.require_finite(function, "a", inputs.blocks[0], inputs.is_complex)
        self._matrices, self._data_error_given = a, data_error is not None
        if data_error is not None:
            self._errors = self._errors_of(data_error, checks)
        checks.settle()
        # What is known of errors is found later, and the operand may be changed before.
        self.given = lu.flat(inputs.blocks[0], inputs.is_complex).copy()
        self.target = math.log2((4 * self.order + 31) * inputs.precision.eps)

    def _errors_of(self, data_error: Mapping[str, Any] | None, checks: Checks) -> Errors:
        inputs, unit = self.inputs, entry_unit(self._matrices, self._data_precision)
        shape = inputs.shape(0)
        return operand_errors(self.function, data_error, "a", shape, unit, inputs, checks)

    @cached_property
    def _data_precision(self) -> Precision:
        return data_precision(self._matrices, self.inputs.work)

    @cached_property
    def _errors(self) -> Errors:
        """The errors of the entries, of which nothing was said."""
        return self._errors_of(None, Checks())

    @property
    def backend(self) -> Backend:
        """The backend of the matrices."""
        return self.inputs.backend

    @property
    def count(self) -> int:
        """The number of matrices."""
        return int(self.given.shape[-3])

    @cached_property
    def host(self) -> np.ndarray:
        """The matrices on the host."""
        return host_block(self.given)

    @cached_property
    def wide(self) -> Kind:
        """The kind of more limbs than the answer has, if it exists."""
        wide = max(self.inputs.precision.next, self.inputs.work)
        return Kind(wide.limbs, self.inputs.is_complex)

    @cached_property
    def integers(self) -> list[exact.Integer] | None:
        """The exact determinants of a few small matrices, else None."""
        if self.order > _SMALL_ORDER or self.count * self.order**3 > 27 * _FEW:
            return None
        return self._eliminated(range(self.count), self.inputs.is_complex)

    def _eliminated(self, places: Sequence[int], field: bool) -> list[exact.Integer]:
        """Return exact determinants of some of the matrices."""
        found = []
        for place in places:
            found.append(exact.determinant(self.host[..., place, :, :], field))
            if self.report is not None:
                self.report("eliminate", len(found), len(places))
        return found

    @cached_property
    def scaled(self) -> Scaled:
        """The determinants, of as many limbs as it takes."""
        kind = self.wide
        if self.integers is not None:
            return self._of_integers(self.integers, kind)
        with memory_guard(self.function, self.inputs, 6 * self.order**2, "take fewer unknowns"):
            a, powers = self._balanced
            shift = powers.sum(axis=(-2, -1)) // max(self.order, 1)
            units = exact.grid(self.given, kind.is_complex)
            found, kind = elimination.with_all_digits(
                self._elimination, a, units + shift, self.target, self.report
            )
        found = Scaled(found.value, found.exponent - shift, found.error - shift)
        return self._decided(found, kind)

    @cached_property
    def _balanced(self) -> tuple[Block, Block]:
        """The matrices with rows and columns near 1, and the powers of two of their entries."""
        field = self.inputs.is_complex
        rows = scaling.row_powers(scaling.magnitude_bits(self.given, field))
        near, columns = self.backend.balance_columns(self.given, rows, is_complex=field)
        return near, rows[..., :, None] + columns[..., None, :]

    def _decided(self, found: Scaled, kind: Kind) -> Scaled:
        """Eliminate exactly what the highest precision leaves open, if that is short."""
        field, left = kind.is_complex, _LONGEST
        (places,) = np.nonzero(fetch(found.relative > self.target)[0])
        chosen = []
        for place in places.tolist():
            left -= exact.seconds(self.host[..., place, :, :], field)
            if left < 0:
                break
            chosen.append(place)
        if not chosen:
            return found
        known = self._eliminated(chosen, field)
        return found.replace(self.backend.xp.asarray(chosen), self._of_integers(known, kind), kind)

    def _of_integers(self, known: list[exact.Integer], kind: Kind) -> Scaled:
        """Return determinants that are integers as blocks."""
        xp = self.backend.xp
        tops = [x.size + x.exponent if x.size else 0 for x in known]
        limbs = [x.limbs(kind.limbs, -top) for x, top in zip(known, tops, strict=True)]
        block = (
            np.array(limbs).reshape(len(known), 1 + kind.is_complex, kind.limbs).transpose(1, 2, 0)
        )
        block = xp.asarray((block if kind.is_complex else block[0]).copy())
        value, exponent = elimination.near_one(self.backend, block, kind)
        error = [
            top + 1.0 - 53 * kind.limbs if x.size else -math.inf
            for x, top in zip(known, tops, strict=True)
        ]
        return Scaled(value, exponent + xp.asarray(tops, dtype=np.int64), xp.asarray(error))

    def warn_of_digits(self) -> None:
        """Warn where not all digits are shown to be right, or the data leave none."""
        function, precision = f"linalg.{self.function}", self.inputs.precision
        if self.integers is None:
            (worst,) = fetch(scaling.largest(self.scaled.relative, None, -math.inf))
            if worst > self.target:
                digits = float(digits_within(np.exp2(worst), precision.digits))
                warn_of_precision(
                    function,
                    f"{digits:.1f} of {precision.digits} digits are shown to be right: a matrix is "
                    f"singular or too near to it for {PRECISIONS[-1].name}",
                    digits=digits,
                    precision=precision,
                    index=self.place(self.scaled.relative == worst),
                )
                return
        lost = self._lost_by_data()
        if lost is not None:
            warn_of_precision(
                function,
                "no digit of a determinant is determined: errors of the entries of a as large as "
                "their last digit change it by more than itself; give a in a higher precision, or "
                "data_error= if it is known better",
                digits=0.0,
                precision=precision,
                index=self.place(lost),
                category=DataPrecisionWarning,
            )

    def place(self, chosen: Block) -> tuple[int, ...]:
        """Return the place in the batch of the first matrix that is chosen."""
        return place_of_least(~fetch(chosen)[0].reshape(self.batch))

    def _lost_by_data(self) -> Block | None:
        """Return of which determinants entries that may have been rounded leave no digit, if any.

        A bool ``(batch,)``; None for none.
        """
        if not self.count or not self.order:
            return None
        if not self._data_error_given and (
            self._are_far_from_singular() or not fetch(self._may_be_rounded().any())[0]
        ):
            return None
        limit = self.data_error
        sizes = self.scaled.sizes
        lost = limit >= sizes
        if not self._data_error_given:
            lost = lost & self._may_be_rounded()
        return lost if fetch(lost.any())[0] else None

    def _are_far_from_singular(self) -> bool:
        """Return whether errors of half a unit of the entries plainly leave digits.

        They change the determinant by ``((1 + unit)**n - 1) prod(r)`` at most, r the 1-norms of the
        rows.
        """
        lost = math.log2(2.0 * self.order * self._errors.rtol)
        if self.integers is not None:
            return all(x.size > x.bits + lost + 2.0 for x in self.integers)
        known, lost = self._elimination, lost + 0.5 * math.log2(self.order) + 2.0
        if fetch((known.found.sizes > known.hadamard + lost).all())[0]:
            return True
        # The sum of the norms of the rows of ``A^-1 E`` bounds the change if it is small.
        size = native_abs(known.a, self.inputs.is_complex).sum(axis=-1)
        change = known.inverse.rows(self._errors.rtol * size).sum(axis=-1)
        return bool(fetch((change < 0.25).all())[0])

    def _may_be_rounded(self) -> Block:
        """Return whether the entries of a matrix may have been rounded, bool ``(batch,)``."""
        field, limbs = self.inputs.is_complex, self._data_precision.limbs
        return may_be_rounded(self.given, field, limbs, (-2, -1))

    @cached_property
    def _elimination(self) -> Elimination:
        """Factors in the next precision: they show all that errors of the data leave."""
        return Elimination(self.backend, self._balanced[0], self.wide, self.report)

    @cached_property
    @np.errstate(all="ignore")
    def data_error(self) -> Block:
        """The change of the determinants by errors of the entries, as a logarithm to base 2.

        By rows of norms r that have errors of e: ``prod(r + e) - prod(r)``. And relative to the
        determinant: ``trace(abs(A^-1) E)``, and ``exp(s) - 1 - s`` for all of higher order, s the
        sum of the norms of the rows of ``A^-1 E``.
        """
        xp, field = self.backend.xp, self.inputs.is_complex
        a, powers = self._balanced
        size = native_abs(a, field)
        errors = self._errors.of(
            xp,
            size.reshape(*self.batch, self.order, self.order),
            powers.reshape(*self.batch, self.order, self.order),
        ).reshape(size.shape)
        norms, rows = xp.sqrt((size * size).sum(axis=-1)) * _UP, errors.sum(axis=-1) * _UP
        grown = xp.expm1(xp.log1p(rows / norms).sum(axis=-1))
        by_rows = xp.log2(grown) + xp.log2(norms).sum(axis=-1)
        whole = xp.log2(norms + rows).sum(axis=-1)
        by_rows = xp.where(xp.isfinite(by_rows), by_rows, whole)
        found, known = self.scaled, self._elimination
        shift = powers.sum(axis=(-2, -1)) // max(self.order, 1)
        errors = errors[xp.arange(self.count)[:, None], known.places]
        s = known.inverse.rows(errors.sum(axis=-1) * _UP).sum(axis=-1)
        relative = known.inverse.trace(errors) + 0.5 * s * s * xp.exp(s)
        sizes = xp.logaddexp2(found.sizes, found.error)
        by_inverse = xp.log2(relative * _UP) + sizes
        by_inverse = xp.where(xp.isnan(by_inverse), xp.inf, by_inverse)
        none = xp.where((errors == 0).all(axis=(-2, -1)), -xp.inf, xp.inf)
        return xp.minimum(xp.minimum(by_rows - shift + 2.0**-20, by_inverse), none)

    @cached_property
    def condition(self) -> np.ndarray:
        """``trace(abs(A^-1) abs(A))`` at most: infinite where A is not shown to be regular."""
        known = self._elimination.inverse
        found = self.backend.xp.where(
            self.backend.xp.isfinite(known.spread), known.condition, self.backend.xp.inf
        )
        return fetch(found)[0].reshape(self.batch)

    def shaped(self, block: Block, is_complex: bool) -> Block:
        """Return a block of values in the shape of the batch."""
        return block.reshape(*block.shape[: 1 + is_complex], *self.batch)


def cut_off(backend: Backend, wide: Block, narrow: Block, kind: Kind) -> Block:
    """Return the moduli of what rounding `wide` to `narrow` cut off."""
    if wide.shape == narrow.shape:
        return backend.xp.zeros(wide.shape[kind.lead :])
    rest = backend.binary(
        "subtract", wide, planes.widen(narrow, kind.is_complex, kind.limbs), kind=kind
    )
    size = native_abs(rest, kind.is_complex) * _UP
    # Moduli of subnormal parts may be rounded down by half a unit.
    return backend.xp.where(size > 0, size + _SMALLEST, size) if kind.is_complex else size
