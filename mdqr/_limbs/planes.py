"""Limb planes by NumPy alone: shapes, broadcasting, widening, narrowing, signs.

Everything here is exact or correctly rounded and needs no kernel, so that creation, conversion and
indexing work without the compiled extension.

The caller may have NumPy flush subnormals. So values with a limb below 2**-900 go through Python
integers, and nothing else meets a subnormal number in arithmetic. Sums of doubles may overflow from
2**1020 on, in which they are no longer exact; these go the same way.
"""

from __future__ import annotations

from math import isfinite
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from mdqr._limbs.device import cupy_of
from mdqr._limbs.exact import LOWEST, saturated, sum_of_units
from mdqr._limbs.folds import is_any
from mdqr._limbs.rounding_mode import require_nearest

Block = Any  # numpy.ndarray | cupy.ndarray; CuPy may be absent

MOST_AXES = 64  # NumPy's limit

_ONE_UNIT_UP = 1.0 + 2.0**-52
_MANTISSA = 2**52 - 1
_SIGN = np.int64(-(2**63))
_LOW = (1023 - 900) << 52  # the bits of 2**-900
_HIGH = (1023 + 1020) << 52  # those of 2**1020: below it no sum of eight limbs overflows
_ZERO = 2**64 - 1  # what `_unsigned` makes of zeros
_RAISE = 200  # from 2**-1074 to well above the smallest normal double, and from 2**-900 below 1


