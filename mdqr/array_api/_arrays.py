"""Manipulation, searching, sorting, sets and statistics, with the signatures of the array API."""

from __future__ import annotations

from typing import Any

import numpy as np

import mdqr
from mdqr._backend.blocks import broadcast_shapes as _broadcast_shapes
from mdqr._core.dtypes import DType
from mdqr.array_api import _dispatch as dispatch
from mdqr.array_api._dispatch import call
from mdqr.array_api._dtypes import astype, known

Axis = int | tuple[int, ...] | None

# -- manipulation --------------------------------------------------------------------------------


def broadcast_arrays(*arrays: Any) -> tuple[Any, ...]:
    """Return views of one shape; each keeps its dtype."""
    shape = broadcast_shapes(*(x.shape for x in arrays))
    return tuple(broadcast_to(x, shape) for x in arrays)


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape to which shapes broadcast."""
    return _broadcast_shapes(*(tuple(s) for s in shapes)) if shapes else ()


def broadcast_to(x: Any, /, shape: tuple[int, ...]) -> Any:
    """Return a read-only view of a shape."""
    return call(mdqr.broadcast_to, "broadcast_to", (x,), shape)


def concat(arrays: Any, /, *, axis: int | None = 0) -> Any:
    """Join arrays along an axis that they have."""
    return _joined(mdqr.concatenate, "concatenate", arrays, axis)


def stack(arrays: Any, /, *, axis: int = 0) -> Any:
    """Join arrays of one shape along a new axis."""
    return _joined(mdqr.stack, "stack", arrays, axis)


def _joined(ours: dispatch.Function, theirs: str, arrays: Any, axis: int | None) -> Any:
    given = list(arrays)
    if dispatch.any_floating(given):
        return ours(list(map(dispatch.floating, given)), axis)
    return getattr(dispatch.module_of(*given), theirs)(given, axis=axis)


def expand_dims(x: Any, /, axis: int | tuple[int, ...]) -> Any:
    """Return a view with new axes of length 1."""
    return call(mdqr.expand_dims, "expand_dims", (x,), axis)


def flip(x: Any, /, *, axis: Axis = None) -> Any:
    """Return a view in reversed order."""
    return call(mdqr.flip, "flip", (x,), axis)


def moveaxis(x: Any, source: Any, destination: Any, /) -> Any:
    """Return a view with axes moved to other places."""
    return call(mdqr.moveaxis, "moveaxis", (x,), source, destination)


def permute_dims(x: Any, /, axes: tuple[int, ...]) -> Any:
    """Return a view with permuted axes."""
    return call(mdqr.permute_dims, "transpose", (x,), axes)


def repeat(x: Any, repeats: Any, /, *, axis: int | None = None) -> Any:
    """Return every value several times."""
    return call(mdqr.repeat, "repeat", (x,), repeats, axis)


def reshape(x: Any, /, shape: tuple[int, ...], *, copy: bool | None = None) -> Any:
    """Return the values in another shape."""
    return call(mdqr.reshape, "reshape", (x,), shape, copy=copy)


def roll(x: Any, /, shift: Any, *, axis: Axis = None) -> Any:
    """Return the values shifted cyclically."""
    return call(mdqr.roll, "roll", (x,), shift, axis)


def squeeze(x: Any, /, axis: int | tuple[int, ...]) -> Any:
    """Return a view without axes of length 1."""
    return call(mdqr.squeeze, "squeeze", (x,), axis)


def tile(x: Any, repetitions: tuple[int, ...], /) -> Any:
    """Return copies of an array side by side."""
    return call(mdqr.tile, "tile", (x,), repetitions)


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    """Return the arrays that `stack` would join."""
    return tuple(call(mdqr.unstack, "unstack", (x,), axis=axis))


def matrix_transpose(x: Any, /) -> Any:
    """Return a view with the last two axes swapped."""
    return call(mdqr.matrix_transpose, "matrix_transpose", (x,))


# -- indexing, searching, sorting ----------------------------------------------------------------


def take(x: Any, indices: Any, /, *, axis: int | None = None) -> Any:
    """Return the values at places along one axis."""
    if axis is None and x.ndim != 1:
        raise ValueError(f"take of {x.ndim} axes needs to know which; give axis=")
    return call(mdqr.take, "take", (x,), indices, axis)


def take_along_axis(x: Any, indices: Any, /, *, axis: int = -1) -> Any:
    """Return values at places that are given for every row."""
    return call(mdqr.take_along_axis, "take_along_axis", (x,), indices, axis)


def argmax(x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> Any:
    """Return the places of the first largest values."""
    return dispatch.as_arrays(call(mdqr.argmax, "argmax", (x,), axis=axis, keepdims=keepdims))


def argmin(x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> Any:
    """Return the places of the first smallest values."""
    return dispatch.as_arrays(call(mdqr.argmin, "argmin", (x,), axis=axis, keepdims=keepdims))


def count_nonzero(x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> Any:
    """Return how many values are not zero."""
    found = call(mdqr.count_nonzero, "count_nonzero", (x,), axis=axis, keepdims=keepdims)
    return np.asarray(found) if isinstance(found, (int, np.generic)) else found


def nonzero(x: Any, /) -> tuple[Any, ...]:
    """Return the places of the values that are not zero."""
    if not x.ndim:
        raise ValueError("a 0-d array has no places")
    return tuple(call(mdqr.nonzero, "nonzero", (x,)))


def searchsorted(x1: Any, x2: Any, /, *, side: str = "left", sorter: Any = None) -> Any:
    """Return the places where values belong in a sorted vector."""
    found = call(mdqr.searchsorted, "searchsorted", (x1, x2), side=side, sorter=sorter)
    return dispatch.as_arrays(found)


def where(condition: Any, x1: Any, x2: Any, /) -> Any:
    """Return values of `x1` where the condition holds, else of `x2`."""
    values = (x1, x2)
    if dispatch.any_floating(values):
        return mdqr.where(condition, *map(dispatch.floating, values))
    dispatch.check("where", (*values, condition))
    return dispatch.as_arrays(dispatch.module_of(condition, *values).where(condition, *values))


def isin(x1: Any, x2: Any, /, *, invert: bool = False) -> Any:
    """Return which values are among others."""
    return dispatch.as_arrays(call(mdqr.isin, "isin", (x1, x2), invert=invert))


def argsort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """Return the places that sort an array; the sort is stable in any case."""
    if dispatch.is_floating(x):
        return mdqr.argsort(dispatch.floating(x), axis, descending=descending)
    return _integer_places(x, axis, descending)


def sort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """Return the values in order."""
    if dispatch.is_floating(x):
        return mdqr.sort(dispatch.floating(x), axis, descending=descending)
    ordered = dispatch.module_of(x).sort(x, axis=axis)
    return flip(ordered, axis=axis) if descending else ordered


def _integer_places(x: Any, axis: int, descending: bool) -> Any:
    module = dispatch.module_of(x)
    options = {"kind": "stable"} if module is np else {}
    if not descending:
        return module.argsort(x, axis=axis, **options)
    places = module.argsort(module.flip(x, axis=axis), axis=axis, **options)
    return module.flip(x.shape[axis] - 1 - places, axis=axis)


def unique_all(x: Any, /) -> Any:
    """Return the distinct values, where they are, and how often."""
    return call(mdqr.unique_all, "unique_all", (x,))


def unique_counts(x: Any, /) -> Any:
    """Return the distinct values, and how often each is there."""
    return call(mdqr.unique_counts, "unique_counts", (x,))


def unique_inverse(x: Any, /) -> Any:
    """Return the distinct values, and which of them each value is."""
    return call(mdqr.unique_inverse, "unique_inverse", (x,))


def unique_values(x: Any, /) -> Any:
    """Return the distinct values."""
    return call(mdqr.unique_values, "unique_values", (x,))


# -- statistics ----------------------------------------------------------------------------------


def sum(x: Any, /, *, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """Return the sum, of a dtype."""
    return _summed("sum", mdqr.sum, x, dtype, axis=axis, keepdims=keepdims)


def prod(x: Any, /, *, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """Return the product, of a dtype."""
    return _summed("prod", mdqr.prod, x, dtype, axis=axis, keepdims=keepdims)


def cumulative_sum(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    """Return the running sums, of a dtype."""
    options = {"axis": axis, "include_initial": include_initial}
    return _summed("cumulative_sum", mdqr.cumulative_sum, x, dtype, **options)


def cumulative_prod(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    """Return the running products, of a dtype."""
    options = {"axis": axis, "include_initial": include_initial}
    return _summed("cumulative_prod", mdqr.cumulative_prod, x, dtype, **options)


def _summed(name: str, ours: dispatch.Function, x: Any, dtype: Any, **options: Any) -> Any:
    given = x if dtype is None else astype(x, dtype, copy=False)
    if dtype is not None and not isinstance(known(dtype), DType):
        options["dtype"] = known(dtype)
    return call(ours, name, (given,), **options)


def max(x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> Any:
    """Return the largest value."""
    return call(mdqr.max, "max", (x,), axis=axis, keepdims=keepdims)


def min(x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> Any:
    """Return the smallest value."""
    return call(mdqr.min, "min", (x,), axis=axis, keepdims=keepdims)


def mean(x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> Any:
    """Return the arithmetic mean."""
    (given,) = dispatch.of_floats("mean", x)
    return mdqr.mean(given, axis=axis, keepdims=keepdims)


def std(x: Any, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    """Return the standard deviation."""
    options: Any = {"axis": axis, "correction": correction, "keepdims": keepdims}
    return mdqr.std(*dispatch.of_floats("std", x), **options)


def var(x: Any, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    """Return the variance."""
    options: Any = {"axis": axis, "correction": correction, "keepdims": keepdims}
    return mdqr.var(*dispatch.of_floats("var", x), **options)


def all(x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> Any:
    """Return whether no value is zero."""
    return dispatch.as_arrays(call(mdqr.all, "all", (x,), axis=axis, keepdims=keepdims))


def any(x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> Any:
    """Return whether any value is not zero."""
    return dispatch.as_arrays(call(mdqr.any, "any", (x,), axis=axis, keepdims=keepdims))


def diff(x: Any, /, *, axis: int = -1, n: int = 1, prepend: Any = None, append: Any = None) -> Any:
    """Return differences of neighbours."""
    ends = {k: v for k, v in (("prepend", prepend), ("append", append)) if v is not None}
    return call(mdqr.diff, "diff", (x,), n, axis, **ends)


def clip(x: Any, /, min: Any = None, max: Any = None) -> Any:
    """Return values, and the bounds where they lie beyond."""
    if dispatch.is_floating(x):
        return mdqr.clip(dispatch.floating(x), min=min, max=max)
    return dispatch.as_arrays(dispatch.module_of(x).clip(x, min, max).astype(x.dtype, copy=False))


# -- products ------------------------------------------------------------------------------------


def matmul(x1: Any, x2: Any, /) -> Any:
    """Return the product of matrices."""
    return call(mdqr.linalg.matmul, "matmul", (x1, x2))


def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
    """Return products summed over pairs of axes."""
    return call(mdqr.tensordot, "tensordot", (x1, x2), axes=axes)


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """Return the inner products of vectors."""
    return call(mdqr.vecdot, "vecdot", (x1, x2), axis=axis)
