"""The problem behind ``mdqr lstsq``: columns of a file, the fit, and what the digits are worth.

The digits that `mdqr.linalg.lstsq` promises are those of the numbers in memory. Decimals of a file
are rounded to limbs before that, which moves the solution by up to the condition number times the
rounding; `data_error` bounds the move, so that every digit printed is true of the file.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mdqr._array import MDArray
from mdqr._elementwise import abs as absolute
from mdqr._loadtxt import CellError, Table, read_table
from mdqr._matrices import vander
from mdqr._precision import Precision

Callback = Callable[[str, int, int | None], object]


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


@dataclass
class Fit:
    """A solved problem, with float64 beside it; `digits` are those true of the file."""

    problem: Problem
    x: MDArray
    info: Any
    digits: np.ndarray
    standard_errors: MDArray
    seconds: float
    x_float64: np.ndarray
    seconds_float64: float
    messages: list[str]

    @property
    def digits_float64(self) -> np.ndarray:
        """Number of digits that the float64 solution has right."""
        reference = self.x.to_numpy()
        with np.errstate(all="ignore"):
            error = np.abs(self.x_float64 - reference) / np.abs(reference)
            digits = np.where(error == 0, 15, np.floor(-np.log10(error)))
        return np.clip(np.nan_to_num(digits, nan=0.0, posinf=15, neginf=0.0), 0, 15).astype(int)


# -- the problem -----------------------------------------------------------------------------


def read_problem(
    file: str,
    precision: Precision,
    *,
    target: str | None,
    features: list[str] | None,
    degree: int | None,
    intercept: bool,
    weights: str | None,
    callback: Callback,
) -> Problem:
    """Read the columns of a model from a file with a header.

    Raises
    ------
    CellError
        If a cell cannot be used; the message names file, line and column.
    ValueError, OSError
        If the model does not fit the columns, or the file cannot be read.
    """
    model = _Model(target, features, weights, degree)
    # one limb more than the precision holds tells which numbers were rounded
    table = read_table(
        file, precision.limbs + 1, header=True, usecols=model.columns, callback=callback
    )
    features = model.features or []
    _check_values(file, table, None if weights is None else len(features) + 1)
    coefficients = intercept + (len(features) if degree is None else degree)
    if not coefficients:
        raise ValueError("the model has no coefficient; give --features or --intercept")
    if len(table.lines) < coefficients:
        raise CellError(
            f"{file}: {len(table.lines)} rows do not determine {coefficients} coefficients"
        )
    return _assembled(table, model, precision, intercept=intercept)


def _assembled(table: Table, model: _Model, precision: Precision, *, intercept: bool) -> Problem:
    """Return the problem whose features, target and weights are the columns of `table`."""
    kept, error = _split(table.real, precision.limbs)
    names = list(model.features or [])
    count = len(names)
    a, a_error = kept[..., :count], error[:, :count]
    if model.degree is not None:
        a, a_error = _powers(a[..., 0], a_error[:, 0], model.degree, precision)
        names = [_power_name(names[0], k) for k in range(1, model.degree + 1)]
    if intercept:
        a = np.concatenate([_ones(a), a], axis=-1)
        a_error = np.concatenate([np.zeros((a_error.shape[0], 1)), a_error], axis=1)
        names.insert(0, "intercept")

    def wrap(block: np.ndarray) -> MDArray:
        return MDArray._wrap(np.ascontiguousarray(block), precision, False)

    weighted = model.weights is not None
    return Problem(
        str(model.target),
        names,
        precision,
        wrap(a),
        wrap(kept[..., count]),
        wrap(kept[..., count + 1]) if weighted else None,
        a_error,
        error[:, count],
        error[:, count + 1] if weighted else np.zeros(len(a_error)),
    )


@dataclass
class _Model:
    """Which columns make the model; what is None is chosen from the header."""

    target: str | None
    features: list[str] | None
    weights: str | None
    degree: int | None

    def columns(self, names: tuple[str, ...]) -> list[str]:
        """Return the columns to read: the features, the target, the weights."""
        if self.target is None:
            self.target = names[-1]
        extra = [self.target] if self.weights is None else [self.target, self.weights]
        if self.features is None:
            self.features = [name for name in names if name not in extra]
        used = self.features + extra
        for name in used:
            if used.count(name) != 1:
                raise ValueError(f"column {name!r} is used twice in the model")
        if self.degree is not None and len(self.features) != 1:
            raise ValueError(
                f"--poly needs one column for its variable, there are {len(self.features)} "
                f"({', '.join(self.features)}); name it with --features"
            )
        return used


def _check_values(file: str, table: Table, weights: int | None) -> None:
    """Raise at the first cell that is complex or not finite, or is a negative weight."""
    if table.imag is not None:
        _refuse(file, table, table.imag[0] != 0, "a complex number; wanted a real one")
        raise CellError(f"{file}: there are complex numbers; wanted are real ones")
    _refuse(file, table, ~np.isfinite(table.real[0]), "not a finite number")
    if weights is not None:
        negative = np.zeros(table.real.shape[1:], dtype=bool)
        negative[:, weights] = table.real[0, :, weights] < 0
        _refuse(file, table, negative, "a negative weight; a weight is 1/variance")


def _refuse(file: str, table: Table, bad: np.ndarray, reason: str) -> None:
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise CellError(f"{file}, line {table.lines[row]}, {table.labels[column]}: {reason}")


def _split(planes: np.ndarray, limbs: int) -> tuple[np.ndarray, np.ndarray]:
    """Return values rounded to `limbs` limbs and bounds of what that left."""
    from mdqr._limbs import narrow

    kept = narrow(planes, False, limbs)
    exact = planes[limbs] == 0
    half_ulp = np.abs(kept[0]) * 2.0 ** (-53 * limbs) + 2.0**-1074
    return kept, np.where(exact, 0.0, half_ulp)


def _ones(a: np.ndarray) -> np.ndarray:
    ones = np.zeros((*a.shape[:-1], 1))
    ones[0] = 1.0
    return ones


def _power_name(name: str, k: int) -> str:
    return name if k == 1 else f"{name}^{k}"


def _powers(
    x: np.ndarray, x_error: np.ndarray, degree: int, precision: Precision
) -> tuple[np.ndarray, np.ndarray]:
    """Return the powers 1 to `degree` in the target precision, and bounds of their errors."""
    points = MDArray._wrap(np.ascontiguousarray(x), precision, False)
    powers = vander(points, degree + 1, increasing=True).limbs[..., 1:]
    k = np.arange(1, degree + 1)
    with np.errstate(all="ignore"):
        size = np.abs(x[0])[:, None] ** k
        carried = k * np.abs(x[0])[:, None] ** (k - 1) * x_error[:, None]
    rounded = 2.0 * (k - 1) * precision.eps * size
    fits = _widest(x) * k <= 53 * precision.limbs  # such powers are exact
    return powers, carried + np.where(fits, 0.0, rounded)


def _widest(x: np.ndarray) -> int:
    """Return the number of bits between the first and the last set bit of any value."""
    from mdqr._convert import exact_parts

    spans = [0]
    for value in exact_parts(x):
        if not isinstance(value, float):
            man = abs(value[0])
            spans.append((man // (man & -man)).bit_length())
    return max(spans)


# -- the solution ----------------------------------------------------------------------------


def solve(problem: Problem, callback: Callback) -> Fit:
    """Solve in the target precision, and by `numpy.linalg.lstsq` for comparison."""
    from mdqr.linalg import lstsq

    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = lstsq(problem.a, problem.b, weights=problem.weights, callback=callback)
        errors = result.info.standard_errors()
        seconds = time.perf_counter() - start
        digits = true_digits(problem, result.x, result.info, errors)
    start = time.perf_counter()
    x_float64 = _solve_float64(problem)
    return Fit(
        problem,
        result.x,
        result.info,
        digits,
        errors,
        seconds,
        x_float64,
        time.perf_counter() - start,
        [str(warning.message) for warning in caught],
    )


def _solve_float64(problem: Problem) -> np.ndarray:
    a, b = problem.a.to_numpy(), problem.b.to_numpy()
    if problem.weights is not None:
        root = np.sqrt(problem.weights.to_numpy())
        a, b = a * root[:, None], b * root
    try:
        return np.linalg.lstsq(a, b, rcond=None)[0]
    except np.linalg.LinAlgError:
        return np.full(a.shape[1], np.nan)


def true_digits(problem: Problem, x: MDArray, info: Any, errors: MDArray) -> np.ndarray:
    """Return how many digits of each coefficient are true of the file, as integers."""
    size = np.abs(x.to_numpy())
    error = info.error_bound + data_error(problem, x, info, errors)
    with np.errstate(all="ignore"):
        leading = np.floor(np.log10(size))
        digits = np.floor(leading + 1 - np.log10(2.0 * error))
    exact = (error == 0) | (size == 0) & (error < 1e-300)
    digits = np.where(exact, problem.precision.digits, np.nan_to_num(digits, nan=0.0, neginf=0.0))
    return np.clip(digits, 0, problem.precision.digits).astype(int)


def data_error(problem: Problem, x: MDArray, info: Any, errors: MDArray) -> np.ndarray:
    """Bound, to first order, how far the rounding of the data moves the solution.

    With C = (A^T W A)^-1 a change dA, db, dW moves x by ``C A^T W (db - dA x) + C dA^T W r +
    C A^T dW r``. The rows of ``C A^T sqrt(W)`` have the norms ``sqrt(C_jj)``.
    """
    if not (problem.a_error.any() or problem.b_error.any() or problem.weights_error.any()):
        return np.zeros(len(problem.names))
    residual = absolute(problem.b - problem.a @ x).to_numpy()
    weight = np.ones(len(residual))
    if problem.weights is not None:
        weight = problem.weights.to_numpy()
    inverse = np.abs(_unscaled_covariance(problem, info, errors))
    with np.errstate(all="ignore"):
        rows = (problem.b_error + problem.a_error @ np.abs(x.to_numpy())) * np.sqrt(weight)
        rows += np.where(weight > 0, problem.weights_error / np.sqrt(weight), 0.0) * residual
        turned = problem.a_error.T @ (weight * residual)
        return 2.0 * (np.sqrt(np.diag(inverse)) * np.linalg.norm(rows) + inverse @ turned)


def _unscaled_covariance(problem: Problem, info: Any, errors: MDArray) -> np.ndarray:
    """Return ``(A^T W A)^-1`` as float64."""
    variance = (info.residual_std * info.residual_std).to_numpy()
    if np.isfinite(variance) and variance > 1e-280:
        return (info.covariance() / (info.residual_std * info.residual_std)).to_numpy()
    from mdqr._elementwise import sqrt
    from mdqr._matrices import eye
    from mdqr.linalg import qr, solve_triangular

    a = problem.a
    if problem.weights is not None:
        a = a * sqrt(problem.weights).reshape(-1, 1)
    inverse = solve_triangular(qr(a, mode="r"), eye(a.shape[1], precision=problem.precision))
    return (inverse @ inverse.T).to_numpy()
