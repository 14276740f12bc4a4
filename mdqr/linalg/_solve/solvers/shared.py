"""Square systems on several devices, each of which has some rows of A and of a float64 inverse X.

Residuals and steps are vectors: rows of both are formed where these lie, and are brought together
on the device that has the right-hand sides. Of order ``n^3`` are L and U of float64, on the first
device, their inverses, each on a device, and X and ``I - X A``, by rows on all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from mdqr._backend.blocks import from_native, to_native, turned
from mdqr._backend.places import Place, finished, place_of, places_of
from mdqr._backend.protocol import Backend
from mdqr._limbs import planes
from mdqr._limbs.folds import total
from mdqr._limbs.planes import Block, Kind
from mdqr.linalg._factor.condition import irregular
from mdqr.linalg._inverse import split
from mdqr.linalg._inverse.approximate_inverse import (
    POWER_STEPS,
    UP,
    ApproximateInverse,
    U,
    constant,
    largest_singular_value,
)
from mdqr.linalg._inverse.rounds import MOST, PROOF, gain_of
from mdqr.linalg._products.exact.parts import slices
from mdqr.linalg._products.exact.residual import residual
from mdqr.linalg._shared.checks import fetch
from mdqr.linalg._shared.devices import checked_alike
from mdqr.linalg._shared.operands import Inputs
from mdqr.linalg._solve.answer import Answer, Part
from mdqr.linalg._solve.problem import SMALL, Problem
from mdqr.linalg._solve.refinement import Refinement
from mdqr.linalg._solve.solvers.climb import climb

# Parts of rows are multiples of so many, which libraries take at a time.
_WHOLE = 128


def check(function: str, devices: Any, inputs: Inputs, method: str) -> None:
    """Raise unless devices can share in a system."""
    checked_alike(function, devices)
    shapes = inputs.shape(0), inputs.shape(1)
    if max(map(len, shapes)) > 2 or inputs.kind.limbs == 1:
        raise ValueError(
            f"{function}: devices= is for one matrix of more than float64, and vectors (n,) or "
            f"(n, k); got shapes {shapes[0]} and {shapes[1]} in {inputs.work.name}"
        )
    if method == "householder":
        raise ValueError(f'{function}: devices= is for the methods "auto" and "refine"')


def solve(problem: Problem, devices: Sequence[str], *, verified: bool) -> Answer:
    """Solve one square system.

    Parameters
    ----------
    problem : Problem
        The problem, whose matrix is on one device, or on the host.
    devices : sequence of str
        The devices.
    verified : bool
        Whether only all digits will do.

    Raises
    ------
    numpy.linalg.LinAlgError
        If X does not leave little.
    """
    system = problem.system
    matrix = SharedMatrix(system.a, system.kind, places_of(devices))
    with finished(matrix.home, *matrix.places):
        found = _solved(problem, matrix)
    if found is None or (verified and not found.promised):
        raise np.linalg.LinAlgError(
            f"{system.caller.function}: the matrix is too near to singular for devices=, "
            "which have an inverse of float64: leave devices= out"
        )
    return found


@np.errstate(all="ignore")
def _solved(problem: Problem, matrix: SharedMatrix) -> Answer | None:
    system, kind = problem.system, problem.system.kind
    found = matrix.invert()
    condition = np.array(max(found.condition, 1.0))
    good = found.rounding <= PROOF and found.rate <= MOST
    if not (good and condition * problem.limit < SMALL):
        return None
    rate, low = system.backend.xp.full((1, 1), found.rate), Kind(1, kind.is_complex)
    known = SharedInverse(
        system.backend, low, True, rate, rate, found.rows, rate, condition, matrix=matrix
    )
    known = replace(known, gain=gain_of(known, np.array(found.seen)))
    b, powers = system.backend.balance_columns(
        problem.given, system.rows, is_complex=kind.is_complex
    )
    size = system.size(b)
    climbed = climb(SharedRefinement(system, known, b, size, size, 1.0, [], matrix))
    if climbed is None:
        return None
    part = Part(problem.given, b, powers, *climbed)
    return Answer(system, [part], problem.inputs, condition)


class Measured(NamedTuple):
    """Rates of X by bounds and as seen, rounding of its product, sums of rows, and a condition."""

    rate: float
    seen: float
    rounding: float
    rows: Block
    condition: float


class SharedMatrix:
    """Rows of a scaled matrix A, and of X near its inverse, on several places.

    Vectors are on the device that has A; other places have their rows of it.
    """

    def __init__(self, a: Block, kind: Kind, places: Sequence[Place]) -> None:
        n, field = int(a.shape[-1]), kind.is_complex
        share = -(-n // len(places))
        width = -(-share // _WHOLE) * _WHOLE if n >= _WHOLE * len(places) else share
        self.parts = slices(n, width)
        self.home, self.kind, self.order = place_of(a), kind, n
        self.places = places[: len(self.parts)]
        with self.home.here():
            floats = to_native(self.home.backend.xp, a, field)
        self._a = [
            place.take(a[..., part, :], self.home)
            for place, part in zip(self.places, self.parts, strict=True)
        ]
        self._floats = [place.take(floats, self.home) for place in self.places]
        self._x: list[Block] = []

    def invert(self) -> Measured:
        """Find X, and measure ``I - X A``; places are waited for."""
        first, field = self.places[0], self.kind.is_complex
        with first.here():
            packed, _, order = first.backend.lu_floats(self._floats[0])
        lower_home, left, right = self._inverted(packed)
        found = []
        for part, place, a in zip(self.parts, self.places, self._floats, strict=True):
            # Rows of the inverse of U have no terms before their own.
            lower = place.take(left[part.start :], lower_home)
            upper, columns = (place.take(x, first) for x in (right[part, part.start :], order))
            with place.here():
                x = place.backend.xp.empty_like(a[part])
                x[:, columns] = split.multiplied(place.backend, upper, lower)
                self._x.append(x)
                found.append(_measured(place.backend, x, a, part, field))
        with first.here():
            (norm,) = fetch(largest_singular_value(first.backend, self._floats[0]))
        # Only rows of A are asked for later.
        self._floats = []
        rows, seen, rounding = (self._joined(x) for x in zip(*found, strict=True))
        with self.home.here():
            numbers = fetch(rows.max(), seen.max(), rounding.max())
        rate, largest, lost = map(float, numbers)
        return Measured(rate, largest, lost, rows, float(norm) * self._norm())

    def _inverted(self, packed: Block) -> tuple[Place, Block, Block]:
        """Return the place of the inverse of L, it, and the inverse of U on the first place."""
        first, other = self.places[0], self.places[min(1, len(self.places) - 1)]
        if other is first:
            with first.here():
                return first, *first.backend.invert_factors(packed)
        with first.here():
            lower = first.backend.xp.tril(packed, -1).T
            planes.diagonal(lower)[...] = 1.0
            upper = first.backend.xp.triu(packed)
        given = other.take(lower, first)
        with other.here():
            left = other.backend.invert_triangle(given).T
        with first.here():
            return other, left, first.backend.invert_triangle(upper)

    def _norm(self) -> float:
        """Estimate the 2-norm of X from below."""
        home, size = self.home, 0.0
        with home.here():
            v = irregular(home.backend.xp, self.order, 1)
            v = v.astype(np.complex128) if self.kind.is_complex else v
        for _ in range(POWER_STEPS):
            y = self.step(v)
            with home.here():
                one, other = map(float, fetch(_squares(v), _squares(y)))
            size = (other / one) ** 0.5 if one > 0.0 else 0.0
            v = self._adjoint_step(y) / (size or 1.0)
        return size

    def each(self, call: Callable[..., Block], *operands: Block) -> Block:
        """Return the rows of ``call(number, backend, *operands)`` of all places, one below another.

        Operands are whole, on the device of A, and so is the result.
        """
        return self._joined(self._begun(call, *operands))

    def _begun(self, call: Callable[..., Block], *operands: Block) -> list[Block]:
        found = []
        for number, place in enumerate(self.places):
            given = [place.take(x, self.home) for x in operands]
            with place.here():
                found.append(call(number, place.backend, *given))
        return found

    def _taken(self, parts: Sequence[Block]) -> list[Block]:
        return [self.home.take(x, place) for x, place in zip(parts, self.places, strict=True)]

    def _joined(self, parts: Sequence[Block]) -> Block:
        given = self._taken(parts)
        with self.home.here():
            return self.home.backend.xp.concatenate(given, axis=-2)

    def step(self, v: Block) -> Block:
        """Return ``X v`` of float64 or complex128 vectors."""
        return self.each(lambda i, backend, y: split.multiplied(backend, self._x[i], y), v)

    def _adjoint_step(self, v: Block) -> Block:
        def work(i: int, backend: Backend, y: Block) -> Block:
            return split.multiplied(backend, turned(self._x[i]), y[self.parts[i]])

        first, *others = self._taken(self._begun(work, v))
        with self.home.here():
            return sum(others, start=first)

    def spread(self, delta: Block) -> Block:
        """Return ``abs(X) delta``, of float64."""
        return self.each(lambda i, backend, y: split.multiplied(backend, abs(self._x[i]), y), delta)

    def sums(self, size: Block) -> Block:
        """Return ``abs(A) size``, of float64."""

        def work(i: int, backend: Backend, y: Block) -> Block:
            own = to_native(backend.xp, self._a[i], self.kind.is_complex)
            return split.multiplied(backend, abs(own), y)

        return self.each(work, size)

    def less(self, c: Block, x: Block, kind: Kind) -> Block:
        """Return ``c - A x`` in the arithmetic of a kind."""

        def work(i: int, backend: Backend, right: Block, y: Block) -> Block:
            a = planes.first_limbs(self._a[i], kind.is_complex, kind.limbs)
            return backend.matmul(a, y, c=right[..., self.parts[i], :], subtract=True, kind=kind)

        return self.each(work, c, x)

    def residual(self, c: Block, x: Block, kind: Kind) -> Block:
        """Return ``c - A x``, each entry rounded once."""

        def work(i: int, backend: Backend, right: Block, y: Block) -> Block:
            return residual(backend, right[..., self.parts[i], :], self._a[i], y, kind=kind)

        return self.each(work, c, x)


def _measured(
    backend: Backend, x: Block, a: Block, part: slice, is_complex: bool
) -> tuple[Block, Block, Block]:
    """Return sums of rows of ``abs(I - X A)``: with rounding errors, without, and of these alone.

    For the rows of X in this part, as `Operand.measured`.
    """
    p, n = split.multiplied(backend, x, a), len(a)
    places = backend.xp.arange(part.start, part.stop)
    p[places - part.start, places] -= 1.0
    left = total(abs(p), -1, keepdims=True)
    sizes = split.multiplied(backend, abs(x), total(abs(a), -1, keepdims=True))
    # Half of the room is for lower limbs.
    off = 2.0 * constant(Kind(1, is_complex), n) * sizes
    return (left + off + 4 * U * (1 + left)) * UP, left, off


def _squares(v: Block) -> Block:
    return (abs(v) ** 2).sum()


@dataclass(frozen=True)
class SharedInverse(ApproximateInverse):
    """X by rows."""

    matrix: Any = None

    def spread(self, delta: Block) -> Block:
        """Return what errors `delta` of residuals can do to x."""
        found: Block = self.matrix.spread(delta)
        return found

    def _product(self, v: Block, *, adjoint: bool = False) -> Block:
        field, xp = self.kind.is_complex, self.backend.xp
        return from_native(xp, self.matrix.step(to_native(xp, v, field)), field)


@dataclass(frozen=True)
class SharedRefinement(Refinement):
    """Steps whose residuals are formed by rows."""

    matrix: Any = None

    def remainder(self, x: Block) -> Block:
        """Return ``b - A x``, each entry rounded once."""
        found: Block = self.matrix.residual(self.b, x, self.system.kind)
        return found

    def less(self, c: Block, x: Block, limbs: int) -> Block:
        """Return ``c - A x``, computed in so many limbs."""
        field = self.system.kind.is_complex
        c, x = (planes.first_limbs(block, field, limbs) for block in (c, x))
        found: Block = self.matrix.less(c, x, Kind(limbs, field))
        return found

    def _sums(self, a: Block, size: Block) -> Block:
        found: Block = self.matrix.sums(size)
        return found
