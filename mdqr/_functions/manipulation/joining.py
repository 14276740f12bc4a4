"""Joining arrays, and repeating their values."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from mdqr._core.promotion import common_shape, promote
from mdqr._docstrings import documented
from mdqr._errors import advised, shown
from mdqr._functions.manipulation.axes import along, operand
from mdqr._functions.manipulation.shapes import atleast_3d
from mdqr._functions.sequences import concatenate
from mdqr._limbs import planes
from mdqr._limbs.device import is_cuda_array

if TYPE_CHECKING:
    from mdqr._array.array import MDArray


@documented(concatenate)
def vstack(tup: Sequence[Any], /) -> MDArray:
    """Join arrays along the first axis; vectors are rows.

    Parameters
    ----------
    tup : sequence of array_like
        At least one an `MDArray`; the highest precision wins.

    >>> mdqr.vstack([mdqr.ones(3, precision=mdqr.qd), [1.0, 2.0, 3.0]]).shape
    (2, 3)
    """
    return concatenate(
        [_padded(x, lambda shape: (1,) * (2 - len(shape)) + shape) for x in parts(tup)]
    )


@documented(vstack)
def hstack(tup: Sequence[Any], /) -> MDArray:
    """Join arrays along the second axis, vectors along the first.

    >>> mdqr.hstack([mdqr.ones(3, precision=mdqr.qd), [2.0]]).shape
    (4,)
    """
    arrays = [_padded(x, lambda shape: shape or (1,)) for x in parts(tup)]
    return concatenate(arrays, 0 if arrays[0].ndim == 1 else 1)


@documented(vstack)
def column_stack(tup: Sequence[Any], /) -> MDArray:
    """Join vectors as the columns of a matrix, and matrices next to each other.

    >>> x = mdqr.arange(3, precision=mdqr.qd)
    >>> mdqr.column_stack([x**0, x, x**2]).to_numpy()
    array([[1., 0., 0.],
           [1., 1., 1.],
           [1., 2., 4.]])
    """
    return concatenate(
        [
            _padded(x, lambda s: s if len(s) > 1 else (*s, 1)[-2:] if s else (1, 1))
            for x in parts(tup)
        ],
        1,
    )


@documented(vstack)
def dstack(tup: Sequence[Any], /) -> MDArray:
    """Join arrays along the third axis; vectors and matrices get one of length 1.

    >>> import numpy as np
    >>> import mdqr
    >>> mdqr.dstack([mdqr.ones((2, 3), precision=mdqr.qd), np.ones((2, 3))]).shape
    (2, 3, 2)
    """
    return concatenate([atleast_3d(x) for x in parts(tup)], 2)


@documented(concatenate)
def append(arr: Any, values: Any, /, axis: int | None = None) -> MDArray:
    """Return an array with values appended.

    Parameters
    ----------
    arr, values : MDArray or array_like
        At least one an `MDArray`.
    axis : int, optional
        The axis; by default both are flattened.

    >>> mdqr.append(mdqr.ones(2, precision=mdqr.qd), 3.0).to_numpy()
    array([1., 1., 3.])
    """
    return concatenate([arr, values], axis)


def meshgrid(
    *xi: Any, copy: bool = True, sparse: bool = False, indexing: Literal["xy", "ij"] = "xy"
) -> tuple[MDArray, ...]:
    """Return arrays of coordinates, one for each vector.

    Parameters
    ----------
    *xi : MDArray or array_like
        Vectors, or 0-d; at least one an `MDArray`.
    copy : bool, optional
        Whether the arrays are copies, not read-only views.
    sparse : bool, optional
        Whether axes along which nothing changes have length 1.
    indexing : {"xy", "ij"}, optional
        "xy": the first vector runs along the second axis, as in a plot. "ij": along the first.

    Returns
    -------
    tuple of MDArray
        As many as vectors.

    Raises
    ------
    ValueError
        If a vector has two axes, or `indexing` is neither.

    Examples
    --------
    >>> import mdqr
    >>> x, y = mdqr.meshgrid(mdqr.arange(2, precision=mdqr.qd), [1.0, 2.0, 3.0])
    >>> x.shape, y.shape
    ((3, 2), (3, 2))
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f'indexing is "xy" or "ij"; got {shown(indexing)}')
    ops = promote(*xi)
    vectors = [ops.wrap(block) for block in ops.full_blocks()]
    is_complex = [getattr(x, "is_complex", np.iscomplexobj(x)) for x in xi]
    vectors = [x if z else x.real for x, z in zip(vectors, is_complex, strict=True)]
    if any(x.ndim > 1 for x in vectors):
        raise ValueError(f"meshgrid needs vectors; got shapes {[x.shape for x in vectors]}")
    count = len(vectors)
    places = list(range(count))
    if indexing == "xy":
        places[:2] = places[:2][::-1]
    grids = [
        x.reshape([x.size if axis == place else 1 for axis in range(count)])
        for x, place in zip(vectors, places, strict=True)
    ]
    if not sparse:
        shape = common_shape([x.shape for x in grids])
        grids = [x._like(planes.broadcast(x._block, x.is_complex, shape)) for x in grids]
    return tuple(x.copy() for x in grids) if copy else tuple(grids)


