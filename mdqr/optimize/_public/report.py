"""From the end of a fit to its result, and the warnings that belong to it."""

from __future__ import annotations

from functools import partial

import numpy as np

import mdqr
from mdqr._array.array import MDArray
from mdqr._errors import place_of_least, warn_of_precision
from mdqr.linalg import LinAlgError
from mdqr.optimize._model.noise import Noise
from mdqr.optimize._model.points import norms_of, rounding
from mdqr.optimize._public.result import FitInfo, OptimizeResult
from mdqr.optimize._public.statistics import Linearised
from mdqr.optimize._public.ways_out import (
    MESSAGES,
    NO_MINIMUM,
    UNDEFINED,
    of_contradictions,
    of_dependent,
    of_rounding,
)
from mdqr.optimize._solver.flat import dependent
from mdqr.optimize._solver.problem import Problem
from mdqr.optimize._solver.proof import proven_error, with_rounding
from mdqr.optimize._solver.solve import CONVERGED, STOPPED, Outcome, contradicted

_ADVICE = " Change x0, or set bounds."


def result_of(
    problem: Problem,
    outcome: Outcome,
    errors: np.ndarray | None = None,
    total: MDArray | None = None,
) -> OptimizeResult:
    """Return the result of a fit, and warn of what it does not have.

    `errors` are errors of the residuals by the errors of the data, float64 ``(m,)``.
    """
    p, scale, found = problem.precision, problem.function.scale, outcome.minimum
    end = found if found is not None else outcome.point
    weighted, curvature = problem.loss.weights(end.r, scale)
    jacobian = mdqr.array(end.jacobian, precision=end.x.precision)
    gradient = jacobian.T @ weighted
    if curvature is not None:
        jacobian = jacobian * mdqr.sqrt(mdqr.maximum(curvature, 0))[:, None]
    x, r, jacobian = end.x.astype(p), end.r.astype(p) / scale, jacobian.astype(p) / scale
    free = found.free if found is not None else np.ones(x.size, dtype=bool)
    message = _message(problem, outcome)
    if problem.verified and found is None:
        raise LinAlgError(f"{problem.function.name}: verified: {message}")
    result = OptimizeResult(
        x=x,
        cost=problem.loss.cost(end.r, scale).astype(p) * 0.5 / scale / scale,
        fun=_as_complex(problem, r),
        jac=_as_complex(problem, jacobian),
        grad=gradient.astype(p) / scale / scale,
        optimality=float(np.max(np.abs(gradient.to_numpy()[free]), initial=0.0)) / scale / scale,
        active_mask=problem.box.mask(x),
        nfev=problem.function.nfev,
        njev=problem.derivatives.njev,
        status=outcome.status,
        success=outcome.status > 0,
        message=message,
        info=_info(problem, outcome, x, _linearised(outcome, jacobian, r, scale), errors, total),
    )
    _warn(problem, outcome, result, message)
    return result


def _info(
    problem: Problem,
    outcome: Outcome,
    x: MDArray,
    linearised: Linearised,
    errors: np.ndarray | None,
    total: MDArray | None,
) -> FitInfo:
    """Return the report on digits and statistics."""
    p, found = problem.precision, outcome.minimum
    size = np.abs(x.to_numpy())
    bound = np.full(size.shape, np.inf)
    proven = problem.verified and outcome.status == CONVERGED
    if found is not None and proven:
        bound = with_rounding(proven_error(problem, found), found.x, x)
    elif found is not None:
        bound = found.error + rounding(p, size)
        bound[(size == 0) & ~found.free] = 0.0
    moved = _moved(outcome, problem, errors)
    history = np.array(found.history if found is not None else [])
    info = FitInfo(
        p,
        size,
        bound,
        bound + moved,
        linearised,
        total,
        bound_kind="proven" if proven else "estimated",
        method="newton" if found is not None else "levenberg-marquardt",
        iterations=outcome.steps + history.size,
        history=history,
    )
    info.derivatives, info.linear = problem.derivatives.name, outcome.linear
    info.evaluations = problem.function.evaluations
    info.noise = found.noise.unit if found is not None else problem.unit
    return info


