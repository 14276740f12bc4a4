"""Bounds that pages and docstrings state of factors, against the errors of random ones."""

from __future__ import annotations

import math
from collections.abc import Iterator

import exact_product_cases as products
import linalg_cases as cases
import numpy as np
from exact_matrices import Exact

import mdqr
from mdqr._limbs.planes import Kind
from mdqr._precision import Precision
from mutants.judges import Claims
from mutants.steps import over

# Times the number of columns, in eps.
OF_QR = OF_REPAIR = 20.0


def _certificates(precision: Precision) -> Iterator[float]:
    """Errors of factors that are off, which certify does not understate."""
    for trial in range(4):
        rng = np.random.default_rng(trial)
        a = cases.random(5, 3, precision, complex if trial % 2 else float, rng)
        Q, R = mdqr.linalg.qr(a)
        Q[3, 2] = Q[3, 2] * (1 + 2.0**20 * precision.eps)
        R[1, 2] = R[1, 2] + 2.0**20 * precision.eps
        found = mdqr.linalg.certify(a, Q, R)
        for value, exact in zip(found, cases.factor_errors(a, Q, R), strict=True):
            # Right to 12 digits.
            yield math.log2(exact / value * (1 - 1e-11)) if value else math.inf


def _auto_products(precision: Precision) -> Iterator[float]:
    """Products by residues: ``abs(error) <= eps (abs(a) @ abs(b))``, and a rounding."""
    for trial in range(4):
        rng = np.random.default_rng(trial)
        field = bool(trial % 2)
        a, b = (
            products.full(shape, precision, complex if field else float, rng)
            for shape in ((6, 9), (9, 5))
        )
        # Entries of all sizes, so that rows and columns are far above the least of them.
        a = products.by_powers(a, -rng.integers(0, 20, a.shape))
        found = products.auto(a, b, Kind(precision.limbs, field))
        if found is None:
            continue
        x, y = Exact.of(a), Exact.of(b)
        sums = x.moduli() @ y.moduli()
        factor = (3 if field else 2) * precision.eps
        bound = np.array([float(v) for v in sums.real.ravel()]) * 2.0**-sums.exponent * factor
        yield from over(Exact.of(found) - x @ y, bound)


def _factors(precision: Precision) -> Iterator[float]:
    """Errors of `qr`: normwise, columnwise and of Q below ``20 n`` eps."""
    for trial in range(8):
        rng = np.random.default_rng(trial)
        n = 1 + trial % 4
        a = cases.random(n + trial // 2, n, precision, complex if trial % 2 else float, rng)
        known = mdqr.linalg.certify(a, *mdqr.linalg.qr(a))
        for value in (known.normwise, known.columnwise, known.orthogonality):
            if value:
                yield math.log2(value / (OF_QR * n))


CERTIFICATES = Claims("certificates", _certificates)


def _exact_products(precision: Precision) -> Iterator[float]:
    """Products of "exact": ``k 2**(e + f - 53 N - 3)``, and a rounding."""
    k = 40
    for trial in range(4):
        rng = np.random.default_rng(trial)
        a, b = (products.full(shape, precision, float, rng) for shape in ((4, k), (k, 3)))
        # Terms that cancel, so that the rounding of the sum does not count.
        a, b = mdqr.concatenate([a, -a], axis=1), mdqr.concatenate([b, b * (1 + 2.0**-30)])
        found = mdqr.linalg.matmul(a, b, method="exact")
        tops = [2.0 ** np.ceil(np.log2(abs(v).max(axis=i).to_numpy())) for v, i in ((a, 1), (b, 0))]
        bound = 2 * k * np.outer(*tops) * 2.0 ** (-53 * precision.limbs - 3)
        bound = bound + precision.eps * abs(found.to_numpy())
        yield from over(Exact.of(found) - Exact.of(a) @ Exact.of(b), bound)


EXACT_PRODUCTS = Claims("products by all bits", _exact_products)


def _repaired(precision: Precision) -> Iterator[float]:
    """Errors of factors that drifted, and were repaired."""
    for trial in range(8):
        rng = np.random.default_rng(trial)
        a = cases.random(4 + trial % 4, 1 + trial % 4, precision, float, rng)
        Q, R = mdqr.linalg.qr(a)
        off = 1 + precision.eps**0.75 * rng.uniform(-1, 1, Q.shape)
        known = mdqr.linalg.certify(a, *mdqr.linalg.repair(a, Q * off, R))
        for value in (known.normwise, known.orthogonality):
            if value:
                yield math.log2(value / (OF_REPAIR * a.shape[1]))


REPAIRED = Claims("repaired factors", _repaired)
FACTORS = Claims("factors of qr", _factors)
AUTO_PRODUCTS = Claims("products by residues", _auto_products)
