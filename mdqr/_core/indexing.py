"""Indexing and assignment with NumPy's rules, plane by plane.

A key is never applied with the limb axis in front of it: NumPy would move that axis when advanced
indices stand apart from each other.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mdqr._core.base import ArrayBase
from mdqr._errors import shown
from mdqr._limbs import planes as _limbs
from mdqr._limbs.device import is_cuda_array, place_on_device_of
from mdqr._limbs.planes import Block

Key = Any


def get(block: Block, is_complex: bool, key: Key) -> Block:
    """Return the block of the selected values.

    Parameters
    ----------
    block : Block
        The values.
    is_complex : bool
        Whether `block` holds complex values.
    key : object
        What stands between the brackets.

    Returns
    -------
    Block
        A view where NumPy gives a view of an array; a copy for advanced indices, and for a key of
        integers that selects one value, so that ``a[0], a[1] = a[1], a[0]`` swaps.

    Raises
    ------
    IndexError
        As NumPy: out of bounds, too many indices, not an index.
    """
    if isinstance(block, np.ndarray) and _are_integers(key):
        try:
            found = block[_behind(is_complex, key)]
        except IndexError:  # it names an axis of the block
            pass
        else:
            return found.copy() if found.ndim == _limbs.lead(is_complex) else found
    key = _checked(block, key)
    planes = _limbs.flat_planes(block, is_complex)
    first = planes[0][key]
    xp = _limbs.namespace(block)
    # CuPy gives a view where NumPy gives a scalar.
    if (first.ndim or _has_ellipsis(key)) and xp.may_share_memory(first, planes[0]):
        return block[_behind(is_complex, key)]
    selected = xp.empty((*block.shape[: _limbs.lead(is_complex)], *first.shape))
    for source, target in zip(planes, _limbs.flat_planes(selected, is_complex), strict=True):
        target[...] = source[key]
    return selected


def put(block: Block, is_complex: bool, key: Key, value: Block) -> None:
    """Assign `value`, a block of the same field with at most as many limbs.

    Raises
    ------
    IndexError
        As NumPy: out of bounds, too many indices, not an index.
    ValueError
        If the shape of `value` does not broadcast to the selection, or `block` is read-only.
    """
    key = _checked(block, key)
    # NumPy looks after overlaps itself, CuPy does not.
    if _limbs.namespace(block).may_share_memory(block, value):
        value = value.copy()
    for target, source in zip(block, value, strict=True) if is_complex else [(block, value)]:
        for i in range(target.shape[0]):
            target[i, ...][key] = source[i] if i < source.shape[0] else 0.0


def _behind(is_complex: bool, key: Key) -> tuple[Any, ...]:
    """Return `key` behind full slices for the limb axes."""
    return (slice(None),) * _limbs.lead(is_complex) + (key if isinstance(key, tuple) else (key,))


def _are_integers(key: Key) -> bool:
    return type(key) is int or (type(key) is tuple and all(type(part) is int for part in key))


def _has_ellipsis(key: Key) -> bool:
    return key is Ellipsis or (isinstance(key, tuple) and any(part is Ellipsis for part in key))


def _checked(block: Block, key: Key) -> Key:
    """Return `key` with its arrays on the device of `block`; raise if a part is not an index."""
    parts = key if isinstance(key, tuple) else (key,)
    for part in parts:
        if isinstance(part, ArrayBase) and part.ndim:
            raise IndexError(
                "an MDArray holds no indices; use integers, slices, ..., None, or integer or "
                "boolean NumPy arrays, such as the result of a comparison"
            )
        if isinstance(part, (str, bytes, float, complex)) and not isinstance(part, np.generic):
            raise IndexError(
                f"{shown(part)} is not an index; use integers, slices, ..., None, or integer or "
                "boolean NumPy arrays"
            )
    if isinstance(block, np.ndarray):
        if any(is_cuda_array(part) for part in parts):
            raise ValueError(
                "the array lives on the CPU and an index on a GPU; "
                'move one: index.get(), or a.to_device("cuda")'
            )
        return key
    placed = tuple(_placed(block, part) for part in parts)
    return placed if isinstance(key, tuple) else placed[0]


def _placed(block: Block, part: Any) -> Any:
    """Return one part of a key for a CuPy array, which takes no NumPy arrays and no lists."""
    if isinstance(part, (list, np.ndarray)):
        array = np.asarray(part)
        index = array.astype(np.intp) if array.size == 0 and array.dtype.kind == "f" else array
        return place_on_device_of(index, block)
    return part
