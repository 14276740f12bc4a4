"""The two public functions: rows into files, and out of them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mdqr._errors import shown
from mdqr._limbs.device import host_block
from mdqr._precision import as_precision
from mdqr._stability import experimental
from mdqr._typing import PrecisionLike
from mdqr.distributed._engines import Engine, engine_for
from mdqr.distributed._files import limbs, parquet
from mdqr.distributed._files.text import Text
from mdqr.distributed._rows import (
    Chunk,
    ChunkError,
    Form,
    Rows,
    Source,
    chunk_of,
    form_of,
    named,
    numbered,
    opened,
    source,
)
from mdqr.linalg._shared.operands import gather

_PARQUET = ".parquet"
_STORES = (".zarr", ".h5", ".hdf5", _PARQUET)
_TEXTS = (".csv", ".txt", ".tsv")


@experimental
def save_rows(
    a: Any,
    path: str | os.PathLike[str],
    /,
    b: Any = None,
    *,
    precision: PrecisionLike | None = None,
) -> None:
    """Write rows as limbs, chunk by chunk, without a loss.

    Parameters
    ----------
    a : array_like or rows
        As in `lstsq`, without weights.
    path : str or path
        A folder that ends in ``.zarr``, or a file that ends in ``.h5``, ``.hdf5`` or ``.parquet``;
        it must not exist. Unfinished files end in ``.part``.
    b : array_like, optional
        As in `lstsq`; without it chunks are matrices, or bring right-hand sides along.
    precision : Precision or str, optional
        Of the numbers in the file; by default the one of the first chunk. Chunks of fewer limbs get
        zeros, which is exact; for more limbs than that ValueError names the chunk.

    Raises
    ------
    Exception
        As in `lstsq`; ValueError, too, if the name has another ending.
    FileExistsError
        If the path exists.
    ImportError
        If zarr, h5py or pyarrow is missing.

    Notes
    -----
    An array of float64 ``(m, n + k, N)``, complex ``(m, n + k, 2 N)`` with imaginary limbs last.
    Its attribute ``mdqr`` holds version, precision, field, the number of columns of b, whether b
    is a vector, and the lengths of the chunks. In Parquet a column of lists of N numbers for each
    column, a row group a chunk, and the attribute as JSON in the metadata of the file.

    Examples
    --------
    >>> import mdqr
    >>> from mdqr import distributed as md
    >>> a = mdqr.ones((4, 2), precision=mdqr.qd)
    >>> md.save_rows([(a[:2], a[:2, 0]), (a[2:], a[2:, 0])], "rows.zarr")  # doctest: +SKIP
    >>> md.open_rows("rows.zarr")  # doctest: +SKIP
    <Rows of 2 chunks>
    """
    target = Path(path)
    if target.suffix not in _STORES:
        raise ValueError(
            f"save_rows: path must end in {', '.join(_STORES)}; got {shown(str(path))}"
        )
    if target.exists():
        raise FileExistsError(f"save_rows: {target} exists")
    rows = source("save_rows", a, b)
    engine = engine_for("save_rows", None, rows)
    part = target.with_name(target.name + ".part")
    _write(rows, engine, part, parquet if target.suffix == _PARQUET else limbs, precision)
    part.rename(target)


def _write(
    rows: Source, engine: Engine, part: Path, module: Any, precision: PrecisionLike | None
) -> None:
    """Write all chunks; a file that is not complete has no attributes."""
    store: Any = None
    lengths: list[int] = []
    try:
        for index, item in numbered("save_rows", rows.items):
            parts = _parts(engine, rows, index, item)
            if len(parts) > 2:
                raise ValueError(
                    f"save_rows: chunk {index} brings weights, which a file does not hold: give "
                    "chunks (a, b), and weights as a column of b or apart"
                )
            if store is None:
                sides = len(parts) > 1
                form = _form(parts, precision, sides=sides)
                planes = form.kind.limbs * (1 + form.is_complex)
                store = module.Store(part, form.n + form.right, planes)
            chunk = chunk_of("save_rows", index, parts, form, sides=sides)
            values = _values(chunk, form.is_complex)
            store.write(sum(lengths), values)
            lengths.append(len(values))
    except BaseException as error:
        if store is not None:
            store.stop()
        if isinstance(error, ChunkError):
            raise error.made from error
        raise
    if store is None:
        raise ValueError("save_rows: there are no rows")
    store.close({
        "version": limbs.VERSION, "precision": form.work.name, "complex": form.is_complex,
        "sides": form.right, "vector": form.is_vector, "rows": lengths,
    })  # fmt: skip


def _parts(engine: Engine, rows: Source, index: int, item: Any) -> tuple[Any, ...]:
    """Return the parts of a chunk."""
    try:
        given = engine.submit("mdqr-rows", opened, item) if rows.delayed else item
        return opened(engine.result(given))
    except Exception as error:  # a source may raise anything
        raise ChunkError(index, named("save_rows", index, error)) from error


def _form(parts: tuple[Any, ...], precision: PrecisionLike | None, *, sides: bool) -> Form:
    """Return the form of the file, whose precision is exactly the one asked for.

    Raises
    ------
    ValueError
        If the first chunk has more limbs.
    """
    form = form_of("save_rows", parts, precision, sides=sides)
    held = gather(*parts[: 1 + sides], precision=form.precision, trimmed=False).work
    if held > form.precision:
        raise ValueError(
            f"save_rows: chunk 0 has precision {held.name}, of which {form.precision.name} would "
            f"lose digits: precision={held.name!r}"
        )
    return form._replace(work=form.precision, most=form.precision)


def _values(chunk: Chunk, is_complex: bool) -> np.ndarray:
    """Return the limbs of a chunk as ``(m, n + k, N)``."""
    block = host_block(np.concatenate([chunk.a, chunk.b], axis=-1))
    if is_complex:
        block = np.concatenate([block[0], block[1]])
    return np.ascontiguousarray(np.moveaxis(block, 0, -1))


@experimental
def open_rows(
    path: str | os.PathLike[str],
    /,
    *,
    precision: PrecisionLike | None = None,
    b: int | str | Sequence[int | str] | None = None,
    rows: int = 100_000,
    **options: Any,
) -> Rows:
    r"""Return the rows of a file, read chunk by chunk as often as they are asked for.

    Parameters
    ----------
    path : str or path
        A file of `save_rows`; or a text file that ends in ``.csv``, ``.txt`` or ``.tsv``; or
        columns of texts or numbers in Parquet. Decimal numbers are rounded once, as `mdqr.loadtxt`
        does.
    precision : Precision or str, optional
        Of the numbers of a text or Parquet file, where it is needed.
    b : int, str or sequence of them, optional
        For such a file: the columns of the right-hand sides, by index or by name; all others are
        columns of a. By default no column.
    rows : int, default: 100_000
        Lines of a chunk of a text file, which may be empty or comments. In Parquet a row group is a
        chunk.
    **options : object
        For a text file, of `mdqr.loadtxt`: ``delimiter``, ``header``, ``missing``, ``decimal``,
        ``thousands``, ``comments``, ``encoding``, ``dtype``. Lines end with a newline, a carriage
        return or both; fields must not hold these. UTF-8 may begin with a byte order mark; UTF-16,
        UTF-32 and encodings with the line ends of ASCII are given.

    Returns
    -------
    Rows
        For `lstsq`, `qr` and the others.

    Raises
    ------
    ValueError
        If the file is not of such a kind, was not finished, is damaged, or has no precision; if the
        first row of a text is not of numbers, or its encoding another one. While chunks are read:
        if a cell is not a number; the message names file, line and column.
    TypeError, LookupError
        If an option is another one, or the encoding is unknown.
    OSError
        If it cannot be read, or a text has been cut off since.
    ImportError
        If zarr, h5py or pyarrow is missing.

    Examples
    --------
    >>> import os, tempfile
    >>> from mdqr import distributed as md
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "line.csv")
    ...     with open(path, "w") as file:
    ...         _ = file.write("t,one,y\n" + "".join(f"0.{i},1,1.{i}\n" for i in range(1, 9)))
    ...     rows = md.open_rows(path, precision="qd", b="y", header=True, rows=3)
    ...     md.lstsq(rows).x.to_strings(digits=20).tolist()
    ['1.0000000000000000000', '1.0000000000000000000']
    """
    target = Path(path)
    is_parquet = target.suffix == _PARQUET
    if target.suffix in _STORES and not (is_parquet and precision is not None):
        if options or b is not None or precision is not None:
            raise ValueError("open_rows: what save_rows has written knows precision and columns")
        reader = parquet.Limbs(target) if is_parquet else limbs.Limbs(target)
        return Rows(reader, reader.count)
    if target.suffix not in _TEXTS and not is_parquet:
        names = ", ".join((*_STORES, *_TEXTS))
        raise ValueError(f"open_rows: path must end in {names}; got {shown(str(path))}")
    if precision is None:
        raise ValueError("open_rows: decimal numbers have no precision of their own: precision=")
    if is_parquet:
        if options:
            raise ValueError(f"open_rows: Parquet has no options {', '.join(options)}")
        table = parquet.Table(target, as_precision(precision), b)
        return Rows(table, table.count)
    text = Text(target, as_precision(precision), b, rows, options)
    return Rows(text, text.count)
