"""Functions of singular values: rank, condition number, pseudoinverses and null spaces."""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np

from mdqr._array.array import MDArray
from mdqr._backend import for_block
from mdqr._errors import DataPrecisionWarning, place_of_least, warn_of_precision
from mdqr._functions.creation import asarray
from mdqr._limbs import planes, scaling
from mdqr._limbs.device import device_of
from mdqr._limbs.planes import Block, Kind
from mdqr._progress import Progress, Report, with_report
from mdqr._typing import Places, PrecisionLike
from mdqr.linalg._products.matmul import matmul
from mdqr.linalg._shared.checks import Checks, fetch
from mdqr.linalg._shared.hints import takes_hints
from mdqr.linalg._shared.info import Info
from mdqr.linalg._shared.operands import (
    Inputs,
    data_precision,
    entry_unit,
    gather,
    matrix_shape,
)
from mdqr.linalg._shared.tolerance import one_tolerance
from mdqr.linalg._spectral.inverse_bounds import pseudo_inverse_info
from mdqr.linalg._spectral.nearest import above_rounding, values_above_rounding
from mdqr.linalg._spectral.svd import svd_for, svdvals


@takes_hints
def matrix_rank(
    a: Any,
    /,
    tol: Any = None,
    *,
    rtol: Any = None,
    precision: PrecisionLike | None = None,
    progress: Progress = None,
) -> int | Places:
    """Return the number of singular values above a tolerance; as `numpy.linalg.matrix_rank`.

    Parameters
    ----------
    a : array_like
        Matrices ``(..., m, n)``; or a number or vector, whose rank is 0 or 1.
    tol : array_like, optional
        Singular values of at most `tol` count as zero; it broadcasts to the batch.
    rtol : array_like, optional
        The same, relative to the largest singular value. By default ``max(m, n) eps``, eps of the
        precision of the entries of `a`: float64 entries are taken for rounded ones.
    precision : Precision or str, optional
        The precision in which singular values are found; by default the precision of `a`.
    progress : callable or bool, optional
        As for `svd`; a number or a vector reports nothing.

    Returns
    -------
    int or numpy.ndarray
        The ranks, ``(...)``.

    Raises
    ------
    ValueError
        If both tolerances are given.
    numpy.linalg.LinAlgError
        As `svd`.

    See Also
    --------
    svdvals : The singular values, and how accurate they are.

    Notes
    -----
    Singular values come from `svd`; above ``max(m, n) eps`` of the largest one from `lowrank`,
    which does not go beyond the numerical rank: accurate to ``60 min(m, n) eps`` of it.

    Examples
    --------
    >>> import mdqr
    >>> i = mdqr.arange(1, 21, precision=mdqr.qd)
    >>> hilbert = 1 / (i[:, None] + i - 1)  # condition 2e28
    >>> mdqr.linalg.matrix_rank(hilbert), mdqr.linalg.matrix_rank(hilbert, rtol=2.0**-53)
    (20, 14)
    """
    if not (progress is None or isinstance(progress, Report)):
        return with_report(matrix_rank, locals())
    if tol is not None and rtol is not None:
        raise ValueError("matrix_rank: give tol or rtol")
    given = gather(a, precision=precision)
    if len(given.shape(0)) < 2:
        return int(bool(planes.nonzero(given.blocks[0], given.is_complex).any()))
    if not min(given.shape(0)[-2:]):
        return np.zeros(given.shape(0)[:-2], dtype=np.int64)[()]
    if tol is not None:
        values = svdvals(a, precision=precision, progress=progress)
        least = _column(given, tol)
    else:
        near, relative = near_one(given)[0], relative_tolerance(given, a, rtol)
        if _hides_rounding(given, relative):
            inputs = gather(near, precision=given.precision)
            values = values_above_rounding("matrix_rank", inputs, progress)
        else:
            values = svdvals(near, precision=given.precision, progress=progress)
        least = part_of_largest(values, relative)
    found = (values > least).sum(axis=-1)
    return int(found) if not values.shape[:-1] else found


@overload
def pinv(
    a: Any,
    /,
    rcond: Any = None,
    *,
    rtol: Any = None,
    return_info: Literal[False] = False,
    precision: PrecisionLike | None = None,
    progress: Progress = None,
) -> MDArray: ...


@overload
def pinv(
    a: Any,
    /,
    rcond: Any = None,
    *,
    rtol: Any = None,
    return_info: Literal[True],
    precision: PrecisionLike | None = None,
    progress: Progress = None,
) -> tuple[MDArray, Info]: ...


