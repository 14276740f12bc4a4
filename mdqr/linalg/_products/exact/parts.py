"""Rows and columns as lines, and parts of these whose residues fit the workspace."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple

from mdqr._backend.protocol import ExactProducts, Residues
from mdqr._limbs.planes import Block

_LEAST_LINES = 64  # of a part of an operand
_PANELS = 4  # of columns of an upper triangle

# All of a product; the upper part of a^H a; a product with an upper triangle b; the upper part of
# one of upper triangles.
Shape = Literal["full", "gram", "triangular", "triangles"]


class Lines(NamedTuple):
    """Rows of the left operand, or columns of the right one, scaled by powers of two.

    Entry k of a line times ``2**shift[k]`` is below ``2**exponent`` and a multiple of
    ``2**(exponent - span)``.
    """

    block: Block
    exponent: Block
    shift: Block
    span: int
    is_complex: bool


def formed_pairs(
    backend: ExactProducts,
    pair: tuple[Lines, Lines],
    forms: Sequence[Callable[[slice], Residues]],
    planes: int,
    *,
    shape: Shape = "full",
) -> Iterator[tuple[slice, slice, Residues, Residues]]:
    """Yield parts of the lines of both operands and what `forms` makes of them, column by column.

    Parts of the right operand are formed once, those of the left one for each of them, and only
    once where `forms` are one and all lines fit. What was yielded is released before the next one
    is formed. Where not all is wanted or some is zero, panels of columns go with the rows or the
    terms that there are above the diagonal.
    """
    (m, k), n = pair[0].block.shape[-2:], pair[1].block.shape[-2]
    lines = backend.exact_workspace() // backend.exact_line_bytes(planes, k)
    rows, columns = _cuts(m, n, lines)
    left = _Formed(backend, forms[0])
    is_one = forms[0] is forms[1] and len(rows) == len(columns) == 1
    right = left if is_one else _Formed(backend, forms[1])
    try:
        for column in columns:
            for row in rows:
                if shape == "full":
                    yield row, column, left.of(row), right.of(column)
                elif shape == "triangular" or row.start < column.stop:
                    yield from _panels(backend, row, column, left.of(row), right.of(column), shape)
    finally:
        left.release()
        right.release()


def _panels(
    backend: ExactProducts,
    row: slice,
    column: slice,
    left: Residues,
    right: Residues,
    shape: Shape,
) -> Iterator[tuple[slice, slice, Residues, Residues]]:
    """Yield panels of columns, with the rows and the terms that they take, in the same way."""
    count = column.stop - column.start
    for panel in slices(count, -(-count // (_PANELS * _LEAST_LINES)) * _LEAST_LINES):
        there = slice(column.start + panel.start, column.start + panel.stop)
        above = row if shape == "triangular" else slice(row.start, min(row.stop, there.stop))
        if above.start < above.stop:
            rows = slice(0, above.stop - above.start)
            terms = None if shape == "gram" else there.stop
            x, y = (backend.exact_part(of, p, terms) for of, p in ((left, rows), (right, panel)))
            yield above, there, x, y


class _Formed:
    """What is formed of parts of an operand, one at a time."""

    def __init__(self, backend: ExactProducts, form: Callable[[slice], Residues]) -> None:
        self._backend, self._form = backend, form
        self._part: slice | None = None
        self._found: Residues

    def of(self, part: slice) -> Residues:
        """Return what is formed of a part, again only if it is another one."""
        if part != self._part:
            self.release()
            self._found = self._form(part)
            self._part = part
        return self._found

    def release(self) -> None:
        """Give the memory back."""
        if self._part is not None:
            self._backend.exact_release(self._found)
            self._part = None


def _cuts(m: int, n: int, lines: int) -> tuple[list[slice], list[slice]]:
    """Return parts of `m` rows and `n` columns; two have at most so many lines together.

    They have more where that is less than the least number of lines of each.
    """
    rows, columns = (-(-count // _LEAST_LINES) * _LEAST_LINES for count in (m, n))
    if rows + columns > lines:
        half = lines // 2
        columns = min(columns, _whole(half if rows > half else lines - rows))
        rows = min(rows, _whole(lines - columns))
    return slices(m, rows), slices(n, columns)


def _whole(lines: int) -> int:
    """Return a multiple of the least number of lines, at most `lines` if that is possible."""
    return max(1, lines // _LEAST_LINES) * _LEAST_LINES


def slices(count: int, width: int) -> list[slice]:
    """Return slices of at most `width` that cover `count`."""
    return [slice(start, min(start + width, count)) for start in range(0, count, width)]
