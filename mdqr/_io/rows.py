"""Rows of fields of delimited text, some thousand at a time."""

from __future__ import annotations

import csv
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import NamedTuple

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


class Form:
    """How a file is laid out; see `loadtxt`.

    `hints` has what to say of fields that are no numbers, behind the reason.

    Raises
    ------
    ValueError, TypeError
        If an option is none.
    """

    def __init__(
        self,
        delimiter: str | None = ",",
        skiprows: int = 0,
        comments: str | None = None,
        missing: str | Sequence[str] | None = None,
        hints: Mapping[str, str] | None = None,
    ) -> None:
        if delimiter is not None and (
            not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '\r\n"'
        ):
            raise ValueError(
                f"delimiter must be one character between fields, or None; got {delimiter!r}"
            )
        if comments is not None and (not isinstance(comments, str) or not comments):
            raise ValueError(f"comments must be a text that begins them, or None; got {comments!r}")
        self.delimiter = delimiter
        self.skiprows = operator.index(skiprows)
        if self.skiprows < 0:
            raise ValueError(f"skiprows must not be negative; got {skiprows}")
        self.comments = comments
        texts = [missing] if isinstance(missing, str) else missing or ()
        self.missing = frozenset(text.strip() for text in texts)
        self.hints = hints or {}


def read_rows(
    stream: Iterable[str], name: str, form: Form, start: int, width: int | None
) -> Iterator[Rows]:
    """Yield the rows that are not empty, all as wide as the first one, or of `width` fields.

    `start` is the number of the first line of the stream.

    Raises
    ------
    CellError
        If a row has another width, or the text is no table.
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
    delimiter, comments = form.delimiter, form.comments
    for number, line in chunk:
        if '"' in line or "\r" in line[:-2] or len(line) > csv.field_size_limit():
            return None
        if comments is not None:
            line = line.partition(comments)[0]
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
            is_comment = form.comments is not None and line.lstrip().startswith(form.comments)
            if form.comments is not None and not is_comment:
                line = _before(form.comments, line)
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


def _before(comments: str, line: str) -> str:
    """Return what stands in front of a comment that begins outside of quotes."""
    parts = line.split('"')
    for i in range(0, len(parts), 2):
        head, mark, _ = parts[i].partition(comments)
        if mark:  # blanks between a quoted field and a comment are of neither
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
        )
