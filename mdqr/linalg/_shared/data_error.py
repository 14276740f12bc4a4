"""Errors of the entries of operands, as users give them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn

import numpy as np

from mdqr._backend.blocks import broadcast_shapes
from mdqr._core.promotion import to_block, together
from mdqr._limbs import planes
from mdqr._limbs.planes import Block
from mdqr.linalg._shared.checks import Checks
from mdqr.linalg._shared.operands import Inputs

_LOST = 2.0**-1073
_LAST_BITS = 2**16 - 1  # of 65,536 rounded entries one has zeros there


class Errors(NamedTuple):
    """Errors of at most ``atol + rtol * abs(entry)``: float64, broadcast to the entries."""

    atol: Block | float
    rtol: Block | float

    def of(self, xp: Any, sizes: Block, powers: Block | int) -> Block:
        """Return the bounds for entries of these sizes, which were multiplied by ``2**powers``."""
        atol = xp.broadcast_to(xp.asarray(self.atol), sizes.shape)
        found = xp.ldexp(atol, powers) + self.rtol * sizes
        # What underflows is not lost.
        return xp.where((atol > 0) | (self.rtol * (sizes > 0) > 0), found + _LOST, found)


def may_be_rounded(
    block: Block, is_complex: bool, limbs: int, axis: tuple[int, ...] | None = None
) -> Block:
    """True where entries fill a precision of so many limbs, as rounded numbers do.

    Shorter numbers, such as integers and fractions of few bits, are exact. All entries along `axis`
    count together, all of the block by default.
    """
    xp, shape = planes.namespace(block), planes.value_shape(block, is_complex)
    if planes.limb_count(block, is_complex) < limbs:
        return xp.zeros(shape, dtype=bool).any(axis=axis)
    last = xp.ascontiguousarray(block[:, limbs - 1] if is_complex else block[limbs - 1])
    bits = last.view(np.int64) & _LAST_BITS
    return ((bits != 0).any(axis=0) if is_complex else bits != 0).any(axis=axis)


def check_data_error(function: str, given: Any, names: tuple[str, ...]) -> None:
    """Raise where `data_error` is not a mapping of the keys for operands of these names."""
    if given is None:
        return
    keys = [f"{name}_{kind}" for name in names for kind in ("atol", "rtol")]
    if not isinstance(given, Mapping):
        raise TypeError(
            f"{function}: data_error must be a dict that says of what the errors are and whether "
            f'they are absolute or relative, as in {{"{names[0]}_rtol": 1e-9, '
            f'"{names[-1]}_atol": sigma}}; got {type(given).__name__}'
        )
    for key in given:
        if key not in keys:
            raise ValueError(f"{function}: data_error has the keys {', '.join(keys)}; got {key!r}")


def operand_errors(
    function: str,
    given: Mapping[str, Any] | None,
    name: str,
    shape: tuple[int, ...],
    unit: float,
    inputs: Inputs,
    checks: Checks,
) -> Errors:
    """Return the errors of the entries of one operand.

    Parameters
    ----------
    function : str
        The public function, for messages.
    given : mapping or None
        `data_error` as the user gave it, with the keys ``name_atol`` and ``name_rtol``.
    name : str
        The name of the operand.
    shape : tuple of int
        Its shape.
    unit : float
        The relative error of entries of which `given` says nothing.
    inputs : Inputs
        The operands, for the device.
    checks : Checks
        Get what is demanded of values.
    """
    keys = f"{name}_atol", f"{name}_rtol"
    if given is None or not any(key in given for key in keys):
        return Errors(0.0, unit)
    atol, rtol = (
        _bounds(function, key, given.get(key, 0.0), shape, inputs, checks) for key in keys
    )
    return Errors(atol, rtol)


def _bounds(
    function: str, key: str, value: Any, shape: tuple[int, ...], inputs: Inputs, checks: Checks
) -> Block:
    """Return the values of a key: where the matrices are, and no view of what was given."""
    block, field = to_block(value, inputs.work.limbs)
    if field:
        raise ValueError(f"{function}: data_error: {key} must be real; got complex values")
    own = planes.value_shape(block, False)
    try:
        fits = broadcast_shapes(own, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        name = key.partition("_")[0]
        raise ValueError(
            f"{function}: data_error: {key} must be a number or broadcast to the shape {shape} of "
            f"{name}; got {own}"
        )
    a = inputs.blocks[0]
    block = together([(a, inputs.is_complex), (block, False)], (a, value))[1][0]
    found = block[0, ...].copy()
    xp = planes.namespace(found)

    def refuse() -> NoReturn:
        raise ValueError(f"{function}: data_error: {key} must be finite and not negative")

    checks.require((xp.isfinite(found) & (found >= 0)).all(), refuse)
    return found
