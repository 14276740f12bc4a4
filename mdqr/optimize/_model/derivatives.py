"""First and second derivatives of residuals, by differences of a length that fits the precision.

A forward difference over ``h`` has the errors ``h f'' / 2 + 2 e / h`` where f has the rounding
errors e. With ``h = sqrt(unit)``, relative to the parameter, half of the digits of f are right: a
function evaluated in the next higher precision gives all digits of its own. In the highest one, a
central difference of 12 points over ``h = unit^(1/13)`` has errors of ``unit^(12/13)``.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from math import factorial
from typing import Any, NamedTuple

import numpy as np

import mdqr
from mdqr._array.array import MDArray
from mdqr._precision import Precision
from mdqr.optimize._model.box import Box
from mdqr.optimize._model.function import Function
from mdqr.optimize._model.noise import Noise
from mdqr.optimize._model.points import displaced, leading, quotient, root_power, times_powers

_HALF = 6  # points on a side of a central difference
_SHORTER = 4  # lengths of central differences that are tried


class Jacobian(NamedTuple):
    """Derivatives of m residuals, ``(m, n)``, and estimated bounds of their errors, float64."""

    values: MDArray
    errors: np.ndarray


class Curvature(NamedTuple):
    """Second derivatives by parameters in units of their sizes, of which none is out of range.

    A weighted sum over the residuals, ``(n, n)``, and its errors; `diagonal` has the moduli of
    second derivatives of each residual by one parameter, ``(m, n)``, and `turned` their sums by
    that and each other one, the changes of first derivatives where all parameters change.
    """

    sums: MDArray
    diagonal: np.ndarray
    turned: np.ndarray
    errors: np.ndarray


class Differences:
    """Derivatives of a function by differences.

    `unit` are its rounding errors relative to its values, `noise` the errors of each residual.
    """

    name = "differences"

    def __init__(self, function: Function, box: Box) -> None:
        self.function, self.box = function, box
        self.njev = 0

    def jacobian(
        self, x: MDArray, r: MDArray | None, sizes: np.ndarray, unit: float, noise: Any = 0.0
    ) -> tuple[MDArray, Jacobian]:
        """Return the residuals and their Jacobian, by forward differences."""
        self.njev += 1
        steps = sizes * root_power(unit, 1, 2)
        steps = steps * self.box.signs(x, steps)
        points, lengths = displaced(x, steps, first=r is None)
        values = self.function.at_all(points, x.precision)
        if r is None:
            r, values = values[0], values[1:]
        found = quotient(values - r, lengths, steps).T
        return r, Jacobian(found, 2.0 * np.asarray(noise)[..., None] / np.abs(steps))

    def near(
        self, x: MDArray, r: MDArray | None, sizes: np.ndarray, unit: float
    ) -> tuple[MDArray, np.ndarray]:
        """Return the residuals and their Jacobian in float64; x is in dd."""
        self.njev += 1
        steps = sizes * root_power(unit, 1, 2)
        steps = steps * self.box.signs(x, steps)
        n, first = x.shape[0], int(r is None)
        moves = np.zeros((first + n, n))
        moves[first:].flat[:: n + 1] = steps
        values = self.function.at_all(x + mdqr.array(moves, precision=x.precision), x.precision)
        r = values[0] if r is None else r
        limbs, base = values.limbs[:, first:], r.limbs[:, None]
        # Leading limbs cancel; what they leave is rounded once.
        change = (limbs[0] - base[0]) + (limbs[1] - base[1])
        return r, (change / steps[:, None]).T

    def in_doubles(self, x: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the residuals and their Jacobian, all in float64."""
        self.njev += 1
        n = x.shape[0]
        points = np.tile(x, (n + 1, 1))
        points[1:].flat[:: n + 1] += sizes * 2.0**-26
        values = self.function.near(points)
        steps = points[1:].flat[:: n + 1] - x
        return values[0], ((values[1:] - values[0]) / steps[:, None]).T

    def room(self, x: MDArray, sizes: np.ndarray, unit: float) -> np.ndarray:
        """Return True for parameters by which differences of high order stay in the box."""
        h, near = _HALF * sizes * root_power(unit, 1, 2 * _HALF + 1), leading(x)
        return np.asarray((near - h >= self.box.low) & (near + h <= self.box.high))

    def central(
        self,
        x: MDArray,
        sizes: np.ndarray,
        unit: float,
        noise: np.ndarray,
        which: np.ndarray | None = None,
    ) -> Jacobian | None:
        """Return the Jacobian by differences of high order, or None where the box is too narrow.

        Steps are shortened until rounding errors prevail, or shorter ones are not better. Columns
        of parameters for which `which` is false are zero.
        """
        self.njev += 1
        best: Jacobian | None = None
        which = np.ones(len(sizes), dtype=bool) if which is None else which
        h = sizes * root_power(unit, 1, 2 * _HALF + 1)
        for _ in range(_SHORTER):
            found = self._central(x, h, noise, which)
            if found is not None:
                rounding = 2.0 * noise[:, None] / h
                if best is None or np.sum(found.errors) < np.sum(best.errors):
                    best = found
                if np.sum(found.errors) <= 64.0 * np.sum(rounding):
                    break
            h = h * 0.25
        return best

    def _central(
        self, x: MDArray, h: np.ndarray, noise: np.ndarray, which: np.ndarray
    ) -> Jacobian | None:
        """Return the Jacobian by differences over h, None where these leave the box."""
        order, n, near, reach = 2 * _HALF, x.shape[0], leading(x), _HALF * h * which
        if np.any(near - reach < self.box.low) or np.any(near + reach > self.box.high):
            return None
        offsets = np.concatenate([np.arange(1, _HALF + 1), -np.arange(1, _HALF + 1)])
        moves = offsets[:, None, None] * np.diag(h * which)
        points = (x + mdqr.array(moves.reshape(-1, n), precision=x.precision)).reshape(-1, n)
        values = self.function.at_all(points, x.precision).reshape(order, n, -1)
        lengths = mdqr.array(2.0 * h, precision=x.precision)[:, None]
        odd = (values[:_HALF] - values[_HALF:]) / lengths
        found, lower, lowest = (
            (mdqr.array(list(_weights(half)), precision=x.precision)[:, None, None] * odd[:half])
            .sum(axis=0)
            .T
            for half in (_HALF, _HALF - 1, _HALF - 2)
        )
        # Errors of formulas of rising order fall by the factor of their differences.
        last, before = np.abs(leading(found - lower)), np.abs(leading(lower - lowest))
        factor = np.divide(last, before, out=np.zeros_like(last), where=before > 0)
        factor = np.minimum(factor, 0.9)
        errors = 2.0 * last * np.maximum(1.0, factor / (1.0 - factor)) + 2.0 * noise[:, None] / h
        return Jacobian(found, np.where(np.isfinite(errors), errors, np.inf))

    def second(
        self, x: MDArray, r: MDArray | None, sizes: np.ndarray, unit: float
    ) -> tuple[MDArray, tuple[np.ndarray, np.ndarray], np.ndarray]:
        """Return second derivatives ``(pairs, m)``, the pairs ``j <= k``, and the steps.

        These, and what derivatives are taken by, are in units of `sizes`.
        """
        n = x.shape[0]
        steps = sizes * root_power(unit, 1, 3)
        steps = steps * self.box.signs(x, 2.0 * steps)
        rows, columns = np.triu_indices(n)
        moves = np.zeros((1 + n + rows.size, n))
        single, double = moves[1 : n + 1], moves[n + 1 :]
        single[np.arange(n), np.arange(n)] = steps
        double[:] = single[rows] + single[columns]
        points = x + mdqr.array(moves[r is not None :], precision=x.precision)
        values = self.function.at_all(points, x.precision)
        if r is None:
            r, values = values[0], values[1:]
        steps = steps / sizes
        lengths = (steps[rows] * steps[columns])[:, None]
        if x.precision is mdqr.dd:
            # Leading limbs cancel, as in `near`.
            limbs = values.limbs - r.limbs[:, None]
            twice = limbs[:, n:] - limbs[:, rows] - limbs[:, columns]
            found = mdqr.array((twice[0] + twice[1]) / lengths, precision=mdqr.d)
        else:
            once = values[:n] - r
            change = values[n:] - r - once[rows] - once[columns]
            found = times_powers(change, 1.0 / lengths)
        return found, (rows, columns), steps

    def deviation(
        self, x: MDArray, jacobian: MDArray, sizes: np.ndarray, noise: Noise
    ) -> np.ndarray:
        """Return by how much the Jacobian contradicts the function, beyond its errors."""
        return np.zeros(jacobian.shape)

    def curvature(
        self, x: MDArray, r: MDArray | None, weights: MDArray, sizes: np.ndarray, noise: Noise
    ) -> Curvature:
        """Return ``sum_i weights_i r_i''``."""
        found, (rows, columns), steps = self.second(x, r, sizes, noise.unit)
        n = x.shape[0]
        near, moduli = np.abs(leading(found)), np.abs(leading(weights))
        if found.precision is mdqr.d:
            sums = mdqr.array(leading(found) @ leading(weights), precision=mdqr.d)
        else:
            sums = found @ weights
        place = np.empty((n, n), dtype=int)
        place[rows, columns] = place[columns, rows] = np.arange(rows.size)
        # The next term of the series, as if third derivatives were of the size of the second ones.
        errors = noise.unit ** (1 / 3) * (near @ moduli)[place]
        errors += 4.0 * (moduli @ noise.absolute) / np.abs(steps[:, None] * steps)
        turned = near[place].sum(axis=1).T
        return Curvature(sums[place], near[place.diagonal()].T, turned, errors)

    def truncation(self, unit: float) -> float:
        """Return errors of first derivatives by sizes, over second ones, of a function's unit."""
        return float(unit**0.5)


