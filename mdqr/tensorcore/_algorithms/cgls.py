"""Conjugate gradients on the normal equations of ``A M**-1``, all columns of b at once.

M. R. Hestenes and E. Stiefel 1952; Algorithm 3 of S. Zhang, E. Baharlouei and P. Wu 2020, without
the normal equations being formed: residuals are updated, and A multiplies vectors in float64.
"""

from __future__ import annotations

from types import ModuleType
from typing import NamedTuple

import numpy as np

from mdqr._limbs.planes import Block
from mdqr.tensorcore._algorithms.lanczos import Lanczos
from mdqr.tensorcore._algorithms.preconditioner import Preconditioner, Size
from mdqr.tensorcore._engine.protocol import Engine

_EPS = 2.0**-52
# Iterations without a new least gradient half of the last, after which rounding is all there is.
_PATIENCE = 3
# Of what is promised: a factor that errors of rounding have in n directions.
_FACTOR = 8.0
# The condition up to which a gradient is worth no iteration more than float64 promises.
_GOOD = 32.0
# Growth of the gradient above the least: directions lost to rounding, nothing is left to gain.
_FAR = 2.0**30
# Times that the residual is recomputed: updates of it drift.
_MOST_STARTS = 4
# From so many iterations on the speed of the last ones says how many are to come; with more than
# that another factor is cheaper.
_TRIAL, _RECENT, _WORTH = 24, 16, 48
# Squares of lengths are no smaller, or zero.
_TINY = 2.0**-900


class System(NamedTuple):
    """The matrix in float64, row by row or column by column, and its preconditioner.

    `final` means that a better one does not exist.
    """

    engine: Engine
    a: Block
    m: Preconditioner
    size: Size
    final: bool

    def residual(self, x: Block, b: Block) -> Block:
        """Return ``b - a @ x``."""
        r = b.copy(order="F")
        self.engine.doubles(r, self.a, x, alpha=-1.0, beta=1.0)
        return r

    def gradient(self, r: Block) -> Block:
        """Return ``M**-T @ a.T @ r``: the part of r that x can still remove, if M is good."""
        s = self.engine.xp.empty((self.a.shape[1], r.shape[1]), order="F")
        self.engine.doubles(s, self.a, r, transposed=True)
        return self.m.solve_transposed(s)

    def image(self, p: Block) -> tuple[Block, Block]:
        """Return ``M**-1 @ p`` and a times it."""
        t = self.m.solve(p)
        q = self.engine.xp.empty((len(self.a), p.shape[1]), order="F")
        self.engine.doubles(q, self.a, t)
        return t, q


class Iterate(NamedTuple):
    """The result of the iteration; arrays on the host have an entry for each column of b.

    `condition` is NaN as long as it is not known, and infinite where M is of no use.
    """

    x: Block
    r: Block
    iterations: int
    reached: np.ndarray
    gradient: np.ndarray
    condition: float


def squares(x: Block) -> Block:
    """Return the squares of the lengths of the columns."""
    rows = x.T  # sums are faster along what is contiguous
    found: Block = (rows * rows).sum(axis=1)
    return found


def norms(x: Block) -> Block:
    """Return the lengths of the columns."""
    length: Block = squares(x) ** 0.5
    return length


