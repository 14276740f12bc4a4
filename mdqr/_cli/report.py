"""The output of ``mdqr lstsq``."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from decimal import ROUND_UP, Context

import numpy as np

import mdqr
from mdqr._array.array import MDArray
from mdqr._cli.fit import Fit
from mdqr._cli.predict import Predictions, Residuals

_WIDTH = 88
_UNKNOWN = "?"
# What files in JSON begin with; a number for each change that old readers do not understand.
HEAD = {"format": 1, "mdqr": mdqr.__version__}
METHOD_FLOAT64 = "numpy.linalg.lstsq, columns of norm 1, rcond=0"
_UP = Context(prec=2, rounding=ROUND_UP)


def report(file: str, fit: Fit) -> str:
    """Return the text for a terminal."""
    problem = fit.problem
    names = list(map(printable, problem.names))
    model = textwrap.fill(
        f"{printable(problem.target)} = {' + '.join(names)}", _WIDTH, subsequent_indent="    "
    )
    rows, count = problem.a.shape
    dropped = f", {fit.columns.dropped} rows dropped" if fit.columns.dropped else ""
    used = "" if problem.used_rows == rows else f" ({problem.used_rows} of positive weight)"
    size = (
        f"{printable(file)}: {rows} rows{used}, {counted(count, 'coefficient')}, "
        f"{counted(problem.degrees_of_freedom, 'degree')} of freedom{dropped}"
    )
    if problem.weights is not None:
        size += ", weighted"
    estimates = table(
        ["coefficient", "digits", "estimate"],
        [names, list(map(str, fit.digits.estimates)), _shown_estimates(fit)],
        right={1},
    )
    comparison = table(
        ["coefficient", "standard error", "float64 estimate", "true digits"],
        [
            names,
            aligned(_standard_errors(fit)),
            aligned([repr(float(v)) for v in fit.x_float64]),
            list(map(str, fit.digits_float64)),
        ],
        right={3},
    )
    return "\n\n".join([f"{model}\n{size}", estimates, comparison, _summary(fit)])


def _summary(fit: Fit) -> str:
    precision = fit.problem.precision
    lines = {
        "residual standard deviation": _or_bound(
            number(fit.info.residual_std, fit.digits.residual_std), residual_std_bound(fit)
        ),
        "R^2": number(fit.info.r_squared, fit.digits.r_squared),
        "condition": f"{float(fit.info.condition):.3g} (columns scaled)",
        "method": f"{fit.info.method} in {precision.name} ({precision.digits} digits)",
        "float64": METHOD_FLOAT64,
        "seconds": f"{fit.seconds:.3g} (float64: {fit.seconds_float64:.3g})",
    }
    width = max(map(len, lines))
    return "\n".join(f"{name:<{width}}  {value}" for name, value in lines.items())


def table(heads: Sequence[str], columns: Sequence[Sequence[str]], right: set[int]) -> str:
    """Lay out columns of text below their heads, two spaces apart."""
    widths = [max(map(len, (head, *cells))) for head, cells in zip(heads, columns, strict=True)]
    lines = []
    for cells in (heads, *zip(*columns, strict=True)):
        padded = [
            cell.rjust(width) if place in right else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        lines.append("  ".join(padded).rstrip())
    return "\n".join(lines)


def aligned(texts: Sequence[str]) -> list[str]:
    """Pad numbers on the left so that their points stand below each other."""
    heads = [len(text.partition("e")[0].partition(".")[0]) for text in texts]
    return [" " * (max(heads) - head) + text for head, text in zip(heads, texts, strict=True)]


def estimate_texts(fit: Fit) -> list[str]:
    """Return the coefficients with as many digits as are true."""
    texts = []
    for value, digits in zip(fit.x, fit.digits.estimates.tolist(), strict=True):
        texts.append(str(value.to_strings(digits)[()]) if digits else _UNKNOWN)
    return texts


def _shown_estimates(fit: Fit) -> list[str]:
    """Return the coefficients, or what the size of one without a digit does not exceed."""
    most = np.abs(fit.x.to_numpy()) + fit.digits.errors
    pairs = zip(aligned(estimate_texts(fit)), map(_bound, most.tolist()), strict=True)
    return [
        f"{text} (below {bound})" if text.strip() == _UNKNOWN and bound else text
        for text, bound in pairs
    ]


def counted(count: int, name: str) -> str:
    """Return a number with a noun, in the plural where it is not one."""
    return f"{count} {name}" if count == 1 else f"{count} {name}s"


def number(x: MDArray, digits: int) -> str:
    """Return a statistic with the digits that are true."""
    text = str(x.to_strings(digits)[()]) if digits else _UNKNOWN
    return _UNKNOWN if text == "nan" else text


def _standard_errors(fit: Fit) -> list[str]:
    texts = [number(error, fit.digits.standard_errors) for error in fit.standard_errors]
    return [_or_bound(*pair) for pair in zip(texts, standard_error_bounds(fit), strict=True)]


def _or_bound(text: str, bound: str | None) -> str:
    return text if bound is None else f"below {bound}"


def residual_std_bound(fit: Fit) -> str | None:
    return _bound(fit.digits.residual_std_bound)


def standard_error_bounds(fit: Fit) -> list[str | None]:
    return list(map(_bound, fit.digits.standard_error_bounds.tolist()))


def _bound(bound: float) -> str | None:
    """Write what a number without a digit does not exceed, rounded up; None where it has some."""
    return f"{_UP.create_decimal(bound):.1e}" if math.isfinite(bound) else None


def printable(text: str) -> str:
    """Write characters that a terminal obeys, or does not show, as escape sequences."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


