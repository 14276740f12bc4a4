"""Factorisations of symmetric and Hermitian matrices, by the name of SciPy."""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from mdqr._array.array import MDArray
from mdqr._backend import for_block
from mdqr._limbs import planes, scaling
from mdqr._limbs.device import host_block
from mdqr._precision import PRECISIONS
from mdqr._stability import experimental
from mdqr._typing import PrecisionLike
from mdqr.linalg._factor.backward_error import FactorErrors, FactorInfo
from mdqr.linalg._factor.indefinite.bunch_kaufman import Factors
from mdqr.linalg._factor.indefinite.errors import ErrorsOfThree
from mdqr.linalg._shared.checks import Checks
from mdqr.linalg._shared.info import WithInfo
from mdqr.linalg._shared.operands import (
    Inputs,
    data_precision,
    entry_unit,
    gather,
    memory_guard,
    square_order,
)


class _LDL(NamedTuple):
    lu: MDArray
    d: MDArray
    perm: np.ndarray


class LDLResult(WithInfo, _LDL):
    """A factorisation, ``a = lu @ d @ lu^H``, or with ``lu^T`` of symmetric complex matrices.

    Attributes
    ----------
    lu : MDArray
        A triangle with a unit diagonal, its rows permuted, ``(..., n, n)``.
    d : MDArray
        Blocks of one or two rows on the diagonal, ``(..., n, n)``.
    perm : numpy.ndarray
        The rows of `lu` in the order in which they are triangular, ``(..., n)``.
    info : FactorInfo
        A proven bound of the backward error.
    """

    info: FactorInfo


LDLResult.__module__ = "mdqr.linalg"


@experimental
def ldl(
    a: Any,
    /,
    lower: bool = True,
    hermitian: bool = True,
    *,
    precision: PrecisionLike | None = None,
) -> LDLResult:
    """Return factorisations of symmetric or Hermitian matrices; as `scipy.linalg.ldl`.

    Parameters
    ----------
    a : array_like
        Matrices ``(..., n, n)``, of which one triangle is read; they need not be definite.
    lower : bool, optional
        True to read the lower triangle, for a lower triangular factor; else both are upper.
    hermitian : bool, optional
        True if complex matrices are Hermitian, the imaginary parts of their diagonals taken for 0;
        else they are symmetric.
    precision : Precision or str, optional
        The precision of the results; by default the precision of `a`.

    Returns
    -------
    LDLResult
        The fields `lu`, `d` and `perm`, and `info`.

    Raises
    ------
    ValueError
        If `a` is not square.
    numpy.linalg.LinAlgError
        If an entry of the triangle is not finite.
    MemoryError
        If memory for the factors cannot be allocated; the message gives the requested size.

    See Also
    --------
    cholesky : Factors of definite matrices, in less time.
    solve : Solutions of systems.

    Notes
    -----
    Pivots have one or two rows (J. R. Bunch and L. Kaufman 1977), in working precision, on the
    host. The errors are within
    ``abs(a - lu d lu^H) <= 40 n eps (abs(a) + abs(lu) abs(d) abs(lu^H))`` (N. J. Higham, Accuracy
    and Stability of Numerical Algorithms, section 11.1). Singular matrices have factors, too.

    Examples
    --------
    >>> import mdqr
    >>> lu, d, perm = mdqr.linalg.ldl(mdqr.array([[0, 2], [2, 1]], precision=mdqr.qd))
    >>> lu[perm].to_numpy().tolist(), d.to_numpy().tolist()
    ([[1.0, 0.0], [0.0, 1.0]], [[0.0, 2.0], [2.0, 1.0]])
    """
    inputs = gather(a, precision=precision)
    n = square_order("ldl", "a", inputs.shape(0))
    with memory_guard("ldl", inputs, 6 * n * n, "take fewer rows"):
        whole = _whole(inputs, lower, hermitian)
        # Of matrices whose order is reversed the lower triangle is the upper one.
        found = _factored(whole if lower else whole[:, ::-1, ::-1], hermitian)
        if not lower:
            lu, d, perm = found
            found = lu[:, ::-1, ::-1], d[:, ::-1, ::-1], n - 1 - perm[:, ::-1]
    lu, d, perm = found
    device = MDArray._wrap(inputs.blocks[0], inputs.work, inputs.is_complex).device
    shape = inputs.shape(0)
    triangle, blocks = (
        x.astype(inputs.precision).reshape(shape).to_device(device) for x in (lu, d)
    )
    result = LDLResult(triangle, blocks, perm.reshape(shape[:-1]))
    unit = entry_unit(a, data_precision(a, inputs.work))

    @cache
    def errors() -> FactorErrors:
        # What is returned has been rounded.
        left, middle = (x.astype(inputs.precision).astype(whole.precision) for x in (lu, d))
        right = _adjoint(left, hermitian)
        found = ErrorsOfThree(whole, left, middle, right, unit).bounds()
        return FactorErrors(*(x.reshape(shape[:-2]) for x in found))

    return result._described(FactorInfo(inputs.precision, errors))


def _adjoint(x: MDArray, hermitian: bool) -> MDArray:
    return x.mT.conj() if hermitian and x.is_complex else x.mT.copy()


def _whole(inputs: Inputs, lower: bool, hermitian: bool) -> MDArray:
    """Return the matrices ``(batch, n, n)`` in host memory, of two limbs or more."""
    field, checks, shape = inputs.is_complex, Checks(), inputs.shape(0)
    block = host_block(inputs.blocks[0])
    parts = [(np.tril if lower else np.triu)(block, k) for k in ((0, -1) if lower else (0, 1))]
    checks.require_finite("ldl", "a", parts[0], field)
    checks.settle()
    precision = max(inputs.work, PRECISIONS[1])
    part, rest = (
        MDArray._wrap(planes.widen(x, field, precision.limbs), precision, field) for x in parts
    )
    found = part + _adjoint(rest, hermitian)
    if hermitian and field:
        planes.diagonal(found._block)[1] = 0.0
    return found.reshape(math.prod(shape[:-2]), *shape[-2:])


def _factored(a: MDArray, hermitian: bool) -> tuple[MDArray, MDArray, np.ndarray]:
    """Return lower triangles with permuted rows, block-diagonal matrices, and permutations."""
    backend, field = for_block(a._block), a.is_complex
    power = scaling.top_exponents(a._block, field)[:, None, None]
    near = a._like(backend.ldexp(a._block, -power, is_complex=field))
    lu, d, perm = a.copy(), a.copy(), np.zeros(a.shape[:-1], dtype=np.int64)
    for i in range(len(a) if a.size else 0):
        found = Factors(near[i].copy(), hermitian=hermitian and field)
        lu[i, found.perm], d[i], perm[i] = found.lower, found.d, found.perm
    return lu, d._like(backend.ldexp(d._block, power, is_complex=field)), perm
