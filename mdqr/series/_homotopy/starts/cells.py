"""Supports of polynomial systems, their mixed cells, and the solutions of binomial systems.

B. Huber and B. Sturmfels, "A polyhedral method for solving sparse polynomial systems" (1995).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mdqr._backend import cell_finder
from mdqr._stability import experimental
from mdqr.series._errors import required
from mdqr.series._homotopy.problem import Problem
from mdqr.series._homotopy.starts.start import all_indices
from mdqr.series._systems.system import System
from mdqr.series._systems.terms import Terms

# Without a limit on the search.
ALL = 2**62
# Subsets of more unknowns are not looked at one by one.
_MOST_UNKNOWNS = 14
# Liftings of which two have to give the same volume.
_MOST_LIFTINGS = 6


@dataclass(frozen=True)
class Supports:
    """The exponents of all equations, one equation after another.

    Attributes
    ----------
    points : numpy.ndarray
        ``(terms, n)``.
    equation : numpy.ndarray
        ``(terms,)``, ascending.
    """

    points: np.ndarray
    equation: np.ndarray

    @classmethod
    def of(cls, terms: Terms, *, with_origin: bool) -> Supports:
        """Return the supports of as many equations as unknowns; of all with zero, or as it is."""
        rows = [np.column_stack([terms.equation, terms.exponents])]
        if with_origin:
            n = terms.variables
            rows.append(np.column_stack([np.arange(n), np.zeros((n, n), int)]))
        table = np.unique(np.concatenate(rows), axis=0)
        return cls(np.ascontiguousarray(table[:, 1:]), np.ascontiguousarray(table[:, 0]))

    @property
    def start(self) -> np.ndarray:
        """The first point of each equation, and the number of all."""
        n = self.points.shape[1]
        return np.searchsorted(self.equation, np.arange(n + 1)).astype(np.int64)


@dataclass(frozen=True)
class Cells:
    """The mixed cells of supports.

    Attributes
    ----------
    supports : Supports
        The supports.
    edges : numpy.ndarray
        ``(cells, n, 2)``: two points of each support.
    lifting : numpy.ndarray
        ``(terms,)``.
    """

    supports: Supports
    edges: np.ndarray
    lifting: np.ndarray

    @property
    def matrices(self) -> np.ndarray:
        """The differences of the points of edges ``(cells, n, n)``."""
        ends = self.supports.points[self.edges]
        found: np.ndarray = ends[:, :, 1] - ends[:, :, 0]
        return found

    @property
    def volumes(self) -> np.ndarray:
        """The numbers of solutions of the binomial systems."""
        return np.rint(abs(np.linalg.det(self.matrices))).astype(np.int64)

    def weights(self) -> np.ndarray:
        """Heights of lifted points above the hyperplanes of cells ``(cells, terms)``."""
        points, lifting = self.supports.points, self.lifting
        rise = lifting[self.edges[:, :, 0]] - lifting[self.edges[:, :, 1]]
        directions = np.linalg.solve(self.matrices.astype(float), rise[..., None])[..., 0]
        heights = directions @ points.T + lifting
        base = np.take_along_axis(heights, self.edges[:, :, 0], axis=1)
        found: np.ndarray = heights - base[:, self.supports.equation]
        for end in range(2):
            np.put_along_axis(found, self.edges[:, :, end], 0.0, axis=1)
        return np.maximum(found, 0.0)

    def starts(self, coefficients: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the solutions ``(n, paths)`` of binomial systems, and the cells they belong to.

        Coefficients have modulus one, and so have the solutions.
        """
        pairs = coefficients[self.edges]
        angles = np.angle(-pairs[:, :, 0] / pairs[:, :, 1])
        turns = [_representatives(matrix) for matrix in self.matrices]
        cell = np.repeat(np.arange(len(turns)), [len(rows) for rows in turns])
        right = angles[cell] + 2 * np.pi * np.concatenate(turns)
        found = np.linalg.solve(self.matrices[cell].astype(float), right[..., None])[..., 0]
        return np.exp(1j * found).T.copy(), cell


