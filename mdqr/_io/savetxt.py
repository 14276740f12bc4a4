"""Writing numbers as delimited text that reads back."""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from typing import IO, Any

from mdqr._core.base import ArrayBase
from mdqr._io.form import Form
from mdqr._io.layouts import MARKS
from mdqr._io.opened import opener

Target = str | os.PathLike[str] | IO[str]


def savetxt(
    file: Target,
    a: Any,
    /,
    *,
    delimiter: str = ",",
    names: Sequence[str] | None = None,
    digits: int | None = None,
) -> None:
    r"""Write an array of at most two axes as delimited text.

    Parameters
    ----------
    file : str, path or text file
        Where to write, UTF-8, compressed where the name ends in .gz, .bz2 or .xz.
    a : MDArray
        A matrix, a row a line; a vector is a column.
    delimiter : str, default: ","
        The character between fields.
    names : sequence of str, optional
        The names of the columns, for the first line.
    digits : int, optional
        Significant digits; by default the fewest that read back to the same limbs.

    Raises
    ------
    TypeError
        If `a` is not an `MDArray`.
    ValueError
        If the array has more than two axes, another number of names than of columns, or `delimiter`
        or `digits` is none.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> import io, mdqr
    >>> file = io.StringIO()
    >>> mdqr.savetxt(file, mdqr.array([["0.1", "2"]], precision=mdqr.qd), names=["x", "y"])
    >>> file.getvalue()
    'x,y\n0.1,2.0\n'
    """
    if not isinstance(a, ArrayBase):
        raise TypeError(f"mdqr.savetxt writes an MDArray; got {type(a).__name__}")
    if a.ndim > 2:
        raise ValueError(f"savetxt writes at most two axes; got shape {a.shape}")
    rows = a if a.ndim == 2 else a.reshape(-1, 1)
    if isinstance(names, str) or (names is not None and len(names) != rows.shape[1]):
        raise ValueError(f"{rows.shape[1]} names are wanted for as many columns; got {names!r}")
    if delimiter is None:
        raise ValueError("delimiter must be one character between fields; got None")
    Form(delimiter)
    a.ravel()[:0].to_strings(digits)  # a wrong option leaves a file as it is
    if isinstance(file, (str, os.PathLike)):
        with opener(file)(file, "wt", encoding="utf-8", newline="") as stream:
            _write(stream, rows, delimiter, names, digits)
    else:
        _write(file, rows, delimiter, names, digits)


savetxt.__module__ = "mdqr"


def _write(
    stream: IO[str], rows: Any, delimiter: str, names: Sequence[str] | None, digits: int | None
) -> None:
    writer = csv.writer(stream, delimiter=delimiter, lineterminator="\n")
    if names is not None:
        # quotes, where a reader would take the line for a comment
        marked = bool(names) and names[0].lstrip().startswith(tuple(MARKS))
        csv.writer(
            stream,
            delimiter=delimiter,
            lineterminator="\n",
            quoting=csv.QUOTE_ALL if marked else csv.QUOTE_MINIMAL,
        ).writerow(names)
    for start in range(0, rows.shape[0], 4096):
        writer.writerows(rows[start : start + 4096].to_strings(digits).tolist())
