"""Sparse matrices by rows, and their products with arrays of limbs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mdqr._backend.host.backend import backend as host_backend
from mdqr._errors import shown
from mdqr._limbs.planes import Block, Kind

_NUMBERS = 1 << 21  # gathered at a time


class Rows:
    """The entries of a sparse matrix, exact doubles, grouped by rows of equal counts.

    Equal places are not added up, as SciPy's formats do: that would round.

    Raises
    ------
    TypeError
        If `a` is not a sparse matrix of SciPy, or its entries are not doubles.
    ValueError
        If it does not have two axes.
    """

    def __init__(self, name: str, a: Any) -> None:
        if not hasattr(a, "tocoo") or not hasattr(a, "nnz"):
            raise TypeError(f"{name}: wanted a sparse matrix of SciPy; got {type(a).__name__}")
        if len(a.shape) != 2:
            raise ValueError(f"{name}: a sparse matrix has two axes; got shape {a.shape}")
        entries = a.tocoo(copy=False)
        rows, columns = a.shape
        self.shape = int(rows), int(columns)
        self.is_complex = entries.data.dtype.kind == "c"
        self.values = _doubles(name, entries.data)
        order = np.argsort(entries.row, kind="stable")
        self._sorted, self._columns = self.values[order], np.asarray(entries.col)[order]
        counts = np.bincount(entries.row, minlength=self.shape[0])
        self.most = int(counts.max(initial=0))
        self._starts = np.concatenate([[0], np.cumsum(counts)])
        self._groups = [(k, np.flatnonzero(counts == k)) for k in np.unique(counts[counts > 0])]

    def product(self, x: Block, *, kind: Kind) -> Block:
        """Return the product with `x` ``(..., n, p)``; bounds as of `Backend.matmul`."""
        out = kind.zeros(np, (self.shape[0], x.shape[-1]))
        for rows, a, gathered in self._pieces(x, kind):
            out[..., rows, :] = host_backend().matmul(a, gathered, kind=kind)[..., 0, :]
        return out

    def residual(self, b: Block, x: Block, *, kind: Kind) -> Block:
        """Return ``b - a @ x``, computed in twice the limbs; bounds as of `Backend.residual`."""
        out = b.copy()
        for rows, a, gathered in self._pieces(x, kind):
            terms = [(1, b[..., rows, None, :])]
            found = host_backend().residual(terms, a, gathered, kind=kind)
            out[..., rows, :] = found[..., 0, :]
        return out

    def _pieces(self, x: Block, kind: Kind) -> Iterator[tuple[np.ndarray, Block, Block]]:
        """Yield rows, their entries ``(rows, 1, k)`` and rows of `x` for them ``(rows, k, p)``."""
        for count, group in self._groups:
            some = max(_NUMBERS // (int(count) * max(x.shape[-1], 1)), 1)
            for start in range(0, len(group), some):
                rows = group[start : start + some]
                places = self._starts[rows][:, None] + np.arange(count)
                values = self._sorted[places][:, None, :]
                parts = values[None]
                if kind.is_complex:
                    parts = np.stack([values.real, values.imag])[:, None]
                yield rows, parts, x[..., self._columns[places], :]


def _doubles(name: str, data: np.ndarray) -> np.ndarray:
    """Return entries as float64 or complex128, if they are such numbers exactly."""
    most = 16 if data.dtype.kind == "c" else 8
    if data.dtype.kind not in "biufc" or data.dtype.itemsize > most:
        raise TypeError(f"{name}: entries of dtype {shown(data.dtype)} are not doubles")
    found = data.astype(np.complex128 if data.dtype.kind == "c" else np.float64)
    if data.dtype.kind in "iu" and any(int(x) != int(y) for x, y in zip(data, found, strict=True)):
        raise TypeError(f"{name}: an integer entry is beyond 2**53, and would be rounded")
    return found
