"""Start systems with known solutions."""

from __future__ import annotations

from math import prod

import numpy as np

from mdqr.series._errors import NotASolutionError
from mdqr.series._homotopy.homotopy import Line, Parameters, newton
from mdqr.series._homotopy.problem import Problem, in_units
from mdqr.series._systems.polynomial import ONE, Gaussian
from mdqr.series._systems.terms import Terms, gaussian

# More paths than this are refused.
MOST_PATHS = 1_000_000
# How far Newton's method may move a start point, relative to it.
_FAR = 0.03


def random_patch(rng: np.random.Generator, variables: int) -> np.ndarray:
    """Return random complex numbers of moduli 0.5 to 1.5."""
    return rng.uniform(0.5, 1.5, variables) * unit(rng, variables)


def unit(rng: np.random.Generator, count: int) -> np.ndarray:
    return np.exp(2j * np.pi * rng.random(count))


def total_degree(terms: Terms, rng: np.random.Generator) -> tuple[Line, np.ndarray]:
    """Return the homotopy from ``x_i^d_i = b_i``, and its start points ``(n + 1, paths)``.

    Random b_i: with ones, a solution of the target could be one of the start system, and stay
    through all of the homotopy.

    Raises
    ------
    ValueError
        If paths are too many.
    """
    degrees = terms.degrees
    n, paths = terms.variables, prod(map(int, degrees))
    if paths > MOST_PATHS:
        raise ValueError(
            f"the equations have degrees whose product is {paths}: so many paths, and at most "
            f"{MOST_PATHS} are followed"
        )
    values, gamma = unit(rng, n), complex(unit(rng, 1)[0])
    found = {}
    for i, (degree, value) in enumerate(zip(degrees.tolist(), values.tolist(), strict=True)):
        found[(i, 0, *(degree if j == i else 0 for j in range(n)))] = ONE
        found[(i, degree, *(0 for _ in range(n)))] = -gaussian(value)
    begin = Terms.grouped(found, n + 1, n)
    patch = random_patch(rng, n + 1)
    line = Line(terms.homogenised().scaled().beside(begin), gamma, patch)
    places = all_indices(degrees.tolist())
    angle = (np.angle(values)[:, None] + 2 * np.pi * places) / degrees[:, None]
    x = np.concatenate([np.ones((1, paths)), np.exp(1j * angle)])
    return line, x / (patch @ x)


def all_indices(shape: list[int]) -> np.ndarray:
    """Return the indices ``(n, size)`` of an array of any number of axes, the last one first."""
    found, every = np.empty((len(shape), prod(shape)), int), np.arange(prod(shape))
    for axis in reversed(range(len(shape))):
        every, found[axis] = np.divmod(every, shape[axis])
    return found


def parameters(
    problem: Problem,
    x: np.ndarray,
    begin: list[Gaussian],
    end: list[Gaussian],
    powers: np.ndarray,
    rng: np.random.Generator,
) -> tuple[Parameters, np.ndarray]:
    """Return the homotopy between two values of the parameters, and its start points.

    Points ``(paths, n)`` are refined.

    Raises
    ------
    NotASolutionError
        If one of them is not near a solution.
    ValueError
        If the Jacobian is singular at one.
    """
    count = len(problem.parameters)
    terms = in_units(problem.terms, powers).homogenised(count).scaled()
    patch = random_patch(rng, x.shape[1] + 1)
    first = np.array([complex(float(v.real), float(v.imag)) for v in begin])
    homotopy = Parameters(terms, complex(unit(rng, 1)[0]), patch, first, end)
    points = np.concatenate([np.ones((1, len(x))), np.ldexp(x.real, -powers).T + 0j])
    points[1:] += 1j * np.ldexp(x.imag, -powers).T
    points = points / (patch @ points)
    moved = points
    one = np.ones(len(x), complex)
    d = np.zeros_like(points)
    for _ in range(4):
        d, _ = newton(homotopy, moved, one)
        moved = moved - d
    size = abs(points).max(axis=0)
    distance = abs(moved - points).max(axis=0) / size
    left = abs(d).max(axis=0) / size
    bad = ~((distance < _FAR) & (left < 1e-8))
    if bad.any():
        place = int(np.flatnonzero(bad)[0])
        if not np.isfinite(distance[place]):
            raise ValueError(f"solution {place} to start from is singular: no path begins there")
        raise NotASolutionError(0.0, float(distance[place]), _FAR)
    return homotopy, moved
