"""Standard errors and covariances of a fit, from its Jacobian and residuals at the minimum."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np

import mdqr
from mdqr._array.array import MDArray
from mdqr._errors import PrecisionWarning
from mdqr._pickles import State
from mdqr._precision import Precision
from mdqr.linalg import LinAlgError, cholesky, inv, lstsq
from mdqr.optimize._model.points import leading, norms_of, shifted
from mdqr.optimize._solver.flat import undetermined


class Linearised(NamedTuple):
    """The linear problem at the end of a fit: Jacobian and residuals.

    `doubt` are norms of the errors of the columns of the Jacobian.
    """

    jacobian: MDArray
    r: MDArray
    doubt: np.ndarray

    @classmethod
    def restored(cls, state: State) -> Linearised:
        """Return the problem from the dict of a pickle."""
        jacobian, r = state.checked("jacobian", MDArray), state.checked("r", MDArray)
        return cls(jacobian, r, state.checked("doubt", np.ndarray))


class Undetermined(LinAlgError):
    """The Jacobian may be singular, for all that is known of it; `parameters` are which."""

    def __init__(self, parameters: np.ndarray) -> None:
        which = ", ".join(f"x[{j}]" for j in parameters)
        super().__init__(
            f"the Jacobian is singular at the minimum: it does not determine {which}, and there is "
            "no covariance"
        )
        self.parameters = parameters


# Of the square of errors of the Jacobian over its smallest singular value.
LEAST = 1.0 / 16.0
_SEEN_BY_DOUBLES = 1e-8


def statistics_of(linearised: Linearised, precision: Precision) -> _Normal:
    """Return an object with `residual_std`, `standard_errors()` and `covariance()`.

    They come from normal equations in the next precision, where these have all digits, and else
    from `linalg.lstsq`.

    Raises
    ------
    LinAlgError
        If the Jacobian does not have full rank, whatever its errors are.
    """
    jacobian, r, doubt = linearised
    if jacobian.shape[0] < jacobian.shape[1]:
        raise LinAlgError("there are fewer residuals than parameters")
    if not _is_determined(jacobian, doubt):
        raise Undetermined(undetermined(jacobian.to_numpy(), doubt))
    found = _by_normal_equations(jacobian, r, precision)
    if found is not None:
        return found
    return _by_lstsq(jacobian, r, precision)


def _is_determined(jacobian: MDArray, doubt: np.ndarray) -> bool:
    """Return True if no Jacobian within the errors of the columns is singular.

    The smallest singular value exceeds the norm of the errors, both by columns of unit norm.
    """
    near = jacobian.to_numpy()
    norms = norms_of(near)
    if not near.any(axis=0).all() or not np.isfinite(norms).all():
        return False
    wrong = float(np.sum((doubt / norms) ** 2))
    least = float(np.linalg.svd(near / norms, compute_uv=False)[-1])
    if least < _SEEN_BY_DOUBLES:
        wide = jacobian.astype(jacobian.precision.next)
        powers = -np.frexp(norms)[1]
        values = mdqr.linalg.svdvals(shifted(wide, powers))
        least = float(values[-1])
    return wrong < LEAST * least * least


class _Normal:
    """Statistics by ``inv(A^T A)``, whose rows and columns are scaled by powers of two."""

    def __init__(
        self, inverse: MDArray, powers: np.ndarray, variance: MDArray, power: int, to: Precision
    ) -> None:
        self._inverse, self._powers = inverse, powers
        self._variance, self._power, self._precision = variance, power, to

    @property
    def residual_std(self) -> MDArray:
        return shifted(mdqr.sqrt(self._variance), self._power).astype(self._precision)

    def standard_errors(self) -> MDArray:
        index = np.arange(self._powers.size)
        errors = mdqr.sqrt(self._inverse[index, index] * self._variance)
        return shifted(errors, self._powers + self._power).astype(self._precision)

    def covariance(self, *, scaled: bool = True) -> MDArray:
        product = self._inverse * self._variance if scaled else self._inverse
        powers = self._powers + self._power * scaled
        return shifted(product, powers[:, None] + powers).astype(self._precision)


def _by_normal_equations(jacobian: MDArray, r: MDArray, precision: Precision) -> _Normal | None:
    """Return statistics with all digits of a precision, or None.

    The equations have errors of m units of the next precision, relative to a diagonal of ones; n
    times the largest entry of the inverse is what it may multiply these by.
    """
    wide, (m, n) = precision.next, jacobian.shape
    heads = np.max(np.abs(leading(jacobian)), axis=0)
    if wide is precision or not np.all(np.isfinite(heads) & (heads > 0)):
        return None
    powers = -np.frexp(heads)[1]
    a = shifted(jacobian, powers).astype(wide)
    squares = a.T @ a
    diagonal = np.frexp(leading(squares).diagonal())[1] // 2
    powers = powers - diagonal
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrecisionWarning)
            scaled = shifted(squares, -(diagonal[:, None] + diagonal))
            cholesky(scaled)
            inverse = inv(scaled)
    except LinAlgError:
        return None
    lost = 16.0 * n * n * m * float(np.max(np.abs(leading(inverse)))) * wide.eps
    if not lost < 0.25 * precision.eps:
        return None
    return _Normal((inverse + inverse.T) * 0.5, powers, *_variance(r, n, wide), precision)


def _by_lstsq(jacobian: MDArray, r: MDArray, precision: Precision) -> _Normal:
    """Return statistics by the factor of a QR factorization.

    At a bound, and with a loss, the residuals are not of the linear problem.
    """
    n = jacobian.shape[1]
    powers = -np.frexp(np.max(np.abs(leading(jacobian)), axis=0))[1]
    a = shifted(jacobian, powers)
    # The solution is ones: one near zero would be refined for its relative error.
    right = a @ mdqr.ones(n, precision=precision)
    info = lstsq(a, right, max_condition=np.inf, precision=precision).info
    variance = _variance(r, n, precision.next)
    return _Normal(info.covariance(scaled=False), powers, *variance, precision)


def _variance(r: MDArray, n: int, wide: Precision) -> tuple[MDArray, int]:
    """Return the variance of residuals over a power of four, and the exponent of its root."""
    power = int(np.frexp(np.max(np.abs(leading(r))))[1])
    unit = shifted(r, -power).astype(wide)
    total, degrees = (unit * unit).sum(), r.shape[0] - n
    return total / degrees if degrees > 0 else mdqr.full_like(total, np.nan), power
