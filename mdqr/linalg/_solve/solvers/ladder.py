"""Refinement by an approximate inverse, each matrix of a batch by one that contracts."""

from __future__ import annotations

import numpy as np

from mdqr.linalg._inverse.approximate_inverse import ApproximateInverse
from mdqr.linalg._inverse.rounds import approximate_inverse
from mdqr.linalg._solve.answer import Answer, Part
from mdqr.linalg._solve.batch import Batch
from mdqr.linalg._solve.problem import SMALL, Problem
from mdqr.linalg._solve.refinement import Refinement
from mdqr.linalg._solve.solvers.climb import climb


@np.errstate(all="ignore")
def solve(problem: Problem, *, at_any_cost: bool = False) -> Answer | None:
    """Solve a problem with at least as many rows as columns.

    Parameters
    ----------
    problem : Problem
        The problem.
    at_any_cost : bool, optional
        Whether to refine where Householder QR would be cheaper.

    Returns
    -------
    Answer or None
        Its matrices are `kept` where steps contract, and bounds show what the precision promises;
        None where none is.
    """
    system = problem.system
    tall_weights = system.root is not None and not system.is_square
    made = approximate_inverse(
        system.backend,
        system.weighted_matrix if tall_weights else system.a,
        system.checks,
        kind=system.kind,
        # Of the root, and of the product with it.
        unit=8.0 * problem.inputs.work.eps if tall_weights else 0.0,
        at_any_cost=at_any_cost,
        watch=problem.decide_early,
        first=system.float_inverse if system.is_square else None,
    )
    if made is None:
        return None
    inverse, fast = made
    good = np.asarray(fast & (inverse.condition * problem.limit < SMALL))
    if good.all():
        return _climbed(problem, inverse)
    batch = Batch(good.shape)
    if good.any():
        items = np.nonzero(good)
        batch.add(_climbed(problem.take(items), inverse.take(items)), items)
    if fast.any() and not fast.all():
        items = np.nonzero(~fast)
        batch.add(solve(problem.take(items), at_any_cost=at_any_cost), items)
    return batch.answer(problem)


def _climbed(problem: Problem, inverse: ApproximateInverse) -> Answer | None:
    """Return the answers of a ladder."""
    system, given = problem.system, problem.given
    system.tell("factor", system.columns, system.columns)
    system.tell("condition", 1, 1)
    b, powers = system.backend.balance_columns(
        given, system.rows, is_complex=system.kind.is_complex
    )
    climbed = climb(Refinement.of(system, inverse, b))
    if climbed is None:
        return None
    part = Part(given, b, powers, *climbed)
    return Answer(system, [part], problem.inputs, inverse.condition)
