"""The ways to an answer: kernels for small systems, refinement from float64, Householder QR."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from mdqr._backend.protocol import MOST_COLUMNS, MOST_ROWS, SmallSolution, small_systems
from mdqr._limbs.planes import Block
from mdqr.linalg._factor.condition import condition
from mdqr.linalg._shared.operands import Callback, Inputs
from mdqr.linalg._solve.answer import Answer
from mdqr.linalg._solve.minimum_norm import answer as minimum_norm
from mdqr.linalg._solve.minimum_norm.wide import Wide
from mdqr.linalg._solve.rank import Decisive
from mdqr.linalg._solve.refine import ladder
from mdqr.linalg._solve.refined import Refined, spread_of
from mdqr.linalg._solve.system import System

_METHODS = ("auto", "householder", "refine")
_T = TypeVar("_T")


def check_method(function: str, method: str) -> None:
    """Raise ValueError for a method that there is not."""
    if method not in _METHODS:
        raise ValueError(
            f'{function}: method must be "auto", "householder" or "refine"; got {method!r}'
        )


def small_solution(
    inputs: Inputs, a: Block, b: Block, method: str, limit: float
) -> SmallSolution | None:
    """Return what one kernel call proves of all matrices of a batch, else None.

    Also None where a condition times `limit` is not small.
    """
    backend = small_systems(inputs.backend)
    m, n = a.shape[-2:]
    if method == "householder" or backend is None or n > min(m, MOST_COLUMNS) or m > MOST_ROWS:
        return None
    if not (a.size and b.size):
        return None
    call = backend.solve_small if m == n else backend.lstsq_small
    found = call(a, b, kind=inputs.kind)
    if found.status.any() or not (found.condition * limit < ladder.SMALL).all():
        return None
    return found


def answer(
    system: System,
    given: Block,
    inputs: Inputs,
    method: str,
    limit: float,
    decide: Callable[[Decisive], _T],
    callback: Callback | None,
) -> tuple[Answer, np.ndarray, _T | None]:
    """Solve a scaled problem.

    Parameters
    ----------
    system : System
        The problem.
    given : Block
        Its right-hand sides as they came.
    inputs : Inputs
        The operands, for the precisions.
    method : str
        As in `lstsq`.
    limit : float
        Matrices whose condition times this is not small are factored, and `decide` sees them.
    decide : callable
        Gets the condition of factored matrices; raises where columns depend on each other.
    callback : callable, optional
        As in `lstsq`.

    Returns
    -------
    tuple
        The answer, the condition numbers, and what `decide` returned, None where it was not asked.
    """
    holds = bool(system.a.size and given.size)
    if method != "householder" and holds:
        if isinstance(system, Wide):
            found = minimum_norm.refined(system, given, inputs, limit, callback)
        else:
            found = ladder.refined(system, given, inputs, limit, callback)
        if found is not None:
            return *found, None
    estimate = condition(system.factored.triangle)
    value, vector, spread = system.checks.settle(
        estimate.value, estimate.vector, spread_of(system, given)
    )
    if callback is not None:
        callback("condition", 1, 1)
    decided = decide(Decisive(value, vector))
    if method == "refine" and holds:
        raise np.linalg.LinAlgError(
            f'{system.function}: method="refine" does not show all digits: the matrix is too near '
            "to singular for a factorisation in float64, or a component is tiny beside others; "
            'method="auto" takes a factorisation in the precision of the work'
        )
    if isinstance(system, Wide):
        return minimum_norm.factored(system, given, inputs, callback), value, decided
    return Refined(system, given, float(spread), estimate, inputs, callback), value, decided
