"""Exact products on several devices: each forms some rows of the result.

All of them have the integers of one plan, so that limbs are those of one device. Rows in place of
residues: what a device needs are its rows of the left operand, and the right one; what it gives
back are numbers, where residues of all entries would be five to ten times as many bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mdqr._backend.exact import ExactProducts
from mdqr._limbs.planes import Block

# Operations on bytes that a device does while one byte comes from another one: between two H100 by
# `python -m benchmarks gpu-products --only devices`.
_OPERATIONS = 4000
_WHOLE = 128  # rows that libraries take at a time


def spread(
    backend: ExactProducts,
    numbers: Sequence[int],
    operands: Sequence[Any],
    out: Block,
    planes: int,
    repeat: Callable[..., None],
) -> None:
    """Call ``repeat(backend, *operands, out)`` by rows, on the current device and on others.

    The first, third and last operand have the rows of `out`; None stands for operands that are not
    there. `planes` is the number of products of bytes.
    """
    m = int(out.shape[-2])
    a, b = operands[:2]
    rows = share(m, len(numbers), planes, a, b, out)
    home = m - rows * len(numbers)

    def part(start: int, stop: int) -> tuple[list[Any], Block]:
        found = list(operands)
        found[0], found[2] = a[..., start:stop, :], found[2][start:stop]
        found[-1] = None if found[-1] is None else found[-1][..., start:stop, :]
        return found, out[..., start:stop, :]

    finish = []
    for i, number in enumerate(numbers) if rows else ():
        given, result = part(home + i * rows, home + (i + 1) * rows)
        finish.append(backend.elsewhere(number, given, result, repeat))
    given, result = part(0, home)
    repeat(backend, *given, result)
    for bring in finish:
        bring()


def share(m: int, devices: int, planes: int, a: Block, b: Block, out: Block) -> int:
    """Return the rows of each of so many devices beside the one that has the operands.

    That one has more of them: it works while the others wait for `b`. None are left to these where
    that takes longer than all of the work.
    """
    row_bytes = (a.nbytes + out.nbytes) / m
    row_time = 2 * planes * a.shape[-1] * out.shape[-1] / _OPERATIONS
    # m - devices x rows of work there, and rows and what they wait for here, take the same time.
    rows = (m * row_time - devices * b.nbytes) / ((devices + 1) * row_time + devices * row_bytes)
    return max(0, int(rows) // _WHOLE * _WHOLE)
