"""Reports on solutions of square systems: bounds, and whether the data determine them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from mdqr._errors import warn_of_precision
from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Block
from mdqr._precision import Precision
from mdqr.linalg._shared.caller import Caller
from mdqr.linalg._shared.checks import Checks, fetch
from mdqr.linalg._shared.info import Info
from mdqr.linalg._shared.operands import Inputs, data_precision, entry_unit
from mdqr.linalg._solve.answer import Answer, moduli
from mdqr.linalg._solve.householder.componentwise import lowest_bits
from mdqr.linalg._solve.reports.data_error import (
    DataErrors,
    data_errors,
    moved,
    relative_error,
    solution_error,
)
from mdqr.linalg._solve.system import Scaled, System

# Numbers with so many zeros at the end are taken for exact: of 1,000 rounded ones one is.
_SPARE = 10


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
    """Return what is known of the errors of a solution; the operands may be changed afterwards."""
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
    """Warn where entries were rounded to a precision in which they do not determine x."""
    a = data.inputs.blocks[0]
    growth = float(condition.max()) * a.shape[-1]
    if growth * data.precision.eps < 1.0:
        return
    if data.of_a:
        relative = relative_error(a, data.errors.a, data.inputs.is_complex)
        doubtful = growth * 2.0 * relative >= 1.0
    else:
        doubtful = _may_be_rounded(a, data.precision, data.inputs.is_complex)
    if not doubtful:
        return
    caller = data.caller
    warn_of_precision(
        f"{caller.function}: {caller.a} is singular to the precision of its entries (condition "
        f"about {float(condition.max()):.1e}): the result is that of the entries as they are "
        "given, and if those are rounded, few or none of its digits mean anything in any precision"
        + (" (info.data_digits of return_info=True tells)" if caller.has_options else "")
    )


def _may_be_rounded(a: Block, data: Precision, is_complex: bool) -> bool:
    """Return whether an entry has so many bits that it may have been rounded to a precision."""
    xp, held = planes.namespace(a), False
    for part in a if is_complex else (a,):
        width = xp.frexp(part[0])[1] - lowest_bits(part, False)
        held = held | ((part[0] != 0) & (width > data.bits - _SPARE)).any()
    return bool(fetch(held)[0])
