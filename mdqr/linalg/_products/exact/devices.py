"""Exact products on several devices: each forms some rows of the result.

All of them have the integers of one plan, so that limbs are those of one device. Rows instead of
residues: what a device needs are its rows of the left operand, and the right one; what it gives
back are numbers, where residues of all entries would be several times as many bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from mdqr._backend.exact import ExactProducts, Peer
from mdqr._limbs import planes
from mdqr._limbs.planes import Block

# Operations on bytes, all passes of a product over memory among them, that a device does while one
# byte comes from another one: two H100 by `python -m benchmarks gpu-products --only devices`.
_OPERATIONS = 2200
_WHOLE = 128  # rows that libraries take at a time


class _Guest(NamedTuple):
    """A device with its rows of the left operand, and the right one."""

    peer: Peer
    rows: slice
    a: Block
    b: Block


class Shared:
    """A product of which other devices form some rows.

    Parameters
    ----------
    backend : ExactProducts
        The current device, which has the operands.
    numbers : sequence of int
        The other devices.
    a, b : Block
        Rows of the left and columns of the right operand. Copies begin at once: what has to be
        known of the operands before the product begins is found out meanwhile.
    products : int
        Products of bytes that one of numbers takes, about.
    """

    def __init__(
        self,
        backend: ExactProducts,
        numbers: Sequence[int],
        a: Block,
        b: Block,
        products: int,
    ) -> None:
        m = int(a.shape[-2])
        rows = share(len(numbers), products, a, b)
        self._backend = backend
        self._home = slice(0, m - rows * len(numbers))
        self._peers = [backend.peer(number) for number in numbers] if rows else []
        self._guests = []
        try:
            for i, peer in enumerate(self._peers):
                start = self._home.stop + i * rows
                part = slice(start, start + rows)
                self._guests.append(_Guest(peer, part, peer.take(a[..., part, :]), peer.take(b)))
        except BaseException:
            self.close()
            raise

    def form(
        self,
        call: Callable[..., None],
        a: Block,
        b: Block,
        exponent: Block,
        other_exponent: Block,
        shift: Block | None,
        other_shift: Block | None,
        c: Block | None,
        out: Block,
        *,
        is_complex: bool,
    ) -> None:
        """Call ``call(backend, ...)`` with these operands by rows; limbs of zeros are left out.

        `close` sets the rows that others form.
        """

        def here(rows: slice) -> tuple[Block | None, ...]:
            added = None if c is None else c[..., rows, :]
            return exponent[rows], other_exponent, shift, other_shift, added

        for peer, rows, x, y in self._guests:
            blocks = (
                planes.first_limbs(copy, is_complex, of.shape[-3]) for copy, of in ((x, a), (y, b))
            )
            peer.start(call, [*blocks, *here(rows)], out[..., rows, :])
        home = self._home
        call(self._backend, a[..., home, :], b, *here(home), out[..., home, :])

    def close(self) -> None:
        """Let what follows wait for the others, whose memory here can be given away then."""
        for peer in self._peers:
            peer.finish()


def share(devices: int, products: int, a: Block, b: Block) -> int:
    """Return the rows of each of so many devices beside the one that has the operands.

    That one has more of them, for it has no copies to wait for. None are left to the others where
    copying takes longer than they would here.
    """
    (m, k), n = a.shape[-2:], b.shape[-2]
    # In bytes copied: rows go back, and came while the operands were looked at.
    row_time, row_bytes = 2 * products * k * n / _OPERATIONS, b.nbytes / k
    rows = m * row_time / ((devices + 1) * row_time + devices * row_bytes)
    whole = int(rows) // _WHOLE * _WHOLE
    return whole if whole * row_time > devices * (b.nbytes + 2 * whole * row_bytes) else 0
