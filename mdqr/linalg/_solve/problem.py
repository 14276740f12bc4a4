"""The input of the solvers: operands, weights, a scaled problem, and the criterion for its rank.

Weights are powers of four, which rows take exactly, and factors near 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from math import prod
from typing import Any, NamedTuple, NoReturn

import numpy as np

from mdqr._core.promotion import to_block, together
from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Block
from mdqr.linalg._factor.condition import Condition, condition
from mdqr.linalg._shared.caller import Caller
from mdqr.linalg._shared.checks import Checks
from mdqr.linalg._shared.operands import (
    Inputs,
    Items,
    broadcast_batch,
    matrix_shape,
    right_hand_side,
    taken,
)
from mdqr.linalg._solve.system import System
from mdqr.linalg._solve.wide import Wide

# Conditions are estimates: times a limit they count as small below this.
SMALL = 0.1


class Decisive(NamedTuple):
    """A condition estimate on the host: numbers of the batch shape, and directions ``(..., n)``."""

    value: np.ndarray
    vector: np.ndarray


class Weights(NamedTuple):
    """Weights ``4**rows[i] W``: W near 1 or 0, and its root, as columns ``(..., m, 1)``.

    `positive`, bool ``(..., m)``, tells which are not zero. None stands for ones.
    """

    weight: Block | None
    root: Block | None
    rows: Block | None
    positive: Block | None


def weights_of(
    function: str, inputs: Inputs, given: Any, checks: Checks, *, zeros: bool = False
) -> Weights:
    """Return the weights, their powers of four apart: rows of a and b take these exactly.

    `zeros` lets rows be left out even if they are fewer than columns.
    """
    if given is None:
        return Weights(None, None, None, None)
    xp, shape = inputs.backend.xp, inputs.shape(0)[:-1]
    block, field = to_block(given, inputs.work.limbs)
    found = planes.value_shape(block, field)
    if field:
        raise ValueError(f"{function}: weights must be real; got complex ones")
    if found != shape[-1:] and found != shape:
        wanted = " or ".join(str(s) for s in dict.fromkeys([shape[-1:], shape]))
        raise ValueError(f"{function}: weights must have shape {wanted}; got {found}")
    a = inputs.blocks[0]
    block = together([(a, inputs.is_complex), (block, False)], (a, given))[1][0]
    checks.require(
        (xp.isfinite(block[0]) & (block[0] >= 0)).all(), partial(_raise_for_weights, function)
    )
    if a.shape[-2] < a.shape[-1] and not zeros:
        checks.require((block[0] > 0).all(), partial(_raise_for_zero_weights, function))
    block = planes.broadcast(block, False, shape)
    bits = scaling.magnitude_bits(block, False)
    rows = xp.where(bits > 0, (scaling.exponents_of(bits) + 1) // 2, 0)
    block = inputs.backend.ldexp(block, -2 * rows)
    root = inputs.backend.unary("sqrt", block, kind=inputs.kind.real)
    columns = [block[..., None], root[..., None]]
    if inputs.is_complex:
        columns = [planes.complexify(column) for column in columns]
    return Weights(columns[0], columns[1], rows, bits > 0)


def _raise_for_weights(function: str) -> NoReturn:
    raise ValueError(f"{function}: weights must be finite and not negative: 1 / variance")


def _raise_for_zero_weights(function: str) -> NoReturn:
    raise ValueError(
        f"{function}: weights of fewer rows than columns must be positive: their solution is "
        "exact, and weights change nothing; leave rows out that do not count"
    )


def as_columns(caller: Caller, inputs: Inputs) -> tuple[Inputs, bool, bool]:
    """Return the operands with one batch shape and b as columns.

    The flags are true for a vector b, and for a batch.
    """
    function, field = caller.function, inputs.is_complex
    m, _ = matrix_shape(function, caller.a, inputs.shape(0))
    right, is_vector = right_hand_side(function, inputs.blocks[1], inputs.shape(1), m)
    batch, blocks = broadcast_batch(function, [inputs.blocks[0], right], field)
    return inputs._replace(blocks=blocks), is_vector, bool(batch)


class Conditioned(NamedTuple):
    """A condition estimate, and on the host its numbers and the ranks, of the batch shape."""

    estimate: Condition
    value: np.ndarray
    rank: np.ndarray


class Ranks(NamedTuple):
    """Conditions and ranks of a whole batch, flat; a problem has the matrices at `places`.

    Problems taken from one batch share them. A rank of -1 is not decided yet.
    """

    value: np.ndarray
    rank: np.ndarray
    places: np.ndarray

    @classmethod
    def unknown(cls, batch: tuple[int, ...]) -> Ranks:
        """Return those of a batch of which nothing is decided."""
        places = np.arange(prod(batch)).reshape(batch)
        return cls(np.ones(places.size), np.full(places.size, -1), places)

    def take(self, items: Items) -> Ranks:
        """Return the same for some matrices."""
        return self._replace(places=self.places[items])

    def note(self, value: np.ndarray, rank: np.ndarray) -> None:
        """Keep what was decided of all matrices of a problem."""
        self.value[self.places], self.rank[self.places] = value, rank


@dataclass(frozen=True)
class Problem:
    """A scaled problem, its right-hand sides as they came, and the operands for precisions.

    Matrices whose condition times `limit` is not small are factored, and `decide` sees them: it
    gets the system and its condition, and raises where columns depend on each other. `raised`
    returns the same problem in the next precision, of which `lower` is the one that decides ranks.
    `ranks` has what was decided of the batch that this was taken from. With `is_inverse`
    the right-hand sides are an identity.
    """

    system: System
    given: Block
    inputs: Inputs
    limit: float
    decide: Callable[[System, Decisive], np.ndarray]
    raised: Callable[[], Problem]
    lower: Problem | None = None
    ranks: Ranks | None = None
    is_inverse: bool = False

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
        return replace(
            self,
            system=self.system.take(items),
            given=taken(self.given, self.system.kind.lead, items),
            raised=cache(lambda: self.raised().take(items)),
            lower=None if self.lower is None else self.lower.take(items),
            ranks=self._ranks.take(items),
        )

    def decide_early(self, condition: np.ndarray) -> None:
        """Decide ranks in the lower precision, where an estimate shows that this will be needed.

        A singular matrix is refused so before an inverse of it is looked for in more limbs.
        """
        if self.lower is not None:
            self.lower.decided(condition * self.lower.limit >= SMALL)

    def decided(self, doubtful: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return conditions and ranks of the matrices `doubtful`, of bool; each is decided once."""
        value, rank, places = self._ranks
        missing = doubtful & (rank[places] < 0)
        if missing.any():
            _ = (self if missing.all() else self.take(np.nonzero(missing))).conditioned
        return value[places[doubtful]], rank[places[doubtful]]

    @cached_property
    def _ranks(self) -> Ranks:
        return Ranks.unknown(self.batch) if self.ranks is None else self.ranks

    @cached_property
    def conditioned(self) -> Conditioned:
        """The condition estimates and ranks of the matrices, which are factored."""
        system = self.system
        estimate = condition(system.factored.triangle)
        value, vector = system.checks.settle(estimate.value, estimate.vector)
        system.tell("condition", 1, 1)
        rank = self.decide(system, Decisive(value, vector))
        self._ranks.note(value, rank)
        return Conditioned(estimate, value, rank)
