"""QR factorisation with implicit Q."""

from __future__ import annotations

import math
from functools import cached_property, reduce
from typing import Any, Literal

import numpy as np

from mdqr._array.array import MDArray
from mdqr._core.promotion import together
from mdqr._errors import all_advised, place_of_least, shown, warn_of_precision
from mdqr._limbs import planes
from mdqr._limbs.device import device_of, host_block
from mdqr._limbs.planes import Block
from mdqr._pickles import State, pickled
from mdqr._precision import from_file
from mdqr._progress import Progress, Report, with_report
from mdqr._typing import PrecisionLike
from mdqr.linalg._factor import wide_range
from mdqr.linalg._factor.backward_error import FactorErrors, FactorInfo, orthogonality
from mdqr.linalg._factor.condition import condition, require_digits
from mdqr.linalg._factor.qr import require_factor, tile_of
from mdqr.linalg._factor.scaled import Scaled, multiply_signs, scaled_factors, stored_factors
from mdqr.linalg._factor.triangular import Triangle
from mdqr.linalg._shared.checks import Checks
from mdqr.linalg._shared.operands import (
    Inputs,
    gather,
    matrix_shape,
    memory_guard,
)


@pickled
@all_advised
class QRFactor:
    """A factorisation ``a = Q R`` whose Q is kept as Householder reflections.

    Made by `qr_factor`. Q and R are the same as by `qr`: the diagonal of R is real and not
    negative.

    Examples
    --------
    >>> import mdqr
    >>> a = mdqr.array([[3.0, 1.0], [4.0, 2.0], [0.0, 2.0]], precision=mdqr.dd)
    >>> f = mdqr.linalg.qr_factor(a)
    >>> f.R.shape, f.apply_qh(a).shape, f.solve(a @ [1.0, 2.0]).to_numpy().round(12).tolist()
    ((2, 2), (2, 2), [1.0, 2.0])
    """

    __slots__ = ("__dict__", "_inputs", "_scaled")

    _inputs: Inputs
    _scaled: Scaled

    def __init__(self, *_: Any, **__: Any) -> None:
        raise TypeError("QRFactor cannot be constructed directly; use mdqr.linalg.qr_factor(a)")

    @classmethod
    def _make(cls, inputs: Inputs, scaled: Scaled) -> QRFactor:
        self = object.__new__(cls)
        self._inputs, self._scaled = inputs, scaled
        return self

    def _state(self) -> dict[str, Any]:
        factors, inputs = self._scaled.factors, self._inputs
        return {
            "precision": inputs.precision.name,
            "work": inputs.work.name,
            "complex": inputs.is_complex,
            "device": device_of(factors.h).partition(":")[0],
            "h": host_block(factors.h),
            "tau": host_block(factors.tau),
            "v": [host_block(v) for v in factors.vs],
            "t": [host_block(t) for t in factors.ts],
            "exponents": host_block(self._scaled.exponents),
        }

    @classmethod
    def _restored(cls, state: State) -> QRFactor:
        precision, work = (from_file(state[name]) for name in ("precision", "work"))
        inputs = Inputs(precision, work, state.checked("complex", bool), [])
        return cls._make(inputs, stored_factors(state, inputs.kind))

    def __repr__(self) -> str:
        return f"<QRFactor of shape {self.shape}, precision {self._inputs.precision}>"

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the matrices that were factored."""
        return planes.value_shape(self._scaled.factors.h, self._inputs.is_complex)

    @cached_property
    def R(self) -> MDArray:
        """The factor R, ``(..., min(m, n), n)``."""
        return self._inputs.wrap(self._scaled.signed_r(self._scaled.factors.count))

    @cached_property
    def info(self) -> FactorInfo:
        """The loss of orthogonality, for which Q is formed; the matrix itself is not kept."""

        def errors() -> FactorErrors:
            unknown = np.full(self.shape[:-2], np.nan)
            return FactorErrors(unknown, orthogonality(self.q()), unknown, unknown)

        return FactorInfo(self._inputs.precision, errors, method="householder", is_known=False)

    def q(self, mode: Literal["reduced", "complete"] = "reduced") -> MDArray:
        """Return Q.

        Parameters
        ----------
        mode : {"reduced", "complete"}, optional
            The first ``min(m, n)`` columns, or all m.

        Returns
        -------
        MDArray
            ``(..., m, min(m, n))`` or ``(..., m, m)``.

        Raises
        ------
        ValueError
            If `mode` is neither.
        """
        return self._inputs.wrap(self._scaled.signed_q(self._columns("q", mode)))

    def apply_qh(self, x: Any, mode: Literal["reduced", "complete"] = "reduced") -> MDArray:
        """Return ``Q^H x``.

        Parameters
        ----------
        x : array_like
            A vector ``(m,)`` or matrices ``(..., m, p)``; values of more digits than the
            factorisation has are rounded to its precision, correctly.
        mode : {"reduced", "complete"}, optional
            Multiply by the first ``min(m, n)`` columns of Q, or by all m.

        Returns
        -------
        MDArray
            ``(..., k, p)`` or ``(k,)``, where k is the number of columns of Q.

        Raises
        ------
        ValueError
            If the number of rows is wrong.
        """
        rows = self._columns("apply_qh", mode)
        operand, is_vector = self._operand("apply_qh", x, (self.shape[-2],))
        y = self._signed(self._scaled.factors.apply_qh(operand.blocks[0]))[..., :rows, :]
        return operand.wrap(y[..., 0] if is_vector else y)

    def apply_q(self, x: Any) -> MDArray:
        """Return ``Q x``.

        Parameters
        ----------
        x : array_like
            A vector or matrices ``(..., p)`` with ``min(m, n)`` rows (the reduced Q) or m rows
            (the complete Q). Values of more digits than the factorisation has are rounded to its
            precision, correctly.

        Returns
        -------
        MDArray
            ``(m,)`` or ``(..., m, p)``.

        Raises
        ------
        ValueError
            If the number of rows is neither.
        """
        factors = self._scaled.factors
        operand, is_vector = self._operand("apply_q", x, (factors.count, factors.rows))
        y = factors.work_copy(_padded(operand.blocks[0], factors.rows))
        y = factors.apply_q(self._signed(y))
        return operand.wrap(y[..., 0] if is_vector else y)

    def solve(self, b: Any) -> MDArray:
        """Return the least-squares solution of ``a x = b``, without refinement.

        Parameters
        ----------
        b : array_like
            A vector ``(m,)`` or matrices ``(..., m, k)``; values of more digits than the
            factorisation has are rounded to its precision, correctly.

        Returns
        -------
        MDArray
            ``(n,)`` or ``(..., n, k)``. The error is a small multiple of ``eps`` times the
            condition number (squared times the relative residual); `lstsq` refines it away. Where
            entries of `b` span too wide a range for one power of two, the solutions for entries of
            nearby sizes are added: none is taken for zero.

        Raises
        ------
        ValueError
            If m < n, or the number of rows of `b` is wrong.
        numpy.linalg.LinAlgError
            If `a` is singular to working precision, so that no digit would be right, `b` is not
            finite, or the solution overflows.

        Warns
        -----
        PrecisionWarning
            If the condition of `a` leaves less than half of the digits, with the remaining number.
        """
        m, n = self.shape[-2:]
        if m < n:
            raise ValueError(
                f"QRFactor.solve: a has fewer rows than columns, shape {self.shape}; "
                "factor its conjugate transpose instead"
            )
        operand, is_vector = self._operand("QRFactor.solve", b, (m,))
        checks, block, backend = Checks(), operand.blocks[0], operand.backend
        kind = operand.kind
        checks.require_finite("QRFactor.solve", "b", block, operand.is_complex)
        triangle, conditions = self._prepared
        worst = np.max(conditions, initial=1.0)
        require_digits(checks, "QRFactor.solve", worst, n, self._inputs.work.eps)
        factors, parts = self._scaled.factors, []
        for piece in wide_range.pieces(backend, block, checks, kind=kind):
            near, powers = backend.balance_columns(piece, None, is_complex=operand.is_complex)
            x = triangle.solve(
                factors.apply_qh(near)[..., :n, :],
                checks=checks,
                entries=lambda: factors.form_r(factors.count),
                undo=(self._scaled.exponents, powers),
            )
            parts.append(x)
        checks.settle()
        self._warn_of_loss(conditions)
        x = reduce(lambda x, y: backend.binary("add", x, y, kind=kind), parts)
        return operand.wrap(x[..., 0] if is_vector else x)

    def _warn_of_loss(self, conditions: np.ndarray) -> None:
        """Warn if a condition costs more than half of the digits."""
        worst = float(np.max(conditions, initial=1.0))
        digits = self._inputs.precision.digits
        work = -math.log10(self._inputs.work.eps * max(self.shape[-1], 1))
        left = work - math.log10(worst)
        if left < digits / 2:
            left = max(left, 0.0)
            warn_of_precision(
                "linalg.QRFactor.solve",
                f"about {left:.0f} of {digits} digits are right, since "
                f"the condition of a is about {worst:.1e}; lstsq refines the solution, and "
                "says how many digits each component has",
                digits=left,
                precision=self._inputs.precision,
                index=place_of_least(-conditions),
            )

    @cached_property
    def _prepared(self) -> tuple[Triangle, np.ndarray]:
        """The triangle R of scaled columns, and the condition numbers of the batch."""
        factors, checks = self._scaled.factors, Checks()
        triangle = Triangle(
            factors.backend,
            factors.form_r(factors.count),
            kind=factors.kind,
            function="QRFactor.solve",
            checks=checks,
        )
        (conditions,) = checks.settle(condition(triangle).value)
        return triangle, conditions

    def _columns(self, function: str, mode: str) -> int:
        if mode not in ("reduced", "complete"):
            raise ValueError(f'{function}: mode must be "reduced" or "complete"; got {shown(mode)}')
        factors = self._scaled.factors
        return factors.count if mode == "reduced" else factors.rows

    def _operand(self, function: str, x: Any, rows: tuple[int, ...]) -> tuple[Inputs, bool]:
        """Convert `x` to the work of the factorisation, a vector to one column."""
        given = gather(
            x, precision=None if isinstance(x, MDArray) else self._inputs.work, trimmed=False
        )
        h, limbs = self._scaled.factors.h, self._inputs.work.limbs
        pairs = [(h, self._inputs.is_complex), (given.blocks[0], given.is_complex)]
        block = planes.narrow(together(pairs, (h, x))[1][0], given.is_complex, limbs)
        if self._inputs.is_complex and not given.is_complex:
            block = planes.complexify(block)
        elif given.is_complex and not self._inputs.is_complex:
            raise ValueError(f"{function}: a is real and the operand complex; factor a complex a")
        shape = planes.value_shape(block, self._inputs.is_complex)
        is_vector = len(shape) == 1
        block = block[..., None] if is_vector else block
        found, _ = matrix_shape(function, "the operand", (*shape, 1) if is_vector else shape)
        if found not in rows:
            wanted = " or ".join(map(str, dict.fromkeys(rows)))
            raise ValueError(f"{function}: the operand must have {wanted} rows; got shape {shape}")
        return self._inputs._replace(blocks=[block]), is_vector

    def _signed(self, y: Block) -> Block:
        """Multiply the rows of a copy by the signs of the diagonal of R."""
        signs = self._scaled.signs
        multiply_signs(y[..., : signs.shape[-1], :], signs[..., :, None], self._inputs.is_complex)
        return y


QRFactor.__module__ = "mdqr.linalg"


def _padded(block: Block, rows: int) -> Block:
    """Return `block` with zero rows below it, `rows` in all."""
    if block.shape[-2] == rows:
        return block
    wide = planes.namespace(block).zeros((*block.shape[:-2], rows, block.shape[-1]))
    wide[..., : block.shape[-2], :] = block
    return wide


def qr_factor(
    a: Any,
    /,
    *,
    tile: int | None = None,
    check: bool = True,
    precision: PrecisionLike | None = None,
    progress: Progress = None,
) -> QRFactor:
    """Factor ``a = Q R`` and keep Q implicit.

    Parameters
    ----------
    a : array_like
        Matrices ``(..., m, n)``, real or complex.
    tile : int, optional
        Number of columns of a tile; by default from a static table.
    check : bool, optional
        Raise if something is not finite; on a device, that waits for the factors once, at the end.
        Otherwise NaN and infinities go through.
    precision : Precision or str, optional
        The precision of the factors; by default the precision of `a`.
    progress : callable or bool, optional
        Called as ``progress(stage, done, total)`` after each tile; True for a bar.

    Returns
    -------
    QRFactor
        The factorisation, with ``R``, ``q``, ``apply_q``, ``apply_qh`` and ``solve``.

    Raises
    ------
    TypeError
        If `progress` is neither callable nor a bool.
    ValueError
        If `a` has fewer than two dimensions or `tile` is not positive.
    numpy.linalg.LinAlgError
        If `check` is true and `a` or R is not finite.
    MemoryError
        If memory for the reflections cannot be allocated; the message gives the requested size.

    Notes
    -----
    Products with Q cost ``2 m n`` multiply-adds a column, and their error is at most
    ``20 n eps`` in norm. The algorithm is the same as in `qr`.

    Examples
    --------
    >>> import mdqr
    >>> f = mdqr.linalg.qr_factor(mdqr.eye(3, precision=mdqr.od))
    >>> f
    <QRFactor of shape (3, 3), precision od>
    >>> f.apply_q([1.0, 2.0, 3.0]).to_numpy().tolist()
    [1.0, 2.0, 3.0]
    """
    if not (progress is None or isinstance(progress, Report)):
        return with_report(qr_factor, locals())
    width = tile_of("qr_factor", tile)
    inputs = gather(a, precision=precision, trimmed=False)
    m, n = matrix_shape("qr_factor", "a", inputs.shape(0))
    checks = Checks() if check else None
    with memory_guard("qr_factor", inputs, 2 * m * n + min(m, n) * n, "take fewer columns"):
        scaled = scaled_factors(inputs, width, checks, "qr_factor", progress)
        if checks is not None:
            r = scaled.unscaled_r(scaled.factors.count)
            require_factor(checks, "qr_factor", "R", r, inputs.is_complex)
            checks.settle()
    return QRFactor._make(inputs._replace(blocks=[]), scaled)
