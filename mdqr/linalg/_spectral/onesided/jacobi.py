"""Orthogonal vectors by one-sided Jacobi rotations, and by products once these are small.

Vectors are turned in few limbs first where they are not too far apart in size. While angles are
large, LAPACK turns blocks of vectors of like size; where that does not end, sweeps rotate disjoint
pairs at once, in a round-robin order. Once all angles are small, a unitary matrix turns all pairs
together, by products, with cubic convergence (as T. Ogita and K. Aishima, Iterative refinement for
singular value decomposition, 2020, with terms of second order; here of the vectors alone, and
scaled, so that small ones keep their digits).
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from mdqr._backend.blocks import native_abs, to_native
from mdqr._backend.protocol import Backend
from mdqr._limbs import planes, scaling
from mdqr._limbs.folds import total
from mdqr._limbs.planes import Block, Kind
from mdqr._precision import PRECISIONS
from mdqr._progress import Reporter, Steps
from mdqr.linalg._products.exact import product as exact
from mdqr.linalg._shared import tuning
from mdqr.linalg._shared.checks import fetch
from mdqr.linalg._shared.operands import precision_for
from mdqr.linalg._spectral.onesided import rotations, starts
from mdqr.linalg._spectral.onesided.unitary import (
    in_common_units,
    kind_of_small,
    mixed,
    mixed_product,
    more_than_one,
)

_MOST_SWEEPS = 60
# So many of the first sweeps turn vectors by LAPACK, of like size or of nearly equal length.
_BY_BLOCKS = 4
_BY_CLUSTERS = 30
# Cosines that LAPACK sees.
_SEEN = 2.0**-40
# So many vectors, far apart in size, are mixed before products.
_MIXED = 8
# So many powers of two an entry may be away from 1.
_NEAR = 3
_LOW, _HIGH = (1022 - _NEAR) << 52, (1023 + _NEAR) << 52  # the bits of these entries
# Largest vectors are near that power of two, so that the limbs of far smaller ones stay in range.
ROOM = 480


class Orthogonal(NamedTuple):
    """Vectors ``2**exponents[j] x[j]`` that are orthogonal, and the rotations that made them so.

    `x` holds the vectors as rows ``(batch, n, m)``, the largest entry of each within 2**3 of 1; `v`
    ``(batch, n, n)`` is the unitary matrix with ``sum_i v[j, i] given[i] = 2**exponents[j] x[j]``.
    """

    x: Block
    exponents: Block
    v: Block


def orthogonalise(
    backend: Backend,
    x: Block,
    kind: Kind,
    v: Block | None = None,
    *,
    turns_only: bool = False,
    report: Reporter | None = None,
) -> Orthogonal:
    """Rotate the vectors ``x[j]`` ``(batch, n, m)`` until all are orthogonal.

    A pair counts as orthogonal where its cosine is at most ``2 (m + 8) eps``, but for the rounding
    of the last turn. `v` may be rotations to start with, unitary to as many limbs as it has. With
    `turns_only`, vectors do not get the last turn. Sweeps of all precisions are the steps of stage
    "rotate".

    Raises
    ------
    numpy.linalg.LinAlgError
        If there is no convergence.
    """
    xp, field = backend.xp, kind.is_complex
    x, exponents = _normalised(backend, x, xp.zeros(x.shape[kind.lead : -1], dtype=np.int64), kind)
    spread = 0
    if not _are_zero(exponents):
        highest, lowest = scaling.largest(exponents, -1, 0), -scaling.largest(-exponents, -1, 0)
        spread = int(fetch(scaling.largest(highest - lowest, None, 0))[0])
    known = 0 if v is None else planes.limb_count(v, field)
    steps = None if report is None else Steps(report, "rotate")
    for limbs in (p.limbs for p in PRECISIONS[1:]):
        if known < limbs < kind.limbs and spread <= starts.SPREAD * limbs:
            few = Kind(limbs, field)
            first = planes.first_limbs(x, field, limbs)
            start = _started(backend, first, exponents, v, few)
            v = _orthogonal(backend, start, few, steps, turns_only=True).v
    start = _started(backend, x, exponents, v, kind)
    # Far sizes leave entries far apart too, whose products are slow while nothing mixes them.
    far = kind.limbs > 2 and spread > starts.SPREAD and x.shape[-2] >= _MIXED
    if far:
        start = start._replace(x=mixed(backend, start.x, kind), v=mixed(backend, start.v, kind))
    # Entries of turns of the largest vectors, in units of the smallest, end at 2**-1074.
    apart = far or spread + precision_for(kind.limbs).bits > 1000
    found = _orthogonal(backend, start, kind, steps, far=far, apart=apart, turns_only=turns_only)
    if steps is not None:
        steps.end()
    if far:
        found = found._replace(x=mixed(backend, found.x, kind), v=mixed(backend, found.v, kind))
    return found


def _started(
    backend: Backend, x: Block, exponents: Block, v: Block | None, kind: Kind
) -> Orthogonal:
    """Return vectors turned by what is known of the rotations in fewer limbs."""
    if v is None:
        shape = (*x.shape[kind.lead : -2], *2 * x.shape[-2:-1])
        return Orthogonal(x.copy(), exponents, kind.identity(backend.xp, shape))
    v = _unitary(backend, v, kind)
    return Orthogonal(*_turned(backend, v, x, exponents, kind), v)


def _turned(
    backend: Backend, turn: Block, x: Block, exponents: Block, kind: Kind
) -> tuple[Block, Block]:
    """Return the vectors ``sum_i turn[j, i] x[i]``, and their exponents."""
    if _are_zero(exponents):
        return _normalised(backend, exact.matmul(backend, turn, x, kind=kind), exponents, kind)
    top = scaling.largest(exponents, -1, 0, keepdims=True)
    top = top - ROOM
    given = backend.ldexp(x, (exponents - top)[..., None], is_complex=kind.is_complex)
    x = exact.matmul(backend, turn, given, kind=kind)
    x, exponents = _normalised(backend, x, 0 * exponents, kind, about=ROOM)
    return x, exponents + top


def _unitary(backend: Backend, v: Block, kind: Kind) -> Block:
    """Return the unitary matrix near one that is unitary to fewer limbs."""
    field, good = kind.is_complex, planes.limb_count(v, kind.is_complex)
    v = planes.widen(v, field, kind.limbs)
    one = kind.identity(backend.xp, v.shape[kind.lead :])
    few = v.shape[-1] < tuning.SHORTEST
    multiply = backend.matmul if few else partial(exact.matmul, backend)
    while good < kind.limbs:
        # (1 - 2 h)^(-1/2) is 1 + h + 3 h^2 / 2 but for a cube; of the square one limb counts.
        half = 0.5 * multiply(v, planes.adjoint(v, field), c=one, subtract=True, kind=kind)
        first = planes.first_limbs(half, field, 1)
        square = backend.matmul(first, 1.5 * first, kind=Kind(1, field))
        half = backend.binary("add", half, square, kind=kind)
        v = multiply(half, v, c=v, kind=kind)
        # Some bits of three times as many are lost in the size of matrices.
        good *= 2
    return v


def row_sums(backend: Backend, x: Block, kind: Kind) -> Block:
    """Return the sums of rows of real matrices: by a product, which wakes no threads for few."""
    ones = backend.xp.ones((1, x.shape[-1], 1))
    return backend.matmul(x, ones, kind=kind.real)[..., 0]


def _orthogonal(
    backend: Backend,
    given: Orthogonal,
    kind: Kind,
    steps: Steps | None,
    *,
    turns_only: bool,
    far: bool = False,
    apart: bool = False,
) -> Orthogonal:
    """Return orthogonal vectors, in the precision of `kind`; `far` if they differ far in size.

    With `apart`, `v` gets turns in units of its own.
    """
    xp, (x, exponents, v) = backend.xp, given
    rounds: list[Block] = []
    eps, n = precision_for(kind.limbs).eps, int(x.shape[-2])
    tolerance = 2 * (int(x.shape[-1]) + 8) * eps
    for sweep in range(_MOST_SWEEPS):
        if steps is not None:
            steps.step()
        gram = exact.matmul(backend, x, x.swapaxes(-1, -2), conj_a=kind.is_complex, kind=kind)
        pairs = _products(backend, _hermitian(xp, gram.swapaxes(-1, -2), kind), exponents, kind)
        turns = _turns(xp, pairs, tolerance, kind)
        if turns.cosine == 0.0:
            return Orthogonal(x, exponents, v)
        if turns.size <= starts.SMALL:
            w, size, left = _small_turns(backend, pairs, turns, tolerance, kind, far)
            is_last = left <= tolerance
            given = Orthogonal(x, exponents, v)
            x, v = _step(backend, w, size, given, kind, far, apart, turns_only and is_last)
            if is_last:
                return Orthogonal(x, exponents, v)
            continue
        seen = turns.cosine > _SEEN
        if sweep < (_BY_BLOCKS if seen else _BY_CLUSTERS):
            if seen:
                first = starts.SPREAD if sweep % 2 == 0 else starts.SPREAD // 2
                turn = starts.by_size(backend, x, exponents, first)
            else:
                native, gap = (to_native(xp, y, kind.is_complex) for y in (pairs.gram, pairs.gap))
                turn = starts.by_length(xp, native, gap.real, exponents)
            turn = _unitary(backend, turn, kind)
            x, exponents = _turned(backend, turn, x, exponents, kind)
            v = exact.matmul(backend, turn, v, kind=kind)
        else:
            rounds = rounds or [xp.asarray(indices.tolist()) for indices in rotations.rounds(n)]
            for indices in rounds:
                rotations.rotate(backend, x, v, exponents, indices, kind, tolerance)
        x, exponents = _normalised(backend, x, exponents, kind)
    raise np.linalg.LinAlgError(f"the rotations do not converge in {_MOST_SWEEPS} sweeps")


class _Products(NamedTuple):
    """Products of vectors, and what differs their squared lengths, in units of x_q for pair p, q.

    `moduli` are those of the gaps, `lengths` products of both lengths: float64.
    """

    gram: Block
    gap: Block
    moduli: Block
    lengths: Block


class _Turns(NamedTuple):
    """The pairs to rotate, a norm of their angles, and the largest cosine; 0 if none is left.

    The norm is at least 1 if an angle is.
    """

    active: Block
    size: float
    cosine: float


def _hermitian(xp: Any, x: Block, kind: Kind) -> Block:
    """Return `x` exactly Hermitian, or turns are not unitary where lengths are nearly equal."""
    place = xp.arange(x.shape[-1])
    x = xp.where(place[:, None] > place, planes.adjoint(x, kind.is_complex), x)
    if kind.is_complex:
        planes.diagonal(x)[1] = 0.0
    return x


@np.errstate(all="ignore")
def _products(backend: Backend, gram: Block, exponents: Block, kind: Kind) -> _Products:
    xp, field = backend.xp, kind.is_complex
    squares = planes.diagonal(gram)
    rows = squares[..., :, None]
    if not _are_zero(exponents):
        apart = exponents[..., :, None] - exponents[..., None, :]
        apart = 2 * xp.maximum(xp.minimum(apart, starts.FAR), -starts.FAR)
        rows = backend.ldexp(xp.broadcast_to(rows, gram.shape), apart, is_complex=field)
    gap = backend.binary("subtract", rows, squares[..., None, :], kind=kind)
    sizes = native_abs(squares, field)
    lengths = xp.sqrt(sizes[..., :, None] * sizes[..., None, :])
    # The diagonal takes no part.
    planes.diagonal(lengths)[...] = math.inf
    return _Products(gram, gap, native_abs(gap, field), lengths)


@np.errstate(all="ignore")
def _turns(xp: Any, pairs: _Products, tolerance: float, kind: Kind) -> _Turns:
    """Return which pairs ``W[p, q] = <x_p, x_q> / (|x_p|^2 - |x_q|^2)`` turns, and by how much."""
    products = native_abs(pairs.gram, kind.is_complex)
    cosine = products / pairs.lengths
    turned = cosine > tolerance
    if isinstance(turned, np.ndarray) and not turned.any():
        return _Turns(turned, 0.0, 0.0)
    angle = _symmetric(xp, products / pairs.moduli)
    active = _active(turned, angle, tolerance)
    # What is not a number is no angle.
    angle = xp.where(active, xp.fmin(angle, 1.0), 0.0)
    largest = fetch(
        scaling.largest(total(angle, -1), None, 0.0),
        scaling.largest(xp.where(turned, cosine, 0.0), None, 0.0),
    )
    return _Turns(active, *map(float, largest))


def _symmetric(xp: Any, angle: Block) -> Block:
    """Return the larger one of both angles of a pair, in units of either vector."""
    return xp.maximum(angle, angle.swapaxes(-1, -2))


def _active(turned: Block, angle: Block, tolerance: float) -> Block:
    """Return which pairs get a turn."""
    # Orthogonal pairs stay, unless lengths differ: cosines below the tolerance add up.
    return turned | (angle <= 16 * tolerance)


@np.errstate(all="ignore")
def _small_turns(
    backend: Backend, pairs: _Products, turns: _Turns, tolerance: float, kind: Kind, far: bool
) -> tuple[Block, float, float]:
    """Return W, a norm of it, and about what cosines it leaves.

    A turn by W leaves ``(W O + (W O)^H) / 2`` of the products O of different vectors, and terms of
    third order: where that is too much it is added to O first.
    """
    xp, field, size = backend.xp, kind.is_complex, turns.size
    active, left = turns.active, 4 * size * turns.cosine
    gram = pairs.gram
    if left > tolerance:
        few = kind_of_small(size * turns.cosine, kind)
        o, gap = (planes.first_limbs(y, field, few.limbs) for y in (gram, pairs.gap))
        o = o.copy()
        planes.diagonal(o)[...] = 0.0
        w = xp.where(active, backend.binary("divide", o, gap, kind=few), 0.0)
        half = 0.5 * mixed_product(backend, w, o, few, far)
        half = backend.binary("add", half, planes.adjoint(half, few.is_complex), kind=few)
        whole = _hermitian(xp, backend.binary("add", gram, half, kind=kind), kind)
        products = native_abs(whole, field)
        angle = _symmetric(xp, products / pairs.moduli)
        both = active | _active(products / pairs.lengths > tolerance, angle, tolerance)
        added = xp.where(active, native_abs(half, field), products)
        angle = _symmetric(xp, xp.where(both, added / pairs.moduli, 0.0))
        planes.diagonal(angle)[...] = 0.0
        (second,) = fetch(scaling.largest(total(angle, -1), None, 0.0))
        # Of nearly equal lengths it may be more than W.
        if second <= size:
            gram, active, left = whole, both, 4 * (size * size + float(second)) * turns.cosine
            size += float(second)
    w = backend.binary("divide", gram, pairs.gap, kind=kind)
    return xp.where(active, w, 0.0), size, left


def _step(
    backend: Backend,
    w: Block,
    size: float,
    given: Orthogonal,
    kind: Kind,
    far: bool,
    apart: bool,
    turns_only: bool,
) -> tuple[Block, Block]:
    """Turn all pairs by small angles, of a norm of at most `size`; return vectors and rotations.

    By ``(1 + W + W^2 / 2) (1 + W^4 / 4)^(-1/2)``, unitary for skew W.
    """
    field, (x, exponents, v) = kind.is_complex, given
    xp, more = backend.xp, partial(more_than_one, backend, size=size, kind=kind, far=far)
    of_x = more(w)
    x = x if turns_only else exact.matmul(backend, of_x, x, c=x, kind=kind)
    if _are_zero(exponents):
        return x, exact.matmul(backend, of_x, v, c=v, kind=kind)
    powers = exponents[..., :, None] - exponents[..., None, :]
    if apart:
        # In units of vectors and in common ones, or small entries lose their digits in one of them.
        of_v = more(in_common_units(backend, w, powers, kind))
    else:
        powers = xp.maximum(xp.minimum(powers, starts.FAR), -starts.FAR)
        of_v = backend.ldexp(of_x, powers, is_complex=field)
    return x, exact.matmul(backend, of_v, v, c=v, kind=kind)


def _normalised(
    backend: Backend, x: Block, exponents: Block, kind: Kind, about: int = 0
) -> tuple[Block, Block]:
    """Return vectors with their largest entries near 1, and their exponents.

    Vectors of zeros have the exponent of the largest. Many entries are about ``2**about``.
    """
    bits = scaling.largest(scaling.magnitude_bits(x, kind.is_complex), -1, 0)
    if isinstance(bits, np.ndarray) and bits.size and bits.min() >= _LOW and bits.max() < _HIGH:
        return x, exponents
    more = scaling.exponents_of(bits)
    # Powers of two that many vectors have in common cost less.
    more = backend.xp.where(abs(more - about) <= _NEAR, about, more)
    top = scaling.largest(exponents + more, -1, 0, keepdims=True)
    found = backend.xp.where(bits > 0, exponents + more, top)
    return backend.ldexp(x, -more[..., None], is_complex=kind.is_complex), found


def _are_zero(exponents: Block) -> bool:
    """Return whether exponents are known to be zeros: in host memory."""
    return isinstance(exponents, np.ndarray) and not exponents.any()


def descending(xp: Any, values: Block) -> Block | None:
    """Return the order of rows of normalised values by all limbs, the largest first.

    None where they are in that order in host memory, by the first limbs.
    """
    first = values[0]
    if xp is np and (first[..., 1:] < first[..., :-1]).all():
        return None
    order = xp.broadcast_to(xp.arange(values.shape[-1]), values.shape[1:])
    for limb in values[::-1]:
        known = xp.take_along_axis(limb, order, axis=-1)
        order = xp.take_along_axis(order, (-known).argsort(axis=-1, kind="stable"), axis=-1)
    return order


def ascending(xp: Any, values: Block) -> Block | None:
    """Return the order with the least first; None where values are in it."""
    if xp is np and (values[0][..., 1:] > values[0][..., :-1]).all():
        return None
    order = descending(xp, values)
    if order is None:
        order = xp.broadcast_to(xp.arange(values.shape[-1]), values.shape[1:])
    return order[..., ::-1]
