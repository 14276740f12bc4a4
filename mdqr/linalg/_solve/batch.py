"""Batches whose matrices take several solvers."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from mdqr._limbs import planes
from mdqr._limbs.planes import Block
from mdqr.linalg._shared.operands import Items, taken
from mdqr.linalg._solve.answer import Answer, Report
from mdqr.linalg._solve.problem import Problem
from mdqr.linalg._solve.system import Scaled, System


class _Served(NamedTuple):
    """An answer for `items` of a batch, at `chosen` places of its own; None stands for all."""

    answer: Answer
    chosen: Items | None
    items: Items

    def of_items(self, values: np.ndarray) -> np.ndarray:
        """Return values of the answer's own batch for `items`."""
        if self.chosen is None:
            return values.reshape(self.items[0].shape) if self.items else values
        return values[self.chosen]


class Batch:
    """The matrices of a batch that are `left` to be solved, and the answers for the others."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.left = np.ones(shape, dtype=bool)
        self._served: list[_Served] = []

    def solve(
        self, problem: Problem, solver: Callable[[Problem], Answer | None], *, last: bool = False
    ) -> None:
        """Pass the problem of the unsolved matrices to a solver.

        Its answers with all digits are taken, and all of the `last` one.
        """
        if not self.left.any():
            return
        items = None if self.left.all() else np.nonzero(self.left)
        self.add(solver(problem if items is None else problem.take(items)), items, last=last)

    def add(self, answer: Answer | None, items: Items | None = None, *, last: bool = False) -> None:
        """Take an answer for some items, by default all of them, as `solve`."""
        if answer is None or not (last or answer.kept.any()):
            return
        if items is None:
            shape = self.left.shape
            items = np.unravel_index(np.arange(self.left.size), shape) if shape else ()
        chosen = None if last or answer.kept.all() else np.nonzero(answer.kept)
        if chosen is not None:
            items = tuple(index[np.flatnonzero(answer.kept)] for index in items)
        self._served.append(_Served(answer, chosen, items))
        self.left[items] = False

    def answer(self, problem: Problem, *, is_raised: bool = False) -> Answer | None:
        """Return the answer for the whole batch, `kept` where it was solved; None if nowhere.

        `is_raised`: whether some were solved in the next precision.
        """
        if len(self._served) == 1 and not self.left.any() and self._served[0].chosen is None:
            return self._served[0].answer
        if not self._served:
            return None
        system = problem.raised().system if is_raised else problem.system
        return _Mixed(problem, system, self._served)


class _Mixed(Answer):
    """Answers of several solvers; attributes as those of `Answer`, lists of words for a batch.

    Parameters
    ----------
    problem : Problem
        The problem.
    system : System
        That of the highest precision of the work.
    served : list of _Served
        Answers for parts of its batch; what is in none is zero, and not `kept`.
    """

    def __init__(self, problem: Problem, system: System, served: list[_Served]) -> None:
        self._system, self._served, self._inputs = system, served, problem.inputs
        # It is asked for later, and the operands may be changed before.
        self._given, self._batch = problem.given.copy(), problem.batch
        self.kept = self._of_matrices("kept", False)
        self.condition = self._of_matrices("condition", 1.0)
        self._rank = self._of_matrices("rank", problem.system.factored.columns)
        self.method, self.bound_kind = self._word("method"), self._word("bound_kind")
        self.held = self._joined_held()

    @cached_property
    def x(self) -> Block:
        """The same as `Answer.x`."""
        lead = self.system.kind.lead
        return self._joined([part.answer.x for part in self._served], lead)

    @cached_property
    def report(self) -> Report:
        """The same as `Answer.report`; the history is the longest."""
        reports = [part.answer.report for part in self._served]
        bound, digits = (self._joined([report[i] for report in reports], 0) for i in (0, 1))
        return Report(bound, digits, max((report.history for report in reports), key=len))

    @property
    def steps(self) -> int:
        """The same as `Answer.steps`."""
        return max(part.answer.steps for part in self._served)

    @property
    def b(self) -> Scaled:
        """The same as `Answer.b`."""
        system = self.system
        field = system.kind.is_complex
        near, powers = system.backend.balance_columns(self._given, system.rows, is_complex=field)
        return Scaled(near, -powers)

    @cached_property
    def r(self) -> Scaled:
        """The same as `Answer.r`."""
        found = [part.answer.r for part in self._served]
        lead = self.system.kind.lead
        return Scaled(
            self._joined([r.block for r in found], lead),
            self._joined([r.exponents for r in found], 0),
        )

    def _joined_held(self) -> Block | None:
        """Return `held` of all answers."""
        answers = [part.answer for part in self._served]
        if all(answer.held is None for answer in answers):
            return None
        ones = self.system.backend.xp.ones
        return self._joined(
            [
                ones(answer.report.bound.shape, dtype=bool) if answer.held is None else answer.held
                for answer in answers
            ],
            0,
        )

    def _joined(self, blocks: list[Block], lead: int) -> Block:
        """Return the items of all parts in their places."""
        if lead:
            field = self.system.kind.is_complex
            limbs = max(planes.limb_count(block, field) for block in blocks)
            blocks = [planes.widen(block, field, limbs) for block in blocks]
        batch, xp = self._batch, planes.namespace(blocks[0])
        shape = blocks[0].shape
        tail = shape[lead + self._served[0].answer.kept.ndim :]
        whole = xp.zeros((*shape[:lead], *batch, *tail), dtype=blocks[0].dtype)
        for part, block in zip(self._served, blocks, strict=True):
            if part.chosen is not None:
                block = taken(block, lead, part.chosen)
            index = (slice(None),) * lead + tuple(map(xp.asarray, part.items))
            count = len(part.items[0])
            whole[index] = block.reshape(*block.shape[:lead], count, *tail)
        return whole

    def _of_matrices(self, name: str, default: Any) -> np.ndarray:
        """Return an attribute of the answers, which has a value for each matrix."""
        whole = np.full(self._batch, default)
        for part in self._served:
            whole[part.items] = part.of_items(np.asarray(getattr(part.answer, name)))
        return whole

    def _word(self, name: str) -> Any:
        """Return the word for all, or an array of words."""
        words = np.empty(self._batch, dtype="U11")
        for part in self._served:
            word = getattr(part.answer, name)
            words[part.items] = word if isinstance(word, str) else part.of_items(word)
        return str(words.flat[0]) if (words == words.flat[0]).all() else words
