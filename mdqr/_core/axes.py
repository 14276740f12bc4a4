"""Axes as callers name them, counted from 0."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, SupportsIndex

import numpy as np

Axis = int | tuple[int, ...] | None


def counted_axis(axis: SupportsIndex, ndim: int) -> int:
    """Return the number of an axis, counted from 0.

    Raises
    ------
    AxisError
        If the axis does not exist.
    """
    index = operator.index(axis)
    if not -ndim <= index < ndim:
        raise np.exceptions.AxisError(index, ndim)
    return index % ndim


def counted_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """Return the numbers of one axis or several, of all axes for None.

    Raises
    ------
    AxisError
        If the axis does not exist.
    ValueError
        If an axis is named twice.
    """
    if axis is None:
        return tuple(range(ndim))
    named = axis if isinstance(axis, Sequence) else (axis,)
    counted = tuple(counted_axis(each, ndim) for each in named)
    if len(set(counted)) < len(counted):
        raise ValueError(f"an axis is named twice in {axis}")
    return counted


def is_only_axis(axis: Any, ndim: int) -> bool:
    """Return whether `axis` is what NumPy takes for the axis of a 0-d array."""
    return not ndim and isinstance(axis, SupportsIndex) and operator.index(axis) in (0, -1)
