"""Upper bounds of derivatives on polydisks: sums of the moduli of terms, in float64."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from mdqr.series._systems.products import Products
from mdqr.series._systems.terms import Terms

# Half a unit in the last place, relative to a number.
U = 2.0**-53
_UNDERFLOW = 2.0**-900


class Magnitudes:
    """Equations with the moduli of all coefficients.

    All is a sum of products of numbers that are not negative. A value has at most D - 1 products
    of unknowns, one by a coefficient, three additions for each product of series of order two, and
    T additions of terms: it is too small by less than ``(1 + U)**(5 D + T + 8)``. `outward` makes
    up for that.
    """

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        n = terms.variables
        keys = [tuple(np.repeat(np.arange(n), row).tolist()) for row in terms.exponents]
        places = {key: i for i, key in enumerate(dict.fromkeys(key for key in keys if key))}
        products = Products.of(places, n)
        left, right, layers = products.graph
        self._layers = [
            (n + start, n + stop, left[start:stop], right[start:stop])
            for start, stop in pairwise(map(int, layers))
        ]
        self._one = products.nodes
        self._nodes = np.array(
            [products.monomials[places[key]] if key else self._one for key in keys], int
        )
        self._size = abs(terms.floats)[:, None]
        self._rows = [np.flatnonzero(terms.equation == row) for row in range(terms.equations)]
        # The degree and the number of terms of the largest equation.
        self.degree = int(terms.exponents.sum(axis=1).max(initial=1))
        self.most = int(terms.counts.max(initial=1))
        self.outward = 1.0 + 2.0 * U * (5 * self.degree + self.most + 16)

    def orders(self, r: np.ndarray, d: np.ndarray) -> list[np.ndarray]:
        """Return orders 0 to 2 ``(m, points)`` in t of the equations at ``r + t d``, upper bounds.

        r and d are ``(n, points)`` and not negative.
        """
        n, points = r.shape
        series = np.zeros((3, self._one + 1, points))
        series[0, :n], series[1, :n], series[0, self._one] = r, d, 1.0
        for start, stop, left, right in self._layers:
            a, b = series[:, left], series[:, right]
            series[0, start:stop] = a[0] * b[0]
            series[1, start:stop] = a[0] * b[1] + a[1] * b[0]
            series[2, start:stop] = a[0] * b[2] + a[1] * b[1] + a[2] * b[0]
        return [self._sums(order) for order in series]

    def floor(self, r: np.ndarray) -> np.ndarray:
        """Return more than underflows in all operations of a sum, ``(points,)``, up to ``2 r``.

        Each loses less than ``2**-1074``, times other factors; infinite where these are too large.
        """
        top = 2.0 * np.maximum(1.0, r.max(axis=0, initial=1.0))
        most = (float(self._size.max(initial=0.0)) + 1.0) * self.degree**2
        with np.errstate(over="ignore"):
            found: np.ndarray = _UNDERFLOW * most * top ** (self.degree + 2.0)
        return found

    def _sums(self, nodes: np.ndarray) -> np.ndarray:
        values = self._size * nodes[self._nodes]
        found = np.array([values[rows].sum(axis=0) for rows in self._rows])
        return found * self.outward

    def slopes(self, r: np.ndarray, variables: int) -> np.ndarray:
        """Return upper bounds ``(m, variables, points)`` of derivatives at moduli r."""
        zero = np.zeros_like(r)
        found = np.empty((self._terms.equations, variables, r.shape[1]))
        for j in range(variables):
            direction = zero.copy()
            direction[j] = 1.0
            found[:, j] = self.orders(r, direction)[1]
        return found
