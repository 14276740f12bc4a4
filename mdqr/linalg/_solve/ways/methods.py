"""The ways to an answer: kernels for small systems, approximate inverses, Householder QR."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, NoReturn

import numpy as np

from mdqr._limbs import planes
from mdqr._limbs.planes import Block
from mdqr._precision import PRECISIONS
from mdqr.linalg._factor.condition import Condition, condition
from mdqr.linalg._shared.operands import Callback, Inputs
from mdqr.linalg._solve.answer import Answer
from mdqr.linalg._solve.householder.refined import Refined, spread_of
from mdqr.linalg._solve.minimum_norm import answer as minimum_norm
from mdqr.linalg._solve.minimum_norm.wide import Wide
from mdqr.linalg._solve.rank import Decisive
from mdqr.linalg._solve.refine import ladder
from mdqr.linalg._solve.refine.normal import by_normal_equations
from mdqr.linalg._solve.refine.rounds import ROOM
from mdqr.linalg._solve.system import Items, System, taken
from mdqr.linalg._solve.ways.mixed import Mixed, Served, all_items
from mdqr.linalg._solve.ways.small import SmallAnswer

_METHODS = ("auto", "householder", "refine")


def check_method(function: str, method: str, *, verified: bool) -> None:
    """Raise ValueError for a method that there is not; `verified`: or that only estimates."""
    if method not in _METHODS:
        raise ValueError(
            f'{function}: method must be "auto", "householder" or "refine"; got {method!r}'
        )
    if verified and method == "householder":
        raise ValueError(
            f'{function}: method="householder" estimates bounds, and verified=True wants them '
            'proven: leave method at "auto"'
        )


class Problem(NamedTuple):
    """A scaled problem, its right-hand sides as they came, and the operands for precisions.

    Matrices whose condition times `limit` is not small are factored, and `decide` sees them: it
    gets the system and its condition, and raises where columns depend on each other. `raised`
    returns the same problem in the next precision.
    """

    system: System
    given: Block
    inputs: Inputs
    limit: float
    decide: Callable[[System, Decisive], np.ndarray]
    callback: Callback | None
    raised: Callable[[], Problem]

    def take(self, items: Items) -> Problem:
        """Return the problem of some matrices of a batch."""
        given = taken(self.given, self.system.kind.lead, items)
        return self._replace(system=self.system.take(items), given=given)

    def factored(self) -> tuple[Answer, np.ndarray, np.ndarray]:
        """Return answers by QR in the precision of the work, condition numbers and ranks."""
        estimate, value, ranks, spread = self.conditioned()
        if isinstance(self.system, Wide):
            wide = minimum_norm.factored(self.system, self.given, self.inputs, self.callback)
            return wide, value, ranks
        found = Refined(self.system, self.given, spread, estimate, self.inputs, self.callback)
        return found, value, ranks

    def conditioned(self) -> tuple[Condition, np.ndarray, np.ndarray, float]:
        """Factor; return the condition, its numbers, ranks, and the spread of right-hand sides."""
        system = self.system
        estimate = condition(system.factored.triangle)
        value, vector, spread = system.checks.settle(
            estimate.value, estimate.vector, spread_of(system, self.given)
        )
        if self.callback is not None:
            self.callback("condition", 1, 1)
        return estimate, value, self.decide(system, Decisive(value, vector)), float(spread)


def answer(
    problem: Problem, method: str, known: SmallAnswer | None, *, verified: bool
) -> tuple[Answer, np.ndarray, np.ndarray]:
    """Solve a scaled problem, each matrix of a batch in its own way.

    Parameters
    ----------
    problem : Problem
        What to solve.
    method : str
        As in `lstsq`.
    known : SmallAnswer or None
        What is proven already.
    verified : bool
        Whether only proven bounds will do.

    Returns
    -------
    tuple
        The answer, the condition numbers and the ranks.
    """
    system, holds = problem.system, bool(problem.system.a.size and problem.given.size)
    batch = planes.value_shape(system.a, system.kind.is_complex)[:-2]
    left, values, ranks = (
        np.ones(batch, bool),
        np.ones(batch),
        np.full(batch, system.factored.columns),
    )
    served = []
    if known is not None:
        served = Served.of(known, known.found.condition, all_items(batch))
        left = np.array(~known.kept)
    if method != "householder" and holds:
        served += _refined(problem, left, at_any_cost=verified or method == "refine")
    for part in served:
        left[part.items], values[part.items] = False, part.condition
    whole = problem
    if method == "auto" and holds and left.any() and not isinstance(system, Wide):
        # Less than half of the time of QR, whose refinement proves nothing.
        if problem.inputs.work < PRECISIONS[-1]:
            whole = problem.raised()
            higher = _refined(whole._replace(limit=0.0), left, at_any_cost=True)
            for part in higher:
                left[part.items], values[part.items] = False, part.condition
            served += higher
            doubtful = ~left & (values * whole.limit >= ladder.SMALL)
            if doubtful.any():
                items = np.nonzero(doubtful) if doubtful.ndim else ()
                _, values[items], ranks[items], _ = whole.take(items).conditioned()
    proves = isinstance(system, Wide) and method != "refine"
    if holds and left.any() and (verified or method == "refine") and not proves:
        # What is beyond the range is said by who finds it.
        _refuse(problem, problem.factored()[1], verified=verified)
    if not served:
        found, values, ranks = problem.factored()
        if holds and verified and not found.promised:
            _refuse(problem, values, verified=verified)
        return found, values, ranks
    if left.any():
        items = np.nonzero(left)
        try:
            found, values[items], ranks[items] = problem.take(items).factored()
        except np.linalg.LinAlgError:
            problem.factored()  # raises for the place in the whole batch
            raise
        served.append(Served(found, None, items, values[items]))
    if len(served) == 1 and served[0].own is None:
        return served[0].answer, values, ranks
    return Mixed(whole.system, served, problem.given, whole.inputs), values, ranks


def _refined(problem: Problem, left: np.ndarray, *, at_any_cost: bool) -> list[Served]:
    """Return answers from approximate inverses, of those that are left."""
    if isinstance(problem.system, Wide):
        wide = minimum_norm.refined(problem.system, *problem[1:4], problem.callback)
        return [] if wide is None else Served.of(*wide, all_items(left.shape))
    part = problem if left.all() else problem.take(np.nonzero(left))
    found = by_normal_equations(*part[:4], part.callback)
    if found:
        return found
    found = ladder.refined(*part[:4], part.callback, at_any_cost=at_any_cost)
    return found if left.all() else [each.within(np.nonzero(left)) for each in found]


def _refuse(problem: Problem, condition: np.ndarray, *, verified: bool) -> NoReturn:
    """Raise LinAlgError: refinement does not show all digits."""
    caller, work = problem.system.caller, problem.inputs.work
    asked = "verified=True" if verified else 'method="refine"'
    worst = float(condition.max())
    # Squares of floats raise beyond the range, products do not.
    growth = worst if problem.system.is_square else worst * worst
    higher = [p for p in PRECISIONS if p > work and growth * p.eps <= ROOM]
    way = 'method="householder" estimates bounds' if verified else 'method="auto" takes QR'
    why = f"too near to singular for {work.name}, or a component is zero or tiny beside others"
    if isinstance(problem.system, Wide):
        way = 'method="auto" may serve'
    elif worst * problem.limit >= ladder.SMALL and growth * work.eps <= ROOM:
        why = "such that the precision of its entries leaves its rank in doubt"
        way = "rcond=0 says that they are exact"
    elif growth * work.eps > ROOM and higher:
        way = f"precision=mdqr.{higher[0].name} may do"
    raise np.linalg.LinAlgError(
        f"{caller.function}: {asked} does not show all digits: the matrix (condition "
        f"about {worst:.1e}) is {why}; {way}"
    )
