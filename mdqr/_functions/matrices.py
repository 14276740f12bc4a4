"""Matrices of simple structure."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, overload

from mdqr._core.dtypes import DType
from mdqr._core.promotion import promote
from mdqr._docstrings import NEW_ARRAY, documented
from mdqr._errors import advised
from mdqr._functions import creation, elementwise, filled
from mdqr._limbs import planes
from mdqr._typing import PrecisionLike

if TYPE_CHECKING:
    from mdqr._array.array import MDArray


@overload
def eye(
    N: int,
    M: int | None = None,
    k: int = 0,
    *,
    precision: PrecisionLike,
    dtype: Any = None,
    device: str | None = None,
) -> MDArray: ...


@overload
def eye(
    N: int,
    M: int | None = None,
    k: int = 0,
    *,
    precision: PrecisionLike | None = None,
    dtype: DType,
    device: str | None = None,
) -> MDArray: ...


@advised
@documented(filled.zeros)
def eye(
    N: int,
    M: int | None = None,
    k: int = 0,
    *,
    precision: PrecisionLike | None = None,
    dtype: Any = None,
    device: str | None = None,
) -> MDArray:
    """Return a matrix with ones on a diagonal and zeros elsewhere.

    Parameters
    ----------
    N : int
        Number of rows.
    M : int, optional
        Number of columns, `N` by default.
    k : int, optional
        The diagonal: above the main one if positive.

    Returns
    -------
    MDArray
        A new array of shape ``(N, M)``.

    >>> mdqr.eye(2, precision=mdqr.qd).to_numpy()
    array([[1., 0.],
           [0., 1.]])
    """
    rows = operator.index(N)
    columns = rows if M is None else operator.index(M)
    matrix = filled.zeros((rows, columns), precision=precision, dtype=dtype, device=device)
    first = matrix._block[0, 0] if matrix.is_complex else matrix._block[0]
    first[...] = planes.namespace(first).eye(rows, columns, operator.index(k))
    return matrix


@advised
@documented(NEW_ARRAY)
def diag(v: Any, /, k: int = 0) -> MDArray:
    """Return the diagonal of a matrix, or the matrix with a given diagonal.

    Parameters
    ----------
    v : MDArray
        One axis: the diagonal; two axes: the matrix.
    k : int, optional
        The diagonal: above the main one if positive.

    Raises
    ------
    ValueError
        If `v` has neither one axis nor two.

    >>> mdqr.diag(mdqr.array([1, 2], precision=mdqr.qd)).to_numpy()
    array([[1., 0.],
           [0., 2.]])
    """
    ops = promote(v)
    (block,) = ops.blocks
    front = planes.lead(ops.is_complex)
    if len(ops.shape) == 2:
        return ops.wrap(block.diagonal(k, front, front + 1).copy())
    if len(ops.shape) != 1:
        raise ValueError(f"diag needs one axis or two; the shape is {ops.shape}")
    size = ops.shape[0] + abs(k)
    xp = planes.namespace(block)
    matrix = xp.zeros((*block.shape[:front], size, size))
    index = xp.arange(ops.shape[0])
    matrix[..., index + max(-k, 0), index + max(k, 0)] = block
    return ops.wrap(matrix)


@documented(eye)
def identity(
    n: int,
    *,
    precision: PrecisionLike | None = None,
    dtype: Any = None,
    device: str | None = None,
) -> MDArray:
    """Return the unit matrix of an order.

    Parameters
    ----------
    n : int
        Number of rows and columns.

    Returns
    -------
    MDArray
        A new array of shape ``(n, n)``.

    >>> mdqr.identity(2, precision=mdqr.qd).to_numpy()
    array([[1., 0.],
           [0., 1.]])
    """
    return eye(n, precision=precision, dtype=dtype, device=device)


@documented(eye)
def tri(
    N: int,
    M: int | None = None,
    k: int = 0,
    *,
    precision: PrecisionLike | None = None,
    dtype: Any = None,
    device: str | None = None,
) -> MDArray:
    """Return a matrix with ones on and below a diagonal.

    >>> mdqr.tri(2, precision=mdqr.qd).to_numpy()
    array([[1., 0.],
           [1., 1.]])
    """
    rows, columns = operator.index(N), operator.index(N if M is None else M)
    shape = (max(rows, 0), max(columns, 0))
    return tril(filled.ones(shape, precision=precision, dtype=dtype, device=device), k)


@documented(diag)
def diagflat(v: Any, /, k: int = 0) -> MDArray:
    """Return the matrix with the flattened values on a diagonal.

    Parameters
    ----------
    v : MDArray
        The values.

    >>> mdqr.diagflat(mdqr.array([[1, 2]], precision=mdqr.qd)).shape
    (2, 2)
    """
    return diag(creation.asarray(v).ravel(), k)


@advised
@documented(NEW_ARRAY)
def tril(m: Any, /, k: int = 0) -> MDArray:
    """Return the lower triangle: a copy with zeros above the k-th diagonal.

    Parameters
    ----------
    m : MDArray
        Matrices; leading axes are batches.
    k : int, optional
        The last diagonal that is kept.

    Raises
    ------
    ValueError
        If the array has fewer than two axes.

    >>> mdqr.tril(mdqr.ones((2, 2), precision=mdqr.qd)).to_numpy()
    array([[1., 0.],
           [1., 1.]])
    """
    return _triangle("tril", m, k)


@advised
@documented(tril)
def triu(m: Any, /, k: int = 0) -> MDArray:
    """Return the upper triangle: a copy with zeros below the k-th diagonal.

    Parameters
    ----------
    k : int, optional
        The first diagonal that is kept.

    >>> mdqr.triu(mdqr.ones((2, 2), precision=mdqr.qd)).to_numpy()
    array([[1., 1.],
           [0., 1.]])
    """
    return _triangle("triu", m, k)


def vander(
    x: Any,
    /,
    N: int | None = None,
    increasing: bool = False,
    *,
    precision: PrecisionLike | None = None,
) -> MDArray:
    """Return the Vandermonde matrix of `x`.

    Parameters
    ----------
    x : array_like
        The points, one axis.
    N : int, optional
        Number of columns, by default the number of points.
    increasing : bool, optional
        Whether the powers increase from left to right; by default they decrease, as NumPy's.
    precision : Precision or str, optional
        The precision; required unless `x` is an `MDArray`.

    Returns
    -------
    MDArray
        Of shape ``(len(x), N)``. The column of ``x**k`` has relative error at most
        ``2 * (k - 1) * eps``, complex twice that, to first order.

    Raises
    ------
    TypeError
        If the precision is missing.
    ValueError
        If `x` does not have one axis, or `N` is negative.

    Notes
    -----
    Column k is the product of columns k // 2 and k - k // 2. Powers that fit the precision, such as
    powers of small integers, are exact.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.vander([1, 2], 3, precision=mdqr.qd).to_numpy()
    array([[1., 1., 1.],
           [4., 2., 1.]])
    """
    points = creation.asarray(x, precision=precision)
    if points.ndim != 1:
        raise ValueError(f"vander needs points along one axis; got shape {points.shape}")
    columns = len(points) if N is None else operator.index(N)
    if columns < 0:
        raise ValueError(f"the number of columns must not be negative; got {columns}")
    matrix = filled.zeros(
        (len(points), columns),
        precision=points.precision,
        dtype=complex if points.is_complex else float,
        device=points.device,
    )
    powers = matrix if increasing else matrix[:, ::-1]
    for k in range(columns):
        if k < 2:
            powers[:, k] = points if k else 1.0
        else:
            powers[:, k] = elementwise.multiply(powers[:, k // 2], powers[:, k - k // 2])
    return matrix


def _triangle(which: str, m: Any, k: int) -> MDArray:
    ops = promote(m)
    if len(ops.shape) < 2:
        raise ValueError(f"{which} needs at least two axes; the shape is {ops.shape}")
    (block,) = ops.blocks
    return ops.wrap(getattr(planes.namespace(block), which)(block, operator.index(k)))