# -- rows ------------------------------------------------------------------------------------

Record = dict[str, str | int | None]


def prediction_records(found: Predictions) -> list[Record]:
    """Return one record a row; numbers as text, those without a digit None."""
    few = found.statistic_digits
    columns = zip(
        found.lines.tolist(),
        found.values,
        found.digits.tolist(),
        *(texts(x, few) for x in (found.standard_errors, found.confidence, found.prediction)),
        strict=True,
    )
    return [
        {
            "line": line,
            "value": known(number(value, digits)),
            "digits": digits,
            "standard_error": error,
            "confidence_half_width": confidence,
            "prediction_half_width": prediction,
        }
        for line, value, digits, error, confidence, prediction in columns
    ]


def residual_records(found: Residuals) -> list[Record]:
    """Return one record a row, as `prediction_records`."""
    columns = zip(
        found.lines.tolist(),
        found.observed.to_strings().tolist(),
        found.fitted,
        found.fitted_digits.tolist(),
        found.residuals,
        found.digits.tolist(),
        texts(found.standardized, found.statistic_digits),
        strict=True,
    )
    return [
        {
            "line": line,
            "observed": observed,
            "fitted": known(number(fitted, fitted_digits)),
            "residual": known(number(residual, digits)),
            "digits": digits,
            "standardized": standardized,
        }
        for line, observed, fitted, fitted_digits, residual, digits, standardized in columns
    ]


def texts(x: MDArray, digits: int) -> list[str | None]:
    """Return numbers with so many digits, None for those that are not known."""
    return [known(number(value, digits)) for value in x]


def record_table(records: Sequence[Record]) -> str:
    """Return records as a table of a terminal."""
    heads = list(records[0]) if records else []
    columns = [[_UNKNOWN if r[h] is None else str(r[h]) for r in records] for h in heads]
    whole = {i for i, head in enumerate(heads) if head in ("line", "digits")}
    shown = [c if i in whole else aligned(c) for i, c in enumerate(columns)]
    return table([head.replace("_", " ") for head in heads], shown, right=whole)


def known(text: str) -> str | None:
    """Return None for what stands for no digit."""
    return None if text == _UNKNOWN else text
