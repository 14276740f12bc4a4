"""Arguments of `solve`."""

from __future__ import annotations

from typing import Any

import numpy as np

from mdqr._array.array import MDArray
from mdqr._core.promotion import precisions_in
from mdqr._functions.creation import array
from mdqr._limbs.device import check_device, device_of, is_cuda_array
from mdqr._precision import (
    MOST_OF_FUNCTIONS,
    Precision,
    as_precision,
    dd,
    highest_with_functions,
)
from mdqr._typing import PrecisionLike
from mdqr.series._homotopy.problem import Problem
from mdqr.series._systems.polynomial import Gaussian
from mdqr.series._systems.system import System
from mdqr.series._systems.terms import gaussian


def precision_given(given: PrecisionLike | None, system: System, target: Any) -> Precision:
    if given is not None:
        found = as_precision(given)
    else:
        found = max(system._precisions.union(precisions_in(target)), default=dd)
    if found.limbs > MOST_OF_FUNCTIONS:
        highest = highest_with_functions()
        raise ValueError(
            f"series.solve is for precisions up to {highest.name}; got {found.name}: take "
            f"precision=mdqr.{highest.name}, and more digits of simple solutions by newton_series"
        )
    return found


def values_given(problem: Problem, given: Any, name: str) -> list[Gaussian]:
    """Return values of the parameters, exactly."""
    count = len(problem.parameters)
    names = ", ".join(problem.parameters)
    if given is None:
        if count:
            raise ValueError(f"the equations depend on {names}; give values as {name}=")
        return []
    if _axes(given) > 1:
        raise ValueError(f"{name} must have one axis, or two for many values; got {_axes(given)}")
    parts = [given] if isinstance(given, str) or not _axes(given) else list(given)
    if len(parts) != count:
        what = f"{count} (the parameters are {names})" if count else "no parameters"
        raise ValueError(f"{name} has {len(parts)} values; the system needs {what}")
    try:
        return [gaussian(part) for part in parts]
    except (ValueError, OverflowError, TypeError):
        raise ValueError(f"{name} must be finite numbers") from None


def are_many(target: Any) -> bool:
    """Return True if values of the parameters are an array ``(m, q)``."""
    return _axes(target) == 2


def _axes(given: Any) -> int:
    return given.ndim if isinstance(given, MDArray) or is_cuda_array(given) else np.ndim(given)


def device_given(given: str | None, start: Any, target: Any) -> str | None:
    """Return the device that was asked for, or where the start points or the targets are."""
    check_device(given)
    if given is not None:
        return given
    for part in (start[0] if isinstance(start, tuple) and start else None, target):
        if isinstance(part, MDArray) and part.device != "cpu":
            return part.device
        if is_cuda_array(part):
            return device_of(part)
    return None


def targets_given(problem: Problem, given: Any) -> MDArray:
    """Return targets ``(m, q)`` on the host, exactly."""
    if isinstance(given, MDArray):
        found = given.to_device("cpu")
    else:
        held = given if is_cuda_array(given) else np.asarray(given)
        if held.dtype.kind not in "iufc":
            raise TypeError(
                "many values of the parameters are an array of real or complex numbers; got "
                f"dtype {held.dtype}"
            )
        found = array(held, precision="dd").to_device("cpu")
    if found.shape[1] != len(problem.parameters):
        raise ValueError(
            f"target has {found.shape[1]} columns, and the system {len(problem.parameters)} "
            "parameters"
        )
    if not np.isfinite(found.to_numpy()).all():
        raise ValueError("target must be finite numbers")
    return found


def solutions_given(problem: Problem, start: Any) -> tuple[np.ndarray, list[Gaussian]]:
    """Return the solutions ``(k, n)`` to start from, and the values of the parameters there."""
    if not isinstance(start, tuple) or len(start) != 2:
        raise ValueError("start must be a name, or a pair of solutions and values of parameters")
    if not problem.parameters:
        raise ValueError("a start with values needs a system with parameters")
    if problem.terms.equations != len(problem.variables):
        raise ValueError("a start with values needs as many equations as unknowns")
    points = array(start[0], precision="dd").to_numpy().astype(complex)
    n = len(problem.variables)
    if points.ndim != 2 or points.shape[1] != n:
        raise ValueError(
            f"the solutions to start from must have shape (k, {n}); got {points.shape}"
        )
    if not np.isfinite(points).all():
        raise ValueError("the solutions to start from must be finite")
    return points, values_given(problem, start[1], "start")
