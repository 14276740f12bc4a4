"""Tangents and powers of matrices, which follow from exponentials and logarithms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mdqr._array.array import MDArray
from mdqr._docstrings import documented
from mdqr._functions.creation import asarray
from mdqr._limbs.planes import Kind
from mdqr._stability import experimental
from mdqr._typing import PrecisionLike
from mdqr.linalg._matrix.answers import Found, answered, of_matrix, of_two
from mdqr.linalg._matrix.expm import circular, expm, hyperbolic
from mdqr.linalg._matrix.given import Given, first_limbs, frobenius
from mdqr.linalg._matrix.refined.linear import EntryErrors, Equation, Solutions
from mdqr.linalg._matrix.series.exponential import Exponential, added, moved
from mdqr.linalg._matrix.series.followed import Followed, product_errors
from mdqr.linalg._matrix.series.logarithm import Logarithm
from mdqr.linalg._spectral.disks import SLACK


@experimental
@of_matrix
@documented(expm)
def tanm(
    a: Any,
    /,
    *,
    precision: PrecisionLike | None = None,
    data_error: Mapping[str, Any] | None = None,
    return_info: bool = False,
) -> Any:
    """Return tangents of matrices, ``inv(cosm(a)) @ sinm(a)``; as `scipy.linalg.tanm`.

    Raises
    ------
    numpy.linalg.LinAlgError
        If `a` is not square, an entry is not finite, the cosine is singular, or an entry of it is
        beyond the largest double.

    >>> mdqr.linalg.tanm(mdqr.zeros((1, 1), precision=mdqr.qd)).to_numpy()
    array([[0.]])
    """
    return _tangent("tanm", a, precision, data_error, return_info)


@experimental
@of_matrix
@documented(expm)
def tanhm(
    a: Any,
    /,
    *,
    precision: PrecisionLike | None = None,
    data_error: Mapping[str, Any] | None = None,
    return_info: bool = False,
) -> Any:
    """Return hyperbolic tangents, ``inv(coshm(a)) @ sinhm(a)``; as `scipy.linalg.tanhm`.

    Raises
    ------
    numpy.linalg.LinAlgError
        If `a` is not square, an entry is not finite, the cosine is singular, or an entry of it is
        beyond the largest double.

    >>> mdqr.linalg.tanhm(mdqr.zeros((1, 1), precision=mdqr.qd)).to_numpy()
    array([[0.]])
    """
    return _tangent("tanhm", a, precision, data_error, return_info)


def _tangent(
    name: str,
    a: Any,
    precision: PrecisionLike | None,
    data_error: Mapping[str, Any] | None,
    return_info: bool,
) -> Any:
    unit, both = (1j, circular) if name == "tanm" else (1.0, hyperbolic)

    def evaluate(given: Given) -> Found:
        matrix, backend = given.matrix, given.inputs.backend
        (cosine, sine), error = both(matrix, backend, given.keep)
        kind = Kind(matrix.precision.limbs, matrix.is_complex)
        zeros = matrix._like(kind.zeros(backend.xp, matrix.shape))
        found = Solutions(Equation(backend, cosine, zeros, sine))

        def bounds(of_a: np.ndarray) -> np.ndarray:
            d = moved(unit * first_limbs(matrix), frobenius(of_a), both=True)
            each = added(error(), d)
            if each.ndim == 1:
                each = np.broadcast_to(each[:, None, None], of_a.shape)
            return found.error(EntryErrors(each, 0 * of_a, each))

        return Found(found.value, bounds, found.last)

    missing = f"has a singular {name.replace('tan', 'cos')}, or one beyond the largest double"
    method = "scaling and squaring"
    return answered(name, a, precision, data_error, return_info, evaluate, missing, method)


@experimental
@of_two
@documented(expm)
def fractional_matrix_power(
    a: Any,
    t: Any,
    /,
    *,
    precision: PrecisionLike | None = None,
    data_error: Mapping[str, Any] | None = None,
    return_info: bool = False,
) -> Any:
    """Return principal powers ``expm(t * logm(a))``; as `scipy.linalg.fractional_matrix_power`.

    Errors are bounded as by `expm`, and grow with ``norm(t * logm(a))``. The exact power
    that they refer to is the principal one unless an eigenvalue of `a` is on the negative real
    axis, or within rounding errors of float64 of it.

    Parameters
    ----------
    t : float, str or MDArray
        The exponent, a real number, which is taken to be exact; "0.1" has more digits than 0.1.

    Raises
    ------
    TypeError
        If `data_error` is not a dict, or `t` is not one real number.
    numpy.linalg.LinAlgError
        If `a` is not square or singular, an entry is not finite, or one of the result is beyond the
        largest double.

    See Also
    --------
    matrix_power : Integer powers, of singular matrices, too.
    sqrtm : The power 1/2.

    >>> a = mdqr.array([[4, 0], [0, 9]], precision=mdqr.qd)
    >>> mdqr.linalg.fractional_matrix_power(a, -0.5).to_numpy().round(12).tolist()
    [[0.5, 0.0], [0.0, 0.333333333333]]
    """

    def evaluate(given: Given) -> Found:
        return _power(given, _exponent(t, given))

    missing, method = "has no logarithm, so no powers", "roots"
    return answered(
        "fractional_matrix_power", a, precision, data_error, return_info, evaluate, missing, method
    )


def _exponent(t: Any, given: Given) -> MDArray:
    found = asarray(t, precision=given.matrix.precision)
    if found.ndim or found.is_complex:
        raise TypeError("fractional_matrix_power: t must be one real number")
    return found.to_device(given.matrix.device)


def _power(given: Given, t: MDArray) -> Found:
    backend = given.inputs.backend
    logarithm = Logarithm(backend, given.matrix, keep=given.keep)
    y = logarithm.value * t
    power = Exponential(y, backend, keep=given.keep)
    exact = Followed.none(y.shape)

    def bounds(of_a: np.ndarray) -> np.ndarray:
        factor = y._like(Kind(t.precision.limbs, y.is_complex).identity(backend.xp, y.shape)) * t
        terms = (logarithm.value, exact), (factor, exact)
        lost = product_errors(backend, *terms, y).entries()
        d = abs(float(t)) * SLACK * logarithm.error(of_a)
        d = (d if d.ndim == 1 else frobenius(d)) + frobenius(lost)
        return added(power.error(), moved(first_limbs(y), d))

    return Found(power.value, bounds, logarithm.last)
