"""Homotopy paths on the CPU."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from mdqr._backend.path_calls import PathGoal, PathPoints, PathSystem
from mdqr._limbs.planes import Block


class Paths:
    """The kernels of homotopy paths."""

    def mixed_cells(self, start: Block, points: Block, lifting: Block, most: int) -> Block | None:
        """Return the mixed cells of supports."""
        import _mdqr_host

        found, complete = _mdqr_host.mixed_cells(start, points, lifting, most)
        n = points.shape[1]
        return np.array(found, np.int64).reshape(-1, n, 2) if complete else None

    def follows_paths(self, system: PathSystem, count: int) -> bool:
        """Return True."""
        return True

    def expect_paths(self, system: PathSystem, limbs: Iterable[int]) -> None:
        """Do nothing: kernels are compiled."""

    def follow_paths(
        self, system: PathSystem, points: PathPoints, which: Block, goal: PathGoal
    ) -> Block:
        """Follow some paths straight to a target."""
        import _mdqr_host  # absent where nothing calls this

        state = np.zeros(len(which), np.int64)
        if not which.size:
            return state
        weight = [] if system.weight is None else [system.weight]
        patch = [] if system.patch is None else [_pairs(system.patch)]
        target = complex(goal.target)
        x, s, step, tangent, past_x, past_tangent, past_s, held, steps, sets = points
        _mdqr_host.follow_paths(
            x.shape[1], list(system[:5]), system.coefficient, weight, patch,
            system.gamma.real, system.gamma.imag,
            x, _pairs(s), step, _pairs(tangent), _pairs(past_x), _pairs(past_tangent),
            _pairs(past_s), held, steps, sets, which, state, target.real, target.imag,
            goal.tolerance, goal.least, goal.longest, goal.vanishing, goal.most, goal.jump,
        )  # fmt: skip
        return state


def _pairs(x: Block) -> Block:
    """Return a view of complex128 as pairs of doubles."""
    return x.view(np.float64).reshape(*x.shape, 2)
