"""Eigenvalues of Hermitian matrices: orthogonal vectors of the matrix, shifted to be definite."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Literal, NamedTuple, overload

import numpy as np

from mdqr._array.array import MDArray
from mdqr._backend.blocks import from_native, one_by_one, to_native
from mdqr._docstrings import documented
from mdqr._errors import shown, warn_of_precision
from mdqr._limbs import planes, scaling
from mdqr._limbs.folds import fold, total
from mdqr._limbs.planes import Block
from mdqr._progress import Progress, Report, Reporter, with_report
from mdqr._typing import PrecisionLike, Uplo
from mdqr.linalg._factor.cholesky import checked_factor
from mdqr.linalg._factor.lu import flat, permuted
from mdqr.linalg._factor.triangular import Triangle
from mdqr.linalg._products.exact import product as exact
from mdqr.linalg._shared.checks import Checks, fetch
from mdqr.linalg._shared.data_error import check_data_error, operand_errors
from mdqr.linalg._shared.hints import takes_hints
from mdqr.linalg._shared.info import WithInfo
from mdqr.linalg._shared.operands import (
    Inputs,
    as_integer,
    broadcast_batch,
    data_precision,
    entry_unit,
    gather,
    memory_guard,
    precision_for,
    square_order,
)
from mdqr.linalg._spectral import claims
from mdqr.linalg._spectral.decomposition import of_tall
from mdqr.linalg._spectral.definite_pair import Pairs, refined
from mdqr.linalg._spectral.info import SpectralInfo
from mdqr.linalg._spectral.onesided.jacobi import ascending, orthogonalise, row_sums

# Eigenvalues no larger than that, beside the largest, are noise in float64.
_LOST = 2.0**-44
# Where vectors still change by that, the condition of b is near 1 / eps.
_FEW_DIGITS = 2.0**-20


class _Pairs(NamedTuple):
    eigenvalues: MDArray
    eigenvectors: MDArray


class EighResult(WithInfo, _Pairs):
    """Eigenvalues and eigenvectors, ``a @ eigenvectors = eigenvectors * eigenvalues``.

    Attributes
    ----------
    eigenvalues : MDArray
        The eigenvalues, real, the least first: ``(..., n)``.
    eigenvectors : MDArray
        Orthonormal columns, ``(..., n, n)``.
    info : SpectralInfo
        Error bounds of both.
    """

    info: SpectralInfo


EighResult.__module__ = "mdqr.linalg"


@takes_hints
def eigh(
    a: Any,
    /,
    UPLO: Uplo = "L",
    *,
    b: Any = None,
    subset_by_index: Any = None,
    data_error: Mapping[str, Any] | None = None,
    precision: PrecisionLike | None = None,
    progress: Progress = None,
) -> EighResult:
    """Return eigenvalues and eigenvectors of Hermitian matrices; as `numpy.linalg.eigh`.

    Parameters
    ----------
    a : array_like
        Matrices ``(..., n, n)``.
    UPLO : {"L", "U"}, optional
        The triangle that is read; imaginary parts of the diagonal are taken for 0.
    b : array_like, optional
        Hermitian positive definite matrices ``(..., n, n)``, of which the same triangle is read:
        the eigenvalues of ``a v = w b v`` are returned, and ``v^H b v = 1``. A keyword alone,
        since `UPLO` comes second as in NumPy; in `scipy.linalg.eigh` it is `b`.
    subset_by_index : sequence of two int, optional
        The first and the last of the eigenvalues to compute, as in `scipy.linalg.eigh`: k
        values of n. All are found; that saves memory alone.
    data_error : dict, optional
        Bounds of the errors of the entries, for the bounds in `info`: absolute ones, `a_atol` and
        `b_atol`, and parts of the entries, `a_rtol` and `b_rtol`, numbers or arrays that broadcast
        to the matrix. By default half a unit in the last place of the precision in which it is
        given.
    precision : Precision or str, optional
        The precision of the results; by default the highest of the operands.
    progress : callable or bool, optional
        Called as ``progress(stage, done, total)``; True for a bar. The stages are "rotate", and
        "refine" with `b`: steps whose number is not known before the last, `total` is None.

    Returns
    -------
    EighResult
        The fields `eigenvalues` and `eigenvectors`, and the attribute `info`.

    Raises
    ------
    TypeError
        If `data_error` is not a dict, `UPLO` not a string, or `progress` neither callable nor a
        bool.
    ValueError
        If a matrix is not square, `b` is of another order, `UPLO` is neither "L" nor "U", the
        subset is none, or `data_error` has unknown keys or values.
    numpy.linalg.LinAlgError
        If an entry of the triangle is not finite, `b` is not positive definite, with the first
        leading minor that is not positive, an eigenvalue is beyond the largest double, or the
        rotations do not converge.
    MemoryError
        If memory for the factors cannot be allocated; the message gives the requested size.

    Warns
    -----
    PrecisionWarning
        If the condition of `b` leaves eigenvalues few digits. A value of few digits alone is not a
        reason, as in `svd`.

    See Also
    --------
    svd : Its small values have small relative errors.
    eig : Matrices that are not Hermitian.

    Notes
    -----
    Every eigenvalue is accurate to ``40 n eps`` of the largest one, the eigenvectors are
    orthonormal within ``40 n eps``, and ``norm(a V - V w) <= 100 n eps norm(a)``.
    ``info.error_bound`` proves what is right of each value, little above its true error, and
    ``info.vector_error_bound`` how far a vector is from an exact one. They are residuals in twice
    the limbs over distances of eigenvalues (docs/explanation/singular-values.md).

    The columns of ``a + s I``, s at least twice the norm, are made orthogonal as in `svd`,
    from eigenvectors by LAPACK on; eigenvalues are Rayleigh quotients with `a`. The limbs depend on
    that LAPACK and its threads, and on the other matrices of a batch.

    With `b` the matrix is ``L^-1 a L^-H``, ``b = L L^H`` by Cholesky (G. H. Golub and C. F. Van
    Loan, Matrix Computations, section 8.7). What that loses is refined by residuals with `a` and
    `b`, as far as ``n eps cond(b)`` is below 1. Values are accurate to ``100 n**2 eps cond(b)`` of
    the largest one in any case, and usually to ``eps`` of themselves. Vectors are orthonormal in
    the product with `b` within ``100 n**2 eps cond(b)``.

    Examples
    --------
    >>> import mdqr
    >>> w, V = mdqr.linalg.eigh(mdqr.array([[2.0, 1.0], [1.0, 2.0]], precision=mdqr.qd))
    >>> w.to_numpy().round(12).tolist()
    [1.0, 3.0]
    """
    if not (progress is None or isinstance(progress, Report)):
        return with_report(eigh, locals())
    found = _decomposed("eigh", a, UPLO, b, subset_by_index, precision, progress)
    inputs, kind, n = found.inputs, found.inputs.kind, found.inputs.shape(0)[-1]
    info = _claims("eigh", found, (a, b), data_error)
    batch, vectors = inputs.shape(0)[:-2], found.vectors[..., found.part]
    result = EighResult(
        _values(found), inputs.wrap(vectors.reshape(kind.planes((*batch, n, vectors.shape[-1]))))
    )
    result.info = info
    return result


@overload
def eigvalsh(
    a: Any,
    /,
    UPLO: Uplo = "L",
    *,
    b: Any = None,
    subset_by_index: Any = None,
    return_info: Literal[False] = False,
    data_error: Mapping[str, Any] | None = None,
    precision: PrecisionLike | None = None,
    progress: Progress = None,
) -> MDArray: ...


@overload
def eigvalsh(
    a: Any,
    /,
    UPLO: Uplo = "L",
    *,
    b: Any = None,
    subset_by_index: Any = None,
    return_info: Literal[True],
    data_error: Mapping[str, Any] | None = None,
    precision: PrecisionLike | None = None,
    progress: Progress = None,
) -> tuple[MDArray, SpectralInfo]: ...


@takes_hints
@documented(eigh)
def eigvalsh(
    a: Any,
    /,
    UPLO: Uplo = "L",
    *,
    b: Any = None,
    subset_by_index: Any = None,
    return_info: bool = False,
    data_error: Mapping[str, Any] | None = None,
    precision: PrecisionLike | None = None,
    progress: Progress = None,
) -> MDArray | tuple[MDArray, SpectralInfo]:
    """Return eigenvalues of Hermitian matrices, the least first; as `numpy.linalg.eigvalsh`.

    Parameters
    ----------
    UPLO : {"L", "U"}, optional
        The triangle that is read.
    b : array_like, optional
        Hermitian positive definite matrices, as in `eigh`.
    subset_by_index : sequence of two int, optional
        The first and the last of the eigenvalues to compute.
    return_info : bool, optional
        Whether error bounds are returned, too.

    Returns
    -------
    MDArray
        The eigenvalues, real, ``(..., n)``; as accurate as by `eigh`.
    SpectralInfo
        Their error bounds; only with `return_info`.

    Raises
    ------
    TypeError, ValueError
        As `eigh`.
    numpy.linalg.LinAlgError
        As `eigh`.

    Warns
    -----
    PrecisionWarning
        As `eigh`.

    >>> a = mdqr.array([[2.0, 1.0], [1.0, 2.0]], precision=mdqr.qd)
    >>> mdqr.linalg.eigvalsh(a, subset_by_index=[1, 1]).to_numpy().round(12).tolist()
    [3.0]
    """
    if not (progress is None or isinstance(progress, Report)):
        return with_report(eigvalsh, locals())
    found = _decomposed("eigvalsh", a, UPLO, b, subset_by_index, precision, progress)
    if not return_info:
        check_data_error("eigvalsh", data_error, ("a", "b"))
        return _values(found)
    return _values(found), _claims("eigvalsh", found, (a, b), data_error)


class _Found(NamedTuple):
    """Operands of one batch, Hermitian matrices, all values ``(batch, n)`` and vectors."""

    inputs: Inputs
    matrices: list[Block]
    uplo: str
    values: Block
    vectors: Block
    part: slice


def _values(found: _Found) -> MDArray:
    """Return the values that are wanted."""
    values = found.values[..., found.part]
    shape = (*found.inputs.shape(0)[:-2], values.shape[-1])
    return found.inputs.wrap(values.reshape(found.inputs.kind.real.planes(shape)), False)


def _claims(function: str, found: _Found, given: tuple[Any, Any], data_error: Any) -> SpectralInfo:
    """Return the info of what was found of the operands a and b as they were given."""
    operands = given[: len(found.matrices)]
    inputs, checks = found.inputs, Checks()
    check_data_error(function, data_error, ("a", "b")[: len(operands)])
    errors = [
        operand_errors(
            function,
            data_error,
            name,
            inputs.shape(0),
            entry_unit(operand, data_precision(operand, inputs.work)),
            inputs,
            checks,
        )
        for name, operand in zip("ab", operands, strict=False)
    ]
    checks.settle()
    held = claims.held(
        inputs, found.matrices, errors, found.values, found.vectors, triangle=found.uplo
    )
    n = inputs.shape(0)[-1]
    shape = (*inputs.shape(0)[:-2], len(range(n)[found.part]))
    made = partial(claims.of_hermitian, again=partial(_again, function))
    return claims.info_of(inputs, held, made, found.part, shape)


def _triangle_of(function: str, uplo: Any) -> str:
    """Return "L" or "U"; raises for the matrix that comes second in SciPy."""
    if not isinstance(uplo, str):
        raise TypeError(
            f'{function}: UPLO must be "L" or "U"; got {shown(type(uplo).__name__)}. The matrix of '
            f"a generalised problem is a keyword: {function}(a, b=b)"
        )
    if uplo.upper() not in ("L", "U"):
        raise ValueError(f'{function}: UPLO must be "L" or "U"; got {shown(uplo)}')
    return uplo.upper()


def _decomposed(
    function: str,
    a: Any,
    uplo: Any,
    b: Any,
    subset: Any,
    precision: PrecisionLike | None,
    report: Reporter | None,
) -> _Found:
    """Return the operands with all their eigenvalues and eigenvectors."""
    uplo = _triangle_of(function, uplo)
    inputs = gather(*([a] if b is None else [a, b]), precision=precision)
    n, kind, xp = square_order(function, "a", inputs.shape(0)), inputs.kind, inputs.backend.xp
    part, checks, block = _part(function, subset, n), Checks(), inputs.blocks[0]
    read = xp.tril(block) if uplo == "L" else xp.triu(block)
    checks.require_finite(function, "a", read, kind.is_complex)
    checks.settle()
    with memory_guard(function, inputs, 12 * n * n, "take fewer rows"):
        matrices, triangle = [_hermitian(inputs, read)], None
        if b is not None:
            inputs, matrices, reduced, triangle = _reduced(function, inputs, matrices[0], uplo)
        matrices = [flat(each, kind.is_complex) for each in matrices]
        matrix = matrices[0]
        if not matrix[0].size:
            values = kind.real.zeros(xp, matrix.shape[kind.lead : -1])
            return _Found(inputs, matrices, uplo, values, matrix, part)
        if triangle is None:
            values, vectors = _solved(inputs, matrix, report)
        else:
            values, vectors, change = _solved_pair(inputs, matrices, reduced, triangle, report)
            if not change <= _FEW_DIGITS:
                warn_of_precision(
                    f"linalg.{function}",
                    "the condition of b leaves the eigenvalues few of the digits of "
                    f"{inputs.work.name}; info.digits of eigh says how many, a higher precision "
                    "has more",
                    precision=inputs.precision,
                )
        shape = (inputs.work.limbs, *inputs.shape(0)[:-2], 1, n)
        checks.require_in_range(function, "the eigenvalues", values.reshape(shape), False)
        checks.settle()
    return _Found(inputs, matrices, uplo, values, vectors, part)


def _again(function: str, matrices: list[Block], is_complex: bool, limbs: int) -> Pairs:
    """Return the pairs of one or two Hermitian matrices ``(batch, n, n)`` in so many limbs."""
    precision = precision_for(limbs)
    blocks = [planes.widen(each, is_complex, limbs) for each in matrices]
    inputs = Inputs(precision, precision, is_complex, blocks)
    if len(matrices) == 1:
        return Pairs(*_solved(inputs, blocks[0]), 0.0)
    inputs, blocks, reduced, triangle = _reduced(function, inputs, blocks[0], "L")
    return _solved_pair(inputs, blocks, reduced, triangle)


def _solved_pair(
    inputs: Inputs,
    matrices: list[Block],
    reduced: Block,
    triangle: Triangle,
    report: Reporter | None = None,
) -> Pairs:
    """Return eigenvalues and eigenvectors of two matrices, from those of ``L^-1 a L^-H`` on."""
    backend, kind, checks = inputs.backend, inputs.kind, Checks()
    values, vectors = _solved(inputs, flat(reduced, kind.is_complex), report)
    shape = kind.planes(inputs.shape(0))
    vectors = flat(triangle.solve(vectors.reshape(shape), "C", checks=checks), kind.is_complex)
    checks.settle()
    a, b = matrices
    solver = partial(_solved, inputs)
    found = refined(backend, a, b, values, vectors, kind, solver, report)
    return Pairs(*_in_order(backend.xp, found.values, found.vectors), found.change)


def _part(function: str, subset: Any, n: int) -> slice:
    """Return the eigenvalues to compute."""
    if subset is None:
        return slice(None)
    found = [as_integer(each) for each in subset]
    first, last = found if len(found) == 2 else (None, None)
    if first is None or last is None or not 0 <= first <= last < n:
        raise ValueError(
            f"{function}: subset_by_index must be the first and the last index, from 0 to {n - 1}; "
            f"got {subset!r}"
        )
    return slice(first, last + 1)


def _reduced(
    function: str, inputs: Inputs, a: Block, uplo: str
) -> tuple[Inputs, list[Block], Block, Triangle]:
    """Return the operands as one batch, both matrices, ``L^-1 a L^-H``, and L, ``L L^H = b``."""
    kind, checks, xp = inputs.kind, Checks(), inputs.backend.xp
    if square_order(function, "b", inputs.shape(1)) != inputs.shape(0)[-1]:
        raise ValueError(
            f"{function}: a and b must be of one order; got shapes {inputs.shape(0)} and "
            f"{inputs.shape(1)}"
        )
    _, (a, b) = broadcast_batch(function, [a, inputs.blocks[1]], kind.is_complex)
    inputs = inputs._replace(blocks=[a, b])
    advice = "eig takes any regular b"
    upper = uplo == "U"
    c = checked_factor(function, "b", inputs, upper=upper, advice=advice, index=1)
    c = planes.adjoint(c, kind.is_complex) if upper else c
    triangle = Triangle(inputs.backend, c, kind=kind, lower=True, function=function, checks=checks)
    half = triangle.solve(a, checks=checks)
    reduced = triangle.solve(planes.adjoint(half, kind.is_complex), checks=checks)
    checks.settle()
    whole = _hermitian(inputs, (xp.triu if upper else xp.tril)(b))
    return inputs, [a, whole], _hermitian(inputs, xp.tril(reduced)), triangle


def _hermitian(inputs: Inputs, triangle: Block) -> Block:
    """Return the matrices of which one triangle is given, and zeros."""
    kind = inputs.kind
    triangle = planes.widen(triangle, kind.is_complex, kind.limbs).copy()
    if kind.is_complex:
        planes.diagonal(triangle)[1] = 0.0
    other = planes.adjoint(triangle, kind.is_complex).copy()
    planes.diagonal(other)[...] = 0.0
    return triangle + other


def _solved(inputs: Inputs, a: Block, report: Reporter | None = None) -> tuple[Block, Block]:
    """Return eigenvalues and eigenvectors of Hermitian matrices ``(batch, n, n)``."""
    backend, kind, field = inputs.backend, inputs.kind, inputs.is_complex
    xp = backend.xp
    top = scaling.top_exponents(a, field)
    a = backend.ldexp(a, -top[:, None, None], is_complex=field)
    values, start = one_by_one(xp.linalg.eigh, to_native(xp, a, field))
    # A power of two, at least twice the norm.
    size = scaling.exponents_of(fold("max", abs(values), -1).view(np.int64)) + 1
    shift = kind.identity(xp, a.shape[kind.lead :])
    shift = backend.ldexp(shift, size[:, None, None], is_complex=field)
    shifted = backend.binary("add", a, shift, kind=kind)
    start = from_native(xp, start.swapaxes(-1, -2), field)
    sizes = abs(values)
    (lost,) = fetch(total(sizes <= _LOST * fold("max", sizes, -1, keepdims=True), -1))
    if (lost > 1).any():
        # LAPACK tells them not apart: singular vectors do.
        right: Any = of_tall(inputs, a, True, report).right
        start = right.swapaxes(-1, -2)
    shifted = shifted.swapaxes(-1, -2)
    rows = orthogonalise(backend, shifted, kind, start, turns_only=True, report=report).v
    vectors = rows.swapaxes(-1, -2)
    image = exact.matmul(backend, a, vectors, kind=kind)
    rows_ = planes.conjugate(rows) if field else rows
    values = backend.binary("multiply", rows_, image.swapaxes(-1, -2), kind=kind)
    values = row_sums(backend, values[0] if field else values, kind)
    values = backend.ldexp(values, top[:, None])
    return _in_order(xp, values, vectors)


def _in_order(xp: Any, values: Block, vectors: Block) -> tuple[Block, Block]:
    """Return values, the least first, and vectors as columns."""
    order = ascending(xp, values)
    if order is None:
        return values, vectors
    rows = permuted(vectors.swapaxes(-1, -2), order)
    return permuted(values[..., None], order)[..., 0], rows.swapaxes(-1, -2)
