"""Dask arrays whose blocks are arrays of mdqr."""

from __future__ import annotations

import uuid
from typing import Any

import numpy as np

from mdqr._array.array import MDArray
from mdqr._stability import experimental
from mdqr.distributed._engines import imported
from mdqr.distributed._rows import Form, integer_from


@experimental
def as_dask(a: MDArray, /, rows: int | None = None) -> Any:
    """Return a Dask array whose blocks are `MDArray`.

    Parameters
    ----------
    a : MDArray
        At least one axis.
    rows : int, optional
        The length of a block along the first axis; by default one block.

    Returns
    -------
    dask.array.Array
        Its dtype is float64 or complex128, the nearest that Dask and NumPy have; its blocks keep
        all limbs. These work on it: slices, `rechunk`, transposes, ``+ - * / @``, elementary
        functions, concatenation, `tensordot`, `einsum`, `sum`, `prod`, `cumsum`, `min`, `max`,
        `map_blocks` with ``dtype=float`` and `compute`. Operations with an array in memory,
        `mean`, `std` and Dask's `norm` raise TypeError.

    Raises
    ------
    TypeError
        If `a` is not an MDArray.
    ValueError
        If it has no axis, or `rows` is not a positive integer.
    ImportError
        If Dask is missing.

    Examples
    --------
    >>> import mdqr
    >>> from mdqr import distributed as md
    >>> x = md.as_dask(mdqr.random.normal((10, 3), precision=mdqr.qd, rng=0), rows=4)
    >>> x.chunks, (2 * x[1:]).compute().precision.name
    (((4, 4, 2), (3,)), 'qd')
    """
    if not isinstance(a, MDArray):
        raise TypeError(f"as_dask: a must be an MDArray; got {type(a).__name__}")
    if not a.ndim:
        raise ValueError("as_dask: a has no axis to cut: give one with a[None]")
    if rows is not None:
        rows = integer_from(1, rows, "as_dask: rows", "None or ")
    array = _registered()
    length = a.shape[0] if rows is None else rows
    starts = range(0, max(a.shape[0], 1), max(length, 1))
    parts = [a[i : i + length] for i in starts]
    name = f"mdqr-{uuid.uuid4().hex}"
    ends = (0,) * (a.ndim - 1)
    graph = {(name, i, *ends): part for i, part in enumerate(parts)}
    lengths = (tuple(part.shape[0] for part in parts), *((n,) for n in a.shape[1:]))
    return array.Array(graph, name, lengths, meta=_meta(a.ndim, a.is_complex))


def as_blocks(calls: list[tuple[Any, ...]], form: Form) -> Any:
    """Return the Dask array of matrices of unknown length that calls return."""
    dask, array = imported("dask"), _registered()
    meta = _meta(2, form.is_complex)
    parts = [
        array.from_delayed(
            dask.delayed(function, pure=False)(*rest), shape=(np.nan, form.n), meta=meta
        )
        for function, *rest in calls
    ]
    return array.concatenate(parts, allow_unknown_chunksizes=True)


def _registered() -> Any:
    """Return `dask.array`, which lets arrays of mdqr be blocks."""
    array = imported("dask.array")
    array.register_chunk_type(MDArray)
    return array


def _meta(ndim: int, is_complex: bool) -> np.ndarray:
    return np.empty((0,) * ndim, dtype=complex if is_complex else float)
