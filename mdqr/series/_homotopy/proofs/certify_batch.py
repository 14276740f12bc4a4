"""Krawczyk's test for solutions at many values of parameters, without Python's work for each.

Values are computed in a higher precision than the points have. With D factors and K terms an
equation, products in that precision are wrong by less than ``4 eps`` of their moduli, coefficients
are rounded once, and a sum by less than ``(K + 8) eps`` of the moduli in each part: together less
than ``2 (4 D + K + 48) eps`` of the sum of the moduli of the terms.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from mdqr import concatenate, zeros
from mdqr._array.array import MDArray
from mdqr._functions.creation import array
from mdqr._precision import Precision
from mdqr.series._homotopy.proofs.certify import LIMIT, Certificates, Test
from mdqr.series._homotopy.proofs.magnitudes import U
from mdqr.series._systems.products import Products
from mdqr.series._systems.terms import Terms

# Points that are tested at once; values in products that are larger may have overflowed.
_TOGETHER, _LARGEST = 4096, 2.0**900


class Proofs(NamedTuple):
    """Certified points ``(points,)``, their bounds and radii of uniqueness ``(points, n)``."""

    certified: np.ndarray
    error: np.ndarray
    unique: np.ndarray


def proofs(terms: Terms, x: MDArray, parameters: MDArray) -> Proofs:
    """Test points ``(points, n)``, complex, as solutions at parameters ``(points, q)``.

    `terms` are n equations in n unknowns and, behind them, the parameters, which are exact.
    """
    count, n = x.shape
    work = max(x.precision.next, parameters.precision)
    test = _Values(terms, work)
    found = Proofs(np.zeros(count, bool), np.full((count, n), np.inf), np.zeros((count, n)))
    for first in range(0, count, _TOGETHER):
        some = slice(first, first + _TOGETHER)
        parts = [array(part[some].T, precision=work) for part in (x, parameters)]
        one = test.certificates(concatenate([_complex(part) for part in parts]))
        found.certified[some] = one.certified
        found.error[some], found.unique[some] = one.error.T, one.unique.T
    return found


def _complex(x: MDArray) -> MDArray:
    return x if x.is_complex else x.astype(dtype=complex)


class _Values:
    """The equations in a precision, with bounds of their errors."""

    def __init__(self, terms: Terms, precision: Precision) -> None:
        self._terms, self._precision = terms, precision
        self._factors = terms.rounded(precision)[:, None]
        n = terms.variables
        keys = [tuple(np.repeat(np.arange(n), row).tolist()) for row in terms.exponents]
        places = {key: i for i, key in enumerate(dict.fromkeys(key for key in keys if key))}
        self._products = Products.of(places, n)
        # The last node is one.
        one = self._products.nodes
        self._nodes = np.array(
            [self._products.monomials[places[key]] if key else one for key in keys], int
        )

    def certificates(self, z: MDArray) -> Certificates:
        """Test points ``(n + q, points)``, complex, in the precision."""
        near = z.to_numpy()
        found = Certificates.unknown(self._terms.equations, z.T)
        with np.errstate(all="ignore"):
            values, sound = self._evaluated(z)
            test = _RoundedTest(self._terms, near, values, self._precision.eps)
            sound &= abs(near).max(axis=0) < LIMIT
            test.with_floats(found, np.flatnonzero(sound))
        return found

    def _evaluated(self, z: MDArray) -> tuple[np.ndarray, np.ndarray]:
        """Return the equations ``(m, points)``, and where no product may have overflowed."""
        n, count = z.shape
        products = self._products
        nodes = zeros((products.nodes + 1, count), precision=z.precision, dtype=complex)
        nodes[:n], nodes[products.nodes] = z, 1.0
        left, right, layers = products.graph
        for start, stop in pairwise(map(int, layers)):
            a, b = left[start:stop], right[start:stop]
            nodes[n + start : n + stop] = nodes[a] * nodes[b]
        rows = []
        sound = abs(nodes.to_numpy()).max(axis=0) < _LARGEST
        for row in range(self._terms.equations):
            which = np.flatnonzero(self._terms.equation == row)
            parts = self._factors[which] * nodes[self._nodes[which]]
            sound &= abs(parts.to_numpy()).max(axis=0) < _LARGEST
            rows.append(parts.sum(axis=0).to_numpy())
        return np.array(rows), sound


class _RoundedTest(Test):
    """Points with values that were rounded."""

    def __init__(self, terms: Terms, near: np.ndarray, values: np.ndarray, eps: float) -> None:
        super().__init__(terms, near, values)
        sizes, moduli = self._sizes, self._moduli
        factor = 2.0 * (4 * sizes.degree + sizes.most + 48) * eps * (1 + 8 * U)
        moved = sizes.orders(moduli, np.zeros_like(moduli))[0]
        self._wrong = factor * moved + sizes.floor(moduli)