@takes_hints
def pinv(
    a: Any,
    /,
    rcond: Any = None,
    *,
    rtol: Any = None,
    return_info: bool = False,
    precision: PrecisionLike | None = None,
    progress: Progress = None,
) -> MDArray | tuple[MDArray, Info]:
    """Return pseudoinverses (Moore and Penrose); as `numpy.linalg.pinv`.

    Parameters
    ----------
    a : array_like
        Matrices ``(..., m, n)``.
    rcond, rtol : array_like, optional
        Two names for the tolerance: singular values of at most that part of the largest count as
        zero. By default as `matrix_rank`. It broadcasts to the batch.
    return_info : bool, optional
        Whether error bounds are returned, too.
    precision : Precision or str, optional
        The precision of the result; by default the precision of `a`.
    progress : callable or bool, optional
        As for `svd`.

    Returns
    -------
    MDArray
        The pseudoinverses, ``(..., n, m)``.
    Info
        Their error bounds; only with `return_info`.

    Raises
    ------
    ValueError
        If both names are given, or `a` has less than two dimensions.
    numpy.linalg.LinAlgError
        As `svd`.

    Warns
    -----
    DataPrecisionWarning
        If the default tolerance leaves out values that are above zero in working precision.

    See Also
    --------
    lstsq : Solutions of least squares, refined, with error bounds.

    Notes
    -----
    With the rank r by the tolerance, of matrices that have exactly that rank, every entry has an
    error of at most ``300 k eps s[0] / s[r-1]**2``, k = ``min(m, n)`` (G. W. Stewart, On the
    perturbation of pseudo-inverses, 1977). It comes of the errors of `lowrank`, or of `svd` for
    tolerances below rounding errors. The bounds in the info are proven where no singular value
    counts as zero, by residuals in twice the limbs. They are infinite where one does: a
    pseudoinverse of the matrix as stored, of full rank except for exact zeros, may be anywhere.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.linalg.pinv(mdqr.array([[3.0, 0.0], [4.0, 0.0]], precision=mdqr.qd)).to_numpy()
    array([[0.12, 0.16],
           [0.  , 0.  ]])
    """
    if not (progress is None or isinstance(progress, Report)):
        return with_report(pinv, locals())
    tolerance = one_tolerance("pinv", rcond, rtol)
    given = gather(a, precision=precision)
    matrix_shape("pinv", "a", given.shape(0))
    near, top = near_one(given)
    relative = relative_tolerance(given, a, tolerance)
    if _hides_rounding(given, relative):
        u, s, vh = above_rounding("pinv", gather(near, precision=given.precision), report=progress)
    else:
        u, s, vh = svd_for("pinv", near, given.precision, report=progress)
    kept = s > part_of_largest(s, relative)
    if tolerance is None:
        warn_of_truncation("pinv", given, s, kept)
    field, checks = given.is_complex, Checks()
    found = matmul(_over_values(given, vh._block, s._block, kept), u.mT.conj())
    block = given.backend.ldexp(found._block, -top[..., None, None], is_complex=field)
    checks.require_in_range("pinv", "the pseudoinverse", block, field)
    checks.settle()
    result = MDArray._wrap(block, found.precision, field)
    if not return_info:
        return result
    unit = entry_unit(a, data_precision(a, given.work))
    return result, pseudo_inverse_info(given, result, top, s, kept, unit)


@takes_hints
def null_space(
    a: Any,
    /,
    rcond: float | None = None,
    *,
    rtol: float | None = None,
    precision: PrecisionLike | None = None,
    progress: Progress = None,
) -> MDArray:
    """Return an orthonormal basis of the null space of a matrix; as `scipy.linalg.null_space`.

    Parameters
    ----------
    a : array_like
        A matrix ``(m, n)``.
    rcond, rtol : float, optional
        Two names for the tolerance: singular values of at most that part of the largest count as
        zero. By default as `matrix_rank`.
    precision : Precision or str, optional
        The precision of the result; by default the precision of `a`.
    progress : callable or bool, optional
        As in `svd`.

    Returns
    -------
    MDArray
        Orthonormal columns, ``(n, n - rank)``.

    Raises
    ------
    TypeError
        If `progress` is neither callable nor a bool.
    ValueError
        If both names are given, or `a` is not a matrix.
    numpy.linalg.LinAlgError
        As `svd`.

    Warns
    -----
    DataPrecisionWarning
        If the default tolerance counts values as zero that are above zero in working precision.

    Notes
    -----
    The columns N are orthonormal within ``40 k eps``, k = ``min(m, n)``, and ``norm(a N, 2)`` is at
    most the largest value that counts as zero and ``40 k eps norm(a)``.

    Examples
    --------
    >>> import mdqr
    >>> abs(mdqr.linalg.null_space(mdqr.array([[3.0, 4.0]], precision=mdqr.qd))).to_numpy()
    array([[0.8],
           [0.6]])
    """
    if not (progress is None or isinstance(progress, Report)):
        return with_report(null_space, locals())
    tolerance = one_tolerance("null_space", rcond, rtol)
    given = gather(a, precision=precision)
    if len(given.shape(0)) != 2:
        raise ValueError(f"null_space: a must be a matrix; got shape {given.shape(0)}")
    matrix = near_one(given)[0]
    _, s, vh = svd_for("null_space", matrix, given.precision, full_matrices=True, report=progress)
    kept = s > part_of_largest(s, relative_tolerance(given, a, tolerance))
    if tolerance is None:
        warn_of_truncation("null_space", given, s, kept)
    return vh[int(kept.sum()) :].mT.conj()


