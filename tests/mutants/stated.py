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
from mutants import judges
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


def _infos(precision: Precision) -> Iterator[float]:
    """Exact errors of factors that are off, against the bounds of their `info`."""
    for trial in range(8):
        rng = np.random.default_rng(trial)
        a = cases.random(6, 4, precision, complex if trial % 2 else float, rng)
        a = a * 2.0 ** (100 * rng.integers(-5, 6))
        for found in (mdqr.linalg.qr(a), mdqr.linalg.polar(a), mdqr.linalg.lu_factor(a)):
            yield from _of_info(a, found, rng)
        found = mdqr.linalg.lowrank(a, 4)
        scaled = Exact.of(found.U) @ Exact.of(mdqr.diag(found.S))
        yield from judges.over(
            _size(Exact.of(a) - scaled @ Exact.of(found.Vh)), found.info.error_bound
        )
        lost = max(_lost(found.U), _lost(found.Vh.mT.conj()))
        yield from judges.over(np.array(lost), found.info.orthogonality)
        square = a[:4] @ a[:4].mT.conj()
        c, info = mdqr.linalg.cholesky(square, return_info=True)
        # That of the lower triangle, which is not Hermitian to the bit above it.
        lower = mdqr.tril(square)
        if lower.is_complex:
            lower = lower - 1j * mdqr.diag(mdqr.diag(square).imag)
        square = lower + mdqr.tril(square, -1).mT.conj()
        yield from judges.over(
            _size(Exact.of(square) - Exact.of(c) @ Exact.of(c).H), info.error_bound
        )


def _of_info(a: mdqr.MDArray, found: tuple, rng: np.random.Generator) -> Iterator[float]:
    """Yield the errors of a result, the first factor of which is moved before it is asked."""
    first, second = found
    off = 2.0 ** rng.integers(0, 8) * first.precision.eps
    first[-1, 0] = first[-1, 0] * (1 + off)
    if isinstance(found, mdqr.linalg.LUFactors):
        for i, place in enumerate(second):
            a[[i, place]] = a[[place, i]]
        lower = mdqr.tril(first, -1) + mdqr.eye(*first.shape, precision=first.precision)
        first, second = lower, mdqr.triu(first[: first.shape[1]])
    else:
        yield from judges.over(np.array(_lost(first)), found.info.orthogonality)
    yield from judges.over(
        _size(Exact.of(a) - Exact.of(first) @ Exact.of(second)), found.info.error_bound
    )


def _size(x: Exact) -> np.ndarray:
    return np.array(x.norm())


def _lost(q: mdqr.MDArray) -> float:
    one = Exact.of(mdqr.eye(q.shape[-1], precision=mdqr.d))
    return (one - Exact.of(q).H @ Exact.of(q)).norm()


INFOS = Claims("info of factors", _infos)
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
