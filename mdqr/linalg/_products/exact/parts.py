"""Rows and columns as lines, and parts of these whose residues fit the workspace."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from mdqr._backend.exact import ExactProducts, LinePair, Residues
from mdqr._limbs.planes import Block

_LEAST_LINES = 64  # of a part of an operand
# An operand stays whole if this part of the lines that fit, 1/4, is left to the other one.
_LEAST_SHARE = 4
_PANELS = 4  # of columns of an upper triangle, at most

# All of a product; the upper part of a^H a, and of that of an upper triangle a; a product with an
# upper triangle b; the upper part of one of upper triangles; all of a product of a lower and an
# upper triangle, and its upper part.
Shape = Literal["full", "gram", "cholesky", "triangular", "triangles", "factors", "upper"]


# Gets the rows and columns of a part of a product, and what was formed of its lines.
Use = Callable[[slice, slice, Residues, Residues], object]


class Lines(NamedTuple):
    """Rows of the left operand, or columns of the right one, scaled by powers of two.

    Entry k of a line times ``2**shift[k]`` is below ``2**exponent`` and a multiple of
    ``2**(exponent - span)``. The largest exponent of those that are not zeros is `top`. Without
    shifts they are 0.
    """

    block: Block
    exponent: Block
    shift: Block | None
    top: int
    span: int
    is_complex: bool


def form_pairs(
    backend: ExactProducts,
    pair: LinePair,
    forms: Sequence[Callable[[slice], Residues]],
    planes: int,
    use: Use,
    *,
    shape: Shape = "full",
) -> None:
    """Call `use` for parts of the lines of both operands and what `forms` makes of them.

    Parts of the right operand are formed once, those of the left one for each of them, and only
    once where `forms` are one and all lines fit. What was used is released before the next one
    is formed: `use` keeps nothing. Where not all is wanted or some is zero, panels of columns go
    with the rows or the terms that there are above the diagonal.
    """
    (m, k), n = pair[0].shape[-2:], pair[1].shape[-2]
    lines = backend.exact_workspace() // backend.exact_line_bytes(planes, k)
    rows, columns = _cuts(m, n, lines)
    left = _Formed(backend, forms[0])
    is_one = forms[0] is forms[1] and len(rows) == len(columns) == 1
    right = left if is_one else _Formed(backend, forms[1])
    try:
        for column in columns:
            for row in rows:
                if shape == "full":
                    use(row, column, left.of(row), right.of(column))
                elif shape in ("triangular", "factors") or row.start < column.stop:
                    _use_panels(backend, use, shape, row, column, left.of(row), right.of(column))
    finally:
        left.release()
        right.release()


def _use_panels(
    backend: ExactProducts,
    use: Use,
    shape: Shape,
    row: slice,
    column: slice,
    left: Residues,
    right: Residues,
) -> None:
    """Call `use` for panels of columns, with the rows and the terms that they take."""
    count = column.stop - column.start
    width = -(-count // (_PANELS * _LEAST_LINES)) * _LEAST_LINES
    for panel in slices(count, max(width, backend.exact_columns())):
        there = slice(column.start + panel.start, column.start + panel.stop)
        for above, terms in _parts(shape, row, there):
            if above.start < above.stop:
                rows = slice(above.start - row.start, above.stop - row.start)
                x, y = (
                    backend.exact_part(of, p, terms) for of, p in ((left, rows), (right, panel))
                )
                use(above, there, x, y)


def _parts(shape: Shape, row: slice, there: slice) -> list[tuple[slice, int | None]]:
    """Return the rows, and the terms, that a panel of columns takes of so many rows."""
    above = slice(row.start, min(row.stop, there.stop))
    if shape == "gram":
        return [(above, None)]
    if shape == "triangular":
        return [(row, there.stop)]
    if shape == "triangles":
        return [(above, there.stop)]
    # Rows above the panel have no terms behind it, nor their own diagonals.
    before = slice(row.start, min(row.stop, there.start))
    last = above.stop if shape in ("cholesky", "upper") else row.stop
    return [(before, before.stop), (slice(max(row.start, there.start), last), there.stop)]


class _Formed:
    """The results formed of parts of an operand, one at a time."""

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
            del self._found
            self._part = None


def _cuts(m: int, n: int, lines: int) -> tuple[list[slice], list[slice]]:
    """Return parts of `m` rows and `n` columns; two have at most so many lines together.

    They have more where that is less than the least number of lines of each; there is one line of
    each at least. One operand stays whole if enough lines are left for the other one, rows rather
    than columns: lines of both are formed once then.
    """
    rows, columns = _rounded_up(m), _rounded_up(n)
    if rows + columns > lines:
        most = lines - max(lines // _LEAST_SHARE, _LEAST_LINES)
        if rows <= most or columns > most:
            columns = _even(n, lines - rows if rows <= most else lines // 2)
        rows = _even(m, lines - columns)
    return slices(m, rows), slices(n, columns)


def _even(count: int, most: int) -> int:
    """Return the lines of even parts: at most `most`, or the least of a part if that is more."""
    most = max(1, most // _LEAST_LINES) * _LEAST_LINES
    return _rounded_up(-(-count // -(-count // most)))


def _rounded_up(count: int) -> int:
    return -(-count // _LEAST_LINES) * _LEAST_LINES


def slices(count: int, width: int) -> list[slice]:
    """Return slices of at most `width` that cover `count`."""
    return [slice(start, min(start + width, count)) for start in range(0, count, width)]
