"""Sweeps that correct float64 factors until their errors are within a bound of each entry.

How many more there have to be, and their bits, follows from the first two sweeps. These are one
piece of work, as the two are: a device is waited for behind each, and may record it. Where errors
are larger than the bound then, further sweeps follow one by one.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

from mdqr._backend.protocol import Backend
from mdqr._limbs.planes import Block, Kind
from mdqr.linalg._factor.refine.pace import Digits, Pace, digits_of_sweep
from mdqr.linalg._factor.refine.products import (
    Difference,
    bits_of_entries,
    eps_of,
    is_within,
    within,
)
from mdqr.linalg._products.exact.parts import Shape
from mdqr.linalg._products.exact.product import is_within_range
from mdqr.linalg._shared.checks import fetch

Factors = tuple[Block, ...]

_MOST_SWEEPS = 24
# Of F, in eps: below, errors may be within the bounds of entries.
_NEAR = 2.0**20
# Of F behind the first sweep, as far as the bits of the second are concerned.
_SECOND = 2.0**-40


class Change(NamedTuple):
    """Changes of factors in float64, and the square of the norm of F."""

    changes: Factors
    square: Block


class Run(Protocol):
    """Sweeps for one matrix, which are made again from `operands`, on any backend."""

    @property
    def kind(self) -> Kind:
        """The kind of the factors."""
        ...

    @property
    def shape(self) -> Shape:
        """The shape of the product of the factors."""
        ...

    @property
    def operands(self) -> list[Block]:
        """All that sweeps depend on besides the kind."""
        ...

    def again(self, backend: Backend, *operands: Block) -> Run:
        """Return the same for other operands."""
        ...

    def start(self) -> Factors:
        """Return the factors of float64."""
        ...

    def difference(self, factors: Factors, digits: Digits) -> Difference:
        """Return E, of so many digits."""
        ...

    def change(self, rest: Difference) -> Change:
        """Return changes of the factors."""
        ...

    def corrected(self, factors: Factors, changes: Factors) -> Factors:
        """Return factors corrected to first order."""
        ...


def factors_of(backend: Backend, run: Run, bound: float, near: float) -> Factors | None:
    """Return factors within a bound.

    Parameters
    ----------
    backend : Backend
        Where the kernels run.
    run : Run
        The sweeps.
    bound : float
        The largest error, in units of the product of the moduli of the factors.
    near : float
        What is asked for, in the same units, while further sweeps gain much.

    Returns
    -------
    tuple of Block or None
        Factors within the bound in every entry; None where that cannot be shown.
    """
    kind, shape = run.kind, run.shape
    pace, bits = Pace(kind), bits_of_entries(kind)
    found = _planned(backend, run, pace, bound)
    if found is None:
        return None
    factors, is_good = found
    if is_good:
        return factors
    for _ in range(_MOST_SWEEPS):
        is_last, is_asked_first = pace.is_last, pace.expected <= near
        rest = run.difference(factors, pace.digits)
        served = partial(is_within, backend, rest, kind=kind, bits=bits, shape=shape)
        if is_last and is_asked_first and served(bound):
            return factors
        change = run.change(rest)
        is_seen = pace.take(change.square, rest.words)
        if is_seen is None:
            return None
        is_small = pace.size <= _NEAR * eps_of(kind) or not pace.gains
        # The last sweep may leave less than another one would be worth.
        most = near if pace.gains else bound
        if is_last and is_small and not is_asked_first and served(most):
            return factors
        if is_seen and not pace.gains:
            return None
        factors = run.corrected(factors, change.changes)
    return None


class _Planned(NamedTuple):
    factors: Factors
    is_good: bool


def _planned(backend: Backend, run: Run, pace: Pace, bound: float) -> _Planned | None:
    """Return factors after all sweeps that there should be, or after the first ones.

    None if numbers were out of range, or sweeps gain little.
    """
    operands, digits = run.operands, (pace.digits, digits_of_sweep(_SECOND, run.kind))
    key: tuple[Hashable, ...] = "first sweeps", run.shape, run.kind
    first = partial(_first, run=run, digits=digits)
    squares, *words, known = _split(backend.recorded(key, operands, first), 3)
    for place in (0, 1):
        if pace.take(squares[place : place + 1], words[place]) is None or not pace.gains:
            return None
    plan = pace.plan(int(operands[0].shape[-1]))
    if plan is None:
        half = len(known) // 2
        return _Planned(run.corrected(tuple(known[:half]), tuple(known[half:])), False)
    work = partial(_rest, run=run, plan=plan, bound=bound, count=len(operands))
    key = "planned sweeps", run.shape, run.kind, plan, bound
    good, last, factors = _split(backend.recorded(key, [*operands, *known], work), 2)
    pace.pass_planned()
    is_good, seen = fetch(good, last)
    return _Planned(tuple(factors), bool(is_good) and is_within_range(seen))


def _split(found: list[Block], count: int) -> list[Any]:
    """Return the first arrays, and a list of the others."""
    return [*found[:count], found[count:]]


def _first(backend: Backend, *operands: Block, run: Run, digits: Sequence[Digits]) -> list[Block]:
    """Return squares of the norms of F of two sweeps, their words, factors behind one, changes."""
    again, squares = run.again(backend, *operands), backend.xp.empty(2)
    factors, words = again.start(), []
    for place, each in enumerate(digits):
        rest = again.difference(factors, each)
        change = again.change(rest)
        squares[place] = change.square[0]
        words.append(rest.words)
        if place == 0:
            factors = again.corrected(factors, change.changes)
    return [squares, *words, *factors, *change.changes]


def _rest(
    backend: Backend,
    *operands: Block,
    run: Run,
    plan: Sequence[Digits],
    bound: float,
    count: int,
) -> list[Block]:
    """Return factors after planned sweeps behind the test of their bound, and words of that."""
    again, known = run.again(backend, *operands[:count]), operands[count:]
    half = len(known) // 2
    factors = again.corrected(known[:half], known[half:])
    for digits in plan:
        change = again.change(again.difference(factors, digits))
        factors = again.corrected(factors, change.changes)
    bits = bits_of_entries(run.kind)
    rest = again.difference(factors, Digits(bits, run.kind))
    good = within(backend, rest, bound, kind=run.kind, bits=bits, shape=run.shape)
    return [good, rest.words, *factors]
