"""Pictures of digits, spectra, poles, refinement, residuals and convergence, by matplotlib.

Every function draws on the axes that it gets, or on new ones, and returns them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mdqr._array.array import MDArray
from mdqr._docstrings import documented
from mdqr._precision import PRECISIONS

__all__ = ["convergence", "digits", "poles", "refinement", "residuals", "singular_values"]


def __dir__() -> list[str]:
    return sorted(__all__)


_DOUBLE = PRECISIONS[0]


def digits(results: Any, *, ax: Any = None) -> Any:
    """Plot the correct digits of every component of one solution or several.

    Parameters
    ----------
    results : LstsqResult, LstsqInfo, array_like or mapping
        What has digits: a result of `lstsq`, its `info`, or numbers of digits ``(n,)`` or
        ``(n, k)``; or a mapping from labels to such. For one solution its `data_digits` are shown
        too, which the errors of the data leave.
    ax : matplotlib.axes.Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    ImportError
        If matplotlib is not installed.

    Examples
    --------
    >>> import mdqr.plot
    >>> fit = mdqr.linalg.lstsq(mdqr.eye(3, 2, precision="qd"), [1.0, 2.0, 3.0])
    >>> mdqr.plot.digits(fit).get_ylabel()
    'correct decimal digits'
    """
    ax = _axes(ax)
    alone = not isinstance(results, Mapping)
    for label, each in ({"digits": results} if alone else results).items():
        info = getattr(each, "info", each)
        shown = {label: getattr(info, "digits", info)}
        if alone and hasattr(info, "data_digits"):
            shown = {"as stored": info.digits, "within the errors of the data": info.data_digits}
        for name, found in shown.items():
            rows = np.atleast_1d(_double(found))
            for k, column in enumerate(rows.reshape(len(rows), -1).T):
                ax.plot(
                    np.arange(len(rows)), column, "o-", markersize=3, label=name if not k else None
                )
    ax.axhline(_DOUBLE.digits, color="grey", linewidth=0.8, linestyle=":", label="double")
    ax.set(xlabel="component", ylabel="correct decimal digits")
    ax.set_ylim(bottom=0.0)
    ax.legend()
    return ax


@documented(digits)
def singular_values(values: Any, *, ax: Any = None) -> Any:
    """Plot how singular values decay, with the level that float64 does not see below.

    Parameters
    ----------
    values : array_like or mapping
        Singular values ``(n,)`` as `svdvals` returns them, or a mapping from labels to such.

    >>> import mdqr.plot
    >>> i = mdqr.arange(1, 21, precision="od")
    >>> hilbert = 1 / (i[:, None] + i - 1)
    >>> mdqr.plot.singular_values(mdqr.linalg.svdvals(hilbert)).get_yscale()
    'log'
    """
    ax, largest = _axes(ax), 0.0
    named = values if isinstance(values, Mapping) else {"singular values": values}
    for label, each in named.items():
        found = _double(each)
        largest = max(largest, float(found.max(initial=0.0)))
        ax.semilogy(np.arange(1, len(found) + 1), _positive(found), "o-", markersize=3, label=label)
    if largest:
        floor = largest * _DOUBLE.eps
        ax.axhline(
            floor,
            color="grey",
            linewidth=0.8,
            linestyle=":",
            label="float64: the largest times eps",
        )
    ax.set(xlabel="index", ylabel="singular value")
    ax.legend()
    return ax


@documented(digits)
def poles(
    points: Any, *, zeros: Any = (), radii: Any = None, label: str = "poles", ax: Any = None
) -> Any:
    """Plot poles, or roots, in the complex plane.

    Parameters
    ----------
    points : array_like
        The poles ``(n,)``, drawn as crosses.
    zeros : array_like, optional
        Zeros, drawn as circles.
    radii : array_like, optional
        Radii of disks that hold the points, as `roots` returns them, or one for all; disks are
        drawn.
    label : str, optional
        What the legend calls the points.

    See Also
    --------
    mdqr.series.plot.poles : Those of Pade approximants, with the circle of convergence.

    >>> import mdqr.plot
    >>> mdqr.plot.poles([1j, -1j], zeros=[0.5]).get_xlabel()
    'real part'
    """
    ax = _axes(ax)
    drawn = [(label, points, {"marker": "x"})]
    if np.size(_double(zeros)):
        drawn.append(("zeros", zeros, {"marker": "o", "fillstyle": "none"}))
    for name, values, style in drawn:
        found = _double(values)
        ax.plot(found.real, found.imag, linestyle="none", label=name, **style)
    if radii is not None:
        centres = _double(points)
        for point, radius in zip(
            centres, np.broadcast_to(_double(radii), centres.shape), strict=True
        ):
            turn = radius * np.exp(2j * np.pi * np.linspace(0.0, 1.0, 100))
            ax.plot((point + turn).real, (point + turn).imag, color="grey", linewidth=0.8)
    ax.axhline(0.0, color="grey", linewidth=0.5)
    ax.axvline(0.0, color="grey", linewidth=0.5)
    ax.set(xlabel="real part", ylabel="imaginary part", aspect="equal")
    ax.legend()
    return ax


@documented(digits)
def refinement(info: Any, *, ax: Any = None) -> Any:
    """Plot by how much each refinement step of a solution changed it.

    Parameters
    ----------
    info : LstsqInfo or LstsqResult
        Of `lstsq`; small systems are one kernel call, without a history.

    Raises
    ------
    ValueError
        If the history is missing.

    >>> import mdqr.plot
    >>> a = mdqr.testing.matrix("random", 80, 70, precision="qd", cond=1e3, rng=1)
    >>> fit = mdqr.linalg.lstsq(a, a.sum(axis=1))
    >>> mdqr.plot.refinement(fit).get_xlabel()
    'step'
    """
    history = np.asarray(getattr(info, "info", info).history)
    if not history.size:
        raise ValueError(
            "refinement: no step was recorded: systems of at most 64 unknowns are one kernel call, "
            'unless lstsq reports progress, or method="householder"'
        )
    ax = _axes(ax)
    ax.semilogy(np.arange(1, len(history) + 1), _positive(history), "o-", markersize=4)
    ax.set(xlabel="step", ylabel="largest relative change")
    return ax


@documented(digits)
def residuals(fitted: Any, observed: Any, *, ax: Any = None) -> Any:
    """Plot the residuals of a model against its fitted values.

    Parameters
    ----------
    fitted : array_like
        Values of the model ``(m,)``, such as ``a @ fit.x``.
    observed : array_like
        The observations; subtracted in the higher precision of both.

    >>> import mdqr.plot
    >>> mdqr.plot.residuals([1.0, 2.0], [1.5, 1.5]).get_ylabel()
    'residual'
    """
    ax = _axes(ax)
    ax.axhline(0.0, color="grey", linewidth=0.8)
    fitted, observed = _array(fitted), _array(observed)
    ax.plot(_double(fitted), _double(observed - fitted), "k.")
    ax.set(xlabel="fitted", ylabel="residual")
    return ax


@documented(digits)
def convergence(values: Any, reference: Any = None, *, ax: Any = None) -> Any:
    """Plot the errors of a sequence of approximations.

    Errors are formed in the precision of the values, so that they are seen below 1e-16.

    Parameters
    ----------
    values : array_like or mapping
        Approximations ``(n,)``, or a mapping from labels to such.
    reference : scalar, optional
        The limit; without it the differences of successive values are shown.

    >>> import mdqr.plot
    >>> n = mdqr.arange(1, 30, precision="qd")
    >>> mdqr.plot.convergence((1 + 1 / n) ** n, mdqr.exp(mdqr.qd(1))).get_ylabel()
    'error'
    """
    ax = _axes(ax)
    for label, each in (values if isinstance(values, Mapping) else {"": values}).items():
        found = _array(each)
        error = found[1:] - found[:-1] if reference is None else found - reference
        ax.semilogy(
            np.arange(len(error)), _positive(abs(_double(error))), "o-", markersize=3, label=label
        )
        if label:
            ax.legend()
    ax.set(xlabel="index", ylabel="difference to the next" if reference is None else "error")
    return ax


def _axes(ax: Any) -> Any:
    """Return `ax`, or new axes for None."""
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ModuleNotFoundError as error:
        raise ImportError('plots need matplotlib: pip install "mdqr[plot]"') from error
    return pyplot.subplots()[1]


def _array(values: Any) -> Any:
    """Return an MDArray as it is, what else there is as a NumPy array."""
    return values if isinstance(values, MDArray) else np.asarray(values)


def _double(values: Any) -> np.ndarray:
    """Return float64 or complex128 values."""
    found = _array(values)
    return found.to_device("cpu").to_numpy() if isinstance(found, MDArray) else found


def _positive(sizes: np.ndarray) -> np.ndarray:
    """Return sizes for a logarithmic axis: gaps instead of zeros."""
    return np.where(sizes > 0, sizes, np.nan)
