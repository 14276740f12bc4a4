"""Axes of the values of several operands, as few as possible, for kernels with one thread a value.

Plain tuples and integers: a call of NumPy or CuPy would take longer than all of this.
"""

from __future__ import annotations

from collections.abc import Sequence

from mdqr._limbs.planes import Block

# kernels/cuda/device/views.hpp
MAX_AXES = 6

Steps = list[tuple[int, ...]]  # one tuple an axis: the stride of each operand, in elements


def steps(array: Block, front: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strides of the axes after the first `front`, broadcast to `shape`, in elements."""
    size = array.itemsize
    lengths, strides = array.shape[front:], array.strides[front:]
    own = tuple(
        0 if length == 1 else stride // size
        for length, stride in zip(lengths, strides, strict=True)
    )
    return (0,) * (len(shape) - len(own)) + own


def merge(shape: tuple[int, ...], operands: Sequence[tuple[int, ...]]) -> tuple[list[int], Steps]:
    """Merge axes that are one run of memory in every operand; axes of length 1 go.

    The axes are put in the order of the first operand's strides, so that neighbouring threads
    write neighbouring values.
    """
    axes = [(n, step) for n, *step in zip(shape, *operands, strict=True) if n != 1]
    if len(axes) > 1:
        axes.sort(key=lambda axis: -abs(axis[1][0]))
    lengths: list[int] = []
    result: Steps = []
    for n, step in axes:
        if result and all(
            outer == n * inner for outer, inner in zip(result[-1], step, strict=True)
        ):
            lengths[-1] *= n
            result[-1] = tuple(step)
        else:
            lengths.append(n)
            result.append(tuple(step))
    return lengths, result


def padded(values: Sequence[int], fill: int) -> list[int]:
    """Return the values of at most `MAX_AXES` axes, at the end of as many fields."""
    return [fill] * (MAX_AXES - len(values)) + list(values)
