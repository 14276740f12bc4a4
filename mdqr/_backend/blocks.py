"""Shapes and views of blocks, NumPy's or CuPy's: what both backends do before a kernel runs."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from math import prod
from types import ModuleType
from typing import Any

import numpy as np

from mdqr._backend.protocol import Backend
from mdqr._backend.small_systems import SmallSolution
from mdqr._limbs.planes import Block, Kind, absolute, broadcast, conjugate, namespace

Shape = tuple[int, ...]

# With more rows below a window than this times its columns, V and T are cheaper than their product.
FORMED = 1.41

# Parts of sums for fewer diagonals below the main one than the first number: two terms wait for
# each other less long than the sum of two parts for both.
_WINDOW_LANES = ((3, 1), (7, 2), (15, 4), (float("inf"), 8))


def broadcast_shapes(*shapes: Shape) -> Shape:
    """Return the shape that values of `shapes` are broadcast to; that of NumPy ends at 32 axes.

    Raises
    ------
    ValueError
        If the shapes do not fit.
    """
    first = shapes[0]
    for shape in shapes:
        if shape != first:
            break
    else:
        return first
    ndim = max(map(len, shapes))
    common = [1] * ndim
    for shape in shapes:
        for axis, length in enumerate(shape, start=ndim - len(shape)):
            if length != 1 and common[axis] not in (1, length):
                given = " and ".join(map(str, shapes))
                raise ValueError(f"values of shapes {given} cannot be broadcast to one shape")
            if length != 1:
                common[axis] = length
    return tuple(common)


def batched(block: Block, batch: Shape, core: int, is_complex: bool) -> Block:
    """Return a block whose values have one batch axis before `core` axes, a view if possible."""
    front, end = 1 + is_complex, block.ndim - core
    # Most have the batch already; those of complex values need planes at a distance.
    if block.shape[front:end] != batch or (is_complex and block.strides[0] == 0):
        block = broadcast(block, is_complex, batch + block.shape[end:])
        end = block.ndim - core
    return block.reshape((*block.shape[:front], prod(batch), *block.shape[end:]))


def matrices(is_complex: bool, *blocks: Block) -> tuple[Shape, list[Block]]:
    """Return the broadcast batch shape, and blocks of matrices as `batched` has them."""
    front, batch = 1 + is_complex, blocks[0].shape[1 + is_complex : -2]
    for block in blocks:
        if block.shape[front:-2] != batch:
            batch = broadcast_shapes(*[each.shape[front:-2] for each in blocks])
            break
    count, found = prod(batch), []
    for block in blocks:
        if block.shape[front:-2] != batch or (is_complex and block.strides[0] == 0):
            block = broadcast(block, is_complex, batch + block.shape[-2:])
        found.append(block.reshape((*block.shape[:front], count, *block.shape[-2:])))
    return batch, found


def one_by_one(find: Callable[[Block], Any], a: Block) -> Any:
    """Return the result of a function of ``xp.linalg``, of a batch of one matrix as of that matrix.

    CuPy has other ways for batches, which take up to forty times as long.
    """
    batch = a.shape[:-2]
    if not batch or prod(batch) != 1:
        return find(a)
    found = find(a.reshape(a.shape[-2:]))
    if isinstance(found, tuple):
        return tuple(x.reshape(batch + x.shape) for x in found)
    return found.reshape(batch + found.shape)


def or_nan(xp: ModuleType, make: Callable[[Block], Block], a: Block) -> Block:
    """Return the results of a function of ``xp.linalg``, NaN where it raises."""
    try:
        found: Block = one_by_one(make, a)
    except np.linalg.LinAlgError:
        if a.ndim == 2:
            return xp.full(a.shape, xp.nan, dtype=a.dtype)
        return xp.stack([or_nan(xp, make, each) for each in a])
    return found


def matrix_shape(blocks: Sequence[Block], is_complex: bool) -> tuple[Shape, int, int]:
    """Return the broadcast batch shape, the rows of the first and the columns of the second."""
    front = 1 + is_complex
    batch = broadcast_shapes(*[block.shape[front:-2] for block in blocks])
    return batch, blocks[0].shape[-2], blocks[1].shape[-1]


def real_abs(xp: ModuleType, x: Block, limbs: int, out: Block | None) -> Block:
    """Return the absolute values of real `x` with `limbs` limbs."""
    result = Kind(limbs, False).empty(xp, x.shape[1:]) if out is None else out
    result[: len(x)] = absolute(x)
    result[len(x) :] = 0.0
    return result


def fill_with_identity(out: Block, op: str, is_complex: bool) -> None:
    """Write what the reduction `op`, "sum" or "prod", of nothing is."""
    out[...] = 0.0
    out[(0, 0) if is_complex else 0] = float(op == "prod")


def reflect(
    matmul: Callable[..., Block],
    v: Block,
    t: Block,
    x: Block,
    *,
    kind: Kind,
    adjoint: bool,
    unit: int,
) -> None:
    """Implement `Backend.reflect` by products that `matmul` forms."""
    below, rest = v[..., unit:, :].swapaxes(-1, -2), x[..., unit:, unit:]
    w = matmul(below, rest, conj_a=True, kind=kind)
    if unit:
        top = v[..., :unit, :].swapaxes(-1, -2)
        top = conjugate(top) if kind.is_complex else top
        xp = namespace(x)
        w = xp.concatenate([xp.broadcast_to(top, (*w.shape[:-1], unit)), w], axis=-1)
    transposed = t.swapaxes(-1, -2) if adjoint else t
    w = matmul(transposed, w, conj_a=adjoint, kind=kind)
    matmul(v, w, c=x, subtract=True, out=x, kind=kind)


def reflections(
    vs: Sequence[Block], ts: Sequence[Block], *, adjoint: bool
) -> list[tuple[Block, Block]]:
    """Return V and T of the tiles of Q in the order in which they meet what Q multiplies."""
    tiles = list(zip(vs, ts, strict=True))
    return tiles if adjoint else tiles[::-1]


def window_lanes(below: int) -> int:
    """Return in how many parts a sum of a window with `below` diagonals is formed at most."""
    return next(lanes for most, lanes in _WINDOW_LANES if below < most)


def replace_products(
    backend: Backend,
    e: Block,
    left: Block | None,
    right: Block | None,
    kind: Kind,
) -> None:
    """Replace `left` by ``e^H left`` and `right` by ``right e``."""
    if left is not None and left.size:
        left[...] = backend.matmul(e.swapaxes(-1, -2), left, conj_a=True, kind=kind)
    if right is not None:
        right[...] = backend.matmul(right, e, kind=kind)


def series_views(xp: ModuleType, is_complex: bool, *blocks: tuple[Block, int]) -> list[Block]:
    """Return blocks with one batch axis before their last axes, which are written to."""
    views = []
    for block, core in blocks:
        batch = block.shape[1 + is_complex : block.ndim - core]
        views.append(batched(block, batch, core, is_complex))
        if not xp.may_share_memory(views[-1], block):
            raise ValueError("the batch axes of series must be one run of memory")
    return views


def to_native(xp: ModuleType, block: Block, is_complex: bool, conjugate: bool = False) -> Block:
    """Return the first limbs as a float64 or complex128 array."""
    if not is_complex:
        return block[0]
    z = xp.empty(block.shape[2:], dtype=xp.complex128)
    z.real, z.imag = block[0, 0], block[1, 0]
    return z.conj() if conjugate else z


def native_abs(block: Block, is_complex: bool) -> Block:
    """Return the moduli of the first limbs, float64."""
    if not is_complex:
        return abs(block[0])
    xp = np if isinstance(block, np.ndarray) else namespace(block)
    return xp.hypot(block[0, 0], block[1, 0])


def from_native(xp: ModuleType, values: Block, is_complex: bool) -> Block:
    """Return the block of one limb of a float64 or complex128 array."""
    if not is_complex:
        return values[None]
    block = xp.empty((2, 1, *values.shape))
    block[0, 0], block[1, 0] = values.real, values.imag
    return block


def turned(x: Block) -> Block:
    """Return ``x^H`` of float64 or complex128 matrices; of real ones a view, as of a transpose."""
    transposed = x.swapaxes(-1, -2)
    return transposed.conj() if x.dtype.kind == "c" else transposed


def float_matmul(
    xp: ModuleType,
    a: Block,
    b: Block,
    is_complex: bool,
    conj_a: bool,
    conj_b: bool,
    c: Block | None,
    subtract: bool,
    multiply: Callable[[Block, Block], Block] = operator.matmul,
) -> Block:
    """Return the product of blocks of one limb by `multiply`, for float64 or complex128 arrays."""
    with np.errstate(all="ignore"):  # as all kernels, which say nothing of infinities
        left, right = to_native(xp, a, is_complex, conj_a), to_native(xp, b, is_complex, conj_b)
        product = multiply(left, right)
        if c is not None:
            addend = to_native(xp, c, is_complex)
            product = addend - product if subtract else addend + product
        elif subtract:
            product = -product
    return from_native(xp, product, is_complex)


def unsolved(
    xp: ModuleType, a: Block, b: Block, kind: Kind, residual: Block | None
) -> SmallSolution:
    """Return what small systems write, not set, with one batch axis."""
    shape = (int(b.shape[-3]), int(a.shape[-1]), int(b.shape[-1]))
    steps, status = (xp.empty(shape[0], dtype=np.int64) for _ in range(2))
    x, error, condition = kind.empty(xp, shape), xp.empty(shape), xp.empty(shape[0])
    return SmallSolution(x, error, condition, steps, status, residual)


def unfolded(found: SmallSolution, batch: Shape, kind: Kind) -> SmallSolution:
    """Return the same with all batch axes."""
    if len(batch) == 1:
        return found
    x, rest = (
        None if v is None else v.reshape(*v.shape[: kind.lead], *batch, *v.shape[-2:])
        for v in (found.x, found.residual)
    )
    error = found.error.reshape(*batch, *found.error.shape[-2:])
    condition, steps, status = (
        v.reshape(batch) for v in (found.condition, found.steps, found.status)
    )
    return SmallSolution(x, error, condition, steps, status, rest)


def order_of(swaps: np.ndarray, rows: int) -> np.ndarray:
    """Return the order of `rows` after interchanges, of row i with row ``swaps[i]``, int64."""
    places = list(range(rows))
    for i, place in enumerate(swaps.tolist()):
        places[i], places[place] = places[place], places[i]
    return np.array(places, dtype=np.int64)
