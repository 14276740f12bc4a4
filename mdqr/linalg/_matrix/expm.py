"""Exponentials of matrices, and the functions that follow from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mdqr._array.array import MDArray
from mdqr._backend.protocol import Backend
from mdqr._docstrings import documented
from mdqr._limbs import planes
from mdqr._limbs.planes import Kind
from mdqr._stability import experimental
from mdqr._typing import PrecisionLike
from mdqr.linalg._matrix.answers import Found, answered, of_matrix
from mdqr.linalg._matrix.given import Given, Keep, first_limbs, frobenius
from mdqr.linalg._matrix.series.exponential import Exponential, added, moved
from mdqr.linalg._matrix.series.followed import lost_by_sum
from mdqr.linalg._spectral.disks import SLACK

# The value and, where it is asked for, what bounds its error in the Frobenius norm.
_Found = tuple[MDArray, Callable[[], np.ndarray]]


@experimental
@of_matrix
def expm(
    a: Any,
    /,
    *,
    precision: PrecisionLike | None = None,
    data_error: Mapping[str, Any] | None = None,
    return_info: bool = False,
) -> Any:
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
@of_matrix
@documented(expm)
def coshm(
    a: Any,
    /,
    *,
    precision: PrecisionLike | None = None,
    data_error: Mapping[str, Any] | None = None,
    return_info: bool = False,
) -> Any:
    """Return hyperbolic cosines of matrices, ``(expm(a) + expm(-a)) / 2``.

    >>> mdqr.linalg.coshm(mdqr.zeros((1, 1), precision=mdqr.qd)).to_numpy()
    array([[1.]])
    """
    return _function("coshm", _hyperbolic(1.0), a, precision, data_error, return_info)


@experimental
@of_matrix
@documented(expm)
def sinhm(
    a: Any,
    /,
    *,
    precision: PrecisionLike | None = None,
    data_error: Mapping[str, Any] | None = None,
    return_info: bool = False,
) -> Any:
    """Return hyperbolic sines of matrices, ``(expm(a) - expm(-a)) / 2``.

    Those of small matrices have the absolute error of `expm`.

    >>> mdqr.linalg.sinhm(mdqr.zeros((1, 1), precision=mdqr.qd)).to_numpy()
    array([[0.]])
    """
    return _function("sinhm", _hyperbolic(-1.0), a, precision, data_error, return_info)


@experimental
@of_matrix
@documented(expm)
def cosm(
    a: Any,
    /,
    *,
    precision: PrecisionLike | None = None,
    data_error: Mapping[str, Any] | None = None,
    return_info: bool = False,
) -> Any:
    """Return cosines of matrices, ``(expm(1j * a) + expm(-1j * a)) / 2``.

    >>> mdqr.linalg.cosm(mdqr.zeros((1, 1), precision=mdqr.qd)).to_numpy()
    array([[1.]])
    """
    return _function("cosm", _circular(False), a, precision, data_error, return_info)


@experimental
@of_matrix
@documented(expm)
def sinm(
    a: Any,
    /,
    *,
    precision: PrecisionLike | None = None,
    data_error: Mapping[str, Any] | None = None,
    return_info: bool = False,
) -> Any:
    """Return sines of matrices, ``(expm(1j * a) - expm(-1j * a)) / 2j``.

    Those of small matrices have the absolute error of `expm`.

    >>> mdqr.linalg.sinm(mdqr.zeros((1, 1), precision=mdqr.qd)).to_numpy()
    array([[0.]])
    """
    return _function("sinm", _circular(True), a, precision, data_error, return_info)


def _function(
    name: str,
    function: Callable[[MDArray, Backend, Keep], _Found],
    a: Any,
    precision: PrecisionLike | None,
    data_error: Mapping[str, Any] | None,
    return_info: bool,
) -> Any:
    unit = 1j if name in ("cosm", "sinm") else 1.0

    def evaluate(given: Given) -> Found:
        matrix = given.matrix
        value, error = function(matrix, given.inputs.backend, given.keep)
        a = first_limbs(matrix)

        def bounds(of_a: np.ndarray) -> np.ndarray:
            return added(error(), moved(unit * a, frobenius(of_a), both=name != "expm"))

        return Found(value, bounds, of_norm=True)

    missing, method = "has no value", "scaling and squaring"
    return answered(name, a, precision, data_error, return_info, evaluate, missing, method)


def _exponential(a: MDArray, backend: Backend, keep: Keep) -> _Found:
    found = Exponential(a, backend, keep=keep)
    return found.value, found.error


def _hyperbolic(sign: float) -> Callable[[MDArray, Backend, Keep], _Found]:
    def of_matrix(a: MDArray, backend: Backend, keep: Keep) -> _Found:
        values, error = hyperbolic(a, backend, keep, (sign,))
        return values[0], error

    return of_matrix


def hyperbolic(
    a: MDArray, backend: Backend, keep: Keep, signs: tuple[float, ...] = (1.0, -1.0)
) -> tuple[list[MDArray], Callable[[], np.ndarray]]:
    """Return cosh, sign 1, and sinh, sign -1, and bounds of the errors of each."""
    kind, xp = Kind(a.precision.limbs, a.is_complex), backend.xp
    both = xp.concatenate([a._block, planes.negate(a._block, a.is_complex)], axis=kind.lead)
    found = Exponential(a._like(both), backend, keep=keep)
    plus, minus = found.value[: len(a)], found.value[len(a) :]
    sums = []
    for sign in signs:
        name = "add" if sign > 0 else "subtract"
        sums.append(a._like(backend.binary(name, plus._block, minus._block, kind=kind)))

    def error() -> np.ndarray:
        errors, half = found.error(), len(a)
        lost = np.zeros(a.shape)
        for sign, x in zip(signs, sums, strict=True):
            terms = ((1, plus), (int(sign), minus), (-1, x))
            lost = np.maximum(lost, lost_by_sum(backend, *terms))
        rounding = frobenius(lost) if errors.ndim == 1 else lost
        return np.asarray(SLACK * (errors[:half] + errors[half:] + rounding) / 2)

    halves = (backend.ldexp(x._block, -1, is_complex=a.is_complex) for x in sums)
    return [a._like(block) for block in halves], error


def _circular(is_sine: bool) -> Callable[[MDArray, Backend, Keep], _Found]:
    def of_matrix(a: MDArray, backend: Backend, keep: Keep) -> _Found:
        values, error = circular(a, backend, keep, (-1.0 if is_sine else 1.0,))
        return values[0], error

    return of_matrix


def circular(
    a: MDArray, backend: Backend, keep: Keep, signs: tuple[float, ...] = (1.0, -1.0)
) -> tuple[list[MDArray], Callable[[], np.ndarray]]:
    """Return cos, sign 1, and sin, sign -1, and bounds of the errors of each."""
    if not a.is_complex:
        found = Exponential(_rotated(a), backend, keep=keep)
        parts = [found.value.real if sign > 0 else found.value.imag for sign in signs]
        return [part.copy() for part in parts], found.error
    values, error = hyperbolic(_rotated(a), backend, keep, signs)
    both = zip(values, signs, strict=True)
    return [x if sign > 0 else _rotated(x, -1.0) for x, sign in both], error


def _rotated(a: MDArray, sign: float = 1.0) -> MDArray:
    """Return ``sign * 1j * a``, exactly."""
    block = a._block
    xp = planes.namespace(block)
    parts = [-block[1], block[0]] if a.is_complex else [0.0 * block, block]
    parts = [sign * part for part in parts]
    return MDArray._wrap(xp.stack(parts), a.precision, True)
