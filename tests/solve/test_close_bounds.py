"""Bounds of every way are right, and so close that none that is a thousandth of it passes."""

from __future__ import annotations

from fractions import Fraction

import linalg_cases as cases
import numpy as np
import pytest

import mdqr
from mdqr.linalg import lstsq
from mdqr.testing import matrix


def _random(m, n, precision, rng):
    return matrix("random", m, n, precision=precision, rng=rng)


def _tall(rng, precision, m=9, n=4):
    a, b = (_random(m, k, precision, rng) for k in (n, 2))
    return a, b, cases.rational_solution(a, b)[0]


def _weighted(method, m=9):
    def way(rng, precision):
        a, b, _ = _tall(rng, precision, m)
        w = abs(_random(m, 1, precision, rng)[:, 0]) + 0.1
        exact = cases.rational_solution(a, b, cases.fractions(w))[0]
        return lstsq(a, b, weights=w, method=method), exact

    return way


def _plain(shape=(9, 4), **options):
    def way(rng, precision):
        a, b, exact = _tall(rng, precision, *shape)
        return lstsq(a, b, **options), exact

    return way


def _shortest(**options):
    def way(rng, precision):
        a, b = (
            _random(9, 4, precision, rng).T,
            _random(4, 2, precision, rng),
        )
        return lstsq(a, b, **options), cases.shortest_solution(a, b)

    return way


def _pieces(rng, precision):
    """Entries of b that no power of two brings together."""
    a, b, _ = _tall(rng, precision)
    b = b * 2.0 ** rng.choice([-450.0, 450.0], (9, 1))
    return lstsq(a, b, method="householder"), cases.rational_solution(a, b)[0]


def _deficient(basic):
    def way(rng, precision):
        left, right = rng.integers(-(2**20), 2**20, (9, 3)), rng.integers(-9, 9, (3, 5))
        right[:, :3] += 40 * np.eye(3, dtype=int)
        a, b = (
            mdqr.array(left @ right, precision=precision),
            _random(9, 2, precision, rng),
        )
        fit = lstsq(a, b, rtol=1e-10, basic=basic)
        chosen = np.asarray(fit.info.pivots)[:3]
        y = cases.rational_solution(a[:, chosen], b)[0]
        if basic:
            exact = np.full((5, 2), Fraction(0))
            exact[chosen] = y
            return fit, exact
        # A is its chosen columns times T, so that x is T^+ y.
        t = cases.rational_solution(a[:, chosen], a)[0]
        both = t @ t.T
        inverse = cases.rational_inverse(both)
        return fit, t.T @ (inverse @ y)

    return way


WAYS = {
    "small": _plain(),
    "steps": _plain(progress=lambda *_: None),
    "square steps": _plain((6, 6), progress=lambda *_: None),
    "householder": _plain(method="householder"),
    "square householder": _plain((6, 6), method="householder"),
    "weights": _weighted("auto"),
    "weights, householder": _weighted("householder"),
    "square, weights": _weighted("auto", 4),
    "shortest": _shortest(),
    "shortest, householder": _shortest(method="householder"),
    "pieces": _pieces,
    "by rank": _deficient(False),
    "basic": _deficient(True),
    "of fewer limbs": _plain(precision=mdqr.d),
    "shortest of fewer limbs": _shortest(precision=mdqr.d),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_the_bound_is_the_error_but_for_little(way, precision):
    rng = np.random.default_rng(sum(map(ord, str(precision))))
    shares = []
    for _ in range(3):
        fit, exact = way(rng, precision)
        errors = abs(cases.fractions(fit.x) - exact)
        bounds = np.frompyfunc(Fraction, 1, 1)(fit.info.error_bound)
        assert (errors <= bounds).all()
        shares += [float(e / b) for e, b in zip(errors.ravel(), bounds.ravel(), strict=True) if b]
        sizes = abs(fit.x.to_numpy())
        with np.errstate(divide="ignore", invalid="ignore"):
            digits = -np.log10(np.where(fit.info.error_bound > 0, fit.info.error_bound / sizes, 0))
        digits = np.clip(digits, 0, fit.x.precision.digits)
        np.testing.assert_allclose(fit.info.digits, digits, atol=1e-6)
    # Less than one digit: 10^-1.
    assert np.median(shares) > 0.1
