"""``mdqr fit``: a curve through columns of a file, given by an expression."""

from __future__ import annotations

import argparse
import ast
import operator
import re
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import mdqr
from mdqr._array.array import MDArray
from mdqr._cli import plot
from mdqr._cli.columns import Columns, name_of, read_columns
from mdqr._cli.expressions import Algebra, names_in, parsed, value_of
from mdqr._cli.options import add_layout, ending, layout_of
from mdqr._convert.strings import TextError, strings_to_block
from mdqr._errors import shortened
from mdqr._io.rows import CellError
from mdqr._precision import PRECISIONS, Precision, as_precision
from mdqr._progress import Reporter

DESCRIPTION = """\
Fit a curve that is not linear in its parameters to columns of a text file. Numbers are read as
decimal numbers, not through float64, and the model is evaluated in the precision of the fit. Each
estimate is printed with the digits that its estimated error bound leaves."""
_OUTPUTS = (".json",)
_OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_CONSTANTS = {"pi": mdqr.pi, "e": mdqr.e}


@dataclass
class Curve:
    """A model: an expression of columns and parameters for a target, and a starting point."""

    text: str
    target: str
    variables: list[str]
    start: dict[str, str]


@dataclass
class Fit:
    """A fit, and its warnings."""

    file: str
    curve: Curve
    columns: Columns
    precision: Precision
    weights: MDArray | None
    popt: MDArray
    pcov: MDArray
    result: Any
    seconds: float
    messages: list[str]

    @property
    def target(self) -> MDArray:
        """The observations."""
        return self.columns.values[self.curve.target].value

    @property
    def degrees_of_freedom(self) -> int:
        """Rows less parameters."""
        return len(self.columns.lines) - len(self.curve.start)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "file",
        metavar="FILE",
        help="delimited text, also compressed (.gz, .bz2, .xz); '-' is the standard input",
    )
    add_layout(parser.add_argument_group("the file"))
    group = parser.add_argument_group("the model")
    group.add_argument(
        "--model",
        metavar="EXPRESSION",
        required=True,
        help="the curve, such as 'b1*exp(-b2*x)': names are parameters of --start, columns, or pi "
        "and e",
    )
    group.add_argument(
        "--start",
        metavar="NAME=NUMBER[,NAME=NUMBER...]",
        type=_start,
        required=True,
        help="the parameters, with the values to start from",
    )
    group.add_argument(
        "--target",
        metavar="COLUMN",
        help="the column to fit; default: the last one that the model does not name",
    )
    group.add_argument("--weights", metavar="COLUMN", help="weights of the rows, 1/variance")
    group.add_argument(
        "--precision",
        choices=[precision.name for precision in PRECISIONS],
        default="qd",
        help="of the fit; default: qd, as text has no precision of its own",
    )
    results = parser.add_argument_group("results")
    results.add_argument(
        "--output",
        metavar="FILE",
        type=partial(ending, endings=_OUTPUTS),
        help="also write the results to a .json file",
    )
    results.add_argument(
        "--plot",
        metavar="FILE",
        type=partial(ending, endings=plot.ENDINGS),
        help="draw data and curve over the only column of the model, or residuals over fitted "
        "values, to a .png, .pdf or .svg file",
    )


def _start(text: str) -> dict[str, str]:
    """Return starting values by name."""
    found: dict[str, str] = {}
    for part in text.split(","):
        name, equals, value = (side.strip() for side in part.partition("="))
        if not equals or not re.fullmatch(r"[^\W\d]\w*", name):
            raise argparse.ArgumentTypeError(f"wanted NAME=NUMBER; got {part!r}")
        if name in found:
            raise argparse.ArgumentTypeError(f"{name} has two values")
        try:
            strings_to_block([value], 1)
        except TextError:
            raise argparse.ArgumentTypeError(f"{name} is no number: {value!r}") from None
        found[name] = value
    return found


