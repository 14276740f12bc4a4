"""What ``mdqr lstsq`` prints and writes."""

from __future__ import annotations

import csv
import json
import math
import textwrap
from collections.abc import Callable, Sequence
from decimal import ROUND_UP, Context
from pathlib import Path
from typing import Any

import numpy as np

from mdqr._array.array import MDArray
from mdqr._cli.fit import Fit

_WIDTH = 88
_UNKNOWN = "?"
_FLOAT64 = "numpy.linalg.lstsq, columns of norm 1, rcond=0"
_UP = Context(prec=2, rounding=ROUND_UP)


# -- text ------------------------------------------------------------------------------------


def report(file: str, fit: Fit) -> str:
    """Return the text for a terminal."""
    problem = fit.problem
    names = list(map(printable, problem.names))
    model = textwrap.fill(
        f"{printable(problem.target)} = {' + '.join(names)}", _WIDTH, subsequent_indent="    "
    )
    rows, count = problem.a.shape
    used = "" if problem.used_rows == rows else f" ({problem.used_rows} of positive weight)"
    size = (
        f"{printable(file)}: {rows} rows{used}, {count} coefficients, "
        f"{problem.degrees_of_freedom} degrees of freedom"
    )
    if problem.weights is not None:
        size += ", weighted"
    estimates = table(
        ["coefficient", "digits", "estimate"],
        [names, list(map(str, fit.digits.estimates)), aligned(estimate_texts(fit))],
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
            number(fit.info.residual_std, fit.digits.residual_std), _residual_std_bound(fit)
        ),
        "R^2": number(fit.info.r_squared, fit.digits.r_squared),
        "condition": f"{float(fit.info.condition):.3g} (columns scaled)",
        "method": f"{fit.info.method} in {precision.name} ({precision.digits} digits)",
        "float64": _FLOAT64,
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


def number(x: MDArray, digits: int) -> str:
    """Return a statistic with the digits that are true."""
    text = str(x.to_strings(digits)[()]) if digits else _UNKNOWN
    return _UNKNOWN if text == "nan" else text


def _standard_errors(fit: Fit) -> list[str]:
    texts = [number(error, fit.digits.standard_errors) for error in fit.standard_errors]
    return [_or_bound(*pair) for pair in zip(texts, _standard_error_bounds(fit), strict=True)]


def _or_bound(text: str, bound: str | None) -> str:
    return text if bound is None else f"below {bound}"


def _residual_std_bound(fit: Fit) -> str | None:
    return _bound(fit.digits.residual_std_bound)


def _standard_error_bounds(fit: Fit) -> list[str | None]:
    return list(map(_bound, fit.digits.standard_error_bounds.tolist()))


def _bound(bound: float) -> str | None:
    """Write what a number without a digit does not exceed, rounded up; None where it has some."""
    return f"{_UP.create_decimal(bound):.1e}" if math.isfinite(bound) else None


def printable(text: str) -> str:
    """Write characters that a terminal obeys, or does not show, as escape sequences."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


# -- files -----------------------------------------------------------------------------------


def _write_csv(path: Path, file: str, fit: Fit) -> None:
    heads = [
        "coefficient",
        "estimate",
        "digits",
        "standard_error",
        "float64",
        "standard_error_below",
    ]
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(heads)
        for row in _coefficients(fit):
            writer.writerow([row["name"], *("" if row[h] is None else row[h] for h in heads[1:])])


def _write_json(path: Path, file: str, fit: Fit) -> None:
    content = {
        "file": file,
        "target": fit.problem.target,
        "rows": fit.problem.a.shape[0],
        "rows_of_positive_weight": fit.problem.used_rows,
        "degrees_of_freedom": fit.problem.degrees_of_freedom,
        "weighted": fit.problem.weights is not None,
        "precision": fit.problem.precision.name,
        "method": fit.info.method,
        "iterations": fit.info.iterations,
        "condition": _finite(float(fit.info.condition)),
        "residual_std": _known(number(fit.info.residual_std, fit.digits.residual_std)),
        "residual_std_below": _residual_std_bound(fit),
        "r_squared": _known(number(fit.info.r_squared, fit.digits.r_squared)),
        "seconds": fit.seconds,
        "method_float64": _FLOAT64,
        "seconds_float64": fit.seconds_float64,
        "warnings": fit.messages,
        "coefficients": _coefficients(fit),
    }
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
    # what is no text in the name of the file becomes JSON's own escape
    path.write_text(text + "\n", encoding="utf-8", errors="backslashreplace")


def _write_npz(path: Path, file: str, fit: Fit) -> None:
    with path.open("wb") as stream:
        np.savez(
            stream,
            names=np.array(fit.problem.names),
            limbs=fit.x.limbs,
            standard_error_limbs=fit.standard_errors.limbs,
            digits=fit.digits.estimates,
            standard_error_digits=np.array(fit.digits.standard_errors),
            standard_error_bounds=fit.digits.standard_error_bounds,
            residual_std_digits=np.array(fit.digits.residual_std),
            residual_std_bound=np.array(fit.digits.residual_std_bound),
            r_squared_digits=np.array(fit.digits.r_squared),
            float64=fit.x_float64,
            residual_std_limbs=fit.info.residual_std.limbs,
            r_squared_limbs=fit.info.r_squared.limbs,
            condition=np.array(fit.info.condition),
            precision=np.array(fit.problem.precision.name),
        )


WRITERS: dict[str, Callable[[Path, str, Fit], None]] = {
    ".csv": _write_csv,
    ".json": _write_json,
    ".npz": _write_npz,
}


def _coefficients(fit: Fit) -> list[dict[str, Any]]:
    """Return one record a coefficient; numbers beyond float64 as text, unknown ones as None."""
    columns = zip(
        fit.problem.names,
        estimate_texts(fit),
        fit.digits.estimates.tolist(),
        fit.standard_errors,
        _standard_error_bounds(fit),
        fit.x_float64.tolist(),
        strict=True,
    )
    return [
        {
            "name": name,
            "estimate": _known(estimate),
            "digits": digits,
            "standard_error": _known(number(error, fit.digits.standard_errors)),
            "standard_error_below": bound,
            "float64": _finite(plain),
        }
        for name, estimate, digits, error, bound, plain in columns
    ]


def _known(text: str) -> str | None:
    return None if text == _UNKNOWN else text


def _finite(x: float) -> float | None:
    return x if math.isfinite(x) else None
