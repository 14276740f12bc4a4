"""Fits of curves."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

import mdqr
from mdqr._array.array import MDArray
from mdqr._errors import warn_of_precision
from mdqr._precision import PRECISIONS, Precision
from mdqr._progress import Progress, Report, with_report
from mdqr._stability import experimental
from mdqr._typing import PrecisionLike
from mdqr.linalg import LinAlgError, cholesky, solve_triangular
from mdqr.linalg._shared.operands import data_precision, entry_unit, gather
from mdqr.optimize._enclosure.ball import enclosed
from mdqr.optimize._enclosure.jet import Jet, vector
from mdqr.optimize._model.box import numbers
from mdqr.optimize._model.doubles import Doubles, doubles_of
from mdqr.optimize._model.function import Function
from mdqr.optimize._public.curves import fit_curves
from mdqr.optimize._public.least_squares import (
    Exact,
    as_values,
    jac_of,
    linear_of,
    problem_of,
    start_of,
)
from mdqr.optimize._public.options import refuse_unknown
from mdqr.optimize._public.report import result_of
from mdqr.optimize._public.result import CurveFitResult, OptimizeResult
from mdqr.optimize._public.statistics import Undetermined
from mdqr.optimize._public.ways_out import OUT_OF_RANGE, UNDETERMINED, of_covariance
from mdqr.optimize._solver.solve import CONVERGED, solve

NAME = "curve_fit"


class _Data:
    """Observations in every precision: residuals are ``W (f - y)``.

    W are one over the standard deviations, or the inverse of the Cholesky factor of a covariance.
    """

    def __init__(self, x: Any, y: MDArray, root: MDArray | None, factor: MDArray | None) -> None:
        self._x, self._y, self._root, self._factor = x, y, root, factor
        self._held: dict[Precision | None, tuple[Any, Any, Any]] = {}

    def at(self, precision: Precision | None) -> tuple[Any, Any, Any]:
        """Return x, y and deviations in a precision, without one as `Doubles`."""
        if precision not in self._held:
            parts = (self._x, self._y, self._root)
            x, y, root = (_in(each, precision) for each in parts)
            self._held[precision] = x, y, root
        return self._held[precision]

    def residuals(self, values: Any, precision: Precision | None) -> Any:
        """Return the weighted residuals of values of the curve, ``(..., m)``."""
        return self.weighted(values - self.at(precision)[1], precision)

    def weighted(self, rows: Any, precision: Precision | None) -> Any:
        """Return rows ``(..., m)`` times the weights."""
        if self._root is not None:
            return rows / self.at(precision)[2]
        if self._factor is not None and precision is None:
            raise TypeError("weights of correlated observations are not of doubles")
        if self._factor is not None:
            factor = self._factor.astype(precision)
            columns = rows.reshape(-1, rows.shape[-1]).T
            # Values that are not finite are no error: points far away are tried, and refused.
            known = mdqr.isfinite(columns).all(axis=0)
            columns = mdqr.where(known, columns, 0.0)
            found = solve_triangular(factor, columns, lower=True)
            return mdqr.where(known, found, np.nan).T.reshape(rows.shape)
        return rows

    def values(self, f: Callable[..., Any]) -> Callable[[Any, Precision | None], Any]:
        """Return the values of the curve as a function of its parameters and a precision."""
        return lambda b, precision: f(self.at(precision)[0], *b)

    def enclosed(self, f: Callable[..., Any]) -> Callable[[Jet], Jet] | None:
        """Return the weighted residuals as a function of enclosures; None for correlated ones."""

        def residuals(b: Jet) -> Jet:
            exact = isinstance(self._x, MDArray)
            x = Jet(enclosed(self._x, b.precision)) if exact else self._x
            values = vector(f(x, *b), b) - self._y
            return values if self._root is None else values / self._root

        return residuals if self._factor is None else None


def _in(whole: Any, precision: Precision | None) -> Any:
    """Return an array in a precision, without one as `Doubles`; anything else as it is."""
    if not isinstance(whole, MDArray):
        return whole
    return whole.astype(precision) if precision else Doubles(np, doubles_of(np, whole))


@experimental
def curve_fit(
    f: Callable[..., Any],
    xdata: Any,
    ydata: Any,
    p0: Any = None,
    sigma: Any = None,
    absolute_sigma: bool = False,
    check_finite: bool | None = None,
    bounds: Any = (-np.inf, np.inf),
    method: str | None = None,
    jac: Any = None,
    *,
    full_output: bool = False,
    nan_policy: str | None = None,
    x_scale: Any = None,
    loss: str = "linear",
    f_scale: Any = 1.0,
    max_nfev: int | None = None,
    callback: Callable[[OptimizeResult], Any] | None = None,
    linear: Sequence[int | str] | None = None,
    precision: PrecisionLike | None = None,
    verified: bool = False,
    progress: Progress = None,
    **others: Any,
) -> Any:
    """Fit a curve to data by nonlinear least squares, to all digits of a precision.

    Parameters
    ----------
    f : callable
        Called as ``f(xdata, *params)`` with an `MDArray` and 0-d ones; returns the values of the
        curve, ``(m,)``, real or complex. Where it broadcasts, one call gets many points: then each
        parameter is an array ``(k, 1)``. See `least_squares` for how it must compute.
    xdata : array_like
        Where the curve is observed, ``(m,)``, ``(k, m)``, or an object that `f` understands.
    ydata : array_like
        The observations, ``(m,)``; of a batch of data sets ``(..., m)``. `xdata` may then have that
        shape, too, and `p0` leading axes. All problems are evaluated in one call, with parameters
        of shape ``(k, b, 1)``: `f` must broadcast. `bounds`, `jac`, `x_scale`, `loss`, `max_nfev`
        and `callback` are for one problem.
    p0 : array_like, optional
        The starting point; by default ones, or within bounds, for the parameters in the signature
        of `f`.
    sigma : array_like, optional
        Standard deviations of `ydata`, ``(m,)`` or a number, or their covariance matrix ``(m, m)``.
    absolute_sigma : bool, optional
        Whether `sigma` are the deviations themselves, and not only their ratios: `pcov` is then not
        scaled by the residuals.
    check_finite : bool, optional
        If false, data that are not finite are not refused.
    bounds : pair of array_like, optional
        Lower and upper bounds, or an object with `lb` and `ub`.
    method : None, optional
        Only None: mdqr has one method.
    jac : callable or "series", optional
        Called as `f`; returns the derivatives ``(m, n)`` by the parameters. Others: see
        `least_squares`.
    full_output : bool, optional
        Whether to return ``(popt, pcov, infodict, mesg, ier)``.
    nan_policy : {None, "raise"}, optional
        Either: NaN are refused, with `check_finite`.
    x_scale, loss, f_scale, max_nfev, callback : optional
        See `least_squares`.
    linear : sequence of int or str, optional
        Parameters, by index or name, in which `f` is linear. By default they are found.
    precision : Precision or str, optional
        The precision of the result; by default the highest of the data and `p0`.
    verified : bool, optional
        Whether to prove the minimum; see `least_squares`. `xdata` is then an enclosure, too.
    progress : callable or bool, optional
        Called as ``progress(stage, done, total)`` after each step; True shows a bar.
    **others
        Options that are not needed; they raise TypeError.

    Returns
    -------
    CurveFitResult
        ``(popt, pcov)``, with `info` and `result`; with `full_output` five values, as SciPy's. Of a
        batch, arrays have its shape in front, and `result.status` is the end of each problem.

    Raises
    ------
    TypeError, ValueError
        As `least_squares`; also if the data have other shapes than each other or `sigma`, are not
        finite, or parameters cannot be counted.
    numpy.linalg.LinAlgError
        If a covariance matrix `sigma` is not positive definite.

    Warns
    -----
    PrecisionWarning
        As `least_squares`, and if the covariance of the parameters is not determined: where the
        Jacobian is singular at the minimum, or there are no more observations than parameters.

    See Also
    --------
    least_squares : The method and its bounds.

    Examples
    --------
    >>> import mdqr
    >>> x = mdqr.array(["77.6", "114.9", "141.1", "190.8"], precision=mdqr.qd)
    >>> y = mdqr.array(["10.07", "14.73", "17.94", "23.93"], precision=mdqr.qd)
    >>> fit = mdqr.optimize.curve_fit(lambda x, a, b: a * (1 - mdqr.exp(-b * x)), x, y, [250, 5e-4])
    >>> popt, pcov = fit
    >>> popt.to_strings(15).tolist()
    ['222.868450413903', '0.000595174221090869']
    >>> fit.info.standard_errors().to_numpy().round(7).tolist()
    [6.7020783, 1.87e-05]
    """
    if not (progress is None or isinstance(progress, Report)):
        return with_report(curve_fit, locals())
    _check_call(f, method, nan_policy, others)
    names, indices = _parameters(f, linear)
    if (observed := numbers(NAME, "ydata", ydata, PRECISIONS[-1])).ndim > 1:
        one = (bounds, jac, x_scale, loss, max_nfev, callback, verified or None, progress)
        start, work = start_of(NAME, _start(p0, bounds, names), precision, batch=True)
        work = max(work, *(_precision_of(data, precision) for data in (xdata, ydata)))
        named, names = linear_of(NAME, indices, start.shape[-1]), _names_of(start.shape[-1], names)
        weights = (sigma, absolute_sigma, check_finite)
        fits = fit_curves(f, xdata, observed, start, weights, named, work, one, names)
        return _output(fits, full_output)
    data, y, unit, held = _data(xdata, ydata, sigma, check_finite, precision)
    start, work = start_of(NAME, _start(p0, bounds, names), precision)
    work = max(work, held) if precision is None else work
    names = _check_values(f, data, start, y.shape[0], names)
    exact = Exact(_derivative(jac, data), data.values(f), data.weighted, data.enclosed(f))
    problem = problem_of(
        Function(NAME, data.values(f), data.residuals), start, work, exact, jac, bounds,
        names=names, x_scale=x_scale, loss=loss, f_scale=f_scale, max_nfev=max_nfev,
        callback=callback, linear=indices, verified=verified, progress=progress,
    )  # fmt: skip
    outcome = solve(problem, start.astype(mdqr.dd))
    result = result_of(problem, outcome, _rounded(data, y, unit), _total(data, y, work))
    return _output(_fit_of(result, absolute_sigma, work, names), full_output)


def _fit_of(
    result: OptimizeResult, absolute_sigma: bool, work: Precision, names: list[str]
) -> CurveFitResult:
    fit = CurveFitResult(result.x.copy(), _covariance(result, absolute_sigma, work, names))
    fit.info, fit.result, fit.absolute_sigma = result.info, result, bool(absolute_sigma)
    return fit


def _check_call(f: Any, method: Any, nan_policy: Any, others: Mapping[str, Any]) -> None:
    """Refuse what cannot be called, a method, and options that are not needed."""
    refuse_unknown(NAME, others)
    if nan_policy == "omit":
        raise ValueError(
            f"{NAME}: nan_policy='omit' would have to guess the axis of xdata; leave the "
            "observations out: keep = ~np.isnan(ydata), then xdata[..., keep], ydata[keep]"
        )
    if nan_policy not in (None, "raise"):
        raise ValueError(
            f"{NAME}: `nan_policy` must be None, 'raise' or 'omit'; got {nan_policy!r}"
        )
    if not callable(f):
        raise TypeError(f"{NAME}: `f` must be callable; got {type(f).__name__}")
    if method is not None:
        raise ValueError(f"{NAME}: there is one method; leave method={method!r} out")


def _output(fit: CurveFitResult, full_output: bool) -> Any:
    """Return two values, or SciPy's five."""
    if full_output:
        result = fit.result
        info = {"nfev": result.nfev, "fvec": result.fun}
        return *fit, info, result.message, 1 if np.all(result.success) else 5
    return fit


