"""The files that ``mdqr lstsq`` writes."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mdqr._cli.fit import Fit
from mdqr._cli.predict import Predictions, Residuals
from mdqr._cli.report import (
    HEAD,
    METHOD_FLOAT64,
    Record,
    estimate_texts,
    known,
    number,
    prediction_records,
    residual_records,
    residual_std_bound,
    standard_error_bounds,
)


@dataclass
class Results:
    """A fit of the columns of `file`, and what else was asked for."""

    file: str
    fit: Fit
    predictions: Predictions | None = None
    residuals: Residuals | None = None

    def records(self) -> dict[str, list[Record]]:
        """Return the tables of rows by name."""
        found = {}
        if self.predictions is not None:
            found["predictions"] = prediction_records(self.predictions)
        if self.residuals is not None:
            found["residuals"] = residual_records(self.residuals)
        return found


def _write_csv(path: Path, results: Results) -> list[Path]:
    fit = results.fit
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
    written = [path]
    for name, records in results.records().items():
        written.append(path.with_suffix(f".{name}{path.suffix}"))
        with written[-1].open("w", encoding="utf-8", newline="") as stream:
            lines = csv.DictWriter(stream, list(records[0]) if records else [], lineterminator="\n")
            lines.writeheader()
            lines.writerows(records)
    return written


def _write_json(path: Path, results: Results) -> list[Path]:
    fit = results.fit
    content: dict[str, Any] = {
        **HEAD,
        "file": results.file,
        "target": fit.problem.target,
        "rows": fit.problem.a.shape[0],
        "rows_dropped": fit.columns.dropped,
        "rows_of_positive_weight": fit.problem.used_rows,
        "degrees_of_freedom": fit.problem.degrees_of_freedom,
        "weighted": fit.problem.weights is not None,
        "precision": fit.problem.precision.name,
        "method": fit.info.method,
        "iterations": fit.info.iterations,
        "condition": _finite(float(fit.info.condition)),
        "residual_std": known(number(fit.info.residual_std, fit.digits.residual_std)),
        "residual_std_below": residual_std_bound(fit),
        "r_squared": known(number(fit.info.r_squared, fit.digits.r_squared)),
        "seconds": fit.seconds,
        "method_float64": METHOD_FLOAT64,
        "seconds_float64": fit.seconds_float64,
        "warnings": fit.messages,
        "coefficients": _coefficients(fit),
        **results.records(),
    }
    if results.predictions is not None:
        content["confidence_level"] = results.predictions.level
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
    # what is no text in the name of the file becomes JSON's own escape
    path.write_text(text + "\n", encoding="utf-8", errors="backslashreplace")
    return [path]


def _write_npz(path: Path, results: Results) -> list[Path]:
    fit = results.fit
    rows: dict[str, Any] = {}
    if results.predictions is not None:
        found = results.predictions
        rows |= {"prediction_limbs": found.values.limbs, "prediction_digits": found.digits}
        rows["prediction_standard_error_limbs"] = found.standard_errors.limbs
        rows["confidence_half_width_limbs"] = found.confidence.limbs
        rows["prediction_half_width_limbs"] = found.prediction.limbs
    if results.residuals is not None:
        rest = results.residuals
        rows |= {"residual_limbs": rest.residuals.limbs, "residual_digits": rest.digits}
        rows["standardized_residual_limbs"] = rest.standardized.limbs
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
            **rows,
        )
    return [path]


WRITERS: dict[str, Callable[[Path, Results], list[Path]]] = {
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
        standard_error_bounds(fit),
        fit.x_float64.tolist(),
        strict=True,
    )
    return [
        {
            "name": name,
            "estimate": known(estimate),
            "digits": digits,
            "standard_error": known(number(error, fit.digits.standard_errors)),
            "standard_error_below": bound,
            "float64": _finite(plain),
        }
        for name, estimate, digits, error, bound, plain in columns
    ]


def _finite(x: float) -> float | None:
    return x if math.isfinite(x) else None
