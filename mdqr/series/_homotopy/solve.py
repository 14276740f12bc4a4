"""All isolated solutions of polynomial systems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal, TypeAlias, TypedDict, Unpack, overload

import numpy as np

from mdqr._precision import Precision
from mdqr._progress import Progress, Report, with_report
from mdqr._stability import experimental
from mdqr._typing import PrecisionLike
from mdqr.series._errors import required
from mdqr.series._homotopy.arguments import (
    are_many,
    device_given,
    precision_given,
    solutions_given,
    targets_given,
    values_given,
)
from mdqr.series._homotopy.attempts import Given, best, units_given
from mdqr.series._homotopy.problem import Problem, in_units, units
from mdqr.series._homotopy.solutions import Solutions
from mdqr.series._homotopy.starts import start as starts
from mdqr.series._homotopy.sweeps.solution_sweep import SolutionSweep
from mdqr.series._homotopy.sweeps.sweep import Sweep
from mdqr.series._systems.system import System

StartName: TypeAlias = Literal["auto", "total_degree", "multihomogeneous", "polyhedral"]
Groups: TypeAlias = Sequence[Sequence[str]] | None
Scalar: TypeAlias = complex | str | Fraction
RandomSource: TypeAlias = int | np.random.Generator | None


class _Options(TypedDict, total=False):
    groups: Groups
    parameters: Sequence[str] | None
    precision: PrecisionLike | None
    certify: bool
    rng: RandomSource
    device: str | None
    progress: Progress


@overload
def solve(
    system: System,
    *,
    start: StartName = "auto",
    target: Any = None,
    **options: Unpack[_Options],
) -> Solutions: ...


@overload
def solve(
    system: System,
    *,
    start: tuple[Any, Any],
    target: Scalar | Sequence[Scalar],
    **options: Unpack[_Options],
) -> Solutions: ...


@overload
def solve(
    system: System,
    *,
    start: tuple[Any, Any],
    target: Sequence[Sequence[complex]],
    **options: Unpack[_Options],
) -> SolutionSweep: ...


@overload
def solve(
    system: System,
    *,
    start: tuple[Any, Any],
    target: Any,
    **options: Unpack[_Options],
) -> Solutions | SolutionSweep: ...


@experimental
def solve(
    system: System,
    *,
    start: StartName | tuple[Any, Any] = "auto",
    groups: Groups = None,
    target: Any = None,
    parameters: Sequence[str] | None = None,
    precision: PrecisionLike | None = None,
    certify: bool = True,
    rng: RandomSource = 0,
    device: str | None = None,
    progress: Progress = None,
) -> Solutions | SolutionSweep:
    """Return all isolated solutions of a polynomial system.

    Parameters
    ----------
    system : System
        At least as many equations as unknowns.
    start : {"auto", "total_degree", "multihomogeneous", "polyhedral"} or tuple, optional
        "total_degree": a start system ``x_i^d = b``, with as many paths as the product of the
        degrees. "multihomogeneous": products of linear equations in groups of the unknowns, with
        fewer paths where degrees in the groups are low. "polyhedral": one with the monomials of the
        equations, with as many paths as their mixed volume; the origin joins them where solutions
        with zeros are possible. "auto" takes the first or the last, that with fewer paths, if mixed
        cells are found soon; the second never has fewer than the last. Or ``(solutions, values)``:
        solutions ``(k, n)`` of the system at other values of its parameters, from which paths lead
        to those at `target`.
    groups : sequence of sequences of str, optional
        The unknowns of each group, for "multihomogeneous" alone. By default those with the fewest
        paths: of all, for up to six unknowns, else of those from joining two groups at a time.
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
        The device for many paths at once: "cpu", "cuda" or "cuda:k". By default the GPU of the
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
    C. W. Wampler 1991). Paths that meet are followed again with shorter steps. Where a few
    paths are lost, all are followed again from another random start, up to twice. With probability
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
    work, generator = precision_given(precision, system, target), np.random.default_rng(rng)
    device = device_given(device, start, target)
    if are_many(target):
        sweep = _sweep(problem, start, groups, work, generator, certify, device)
        return sweep.run(targets_given(problem, target), generator, progress)
    values = values_given(problem, target, "target")
    given = Given(start, groups, values, work, certify, device)
    terms = problem.at(values)
    powers = units_given(problem, given, terms)
    return best(problem, given, terms, powers, generator, progress).solutions


def _sweep(
    problem: Problem,
    start: Any,
    groups: Any,
    work: Precision,
    rng: np.random.Generator,
    certify: bool,
    device: str | None,
) -> Sweep:
    """Return the sweep from the solutions at some values of the parameters."""
    if isinstance(start, str) or groups is not None:
        raise ValueError("many values of the parameters need start=(solutions, values), no groups")
    points, begin = solutions_given(problem, start)
    powers = units(problem.at(begin))
    homotopy, x = starts.parameters(problem, points, begin, begin, powers, rng)
    homotopy = replace(homotopy, units=powers, device=device)
    terms = in_units(problem.terms, powers).scaled()
    return Sweep(problem, (points, start[1]), terms, homotopy, x, work, certify)
