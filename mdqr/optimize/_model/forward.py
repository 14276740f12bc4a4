"""Exact derivatives: the caller's function of truncated power series (forward mode).

Of degree 1 their second coefficients are directional derivatives; of degree 2 second derivatives
follow by ``2 f_jk = f(e_j + e_k) - f(e_j) - f(e_k)``, where f are coefficients in a direction.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import mdqr
from mdqr._array.array import MDArray
from mdqr._precision import Precision
from mdqr.optimize._model.box import Box
from mdqr.optimize._model.derivatives import Curvature, Given
from mdqr.optimize._model.function import Function
from mdqr.optimize._model.noise import Noise
from mdqr.optimize._model.points import leading
from mdqr.series import PowerSeries

# Rounding errors of a coefficient, in units of the function's own.
_AMPLIFIED = 64.0


class Forward(Given):
    """Derivatives by power series.

    Parameters
    ----------
    values : callable
        Called as ``values(series, precision)`` with an array of n series, or ``(n, k, 1)`` for k
        directions; returns what the caller's function returns.
    weighted : callable
        Multiplies rows ``(k, m)`` of derivatives of these values by the weights of the residuals.
    """

    name = "series"
    trusted = True

    def __init__(
        self,
        function: Function,
        box: Box,
        values: Callable[[PowerSeries, Precision], Any],
        weighted: Callable[[MDArray, Precision], MDArray],
    ) -> None:
        super().__init__(function, box, self._derivatives)
        self._values, self._weighted = values, weighted

    def curvature(
        self, x: MDArray, r: MDArray | None, weights: MDArray, sizes: np.ndarray, noise: Noise
    ) -> Curvature:
        """Return ``sum_i weights_i r_i''`` from series of degree 2."""
        n = x.shape[0]
        rows, columns = np.triu_indices(n, 1)
        directions = np.zeros((n + rows.size, n))
        directions[np.arange(n), np.arange(n)] = sizes
        both = n + np.arange(rows.size)
        directions[both, rows], directions[both, columns] = sizes[rows], sizes[columns]
        found = self._along(x, directions, 2)
        if self.function.is_complex:
            found = mdqr.concatenate([found.real, found.imag], axis=-1)
        found = found * self.function.scale
        sums = mdqr.zeros((n, n), precision=x.precision)
        total, near = found @ weights, np.abs(leading(found)) @ np.abs(leading(weights))
        diagonal, turned = _moduli(leading(found), rows, columns)
        index = np.arange(n)
        sums[index, index] = total[:n] * 2
        sums[rows, columns] = sums[columns, rows] = total[n:] - total[rows] - total[columns]
        errors = np.zeros((n, n))
        errors[index, index] = 2.0 * near[:n]
        errors[rows, columns] = errors[columns, rows] = near[n:] + near[rows] + near[columns]
        unit = _AMPLIFIED * max(noise.unit, x.precision.eps)
        # Terms that cancel have rounding errors about as large as the function has.
        rounding = 16.0 * float(np.abs(leading(weights)) @ noise.absolute)
        return Curvature(sums, diagonal, turned, unit * errors + rounding)

    def _derivatives(self, x: MDArray, precision: Precision) -> MDArray:
        return self._along(x.astype(precision), np.eye(x.shape[0]), 1).T

    def _along(self, x: MDArray, directions: np.ndarray, degree: int) -> MDArray:
        """Return the last coefficients in directions ``(k, n)``, weighted: ``(k, m)``."""
        if self.function.broadcasts:
            series = _series(x[:, None, None], directions.T[..., None], degree)
            found = self._last(series, degree, x.precision)
            if found.ndim == 3:  # a list of values
                found = found[:, 0]
            found = mdqr.broadcast_to(found, (len(directions), self.function.count))
        else:
            found = mdqr.stack(
                [self._last(_series(x, d, degree), degree, x.precision) for d in directions]
            )
        return self._weighted(found, x.precision)

    def _last(self, series: PowerSeries, degree: int, precision: Precision) -> MDArray:
        try:
            values = self._values(series, precision)
        except (TypeError, AttributeError) as error:
            raise TypeError(
                f"{self.function.name}: jac='series' calls `fun` with power series, and it raised "
                f"{type(error).__name__}: {error}. Use functions of mdqr, or leave jac out"
            ) from error
        if isinstance(values, PowerSeries):
            found = coefficient(values, degree, precision)
            return found if found.ndim else found.reshape(1)
        if not isinstance(values, (list, tuple)):  # constants
            return mdqr.zeros(np.shape(values) or (1,), precision=precision)
        parts = [coefficient(each, degree, precision) for each in values]
        return mdqr.stack(list(mdqr.broadcast_arrays(*parts)), axis=-1)


def _moduli(
    found: np.ndarray, rows: np.ndarray, columns: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return moduli of second derivatives by one parameter, and sums by it and others, ``(m, n)``.

    `found` are coefficients along each parameter, and along each pair.
    """
    n = len(found) - rows.size
    diagonal = 2.0 * np.abs(found[:n])
    mixed = np.abs(found[n:] - found[rows] - found[columns])
    turned = diagonal.copy()
    np.add.at(turned, rows, mixed)
    np.add.at(turned, columns, mixed)
    return diagonal.T, turned.T


def coefficient(values: Any, degree: int, precision: Precision) -> MDArray:
    """Return a coefficient of series, zero of a constant."""
    if isinstance(values, PowerSeries):
        return values.coeffs[..., degree].astype(precision)
    return mdqr.zeros(np.shape(values), precision=precision)


def _series(x: MDArray, slopes: np.ndarray, degree: int) -> PowerSeries:
    """Return the series ``x + slopes t`` of the shape of the slopes."""
    block = mdqr.zeros((*slopes.shape, degree + 1), precision=x.precision, device=x.device)
    block[..., 0] = x
    block[..., 1] = slopes
    return PowerSeries(block)
