"""Rows in Parquet: limbs, or columns of decimal texts and numbers. A row group is a chunk."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mdqr._errors import shown
from mdqr._functions.creation import array
from mdqr._functions.manipulation.joining import column_stack
from mdqr._precision import Precision, from_file
from mdqr.distributed._engines import imported
from mdqr.distributed._files.columns import column, within
from mdqr.distributed._files.limbs import checked, chunk_from

_KEY = "mdqr"


class Store:
    """A file of limbs: a column of lists of N numbers for each column of a and of b."""

    def __init__(self, path: Path, columns: int, planes: int) -> None:
        arrow, self._planes = imported("pyarrow"), planes
        kind = arrow.list_(arrow.float64(), planes)
        self._arrow = arrow
        self._schema = arrow.schema([(f"x{j}", kind) for j in range(columns)])
        self._writer = imported("pyarrow.parquet").ParquetWriter(path, self._schema)

    def write(self, start: int, values: np.ndarray) -> None:
        """Write the next rows ``(m, columns, N)``; none make no row group."""
        arrow, m = self._arrow, len(values)
        if not m:
            return
        columns = [
            arrow.FixedSizeListArray.from_arrays(
                arrow.array(np.ascontiguousarray(values[:, j]).ravel()), self._planes
            )
            for j in range(values.shape[1])
        ]
        table = arrow.Table.from_arrays(columns, schema=self._schema)
        self._writer.write_table(table, row_group_size=m)

    def close(self, attributes: dict[str, Any]) -> None:
        """Write the attributes; then the file is complete."""
        self._writer.add_key_value_metadata({_KEY: json.dumps(attributes)})
        self._writer.close()

    def stop(self) -> None:
        """Close a file that is not complete."""
        self._writer.close()


def attributes_of(path: Path) -> Any:
    """Return the record of a file that `save_rows` has written, or None."""
    held = imported("pyarrow.parquet").read_metadata(path).metadata or {}
    return json.loads(held.get(_KEY.encode(), b"null"))


class Limbs:
    """Reads chunks of a file of `save_rows`."""

    def __init__(self, path: Path) -> None:
        self._path = str(path)
        self._held = held = checked(attributes_of(path), path)
        self._rows: list[int] = held["rows"]
        known = imported("pyarrow.parquet").read_metadata(path)
        self._groups = np.cumsum([0, *(m > 0 for m in self._rows)]).tolist()
        precision = from_file(held["precision"])
        self._planes = precision.limbs * (1 + held["complex"])
        if known.num_row_groups != self._groups[-1] or known.num_rows != sum(self._rows):
            raise ValueError(
                f"open_rows: {path} is damaged: {known.num_rows} rows in {known.num_row_groups} "
                f"groups, and {sum(self._rows)} in {self._groups[-1]} when it was written"
            )

    @property
    def count(self) -> int:
        """The number of chunks."""
        return len(self._rows)

    def __call__(self, index: int) -> Any:
        """Return a chunk."""
        file = imported("pyarrow.parquet").ParquetFile(self._path)
        m, columns = self._rows[index], len(file.schema_arrow)
        values = np.empty((m, columns, self._planes))
        if m:
            table = file.read_row_group(self._groups[index])
            for j, column in enumerate(table.columns):
                flat = column.combine_chunks().flatten().to_numpy(zero_copy_only=False)
                values[:, j] = flat.reshape(m, self._planes)
        return chunk_from(values, self._held, f"{self._path}: chunk {index}")


class Table:
    """Reads row groups of a file from elsewhere: texts are decimal numbers, rounded once."""

    def __init__(
        self, path: Path, precision: Precision, b: int | str | Sequence[int | str] | None
    ) -> None:
        self._path, self._precision = str(path), precision
        file = imported("pyarrow.parquet").ParquetFile(path)
        self._names: list[str] = file.schema_arrow.names
        self._count = int(file.num_row_groups)
        self._starts = np.cumsum(
            [0, *(file.metadata.row_group(i).num_rows for i in range(self._count))]
        ).tolist()
        self._is_vector = isinstance(b, (int, str))
        wanted = [] if b is None else [b] if isinstance(b, (int, str)) else list(b)
        self._sides = [self._place(x) for x in wanted]

    def _place(self, x: int | str) -> int:
        if isinstance(x, str):
            if x not in self._names:
                raise ValueError(f"open_rows: {self._path} has no column {x!r}: {self._names}")
            return self._names.index(x)
        return within(column(x), len(self._names), str(self._path))

    @property
    def count(self) -> int:
        """The number of chunks."""
        return self._count

    def __call__(self, index: int) -> Any:
        """Return a chunk."""
        table = imported("pyarrow.parquet").ParquetFile(self._path).read_row_group(index)
        columns = [self._column(index, j, x) for j, x in enumerate(table.columns)]
        others = [x for j, x in enumerate(columns) if j not in self._sides]
        a = column_stack(others)
        if not self._sides:
            return a
        sides = [columns[j] for j in self._sides]
        return a, sides[0] if self._is_vector else column_stack(sides)

    def _column(self, index: int, j: int, column: Any) -> Any:
        """Return a column; an entry that is not a number is named by its row of the file."""
        values = column.to_pylist()
        try:
            return array(values, precision=self._precision)
        except (ValueError, TypeError) as error:
            for i, value in enumerate(values):
                if not _is_number(value, self._precision):
                    place = f"row {self._starts[index] + i}, column {self._names[j]!r}"
                    raise ValueError(
                        f"{self._path}, {place}: {shown(value)} is no number"
                    ) from None
            raise ValueError(f"{self._path}, column {self._names[j]!r}: {error}") from None


def _is_number(value: Any, precision: Precision) -> bool:
    try:
        array(value, precision=precision)
    except (ValueError, TypeError):
        return False
    return True
