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
# Times that the residual is computed anew: updates of it drift.
_MOST_STARTS = 4


class System(NamedTuple):
    """The matrix in float64, row by row or column by column, and its preconditioner."""

    engine: Engine
    a: Block
    m: Preconditioner
    condition: float

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


def norms(x: Block) -> Block:
    """Return the lengths of the columns."""
    length: Block = (x * x).sum(axis=0) ** 0.5
    return length


def _measured(system: System, s: Block, r: Block) -> tuple[np.ndarray, np.ndarray]:
    _, found = system.engine.report(norms(s), norms(r))
    return found[0], found[1]


def cgls(system: System, b: Block, most: int) -> Iterate:
    """Return the x that minimises the columns of ``b - a @ x``; `most` iterations at most."""
    xp, n = system.engine.xp, system.a.shape[1]
    x = xp.zeros((n, b.shape[1]), order="F")
    made = 0
    _, (size,) = system.engine.report(norms(b))
    for _ in range(_MOST_STARTS):
        r = system.residual(x, b)
        s = system.gradient(r)
        length, rest = _measured(system, s, r)
        reached = length <= _floor(system, size, rest)
        if reached.all() or made >= most or not np.isfinite(length).all():
            break
        made += _descend(system, (x, r, s), size, most - made)
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


def _descend(system: System, start: tuple[Block, Block, Block], size: np.ndarray, most: int) -> int:
    """Change x and r in place until the gradient is small or stays; return the iterations."""
    xp = system.engine.xp
    x, r, s = start
    p, gamma = s, (s * s).sum(axis=0)
    least, waited = np.full(len(size), np.inf), 0
    made = 0
    while made < most:
        made += 1
        t, q = system.image(p)
        delta = (q * q).sum(axis=0)
        alpha = xp.where(delta > 0, gamma / xp.where(delta > 0, delta, 1), 0)
        x += alpha * t
        r -= alpha * q
        s = system.gradient(r)
        before, gamma = gamma, (s * s).sum(axis=0)
        length, rest = _measured(system, s, r)
        done = length <= _wanted(system, size, rest)
        better = length < least / 2
        least = np.where(better, length, least)
        waited = 0 if (better & ~done).any() else waited + 1
        near = (length <= _floor(system, size, rest)).all()
        if done.all() or (near and waited >= _PATIENCE) or not np.isfinite(length).all():
            break
        p = s + xp.where(before > 0, gamma / xp.where(before > 0, before, 1), 0) * p
    return made
