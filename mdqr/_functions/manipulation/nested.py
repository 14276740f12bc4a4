"""Joining nested lists of arrays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from mdqr._core.promotion import promote
from mdqr._errors import advised
from mdqr._functions.sequences import concatenate

if TYPE_CHECKING:
    from mdqr._array.array import MDArray


@advised
def block(arrays: Any, /) -> MDArray:
    """Join nested lists of arrays: inner lists along the last axis, outer ones along those before.

    Parameters
    ----------
    arrays : nested list of array_like
        At least one an `MDArray`; lists are nested equally deep. Arrays of fewer axes than the
        result get axes of length 1 in front.

    Returns
    -------
    MDArray
        A new array.

    Raises
    ------
    ValueError
        If lists are empty or not equally deep, or shapes do not fit.
    TypeError
        If none is an `MDArray`.

    Examples
    --------
    >>> import mdqr
    >>> a = mdqr.eye(2, precision=mdqr.qd)
    >>> mdqr.block([[a, 2 * a], [3 * a, 4 * a]]).shape
    (4, 4)
    """
    depth = _depth(arrays)
    ops = promote(*_leaves(arrays))
    leaves = [ops.wrap(x) for x in ops.full_blocks()]
    ndim = max(depth, *(x.ndim for x in leaves), 0)
    found = _joined(arrays, iter(leaves), ndim, ndim - depth)
    return found if depth else found.copy()


def _depth(arrays: Any) -> int:
    """Return the depth of nested lists."""
    if not isinstance(arrays, list):
        return 0
    depths = {_depth(x) for x in arrays}
    if len(depths) != 1:
        raise ValueError("block needs lists that are equally deep and not empty")
    return 1 + depths.pop()


def _leaves(arrays: Any) -> Iterator[Any]:
    if not isinstance(arrays, list):
        yield arrays
        return
    for item in arrays:
        yield from _leaves(item)


def _joined(arrays: Any, leaves: Iterator[MDArray], ndim: int, axis: int) -> MDArray:
    """Join a list along an axis, and its lists along those behind it."""
    if not isinstance(arrays, list):
        x = next(leaves)
        return x.reshape((1,) * (ndim - x.ndim) + x.shape)
    return concatenate([_joined(item, leaves, ndim, axis + 1) for item in arrays], axis)
