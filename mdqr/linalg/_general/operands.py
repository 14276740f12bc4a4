"""Operands of `eig` and `schur`: blocks in host memory, and the errors of their entries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from mdqr._array.array import MDArray
from mdqr._limbs.device import host_block
from mdqr._typing import PrecisionLike
from mdqr.linalg._shared.checks import Checks
from mdqr.linalg._shared.data_error import Errors, check_data_error, may_be_rounded, operand_errors
from mdqr.linalg._shared.operands import (
    Inputs,
    broadcast_batch,
    data_precision,
    entry_unit,
    gather,
    square_order,
)


class Operands(NamedTuple):
    """Blocks in host memory, where they were, errors of entries, and whether there are any."""

    inputs: Inputs
    device: str
    errors: list[Errors]
    rounded: bool

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the eigenvalues."""
        return self.inputs.shape(0)[:-1]


def operands(
    function: str,
    values: list[Any],
    precision: PrecisionLike | None,
    data_error: Mapping[str, Any] | None,
) -> Operands:
    """Convert and check a, or a and b."""
    names = tuple("ab"[: len(values)])
    check_data_error(function, data_error, names)
    inputs, checks = gather(*values, precision=precision), Checks()
    n = square_order(function, "a", inputs.shape(0))
    for block, name in zip(inputs.blocks, names, strict=True):
        checks.require_finite(function, name, block, inputs.is_complex)
    checks.settle()
    device = "cpu"
    if not isinstance(inputs.blocks[0], np.ndarray):
        device = MDArray._wrap(inputs.blocks[0], inputs.work, inputs.is_complex).device
        inputs = inputs._replace(blocks=[host_block(block) for block in inputs.blocks])
    known = [data_precision(value, inputs.work) for value in values]
    units = [entry_unit(value, each) for value, each in zip(values, known, strict=True)]
    errors = [
        operand_errors(function, data_error, name, inputs.shape(i), units[i], inputs, checks)
        for i, name in enumerate(names)
    ]
    checks.settle()
    rounded = data_error is not None or any(
        may_be_rounded(block, inputs.is_complex, each.limbs)
        for block, each in zip(inputs.blocks, known, strict=True)
    )
    if len(values) > 1:
        if square_order(function, "b", inputs.shape(1)) != n:
            raise np.linalg.LinAlgError(
                f"{function}: a and b must be of the same order; got shapes {inputs.shape(0)} and "
                f"{inputs.shape(1)}"
            )
        _, blocks = broadcast_batch(function, inputs.blocks, inputs.is_complex)
        inputs = inputs._replace(blocks=blocks)
    return Operands(inputs, device, [_flat(each, inputs.shape(0)) for each in errors], rounded)


def _flat(errors: Errors, shape: tuple[int, ...]) -> Errors:
    """Return errors of all entries ``(batch, n, n)``, or numbers."""
    return Errors(
        *(
            x if isinstance(x, float) else np.broadcast_to(x, shape).reshape(-1, *shape[-2:])
            for x in errors
        )
    )
