"""Rows as decimal numbers in delimited text."""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from mdqr._functions.filled import zeros
from mdqr._io import blocks
from mdqr._io.form import Advice, Form
from mdqr._io.layouts import MARKS, with_comments
from mdqr._io.loadtxt import Table, loadtxt, read_table
from mdqr._io.rows import one_row
from mdqr._precision import Precision
from mdqr.distributed._files.columns import column, within
from mdqr.distributed._rows import integer_from

_LAYOUT = ("delimiter", "missing", "decimal", "thousands", "comments", "encoding")
_OPTIONS = ("header", "dtype", *_LAYOUT)
_BYTES = 2**24
_NEWLINE, _RETURN, _MARK = 10, 13, "\ufeff"
# The longer ones first: one begins as another one does.
_ORDERS = {
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
_UNITS = {"utf-16-le": "<u2", "utf-16-be": ">u2", "utf-32-le": "<u4", "utf-32-be": ">u4"}


class Text:
    """Reads chunks of lines, which end with a newline, a carriage return, or both."""

    def __init__(
        self, path: Path, precision: Precision, b: Any, rows: int, options: dict[str, Any]
    ) -> None:
        self._path, self._precision = str(path), precision
        unknown = [name for name in options if name not in _OPTIONS]
        if unknown:
            raise TypeError(
                f"open_rows: a text file takes the options {', '.join(_OPTIONS)} of loadtxt, which "
                f"every chunk can have; got {', '.join(unknown)}"
            )
        rows = integer_from(1, rows, "open_rows: rows")
        encoding, mark = _encoding_of(self._path, options.get("encoding", "utf-8"))
        self._options = {name: x for name, x in options.items() if name != "header"}
        self._options["encoding"] = encoding
        head, comments = self._head(header=bool(options.get("header", False)))
        # Chunks behind the first one have nothing before their rows to look at.
        self._options["comments"] = comments
        self._width = len(head.labels)
        self._places = self._cut(head, mark, rows)
        self._b = self._columns(b, head.names)

    @property
    def _unit(self) -> np.dtype[Any]:
        return np.dtype(_UNITS.get(self._options["encoding"], "u1"))

    def _form(self) -> Form:
        return Form(**{name: self._options[name] for name in _LAYOUT if name in self._options})

    def _head(self, *, header: bool) -> tuple[Table, list[str]]:
        """Return the names of the columns and the first row, and the marks of comments."""
        lines: list[str] = []
        form, found = self._form(), 0
        marks = form.comments or (tuple(MARKS) if form.detects else ())
        with open(self._path, encoding=form.encoding, newline="", errors="replace") as file:
            for line in file:
                lines.append(line if lines else line.removeprefix(_MARK))
                text = lines[-1].strip()
                found += bool(text) and not (marks and text.startswith(marks))
                if found > header:
                    break
        comments = list(with_comments(blocks.of_lines(iter(lines), 0), form)[1].comments)
        return read_table(lines, 1, name=self._path, form=form, header=header), comments

    def _cut(self, head: Table, mark: int, rows: int) -> list[tuple[int, int, int]]:
        """Return the first byte of each chunk, the one behind it, and the number of its first line.

        Lines before the first row belong to none.
        """
        if not head.lines.size:
            return []
        skipped = int(head.lines[0]) - 1
        # Line k begins where k - 1 lines have ended.
        starts, known, end = [mark] if not skipped else [], 0, mark
        for ends in _ends(self._path, mark, self._unit):
            wanted = np.arange(skipped + len(starts) * rows, known + len(ends) + 1, rows)
            starts += ends[wanted - known - 1].tolist()
            known, end = known + len(ends), int(ends[-1])
        stops = [*starts[1:], end]
        places = enumerate(zip(starts, stops, strict=True))
        return [(i, j, skipped + 1 + k * rows) for k, (i, j) in places if i < j]

    def _columns(self, b: Any, names: tuple[str, ...]) -> Any:
        """Return the indices of the right-hand sides."""

        def place(x: Any) -> int:
            if not isinstance(x, str):
                return column(x)
            if not names:
                raise ValueError(
                    f"open_rows: b={x!r} is the name of a column, which needs header=True"
                )
            if names.count(x) != 1:
                what = "more than one" if x in names else "no"
                raise ValueError(f"open_rows: {self._path} has {what} column {x!r}: {[*names]}")
            return names.index(x)

        if b is None or isinstance(b, (int, str)):
            return None if b is None else place(b)
        return [place(x) for x in b]

    @property
    def count(self) -> int:
        """The number of chunks."""
        return len(self._places)

    def __call__(self, index: int) -> Any:
        """Return a chunk."""
        start, stop, first = self._places[index]
        with open(self._path, "rb") as file:
            file.seek(start)
            content = file.read(stop - start)
        if len(content) < stop - start:
            dtype = self._unit
            lines = len(_ends_in(np.frombuffer(content, dtype, len(content) // dtype.itemsize)))
            raise OSError(
                f"{self._path} has been cut off since it was opened: it ends before line "
                f"{first + lines}"
            )
        x = self._numbers(content, first)
        if self._b is None:
            return x
        n, is_vector = x.shape[1], isinstance(self._b, int)
        sides = [within(k, n, self._path) for k in ([self._b] if is_vector else self._b)]
        others = [j for j in range(n) if j not in sides]
        return x[:, others], x[:, sides[0]] if is_vector else x[:, sides]

    def _numbers(self, content: bytes, first: int) -> Any:
        """Return the numbers of some lines, of which the first has a number in the file."""
        text = io.BytesIO(content)
        text.name = self._path
        try:
            if not self._has_rows(content):
                return zeros((0, self._width), precision=self._precision)
            x = loadtxt(text, precision=self._precision, **self._options)
        except ValueError as error:
            raise ValueError(self._placed(str(error), first)) from None
        if x.shape[1] != self._width:
            raise ValueError(
                f"{self._path}, lines from {first} on: the rows have {x.shape[1]} fields, the "
                f"first row of the file has {self._width}"
            )
        return x

    def _has_rows(self, content: bytes) -> bool:
        """Return True if some line is neither empty nor a comment."""
        form = self._form()
        text = io.TextIOWrapper(io.BytesIO(content), form.encoding, "replace", newline="")
        return any(one_row(line, form) != [] for line in text)

    def _placed(self, message: str, first: int) -> str:
        """Return a message about lines of a chunk as one about lines of its file."""
        if first > 1:
            advice = f"; if the first line names the columns, {Advice().header}"
            message = message.removesuffix(advice)
        found = re.match(rf"{re.escape(self._path)}, line (\d+)", message)
        if found is None:
            text = message.removeprefix(f"{self._path}: ")
            return f"{self._path}, lines from {first} on: {text}"
        return f"{self._path}, line {int(found[1]) + first - 1}{message[found.end() :]}"


def _encoding_of(path: str, encoding: str) -> tuple[str, int]:
    """Return an encoding, with the order of bytes in its name, and the bytes of their mark.

    Raises
    ------
    ValueError
        If the file begins as another encoding does, or lines do not end as in ASCII.
    LookupError
        If the encoding is unknown.
    """
    name = codecs.lookup(encoding).name
    with open(path, "rb") as file:
        start = file.read(4)
    mark = next((mark for mark in _ORDERS if start.startswith(mark)), b"")
    order = _ORDERS.get(mark, "")
    if name in ("utf-8", "utf-8-sig"):
        if order not in ("", "utf-8") or b"\0" in start:
            known = order.rpartition("-")[0] or ("utf-16-be" if start[:1] == b"\0" else "utf-16-le")
            what = "a byte order mark" if order else "bytes of zero"
            raise ValueError(
                f"open_rows: {path} begins with {what}, as text in {known.upper()} does: "
                f"encoding={known!r}"
            )
        return "utf-8", len(mark)
    if name in ("utf-16", "utf-32"):
        # As Python's decoders do, without a mark.
        return (order, len(mark)) if order.startswith(name) else (f"{name}-le", 0)
    if name not in _UNITS and "\r\n0".encode(name) != b"\r\n0":
        raise ValueError(
            f"open_rows: lines of encoding={encoding!r} do not end as those of ASCII or of UTF-16 "
            "do: write the file as UTF-8"
        )
    return name, len(mark) if order == name else 0


def _ends_in(values: np.ndarray) -> np.ndarray:
    """Return the places behind the ends of lines."""
    is_end = values == _NEWLINE
    returns = values == _RETURN
    if returns.any():
        is_end |= returns & ~np.append(is_end[1:], False)
    return np.flatnonzero(is_end) + 1


def _ends(path: str, mark: int, dtype: np.dtype[Any]) -> Iterator[np.ndarray]:
    """Yield the bytes behind lines, also behind a last one that has no end, in order."""
    last, carriage_return = mark, np.array(_RETURN, dtype).tobytes()
    with open(path, "rb") as file:
        position = file.seek(mark)
        while block := file.read(_BYTES):
            # The next block must not begin between a return and its newline.
            while block[-dtype.itemsize :] == carriage_return and (
                more := file.read(dtype.itemsize)
            ):
                block += more
            values = np.frombuffer(block, dtype, len(block) // dtype.itemsize)
            ends = _ends_in(values) * dtype.itemsize + position
            position += len(block)
            if ends.size:
                last = int(ends[-1])
                yield ends
    if last < position:
        yield np.array([position])
