"""Taking arrays apart along an axis, in views."""

from __future__ import annotations

import operator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from mdqr._core.axes import counted_axis
from mdqr._docstrings import documented
from mdqr._functions.manipulation.axes import operand, with_axes

if TYPE_CHECKING:
    from mdqr._array.array import MDArray


def unstack(x: Any, /, *, axis: int = 0) -> tuple[MDArray, ...]:
    """Return the arrays that `mdqr.stack` would join to `x`.

    Parameters
    ----------
    x : MDArray
        At least one axis.
    axis : int, optional
        The axis along which to take it apart.

    Returns
    -------
    tuple of MDArray
        Views.

    Raises
    ------
    AxisError
        If the axis does not exist.

    Examples
    --------
    >>> import mdqr
    >>> [part.shape for part in mdqr.unstack(mdqr.zeros((2, 3), precision=mdqr.qd), axis=1)]
    [(2,), (2,), (2,)]
    """
    given = operand(x)
    key = (slice(None),) * counted_axis(axis, given.ndim)
    return tuple(given[(*key, i, ...)] for i in range(given.shape[len(key)]))


def split(ary: Any, /, indices_or_sections: Any, axis: int = 0) -> list[MDArray]:
    """Return consecutive parts of an array.

    Parameters
    ----------
    ary : MDArray
        The values.
    indices_or_sections : int or sequence of int
        Into how many equal parts, or before which places.
    axis : int, optional
        The axis.

    Returns
    -------
    list of MDArray
        Views.

    Raises
    ------
    ValueError
        If the length is not a multiple of the number of parts, or the axis does not exist.

    Examples
    --------
    >>> import mdqr
    >>> [len(part) for part in mdqr.split(mdqr.arange(5, precision=mdqr.qd), [2, 3])]
    [2, 1, 2]
    """
    given = operand(ary)
    length = given.shape[counted_axis(axis, given.ndim)]
    if not np.ndim(indices_or_sections):
        sections = operator.index(indices_or_sections)
        if sections < 1 or length % sections:
            raise ValueError(f"{length} values cannot be split into {sections} equal parts")
    return array_split(given, indices_or_sections, axis)


@documented(split)
def array_split(ary: Any, /, indices_or_sections: Any, axis: int = 0) -> list[MDArray]:
    """Return consecutive parts of an array, which may differ in length by one.

    Parameters
    ----------
    indices_or_sections : int or sequence of int
        Into how many parts, the longer ones first, or before which places.

    Raises
    ------
    ValueError
        If the number of parts is not positive, or the axis does not exist.

    >>> [len(part) for part in mdqr.array_split(mdqr.arange(5, precision=mdqr.qd), 3)]
    [2, 2, 1]
    """
    given = operand(ary)
    place = counted_axis(axis, given.ndim)
    length = given.shape[place]
    if np.ndim(indices_or_sections):
        bounds = [0, *map(operator.index, indices_or_sections), length]
    else:
        sections = operator.index(indices_or_sections)
        if sections < 1:
            raise ValueError(f"an array is split into one part or more; got {sections}")
        short, longer = divmod(length, sections)
        bounds = [short * i + min(i, longer) for i in range(sections + 1)]
    key = (slice(None),) * place
    return [given[(*key, slice(start, stop), ...)] for start, stop in pairwise(bounds)]


@documented(split)
def hsplit(ary: Any, /, indices_or_sections: Any) -> list[MDArray]:
    """Return consecutive parts along the second axis, of vectors along the first.

    >>> [part.shape for part in mdqr.hsplit(mdqr.eye(4, precision=mdqr.qd), 2)]
    [(4, 2), (4, 2)]
    """
    given = with_axes("hsplit", ary, 1)
    return split(given, indices_or_sections, 1 if given.ndim > 1 else 0)


@documented(split)
def vsplit(ary: Any, /, indices_or_sections: Any) -> list[MDArray]:
    """Return consecutive parts along the first axis of at least two.

    >>> [part.shape for part in mdqr.vsplit(mdqr.eye(4, precision=mdqr.qd), [1])]
    [(1, 4), (3, 4)]
    """
    return split(with_axes("vsplit", ary, 2), indices_or_sections, 0)


@documented(split)
def dsplit(ary: Any, /, indices_or_sections: Any) -> list[MDArray]:
    """Return consecutive parts along the third axis.

    >>> [part.shape for part in mdqr.dsplit(mdqr.zeros((2, 3, 4), precision=mdqr.qd), 2)]
    [(2, 3, 2), (2, 3, 2)]
    """
    return split(with_axes("dsplit", ary, 3), indices_or_sections, 2)
