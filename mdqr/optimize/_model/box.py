"""Bounds of parameters."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import mdqr
from mdqr._array.array import MDArray
from mdqr._precision import Precision
from mdqr.optimize._model.points import leading


class Box(NamedTuple):
    """Bounds of n parameters, in the highest precision in which they are used.

    `low` and `high` are the float64 values nearest to them, `bounded` is True if any is finite.
    """

    lower: MDArray
    upper: MDArray
    low: np.ndarray
    high: np.ndarray
    bounded: bool

    def clip(self, x: MDArray) -> MDArray:
        """Return a point moved into the box, in its own precision."""
        if not self.bounded:
            return x
        inside = mdqr.minimum(mdqr.maximum(x, self.lower), self.upper)
        return inside if inside.precision is x.precision else inside.astype(x.precision)

    def holds(self, x: MDArray, which: np.ndarray | None = None) -> bool:
        """Return True if a point lies in the box, or the parameters `which` of it do."""
        if not self.bounded:
            return True
        inside = np.asarray((x >= self.lower) & (x <= self.upper))
        return bool(np.all(inside if which is None else inside[which]))

    def held(self, x: MDArray, sides: np.ndarray) -> MDArray:
        """Return a point with parameters at bounds, where `sides` are not 0, in its precision."""
        if sides.any():
            x = x.copy()
            for side, bound in ((-1, self.lower), (1, self.upper)):
                x[sides == side] = bound.astype(x.precision)[sides == side]
        return x

    def mask(self, x: MDArray) -> np.ndarray:
        """Return -1 where a parameter is at its lower bound, 1 at the upper one, else 0."""
        if not self.bounded:
            return np.zeros(x.shape[0], dtype=int)
        lower, upper = (bound.astype(x.precision) for bound in (self.lower, self.upper))
        return np.asarray(x >= upper).astype(int) - np.asarray(x <= lower).astype(int)

    def signs(self, x: MDArray, reach: np.ndarray) -> np.ndarray:
        """Return the side, 1 or -1, on which a parameter can be changed by `reach`."""
        if not self.bounded:
            return np.ones(x.shape[0])
        near = leading(x)
        above, below = self.high - near, near - self.low
        return np.where((above < reach) & (above < below), -1.0, 1.0)


def box_of(name: str, bounds: Any, n: int, precision: Precision) -> Box:
    """Return bounds that a caller gave: a pair, or an object with `lb` and `ub`.

    Raises
    ------
    ValueError
        If they are not two, of other shapes than the parameters, NaN, or not ``lower < upper``.
    """
    if hasattr(bounds, "lb") and hasattr(bounds, "ub"):
        pair = [bounds.lb, bounds.ub]
    else:
        try:
            pair = list(bounds)
        except TypeError:
            pair = []
    if len(pair) != 2:
        raise ValueError(f"{name}: `bounds` must contain 2 elements, lower and upper bounds")
    lower, upper = (
        _side(name, side, value, n, precision) for side, value in zip(SIDES, pair, strict=True)
    )
    wrong = np.flatnonzero(~np.asarray(lower < upper))
    if wrong.size:
        j = int(wrong[0])
        raise ValueError(
            f"{name}: each lower bound must be strictly less than each upper bound; parameter {j} "
            f"has {lower[j]} and {upper[j]}. To fix a parameter, leave it out of x0"
        )
    low, high = lower.to_numpy(), upper.to_numpy()
    return Box(lower, upper, low, high, bool(np.isfinite(low).any() or np.isfinite(high).any()))


SIDES = ("lower", "upper")


def numbers(name: str, what: str, value: Any, precision: Precision) -> MDArray:
    """Return an argument as an array.

    Raises
    ------
    TypeError, ValueError
        If it holds something else than numbers; the message names the argument.
    """
    try:
        return mdqr.array(value, precision=precision)
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{name}: `{what}` does not hold numbers ({error})") from None


def _side(name: str, side: str, value: Any, n: int, precision: Precision) -> MDArray:
    bound = numbers(name, f"bounds[{SIDES.index(side)}]", value, precision)
    if bound.is_complex:
        raise ValueError(f"{name}: `bounds` must be real; the {side} ones are complex")
    if bound.ndim > 1 or bound.size not in (1, n):
        raise ValueError(
            f"{name}: inconsistent shapes between bounds and `x0`: the {side} ones have shape "
            f"{bound.shape}, and there are {n} parameters"
        )
    bound = mdqr.broadcast_to(bound.reshape(-1), (n,)).copy()
    if bool(mdqr.isnan(bound).any()):
        raise ValueError(f"{name}: `bounds` must not be NaN; use -inf and inf for none")
    return bound
