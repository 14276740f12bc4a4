"""Eigenvalues of Hermitian matrices: orthogonal vectors of the matrix, shifted to be definite."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mdqr._array.array import MDArray
from mdqr._backend.blocks import from_native, to_native
from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Block
from mdqr._precision import Precision
from mdqr.linalg._factor.lu import flat, permuted
from mdqr.linalg._shared.checks import Checks
from mdqr.linalg._shared.operands import Inputs, gather, memory_guard, square_order
from mdqr.linalg._spectral.jacobi import adjoint, descending, orthogonalise


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


def eigh(a: Any, UPLO: str = "L", *, precision: Precision | str | None = None) -> EighResult:
    """Return eigenvalues and eigenvectors of Hermitian matrices; as `numpy.linalg.eigh`.

    Parameters
    ----------
    a : array_like
        Matrices ``(..., n, n)``.
    UPLO : {"L", "U"}, optional
        The triangle that is read; imaginary parts of the diagonal are taken for 0.
    precision : Precision or str, optional
        The precision of the results; by default that of `a`.

    Returns
    -------
    EighResult
        The fields `eigenvalues` and `eigenvectors`.

    Raises
    ------
    ValueError
        If `a` is not square, or `UPLO` is neither "L" nor "U".
    numpy.linalg.LinAlgError
        If an entry of the triangle is not finite, an eigenvalue is beyond the largest double, or
        the rotations do not converge.
    MemoryError
        If there is no memory for the factors; with what was wanted.

    See Also
    --------
    svd : Its small values are relatively right, those of `eigh` beside the largest one.

    Notes
    -----
    Every eigenvalue is right to ``40 n eps`` of the largest one, the eigenvectors are orthonormal
    within ``40 n eps``, and ``norm(a V - V w) <= 100 n eps norm(a)``: an eigenvector is right to
    about that over the distance of its eigenvalue from others.

    The columns of ``a + s I``, s at least twice the norm, are made orthogonal as those of `svd`,
    from eigenvectors by LAPACK on; eigenvalues are Rayleigh quotients with `a`. The limbs depend on
    that LAPACK and its threads, and on the other matrices of a batch.

    Examples
    --------
    >>> import mdqr
    >>> w, V = mdqr.linalg.eigh(mdqr.array([[2.0, 1.0], [1.0, 2.0]], precision=mdqr.qd))
    >>> w.to_numpy().round(12).tolist()
    [1.0, 3.0]
    """
    inputs, values, vectors = _decomposed("eigh", a, UPLO, precision)
    shape = inputs.shape(0)
    return EighResult(
        inputs.wrap(values.reshape(inputs.kind.real.planes(shape[:-1])), False),
        inputs.wrap(vectors.reshape(inputs.kind.planes(shape))),
    )


def eigvalsh(a: Any, UPLO: str = "L", *, precision: Precision | str | None = None) -> MDArray:
    """Return eigenvalues of Hermitian matrices, the least first; as `numpy.linalg.eigvalsh`.

    Parameters
    ----------
    a : array_like
        Matrices ``(..., n, n)``.
    UPLO : {"L", "U"}, optional
        The triangle that is read.
    precision : Precision or str, optional
        The precision of the results; by default that of `a`.

    Returns
    -------
    MDArray
        The eigenvalues, real, ``(..., n)``; as accurate as those of `eigh`.

    Raises
    ------
    ValueError
        If `a` is not square, or `UPLO` is neither "L" nor "U".
    numpy.linalg.LinAlgError
        As `eigh`.
    MemoryError
        If there is no memory for the factors; with what was wanted.

    Examples
    --------
    >>> import mdqr
    >>> a = mdqr.array([[2.0, 1.0], [1.0, 2.0]], precision=mdqr.qd)
    >>> mdqr.linalg.eigvalsh(a).to_numpy().round(12).tolist()
    [1.0, 3.0]
    """
    inputs, values, _ = _decomposed("eigvalsh", a, UPLO, precision)
    return inputs.wrap(values.reshape(inputs.kind.real.planes(inputs.shape(0)[:-1])), False)


def _decomposed(
    function: str, a: Any, uplo: str, precision: Precision | str | None
) -> tuple[Inputs, Block, Block]:
    """Return the operand, eigenvalues ``(batch, n)`` and eigenvectors ``(batch, n, n)``."""
    if uplo not in ("L", "U"):
        raise ValueError(f'{function}: UPLO must be "L" or "U"; got {uplo!r}')
    inputs, checks = gather(a, precision=precision), Checks()
    n, kind, xp = square_order(function, "a", inputs.shape(0)), inputs.kind, inputs.backend.xp
    block = inputs.blocks[0]
    read = xp.tril(block) if uplo == "L" else xp.triu(block)
    checks.require_finite(function, "a", read, kind.is_complex)
    checks.settle()
    with memory_guard(function, inputs, 12 * n * n, "take fewer rows"):
        matrix = _hermitian(inputs, flat(read, kind.is_complex))
        if not matrix[0].size:
            return inputs, kind.real.zeros(xp, matrix.shape[kind.lead : -1]), matrix
        values, vectors = _solved(inputs, matrix)
        shape = (inputs.work.limbs, *inputs.shape(0)[:-2], 1, n)
        checks.require_in_range(function, "the eigenvalues", values.reshape(shape), False)
        checks.settle()
    return inputs, values, vectors


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