@advised
def repeat(a: Any, /, repeats: Any, axis: int | None = None) -> MDArray:
    """Return every value several times, the copies next to each other.

    Parameters
    ----------
    a : MDArray
        The values.
    repeats : int or array_like of int
        How often; one number, or one for each place along the axis.
    axis : int, optional
        The axis; by default `a` is flattened.

    Returns
    -------
    MDArray
        A new array.

    Raises
    ------
    ValueError
        If the axis does not exist, or the numbers do not fit its length or are negative.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.repeat(mdqr.arange(3, precision=mdqr.qd), [1, 0, 2]).to_numpy()
    array([0., 2., 2.])
    """
    given, place = along(operand(a), axis)
    counts = repeats.get() if is_cuda_array(repeats) else np.asarray(repeats)
    index = np.repeat(np.arange(given.shape[place]), counts)
    return given[(slice(None),) * place + (index, ...)]


def tile(A: Any, /, reps: Any) -> MDArray:
    """Return copies of an array side by side.

    Parameters
    ----------
    A : MDArray
        The values.
    reps : int or sequence of int
        How often along each axis, the last ones if the numbers are fewer than the axes.

    Returns
    -------
    MDArray
        A new array.

    Raises
    ------
    ValueError
        If a number is negative.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.tile(mdqr.arange(2, precision=mdqr.qd), (2, 2)).to_numpy()
    array([[0., 1., 0., 1.],
           [0., 1., 0., 1.]])
    """
    given = operand(A)
    counts = [operator.index(n) for n in reps] if np.ndim(reps) else [operator.index(reps)]
    ndim = max(len(counts), given.ndim)
    counts = [1] * (ndim - len(counts)) + counts
    shape = (1,) * (ndim - given.ndim) + given.shape
    paired = [n for pair in zip([1] * ndim, shape, strict=True) for n in pair]
    spread = [n for pair in zip(counts, shape, strict=True) for n in pair]
    if min(counts, default=0) < 0:
        raise ValueError(f"the numbers of copies must not be negative; got {reps}")
    block = planes.broadcast(given.reshape(paired)._block, given.is_complex, tuple(spread))
    return given._like(block).reshape([m * n for m, n in zip(counts, shape, strict=True)]).copy()


def parts(arrays: Any) -> list[MDArray]:
    """Return the operands of one list, of one precision and on one device.

    Raises
    ------
    TypeError
        If none is an `MDArray`.
    ValueError
        If there are none.
    """
    given = list(arrays)
    if not given:
        raise ValueError("there is nothing to join; at least one array is needed")
    ops = promote(*given)
    return [ops.wrap(block) for block in ops.full_blocks()]


def _padded(x: MDArray, wanted: Any) -> MDArray:
    return x.reshape(wanted(x.shape))
