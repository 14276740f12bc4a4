"""The problem behind ``mdqr lstsq``: a model of the columns of a file, and its fit."""

from __future__ import annotations

import re
import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from mdqr._array.array import MDArray
from mdqr._cli.columns import Columns, Layout, name_of, read_columns
from mdqr._cli.digits import Digits, Problem
from mdqr._cli.model import ColumnModel, Model, formula_model
from mdqr._convert.strings import TextError, strings_to_block
from mdqr._errors import shortened
from mdqr._io.rows import CellError
from mdqr._precision import Precision
from mdqr._progress import Reporter


@dataclass
class Fit:
    """A solved problem, with float64 beside it."""

    problem: Problem
    model: Model
    columns: Columns
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


@dataclass(frozen=True)
class Choice:
    """The options of the command line for the model; None is replaced according to the header."""

    target: str | None = None
    features: list[str] | None = None
    degree: int | None = None
    intercept: bool = True
    weights: str | None = None
    formula: str | None = None


def read_problem(
    file: str, precision: Precision, choice: Choice, layout: Layout, report: Reporter
) -> tuple[Problem, Model, Columns]:
    """Read the columns of a model from a file.

    If the header of `layout` is None the first line is one, but names that are all numbers are
    refused.

    Raises
    ------
    CellError
        If a cell cannot be used; the message names file, line and column.
    ValueError, OSError
        If the model does not fit the columns, or the file cannot be read.
    ImportError
        If a formula is given, and there is no package that reads it.
    """
    name = name_of(file)
    given = None if choice.formula is None else formula_model(choice.formula)
    found: list[Model] = []

    def choose(names: tuple[str, ...]) -> list[str]:
        _check_header(name, names, layout)
        found.append(given or _chosen(choice, names))
        wanted = [*found[0].variables, *found[0].wanted]
        return wanted if choice.weights is None else [*wanted, choice.weights]

    columns = read_columns(file, precision, layout, choose, report)
    (model,) = found
    rows, coefficients = len(columns.lines), len(model.names)
    if rows < coefficients:
        raise CellError(f"{name}: {rows} rows do not determine {coefficients} coefficients")
    problem = _assembled(name, columns, model, choice.weights)
    if problem.degrees_of_freedom < 0:
        raise CellError(
            f"{name}: {problem.used_rows} rows of positive weight do not determine "
            f"{coefficients} coefficients"
        )
    return problem, model, columns


def _check_header(file: str, names: tuple[str, ...], layout: Layout) -> None:
    if layout.header is None and _are_numbers(names):
        raise CellError(
            f"{file}, line {layout.skiprows + 1}: the names of the columns are all numbers; give "
            "--no-header if the file has no header, or --header if these are names"
        )
    if len(names) == 1 and (advice := _advice(names[0])):
        raise CellError(
            f"{file}, line {layout.skiprows + 1}: there is one column, {shortened(names[0])!r}; "
            f"give {advice}"
        )


def _advice(name: str) -> str:
    """Return what to give if the only name of a column is not a name, empty if it may be one."""
    if found := re.fullmatch(r"sep=(.)", name):  # what Excel writes
        return f"--skip-rows 1 --delimiter '{found[1]}'"
    mark = re.match(r"//|[#!%]", name)
    characters = [c for c in (";", "\t", "|", ",", " ") if c in name]
    if not characters:
        return f"--comments '{mark[0]}' if it is a comment" if mark else ""
    option = {"\t": "tab", " ": "blanks"}.get(characters[0], f"'{characters[0]}'")
    comment = f"--comments '{mark[0]}' if it is a comment, or " if mark else ""
    return f"{comment}--delimiter {option} if there should be several columns"


def _chosen(choice: Choice, names: tuple[str, ...]) -> ColumnModel:
    if choice.target is None and not names[-1]:
        raise CellError(
            "the last column has no name, as where lines end with a delimiter; name the columns of "
            "the model with --target and --features"
        )
    target = names[-1] if choice.target is None else choice.target
    extra = [target] if choice.weights is None else [target, choice.weights]
    features = choice.features
    if features is None:
        features = [name for name in names if name not in extra]
    used = features + extra
    for name in used:
        if used.count(name) != 1:
            raise ValueError(f"column {shortened(name)!r} is used twice in the model")
    return ColumnModel(target, features, choice.degree, choice.intercept)


def _assembled(file: str, columns: Columns, model: Model, weights: str | None) -> Problem:
    """Return the problem of a model."""
    b, b_error = model.response(columns)
    weight = None if weights is None else columns.values[weights]
    if weights is not None and weight is not None:
        negative = np.flatnonzero(weight.value.limbs[0] < 0)
        if negative.size:
            raise CellError(
                f"{file}, line {columns.lines[negative[0]]}, {columns.labels[weights]}: "
                "a negative weight; a weight is 1/variance"
            )
    a, a_error = model.matrix(columns)
    return Problem(
        model.target,
        model.names,
        columns.precision,
        a,
        b,
        None if weight is None else weight.value,
        a_error,
        b_error,
        np.zeros(len(columns.lines)) if weight is None else weight.error,
    )


def _are_numbers(names: tuple[str, ...]) -> bool:
    """Return whether all names are numbers, those left aside that are empty."""
    texts = [name for name in names if name]
    try:
        strings_to_block(texts, 1)
    except TextError:
        return False
    return bool(texts)


# -- the solution ----------------------------------------------------------------------------


def solve(problem: Problem, model: Model, columns: Columns, report: Reporter) -> Fit:
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
            progress=report,
        )
        errors = result.info.standard_errors()
        seconds = time.perf_counter() - start
        digits = Digits(problem, result.x, result.info)
    start = time.perf_counter()
    x_float64 = _solve_float64(problem)
    return Fit(
        problem,
        model,
        columns,
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
