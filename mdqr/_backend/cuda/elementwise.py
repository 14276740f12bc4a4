"""Elementwise calls on a GPU: kernels/cuda/elementwise/elementwise.cu, one module an operation.

The limbs are those of the host backend.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from mdqr._backend.blocks import broadcast_shapes, real_abs
from mdqr._backend.cuda.axes import MAX_AXES, merge, padded, steps
from mdqr._backend.cuda.runtime.kernels import KernelCalls, Kernels, Module, divided, fields, planes
from mdqr._backend.protocol import ELEMENTARY_BINARY, ELEMENTARY_UNARY
from mdqr._limbs.planes import Block, Kind, broadcast, lead, value_shape

_THREADS = 256

# An array, and whether it is a complex block; None: an array without limbs.
_Array = tuple[Block, bool | None]

# An array, the axes before those of its values, and the fields of its struct planes.
_Operand = tuple[Block, int, list[int]]


def _operand(kernels: Kernels, array: Block, is_complex: bool | None) -> _Operand:
    """Describe a block, or with ``is_complex=None`` an array without limbs."""
    if is_complex is None:
        return array, 0, [kernels.address(array), 0, 0, 1]
    return array, lead(is_complex), planes(kernels, array, is_complex)


def _source(op: str) -> str:
    elementary = op in ELEMENTARY_UNARY or op in ELEMENTARY_BINARY
    return "elementwise/elementary" if elementary else "elementwise/elementwise"


def _start(
    kernels: Kernels,
    module: Module,
    name: str,
    shape: tuple[int, ...],
    out: _Array,
    inputs: Sequence[_Array],
) -> None:
    """Start a kernel whose arguments are `struct extent` and one `struct array_view` an array."""
    size = prod(shape)
    if size == 0:
        return
    operands = [_operand(kernels, *array) for array in (out, *inputs)]
    if all(array.flags.c_contiguous and array.shape[f:] == shape for array, f, _ in operands):
        lengths, strides = [size], [(1,) * len(operands)]
    else:
        strides = [steps(array, leading, shape) for array, leading, _ in operands]
        lengths, strides = merge(shape, strides)
    if len(lengths) > MAX_AXES:
        _start_on_copies(kernels, module, name, shape, out, inputs)
        return
    views: list[int] = []
    for k, (_, _, fields_of_planes) in enumerate(operands):
        views += fields_of_planes
        views += padded([step[k] for step in strides], 0)
    arguments = fields(size, len(lengths), padded(lengths, 1), views)
    blocks = divided(size, _THREADS)
    kernels.launch(module, name, arguments, grid=(blocks,), threads=_THREADS)


def _start_on_copies(
    kernels: Kernels,
    module: Module,
    name: str,
    shape: tuple[int, ...],
    out: _Array,
    inputs: Sequence[_Array],
) -> None:
    """Do the same on contiguous copies, which have one axis."""
    xp = kernels.xp
    copies: list[_Array] = []
    for array, is_complex in inputs:
        if is_complex is None:
            spread = xp.broadcast_to(array, shape)
        else:
            spread = broadcast(array, is_complex, shape)
        copies.append((xp.ascontiguousarray(spread), is_complex))
    result = xp.empty(out[0].shape, dtype=out[0].dtype)
    _start(kernels, module, name, shape, (result, out[1]), copies)
    out[0][...] = result


class Elementwise(KernelCalls):
    """Operations on every element."""

    def unary(self, op: str, x: Block, *, kind: Kind, out: Block | None = None) -> Block:
        """Apply `op` to every element."""
        limbs, is_complex = kind
        if op == "abs" and not is_complex:
            return real_abs(self.xp, x, limbs, out)
        to_complex = is_complex and op != "abs"
        shape = value_shape(x, is_complex)
        if out is None:
            out = Kind(limbs, to_complex).empty(self.xp, shape)
        name = "mdqr_renormalize" if op == "renormalize" else "mdqr_unary"
        define = "MDQR_RENORMALIZE" if op == "renormalize" else f"MDQR_UNARY={op}"
        module = Module(_source(op), kind, (define,))
        _start(self.kernels, module, name, shape, (out, to_complex), [(x, is_complex)])
        return out

    def binary(self, op: str, x: Block, y: Block, *, kind: Kind, out: Block | None = None) -> Block:
        """Apply `op` to the broadcast pairs."""
        is_complex = kind.is_complex
        shape = broadcast_shapes(value_shape(x, is_complex), value_shape(y, is_complex))
        if out is None:
            out = kind.empty(self.xp, shape)
        module = Module(_source(op), kind, (f"MDQR_BINARY={op}",))
        operands = [(x, is_complex), (y, is_complex)]
        _start(self.kernels, module, "mdqr_binary", shape, (out, is_complex), operands)
        return out

    def compare(self, x: Block, y: Block) -> Block:
        """Return the sign of the exact difference as int8, 2 if unordered."""
        shape = broadcast_shapes(x.shape[1:], y.shape[1:])
        out = self.xp.empty(shape, dtype=np.int8)
        kind = Kind(max(len(x), len(y)), False)
        module = Module("elementwise/elementwise", kind, ("MDQR_COMPARE",))
        _start(self.kernels, module, "mdqr_compare", shape, (out, None), [(x, False), (y, False)])
        return out

    def ldexp(self, x: Block, exponent: Block, *, is_complex: bool = False) -> Block:
        """Multiply by ``2**exponent``."""
        exponent = self.xp.asarray(exponent, dtype=np.int64)
        limbs = x.shape[int(is_complex)]
        shape = broadcast_shapes(value_shape(x, is_complex), exponent.shape)
        out = Kind(limbs, is_complex).empty(self.xp, shape)
        to = out
        if is_complex:
            # The kernel takes real blocks: here the parts are their first axis.
            x = broadcast(x, True, shape).swapaxes(0, 1)
            to, shape = out.swapaxes(0, 1), (2, *shape)
        module = Module("elementwise/elementwise", Kind(limbs, False), ("MDQR_LDEXP",))
        operands = [(x, False), (exponent, None)]
        _start(self.kernels, module, "mdqr_ldexp", shape, (to, False), operands)
        return out
