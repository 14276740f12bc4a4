"""Rows in files: limbs in zarr and HDF5, decimal numbers in delimited text."""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mdqr._errors import shown
from mdqr._functions.from_limbs import from_limbs
from mdqr._io.loadtxt import loadtxt
from mdqr._limbs.device import host_block
from mdqr._limbs.planes import is_normalised
from mdqr._precision import Precision, as_precision, from_file
from mdqr._stability import experimental
from mdqr._typing import PrecisionLike
from mdqr.distributed._engines import imported
from mdqr.distributed._rows import Chunk, Form, Rows, chunk_of, form_of, opened, source

_VERSION = 1
_STORES = (".zarr", ".h5", ".hdf5")
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
        As in `lstsq`. Weights are not stored.
    path : str or path
        A folder that ends in ``.zarr``, or a file that ends in ``.h5`` or ``.hdf5``; it must not
        exist. Unfinished files end in ``.part``.
    b : array_like, optional
        As in `lstsq`; without it chunks are matrices, or bring right-hand sides along.
    precision : Precision or str, optional
        Of the numbers; by default the one of the first chunk.

    Raises
    ------
    ValueError, TypeError, numpy.linalg.LinAlgError
        If chunks do not fit each other, or the name has another ending.
    FileExistsError
        If the path exists.
    ImportError
        If zarr or h5py is missing.

    Notes
    -----
    An array of float64 ``(m, n + k, N)``, complex ``(m, n + k, 2 N)`` with imaginary limbs last,
    whose attribute ``mdqr`` holds version, precision, field, the number of columns of b, whether b
    is a vector, and the lengths of the chunks.

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
    if rows.delayed:
        raise TypeError("save_rows: Dask arrays of floats are written by their own to_zarr")
    part = target.with_name(target.name + ".part")
    store: _Store | None = None
    form: Form | None = None
    lengths: list[int] = []
    start = 0
    for index, item in enumerate(rows.items):
        parts = opened(item)
        if form is None or store is None:
            sides = len(parts) > 1
            form = form_of("save_rows", parts, precision, sides=sides)
            form = form._replace(work=max(form.work, form.precision, key=lambda p: p.limbs))
            store = _Store(part, form.n + form.right, form.kind.limbs * (1 + form.is_complex))
        chunk = chunk_of("save_rows", index, item, form, sides=sides)
        values = _values(chunk, form.is_complex)
        store.write(start, values)
        start += len(values)
        lengths.append(len(values))
    if store is None or form is None:
        raise ValueError("save_rows: there are no rows")
    store.close({
        "version": _VERSION, "precision": form.work.name, "complex": form.is_complex,
        "sides": form.right, "vector": form.is_vector, "rows": lengths,
    })  # fmt: skip
    part.rename(target)


def _values(chunk: Chunk, is_complex: bool) -> np.ndarray:
    """Return the limbs of a chunk as ``(m, n + k, N)``."""
    block = host_block(np.concatenate([chunk.a, chunk.b], axis=-1))
    if is_complex:
        block = np.concatenate([block[0], block[1]])
    return np.ascontiguousarray(np.moveaxis(block, 0, -1))


class _Store:
    """An array that grows by rows, in zarr or HDF5."""

    def __init__(self, path: Path, columns: int, planes: int) -> None:
        shape = (0, columns, planes)
        self._file: Any = None
        if path.stem.endswith(".zarr"):
            self._array = imported("zarr").create_array(
                store=str(path), shape=shape, chunks=(4096, columns, planes), dtype="float64",
                compressors=None, overwrite=True,
            )  # fmt: skip
        else:
            self._file = imported("h5py").File(path, "w")
            self._array = self._file.create_dataset(
                "rows", shape=shape, maxshape=(None, columns, planes), dtype="float64",
                chunks=(256, columns, planes),
            )  # fmt: skip

    def write(self, start: int, values: np.ndarray) -> None:
        """Write rows from a place on."""
        shape = (start + len(values), *values.shape[1:])
        self._array.resize(shape)
        if len(values):
            self._array[start:] = values

    def close(self, attributes: dict[str, Any]) -> None:
        """Write the attributes; then the file is complete."""
        if self._file is None:
            self._array.attrs["mdqr"] = attributes
        else:
            self._array.attrs["mdqr"] = json.dumps(attributes)
            self._file.close()


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
        A file of `save_rows`; or a text file that ends in ``.csv``, ``.txt`` or ``.tsv``,
        whose decimal numbers are rounded once, as `mdqr.loadtxt` does.
    precision : Precision or str, optional
        Of the numbers of a text file, where it is needed.
    b : int, str or sequence of them, optional
        For a text file: the columns of the right-hand sides, by index or by name; all others are
        columns of a. By default no column.
    rows : int, default: 100_000
        Lines of a chunk of a text file.
    **options : object
        For a text file, of `mdqr.loadtxt`: ``delimiter``, ``header``, ``missing``, ``decimal``,
        ``encoding``. Fields must not hold ends of lines.

    Returns
    -------
    Rows
        For `lstsq`, `qr` and the others.

    Raises
    ------
    ValueError
        If the file is not of such a kind, was not finished, is damaged, or has no precision. While
        chunks are read: if a cell is not a number; the message names file, line and column.
    OSError
        If it cannot be read.
    ImportError
        If zarr or h5py is missing.

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
    if target.suffix in _STORES:
        if options or b is not None or precision is not None:
            raise ValueError("open_rows: what save_rows has written knows precision and columns")
        reader = _Limbs(target)
        return Rows(reader, reader.count)
    if target.suffix not in _TEXTS:
        names = ", ".join((*_STORES, *_TEXTS))
        raise ValueError(f"open_rows: path must end in {names}; got {shown(str(path))}")
    if precision is None:
        raise ValueError("open_rows: decimal numbers have no precision of their own: precision=")
    text = _Text(target, as_precision(precision), b, rows, options)
    return Rows(text, text.count)


