"""Predictions of a fit for rows, with intervals, and residuals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mdqr._array.array import MDArray
from mdqr._cli.columns import Columns, Layout, read_columns
from mdqr._cli.digits import STATISTIC_DIGITS
from mdqr._cli.fit import Fit
from mdqr._functions.elementwise import abs as absolute
from mdqr._functions.elementwise import sqrt
from mdqr._functions.statistics.student import t_quantile
from mdqr._progress import Reporter


@dataclass
class Predictions:
    """Values of the model in rows of a file, and half widths of their bands.

    Attributes
    ----------
    digits : numpy.ndarray
        How many digits of each value are true of the decimals in both files.
    standard_errors, confidence, prediction : MDArray
        Of the value of the model; the half widths of the interval that has this value, and of
        that which has a new observation of weight 1, with the probability `level`.
    statistic_digits : int
        Digits of the latter three.
    """

    lines: np.ndarray
    values: MDArray
    digits: np.ndarray
    standard_errors: MDArray
    confidence: MDArray
    prediction: MDArray
    level: float
    statistic_digits: int


@dataclass
class Residuals:
    """Observed less fitted values; `standardized` ones are divided by their standard deviation."""

    lines: np.ndarray
    observed: MDArray
    fitted: MDArray
    fitted_digits: np.ndarray
    residuals: MDArray
    digits: np.ndarray
    standardized: MDArray
    statistic_digits: int


def predict_file(
    fit: Fit, file: str, layout: Layout, level: float, report: Reporter
) -> Predictions:
    """Return predictions for the rows of a file that has the columns of the model.

    Raises
    ------
    CellError, ValueError, OSError
        As `mdqr._cli.columns.read_columns`.
    """
    columns = read_columns(
        file, fit.problem.precision, layout, lambda _: fit.model.variables, report
    )
    return predict(fit, columns, level)


def predict(fit: Fit, columns: Columns, level: float) -> Predictions:
    """Return predictions for rows."""
    a, a_error = fit.model.matrix(columns)
    values = a @ fit.x
    with np.errstate(all="ignore"):
        errors = standard_errors(fit, a)
        quantile = t_quantile(level, fit.problem.degrees_of_freedom)
        return Predictions(
            columns.lines,
            values,
            _digits(values, _row_errors(fit, a, a_error), fit.problem.precision.digits),
            errors,
            errors * quantile,
            sqrt(errors**2 + fit.info.residual_std**2) * quantile,
            level,
            fit.digits.standard_errors,
        )


def residuals_of(fit: Fit) -> Residuals:
    """Return the residuals of the rows that were fitted."""
    problem = fit.problem
    fitted = problem.a @ fit.x
    rest = problem.b - fitted
    with np.errstate(all="ignore"):
        bounds = _row_errors(fit, problem.a, problem.a_error)
        most = problem.precision.digits
        deviation = fit.info.residual_std**2 / (1 if problem.weights is None else problem.weights)
        spread = sqrt(deviation - standard_errors(fit, problem.a) ** 2)
        return Residuals(
            fit.columns.lines,
            problem.b,
            fitted,
            _digits(fitted, bounds, most),
            rest,
            _digits(rest, bounds + problem.b_error, most),
            rest / spread,
            min(fit.digits.standard_errors, STATISTIC_DIGITS),
        )


def standard_errors(fit: Fit, a: MDArray) -> MDArray:
    """Return the standard errors of the rows of ``a @ x``."""
    return sqrt(absolute((a @ fit.info.covariance() * a).sum(axis=1)))


def _row_errors(fit: Fit, a: MDArray, a_error: np.ndarray) -> np.ndarray:
    """Bound the errors of ``a @ x``: those of x, of a, and of the product."""
    size, x = np.abs(a.to_numpy()), np.abs(fit.x.to_numpy())
    rounding = (len(x) + 8) * fit.problem.precision.eps
    return size @ fit.digits.errors + a_error @ x + rounding * (size @ x)


def _digits(values: MDArray, error: np.ndarray, most: int) -> np.ndarray:
    """Return how many digits of values absolute errors leave."""
    size = np.abs(values.to_numpy())
    digits = np.floor(np.floor(np.log10(size)) + 1 - np.log10(2.0 * error))
    digits = np.where(error == 0, most, np.nan_to_num(digits, nan=0.0, neginf=0.0))
    return np.clip(digits, 0, most).astype(int)