class _Search:
    """The search for x, and for what its gradients are worth."""

    def __init__(self, system: System, b: Block) -> None:
        self.system, self.b = system, b
        self.lanczos = Lanczos(system.engine.xp, system.size.weak)
        self.size, self.condition = np.full(b.shape[1], np.nan), np.nan

    def wanted(self, rest: np.ndarray) -> np.ndarray:
        """Return what gradients should be: float64's of b, and of ``a.T @ r`` through a good M.

        Through another they may come down to the same, or stay above: the iteration finds out.
        """
        wanted: np.ndarray = _EPS * (2 * self.size + min(self.system.size.norm, _GOOD) * rest)
        return wanted

    def accepted(self, rest: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return the gradients that keep what is promised; `x` has lengths in units of columns.

        A gradient of length g leaves ``norm(a @ (x - x*))`` at g over the least singular value of
        ``a @ M**-1`` at most.
        """
        if np.isnan(self.condition) and not self.lanczos.open:
            self.condition = self._condition()
        root = np.sqrt(self.system.a.shape[1]) + 2
        promised = _EPS * (root * (self.size + self.condition * rest) + x)
        accepted: np.ndarray = min(self.lanczos.least, 1.0) * _FACTOR * promised
        return accepted if np.isfinite(self.condition) else np.zeros(len(rest))

    def _condition(self) -> float:
        """Return an estimate of the norm of the inverse of a, its columns scaled to length 1."""
        system, found = self.system, self.lanczos
        if found.is_lost:
            return np.inf
        _, (x,) = system.engine.report(norms(system.m.scaled(found.x)))
        return max(float(x[0]) / found.image, system.size.longest * system.size.norm / found.most)


def cgls(system: System, b: Block, most: int, x: Block | None = None) -> Iterate:
    """Return the x that minimises the columns of ``b - a @ x``; `most` iterations at most.

    The search starts at `x`. If the system is not final, it ends early where it is slow.
    """
    first, shape = x is None, (system.a.shape[1], b.shape[1])
    x = system.engine.xp.zeros(shape, order="F") if x is None else x
    made, slow, search = 0, False, _Search(system, b)
    for start in range(_MOST_STARTS + 1):
        r = b.copy(order="F") if first else system.residual(x, b)
        s, first = system.gradient(r), False
        third = system.m.scaled(x) if start else b
        _, found = system.engine.report(squares(s), squares(r), squares(third))
        length, rest, last = (np.sqrt(value) for value in found)
        if not start:
            search.size = last
        reached = np.isfinite(length) & (length <= search.accepted(rest, last))
        done = start == _MOST_STARTS or slow or made >= most or search.lanczos.is_lost
        known = np.isfinite(search.condition)
        if (known and reached.all()) or done or not np.isfinite(length).all():
            break
        count, slow = _descend(search, (x, r, s), most - made)
        made += count
    relative = length / np.where(search.size > 0, search.size, 1)
    return Iterate(x, r, made, reached & known, relative, search.condition)


class _Progress:
    """The least gradients so far."""

    def __init__(self, columns: int) -> None:
        self._least, self._waited = np.full(columns, np.inf), 0
        self._left: list[float] = []  # to go, in bits

    def note(self, length: np.ndarray, wanted: np.ndarray, other: float) -> None:
        """Note the gradients of an iteration, and what is left of others over what may be."""
        done, better = length <= wanted, length < self._least / 2
        self._least = np.where(better, length, self._least)
        self._waited = 0 if (better & ~done).any() else self._waited + 1
        ratio = length / np.where(wanted > 0, wanted, 1)
        found = float(np.log2(np.fmax(ratio.max(initial=1.0), max(other, 1.0))))
        self._left.append(min(found, self._left[-1]) if self._left else found)

    @property
    def stays(self) -> bool:
        """True if there was no progress lately."""
        return self._waited >= _PATIENCE

    @property
    def is_slow(self) -> bool:
        """True if another factor is worth more than the remaining iterations."""
        if len(self._left) < _TRIAL:
            return False
        recent = self._left[-1 - _RECENT] - self._left[-1]
        return recent * _WORTH < self._left[-1] * _RECENT


class _Vectors:
    """x, residuals, gradients and directions, all changed in place, column by column.

    While the search for the least singular value is open, a last column belongs to it: what the
    last step took away stands for the residual, so that A multiplies both at once.
    """

    def __init__(self, search: _Search, x: Block, r: Block, s: Block) -> None:
        self.k, self._system, self._lanczos = x.shape[1], search.system, search.lanczos
        self._all = x, r, s
        if self._lanczos.open:
            xp = self._system.engine.xp
            self._all = _joined(xp, x, 0.0), _joined(xp, r, 0.0), _joined(xp, s, self._lanczos.s)
        self._p, self._gamma = self._all[2], squares(self._all[2])

    @property
    def x(self) -> Block:
        """The solution so far."""
        return self._all[0][:, : self.k]

    def step(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the lengths of gradients and residuals after one more step."""
        (x, r, last), k, p, lanczos = self._all, self.k, self._p, self._lanczos
        xp = self._system.engine.xp
        t, q = self._system.image(p)
        alpha = self._gamma / xp.maximum(squares(q), _TINY)
        t *= alpha
        x += t
        q *= alpha
        r -= q
        s = self._system.gradient(r)
        values = [squares(r)]
        if lanczos.open:
            s[:, k:] += last[:, k:]
            r[:, k:] = 0.0
            values.append(alpha)
        before, self._gamma = self._gamma, squares(s)
        p *= self._gamma / xp.maximum(before, _TINY)
        p += s
        self._all = x, r, s
        _, (gamma, rest, *steps) = self._system.engine.report(self._gamma, *values)
        if steps:
            lanczos.note(float(steps[0][k]), float(gamma[k]))
            if not lanczos.open:
                self._narrow()
        return np.sqrt(gamma[:k]), np.sqrt(rest[:k])

    def _narrow(self) -> None:
        """Go on with the columns of b."""
        x, r, s = self._all
        self._lanczos.x = x[:, self.k :]
        self._all = x[:, : self.k], r[:, : self.k], s[:, : self.k]
        self._p, self._gamma = self._p[:, : self.k], self._gamma[: self.k]


def _joined(xp: ModuleType, left: Block, right: Block | float) -> Block:
    """Return the columns of `left`, and one more, column by column in memory."""
    k = left.shape[1]
    out = xp.empty((len(left), k + 1), order="F")
    out[:, :k], out[:, k:] = left, right
    return out


def _descend(search: _Search, start: tuple[Block, Block, Block], most: int) -> tuple[int, bool]:
    """Change x in place until the gradient is small or stays.

    What x ends as is the one of the least gradient: behind it rounding may take over, and grow.
    Returns the iterations made, and whether they were too slow.
    """
    xp, lanczos, k = search.system.engine.xp, search.lanczos, start[0].shape[1]
    vectors, best_x = _Vectors(search, *start), start[0].copy(order="F")
    progress, slow, best = _Progress(k), False, np.full(k, np.inf)
    made = 0
    while made < most:
        made += 1
        length, rest = vectors.step()
        better = length < best
        if better.all():
            best_x[...] = vectors.x
        elif better.any():
            best_x = xp.where(xp.asarray(better), vectors.x, best_x)
        best = np.fmin(best, length)
        wanted = search.wanted(rest)
        progress.note(length, wanted, lanczos.left if lanczos.open else 1.0)
        lost = ~(length <= _FAR * best)
        slow = not search.system.final and progress.is_slow
        if slow or lanczos.is_lost:
            break
        if lanczos.open:
            continue
        if ((length <= wanted) | lost).all():
            break
        if progress.stays and (best <= search.accepted(rest, 0.0 * rest)).all():
            break
    start[0][...] = best_x
    return made, slow
