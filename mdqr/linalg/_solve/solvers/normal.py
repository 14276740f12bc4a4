"""Tall problems by their normal equations, which are formed exactly.

Where the rows are many times the columns, passes over a matrix are what refinement costs. Its Gram
matrix takes one, and that of ``[A b]`` has the right-hand sides and the sums of squares of b, too.
It is a system that is solved as square ones are, with the same proven bounds; its condition is the
square of that of A, which conditions up to 1e6 or so leave room for.

The Gram matrix of float64 numbers below 1 is the sum of float64 products of their slices. A number
is the sum of slices, integers of at most 23 bits and a sign times a power of two each, so that sums
of 256 products of them are exact in whatever order they are formed (K. Ozaki and others 2012). Rows
that three slices do not hold are few usually, and get six.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from mdqr._backend.protocol import Backend
from mdqr._limbs import planes
from mdqr._limbs.planes import Block, Kind
from mdqr.linalg._inverse.rounds import approximate_inverse
from mdqr.linalg._shared.operands import Inputs, precision_for, square_of
from mdqr.linalg._solve.answer import Answer, Part
from mdqr.linalg._solve.problem import SMALL, Problem
from mdqr.linalg._solve.refinement import Refinement
from mdqr.linalg._solve.solvers.climb import climb
from mdqr.linalg._solve.system import Scaled, System

# With fewer rows, or fewer than the square of the columns, passes over A cost less than products of
# slices.
_FEWEST = 256
# Rows whose products are summed in float64, and the bits of slices: 256 products of 2^44 at most.
_ROWS, _FIRST, _BITS = 256, 22, 23
_FEW, _MANY = 3, 6
# Sums of 2^52 at most, one for each 256 rows, that an int64 holds.
_SUMS = 2**10
# Bits of the lower part of an int64: sums of few of either are exact in float64.
_HALF = 31
# The part of the rows that may need six slices: these cost four times as much.
_LATE = 1 / 16


class Normal(Answer):
    """Solutions of a tall problem by its normal equations; attributes as of `Answer`.

    Parameters
    ----------
    system : System
        The problem.
    part : Part
        Its right-hand sides and solutions.
    inputs : Inputs
        The operands, for the precisions.
    condition : numpy.ndarray
        That of the matrix.
    equations : Refinement
        The normal equations.
    squares : Block
        Sums of squares of the columns of b, in the units of the part.
    """

    def __init__(
        self,
        system: System,
        part: Part,
        inputs: Inputs,
        condition: np.ndarray,
        equations: Refinement,
        squares: Block,
    ) -> None:
        self._equations, self._squares = equations, squares
        super().__init__(system, [part], inputs, condition)

    @cached_property
    def r(self) -> Scaled:
        """The residuals, as `b`: made when they are asked for."""
        (part,), backend, kind = self._parts, self.system.backend, self._equations.system.kind
        x, low = part.solution.x, part.solution.low
        assert low is not None
        r = backend.residual([(1, part.b)], self.system.a, x, kind=kind)
        part.solution.r = backend.matmul(self.system.a, low, c=r, subtract=True, kind=kind)
        return super().r

    @property
    def squares(self) -> Scaled:
        """The sums of squares of residuals ``(..., k)``, from those of b."""
        (part,) = self._parts
        return Scaled(self._found, -part.powers)

    @property
    def leaves_much(self) -> bool:
        """True if rounding errors of x and of sums do not show in the sums of squares."""
        return bool((self._found[0] >= self._lost()).all())

    @cached_property
    def _found(self) -> Block:
        """The sums of squares of residuals in the units of the part."""
        (part,), equations = self._parts, self._equations
        backend, kind, g = self.system.backend, equations.system.kind, equations.system.a
        x, c = part.solution.x, equations.b
        # b^H b - c^H x - x^H (c - G x)
        rest = backend.residual([(1, c)], g, x, kind=kind)
        of_c, of_x = (block.swapaxes(-1, -2)[..., None, :] for block in (c, x))
        down, below = (block.swapaxes(-1, -2)[..., :, None] for block in (x, rest))
        found = backend.residual([(1, self._squares[..., None, None])], of_c, down, kind=kind)
        return backend.matmul(of_x, below, c=found, subtract=True, kind=kind)[..., 0, 0]

    def _lost(self) -> Block:
        """Bound what rounding changes in sums of squares, over eps of the answer."""
        (part,), equations = self._parts, self._equations
        limbs, (g, c) = equations.system.kind.limbs, (equations.a_size, equations.b_size)
        eps, own = (precision_for(count).eps for count in (limbs, self._inputs.work.limbs))
        x, low = (equations.size(block) for block in (part.solution.x, part.solution.low))
        sums = 4.0 * (g.shape[-1] + 12) * square_of(eps) * (self._squares[0] + (c * x).sum(axis=-2))
        # The square of what x leaves, which is rounded.
        beside = ((planes.diagonal(g)[..., None] ** 0.5) * low).sum(axis=-2) ** 2
        return (sums + beside) / own


@np.errstate(all="ignore")
def solve(problem: Problem) -> Answer | None:
    """Solve a problem of real float64 data on the CPU with many more rows than columns.

    None where that is something else, or not all digits are shown.
    """
    system, given, inputs, limit = (
        problem.system, problem.given, problem.inputs, problem.limit
    )  # fmt: skip
    backend = system.backend
    m, n = system.a.shape[-2:]
    fits = system.a.shape == (1, m, n) and len(given) == 1 and given.ndim == 3
    if not fits or system.kind.is_complex or system.root is not None or backend.xp is not np:
        return None
    if m < max(_FEWEST, n * n) or given.shape[-1] > n:
        return None
    b, powers = backend.balance_columns(given, None, is_complex=False)
    found = gram(backend, np.concatenate([system.a[0], b[0]], axis=1))
    if found is None:
        return None
    held = max(planes.held_limbs(found, False), inputs.work.limbs)
    kind = Kind(precision_for(held).limbs, False)
    found = planes.first_limbs(found, False, kind.limbs)
    g, c = found[:, :n, :n], found[:, :n, n:]
    normal = System(
        system.caller,
        backend,
        kind,
        g,
        system.checks,
        g,
        np.zeros(n, dtype=np.int64),
        report=system.report,
    )
    made = approximate_inverse(backend, g, system.checks, kind=kind)
    if made is None or not made[1].all():
        return None
    condition = np.sqrt(made[0].condition)
    if not (condition * limit < SMALL).all():
        return None
    system.tell("factor", n, n)
    system.tell("condition", 1, 1)
    equations = Refinement.of(normal, made[0], c)
    climbed = climb(equations)
    if climbed is None:
        return None
    part, squares = Part(given, b, powers, *climbed), planes.diagonal(found[:, n:, n:])
    answer = Normal(system, part, inputs, condition, equations, squares)
    return answer if answer.leaves_much and answer.promised else None


def gram(backend: Backend, a: np.ndarray) -> Block | None:
    """Return ``A^T A`` exactly, a real block of as many limbs as hold it.

    Parameters
    ----------
    backend : Backend
        That of the CPU.
    a : numpy.ndarray
        Float64 ``(m, n)``, of magnitudes below 1.

    Returns
    -------
    Block or None
        None where magnitudes of the entries of many rows lie so far apart that more slices were
        needed.
    """
    late: list[np.ndarray] = []
    terms = list(_sums(a, _FEW, late))
    if late:
        rest = np.concatenate(late)
        if len(rest) > max(_LATE * len(a), _ROWS):
            return None
        later: list[np.ndarray] = []
        terms += _sums(rest, _MANY, later)
        if later:
            return None
    return backend.unary("renormalize", np.stack(terms), kind=Kind(8, False))


def _sums(a: np.ndarray, slices: int, late: list[np.ndarray]) -> Iterator[np.ndarray]:
    """Yield matrices with the sum ``A^T A``, but for rows that need more slices: for `late`."""
    n, step = a.shape[1], _ROWS * _SUMS
    held = np.empty((_ROWS, slices, n))
    for start in range(0, len(a), step):
        total = np.zeros((slices * n, slices * n), dtype=np.int64)
        for first in range(start, min(start + step, len(a)), _ROWS):
            rows = a[first : first + _ROWS]
            cut = held[: len(rows)]
            over = _cut(rows, cut)
            if over.any():
                late.append(rows[over])
                cut[over] = 0.0
            flat = cut.reshape(len(rows), -1)
            total += (flat.T @ flat).astype(np.int64)
        for part, unit in ((total >> _HALF, _HALF), (total & (2**_HALF - 1), 0)):
            blocks = part.reshape(slices, n, slices, n)
            for both in range(2 * slices - 1):
                pairs = range(max(0, both - slices + 1), min(slices, both + 1))
                one = sum(blocks[i, :, both - i] for i in pairs)
                yield np.ldexp(np.float64(one), unit - 2 * _FIRST - _BITS * both)


def _cut(rows: np.ndarray, held: np.ndarray) -> np.ndarray:
    """Write integer slices to `held` ``(rows, slices, n)``; return a mask of rows needing more."""
    rest = rows * 2.0**_FIRST
    for i in range(held.shape[1]):
        np.rint(rest, out=held[:, i])
        rest -= held[:, i]
        rest *= 2.0**_BITS
    return np.asarray(rest.any(axis=1))
