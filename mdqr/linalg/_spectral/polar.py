"""Polar decompositions."""

from __future__ import annotations

from typing import Any, NamedTuple

from mdqr._array.array import MDArray
from mdqr._limbs import planes
from mdqr._precision import Precision
from mdqr.linalg._products.matmul import matmul
from mdqr.linalg._spectral.svd import svd


class PolarResult(NamedTuple):
    """Factors ``a = u @ p``, or ``a = p @ u``.

    Attributes
    ----------
    u : MDArray
        Orthonormal columns or rows, whichever are fewer: ``(..., m, n)``.
    p : MDArray
        Hermitian to the bit and positive semidefinite, ``(..., n, n)``, or ``(..., m, m)``.
    """

    u: MDArray
    p: MDArray


PolarResult.__module__ = "mdqr.linalg"


def polar(a: Any, side: str = "right", *, precision: Precision | str | None = None) -> PolarResult:
    """Return the polar decomposition ``a = u p``; as `scipy.linalg.polar`.

    Parameters
    ----------
    a : array_like
        Matrices ``(..., m, n)``.
    side : {"right", "left"}, optional
        Where p stands: ``a = u p`` or ``a = p u``.
    precision : Precision or str, optional
        The precision of the factors; by default that of `a`.

    Returns
    -------
    PolarResult
        The fields `u` and `p`.

    Raises
    ------
    ValueError
        If `a` has less than two dimensions, or `side` is unknown.
    numpy.linalg.LinAlgError
        As `svd`.
    MemoryError
        If there is no memory for the factors; with what was wanted.

    See Also
    --------
    svd : The singular values and vectors that both are made of.

    Notes
    -----
    With k = ``min(m, n)``, ``norm(a - u p) <= 100 k eps norm(a)``, u is orthonormal within ``100 k
    eps``, and p errs by at most ``150 k eps norm(a)`` in the Frobenius norm (N. J. Higham,
    Functions of Matrices, 2008, theorem 8.9). u is the orthonormal matrix nearest to `a`; it errs
    by that over the sum of the two smallest singular values, and is one of many for matrices
    without full rank.

    Examples
    --------
    >>> import mdqr
    >>> u, p = mdqr.linalg.polar(mdqr.array([[0.0, -3.0], [2.0, 0.0]], precision=mdqr.qd))
    >>> u.to_numpy().round(12).tolist(), p.to_numpy().round(12).tolist()
    ([[0.0, -1.0], [1.0, 0.0]], [[2.0, 0.0], [0.0, 3.0]])
    """
    if side not in ("right", "left"):
        raise ValueError(f'polar: side must be "right" or "left"; got {side!r}')
    left, s, right = svd(a, full_matrices=False, precision=precision)
    rows = right if side == "right" else left.mT.conj()
    scaled = (rows.mT.conj() * s[..., None, :]) if s.shape[-1] else rows.mT.conj()
    return PolarResult(matmul(left, right), _hermitian(matmul(scaled, rows)))


def _hermitian(a: MDArray) -> MDArray:
    """Return matrices with the upper triangle of `a` in both."""
    field, xp = a.is_complex, planes.namespace(a.limbs)
    upper = xp.triu(a.limbs)
    if field:
        planes.diagonal(upper)[1] = 0.0
    lower = xp.triu(a.limbs, 1).swapaxes(-1, -2)
    both = upper + (planes.conjugate(lower) if field else lower)
    return MDArray._wrap(both, a.precision, field)
