"""The output of ``mdqr fit``."""

from __future__ import annotations

import json
import math
import textwrap
from pathlib import Path
from typing import Any

import numpy as np

import mdqr
from mdqr._array.array import MDArray
from mdqr._cli.curve import Fit, Model
from mdqr._cli.digits import STATISTIC_DIGITS
from mdqr._cli.report import HEAD, aligned, counted, known, number, printable, table

_WIDTH = 88
_POINTS = 400


def text_of(fit: Fit) -> str:
    """Return the text for a terminal."""
    curve = fit.curve
    model = textwrap.fill(
        f"{printable(curve.target)} = {printable(curve.text)}", _WIDTH, subsequent_indent="    "
    )
    rows, dropped = len(fit.columns.lines), fit.columns.dropped
    size = (
        f"{printable(fit.file)}: {rows} rows, {counted(len(curve.start), 'parameter')}, "
        f"{counted(fit.degrees_of_freedom, 'degree')} of freedom"
    )
    size += f", {dropped} rows dropped" if dropped else ""
    size += ", weighted" if fit.weights is not None else ""
    estimates, digits, errors = _columns(fit)
    heads = ["parameter", "digits", "estimate", "standard error"]
    cells = [list(curve.start), list(map(str, digits)), aligned(estimates), aligned(errors)]
    return "\n\n".join([f"{model}\n{size}", table(heads, cells, right={1}), _summary(fit)])


def _columns(fit: Fit) -> tuple[list[str], list[int], list[str]]:
    """Return estimates with the digits that hold, how many these are, and standard errors."""
    digits = [int(d) for d in np.floor(fit.result.info.data_digits)]
    estimates = [number(value, d) for value, d in zip(fit.popt, digits, strict=True)]
    few = statistic_digits(fit)
    index = np.arange(len(digits))
    errors = [number(v, few) for v in mdqr.sqrt(fit.pcov[index, index])] if few else []
    return estimates, digits, errors or ["?"] * len(digits)


def statistic_digits(fit: Fit) -> int:
    """Return the digits that hold of standard errors and of the residual deviation.

    Errors of the parameters and of the data move residuals, and the Jacobian hardly: 0 where that
    is as large as the residuals, or the fit did not converge.
    """
    info, result = fit.result.info, fit.result
    if result.status != 3 or fit.degrees_of_freedom < 1:
        return 0
    residuals = float(np.linalg.norm(result.fun.to_numpy()))
    moved = np.abs(result.jac.to_numpy()) @ info.data_error_bound
    weight = 1.0 if fit.weights is None else np.sqrt(fit.weights.to_numpy())
    rounding = 4.0 * fit.precision.eps * np.abs(fit.target.to_numpy()) * weight
    matrix = 4.0 * len(fit.popt) * info.condition * fit.precision.eps
    with np.errstate(all="ignore"):
        error = float(np.linalg.norm(moved) + np.linalg.norm(rounding)) / residuals + matrix
        digits = -np.log10(2.0 * error)
    return int(np.clip(np.floor(np.nan_to_num(digits)), 0, STATISTIC_DIGITS))


def _summary(fit: Fit) -> str:
    info, few = fit.result.info, statistic_digits(fit)
    lines = {
        "residual standard deviation": _statistic(info, "residual_std", few),
        "R^2": _statistic(info, "r_squared", few),
        "condition": f"{float(info.condition):.3g} (Jacobian, columns scaled)",
        "method": f"{info.method} in {fit.precision.name} ({fit.precision.digits} digits), "
        f"derivatives by {info.derivatives}",
        "steps": f"{info.iterations}",
        "message": fit.result.message,
        "seconds": f"{fit.seconds:.3g}",
    }
    width = max(map(len, lines))
    return "\n".join(f"{name:<{width}}  {value}" for name, value in lines.items())


def _statistic(info: Any, name: str, digits: int) -> str:
    try:
        return number(getattr(info, name), digits)
    except np.linalg.LinAlgError:
        return "?"


def write(path: Path, fit: Fit) -> None:
    """Write JSON, or a plot.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    OSError
        If the file cannot be written.
    """
    if path.suffix.lower() != ".json":
        _draw(path, fit)
        return
    info, few = fit.result.info, statistic_digits(fit)
    estimates, digits, errors = _columns(fit)
    rows = zip(fit.curve.start, estimates, digits, errors, strict=True)
    condition = float(info.condition)
    content = {
        **HEAD,
        "file": fit.file,
        "target": fit.curve.target,
        "model": fit.curve.text,
        "rows": len(fit.columns.lines),
        "rows_dropped": fit.columns.dropped,
        "degrees_of_freedom": fit.degrees_of_freedom,
        "weighted": fit.weights is not None,
        "precision": fit.precision.name,
        "method": info.method,
        "iterations": int(info.iterations),
        "success": bool(fit.result.success),
        "message": fit.result.message,
        "condition": condition if math.isfinite(condition) else None,
        "residual_std": known(_statistic(info, "residual_std", few)),
        "r_squared": known(_statistic(info, "r_squared", few)),
        "seconds": fit.seconds,
        "warnings": fit.messages,
        "parameters": [
            {"name": n, "estimate": known(e), "digits": d, "standard_error": known(s)}
            for n, e, d, s in rows
        ],
    }
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8", errors="backslashreplace")


def _draw(path: Path, fit: Fit) -> None:
    """Draw the curve over its only column, or the residuals over the fitted values."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError('plots need matplotlib: pip install "mdqr[plot]"') from error
    figure = Figure(layout="constrained")
    axes, model = figure.subplots(), Model(fit.curve, fit.columns)
    observed, shown = fit.target.to_numpy(), printable(fit.curve.target).replace("$", r"\$")
    if len(fit.curve.variables) == 1:
        (name,) = fit.curve.variables
        x = fit.columns.values[name].value.to_numpy()
        grid: MDArray = mdqr.array(np.linspace(x.min(), x.max(), _POINTS), precision=fit.precision)
        axes.plot(grid.to_numpy(), model({name: grid}, *fit.popt).to_numpy(), label="model")
        axes.plot(x, observed, "k.", label="data")
        axes.set(xlabel=printable(name).replace("$", r"\$"), ylabel=shown)
        axes.legend()
    else:
        fitted = model(None, *fit.popt)
        axes.axhline(0.0, color="grey", linewidth=0.8)
        axes.plot(fitted.to_numpy(), (fit.target - fitted).to_numpy(), "k.")
        axes.set(xlabel=f"fitted {shown}", ylabel="residual")
    figure.savefig(path)
