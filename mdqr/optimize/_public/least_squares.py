"""Nonlinear least squares."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

import mdqr
from mdqr._array.array import MDArray
from mdqr._core.promotion import precisions_in
from mdqr._precision import PRECISIONS, Precision, as_precision
from mdqr._progress import Progress, Report, Reporter, Steps, with_report
from mdqr._stability import experimental
from mdqr._typing import PrecisionLike
from mdqr.optimize._enclosure.jet import Jet
from mdqr.optimize._model.box import Box, box_of, numbers
from mdqr.optimize._model.derivatives import Differences, Given
from mdqr.optimize._model.forward import Forward
from mdqr.optimize._model.function import Function
from mdqr.optimize._model.loss import loss_of
from mdqr.optimize._model.points import power_near_one
from mdqr.optimize._public.curves import fit_residuals
from mdqr.optimize._public.options import check_limit, refuse_unknown
from mdqr.optimize._public.report import result_of
from mdqr.optimize._public.result import OptimizeResult
from mdqr.optimize._solver.problem import Problem, Stopped
from mdqr.optimize._solver.solve import solve

_DIFFERENCES = ("2-point", "3-point", "cs")
SERIES = "series"


class Exact(NamedTuple):
    """The source of exact derivatives: the caller's Jacobian, or values of power series.

    `weighted` multiplies rows of derivatives of the values by the weights of residuals, and
    `enclosed` returns residuals for parameters that are enclosures; None if these have none.
    """

    jacobian: Callable[[MDArray, Precision], MDArray] | None
    values: Callable[[Any, Precision], Any]
    weighted: Callable[[MDArray, Precision], MDArray] = lambda rows, _: rows
    enclosed: Callable[[Jet], Any] | None = None

    def derivatives(self, function: Function, box: Box, jac: Any) -> Differences:
        """Return the derivatives for the option `jac`."""
        if self.jacobian is not None:
            return Given(function, box, self.jacobian)
        if jac == SERIES:
            return Forward(function, box, self.values, self.weighted)
        return Differences(function, box)


@experimental
def least_squares(
    fun: Callable[..., Any],
    x0: Any,
    jac: Any = None,
    bounds: Any = (-np.inf, np.inf),
    *,
    x_scale: Any = None,
    loss: str = "linear",
    f_scale: Any = 1.0,
    max_nfev: int | None = None,
    callback: Callable[[OptimizeResult], Any] | None = None,
    args: tuple[Any, ...] = (),
    kwargs: Mapping[str, Any] | None = None,
    linear: Sequence[int] | None = None,
    precision: PrecisionLike | None = None,
    verified: bool = False,
    progress: Progress = None,
    **others: Any,
) -> OptimizeResult:
    """Minimise a sum of squares of nonlinear functions, to all digits of a precision.

    Parameters
    ----------
    fun : callable
        Called as ``fun(x, *args, **kwargs)`` with an `MDArray` ``(n,)``; returns the residuals,
        ``(m,)``, real or complex. It is evaluated in dd, qd and od, so it must compute in the
        precision of x: with functions of mdqr, decimal strings and `mdqr.pi`. Where it broadcasts,
        one call gets many points, as an array ``(n, k, 1)``; that is tried, and checked, once. Far
        from a minimum it is called with arrays of float64 that have the arithmetic and elementary
        functions of mdqr, if it takes these; errors that it raises then are ignored.
    x0 : array_like
        The starting point, ``(n,)`` or a number; real. Of a batch of b problems ``(..., n)``: `fun`
        is then called with an array ``(n, k, b, 1)``, and returns ``(k, b, m)``; `bounds`, `jac`,
        `x_scale`, `loss`, `max_nfev`, `callback`, `verified` and `progress` are for one problem.
    jac : callable or "series", optional
        Called as `fun`; returns the Jacobian ``(m, n)``. "series": exact derivatives, from `fun`
        called with `mdqr.series.PowerSeries`, for which functions of mdqr and NumPy work. By
        default, and for SciPy's "2-point", "3-point" and "cs", derivatives are differences in a
        higher precision.
    bounds : pair of array_like, optional
        Lower and upper bounds, or an object with `lb` and `ub`. `fun` is called inside of them.
    x_scale : array_like or "jac", optional
        Scales of the parameters in the first phase; by default the norms of the columns of the
        Jacobian, which is "jac".
    loss : {"linear", "soft_l1", "huber", "cauchy", "arctan"}, optional
        What is summed, SciPy's `rho`; "linear" are squares. Of complex residuals the real and the
        imaginary part count as two.
    f_scale : float, optional
        The residual at which a loss begins to differ from squares.
    max_nfev : int, optional
        How many points may be tried, 10,000 by default.
    callback : callable, optional
        Called as ``callback(intermediate_result=result)`` or ``callback(x)``, by the name of its
        parameter as in SciPy, after each step; `result` has `x`, `fun`, `cost` and `nit`.
        StopIteration ends the fit.
    args, kwargs : tuple, dict, optional
        More arguments of `fun` and `jac`.
    linear : sequence of int, optional
        Parameters in which `fun` is linear. By default they are found; ``[]`` is none.
    precision : Precision or str, optional
        The precision of the result; by default the highest of `x0` and of what `fun` returns.
    verified : bool, optional
        Whether to prove that a minimum lies within `info.error_bound` of x, and that no other one
        does. `fun` is then also called with enclosures: arrays with the arithmetic and elementary
        functions of mdqr, which it may not compare, convert or round.
    progress : callable or bool, optional
        Called as ``progress(stage, done, total)`` after each step; True shows a bar.
    **others
        SciPy's options that are not needed; they raise TypeError.

    Returns
    -------
    OptimizeResult
        SciPy's items, and `info`. Of a batch, arrays have its shape in front; `status` and
        `success` have one entry a problem.

    Raises
    ------
    TypeError
        If `fun` or `callback` cannot be called, or an option is unknown.
    ValueError
        If `x0` is complex, empty, not finite or outside of the bounds, bounds do not fit, residuals
        are not finite in the initial point, or shapes change between calls.

    Warns
    -----
    PrecisionWarning
        If no minimum was found, or it is not unique, with the parameter.

        If `fun` rounds to float64 or to another precision lower than its parameters'.

        If less than half of the digits are correct.

    Notes
    -----
    **The basin.** Levenberg and Marquardt's method, with residuals and Jacobians in float64 where
    `fun` takes such arrays, and where that fails in dd. Columns are
    scaled by their largest norms (J. J. More 1978), the damping follows the ratio of gains (H. B.
    Nielsen 1999), steps are projected on the bounds (C. Kanzow, N. Yamashita, M. Fukushima 2004).
    Attempts with other dampings and starting points follow where one fails; in these, parameters in
    which `fun` is linear are solved for (variable projection, G. Golub and V. Pereyra 1973).

    **The digits.** Newton's method on the gradient, the function evaluated in qd, then in the next
    precision above the result's. There differences over half of the digits are accurate to all
    digits of the result. Above od no precision follows: differences of 12 points give about 110
    digits, times the conditioning. Second derivatives are differences, too.

    **The bound** is an estimate: twice the last step, ``abs(H^-1)`` times the errors of the
    gradient, and the rounding of x. The errors of the function are measured by a table of
    differences (J. J. More and S. M. Wild 2011), which does not show what underflows inside it and
    is multiplied there. The errors of the Jacobian are two of them over
    the step and the next term of the series. Which minimum is found cannot be certified.

    Examples
    --------
    >>> import mdqr
    >>> t = mdqr.array(["0", "0.5", "1", "1.5", "2"], precision=mdqr.qd)
    >>> y = mdqr.array(["2.1", "1.3", "0.7", "0.5", "0.2"], precision=mdqr.qd)
    >>> fit = mdqr.optimize.least_squares(lambda b: b[0] * mdqr.exp(-b[1] * t) - y, [1, 1])
    >>> fit.x.to_strings(20).tolist()
    ['2.1149756235661060400', '1.0433220815935927054']
    >>> bool(fit.info.digits.min() > 60)
    True
    """
    if not (progress is None or isinstance(progress, Report)):
        return with_report(least_squares, locals())
    name = "least_squares"
    _check_call(name, fun, others)
    if not isinstance(args, (tuple, list)) or not isinstance(kwargs or {}, Mapping):
        raise TypeError(f"{name}: `args` must be a tuple, and `kwargs` a dict")
    options = dict(kwargs or {})

    def values(x: Any, _: Precision | None) -> Any:
        return fun(x, *args, **options)

    function = Function(name, values, lambda r, precision: r)
    start, work = start_of(name, x0, precision, batch=True)
    if start.ndim > 1:
        one = (bounds, jac, x_scale, loss, max_nfev, callback, verified or None, progress)
        held = work if precision is not None or isinstance(x0, MDArray) else None
        chosen = linear_of(name, linear, start.shape[-1])
        return fit_residuals(lambda b: values(b, b.precision), start, chosen, held, one)
    start = start.reshape(-1)
    work = work if precision is not None else precision_of(function, start, work)
    given = jac_of(name, jac)
    exact = Exact(
        given and (lambda x, p: as_values(given(x, *args, **options), p)),
        values,
        enclosed=lambda x: values(x, work),
    )
    problem = problem_of(
        function, start, work, exact, jac, bounds, names=[f"x[{j}]" for j in range(start.size)],
        x_scale=x_scale, loss=loss, f_scale=f_scale, max_nfev=max_nfev, callback=callback,
        linear=linear, verified=verified, progress=progress,
    )  # fmt: skip
    return result_of(problem, solve(problem, start.astype(mdqr.dd)))


def _check_call(name: str, fun: Any, others: Mapping[str, Any]) -> None:
    refuse_unknown(name, others)
    if not callable(fun):
        raise TypeError(f"{name}: `fun` must be callable; got {type(fun).__name__}")


def start_of(
    name: str,
    x0: Any,
    precision: PrecisionLike | None,
    *,
    batch: bool = False,
    complex_too: bool = False,
) -> tuple[MDArray, Precision]:
    """Return the starting point in the highest precision, and the precision of the result.

    With `batch` it may have leading axes.
    """
    found = as_precision(precision) if precision is not None else None
    held = (x0.precision,) if isinstance(x0, MDArray) else precisions_in(x0)
    work = found or max(held, default=mdqr.d)
    start = numbers(name, "x0", x0, PRECISIONS[-1])
    if start.is_complex and not complex_too:
        raise ValueError(f"{name}: `x0` must be real; give real and imaginary parts as parameters")
    if start.ndim > 1 and not batch:
        raise ValueError(f"{name}: `x0` must have at most 1 dimension; got shape {start.shape}")
    if not start.size:
        raise ValueError(f"{name}: `x0` is empty; give a starting value for each parameter")
    start = start if batch else start.reshape(-1)
    if not bool(mdqr.isfinite(start).all()):
        raise ValueError(f"{name}: `x0` is not finite: {start.to_numpy().tolist()}")
    return start, work


def precision_of(function: Function, start: MDArray, least: Precision) -> Precision:
    """Return the precision of the values of a function, at least `least`."""
    function.at(start.astype(least), least)
    return max(least, function.most or least)


def jac_of(name: str, jac: Any) -> Callable[..., Any] | None:
    """Return the caller's Jacobian, or None for differences and series."""
    if jac is None or (isinstance(jac, str) and jac in (*_DIFFERENCES, SERIES)):
        return None
    if not callable(jac):
        raise ValueError(
            f"{name}: `jac` must be None, {SERIES!r}, one of {_DIFFERENCES}, or callable; "
            f"got {jac!r}"
        )
    return jac