def fitted(options: argparse.Namespace, report: Reporter) -> Fit:
    """Read the file, and fit.

    Raises
    ------
    CellError
        If a cell cannot be used; the message names file, line and column.
    ValueError, OSError
        If the model does not fit the columns, or the file cannot be read.
    """
    from mdqr.optimize import curve_fit

    precision = as_precision(options.precision)
    name = name_of(options.file)
    found: list[Curve] = []

    def choose(names: tuple[str, ...]) -> list[str]:
        found.append(_curve(options, names))
        wanted = [*found[0].variables, found[0].target]
        return wanted if options.weights is None else [*wanted, options.weights]

    # Decimals are rounded to more limbs than the result has.
    top = precision.next
    columns = read_columns(options.file, top, layout_of(options), choose, report)
    (curve,) = found
    _check_rows(name, columns, curve, options.weights)
    weights = None if options.weights is None else columns.values[options.weights].value
    begin = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit = curve_fit(
            Model(curve, columns),
            None,
            columns.values[curve.target].value,
            mdqr.array(list(curve.start.values()), precision=top),
            None if weights is None else 1 / mdqr.sqrt(weights),
            precision=precision,
        )
    seconds = time.perf_counter() - begin
    messages = [_renamed(str(warning.message), list(curve.start)) for warning in caught]
    return Fit(name, curve, columns, precision, weights, fit.popt, fit.pcov, fit.result, seconds,
               messages)  # fmt: skip


def _curve(options: argparse.Namespace, names: tuple[str, ...]) -> Curve:
    """Return the model, given the columns of the file."""
    used = names_in(options.model)
    start: dict[str, str] = options.start
    for name in start:
        if name not in used:
            raise ValueError(f"the parameter {name} of --start is not in the model")
        if name in names:
            raise ValueError(f"{shortened(name)!r} is a parameter and a column; rename one of them")
    variables = [n for n in used if n not in start and (n in names or n not in _CONSTANTS)]
    others = [n for n in names if n not in variables and n != options.weights]
    for name in variables:
        if name not in names:
            raise ValueError(
                f"{shortened(name)!r} in the model is no column, and no parameter of --start; the "
                f"columns are {', '.join(map(shortened, names))}"
            )
    if options.target is None and not others:
        raise ValueError("the model names all columns; give the one to fit with --target")
    target = others[-1] if options.target is None else options.target
    if target in variables:
        raise ValueError(f"the column {shortened(target)!r} is the target, and in the model")
    return Curve(options.model, target, variables, start)


def _check_rows(file: str, columns: Columns, curve: Curve, weights: str | None) -> None:
    rows, count = len(columns.lines), len(curve.start)
    if rows < count:
        raise CellError(f"{file}: {rows} rows do not determine {count} parameters")
    if weights is not None:
        bad = np.flatnonzero(~(columns.values[weights].value.limbs[0] > 0))
        if bad.size:
            raise CellError(
                f"{file}, line {columns.lines[bad[0]]}, {columns.labels[weights]}: a weight must "
                "be positive; it is 1/variance"
            )


def _renamed(message: str, names: list[str]) -> str:
    """Return a message with names of parameters and options of the command line."""
    message = re.sub(r"p\[(\d+)\]", lambda m: names[int(m[1])], message)
    return message.replace("Change x0", "Change --start").replace(", or set bounds", "")


class Model:
    """The function of a model: called with None and the parameters, in any precision."""

    def __init__(self, curve: Curve, columns: Columns) -> None:
        self._text, self._names = curve.text, list(curve.start)
        self._tree = parsed(curve.text)
        self._columns = {name: columns.values[name].value for name in curve.variables}
        self._held: dict[Precision, dict[str, MDArray]] = {}
        self._decimals: dict[tuple[str, Precision], Any] = {}
        self._zero = columns.values[curve.target].value * 0

    def __call__(self, places: Mapping[str, MDArray] | None, *parameters: MDArray) -> MDArray:
        """Return the values at the rows of the file, or at other places."""
        precision = parameters[0].precision
        if precision not in self._held:
            self._held[precision] = {n: a.astype(precision) for n, a in self._columns.items()}
        known: dict[str, Any] = {**_CONSTANTS, **(places or self._held[precision])}
        known |= zip(self._names, parameters, strict=True)
        algebra = Algebra(
            known.__getitem__,
            lambda text: self._decimal(text, precision),
            operator.neg,
            _OPERATORS,
            lambda x, exponent, _: x**exponent,
            lambda name, x: x if name == "I" else getattr(mdqr, name)(x),
        )
        found = value_of(self._tree, self._text, algebra)
        if not isinstance(found, MDArray) or (places is None and found.ndim == 0):
            found = found + self._zero.astype(precision)
        return found

    def _decimal(self, text: str, precision: Precision) -> Any:
        """Return an integer, or a decimal rounded to the precision."""
        key = text, precision
        if key not in self._decimals:
            whole = re.fullmatch(r"\d{1,15}", text)
            self._decimals[key] = int(text) if whole else mdqr.array(text, precision=precision)
        return self._decimals[key]
