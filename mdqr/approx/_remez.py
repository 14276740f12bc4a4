"""Exchanges of the Remez algorithm: polynomials of levelled error, and their extrema."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import mdqr
from mdqr._array.array import MDArray
from mdqr.approx import _barycentric as barycentric
from mdqr.approx._weights import weights_of

_BETWEEN = 8  # points between two of the reference
_REFINEMENTS = 3  # of extrema by parabolas


class Problem:
    """A function on an interval, of places from 0 to 1, which are doubles."""

    def __init__(
        self, name: str, f: Callable[[MDArray], Any], ends: MDArray, *, relative: bool
    ) -> None:
        self._name, self._f, self._ends, self._relative = name, f, ends, relative
        self.precision = ends.precision

    def values(self, places: np.ndarray) -> tuple[MDArray, MDArray]:
        """Return values of the function, and what errors are divided by."""
        a, b = self._ends
        t = mdqr.array(places, precision=self.precision)
        found = mdqr.array(self._f(a + (b - a) * t), precision=self.precision)
        if found.shape != places.shape or found.is_complex or not mdqr.isfinite(found).all():
            raise ValueError(
                f"{self._name}: f must return one finite real number for each point; got shape "
                f"{found.shape} for {places.shape}"
            )
        if not self._relative:
            return found, mdqr.ones_like(found)
        if bool((found == 0).any()):
            raise ValueError(f"{self._name}: relative errors of a function with a zero")
        return found, abs(found)


class Extrema(NamedTuple):
    """Places of alternating extrema of the error, None if they are fewer, and all errors seen."""

    places: np.ndarray | None
    errors: np.ndarray


class Levelled:
    """The polynomial whose errors at places have one size and alternating signs."""

    def __init__(self, problem: Problem, places: np.ndarray) -> None:
        self._problem, self._places = problem, places
        self._points = mdqr.array(places, precision=problem.precision)
        self._weights = weights_of(self._points)
        values, sizes = problem.values(places)
        signs = np.where(np.arange(len(places)) % 2, -1.0, 1.0)
        levels = sizes * signs
        level = (self._weights * values).sum() / (self._weights * levels).sum()
        self._values = values - level * levels
        # Weights of points in order alternate, so that the divisor is a sum of moduli; the errors
        # are 4 n eps of weights, n + 8 of each sum, and those of the values.
        terms, base = (abs(self._weights).to_numpy() @ abs(x).to_numpy() for x in (values, sizes))
        rounding = (12 * len(places) + 40) * problem.precision.eps * float(terms / base)
        self.level = max(abs(float(level)) - rounding, 0.0)

    def at(self, points: MDArray) -> MDArray:
        """Return values at points from 0 to 1."""
        return barycentric.values(points, self._points, self._values, self._weights)

    def errors(self, places: np.ndarray) -> np.ndarray:
        """Return the errors, relative ones where they count, rounded to doubles."""
        values, sizes = self._problem.values(places)
        points = mdqr.array(places, precision=self._problem.precision)
        return ((values - self.at(points)) / sizes).to_numpy()

    def extrema(self) -> Extrema:
        """Return the largest errors between changes of sign, as many as places alternate."""
        angles = np.arccos(np.clip(1 - 2 * self._places, -1, 1))
        knots = np.unique(np.concatenate([[0.0], angles, [np.pi]]))
        steps = np.diff(knots) / _BETWEEN
        grid = np.append((knots[:-1, None] + steps[:, None] * np.arange(_BETWEEN)).ravel(), np.pi)
        errors = self.errors(_place(grid))
        runs = np.split(np.arange(len(grid)), np.flatnonzero(np.diff(np.sign(errors))) + 1)
        tops = np.array([run[np.argmax(abs(errors[run]))] for run in runs])
        count = len(self._places)
        while len(tops) > count:  # the smaller end goes; an even surplus may go in pairs
            first, last = abs(errors[tops[[0, -1]]])
            tops = tops[1:] if first < last else tops[:-1]
        if len(tops) < count:
            return Extrema(None, errors)
        chosen, found = self._refined(grid, errors, tops)
        return Extrema(_place(chosen), np.append(errors, found))

    def _refined(
        self, grid: np.ndarray, errors: np.ndarray, tops: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Move extrema by parabolas through three points each."""
        best, value = grid[tops], errors[tops]
        step = np.gradient(grid)[tops] / 2
        for _ in range(_REFINEMENTS):
            left, right = (np.clip(best + s * step, 0, np.pi) for s in (-1, 1))
            both = self.errors(_place(np.concatenate([left, right])))
            low, high = both.reshape(2, -1)
            candidates = np.array([best, left, right])
            found = np.array([value, low, high])
            curved = low - 2 * value + high
            with np.errstate(all="ignore"):
                move = np.where(curved != 0, (low - high) / (2 * curved), 0.0)
            top = np.clip(best + np.clip(np.nan_to_num(move), -1, 1) * step, 0, np.pi)
            candidates = np.vstack([candidates, top])
            found = np.vstack([found, self.errors(_place(top))])
            choice = np.argmax(found * np.sign(value), axis=0)
            columns = np.arange(len(best))
            best, value = candidates[choice, columns], found[choice, columns]
            step = step / 4
        order = np.argsort(best)
        return best[order], value[order]

    def coefficients(self) -> MDArray:
        """Return the coefficients of Chebyshev polynomials."""
        n = len(self._places) - 2
        if n == 0:
            return self.at(mdqr.array([0.5], precision=self._problem.precision))
        k = mdqr.arange(n + 1, precision=self._problem.precision)
        values = self.at((1 + mdqr.cospi(k / n)) / 2)
        values[[0, n]] = values[[0, n]] / 2
        places = np.outer(np.arange(n + 1), np.arange(n + 1)) % (2 * n)
        table = mdqr.cospi(mdqr.array(places, precision=self._problem.precision) / n)
        found = table @ values * 2 / n
        found[[0, n]] = found[[0, n]] / 2
        return found


def _place(angles: np.ndarray) -> np.ndarray:
    return np.asarray((1 - np.cos(angles)) / 2)
