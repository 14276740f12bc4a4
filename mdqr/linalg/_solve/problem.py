"""The input of the solvers: a scaled problem, and the criterion for its rank."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from mdqr._limbs import planes
from mdqr._limbs.planes import Block
from mdqr.linalg._factor.condition import Condition, condition
from mdqr.linalg._shared.operands import Callback, Inputs
from mdqr.linalg._solve.minimum_norm.wide import Wide
from mdqr.linalg._solve.rank import Decisive
from mdqr.linalg._solve.system import Items, System, taken


class Conditioned(NamedTuple):
    """A condition estimate, and on the host its numbers and the ranks, of the batch shape."""

    estimate: Condition
    value: np.ndarray
    rank: np.ndarray


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

    @property
    def batch(self) -> tuple[int, ...]:
        """The batch shape."""
        return tuple(planes.value_shape(self.system.a, self.system.kind.is_complex)[:-2])

    @property
    def is_wide(self) -> bool:
        """True if a matrix has fewer rows than columns."""
        return isinstance(self.system, Wide)

    @property
    def is_empty(self) -> bool:
        """True if there is nothing to solve."""
        return not (self.system.a.size and self.given.size)

    def take(self, items: Items) -> Problem:
        """Return the problem of some matrices of a batch."""
        return self._replace(
            system=self.system.take(items),
            given=taken(self.given, self.system.kind.lead, items),
            raised=cache(lambda: self.raised().take(items)),
        )

    def conditioned(self) -> Conditioned:
        """Factor, estimate conditions and decide ranks."""
        system = self.system
        estimate = condition(system.factored.triangle)
        value, vector = system.checks.settle(estimate.value, estimate.vector)
        if self.callback is not None:
            self.callback("condition", 1, 1)
        return Conditioned(estimate, value, self.decide(system, Decisive(value, vector)))
