"""Exponentials of matrices, and the functions that follow from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, overload

import numpy as np

from mdqr._array.array import MDArray
from mdqr._backend.protocol import Backend
from mdqr._docstrings import documented
from mdqr._limbs import planes
from mdqr._limbs.planes import Kind
from mdqr._stability import experimental
from mdqr._typing import PrecisionLike
from mdqr.linalg._matrix.exponential import Exponential
from mdqr.linalg._matrix.given import Given, first_limbs, frobenius, given_matrix
from mdqr.linalg._shared.checks import Checks
from mdqr.linalg._shared.info import Info
from mdqr.linalg._shared.operands import memory_guard
from mdqr.linalg._spectral.disks import SLACK

# The value and, where it is asked for, what bounds its error in the Frobenius norm.
_Found = tuple[MDArray, Callable[[], np.ndarray]]


@overload
def expm(
    a: Any,
    /,
    *,
    precision: PrecisionLike | None = None,
    data_error: Mapping[str, Any] | None = None,
    return_info: Literal[False] = False,
) -> MDArray: ...


@overload
def expm(
    a: Any,
    /,
    *,
    precision: PrecisionLike | None = None,
    data_error: Mapping[str, Any] | None = None,
    return_info: Literal[True],
) -> tuple[MDArray, Info]: ...


@experimental
def expm(
    a: Any,
    /,
    *,
    precision: PrecisionLike | None = None,
    data_error: Mapping[str, Any] | None = None,
    return_info: bool = False,
) -> MDArray | tuple[MDArray, Info]:
    """Return exponentials of matrices; as `scipy.linalg.expm`.

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
        The result, ``(..., n, n)``; with `return_info` ``(x, info)``, an `Info` whose bounds are
        proven. Its condition number is an upper bound, for the balanced matrix.

    Raises
    ------
    TypeError
        If `data_error` is not a dict.
    ValueError
        If errors of the data are negative or not finite.
    numpy.linalg.LinAlgError
        If `a` is not square, an entry is not finite, or one of the result is beyond the largest
        double.
    MemoryError
        If memory for the powers cannot be allocated; the message gives the requested size.

    Notes
    -----
    Scaling and squaring (Al-Mohy and Higham 2009) with Taylor polynomials by the scheme of Paterson
    and Stockmeyer. Degree and scaling need the fewest products for the bits of the precision and
    the norms of the square and the cube of the balanced matrix. Errors of entries are at most
    `info.error_bound`, which is a bound for the norm of the balanced problem: small entries next to
    large ones may have fewer digits. Errors grow by the products of intermediate norms, which are
    large where eigenvectors are far from orthogonal.

    Examples
    --------
    >>> import mdqr
    >>> a = mdqr.array([[0, 1], [0, 0]], precision=mdqr.qd)
    >>> mdqr.linalg.expm(a).to_numpy().tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    >>> x, info = mdqr.linalg.expm(a, return_info=True)
    >>> bool(info.error_bound.max() < 1e-60)
    True
    """
    return _function("expm", _exponential, a, precision, data_error, return_info)


@experimental
@documented(expm)
def coshm(
    a: Any,
    /,
    *,
    precision: PrecisionLike | None = None,
    data_error: Mapping[str, Any] | None = None,
    return_info: bool = False,
) -> MDArray | tuple[MDArray, Info]:
    """Return hyperbolic cosines of matrices, ``(expm(a) + expm(-a)) / 2``.

    >>> mdqr.linalg.coshm(mdqr.zeros((1, 1), precision=mdqr.qd)).to_numpy()
    array([[1.]])
    """
    return _function("coshm", _hyperbolic(1.0), a, precision, data_error, return_info)


@experimental
@documented(expm)
def sinhm(
    a: Any,
    /,
    *,
    precision: PrecisionLike | None = None,
    data_error: Mapping[str, Any] | None = None,
    return_info: bool = False,
) -> MDArray | tuple[MDArray, Info]:
    """Return hyperbolic sines of matrices, ``(expm(a) - expm(-a)) / 2``.

    Those of small matrices have the absolute error of `expm`.

    >>> mdqr.linalg.sinhm(mdqr.zeros((1, 1), precision=mdqr.qd)).to_numpy()
    array([[0.]])
    """
    return _function("sinhm", _hyperbolic(-1.0), a, precision, data_error, return_info)


@experimental
@documented(expm)
def cosm(
    a: Any,
    /,
    *,
    precision: PrecisionLike | None = None,
    data_error: Mapping[str, Any] | None = None,
    return_info: bool = False,
) -> MDArray | tuple[MDArray, Info]:
    """Return cosines of matrices, ``(expm(1j * a) + expm(-1j * a)) / 2``.

    >>> mdqr.linalg.cosm(mdqr.zeros((1, 1), precision=mdqr.qd)).to_numpy()
    array([[1.]])
    """
    return _function("cosm", _circular(False), a, precision, data_error, return_info)


@experimental
@documented(expm)
def sinm(
    a: Any,
    /,
    *,
    precision: PrecisionLike | None = None,
    data_error: Mapping[str, Any] | None = None,
    return_info: bool = False,
) -> MDArray | tuple[MDArray, Info]:
    """Return sines of matrices, ``(expm(1j * a) - expm(-1j * a)) / 2j``.

    Those of small matrices have the absolute error of `expm`.

    >>> mdqr.linalg.sinm(mdqr.zeros((1, 1), precision=mdqr.qd)).to_numpy()
    array([[0.]])
    """
    return _function("sinm", _circular(True), a, precision, data_error, return_info)


def _function(
    name: str,
    of_matrix: Callable[[MDArray, Backend, bool], _Found],
    a: Any,
    precision: PrecisionLike | None,
    data_error: Mapping[str, Any] | None,
    return_info: bool,
) -> Any:
    given = given_matrix(name, a, precision, data_error)
    if return_info:  # nothing of it may be a view of what users have
        given = given._replace(matrix=given.matrix.copy())
    n = given.shape[-1]
    with memory_guard(name, given.inputs, 16 * n * n, "take smaller matrices"):
        value, error = of_matrix(given.matrix, given.inputs.backend, return_info)
        x = given.answer(value, Checks(), name)
    if not return_info:
        return x
    circular = name in ("cosm", "sinm")
    return x.copy(), Info(
        given.inputs.precision,
        abs(first_limbs(x)),
        lambda: given.spread(error(), x),
        lambda: given.spread(error() + _data_bound(given, circular), x),
        condition=lambda: _condition(given, circular, value),
        method="scaling and squaring",
    )


def _exponential(a: MDArray, backend: Backend, keep: bool) -> _Found:
    found = Exponential(a, backend, keep=keep)
    return found.value, found.error


def _hyperbolic(sign: float) -> Callable[[MDArray, Backend, bool], _Found]:
    def of_matrix(a: MDArray, backend: Backend, keep: bool) -> _Found:
        kind, xp = Kind(a.precision.limbs, a.is_complex), backend.xp
        both = xp.concatenate([a._block, planes.negate(a._block, a.is_complex)], axis=kind.lead)
        found = Exponential(a._like(both), backend, keep=keep)
        plus, minus = found.value[: len(a)], found.value[len(a) :]
        name = "add" if sign > 0 else "subtract"
        block = backend.binary(name, plus._block, minus._block, kind=kind)
        value = a._like(backend.ldexp(block, -1, is_complex=a.is_complex))
        sizes = [first_limbs(x) for x in (plus, minus)] if keep else []
        return value, lambda: _half_sum(found.error(), sizes, a.precision.eps)

    return of_matrix


def _half_sum(errors: np.ndarray, sizes: list[np.ndarray], eps: float) -> np.ndarray:
    """Return bounds for half the sum or difference of two values with errors."""
    half = len(errors) // 2
    rounding = 4 * eps * (frobenius(sizes[0]) + frobenius(sizes[1]))
    return np.asarray(SLACK * (errors[:half] + errors[half:]) / 2 + rounding)


def _circular(is_sine: bool) -> Callable[[MDArray, Backend, bool], _Found]:
    def of_matrix(a: MDArray, backend: Backend, keep: bool) -> _Found:
        if not a.is_complex:
            found = Exponential(_turned(a), backend, keep=keep)
            value = found.value.imag if is_sine else found.value.real
            return value.copy(), found.error
        value, error = _hyperbolic(-1.0 if is_sine else 1.0)(_turned(a), backend, keep)
        return (_turned(value, -1.0) if is_sine else value), error

    return of_matrix


def _turned(a: MDArray, sign: float = 1.0) -> MDArray:
    """Return ``sign * 1j * a``, exactly."""
    block = a._block
    xp = planes.namespace(block)
    parts = [-block[1], block[0]] if a.is_complex else [0.0 * block, block]
    parts = [sign * part for part in parts]
    return MDArray._wrap(xp.stack(parts), a.precision, True)


@np.errstate(all="ignore")
def _growth(given: Given, circular: bool) -> np.ndarray:
    """Return logarithms of bounds of ``norm(expm(t a))``, t from 0 to 1, of both signs if needed.

    ``norm(expm(t a)) <= exp(t m)``, m the largest eigenvalue of the Hermitian part; for sine and
    cosine of ``1j a`` and ``-1j a``; the hyperbolic ones of a and -a. All are below the bound
    with the largest modulus of an eigenvalue.
    """
    a = first_limbs(given.matrix)
    size = frobenius(a)
    turned = 1j * a if circular else a
    finite = np.isfinite(size)
    hermitian = np.where(finite[:, None, None], (turned + turned.swapaxes(-1, -2).conj()) / 2, 0.0)
    n = a.shape[-1]
    values = np.linalg.eigvalsh(hermitian) if n else np.zeros((len(a), 1))
    return np.where(finite, np.abs(values).max(axis=-1) + n * 2.0**-44 * size, np.inf)


@np.errstate(all="ignore")
def _data_bound(given: Given, circular: bool) -> np.ndarray:
    """Return bounds of ``norm(f(a + e) - f(a))``: of exp ``d exp(m + d)``, d the norm of e."""
    d = given.data_errors()
    found = d * np.exp(_growth(given, circular) + d)
    return np.where(d == 0, 0.0, np.where(np.isnan(found), np.inf, SLACK**2 * found))


@np.errstate(all="ignore")
def _condition(given: Given, circular: bool, value: MDArray) -> Any:
    """Return bounds of condition numbers of the balanced matrices, in the Frobenius norm."""
    sizes = frobenius(first_limbs(given.matrix)), frobenius(first_limbs(value))
    found = sizes[0] * np.exp(_growth(given, circular)) / sizes[1]
    return np.where(np.isnan(found), np.inf, found).reshape(given.shape[:-2])[()]
