"""Tall problems by exact normal equations, against exact rational solutions."""

from __future__ import annotations

import warnings
from fractions import Fraction

import flint
import linalg_cases as cases
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_lstsq import check_bounds

import mdqr
from mdqr._backend import for_block
from mdqr._precision import PRECISIONS
from mdqr.linalg import lstsq
from mdqr.linalg._solve.solvers import normal
from mdqr.linalg._solve.solvers.normal import gram


def fractions(block):
    """The exact values of a block."""
    return sum(np.frompyfunc(Fraction, 1, 1)(limb) for limb in block)


@given(st.data())
def test_gram_matrices_are_exact(data):
    """Entries of all sizes, in more rows than one product takes; those of few rows far smaller."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    m, n = data.draw(st.sampled_from([1, 255, 256, 257, 600])), data.draw(st.integers(1, 4))
    a = rng.uniform(-1, 1, (m, n)) * 2.0 ** -data.draw(st.sampled_from([0, 8]))
    a[rng.random((m, n)) < 0.1] = 0.0
    few = rng.random(m) < 0.02
    a[few] *= 2.0 ** -rng.integers(0, 60, (few.sum(), n))
    a[0, 0] = data.draw(st.sampled_from([1 - 2.0**-53, 2.0**-53, -1 + 2.0**-53]))
    exact = fractions(a[None])
    found = gram(for_block(a[None]), a)
    assert (fractions(found) == exact.T @ exact).all()


def test_many_rows_of_far_sizes_are_left():
    a = np.random.default_rng(1).uniform(-1, 1, (600, 2))
    far = a * 2.0 ** np.array([[0], [-60]] * 300)
    assert gram(for_block(a[None]), far) is None
    a[0, 0] = 2.0**-300
    assert gram(for_block(a[None]), a) is None


def solved_exactly(a, b):
    """The exact solution of float64 data, sums of squares, and the diagonal of the inverse."""
    x, y = (fractions(one[None]) for one in (a, b))
    g, c = x.T @ x, x.T @ y
    parts = [
        flint.fmpq_mat(*z.shape, [flint.fmpq(v.numerator, v.denominator) for v in z.ravel()])
        for z in (g, c)
    ]
    inverse = cases.values_of(parts[0].inv())
    solution = inverse @ c
    squares = (y**2).sum(axis=0) - (c * solution).sum(axis=0)
    return solution, squares, inverse.diagonal()


def tall(data):
    """A problem of float64 data that takes this way."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    m, n = data.draw(st.integers(256, 260)), data.draw(st.integers(1, 4))
    a = rng.standard_normal((m, n)) * 2.0 ** rng.integers(-20, 20, n)
    spread = data.draw(st.sampled_from([0, 0, 3, 6]))
    a[:, 0] = a[:, -1] + 10.0**-spread * a[:, 0]
    k = data.draw(st.sampled_from([1, n]))
    b = rng.standard_normal((m, k)) * 2.0 ** data.draw(st.sampled_from([0, -60, 90]))
    if data.draw(st.booleans()):
        b[:, 0] = a @ rng.integers(-3, 4, n)
    return a, b


@given(st.data())
def test_bounds_and_sums_of_squares(data):
    precision = data.draw(st.sampled_from(PRECISIONS))
    a, b = tall(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mdqr.PrecisionWarning)
        fit = lstsq(a, b, precision=precision, progress=lambda *_: None)
    exact, squares, _ = solved_exactly(a, b)
    check_bounds(fit, exact)
    if fit.info.method != "refine":  # of the others the sums have the errors of x
        return
    eps = Fraction(precision.eps)
    found = cases.fractions(fit.residuals)
    sizes = [sum(Fraction(x) ** 2 for x in column) for column in b.T]
    for one, square, size in zip(found, squares, sizes, strict=True):
        # 8 eps of the norm, and eps^2 of b times the condition.
        rest = 64 * eps**4 * size * Fraction(float(fit.info.condition) ** 2)
        assert abs(one - square) <= 32 * eps * square + rest


def test_it_is_taken_and_its_bounds_are_close(precision, monkeypatch):
    """Errors are more than a thousandth of their bounds, so that no smaller bound passes."""
    a, b = (np.random.default_rng(2).standard_normal(s) for s in ((400, 6), 400))
    served = []
    way = normal.Normal.__init__
    monkeypatch.setattr(
        normal.Normal, "__init__", lambda self, *rest: (served.append(1), way(self, *rest))[0]
    )
    fit = lstsq(a, b, precision=precision)
    assert served
    exact, squares, inverse = solved_exactly(a, b[:, None])
    check_bounds(fit, exact)
    errors = abs(cases.fractions(fit.x) - exact[:, 0]).astype(float)
    assert np.median(errors / fit.info.error_bound) > 2.0**-10
    assert (fit.info.method, fit.info.bound_kind, fit.rank) == ("refine", "proven", 6)
    assert fit.info.condition == pytest.approx(np.linalg.cond(a), rel=0.5)
    # Statistics need the residuals, which are made then.
    std = float(fit.info.residual_std)
    assert std == pytest.approx(float(squares[0] / 394) ** 0.5, rel=1e-14)
    assert fit.info.standard_errors().to_numpy() == pytest.approx(
        [std * float(x) ** 0.5 for x in inverse], rel=1e-13
    )


def test_ill_conditioned_and_graded_problems_take_other_ways(precision):
    a = np.vander(np.linspace(0, 1, 300), 14)
    b = np.cos(np.arange(300.0))
    for matrix in (a, a[:, :4] * 2.0 ** -np.arange(300)[:, None]):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", mdqr.PrecisionWarning)
            fit = lstsq(matrix, b, precision=precision)
        check_bounds(fit, solved_exactly(matrix, b[:, None])[0])


@pytest.mark.parametrize("precision", [p.name for p in PRECISIONS])
def test_residuals_of_consistent_data_are_as_small_as_promised(precision):
    """Right to a few eps**2 times the condition of b where nothing of b is left.

    Or to what is left of products that underflow, where eps**2 is no double.
    """
    rng = np.random.default_rng(1)
    a = rng.integers(-1000, 1000, (300, 4)).astype(float)
    a[0] = 0
    b = a @ np.array([1.0, 3, 7, 11])
    info = mdqr.linalg.lstsq(a, b, precision=precision).info
    promised = max(info.residual_std.precision.eps**2, 2.0**-1060)
    assert float(info.residual_std) <= promised * info.condition * np.linalg.norm(b)
