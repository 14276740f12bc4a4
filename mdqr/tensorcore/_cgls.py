"""Conjugate gradients on the normal equations of ``A M**-1``, all columns of b at once.

M. R. Hestenes and E. Stiefel 1952; Algorithm 3 of S. Zhang, E. Baharlouei and P. Wu 2020, without
the normal equations being formed: residuals are updated, and A multiplies vectors in float64.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mdqr._backend.protocol import Block
from mdqr.tensorcore._engine import Engine
from mdqr.tensorcore._preconditioner import Preconditioner

_EPS = 2.0**-52
# Iterations without a new least gradient half of the last, after which rounding is all there is.
_PATIENCE = 3
# The condition up to which a gradient is worth no iteration more than float64 promises.
_GOOD = 32.0
# Growth of the gradient above the least: directions lost to rounding, nothing is left to gain.
_FAR = 2.0**30
# Times that the residual is computed anew: updates of it drift.
_MOST_STARTS = 4
# From so many iterations on the speed of the last ones says how many are to come; with more than
# that another factor is cheaper.
_TRIAL, _RECENT, _WORTH = 24, 16, 48
# Squares of lengths are no smaller, or zero.
_TINY = 2.0**-900


class System(NamedTuple):
    """The matrix in float64, row by row or column by column, and its preconditioner.

    `final` says that there is no better one.
    """

    engine: Engine
    a: Block
    m: Preconditioner
    condition: float
    final: bool

    def residual(self, x: Block, b: Block) -> Block:
        """Return ``b - a @ x``."""
        r = b.copy(order="F")
        self.engine.doubles(r, self.a, x, alpha=-1.0, beta=1.0)
        return r

    def gradient(self, r: Block) -> Block:
        """Return ``M**-T @ a.T @ r``: the part of r that x can still remove, if M is good."""
        s = self.engine.xp.empty((self.a.shape[1], r.shape[1]), order="F")
        self.engine.doubles(s, self.a, r, turned=True)
        return self.m.solve_turned(s)

    def image(self, p: Block) -> tuple[Block, Block]:
        """Return ``M**-1 @ p`` and a times it."""
        t = self.engine.xp.asfortranarray(self.m.solve(p))
        q = self.engine.xp.empty((len(self.a), p.shape[1]), order="F")
        self.engine.doubles(q, self.a, t)
        return t, q


class Iterate(NamedTuple):
    """What the iteration found; arrays on the host have an entry for each column of b."""

    x: Block
    r: Block
    iterations: int
    reached: np.ndarray
    gradient: np.ndarray


def squares(x: Block) -> Block:
    """Return the squares of the lengths of the columns."""
    found: Block = (x * x).sum(axis=0)
    return found


def norms(x: Block) -> Block:
    """Return the lengths of the columns."""
    length: Block = squares(x) ** 0.5
    return length


def _lengths(system: System, *values: Block) -> list[np.ndarray]:
    """Return roots, on the host."""
    _, found = system.engine.report(*values)
    return [np.sqrt(value) for value in found]


def cgls(system: System, b: Block, most: int, x: Block | None = None) -> Iterate:
    """Return the x that minimises the columns of ``b - a @ x``; `most` iterations at most.

    The search starts at `x`. If the system is not final, it ends early where it is slow.
    """
    xp, n = system.engine.xp, system.a.shape[1]
    x = xp.zeros((n, b.shape[1]), order="F") if x is None else x
    made, slow = 0, False
    (size,) = _lengths(system, squares(b))
    for start in range(_MOST_STARTS + 1):
        r = system.residual(x, b)
        s = system.gradient(r)
        length, rest = _lengths(system, squares(s), squares(r))
        reached = np.isfinite(length) & (length <= _floor(system, size, rest))
        last = start == _MOST_STARTS or slow or made >= most
        if reached.all() or last or not np.isfinite(length).all():
            break
        count, slow = _descend(system, (x, r, s), size, most - made)
        made += count
    return Iterate(x, r, made, reached, length / np.where(size > 0, size, 1))


def _wanted(system: System, size: np.ndarray, rest: np.ndarray) -> np.ndarray:
    """Return what gradients should be: float64's of b, and of ``a.T @ r`` through a good M.

    Through another they may come down to the same, or stay above: the iteration finds out.
    """
    wanted: np.ndarray = _EPS * (2 * size + min(system.condition, _GOOD) * rest)
    return wanted


def _floor(system: System, size: np.ndarray, rest: np.ndarray) -> np.ndarray:
    """Return what rounding leaves: errors in n directions, and in x."""
    n = system.a.shape[1]
    floor: np.ndarray = _EPS * (16 * size + 4 * np.sqrt(n) * (size + system.condition * rest))
    return floor


class _Progress:
    """The least gradients so far."""

    def __init__(self, columns: int) -> None:
        self._least, self._waited = np.full(columns, np.inf), 0
        self._left: list[float] = []  # to go, in bits

    def note(self, length: np.ndarray, wanted: np.ndarray) -> None:
        """Note the gradients of an iteration."""
        done, better = length <= wanted, length < self._least / 2
        self._least = np.where(better, length, self._least)
        self._waited = 0 if (better & ~done).any() else self._waited + 1
        ratio = length / np.where(wanted > 0, wanted, 1)
        found = float(np.log2(np.maximum(ratio, 1)).max(initial=0))
        self._left.append(min(found, self._left[-1]) if self._left else found)

    @property
    def stays(self) -> bool:
        """Whether there was no progress lately."""
        return self._waited >= _PATIENCE

    @property
    def is_slow(self) -> bool:
        """Whether another factor is worth more than what is to come."""
        if len(self._left) < _TRIAL:
            return False
        recent = self._left[-1 - _RECENT] - self._left[-1]
        return recent * _WORTH < self._left[-1] * _RECENT


def _descend(
    system: System, start: tuple[Block, Block, Block], size: np.ndarray, most: int
) -> tuple[int, bool]:
    """Change x in place until the gradient is small or stays.

    What x ends as is the one of the least gradient: behind it rounding may take over, and grow.
    Returns the iterations made, and whether they were too slow.
    """
    xp = system.engine.xp
    x, r, s = start
    p, gamma = s, squares(s)
    progress, slow = _Progress(len(size)), False
    best_x, best = x.copy(), np.full(len(size), np.inf)
    made = 0
    while made < most:
        made += 1
        t, q = system.image(p)
        alpha = gamma / xp.maximum(squares(q), _TINY)
        x += alpha * t
        r -= alpha * q
        s = system.gradient(r)
        before, gamma = gamma, squares(s)
        p = s + gamma / xp.maximum(before, _TINY) * p
        length, rest = _lengths(system, gamma, squares(r))
        if (length < best).any():
            best_x = xp.where(xp.asarray(length < best), x, best_x)
        best = np.fmin(best, length)
        wanted = _wanted(system, size, rest)
        progress.note(length, wanted)
        lost = ~(length <= _FAR * best)
        if ((length <= wanted) | lost).all():
            break
        if progress.stays and (best <= _floor(system, size, rest)).all():
            break
        slow = not system.final and progress.is_slow
        if slow:
            break
    x[...] = best_x
    return made, slow
