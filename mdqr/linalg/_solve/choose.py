"""The choice of a solver: approximate inverses, the same in the next precision, Householder QR."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import NoReturn

import numpy as np

from mdqr._precision import PRECISIONS
from mdqr.linalg._inverse.rounds import ROOM
from mdqr.linalg._solve.answer import Answer
from mdqr.linalg._solve.batch import Batch
from mdqr.linalg._solve.problem import SMALL, Problem
from mdqr.linalg._solve.solvers import householder, ladder, minimum_norm, newton, normal, planned

_METHODS = ("auto", "householder", "refine")


def check_method(function: str, method: str, *, proof: str | None) -> None:
    """Raise ValueError for a method that is unknown, or has not the bounds for `proof`."""
    if method not in _METHODS:
        raise ValueError(
            f'{function}: method must be "auto", "householder" or "refine"; got {method!r}'
        )
    if proof is not None and method == "householder":
        raise ValueError(
            f'{function}: method="householder" estimates bounds, and {proof} wants them '
            'proven: leave method at "auto"'
        )


def choose(
    problem: Problem,
    method: str = "auto",
    *,
    known: Answer | None = None,
    verified: bool = False,
    at_any_cost: bool = False,
) -> Answer:
    """Solve a problem, each matrix of a batch by the first solver that shows all its digits.

    With fewer rows than columns one solver takes all.

    Parameters
    ----------
    problem : Problem
        The problem.
    method : str, optional
        As in `lstsq`.
    known : Answer, optional
        Answers of one kernel call, for matrices where they have all digits.
    verified : bool, optional
        Whether only proven bounds will do.
    at_any_cost : bool, optional
        True to prove bounds where that costs more than QR; `verified` implies it.

    Returns
    -------
    Answer
        The solutions, those of the last solver with or without all digits.

    Raises
    ------
    numpy.linalg.LinAlgError
        If columns depend on each other, a component is beyond the largest double, or `verified` or
        method "refine" asks for more than is found.
    """
    if problem.is_empty:
        return _by_factors(problem)
    batch, is_raised = Batch(problem.batch), False
    batch.add(known)
    wants_proof = verified or method == "refine"
    at_any_cost = at_any_cost or wants_proof
    try:
        if method != "householder":
            batch.solve(problem, partial(_by_inverse, at_any_cost=at_any_cost))
        if method == "auto" and not problem.is_wide and batch.left.any():
            has_next = problem.inputs.work < PRECISIONS[-1]
            if has_next or at_any_cost:
                batch.solve(problem, _at_any_cost)
            is_raised = has_next and bool(batch.left.any())
            if is_raised:
                batch.solve(problem, _in_next_precision)
        if batch.left.any():
            batch.solve(problem, _by_factors, last=True)
    except np.linalg.LinAlgError as error:
        raise (_in_whole_batch(problem, error) if problem.batch else error) from None
    found = batch.answer(problem, is_raised=is_raised)
    assert found is not None
    if problem.system.report is not None:
        problem.system.tell("refine", found.steps, found.steps)
    if wants_proof and not (found.promised and _is_proven(found, method)):
        missing = ~found.kept if not found.promised else np.ones_like(found.kept)
        _refuse(problem, found.condition[missing], verified=verified)
    return found


def _in_whole_batch(problem: Problem, error: np.linalg.LinAlgError) -> np.linalg.LinAlgError:
    """Return an error that names the place in the whole batch, not in a part of it."""
    try:
        _by_factors(problem)
    except np.linalg.LinAlgError as found:
        return found
    return error


def _by_inverse(problem: Problem, *, at_any_cost: bool) -> Answer | None:
    """Refine by an approximate inverse."""
    if problem.is_wide:
        return minimum_norm.solve(problem)
    found = normal.solve(problem) or planned.solve(problem) or newton.solve(problem)
    return found or ladder.solve(problem, at_any_cost=at_any_cost)


def _at_any_cost(problem: Problem) -> Answer | None:
    """Refine by approximate inverses that cost more than QR, once ranks are decided."""
    return _with_ranks(problem, problem)


def _in_next_precision(problem: Problem) -> Answer | None:
    """Refine by approximate inverses in the next precision; ranks are decided in this one."""
    return _with_ranks(problem, problem.raised())


def _with_ranks(problem: Problem, raised: Problem) -> Answer | None:
    """Refine `raised`, the problem in the same or a higher precision; `problem` decides ranks."""
    raised = replace(raised, limit=raised.inputs.work.eps, lower=problem)
    found = ladder.solve(raised, at_any_cost=True)
    if found is None:
        return None
    doubtful = found.kept & (found.condition * problem.limit >= SMALL)
    if doubtful.any():
        found.condition[doubtful], found.rank[doubtful] = problem.decided(doubtful)
    return found


def _by_factors(problem: Problem) -> Answer:
    """Solve by Householder QR in working precision."""
    conditioned = problem.conditioned
    solve = minimum_norm.solve_factored if problem.is_wide else householder.solve
    return solve(problem, conditioned)


def _is_proven(found: Answer, method: str) -> bool:
    """Return whether a method that wants proof gets it: "refine" from an approximate inverse."""
    words = np.asarray(found.bound_kind if method != "refine" else found.method)
    return bool((words == ("proven" if method != "refine" else "refine")).all())


def _refuse(problem: Problem, condition: np.ndarray, *, verified: bool) -> NoReturn:
    """Raise LinAlgError: refinement does not show all digits."""
    caller, work = problem.system.caller, problem.inputs.work
    asked = "verified=True" if verified else 'method="refine"'
    worst = float(condition.max())
    # Squares of floats raise beyond the range, products do not.
    growth = worst if problem.system.is_square else worst * worst
    higher = [p for p in PRECISIONS if p > work and growth * p.eps <= ROOM]
    way = (
        'without it method="householder" estimates bounds' if verified else 'method="auto" takes QR'
    )
    why = f"too near to singular for {work.name}, or a component is zero or tiny beside others"
    if problem.is_wide:
        way = 'method="auto" may serve'
    elif worst * problem.limit >= SMALL and growth * work.eps <= ROOM:
        why = "such that the precision of its entries leaves its rank in doubt"
        way = "max_condition=math.inf says that they are exact"
    elif growth * work.eps > ROOM and higher:
        way = f"precision=mdqr.{higher[0].name} may do"
    raise np.linalg.LinAlgError(
        f"{caller.function}: {asked} does not show all digits: the matrix (condition "
        f"about {worst:.1e}) is {why}; {way}"
    )
