"""Reasons for which a series cannot be computed: starts without one, arguments of a wrong type."""

from __future__ import annotations

from typing import Any

import numpy as np

from mdqr._pickles import State, pickled


@pickled
class SingularJacobianError(np.linalg.LinAlgError):
    """Exception for a start point with a singular Jacobian, hence without a power series in t.

    Attributes
    ----------
    rank : int
        The rank found.
    sigma : float
        The smallest diagonal entry of R relative to the largest.
    place : tuple of int
        Which start point of a batch has the least rank; empty for one start point.
    """

    def __init__(
        self, rank: int, sigma: float, variables: int, place: tuple[int, ...] = ()
    ) -> None:
        which = f" {', '.join(map(str, place))}" if place else ""
        super().__init__(
            f"the Jacobian at the start point{which} has rank {rank} < {variables} "
            f"(ratio {sigma:.1e}): the solution is no power series in t there, but perhaps one in "
            "a root of t; start at another t0"
        )
        self.rank, self.sigma, self.place = rank, sigma, place
        self._variables = variables

    def _state(self) -> dict[str, Any]:
        names = {"rank": self.rank, "sigma": self.sigma, "place": self.place}
        return names | {"variables": self._variables}

    @classmethod
    def _restored(cls, state: State) -> SingularJacobianError:
        rank, variables = (state.checked(name, int) for name in ("rank", "variables"))
        return cls(rank, state.checked("sigma", float), variables, state.checked("place", tuple))


@pickled
class NotASolutionError(ValueError):
    """Exception for a start point that Newton's method does not lead to a solution near it.

    Attributes
    ----------
    residual : float
        The largest value of an equation at the last point, relative to the sum of its terms; 0
        where a solution was found that is too far away.
    distance : float or None
        The relative distance of that solution.
    """

    def __init__(self, residual: float, distance: float | None = None, most: float = 0.0) -> None:
        if distance is None:
            message = (
                f"x0 is not near a solution at t0: equations are left with {residual:.1e} of the "
                "sum of their terms; give a better start point, or another t0"
            )
        else:
            message = (
                f"the solution that Newton's method leads to is at a relative distance of "
                f"{distance:.2g} from x0, which is more than max_distance = {most:g}"
            )
        super().__init__(message)
        self.residual, self.distance, self._most = residual, distance, most

    def _state(self) -> dict[str, Any]:
        return {"residual": self.residual, "distance": self.distance, "most": self._most}

    @classmethod
    def _restored(cls, state: State) -> NotASolutionError:
        return cls(state.checked("residual", float), state["distance"], state["most"])


for _error in (SingularJacobianError, NotASolutionError):
    _error.__module__ = "mdqr.series"


def required(function: str, name: str, value: Any, kind: type) -> None:
    """Raise TypeError if an argument is not of a type."""
    if not isinstance(value, kind):
        raise TypeError(
            f"{function}: {name} must be a mdqr.series.{kind.__name__}; got an object of type "
            f"{type(value).__name__}"
        )
