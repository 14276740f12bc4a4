"""Updates as values: their common part, the choice of the cheaper way, and the results."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Literal

from mdqr._limbs.planes import Block
from mdqr._typing import PrecisionLike
from mdqr.linalg._shared.checks import Checks
from mdqr.linalg._update import cost
from mdqr.linalg._update.arithmetic.engine import Engine, attempted, settle
from mdqr.linalg._update.loss import lost_digits, require_distance, warn_of_loss
from mdqr.linalg._update.operands import (
    Numbers,
    Scales,
    UpdateResult,
    convert,
    factor_shapes,
    require_finite,
    require_given,
    require_in_range,
    shifted,
)
from mdqr.linalg._update.state import State

Way = Literal["update", "refactor"]


@dataclass(frozen=True)
class Factors:
    """The factors Q and R of matrices ``(..., m, n)``, for a public function.

    With `check` the new factors are checked at the end; `checks` has what is demanded until then.
    """

    function: str
    numbers: Numbers
    engine: Engine
    q: Block | None
    r: Block
    m: int
    n: int
    batch: tuple[int, ...]
    check: bool
    checks: Checks

    @property
    def count(self) -> int:
        """Rows of R that are not zero."""
        return min(self.m, self.n)

    @property
    def is_thin(self) -> bool:
        """True if Q has fewer columns than rows."""
        return self.q is not None and bool(self.q.shape[-1] < self.m)

    def size(self, p: int, k: int) -> cost.Size:
        """Return the sizes on which the operation count depends."""
        return cost.Size(self.m, self.n, 0 if self.q is None else int(self.q.shape[-1]), p, k)

    def q_columns(self, m: int, n: int) -> int | None:
        """Return the number of columns of Q after an update to shape ``(m, n)``."""
        if self.q is None:
            return None
        return min(m, n) if self.is_thin else m

    def matrix(self, r: Block) -> Block:
        """Return the product of Q, if it exists, with `r`: scaled R, or some columns of it."""
        if self.q is None:
            return r
        return self.engine.multiply(self.q[..., : self.count], r[..., : self.count, :])

    def state(self, r: Block, untouched: int = 0, *, extended: bool = False) -> State:
        """Return a state with a copy of Q, but of a thin one that will be `extended`."""
        q = self.q if self.q is None or (extended and self.is_thin) else self.q.copy()
        return State(self.engine, q, r, self.n, untouched)


@dataclass(frozen=True)
class Update(ABC):
    """A change of factors, which can be done by an update or by a refactorisation.

    Both return the new factors, and the exponents by which the columns of R were scaled; they raise
    ValueError where they are impossible.
    """

    factors: Factors

    @property
    def least_condition(self) -> float | None:
        """The smallest reciprocal condition of a new column; None for eps."""
        return None

    @abstractmethod
    def apply(self) -> tuple[State, Scales]:
        """Change the factors."""

    @abstractmethod
    def refactor(self) -> tuple[State, Scales]:
        """Factor the changed matrix."""

    @abstractmethod
    def work(self) -> cost.Works:
        """Count the operations of both; an engine may have its fast path by then, or not."""


def choose(update: Update, method: str = "auto") -> Way:
    """Return the way that a method takes, "auto" the one that takes less time by a static table."""
    if method == "auto":
        work, engine = update.work(), update.factors.engine
        cheaper = cost.seconds(engine, work.update) <= cost.seconds(engine, work.refactor)
        return "update" if cheaper else "refactor"
    return "update" if method == "update" else "refactor"


def execute(update: Update, method: str) -> UpdateResult:
    """Return the new factors as the caller needs them."""
    known = update.factors
    if not known.check:
        return known.numbers.result(*_changed(update, method)[:2])
    q, r, lost = attempted(known.engine, _changed, update, method)
    if lost:
        warn_of_loss(known.function, known.engine, lost, known.numbers.precision)
    return known.numbers.result(q, r)


def _changed(update: Update, method: str) -> tuple[Block | None, Block, float]:
    """Return the new Q and R, and the digits that are lost, if that is checked."""
    known, engine, checks = update.factors, update.factors.engine, update.factors.checks
    way = choose(update, method)
    state, scales = update.apply() if way == "update" else update.refactor()
    state.normalise()
    r = shifted(engine, state.r, scales)
    if not known.check:
        return state.q, r, 0.0
    if state.losses:
        require_distance(known.function, checks, state, update.least_condition)
    require_in_range(checks, known.function, engine, "R", r)
    values = settle(engine, checks, *state.removals)
    return state.q, r, lost_digits(state, values) if values else 0.0


def read_factors(
    function: str,
    Q: Any,
    R: Any,
    precision: PrecisionLike | None = None,
    check: bool = True,
    **operands: Any,
) -> tuple[Factors, list[Any]]:
    """Convert the operands of a public function; return the factors, and the others in order."""
    require_given(function, R=R, **{name: x for name, x in operands.items() if name != "a"})
    numbers, (q, r, *others) = convert(precision, Q, R, *operands.values())
    engine, checks = numbers.engine, Checks(ignore=not check)
    m, n, batch = factor_shapes(function, engine, q, r)
    if check:
        for name, x in zip(("Q", "R", *operands), (q, r, *others), strict=True):
            if x is not None:
                require_finite(checks, function, engine, name, x)
    return Factors(function, numbers, engine, q, r, m, n, batch, check, checks), others
