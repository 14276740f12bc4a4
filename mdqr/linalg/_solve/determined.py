"""What is said of solutions of square systems: bounds, and whether the data determine them."""

from __future__ import annotations

from typing import Any

import numpy as np

from mdqr._errors import warn_of_precision
from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Block
from mdqr._precision import Precision
from mdqr.linalg._shared.caller import Caller
from mdqr.linalg._shared.checks import Checks, fetch
from mdqr.linalg._shared.data_error import Errors
from mdqr.linalg._shared.info import Info
from mdqr.linalg._shared.operands import Inputs
from mdqr.linalg._solve.answer import Answer, Scaled, moduli
from mdqr.linalg._solve.data_error import DataErrors, moved, relative_error, solution_error
from mdqr.linalg._solve.householder.componentwise import lowest_bits
from mdqr.linalg._solve.system import System

# Numbers with so many zeros at the end are taken for exact: of 1,000 rounded ones one is.
_SPARE = 10


def info_of(
    caller: Caller,
    inputs: Inputs,
    found: Answer,
    condition: Any,
    errors: DataErrors,
    is_vector: bool,
) -> Info:
    """Return what is known of the errors of a solution; the operands may be changed afterwards."""
    inputs = inputs._replace(blocks=[block.copy() for block in inputs.blocks])
    size = moduli(found.x, inputs.is_complex)

    def shown(values: np.ndarray) -> np.ndarray:
        return values[..., 0] if is_vector else values

    def of_data() -> np.ndarray:
        own = shown(found.report.bound)
        return own + _moved(caller, inputs, size, found.held, errors, is_vector)

    return Info(
        inputs.precision,
        lambda: shown(fetch(size)[0]),
        lambda: shown(found.report.bound),
        of_data,
        condition=condition,
        bound_kind=found.bound_kind,
    )


def _moved(
    caller: Caller,
    inputs: Inputs,
    x: Block,
    held: Block | None,
    errors: DataErrors,
    is_vector: bool,
) -> np.ndarray:
    """Return by how much errors of the data may move a solution, of which the moduli are given."""
    backend, kind, (a, b) = inputs.backend, inputs.kind, inputs.blocks
    rows = scaling.row_powers(scaling.magnitude_bits(a, kind.is_complex))
    system = System.of(caller, backend, a, Checks(), kind=kind, rows=rows)
    near, powers = backend.balance_columns(b, rows, is_complex=kind.is_complex)
    nothing = Scaled(backend.xp.zeros_like(near), -powers)
    found = moved(system, Scaled(near, -powers), nothing, x, errors)
    return solution_error(system, found, held, errors, is_vector)


def warn_if_undetermined(
    caller: Caller, inputs: Inputs, data: Precision, errors: Errors, condition: np.ndarray
) -> None:
    """Warn where entries were rounded to a precision in which they do not determine x."""
    a = inputs.blocks[0]
    eps, worst = data.eps, float(np.max(condition, initial=1.0))
    if not worst * eps * a.shape[-1] >= 1.0:
        return
    if isinstance(errors.rtol, float):
        # Of entries that are said nothing of.
        if not _may_be_rounded(a, data, inputs.is_complex):
            return
    elif not worst * 2.0 * relative_error(a, errors, inputs.is_complex) * a.shape[-1] >= 1.0:
        return
    warn_of_precision(
        f"{caller.function}: {caller.a} is singular to the precision of its entries (condition "
        f"about {worst:.1e}): the result is that of the entries as they are given, and if those "
        "are rounded, few or none of its digits mean anything in any precision"
        + (" (info.data_digits of return_info=True tells)" if caller.has_options else "")
    )


def _may_be_rounded(a: Block, data: Precision, is_complex: bool) -> bool:
    """Return whether an entry has so many bits that it may have been rounded to a precision."""
    xp, held = planes.namespace(a), False
    for part in a if is_complex else (a,):
        width = xp.frexp(part[0])[1] - lowest_bits(part, False)
        held = held | ((part[0] != 0) & (width > data.bits - _SPARE)).any()
    return bool(fetch(held)[0])
