"""Powers and condition numbers of matrices by inverses."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from mdqr._array.array import MDArray
from mdqr._errors import advised, shown
from mdqr._functions import filled
from mdqr._functions.comparison import isfinite, where
from mdqr._functions.creation import asarray
from mdqr._functions.sequences import stack
from mdqr._limbs import planes
from mdqr._progress import Progress, Report, Reporter, with_report
from mdqr._typing import MatrixOrder, PrecisionLike
from mdqr.linalg._products.matmul import matmul
from mdqr.linalg._shared.caller import Caller
from mdqr.linalg._shared.operands import as_array, gather, matrix_shape
from mdqr.linalg._solve.solve import inverse_for
from mdqr.linalg._spectral.norms import MATRIX_ORDERS, norm
from mdqr.linalg._spectral.rank import near_one
from mdqr.linalg._spectral.svd import svdvals_for


@advised
def matrix_power(a: Any, /, n: int, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return powers of square matrices, by repeated squaring.

    Parameters
    ----------
    a : array_like
        Square matrices; leading axes are batches.
    n : int
        The exponent. For a negative one the inverse is computed first.
    precision : Precision or str, optional
        The precision of the power; by default the precision of `a`.

    Returns
    -------
    MDArray
        The powers. Each product in turn has the error of `mdqr.linalg.matmul`, an inverse that of
        `mdqr.linalg.inv`.

    Raises
    ------
    ValueError
        If the matrices are not square.
    TypeError
        If `n` is not an integer.
    numpy.linalg.LinAlgError
        If `n` is negative and a matrix is singular; see `mdqr.linalg.inv`.

    Warns
    -----
    PrecisionWarning, DataPrecisionWarning
        If `n` is negative, as `mdqr.linalg.inv`.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.linalg.matrix_power(mdqr.array([[1, 1], [1, 0]], precision=mdqr.qd), 10).to_numpy()
    array([[89., 55.],
           [55., 34.]])
    """
    given, exponent = as_array(a, precision), operator.index(n)
    if given.ndim < 2 or given.shape[-1] != given.shape[-2]:
        raise np.linalg.LinAlgError(f"matrix_power wants square matrices; got shape {given.shape}")
    if exponent < 0:
        given, exponent = inverse_for(Caller("matrix_power"), a, precision=precision), -exponent
    if not exponent:
        identity = filled.zeros_like(given)
        planes.set_unit_diagonal(identity._block, identity.is_complex)
        return identity
    result = given.copy()
    for bit in bin(exponent)[3:]:
        result = matmul(result, result)
        if bit == "1":
            result = matmul(result, given)
    return result


def cond(
    a: Any,
    /,
    p: float | MatrixOrder | None = None,
    *,
    precision: PrecisionLike | None = None,
    progress: Progress = None,
) -> MDArray:
    """Return condition numbers; as `numpy.linalg.cond`.

    Parameters
    ----------
    a : array_like
        Matrices ``(..., m, n)``; square ones unless `p` is None, 2 or -2.
    p : {None, 1, -1, 2, -2, inf, -inf, "fro", "nuc"}, optional
        The norm; None means 2. -2 gives the inverse of the condition in the 2-norm.
    precision : Precision or str, optional
        The precision of the condition; by default the precision of `a`.
    progress : callable or bool, optional
        As for `svd`, or for `inv` where `p` is neither None, 2 nor -2.

    Returns
    -------
    MDArray
        The conditions, ``(...)``. Infinite for matrices of zeros, and where `inv` finds an exact
        zero as a pivot. Singular matrices of which rounding leaves more than zeros have conditions
        of about ``1 / eps``, as in NumPy.

    Raises
    ------
    ValueError
        If `p` is not a norm.
    numpy.linalg.LinAlgError
        As `svd`, or if a matrix has no entries, or is not square where `p` is not None, 2 or -2.

    Examples
    --------
    >>> import mdqr
    >>> i = mdqr.arange(1, 11, precision=mdqr.qd)
    >>> mdqr.linalg.cond(1 / (i[:, None] + i - 1)).to_strings(digits=20).item()
    '16026286870216.882788'
    >>> mdqr.linalg.cond(mdqr.zeros((2, 2), precision=mdqr.qd)).to_numpy().item()
    inf
    """
    if not (progress is None or isinstance(progress, Report)):
        return with_report(cond, locals())
    if p is not None and p not in MATRIX_ORDERS:
        raise ValueError(f"cond: p must be None or one of {MATRIX_ORDERS}; got {shown(p)}")
    given = gather(a, precision=precision)
    m, n = matrix_shape("cond", "a", given.shape(0))
    if not min(m, n):
        raise np.linalg.LinAlgError("cond: a matrix without entries has no condition")
    if p is not None and p not in (2, -2):
        return _by_inverse(a, p, precision, progress)
    values = svdvals_for("cond", near_one(given)[0], given.precision, progress)
    largest, smallest = values[..., 0], values[..., -1]
    with np.errstate(divide="ignore", invalid="ignore"):
        if p == -2:
            return where(largest > 0, smallest / largest, np.inf)
        return where(smallest > 0, largest / smallest, np.inf)


def _by_inverse(
    a: Any, p: float | MatrixOrder, precision: PrecisionLike | None, report: Reporter | None
) -> MDArray:
    """Return conditions by the inverses, infinite for matrices that `inv` calls singular."""
    sizes = norm(a, p, axis=(-2, -1), precision=precision)
    try:
        inverse = inverse_for(Caller("cond"), a, precision=precision, report=report)
        return sizes * norm(inverse, p, axis=(-2, -1))
    except np.linalg.LinAlgError as error:
        given = asarray(a, precision=sizes.precision)
        is_of_progress = not str(error).startswith("cond: ")
        if is_of_progress or not bool(isfinite(sizes).all()):
            raise
    if given.ndim == 2:
        return sizes + np.inf
    matrices = given.reshape(-1, *given.shape[-2:])
    found = [_by_inverse(each, p, precision, report) for each in matrices]
    return stack(found).reshape(sizes.shape)
