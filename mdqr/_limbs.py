"""Limb planes by NumPy alone: shapes, broadcasting, widening, narrowing, signs.

Everything here is exact or correctly rounded and needs no kernel, so that creation, conversion and
indexing work without the compiled extension.
"""

from __future__ import annotations

from types import ModuleType
from typing import cast

import numpy as np

from mdqr._backend import for_block
from mdqr._backend.protocol import Block

_ONE_UNIT_UP = 1.0 + 2.0**-52


def namespace(block: Block) -> ModuleType:
    """Return numpy or cupy: the module of `block`."""
    return np if isinstance(block, np.ndarray) else for_block(block).xp


def lead(is_complex: bool) -> int:
    """Return the number of axes of a block before the axes of the values."""
    return 2 if is_complex else 1


def value_shape(block: Block, is_complex: bool) -> tuple[int, ...]:
    """Return the shape of the values that `block` holds."""
    return cast("tuple[int, ...]", block.shape[lead(is_complex) :])


def limb_count(block: Block, is_complex: bool) -> int:
    """Return the number of limbs of every value of `block`."""
    return cast(int, block.shape[lead(is_complex) - 1])


def broadcast(block: Block, is_complex: bool, shape: tuple[int, ...]) -> Block:
    """Return a view of `block` whose values have `shape`; the caller knows that they fit."""
    front = lead(is_complex)
    if block.shape[front:] == shape:
        return block
    missing = len(shape) - (block.ndim - front)
    spread = block[(slice(None),) * front + (None,) * missing]
    return namespace(block).broadcast_to(spread, block.shape[:front] + shape)


def is_writeable(block: Block) -> bool:
    """Return whether values can be assigned to `block`."""
    return not isinstance(block, np.ndarray) or block.flags.writeable


def has_whole_strides(block: np.ndarray) -> bool:
    """Return whether the doubles lie at multiples of 8 bytes, as kernels want them."""
    return block.flags.aligned and not any(stride % block.itemsize for stride in block.strides)


def flat_planes(block: Block, is_complex: bool) -> list[Block]:
    """Return the planes of `block` as views, real limbs first."""
    parts = block if is_complex else [block]
    return [part[i, ...] for part in parts for i in range(part.shape[0])]


def widen(block: Block, is_complex: bool, limbs: int) -> Block:
    """Return `block` with `limbs` planes, the missing ones zero; itself if none is missing."""
    present = limb_count(block, is_complex)
    if present == limbs:
        return block
    front = block.shape[: lead(is_complex) - 1]
    wide = namespace(block).zeros((*front, limbs, *value_shape(block, is_complex)))
    wide[..., :present, *(slice(None),) * len(value_shape(block, is_complex))] = block
    return wide


def complexify(block: Block) -> Block:
    """Return the complex block of real values."""
    pair = namespace(block).zeros((2, *block.shape))
    pair[0] = block
    return pair


def narrow(block: Block, is_complex: bool, limbs: int) -> Block:
    """Round normalised values to at most `limbs` limbs, correctly.

    Values that fit keep their limbs. The others become the greedy form (each limb the nearest
    double of what remains), followed by passes of FastTwoSum until nothing moves.

    Parameters
    ----------
    block : Block
        Normalised values.
    is_complex : bool
        Whether `block` holds complex values.
    limbs : int
        The largest number of limbs wanted, at least 1.

    Returns
    -------
    Block
        `block` itself, a view of it, or a new block.
    """
    present = limb_count(block, is_complex)
    if present <= limbs:
        return block
    if is_complex:
        return namespace(block).stack([narrow(part, False, limbs) for part in block])
    short = block[:limbs]
    inexact = block[limbs] != 0
    if not inexact.any():
        return short
    unsettled = inexact & _near_tie(block, limbs)
    if unsettled.any():
        short = short.copy()
        short[:, unsettled] = _greedy(block[:, unsettled], limbs)
    return short


def _near_tie(planes: Block, limbs: int) -> Block:
    """Return where one of the first limbs might not be the nearest double of what remains."""
    near = namespace(planes).zeros(planes.shape[1:], dtype=bool)
    with np.errstate(over="ignore", invalid="ignore"):
        for i in range(limbs):
            # At least one unit beyond limb i + 1, hence beyond all that follows.
            near |= planes[i] + planes[i + 1] * _ONE_UNIT_UP != planes[i]
    return near


