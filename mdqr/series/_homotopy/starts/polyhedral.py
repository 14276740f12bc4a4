"""Start systems with the supports of a system, whose solutions are as many as the mixed volume.

Paths lead from binomial systems, one a mixed cell, to a system with random coefficients on the same
supports: terms ``c exp(w s) x^a``, from s far below zero, where only the edge counts, to 0.
"""

from __future__ import annotations

import numpy as np

from mdqr._backend.path_calls import PathGoal
from mdqr.series._homotopy.follow import equal
from mdqr.series._homotopy.homotopy import Line
from mdqr.series._homotopy.starts.cells import ALL, Cells, Supports, mixed_cells, zeros_are_possible
from mdqr.series._homotopy.starts.start import random_patch, unit
from mdqr.series._homotopy.tables import path_system
from mdqr.series._homotopy.tracker import THERE, TOLERANCE, Paths, by_kernel
from mdqr.series._systems.terms import Terms, gaussian

# What is left of the largest term outside of an edge where paths begin; first steps as a part of
# the way; attempts, and by how much smaller the tolerance of each is.
_LEFT, _FIRST, _ATTEMPTS, _SMALLER = 1e-8, 0.02, 3, 1e-2
# Points that are equal, relative to their size.
_EQUAL = 1e-8


def cells_of(terms: Terms, rng: np.random.Generator, most: int = ALL) -> Cells | None:
    """Return the mixed cells of as many equations as unknowns, with zero where they may vanish."""
    return mixed_cells(Supports.of(terms, with_origin=zeros_are_possible(terms)), rng, most)


def solved_start(
    cells: Cells, rng: np.random.Generator, device: str | None
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return random coefficients, and the solutions ``(n, paths)`` of the system with these.

    None if not all of them were found.
    """
    supports, weights = cells.supports, cells.weights()
    least = np.where(weights > 0, weights, np.inf).min(axis=1)
    begins = np.where(np.isfinite(least), np.log(_LEFT) / least, -1.0)
    for attempt in range(_ATTEMPTS):
        coefficients = np.exp(2j * np.pi * rng.random(len(cells.lifting)))
        x, cell = cells.starts(coefficients)
        begin = begins[cell]
        paths = Paths.at(x, begin, step=-_FIRST * begin, set=cell)
        system = path_system(
            supports.equation,
            supports.points,
            np.stack([coefficients.real, coefficients.imag])[:, None, None, :, None],
            len(x),
            weight=weights,
        )
        goal = PathGoal(0.0, TOLERANCE * _SMALLER**attempt, least=1e-12, longest=np.inf)
        every = np.arange(len(paths))
        state = by_kernel(system, paths, every, goal, device)
        if (state == THERE).all() and not equal(paths.x, every, _EQUAL).size:
            return coefficients, paths.x
    return None


def polyhedral(
    terms: Terms, cells: Cells, rng: np.random.Generator, device: str | None = None
) -> tuple[Line, np.ndarray] | None:
    """Return the homotopy from a system with the supports of `cells`, and its start points.

    None if not all of these were found.
    """
    start = solved_start(cells, rng, device)
    if start is None:
        return None
    coefficients, x = start
    n = terms.variables
    # The same coefficients in float64 and exactly.
    found = {
        (int(place), *map(int, powers)): gaussian(complex(value))
        for place, powers, value in zip(
            cells.supports.equation, cells.supports.points, coefficients, strict=True
        )
    }
    begin = Terms.grouped(found, n, n).homogenised()
    patch = random_patch(rng, n + 1)
    line = Line(
        terms.homogenised().scaled().beside(begin), complex(unit(rng, 1)[0]), patch, generic=True
    )
    x = np.concatenate([np.ones((1, x.shape[1])), x])
    return line, x / (patch @ x)
