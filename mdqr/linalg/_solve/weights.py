"""Weights of rows: powers of four, which rows take exactly, and factors near 1."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple, NoReturn

from mdqr._core.promotion import to_block, together
from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Block
from mdqr.linalg._shared.checks import Checks
from mdqr.linalg._shared.operands import Inputs


class Weights(NamedTuple):
    """Weights ``4**rows[i] W``: W near 1 or 0, and its root, as columns ``(..., m, 1)``.

    `positive`, bool ``(..., m)``, tells which are not zero. None stands for ones.
    """

    weight: Block | None
    root: Block | None
    rows: Block | None
    positive: Block | None


def weights_of(
    function: str, inputs: Inputs, given: Any, checks: Checks, *, zeros: bool = False
) -> Weights:
    """Return the weights, their powers of four apart: rows of a and b take these exactly.

    `zeros` lets rows be left out even if they are fewer than columns.
    """
    if given is None:
        return Weights(None, None, None, None)
    xp, shape = inputs.backend.xp, inputs.shape(0)[:-1]
    block, field = to_block(given, inputs.work.limbs)
    found = planes.value_shape(block, field)
    if field:
        raise ValueError(f"{function}: weights must be real; got complex ones")
    if found != shape[-1:] and found != shape:
        wanted = " or ".join(str(s) for s in dict.fromkeys([shape[-1:], shape]))
        raise ValueError(f"{function}: weights must have shape {wanted}; got {found}")
    a = inputs.blocks[0]
    block = together([(a, inputs.is_complex), (block, False)], (a, given))[1][0]
    checks.require(
        (xp.isfinite(block[0]) & (block[0] >= 0)).all(), partial(_raise_for_weights, function)
    )
    if a.shape[-2] < a.shape[-1] and not zeros:
        checks.require((block[0] > 0).all(), partial(_raise_for_zero_weights, function))
    block = planes.broadcast(block, False, shape)
    bits = scaling.magnitude_bits(block, False)
    rows = xp.where(bits > 0, (scaling.exponents_of(bits) + 1) // 2, 0)
    block = inputs.backend.ldexp(block, -2 * rows)
    root = inputs.backend.unary("sqrt", block, kind=inputs.kind.real)
    columns = [block[..., None], root[..., None]]
    if inputs.is_complex:
        columns = [planes.complexify(column) for column in columns]
    return Weights(columns[0], columns[1], rows, bits > 0)


def _raise_for_weights(function: str) -> NoReturn:
    raise ValueError(f"{function}: weights must be finite and not negative: 1 / variance")


def _raise_for_zero_weights(function: str) -> NoReturn:
    raise ValueError(
        f"{function}: weights of fewer rows than columns must be positive: their solution is "
        "exact, and weights change nothing; leave rows out that do not count"
    )