class Kind(NamedTuple):
    """The kind of values of a block: the number of limbs, and whether there are imaginary planes.

    A call of a backend gets the kind of its result; operands may have fewer limbs.
    """

    limbs: int
    is_complex: bool

    @property
    def lead(self) -> int:
        """Number of axes of a block before those of the values."""
        return 1 + self.is_complex

    @property
    def real(self) -> Kind:
        """The real kind of as many limbs."""
        return Kind(self.limbs, False)

    def planes(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of the block of values of `shape`."""
        return (2, self.limbs, *shape) if self.is_complex else (self.limbs, *shape)

    def empty(self, xp: ModuleType, shape: tuple[int, ...]) -> Block:
        """Return a new block whose values are not set."""
        return xp.empty(self.planes(shape))

    def zeros(self, xp: ModuleType, shape: tuple[int, ...]) -> Block:
        """Return a new block of zeros."""
        return xp.zeros(self.planes(shape))

    def identity(self, xp: ModuleType, shape: tuple[int, ...]) -> Block:
        """Return a new block of matrices with ones on the diagonal and zeros elsewhere."""
        block = self.zeros(xp, shape)
        set_unit_diagonal(block, self.is_complex)
        return block


def namespace(block: Block) -> ModuleType:
    """Return numpy or cupy: the module of `block`."""
    return np if isinstance(block, np.ndarray) else cupy_of(block)


def lead(is_complex: bool) -> int:
    """Return the number of axes of a block before the axes of the values."""
    return 2 if is_complex else 1


def check_axes(ndim: int, is_complex: bool) -> None:
    """Raise ValueError if NumPy cannot have `ndim` axes besides those of the limbs."""
    most = MOST_AXES - lead(is_complex)
    if ndim > most:
        kind = "a complex" if is_complex else "a real"
        raise ValueError(f"{kind} array has at most {most} axes (NumPy's {MOST_AXES}); got {ndim}")


def value_shape(block: Block, is_complex: bool) -> tuple[int, ...]:
    """Return the shape of the values that `block` holds."""
    shape: tuple[int, ...] = block.shape[1 + is_complex :]
    return shape


def limb_count(block: Block, is_complex: bool) -> int:
    """Return the number of limbs of every value of `block`."""
    count: int = block.shape[int(is_complex)]
    return count


def held_limbs(block: Block, is_complex: bool) -> int:
    """Return how many leading limbs of an array in host memory hold all there is, 0 of zeros."""
    limbs = block.swapaxes(0, 1) if is_complex else block
    # As bits: arithmetic that flushes subnormals would take these for zeros.
    counts = range(len(limbs), 0, -1)
    return next((count for count in counts if limbs[count - 1].view(np.int64).any()), 0)


def first_limbs(block: Block, is_complex: bool, limbs: int) -> Block:
    """Return a view of the first limbs of values."""
    return block[:, :limbs] if is_complex else block[:limbs]


def broadcast(block: Block, is_complex: bool, shape: tuple[int, ...]) -> Block:
    """Return a view of `block` whose values have `shape`; the caller knows that they fit."""
    front = 1 + is_complex
    if is_complex and block.strides[0] == 0:
        block = block.copy()  # kernels tell complex from real by the distance of the planes
    if block.shape[front:] == shape:
        return block
    missing = len(shape) - (block.ndim - front)
    padded = block.reshape(block.shape[:front] + (1,) * missing + block.shape[front:])
    return namespace(block).broadcast_to(padded, block.shape[:front] + shape)


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
    shape = block.shape[1 + is_complex :]
    wide = namespace(block).zeros((2, limbs, *shape) if is_complex else (limbs, *shape))
    first_limbs(wide, is_complex, present)[...] = block
    return wide


def diagonal(plane: Block) -> Block:
    """Return the diagonals ``(..., k)`` of matrices as a view that can be written to."""
    if isinstance(plane, np.ndarray):
        order = min(plane.shape[-2:])
        return np.einsum("...ii->...i", plane[..., :order, :order])
    *front, row, column = plane.strides
    return namespace(plane).lib.stride_tricks.as_strided(
        plane, (*plane.shape[:-2], min(plane.shape[-2:])), (*front, row + column)
    )


def set_unit_diagonal(block: Block, is_complex: bool) -> None:
    """Write ones on the diagonal of a block whose diagonal is zero."""
    diagonal(block[0, 0] if is_complex else block[0])[...] = 1.0


def clear_below(block: Block) -> None:
    """Write zeros below the diagonal; in place, since NumPy's triu takes three times as long."""
    xp = namespace(block)
    xp.copyto(block, 0.0, where=xp.tri(*block.shape[-2:], k=-1, dtype=bool))


def complexify(block: Block) -> Block:
    """Return the complex block of real values.

    Raises
    ------
    ValueError
        If NumPy cannot have their axes besides those of complex limbs.
    """
    check_axes(block.ndim - 1, True)
    pair = namespace(block).zeros((2, *block.shape))
    pair[0] = block
    return pair


def narrow(block: Block, is_complex: bool, limbs: int) -> Block:
    """Round normalised values to at most `limbs` limbs, correctly.

    Values that fit, or are not finite, keep their limbs. The others become the greedy form (each
    limb the nearest double of what remains), followed by passes of FastTwoSum until nothing moves.

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
    lost = _unsigned(block[limbs : limbs + 1])
    smallest = int(lost.min()) if lost.size else _ZERO
    if smallest == _ZERO:
        return short
    require_nearest()
    near_tie = _near_tie(block, limbs)
    if smallest >= _LOW - 1 and not is_any(near_tie):
        return short
    # No limb before the first lost one is lower; those behind it matter near a tie only.
    low = (lost < _LOW - 1)[0]
    near_tie &= ~low & (lost != _ZERO)[0]
    finite = namespace(block).isfinite(block).all(axis=0)
    low, near_tie = low & finite, near_tie & finite
    short = short.copy()
    short[:, low] = _rounded(block[:, low], limbs)
    short[:, near_tie] = _greedy_limbs(block[:, near_tie], limbs)
    return short


def _sizes(x: Block) -> Block:
    """Return the bits of the absolute values as int64, which order as these do."""
    return x.view(namespace(x).int64) & ~_SIGN


def _is_extreme(planes: Block) -> Block:
    """Return where a limb is not zero and below 2**-900, or from 2**1020 on, infinite or NaN."""
    sizes = _unsigned(planes)
    far = sizes - (_LOW - 1) >= _HIGH - _LOW  # as zeros are
    if is_any(far):
        far &= sizes != _ZERO
    return far.any(axis=0)


def _unsigned(x: Block) -> Block:
    """Return `_sizes` less 1 as uint64, where zeros lie above all others."""
    return (_sizes(x) - 1).view(namespace(x).uint64)


def _rounded(planes: Block, limbs: int) -> Block:
    """Return the greedy limbs of values ``(N, count)`` by Python integers.

    A sum with infinities and NaN is what these add up to.
    """
    columns = []
    for column in planes.T.tolist():
        if all(map(isfinite, column)):
            columns.append(saturated(sum_of_units(column), 1, LOWEST, limbs))
        else:
            special = sum(x for x in column if not isfinite(x))
            columns.append([float(special)] + [0.0] * (limbs - 1))
    return namespace(planes).asarray(columns, dtype=np.float64).reshape(-1, limbs).T


def _greedy_limbs(planes: Block, limbs: int) -> Block:
    """Return the greedy limbs of finite values ``(N, count)``; `planes` is used up."""
    extreme = _is_extreme(planes)
    result = namespace(planes).empty((limbs, planes.shape[1]))
    result[:, extreme] = _rounded(planes[:, extreme], limbs)
    result[:, ~extreme] = _greedy(planes[:, ~extreme], limbs)
    return result


def _raised(x: Block) -> Block:
    """Return ``x * 2**200``."""
    xp = namespace(x)
    bits = x.view(xp.int64)
    fraction = (bits & _MANTISSA).astype(np.float64) * 2.0 ** (LOWEST + _RAISE)
    subnormal = bits & (0x7FF << 52) == 0
    return xp.where(subnormal, xp.copysign(fraction, x), x * 2.0**_RAISE)


def _absorbs(high: Block, low: Block) -> Block:
    """Return where ``fl(high + low) == high``, with subnormals as they are."""
    small = _sizes(high) < _LOW
    with np.errstate(all="ignore"):
        absorbs = high + low == high
        if small.any():
            raised = _raised(high)
            absorbs = namespace(high).where(small, raised + _raised(low) == raised, absorbs)
    return absorbs


def doubles(x: np.ndarray) -> np.ndarray:
    """Return floats of at most 64 bits as float64, subnormals included; float64 is not copied."""
    if x.dtype.itemsize != 4:
        return x.astype(np.float64, copy=False)
    native = x.astype(np.float32)
    bits = native.view(np.int32)
    fraction = np.copysign((bits & 0x7FFFFF) * 2.0**-149, native)
    return np.where(bits & 0x7F800000 == 0, fraction, native)


def _near_tie(planes: Block, limbs: int) -> Block:
    """Return where one of the first limbs might not be the nearest double of what remains."""
    near = None
    with np.errstate(over="ignore", invalid="ignore"):
        for i in range(limbs):
            # At least one unit beyond limb i + 1, hence beyond all that follows.
            moved = planes[i] + planes[i + 1] * _ONE_UNIT_UP != planes[i]
            near = moved if near is None else near | moved
    return near


def _greedy(planes: Block, limbs: int) -> Block:
    """Return the greedy limbs of values, none extreme; `planes` is normalised and used up."""
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
        renormalize(planes)
    with np.errstate(over="ignore", invalid="ignore"):
        _mend_ties(xp, greedy)
    return greedy


def _mend_ties(xp: ModuleType, greedy: Block) -> None:
    """Normalise greedy limbs in place, where a lower limb was rounded to a tie."""
    for _ in range(greedy.shape[0]):
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
        if not moved:
            break


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
    flipped = bits ^ _SIGN
    negated = xp.where(bits == 0, bits, flipped)
    first = (slice(None), 0) if is_complex else 0
    negated[first] = flipped[first]
    return negated.view(xp.float64)


def conjugate(block: Block) -> Block:
    """Return the conjugates of complex values as a new block."""
    result = block.copy()
    result[1] = negate(result[1], False)
    return result


def adjoint(block: Block, is_complex: bool) -> Block:
    """Return the conjugate transposes of matrices, a view if they are real."""
    transposed = block.swapaxes(-1, -2)
    return conjugate(transposed) if is_complex else transposed


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
    return (_sizes(leading) != 0).any(axis=0)


def is_normalised(planes: Block) -> Block:
    """Return where real values keep the rules of storage.

    The rules: ``fl(x[i] + x[i + 1]) == x[i]``, zero limbs only trailing and positive, and lower
    limbs +0 under infinity and NaN.
    """
    require_nearest()
    xp = namespace(planes)
    bits = planes[1:].view(xp.int64)
    kept = _absorbs(planes[:-1], planes[1:]).all(axis=0)
    return xp.where(
        xp.isfinite(planes[0]),
        kept & (bits != _SIGN).all(axis=0),
        (bits == 0).all(axis=0),
    )


def renormalize(planes: Block) -> Block:
    """Renormalise planes, by passes of TwoSum until nothing moves.

    What so many passes as there are limbs do not normalise, values with a limb below 2**-900, and
    those beyond 2**1020, become greedy limbs instead.

    Parameters
    ----------
    planes : Block
        Real limbs; changed in place. Passes are few where they overlap and decrease in size, and
        the exact sum of each value is representable in as many limbs.

    Returns
    -------
    Block
        `planes`, normalised.
    """
    require_nearest()
    extreme = _is_extreme(planes)
    if not extreme.any():
        return _passed(planes)
    planes[:, extreme] = _rounded(planes[:, extreme], planes.shape[0])
    planes[:, ~extreme] = _passed(planes[:, ~extreme])
    return planes


def _passed(planes: Block) -> Block:
    """Return `planes`, none extreme, after passes of TwoSum in place."""
    for _ in range(planes.shape[0] + 1):
        loose = ~is_normalised(planes)
        if not loose.any():
            return planes
        for i in range(planes.shape[0] - 1, 0, -1):
            total = planes[i - 1] + planes[i]
            part = total - planes[i - 1]
            error = (planes[i - 1] - (total - part)) + (planes[i] - part)
            planes[i - 1] = total
            planes[i] = error + 0.0
    loose = ~is_normalised(planes)
    planes[:, loose] = _rounded(planes[:, loose], planes.shape[0])
    return planes
