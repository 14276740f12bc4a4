"""What ``mdqr lstsq`` prints and writes."""

from __future__ import annotations

import csv
import json
import math
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mdqr._array import MDArray
from mdqr._cli_fit import Fit

_WIDTH = 88
_UNKNOWN = "?"


# -- text ------------------------------------------------------------------------------------


def report(file: str, fit: Fit) -> str:
    """Return the text for a terminal."""
    problem = fit.problem
    rows, count = problem.a.shape
    model = textwrap.fill(
        f"{problem.target} = {' + '.join(problem.names)}", _WIDTH, subsequent_indent="    "
    )
    size = f"{file}: {rows} rows, {count} coefficients, {rows - count} degrees of freedom"
    if problem.weights is not None:
        size += ", weighted"
    estimates = table(
        ["coefficient", "digits", "estimate"],
        [problem.names, list(map(str, fit.digits.estimates)), aligned(estimate_texts(fit))],
        right={1},
    )
    beside = table(
        ["coefficient", "standard error", "float64 estimate", "true digits"],
        [
            problem.names,
            aligned(_standard_errors(fit)),
            aligned([repr(float(v)) for v in fit.x_float64]),
            list(map(str, fit.digits_float64)),
        ],
        right={3},
    )
    return "\n\n".join([f"{model}\n{size}", estimates, beside, _summary(fit)])


def _summary(fit: Fit) -> str:
    precision = fit.problem.precision
    lines = {
        "residual standard deviation": _or_bound(
            number(fit.info.residual_std, fit.digits.residual_std), fit.digits.residual_std_bound
        ),
        "R^2": number(fit.info.r_squared, fit.digits.r_squared),
        "condition": f"{float(fit.info.condition):.3g} (columns scaled)",
        "method": f"{fit.info.method} in {precision.name} ({precision.digits} digits)",
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


def _or_bound(text: str, bound: float) -> str:
    return f"below {bound:.1e}" if text == _UNKNOWN and math.isfinite(bound) else text


def _standard_errors(fit: Fit) -> list[str]:
    texts = [number(error, fit.digits.standard_errors) for error in fit.standard_errors]
    bounds = fit.digits.standard_error_bounds.tolist()
    return [_or_bound(text, bound) for text, bound in zip(texts, bounds, strict=True)]


# -- files -----------------------------------------------------------------------------------


def _write_csv(path: Path, file: str, fit: Fit) -> None:
    heads = ["coefficient", "estimate", "digits", "standard_error", "float64"]
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(heads)
        for row in _coefficients(fit):
            writer.writerow([row["name"], *("" if row[h] is None else row[h] for h in heads[1:])])


def _write_json(path: Path, file: str, fit: Fit) -> None:
    rows, count = fit.problem.a.shape
    content = {
        "file": file,
        "target": fit.problem.target,
        "rows": rows,
        "degrees_of_freedom": rows - count,
        "weighted": fit.problem.weights is not None,
        "precision": fit.problem.precision.name,
        "method": fit.info.method,
        "iterations": fit.info.iterations,
        "condition": _finite(float(fit.info.condition)),
        "residual_std": _known(number(fit.info.residual_std, fit.digits.residual_std)),
        "r_squared": _known(number(fit.info.r_squared, fit.digits.r_squared)),
        "seconds": fit.seconds,
        "seconds_float64": fit.seconds_float64,
        "warnings": fit.messages,
        "coefficients": _coefficients(fit),
    }
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")


def _write_npz(path: Path, file: str, fit: Fit) -> None:
    with path.open("wb") as stream:
        np.savez(
            stream,
            names=np.array(fit.problem.names),
            limbs=fit.x.limbs,
            standard_error_limbs=fit.standard_errors.limbs,
            digits=fit.digits.estimates,
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
        fit.x_float64.tolist(),
        strict=True,
    )
    return [
        {
            "name": name,
            "estimate": _known(estimate),
            "digits": digits,
            "standard_error": _known(number(error, fit.digits.standard_errors)),
            "float64": _finite(plain),
        }
        for name, estimate, digits, error, plain in columns
    ]


def _known(text: str) -> str | None:
    return None if text == _UNKNOWN else text


def _finite(x: float) -> float | None:
    return x if math.isfinite(x) else None
