"""A fit as the solver sees it: residuals of real parameters, with their derivatives and bounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from mdqr._array.array import MDArray
from mdqr._precision import Precision
from mdqr._progress import Steps
from mdqr.optimize._model.box import Box
from mdqr.optimize._model.derivatives import Differences
from mdqr.optimize._model.function import Function
from mdqr.optimize._model.loss import Loss


class Stopped(Exception):
    """The caller's callback, or the limit of evaluations, ends the fit."""

    def __init__(self, status: int) -> None:
        super().__init__()
        self.status = status


class Point(NamedTuple):
    """A point with residuals and Jacobian (float64), the sum that is minimised, and sizes of x.

    All but the Jacobian and the sizes are in dd, within descents in float64 all in that.
    """

    x: Any
    r: Any
    jacobian: np.ndarray
    cost: Any
    sizes: np.ndarray


@dataclass
class Problem:
    """A function to be minimised, and options of the caller.

    `names` belong to the parameters, `linear` the parameters in which the model is linear, None
    if that is to be found, `x_scale` None for the norms of the columns of the Jacobian. `enclosed`
    returns residuals for parameters that are enclosures, and `verified` is True if the result is
    to be proven with it. `unit` is the rounding error of the function in dd, relative to its
    values; `noisy` is True if it is more than dd's, and `undefined` that NaN or infinity came up.
    """

    function: Function
    derivatives: Differences
    box: Box
    loss: Loss
    precision: Precision
    names: list[str]
    linear: list[int] | None
    x_scale: np.ndarray | None
    max_nfev: int
    callback: Callable[[MDArray, MDArray, MDArray], Any] | None = None
    enclosed: Callable[[Any], Any] | None = None
    verified: bool = False
    steps: Steps | None = None
    unit: float = 0.0
    noisy: bool = False
    undefined: bool = False
    best: Point | None = field(default=None, repr=False)

    def count(self) -> None:
        """Count a point that is tried."""
        if self.function.nfev >= self.max_nfev:
            raise Stopped(0)
        self.function.nfev += 1

    def keep(self, point: Point) -> None:
        """Remember the best point, and report it to the caller."""
        if self.steps is not None:
            self.steps.step()
        if self.best is None or bool(point.cost < self.best.cost):
            self.best = point
        if self.callback is not None:
            self.callback(point.x, point.r, point.cost)
