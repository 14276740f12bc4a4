"""Reports on solutions, as `info` has them, and warnings where the data determine nothing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from mdqr._array.array import MDArray
from mdqr._errors import DataPrecisionWarning, place_of_least, warn_of_precision
from mdqr._limbs import planes, scaling
from mdqr._limbs.folds import is_all, is_any
from mdqr._limbs.planes import Block, Kind
from mdqr._precision import Precision
from mdqr.linalg._shared.caller import Caller
from mdqr.linalg._shared.checks import Checks, fetch
from mdqr.linalg._shared.data_error import may_be_rounded
from mdqr.linalg._shared.digits import digits_within
from mdqr.linalg._shared.info import Info
from mdqr.linalg._shared.operands import Inputs, data_precision, entry_unit, precision_for
from mdqr.linalg._shared.statistics import Statistics
from mdqr.linalg._shared.stored import Measured
from mdqr.linalg._solve import singular_values
from mdqr.linalg._solve.answer import Answer, Report, moduli
from mdqr.linalg._solve.data_error import (
    DataErrors,
    data_errors,
    moved,
    moved_shortest,
    relative_error,
    solution_error,
)
from mdqr.linalg._solve.near_inverse import near_inverse
from mdqr.linalg._solve.system import Scaled, System, sum_of_squares, take_rows, triangle_of
from mdqr.linalg._solve.wide import Wide

# Matrices with so many entries are factored for what is printed.
_QUICK = 2**14
# Relative errors of an inverse up to which its limbs are those of the work.
_CLOSE = 2.0**-10


@dataclass(frozen=True)
class Fit:
    """A solution, with the quantities from which reports are computed.

    `positive`, bool, tells which rows have positive weight; None stands for all. `x` has the moduli
    of the solution, float64 ``(..., n, k)``, `errors` those of the data, and `constant` tells
    whether a column is constant, None where that was not asked. Nothing here is a view of what was
    given.
    """

    inputs: Inputs
    answer: Answer
    positive: Block | None
    is_vector: bool
    x: Block
    errors: DataErrors
    constant: Block | None

    @property
    def system(self) -> System:
        """The problem: scaled unknowns are to be multiplied by ``2**-system.powers``."""
        return self.answer.system

    @cached_property
    def b(self) -> Scaled:
        """The right-hand sides in the rows of the system."""
        return self.answer.b

    @cached_property
    def r(self) -> Scaled:
        """The residuals in the rows of the system."""
        return self.answer.r

    @property
    def report(self) -> Report:
        """The report on errors, in the shape of x."""
        report = self.answer.report
        if not self.is_vector:
            return report
        return report._replace(bound=report.bound[..., 0], digits=report.digits[..., 0])

    @property
    def has_constant(self) -> Block:
        """True if a column of a is constant and not zero in the rows of positive weight."""
        if self.constant is not None:
            return self.constant
        inputs, checks = self.inputs, self.system.checks
        return has_constant(inputs.blocks[0], inputs.kind, self.positive, checks)


class LstsqInfo(Statistics[MDArray]):
    """Quality and statistics of a least-squares solution.

    Attributes
    ----------
    method : str
        "refine", from factorisations in float64, or "householder", from one in working precision.
        For a batch whose matrices took several methods, an array of these words.
    iterations : int
        Number of refinement steps.
    condition : float or numpy.ndarray
        Estimated 2-norm condition number of the (weighted) matrix with columns scaled by powers
        of two, if m < n with rows; of the batch shape.
    error_bound : numpy.ndarray
        Bound of the absolute error (of complex x: of its modulus) of each component of x as the
        solution for a, b and weights as stored; float64 of x's shape, at least the smallest double
        where it is not 0.
    digits : numpy.ndarray
        Correct decimal digits of each component of x, float64 of its shape. A component that is
        zero has all of them if it is shown to be exactly zero, and else none. They refer to the
        solution of a x = b as stored; `data_digits` counts the digits within the errors of a and b.
    bound_kind : str
        "proven" for "refine" and for m < n; "estimated": from the condition estimate, or from a
        computed approximate inverse. An array where `method` is one.
    history : numpy.ndarray
        Largest relative change of x in each refinement step, of the method with the most; empty
        where one kernel call took all.

    Notes
    -----
    Near a singular matrix `covariance` and `standard_errors` take the inverse of R from more limbs;
    they are NaN where the largest precision has no digits for it.
    """

    _more: tuple[str, ...] = ("singular_values",)

    def __init__(self, fit: Fit) -> None:
        answer, self.precision = fit.answer, fit.inputs.precision
        self._fit, self.method, self.iterations = fit, answer.method, answer.steps
        self.condition = answer.condition if answer.condition.ndim else float(answer.condition)
        self.bound_kind = answer.bound_kind if fit.x.size else "proven"

    def __repr__(self) -> str:
        own = "data_digits not computed"
        full = float(self.precision.digits if self.precision else np.inf)
        if "data_digits" in self.__dict__ or math.prod(self._fit.inputs.shape(0)) <= _QUICK:
            worst = np.min(self.data_digits, initial=full)
            own = f"data_digits>={worst:.1f} (a, b within their errors)"
        return (
            f"<LstsqInfo method={self.method!r} iterations={self.iterations} "
            f"condition={np.max(self.condition, initial=1.0):.2g} "
            f"digits>={np.min(self.digits, initial=full):.1f} (a, b as stored) {own}>"
        )

    @cached_property
    def _report(self) -> Report:
        """Bounds, digits and changes, which come from a device when the first one is asked for."""
        return self._fit.report

    @cached_property
    def error_bound(self) -> np.ndarray:
        """See the attributes of the class."""
        return self._report.bound

    @cached_property
    def digits(self) -> np.ndarray:
        """See the attributes of the class."""
        return self._report.digits

    @cached_property
    def history(self) -> np.ndarray:
        """See the attributes of the class."""
        return self._report.history

    @cached_property
    def singular_values(self) -> MDArray:
        """Singular values of a, of rows with weights times their roots, the largest first.

        ``(..., min(m, n))``: NumPy's `lstsq` returns them as `s`. Computed by `svdvals` at
        the first access.
        """
        return singular_values.of_system(self._fit.system, self._fit.inputs)

    @cached_property
    def data_error_bound(self) -> np.ndarray:
        """Bound of the error of each component of x for all a and b within their errors.

        Float64 of x's shape: `error_bound`, and ``|A^+| |g| + |(A^H A)^-1| |da|^H (|r| + |g|)``,
        ``|g| = |da| |x| + |db|``, in the norm of the weights; if m < n the last term is ``|I - A^+
        A| |da|^H |A^+^H x|`` and products of two errors; and what errors change of ``A^+``. The
        errors are `data_error` of `lstsq`. If it has no errors of a or of b, they are half a unit
        in the last place of the entries, of the precision in which they were given: 53 bits for
        floats, while integers and exact numbers have the working precision. Infinite where the
        entries do not determine x. Computed at the first access, from a factorisation in float64 if
        that converges and m >= n.
        """
        fit = self._fit
        if isinstance(fit.system, Wide):
            found = moved_shortest(fit.system, fit.b, fit.x, fit.errors)
        else:
            found = moved(fit.system, fit.b, fit.r, fit.x, fit.errors)
        return self.error_bound + solution_error(
            fit.system, found, fit.answer.held, fit.errors, fit.is_vector
        )

    @cached_property
    def data_digits(self) -> np.ndarray:
        """Correct decimal digits of each component of x for all a and b within their errors.

        Float64 of x's shape, at most `digits`, from `data_error_bound`.
        """
        fit, bound = self._fit, self.data_error_bound
        (size,) = fit.system.checks.settle(fit.x[..., 0] if fit.is_vector else fit.x)
        with np.errstate(all="ignore"):
            relative = np.where(bound > 0, bound / size, 0.0)
            return digits_within(relative, self.digits)

    @cached_property
    def _measured(self) -> Measured:
        fit, system = self._fit, self._fit.system
        xp = system.backend.xp
        rows = xp.asarray(system.a.shape[-2]) if fit.positive is None else fit.positive.sum(axis=-1)
        return Measured(
            system.backend,
            system.kind,
            partial(_inverse, system, fit.answer.condition),
            system.powers,
            (sum_of_squares(system, fit.r.block), fit.r.exponents),
            (rows - system.columns).astype(xp.float64)[..., None],
            partial(_total, fit),
            fit.inputs.wrap,
            fit.is_vector,
        )


LstsqInfo.__module__ = "mdqr.linalg"


def _inverse(system: System, condition: np.ndarray) -> Block:
    """Return the inverse of R; of a wide system anything, as there are no degrees of freedom.

    In more limbs where the condition takes most limbs of the work, NaN where none suffice.
    """
    one, xp, kind = system.identity(), system.backend.xp, system.kind
    if isinstance(system, Wide):
        return one
    unit = sum(system.a.shape[-2:]) * precision_for(kind.limbs).eps
    if np.max(condition, initial=1.0) * unit < _CLOSE:
        ignored = Checks(ignore=True)
        return triangle_of(system.factors, system.caller, ignored, system.line).solve(one)
    found = near_inverse(system, system.weighted_matrix)
    known = xp.isfinite(found.sums).all(axis=(-2, -1), keepdims=True)
    return xp.where(known, planes.narrow(found.x, kind.is_complex, kind.limbs), xp.nan)


def _total(fit: Fit) -> tuple[Block, Block, Block]:
    """Return the sums of squares of b, and what rounding leaves of them for equal values."""
    b = fit.b
    least = (b.block.shape[-2] * fit.inputs.work.eps) ** 2 * sum_of_squares(fit.system, b.block)[0]
    return sum_of_squares(fit.system, centred(fit)), b.exponents, least


def centred(fit: Fit) -> Block:
    """Return b less its weighted mean where a column of a is constant, else b."""
    system, field = fit.system, fit.system.kind.is_complex
    xp = system.backend.xp
    ones = xp.ones((1, *planes.value_shape(fit.b.block, field)[:-1], 1))
    constant = planes.complexify(ones) if field else ones
    weight = constant if system.weight is None else system.weight
    if system.rows is not None:
        # A constant in the rows of the system, at most 1.
        shift = (system.rows - scaling.largest(system.rows, -1, 0, keepdims=True))[..., None]
        constant, weight = (
            system.backend.ldexp(block, shift, is_complex=field) for block in (constant, weight)
        )
    transposed = weight.swapaxes(-1, -2)
    total = system.backend.matmul(transposed, constant, kind=system.kind)
    mean = system.binary(
        "divide", system.backend.matmul(transposed, fit.b.block, kind=system.kind), total
    )
    mean = xp.where(fit.has_constant[..., None, None], mean, 0.0)
    return system.backend.matmul(constant, mean, c=fit.b.block, subtract=True, kind=system.kind)


def has_constant(a: Block, kind: Kind, rows: Block | None, checks: Checks) -> Block:
    """Return whether a column of a is constant and not zero in the rows of positive weight."""
    front = tuple(range(kind.lead))
    if not a.shape[-2]:
        return planes.namespace(a).zeros(a.shape[kind.lead : -2], dtype=bool)
    if rows is None:
        first, same = a[..., :1, :], False
        # Mostly two rows tell.
        near = is_all(first == a[..., 1:2, :], (*front, -2))
        if a.shape[-2] > 1 and not checks.settle(is_any(near))[0]:
            return is_any(near, -1)
    else:
        first = take_rows(a, rows.argmax(axis=-1)[..., None])
        same = ~rows[..., :, None]
    same = ((a == first) | same).all(axis=-2).all(axis=front)
    return (same & (first != 0).any(axis=-2).any(axis=front)).any(axis=-1)


class Data(NamedTuple):
    """The operands of a square system.

    `inputs` have one batch, and b as columns; `given` are a and b as they came, or a alone, where b
    is exact. `stated`: the errors of `data_error`, None without it; `of_a`: whether they include a.
    """

    caller: Caller
    inputs: Inputs
    given: tuple[Any, ...]
    is_vector: bool
    stated: DataErrors | None = None
    of_a: bool = False

    @property
    def precision(self) -> Precision:
        """The precision to which the entries of a are known."""
        return data_precision(self.given[0], self.inputs.work)

    def with_errors(self, data_error: Mapping[str, Any] | None) -> Data:
        """Return the same with the errors of `data_error`."""
        if data_error is None:
            return self
        found = self._errors(data_error)
        return self._replace(stated=found, of_a=bool({"a_atol", "a_rtol"} & set(data_error)))

    @property
    def errors(self) -> DataErrors:
        """The errors of the operands, by default those of rounded entries."""
        return self._errors(None) if self.stated is None else self.stated

    def _errors(self, data_error: Mapping[str, Any] | None) -> DataErrors:
        units = [entry_unit(x, data_precision(x, self.inputs.work)) for x in self.given]
        a, b = (*units, 0.0)[:2]
        function, checks = self.caller.function, Checks()
        found = data_errors(function, data_error, (a, b), self.inputs, self.is_vector, checks)
        checks.settle()
        return found


def info_of(data: Data, found: Answer) -> Info:
    """Return the error bounds of a solution; the operands may be changed afterwards."""
    inputs, errors = data.inputs, data.errors
    size = moduli(found.x, inputs.is_complex)
    blocks = [block.copy() for block in inputs.blocks]
    data = data._replace(inputs=inputs._replace(blocks=blocks))

    def shown(values: np.ndarray) -> np.ndarray:
        return values[..., 0] if data.is_vector else values

    return Info(
        inputs.precision,
        lambda: shown(fetch(size)[0]),
        lambda: shown(found.report.bound),
        lambda: shown(found.report.bound) + _moved(data, size, found.held, errors),
        condition=found.condition if found.condition.ndim else float(found.condition),
        bound_kind=found.bound_kind if found.x.size else "proven",
        method=found.method,
        iterations=found.steps,
        history=lambda: found.report.history,
    )


def _moved(data: Data, x: Block, held: Block | None, errors: DataErrors) -> np.ndarray:
    """Return by how much errors of the data may move a solution, of which the moduli are given."""
    backend, kind, (a, b) = data.inputs.backend, data.inputs.kind, data.inputs.blocks
    rows = scaling.row_powers(scaling.magnitude_bits(a, kind.is_complex))
    system = System.of(data.caller, backend, a, Checks(), kind=kind, rows=rows)
    near, powers = backend.balance_columns(b, rows, is_complex=kind.is_complex)
    nothing = Scaled(backend.xp.zeros_like(near), -powers)
    found = moved(system, Scaled(near, -powers), nothing, x, errors)
    return solution_error(system, found, held, errors, data.is_vector)


def warn_if_undetermined(data: Data, condition: np.ndarray) -> None:
    """Warn if the entries may have been rounded to a precision in which they do not determine x."""
    a = data.inputs.blocks[0]
    growth = float(condition.max()) * a.shape[-1]
    if growth * data.precision.eps < 1.0:
        return
    if data.of_a:
        relative = relative_error(a, data.errors.a, data.inputs.is_complex)
        doubtful = growth * 2.0 * relative >= 1.0
    else:
        rounded = may_be_rounded(a, data.inputs.is_complex, data.precision.limbs)
        doubtful = bool(fetch(rounded)[0])
    if not doubtful:
        return
    caller = data.caller
    warn_of_precision(
        caller.public,
        f"{caller.a} is singular to the precision of its entries (condition about "
        f"{float(condition.max()):.1e}): the result is that of the entries as they are given, and "
        "if those are rounded, few or none of its digits mean anything in any precision"
        + (" (info.data_digits of return_info=True tells)" if caller.has_options else ""),
        precision=data.inputs.precision,
        index=place_of_least(-condition),
        category=DataPrecisionWarning,
    )
