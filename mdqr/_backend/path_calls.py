"""The kernel calls of homotopy paths, and of the cells where they begin."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from mdqr._limbs.planes import Block


class PathSystem(NamedTuple):
    """A homotopy ``H(x, s)`` in v complex unknowns; see `PathFollower.follow_paths`.

    Equation i has terms ``start[i]`` to ``start[i + 1]``, int64. Term t is the product of factors
    ``factor_start[t]`` to ``factor_start[t + 1]``, which are powers of one variable each:
    ``x[variable]**(power - power_start[variable])``, and of a coefficient, the polynomial in
    ``u = gamma s / (gamma s + 1 - s)`` with coefficients ``coefficient[set, t]``, times
    ``exp(weight[set, t] s)``. Behind the equations stands ``patch . x = 1``. `coefficient` is a
    block of complex ``(sets, terms, orders)``, `patch` ``(v,)`` complex128, `weight`
    ``(sets, terms)`` float64, for one limb alone; `weight` and `patch` may be None, and with one
    set all paths take that.
    """

    start: Block
    factor_start: Block
    variable: Block
    power: Block
    power_start: Block
    coefficient: Block
    weight: Block | None
    patch: Block | None
    gamma: complex


class PathPoints(NamedTuple):
    """Points of paths, all changed in place; see `PathFollower.follow_paths`.

    `x` is a block of complex ``(v, paths)``, of as many limbs as the coefficients; `tangent`,
    dx/ds, is complex128 ``(v, paths)``, `s` complex128 ``(paths,)``. `past_x` and `past_tangent`
    ``(3, v, paths)`` and `past_s` ``(3, paths)`` are of the points before, x as differences
    from the last one. `held` has how many points are known, 0 where a path begins, `step` how long
    the next step should be, `steps` how many were taken, `set` which coefficients the path has:
    int64 ``(paths,)``, `step` float64.
    """

    x: Block
    s: Block
    step: Block
    tangent: Block
    past_x: Block
    past_tangent: Block
    past_s: Block
    held: Block
    steps: Block
    set: Block


class PathGoal(NamedTuple):
    """The goal of paths; see `PathFollower.follow_paths`."""

    target: complex
    tolerance: float
    least: float
    longest: float
    vanishing: float = 0.0
    jump: bool = False
    most: int = 20000


class CellFinder(Protocol):
    """A backend that finds the cells where homotopy paths may begin: the CPU's."""

    def mixed_cells(self, start: Block, points: Block, lifting: Block, most: int) -> Block | None:
        """Return the mixed cells of supports: two points of each ``(cells, n, 2)``, int64.

        `points` ``(all, n)``, int64, belong to support i from ``start[i]`` to ``start[i + 1]``,
        `lifting` ``(all,)`` their heights. None if that takes more than `most` pivots.
        """
        ...


class PathFollower(Protocol):
    """A backend with the kernel of homotopy paths."""

    def follows_paths(self, system: PathSystem, count: int) -> bool:
        """Return True if a call for so many paths is worth while, and their memory is there."""
        ...

    def expect_paths(self, system: PathSystem, limbs: Iterable[int]) -> None:
        """Start to compile what follows points of limb counts, and do not wait."""
        ...

    def follow_paths(
        self, system: PathSystem, points: PathPoints, which: Block, goal: PathGoal
    ) -> Block:
        """Follow some paths straight to a target, and return 1 where they are there, else 2.

        A step is predicted by Hermite's interpolation of the last points, and corrected twice by
        Newton's method. It is accepted if the first correction is below 8 tolerances, relative to
        the point, and the second below 1e-3 of that, or 1e-13. A path is lost where steps would
        become shorter than `least`, or are more than `most`, or the first unknown is less than
        `vanishing` of the largest. With `jump`, steps that reach s = 0 may go there, and s
        is 0. All arrays are NumPy's. Results do not depend on threads, levels and devices.
        """
        ...
