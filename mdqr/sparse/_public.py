"""Products, solutions and least squares of sparse matrices."""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np

import mdqr
from mdqr._array.array import MDArray
from mdqr._limbs.planes import Kind
from mdqr._precision import Precision, as_precision
from mdqr._stability import experimental
from mdqr._typing import PrecisionLike
from mdqr.linalg import Info, LinAlgError
from mdqr.sparse._refine import Factor, Refined, refined
from mdqr.sparse._rows import Rows

# Weights of the residual in the augmented system, relative to the columns of unit size.
_WEIGHTS = (0, -8, -16, -24)


@experimental
def matmul(a: Any, x: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Multiply a sparse matrix of SciPy by a vector or a matrix.

    Parameters
    ----------
    a : scipy.sparse array or matrix
        Of any format and floats or integers, ``(m, n)``; its doubles are exact. Equal places are
        added up without rounding.
    x : array_like
        ``(n,)`` or ``(n, p)``.
    precision : Precision or str, optional
        The precision of the product; by default the one of `x`.

    Returns
    -------
    MDArray
        The product, on the CPU.

    Raises
    ------
    TypeError
        If `a` is not sparse, its entries are not doubles, or `x` has no precision.
    ValueError
        If the shapes do not fit.

    Notes
    -----
    ``abs(error) <= (k + 8) eps (abs(a) @ abs(x))`` in every entry, for k entries of its row.

    Examples
    --------
    >>> import mdqr, scipy.sparse
    >>> a = scipy.sparse.csr_array([[2.0, 0.0], [1.0, 3.0]])
    >>> print(mdqr.sparse.matmul(a, mdqr.array(["0.1", "0.2"], precision=mdqr.qd)))
    [0.2 0.7]
    """
    rows = Rows("matmul", a)
    right, is_vector = _columns("matmul", x, rows.shape[1], precision, rows)
    kind = Kind(right.precision.limbs, right.is_complex)
    found = MDArray._wrap(rows.product(right.limbs, kind=kind), right.precision, right.is_complex)
    found = found.astype(_answered(right, precision))
    return found[:, 0] if is_vector else found


@overload
def solve(
    a: Any,
    b: Any,
    /,
    *,
    return_info: Literal[False] = False,
    precision: PrecisionLike | None = None,
) -> MDArray: ...
@overload
def solve(
    a: Any, b: Any, /, *, return_info: Literal[True], precision: PrecisionLike | None = None
) -> tuple[MDArray, Info]: ...
@experimental
def solve(
    a: Any, b: Any, /, *, return_info: bool = False, precision: PrecisionLike | None = None
) -> Any:
    """Solve ``a x = b`` for a sparse square matrix of SciPy.

    Parameters
    ----------
    a : scipy.sparse array or matrix
        As of `matmul`, ``(n, n)``.
    b : array_like
        Right-hand sides, ``(n,)`` or ``(n, p)``.
    return_info : bool, default: False
        Whether an `mdqr.linalg.Info` is returned, too: its bounds are estimated.
    precision : Precision or str, optional
        The precision of the solution; by default the one of `b`.

    Returns
    -------
    x : MDArray
        The solution, of the shape of `b`, on the CPU.
    info : Info
        With ``return_info=True``.

    Raises
    ------
    TypeError, ValueError
        As `matmul`, or if the matrix is not square.
    numpy.linalg.LinAlgError
        If the matrix is singular, or so ill-conditioned that a step of refinement leaves more than
        a twentieth of the error: condition numbers above 1e13 or so.

    Notes
    -----
    Rows and columns are scaled by powers of two. Factors of float64 by `scipy.sparse.linalg.splu`
    refine the solution, with residuals in twice the limbs, until a step changes nothing. The last
    step is an estimate of the error, multiplied by 4; the factor by which a step reduces errors is
    seen from the steps and from vectors of signs.

    Examples
    --------
    >>> import mdqr, scipy.sparse
    >>> a = scipy.sparse.csr_array([[2.0, 0.0], [1.0, 3.0]])
    >>> print(mdqr.sparse.solve(a, mdqr.array(["0.2", "0.7"], precision=mdqr.qd)))
    [0.1 0.2]
    """
    rows = Rows("solve", a)
    if rows.shape[0] != rows.shape[1]:
        raise ValueError(f"solve: the matrix must be square; got shape {rows.shape}")
    sides, is_vector = _columns("solve", b, rows.shape[0], precision, rows)
    entries = a.tocoo(copy=False)
    by_row = _scales(entries.row, rows.values, rows.shape[0])
    by_column = _scales(entries.col, rows.values * by_row[entries.row], rows.shape[1])
    values = rows.values * by_row[entries.row] * by_column[entries.col]
    scaled = _sparse(values, entries.row, entries.col, rows.shape)
    whole = Rows("solve", scaled)
    factor, answer = Factor("solve", scaled, whole), _answered(sides, precision)
    found = refined("solve", factor, whole, sides * by_row[:, None], answer)
    x, errors = found.x * by_column[:, None], found.errors * by_column[:, None]
    return _answer(x, errors, found, is_vector, return_info, "refine")


def _scales(places: np.ndarray, values: np.ndarray, count: int) -> np.ndarray:
    """Return powers of two that bring the largest entry of each row or column near 1."""
    sizes = np.zeros(count)
    np.maximum.at(sizes, places, abs(values))
    return np.asarray(np.ldexp(1.0, -np.frexp(sizes)[1]))


def _sparse(values: np.ndarray, rows: np.ndarray, columns: np.ndarray, shape: Any) -> Any:
    from scipy import sparse

    return sparse.coo_array((values, (rows, columns)), shape=shape)


@experimental
def lstsq(
    a: Any, b: Any, /, *, return_info: bool = False, precision: PrecisionLike | None = None
) -> Any:
    """Minimise ``norm(b - a x)`` for a sparse matrix of SciPy with independent columns.

    Parameters
    ----------
    a : scipy.sparse array or matrix
        As of `matmul`, ``(m, n)`` with m at least n.
    b : array_like
        Right-hand sides, ``(m,)`` or ``(m, p)``.
    return_info : bool, default: False
        Whether an `mdqr.linalg.Info` is returned, too: its bounds are estimated.
    precision : Precision or str, optional
        The precision of the solution; by default the one of `b`.

    Returns
    -------
    x : MDArray
        The solution, ``(n,)`` or ``(n, p)``, on the CPU.
    info : Info
        With ``return_info=True``.

    Raises
    ------
    TypeError, ValueError
        As `matmul`, or if the matrix has more columns than rows.
    numpy.linalg.LinAlgError
        If columns are dependent or nearly so, as `solve`.

    Notes
    -----
    Columns are scaled by powers of two. The augmented system ``[[w I, a], [a^H, 0]]`` of the
    residual over w and x is solved as by `solve` (A. Bjorck 1967). Of four weights w it takes the
    first with which refinement converges.

    Examples
    --------
    >>> import mdqr, scipy.sparse
    >>> a = scipy.sparse.csr_array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
    >>> print(mdqr.sparse.lstsq(a, mdqr.array(["0.1", "0.3", "0.5"], precision=mdqr.qd)))
    [0.1 0.2]
    """
    rows = Rows("lstsq", a)
    m, n = rows.shape
    if m < n:
        raise ValueError(f"lstsq: the matrix has more columns than rows: shape {rows.shape}")
    sides, is_vector = _columns("lstsq", b, m, precision, rows)
    entries = a.tocoo(copy=False)
    scaled = _scales(entries.col, rows.values, n)
    values = rows.values * scaled[entries.col]
    zeros = mdqr.zeros((n, sides.shape[1]), precision=sides.precision)
    error: LinAlgError | None = None
    for power in _WEIGHTS:
        corner = np.arange(m)
        system = _sparse(
            np.concatenate([np.full(m, 2.0**power), values, values.conj()]),
            np.concatenate([corner, entries.row, entries.col + m]),
            np.concatenate([corner, entries.col + m, entries.row]),
            (m + n, m + n),
        )
        whole = Rows("lstsq", system)
        try:
            factor, both = Factor("lstsq", system, whole), mdqr.concatenate([sides, zeros])
            found = refined("lstsq", factor, whole, both, _answered(sides, precision))
        except LinAlgError as failed:
            error = failed
            continue
        x = found.x[m:] * scaled[:, None]
        errors = found.errors[m:] * scaled[:, None]
        return _answer(x, errors, found, is_vector, return_info, f"augmented, weight 2**{power}")
    assert error is not None
    raise error


def _answered(sides: MDArray, precision: PrecisionLike | None) -> Precision:
    return sides.precision if precision is None else as_precision(precision)


def _answer(
    x: MDArray, errors: np.ndarray, found: Refined, is_vector: bool, return_info: bool, method: str
) -> Any:
    if is_vector:
        x, errors = x[:, 0], errors[:, 0]
    if not return_info:
        return x
    info = Info(
        x.precision,
        abs(x).to_numpy(),
        errors,
        bound_kind="estimated",
        method=method,
        iterations=found.steps,
    )
    return x, info


def _columns(
    name: str, x: Any, rows: int, precision: PrecisionLike | None, a: Rows
) -> tuple[MDArray, bool]:
    """Return the columns of a vector or a matrix, unrounded, and whether it is a vector."""
    wanted = None if precision is None else as_precision(precision)
    if isinstance(x, MDArray) and wanted is not None:
        wanted = max(wanted, x.precision)
    given = mdqr.array(x, precision=wanted)
    if given.ndim not in (1, 2) or given.shape[0] != rows:
        raise ValueError(
            f"{name}: a vector or matrix of {rows} rows is wanted for the matrix of shape "
            f"{a.shape}; got shape {given.shape}"
        )
    if given.device != "cpu":
        raise ValueError(f"{name}: sparse matrices of SciPy are on the CPU; the array is not")
    if a.is_complex and not given.is_complex:
        given = given.astype(dtype=complex)
    return (given[:, None], True) if given.ndim == 1 else (given, False)