def _precision_of(data: Any, precision: PrecisionLike | None) -> Precision:
    """Return the precision asked for, or the one of an array."""
    is_array = isinstance(data, (list, tuple, range)) or hasattr(data, "__array__")
    return gather(data if is_array else 0.0, precision=precision).precision


def _derivative(jac: Any, data: _Data) -> Callable[[MDArray, Precision], MDArray] | None:
    """Return the Jacobian of the weighted residuals, or None for differences."""
    given = jac_of(NAME, jac)
    if given is None:
        return None
    return lambda b, p: data.weighted(as_values(given(data.at(p)[0], *b), p).T, p).T


def _parameters(
    f: Callable[..., Any], linear: Sequence[int | str] | None
) -> tuple[list[str], Sequence[int] | None]:
    """Return the names of the parameters, and the indices of linear ones."""
    names = _names(f)
    return names, _indices(linear, names)


def _names(f: Callable[..., Any]) -> list[str]:
    """Return the names of the parameters, none where the signature has none."""
    try:
        given = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        return []
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if any(p.kind == inspect.Parameter.VAR_POSITIONAL for p in given):
        return []
    return [p.name for p in given if p.kind in kinds][1:]


def _start(p0: Any, bounds: Any, names: list[str]) -> Any:
    """Return the starting point, by default ones, or the middle of bounds."""
    if p0 is not None:
        return p0
    if not names:
        raise ValueError(
            f"{NAME}: Unable to determine number of fit parameters: give p0, a starting point"
        )
    pair = (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else bounds
    try:
        sides = [
            np.broadcast_to(mdqr.array(side, precision=mdqr.dd).to_numpy(), (len(names),))
            for side in pair
        ]
    except (TypeError, ValueError):
        return np.ones(len(names))  # bounds are refused where they are read
    low, high = sides
    both = np.isfinite(low) & np.isfinite(high)
    with np.errstate(invalid="ignore"):
        start = np.where(both, 0.5 * (low + high), 1.0)
        start = np.where(np.isfinite(low) & ~both, np.maximum(low + 1.0, 1.0), start)
        return np.where(np.isfinite(high) & ~both, np.minimum(high - 1.0, 1.0), start)


def _data(
    xdata: Any, ydata: Any, sigma: Any, check: bool | None, precision: PrecisionLike | None
) -> tuple[_Data, MDArray, float, Precision]:
    """Return the data in the highest precision, the unit of y, and the precision of the data."""
    top = PRECISIONS[-1]
    y = numbers(NAME, "ydata", ydata, top)
    if y.ndim != 1:
        raise ValueError(f"{NAME}: `ydata` must have one axis; got shape {y.shape}")
    if not y.size:
        raise ValueError(f"{NAME}: `ydata` must not be empty")
    held = gather(ydata, precision=precision).precision
    unit = entry_unit(ydata, data_precision(ydata, held))
    x: Any = xdata
    if isinstance(xdata, (list, tuple, range, MDArray, np.ndarray)) or hasattr(xdata, "__array__"):
        x = numbers(NAME, "xdata", xdata, top)
        held = max(held, gather(xdata, precision=precision).precision)
        if x.ndim and x.shape[-1] != y.size and x.shape[0] != y.size:
            raise ValueError(
                f"{NAME}: `xdata` has shape {x.shape}, and there are {y.size} observations"
            )
    arrays = {"xdata": x, "ydata": y} if isinstance(x, MDArray) else {"ydata": y}
    if check is not False:
        for name, value in arrays.items():
            if not bool(mdqr.isfinite(value).all()):
                raise ValueError(
                    f"{NAME}: `{name}` must not contain infs or NaNs; leave these observations out"
                )
    root = factor = None
    if sigma is not None:
        root, factor = _weights(numbers(NAME, "sigma", sigma, top), y.size)
    return _Data(x, y, root, factor), y, unit, held


def _weights(sigma: MDArray, m: int) -> tuple[MDArray | None, MDArray | None]:
    if sigma.is_complex:
        raise ValueError(f"{NAME}: `sigma` must be real")
    if sigma.ndim < 2 and sigma.size in (1, m):
        if not bool(((sigma > 0) & mdqr.isfinite(sigma)).all()):
            raise ValueError(f"{NAME}: `sigma` must be positive and finite")
        return sigma, None
    if sigma.shape == (m, m):
        if not mdqr.array_equal(sigma, sigma.T):
            raise ValueError(f"{NAME}: `sigma` is not symmetric: a covariance matrix must be")
        try:
            return None, cholesky(sigma)
        except LinAlgError:
            raise LinAlgError(
                f"{NAME}: `sigma` is not positive definite: a covariance matrix must be"
            ) from None
    raise ValueError(
        f"{NAME}: `sigma` has incorrect shape {sigma.shape}; it must be ({m},) or ({m}, {m})"
    )


def _check_values(
    f: Callable[..., Any], data: _Data, start: MDArray, m: int, names: list[str]
) -> list[str]:
    """Refuse values of another shape than the observations; return names of the parameters."""
    x = data.at(mdqr.dd)[0]
    values = f(x, *start.astype(mdqr.dd))
    shape = values.shape if isinstance(values, MDArray) else np.shape(values)
    if values is not None and tuple(shape) != (m,):
        raise ValueError(
            f"{NAME}: `f` returned values of shape {tuple(shape)} for {m} observations; it must be "
            f"({m},)"
        )
    return _names_of(start.size, names)


def _names_of(n: int, names: list[str]) -> list[str]:
    """Return the names of n parameters, `names` of the signature where it has as many."""
    return names if len(names) == n else [f"p[{j}]" for j in range(n)]


def _indices(linear: Sequence[int | str] | None, names: list[str]) -> Sequence[int] | None:
    if linear is None:
        return None
    unknown = [key for key in linear if isinstance(key, str) and key not in names]
    if unknown:
        raise ValueError(f"{NAME}: `linear` names {unknown[0]!r}; the parameters are {names}")
    return [names.index(key) if isinstance(key, str) else key for key in linear]


def _rounded(data: _Data, y: MDArray, unit: float) -> np.ndarray:
    """Return bounds of the errors of the weighted residuals by the errors of y."""
    sizes = unit * np.abs(y.to_numpy())
    if data._factor is not None:
        inverse = solve_triangular(
            data._factor.astype(mdqr.dd), mdqr.eye(y.size, precision=mdqr.dd), lower=True
        )
        errors = np.abs(inverse.to_numpy()) @ sizes
    else:
        errors = sizes if data._root is None else sizes / data._root.to_numpy()
    return np.concatenate([errors, errors]) if y.is_complex else errors


def _total(data: _Data, y: MDArray, precision: Precision) -> MDArray:
    """Return the weighted sum of squares of y about its mean."""
    y = y.astype(precision)
    weighted = data.weighted(y, precision)
    ones = data.weighted(mdqr.ones_like(y), precision)
    mean = (mdqr.conj(ones) * weighted).sum() / (mdqr.conj(ones) * ones).sum()
    return (abs(weighted - mean * ones) ** 2).sum()


def _covariance(
    result: OptimizeResult, absolute: bool, precision: Precision, names: list[str]
) -> MDArray:
    n = result.x.shape[0]
    warn = partial(warn_of_precision, f"optimize.{NAME}", precision=precision)
    try:
        if not result.success or result.status != CONVERGED:
            raise LinAlgError
        pcov = result.info.covariance(scaled=not absolute)
        variances = np.abs(pcov.limbs[0].diagonal())
        if bool(mdqr.isfinite(pcov).all()):
            if np.any(variances < np.finfo(float).tiny) and bool((result.fun != 0).any()):
                warn(OUT_OF_RANGE)
            return pcov
        many = result.jac.shape[0] > n or absolute
        warn(OUT_OF_RANGE if many else UNDETERMINED)
    except Undetermined as singular:
        warn(of_covariance([names[j] for j in singular.parameters]))
    except LinAlgError:
        pass  # of a fit that has warned
    return mdqr.full((n, n), np.inf, precision=precision)
