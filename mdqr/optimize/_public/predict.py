"""Values of a fitted curve, with their standard errors and bands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import mdqr
from mdqr._array.array import MDArray
from mdqr._functions.statistics.student import t_quantile
from mdqr._precision import PRECISIONS, Precision
from mdqr._stability import experimental
from mdqr.optimize._model.box import box_of, numbers
from mdqr.optimize._model.derivatives import Differences
from mdqr.optimize._model.function import Function
from mdqr.optimize._model.points import leading, shifted, sizes_of


@experimental
class Prediction(NamedTuple):
    """Values of a fitted curve, and half widths of their intervals; all ``(m,)``.

    Attributes
    ----------
    values : MDArray
        The curve.
    standard_errors : MDArray
        Standard errors of these values.
    confidence : MDArray
        Half widths of intervals that have the value of the true curve.
    prediction : MDArray
        Half widths of intervals that have a new observation.
    """

    values: MDArray
    standard_errors: MDArray
    confidence: MDArray
    prediction: MDArray


Prediction.__module__ = "mdqr.optimize"


def predicted(
    f: Callable[..., Any],
    xdata: Any,
    popt: MDArray,
    pcov: MDArray,
    deviation: MDArray,
    degrees: float,
    level: float,
) -> Prediction:
    """Return a prediction; `deviation` is the standard deviation of new observations."""
    if not callable(f):
        raise TypeError(f"predict: `f` must be callable; got {type(f).__name__}")
    if not isinstance(level, (float, int, np.floating)) or not 0.0 < level < 1.0:
        raise ValueError(f"predict: `level` must be a number between 0 and 1; got {level!r}")
    x: Any = xdata
    if isinstance(xdata, (list, tuple, range, MDArray, np.ndarray)):
        x = numbers("predict", "xdata", xdata, PRECISIONS[-1])
        if not x.size:
            raise ValueError("predict: `xdata` is empty; give the places of the predictions")
    p = popt.precision
    wide, n = p.next, popt.shape[0]

    def values(b: Any, precision: Precision | None) -> Any:
        return f(x.astype(precision) if precision and isinstance(x, MDArray) else x, *b)

    function = Function("predict", values, lambda r, _: r)
    at = popt.astype(wide)
    center = function.at(at, wide)
    if function.is_complex or center.is_complex:
        raise ValueError("predict: complex curves have no intervals")
    box = box_of("predict", (-np.inf, np.inf), n, PRECISIONS[-1])
    derivatives = Differences(function, box)
    sizes = sizes_of(at)
    _, found = derivatives.jacobian(at, center, sizes, wide.eps)
    if wide is p:
        # Those have half of the digits of the precision in which the curve is evaluated.
        noise = wide.eps * np.abs(leading(center))
        found = derivatives.central(at, sizes, wide.eps, noise) or found
    errors = _errors(found.values.astype(p), pcov)
    quantile = t_quantile(level, degrees)
    return Prediction(
        center.astype(p), errors, errors * quantile, mdqr.hypot(errors, deviation) * quantile
    )


def _errors(rows: MDArray, pcov: MDArray) -> MDArray:
    """Return the roots of the diagonal of ``rows @ pcov @ rows.T``, in units that are in range."""
    index = np.arange(rows.shape[1])
    powers = np.frexp(leading(pcov[index, index]))[1] // 2
    unit, rows = shifted(pcov, -(powers[:, None] + powers)), shifted(rows, powers)
    tops = np.frexp(np.max(np.abs(leading(rows)), axis=1))[1]
    rows = shifted(rows, -tops[:, None])
    return shifted(mdqr.sqrt(abs((rows @ unit * rows).sum(axis=1))), tops)