class _Limbs:
    """Reads chunks of limbs."""

    def __init__(self, path: Path) -> None:
        self._path = str(path)
        with _Opened(self._path) as (array, held):
            if not isinstance(held, dict) or held.get("version") != _VERSION:
                raise ValueError(
                    f"open_rows: {path} has no attribute mdqr of version {_VERSION}: it was not "
                    "written by save_rows, or not to its end"
                )
            self._held = held
            self._precision: Precision = from_file(held["precision"])
            planes = self._precision.limbs * (1 + held["complex"])
            self._ends = np.cumsum([0, *held["rows"]]).tolist()
            if array.ndim != 3 or array.shape[2] != planes or array.shape[0] != self._ends[-1]:
                raise ValueError(
                    f"open_rows: {path} is damaged: {array.shape} values for {self._ends[-1]} rows "
                    f"of {planes} limbs"
                )

    @property
    def count(self) -> int:
        """The number of chunks."""
        return len(self._ends) - 1

    def __call__(self, index: int) -> Any:
        """Return a chunk."""
        with _Opened(self._path) as (array, held):
            values = np.asarray(array[self._ends[index] : self._ends[index + 1]])
        limbs = np.ascontiguousarray(np.moveaxis(values, -1, 0))
        field = held["complex"]
        if field:
            limbs = np.stack(np.split(limbs, 2))
        for part in limbs if field else [limbs]:
            if not bool(np.all(is_normalised(part) | ~np.isfinite(part[0]))):
                raise ValueError(f"{self._path}: limbs of chunk {index} are not normalised")
        x = from_limbs(limbs, dtype=complex if field else float, normalize=False)
        k = held["sides"]
        if not k:
            return x
        n = x.shape[1] - k
        return x[:, :n], x[:, n] if held["vector"] else x[:, n:]


class _Opened:
    """The array of a store, and its attributes, while it is open."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._file: Any = None

    def __enter__(self) -> tuple[Any, Any]:
        if self._path.endswith(".zarr"):
            array = imported("zarr").open_array(self._path, mode="r")
            return array, array.attrs.get("mdqr")
        self._file = imported("h5py").File(self._path, "r")
        array = self._file["rows"]
        return array, json.loads(array.attrs.get("mdqr", "null"))

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()


class _Text:
    """Reads chunks of lines."""

    def __init__(
        self, path: Path, precision: Precision, b: Any, rows: int, options: dict[str, Any]
    ) -> None:
        self._path, self._precision, self._options = str(path), precision, dict(options)
        self._header = bool(self._options.pop("header", False))
        skipped = int(self._header)
        self._places: list[tuple[int, int, int]] = []
        start = line = count = 0
        with open(self._path, "rb") as file:
            names = file.readline() if self._header else b""
            position = start = len(names)
            line = first = skipped + 1
            for text in file:
                position, line, count = position + len(text), line + 1, count + 1
                if count == rows:
                    self._places.append((start, position, first))
                    start, first, count = position, line, 0
            if count:
                self._places.append((start, position, first))
        self._b = self._columns(b, names)

    def _columns(self, b: Any, header: bytes) -> Any:
        """Return the indices of the right-hand sides."""
        names = header.decode(self._options.get("encoding", "utf-8")).strip()
        known = [x.strip().strip('"') for x in names.split(self._options.get("delimiter", ","))]

        def place(x: Any) -> int:
            if isinstance(x, str):
                if x not in known:
                    raise ValueError(f"open_rows: {self._path} has no column {x!r}: {known}")
                return known.index(x)
            return int(x)

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
        text = io.BytesIO(content)
        try:
            x = loadtxt(text, precision=self._precision, **self._options)
        except ValueError as error:
            raise ValueError(_placed(str(error), self._path, first)) from None
        if self._b is None:
            return x
        n = x.shape[1]
        sides = [self._b % n] if isinstance(self._b, int) else [k % n for k in self._b]
        others = [j for j in range(n) if j not in sides]
        return x[:, others], x[:, sides[0]] if isinstance(self._b, int) else x[:, sides]


def _placed(message: str, path: str, first: int) -> str:
    """Return a message about lines of a chunk as one about lines of its file."""
    found = re.sub(r"line (\d+)", lambda m: f"line {int(m[1]) + first - 1}", message)
    return found.replace("<text>", path, 1)
