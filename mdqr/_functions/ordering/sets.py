"""The distinct values of an array."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mdqr._core.promotion import promote
from mdqr._core.with_precision import with_precision
from mdqr._docstrings import documented
from mdqr._functions import comparison
from mdqr._functions.manipulation.axes import operand
from mdqr._functions.ordering.order import order_of, sorting_places
from mdqr._functions.ordering.sorting import searchsorted, sort
from mdqr._limbs import planes
from mdqr._pickles import pickled_fields

if TYPE_CHECKING:
    from mdqr._array.array import MDArray
    from mdqr._typing import Mask, PrecisionLike


@pickled_fields
class UniqueAllResult(NamedTuple):
    """Distinct values, the places of the first ones, which each value is, and how often."""

    values: MDArray
    indices: Any
    inverse_indices: Any
    counts: Any


@pickled_fields
class UniqueCountsResult(NamedTuple):
    """Distinct values, and how often each is there."""

    values: MDArray
    counts: Any


@pickled_fields
class UniqueInverseResult(NamedTuple):
    """Distinct values, and which of them each value is."""

    values: MDArray
    inverse_indices: Any


@with_precision
def unique_all(x: Any, /, *, precision: PrecisionLike | None = None) -> UniqueAllResult:
    """Return the distinct values in order, where they are, and how often.

    Parameters
    ----------
    x : MDArray or array_like
        The values. Every NaN counts as a value of its own, 0 and -0 as one.

    Returns
    -------
    values : MDArray
        A vector.
    indices : numpy.ndarray
        The place of the first one of each in the flattened array.
    inverse_indices : numpy.ndarray
        Of the shape of `x`: the place in `values` of each value.
    counts : numpy.ndarray
        How often each is there.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.unique_all(mdqr.array([3, 1, 3], precision=mdqr.qd)).counts
    array([1, 2])
    """
    return _unique(operand(x), equal_nan=False)


@with_precision
@documented(unique_all)
def unique_counts(x: Any, /, *, precision: PrecisionLike | None = None) -> UniqueCountsResult:
    """Return the distinct values in order, and how often each is there.

    Returns
    -------
    values : MDArray
        A vector.
    counts : numpy.ndarray
        How often each is there.

    >>> mdqr.unique_counts(mdqr.array([3, 1, 3], precision=mdqr.qd)).counts
    array([1, 2])
    """
    found = unique_all(x)
    return UniqueCountsResult(found.values, found.counts)


@with_precision
@documented(unique_all)
def unique_inverse(x: Any, /, *, precision: PrecisionLike | None = None) -> UniqueInverseResult:
    """Return the distinct values in order, and which of them each value is.

    Returns
    -------
    values : MDArray
        A vector.
    inverse_indices : numpy.ndarray
        Of the shape of `x`: the place in `values` of each value.

    >>> mdqr.unique_inverse(mdqr.array([3, 1, 3], precision=mdqr.qd)).inverse_indices
    array([1, 0, 1])
    """
    found = unique_all(x)
    return UniqueInverseResult(found.values, found.inverse_indices)


@with_precision
@documented(unique_all)
def unique_values(x: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return the distinct values in order.

    Returns
    -------
    MDArray
        A vector.

    >>> mdqr.unique_values(mdqr.array([3, 1, 3], precision=mdqr.qd)).to_numpy()
    array([1., 3.])
    """
    return unique_all(x).values


@with_precision
def unique(
    ar: Any,
    /,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    *,
    equal_nan: bool = True,
    precision: PrecisionLike | None = None,
) -> Any:
    """Return the distinct values in order.

    Parameters
    ----------
    ar : MDArray or array_like
        The values, flattened.
    return_index, return_inverse, return_counts : bool, optional
        Whether to return the places of the first ones, which of them each value is, and how often
        each is there, as `mdqr.unique_all` does.
    equal_nan : bool, optional
        Whether all NaN count as one value.

    Returns
    -------
    MDArray or tuple
        The values, or a tuple of them and the other requested arrays.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.unique(mdqr.array([3, 1, 3], precision=mdqr.qd)).to_numpy()
    array([1., 3.])
    """
    found = _unique(operand(ar), equal_nan=equal_nan)
    chosen = zip(found[1:], (return_index, return_inverse, return_counts), strict=True)
    result = (found.values, *(part for part, wanted in chosen if wanted))
    return result if len(result) > 1 else found.values


def _unique(x: MDArray, *, equal_nan: bool) -> UniqueAllResult:
    flat = x.ravel()
    xp = planes.namespace(flat._block)
    places = sorting_places(flat._block, flat.is_complex)
    ordered = flat[places]
    block = ordered._block
    first = xp.ones(flat.size, dtype=bool)
    if flat.size > 1:
        changes = order_of(block[..., 1:], block[..., :-1], flat.is_complex) != 0
        leading = block[:, 0] if flat.is_complex else block[:1]
        nan = xp.isnan(leading).any(axis=0)[1:]
        first[1:] = changes | nan
        if equal_nan:
            first[1:] = xp.where(nan, ~xp.isnan(leading).any(axis=0)[:-1], first[1:])
    inverse = xp.empty(flat.size, dtype=np.int64)
    inverse[places] = xp.cumsum(first) - 1
    starts = xp.flatnonzero(first)
    ends = xp.concatenate([starts[1:], xp.full(1, flat.size)[: flat.size or 0]])[: starts.size]
    return UniqueAllResult(ordered[first], places[starts], inverse.reshape(x.shape), ends - starts)


@with_precision
def isin(
    element: Any,
    test_elements: Any,
    /,
    *,
    invert: bool = False,
    precision: PrecisionLike | None = None,
) -> Mask:
    """Return a mask of the values that are among others.

    Parameters
    ----------
    element, test_elements : MDArray or array_like
        The values, and those to look for.
    invert : bool, optional
        Whether to return which are not.

    Returns
    -------
    numpy.ndarray or numpy.bool
        Of the shape of `element`; of CuPy on a GPU. NaN is among no others.

    Raises
    ------
    TypeError
        If neither is an `MDArray` and `precision` is missing.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.isin(mdqr.array([1, 2, 3], precision=mdqr.qd), [3, 1])
    array([ True, False,  True])
    """
    ops = promote(element, test_elements)
    values, known = (ops.wrap(block) for block in ops.full_blocks())
    xp = planes.namespace(values._block)
    if not known.size:
        return xp.full(values.shape, invert)[()]
    ordered = sort(known, None)
    places = xp.minimum(xp.asarray(searchsorted(ordered, values)), known.size - 1)
    found = comparison.equal(ordered[places], values)
    return (found ^ invert)[()]