def as_values(values: Any, precision: Precision) -> MDArray:
    """Convert the values of a function of the caller to a precision."""
    return mdqr.array(values, precision=precision)


def problem_of(
    function: Function,
    start: MDArray,
    precision: Precision,
    exact: Exact,
    jac: Any,
    bounds: Any,
    *,
    names: list[str],
    x_scale: Any = None,
    loss: str = "linear",
    f_scale: Any = 1.0,
    max_nfev: int | None,
    callback: Any,
    linear: Sequence[int] | None = None,
    verified: bool,
    progress: Reporter | None,
) -> Problem:
    """Return a problem from the options, which are checked."""
    name, n = function.name, start.shape[0]
    box: Box = box_of(name, bounds, n, PRECISIONS[-1])
    if not box.holds(start):
        j = int(np.flatnonzero(~np.asarray((start >= box.lower) & (start <= box.upper)))[0])
        raise ValueError(f"{name}: `x0` is infeasible: {names[j]} is outside of its bounds")
    check_limit(name, "max_nfev", max_nfev)
    chosen = loss_of(name, loss, f_scale)
    function.scale = _scale_at(name, function, start)
    kind = exact.derivatives(function, box, jac)
    return Problem(
        function,
        kind,
        box,
        chosen,
        precision,
        names,
        linear_of(name, linear, n),
        _scale_of(name, x_scale, n),
        10_000 if max_nfev is None else int(max_nfev),
        _callback_of(name, callback, function),
        exact.enclosed,
        bool(verified),
        progress and Steps(progress, "steps"),
    )


