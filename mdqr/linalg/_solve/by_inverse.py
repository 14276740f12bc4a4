"""Functions that use inverses: powers of matrices, condition numbers in other norms than 2."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from mdqr._array.array import MDArray
from mdqr._errors import advised
from mdqr._functions import filled
from mdqr._functions.comparison import isfinite, where
from mdqr._functions.creation import asarray
from mdqr._functions.sequences import stack
from mdqr._limbs import planes
from mdqr._precision import Precision
from mdqr.linalg._products.matmul import matmul
from mdqr.linalg._shared.caller import Caller
from mdqr.linalg._shared.operands import as_array, gather, matrix_shape
from mdqr.linalg._solve.solve import inverse_for
from mdqr.linalg._spectral.norms import norm
from mdqr.linalg._spectral.rank import near_one
from mdqr.linalg._spectral.svd import svdvals


@advised
def matrix_power(a: Any, n: int, *, precision: Precision | str | None = None) -> MDArray:
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

    Examples
    --------
    >>> import mdqr
    >>> mdqr.linalg.matrix_power(mdqr.array([[1, 1], [1, 0]], precision=mdqr.qd), 10).to_numpy()
    array([[89., 55.],
           [55., 34.]])
    """
    given, exponent = as_array(a, precision), operator.index(n)
    if given.ndim < 2 or given.shape[-1] != given.shape[-2]:
        raise ValueError(f"matrix_power wants square matrices; got shape {given.shape}")
    if exponent < 0:
        given, exponent = inverse_for(Caller("matrix_power"), given), -exponent
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
    x: Any, p: float | str | None = None, *, precision: Precision | str | None = None
) -> MDArray:
    """Return condition numbers; as `numpy.linalg.cond`.

    Parameters
    ----------
    x : array_like
        Matrices ``(..., m, n)``; square ones unless `p` is None, 2 or -2.
    p : {None, 1, -1, 2, -2, inf, -inf, "fro"}, optional
        The norm; None means 2. -2 gives the inverse of the condition in the 2-norm.
    precision : Precision or str, optional
        The precision of the condition; by default the precision of `x`.

    Returns
    -------
    MDArray
        The conditions, ``(...)``. Infinite for matrices of zeros, and where `inv` finds an exact
        zero as a pivot; singular matrices of which rounding leaves more than zeros have conditions
        of about ``1 / eps``, as in NumPy.

    Raises
    ------
    ValueError
        If `p` is not a norm, or a matrix has no entries, or is not square where `p` is not None, 2
        or -2.
    numpy.linalg.LinAlgError
        As `svd`.

    Examples
    --------
    >>> import mdqr
    >>> i = mdqr.arange(1, 11, precision=mdqr.qd)
    >>> mdqr.linalg.cond(1 / (i[:, None] + i - 1)).to_strings(digits=20).item()
    '16026286870216.882788'
    >>> mdqr.linalg.cond(mdqr.zeros((2, 2), precision=mdqr.qd)).to_numpy().item()
    inf
    """
    given = gather(x, precision=precision)
    m, n = matrix_shape("cond", "x", given.shape(0))
    if not min(m, n):
        raise ValueError("cond: a matrix without entries has no condition")
    if p is not None and p not in (2, -2):
        return _by_inverse(x, p, precision)
    values = svdvals(near_one(given)[0], precision=given.precision)
    largest, smallest = values[..., 0], values[..., -1]
    with np.errstate(divide="ignore", invalid="ignore"):
        if p == -2:
            return where(largest > 0, smallest / largest, np.inf)
        return where(smallest > 0, largest / smallest, np.inf)


def _by_inverse(x: Any, p: float | str, precision: Precision | str | None) -> MDArray:
    """Return conditions by the inverses, infinite for matrices that `inv` calls singular."""
    sizes = norm(x, p, axis=(-2, -1), precision=precision)
    try:
        return sizes * norm(
            inverse_for(Caller("cond", "x"), x, precision=precision), p, axis=(-2, -1)
        )
    except np.linalg.LinAlgError:
        given = asarray(x, precision=sizes.precision)
        if not bool(isfinite(sizes).all()):
            raise
    if given.ndim == 2:
        return sizes + np.inf
    found = [_by_inverse(each, p, precision) for each in given.reshape(-1, *given.shape[-2:])]
    return stack(found).reshape(sizes.shape)
