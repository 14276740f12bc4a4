"""One curve through many data sets at once, and many sets of residuals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import mdqr
from mdqr._array.array import MDArray
from mdqr._errors import warn_of_precision
from mdqr._limbs.folds import is_all
from mdqr._precision import PRECISIONS, Precision
from mdqr.linalg._shared.first_calls import expect
from mdqr.optimize._model.doubles import Doubles, doubles_of
from mdqr.optimize._public.batch import BatchInfo, fitted
from mdqr.optimize._public.result import CurveFitResult, OptimizeResult
from mdqr.optimize._public.ways_out import OUT_OF_RANGE, UNDETERMINED, of_covariance
from mdqr.optimize._solver.flat import undetermined
from mdqr.optimize._solver.solve import CONVERGED

_FOR_ONE = (*("bounds", "jac", "x_scale", "loss", "max_nfev", "callback", "verified", "progress"),)


def _check_options(name: str, given: Sequence[Any]) -> None:
    """Refuse options that a batch does not take, unless they are the defaults."""
    for option, value in zip(_FOR_ONE, given, strict=True):
        plain = value is None or (isinstance(value, str) and value in ("linear", "jac"))
        if not plain and not (option == "bounds" and _are_infinite(value)):
            raise ValueError(
                f"{name}: a batch of problems takes no `{option}`; leave it out, or fit them one "
                "at a time"
            )


def _are_infinite(bounds: Any) -> bool:
    try:
        low, high = (np.asarray(side, dtype=float) for side in bounds)
    except (TypeError, ValueError):
        return False
    return bool(np.all(low == -np.inf) and np.all(high == np.inf))


class _DataSets:
    """Observations ``(B, m)`` of curves in every precision, and where they are made."""

    def __init__(self, x: Any, y: MDArray, sigma: MDArray | None, own_x: bool) -> None:
        self._parts = {"x": x, "y": y, "sigma": sigma}
        self._own = {"y", "sigma"} | ({"x"} if own_x else set())
        self._held: dict[tuple[str, Any], Any] = {}

    def part(self, name: str, rows: Any, like: Any) -> Any:
        """Return a part of the problems `rows`, of the kind and precision of an array."""
        doubles = isinstance(like, Doubles)
        key = name, like.xp.__name__ if doubles else like.precision
        if key not in self._held:
            whole = self._parts[name]
            if isinstance(whole, MDArray) and doubles:
                whole = Doubles(like.xp, doubles_of(like.xp, whole))
            elif isinstance(whole, MDArray):
                whole = whole.astype(like.precision)
            self._held[key] = whole
        found = self._held[key]
        return found if rows is None or name not in self._own else found[rows]

    def residuals(self, values: Any, rows: Any, _: Precision | None) -> Any:
        """Return the weighted residuals of values ``(k, B, m)``."""
        r = values - self.part("y", rows, values)
        return r if self._parts["sigma"] is None else r / self.part("sigma", rows, values)


def fit_curves(
    f: Callable[..., Any],
    xdata: Any,
    y: MDArray,
    start: MDArray,
    weights: tuple[Any, bool, bool | None],
    linear: list[int] | None,
    precision: Precision,
    one: Sequence[Any],
    names: list[str],
) -> CurveFitResult:
    """Return the fits of a curve to data sets ``(..., m)``, from starting points ``(..., n)``.

    `weights` are SciPy's `sigma`, `absolute_sigma` and `check_finite`, `one` options that only one
    problem takes; `names` are of the parameters.
    """
    name, (sigma, absolute, check) = "curve_fit", weights
    expect(name, y, precision)
    _check_options(name, one)
    shape, m = y.shape[:-1], y.shape[-1]
    if not y.size:
        raise ValueError(f"{name}: `ydata` must not be empty")
    x, own = _places(name, xdata, y)
    if check is not False:
        for what, value in (("xdata", x), ("ydata", y)):
            if isinstance(value, MDArray) and not bool(is_all(mdqr.isfinite(value))):
                raise ValueError(
                    f"{name}: `{what}` must not contain infs or NaNs; leave these observations out"
                )
    start = _starts(name, start, shape).to_device(y.device)
    data = _DataSets(x, y.reshape(-1, m), _deviations(name, sigma, y), own)
    result = fitted(
        name,
        lambda b, rows, p: f(data.part("x", rows, b), *b),
        data.residuals,
        start,
        precision,
        separable=True,
        linear=linear,
        names=names,
    )
    info: BatchInfo = result.info
    found = CurveFitResult(result.x.copy(), info.covariance(scaled=not absolute))
    found.info, found.result = info, result
    found.absolute_sigma = absolute
    _warn_of_covariances(found, absolute, names)
    return found


def _warn_of_covariances(found: CurveFitResult, absolute: bool, names: list[str]) -> None:
    """Warn of minima whose parameters have no covariance."""
    jacobian, _, doubt = found.info._linearised
    n, batch = jacobian.shape[-1], found.popt.shape[:-1]
    unknown = ~mdqr.isfinite(found.pcov).all(axis=(-2, -1))
    index = np.arange(n)
    least = np.abs(found.pcov[..., index, index].limbs[0]).min(axis=-1)
    unknown |= (least < np.finfo(float).tiny) & (found.info.residual_std.limbs[0] > 0)
    which = np.flatnonzero(unknown & (found.result.status == CONVERGED))
    if not which.size:
        return
    if jacobian.shape[-2] <= n and not absolute:
        text = UNDETERMINED
    elif np.isfinite(found.info.standard_errors().limbs[0]).reshape(-1, n)[which].all():
        text = OUT_OF_RANGE
    else:
        k = int(which[0])
        place = np.unravel_index(k, batch)
        lost = undetermined(jacobian[place].to_numpy(), doubt[place])
        text = f"problem {k}: {of_covariance([names[j] for j in lost])}"
        if which.size > 1:
            text += f"; {which.size - 1} other problems have no covariance, too"
    warn_of_precision("optimize.curve_fit", text, precision=found.popt.precision)


def _places(name: str, xdata: Any, y: MDArray) -> tuple[Any, bool]:
    """Return the places of observations on the device of y, and if each curve has its own."""
    if not (
        isinstance(xdata, (list, tuple, range, MDArray, np.ndarray)) or hasattr(xdata, "__array__")
    ):
        return xdata, False
    x = mdqr.array(xdata, precision=PRECISIONS[-1]).to_device(y.device)
    if x.ndim > 1 and x.shape == y.shape:
        return x.reshape(-1, y.shape[-1]), True
    if x.ndim and x.shape[-1] != y.shape[-1]:
        raise ValueError(
            f"{name}: `xdata` has shape {x.shape}, and `ydata` {y.shape}: the last axes must have "
            "one length; leading axes of `ydata` are a batch of data sets"
        )
    return x, False


def _starts(name: str, start: MDArray, shape: tuple[int, ...]) -> MDArray:
    """Return a starting point for each problem."""
    try:
        return mdqr.broadcast_to(start, (*shape, start.shape[-1])).copy()
    except ValueError:
        raise ValueError(
            f"{name}: `p0` has shape {start.shape}, and there is a batch of {shape} problems: it "
            f"must be {(*shape, start.shape[-1])}, or one starting point for all"
        ) from None


def _deviations(name: str, sigma: Any, y: MDArray) -> MDArray | None:
    if sigma is None:
        return None
    deviations = mdqr.array(sigma, precision=PRECISIONS[-1]).to_device(y.device)
    try:
        wide = mdqr.broadcast_to(deviations, y.shape)
    except ValueError:
        raise ValueError(
            f"{name}: `sigma` has incorrect shape {deviations.shape}; of a batch it must broadcast "
            f"to that of `ydata`, {y.shape}"
        ) from None
    if deviations.is_complex:
        raise ValueError(f"{name}: `sigma` must be real")
    if not bool(((deviations > 0) & mdqr.isfinite(deviations)).all()):
        raise ValueError(f"{name}: `sigma` must be positive and finite")
    return wide.reshape(-1, y.shape[-1])


def fit_residuals(
    fun: Callable[[MDArray], Any],
    start: MDArray,
    linear: list[int] | None,
    precision: Precision | None,
    one: Sequence[Any],
) -> OptimizeResult:
    """Return the minima of residuals ``(B, m)`` that one call gives, from ``(..., n)``."""
    name = "least_squares"
    _check_options(name, one)
    if precision is None:
        n = start.shape[-1]
        trial = fun(start.reshape(-1, n).T.astype(mdqr.dd)[:, None, :, None])
        precision = trial.precision if isinstance(trial, MDArray) else mdqr.d
    return fitted(
        name,
        lambda b, rows, p: fun(b),
        lambda r, rows, p: r,
        start,
        precision,
        separable=False,
        linear=linear,
        names=[f"x[{j}]" for j in range(start.shape[-1])],
    )
