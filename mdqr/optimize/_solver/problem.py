"""A fit as the solver sees it: residuals of real parameters, with their derivatives and bounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from mdqr._array.array import MDArray
from mdqr._precision import Precision
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
    """A point with residuals and Jacobian, the sum that is minimised, and sizes of parameters."""

    x: MDArray
    r: MDArray
    jacobian: MDArray
    cost: MDArray
    sizes: np.ndarray


@dataclass
class Problem:
    """A function to be minimised, and options of the caller.

    `names` belong to the parameters, `linear` the parameters in which the model is linear, None
    if that is to be found, `x_scale` None for the norms of the columns of the Jacobian. `unit` is
    the rounding error of the function in dd, relative to its values; `noisy` is True if it is more
    than dd's, and `undefined` that NaN or infinity came up.
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
    unit: float = 0.0
    noisy: bool = False
    undefined: bool = False
    best: Point | None = field(default=None, repr=False)

    def residuals(self, x: MDArray, precision: Precision) -> MDArray:
        """Return the residuals at a point that is tried."""
        if self.function.nfev >= self.max_nfev:
            raise Stopped(0)
        self.function.nfev += 1
        return self.function.at(x, precision)

    def keep(self, point: Point) -> None:
        """Remember the best point, and report it to the caller."""
        if self.best is None or bool(point.cost < self.best.cost):
            self.best = point
        if self.callback is not None:
            self.callback(point.x, point.r, point.cost)
