"""The kernel calls of elementary functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mdqr._backend import for_block
from mdqr._backend.protocol import REAL_ONLY
from mdqr._core.promotion import Operands, operands
from mdqr._errors import advised

if TYPE_CHECKING:
    from mdqr._array.array import MDArray


@advised
def unary(op: str, x: Any) -> MDArray:
    """Apply an operation to every value."""
    ops = _operands(op, x)
    return ops.wrap(for_block(ops.blocks[0]).unary(op, ops.blocks[0], kind=ops.kind))


@advised
def binary(op: str, x: Any, y: Any) -> MDArray:
    """Apply an operation to pairs of values, which broadcast."""
    ops = _operands(op, x, y)
    return ops.wrap(for_block(ops.blocks[0]).binary(op, *ops.blocks, kind=ops.kind))


def _operands(op: str, *values: Any) -> Operands:
    ops = operands(*values)
    if ops.is_complex and op in REAL_ONLY:
        raise TypeError(f"{op} is for real values; take a.real and a.imag")
    return ops
