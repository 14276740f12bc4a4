"""Digits that hold for all entries within half a unit of their last place."""

from __future__ import annotations

import warnings
from fractions import Fraction

import linalg_cases as cases
import numpy as np
import pytest

import mdqr
from mdqr._precision import PRECISIONS
from mdqr.linalg import lstsq


def perturbed(x, rng):
    """Every entry moved by at most half a unit of its last place, in the next precision."""
    factor = (
        mdqr.array(1.0, precision=x.precision.next)
        + rng.uniform(-1, 1, x.shape) * 2.0**-x.precision.bits
    )
    return x * factor


def worst(fit, a, b, options, rng):
    """The fewest digits of each component that 100 random data leave."""
    digits = np.full(fit.x.shape, np.inf)
    for _ in range(100):
        found = lstsq(perturbed(a, rng), perturbed(b, rng), **options).x
        change = abs((found - fit.x) / found).to_numpy()
        digits = np.minimum(digits, -np.log10(np.maximum(change, 1e-300)))
    return digits


@pytest.mark.parametrize("precision", PRECISIONS[:-1])
@pytest.mark.parametrize("cond", [1e1, 1e5])
@pytest.mark.parametrize("weighted", [False, True])
def test_random_data(precision, cond, weighted, rng):
    """Never more than the worst of 100 random data, and hardly fewer; also with large residuals."""
    a = cases.random(12, 4, precision, float, rng, cond=cond)
    b = cases.random(12, 1, precision, float, rng)[:, 0]
    options = {"weights": rng.uniform(0.1, 10.0, 12)} if weighted else {}
    fit = lstsq(a, b, precision=precision.next, max_condition=np.inf, **options)
    found, seen = fit.info.data_digits, worst(fit, a, b, options | {"max_condition": np.inf}, rng)
    assert found.shape == fit.x.shape
    # To first order the bound is that of the worst signs, of some 60 terms.
    assert (found <= seen + 0.01).all()
    assert (found >= seen - 1.5).all()


@pytest.mark.parametrize("method", ["refine", "householder"])
def test_what_float64_entries_leave(method, dtype, rng):
    """A tenth is no float; more precision shows the digits of what is stored, not of the tenths."""
    a = rng.standard_normal((30, 3)).astype(dtype)
    b = rng.standard_normal((30, 2)).astype(dtype)
    info = lstsq(a, b, precision=mdqr.qd, method=method).info
    assert info.digits.min() == mdqr.qd.digits
    assert info.data_digits.shape == (3, 2)
    assert 13.0 < info.data_digits.min() <= info.data_digits.max() < 17.5


def test_entries_that_do_not_determine_x(rng):
    a = rng.standard_normal((6, 3))
    a[:, 2] = a[:, 1] * (1 + 2.0**-52)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        info = lstsq(a, np.ones(6), precision=mdqr.qd).info
    assert not info.data_digits.any()


def test_exact_numbers_are_known_to_the_work():
    a, b = [[1, 2], [3, 4], [5, 8]], [Fraction(1, 3), 1, 2]
    info = lstsq(a, b, precision=mdqr.dd).info
    assert info.data_digits.min() > 29
    zero = lstsq(a, [0, 0, 0], precision=mdqr.dd).info
    assert (zero.data_digits == mdqr.dd.digits).all()


def test_batches(multiple, rng):
    a = rng.standard_normal((2, 3, 8, 3))
    info = lstsq(a, rng.standard_normal((2, 3, 8, 2)), precision=multiple).info
    assert info.data_digits.shape == (2, 3, 3, 2)
    assert (info.data_digits > 10).all()
