"""What numpy.linalg and the array API add to products and norms: the last axes are matrices."""

from __future__ import annotations

import operator
from math import inf, prod
from typing import Any

from mdqr._array.array import MDArray
from mdqr._core.axes import counted_axes
from mdqr._errors import advised
from mdqr._functions import filled, reductions
from mdqr._functions.manipulation import axes as _axes
from mdqr._functions.products import contractions
from mdqr._limbs import planes
from mdqr._precision import Precision
from mdqr.linalg._products.matmul import matmul
from mdqr.linalg._products.norms import norm
from mdqr.linalg._shared.operands import gather


def _operand(x: Any, precision: Precision | str | None) -> MDArray:
    inputs = gather(x, precision=precision)
    block = planes.widen(inputs.blocks[0], inputs.is_complex, inputs.kind.limbs)
    return inputs.wrap(block)


def vector_norm(
    x: Any,
    /,
    *,
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
    ord: float = 2,
    precision: Precision | str | None = None,
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
        The precision of the norm; by default that of `x`.

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
    given = _operand(x, precision)
    reduced = counted_axes(axis, given.ndim)
    kept = [i for i in range(given.ndim) if i not in reduced]
    rows = given.transpose(*kept, *reduced).reshape(
        [*(given.shape[i] for i in kept), prod(given.shape[i] for i in reduced)]
    )
    if not rows.shape[-1] and ord in (inf, 0):
        found = reductions.sum(rows.real, -1)
    else:
        found = norm(rows, ord, axis=-1)
    if not keepdims:
        return found
    return found.reshape([1 if i in reduced else n for i, n in enumerate(given.shape)])


def matrix_norm(
    x: Any,
    /,
    *,
    keepdims: bool = False,
    ord: float | str | None = "fro",
    precision: Precision | str | None = None,
) -> MDArray:
    """Return the norm of matrices.

    Parameters
    ----------
    x : array_like
        Matrices; leading axes are batches.
    keepdims : bool, optional
        Keep the reduced axes with length 1.
    ord : int, float or "fro", optional
        As in `mdqr.linalg.norm` for matrices.
    precision : Precision or str, optional
        The precision of the norm; by default that of `x`.

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
    >>> float(mdqr.linalg.matrix_norm(mdqr.ones((2, 8), precision=mdqr.qd)))
    4.0
    """
    return norm(x, ord, axis=(-2, -1), keepdims=keepdims, precision=precision)


@advised
def matrix_power(a: Any, n: int, *, precision: Precision | str | None = None) -> MDArray:
    """Return powers of square matrices, by repeated squaring.

    Parameters
    ----------
    a : array_like
        Square matrices; leading axes are batches.
    n : int
        The exponent. A negative one is that of the inverse, which is found first.
    precision : Precision or str, optional
        The precision of the power; by default that of `a`.

    Returns
    -------
    MDArray
        The powers. Each product in turn has the error of `mdqr.linalg.matmul`, an inverse that of
        `mdqr.linalg.inv`.

    Raises
    ------
    ValueError
        If the matrices are not square.
    TypeError
        If `n` is no integer.
    numpy.linalg.LinAlgError
        If `n` is negative and a matrix is singular; see `mdqr.linalg.inv`.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.linalg.matrix_power(mdqr.array([[1, 1], [1, 0]], precision=mdqr.qd), 10).to_numpy()
    array([[89., 55.],
           [55., 34.]])
    """
    given, exponent = _operand(a, precision), operator.index(n)
    if given.ndim < 2 or given.shape[-1] != given.shape[-2]:
        raise ValueError(f"matrix_power wants square matrices; got shape {given.shape}")
    if exponent < 0:
        from mdqr.linalg._solve.solve import inv

        given, exponent = inv(given), -exponent
    if not exponent:
        identity = filled.zeros_like(given)
        planes.set_unit_diagonal(identity._block, identity.is_complex)
        return identity
    result = given.copy()
    for bit in bin(exponent)[3:]:
        result = matmul(result, result)
        if bit == "1":
            result = matmul(result, given)
    return result


def diagonal(x: Any, /, *, offset: int = 0, precision: Precision | str | None = None) -> MDArray:
    """Return the diagonals of matrices, a view.

    Parameters
    ----------
    x : array_like
        Matrices; leading axes are batches.
    offset : int, optional
        The diagonal: above the main one if positive.
    precision : Precision or str, optional
        The precision of the result; by default that of `x`.

    Returns
    -------
    MDArray
        The diagonals, along the last axis.

    Raises
    ------
    ValueError
        If there are fewer than two axes.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.linalg.diagonal(mdqr.zeros((5, 2, 3), precision=mdqr.qd)).shape
    (5, 2)
    """
    return _axes.diagonal(_operand(x, precision), offset, -2, -1)


def trace(x: Any, /, *, offset: int = 0, precision: Precision | str | None = None) -> MDArray:
    """Return the sums along the diagonals of matrices.

    Parameters
    ----------
    x, offset, precision
        As in `mdqr.linalg.diagonal`.

    Returns
    -------
    MDArray
        The sums, over the batch; errors as in `mdqr.sum`.

    Raises
    ------
    ValueError
        If there are fewer than two axes.

    Examples
    --------
    >>> import mdqr
    >>> float(mdqr.linalg.trace(mdqr.eye(3, precision=mdqr.qd)))
    3.0
    """
    return reductions.trace(_operand(x, precision), offset, -2, -1)


def matrix_transpose(x: Any, /, *, precision: Precision | str | None = None) -> MDArray:
    """Return a view with the last two axes swapped.

    Parameters
    ----------
    x : array_like
        Matrices; leading axes are batches.
    precision : Precision or str, optional
        The precision of the result; by default that of `x`.

    Returns
    -------
    MDArray
        A view.

    Raises
    ------
    ValueError
        If there are fewer than two axes.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.linalg.matrix_transpose(mdqr.zeros((5, 2, 3), precision=mdqr.qd)).shape
    (5, 3, 2)
    """
    return _operand(x, precision).mT


def _pair(x1: Any, x2: Any, precision: Precision | str | None) -> tuple[MDArray, MDArray]:
    inputs = gather(x1, x2, precision=precision)
    first, second = (
        inputs.wrap(planes.widen(block, inputs.is_complex, inputs.kind.limbs))
        for block in inputs.blocks
    )
    return first, second


def outer(x1: Any, x2: Any, /, *, precision: Precision | str | None = None) -> MDArray:
    """Return all products of values of two vectors.

    Parameters
    ----------
    x1, x2 : array_like
        The vectors.
    precision : Precision or str, optional
        The precision of the result; by default the highest of both.

    Returns
    -------
    MDArray
        A matrix, a row for each value of `x1`; errors as in a product.

    Raises
    ------
    ValueError
        If an operand is no vector.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.linalg.outer([1.0, 2.0], [3.0, 4.0, 5.0], precision=mdqr.qd).shape
    (2, 3)
    """
    left, right = _pair(x1, x2, precision)
    if left.ndim != 1 or right.ndim != 1:
        raise ValueError(f"outer wants two vectors; got shapes {left.shape} and {right.shape}")
    return reductions.outer(left, right)


def cross(
    x1: Any, x2: Any, /, *, axis: int = -1, precision: Precision | str | None = None
) -> MDArray:
    """Return the cross products of vectors of three values; see `mdqr.cross`.

    Parameters
    ----------
    x1, x2 : array_like
        The vectors, which broadcast.
    axis : int, optional
        Their axis.
    precision : Precision or str, optional
        The precision of the result; by default the highest of both.

    Returns
    -------
    MDArray
        Of the broadcast shape.

    Raises
    ------
    ValueError
        If the vectors do not have three values.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.linalg.cross([1.0, 0.0, 0.0], [0.0, 1.0, 0.0], precision=mdqr.qd).to_numpy()
    array([0., 0., 1.])
    """
    return contractions.cross(*_pair(x1, x2, precision), axis=axis)


def vecdot(
    x1: Any, x2: Any, /, *, axis: int = -1, precision: Precision | str | None = None
) -> MDArray:
    """Return the inner products of vectors, those of `x1` conjugated; see `mdqr.vecdot`.

    Parameters
    ----------
    x1, x2 : array_like
        The vectors; the other axes broadcast.
    axis : int, optional
        Their axis, counted from the end.
    precision : Precision or str, optional
        The precision of the result; by default the highest of both.

    Returns
    -------
    MDArray
        Of the broadcast batch shape.

    Raises
    ------
    ValueError
        If the vectors differ in length.

    Examples
    --------
    >>> import mdqr
    >>> float(mdqr.linalg.vecdot([1.0, 2.0], [3.0, 4.0], precision=mdqr.qd))
    11.0
    """
    return contractions.vecdot(*_pair(x1, x2, precision), axis=axis)


def tensordot(
    x1: Any, x2: Any, /, *, axes: Any = 2, precision: Precision | str | None = None
) -> MDArray:
    """Return products of two arrays, summed over pairs of axes; see `mdqr.tensordot`.

    Parameters
    ----------
    x1, x2 : array_like
        The arrays.
    axes : int or pair of sequences of int, optional
        How many of the last axes of `x1` meet the first ones of `x2`, or which axes meet which.
    precision : Precision or str, optional
        The precision of the result; by default the highest of both.

    Returns
    -------
    MDArray
        The other axes of `x1`, then those of `x2`.

    Raises
    ------
    ValueError
        If axes that meet differ in length or number.

    Examples
    --------
    >>> import mdqr
    >>> float(mdqr.linalg.tensordot([1.0, 2.0], [3.0, 4.0], axes=1, precision=mdqr.qd))
    11.0
    """
    return contractions.tensordot(*_pair(x1, x2, precision), axes=axes)
