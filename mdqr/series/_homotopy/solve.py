"""All isolated solutions of polynomial systems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from mdqr._array.array import MDArray
from mdqr._core.promotion import precisions_in
from mdqr._functions.creation import array
from mdqr._limbs.device import check_device, device_of, is_cuda_array
from mdqr._precision import PRECISIONS, Precision, as_precision, dd
from mdqr._progress import Progress, Report, with_report
from mdqr._stability import experimental
from mdqr._typing import PrecisionLike
from mdqr.series._errors import required
from mdqr.series._homotopy.follow import follow
from mdqr.series._homotopy.homotopy import Homotopy
from mdqr.series._homotopy.problem import Problem, in_units, squared, units
from mdqr.series._homotopy.results import Found, collected
from mdqr.series._homotopy.starts import start as starts
from mdqr.series._homotopy.starts.cells import ALL
from mdqr.series._homotopy.starts.polyhedral import cells_of, polyhedral
from mdqr.series._homotopy.sweep import Sweep
from mdqr.series._systems.polynomial import Gaussian
from mdqr.series._systems.system import System
from mdqr.series._systems.terms import Terms, gaussian

# The search for mixed cells takes so many pivots at most; of fewer paths none are looked for, and
# the mixed volume has to be this part of the product of the degrees.
_PIVOTS, _PIVOTS_A_PATH, _FEW, _FEWER = 20000, 100, 8, 0.8
_STARTS = ("auto", "total_degree", "polyhedral")


@experimental
def solve(
    system: System,
    *,
    start: Any = "auto",
    target: Any = None,
    parameters: Sequence[str] | None = None,
    precision: PrecisionLike | None = None,
    certify: bool = True,
    rng: Any = 0,
    device: str | None = None,
    progress: Progress = None,
) -> Any:
    """Return all isolated solutions of a polynomial system.

    Parameters
    ----------
    system : System
        At least as many equations as unknowns.
    start : {"auto", "total_degree", "polyhedral"} or tuple, optional
        "total_degree": a start system ``x_i^d = b``, with as many paths as the product of the
        degrees. "polyhedral": one with the monomials of the equations, with as many paths as their
        mixed volume; the origin joins them where solutions with zeros are possible. "auto" takes
        that with fewer paths, if mixed cells are found soon. Or ``(solutions, values)``: solutions
        ``(k, n)`` of the system at other values of its parameters, from which paths lead to those
        at `target`.
    target : number, sequence or array, optional
        The values of the parameters; one number for one parameter. Equations with parameters
        need it. An array ``(m, q)`` of real or complex numbers has m values of q parameters: with a
        start of ``(solutions, values)`` all are solved at once.
    parameters : sequence of str, optional
        Which names of the system are its parameters; by default ``system.parameter``, if the
        equations depend on it.
    precision : Precision or str, optional
        Precision of the solutions; by default the highest of the MDArrays in `system` and `target`,
        or else dd.
    certify : bool, optional
        Prove that solutions are isolated, distinct, real or not, and bound their errors.
    rng : int or numpy.random.Generator, optional
        Seed of the random numbers of the homotopy.
    device : str, optional
        Where many paths are followed at once: "cpu", "cuda" or "cuda:k". By default the GPU of the
        start points or of `target`, if they are on one. Results are in the memory of the host.
    progress : callable or bool, optional
        Called as ``progress("paths", done, total)`` and ``progress("ends", done, total)``; True
        for a bar.

    Returns
    -------
    Solutions or SolutionSweep
        The finite solutions, their multiplicities, and counts of the other paths. For m values of
        the parameters and k start points the ends of all paths, points ``(m, k, n)``.

    Raises
    ------
    TypeError
        If `system` is none, `parameters` a string, or an array of targets none of numbers.
    ValueError
        If the equations are fewer than the unknowns, the paths more than a million, a parameter has
        no value, `start` is unknown, or a coefficient is out of the range of doubles.

    See Also
    --------
    track : One path, with its series.

    Notes
    -----
    Paths of ``gamma s G + (1 - s) F`` are followed from s = 1 to 0 in a random patch of projective
    space, many at once in float64, by Hermite's interpolation of the last points and two of
    Newton's corrections in a kernel; paths of large conditions in dd, qd and od. Paths to infinity
    end where the valuation of the homogeneous coordinate has settled. Loops around s = 0 find
    winding numbers of singular ends, and the ends as means (A. P. Morgan, A. J. Sommese and
    C. W. Wampler 1991). Paths that meet are followed again with shorter steps. With probability
    one all isolated solutions are ends of paths; that none was lost is not proven, except where
    the certified ones are as many as the product of the degrees. The polyhedral start follows
    B. Huber and B. Sturmfels (1995), with mixed cells by linear programs (T. Gao and T. Y. Li
    2000); where not all of its paths are found, "total_degree" is taken, see `info.method`.

    Certificates are Krawczyk's test in polydisks, with residuals in integers and bounds of all
    roundings: they hold for the exact coefficients. They exist for nonsingular solutions of as many
    equations as unknowns. More equations are replaced by random combinations, and the solutions of
    these tested by their residuals.

    Examples
    --------
    >>> from mdqr import series
    >>> found = series.solve(series.System.from_strings(["x^2 - 2"], ["x"]), precision="qd")
    >>> sorted(found.x[:, 0].real.to_numpy().round(6).tolist()), found.is_certified.tolist()
    ([-1.414214, 1.414214], [True, True])
    """
    if not (progress is None or isinstance(progress, Report)):
        return with_report(solve, locals())
    required("solve", "system", system, System)
    problem = Problem.of(system, parameters)
    work, generator = _precision(precision, system, target), np.random.default_rng(rng)
    device = _device(device, start, target)
    if np.ndim(_shaped(target)) == 2:
        return _sweep(problem, start, target, work, generator, certify, device).run(
            _targets(problem, target), progress
        )
    values = _values(problem, target, "target")
    terms = problem.at(values)
    powers = units(terms)
    scaled = in_units(terms, powers)
    square = squared(scaled, generator)
    method, (homotopy, x) = _begin(problem, start, values, powers, square, generator, device)
    most = max(work, PRECISIONS[2])
    homotopy = replace(homotopy, units=powers, device=device, _within={})
    followed = follow(homotopy, x, most, progress)
    found = Found(problem.variables, scaled, square, powers, work, method)
    return collected(found, homotopy, followed, certify=certify)


def _precision(given: PrecisionLike | None, system: System, target: Any) -> Precision:
    if given is not None:
        return as_precision(given)
    return max(system._precisions.union(precisions_in(target)), default=dd)


def _values(problem: Problem, given: Any, name: str) -> list[Gaussian]:
    """Return values of the parameters, exactly."""
    count = len(problem.parameters)
    names = ", ".join(problem.parameters)
    if given is None:
        if count:
            raise ValueError(f"the equations depend on {names}; give values as {name}=")
        return []
    parts = [given] if _is_one(given) else list(given)
    if len(parts) != count:
        what = f"{count} parameters ({names})" if count else "no parameters"
        raise ValueError(f"{name} has {len(parts)} values, and the system {what}")
    try:
        return [gaussian(part) for part in parts]
    except (ValueError, OverflowError, TypeError):
        raise ValueError(f"{name} must be finite numbers") from None


def _shaped(given: Any) -> Any:
    return given.to_numpy() if isinstance(given, MDArray) else given


def _is_one(given: Any) -> bool:
    return isinstance(given, str) or np.ndim(_shaped(given)) == 0


def _device(given: str | None, start: Any, target: Any) -> str | None:
    """Return the device that was asked for, or that of the start points or the targets."""
    check_device(given)
    if given is not None:
        return given
    for part in (start[0] if isinstance(start, tuple) and start else None, target):
        if isinstance(part, MDArray) and part.device != "cpu":
            return part.device
        if is_cuda_array(part):
            return device_of(part)
    return None


def _targets(problem: Problem, given: Any) -> MDArray:
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


def _sweep(
    problem: Problem,
    start: Any,
    target: Any,
    work: Precision,
    rng: np.random.Generator,
    certify: bool,
    device: str | None,
) -> Sweep:
    """Return the sweep from the solutions at some values of the parameters."""
    if isinstance(start, str):
        raise ValueError("many values of the parameters need start=(solutions, values)")
    points, begin = _solutions(problem, start)
    powers = units(problem.at(begin))
    homotopy, x = starts.parameters(problem, points, begin, begin, powers, rng)
    homotopy = replace(homotopy, units=powers, device=device)
    return Sweep(problem, in_units(problem.terms, powers), homotopy, x, work, certify)


def _named(
    start: str, square: Terms, rng: np.random.Generator, device: str | None
) -> tuple[str, tuple[Homotopy, np.ndarray]]:
    """Return the homotopy of a start by its name; "auto" takes that with fewer paths."""
    if start != "total_degree":
        paths = prod(map(int, square.degrees))
        # Cells are not looked for longer than paths would take.
        most = _PIVOTS + _PIVOTS_A_PATH * paths if start == "auto" else ALL
        cells = cells_of(square, rng, most) if start != "auto" or paths > _FEW else None
        volume = 0 if cells is None else int(cells.volumes.sum())
        if cells is not None and volume > 0 and (start != "auto" or volume <= _FEWER * paths):
            found = polyhedral(square, cells, rng, device)
            if found is not None:
                return "polyhedral", found
    return "total_degree", starts.total_degree(square, rng)


def _begin(
    problem: Problem,
    start: Any,
    values: list[Gaussian],
    powers: np.ndarray,
    square: Any,
    rng: np.random.Generator,
    device: str | None,
) -> tuple[str, tuple[Homotopy, np.ndarray]]:
    """Return the name of the start, and the homotopy with its start points."""
    if isinstance(start, str):
        if start not in _STARTS:
            raise ValueError(
                'start must be "auto", "total_degree", "polyhedral" or (solutions, values); got '
                f"{start!r:.50}"
            )
        return _named(start, square, rng, device)
    points, begin = _solutions(problem, start)
    return "parameters", starts.parameters(problem, points, begin, values, powers, rng)


def _solutions(problem: Problem, start: Any) -> tuple[np.ndarray, list[Gaussian]]:
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
    return points, _values(problem, start[1], "start")
