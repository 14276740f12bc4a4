"""Sets of two arrays, and orders by several keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mdqr._core.promotion import promote
from mdqr._core.with_precision import with_precision
from mdqr._docstrings import documented
from mdqr._functions.manipulation.axes import along, moveaxis
from mdqr._functions.ordering.order import sorting_places
from mdqr._functions.ordering.sets import isin, unique
from mdqr._functions.ordering.sorting import sort
from mdqr._functions.sequences import concatenate
from mdqr._limbs import planes

if TYPE_CHECKING:
    from mdqr._array.array import MDArray
    from mdqr._typing import Places, PrecisionLike


@with_precision
def union1d(ar1: Any, ar2: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return the distinct values of two arrays in order.

    Parameters
    ----------
    ar1, ar2 : MDArray or array_like
        The values, flattened; compared exactly.

    Returns
    -------
    MDArray
        A vector of the higher precision.

    Raises
    ------
    TypeError
        If neither is an `MDArray` and `precision` is missing.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.union1d(mdqr.array([3, 1], precision=mdqr.qd), [1, 2]).to_numpy()
    array([1., 2., 3.])
    """
    values: MDArray = unique(concatenate(_flat(ar1, ar2)))
    return values


@with_precision
@documented(union1d)
def intersect1d(
    ar1: Any,
    ar2: Any,
    /,
    *,
    return_indices: bool = False,
    precision: PrecisionLike | None = None,
) -> Any:
    """Return the values that are in both of two arrays, in order.

    Parameters
    ----------
    return_indices : bool, optional
        True to return the places of the first ones in `ar1` and in `ar2`, too.

    Returns
    -------
    MDArray or tuple
        A vector, and two arrays of integers where they are asked for. NaN is in no intersection.

    >>> mdqr.intersect1d(mdqr.array([3, 1, 3], precision=mdqr.qd), [3, 2]).to_numpy()
    array([3.])
    """
    first, second = (unique(x, return_index=True) for x in _flat(ar1, ar2))
    kept, others = isin(first[0], second[0]), isin(second[0], first[0])
    values = first[0][kept]
    return (values, first[1][kept], second[1][others]) if return_indices else values


@with_precision
@documented(union1d)
def setdiff1d(ar1: Any, ar2: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return the distinct values of the first array that are not in the second, in order.

    >>> mdqr.setdiff1d(mdqr.array([3, 1, 3], precision=mdqr.qd), [3, 2]).to_numpy()
    array([1.])
    """
    first, second = _flat(ar1, ar2)
    values: MDArray = unique(first)
    return values[isin(values, second, invert=True)]


@with_precision
@documented(union1d)
def setxor1d(ar1: Any, ar2: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return the distinct values that are in one of two arrays only, in order.

    >>> mdqr.setxor1d(mdqr.array([3, 1, 3], precision=mdqr.qd), [3, 2]).to_numpy()
    array([1., 2.])
    """
    first, second = _flat(ar1, ar2)
    return sort(concatenate([setdiff1d(first, second), setdiff1d(second, first)]))


def lexsort(keys: Sequence[Any], /, axis: int = -1) -> Places:
    """Return the places that sort by several keys, the last key first.

    Parameters
    ----------
    keys : sequence of array_like, or MDArray
        Arrays of one shape, at least one an `MDArray`; of an array the first axis.
    axis : int, optional
        The axis of the keys along which to sort.

    Returns
    -------
    numpy.ndarray
        Integers of the shape of a key; of CuPy on a GPU. Values equal in all keys keep their order.

    Raises
    ------
    TypeError
        If `keys` is empty, or without an `MDArray`.
    ValueError
        If shapes differ, or the axis does not exist.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.lexsort([mdqr.array([2, 1, 1], precision=mdqr.qd), [0, 1, 0]])
    array([2, 0, 1])
    """
    given = list(keys)
    if not given:
        raise TypeError("lexsort needs at least one key")
    ops = promote(*given)
    blocks = ops.full_blocks()
    if len({block.shape for block in blocks}) > 1:
        raise ValueError(f"keys of lexsort have one shape; got {[x.shape[1:] for x in blocks]}")
    xp = planes.namespace(blocks[0])
    places: Any = None
    for block in blocks:
        key, place = along(ops.wrap(block), axis if len(ops.shape) else None)
        rows = moveaxis(key, place, -1)._block
        if places is None:
            places = sorting_places(rows, ops.is_complex)
            continue
        lead = (None,) * planes.lead(ops.is_complex)
        ordered = xp.take_along_axis(rows, xp.broadcast_to(places[lead], rows.shape), -1)
        places = xp.take_along_axis(places, sorting_places(ordered, ops.is_complex), -1)
    found: Places = xp.moveaxis(places, -1, place)
    return found if len(ops.shape) else found[0]


def _flat(ar1: Any, ar2: Any) -> list[MDArray]:
    ops = promote(ar1, ar2)
    return [ops.wrap(block).ravel() for block in ops.full_blocks()]