def _greedy(planes: Block, limbs: int) -> Block:
    """Return the greedy limbs of finite values; `planes` is normalised and used up."""
    xp = namespace(planes)
    greedy = xp.empty((limbs, *planes.shape[1:]))
    nothing = xp.zeros_like(planes[0])
    for i in range(limbs):
        tail = planes[2] if planes.shape[0] > 2 else nothing
        greedy[i] = planes[0] + _round_to_odd(xp, planes[1], tail)
        planes[0] -= greedy[i]
        used = planes[0] == 0
        planes[:-1, used] = planes[1:, used]
        planes[-1, used] = 0.0
        settle(planes)
    with np.errstate(over="ignore", invalid="ignore"):
        _mend_ties(xp, greedy)
    return greedy


def _mend_ties(xp: ModuleType, greedy: Block) -> None:
    """Normalise greedy limbs in place, where a lower limb was rounded to a tie."""
    moved = True
    while moved:
        moved = False
        for i in range(greedy.shape[0] - 1):
            total = greedy[i] + greedy[i + 1]
            loose = total != greedy[i]
            if loose.any():
                moved = True
                error = greedy[i + 1] - (total - greedy[i])
                greedy[i + 1] = xp.where(loose, error, greedy[i + 1])
                greedy[i] = total
                greedy[i + 1 :, ~xp.isfinite(total)] = 0.0


def _round_to_odd(xp: ModuleType, x: Block, tail: Block) -> Block:
    """Return `x` if nothing follows or its last bit is 1, else its neighbour towards `tail`.

    A sum with the result is then rounded as the sum with ``x + tail`` would be.
    """
    even = (x.view(xp.int64) & 1) == 0
    return xp.where(even & (tail != 0), xp.nextafter(x, xp.copysign(xp.inf, tail)), x)


def nearest_double(planes: Block) -> Block:
    """Return the doubles nearest to real values, as a new array of their shape."""
    return narrow(planes, False, 1)[0].copy()


def negate(block: Block, is_complex: bool) -> Block:
    """Return the negated values; zero lower limbs stay +0."""
    xp = namespace(block)
    bits = block.view(xp.int64)
    flipped = bits ^ np.int64(
        -(2**63)
    )  # not arithmetic, which the caller may have flush subnormals
    negated = xp.where(bits == 0, bits, flipped)
    first = (slice(None), 0) if is_complex else 0
    negated[first] = flipped[first]
    return negated.view(xp.float64)


def absolute(planes: Block) -> Block:
    """Return the absolute values of real planes, by bits; zero lower limbs stay +0."""
    xp = namespace(planes)
    result = xp.where(xp.signbit(planes[0]), negate(planes, False), planes)
    result[0] = xp.abs(planes[0])
    return result


def select(condition: Block, x: Block, y: Block) -> Block:
    """Return ``x`` where `condition` holds, else ``y``; the blocks have the same shape."""
    return namespace(x).where(condition, x, y)


def nonzero(block: Block, is_complex: bool) -> Block:
    """Return where values are not zero; NaN is not."""
    leading = block[:, 0] if is_complex else block[:1]
    # Twice the bits drops the sign; arithmetic may flush subnormals.
    return (leading.view(namespace(block).int64) << 1 != 0).any(axis=0)


def is_normalised(planes: Block) -> Block:
    """Return where real values keep the rules of storage.

    The rules: ``fl(x[i] + x[i + 1]) == x[i]``, zero limbs only trailing and positive, and lower
    limbs +0 under infinity and NaN.
    """
    xp = namespace(planes)
    lower = planes[1:]
    with np.errstate(all="ignore"):
        kept = (planes[:-1] + lower == planes[:-1]).all(axis=0)
    plain_zero = (lower == 0) & ~xp.signbit(lower)
    return xp.where(
        xp.isfinite(planes[0]),
        kept & ((lower != 0) | plain_zero).all(axis=0),
        plain_zero.all(axis=0),
    )


def settle(planes: Block) -> Block:
    """Renormalise finite planes whose exact sums fit, by passes of TwoSum until nothing moves.

    Parameters
    ----------
    planes : Block
        Real, finite, overlapping limbs of decreasing size; changed in place. The exact sum of each
        value is representable in as many limbs.

    Returns
    -------
    Block
        `planes`, normalised.
    """
    while not is_normalised(planes).all():
        for i in range(planes.shape[0] - 1, 0, -1):
            total = planes[i - 1] + planes[i]
            part = total - planes[i - 1]
            error = (planes[i - 1] - (total - part)) + (planes[i] - part)
            planes[i - 1] = total
            planes[i] = error + 0.0
    return planes
