"""Sums, extremes and tests of plain arrays along axes: kernels/cuda/floats/fold.cu."""

from __future__ import annotations

from math import prod

import numpy as np

from mdqr._backend.cuda.axes import MAX_AXES, merge, padded, steps
from mdqr._backend.cuda.runtime.kernels import Kernels, Module, divided, fields
from mdqr._limbs.folds import OPERATIONS, Axis, axes_of
from mdqr._limbs.planes import Block, Kind

_MODULE = Module("floats/fold", Kind(1, False))
_THREADS, _WARP = 256, 32
_TYPES = {"d": 0, "l": 1, "q": 1, "?": 2}
# What a thread or a warp reads at least, and how many threads there are where they have as much.
_LEAST, _ENOUGH = 32, 2**17


def fold(kernels: Kernels, op: str, x: Block, axis: Axis, keepdims: bool) -> Block | None:
    """Return the result of `mdqr._limbs.folds.fold`, or None for a type without a kernel."""
    kind = _TYPES.get(x.dtype.char)
    if kind is None or x.size == 0:
        return None
    axes = axes_of(x.ndim, axis)
    kept = [i for i in range(x.ndim) if i not in axes]
    strides = steps(x, 0, x.shape)
    outer = _merged(x.shape, strides, kept, in_order=True)
    inner = _merged(x.shape, strides, sorted(axes), in_order=False)
    if outer is None or inner is None:
        return None
    shape = tuple(1 if i in axes else n for i, n in enumerate(x.shape) if keepdims or i not in axes)
    is_test = op in ("any", "all")
    number = np.float64 if kind == 0 and not is_test else np.int64
    out = kernels.xp.empty(shape, dtype=np.bool_ if is_test else number)
    _start(kernels, op, kernels.address(x), kind, outer, inner, out, is_test)
    return out


_Axes = tuple[list[int], list[int]]  # lengths and strides


def _merged(
    shape: tuple[int, ...], strides: tuple[int, ...], axes: list[int], *, in_order: bool
) -> _Axes | None:
    """Return some axes of an array as few ones; outputs are in the order of their axes."""
    lengths = tuple(shape[i] for i in axes)
    own = tuple(strides[i] for i in axes)
    order = tuple(prod(lengths[i + 1 :]) for i in range(len(axes)))
    found, merged = merge(lengths, [order, own] if in_order else [own])
    if len(found) > MAX_AXES:
        return None
    return found, [step[-1] for step in merged]


def _start(
    kernels: Kernels, op: str, data: int, kind: int, outer: _Axes, inner: _Axes, out: Block,
    is_test: bool,
) -> None:  # fmt: skip
    outputs, length = prod(outer[0]), prod(inner[0])
    nearest = abs(outer[1][-1]) if outer[1] else 0
    across = bool(outer[0]) and outer[0][-1] >= _WARP // 2
    across = across and (not inner[1] or nearest < abs(inner[1][-1]))
    together = _THREADS if across else _THREADS // _WARP  # tasks of a block
    least = _LEAST if across else _LEAST * _WARP
    most = divided(_ENOUGH if across else _ENOUGH // _WARP, outputs)
    pieces = max(1, min(divided(length, least), most))
    piece = divided(length, pieces)
    pieces = divided(length, piece)
    to, memory = kernels.address(out), None
    if pieces > 1:
        memory, to = kernels.scratch(outputs * pieces)
    kernels.launch(
        _MODULE,
        "mdqr_fold",
        fields(
            data, to, OPERATIONS.index(op), kind, int(is_test and pieces == 1),
            outputs, length, piece, pieces, int(across),
            padded(outer[0], 1), padded(outer[1], 0),
            int(len(inner[0]) <= 1), padded(inner[0], 1), padded(inner[1], 0),
        ),
        grid=(divided(outputs * pieces, together),),
        threads=_THREADS,
    )  # fmt: skip
    if memory is not None:
        kind = 1 if is_test else min(kind, 1)
        between, step = (1, outputs) if across else (pieces, 1)
        parts = ([outputs], [between]), ([pieces], [step])
        _start(kernels, op, to, kind, *parts, out, is_test)
