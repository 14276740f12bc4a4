"""Powers of two for the rows and columns of matrices on the CPU."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mdqr._backend.protocol import Balanced
from mdqr._limbs.planes import Block, diagonal, set_unit_diagonal
from mdqr._limbs.scaling import (
    ABSENT,
    SPECIAL,
    exponents_of,
    exponents_or_absent,
    finite,
    largest,
    magnitude_bits,
)

# A triangle whose diagonal would fall below this power of two is left as it is.
LEAST_DIAGONAL = -700


class _HasLdexp(Protocol):
    def ldexp(
        self, x: Block, exponent: NDArray[np.int64], *, is_complex: bool = False
    ) -> Block: ...


class Balance:
    """Balanced matrices."""

    def balance_triangle(
        self: _HasLdexp, a: Block, *, is_complex: bool, lower: bool, unit_diagonal: bool
    ) -> Balanced:
        """Multiply rows and columns of triangles by powers of two."""
        part = (np.tril if lower else np.triu)(a)
        if unit_diagonal:
            diagonal(part)[...] = 0.0
            set_unit_diagonal(part, is_complex)
        bits = magnitude_bits(part, is_complex)
        on_diagonal = diagonal(bits)
        faults = np.array([(bits >= SPECIAL).any(), not on_diagonal.all()], dtype=np.int64)
        found = exponents_or_absent(bits)
        columns = -largest(found, -2, ABSENT)
        rows = -largest(found + columns[..., None, :], -1, ABSENT)
        middle = diagonal(found) + rows + columns
        sound = (middle >= LEAST_DIAGONAL).all(axis=-1)[..., None]
        rows, columns = np.where(sound, rows, 0), np.where(sound, columns, 0)
        powers = rows[..., :, None] + columns[..., None, :]
        return Balanced(self.ldexp(part, powers, is_complex=is_complex), rows, columns, faults)

    def balance_columns(
        self: _HasLdexp, x: Block, rows: NDArray[np.int64] | None, *, is_complex: bool
    ) -> tuple[Block, NDArray[np.int64]]:
        """Multiply rows by given powers of two, columns by others."""
        bits = magnitude_bits(x, is_complex)
        if rows is None:
            columns = -exponents_of(largest(bits, -2, 0))
            return self.ldexp(x, columns[..., None, :], is_complex=is_complex), columns
        found = np.where(bits > 0, exponents_of(bits) + rows[..., :, None], ABSENT)
        most = largest(found, -2, ABSENT)
        special = largest(bits, -2, 0) >= SPECIAL
        columns = np.where(special | (most < ABSENT // 2), 0, -most)
        powers = rows[..., :, None] + columns[..., None, :]
        return self.ldexp(x, powers, is_complex=is_complex), columns

    def scale(
        self: _HasLdexp,
        x: Block,
        rows: NDArray[np.int64],
        columns: NDArray[np.int64],
        *,
        is_complex: bool,
    ) -> tuple[Block, NDArray[np.int64]]:
        """Multiply by powers of two, and tell whether something is not finite."""
        powers = rows[..., :, None] - columns[..., None, :]
        found = self.ldexp(x, powers, is_complex=is_complex)
        return found, np.array([not finite(found, is_complex)], dtype=np.int64)
