"""Orthonormal bases of ranges, and angles between subspaces."""

from __future__ import annotations

from typing import Any

import numpy as np

from mdqr._array.array import MDArray
from mdqr._functions.comparison import where
from mdqr._functions.elementary import arccos, arcsin
from mdqr._functions.manipulation.axes import flip
from mdqr._functions.rounding import clip
from mdqr._typing import PrecisionLike
from mdqr.linalg._products.matmul import matmul
from mdqr.linalg._shared.operands import gather
from mdqr.linalg._shared.tolerance import one_tolerance
from mdqr.linalg._spectral.rank import (
    near_one,
    part_of_largest,
    relative_tolerance,
    warn_of_truncation,
)
from mdqr.linalg._spectral.svd import svd, svdvals


def orth(
    a: Any,
    /,
    rcond: float | None = None,
    *,
    rtol: float | None = None,
    precision: PrecisionLike | None = None,
) -> MDArray:
    """Return an orthonormal basis of the range of a matrix; as `scipy.linalg.orth`.

    Parameters
    ----------
    a : array_like
        A matrix ``(m, n)``.
    rcond, rtol : float, optional
        Two names for the tolerance: singular values of at most that part of the largest count as
        zero. By default as `matrix_rank`.
    precision : Precision or str, optional
        The precision of the result; by default the precision of `a`.

    Returns
    -------
    MDArray
        Orthonormal columns, ``(m, rank)``.

    Raises
    ------
    ValueError
        If both names are given, or `a` is not a matrix.
    numpy.linalg.LinAlgError
        As `svd`.

    Warns
    -----
    DataPrecisionWarning
        If the default tolerance counts values as zero that are above zero in working precision.

    See Also
    --------
    null_space : A basis of the vectors that `a` maps to zero.

    Notes
    -----
    The left singular vectors of the values that count, with the errors of `svd`: orthonormal within
    ``40 k eps``, k = ``min(m, n)``.

    Examples
    --------
    >>> import mdqr
    >>> abs(mdqr.linalg.orth(mdqr.array([[3.0, 6.0], [4.0, 8.0]], precision=mdqr.qd))).to_numpy()
    array([[0.6],
           [0.8]])
    """
    tolerance = one_tolerance("orth", rcond, rtol)
    given = gather(a, precision=precision)
    if len(given.shape(0)) != 2:
        raise ValueError(f"orth: a must be a matrix; got shape {given.shape(0)}")
    u, s, _ = svd(near_one(given)[0], False, precision=given.precision)
    kept = s > part_of_largest(s, relative_tolerance(given, a, tolerance))
    if tolerance is None:
        warn_of_truncation("orth", given, s, kept)
    return u[:, : int(kept.sum())]


def subspace_angles(a: Any, b: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return angles between the ranges of two matrices; as `scipy.linalg.subspace_angles`.

    Parameters
    ----------
    a, b : array_like
        Matrices ``(m, n)`` and ``(m, k)``.
    precision : Precision or str, optional
        The precision of the angles; by default the highest of both.

    Returns
    -------
    MDArray
        The principal angles in radians, the largest first: as many as the smaller dimension.

    Raises
    ------
    ValueError
        If an operand is not a matrix, or the rows differ.
    numpy.linalg.LinAlgError
        As `svd`.

    Warns
    -----
    DataPrecisionWarning
        As `orth`.

    Notes
    -----
    Angles of `orth` of both, small ones by their sines, others by their cosines (Knyazev and
    Argentati 2002). Errors of the bases of size e change each angle by at most about e. The bases
    themselves have errors of ``40 m eps`` times the conditions of the matrices.

    Examples
    --------
    >>> import mdqr
    >>> a, b = mdqr.array([[1], [0]], precision=mdqr.qd), mdqr.array([[1], [1]], precision=mdqr.qd)
    >>> (mdqr.linalg.subspace_angles(a, b) / mdqr.pi).to_numpy()
    array([0.25])
    """
    inputs = gather(a, b, precision=precision)
    if [len(inputs.shape(i)) for i in (0, 1)] != [2, 2] or inputs.shape(0)[0] != inputs.shape(1)[0]:
        raise ValueError(
            "subspace_angles: a and b must be matrices of as many rows; got shapes "
            f"{inputs.shape(0)} and {inputs.shape(1)}"
        )
    p, q = (orth(x, precision=inputs.work) for x in (a, b))
    if p.shape[1] < q.shape[1]:
        p, q = q, p
    product = matmul(p.mT.conj(), q)
    cosines = svdvals(product)
    # Cosines fall where sines grow.
    sines = flip(svdvals(q - matmul(p, product)), -1)
    one = np.ones(1)
    small = arcsin(clip(sines, -one, one))
    angles = where(cosines * cosines >= 0.5, small, arccos(clip(cosines, -one, one)))
    return flip(angles, -1).copy().astype(inputs.precision)
