"""Columns of a file, with what rounding to limbs left of their decimals."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import IO, NamedTuple

import numpy as np

from mdqr._array.array import MDArray
from mdqr._io.form import Advice, Form
from mdqr._io.loadtxt import Table, read_table
from mdqr._io.rows import CellError
from mdqr._limbs.planes import narrow
from mdqr._precision import Precision
from mdqr._progress import Reporter

STDIN = "-"
_ADVICE = "--drop-missing leaves such rows out"
MISSING = ("", ".", "NA", "N/A", "NaN", "nan", "null")


@dataclass(frozen=True)
class Layout:
    """The layout of a file; without `header` the columns are c0, c1, ..."""

    header: bool | None = None
    delimiter: str | None = ","
    skiprows: int = 0
    comments: Sequence[str] = ()
    drop_missing: bool = False
    decimal: str = "."
    encoding: str = "utf-8"
    thousands: str | None = None
    widths: Sequence[int] | None = None
    max_rows: int | None = None

    @property
    def form(self) -> Form:
        """The same for the reader."""
        missing = MISSING if self.drop_missing else None
        hints = dict.fromkeys(MISSING, f"; {_ADVICE}")
        return Form(
            *(self.delimiter, self.skiprows, self.comments or None, missing, hints),
            decimal=self.decimal,
            thousands=self.thousands,
            widths=self.widths,
            max_rows=self.max_rows,
            encoding=self.encoding,
            advice=Advice(
                "leave out --no-header",
                "--decimal ,",
                "--thousands ",
                "--comments ",
                "--encoding latin-1 or utf-16",
                "--delimiter ",
                "--delimiter blanks",
            ),
        )


class Values(NamedTuple):
    """Numbers of a column, real and one-dimensional, and bounds of their errors."""

    value: MDArray
    error: np.ndarray


@dataclass
class Columns:
    """Columns by name, and the lines in which their rows stand."""

    precision: Precision
    values: dict[str, Values]
    lines: np.ndarray
    dropped: int = 0
    labels: dict[str, str] = field(default_factory=dict)


def read_columns(
    file: str,
    precision: Precision,
    layout: Layout,
    choose: Callable[[tuple[str, ...]], Sequence[str]],
    report: Reporter,
) -> Columns:
    """Read the columns that `choose` picks from the names of all, each once.

    Raises
    ------
    CellError
        If a cell cannot be used; the message names file, line and column.
    ValueError, OSError
        If the columns are not there, or the file cannot be read.
    """
    name = name_of(file)
    table = read_table(
        _standard_input() if file == STDIN else file,
        # one limb more than the precision holds tells which numbers were rounded
        precision.limbs + 1,
        name=name,
        form=layout.form,
        header=layout.header is not False,
        usecols=lambda names: list(dict.fromkeys(choose(names))),
        names_without_header="c",
        report=report,
    )
    table, dropped = _without_missing(table) if layout.drop_missing else (table, 0)
    _check_values(name, table)
    values = {column: _split(table.real[..., i], precision) for i, column in enumerate(table.names)}
    labels = dict(zip(table.names, table.labels, strict=True))
    return Columns(precision, values, table.lines, dropped, labels)


def name_of(file: str) -> str:
    """Return what messages call a file."""
    return "standard input" if file == STDIN else file


def _standard_input() -> IO[str] | IO[bytes]:
    """Return the standard input, of bytes where it has some."""
    return getattr(sys.stdin, "buffer", sys.stdin)


def _without_missing(table: Table) -> tuple[Table, int]:
    """Leave out the rows that have a field without a number."""
    kept = ~np.isnan(table.real[0]).any(axis=1)
    imag = None if table.imag is None else table.imag[:, kept]
    some = table._replace(lines=table.lines[kept], real=table.real[:, kept], imag=imag)
    return some, int(np.count_nonzero(~kept))


def _check_values(file: str, table: Table) -> None:
    """Raise at the first cell that is complex or not finite."""
    if table.imag is not None:
        refuse(file, table, table.imag[0] != 0, "a complex number; wanted a real one")
        raise CellError(f"{file}: there are complex numbers; wanted are real ones")
    refuse(file, table, np.isnan(table.real[0]), f"not a finite number; {_ADVICE}")
    refuse(file, table, ~np.isfinite(table.real[0]), "not a finite number")


def refuse(file: str, table: Table, bad: np.ndarray, reason: str) -> None:
    """Raise at the first bad cell ``(rows, columns)``, if it exists."""
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise CellError(f"{file}, line {table.lines[row]}, {table.labels[column]}: {reason}")


def _split(planes: np.ndarray, precision: Precision) -> Values:
    """Return values rounded to the precision, and bounds of what that left."""
    limbs = precision.limbs
    kept = narrow(planes, False, limbs)
    half_ulp = np.abs(kept[0]) * 2.0 ** (-53 * limbs) + 2.0**-1074
    value = MDArray._wrap(np.ascontiguousarray(kept), precision, False)
    return Values(value, np.where(planes[limbs] == 0, 0.0, half_ulp))
