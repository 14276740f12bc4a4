"""The total order of values: exact, NaN last as in NumPy, complex values lexicographic."""

from __future__ import annotations

from typing import Any

import numpy as np

from mdqr._backend import for_block
from mdqr._limbs import planes
from mdqr._limbs.planes import Block, Kind

_UNORDERED = 2


def order_of(x: Block, y: Block, is_complex: bool) -> Any:
    """Return int8 -1, 0 or 1 by the order of values of one shape; the limb counts may differ.

    Complex values with a NaN come last: those with one in the imaginary part, then in the real
    part, then in both.
    """
    if not is_complex:
        return _real_order(x, y)
    xp = planes.namespace(x)
    ranks = xp.sign(_nan_rank(x) - _nan_rank(y)).astype(np.int8)
    real, imag = _real_order(x[0], y[0]), _real_order(x[1], y[1])
    return xp.where(ranks != 0, ranks, xp.where(real != 0, real, imag))


def sorting_places(rows: Block, is_complex: bool) -> Any:
    """Return the int64 places that sort values along the last axis; equal ones keep their order.

    Sorted by the bits of limbs that are rounded to the greedy form, which order as the values do
    where they differ; then what the exact comparison of neighbours finds wrong is mended, since
    the greedy limbs of two values may be the same.
    """
    xp = planes.namespace(rows)
    shape = planes.value_shape(rows, is_complex)
    if rows.size == 0 or shape[-1] < 2:
        return xp.broadcast_to(xp.arange(shape[-1]), shape).copy()
    flat = rows.reshape(*rows.shape[: planes.lead(is_complex)], -1, shape[-1])
    places = _by_keys(xp, _keys(flat, is_complex))
    if planes.limb_count(rows, is_complex) > 1:
        _mend(xp, flat, places, is_complex)
    return places.reshape(shape)


def gathered(rows: Block, places: Any) -> Block:
    """Return the values of rows ``(..., count, n)`` at places ``(count, k)`` of the last axis."""
    xp = planes.namespace(rows)
    return rows[..., xp.arange(places.shape[0])[:, None], places]


def _real_order(x: Block, y: Block) -> Any:
    xp = planes.namespace(x)
    order = for_block(x).compare(x, y)
    unordered = order == _UNORDERED
    if not unordered.any():
        return order
    ranks = xp.isnan(x[0]).astype(np.int8) - xp.isnan(y[0]).astype(np.int8)
    return xp.where(unordered, ranks, order)


def _nan_rank(block: Block) -> Any:
    xp = planes.namespace(block)
    return 2 * xp.isnan(block[0, 0]).astype(np.int8) + xp.isnan(block[1, 0]).astype(np.int8)


def _keys(flat: Block, is_complex: bool) -> list[Any]:
    """Return integers whose lexicographic order is that of the values, the first one decisive."""
    if not is_complex:
        return _real_keys(flat)
    rank = _nan_rank(flat)
    return [rank] * bool(rank.any()) + [key for part in flat for key in _real_keys(part)]


def _real_keys(part: Block) -> list[Any]:
    xp = planes.namespace(part)
    limbs = part.shape[0]
    if limbs > 1:
        greedy = for_block(part).unary("renormalize", part, kind=Kind(limbs, False))
        # Sums with infinity and NaN are no values.
        part = xp.where(xp.isfinite(part[0]), greedy, part)
    keys = []
    for plane in part:
        bits = xp.where(xp.isnan(plane), xp.nan, plane + 0.0).view(np.int64)
        bits = xp.where(xp.isnan(plane), np.iinfo(np.int64).max, bits)
        keys.append(xp.where(bits < 0, ~bits | np.iinfo(np.int64).min, bits))
    while len(keys) > 1 and not keys[-1].any():
        keys.pop()
    return keys


def _by_keys(xp: Any, keys: list[Any]) -> Any:
    """Return the places that sort rows ``(count, n)`` by all keys."""
    count, length = keys[0].shape
    if xp is np and len(keys) == 1:
        return np.argsort(keys[0], axis=-1, kind="stable")
    rows = xp.broadcast_to(xp.arange(count)[:, None], (count, length))
    stacked = xp.stack([key.reshape(-1) for key in (*keys[::-1], rows)])
    return xp.lexsort(stacked).reshape(count, length) % length


def _mend(xp: Any, flat: Block, places: Any, is_complex: bool) -> None:
    """Swap neighbours that are out of order, until none are; in place."""
    odd, idle = 0, 0
    while idle < 2:
        left, right = places[:, odd:-1:2], places[:, odd + 1 :: 2]
        order = order_of(gathered(flat, left), gathered(flat, right), is_complex)
        wrong = (order > 0) | ((order == 0) & (left > right))
        idle = 0 if wrong.any() else idle + 1
        left[...], right[...] = xp.where(wrong, right, left), xp.where(wrong, left, right)
        odd = 1 - odd