def near_one(given: Inputs) -> tuple[MDArray, Block]:
    """Return matrices ``2**-top a`` with entries near 1, and top: int64 ``(...)``.

    Small singular values of small matrices would have few digits, or underflow.
    """
    field = given.is_complex
    top = scaling.top_exponents(given.blocks[0], field)
    block = given.backend.ldexp(given.blocks[0], -top[..., None, None], is_complex=field)
    block = planes.widen(block, field, given.work.limbs)
    return MDArray._wrap(block, given.work, field), top


def relative_tolerance(given: Inputs, a: Any, rtol: Any) -> MDArray | float:
    """Return a tolerance relative to the largest singular value, by default that of the entries."""
    if rtol is None:
        return float(max(given.shape(0)[-2:]) * data_precision(a, given.work).eps)
    return _column(given, rtol)


def _hides_rounding(given: Inputs, relative: MDArray | float) -> bool:
    """Return whether all that the work does not tell from zero counts as zero."""
    hides = relative >= max(given.shape(0)[-2:]) * given.work.eps
    return hides if isinstance(hides, bool) else bool(hides.all())


def part_of_largest(s: MDArray, relative: MDArray | float) -> MDArray:
    """Return tolerances of singular values, in their shape or with an axis of 1."""
    first = s._block[..., :1]
    if isinstance(relative, MDArray):
        return MDArray._wrap(first, s.precision, False) * relative
    factor = planes.namespace(first).full((1,) * first.ndim, relative)
    kind = Kind(s.precision.limbs, False)
    least = for_block(first).binary("multiply", first, factor, kind=kind)
    return MDArray._wrap(least, s.precision, False)


def _over_values(given: Inputs, vh: Block, s: Block, kept: Block) -> MDArray:
    """Return the columns of V over the values that count, and zeros."""
    backend, kind = given.backend, Kind(given.precision.limbs, given.is_complex)
    xp = backend.xp
    inverse = xp.where(kept, s, 0.0)
    inverse[0] = xp.where(kept, inverse[0], 1.0)
    inverse = xp.where(kept, backend.unary("reciprocal", inverse, kind=kind.real), 0.0)
    inverse = planes.complexify(inverse) if kind.is_complex else inverse
    v = backend.binary(
        "multiply", planes.adjoint(vh, kind.is_complex), inverse[..., None, :], kind=kind
    )
    return MDArray._wrap(v, given.precision, kind.is_complex)


def _column(given: Inputs, tolerance: Any) -> MDArray:
    """Return tolerances of a batch beside the operand, with an axis for singular values."""
    if not isinstance(tolerance, MDArray):
        device = device_of(given.blocks[0])
        tolerance = asarray(tolerance, precision=given.work, device=device)
    return tolerance[..., None]


def warn_of_truncation(function: str, given: Inputs, s: MDArray, kept: Any) -> None:
    """Warn if values above zero in working precision are left out: entries may be exact."""
    if kept.all():
        return
    least = part_of_largest(s, max(given.shape(0)[-2:]) * given.work.eps)
    lost = (s > least) & ~kept
    count = int(lost.sum())
    if count:
        values = "value is" if count == 1 else "values are"
        warn_of_precision(
            f"linalg.{function}",
            f"{count} singular {values} below the rounding error of the entries of a and treated "
            f"as zero, although not zero in {given.work.name}: pass rtol=0 if the entries are "
            "exact, or rtol=r for relative errors of r",
            precision=given.precision,
            index=place_of_least(~fetch(lost.any(axis=-1))[0]),
            category=DataPrecisionWarning,
        )
