"""Rows as limbs in zarr and HDF5."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from mdqr._functions.from_limbs import from_limbs
from mdqr._limbs.planes import is_normalised
from mdqr._precision import Precision, from_file
from mdqr.distributed._engines import imported

VERSION = 1


def checked(held: Any, path: Path) -> dict[str, Any]:
    """Return the attributes of a file.

    Raises
    ------
    ValueError
        If it was not written by `save_rows`.
    """
    if not isinstance(held, dict) or held.get("version") != VERSION:
        raise ValueError(
            f"open_rows: {path} has no attribute mdqr of version {VERSION}: it was not written by "
            "save_rows, or not to its end"
        )
    return held


def chunk_from(values: np.ndarray, held: dict[str, Any], where: str) -> Any:
    """Return a chunk of values ``(m, n + k, N)``.

    Raises
    ------
    ValueError
        If limbs are not normalised.
    """
    limbs, field = np.ascontiguousarray(np.moveaxis(values, -1, 0)), held["complex"]
    if field:
        limbs = np.stack(np.split(limbs, 2))
    for part in limbs if field else [limbs]:
        sound = is_normalised(part) | ~np.isfinite(part[0])
        if not sound.all():
            row, column = np.argwhere(~sound)[0].tolist()
            raise ValueError(f"{where}, row {row}, column {column}: limbs are not normalised")
    x = from_limbs(limbs, dtype=complex if field else float, normalize=False)
    k = held["sides"]
    if not k:
        return x
    n = x.shape[1] - k
    return x[:, :n], x[:, n] if held["vector"] else x[:, n:]


class Store:
    """An array that grows by rows, in zarr or HDF5."""

    def __init__(self, path: Path, columns: int, planes: int) -> None:
        shape = (0, columns, planes)
        self._file: Any = None
        if path.stem.endswith(".zarr"):
            self._array = imported("zarr").create_array(
                store=str(path), shape=shape, chunks=(4096, columns, planes), dtype="float64",
                compressors=None, overwrite=True, fill_value=np.nan,
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

    def stop(self) -> None:
        """Close a file that is not complete."""
        if self._file is not None:
            self._file.close()


class Limbs:
    """Reads chunks of limbs."""

    def __init__(self, path: Path) -> None:
        self._path = str(path)
        with _Opened(self._path) as (array, held):
            held = checked(held, path)
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
        try:
            with _Opened(self._path) as (array, held):
                values = np.asarray(array[self._ends[index] : self._ends[index + 1]])
        except Exception as error:  # of either library
            raise OSError(f"{self._path}: chunk {index} cannot be read: {error}") from error
        return chunk_from(values, held, f"{self._path}: chunk {index}")


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
