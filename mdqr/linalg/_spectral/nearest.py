"""Nearest matrices: of low rank, by an SVD of R up to the numerical rank, and orthonormal ones."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

from mdqr._array.array import MDArray
from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Block
from mdqr._progress import Progress, Report, Reporter, with_report
from mdqr._typing import PrecisionLike, Side
from mdqr.linalg._factor.backward_error import (
    FactorErrors,
    FactorInfo,
    Given,
    product_errors,
    triple_errors,
)
from mdqr.linalg._factor.lu import flat, permuted
from mdqr.linalg._factor.scaled import pivoted_factors
from mdqr.linalg._products.matmul import matmul
from mdqr.linalg._shared.checks import Checks
from mdqr.linalg._shared.info import WithInfo
from mdqr.linalg._shared.operands import (
    Inputs,
    as_integer,
    data_precision,
    gather,
    matrix_shape,
    memory_guard,
)
from mdqr.linalg._spectral.decomposition import Decomposed, folded, of_tall, rounded
from mdqr.linalg._spectral.onesided.jacobi import ROOM
from mdqr.linalg._spectral.svd import svd_for


class _Factors(NamedTuple):
    U: MDArray
    S: MDArray
    Vh: MDArray


class LowRankResult(WithInfo, _Factors):
    """An approximation of low rank, ``a ~ (U * S) @ Vh``.

    Attributes
    ----------
    U : MDArray
        Left singular vectors as columns, ``(..., m, r)``.
    S : MDArray
        Singular values, real, the largest first: ``(..., r)``.
    Vh : MDArray
        Right singular vectors as conjugated rows, ``(..., r, n)``.
    info : FactorInfo
        Proven bounds of ``a - (U * S) @ Vh``, with what was discarded, and of how far U and Vh are
        from orthonormal.
    """

    info: FactorInfo


LowRankResult.__module__ = "mdqr.linalg"


def lowrank(
    a: Any,
    /,
    r: int | None = None,
    *,
    rtol: float | None = None,
    precision: PrecisionLike | None = None,
    progress: Progress = None,
) -> LowRankResult:
    """Return the largest singular values of matrices and their vectors.

    That is the nearest matrix of rank r in the 2-norm and in the Frobenius norm. For matrices whose
    numerical rank is far below their order it takes a part of the time of `svd`.

    Parameters
    ----------
    a : array_like
        Matrices ``(..., m, n)``.
    r : int, optional
        The number of singular values, from 1 to ``min(m, n)``.
    rtol : float, optional
        Without `r`, for one matrix: singular values above that part of the largest one, if they are
        above zero in working precision. By default ``max(m, n) eps``, eps of the precision of the
        entries of `a`, as for `matrix_rank`.
    precision : Precision or str, optional
        The precision of the results; by default the precision of `a`.
    progress : callable or bool, optional
        As for `svd`; "factor" ends at the numerical rank.

    Returns
    -------
    LowRankResult
        The fields `U`, `s` and `Vh`.

    Raises
    ------
    TypeError
        If `progress` is neither callable nor a bool.
    ValueError
        If `a` has less than two dimensions, `r` is out of range, `rtol` is negative, both are
        given, or `r` is absent for a batch, whose matrices may have several ranks.
    numpy.linalg.LinAlgError
        As `svd`.
    MemoryError
        If memory for the factors cannot be allocated; the message gives the requested size.

    See Also
    --------
    svd : All singular values; small ones relatively right where rows or columns are graded.
    mdqr.tensorcore.lowrank : Of float32 and float64 matrices, on tensor cores.

    Notes
    -----
    With k = ``min(m, n)`` and t the largest singular value left out, ``norm(a - (U * s) @ Vh, 2) <=
    t + 60 k eps norm(a)``; values are accurate to ``60 k eps`` of the largest one, and U and Vh are
    orthonormal within ``60 k eps``.

    Columns are pivoted (as `qr` does) until the remainder of the matrix is at most ``sqrt(k) eps``
    of it in the Frobenius norm, so that no column beyond the numerical rank is factored. Whatever
    diag(R) suggests for the rank, nothing larger is lost. The SVD is computed of R (S. Zhang, E.
    Baharlouei, P. Wu, 2020, section 3.4, with pivots).

    Examples
    --------
    >>> import mdqr
    >>> x = mdqr.linspace(0, 1, 40, precision=mdqr.qd)
    >>> a = mdqr.exp(x[:, None] * x)
    >>> U, s, Vh = mdqr.linalg.lowrank(a, rtol=1e-20)
    >>> s.shape, float(mdqr.linalg.norm((U * s) @ Vh - a)) < 1e-18
    ((11,), True)
    """
    if not (progress is None or isinstance(progress, Report)):
        return with_report(lowrank, locals())
    inputs = gather(a, precision=precision)
    m, n = matrix_shape("lowrank", "a", inputs.shape(0))
    count = _count(r, rtol, inputs.shape(0))
    u, s, vh = above_rounding("lowrank", inputs, count or 1, progress)
    if count is None:
        least = max(m, n) * data_precision(a, inputs.work).eps if rtol is None else rtol
        count = int((s > s[:1] * least).sum())
    u, s, vh = u[..., :count], s[..., :count], vh[..., :count, :]
    given = Given.of(a, inputs)

    def errors() -> FactorErrors:
        return triple_errors(given.matrix(), u, s, vh, unit=given.unit)

    return LowRankResult(u, s, vh)._described(FactorInfo(inputs.precision, errors))


def _count(r: Any, rtol: Any, shape: tuple[int, ...]) -> int | None:
    """Return the number of values that the caller asks for; None where `rtol` decides."""
    if r is not None and rtol is not None:
        raise ValueError("lowrank: give r or rtol")
    if r is None:
        if len(shape) > 2:
            raise ValueError(f"lowrank: give r for a batch, which has one rank; got shape {shape}")
        if rtol is not None and not rtol >= 0:
            raise ValueError(f"lowrank: rtol must be None or at least 0; got {rtol!r}")
        return None
    count = as_integer(r)
    if count is None or not 1 <= count <= min(shape[-2:]):
        raise ValueError(
            f"lowrank: r must be an integer from 1 to {min(shape[-2:])}, for a of the shape "
            f"{shape}; got {r!r}"
        )
    return count


def above_rounding(
    function: str, inputs: Inputs, least: int = 1, report: Reporter | None = None
) -> LowRankResult:
    """Return values and vectors: at least some, and those above rounding errors of the matrix."""
    found = _approximated(function, inputs, least, report, vectors=True)
    u, v = cast(tuple[Block, Block], (found.left, found.right))
    batch, (m, n) = inputs.shape(0)[:-2], inputs.shape(0)[-2:]
    count = found.values.shape[-1]
    return LowRankResult(
        folded(inputs, u, (*batch, m, count)),
        folded(inputs, found.values, (*batch, count), is_complex=False),
        folded(inputs, planes.adjoint(v, inputs.is_complex), (*batch, count, n)),
    )


def values_above_rounding(function: str, inputs: Inputs, report: Reporter | None = None) -> MDArray:
    """Return singular values ``(..., k)``, all but some below ``min(m, n) eps`` of the largest."""
    found = _approximated(function, inputs, 1, report, vectors=False).values
    return folded(inputs, found, (*inputs.shape(0)[:-2], found.shape[-1]), is_complex=False)


def _approximated(
    function: str, inputs: Inputs, least: int, report: Reporter | None, *, vectors: bool
) -> Decomposed:
    """Return values and vectors of matrices, up to their numerical rank and at least some."""
    backend, kind, field = inputs.backend, inputs.kind, inputs.is_complex
    m, n = inputs.shape(0)[-2:]
    checks, a = Checks(), flat(inputs.blocks[0], field)
    checks.require_finite(function, "a", inputs.blocks[0], field)
    checks.settle()
    if not a[0].size:
        k = min(m, n, least)
        return Decomposed(
            kind.zeros(backend.xp, (a.shape[-3], m, k)),
            kind.real.zeros(backend.xp, (a.shape[-3], k)),
            kind.zeros(backend.xp, (a.shape[-3], n, k)),
        )
    with memory_guard(function, inputs, 3 * m * n, "take fewer rows or columns"):
        top = scaling.top_exponents(a, field) - ROOM
        a = backend.ldexp(a, -top[:, None, None], is_complex=field)
        factors, found = pivoted_factors(
            inputs._replace(blocks=[a]),
            keep_q=vectors,
            enough=min(m, n) ** 0.5 * inputs.work.eps,
            least=least,
            report=report,
        )
        k = factors.factors.count
        turned = planes.adjoint(rounded(inputs, factors.signed_r(k)), kind.is_complex)
        turned = permuted(turned, found.order.argsort(axis=-1))
        right, values, left = of_tall(inputs, turned, vectors, report)
        values = backend.ldexp(values, top[:, None])
        shape = (inputs.work.limbs, *inputs.shape(0)[:-2], 1, k)
        checks.require_in_range(function, "s", values.reshape(shape), False)
        checks.settle()
        if left is not None:
            left = backend.matmul(rounded(inputs, factors.signed_q(k)), left, kind=kind)
    return Decomposed(left, values, right)


class _Polar(NamedTuple):
    u: MDArray
    p: MDArray


class PolarResult(WithInfo, _Polar):
    """Factors ``a = u @ p``, or ``a = p @ u``.

    Attributes
    ----------
    u : MDArray
        Orthonormal columns or rows, whichever are fewer: ``(..., m, n)``.
    p : MDArray
        Hermitian to the bit, and positive semidefinite except for rounding errors: ``(..., n, n)``,
        or ``(..., m, m)``.
    info : FactorInfo
        Proven bounds of ``a - u p``, or ``a - p u``, and of how far u is from orthonormal.
    """

    info: FactorInfo


PolarResult.__module__ = "mdqr.linalg"


def polar(
    a: Any,
    /,
    side: Side = "right",
    *,
    precision: PrecisionLike | None = None,
    progress: Progress = None,
) -> PolarResult:
    """Return the polar decomposition ``a = u p``; as `scipy.linalg.polar`.

    Parameters
    ----------
    a : array_like
        Matrices ``(..., m, n)``.
    side : {"right", "left"}, optional
        The position of p: ``a = u p`` or ``a = p u``.
    precision : Precision or str, optional
        The precision of the factors; by default the precision of `a`.
    progress : callable or bool, optional
        As in `svd`.

    Returns
    -------
    PolarResult
        The fields `u` and `p`.

    Raises
    ------
    TypeError
        If `progress` is neither callable nor a bool.
    ValueError
        If `a` has less than two dimensions, or `side` is unknown.
    numpy.linalg.LinAlgError
        As `svd`.
    MemoryError
        If memory for the factors cannot be allocated; the message gives the requested size.

    See Also
    --------
    svd : The singular values and vectors that both are made of.

    Notes
    -----
    With k = ``min(m, n)``, ``norm(a - u p) <= 100 k eps norm(a)``, u is orthonormal within ``100 k
    eps``, and p has an error of at most ``150 k eps norm(a)`` in the Frobenius norm (N. J. Higham,
    Functions of Matrices, 2008, theorem 8.9). u is the orthonormal matrix nearest to `a`. Its
    error is that over the sum of the two smallest singular values. For matrices without full rank
    it is one of many.

    Examples
    --------
    >>> import mdqr
    >>> u, p = mdqr.linalg.polar(mdqr.array([[0.0, -3.0], [2.0, 0.0]], precision=mdqr.qd))
    >>> u.to_numpy().round(12).tolist(), p.to_numpy().round(12).tolist()
    ([[0.0, -1.0], [1.0, 0.0]], [[2.0, 0.0], [0.0, 3.0]])
    """
    if not (progress is None or isinstance(progress, Report)):
        return with_report(polar, locals())
    if side not in ("right", "left"):
        raise ValueError(f'polar: side must be "right" or "left"; got {side!r}')
    left, s, right = svd_for("polar", a, precision, report=progress)
    rows = right if side == "right" else left.mT.conj()
    scaled = (rows.mT.conj() * s[..., None, :]) if s.shape[-1] else rows.mT.conj()
    u, p = matmul(left, right), _hermitian(matmul(scaled, rows))
    given = Given.of(a, gather(a, precision=precision))
    first, last = (u, p) if side == "right" else (p, u)

    def errors() -> FactorErrors:
        columns = u if u.shape[-2] >= u.shape[-1] else u.mT.conj()
        return product_errors(given.matrix(), first, last, columns, unit=given.unit)

    return PolarResult(u, p)._described(FactorInfo(u.precision, errors))


def _hermitian(a: MDArray) -> MDArray:
    """Return matrices with the upper triangle of `a` in both."""
    field, xp = a.is_complex, planes.namespace(a.limbs)
    upper = xp.triu(a.limbs)
    if field:
        planes.diagonal(upper)[1] = 0.0
    lower = xp.triu(a.limbs, 1).swapaxes(-1, -2)
    both = upper + (planes.conjugate(lower) if field else lower)
    return MDArray._wrap(both, a.precision, field)
