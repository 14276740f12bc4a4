"""Solutions of one system, by the attempt that loses the fewest paths."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from mdqr._precision import PRECISIONS, Precision
from mdqr._progress import Reporter
from mdqr.series._homotopy.arguments import solutions_given
from mdqr.series._homotopy.follow import follow
from mdqr.series._homotopy.problem import Problem, in_units, squared, units
from mdqr.series._homotopy.results.collect import Outcome, collected
from mdqr.series._homotopy.results.parts import Found
from mdqr.series._homotopy.solutions import Solutions
from mdqr.series._homotopy.starts.chosen import Start
from mdqr.series._systems.polynomial import Gaussian
from mdqr.series._systems.terms import Terms

# Times that all paths are followed, each time from other random numbers, while a few are lost: more
# than this part of them have a reason.
_ATTEMPTS, _FEW = 3, 0.1


class Given(NamedTuple):
    """The start, groups of unknowns, values of the parameters and options, as `solve` is given."""

    start: Any
    groups: Any
    values: list[Gaussian]
    work: Precision
    certify: bool
    device: str | None


def best(
    problem: Problem,
    given: Given,
    terms: Terms,
    powers: np.ndarray,
    rng: np.random.Generator,
    progress: Reporter | None,
) -> Outcome:
    """Return the solutions of the attempt with the fewest lost paths.

    `terms` are the equations at the values, and `powers` the units of the unknowns to begin with.
    """
    start, groups, values, work, certify, device = given
    kept = None
    for _ in range(_ATTEMPTS):
        scaled = in_units(terms, powers).scaled()
        square = squared(scaled, rng)
        begin = Start(problem, start, groups, values, powers, square, device)
        begin.check()
        method, homotopy, x = begin.begin(rng)
        homotopy = replace(homotopy, units=powers, device=device, _within={})
        followed = follow(homotopy, x, max(work, PRECISIONS[2]), progress)
        found = Found(problem.variables, scaled, square, powers, work, method)
        one = collected(found, homotopy, followed, certify=certify)
        solutions = one.solutions
        if kept is None or _unknown(solutions) < _unknown(kept.solutions):
            kept = one
        none_finite = solutions.at_infinity == solutions.paths and powers.any()
        if kept.solutions.info.failed == 0 and not none_finite:
            break
        if solutions.info.failed > _FEW * solutions.paths or none_finite:
            # The units may be the reason, of solutions of several sizes.
            if not powers.any() or not terms.scaled().is_in_range:
                break
            powers = np.zeros_like(powers)
    assert kept is not None
    return kept


def units_given(problem: Problem, given: Given, terms: Terms) -> np.ndarray:
    """Return the units of the unknowns: of the start, where that is at other parameters.

    Solutions have their usual sizes there; at special parameters they may be close together.
    """
    if isinstance(given.start, str):
        return units(terms)
    return units(problem.at(solutions_given(problem, given.start)[1]))


def _unknown(found: Solutions) -> tuple[int, int, int]:
    # Lost paths may be said to be on sets, which are found by a numerical test.
    failed = found.info.failed
    return failed + found.info.positive_dimensional, failed, found.at_infinity
