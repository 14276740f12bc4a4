"""Eigenvalues of Hermitian matrices: orthogonal vectors of the matrix, shifted to be definite."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mdqr._array.array import MDArray
from mdqr._backend.blocks import from_native, to_native
from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Block
from mdqr._precision import Precision
from mdqr.linalg._factor.cholesky import checked_factor
from mdqr.linalg._factor.lu import flat, permuted
from mdqr.linalg._factor.triangular import Triangle
from mdqr.linalg._shared.checks import Checks, fetch
from mdqr.linalg._shared.operands import (
    Inputs,
    as_integer,
    broadcast_batch,
    gather,
    memory_guard,
    square_order,
)
from mdqr.linalg._spectral.jacobi import adjoint, descending, orthogonalise
from mdqr.linalg._spectral.svd import of_tall

# Eigenvalues no larger than that, beside the largest, are noise in float64.
_LOST = 2.0**-44


class EighResult(NamedTuple):
    """Eigenvalues and eigenvectors, ``a @ eigenvectors = eigenvectors * eigenvalues``.

    Attributes
    ----------
    eigenvalues : MDArray
        The eigenvalues, real, the least first: ``(..., n)``.
    eigenvectors : MDArray
        Orthonormal columns, ``(..., n, n)``.
    """

    eigenvalues: MDArray
    eigenvectors: MDArray


EighResult.__module__ = "mdqr.linalg"


def eigh(
    a: Any,
    UPLO: Any = "L",
    *,
    b: Any = None,
    subset_by_index: Any = None,
    precision: Precision | str | None = None,
) -> EighResult:
    """Return eigenvalues and eigenvectors of Hermitian matrices; as `numpy.linalg.eigh`.

    Parameters
    ----------
    a : array_like
        Matrices ``(..., n, n)``.
    UPLO : {"L", "U"} or array_like, optional
        The triangle that is read; imaginary parts of the diagonal are taken for 0. Matrices in its
        place are `b`, which comes second in `scipy.linalg.eigh`.
    b : array_like, optional
        Hermitian positive definite matrices ``(..., n, n)``, of which the same triangle is read:
        eigenvalues are those of ``a v = w b v``, and ``v^H b v = 1``.
    subset_by_index : sequence of two int, optional
        The first and the last of the eigenvalues that are wanted, as in `scipy.linalg.eigh`: k
        values of n. All are found; that saves memory alone.
    precision : Precision or str, optional
        The precision of the results; by default the highest of the operands.

    Returns
    -------
    EighResult
        The fields `eigenvalues` and `eigenvectors`.

    Raises
    ------
    ValueError
        If a matrix is not square, `b` is of another order, `UPLO` is neither "L" nor "U", or the
        subset is none.
    numpy.linalg.LinAlgError
        If an entry of the triangle is not finite, `b` is not positive definite, with the first
        leading minor that is not positive, an eigenvalue is beyond the largest double, or the
        rotations do not converge.
    MemoryError
        If there is no memory for the factors; with what was wanted.

    See Also
    --------
    svd : Its small values are relatively right, those of `eigh` beside the largest one.
    eig : Matrices that are not Hermitian, and a bound of each eigenvalue.

    Notes
    -----
    Every eigenvalue is right to ``40 n eps`` of the largest one, the eigenvectors are orthonormal
    within ``40 n eps``, and ``norm(a V - V w) <= 100 n eps norm(a)``: an eigenvector is right to
    about that over the distance of its eigenvalue from others.

    The columns of ``a + s I``, s at least twice the norm, are made orthogonal as those of `svd`,
    from eigenvectors by LAPACK on; eigenvalues are Rayleigh quotients with `a`. The limbs depend on
    that LAPACK and its threads, and on the other matrices of a batch.

    With `b` the matrix is ``L^-1 a L^-H``, ``b = L L^H`` by Cholesky (G. H. Golub and C. F. Van
    Loan, Matrix Computations, section 8.7): values are right to ``40 n eps`` of its norm and to
    ``100 n^2 eps norm(a) norm(inv(b))``, vectors orthonormal in the product with `b` within
    ``100 n^2 eps`` times the condition of `b`.

    Examples
    --------
    >>> import mdqr
    >>> w, V = mdqr.linalg.eigh(mdqr.array([[2.0, 1.0], [1.0, 2.0]], precision=mdqr.qd))
    >>> w.to_numpy().round(12).tolist()
    [1.0, 3.0]
    """
    inputs, values, vectors = _decomposed("eigh", a, UPLO, b, subset_by_index, precision)
    kind, n = inputs.kind, inputs.shape(0)[-1]
    batch, count = inputs.shape(0)[:-2], values.shape[-1]
    return EighResult(
        inputs.wrap(values.reshape(kind.real.planes((*batch, count))), False),
        inputs.wrap(vectors.reshape(kind.planes((*batch, n, count)))),
    )


def eigvalsh(
    a: Any,
    UPLO: Any = "L",
    *,
    b: Any = None,
    subset_by_index: Any = None,
    precision: Precision | str | None = None,
) -> MDArray:
    """Return eigenvalues of Hermitian matrices, the least first; as `numpy.linalg.eigvalsh`.

    Parameters
    ----------
    a : array_like
        Matrices ``(..., n, n)``.
    UPLO : {"L", "U"} or array_like, optional
        The triangle that is read, or `b`, as in `eigh`.
    b : array_like, optional
        Hermitian positive definite matrices, as in `eigh`.
    subset_by_index : sequence of two int, optional
        The first and the last of the eigenvalues that are wanted.
    precision : Precision or str, optional
        The precision of the results; by default the highest of the operands.

    Returns
    -------
    MDArray
        The eigenvalues, real, ``(..., n)``; as accurate as those of `eigh`.

    Raises
    ------
    ValueError
        As `eigh`.
    numpy.linalg.LinAlgError
        As `eigh`.
    MemoryError
        If there is no memory for the factors; with what was wanted.

    Examples
    --------
    >>> import mdqr
    >>> a = mdqr.array([[2.0, 1.0], [1.0, 2.0]], precision=mdqr.qd)
    >>> mdqr.linalg.eigvalsh(a, subset_by_index=[1, 1]).to_numpy().round(12).tolist()
    [3.0]
    """
    inputs, values, _ = _decomposed("eigvalsh", a, UPLO, b, subset_by_index, precision)
    shape = (*inputs.shape(0)[:-2], values.shape[-1])
    return inputs.wrap(values.reshape(inputs.kind.real.planes(shape)), False)


def _decomposed(
    function: str, a: Any, uplo: Any, b: Any, subset: Any, precision: Precision | str | None
) -> tuple[Inputs, Block, Block]:
    """Return the operands, eigenvalues ``(batch, k)`` and eigenvectors ``(batch, n, k)``."""
    if b is None and not isinstance(uplo, str):
        uplo, b = "L", uplo
    if not isinstance(uplo, str) or uplo.upper() not in ("L", "U"):
        raise ValueError(f'{function}: UPLO must be "L" or "U"; got {uplo!r}')
    uplo = uplo.upper()
    inputs = gather(*([a] if b is None else [a, b]), precision=precision)
    n, kind, xp = square_order(function, "a", inputs.shape(0)), inputs.kind, inputs.backend.xp
    part, checks, block = _part(function, subset, n), Checks(), inputs.blocks[0]
    read = xp.tril(block) if uplo == "L" else xp.triu(block)
    checks.require_finite(function, "a", read, kind.is_complex)
    checks.settle()
    with memory_guard(function, inputs, 12 * n * n, "take fewer rows"):
        matrix = _hermitian(inputs, read)
        triangle = None
        if b is not None:
            inputs, matrix, triangle = _reduced(function, inputs, matrix, uplo)
        matrix = flat(matrix, kind.is_complex)
        if not matrix[0].size:
            return inputs, kind.real.zeros(xp, matrix.shape[kind.lead : -1]), matrix
        values, vectors = _solved(inputs, matrix)
        values, vectors = values[..., part], vectors[..., part]
        if triangle is not None:
            shape = (*inputs.shape(0)[:-1], values.shape[-1])
            vectors = triangle.solve(vectors.reshape(kind.planes(shape)), "C", checks=checks)
        shape = (inputs.work.limbs, *inputs.shape(0)[:-2], 1, values.shape[-1])
        checks.require_in_range(function, "the eigenvalues", values.reshape(shape), False)
        checks.settle()
    return inputs, values, vectors


def _part(function: str, subset: Any, n: int) -> slice:
    """Return the eigenvalues that are wanted."""
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


def _reduced(function: str, inputs: Inputs, a: Block, uplo: str) -> tuple[Inputs, Block, Triangle]:
    """Return the operands as one batch, ``L^-1 a L^-H``, and L with ``L L^H = b``."""
    kind, checks = inputs.kind, Checks()
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
    c = adjoint(c, kind) if upper else c
    triangle = Triangle(inputs.backend, c, kind=kind, lower=True, function=function, checks=checks)
    half = triangle.solve(a, checks=checks)
    reduced = triangle.solve(adjoint(half, kind), checks=checks)
    checks.settle()
    return inputs, _hermitian(inputs, inputs.backend.xp.tril(reduced)), triangle


def _hermitian(inputs: Inputs, triangle: Block) -> Block:
    """Return the matrices of which one triangle is given, and zeros."""
    kind = inputs.kind
    triangle = planes.widen(triangle, kind.is_complex, kind.limbs).copy()
    if kind.is_complex:
        planes.diagonal(triangle)[1] = 0.0
    other = adjoint(triangle, kind).copy()
    planes.diagonal(other)[...] = 0.0
    return triangle + other


def _solved(inputs: Inputs, a: Block) -> tuple[Block, Block]:
    """Return eigenvalues and eigenvectors of Hermitian matrices ``(batch, n, n)``."""
    backend, kind, field = inputs.backend, inputs.kind, inputs.is_complex
    xp = backend.xp
    top = scaling.exponents_of(scaling.largest(scaling.magnitude_bits(a, field), (-2, -1), 0))
    a = backend.ldexp(a, -top[:, None, None], is_complex=field)
    values, start = xp.linalg.eigh(to_native(xp, a, field))
    # A power of two, at least twice the norm.
    size = scaling.exponents_of(abs(values).max(axis=-1).view(np.int64)) + 1
    shift = kind.identity(xp, a.shape[kind.lead :])
    shift = backend.ldexp(shift, size[:, None, None], is_complex=field)
    shifted = backend.binary("add", a, shift, kind=kind)
    start = from_native(xp, start.swapaxes(-1, -2), field)
    (lost,) = fetch((abs(values) <= _LOST * abs(values).max(axis=-1, keepdims=True)).sum(axis=-1))
    if (lost > 1).any():
        # LAPACK tells them not apart: singular vectors do.
        right: Any = of_tall(inputs, a, vectors=True).right
        start = right.swapaxes(-1, -2)
    rows = orthogonalise(backend, shifted.swapaxes(-1, -2), kind, start).v
    vectors = rows.swapaxes(-1, -2)
    image = backend.matmul(a, vectors, kind=kind)
    rows_ = planes.conjugate(rows) if field else rows
    values = backend.binary("multiply", rows_, image.swapaxes(-1, -2), kind=kind)
    values = backend.reduce("sum", values, kind=kind)
    values = backend.ldexp(values[0] if field else values, top[:, None])
    order = descending(xp, values)[..., ::-1]
    values = permuted(values[..., None], order)[..., 0]
    return values, permuted(rows, order).swapaxes(-1, -2)
