"""A picture of a fit: the curve with its bands over one column, or the residuals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from mdqr._array.array import MDArray
from mdqr._cli.columns import Columns, Values
from mdqr._cli.fit import Fit
from mdqr._cli.predict import predict
from mdqr._cli.report import printable

ENDINGS = (".pdf", ".png", ".svg")
_POINTS = 400


def draw(path: Path, fit: Fit, level: float) -> None:
    """Write a plot to a file.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    OSError
        If the file cannot be written.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError('plots need matplotlib: pip install "mdqr[plot]"') from error
    figure = Figure(layout="constrained")
    axes = figure.subplots()
    if len(fit.model.variables) == 1:
        _curve(axes, fit, level)
    else:
        _residuals(axes, fit)
    figure.savefig(path)


def _curve(axes: Any, fit: Fit, level: float) -> None:
    """Draw the target over its only variable, the model and both bands."""
    (name,) = fit.model.variables
    x = fit.columns.values[name].value.to_numpy()
    points = np.linspace(x.min(), x.max(), _POINTS)
    block = np.zeros((fit.problem.precision.limbs, _POINTS))
    block[0] = points
    value = MDArray._wrap(block, fit.problem.precision, False)
    grid = Columns(
        fit.problem.precision,
        {name: Values(value, np.zeros(_POINTS))},
        np.arange(1, _POINTS + 1),
    )
    found = predict(fit, grid, level)
    line = found.values.to_numpy()
    for half, label in ((found.prediction, "prediction"), (found.confidence, "confidence")):
        width = half.to_numpy()
        if np.isfinite(width).all():
            text = f"{label}, {100 * level:g} %"
            axes.fill_between(points, line - width, line + width, alpha=0.2, label=text)
    axes.plot(points, line, label="model")
    axes.plot(x, fit.problem.b.to_numpy(), "k.", label="data")
    axes.set(xlabel=_plain(name), ylabel=_plain(fit.problem.target))
    axes.legend()


def _residuals(axes: Any, fit: Fit) -> None:
    """Draw residuals over fitted values."""
    fitted = fit.problem.a @ fit.x
    axes.axhline(0.0, color="grey", linewidth=0.8)
    axes.plot(fitted.to_numpy(), (fit.problem.b - fitted).to_numpy(), "k.")
    axes.set(xlabel=f"fitted {_plain(fit.problem.target)}", ylabel="residual")


def _plain(text: str) -> str:
    """Return a name without what matplotlib takes for mathematics, or cannot show."""
    return printable(text).replace("$", r"\$")
