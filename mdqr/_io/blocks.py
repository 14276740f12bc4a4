"""Blocks of whole lines of a file, and the rows of those that have no quotes."""

from __future__ import annotations

import csv
import io
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from typing import IO, NamedTuple

import numpy as np

from mdqr._backend.host import text as kernels
from mdqr._io.form import Form
from mdqr._io.rows import one_row

Source = str | os.PathLike[str] | IO[str] | IO[bytes] | Iterable[str] | Iterable[bytes]

_BYTES = 1 << 22  # of a file read at a time
_LINES = 1 << 15  # of a stream
_CELLS = 1 << 21  # of lines that are read at a time; `_BYTES` of rows have no more
_MARK = "\ufeff"  # of the byte order
_NEWLINE = 10
_ends = re.compile(rb"\r\n?|\n").finditer  # of lines


class Block(NamedTuple):
    """Whole lines of text, the first of which is line `start` of the file.

    `data` is their UTF-8, None where the lines are not those between its newlines.
    """

    start: int
    data: bytes | None
    lines: Callable[[], Iterable[str]]


class Cells(NamedTuple):
    """Rows of a block: planes ``(N, rows, columns)``, their lines, and cells that are left."""

    real: np.ndarray
    lines: np.ndarray
    left: list[tuple[int, int, str]]

    def first(self, count: int | None) -> Cells:
        """Return the first rows, all for None."""
        if count is None or count >= len(self.lines):
            return self
        left = [cell for cell in self.left if cell[0] < count]
        return Cells(self.real[:, :count], self.lines[:count], left)


def no_file(found: object) -> str:
    """Return what to say of something else than a file."""
    return f"wanted is the name of a file, a file or lines of text; got {type(found).__name__}"


def of_bytes(stream: IO[bytes] | io.BufferedIOBase, skiprows: int) -> Iterator[Block]:
    """Yield the blocks behind some lines of a file of UTF-8."""
    start, mark = 1, _MARK.encode()
    while data := stream.read(_BYTES) + stream.readline():
        data, mark = data.removeprefix(mark), b""
        if start <= skiprows:
            most = min(skiprows + 1 - start, len(data))
            skipped = [end.end() for end in islice(_ends(data), most)]
            left = skiprows + 1 - start - len(skipped)
            data = data[skipped[-1] if skipped and not left else len(data) :]
            start += len(skipped)
        block = Block(start, data, partial(_lines_of, data))
        start += data.count(b"\n")
        if data:
            yield block


def of_lines(
    stream: Iterator[str | bytes],
    skiprows: int,
    encoding: str = "utf-8",
    *,
    start: int = 1,
) -> Iterator[Block]:
    """Yield the blocks behind some lines of a stream of lines, of which the first is `start`."""
    start, mark = start + skiprows, _MARK
    for _ in islice(stream, min(skiprows, sys.maxsize)):
        pass
    while found := list(islice(stream, _LINES)):
        lines = [_text(line, encoding) for line in found]
        lines[0], mark = lines[0].removeprefix(mark), ""
        text = "".join(lines)
        whole = text.count("\n") == len(lines) - (not text.endswith("\n"))
        try:
            data = text.encode() if whole else None
        except UnicodeEncodeError:  # half of a pair
            data = None
        yield Block(start, data, partial(iter, lines))
        start += len(lines)


def _text(line: str | bytes, encoding: str) -> str:
    if not isinstance(line, (str, bytes)):
        raise TypeError(no_file(line))
    return line if isinstance(line, str) else line.decode(encoding)


def _lines_of(data: bytes) -> Iterable[str]:
    return io.StringIO(data.decode(), newline="")


def first_row(block: Block, form: Form) -> tuple[int, list[str], int] | None:
    """Return the line, the fields and the end in bytes of the first row, None if it is not plain.

    The line is 0 where there is no row.
    """
    if block.data is None:
        return None
    line, end = block.start, 0
    while end < len(block.data):
        begin, end = end, block.data.find(b"\n", end) + 1 or len(block.data)
        fields = one_row(block.data[begin:end].decode(), form)
        if fields is None:
            return None
        if fields:
            return line, fields, end
        line += 1
    return 0, [], end


def behind(block: Block, line: int, end: int) -> Block:
    """Return what follows the first row, which stands in `line` and ends at the byte `end`."""
    assert block.data is not None
    data = block.data[end:]
    return Block(line + 1, data, partial(_lines_of, data))


def plain_cells(
    block: Block, form: Form, width: int, columns: list[int], limbs: int
) -> Cells | None:
    """Return the cells of a block, None if it is not plain or has a row of another width."""
    data = block.data
    if data is None or not _is_plain(data, form):
        return None
    if any(text.encode() in data for text in form.missing_numbers):
        return None  # the kernel would read them
    data, comment = form.plain(data)
    ends = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == _NEWLINE)
    if not data.endswith(b"\n"):
        ends = np.append(ends, len(data))
    if np.diff(ends, prepend=-1).max(initial=0) > csv.field_size_limit():
        return None
    wanted, order = np.unique(np.array(columns, dtype=np.int64), return_inverse=True)
    targets = np.full(width, -1, dtype=np.int64)
    targets[wanted] = np.arange(len(wanted))
    found = _read_lines(form.numbers(data), ends, targets, limbs, form.delimiter, comment)
    if found is None:
        return None
    real, rows, left = found
    cells = []
    for place in np.flatnonzero(left.any(axis=1)).tolist():
        row = rows[place]
        fields = one_row(data[ends[row - 1] + 1 if row else 0 : ends[row]].decode(), form) or []
        marked = np.flatnonzero(left[place][order]).tolist()
        cells += [(place, i, fields[columns[i]]) for i in marked]
    if columns != wanted.tolist():
        real = real[..., order]
    return Cells(real, rows + block.start, cells)


def _read_lines(
    data: bytes,
    ends: np.ndarray,
    targets: np.ndarray,
    limbs: int,
    delimiter: str | None,
    comment: str | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return the cells of the rows, the numbers of their lines, and which cells are left.

    None without kernels, or where a row has another width. Lines are read some at a time: before
    that nothing tells which of them are rows.
    """
    some = max(_CELLS // max(len(targets), 1), 1)
    parts, begin = [], 0
    for first in range(0, len(ends), some):
        last = ends[first : first + some]
        text = data if len(last) == len(ends) else data[begin : last[-1]]
        found = kernels.read_rows(text, last - begin, targets, limbs, delimiter, comment)
        if found is None or (found[1] == kernels.OTHER).any():
            return None
        real, status, left = found
        rows = np.flatnonzero(status == kernels.READ)
        if len(rows) < len(last):
            real, left = real[:, rows], left[rows]
        parts.append((real, rows + first, left))
        begin = int(last[-1]) + 1
    if len(parts) == 1:
        return parts[0]
    reals, lines, lefts = zip(*parts, strict=True)
    return np.concatenate(reals, axis=1), np.concatenate(lines), np.concatenate(lefts)


def _is_plain(data: bytes, form: Form) -> bool:
    """Return whether lines end at newlines and fields at delimiters, and the text is UTF-8."""
    if b'"' in data or (b"\r" in data and data.count(b"\r") != data.count(b"\r\n")):
        return False
    if data.isascii():
        return form.delimiter is None or form.delimiter.isascii()
    data.decode()
    return form.delimiter is not None and form.delimiter.isascii()
