"""Tall problems by their normal equations, which are formed exactly.

Where the rows are many times the columns, passes over a matrix are what refinement costs. Its Gram
matrix takes one, and that of ``[A b]`` has the right-hand sides and the sums of squares of b, too.
It is a system that is solved as square ones are, with the same proven bounds; its condition is the
square of that of A, which conditions up to 1e6 or so leave room for.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from mdqr._limbs import planes
from mdqr._limbs.planes import Block, Kind
from mdqr.linalg._shared.operands import Inputs, precision_for
from mdqr.linalg._solve.answer import Answer, Part
from mdqr.linalg._solve.problem import Problem
from mdqr.linalg._solve.rank import SMALL
from mdqr.linalg._solve.refine.gram import gram
from mdqr.linalg._solve.refine.refinement import Refinement
from mdqr.linalg._solve.refine.rounds import approximate_inverse
from mdqr.linalg._solve.solvers.ladder import climb
from mdqr.linalg._solve.system import Scaled, System

# With fewer rows, or fewer than the square of the columns, passes over A cost less than products of
# slices.
_FEWEST = 256


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
        sums = 4.0 * (g.shape[-1] + 12) * eps**2 * (self._squares[0] + (c * x).sum(axis=-2))
        # The square of what x leaves, which is rounded.
        beside = ((planes.diagonal(g)[..., None] ** 0.5) * low).sum(axis=-2) ** 2
        return (sums + beside) / own


@np.errstate(all="ignore")
def solve(problem: Problem) -> Answer | None:
    """Solve a problem of real float64 data on the CPU with many more rows than columns.

    None where that is something else, or not all digits are shown.
    """
    system, given, inputs, limit, callback = (
        problem.system, problem.given, problem.inputs, problem.limit, problem.callback
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
    normal = System(system.caller, backend, kind, g, system.checks, g, np.zeros(n, dtype=np.int64))
    made = approximate_inverse(backend, g, system.checks, kind=kind)
    if made is None or not made[1].all():
        return None
    condition = np.sqrt(made[0].condition)
    if not (condition * limit < SMALL).all():
        return None
    if callback is not None:
        callback("factor", n, n)
        callback("condition", 1, 1)
    equations = Refinement.of(normal, made[0], c, callback)
    climbed = climb(equations)
    if climbed is None:
        return None
    part, squares = Part(given, b, powers, *climbed), planes.diagonal(found[:, n:, n:])
    answer = Normal(system, part, inputs, condition, equations, squares)
    return answer if answer.leaves_much and answer.promised else None