def _linearised(outcome: Outcome, jacobian: MDArray, r: MDArray, scale: float) -> Linearised:
    """Return the problem with the Jacobian of the end, of which arrays are the caller's."""
    found = outcome.minimum
    doubt = jacobian.precision.eps * norms_of(jacobian.to_numpy())
    if found is not None:
        doubt += found.doubt / scale
    return Linearised(jacobian.copy(), r.copy(), doubt)


def _as_complex(problem: Problem, stacked: MDArray) -> MDArray:
    if not problem.function.is_complex:
        return stacked
    m = stacked.shape[0] // 2
    return stacked[:m] + stacked[m:] * 1j


def _moved(outcome: Outcome, problem: Problem, errors: np.ndarray | None) -> np.ndarray:
    """Return by how much errors of the residuals move the minimum, to first order."""
    n = outcome.point.x.shape[0]
    if errors is None:
        return np.zeros(n)
    found = outcome.minimum
    if found is None:
        return np.full(n, np.inf)
    moved = np.zeros(n)
    columns = found.jacobian.to_numpy()[:, found.free] * found.inverse.scale
    sensitivity = np.abs(found.inverse.near @ columns.T)
    moved[found.free] = (sensitivity @ (errors * problem.function.scale)) * found.inverse.scale
    return moved


def _message(problem: Problem, outcome: Outcome) -> str:
    if outcome.status in MESSAGES:
        text = MESSAGES[outcome.status]
    elif problem.undefined:
        text = f"{NO_MINIMUM}: {UNDEFINED}"
    else:
        text = f"{NO_MINIMUM} in the precision of the fit.{_ADVICE}"
    if outcome.minimum is None and outcome.status != STOPPED:
        point = outcome.point
        wrong = of_contradictions([problem.names[j] for j in contradicted(problem, point)])
        if wrong:
            return f"{text.removesuffix(_ADVICE)} {wrong[0].upper()}{wrong[1:]}."
        names = [problem.names[j] for j in dependent(point.jacobian, point.sizes)]
        text = f"{text} {of_dependent(names)}".rstrip()
    return text


def _warn(problem: Problem, outcome: Outcome, result: OptimizeResult, message: str) -> None:
    found, info = outcome.minimum, result.info
    warn = partial(
        warn_of_precision,
        f"optimize.{problem.function.name}",
        digits=float(np.min(info.digits)),
        precision=problem.precision,
        index=place_of_least(info.digits),
    )
    if found is None:
        if outcome.status != STOPPED:
            held = f" {of_rounding(problem.unit)}." if problem.noisy else ""
            warn(f"{message}{held}")
        return
    noise: Noise = found.noise
    if problem.noisy or noise.exceeds(found.x.precision):
        warn(of_rounding(noise.unit, float(np.min(info.digits))))
        return
    # A parameter that may be zero has no digits, and a small error nevertheless.
    near = np.abs(result.x.to_numpy())
    size = np.where(near > info.error_bound, near, np.maximum(near, found.sizes))
    relative = info.error_bound / size
    worst = int(np.argmax(relative))
    if relative[worst] > problem.precision.eps**0.5:
        held = f"{problem.names[worst]} has {info.digits[worst]:.1f} correct digits; "
        wrong = problem.derivatives.deviation(found.x, found.jacobian, found.sizes, noise)
        names = [problem.names[j] for j in np.flatnonzero(wrong.any(axis=0))]
        cause = "the problem is ill-conditioned. Ask for a higher precision, or fix a parameter"
        if problem.box.mask(result.x).any() and problem.derivatives.name == "differences":
            cause = f"{cause}; at a bound differences have half of the digits: give jac"
        elif size[worst] < 2.0**-20 * found.sizes[worst]:
            cause = "it is far smaller than in the initial point: start nearer to it"
        warn(held + (of_contradictions(names) or cause))