def start_values(name: str, function: Function, start: MDArray) -> MDArray:
    """Return the residuals at the starting point in dd, which must be finite."""
    r = function.at(start.astype(mdqr.dd), mdqr.dd)
    if not r.shape[0]:
        raise ValueError(f"{name}: `fun` returned no residuals")
    if not bool(mdqr.isfinite(r).all()):
        raise ValueError(f"{name}: Residuals are not finite in the initial point")
    return r


def _scale_at(name: str, function: Function, start: MDArray) -> float:
    """Return a power of two with which sums of squares stay within the range of doubles."""
    sizes = np.abs(start_values(name, function, start).to_numpy())
    return float(power_near_one(sizes.max(keepdims=True))[0])


def linear_of(name: str, linear: Sequence[int] | None, n: int) -> list[int] | None:
    if linear is None:
        return None
    try:
        chosen = [operator.index(j) for j in linear]
    except TypeError:
        chosen = [-1]
    if any(not 0 <= j < n for j in chosen) or len(set(chosen)) < len(chosen):
        raise ValueError(f"{name}: `linear` must be different indices below {n}; got {linear!r}")
    return chosen


def _scale_of(name: str, x_scale: Any, n: int) -> np.ndarray | None:
    if x_scale is None or (isinstance(x_scale, str) and x_scale == "jac"):
        return None
    try:
        scale = np.broadcast_to(np.asarray(x_scale, dtype=float), (n,)).copy()
    except (TypeError, ValueError):
        scale = np.zeros(1)
    if not np.all(np.isfinite(scale) & (scale > 0)):
        raise ValueError(
            f"{name}: `x_scale` must be 'jac' or array_like with positive numbers, one a parameter"
        )
    return scale


def _callback_of(name: str, callback: Any, function: Function) -> Any:
    """Return the function that the solver calls after a step."""
    if callback is None:
        return None
    if not callable(callback):
        raise TypeError(f"{name}: `callback` must be callable; got {type(callback).__name__}")
    code = getattr(callback, "__code__", None)
    takes_result = code is not None and "intermediate_result" in code.co_varnames
    count = 0

    def report(x: MDArray, r: MDArray, cost: MDArray) -> None:
        nonlocal count
        count += 1
        try:
            if takes_result:
                fun, half = r / function.scale, cost * 0.5 / function.scale / function.scale
                callback(intermediate_result=OptimizeResult(x=x, fun=fun, cost=half, nit=count))
            else:
                callback(x)
        except StopIteration:
            raise Stopped(-2) from None

    return report
