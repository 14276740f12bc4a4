"""Polynomials and their Jacobians at many points at once, in float64."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from mdqr.series._systems.products import Products


class Polynomials:
    """Sums of terms ``c x_1^e_1 ... x_n^e_n`` and their derivatives, at points ``(n, points)``.

    Sums are added one term after the other, not by BLAS: results do not depend on its threads. One
    object is for one thread.

    Parameters
    ----------
    exponents : numpy.ndarray
        ``(terms, n)``, integers.
    coefficients : numpy.ndarray
        ``(terms,)``, complex or real.
    equation : numpy.ndarray
        ``(terms,)``: the polynomial that a term belongs to.
    equations : int
        The number of polynomials.
    """

    def __init__(
        self,
        exponents: np.ndarray,
        coefficients: np.ndarray,
        equation: np.ndarray,
        equations: int,
    ) -> None:
        terms, n = exponents.shape
        self.shape = equations, n
        at, variable = np.nonzero(exponents)
        lowered = exponents[at].copy()
        lowered[np.arange(len(at)), variable] -= 1
        powers = np.concatenate([exponents, lowered])
        factors = np.concatenate([np.ones(terms), exponents[at, variable]])
        # Row i of the result is an equation, row m + i n + j a derivative.
        rows = np.concatenate([equation, equations + equation[at] * n + variable])
        source = np.concatenate([np.arange(terms), at])
        self._rows, self._ranks, order = _by_rank(rows)
        keys = [tuple(np.repeat(np.arange(n), row).tolist()) for row in powers[order]]
        places = {key: i for i, key in enumerate(dict.fromkeys(key for key in keys if key))}
        products = Products.of(places, n)
        left, right, layers = products.graph
        self._layers = [
            (n + start, n + stop, left[start:stop], right[start:stop])
            for start, stop in pairwise(map(int, layers))
        ]
        # The last node is one.
        self._one = products.nodes
        self._nodes = np.array(
            [products.monomials[places[key]] if key else self._one for key in keys], int
        )
        self._factors = (coefficients[source] * factors)[order][:, None].astype(complex)
        self._space: dict[str, np.ndarray] = {}

    def _taken(self, name: str, rows: int, points: int) -> np.ndarray:
        """Return memory that calls share: new memory would cost more than its use."""
        held = self._space.get(name)
        if held is None or held.size < rows * points:
            self._space[name] = held = np.empty(rows * points, complex)
        return held[: rows * points].reshape(rows, points)

    def __call__(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the values ``(m, points)`` and the Jacobian ``(m, n, points)``.

        They are valid until the next call.
        """
        m, n = self.shape
        points = x.shape[1]
        values = self._taken("values", self._one + 1, points)
        values[:n], values[self._one] = x, 1.0
        for start, stop, left, right in self._layers:
            np.multiply(values[left], values[right], out=values[start:stop])
        terms = self._taken("terms", len(self._nodes), points)
        np.take(values, self._nodes, axis=0, out=terms, mode="clip")
        terms *= self._factors
        for start, stop in self._ranks:
            terms[: stop - start] += terms[start:stop]
        found = self._taken("found", m + m * n, points)
        found[:] = 0.0
        found[self._rows] = terms[: len(self._rows)]
        return found[:m], found[m:].reshape(m, n, points)


def _by_rank(rows: np.ndarray) -> tuple[np.ndarray, list[tuple[int, int]], np.ndarray]:
    """Order terms so that the first of all rows come first, then the second ones, and so on.

    Rows with most terms come first, so that each part belongs to the first rows. Returned are the
    rows, the parts behind the first, and the order of the terms.
    """
    if not rows.size:
        return rows, [], rows
    found, inverse, counts = np.unique(rows, return_inverse=True, return_counts=True)
    by_count = np.argsort(-counts, kind="stable")
    place = np.empty_like(by_count)
    place[by_count] = np.arange(len(by_count))
    sorted_terms = np.argsort(inverse, kind="stable")
    firsts = np.cumsum(counts) - counts
    rank = np.empty(len(rows), int)
    rank[sorted_terms] = np.arange(len(rows)) - np.repeat(firsts, counts)
    order = np.lexsort((place[inverse], rank))
    ends = np.cumsum(np.bincount(rank)).tolist()
    return found[by_count], list(pairwise(ends)), order
