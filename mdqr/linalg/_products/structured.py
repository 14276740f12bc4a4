"""Matrices that few numbers determine, as `scipy.linalg` makes them: entries are moved, exactly."""

from __future__ import annotations

from typing import Any

from mdqr._array.array import MDArray
from mdqr._docstrings import documented
from mdqr._errors import advised
from mdqr._limbs import planes
from mdqr._limbs.planes import Block
from mdqr._typing import PrecisionLike
from mdqr.linalg._shared.operands import Inputs, broadcast_batch, gather, matrix_shape


@advised
def toeplitz(c: Any, /, r: Any = None, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return matrices with constant diagonals; as `scipy.linalg.toeplitz`.

    Parameters
    ----------
    c : array_like
        First columns ``(..., m)``.
    r : array_like, optional
        First rows ``(..., n)``, of which the first value is not looked at; by default the
        conjugate of `c`, for Hermitian matrices.
    precision : Precision or str, optional
        The precision of the matrix; by default the highest of the operands.

    Returns
    -------
    MDArray
        Matrices ``(..., m, n)`` with entry (i, j) equal to ``c[i - j]``, above the diagonal to
        ``r[j - i]``.

    Raises
    ------
    ValueError
        If an operand is a scalar, or the leading dimensions do not broadcast.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.linalg.toeplitz([1, 2, 3], [1, 4], precision=mdqr.qd).to_numpy()
    array([[1., 4.],
           [2., 1.],
           [3., 2.]])
    """
    inputs, column, row = _column_and_row("toeplitz", c, r, precision)
    if r is None:
        row = planes.conjugate(row) if inputs.is_complex else row
    m, n, xp = column.shape[-1], row.shape[-1], inputs.backend.xp
    values = xp.concatenate([column[..., ::-1], row[..., 1:]], axis=-1)
    return _taken(inputs, values, m - 1 - xp.arange(m)[:, None] + xp.arange(n))


@documented(toeplitz)
def hankel(c: Any, /, r: Any = None, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return matrices with constant antidiagonals; as `scipy.linalg.hankel`.

    Parameters
    ----------
    r : array_like, optional
        Last rows ``(..., n)``, of which the first value is not looked at; zeros by default, as many
        as `c` has.

    Returns
    -------
    MDArray
        Matrices ``(..., m, n)`` with entry (i, j) equal to ``c[i + j]``, from m on to
        ``r[i + j - m + 1]``.

    >>> mdqr.linalg.hankel([1, 2, 3], precision=mdqr.qd).to_numpy()
    array([[1., 2., 3.],
           [2., 3., 0.],
           [3., 0., 0.]])
    """
    inputs, column, row = _column_and_row("hankel", c, r, precision)
    xp = inputs.backend.xp
    if r is None:
        row = xp.zeros_like(row)
    values = xp.concatenate([column, row[..., 1:]], axis=-1)
    return _taken(inputs, values, xp.arange(column.shape[-1])[:, None] + xp.arange(row.shape[-1]))


@documented(toeplitz)
def circulant(c: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return circulant matrices; as `scipy.linalg.circulant`.

    Parameters
    ----------
    c : array_like
        First columns ``(..., n)``.

    Returns
    -------
    MDArray
        Matrices ``(..., n, n)`` with entry (i, j) equal to ``c[(i - j) % n]``.

    Raises
    ------
    ValueError
        If `c` is a scalar.

    >>> mdqr.linalg.circulant([1, 2, 3], precision=mdqr.qd).to_numpy()
    array([[1., 3., 2.],
           [2., 1., 3.],
           [3., 2., 1.]])
    """
    inputs, column, _ = _column_and_row("circulant", c, None, precision)
    places = inputs.backend.xp.arange(column.shape[-1])
    return _taken(inputs, column, (places[:, None] - places) % max(1, len(places)))


@advised
def block_diag(*arrs: Any, precision: PrecisionLike | None = None) -> MDArray:
    """Return a matrix of blocks along the diagonal; as `scipy.linalg.block_diag`.

    Parameters
    ----------
    *arrs : array_like
        Matrices ``(..., m, n)``, whose leading dimensions broadcast; a vector is one row.
    precision : Precision or str, optional
        The precision of the matrix; by default the highest of the operands.

    Returns
    -------
    MDArray
        A matrix, or a batch, with zeros outside the blocks.

    Raises
    ------
    TypeError
        If no blocks are given.
    ValueError
        If the leading dimensions do not broadcast.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.linalg.block_diag([[1, 2], [3, 4]], 5, precision=mdqr.qd).to_numpy()
    array([[1., 2., 0.],
           [3., 4., 0.],
           [0., 0., 5.]])
    """
    if not arrs:
        raise TypeError("block_diag needs at least one matrix")
    inputs = gather(*arrs, precision=precision)
    blocks = []
    for i, block in enumerate(inputs.blocks):
        full = planes.widen(block, inputs.is_complex, inputs.work.limbs)
        missing = 2 - len(inputs.shape(i))
        blocks.append(
            full.reshape(*full.shape[: inputs.kind.lead], *(1,) * missing, *inputs.shape(i))
            if missing > 0
            else full
        )
    batch, blocks = broadcast_batch("block_diag", blocks, inputs.is_complex)
    rows, columns = (sum(block.shape[axis] for block in blocks) for axis in (-2, -1))
    found = inputs.kind.zeros(inputs.backend.xp, (*batch, rows, columns))
    row = column = 0
    for block in blocks:
        m, n = block.shape[-2:]
        found[..., row : row + m, column : column + n] = block
        row, column = row + m, column + n
    return inputs.wrap(found)


@advised
def khatri_rao(a: Any, b: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return products of Kronecker, column by column; as `scipy.linalg.khatri_rao`.

    Parameters
    ----------
    a, b : array_like
        Matrices ``(..., m, k)`` and ``(..., n, k)``; leading dimensions broadcast.
    precision : Precision or str, optional
        The precision of the result; by default the highest of both.

    Returns
    -------
    MDArray
        Matrices ``(..., m * n, k)``; each entry is one product, with the error of `mdqr.multiply`.

    Raises
    ------
    ValueError
        If the numbers of columns differ, or the leading dimensions do not broadcast.
    numpy.linalg.LinAlgError
        If an operand has fewer than two axes.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.linalg.khatri_rao([[1, 2], [3, 4]], [[5, 6]], precision=mdqr.qd).to_numpy()
    array([[ 5., 12.],
           [15., 24.]])
    """
    inputs = gather(a, b, precision=precision)
    (m, k), (n, other) = (
        matrix_shape("khatri_rao", name, inputs.shape(i)) for i, name in enumerate("ab")
    )
    if k != other:
        raise ValueError(f"khatri_rao: a and b must have as many columns; got {k} and {other}")
    batch, blocks = broadcast_batch("khatri_rao", inputs.blocks, inputs.is_complex)
    left, right = blocks
    found = inputs.backend.binary(
        "multiply", left[..., :, None, :], right[..., None, :, :], kind=inputs.kind
    )
    return inputs.wrap(found.reshape(*inputs.kind.planes((*batch, m * n, k))))


def _column_and_row(
    function: str, c: Any, r: Any, precision: PrecisionLike | None
) -> tuple[Inputs, Block, Block]:
    """Return full blocks of first columns and rows with one batch shape."""
    inputs = gather(c, *(() if r is None else (r,)), precision=precision)
    blocks = [planes.widen(x, inputs.is_complex, inputs.work.limbs) for x in inputs.blocks]
    for i in range(len(blocks)):
        if not inputs.shape(i):
            raise ValueError(f"{function} needs vectors; got a scalar")
    _, wide = broadcast_batch(function, [x[..., None] for x in blocks], inputs.is_complex)
    return inputs, wide[0][..., 0], wide[-1][..., 0]


def _taken(inputs: Inputs, values: Block, places: Block) -> MDArray:
    """Return the matrices of values at places."""
    if not values.shape[-1]:
        return inputs.wrap(inputs.backend.xp.zeros((*values.shape[:-1], *places.shape)))
    return inputs.wrap(values[..., places])
