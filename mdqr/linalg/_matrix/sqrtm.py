"""Square roots, signs, logarithms and powers of matrices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mdqr._docstrings import documented
from mdqr._stability import experimental
from mdqr._typing import PrecisionLike
from mdqr.linalg._matrix.answers import Found, answered, of_matrix
from mdqr.linalg._matrix.given import Given
from mdqr.linalg._matrix.refined.sign import Sign
from mdqr.linalg._matrix.refined.square_roots import ScaledRoots
from mdqr.linalg._matrix.series.logarithm import Logarithm


@experimental
@of_matrix
def sqrtm(
    a: Any,
    /,
    *,
    precision: PrecisionLike | None = None,
    data_error: Mapping[str, Any] | None = None,
    return_info: bool = False,
) -> Any:
    """Return principal square roots of matrices; as `scipy.linalg.sqrtm`.

    Parameters
    ----------
    a : array_like
        Matrices ``(..., n, n)``.
    precision : Precision or str, optional
        The precision of the result; by default the precision of `a`.
    data_error : dict, optional
        Bounds of the errors of entries, ``{"a_atol": ..., "a_rtol": ...}``, as in `lstsq`; by
        default half a unit in the last place of the precision in which they were given.
    return_info : bool, optional
        Whether to return what is known of the errors, too.

    Returns
    -------
    MDArray or tuple
        The roots, ``(..., n, n)``, whose eigenvalues have no negative real parts; complex if `a` is
        or a real matrix of the batch has a negative eigenvalue. With `return_info` ``(x, info)``,
        an `Info` whose bounds are proven, and infinite where nothing is. Its condition number is an
        upper bound, for the balanced matrix.

    Raises
    ------
    TypeError
        If `data_error` is not a dict.
    ValueError
        If errors of the data are negative or not finite.
    numpy.linalg.LinAlgError
        If `a` is not square, an entry is not finite, or no root was found, as of a singular matrix
        that has none.
    MemoryError
        If memory cannot be allocated; the message gives the requested size.

    Warns
    -----
    PrecisionWarning
        If `a` is singular or nearly so, and the root has lost digits.

    Notes
    -----
    Eigenvectors in float64, or Schur vectors where these are nearly dependent, give a first root
    and the corrections of Newton's method, with residuals of twice the limbs. ``info.error_bound``
    bounds the distance to an exact root by a contraction (Kantorovich). This is the principal one
    unless an eigenvalue of `a` is on the negative real axis, or within rounding errors of float64
    of it.

    Examples
    --------
    >>> import mdqr
    >>> a = mdqr.array([[7, 10], [15, 22]], precision=mdqr.qd)
    >>> x, info = mdqr.linalg.sqrtm(a, return_info=True)
    >>> bool(abs(x @ x - a).max() < 1e-60), bool(info.error_bound.max() < 1e-60)
    (True, True)
    """
    missing = "has no square root"
    return answered(
        "sqrtm", a, precision, data_error, return_info, _root, missing, "Newton", is_tight=True
    )


def _root(given: Given) -> Found:
    roots = ScaledRoots(given.inputs.backend, given.matrix)
    return Found(roots.value, lambda of_a: roots.error(of_a).entries, roots.last)


@experimental
@of_matrix
@documented(sqrtm)
def logm(
    a: Any,
    /,
    *,
    precision: PrecisionLike | None = None,
    data_error: Mapping[str, Any] | None = None,
    return_info: bool = False,
) -> Any:
    """Return principal logarithms of matrices; as `scipy.linalg.logm`.

    Square roots until these are near I, then a polynomial of the difference (C. S. Kenney and A.
    J. Laub 1989). I is subtracted as early as possible, so that its digits do not hide others.
    Errors are bounds of the norm. The exact logarithm that they refer to is the principal one
    unless an eigenvalue of `a` is on the negative real axis, or within rounding errors of float64
    of it.

    Returns
    -------
    MDArray or tuple
        The logarithms, ``(..., n, n)``, whose eigenvalues have imaginary parts between -pi and pi;
        complex if `a` is or a real matrix of the batch has a negative eigenvalue. With
        `return_info` ``(x, info)``, an `Info` whose bounds are proven, and infinite where nothing
        is. Its condition number is an upper bound, for the balanced matrix.

    Raises
    ------
    numpy.linalg.LinAlgError
        If `a` is not square, an entry is not finite, or a matrix is singular.

    >>> mdqr.linalg.logm(mdqr.array([[1, 1], [0, 1]], precision=mdqr.qd)).to_numpy().tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """
    return answered(
        "logm", a, precision, data_error, return_info, _logarithm, "has no logarithm", "roots"
    )


def _logarithm(given: Given) -> Found:
    logarithm = Logarithm(given.inputs.backend, given.matrix, keep=given.keep)
    return Found(logarithm.value, logarithm.error, logarithm.last)


@experimental
@of_matrix
@documented(sqrtm)
def signm(
    a: Any,
    /,
    *,
    precision: PrecisionLike | None = None,
    data_error: Mapping[str, Any] | None = None,
    return_info: bool = False,
) -> Any:
    """Return signs of matrices; as `scipy.linalg.signm`.

    These have the eigenvectors of `a`, and the eigenvalues 1 and -1 for eigenvalues of `a` with
    positive and negative real parts. The sign is ``inv(a) @ sqrtm(a @ a)``, in the next higher
    precision if one exists.

    Returns
    -------
    MDArray or tuple
        The signs, ``(..., n, n)``; with `return_info` ``(x, info)``, an `Info` whose bounds are
        proven, and infinite where nothing is.

    Raises
    ------
    numpy.linalg.LinAlgError
        If `a` is not square, an entry is not finite, or an eigenvalue is on the imaginary axis.

    >>> mdqr.linalg.signm(mdqr.array([[3, 1], [0, -2]], precision=mdqr.qd)).to_numpy().round(9)
    array([[ 1. ,  0.4],
           [ 0. , -1. ]])
    """
    missing = "has an eigenvalue on the imaginary axis, or next to it"
    return answered(
        "signm", a, precision, data_error, return_info, _sign, missing, "Newton", is_tight=True
    )


def _sign(given: Given) -> Found:
    sign = Sign(given.inputs.backend, given.matrix)
    return Found(sign.value, sign.error, sign.last)
