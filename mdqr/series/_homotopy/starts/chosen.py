"""The start that was asked for."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from mdqr.series._homotopy.arguments import solutions_given
from mdqr.series._homotopy.homotopy import Homotopy
from mdqr.series._homotopy.problem import Problem
from mdqr.series._homotopy.starts.cells import ALL
from mdqr.series._homotopy.starts.multihomogeneous import groups_of, multihomogeneous
from mdqr.series._homotopy.starts.polyhedral import cells_of, polyhedral
from mdqr.series._homotopy.starts.start import parameters, total_degree
from mdqr.series._systems.polynomial import Gaussian
from mdqr.series._systems.terms import Terms

# The search for mixed cells takes so many pivots at most; of fewer paths none are looked for, and
# the mixed volume has to be this part of the product of the degrees.
_PIVOTS, _PIVOTS_A_PATH, _FEW, _FEWER = 20000, 100, 8, 0.8
_NAMES = ("auto", "total_degree", "multihomogeneous", "polyhedral")


@dataclass(frozen=True)
class Start:
    """The start of paths, as `solve` is given it.

    `square` are the equations in the units ``2**powers``, at the `values` of the parameters.
    """

    problem: Problem
    given: Any
    groups: Any
    values: list[Gaussian]
    powers: np.ndarray
    square: Terms
    device: str | None

    def check(self) -> None:
        """Raise ValueError if the start is unknown, or groups are given to another one."""
        if isinstance(self.given, str) and self.given not in _NAMES:
            raise ValueError(
                f"start must be {', '.join(map(repr, _NAMES))} or (solutions, values); got "
                f"{self.given!r:.50}"
            )
        named = isinstance(self.given, str) and self.given == "multihomogeneous"
        if self.groups is not None and not named:
            raise ValueError('groups are for start="multihomogeneous" alone')

    def begin(self, rng: np.random.Generator) -> tuple[str, Homotopy, np.ndarray]:
        """Return the name of the start, a homotopy, and its start points ``(v, paths)``."""
        if not isinstance(self.given, str):
            points, values = solutions_given(self.problem, self.given)
            ends = values, self.values
            return "parameters", *parameters(self.problem, points, *ends, self.powers, rng)
        if self.given == "multihomogeneous":
            groups = groups_of(self.square, self.problem.variables, self.groups)
            return self.given, *multihomogeneous(self.square, groups, rng)
        return self._of_fewer_paths(rng)

    def _of_fewer_paths(self, rng: np.random.Generator) -> tuple[str, Homotopy, np.ndarray]:
        square, automatic = self.square, self.given == "auto"
        if self.given != "total_degree":
            paths = prod(map(int, square.degrees))
            # Cells are not looked for longer than paths would take.
            most = _PIVOTS + _PIVOTS_A_PATH * paths if automatic else ALL
            cells = cells_of(square, rng, most) if not automatic or paths > _FEW else None
            volume = 0 if cells is None else int(cells.volumes.sum())
            if cells is not None and volume > 0 and (not automatic or volume <= _FEWER * paths):
                found = polyhedral(square, cells, rng, self.device)
                if found is not None:
                    return "polyhedral", *found
        return "total_degree", *total_degree(square, rng)
