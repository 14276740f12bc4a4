"""Operands and results of linear equations of matrices."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from mdqr._array.array import MDArray
from mdqr._backend.blocks import native_abs
from mdqr._limbs import planes, scaling
from mdqr._limbs.device import host_block
from mdqr._precision import PRECISIONS
from mdqr._typing import Floats, PrecisionLike
from mdqr.linalg._matrix.answers import require_value
from mdqr.linalg._matrix.given import first_limbs
from mdqr.linalg._matrix.refined.linear import EntryErrors, Equation, Solutions
from mdqr.linalg._shared.checks import Checks
from mdqr.linalg._shared.data_error import Errors, check_data_error, operand_errors
from mdqr.linalg._shared.info import Info
from mdqr.linalg._shared.operands import (
    Inputs,
    broadcast_batch,
    data_precision,
    entry_unit,
    gather,
    matrix_shape,
    memory_guard,
    square_order,
)
from mdqr.linalg._spectral.disks import SLACK


class Equations(NamedTuple):
    """A public function: its name, the names of its operands, and its equation."""

    function: str
    names: tuple[str, ...]
    stein: bool = False


SYLVESTER = Equations("solve_sylvester", ("a", "b", "q"))
LYAPUNOV = Equations("solve_continuous_lyapunov", ("a", "q"))
STEIN = Equations("solve_discrete_lyapunov", ("a", "q"), stein=True)


class Operands(NamedTuple):
    """Blocks ``(batch, ., .)`` of at least two limbs, and the errors of their entries."""

    inputs: Inputs
    batch: tuple[int, ...]
    arrays: list[MDArray]
    errors: list[np.ndarray]


def solved(
    equations: Equations,
    given: tuple[Any, ...],
    precision: PrecisionLike | None,
    data_error: Mapping[str, Any] | None,
    return_info: bool,
) -> Any:
    """Return solutions, and their info if asked for."""
    function = equations.function
    operands = gathered(function, equations.names, given, precision, data_error)
    inputs, (a, *more) = operands.inputs, operands.arrays
    is_adjoint = len(more) == 1
    b = a._like(planes.adjoint(a._block, a.is_complex)) if is_adjoint else more[0]
    m, n = _orders(equations, a, b, more[-1])
    # Powers of two make the entries of A and B, and those of Q, at most 1.
    tops = [host_block(scaling.top_exponents(x._block, x.is_complex)) for x in (a, b, more[-1])]
    common = np.zeros_like(tops[0]) if equations.stein else np.maximum(tops[0], tops[1])
    powers = [common, common, tops[2]]
    with memory_guard(function, inputs, 24 * max(m, n) ** 2, "take smaller matrices"):
        scaled = [
            x._like(inputs.backend.ldexp(x._block, _moves(inputs, -p), is_complex=x.is_complex))
            for x, p in zip((a, b, more[-1]), powers, strict=True)
        ]
        equation = Equation(
            inputs.backend, scaled[0], scaled[1], scaled[2], equations.stein, is_adjoint
        )
        found = Solutions(equation)
        missing = "the equation has no unique solution"
        require_value(function, missing, inputs.precision, found.last.reshape(operands.batch))
        moves = tops[2] - common
        block = inputs.backend.ldexp(
            found.value._block, _moves(inputs, moves), is_complex=a.is_complex
        )
        x = wrapped(function, operands, block)
    if not return_info:
        return x
    return x.copy(), _info(operands, found, x, powers)


def _info(operands: Operands, found: Solutions, x: MDArray, powers: list[np.ndarray]) -> Info:
    """Return the info of solutions x, of which those found are scaled by powers of two."""
    moves = (powers[2] - powers[0])[:, None, None]
    rounding = last_rounding(found.value, x)

    def bound(errors: EntryErrors) -> Floats:
        entries = (np.ldexp(e, -p[:, None, None]) for e, p in zip(errors, powers, strict=True))
        with np.errstate(all="ignore"):
            error = np.ldexp(found.error(EntryErrors(*entries)), moves)
            return np.asarray(SLACK * (error.reshape(x.shape) + rounding) + 2.0**-1070)

    errors = operands.errors
    of_b = errors[0].swapaxes(-1, -2) if len(errors) == 2 else errors[1]
    of_data = EntryErrors(errors[0], of_b, errors[-1])
    return Info(
        x.precision,
        abs(first_limbs(x)),
        lambda: bound(EntryErrors(*(0.0 * e for e in of_data))),
        lambda: bound(of_data),
        method="refinement",
        iterations=found.steps,
    )


def last_rounding(found: MDArray, x: MDArray) -> Any:
    """Return the differences of entries of x from the found ones, which may have more limbs."""
    is_rounded = found.precision.limbs > x.precision.limbs
    return 2 * x.precision.eps * abs(first_limbs(x)) if is_rounded else 0.0


def gathered(
    function: str,
    names: tuple[str, ...],
    given: tuple[Any, ...],
    precision: PrecisionLike | None,
    data_error: Mapping[str, Any] | None,
) -> Operands:
    """Convert and check matrices, with one batch shape."""
    check_data_error(function, data_error, names)
    inputs, checks = gather(*given, precision=precision), Checks()
    field, errors = inputs.is_complex, []
    for i, name in enumerate(names):
        matrix_shape(function, name, inputs.shape(i))
        checks.require_finite(function, name, inputs.blocks[i], field)
        unit = entry_unit(given[i], data_precision(given[i], inputs.work))
        errors.append(
            operand_errors(function, data_error, name, inputs.shape(i), unit, inputs, checks)
        )
    checks.settle()
    work = max(inputs.work, PRECISIONS[1])
    shapes = [inputs.shape(i) for i in range(len(names))]
    batch, blocks = broadcast_batch(
        function, [planes.widen(x, field, work.limbs) for x in inputs.blocks], field
    )
    count = math.prod(batch)
    arrays, bounds = [], []
    for block, shape, error in zip(blocks, shapes, errors, strict=True):
        lead = block.shape[: planes.lead(field)]
        # A copy: nothing may be a view of what users have.
        flat = block.reshape(*lead, count, *shape[-2:]).copy()
        arrays.append(MDArray._wrap(flat, work, field))
        bounds.append(_entry_errors(arrays[-1], error, shape, batch))
    return Operands(inputs, batch, arrays, bounds)


def _entry_errors(
    x: MDArray, errors: Errors, shape: tuple[int, ...], batch: tuple[int, ...]
) -> np.ndarray:
    def flat(part: Any) -> Any:
        if isinstance(part, float):
            return part
        whole = np.broadcast_to(host_block(part), shape)
        return np.broadcast_to(whole, (*batch, *shape[-2:])).reshape(x.shape)

    sizes = native_abs(host_block(x._block), x.is_complex)
    with np.errstate(all="ignore"):
        return np.asarray(SLACK * Errors(*map(flat, errors)).of(np, SLACK * sizes, 0))


def _orders(equations: Equations, a: MDArray, b: MDArray, q: MDArray) -> tuple[int, int]:
    function = equations.function
    m, n = square_order(function, "a", a.shape), square_order(function, "b", b.shape)
    if q.shape[-2:] != (m, n):
        raise np.linalg.LinAlgError(
            f"{function}: q must have {m} rows and {n} columns, as the others say; got shape "
            f"{q.shape[-2:]}"
        )
    return m, n


def _moves(inputs: Inputs, powers: np.ndarray) -> Any:
    return inputs.backend.xp.asarray(powers)[:, None, None]


def wrapped(function: str, operands: Operands, block: Any) -> MDArray:
    """Return the solutions with the batch shape, rounded once."""
    inputs, field = operands.inputs, operands.inputs.is_complex
    block = block.reshape(*block.shape[: planes.lead(field)], *operands.batch, *block.shape[-2:])
    checks = Checks()
    checks.require_in_range(function, "the solution", block, field)
    checks.settle()
    return inputs.wrap(block)
