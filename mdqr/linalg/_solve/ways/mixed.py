"""Answers of a batch whose matrices take several ways."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mdqr._limbs import planes
from mdqr._limbs.planes import Block
from mdqr.linalg._shared.operands import Inputs
from mdqr.linalg._solve.answer import Answer, Report, Scaled
from mdqr.linalg._solve.system import Items, System, taken


def all_items(shape: tuple[int, ...]) -> Items:
    """Return all items of a batch, in order."""
    return np.unravel_index(np.arange(np.prod(shape, dtype=int)), shape) if shape else ()


class Served(NamedTuple):
    """Answers for `items` of a batch, at `own` places of theirs, None for all; conditions."""

    answer: Answer
    own: Items | None
    items: Items
    condition: np.ndarray

    @classmethod
    def of(cls, answer: Answer, condition: np.ndarray, items: Items) -> list[Served]:
        """Return those that have all digits; `condition` is that of the whole batch."""
        if not answer.kept.any():
            return []
        own = None if answer.kept.all() else np.nonzero(answer.kept)
        if own is not None:
            items = tuple(index[np.flatnonzero(answer.kept)] for index in items)
        return [cls(answer, own, items, condition[items])]

    def within(self, items: Items) -> Served:
        """Return the same, where the batch is a part of another."""
        return self._replace(items=tuple(index[self.items] for index in items))


class Mixed(Answer):
    """Answers of several ways; attributes as those of `Answer`, and lists of words for a batch.

    Parameters
    ----------
    system : System
        The problem.
    parts : list of Served
        Answers for all of its batch.
    given : Block
        Its right-hand sides as they came.
    inputs : Inputs
        The operands, for the precisions.
    """

    def __init__(self, system: System, parts: list[Served], given: Block, inputs: Inputs) -> None:
        self.system, self._served, self._inputs = system, parts, inputs
        # It is asked for later, and the operands may be changed before.
        self._given = given.copy()
        self._batch = planes.value_shape(system.a, system.kind.is_complex)[:-2]
        self.kept = np.ones(self._batch, dtype=bool)
        for part in parts:
            self.kept[part.items] = part.answer.kept if part.own is None else True
        self.method, self.bound_kind = self._words("method"), self._words("bound_kind")

    @property
    def x(self) -> Block:
        """As that of `Answer`."""
        lead = self.system.kind.lead
        return self._joined([part.answer.x for part in self._served], lead)

    @property
    def report(self) -> Report:
        """As that of `Answer`; the history is the longest."""
        reports = [part.answer.report for part in self._served]
        bound, digits = (self._joined([report[i] for report in reports], 0) for i in (0, 1))
        return Report(bound, digits, max((report.history for report in reports), key=len))

    @property
    def steps(self) -> int:
        """As that of `Answer`."""
        return max(part.answer.steps for part in self._served)

    @property
    def b(self) -> Scaled:
        """As that of `Answer`."""
        system = self.system
        field = system.kind.is_complex
        near, powers = system.backend.balance_columns(self._given, system.rows, is_complex=field)
        return Scaled(near, -powers)

    @property
    def r(self) -> Scaled:
        """As that of `Answer`."""
        found = [part.answer.r for part in self._served]
        lead = self.system.kind.lead
        return Scaled(
            self._joined([r.block for r in found], lead),
            self._joined([r.exponents for r in found], 0),
        )

    @property
    def held(self) -> Block | None:
        """As that of `Answer`."""
        answers = [part.answer for part in self._served]
        if all(answer.held is None for answer in answers):
            return None
        return self._joined(
            [
                self.system.backend.xp.ones(answer.report.bound.shape, dtype=bool)
                if answer.held is None
                else answer.held
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
        pairs = [
            (part.items, block if part.own is None else taken(block, lead, part.own))
            for part, block in zip(self._served, blocks, strict=True)
        ]
        first = pairs[0][1]
        shape = (*first.shape[:lead], *self._batch, *first.shape[lead + 1 :])
        whole = planes.namespace(first).zeros(shape, dtype=first.dtype)
        for items, block in pairs:
            index = map(planes.namespace(whole).asarray, items)
            whole[(slice(None),) * lead + tuple(index)] = block
        return whole

    def _words(self, name: str) -> Any:
        """Return the word for all, or an array of words."""
        words = np.empty(self._batch, dtype="U11")
        for part in self._served:
            words[part.items] = getattr(part.answer, name)
        return str(words.flat[0]) if (words == words.flat[0]).all() else words
