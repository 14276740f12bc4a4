"""Norms of vectors and matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mdqr._array.array import MDArray
from mdqr._core.axes import counted_axes
from mdqr._docstrings import documented
from mdqr._errors import advised, shown
from mdqr._functions import reductions
from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Block
from mdqr._typing import MatrixOrder, PrecisionLike
from mdqr.linalg._shared.hints import takes_hints
from mdqr.linalg._shared.operands import Inputs, as_array, as_integer, gather
from mdqr.linalg._spectral.decomposition import decomposed, folded

MATRIX_ORDERS = ("fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf)
_LARGEST_POWER = 64
_NOTHING = 2**63 - 1  # above the bits of every double; its exponent counts as 0


@takes_hints
@advised
def norm(
    x: Any,
    /,
    ord: float | MatrixOrder | None = None,
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
    *,
    precision: PrecisionLike | None = None,
) -> MDArray:
    """Return the norm of vectors or matrices, as `numpy.linalg.norm`.

    Parameters
    ----------
    x : array_like
        Vectors or matrices, real or complex.
    ord : int, float, "fro", "nuc" or None, optional
        Vectors: None or 2 (Euclidean), 1, ``inf``, ``-inf``, 0 (number of nonzeros) or another
        integer p between -64 and 64. Matrices: None or "fro" (Frobenius), 1, -1 (columns),
        ``inf``, ``-inf`` (rows), 2, -2 (the largest and the smallest singular value), "nuc" (their
        sum).
    axis : int or tuple of int, optional
        One axis for vectors, two for matrices. By default all of `x` is one vector (`ord` None),
        or `x` is one vector or matrix.
    keepdims : bool, optional
        Keep the reduced axes with length 1.
    precision : Precision or str, optional
        The precision of the norm; by default the precision of `x`.

    Returns
    -------
    MDArray
        The norms, real.

    Raises
    ------
    ValueError
        If `ord` is not among those above, an axis does not exist (`numpy.exceptions.AxisError`),
        or a maximum is taken over nothing.
    TypeError
        If an axis is not an integer.
    numpy.linalg.LinAlgError
        For 2, -2 and "nuc" of matrices, as `svdvals`.

    Notes
    -----
    The relative error is at most ``(K + 16) eps`` for K entries, more by a factor of p for
    integer p. Entries are scaled by a power of two, so that no square over- or underflows.

    For matrices of k rows or columns, whichever are fewer, the error of the 2-norm is at most
    ``40 k eps``, that of "nuc" ``50 k**2 eps``; -2 is as accurate as the smallest value of
    `svdvals`.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.linalg.norm(mdqr.array([3.0, 4.0], precision=mdqr.od)).to_strings().item()
    '5.0'
    >>> mdqr.linalg.norm(mdqr.array([[1e300, 1e300]], precision=mdqr.qd), 1).to_numpy().item()
    1e+300
    """
    inputs = gather(x, precision=precision)
    ndim = len(inputs.shape(0))
    axes = _axes(ndim, ord, axis)
    block = _to_the_end(inputs, axes)
    if len(axes) == 1:
        found = _vector_norm(inputs, block, ord)
    elif len(axes) == 2 and not (axis is None and ord is None):
        found = _matrix_norm(inputs, block, ord)
    else:
        found = _euclidean(inputs, _flattened(block, len(axes)))
    if keepdims:
        shape = tuple(1 if i in axes else size for i, size in enumerate(inputs.shape(0)))
        found = found.reshape(found.shape[0], *shape)
    return inputs.wrap(found, is_complex=False)


def vector_norm(
    x: Any,
    /,
    *,
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
    ord: float = 2,
    precision: PrecisionLike | None = None,
) -> MDArray:
    """Return the norm of vectors, which may lie along several axes.

    Parameters
    ----------
    x : array_like
        The vectors.
    axis : int or tuple of int, optional
        Their axes; all by default.
    keepdims : bool, optional
        Keep the reduced axes with length 1.
    ord : int or float, optional
        As in `mdqr.linalg.norm` for vectors.
    precision : Precision or str, optional
        The precision of the norm; by default the precision of `x`.

    Returns
    -------
    MDArray
        The norms, real; errors as in `mdqr.linalg.norm`.

    Raises
    ------
    ValueError
        As in `mdqr.linalg.norm`.

    Examples
    --------
    >>> import mdqr
    >>> float(mdqr.linalg.vector_norm(mdqr.ones((2, 8), precision=mdqr.qd)))
    4.0
    """
    given = as_array(x, precision)
    reduced = counted_axes(axis, given.ndim)
    kept = [i for i in range(given.ndim) if i not in reduced]
    rows = given.transpose(*kept, *reduced).reshape(
        [*(given.shape[i] for i in kept), math.prod(given.shape[i] for i in reduced)]
    )
    if not rows.shape[-1] and ord in (math.inf, 0):
        found = reductions.sum(rows.real, -1)
    else:
        found = norm(rows, ord, axis=-1)
    if not keepdims:
        return found
    return found.reshape([1 if i in reduced else n for i, n in enumerate(given.shape)])


@documented(vector_norm)
def matrix_norm(
    x: Any,
    /,
    *,
    keepdims: bool = False,
    ord: float | MatrixOrder | None = "fro",
    precision: PrecisionLike | None = None,
) -> MDArray:
    """Return the norm of matrices.

    Parameters
    ----------
    x : array_like
        Matrices; leading axes are batches.
    ord : int, float or "fro", optional
        As in `mdqr.linalg.norm` for matrices.

    >>> float(mdqr.linalg.matrix_norm(mdqr.ones((2, 8), precision=mdqr.qd)))
    4.0
    """
    return norm(x, ord, axis=(-2, -1), keepdims=keepdims, precision=precision)


def _axes(ndim: int, order: float | str | None, axis: int | tuple[int, ...] | None) -> list[int]:
    """Return the axes to reduce, from the first to the last, or rows then columns."""
    if axis is None:
        if order is not None and ndim not in (1, 2):
            raise ValueError(
                f"norm: x must be a vector or a matrix when ord is given without axis; "
                f"got {ndim} dimensions"
            )
        return list(range(ndim))
    chosen = axis if isinstance(axis, tuple) else (axis,)
    for i in chosen:
        if as_integer(i) is None:
            raise TypeError(f"norm: axis must be one integer or two; got {shown(axis)}")
        if not -ndim <= i < ndim:
            raise np.exceptions.AxisError(int(i), ndim, "norm")
    axes = [int(i) % ndim for i in chosen]
    if len(axes) not in (1, 2) or len(set(axes)) < len(axes):
        raise ValueError(f"norm: axis must be one integer or two different ones; got {shown(axis)}")
    return axes


def _to_the_end(inputs: Inputs, axes: list[int]) -> Block:
    front = inputs.kind.lead
    source = [front + i for i in axes]
    return inputs.backend.xp.moveaxis(inputs.blocks[0], source, range(-len(axes), 0))


def _flattened(block: Block, count: int) -> Block:
    kept = block.shape[: block.ndim - count]
    return block.reshape(*kept, math.prod(block.shape[block.ndim - count :]))


def _vector_norm(inputs: Inputs, block: Block, order: float | str | None) -> Block:
    if order is None or order == 2:
        return _euclidean(inputs, block)
    if order == 0:
        magnitudes = scaling.magnitude_bits(block, inputs.is_complex)
        return (magnitudes != 0).sum(axis=-1).astype(np.float64)[None]
    if order in (math.inf, -math.inf):
        return _extreme(inputs, _absolute(inputs, block), "max" if order == math.inf else "min")
    power = _power(order)
    if power == 1:
        return _sum(inputs, _absolute(inputs, block))
    return _power_norm(inputs, _absolute(inputs, block), power)


def _power(order: Any) -> int:
    """Return the integer p of a vector norm."""
    whole = isinstance(order, (float, np.floating)) and order.is_integer()
    power = int(order) if whole else as_integer(order)
    if power is None or abs(power) > _LARGEST_POWER:
        raise ValueError(
            "norm: ord of a vector must be None, inf, -inf or an integer between "
            f"{-_LARGEST_POWER} and {_LARGEST_POWER}; got {shown(order)}: "
            "other powers are computed in float64 only, by numpy.linalg.norm(x.to_numpy(), ord)"
        )
    return power


def _matrix_norm(inputs: Inputs, block: Block, order: float | str | None) -> Block:
    if order in (None, "fro"):
        return _euclidean(inputs, _flattened(block, 2))
    if order not in MATRIX_ORDERS:
        raise ValueError(
            'norm: ord of a matrix must be None, "fro", "nuc", 1, -1, 2, -2, inf or -inf; '
            f"got {shown(order)}"
        )
    if order in (2, -2, "nuc"):
        return _spectral_norm(inputs, block, order)
    values = _absolute(inputs, block)
    if order in (1, -1):
        values = values.swapaxes(-1, -2)
    return _extreme(inputs, _sum(inputs, values), "max" if float(order or 0) > 0 else "min")


def _spectral_norm(inputs: Inputs, block: Block, order: Any) -> Block:
    """Return the largest or smallest singular value, or the sum of all."""
    block = planes.widen(block, inputs.is_complex, inputs.work.limbs)
    matrices = MDArray._wrap(block, inputs.work, inputs.is_complex)
    found, parts = decomposed("norm", matrices, None, vectors=False)
    shape = (*matrices.shape[:-2], min(matrices.shape[-2:]))
    values = folded(found, parts.values, shape, is_complex=False)._block
    return (
        _sum(inputs, values)
        if order == "nuc"
        else _extreme(inputs, values, "max" if order == 2 else "min")
    )


def _absolute(inputs: Inputs, block: Block) -> Block:
    """Return the absolute values, as a real block of the limbs of the work."""
    return inputs.backend.unary("abs", block, kind=inputs.kind)


def _sum(inputs: Inputs, values: Block) -> Block:
    return inputs.backend.reduce("sum", values, kind=inputs.kind.real)


def _extreme(inputs: Inputs, values: Block, op: str) -> Block:
    if values.shape[-1] == 0:
        raise ValueError("norm: the largest or smallest of no entries does not exist")
    place = inputs.backend.argreduce(op, values)
    index = inputs.backend.xp.broadcast_to(place[None, ..., None], (*values.shape[:-1], 1))
    return inputs.backend.xp.take_along_axis(values, index, axis=-1)[..., 0]


def _euclidean(inputs: Inputs, block: Block) -> Block:
    """Return 2-norms over the last axis; complex values count as pairs of real ones."""
    backend, kind = inputs.backend, inputs.kind.real
    if inputs.is_complex:
        block = backend.xp.concatenate([block[0], block[1]], axis=-1)
    exponent = scaling.top_exponents(block, False, -1)
    scaled = backend.ldexp(block, -exponent[..., None])
    squares = backend.matmul(scaled[..., None, :], scaled[..., None], kind=kind)[..., 0, 0]
    root = backend.unary("sqrt", squares, kind=kind)
    return backend.ldexp(root, exponent)


def _power_norm(inputs: Inputs, values: Block, power: int) -> Block:
    """Return ``sum(values**power)**(1/power)``, scaled by the largest of the powers."""
    backend = inputs.backend
    exponents = scaling.top_exponents if power > 0 else _lowest_exponents
    exponent = exponents(values, False, -1)
    scaled = backend.ldexp(values, -exponent[..., None])
    total = _sum(inputs, _integer_power(inputs, scaled, power))
    return backend.ldexp(_root(inputs, total, power), exponent)


def _lowest_exponents(block: Block, is_complex: bool, axis: int) -> Block:
    """Return the exponents of the smallest entries that are not zero; 0 if there is none."""
    xp, bits = planes.namespace(block), scaling.magnitude_bits(block, is_complex)
    nonzero = xp.where(bits == 0, _NOTHING, bits)
    return scaling.exponents_of(xp.asarray(-scaling.largest(-nonzero, axis, -_NOTHING)))


def _integer_power(inputs: Inputs, x: Block, power: int) -> Block:
    kind = inputs.kind.real
    result: Block | None = None
    square, left = x, abs(power)
    while left:
        if left & 1:
            result = (
                square
                if result is None
                else inputs.backend.binary("multiply", result, square, kind=kind)
            )
        left >>= 1
        if left:
            square = inputs.backend.binary("multiply", square, square, kind=kind)
    return inputs.backend.unary("reciprocal", result, kind=kind) if power < 0 else result


def _root(inputs: Inputs, total: Block, power: int) -> Block:
    """Return ``total**(1/power)`` by Newton's method from the float64 root."""
    backend, xp = inputs.backend, inputs.backend.xp
    kind = inputs.kind.real
    with np.errstate(all="ignore"):
        seed = xp.power(total[0], 1.0 / power)
    usable = xp.isfinite(seed) & (seed > 0)
    root = xp.where(usable, seed, 1.0)[None]
    target = xp.where(usable, total, 0.0)
    target[0] = xp.where(usable, total[0], 1.0)
    bits = 40
    while bits < 53 * inputs.work.limbs + 8:
        slope = _integer_power(inputs, root, power)
        error = backend.binary("subtract", target, slope, kind=kind)
        error = backend.binary("divide", error, slope, kind=kind)
        step = backend.binary("divide", error, _constant(root, power), kind=kind)
        change = backend.binary("multiply", step, root, kind=kind)
        root = backend.binary("add", root, change, kind=kind)
        bits *= 2
    root = planes.widen(root, False, inputs.work.limbs)
    edge = xp.zeros_like(root)
    edge[0] = seed
    return xp.where(usable, root, edge)


def _constant(like: Block, value: int) -> Block:
    xp = planes.namespace(like)
    return xp.full((1, *like.shape[1:]), float(value))
