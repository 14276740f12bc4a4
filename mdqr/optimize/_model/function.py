"""The caller's function: residuals at one point, or at many in one call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import mdqr
from mdqr._array.array import MDArray
from mdqr._precision import Precision
from mdqr.optimize._model.doubles import Doubles, doubles_of
from mdqr.optimize._model.points import leading

# Values of one call at two shapes of parameters agree but for so many units of the last place.
_SAME = 2.0**12
# Values of one call whose arithmetic takes less time than the call itself.
_TOGETHER = 1024


class Function:
    """Residuals as a real function of n parameters, in any precision.

    Parameters
    ----------
    name : str
        The public function, for messages.
    values : callable
        Called as ``values(parameters, precision)``; returns what the caller's function returns.
        Parameters are ``(n,)``, or ``(n, k, 1)`` for k points, if the function broadcasts.
    residuals : callable
        Called as ``residuals(values, precision)`` with an array ``(..., m)``; returns residuals of
        that shape. Without a precision, parameters and values are `Doubles`.

    Attributes
    ----------
    nfev, evaluations : int
        Points that were tried, and all at which the function was evaluated, at whatever shape.
    broadcasts : bool or None
        Whether one call takes many points; None until that was tried.
    most : Precision or None
        The highest precision of returned values.
    """

    def __init__(
        self,
        name: str,
        values: Callable[[Any, Precision | None], Any],
        residuals: Callable[[Any, Precision | None], Any],
    ) -> None:
        self.name, self._values, self._residuals = name, values, residuals
        self.nfev = self.evaluations = 0
        self.broadcasts: bool | None = None
        self.most: Precision | None = None
        self.count = 0  # of values, once known
        self.is_complex = False
        self.scale = 1.0
        self.takes_doubles = False

    def at(self, x: MDArray, precision: Precision) -> MDArray:
        """Return the residuals at one point, ``(m,)``."""
        values = self._single(x, precision)
        if self.count and values.shape[-1] != self.count:
            raise ValueError(
                f"{self.name}: the function returned {values.shape[-1]} values, and "
                f"{self.count} at the start; it must always return as many"
            )
        self.count = values.shape[-1]
        return self._finished(values, precision)

    def takes(self, points: int) -> bool:
        """Return True if a call at so many points costs hardly more than one at a point."""
        return bool(self.broadcasts) and points * self.count <= _TOGETHER

    def at_all(self, points: MDArray, precision: Precision) -> MDArray:
        """Return the residuals at the rows of `points`, ``(k, m)``, in one call if possible."""
        if self.broadcasts is not False:
            values = self._together(points, precision)
            if values is not None:
                return self._finished(values, precision)
        return self._finished(self._one_by_one(points, precision), precision)

    def try_doubles(self, x: MDArray) -> None:
        """Note if the function of `Doubles` has the values that it has in dd."""
        if not self.broadcasts:
            return
        exact = leading(self.at(x, x.precision))
        try:
            found = self.near(x.to_numpy()[None])[0]
        except Exception:
            return
        if found.shape == exact.shape:
            size = np.max(np.abs(exact), initial=0.0)
            self.takes_doubles = bool(np.all(np.abs(found - exact) <= 2.0**-20 * size))

    def near(self, points: np.ndarray) -> np.ndarray:
        """Return the residuals at the rows of float64 points, ``(k, m)``."""
        values = self._values(Doubles(np, points.T[..., None]), None)
        self.evaluations += len(points)
        if isinstance(values, (list, tuple)):
            parts = np.broadcast_arrays(*(doubles_of(np, each) for each in values))
            values = Doubles(np, np.stack(parts)[..., 0].T)
        r = np.asarray(doubles_of(np, self._residuals(values, None)))
        if self.is_complex:
            r = np.concatenate([r.real, r.imag], axis=-1)
        return r if self.scale == 1.0 else r * self.scale

    def _finished(self, values: MDArray, precision: Precision) -> MDArray:
        r = self._residuals(values, precision)
        if r.is_complex or self.is_complex:
            self.is_complex = True
            r = mdqr.concatenate([r.real, r.imag], axis=-1)
        return r if self.scale == 1.0 else r * self.scale

    def _single(self, x: MDArray, precision: Precision) -> MDArray:
        self.evaluations += 1
        found = self._converted(self._values(x, precision), precision)
        if found.ndim > 1:
            raise ValueError(
                f"{self.name}: `fun` must return at most 1-d array_like; got shape {found.shape}"
            )
        return found.reshape(-1)

    def _one_by_one(self, points: MDArray, precision: Precision) -> MDArray:
        return mdqr.stack([self._single(x, precision) for x in points])

    def _together(self, points: MDArray, precision: Precision) -> MDArray | None:
        """Return values at many points from one call, or None where the function does not."""
        k = points.shape[0]
        self.evaluations += k
        try:
            found = self._converted(self._values(points.T[..., None], precision), precision)
        except Exception:
            if self.broadcasts:
                raise
            self.broadcasts = False
            return None
        if found.shape == (self.count, k, 1):
            found = found[..., 0].T
        if self.broadcasts is None:
            self.broadcasts = found.shape == (k, self.count) and self._agrees(
                found, points, precision
            )
        return found if self.broadcasts else None

    def _agrees(self, found: MDArray, points: MDArray, precision: Precision) -> bool:
        """Return True if single calls give the same values, so that rows belong to points."""
        some = sorted({0, points.shape[0] // 2, points.shape[0] - 1})
        found, single = found[some], self._one_by_one(points[some], precision)
        difference, size = leading(abs(found - single)), leading(abs(single))
        with np.errstate(invalid="ignore"):
            near = difference <= _SAME * precision.eps * np.max(size, axis=-1, keepdims=True)
        return bool(np.all(near | ~np.isfinite(size)))

    def _converted(self, values: Any, precision: Precision) -> MDArray:
        """Convert the values of the caller's function to an array of the precision."""
        if not isinstance(values, MDArray):
            values = self._array(values, precision)
        if self.most is None or values.precision > self.most:
            self.most = values.precision
        return values if values.precision is precision else values.astype(precision)

    def _array(self, values: Any, precision: Precision) -> MDArray:
        if values is None:
            raise TypeError(f"{self.name}: the function returned None; return the values")
        if isinstance(values, (list, tuple)) and any(isinstance(v, MDArray) for v in values):
            return mdqr.array(values)
        array = np.asarray(values)
        if array.dtype.kind in "fc":
            return mdqr.array(array, precision=mdqr.d)
        if array.dtype.kind not in "biuO" or isinstance(values, (dict, set)):
            raise TypeError(
                f"{self.name}: the function returned {type(values).__name__}; return an MDArray"
            )
        return mdqr.array(values, precision=precision)
