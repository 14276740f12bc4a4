"""Power series, and power series solutions of polynomial systems."""

from importlib import import_module as _import_module
from typing import Any

from mdqr.series._analysis.pade import Pade, pade
from mdqr.series._analysis.radius import Radius, radius
from mdqr.series._arithmetic.series import PowerSeries
from mdqr.series._errors import NotASolutionError, SingularJacobianError
from mdqr.series._homotopy.solutions import Solution, Solutions, SolveInfo
from mdqr.series._homotopy.solve import solve
from mdqr.series._homotopy.starts.cells import mixed_volume
from mdqr.series._homotopy.sweeps.solution_sweep import SolutionSweep
from mdqr.series._solver.newton_series import newton_series
from mdqr.series._solver.recommended import recommended_precision
from mdqr.series._solver.solution import SeriesInfo, SeriesSolution
from mdqr.series._solver.track import Path, Piece, track
from mdqr.series._systems.system import System

__all__ = [
    "NotASolutionError",
    "Pade",
    "Path",
    "Piece",
    "PowerSeries",
    "Radius",
    "SeriesInfo",
    "SeriesSolution",
    "SingularJacobianError",
    "Solution",
    "SolutionSweep",
    "Solutions",
    "SolveInfo",
    "System",
    "mixed_volume",
    "newton_series",
    "pade",
    "plot",
    "radius",
    "recommended_precision",
    "solve",
    "track",
]


def __getattr__(name: str) -> Any:
    """Import the plots at the first request."""
    if name == "plot":
        return _import_module("mdqr.series.plot")
    raise AttributeError(f"module 'mdqr.series' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
