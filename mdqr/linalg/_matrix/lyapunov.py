"""Linear equations of matrices, by the names of SciPy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, overload

from mdqr._array.array import MDArray
from mdqr._docstrings import documented
from mdqr._stability import experimental
from mdqr._typing import PrecisionLike
from mdqr.linalg._matrix.answers import of_two
from mdqr.linalg._matrix.equations import LYAPUNOV, STEIN, SYLVESTER, solved
from mdqr.linalg._shared.info import Info


@overload
def solve_sylvester(
    a: Any,
    b: Any,
    q: Any,
    /,
    *,
    precision: PrecisionLike | None = None,
    data_error: Mapping[str, Any] | None = None,
    return_info: Literal[False] = False,
) -> MDArray: ...


@overload
def solve_sylvester(
    a: Any,
    b: Any,
    q: Any,
    /,
    *,
    precision: PrecisionLike | None = None,
    data_error: Mapping[str, Any] | None = None,
    return_info: Literal[True],
) -> tuple[MDArray, Info]: ...


@experimental
def solve_sylvester(
    a: Any,
    b: Any,
    q: Any,
    /,
    *,
    precision: PrecisionLike | None = None,
    data_error: Mapping[str, Any] | None = None,
    return_info: bool = False,
) -> MDArray | tuple[MDArray, Info]:
    """Solve ``a x + x b = q``; as `scipy.linalg.solve_sylvester`.

    Parameters
    ----------
    a : array_like
        Matrices ``(..., m, m)``.
    b : array_like
        Matrices ``(..., n, n)``.
    q : array_like
        Right-hand sides ``(..., m, n)``; leading dimensions broadcast.
    precision : Precision or str, optional
        The precision of the result; by default the highest of the operands.
    data_error : dict, optional
        Bounds of the errors of entries, as in `lstsq`, with the keys ``a_atol``, ``a_rtol`` and
        the same for the other operands. The default is half a unit in the last place of the
        precision in which they were given.
    return_info : bool, optional
        Whether to return what is known of the errors, too.

    Returns
    -------
    MDArray or tuple
        The solutions; with `return_info` ``(x, info)``, an `Info` whose bounds are proven, and
        infinite where nothing is.

    Raises
    ------
    TypeError
        If `data_error` is not a dict.
    ValueError
        If the leading dimensions do not broadcast, or errors of the data are negative or not
        finite.
    numpy.linalg.LinAlgError
        If the shapes do not fit, an entry is not finite, or the equation has no unique solution.
    MemoryError
        If memory cannot be allocated; the message gives the requested size.

    Warns
    -----
    PrecisionWarning
        If the equation is nearly singular, and the solution has lost digits.

    Notes
    -----
    Iterative refinement: residuals are computed in twice the limbs, corrections in float64 from
    eigenvectors, or Schur vectors where these are nearly dependent (R. H. Bartels and G. W. Stewart
    1972). ``info.error_bound`` is a bound by a contraction. The equation has a unique solution if
    no eigenvalues have ``a_i + b_j = 0`` (with ``a_i b_j = 1`` for `solve_discrete_lyapunov`).

    Examples
    --------
    >>> import mdqr
    >>> x, info = mdqr.linalg.solve_sylvester(
    ...     [[1, 2], [3, 4]], [[5]], [[6], [7]], precision=mdqr.qd, return_info=True
    ... )
    >>> x.to_strings(10).tolist()
    [['0.8333333333'], ['0.5000000000']]
    >>> bool(info.error_bound.max() < 1e-62)
    True
    """
    return solved(SYLVESTER, (a, b, q), precision, data_error, return_info)


@experimental
@of_two
@documented(solve_sylvester)
def solve_continuous_lyapunov(
    a: Any,
    q: Any,
    /,
    *,
    precision: PrecisionLike | None = None,
    data_error: Mapping[str, Any] | None = None,
    return_info: bool = False,
) -> Any:
    """Solve ``a x + x a^H = q``; as `scipy.linalg.solve_continuous_lyapunov`.

    Parameters
    ----------
    q : array_like
        Right-hand sides ``(..., m, m)``; leading dimensions broadcast.

    >>> mdqr.linalg.solve_continuous_lyapunov([[-1]], [[-4]], precision=mdqr.qd).to_numpy().tolist()
    [[2.0]]
    """
    return solved(LYAPUNOV, (a, q), precision, data_error, return_info)


@experimental
@of_two
@documented(solve_sylvester)
def solve_discrete_lyapunov(
    a: Any,
    q: Any,
    /,
    *,
    precision: PrecisionLike | None = None,
    data_error: Mapping[str, Any] | None = None,
    return_info: bool = False,
) -> Any:
    """Solve ``x - a x a^H = q``; as `scipy.linalg.solve_discrete_lyapunov`.

    Parameters
    ----------
    q : array_like
        Right-hand sides ``(..., m, m)``; leading dimensions broadcast.

    >>> mdqr.linalg.solve_discrete_lyapunov([[0.5]], [[3]], precision=mdqr.qd).to_numpy().tolist()
    [[4.0]]
    """
    return solved(STEIN, (a, q), precision, data_error, return_info)
