"""Polynomials and their Jacobians at many points at once, in a precision of several doubles."""

from __future__ import annotations

import numpy as np

from mdqr._array.array import MDArray
from mdqr._backend import for_block
from mdqr._backend.protocol import EquationTerms
from mdqr._limbs.planes import Block, Kind
from mdqr.series._systems.products import Products


class PrecisePolynomials:
    """The values and the Jacobian of terms, with coefficients rounded once.

    Parameters
    ----------
    exponents : numpy.ndarray
        ``(terms, n)``, integers.
    coefficients : MDArray
        ``(terms,)``, complex, in working precision.
    equation : numpy.ndarray
        ``(terms,)``: the polynomial that a term belongs to.
    equations : int
        The number of polynomials.
    """

    def __init__(
        self, exponents: np.ndarray, coefficients: MDArray, equation: np.ndarray, equations: int
    ) -> None:
        self._kind = Kind(coefficients.precision.limbs, True)
        n, m = exponents.shape[1], equations
        # One more unknown, which is one: terms without unknowns are no special case then.
        keys = [tuple(np.repeat(np.arange(n), row).tolist()) or (n,) for row in exponents]
        places = {key: i for i, key in enumerate(dict.fromkeys(keys))}
        self._products = Products.of(places, n + 1)
        node = self._products.monomials[[places[key] for key in keys]].reshape(-1)
        order = np.argsort(equation, kind="stable")
        starts = np.searchsorted(equation[order], np.arange(m + 1)).astype(np.int64)
        factors = np.ascontiguousarray(coefficients._block[..., order])
        constants = self._kind.zeros(np, (1, m, 1))
        self._terms = EquationTerms(
            starts, node[order].astype(np.int64), factors[:, :, None, :, None].copy(), constants
        )
        self._n = n

    def values(self, x: MDArray) -> MDArray:
        """Return the values ``(points, m)`` at points ``(points, n)``."""
        found = for_block(x._block).series_equations(
            self._nodes(x), self._terms, 0, kind=self._kind
        )
        return MDArray._wrap(found, x.precision, True)

    def __call__(self, x: MDArray) -> tuple[MDArray, MDArray]:
        """Return the values ``(points, m)`` and the Jacobian ``(points, m, n)``."""
        kind, n, precision = self._kind, self._n, x.precision
        backend, values = for_block(x._block), self._nodes(x)
        found = backend.series_equations(values, self._terms, 0, kind=kind)
        wide = self._products.derivatives(values[..., 0], backend, kind)
        slopes = backend.series_equations(wide, self._terms, 1, kind=kind)
        slopes = np.ascontiguousarray(slopes[..., :n, :].swapaxes(-1, -2))
        return MDArray._wrap(found, precision, True), MDArray._wrap(slopes, precision, True)

    def _nodes(self, x: MDArray) -> Block:
        """Return the products of unknowns ``(points, nodes, 1)``."""
        kind, n = self._kind, self._n
        values = kind.zeros(np, (x.shape[0], self._products.nodes, 1))
        values[..., :n, 0] = x._block
        values[0, 0, :, n, 0] = 1.0
        self._products.evaluate(values, for_block(x._block), kind)
        return values
