"""Solutions of equations of matrices in limbs, by corrections from float64.

First with eigenvectors, for whole batches; matrices whose corrections do not converge, as
those without n independent eigenvectors, have Schur vectors instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import numpy as np

from mdqr._array.array import MDArray
from mdqr._backend.blocks import from_native, to_native
from mdqr._backend.protocol import Backend
from mdqr._limbs import planes
from mdqr._limbs.device import host_block
from mdqr._limbs.planes import Block, Kind
from mdqr._precision import PRECISIONS
from mdqr.linalg._shared.operands import precision_for, taken

_MOST_STEPS = 80
# Corrections that have become this much smaller count as convergence, others as rounding errors.
_LEAST_GAIN = 0.75
# The last correction of solutions that are accurate, in eps.
_ACCURATE = 64.0


class Attempt(Protocol):
    """Solutions for some matrices of a batch, all with vectors of one kind."""

    @property
    def value(self) -> MDArray:
        """The solutions ``(batch, m, n)``."""

    @property
    def last(self) -> np.ndarray:
        """The last corrections relative to solutions; NaN and more than 1 are possible."""


_A = TypeVar("_A", bound=Attempt)


class Refined:
    """An iteration ``u + solve(residual(u))`` that has ended; first with fewer limbs.

    Attributes
    ----------
    value : MDArray
        The result ``(batch, m, n)``.
    last : numpy.ndarray
        The largest entries of last corrections, relative to the largest of the result.
    steps : int
        The number of steps.
    """

    def __init__(
        self,
        backend: Backend,
        start: np.ndarray,
        kind: Kind,
        residual: Callable[[Block, Kind], Block],
        solve: Callable[[np.ndarray], np.ndarray],
    ) -> None:
        self._backend, self._residual, self._solve = backend, residual, solve
        self.steps = 0
        u = backend.xp.asarray(_block(start, kind.is_complex))
        with np.errstate(all="ignore"):
            for precision in PRECISIONS:
                if 1 < precision.limbs <= kind.limbs:
                    stage = Kind(precision.limbs, kind.is_complex)
                    u, self.last = self._iterated(u, stage, precision.eps)
        self.value = MDArray._wrap(u, precision_for(kind.limbs), kind.is_complex)

    def _iterated(self, u: Block, kind: Kind, eps: float) -> tuple[Block, np.ndarray]:
        """Return the solutions with the limbs of `kind`, and their last corrections."""
        field = kind.is_complex
        u = planes.widen(u, field, kind.limbs)
        last = np.full(planes.value_shape(u, field)[0], np.inf)
        active = np.ones(last.shape, dtype=bool)
        step = 0
        while active.any() and step < _MOST_STEPS:
            e = self._solve(native(self._residual(u, kind), field))
            old, new = _largest(native(u, field)), _largest(e)
            size = np.where(new > 0, new / np.where(old > 0, old, new), 0.0 * new)
            # The first may be anything, if the start is not accurate.
            active &= size < (_LEAST_GAIN * last if step > 1 else np.inf)
            last = np.where(active, size, last)
            e = _block(np.where(active[:, None, None], e, 0.0), field)
            u = self._backend.binary("add", u, self._backend.xp.asarray(e), kind=kind)
            active &= size > eps / 8
            step += 1
        self.steps += step
        return u, last


def native(block: Block, is_complex: bool) -> np.ndarray:
    """Return first limbs in host memory."""
    first = host_block(planes.first_limbs(block, is_complex, 1))
    return np.asarray(to_native(np, first, is_complex))


def _block(x: np.ndarray, is_complex: bool) -> np.ndarray:
    """Return the block of one limb; of real ones the real part."""
    return from_native(np, x.astype(complex) if is_complex else x.real.copy(), is_complex)


def _largest(x: np.ndarray) -> np.ndarray:
    return np.asarray(abs(x).max(axis=(-2, -1), initial=0.0))


def in_two_ways(
    count: int, eps: float, attempt: Callable[[np.ndarray, bool], _A]
) -> list[tuple[np.ndarray, _A]]:
    """Return solutions for the places of a batch of `count`, by eigenvectors or Schur vectors.

    ``attempt(places, schur)`` makes them.
    """
    places = np.arange(count)
    first = attempt(places, False)
    failed = np.flatnonzero(~(first.last <= _ACCURATE * eps))
    if not failed.size:
        return [(places, first)]
    return [(places, first), (failed, attempt(failed, True))]


def joined(found: list[tuple[np.ndarray, _A]]) -> MDArray:
    """Return the solutions of the whole batch: later ones replace those before them."""
    value = found[0][1].value
    for places, other in found[1:]:
        value = value.copy()
        lead = planes.lead(value.is_complex)
        index = planes.namespace(value._block).asarray(places)
        value._block[(*(slice(None),) * lead, index)] = other.value._block
    return value


class Bounded(Attempt, Protocol):
    """Solutions whose errors can be bounded."""

    @property
    def steps(self) -> int:
        """The most steps that one took."""

    def error(self, errors: Any) -> np.ndarray:
        """Return bounds of the errors of entries, for errors of the data."""


class InTwoWays:
    """Solutions of a batch, each by eigenvectors or Schur vectors.

    Attributes
    ----------
    value : MDArray
        The solutions.
    last : numpy.ndarray
        The last relative corrections; infinite where the operator is singular.
    steps : int
        The most steps that one took.
    """

    def __init__(
        self, count: int, eps: float, attempt: Callable[[np.ndarray, bool], Bounded]
    ) -> None:
        self._found = in_two_ways(count, eps, attempt)
        self.value = joined(self._found)
        self.last = over_places(self._found, (count,), lambda one, _: one.last)
        self.steps = max(one.steps for _, one in self._found)

    def error(self, errors: Any) -> np.ndarray:
        """Return bounds of the errors of entries, for a named tuple of errors of the data."""
        found = np.full(self.value.shape, np.inf)
        for places, one in self._found:
            found[places] = one.error(type(errors)(*(x[places] for x in errors)))
        return found


def of_places(x: MDArray, places: np.ndarray) -> MDArray:
    """Return the matrices of a batch at places."""
    if len(places) == len(x):
        return x
    return x._like(taken(x._block, planes.lead(x.is_complex), (places,)))


def over_places(
    found: list[tuple[np.ndarray, _A]],
    shape: tuple[int, ...],
    bound: Callable[[_A, np.ndarray], np.ndarray],
) -> np.ndarray:
    """Return the bounds of each attempt at its places, in one array."""
    result = np.full(shape, np.inf)
    for places, attempt in found:
        result[places] = bound(attempt, places)
    return result
