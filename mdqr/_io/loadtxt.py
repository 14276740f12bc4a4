"""Reading numbers from delimited text, exactly."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mdqr._convert.strings import TextError, strings_to_block
from mdqr._core.base import ArrayBase
from mdqr._errors import shortened, shown
from mdqr._functions.creation import array
from mdqr._io.blocks import Block, Cells, Source, behind, first_row, plain_cells
from mdqr._io.form import Form
from mdqr._io.layouts import cut, names_of, with_comments
from mdqr._io.opened import opened
from mdqr._io.rows import CellError, Rows, read_rows
from mdqr._precision import as_precision
from mdqr._progress import Reporter
from mdqr._typing import PrecisionLike

if TYPE_CHECKING:
    from mdqr._array.array import MDArray

Columns = str | int | Sequence[str | int]


_NAMES = 20  # names that a message lists


class Table(NamedTuple):
    """Columns of a file, as planes ``(N, rows, columns)``, and where they stand in it."""

    labels: tuple[str, ...]  # "column 2 (gnp)"
    names: tuple[str, ...]  # empty without a header
    lines: np.ndarray
    real: np.ndarray
    imag: np.ndarray | None


def loadtxt(
    file: Source,
    *,
    precision: PrecisionLike,
    delimiter: str | None = ",",
    header: bool = False,
    skiprows: int = 0,
    comments: str | Sequence[str] | None = None,
    missing: str | Sequence[str] | None = None,
    usecols: Columns | None = None,
    max_rows: int | None = None,
    decimal: str = ".",
    thousands: str | None = None,
    widths: Sequence[int] | None = None,
    encoding: str = "utf-8",
    dtype: type | None = None,
    device: str | None = None,
) -> MDArray:
    r"""Read an array from delimited text; every number is rounded once, never through float64.

    Parameters
    ----------
    file : str, path, file or iterable of lines
        A file in the manner of RFC 4180: one row a line, fields may be quoted. Empty lines are
        skipped. A name that ends in ``.gz``, ``.bz2`` or ``.xz`` denotes a compressed file.
    precision : Precision or str
        The precision of the result.
    delimiter : str, default: ","
        The character between fields; None: any whitespace.
    header : bool, default: False
        Whether the first line names the columns. If that line has numbers, and the comment before
        it as many fields, the comment names them.
    skiprows : int, default: 0
        Number of lines to skip at the beginning, before the header.
    comments : str or sequence of str, optional
        Start of a comment outside of quotes, such as ``"#"`` or ``["!", "#"]``; it ends with its
        line. By default the first of ``#``, ``%`` and ``!`` that begins a line before the first
        row; ``[]`` for none.
    missing : str or sequence of str, optional
        Fields that hold no number, such as ``["", "NA"]``; they are read as NaN.
    usecols : str, int or sequence of them, optional
        The columns to read, by name (which needs ``header=True``) or by index, from 0; negative
        ones count from the end. The others may hold anything. By default all.
    max_rows : int, optional
        How many rows are taken, the header not counted. A stream is read beyond them, in blocks, so
        that it cannot be read on.
    decimal : {".", ","}, default: "."
        The character before the fraction of a number. With ``","`` a point makes it no number: it
        may separate thousands.
    thousands : str, optional
        The character between groups of three digits before the fraction, such as ``","``. Numbers
        may have it or not.
    widths : sequence of int, optional
        The number of characters of each field, for files without delimiters.
    encoding : str, default: "utf-8"
        How a file of bytes holds text; UTF-8 may begin with a byte order mark.
    dtype : {None, float, complex}, optional
        None: complex if any number is.
    device : str, optional
        Where the result lives: "cpu" (default), "cuda" or "cuda:k".

    Returns
    -------
    MDArray
        Shape ``(rows, columns)``; ``(rows,)`` if `usecols` is one name or index.

    Raises
    ------
    ValueError
        If a cell is not a number, a row is shorter or longer than the first, or the text is not
        of the encoding; the message names file, line and column (from 1). If a column is not there,
        an option is none, or a compressed file is damaged or has more than 64 MiB and a hundred
        times its size.
    LookupError
        If the encoding does not exist.
    TypeError
        If a number is complex and ``dtype`` is float, or `file` gives no lines.
    OSError
        If the file cannot be read.
    MemoryError
        If memory for the numbers cannot be allocated.

    Notes
    -----
    A number is what `mdqr.array` takes as a string, but without underscores; ``D`` may replace the
    ``E`` of an exponent, as Fortran writes it. The error of each is at most half a unit in the last
    place of its last limb.

    Examples
    --------
    >>> import io, mdqr
    >>> text = io.StringIO("x,y\n0.1,2\n0.25,3e-5\n")
    >>> mdqr.loadtxt(text, precision=mdqr.qd, header=True, usecols="y")
    mdqr.array(['2.0', '3e-05'], precision=mdqr.qd)
    """
    target = as_precision(precision)
    form = Form(
        *(delimiter, skiprows, comments, missing),
        decimal=decimal,
        thousands=thousands,
        widths=widths,
        max_rows=max_rows,
        encoding=encoding,
    )
    table = read_table(file, target.limbs, form=form, header=header, usecols=usecols)
    block = table.real if table.imag is None else np.stack([table.real, table.imag])
    if isinstance(usecols, (str, int, np.integer)):
        block = block[..., 0]
    result = ArrayBase._wrap(block, target, table.imag is not None)
    if dtype is None and device is None:
        return result
    return array(result, precision=target, dtype=dtype, device=device)


loadtxt.__module__ = "mdqr"


def read_table(
    file: Source,
    limbs: int,
    *,
    name: str | None = None,
    form: Form | None = None,
    header: bool = False,
    usecols: Columns | Callable[[tuple[str, ...]], Columns] | None = None,
    names_without_header: str | None = None,
    report: Reporter | None = None,
) -> Table:
    """Read columns of a file as limbs; `loadtxt` describes the parameters.

    `name` stands for the file in messages. `usecols` may be a function of the names of all
    columns. Without a header they are called `names_without_header` and their index, if it is
    given.
    `report` is called as ``report("reading", rows, None)`` after each few thousand rows.
    """
    name = name or name_of(file)
    form = form or Form()
    reading = _Reading(name, limbs, form, report)
    with _readable(reading, form), opened(file, form) as blocks:
        head = reading.head(blocks, header)
        if head is None:
            raise CellError(f"{name}: the file is empty" + reading.if_empty)
        line, fields = head
        width = len(fields)
        names = tuple(cell.strip() for cell in fields) if header else ()
        if names_without_header is not None and not header:
            names = tuple(f"{names_without_header}{column}" for column in range(width))
        if callable(usecols):
            usecols = usecols(names)
        columns = _places(usecols, names, width, name, line)
        labels = [_label(names, column) for column in columns]
        end = "" if header else f"; if the first line names the columns, {form.advice.header}"
        reading.read(columns, width, labels, end)
        real, imag, lines = reading.joined(len(columns))
    picked = tuple(names[column] for column in columns) if names else ()
    return Table(tuple(labels), picked, lines, real, imag)


def name_of(file: Source) -> str:
    """Return the name of a file in messages."""
    if isinstance(file, (str, os.PathLike)):
        return os.fspath(file)
    return str(getattr(file, "name", "<text>"))


@contextmanager
def _readable(reading: _Reading, form: Form) -> Iterator[None]:
    """Say what cannot be read."""
    try:
        yield
    except UnicodeError as error:
        raise CellError(
            f"{reading.name}: the file is not {form.encoding.upper()} text "
            f"({getattr(error, 'reason', error)}); give what it is, such as {form.advice.encoding}"
        ) from None
    except MemoryError:
        raise MemoryError(
            f"{reading.name}: no memory after {reading.rows} rows of numbers of {reading.limbs} "
            "limbs; read fewer columns or take a lower precision"
        ) from None


def _label(names: tuple[str, ...], column: int) -> str:
    return f"column {column + 1} ({shortened(names[column])})" if names else f"column {column + 1}"


def listed(names: Sequence[str]) -> str:
    """Return names for a message, the first of many."""
    return ", ".join([*map(shortened, names[:_NAMES]), *["..."] * (len(names) > _NAMES)])


def _places(
    usecols: Columns | None, names: tuple[str, ...], width: int, name: str, line: int
) -> list[int]:
    """Return the indices of the columns wanted; the names stand in `line`."""
    if usecols is None:
        return list(range(width))
    if isinstance(usecols, (str, int, np.integer)):
        usecols = [usecols]
    return [_place(wanted, names, width, name, line) for wanted in usecols]


def _place(wanted: str | int, names: tuple[str, ...], width: int, name: str, line: int) -> int:
    if isinstance(wanted, str):
        if not names:
            raise ValueError(
                f"column {shown(wanted)} is asked for by name, which needs header=True"
            )
        if names.count(wanted) == 1:
            return names.index(wanted)
        what = "no column" if wanted not in names else "more than one column"
        raise CellError(
            f"{name}, line {line}: {what} is called {shortened(wanted)!r}; "
            f"there are {listed(names)}"
        )
    column = operator.index(wanted)
    if not -width <= column < width:
        raise ValueError(f"{name}: there is no column {column}; there are {width}, from 0")
    return column % width


class _Reading:
    """The pieces of a table that grows, block by block."""

    def __init__(self, name: str, limbs: int, form: Form, report: Reporter | None) -> None:
        self.name, self.limbs, self.rows = name, limbs, 0
        self._form, self._report = form, report
        self._pieces: list[tuple[np.ndarray, np.ndarray | None]] = []
        self._lines: list[np.ndarray] = []
        self._blocks: Iterator[Block] = iter(())
        self._rows: Iterator[Rows] = iter(())

    def head(self, blocks: Iterator[Block], header: bool) -> tuple[int, list[str]] | None:
        """Return the line and the fields of the first row, None if there is none.

        It is read once more with the others, unless it is the header.
        """
        blocks, self._form, comment = with_comments(blocks, self._form)
        blocks = cut(blocks, self._form, self.name)
        for block in blocks:
            found = first_row(block, self._form)
            if found is None:
                self._rows = self._slowly(chain([block], blocks), None)
                first = next(self._rows, None)
                if first is None:
                    return None
                line, fields = first.lines[0], first.fields[: first.width]
                names = names_of(comment, fields, self._form) if header and comment else None
                skipped = header and names is None
                self._rows = chain([first.behind(1) if skipped else first], self._rows)
            else:
                line, fields, end = found
                if not line:
                    continue
                names = names_of(comment, fields, self._form) if header and comment else None
                skipped = header and names is None
                self._blocks = chain([behind(block, line, end) if skipped else block], blocks)
            return (line, fields) if names is None or comment is None else (comment.line, names)
        return None

    @property
    def if_empty(self) -> str:
        """The end of the message for a file without rows."""
        if not self._form.detects or not self._form.comments:
            return ""
        mark = self._form.comments[0]
        return (
            f" except for comments that begin with {mark!r}; "
            f"give another {self._form.advice.comments} if these are rows"
        )

    def _slowly(self, blocks: Iterator[Block], width: int | None) -> Iterator[Rows]:
        """Return the rows of all blocks, line by line."""
        first = next(blocks, None)
        if first is None:
            return iter(())
        lines = chain.from_iterable(block.lines() for block in chain([first], blocks))
        return read_rows(lines, self.name, self._form, first.start, width)

    def read(self, columns: list[int], width: int, labels: list[str], end: str) -> None:
        """Read what is left; `end` is added to the message of a cell in the first line."""

        def rounded(
            texts: Sequence[str], place: Callable[[int], tuple[int, int]]
        ) -> tuple[np.ndarray, np.ndarray | None]:
            return self._rounded(texts, place, labels, end)

        for block in self._blocks:
            if self.left == 0:
                break
            cells = plain_cells(block, self._form, width, columns, self.limbs)
            if cells is None:
                self._rows = self._slowly(chain([block], self._blocks), width)
                break
            cells = cells.first(self.left)
            self._add(cells.lines, *_filled(cells, rounded))
        while self.left != 0 and (following := next(self._rows, None)) is not None:
            chunk = following.first(self.left)
            if chunk.lines:
                texts = chunk.fields
                if columns != list(range(width)):
                    parts = [texts[column::width] for column in columns]
                    texts = [text for row in zip(*parts, strict=True) for text in row]

                def place(i: int, lines: list[int] = chunk.lines) -> tuple[int, int]:
                    row, column = divmod(i, len(columns))
                    return lines[row], column

                shape = (self.limbs, len(chunk.lines), len(columns))
                real, imag = rounded(texts, place)
                imag = None if imag is None else imag.reshape(shape)
                self._add(np.array(chunk.lines), real.reshape(shape), imag)

    @property
    def left(self) -> int | None:
        """The number of rows that may follow, None for all."""
        most = self._form.max_rows
        return None if most is None else most - self.rows

    def _add(self, lines: np.ndarray, real: np.ndarray, imag: np.ndarray | None) -> None:
        self._lines.append(lines)
        self._pieces.append((real, imag))
        self.rows += len(lines)
        if self._report is not None:
            self._report("reading", self.rows, None)

    def _rounded(
        self,
        texts: Sequence[str],
        place: Callable[[int], tuple[int, int]],
        labels: list[str],
        end: str,
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Round cells to planes ``(N, count)``; `place` gives the line and the column of one."""
        form = self._form
        numbers = ["nan" if t.strip() in form.missing else form.number(t) for t in texts]
        try:
            return strings_to_block(numbers, self.limbs)
        except TextError as error:
            line, column = place(error.index)
            text = texts[error.index].strip()
            reason = str(TextError(text)) if text else "the cell is empty; wanted a number"
            hint = form.hints.get(text, "") or form.hint(text) or (end if line == 1 else "")
            raise CellError(f"{self.name}, line {line}, {labels[column]}: {reason}{hint}") from None

    def joined(self, columns: int) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
        """Return the planes of all rows, and their lines."""
        lines = np.concatenate([np.zeros(0, dtype=np.int64), *self._lines])
        if not self._pieces:
            return np.zeros((self.limbs, 0, columns)), None, lines
        real = np.concatenate([piece for piece, _ in self._pieces], axis=1)
        if all(part is None for _, part in self._pieces):
            return real, None, lines
        imaginary = [np.zeros_like(p) if part is None else part for p, part in self._pieces]
        return real, np.concatenate(imaginary, axis=1), lines


def _filled(cells: Cells, rounded: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the planes of a block, with the cells that were left."""
    if not cells.left:
        return cells.real, None
    rows, columns, texts = zip(*cells.left, strict=True)
    real, imag = rounded(texts, lambda i: (int(cells.lines[rows[i]]), columns[i]))
    cells.real[:, rows, columns] = real
    if imag is None:
        return cells.real, None
    whole = np.zeros_like(cells.real)
    whole[:, rows, columns] = imag
    return cells.real, whole
