"""Products of numpy.linalg and the array API: the last axes are matrices."""

from __future__ import annotations

from typing import Any

from mdqr._array.array import MDArray
from mdqr._docstrings import documented
from mdqr._functions import reductions
from mdqr._functions.manipulation import axes as _axes
from mdqr._functions.products import contractions
from mdqr._typing import PrecisionLike
from mdqr.linalg._shared.operands import as_array, gather


def diagonal(x: Any, /, *, offset: int = 0, precision: PrecisionLike | None = None) -> MDArray:
    """Return a view of diagonals of the last two axes; `mdqr.diagonal`: of the first two.

    Parameters
    ----------
    x : array_like
        Matrices; leading axes are batches.
    offset : int, optional
        The diagonal: above the main one if positive.
    precision : Precision or str, optional
        The precision of the result; by default the precision of `x`.

    Returns
    -------
    MDArray
        The diagonals, along the last axis.

    Raises
    ------
    ValueError
        If the array has fewer than two axes.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.linalg.diagonal(mdqr.zeros((5, 2, 3), precision=mdqr.qd)).shape
    (5, 2)
    """
    return _axes.diagonal(as_array(x, precision), offset, -2, -1)


@documented(diagonal)
def trace(x: Any, /, *, offset: int = 0, precision: PrecisionLike | None = None) -> MDArray:
    """Return the sums along diagonals of the last two axes; `mdqr.trace`: of the first two.

    Returns
    -------
    MDArray
        The sums, over the batch; errors as in `mdqr.sum`.

    >>> float(mdqr.linalg.trace(mdqr.eye(3, precision=mdqr.qd)))
    3.0
    """
    return reductions.trace(x, offset, -2, -1, precision=_answer(x, precision=precision))


@documented(diagonal)
def matrix_transpose(x: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return a view with the last two axes swapped; `mdqr.matrix_transpose` takes no `precision`.

    Returns
    -------
    MDArray
        A view.

    >>> mdqr.linalg.matrix_transpose(mdqr.zeros((5, 2, 3), precision=mdqr.qd)).shape
    (5, 3, 2)
    """
    return as_array(x, precision).mT


def _answer(*operands: Any, precision: PrecisionLike | None) -> PrecisionLike | None:
    """Return the precision of the answer; None where it is the highest of the arrays."""
    if precision is None and any(isinstance(x, MDArray) for x in operands):
        return None
    return gather(*operands, precision=precision, trimmed=False).precision


def outer(x1: Any, x2: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return all products of values of two vectors; `mdqr.outer` flattens other arrays.

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
        If an operand is not a vector.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.linalg.outer([1.0, 2.0], [3.0, 4.0, 5.0], precision=mdqr.qd).shape
    (2, 3)
    """
    inputs = gather(x1, x2, precision=precision, trimmed=False)
    left, right = inputs.shape(0), inputs.shape(1)
    if len(left) != 1 or len(right) != 1:
        raise ValueError(f"outer needs two vectors; got shapes {left} and {right}")
    return reductions.outer(x1, x2, precision=inputs.precision)


def cross(
    x1: Any, x2: Any, /, *, axis: int = -1, precision: PrecisionLike | None = None
) -> MDArray:
    """Return cross products; unlike `mdqr.cross` also of floats alone, in precision d.

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
    answer = _answer(x1, x2, precision=precision)
    return contractions.cross(x1, x2, axis=axis, precision=answer)


def vecdot(
    x1: Any, x2: Any, /, *, axis: int = -1, precision: PrecisionLike | None = None
) -> MDArray:
    """Return inner products; unlike `mdqr.vecdot` also of floats alone, in precision d.

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
    answer = _answer(x1, x2, precision=precision)
    return contractions.vecdot(x1, x2, axis=axis, precision=answer)


def tensordot(
    x1: Any, x2: Any, /, *, axes: Any = 2, precision: PrecisionLike | None = None
) -> MDArray:
    """Return products summed over axes; unlike `mdqr.tensordot` also of floats alone, in d.

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
        The other axes of `x1`, then the other axes of `x2`.

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
    answer = _answer(x1, x2, precision=precision)
    return contractions.tensordot(x1, x2, axes=axes, precision=answer)
