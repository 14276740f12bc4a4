"""Products of triangular matrices."""

from __future__ import annotations

from mdqr._limbs.planes import Block
from mdqr.tensorcore._algorithms.recursive import first_half
from mdqr.tensorcore._engine.formats import FP32, Format
from mdqr.tensorcore._engine.protocol import Engine, Operand, operand

# Below this order zeros are multiplied too, in float32.
_LEAF = 512


def triangular_product(engine: Engine, x: Block, y: Block, form: Format) -> Block:
    """Return ``x @ y`` of upper triangular matrices of one order."""
    n = len(x)
    out = engine.matrix(n, n, zero=True)
    _add(engine, out, x, y, form)
    return out


def _add(engine: Engine, out: Block, x: Block, y: Block, form: Format) -> None:
    n = len(x)
    if n <= _LEAF:
        engine.add(out, Operand((x,), FP32), Operand((y,), FP32), 1)
        return
    half = first_half(n, _LEAF)
    top, rest = slice(0, half), slice(half, n)
    _add(engine, out[top, top], x[top, top], y[top, top], form)
    _add(engine, out[rest, rest], x[rest, rest], y[rest, rest], form)
    for left, right in ((top, top), (top, rest)):
        p, q = x[left, right], y[right, rest]
        engine.add(out[top, rest], operand(engine, p, form), operand(engine, q, form), 1)
