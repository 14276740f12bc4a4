"""Systems of matrices that few numbers determine, by the names of SciPy."""

from __future__ import annotations

import operator
from typing import Any

from mdqr._array.array import MDArray
from mdqr._docstrings import documented
from mdqr._limbs import planes
from mdqr._limbs.planes import Kind
from mdqr._stability import experimental
from mdqr._typing import PrecisionLike
from mdqr.linalg._products.structured import toeplitz
from mdqr.linalg._shared.caller import Caller
from mdqr.linalg._shared.info import Info
from mdqr.linalg._shared.operands import as_array, matrix_shape, pair_of
from mdqr.linalg._solve.solve import solution_for


@experimental
def solve_toeplitz(
    c_or_cr: Any,
    b: Any,
    /,
    *,
    precision: PrecisionLike | None = None,
    return_info: bool = False,
) -> MDArray | tuple[MDArray, Info]:
    """Solve ``toeplitz(c, r) x = b``; as `scipy.linalg.solve_toeplitz`.

    The whole matrix is factored, as `solve` does: in cubic time, with its digits.

    Parameters
    ----------
    c_or_cr : array_like or tuple
        First columns ``(..., n)``, or a tuple of these and first rows, as `toeplitz` has them.
    b : array_like
        A vector ``(n,)``, or matrices ``(..., n, k)``: only a 1-D `b` is a vector.
    precision : Precision or str, optional
        The precision of the solution; by default the highest of the operands.
    return_info : bool, optional
        Whether to return what is known of the errors, too.

    Returns
    -------
    MDArray or tuple
        The solution; with `return_info` ``(x, info)``, as in `solve`.

    Raises
    ------
    ValueError
        If the leading dimensions do not broadcast.
    numpy.linalg.LinAlgError
        If the matrix is singular, the shapes do not fit, an entry is not finite, or one of the
        solution is beyond the largest double.
    MemoryError
        If memory for the factorisation cannot be allocated; the message gives the requested size.

    Warns
    -----
    PrecisionWarning, DataPrecisionWarning
        As `solve`.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.linalg.solve_toeplitz([2, 1], [4, 5], precision=mdqr.qd).to_numpy().tolist()
    [1.0, 2.0]
    """
    pair = c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr, None)
    c, r = pair_of("solve_toeplitz", "c_or_cr", pair)
    matrix = toeplitz(_kept(c, precision), None if r is None else _kept(r, precision))
    return solution_for(
        Caller("solve_toeplitz"), matrix, b, precision=precision, return_info=return_info
    )


@experimental
@documented(solve_toeplitz)
def solve_banded(
    l_and_u: tuple[int, int],
    ab: Any,
    b: Any,
    /,
    *,
    precision: PrecisionLike | None = None,
    return_info: bool = False,
) -> MDArray | tuple[MDArray, Info]:
    """Solve banded systems; as `scipy.linalg.solve_banded`.

    The whole matrix is factored, as `solve` does: in cubic time, with its digits.

    Parameters
    ----------
    l_and_u : tuple of int
        The numbers of diagonals below and above the main one.
    ab : array_like
        The diagonals ``(..., l + u + 1, n)``, the highest first; entry (i, j) of the matrix is
        ``ab[u + i - j, j]``.

    >>> ab = [[0, 1, 1], [2, 2, 2], [1, 1, 0]]
    >>> mdqr.linalg.solve_banded((1, 1), ab, [4, 8, 8], precision=mdqr.qd).to_numpy().tolist()
    [1.0, 2.0, 3.0]
    """
    lower, upper = (operator.index(x) for x in pair_of("solve_banded", "l_and_u", l_and_u))
    if min(lower, upper) < 0:
        raise ValueError(f"solve_banded: l and u must be at least 0; got {l_and_u}")
    bands = _kept(ab, precision)
    rows, n = matrix_shape("solve_banded", "ab", bands.shape)
    if rows != lower + upper + 1:
        raise ValueError(
            f"solve_banded: ab must have l + u + 1 = {lower + upper + 1} rows; got {rows}"
        )
    matrix = _full(bands, n, range(upper, -lower - 1, -1))
    return solution_for(
        Caller("solve_banded"), matrix, b, precision=precision, return_info=return_info
    )


@experimental
@documented(solve_toeplitz)
def solveh_banded(
    ab: Any,
    b: Any,
    /,
    *,
    lower: bool = False,
    precision: PrecisionLike | None = None,
    return_info: bool = False,
) -> MDArray | tuple[MDArray, Info]:
    """Solve Hermitian banded systems; as `scipy.linalg.solveh_banded`.

    The whole matrix is factored, as `solve` does: in cubic time, with its digits. It need not be
    positive definite.

    Parameters
    ----------
    ab : array_like
        Diagonals ``(..., k + 1, n)`` of one triangle, as SciPy has them: of the upper one the
        highest first, of the lower one the main diagonal first.
    lower : bool, optional
        Whether they are of the lower triangle.

    >>> ab = [[0, 1, 1], [2, 2, 2]]
    >>> mdqr.linalg.solveh_banded(ab, [4, 8, 8], precision=mdqr.qd).to_numpy().tolist()
    [1.0, 2.0, 3.0]
    """
    bands = _kept(ab, precision)
    rows, n = matrix_shape("solveh_banded", "ab", bands.shape)
    places = range(0, -rows, -1) if lower else range(rows - 1, -1, -1)
    half = _full(bands, n, places)
    # The diagonal once, without its imaginary parts.
    other = half.conj().mT.copy()
    planes.diagonal(other._block)[...] = 0.0
    if half.is_complex:
        planes.diagonal(half._block)[1] = 0.0
    return solution_for(
        Caller("solveh_banded"), half + other, b, precision=precision, return_info=return_info
    )


def _kept(x: Any, precision: PrecisionLike | None) -> MDArray:
    """Return an array with all its digits, others in the precision asked for."""
    return x if isinstance(x, MDArray) else as_array(x, precision)


def _full(bands: MDArray, n: int, places: range) -> MDArray:
    """Return matrices with the rows of `bands` as diagonals, those above have positive places."""
    field = bands.is_complex
    kind = Kind(bands.precision.limbs, field)
    found = kind.zeros(planes.namespace(bands._block), (*bands.shape[:-2], n, n))
    for row, place in enumerate(places):
        right, below = max(place, 0), max(-place, 0)
        if abs(place) < n:
            target = found[..., below : n - right, right : n - below]
            planes.diagonal(target)[...] = bands._block[..., row, right : n - below]
    return bands._like(found)
