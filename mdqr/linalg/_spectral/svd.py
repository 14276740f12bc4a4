"""Singular value decomposition."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Literal, NamedTuple, cast, overload

from mdqr._array.array import MDArray
from mdqr._docstrings import documented
from mdqr._limbs import planes
from mdqr._limbs.planes import Block
from mdqr._progress import Progress, Report, Reporter, with_report
from mdqr._typing import PrecisionLike
from mdqr.linalg._shared.checks import Checks
from mdqr.linalg._shared.data_error import check_data_error, operand_errors
from mdqr.linalg._shared.hints import takes_hints
from mdqr.linalg._shared.info import WithInfo
from mdqr.linalg._shared.operands import (
    Inputs,
    data_precision,
    entry_unit,
    precision_for,
)
from mdqr.linalg._spectral import claims
from mdqr.linalg._spectral.decomposition import (
    Decomposed,
    completed,
    decomposed,
    folded,
    of_tall,
)
from mdqr.linalg._spectral.info import SpectralInfo
from mdqr.linalg._spectral.singular_bounds import Triples


class _Factors(NamedTuple):
    U: MDArray
    S: MDArray
    Vh: MDArray


class SVDResult(WithInfo, _Factors):
    """Singular values and vectors, ``a = U @ diag(S) @ Vh``.

    Attributes
    ----------
    U : MDArray
        Left singular vectors as columns, ``(..., m, m)`` or ``(..., m, k)``, ``k = min(m, n)``.
    S : MDArray
        Singular values, real, the largest first: ``(..., k)``.
    Vh : MDArray
        Right singular vectors as conjugated rows, ``(..., n, n)`` or ``(..., k, n)``.
    info : SpectralInfo
        Error bounds of `S`, and of the vectors that belong to values.
    """

    info: SpectralInfo


SVDResult.__module__ = "mdqr.linalg"


@overload
def svd(
    a: Any,
    /,
    full_matrices: bool = True,
    compute_uv: Literal[True] = True,
    *,
    data_error: Mapping[str, Any] | None = None,
    precision: PrecisionLike | None = None,
    progress: Progress = None,
) -> SVDResult: ...


@overload
def svd(
    a: Any,
    /,
    full_matrices: bool,
    compute_uv: Literal[False],
    *,
    data_error: Mapping[str, Any] | None = None,
    precision: PrecisionLike | None = None,
    progress: Progress = None,
) -> MDArray: ...


@overload
def svd(
    a: Any,
    /,
    full_matrices: bool = True,
    *,
    compute_uv: Literal[False],
    data_error: Mapping[str, Any] | None = None,
    precision: PrecisionLike | None = None,
    progress: Progress = None,
) -> MDArray: ...


@takes_hints
def svd(
    a: Any,
    /,
    full_matrices: bool = True,
    compute_uv: bool = True,
    *,
    data_error: Mapping[str, Any] | None = None,
    precision: PrecisionLike | None = None,
    progress: Progress = None,
) -> SVDResult | MDArray:
    """Return the singular value decomposition ``a = U @ diag(S) @ Vh``; as `numpy.linalg.svd`.

    Parameters
    ----------
    a : array_like
        Matrices ``(..., m, n)``.
    full_matrices : bool, optional
        Whether U and Vh are square, or have ``min(m, n)`` columns and rows.
    compute_uv : bool, optional
        Whether to compute vectors, or `S` alone.
    data_error : dict, optional
        Bounds of the errors of the entries of `a`, for the bounds in `info`: absolute ones,
        `a_atol`, and parts of the entries, `a_rtol`, numbers or arrays that broadcast to `a`. By
        default half a unit in the last place of the precision in which `a` is given.
    precision : Precision or str, optional
        The precision of the results; by default the precision of `a`.
    progress : callable or bool, optional
        Called as ``progress(stage, done, total)``; True for a bar. The stages are "factor", by
        columns, for matrices that need it, and "rotate", by sweeps, whose number is not known
        before the last: `total` is None until then.

    Returns
    -------
    SVDResult or MDArray
        The fields `U`, `S` and `Vh`, and the attribute `info`; or S.

    Raises
    ------
    TypeError
        If `data_error` is not a dict, or `progress` is neither callable nor a bool.
    ValueError
        If `a` has less than two dimensions, or `data_error` has unknown keys or values.
    numpy.linalg.LinAlgError
        If an entry is not finite, a singular value is beyond the largest double, or the rotations
        do not converge.
    MemoryError
        If memory for the factors cannot be allocated; the message gives the requested size.

    See Also
    --------
    svdvals : The singular values alone.

    Notes
    -----
    ``norm(a - U S Vh) <= 40 k eps norm(a)``, U and Vh are orthonormal within ``40 k eps``,
    and every singular value is accurate to ``40 k eps`` of the largest one. Where the rows of `a`
    are of like size, each is accurate to ``40 k eps`` of itself times the condition that `a` has
    once its columns have length 1 (J. Demmel and K. Veselic, Jacobi's method is more accurate than
    QR, 1992). For wide and square matrices rows and columns may be exchanged in that. Entries that
    are no more than ``2**-1000`` of the largest one lose digits in od, from about ``2**-216`` on in
    hd, and values below ``2**-1074`` are zero.

    ``info.error_bound`` proves what is right of each value, little above its true error, and
    ``info.vector_error_bound`` how far vectors are from exact ones. They are residuals in twice
    the limbs over distances of values, and where bounds are loose the decomposition in more limbs
    (docs/explanation/singular-values.md). ``info.data_error_bound`` is for all `a` within their
    errors. No warning is issued if these leave a value no digit: each matrix without full rank has
    such a value.

    The limbs are the same for any number of threads of mdqr. They depend on the LAPACK that starts
    the rotations, thus on its version and its threads, and on the other matrices of a batch.

    Where LAPACK finds values within ``2**30`` of each other its vectors turn the columns.
    Otherwise columns are sorted by length and factored, and R^H again (Z. Drmac and K. Veselic,
    New fast and accurate Jacobi SVD algorithm, 2008). Then the rows of the second R are made
    orthogonal: by LAPACK for rows of like size, by products once all angles are small, by Jacobi
    rotations otherwise.

    Examples
    --------
    >>> import mdqr
    >>> i = mdqr.arange(1, 9, precision=mdqr.qd)
    >>> U, S, Vh = mdqr.linalg.svd(1 / (i[:, None] + i - 1))  # the Hilbert matrix
    >>> S[-1].to_strings(digits=30).item()
    '1.11153896637244242706826906037e-10'
    >>> float(mdqr.linalg.norm((U * S) @ Vh - 1 / (i[:, None] + i - 1))) < 1e-62
    True
    """
    if not (progress is None or isinstance(progress, Report)):
        return with_report(svd, locals())
    if not compute_uv:
        return svdvals(a, data_error=data_error, precision=precision, progress=progress)
    check_data_error("svd", data_error, ("a",))
    inputs, found = decomposed("svd", a, precision, vectors=True, report=progress)
    info = _claims("svd", a, inputs, found, data_error)
    return _factors(inputs, found, full_matrices)._described(info)


def svd_for(
    function: str,
    a: Any,
    precision: PrecisionLike | None,
    *,
    full_matrices: bool = False,
    report: Reporter | None = None,
) -> SVDResult:
    """Do `svd`, without an info, for the function that messages name."""
    inputs, found = decomposed(function, a, precision, vectors=True, report=report)
    return _factors(inputs, found, full_matrices)


def _factors(inputs: Inputs, found: Decomposed, full_matrices: bool) -> SVDResult:
    batch = inputs.shape(0)[:-2]
    left, right = cast(tuple[Block, Block], (found.left, found.right))
    if full_matrices:
        left, right = completed(inputs, left), completed(inputs, right)
    right = planes.adjoint(right, inputs.is_complex)
    u, vh = (
        folded(inputs, x, (*batch, *planes.value_shape(x, inputs.is_complex)[1:]))
        for x in (left, right)
    )
    return SVDResult(u, _values(inputs, found), vh)


def _values(inputs: Inputs, found: Decomposed) -> MDArray:
    shape = (*inputs.shape(0)[:-2], min(inputs.shape(0)[-2:]))
    return folded(inputs, found.values, shape, is_complex=False)


@overload
def svdvals(
    a: Any,
    /,
    *,
    return_info: Literal[False] = False,
    data_error: Mapping[str, Any] | None = None,
    precision: PrecisionLike | None = None,
    progress: Progress = None,
) -> MDArray: ...


@overload
def svdvals(
    a: Any,
    /,
    *,
    return_info: Literal[True],
    data_error: Mapping[str, Any] | None = None,
    precision: PrecisionLike | None = None,
    progress: Progress = None,
) -> tuple[MDArray, SpectralInfo]: ...


@takes_hints
@documented(svd)
def svdvals(
    a: Any,
    /,
    *,
    return_info: bool = False,
    data_error: Mapping[str, Any] | None = None,
    precision: PrecisionLike | None = None,
    progress: Progress = None,
) -> MDArray | tuple[MDArray, SpectralInfo]:
    """Return singular values, the largest first; as `numpy.linalg.svdvals`.

    Parameters
    ----------
    return_info : bool, optional
        Whether to return error bounds, too: vectors are computed then.

    Returns
    -------
    MDArray
        The singular values, real, ``(..., min(m, n))``; as accurate as by `svd`.
    SpectralInfo
        Their error bounds; only with `return_info`.

    Raises
    ------
    TypeError, ValueError
        As `svd`.
    numpy.linalg.LinAlgError
        As `svd`.

    >>> mdqr.linalg.svdvals(mdqr.array([[3.0, 0.0], [4.0, 5.0]], precision=mdqr.dd)).to_strings(16)
    array(['6.708203932499369', '2.236067977499790'], dtype=object)
    >>> s, info = mdqr.linalg.svdvals(
    ...     mdqr.array([[1.0, 2, 3], [2, 1, 3], [3, 1, 4]], precision=mdqr.qd), return_info=True
    ... )  # of rank 2: the last value is rounding errors
    >>> info.digits.round().tolist()
    [63.0, 63.0, 0.0]
    """
    if not (progress is None or isinstance(progress, Report)):
        return with_report(svdvals, locals())
    check_data_error("svdvals", data_error, ("a",))
    inputs, found = decomposed("svdvals", a, precision, vectors=return_info, report=progress)
    values = _values(inputs, found)
    return (values, _claims("svdvals", a, inputs, found, data_error)) if return_info else values


def svdvals_for(
    function: str, a: Any, precision: PrecisionLike | None, report: Reporter | None
) -> MDArray:
    """Do `svdvals` for the function that messages name."""
    return _values(*decomposed(function, a, precision, vectors=False, report=report))


def _claims(
    function: str, a: Any, inputs: Inputs, found: Decomposed, data_error: Mapping[str, Any] | None
) -> SpectralInfo:
    """Return the info of a decomposition."""
    checks = Checks()
    unit = entry_unit(a, data_precision(a, inputs.work))
    errors = operand_errors(function, data_error, "a", inputs.shape(0), unit, inputs, checks)
    checks.settle()
    left, right = cast(tuple[Block, Block], (found.left, found.right))
    given = claims.held(inputs, [inputs.blocks[0]], [errors], found.values, left, right)

    def again(block: Block, limbs: int) -> Triples:
        more = inputs._replace(work=precision_for(limbs), blocks=[block])
        u, s, v = of_tall(more, block, vectors=True)
        return Triples(block, u, s, v)

    shape = (*inputs.shape(0)[:-2], min(inputs.shape(0)[-2:]))
    made = partial(claims.of_singular, again=again)
    return claims.info_of(inputs, given, made, slice(None), shape)
