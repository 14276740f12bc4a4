"""Derivatives of the exponential of matrices, and condition numbers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mdqr._array.array import MDArray
from mdqr._functions.sequences import concatenate
from mdqr._limbs import scaling
from mdqr._limbs.device import host_block
from mdqr._limbs.planes import Kind
from mdqr._stability import experimental
from mdqr._typing import PrecisionLike
from mdqr.linalg._matrix.equations import gathered
from mdqr.linalg._matrix.expm import expm
from mdqr.linalg._matrix.given import first_limbs
from mdqr.linalg._matrix.series.exponential import Exponential
from mdqr.linalg._shared.info import Info, WithInfo
from mdqr.linalg._shared.operands import gather, memory_guard, square_order
from mdqr.linalg._spectral.norms import norm

# Directions whose derivatives are computed together.
_TOGETHER = 64


class _Fields(NamedTuple):
    expm: MDArray
    frechet: MDArray


class FrechetResult(WithInfo, _Fields):
    """An exponential and its derivative in one direction.

    Attributes
    ----------
    expm : MDArray
        The exponentials ``(..., n, n)``.
    frechet : MDArray
        The derivatives ``(..., n, n)``.
    info : Info
        Proven bounds of the errors of `frechet`.
    """

    info: Info


FrechetResult.__module__ = "mdqr.linalg"


@experimental
def expm_frechet(a: Any, e: Any, /, *, precision: PrecisionLike | None = None) -> FrechetResult:
    """Return exponentials and their Frechet derivatives; as `scipy.linalg.expm_frechet`.

    Parameters
    ----------
    a : array_like
        Matrices ``(..., n, n)``.
    e : array_like
        Directions ``(..., n, n)``; leading dimensions broadcast.
    precision : Precision or str, optional
        The precision of the results; by default the highest of both.

    Returns
    -------
    FrechetResult
        The fields `expm` and `frechet`, the derivative of ``expm(a + t e)`` at ``t = 0``, and
        `info`, whose bounds are proven.

    Raises
    ------
    ValueError
        If the leading dimensions do not broadcast.
    numpy.linalg.LinAlgError
        If a matrix is not square, the shapes differ, an entry is not finite, or one of the result
        is beyond the largest double.

    Notes
    -----
    Both are blocks of the exponential of ``[[a, s e], [0, a]]`` (N. J. Higham, Functions of
    Matrices, 2008, section 3.2). s is a power of two that makes the largest
    entries of both blocks equal.
    Errors are bounded as by `expm` for that matrix.

    Examples
    --------
    >>> import mdqr
    >>> a = mdqr.array([[0, 1], [0, 0]], precision=mdqr.qd)
    >>> found = mdqr.linalg.expm_frechet(a, [[1, 0], [0, 0]])
    >>> found.frechet.to_numpy().tolist()
    [[1.0, 0.5], [0.0, 0.0]]
    >>> bool(found.info.error_bound.max() < 1e-60)
    True
    """
    function = "expm_frechet"
    operands = gathered(function, ("a", "e"), (a, e), precision, None)
    inputs, batch, (left, right), errors = operands
    n = square_order(function, "a", left.shape)
    if right.shape != left.shape:
        raise np.linalg.LinAlgError(
            f"{function}: e must have the shape of a; got {right.shape[-2:]} and {left.shape[-2:]}"
        )
    tops = [host_block(scaling.top_exponents(x._block, x.is_complex)) for x in (left, right)]
    power = np.where(tops[0] == 0, 0, tops[0] - tops[1])[:, None, None]
    scaled = _scaled(right, power)
    whole = _blocks(inputs.backend, left, scaled)
    moved = np.ldexp(errors[1], power)
    atol: Any = np.block([[errors[0], moved], [np.zeros(moved.shape), errors[0]]])
    atol = inputs.backend.xp.asarray(atol)  # where the matrices are
    with memory_guard(function, inputs, 64 * n * n, "take smaller matrices"):
        found, info = expm(
            whole, precision=inputs.precision, data_error={"a_atol": atol}, return_info=True
        )
    derivative = _scaled(found[:, :n, n:], -power)
    shape = (*batch, n, n)

    def part(bound: np.ndarray) -> np.ndarray:
        return np.ldexp(bound[:, :n, n:], -power).reshape(shape) + 2.0**-1070

    x = derivative.reshape(shape)
    result = FrechetResult(found[:, :n, :n].reshape(shape).copy(), x.copy())
    return result._described(
        Info(
            inputs.precision,
            abs(first_limbs(x)),
            lambda: part(info.error_bound),
            lambda: part(info.data_error_bound),
            method="scaling and squaring",
        )
    )


def _blocks(backend: Any, a: MDArray, e: MDArray) -> MDArray:
    """Return ``[[a, e], [0, a]]``."""
    kind, n = Kind(a.precision.limbs, a.is_complex), a.shape[-1]
    whole = kind.zeros(backend.xp, (len(a), 2 * n, 2 * n))
    whole[..., :n, :n] = whole[..., n:, n:] = a._block
    whole[..., :n, n:] = e._block
    return a._like(whole)


def _scaled(x: MDArray, power: np.ndarray) -> MDArray:
    backend = gather(x, precision=None).backend
    return x._like(backend.ldexp(x._block, backend.xp.asarray(power), is_complex=x.is_complex))


@experimental
def expm_cond(a: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return condition numbers of exponentials; as `scipy.linalg.expm_cond`.

    Parameters
    ----------
    a : array_like
        Matrices ``(..., n, n)``.
    precision : Precision or str, optional
        The precision of the result; by default the precision of `a`.

    Returns
    -------
    MDArray
        The relative condition numbers ``(...)`` in the Frobenius norm, with the error of `expm`.

    Raises
    ------
    numpy.linalg.LinAlgError
        If `a` is not square or has no entries, an entry is not finite, or one of the exponential
        is beyond the largest double.

    Notes
    -----
    The 2-norm of the matrix of the derivative, which has ``n**2`` columns, one for each entry: the
    work grows with the sixth power of n. `info.condition` of `expm` is an upper bound that takes no
    time.

    Examples
    --------
    >>> import mdqr
    >>> float(mdqr.linalg.expm_cond(mdqr.array([[2]], precision=mdqr.qd)))
    2.0
    """
    function = "expm_cond"
    operands = gathered(function, ("a",), (a,), precision, None)
    inputs, batch, (matrices,), _ = operands
    n = square_order(function, "a", matrices.shape)
    if n == 0:
        raise np.linalg.LinAlgError(f"{function}: a matrix without entries has no condition")
    found = []
    with memory_guard(function, inputs, n**4 + 4 * _TOGETHER * n * n, "take smaller matrices"):
        for each in matrices:
            derivative, value = _derivative(each, inputs.backend)
            size = norm(derivative, 2) * norm(each) / norm(value)
            found.append(size.reshape(1))
    if not found:
        return matrices.reshape(*batch, n * n).sum(axis=-1).real
    return concatenate(found).astype(inputs.precision).reshape(batch)


def _derivative(a: MDArray, backend: Any) -> tuple[MDArray, MDArray]:
    """Return the matrix ``(n**2, n**2)`` of the derivative, and the exponential."""
    n = a.shape[-1]
    kind, columns = Kind(a.precision.limbs, a.is_complex), []
    value = a
    for start in range(0, n * n, _TOGETHER):
        count = min(_TOGETHER, n * n - start)
        whole = kind.zeros(backend.xp, (count, 2 * n, 2 * n))
        for diagonal in (slice(0, n), slice(n, 2 * n)):
            whole[..., :, diagonal, diagonal] = a._block[(*(slice(None),) * kind.lead, None)]
        for i in range(count):
            row, column = divmod(start + i, n)
            first = (0, 0) if a.is_complex else (0,)
            whole[(*first, i, row, n + column)] = 1.0
        found = Exponential(a._like(whole), backend, keep="").value
        columns.append(found[:, :n, n:].reshape(count, n * n))
        value = found[0, :n, :n]
    return concatenate(columns).T, value
