"""Rows of fields of delimited text, some thousand at a time."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import NamedTuple

from mdqr._io.form import Form

_ROWS = 4096  # rows read at a time: text of a number takes several times its limbs


class CellError(ValueError):
    """A place in a file that cannot be used; the message begins with file, line and column."""


class Rows(NamedTuple):
    """Some rows: the numbers of their lines, and their fields one after another."""

    lines: list[int]
    fields: list[str]
    width: int

    def behind(self, rows: int) -> Rows:
        """Return the rows behind the first ones."""
        return Rows(self.lines[rows:], self.fields[rows * self.width :], self.width)

    def first(self, count: int | None) -> Rows:
        """Return the first rows, all for None."""
        if count is None:
            return self
        return Rows(self.lines[:count], self.fields[: count * self.width], self.width)


def read_rows(
    stream: Iterable[str], name: str, form: Form, start: int, width: int | None
) -> Iterator[Rows]:
    """Yield the rows that are not empty, all as wide as the first one, or of `width` fields.

    `start` is the number of the first line of the stream.

    Raises
    ------
    CellError
        If a row has another width, or the text is not a table.
    """
    lines = enumerate(stream, start)
    while chunk := list(islice(lines, _ROWS)):
        rows: Iterable[Row] | None = _plain(chunk, form)
        if rows is None:
            # A quoted field may go on behind the chunk, so that the rest is read in one.
            rows = _quoted(chain(chunk, lines), name, form)
        remaining = iter(rows)
        while some := list(islice(remaining, _ROWS)):
            width = width or len(some[0][1])
            yield from _checked(some, width, name)


Row = tuple[int, list[str]]


def one_row(line: str, form: Form) -> list[str] | None:
    """Return the fields of one line, none if it is empty; None if it takes more than the line."""
    rows = _plain([(1, line)], form)
    try:
        rows = list(_quoted([(1, line)], "", form)) if rows is None else rows
    except CellError:
        return None
    if len(rows) > 1 or "\r" in line.rstrip("\r\n"):
        return None
    return rows[0][1] if rows else []


def _plain(chunk: Iterable[tuple[int, str]], form: Form) -> list[Row] | None:
    """Return the rows of lines without quotes; None if there are any."""
    rows = []
    delimiter, has_comments = form.delimiter, bool(form.comments)
    for number, line in chunk:
        if '"' in line or "\r" in line[:-2] or len(line) > csv.field_size_limit():
            return None
        if has_comments:
            line = form.before_comment(line)
        cells = line.rstrip("\r\n").split(delimiter)
        if len(cells) > 1 or (cells and cells[0].strip()):
            rows.append((number, cells))
    return rows


def _quoted(lines: Iterable[tuple[int, str]], name: str, form: Form) -> Iterator[Row]:
    """Yield the rows of lines in the manner of RFC 4180, with the number of their last line."""
    place = 0
    blanks = form.delimiter is None

    def texts() -> Iterator[str]:
        nonlocal place
        for number, line in lines:
            place = number
            is_comment = form.is_comment(line)
            if form.comments and not is_comment:
                line = _before(form, line)
            yield "\n" if is_comment else line.replace("\t", " ") if blanks else line

    reader = csv.reader(
        texts(), delimiter=form.delimiter or " ", skipinitialspace=blanks, strict=True
    )
    try:
        for cells in reader:
            if blanks and cells and not cells[-1]:
                cells.pop()
            if len(cells) > 1 or any(map(str.strip, cells)):
                yield place, cells
    except csv.Error as error:
        raise CellError(f"{name}, line {place}: {error}") from None


def _before(form: Form, line: str) -> str:
    """Return what stands in front of a comment that begins outside of quotes."""
    parts = line.split('"')
    for i in range(0, len(parts), 2):
        head = form.before_comment(parts[i])
        if len(head) < len(parts[i]):  # blanks between a quoted field and a comment are of neither
            return '"'.join([*parts[:i], head if head.strip(" ") else ""])
    return line


def _checked(rows: list[Row], width: int, name: str) -> Iterator[Rows]:
    """Yield the rows up to the first one of another width, and raise for that one."""
    bad = next((i for i, (_, cells) in enumerate(rows) if len(cells) != width), len(rows))
    if bad:
        fields = list(chain.from_iterable(cells for _, cells in rows[:bad]))
        yield Rows([line for line, _ in rows[:bad]], fields, width)
    if bad < len(rows):
        line, cells = rows[bad]
        raise CellError(
            f"{name}, line {line}, column {min(len(cells), width) + 1}: "
            f"the row has {len(cells)} fields, the first row has {width}"
            + ("; it ends with a delimiter" if len(cells) == width + 1 and not cells[-1] else "")
        )
