"""Plots of series by matplotlib: sizes of coefficients, ratios, poles, steps of Newton's method.

Every function draws on the axes that it gets, or on new ones, and returns them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mdqr._docstrings import documented
from mdqr.plot import _axes, digits
from mdqr.series._analysis.pade import Pade
from mdqr.series._arithmetic.series import PowerSeries
from mdqr.series._solver.solution import SeriesInfo, SeriesSolution

__all__ = ["coefficients", "convergence", "domb_sykes", "poles"]

_LEAST = 1e-320


def __dir__() -> list[str]:
    return sorted(__all__)


@documented(digits)
def coefficients(series: PowerSeries | SeriesSolution, *, ax: Any = None) -> Any:
    """Plot the sizes of coefficients against their order, with their errors and the radius.

    Parameters
    ----------
    series : PowerSeries or SeriesSolution
        One series or several; a solution of one path shows its estimated errors too.

    >>> from mdqr import series
    >>> t = series.PowerSeries.identity(8, precision="qd")
    >>> series.plot.coefficients(1 / (1 - 2 * t)).get_xlabel()
    'order k'
    """
    ax = _axes(ax)
    sizes = _sizes(series)
    orders = np.arange(sizes.shape[-1])
    for name, row in zip(_names(series, len(sizes)), sizes, strict=True):
        ax.semilogy(orders, _positive(row), "o-", markersize=3, label=name)
    if isinstance(series, SeriesSolution):
        errors = series.error_bound.max(axis=-2)
        ax.semilogy(orders, _positive(errors), "k:", label="largest error")
        if series.degree >= 4:
            radius = float(series.radius().value)
            if np.isfinite(radius):
                slope = sizes.max(axis=0)[-1] * radius ** (series.degree - orders.astype(float))
                ax.semilogy(orders, slope, "--", color="grey", label=f"radius {radius:.4g}")
    ax.set(xlabel="order k", ylabel="|c_k|")
    ax.legend()
    return ax


@documented(digits)
def domb_sykes(series: PowerSeries | SeriesSolution, *, ax: Any = None) -> Any:
    """Plot ratios ``c_k / c_(k-1)`` against 1/k: they meet the axis at 1 over the singularity.

    C. Domb and M. F. Sykes 1957. Conjugate singularities show as a wave.

    Parameters
    ----------
    series : PowerSeries or SeriesSolution
        Real series.

    Raises
    ------
    ValueError
        If the coefficients are complex.

    >>> from mdqr import series
    >>> t = series.PowerSeries.identity(8, precision="qd")
    >>> series.plot.domb_sykes((1 - 2 * t).sqrt()).get_xlabel()
    '1/k'
    """
    ax = _axes(ax)
    values = _values(series)
    if np.iscomplexobj(values):
        raise ValueError("domb_sykes takes real series; plot the real parts, or poles")
    orders = np.arange(1, values.shape[-1])
    for name, row in zip(_names(series, len(values)), values, strict=True):
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = row[1:] / row[:-1]
        ax.plot(1.0 / orders, ratios, "o-", markersize=3, label=name)
    ax.set(xlabel="1/k", ylabel="c_k / c_(k-1)", xlim=(0.0, None))
    ax.legend()
    return ax


@documented(digits)
def poles(
    approximants: Pade | Sequence[Pade], *, radius: float | None = None, ax: Any = None
) -> Any:
    """Plot the poles and zeros of approximants in the plane of ``t - t0``.

    Parameters
    ----------
    approximants : Pade or sequence of Pade
        As `SeriesSolution.pade` returns them.
    radius : float, optional
        The radius of convergence, for a circle; by default the distance of the nearest pole.

    >>> from mdqr import series
    >>> t = series.PowerSeries.identity(8, precision="qd")
    >>> series.plot.poles(series.pade(1 / (1 - 2 * t), 1, 1)).get_xlabel()
    'Re (t - t0)'
    """
    ax = _axes(ax)
    found = [approximants] if isinstance(approximants, Pade) else list(approximants)
    for i, each in enumerate(found):
        points, zeros = (roots.values.to_numpy() for roots in (each.poles, each.zeros))
        ax.plot(points.real, points.imag, "x", color=f"C{i}", label=f"poles {i}")
        ax.plot(zeros.real, zeros.imag, "o", color=f"C{i}", fillstyle="none", markersize=4)
        if radius is None and points.size:
            radius = float(abs(points).min())
        elif points.size:
            radius = min(float(radius or np.inf), float(abs(points).min()))
    if radius is not None:
        turn = np.linspace(0.0, 2.0 * np.pi, 200)
        ax.plot(radius * np.cos(turn), radius * np.sin(turn), "--", color="grey")
    ax.plot(0.0, 0.0, "k.")
    ax.set(xlabel="Re (t - t0)", ylabel="Im (t - t0)", aspect="equal")
    ax.legend()
    return ax


@documented(digits)
def convergence(info: SeriesInfo, *, ax: Any = None) -> Any:
    """Plot how many orders are right after each step of Newton's method.

    Parameters
    ----------
    info : SeriesInfo
        Of a solution with ``method="newton"``.

    Raises
    ------
    ValueError
        If the solution was found order by order.

    >>> from mdqr import series
    >>> h = series.System.from_strings(["x^2 - 1 - t"], ["x"])
    >>> s = series.newton_series(h, [1], degree=7, precision="dd", method="newton")
    >>> series.plot.convergence(s.info).get_xlabel()
    'step'
    """
    if not info.orders:
        raise ValueError('convergence shows the steps of newton_series(..., method="newton")')
    ax = _axes(ax)
    steps = np.arange(len(info.orders))
    ax.step(steps, info.orders, where="mid", label="orders that are right")
    ax.semilogy(steps, 2.0**steps, ":", color="grey", base=2, label="2^step")
    ax.set(xlabel="step", ylabel="orders")
    ax.legend()
    return ax


def _values(series: PowerSeries | SeriesSolution) -> np.ndarray:
    """Return float64 or complex128 rows."""
    found = series.coeffs.to_device("cpu").to_numpy()
    if found.ndim > 2:
        raise ValueError(f"plots take one series or n of them; the shape is {found.shape[:-1]}")
    return found.reshape(-1, found.shape[-1])


def _sizes(series: PowerSeries | SeriesSolution) -> np.ndarray:
    return np.abs(_values(series))


def _names(series: PowerSeries | SeriesSolution, count: int) -> list[str]:
    if isinstance(series, SeriesSolution):
        return list(series.system.variables)
    return [f"series {i}" for i in range(count)] if count > 1 else ["coefficients"]


def _positive(sizes: np.ndarray) -> np.ndarray:
    """Return sizes for a logarithmic axis: gaps instead of zeros."""
    return np.where(sizes > _LEAST, sizes, np.nan)
