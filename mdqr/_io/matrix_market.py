"""Matrices in the format of Matrix Market, read and written exactly."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from mdqr._core.base import ArrayBase
from mdqr._errors import shortened
from mdqr._functions.manipulation import selection
from mdqr._io.blocks import Source
from mdqr._io.form import Form
from mdqr._io.loadtxt import name_of, read_table
from mdqr._io.opened import opened, opener
from mdqr._io.rows import CellError
from mdqr._io.savetxt import Target
from mdqr._precision import as_precision
from mdqr._stability import experimental
from mdqr._typing import PrecisionLike

if TYPE_CHECKING:
    from mdqr._array.array import MDArray

# Numbers of an entry.
_FIELDS = {
    "real": 1,
    "double": 1,
    "integer": 1,
    "unsigned-integer": 1,
    "complex": 2,
    "pattern": 0,
}
_SYMMETRIES = ("general", "symmetric", "skew-symmetric", "hermitian")
_MOST = 1 << 30  # bytes of a matrix whose file need not list its entries


class _Head(NamedTuple):
    """The first line of a file, and the line of sizes."""

    name: str
    sparse: bool
    field: str
    symmetry: str
    line: int
    sizes: tuple[int, ...]  # rows, columns and, if sparse, entries


@experimental
def mmread(file: Source, *, precision: PrecisionLike) -> MDArray:
    r"""Read a matrix of a Matrix Market file; every number is rounded once.

    Parameters
    ----------
    file : str, path, file or iterable of lines
        A file with the first line ``%%MatrixMarket matrix ...``: dense (``array``) or sparse
        (``coordinate``), of any field and symmetry. A name that ends in ``.gz``, ``.bz2`` or
        ``.xz`` denotes a compressed file.
    precision : Precision or str
        The precision of the result.

    Returns
    -------
    MDArray
        The whole matrix, shape ``(rows, columns)``, with the entries that a symmetry implies. It is
        complex if the field is. Entries of a pattern are 1, and equal places are an error.

    Raises
    ------
    ValueError
        If the file is damaged: the message names file and line. If a sparse matrix would have more
        than 1 GiB with its zeros, or a compressed file has more than 64 MiB and a hundred times
        its size.
    TypeError
        If `file` gives no lines.
    OSError
        If the file cannot be read.

    Notes
    -----
    R. F. Boisvert, R. Pozo and K. A. Remington, *The Matrix Market Exchange Formats: Initial
    Design*, NISTIR 5935, 1996, describe the format. The error of a number is at most half a unit in
    the last place of its last limb. `scipy.io.mmread` has float64 values and sparse matrices.

    Examples
    --------
    >>> import io, mdqr
    >>> text = "%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 0.1\n2 1 -3\n"
    >>> print(mdqr.mmread(io.StringIO(text), precision=mdqr.qd))
    [[ 0.1 -3.0]
     [-3.0  0.0]]
    """
    target = as_precision(precision)
    form = Form(None, comments="%")
    with opened(file, form) as blocks:
        lines = chain.from_iterable(block.lines() for block in blocks)
        head = _head(lines, name_of(file))
        shape = head.sizes[:2]
        if head.sparse and shape[0] * shape[1] * 8 * target.limbs * (1 + _is_complex(head)) > _MOST:
            raise CellError(
                f"{head.name}, line {head.line}: a matrix of shape {shape} in {target.name} has "
                "more than 1 GiB with its zeros; scipy.io.mmread reads sparse matrices of float64"
            )
        block = _entries(lines, head, target.limbs, form)
    return ArrayBase._wrap(block, target, _is_complex(head))


mmread.__module__ = "mdqr"


@experimental
def mmwrite(
    file: Target, a: Any, /, *, comment: str = "", sparse: bool = False, digits: int | None = None
) -> None:
    r"""Write a matrix as a Matrix Market file that reads back.

    Parameters
    ----------
    file : str, path or text file
        The place to write to, compressed where the name ends in ``.gz``, ``.bz2`` or ``.xz``.
    a : MDArray
        A matrix, real or complex; a vector is a column.
    comment : str, optional
        Lines behind the first one.
    sparse : bool, optional
        True to write the entries that are not zero, with their places, and not all.
    digits : int, optional
        Significant digits; by default the fewest that read back to the same limbs.

    Raises
    ------
    TypeError
        If `a` is not an `MDArray`.
    ValueError
        If the array has more than two axes, or `digits` is none.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> import io, mdqr
    >>> file = io.StringIO()
    >>> mdqr.mmwrite(file, mdqr.array([["0.1", 0], [0, 2]], precision=mdqr.qd), sparse=True)
    >>> print(file.getvalue(), end="")
    %%MatrixMarket matrix coordinate real general
    2 2 2
    1 1 0.1
    2 2 2.0
    """
    if not isinstance(a, ArrayBase):
        raise TypeError(f"mdqr.mmwrite writes an MDArray; got {type(a).__name__}")
    if a.ndim > 2:
        raise ValueError(f"mmwrite writes a matrix; got shape {a.shape}")
    matrix = cast("MDArray", a).to_device("cpu")
    matrix = matrix if a.ndim == 2 else matrix.reshape(-1, 1)
    rows, columns = matrix.shape
    kind, field = "coordinate" if sparse else "array", "complex" if a.is_complex else "real"
    sizes = [rows, columns]
    if sparse:
        i, j = selection.nonzero(matrix)
        sizes.append(len(i))
        values, front = matrix[i, j], [f"{r + 1} {c + 1} " for r, c in zip(i, j, strict=True)]
    else:
        values, front = matrix.T.ravel(), [""] * matrix.size
    parts = [values.real, values.imag] if a.is_complex else [values]
    texts = zip(*(part.to_strings(digits).tolist() for part in parts), strict=True)
    lines = [f"%%MatrixMarket matrix {kind} {field} general"]
    lines += [f"%{line}" for line in comment.splitlines()]
    lines += [" ".join(map(str, sizes))]
    lines += [place + " ".join(text) for place, text in zip(front, texts, strict=True)]
    if isinstance(file, (str, os.PathLike)):
        with opener(file)(file, "wt", encoding="utf-8", newline="") as stream:
            stream.writelines(f"{line}\n" for line in lines)
    else:
        file.writelines(f"{line}\n" for line in lines)


mmwrite.__module__ = "mdqr"


def _is_complex(head: _Head) -> bool:
    return head.field == "complex"


def _head(lines: Iterator[str], name: str) -> _Head:
    """Read the first line and the line of sizes."""
    first = next(lines, "").split()
    words = [word.lower() for word in first]
    if len(words) != 5 or words[:2] != ["%%matrixmarket", "matrix"]:
        raise CellError(
            f"{name}, line 1: a Matrix Market file begins with '%%MatrixMarket matrix', a format, "
            f"a field and a symmetry; got {shortened(' '.join(first))!r}"
        )
    kind, field, symmetry = words[2:]
    if (
        kind not in ("coordinate", "array")
        or field not in _FIELDS
        or symmetry not in _SYMMETRIES
        or (field == "pattern" and (kind == "array" or symmetry == "skew-symmetric"))
    ):
        raise CellError(f"{name}, line 1: there is no such format: {shortened(' '.join(words))!r}")
    sparse = kind == "coordinate"
    for line, text in enumerate(lines, 2):
        if not text.strip() or text.lstrip().startswith("%"):
            continue
        parts = text.split()
        if len(parts) != 2 + sparse or not all(p.isdecimal() and len(p) < 16 for p in parts):
            what = "rows, columns and entries" if sparse else "rows and columns"
            raise CellError(f"{name}, line {line}: wanted the numbers of {what}")
        sizes = tuple(map(int, parts))
        if symmetry != "general" and sizes[0] != sizes[1]:
            raise CellError(f"{name}, line {line}: a {symmetry} matrix must be square; got {sizes}")
        return _Head(name, sparse, field, symmetry, line, sizes)
    raise CellError(f"{name}: the file ends before the line of sizes")


def _entries(lines: Iterator[str], head: _Head, limbs: int, form: Form) -> np.ndarray:
    """Return the block of the matrix whose entries the lines have."""
    rows, columns, *_ = head.sizes
    if head.sparse:
        i, j, values = _listed(lines, head, limbs, form)
    else:
        places = _places(rows, columns, head)
        i, j = next(places), next(places)
        values = _numbers(lines, head, limbs, form, len(i), _FIELDS[head.field])
    lead = (2,) if _is_complex(head) else ()
    block = np.zeros((*lead, limbs, rows, columns))
    block[..., i, j] = values
    if head.symmetry != "general":
        sign = np.array(1.0 if head.symmetry != "skew-symmetric" else -1.0)
        if head.symmetry == "hermitian" and _is_complex(head):
            sign = np.array([1.0, -1.0]).reshape(2, 1, 1)
        off = i != j
        block[..., j[off], i[off]] = sign * values[..., off]
    return block


def _places(rows: int, columns: int, head: _Head) -> Iterator[np.ndarray]:
    """Yield the rows and the columns of the entries of a dense file, column by column."""
    most = _MOST // 8
    if rows * columns > most:
        raise CellError(f"{head.name}, line {head.line}: more than {most} entries")
    if head.symmetry == "general":
        j, i = np.divmod(np.arange(rows * columns), max(rows, 1))
    else:
        j, i = np.triu_indices(rows, int(head.symmetry == "skew-symmetric"))
    yield from (i, j)


def _listed(lines: Iterator[str], head: _Head, limbs: int, form: Form) -> Any:
    """Return the rows, the columns and the values of the entries of a sparse file."""
    rows, columns, entries = head.sizes
    count = _FIELDS[head.field]
    table = _table(lines, head, limbs, form, entries, 2 + count)
    i, j = table[0, :, :2].T
    whole = (table[1:, :, :2] == 0).all() and (np.floor(table[0, :, :2]) == table[0, :, :2]).all()
    lower = head.symmetry == "general" or bool((i >= j + (head.symmetry == "skew-symmetric")).all())
    inside = ((i >= 1) & (i <= rows) & (j >= 1) & (j <= columns)).all()
    if not whole or not inside or not lower:
        what = "" if lower else f" or above the diagonal of a {head.symmetry} one"
        raise CellError(f"{head.name}: an entry lies outside of the matrix{what}")
    i, j = i.astype(np.int64) - 1, j.astype(np.int64) - 1
    if len(np.unique(i * columns + j)) != entries:
        raise CellError(f"{head.name}: an entry is given twice")
    if not count:
        values = np.zeros((limbs, entries))
        values[0] = 1
        return i, j, values
    return i, j, _parts(table[..., 2:], count)


def _numbers(
    lines: Iterator[str], head: _Head, limbs: int, form: Form, entries: int, count: int
) -> np.ndarray:
    return _parts(_table(lines, head, limbs, form, entries, count), count)


def _parts(table: np.ndarray, count: int) -> np.ndarray:
    """Return planes ``(N, entries)``, with real and imaginary parts in front for two numbers."""
    return table[..., 0] if count == 1 else np.moveaxis(table, -1, 0)


def _table(
    lines: Iterator[str], head: _Head, limbs: int, form: Form, entries: int, width: int
) -> np.ndarray:
    """Return planes ``(N, entries, width)`` of the numbers of all lines that remain."""
    before = ["\n"] * head.line  # so that messages count these lines
    table = None
    for text in lines:
        if text.strip() and not text.lstrip().startswith("%"):
            source = chain(before, [text], lines)
            table = read_table(source, limbs, name=head.name, form=form)
            break
        before.append("\n")
    found = (0, width) if table is None else table.real.shape[1:]
    if table is not None and table.imag is not None:
        raise CellError(f"{head.name}: a number is complex")
    if found != (entries, width):
        raise CellError(
            f"{head.name}, line {head.line}: the file should have {entries} entries of {width} "
            f"numbers after it, and has {found[0]} of {found[1]}"
        )
    return np.zeros((limbs, 0, width)) if table is None else table.real