class Given(Differences):
    """Derivatives by the caller's function, and second ones by differences of those."""

    name = "jac"
    trusted = False  # derivatives that differences do not contradict are right

    def __init__(
        self, function: Function, box: Box, jac: Callable[[MDArray, Precision], MDArray]
    ) -> None:
        super().__init__(function, box)
        self._jac = jac

    def jacobian(
        self, x: MDArray, r: MDArray | None, sizes: np.ndarray, unit: float, noise: Any = 0.0
    ) -> tuple[MDArray, Jacobian]:
        """Return the residuals and the caller's Jacobian."""
        if r is None:
            r = self.function.at(x, x.precision)
        found = self._at(x, r)
        errors = 16.0 * max(unit, x.precision.eps) * np.abs(leading(found))
        # Terms that cancel have rounding errors about as large as the function has.
        errors += 16.0 * np.reshape(noise, (-1, 1)) / sizes
        return r, Jacobian(found, errors)

    def near(
        self, x: MDArray, r: MDArray | None, sizes: np.ndarray, unit: float
    ) -> tuple[MDArray, np.ndarray]:
        """Return the residuals and the caller's Jacobian in float64."""
        r, found = self.jacobian(x, r, sizes, unit)
        return r, leading(found.values)

    def central(
        self,
        x: MDArray,
        sizes: np.ndarray,
        unit: float,
        noise: np.ndarray,
        which: np.ndarray | None = None,
    ) -> Jacobian | None:
        """Return None: the caller's is as precise as the function."""
        return None

    def deviation(
        self, x: MDArray, jacobian: MDArray, sizes: np.ndarray, noise: Noise
    ) -> np.ndarray:
        """Return errors of the caller's Jacobian, by differences of the function.

        Beside a bound these are of low order, and what they cannot see counts as wrong, too.
        """
        differences = Differences(self.function, self.box)
        room = differences.room(x, sizes, noise.unit)
        found = differences.central(x, sizes, noise.unit, noise.absolute, room)
        deviation = np.zeros(jacobian.shape)
        if found is not None:
            wrong = np.abs(leading(found.values - jacobian))
            # The Hessian comes from the wrong Jacobian, too.
            deviation = np.where(wrong > 8.0 * found.errors, 2.0 * wrong, 0.0)
        else:
            room = np.zeros_like(room)
        if not room.all():
            _, found = differences.jacobian(x, None, sizes, noise.unit, noise.absolute)
            unseen = found.errors + 2.0**10 * noise.unit**0.5 * np.abs(leading(jacobian))
            wrong = np.abs(leading(found.values - jacobian))
            agrees = self.trusted & (wrong <= 8.0 * unseen)
            deviation = np.where(room | agrees, deviation, 2.0 * (wrong + unseen))
        return deviation

    def curvature(
        self, x: MDArray, r: MDArray | None, weights: MDArray, sizes: np.ndarray, noise: Noise
    ) -> Curvature:
        """Return ``sum_i weights_i r_i''`` by differences of ``J^T weights``."""
        steps = sizes * root_power(noise.unit, 1, 2)
        steps = steps * self.box.signs(x, steps)
        moved, lengths = displaced(x, steps, first=False)
        jacobian = self._at(x)
        changes = [self._at(point) - jacobian for point in moved]
        rows = [change.T @ weights for change in changes]
        found = times_powers(quotient(mdqr.stack(rows), lengths, steps), sizes)
        found = times_powers(found, sizes[:, None])
        products = (np.abs(leading(jacobian)).T @ np.abs(leading(weights))) * sizes
        rounding = float(np.abs(leading(weights)) @ noise.absolute)
        errors = 16.0 * noise.unit**0.5 * (products + np.abs(leading(found)))
        errors += 16.0 * rounding / noise.unit**0.5
        near = np.stack([np.abs(leading(change)) for change in changes])
        near *= np.abs(sizes / steps)[:, None, None] * sizes
        index = np.arange(x.shape[0])
        diagonal, turned = near[index, :, index].T, near.sum(axis=0)
        return Curvature((found + found.T) * 0.5, diagonal, turned, errors + errors.T)

    def truncation(self, unit: float) -> float:
        """Return 0: only differences have such errors."""
        return 0.0

    def _at(self, x: MDArray, r: MDArray | None = None) -> MDArray:
        """Return the Jacobian, which must be finite where the residuals r are."""
        self.njev += 1
        found = self._jac(x, x.precision)
        shape = (self.function.count, x.shape[0])
        if found.is_complex and not self.function.is_complex:
            raise ValueError(f"{self.function.name}: `jac` is complex, and the residuals are real")
        if found.is_complex:
            found = mdqr.concatenate([found.real, found.imag])
            shape = (2 * shape[0], shape[1])
        if found.shape != shape:
            raise ValueError(
                f"{self.function.name}: `jac` must return an array of shape {shape}, one row for "
                f"each residual; got {found.shape}"
            )
        refused = r is not None and not bool(mdqr.isfinite(r).all())
        if not (refused or bool(mdqr.isfinite(found).all())):
            raise ValueError(
                f"{self.function.name}: `jac` returned NaN or infinity at x = "
                f"{x.to_numpy().tolist()}; correct it, or leave it out for differences"
            )
        return found if self.function.scale == 1.0 else found * self.function.scale


@cache
def _weights(half: int) -> tuple[Fraction, ...]:
    """Return the weights of ``f(x + k h) - f(x - k h)`` over ``2 h``, k = 1, 2 ... `half`."""
    top = factorial(half) ** 2
    return tuple(
        Fraction(2 * (-1) ** (k + 1) * top, k * factorial(half - k) * factorial(half + k))
        for k in range(1, half + 1)
    )
