"""Zeros of systems of equations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import mdqr
from mdqr._array.array import MDArray
from mdqr._errors import place_of_least, warn_of_precision
from mdqr._limbs.scaling import powers_of_two
from mdqr._precision import PRECISIONS, Precision
from mdqr._progress import Progress, Report, with_report
from mdqr._stability import experimental
from mdqr._typing import PrecisionLike
from mdqr.linalg import LinAlgError
from mdqr.optimize._model.box import box_of
from mdqr.optimize._model.derivatives import Differences
from mdqr.optimize._model.function import Function
from mdqr.optimize._model.points import leading, rounding, sizes_of
from mdqr.optimize._public.least_squares import (
    Exact,
    as_values,
    jac_of,
    precision_of,
    problem_of,
    start_of,
    start_values,
)
from mdqr.optimize._public.options import check_limit, refuse_unknown
from mdqr.optimize._public.result import OptimizeResult, RootInfo
from mdqr.optimize._public.ways_out import COMPUTES_IN_FLOAT64
from mdqr.optimize._solver.problem import Problem
from mdqr.optimize._solver.proof import with_rounding
from mdqr.optimize._solver.zero import (
    FOUND,
    LIMIT,
    NONE,
    SINGULAR,
    STOPPED,
    Found,
    find,
    proven_error,
)

_METHODS = ("auto", "hybr", "lm")
_MESSAGES = {
    FOUND: "Newton's steps have fallen to the rounding errors: the solution converged.",
    LIMIT: "The maximum number of function evaluations is exceeded.",
    STOPPED: "`callback` raised StopIteration.",
    NONE: "No zero was found: the norm of `fun` has a minimum there, or stagnates. Change x0.",
    SINGULAR: "`fun` is nearly zero and its Jacobian singular: a multiple zero, or more than one.",
}


class _Variables:
    """Unknowns of a system as real parameters: complex ones are their parts."""

    def __init__(self, start: MDArray, *, is_complex: bool) -> None:
        self.is_complex = is_complex
        self.parts = mdqr.concatenate([start.real, start.imag]) if is_complex else start

    def joined(self, b: Any) -> Any:
        """Return the unknowns for parameters on the first axis."""
        if not self.is_complex:
            return b
        n = self.parts.shape[0] // 2
        return b[:n] + b[n:] * 1j

    def bound(self, errors: np.ndarray) -> np.ndarray:
        """Return bounds of the moduli of errors of the unknowns."""
        n = self.parts.shape[0] // 2
        return np.hypot(errors[:n], errors[n:]) * (1 + 2.0**-50) if self.is_complex else errors


class _Equations:
    """Powers of two that equations are multiplied by, None for ones."""

    def __init__(self) -> None:
        self.powers: np.ndarray | None = None

    def weighted(self, rows: Any, _: Precision | None) -> Any:
        """Return values, or rows of derivatives, ``(..., n)``, times the powers."""
        return rows if self.powers is None else rows * self.powers

    def weigh(self, function: Function, unknowns: _Variables) -> None:
        """Let no equation be so small that the sum of squares of all does not have it."""
        start_values(function.name, function, unknowns.parts)
        _check_count(function, unknowns)
        x = unknowns.parts.astype(mdqr.dd)
        sizes = sizes_of(x)
        box = box_of(function.name, (-np.inf, np.inf), x.shape[0], PRECISIONS[-1])
        with np.errstate(all="ignore"):
            r, jacobian = Differences(function, box).near(x, None, sizes, mdqr.dd.eps)
            size = np.abs(leading(r)) + np.abs(jacobian) @ sizes
            if function.is_complex:
                size = np.hypot(*size.reshape(2, -1))
            size = size[np.isfinite(size) & (size > 0)]
        if size.size == function.count and np.min(size) < mdqr.dd.eps * np.max(size):
            self.powers = powers_of_two(-np.log2(size))


@experimental
def root(
    fun: Callable[..., Any],
    x0: Any,
    args: Any = (),
    method: str = "auto",
    jac: Any = None,
    tol: float | None = None,
    callback: Callable[..., Any] | None = None,
    options: dict[str, Any] | None = None,
    *,
    precision: PrecisionLike | None = None,
    verified: bool = False,
    progress: Progress = None,
) -> OptimizeResult:
    """Solve n equations in n unknowns, to all digits of a precision.

    Parameters
    ----------
    fun : callable
        Called as ``fun(x, *args)`` with an `MDArray` ``(n,)``; returns n values. It must compute in
        the precision of x, as `fun` of `least_squares`.
    x0 : array_like
        The starting point, ``(n,)`` or a number. Where it is complex the unknowns are; `fun` must
        be analytic then.
    args : tuple, optional
        More arguments of `fun` and `jac`; anything but a tuple is the only one.
    method : {"auto", "hybr", "lm"}, optional
        All are one method.
    jac : callable, bool or "series", optional
        Called as `fun`; returns the Jacobian ``(n, n)``. True if `fun` returns the pair of its
        values and the Jacobian. See `least_squares`; of complex unknowns "series" or None.
    tol : None, optional
        Only None: the tolerance follows from the precision.
    callback : callable, optional
        Called as ``callback(x)`` after each step; StopIteration ends the search.
    options : dict, optional
        ``{"maxfev": count}`` bounds how many points are tried, by default 10,000.
    precision : Precision or str, optional
        The precision of the result; by default the highest of `x0` and of what `fun` returns.
    verified : bool, optional
        Whether to prove that one zero lies within `info.error_bound` of x. `fun` is then also
        called with enclosures; see `least_squares`.
    progress : callable or bool, optional
        Called as ``progress(stage, done, total)``; True shows a bar.

    Returns
    -------
    OptimizeResult
        With `x`, `fun`, `jac` ``(n, n)``, `nfev`, `njev`, `status`, `success`, `message`, and
        `info`, a `RootInfo`. `status` is 1 where a zero was found.

    Raises
    ------
    TypeError
        If `fun` cannot be called, or an option is not needed.
    ValueError
        If `x0` is empty or not finite, or `fun` does not return n values, or not finite ones in the
        initial point.
    numpy.linalg.LinAlgError
        If `verified` is asked for and a zero is not found or not proven.

    Warns
    -----
    PrecisionWarning
        If no zero is found, or `fun` rounds to fewer digits than the precision has.

    See Also
    --------
    least_squares : More equations than unknowns, or bounds.

    Notes
    -----
    Levenberg and Marquardt's method reduces the sum of squares until Newton's method converges;
    that is evaluated in the next precision above the result's. The bound is an estimate, twice the
    last step and the rounding errors of `fun` times the moduli of the inverse Jacobian, unless
    `verified` proves one by Krawczyk's method. It does not count what underflows inside `fun` and
    is multiplied there.

    Examples
    --------
    >>> import mdqr
    >>> def equations(x):
    ...     return [x[0] + mdqr.exp(x[1]) - 5, x[0] * x[1] - 2]
    >>> found = mdqr.optimize.root(equations, [1, 1], precision="qd", verified=True)
    >>> found.x.to_strings(25).tolist()
    ['1.657307580055898678040223', '1.206776596009138378280517']
    >>> bool(found.info.digits.min() > 62)
    True
    """
    if not (progress is None or isinstance(progress, Report)):
        return with_report(root, locals())
    name = "root"
    _check_options(name, fun, method, tol, options)
    start, work, is_complex = _start(name, x0, precision)
    unknowns = _Variables(start, is_complex=is_complex)

    args = args if isinstance(args, tuple) else (args,)
    fun, jac = _split(name, fun, jac)

    def values(b: Any, _: Precision | None) -> Any:
        return fun(unknowns.joined(b), *args)

    equations = _Equations()
    function = Function(name, values, equations.weighted)
    work = work if precision is not None else precision_of(function, unknowns.parts, work)
    given = jac_of(name, jac)
    if given is not None and is_complex:
        raise ValueError(f"{name}: `jac` of complex unknowns must be None or 'series'")
    equations.weigh(function, unknowns)
    problem = problem_of(
        function,
        unknowns.parts,
        work,
        Exact(
            given and (lambda b, p: equations.weighted(as_values(given(b, *args), p).T, p).T),
            values,
            equations.weighted,
            enclosed=lambda x: fun(x, *args),
        ),
        jac,
        (-np.inf, np.inf),
        names=[f"x[{j}]" for j in range(start.size)],
        max_nfev=(options or {}).get("maxfev"),
        callback=callback,
        verified=verified,
        progress=progress,
    )
    return _result(problem, find(problem, unknowns.parts.astype(mdqr.dd)), unknowns, equations)


def _split(name: str, fun: Callable[..., Any], jac: Any) -> tuple[Callable[..., Any], Any]:
    """Return a function and its Jacobian; with ``jac=True``, `fun` returns both."""
    if jac is not True:
        return fun, None if jac is False else jac
    last: tuple[Any, Any] = None, None

    def both(x: Any, *args: Any) -> Any:
        nonlocal last
        if last[0] is not x:
            found = fun(x, *args)
            if not isinstance(found, (tuple, list)) or not _is_pair(found):
                raise ValueError(f"{name}: with jac=True `fun` must return (values, Jacobian)")
            last = x, found
        return last[1]

    return lambda x, *args: both(x, *args)[0], lambda x, *args: both(x, *args)[1]


def _is_pair(found: Any) -> bool:
    """Return True for two values, of which the second may be a matrix."""
    return (
        len(found) == 2
        and isinstance(found[1], (list, tuple, MDArray, np.ndarray))
        and (isinstance(found[1], (list, tuple)) or found[1].ndim > 0)
    )


def _check_options(name: str, fun: Any, method: Any, tol: Any, options: Any) -> None:
    if not callable(fun):
        raise TypeError(f"{name}: `fun` must be callable; got {type(fun).__name__}")
    if not (options is None or isinstance(options, Mapping)):
        raise TypeError(
            f"{name}: `options` must be a dict, such as {{'maxfev': 100}}; got "
            f"{type(options).__name__}"
        )
    if method not in _METHODS:
        raise ValueError(f"{name}: there is one method, method='auto'; got {method!r}")
    if tol is not None:
        raise TypeError(f"{name}: tol is not needed: it follows from the precision; leave it out")
    refuse_unknown(f"{name}: options", {k: v for k, v in (options or {}).items() if k != "maxfev"})
    check_limit(name, "options['maxfev']", (options or {}).get("maxfev"))


def _start(name: str, x0: Any, precision: Any) -> tuple[MDArray, Precision, bool]:
    """Return the starting point in the highest precision, and the precision of the result."""
    is_complex = x0.is_complex if isinstance(x0, MDArray) else np.iscomplexobj(x0)
    start, work = start_of(name, x0, precision, complex_too=True)
    return start, work, bool(is_complex)


def _check_count(function: Function, unknowns: _Variables) -> None:
    """Refuse systems that are not square, and complex values of real unknowns."""
    name, is_complex = function.name, unknowns.is_complex
    n = unknowns.parts.shape[0] // (1 + is_complex)
    if function.count != n:
        raise ValueError(
            f"{name}: `fun` returned {function.count} values for {n} unknowns; there must be as "
            "many. See least_squares for more equations"
        )
    if function.is_complex and not is_complex:
        raise ValueError(f"{name}: `fun` returned complex values; give a complex x0")
    if is_complex and not function.is_complex:
        raise ValueError(f"{name}: `fun` returned real values of complex unknowns")


def _result(
    problem: Problem, found: Found, unknowns: _Variables, equations: _Equations
) -> OptimizeResult:
    p, zero, scale = problem.precision, found.zero, problem.function.scale
    scales = scale * (1.0 if equations.powers is None else equations.powers)
    end = zero if zero is not None else found.point
    message = _MESSAGES[found.status]
    if zero is None and problem.verified:
        raise LinAlgError(f"root: verified: {message}")
    exact = unknowns.joined(end.x)
    x = exact.astype(p)
    size = np.abs(x.to_numpy())
    bound, inverse = np.full(size.shape, np.inf), None
    held = end.jacobian  # of a point that is no zero in float64
    held = held if isinstance(held, MDArray) else mdqr.array(held, precision=mdqr.d)
    jacobian = _joined(unknowns, held)
    if zero is not None:
        inverse = _joined(unknowns, zero.inverse)
        if problem.verified:
            bound = with_rounding(proven_error(problem, exact, inverse * scales), exact, x)
        else:
            bound = unknowns.bound(zero.error) + rounding(p, size)
    info = RootInfo(
        p,
        size,
        bound,
        condition=lambda: _condition(jacobian),
        bound_kind="proven" if problem.verified else "estimated",
        method="newton" if zero is not None else "levenberg-marquardt",
        iterations=found.steps + (len(zero.history) if zero is not None else 0),
        history=np.array(zero.history if zero is not None else []),
    )
    info.derivatives = problem.derivatives.name
    info.evaluations = problem.function.evaluations
    info.noise = zero.noise.unit if zero is not None else problem.unit
    result = OptimizeResult(
        x=x,
        fun=unknowns.joined(end.r).astype(p) / scales,
        jac=(jacobian.T / scales).T.astype(p),
        nfev=problem.function.nfev,
        njev=problem.derivatives.njev,
        status=found.status,
        success=found.status == FOUND,
        message=message,
        info=info,
    )
    _warn(problem, result, zero is not None)
    return result


def _warn(problem: Problem, result: OptimizeResult, found: bool) -> None:
    info = result.info
    text = result.message if not found else ""
    if found and (problem.noisy or info.noise > 2.0**14 * problem.precision.next.eps):
        text = f"`fun` rounds to {-np.log10(info.noise):.0f} digits: {COMPUTES_IN_FLOAT64}"
    if text and result.status != STOPPED:
        warn_of_precision(
            "optimize.root",
            text,
            digits=float(np.min(info.digits)),
            precision=problem.precision,
            index=place_of_least(info.digits),
        )


def _joined(unknowns: _Variables, a: MDArray) -> MDArray:
    """Return the complex derivative for a real matrix of parts."""
    if not unknowns.is_complex:
        return a
    n = a.shape[0] // 2
    return a[:n, :n] + a[n:, :n] * 1j


def _condition(jacobian: MDArray) -> float:
    near = jacobian.to_numpy()
    return float(np.linalg.cond(near)) if np.isfinite(near).all() else np.inf
