"""From what the caller gives to blocks of one field, and back to arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from mdqr import _limbs
from mdqr._array import MDArray
from mdqr._backend import for_block
from mdqr._backend.protocol import Backend, Block
from mdqr._device import check_together
from mdqr._precision import PRECISIONS, Precision, as_precision
from mdqr._promotion import to_block

Callback = Callable[[str, int, int], object]


class Inputs(NamedTuple):
    """Blocks of one field without trailing zero planes, and the precisions of the work."""

    precision: Precision
    work: Precision
    is_complex: bool
    blocks: list[Block]
    backend: Backend

    @property
    def front(self) -> int:
        """Number of axes of a block before those of the values."""
        return _limbs.lead(self.is_complex)

    def shape(self, index: int) -> tuple[int, ...]:
        """Return the shape of the values of one operand."""
        return _limbs.value_shape(self.blocks[index], self.is_complex)

    def wrap(self, block: Block, is_complex: bool | None = None) -> MDArray:
        """Return the array of a result of the work, rounded once to the precision asked for."""
        field = self.is_complex if is_complex is None else is_complex
        return MDArray._wrap(
            _limbs.narrow(block, field, self.precision.limbs), self.precision, field
        )


def gather(*values: Any, precision: Precision | str | None) -> Inputs:
    """Convert the operands of a function of linear algebra.

    Data stay as they are: an operand of a higher precision than the answer is used in full, and
    the answer is rounded once.

    Parameters
    ----------
    *values : array_like
        `MDArray`, NumPy arrays, sequences, scalars.
    precision : Precision, str or None
        The precision of the answer; None means the highest of the operands, where a NumPy array
        or a sequence of Python numbers counts as d.

    Returns
    -------
    Inputs
        The blocks and the precisions.

    Raises
    ------
    TypeError
        If an operand is not numeric, or exact numbers come without a precision.
    ValueError
        If the operands live on two devices.
    """
    answer = as_precision(precision) if precision is not None else _highest(values)
    arrays = [trim(v._block, v._complex) if isinstance(v, MDArray) else None for v in values]
    held = [
        _limbs.limb_count(block, value._complex)
        for block, value in zip(arrays, values, strict=True)
        if block is not None
    ]
    work = covering(max([answer.limbs, *held]))
    pairs = [
        (block, value._complex) if block is not None else _converted(value, work.limbs)
        for block, value in zip(arrays, values, strict=True)
    ]
    is_complex = any(field for _, field in pairs)
    blocks = [
        _limbs.complexify(block) if is_complex and not field else block for block, field in pairs
    ]
    check_together(blocks)
    return Inputs(answer, work, is_complex, blocks, for_block(blocks[0]))


def _converted(value: Any, limbs: int) -> tuple[Block, bool]:
    block, is_complex = to_block(value, limbs)
    return trim(block, is_complex), is_complex


def covering(limbs: int) -> Precision:
    """Return the lowest precision with at least `limbs` limbs."""
    return min(p for p in PRECISIONS if p.limbs >= limbs)


def trim(block: Block, is_complex: bool) -> Block:
    """Return a view of `block` with the limbs of the lowest precision that holds every value."""
    axis = _limbs.lead(is_complex) - 1
    count = block.shape[axis]
    front = (slice(None),) * axis
    for fewer in sorted((p.limbs for p in PRECISIONS if p.limbs < count), reverse=True):
        if block[(*front, slice(fewer, count))].any():
            break
        count = fewer
    return block[(*front, slice(count))]


def _highest(values: tuple[Any, ...]) -> Precision:
    found = [precision for value in values for precision in _arrays_in(value)]
    if found:
        return max(found)
    for value in values:
        if np.asarray(value).dtype.kind not in "biufc":
            raise TypeError(
                f"exact numbers have no precision of their own; got {type(value).__name__}: "
                "give one, as in precision=mdqr.qd"
            )
    return PRECISIONS[0]


def _arrays_in(value: Any) -> list[Precision]:
    """Return the precisions of the `MDArray` in a nested sequence."""
    if isinstance(value, MDArray):
        return [value._precision]
    if isinstance(value, (list, tuple)):
        return [precision for item in value for precision in _arrays_in(item)]
    return []


def data_eps(value: Any, work: Precision) -> float:
    """Return the eps to which the entries of `value` are known.

    An `MDArray` has its precision's, floats have that of one limb; integers and exact numbers are
    known to the precision of the work.
    """
    held = _arrays_in(value)
    if held:
        return min(held).eps
    return PRECISIONS[0].eps if np.asarray(value).dtype.kind in "fc" else work.eps


@contextmanager
def room(function: str, inputs: Inputs, values: int, advice: str) -> Iterator[None]:
    """Say how much `function` wanted, for each matrix of the batch `values`, if memory runs out."""
    try:
        yield
    except MemoryError:
        parts = 2 if inputs.is_complex else 1
        wanted = 8 * inputs.work.limbs * parts * math.prod(inputs.shape(0)[:-2]) * values
        raise MemoryError(
            f"{function}: no memory for about {wanted / 2**30:.3g} GiB; "
            f"{advice}, or a lower precision"
        ) from None


def matrix_shape(function: str, name: str, shape: tuple[int, ...]) -> tuple[int, int]:
    """Return the last two lengths of `shape`.

    Raises
    ------
    ValueError
        If there are fewer than two.
    """
    if len(shape) < 2:
        raise ValueError(
            f"{function}: {name} must have at least two dimensions; got shape {shape}"
            + (f": use {name}.reshape(-1, 1) for one column" if len(shape) == 1 else "")
        )
    return shape[-2], shape[-1]


def square_order(function: str, name: str, shape: tuple[int, ...]) -> int:
    """Return the order of a square matrix.

    Raises
    ------
    ValueError
        If the last two lengths differ.
    """
    m, n = matrix_shape(function, name, shape)
    if m != n:
        raise ValueError(
            f"{function}: {name} must be square; got shape {shape}"
            + ("" if function == "solve_triangular" else ": use lstsq for rectangular systems")
        )
    return n


def broadcast_batch(
    function: str, blocks: list[Block], is_complex: bool
) -> tuple[tuple[int, ...], list[Block]]:
    """Return the common batch shape, and the blocks as views with it.

    Raises
    ------
    ValueError
        If the leading dimensions do not broadcast.
    """
    shapes = [_limbs.value_shape(block, is_complex) for block in blocks]
    try:
        batch = np.broadcast_shapes(*(shape[:-2] for shape in shapes))
    except ValueError:
        raise ValueError(
            f"{function}: the leading dimensions of {' and '.join(map(str, shapes))} "
            "do not broadcast to one batch"
        ) from None
    wide = [
        _limbs.broadcast(block, is_complex, batch + shape[-2:])
        for block, shape in zip(blocks, shapes, strict=True)
    ]
    return batch, wide
