"""Arrays as tables of a notebook."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from mdqr._convert.arrays import block_to_strings
from mdqr._io.format import str_array
from mdqr._limbs.device import host_block

if TYPE_CHECKING:
    from mdqr._array.array import MDArray

_MOST = (20, 10)  # rows and columns; of more, the first and the last ones are shown
_DIGITS = 10  # in a cell; all of them are its title


def html_array(a: MDArray) -> str:
    """Return an array of at most two axes as a table, others as `str` prints them.

    A cell shows 10 digits and has all of the precision in its title.
    """
    kind = "complex" if a.is_complex else "real"
    place = "" if a.device == "cpu" else f", {a.device}"
    caption = f"MDArray, {kind}, shape {a.shape}, precision {a.precision}{place}"
    if a.ndim > 2 or not a.size:
        return f"<div>{escape(caption)}<pre>{escape(str_array(a))}</pre></div>"
    rows = a.reshape((-1, 1) if a.ndim == 1 else (1, 1) if not a.ndim else a.shape)
    places = [_shown(length, most) for length, most in zip(rows.shape, _MOST, strict=True)]
    shown = rows[np.ix_(*([i for i in axis if i is not None] for axis in places))]
    block = host_block(shown.limbs)
    short, full = (
        block_to_strings(block, a.precision, a.is_complex, digits)
        for digits in (_DIGITS, max(a.precision.digits, 16))
    )
    columns = places[1]
    head = "".join(f"<th>{'…' if j is None else j}</th>" for j in columns) if a.ndim == 2 else ""
    lines = [f"<tr><th></th>{head}</tr>"] if head else []
    count = 0
    for i in places[0]:
        label = f"<th>{'…' if i is None else i}</th>" if a.ndim else ""
        if i is None:
            lines.append(f"<tr>{label}{'<td>…</td>' * len(columns)}</tr>")
            continue
        cells = zip(short[count], full[count], strict=True)
        texts = iter([f'<td title="{escape(all_)}">{escape(few)}</td>' for few, all_ in cells])
        row = "".join("<td>…</td>" if j is None else next(texts) for j in columns)
        lines.append(f"<tr>{label}{row}</tr>")
        count += 1
    table = f'<table cellpadding="4"><caption>{escape(caption)}</caption>{"".join(lines)}</table>'
    return f'<div style="overflow-x:auto">{table}</div>'  # of a narrow page this alone scrolls


def _shown(length: int, most: int) -> list[int | None]:
    """Return the places that are shown, None for those left out."""
    if length <= most:
        return list(range(length))
    half = most // 2
    return [*range(half), None, *range(length - half, length)]
