"""Numbers of digits of a fit that are correct for the numbers in the file.

Decimals of a file are rounded to limbs, which moves the solution by up to the condition number
times the rounding: `data_error_bound` of `mdqr.linalg.lstsq` has the errors of the estimates, and
here are those of the statistics, to first order, in float64.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mdqr._array.array import MDArray
from mdqr._functions.elementwise import abs as absolute
from mdqr._functions.elementwise import sqrt
from mdqr._functions.matrices import eye
from mdqr._precision import Precision

STATISTIC_DIGITS = 15  # what is worth reading of a standard error


@dataclass
class Problem:
    """A weighted least-squares problem; `a_error` and the like bound the rounding of the data."""

    target: str
    names: list[str]
    precision: Precision
    a: MDArray
    b: MDArray
    weights: MDArray | None
    a_error: np.ndarray
    b_error: np.ndarray
    weights_error: np.ndarray

    @property
    def data_error(self) -> dict[str, np.ndarray]:
        """The rounding of the data, as `mdqr.linalg.lstsq` takes it."""
        errors = {"a_atol": self.a_error, "b_atol": self.b_error}
        if self.weights is not None:
            errors["weights_atol"] = self.weights_error
        return errors

    @property
    def used_rows(self) -> int:
        """Number of rows of positive weight."""
        if self.weights is None:
            return self.a.shape[0]
        return int(np.count_nonzero(self.weights.limbs[0]))

    @property
    def degrees_of_freedom(self) -> int:
        """Rows of positive weight less coefficients."""
        return self.used_rows - self.a.shape[1]


class Digits:
    """Numbers of true digits of the results, all integers.

    Attributes
    ----------
    estimates : numpy.ndarray
        Of each coefficient, up to the digits of the precision.
    errors : numpy.ndarray
        Bounds of the absolute errors of the coefficients, float64.
    standard_errors, residual_std, r_squared : int
        Up to `STATISTIC_DIGITS`.
    residual_std_bound : float
    standard_error_bounds : numpy.ndarray
        What these do not exceed, where a fit is exact and they have no digit; else infinite.
    """

    def __init__(self, problem: Problem, x: MDArray, info: Any) -> None:
        self._problem, self._info = problem, info
        self._x = np.abs(x.to_numpy())
        self._residual = absolute(problem.b - problem.a @ x).to_numpy()
        count = len(self._residual)
        weights = problem.weights
        self._weight = np.ones(count) if weights is None else weights.to_numpy()
        with np.errstate(all="ignore"):
            self._rows = self._row_errors()
            self.estimates = self._of_estimates()
            self._of_statistics()

    def _row_errors(self) -> np.ndarray:
        """Bound the change of each weighted residual, the solution held fixed."""
        problem, weight = self._problem, self._weight
        change = (problem.b_error + problem.a_error @ self._x) * np.sqrt(weight)
        by_weight = np.where(weight > 0, problem.weights_error / np.sqrt(weight), 0.0)
        return change + by_weight * self._residual

    def _of_estimates(self) -> np.ndarray:
        most = self._problem.precision.digits
        self.errors = error = self._info.data_error_bound
        digits = np.floor(np.floor(np.log10(self._x)) + 1 - np.log10(2.0 * error))
        exact = (error == 0) | ((self._x == 0) & (error < 1e-300))
        digits = np.where(exact, most, np.nan_to_num(digits, nan=0.0, neginf=0.0))
        return np.clip(digits, 0, most).astype(int)

    def _factors(self) -> np.ndarray:
        """Return what the residual standard deviation is multiplied by in standard errors."""
        from mdqr.linalg import norm, qr, solve_triangular

        problem = self._problem
        a = problem.a
        if problem.weights is not None:
            a = a * sqrt(problem.weights).reshape(-1, 1)
        one = eye(a.shape[1], precision=problem.precision)
        return norm(solve_triangular(qr(a, mode="r"), one), axis=1).to_numpy()

    def _of_statistics(self) -> None:
        problem, eps = self._problem, self._problem.precision.eps
        count, freedom = problem.a.shape[1], problem.degrees_of_freedom
        a, b = np.abs(problem.a.to_numpy()), problem.b.to_numpy()
        root = np.sqrt(self._weight)
        size = np.linalg.norm(self._residual * root)
        rounding = eps * np.linalg.norm((a @ self._x + np.abs(b)) * root)
        error = np.linalg.norm(self._rows) + rounding
        self.residual_std = _digits(float(error / size))
        columns = np.linalg.norm(problem.a_error, axis=0) / np.linalg.norm(a, axis=0)
        matrix = 4.0 * count * float(self._info.condition) * (eps + columns.max())
        self.standard_errors = _digits(float(error / size + matrix))
        self.residual_std_bound, self.standard_error_bounds = np.inf, np.full(count, np.inf)
        if not self.residual_std and matrix < 0.1 and freedom > 0:
            self.residual_std_bound = float((size + error) / np.sqrt(freedom))
            self.standard_error_bounds = 2.0 * self.residual_std_bound * self._factors()
        limbs = problem.a.limbs[:, self._weight > 0]
        has_constant = (limbs == limbs[:, :1]).all(axis=(0, 1)).any()
        centre = np.average(b, weights=self._weight) if has_constant else 0.0
        total = np.sum(self._weight * (b - centre) ** 2)
        error_of_ratio = (4.0 * size * error + 2.0 * error**2) / total + 4.0 * eps
        self.r_squared = _digits(float(error_of_ratio / abs(float(self._info.r_squared))))


def _digits(relative_error: float) -> int:
    """Return how many digits a relative error leaves, up to `STATISTIC_DIGITS`."""
    digits = np.nan_to_num(-np.log10(2.0 * relative_error), nan=0.0, posinf=STATISTIC_DIGITS)
    return int(np.clip(np.floor(digits), 0, STATISTIC_DIGITS))
