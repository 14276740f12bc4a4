"""The problem behind ``mdqr lstsq``: columns of a file to matrices, and the fit."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mdqr._array.array import MDArray
from mdqr._cli.digits import Digits, Problem
from mdqr._convert.arrays import exact_parts
from mdqr._convert.strings import TextError, strings_to_block
from mdqr._errors import shortened
from mdqr._functions.matrices import vander
from mdqr._io.loadtxt import Table, listed, read_table
from mdqr._io.rows import CellError
from mdqr._limbs.planes import narrow
from mdqr._precision import Precision

Callback = Callable[[str, int, int | None], object]


@dataclass
class Fit:
    """A solved problem, with float64 beside it."""

    problem: Problem
    x: MDArray
    info: Any
    digits: Digits
    standard_errors: MDArray
    seconds: float
    x_float64: np.ndarray
    seconds_float64: float
    messages: list[str]

    @property
    def digits_float64(self) -> np.ndarray:
        """Number of digits that the float64 solution has right, as far as the other one tells."""
        reference = self.x.to_numpy()
        with np.errstate(all="ignore"):
            error = np.abs(self.x_float64 - reference) + self.digits.errors
            digits = np.where(error == 0, 15, np.floor(-np.log10(error / np.abs(reference))))
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
    header: bool | None,
    callback: Callback,
) -> Problem:
    """Read the columns of a model from a file.

    `header` says whether the first line names the columns. If it is None it does, but names that
    are all numbers are refused. Without a header the columns are called c0, c1, ...

    Raises
    ------
    CellError
        If a cell cannot be used; the message names file, line and column.
    ValueError, OSError
        If the model does not fit the columns, or the file cannot be read.
    """
    model = _Model(file, target, features, weights, degree, header)
    # one limb more than the precision holds tells which numbers were rounded
    table = read_table(
        file,
        precision.limbs + 1,
        header=header is not False,
        usecols=model.columns,
        names_without_header="c",
        hint="leave out --no-header",
        callback=callback,
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
    problem = _assembled(table, model, precision, intercept=intercept)
    if problem.degrees_of_freedom < 0:
        raise CellError(
            f"{file}: {problem.used_rows} rows of positive weight do not determine "
            f"{coefficients} coefficients"
        )
    return problem


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
        constant = "intercept"
        while constant in names:
            constant = f"({constant})"
        names.insert(0, constant)

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

    file: str
    target: str | None
    features: list[str] | None
    weights: str | None
    degree: int | None
    header: bool | None

    def columns(self, names: tuple[str, ...]) -> list[str]:
        """Return the columns to read: the features, the target, the weights."""
        if self.header is None and _are_numbers(names):
            raise CellError(
                f"{self.file}, line 1: the names of the columns are all numbers; give --no-header "
                "if the file has no header, or --header if these are names"
            )
        if self.target is None:
            self.target = names[-1]
        extra = [self.target] if self.weights is None else [self.target, self.weights]
        if self.features is None:
            self.features = [name for name in names if name not in extra]
        used = self.features + extra
        for name in used:
            if used.count(name) != 1:
                raise ValueError(f"column {shortened(name)!r} is used twice in the model")
        if self.degree is not None and len(self.features) != 1:
            raise ValueError(
                f"--poly needs one column for its variable, there are {len(self.features)} "
                f"({listed(self.features)}); name it with --features"
            )
        return used


def _are_numbers(names: tuple[str, ...]) -> bool:
    """Return whether all names are numbers, those left aside that are empty."""
    texts = [name for name in names if name]
    try:
        strings_to_block(texts, 1)
    except TextError:
        return False
    return bool(texts)


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
    spans = [0]
    for value in exact_parts(x):
        if not isinstance(value, float):
            man = abs(value[0])
            spans.append((man // (man & -man)).bit_length())
    return max(spans)


# -- the solution ----------------------------------------------------------------------------


def solve(problem: Problem, callback: Callback) -> Fit:
    """Solve in the target precision, and in float64 for comparison."""
    from mdqr.linalg import lstsq

    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = lstsq(
            problem.a,
            problem.b,
            weights=problem.weights,
            data_error=problem.data_error,
            callback=callback,
        )
        errors = result.info.standard_errors()
        seconds = time.perf_counter() - start
        digits = Digits(problem, result.x, result.info)
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
    """Solve as `numpy.polyfit` does, with columns of norm one, but leave no singular value out."""
    a, b = problem.a.to_numpy(), problem.b.to_numpy()
    if problem.weights is not None:
        root = np.sqrt(problem.weights.to_numpy())
        a, b = a * root[:, None], b * root
    largest = np.abs(a).max(axis=0)
    try:
        with np.errstate(all="ignore"):
            scale = largest * np.linalg.norm(a / largest, axis=0)
            return np.linalg.lstsq(a / scale, b, rcond=0.0)[0] / scale
    except np.linalg.LinAlgError:
        return np.full(a.shape[1], np.nan)