def mixed_cells(supports: Supports, rng: np.random.Generator, most: int = ALL) -> Cells | None:
    """Return the mixed cells of a random lifting; None if the search takes more pivots."""
    lifting = rng.random(len(supports.points))
    edges = cell_finder().mixed_cells(supports.start, supports.points, lifting, most)
    return None if edges is None else Cells(supports, edges, lifting)


def zeros_are_possible(terms: Terms) -> bool:
    """Tell whether solutions may have zeros.

    They have none in a set of unknowns if without these an equation is one term.
    """
    n = terms.variables
    if n > _MOST_UNKNOWNS:
        return True
    used = (terms.exponents > 0) @ (1 << np.arange(n))
    sets = np.arange(1, 1 << n)
    single = np.zeros(len(sets), bool)
    for row in range(terms.equations):
        left = (used[terms.equation == row, None] & sets) == 0
        single |= left.sum(axis=0) == 1
    return not bool(single.all())


def _representatives(matrix: np.ndarray) -> np.ndarray:
    """Return integer vectors ``(det, n)``, one of each class modulo the columns of a matrix."""
    n = len(matrix)
    columns = [[int(value) for value in column] for column in matrix.T]
    diagonal = []
    for i in range(n):
        # Euclid's algorithm on row i of the columns that are left.
        while True:
            rest = [c for c in columns if c[i]]
            if len(rest) < 2:
                break
            least = min(rest, key=lambda c: abs(c[i]))
            for c in rest:
                if c is not least:
                    times = c[i] // least[i]
                    c[:] = [a - times * b for a, b in zip(c, least, strict=True)]
        diagonal.append(abs(rest[0][i]))
        columns.remove(rest[0])
    return all_indices(diagonal).T


@experimental
def mixed_volume(system: System, *, parameters: Sequence[str] | None = None, rng: Any = 0) -> int:
    """Return the mixed volume of the Newton polytopes of as many equations as unknowns.

    Parameters
    ----------
    system : System
        The equations; their coefficients do not matter.
    parameters : sequence of str, optional
        Names of the system that are not unknowns; by default ``system.parameter``, if the
        equations depend on it.
    rng : int or numpy.random.Generator, optional
        Seed of random liftings.

    Returns
    -------
    int
        The number of solutions without a zero of the system with general coefficients, which no
        other system has more of that are isolated (D. N. Bernstein 1975).

    Raises
    ------
    TypeError
        If `system` is none, or `parameters` a string.
    ValueError
        If the equations are not as many as the unknowns.
    ArithmeticError
        If no two of six liftings agree, by rounding errors.

    See Also
    --------
    solve : All solutions; with ``start="polyhedral"`` along as many paths.

    Notes
    -----
    The sum of the volumes of the mixed cells of a random lifting (B. Huber and B. Sturmfels 1995),
    which are found by linear programs in float64 (T. Gao and T. Y. Li 2000). Two liftings have to
    agree, which proves nothing.

    Examples
    --------
    >>> from mdqr import series
    >>> system = series.System.from_strings(["x*y - 1", "x^2 + x*y + 2"], ["x", "y"])
    >>> series.mixed_volume(system)
    2
    """
    required("mixed_volume", "system", system, System)
    problem = Problem.of(system, parameters)
    n, terms = len(problem.variables), problem.terms
    if terms.equations != n:
        raise ValueError(f"a mixed volume needs as many equations as unknowns, not {n} unknowns")
    affine = replace(terms, _precise={}, exponents=terms.exponents[:, :n])
    supports = Supports.of(affine, with_origin=False)
    generator, found = np.random.default_rng(rng), set[int]()
    for _ in range(_MOST_LIFTINGS):
        cells = mixed_cells(supports, generator)
        volume = int(cells.volumes.sum()) if cells is not None else -1
        if volume in found:
            return volume
        found.add(volume)
    raise ArithmeticError(f"liftings give different volumes: {sorted(found)}")
