"""Start systems whose equations are products of linear ones, each in a group of the unknowns.

One path for each choice of a factor in every equation that gives each group as many equations as
unknowns: Bezout's number for groups (A. P. Morgan and A. J. Sommese 1987).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod

import numpy as np

from mdqr.series._homotopy.homotopy import Line
from mdqr.series._homotopy.starts.start import MOST_PATHS, random_patch, unit
from mdqr.series._systems.terms import Terms, gaussian

Groups = list[list[int]]
# Up to so many unknowns all groupings are tried.
_ALL_GROUPINGS = 6


def groups_of(
    terms: Terms, variables: Sequence[str], given: Sequence[Sequence[str]] | None
) -> Groups:
    """Return groups, each the places of its unknowns: the given ones, or those with fewest paths.

    Raises
    ------
    TypeError
        If a group is a string.
    ValueError
        If the groups do not have each unknown once.
    """
    if given is None:
        return best_groups(terms)
    if isinstance(given, str) or any(isinstance(group, str) for group in given):
        raise TypeError("groups must be lists of names")
    names = [name for group in given for name in group]
    if sorted(names) != sorted(variables) or not all(map(len, given)):
        raise ValueError(f"groups must have each of {', '.join(variables)} once")
    places = {name: i for i, name in enumerate(variables)}
    return [[places[name] for name in group] for group in given]


def degrees_in(terms: Terms, groups: Groups) -> np.ndarray:
    """Return the degrees ``(m, groups)`` of the equations in the unknowns of each group."""
    found = np.zeros((terms.equations, len(groups)), int)
    for j, group in enumerate(groups):
        np.maximum.at(found[:, j], terms.equation, terms.exponents[:, group].sum(axis=1))
    return found


def paths(terms: Terms, groups: Groups) -> int:
    """Return the number of paths."""
    ways = {tuple(map(len, groups)): 1}
    for row in degrees_in(terms, groups).tolist():
        new: dict[tuple[int, ...], int] = {}
        for left, count in ways.items():
            for j, degree in enumerate(row):
                if degree and left[j]:
                    key = (*left[:j], left[j] - 1, *left[j + 1 :])
                    new[key] = new.get(key, 0) + count * degree
        ways = new
    return ways.get((0,) * len(groups), 0)


def best_groups(terms: Terms) -> Groups:
    """Return groups with few paths; the fewest, if all groupings are tried."""
    n = terms.variables
    if n <= _ALL_GROUPINGS:
        return min(_groupings(n), key=lambda groups: (paths(terms, groups), len(groups)))
    best: Groups = [[i] for i in range(n)]
    found = [best]
    while len(best) > 1:
        joined = [
            [best[i] + best[j], *(g for k, g in enumerate(best) if k not in (i, j))]
            for i in range(len(best))
            for j in range(i)
        ]
        best = min(joined, key=lambda groups: paths(terms, groups))
        found.append(best)
    return min(found, key=lambda groups: (paths(terms, groups), len(groups)))


def _groupings(n: int) -> Iterator[Groups]:
    if n == 0:
        yield []
        return
    for groups in _groupings(n - 1):
        for i in range(len(groups)):
            yield [*groups[:i], [*groups[i], n - 1], *groups[i + 1 :]]
        yield [*groups, [n - 1]]


def multihomogeneous(
    terms: Terms, groups: Groups, rng: np.random.Generator
) -> tuple[Line, np.ndarray]:
    """Return the homotopy from products of linear equations, and its start points.

    Raises
    ------
    ValueError
        If paths are too many, or there are none: then the equations have no isolated solution.
    """
    count, n = paths(terms, groups), terms.variables
    if not count:
        raise ValueError("the equations in these groups have no isolated solutions")
    if count > MOST_PATHS:
        raise ValueError(f"the groups have {count} paths, and at most {MOST_PATHS} are followed")
    degrees = degrees_in(terms, groups)
    # Factor (i, j, l): its coefficients, and behind them the constant.
    factors = {
        (i, j, k): unit(rng, len(groups[j]) + 1)
        for i, row in enumerate(degrees.tolist())
        for j, degree in enumerate(row)
        for k in range(degree)
    }
    found = {}
    for i in range(n):
        held = [(groups[j], factors[i, j, k]) for (row, j, k) in factors if row == i]
        for powers, value in _expanded(n, held).items():
            found[(i, *powers)] = gaussian(value)
    whole = degrees.sum(axis=1)
    begin = Terms.grouped(found, n, n).homogenised(degrees=whole)
    patch = random_patch(rng, n + 1)
    target = terms.homogenised(degrees=whole).scaled()
    line = Line(target.beside(begin), complex(unit(rng, 1)[0]), patch)
    x = np.concatenate([np.ones((1, count)), _start_points(degrees, groups, factors)])
    return line, x / (patch @ x)


def _expanded(
    n: int, factors: list[tuple[list[int], np.ndarray]]
) -> dict[tuple[int, ...], complex]:
    """Return a product of linear forms by its exponents."""
    found = {(0,) * n: 1.0 + 0.0j}
    for group, values in factors:
        new: dict[tuple[int, ...], complex] = {}
        for powers, value in found.items():
            for place, factor in zip([*group, None], values.tolist(), strict=True):
                key = powers
                if place is not None:
                    key = (*powers[:place], powers[place] + 1, *powers[place + 1 :])
                new[key] = new.get(key, 0.0) + value * factor
        found = new
    return found


def _start_points(
    degrees: np.ndarray, groups: Groups, factors: dict[tuple[int, int, int], np.ndarray]
) -> np.ndarray:
    """Return the points ``(n, paths)`` where one factor of each equation is zero."""
    n = len(degrees)
    found = []
    for choice in _choices(degrees.tolist(), [len(group) for group in groups]):
        parts = []
        for j in range(len(groups)):
            rows = [i for i in range(n) if choice[i] == j]
            picks = product(*(range(degrees[i, j]) for i in rows))
            table = np.array(
                [[factors[i, j, k] for i, k in zip(rows, pick, strict=True)] for pick in picks]
            )
            parts.append(np.linalg.solve(table[..., :-1], -table[..., -1:])[..., 0])
        places = np.indices([len(part) for part in parts]).reshape(len(parts), -1)
        points = np.empty((n, prod(map(len, parts))), complex)
        for group, part, place in zip(groups, parts, places, strict=True):
            points[group] = part[place].T
        found.append(points)
    return np.concatenate(found, axis=1)


def _choices(degrees: list[list[int]], left: list[int]) -> Iterator[list[int]]:
    """Yield a group for each equation, each group as often as it has unknowns."""
    if not degrees:
        yield []
        return
    for j, degree in enumerate(degrees[0]):
        if degree and left[j]:
            rest = [*left[:j], left[j] - 1, *left[j + 1 :]]
            for others in _choices(degrees[1:], rest):
                yield [j, *others]
