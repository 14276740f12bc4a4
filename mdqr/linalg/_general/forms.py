"""Hessenberg form, RQ factorisation, and eigenvalues of tridiagonal matrices."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, overload

import numpy as np

from mdqr._array.array import MDArray
from mdqr._functions.matrices import diag
from mdqr._limbs import planes
from mdqr._stability import experimental
from mdqr._typing import PrecisionLike
from mdqr.linalg._factor.backward_error import FactorInfo
from mdqr.linalg._factor.lu import flat
from mdqr.linalg._factor.qr import qr
from mdqr.linalg._general.operands import operands
from mdqr.linalg._general.schur_info import ErrorsOfForm
from mdqr.linalg._general.subspaces.qr_algorithm import to_hessenberg
from mdqr.linalg._shared.info import WithInfo
from mdqr.linalg._shared.operands import as_array, matrix_shape, memory_guard
from mdqr.linalg._spectral.eigh import EighResult, eigh


class _HAndQ(NamedTuple):
    H: MDArray
    Q: MDArray


class HessenbergResult(WithInfo, _HAndQ):
    """A Hessenberg form, ``a = Q @ H @ Q^H``.

    Attributes
    ----------
    H : MDArray
        Zero below the first subdiagonal, ``(..., n, n)``.
    Q : MDArray
        Unitary ``(..., n, n)``.
    info : FactorInfo
        Proven bounds of the backward error, and of how far Q is from unitary, as of `SchurResult`.
    """

    info: FactorInfo


class _RAndQ(NamedTuple):
    R: MDArray
    Q: MDArray


class RQResult(WithInfo, _RAndQ):
    """An RQ factorisation, ``a = R @ Q``.

    Attributes
    ----------
    R : MDArray
        Upper triangular, in its last columns.
    Q : MDArray
        Orthonormal rows.
    info : FactorInfo
        Proven bounds of ``a - R Q`` and ``Q Q^H - I``.
    """

    info: FactorInfo


HessenbergResult.__module__ = RQResult.__module__ = "mdqr.linalg"


@overload
def hessenberg(
    a: Any, /, calc_q: Literal[False] = False, *, precision: PrecisionLike | None = None
) -> MDArray: ...
@overload
def hessenberg(
    a: Any, /, calc_q: Literal[True], *, precision: PrecisionLike | None = None
) -> HessenbergResult: ...
@experimental
def hessenberg(
    a: Any, /, calc_q: bool = False, *, precision: PrecisionLike | None = None
) -> MDArray | HessenbergResult:
    """Return Hessenberg forms of square matrices; as `scipy.linalg.hessenberg`.

    Parameters
    ----------
    a : array_like
        Matrices ``(..., n, n)``.
    calc_q : bool, optional
        Whether to return the unitary matrices, too.
    precision : Precision or str, optional
        The precision of the results; by default the precision of `a`.

    Returns
    -------
    MDArray or HessenbergResult
        H, or the fields `H` and `Q`, and `info`.

    Raises
    ------
    numpy.linalg.LinAlgError
        If `a` is not square, or an entry is not finite.
    MemoryError
        If memory for the factors cannot be allocated; the message gives the requested size.

    See Also
    --------
    schur : The triangular form.

    Notes
    -----
    Reflectors in working precision, on the host, as in `schur`: a backward error of at most ``10 n
    eps norm(a)``.

    Examples
    --------
    >>> import mdqr
    >>> H, Q = mdqr.linalg.hessenberg(mdqr.ones((3, 3), precision=mdqr.qd), calc_q=True)
    >>> float(H[2, 0]), bool(abs(Q @ H @ Q.T - 1).max() < 1e-60)
    (0.0, True)
    """
    given = operands("hessenberg", [a], precision, None)
    inputs, n = given.inputs, given.shape[-1]
    kind = inputs.kind._replace(limbs=max(inputs.work.limbs, 2))
    block = planes.widen(flat(inputs.blocks[0], kind.is_complex), kind.is_complex, kind.limbs)
    with memory_guard("hessenberg", inputs, 4 * n * n, "take fewer rows"):
        h, q = block.copy(), kind.identity(np, planes.value_shape(block, kind.is_complex))
        for i in range(block.shape[kind.lead] if n else 0):
            parts = h[..., i, :, :].copy(), q[..., i, :, :].copy()
            to_hessenberg(inputs.backend, *parts, kind, None)
            h[..., i, :, :], q[..., i, :, :] = parts
    h, q = (planes.narrow(x, kind.is_complex, inputs.precision.limbs) for x in (h, q))
    shape = inputs.shape(0)
    found = HessenbergResult(
        *(
            inputs.wrap(x.reshape(*x.shape[: kind.lead], *shape)).to_device(given.device)
            for x in (h, q)
        )
    )
    if not calc_q:
        return found.H
    errors = ErrorsOfForm(inputs.backend, kind, block.copy(), h.copy(), q.copy(), given.errors[0])
    return found._described(errors.info(inputs.precision, shape[:-2]))


@experimental
def rq(
    a: Any,
    /,
    mode: Literal["full", "economic"] = "full",
    *,
    precision: PrecisionLike | None = None,
) -> RQResult:
    """Return RQ factorisations; as `scipy.linalg.rq`.

    Parameters
    ----------
    a : array_like
        Matrices ``(..., m, n)``.
    mode : {"full", "economic"}, optional
        Whether Q is square, or has as many rows as the smaller of m and n.
    precision : Precision or str, optional
        The precision of the results; by default the precision of `a`.

    Returns
    -------
    RQResult
        The fields `R` and `Q`, and `info`.

    Raises
    ------
    ValueError
        If `mode` is neither "full" nor "economic".
    numpy.linalg.LinAlgError
        If `a` has fewer than two dimensions, or an entry is not finite.
    MemoryError
        If memory for the factors cannot be allocated; the message gives the requested size.

    Notes
    -----
    `qr` of the adjoint with its columns in reverse order; the diagonal of R that ends in the lower
    right corner is real and not negative.

    Examples
    --------
    >>> import mdqr
    >>> R, Q = mdqr.linalg.rq(mdqr.array([[3, 4], [0, 5]], precision=mdqr.qd))
    >>> R.to_numpy().tolist(), bool((abs(Q) == mdqr.eye(2, precision=mdqr.qd)).all())
    ([[3.0, 4.0], [0.0, 5.0]], True)
    """
    if mode not in ("full", "economic"):
        raise ValueError(f'rq: mode must be "full" or "economic"; got {mode!r}')
    given = as_array(a, precision)
    matrix_shape("rq", "a", given.shape)
    found = qr(given[..., ::-1, :].conj().mT, "complete" if mode == "full" else "reduced")
    r = found.R.conj().mT[..., ::-1, ::-1]
    return RQResult(r.copy(), found.Q.conj().mT[..., ::-1, :].copy())._described(found.info)


@experimental
def eigh_tridiagonal(d: Any, e: Any, /, *, precision: PrecisionLike | None = None) -> EighResult:
    """Return eigenvalues and eigenvectors of real symmetric tridiagonal matrices.

    As `scipy.linalg.eigh_tridiagonal`, by `eigh` of the whole matrix.

    Parameters
    ----------
    d : array_like
        The diagonal ``(n,)``.
    e : array_like
        The diagonals next to it ``(n - 1,)``.
    precision : Precision or str, optional
        The precision of the results; by default the highest of both.

    Returns
    -------
    EighResult
        The fields `eigenvalues` and `eigenvectors`, and `info`, as of `eigh`.

    Raises
    ------
    ValueError
        If the shapes do not fit.
    TypeError
        If an operand is complex.
    numpy.linalg.LinAlgError
        If an entry is not finite.

    Examples
    --------
    >>> import mdqr
    >>> found = mdqr.linalg.eigh_tridiagonal([2, 2], [1], precision=mdqr.qd)
    >>> found.eigenvalues.to_numpy().tolist()
    [1.0, 3.0]
    """
    main, beside = as_array(d, precision), as_array(e, precision)
    if main.ndim != 1 or beside.shape != (max(main.shape[0] - 1, 0),):
        raise ValueError(
            f"eigh_tridiagonal: d and e must have the shapes (n,) and (n - 1,); got {main.shape} "
            f"and {beside.shape}"
        )
    if main.is_complex or beside.is_complex:
        raise TypeError("eigh_tridiagonal: d and e must be real")
    matrix = diag(main)
    if beside.size:
        matrix = matrix + diag(beside, -1)
    return eigh(matrix, precision=precision)
