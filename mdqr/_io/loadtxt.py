"""Reading numbers from delimited text, exactly."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import IO, TYPE_CHECKING, NamedTuple

import numpy as np

from mdqr._convert.strings import TextError, strings_to_block
from mdqr._core.base import ArrayBase
from mdqr._errors import shortened
from mdqr._functions.creation import array
from mdqr._io.rows import CellError, Form, Rows, read_rows
from mdqr._precision import Precision, as_precision

if TYPE_CHECKING:
    from mdqr._array.array import MDArray

Columns = str | int | Sequence[str | int]
Source = str | os.PathLike[str] | IO[str]
Progress = Callable[[str, int, int | None], object]

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
    precision: Precision | str,
    delimiter: str | None = ",",
    header: bool = False,
    skiprows: int = 0,
    comments: str | None = None,
    missing: str | Sequence[str] | None = None,
    usecols: Columns | None = None,
    dtype: type | None = None,
    device: str | None = None,
) -> MDArray:
    r"""Read an array from delimited text; every number is rounded once, never through float64.

    Parameters
    ----------
    file : str, path or text file
        A file in the manner of RFC 4180: one row a line, fields may be quoted. UTF-8, with or
        without a byte order mark. Empty lines are skipped.
    precision : Precision or str
        The precision of the result.
    delimiter : str, default: ","
        The character between fields; None: any whitespace.
    header : bool, default: False
        Whether the first line names the columns.
    skiprows : int, default: 0
        How many lines at the beginning are left out, before the header.
    comments : str, optional
        What begins a comment, such as ``"#"``, which ends with its line.
    missing : str or sequence of str, optional
        Fields that hold no number, such as ``["", "NA"]``; they are read as NaN.
    usecols : str, int or sequence of them, optional
        The columns wanted, by name (which needs ``header=True``) or by index, from 0; negative
        ones count from the end. The others may hold anything. By default all.
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
        If a cell is no number, a row is shorter or longer than the first, or the text is not
        UTF-8; the message names file, line and column (from 1). If a column is not there.
    TypeError
        If a number is complex and ``dtype`` is float.
    OSError
        If the file cannot be read.
    MemoryError
        If there is no memory for the numbers.

    Notes
    -----
    A number is what `mdqr.array` takes as a string. The error of each is at most half a unit in
    the last place of its last limb.

    Examples
    --------
    >>> import io, mdqr
    >>> text = io.StringIO("x,y\n0.1,2\n0.25,3e-5\n")
    >>> mdqr.loadtxt(text, precision=mdqr.qd, header=True, usecols="y")
    mdqr.array(['2.0', '3e-05'], precision=mdqr.qd)
    """
    target = as_precision(precision)
    form = Form(delimiter, skiprows, comments, missing)
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
    form: Form | None = None,
    header: bool = False,
    usecols: Columns | Callable[[tuple[str, ...]], Columns] | None = None,
    names_without_header: str | None = None,
    hint: str = "pass header=True",
    callback: Progress | None = None,
) -> Table:
    """Read columns of a file as limbs; `loadtxt` describes the parameters.

    `usecols` may be a function of the names of all columns. Without a header they are called
    `names_without_header` and their index, if it is given, and `hint` says how to ask for one.
    `callback` is called as ``callback("reading", rows, None)`` after each few thousand rows.
    """
    name = _name_of(file)
    lines: list[int] = []
    form = form or Form()
    with _opened(file) as stream, _readable(name, lines, limbs):
        chunks = read_rows(stream, name, form)
        first = next(chunks, None)
        if first is None:
            raise CellError(f"{name}: the file is empty")
        width = first.width
        names = tuple(cell.strip() for cell in first.fields[:width]) if header else ()
        if names_without_header is not None and not header:
            names = tuple(f"{names_without_header}{column}" for column in range(width))
        if callable(usecols):
            usecols = usecols(names)
        columns = _places(usecols, names, width, name, first.lines[0])
        labels = [_label(names, column) for column in columns]
        end = "" if header else f"; if the first line names the columns, {hint}"
        pieces: list[tuple[np.ndarray, np.ndarray | None]] = []
        for chunk in chain([first.behind(1) if header else first], chunks):
            if not chunk.lines:
                continue
            pieces.append(_convert(chunk, columns, labels, limbs, name, end, form.missing))
            lines += chunk.lines
            if callback is not None:
                callback("reading", len(lines), None)
        real, imag = _joined(pieces, limbs, len(columns))
    picked = tuple(names[column] for column in columns) if names else ()
    return Table(tuple(labels), picked, np.array(lines, dtype=np.int64), real, imag)


def _name_of(file: Source) -> str:
    if isinstance(file, (str, os.PathLike)):
        return os.fspath(file)
    return str(getattr(file, "name", "<text>"))


@contextmanager
def _opened(file: Source) -> Iterator[Iterable[str]]:
    if isinstance(file, (str, os.PathLike)):
        with open(file, encoding="utf-8-sig", newline="") as stream:
            yield stream
    else:
        yield file


@contextmanager
def _readable(name: str, lines: list[int], limbs: int) -> Iterator[None]:
    """Say what cannot be read; `lines` grows by the rows that are read."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise CellError(f"{name}: the file is not UTF-8 text ({error.reason})") from None
    except MemoryError:
        raise MemoryError(
            f"{name}: no memory after {len(lines)} rows of numbers of {limbs} limbs; "
            "read fewer columns or take a lower precision"
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
            raise ValueError(f"column {wanted!r} is asked for by name, which needs header=True")
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


def _convert(
    chunk: Rows,
    columns: list[int],
    labels: list[str],
    limbs: int,
    name: str,
    end: str,
    missing: frozenset[str],
) -> tuple[np.ndarray, np.ndarray | None]:
    """Round the cells of some rows to planes ``(N, rows, columns)``.

    `end` is what is added to the message of a cell in the first line.
    """
    texts = chunk.fields
    if columns != list(range(chunk.width)):
        parts = [texts[column :: chunk.width] for column in columns]
        texts = [text for row in zip(*parts, strict=True) for text in row]
    if missing:
        texts = ["nan" if text.strip() in missing else text for text in texts]
    try:
        real, imag = strings_to_block(texts, limbs)
    except TextError as error:
        row, place = divmod(error.index, len(columns))
        line, text = chunk.lines[row], texts[error.index]
        reason = str(error) if text.strip() else "the cell is empty; wanted a number"
        raise CellError(
            f"{name}, line {line}, {labels[place]}: {reason}{end if line == 1 else ''}"
        ) from None
    shape = (limbs, len(chunk.lines), len(columns))
    return real.reshape(shape), None if imag is None else imag.reshape(shape)


def _joined(
    pieces: list[tuple[np.ndarray, np.ndarray | None]], limbs: int, columns: int
) -> tuple[np.ndarray, np.ndarray | None]:
    if not pieces:
        return np.zeros((limbs, 0, columns)), None
    real = np.concatenate([piece for piece, _ in pieces], axis=1)
    if all(part is None for _, part in pieces):
        return real, None
    imaginary = [np.zeros_like(piece) if part is None else part for piece, part in pieces]
    return real, np.concatenate(imaginary, axis=1)
