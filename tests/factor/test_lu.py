"""LU factors with partial pivoting: backward errors, SciPy's conventions, bad input."""

from __future__ import annotations

from fractions import Fraction

import linalg_cases as cases
import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st

import mdqr
from mdqr._precision import PRECISIONS
from mdqr.linalg import LinAlgError, lu_factor, lu_solve
from mdqr.testing import assert_same_bits

SHAPES = [(1, 1), (7, 7), (8, 9), (29, 29), (30, 11), (11, 30)]


def parts(factors):
    """L, U and the order of the rows of one matrix."""
    lu, piv = factors
    m, n = lu.shape
    k = min(m, n)
    lower = mdqr.tril(lu[:, :k], -1) + mdqr.eye(m, k, precision=lu.precision)
    order = np.arange(m)
    for i, place in enumerate(piv):
        order[[i, place]] = order[[place, i]]
    return lower, mdqr.triu(lu[:k]), order


def check_factors(a, factors):
    """``abs(P A - L U) <= (k + 16) eps abs(L) abs(U)`` in every entry, exactly; pivots lead."""
    lower, upper, order = parts(factors)
    left, right = cases.Exact.of(lower), cases.Exact.of(upper)
    error = (cases.Exact.of(a[order]) - left @ right).moduli()
    # As for triangles: complex products and quotients err by more, in modulus.
    factor = (min(a.shape) + 16) * (2 if a.is_complex else 1)
    eps = Fraction(factors.lu.precision.eps)
    assert error.within(factor * eps, left.moduli() @ right.moduli())
    # A pivot has the largest sum of moduli of its parts.
    assert abs(lower.to_numpy()).max() <= (2**0.5 if a.is_complex else 1.0) * (1 + 1e-12)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_backward_error(precision, dtype, shape, rng):
    a = cases.random(*shape, precision, dtype, rng)
    factors = lu_factor(a)
    assert factors.lu.precision is precision
    check_factors(a, factors)


@given(st.integers(-30, 30), st.integers(-30, 30), st.integers(2, 12), st.integers(0, 2**32 - 1))
def test_far_scales(rows, columns, n, seed):
    """Columns take any powers of two, rows what their spans leave: exact scaling changes no bit."""
    a = cases.random(n, n, mdqr.qd, float, np.random.default_rng(seed))
    check_factors(cases.scaled(a, rows, columns), lu_factor(cases.scaled(a, rows, columns)))
    plain, moved = lu_factor(a), lu_factor(cases.scaled(a, 0, columns))
    assert (plain.piv == moved.piv).all()
    assert_same_bits(mdqr.tril(plain.lu, -1), mdqr.tril(moved.lu, -1))


def test_pivots_are_those_of_lapack(dtype, rng):
    """In float64 data no choice is near a tie."""
    a = rng.standard_normal((20, 20)) + (
        1j * rng.standard_normal((20, 20)) if dtype is complex else 0
    )
    lu, piv = scipy.linalg.lu_factor(a)
    found = lu_factor(a, precision=mdqr.dd)
    assert (found.piv == piv).all()
    assert abs(found.lu.to_numpy() - lu).max() < 1e-13


@pytest.mark.parametrize("batch", [(), (3,), (2, 0), (2, 2)], ids=str)
@pytest.mark.parametrize("trans", [0, 1, 2])
def test_solutions_of_batches(multiple, dtype, batch, trans, rng):
    n = 9
    a = mdqr.random.normal((*batch, n, n), precision=multiple, dtype=dtype, rng=rng)
    b = mdqr.random.normal((n, 2), precision=multiple, dtype=dtype, rng=rng)
    factors = lu_factor(a)
    assert factors.piv.shape == (*batch, n)
    x = lu_solve(factors, b, trans)
    assert x.shape == (*batch, n, 2)
    for place in np.ndindex(batch):
        op = (a[place], a[place].T, a[place].H)[trans]
        r = cases.Exact.of(b) - cases.Exact.of(op) @ cases.Exact.of(x[place])
        lower, upper, order = parts(mdqr.linalg.LUFactors(factors.lu[place], factors.piv[place]))
        grown = (cases.Exact.of(lower).moduli() @ cases.Exact.of(upper).moduli()).real
        exponent = cases.Exact.of(lower).moduli().exponent + cases.Exact.of(upper).moduli().exponent
        grown = cases.Exact(grown[np.argsort(order)], None, exponent)
        grown = grown if trans == 0 else grown.T
        bound = (3 * n + 48) * (4 if dtype is complex else 1) * Fraction(multiple.eps)
        assert r.moduli().within(bound, grown @ cases.Exact.of(x[place]).moduli())


def test_one_right_hand_side_and_other_precisions(rng):
    a, b = rng.standard_normal((6, 6)), rng.standard_normal(6)
    x = lu_solve(lu_factor(a, precision=mdqr.od), b)
    assert (x.shape, x.precision) == ((6,), mdqr.od)
    assert float(abs(a @ x - b).max()) < 1e-120
    assert lu_solve(lu_factor(a), b, precision=mdqr.dd).precision is mdqr.dd


@given(st.integers(1, 20), st.integers(0, 2**32 - 1))
def test_factors_of_few_bits_are_exact(n, seed):
    """Quotients that are doubles are found as such: x / 3 is no product with 1 / 3."""
    rng = np.random.default_rng(seed)
    lower = np.tril(rng.integers(-7, 8, (n, n)) / 8, -1)
    upper = np.triu(rng.integers(-99, 100, (n, n)), 1) + np.diag(rng.integers(1, 100, n))
    given = (lower + np.eye(n)) @ upper
    for p in PRECISIONS:
        lu, piv = lu_factor(given, precision=p)
        assert (lu == lower + upper).all()
        assert (piv == np.arange(n)).all()
        z = lu_factor(given * (3 + 4j), precision=p).lu
        assert (z == lower + upper * (3 + 4j)).all()


def test_zero_pivots(precision):
    a = mdqr.array([[0.0, 2.0, 1.0], [0.0, 0.0, 3.0], [0.0, 4.0, 5.0]], precision=precision)
    factors = lu_factor(a)
    check_factors(a, factors)
    with pytest.raises(LinAlgError, match="U has a zero in row and column 0"):
        lu_solve(factors, np.ones(3))


def test_no_rows_and_no_columns(precision, dtype):
    for shape in ((0, 0), (0, 3), (3, 0)):
        lu, piv = lu_factor(mdqr.zeros(shape, precision=precision, dtype=dtype))
        assert (lu.shape, piv.shape) == (shape, (0,))
    empty = lu_factor(mdqr.zeros((0, 0), precision=precision, dtype=dtype))
    assert lu_solve(empty, mdqr.zeros((0, 2), precision=precision)).shape == (0, 2)


def test_largest_entries(multiple):
    a = mdqr.array([[1.0, 1.7e308], [-1.0, 1.7e308]], precision=multiple)
    with pytest.raises(LinAlgError, match="row 1, column 1 of U is beyond the largest double"):
        lu_factor(a)
    check_factors(a / 2, lu_factor(a / 2))


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: lu_factor([1.0, 2.0]), ValueError, "lu_factor: a must have at least two dim"),
        (lambda: lu_factor([[1.0, np.nan]]), LinAlgError, "row 0, column 1 of a is NaN"),
        (lambda: lu_factor([[1.0]], progress=3), TypeError, "progress must be .*callable"),
        (lambda: lu_solve((np.eye(2), [0, 2]), [1, 1]), ValueError, "rows from 0 to 1"),
        (lambda: lu_solve((np.eye(2), [0, -1]), [1, 1]), ValueError, "rows from 0 to 1"),
        (lambda: lu_solve((np.eye(2), [0.0, 1.0]), [1, 1]), ValueError, "piv must hold integers"),
        (lambda: lu_solve((np.eye(2), [0]), [1, 1]), ValueError, r"shape \(2,\)"),
        (lambda: lu_solve((np.eye(2), [0, 1]), [1, 1, 1]), ValueError, "b must have 2 rows"),
        (lambda: lu_solve((np.eye(2), [0, 1]), [1, 1], 3), ValueError, "lu_solve: trans must be"),
        (lambda: lu_solve((np.ones((2, 3)), [0, 1]), [1, 1]), ValueError, "lu must be square"),
        (lambda: lu_solve((np.eye(2), [0, 1]), [1, np.inf]), LinAlgError, "of b is NaN or inf"),
    ],
)
def test_bad_input(call, kind, message):
    with pytest.raises(kind, match=message):
        call()


def test_progress():
    seen = []
    lu_factor(np.eye(20), precision=mdqr.dd, progress=lambda *told: seen.append(told))
    assert seen[-1] == ("factor", 20, 20)
    assert [done for _, done, _ in seen] == sorted(done for _, done, _ in seen)


@given(
    st.sampled_from(PRECISIONS),
    st.integers(1, 5),
    st.integers(-400, 400),
    st.integers(-1000, 400),
    st.sampled_from(["lu", "cholesky"]),
    st.integers(0, 2**32 - 1),
)
def test_solutions_in_extreme_units(precision, n, power, right, method, seed):
    """Only limbs of the solution itself are below the smallest doubles."""
    rng = np.random.default_rng(seed)
    a = mdqr.random.normal((n, n), precision=precision, rng=rng)
    if method == "cholesky":
        a = a @ a.T + n * mdqr.eye(n, precision=precision)
    # Factors have all limbs.
    a = a * 2.0 ** max(power, int(np.log2(precision.tiny)) + 60)
    b = mdqr.random.normal((n,), precision=precision, rng=rng) * 2.0**right
    try:
        if method == "lu":
            factors = lu_factor(a)
            x = lu_solve(factors, b)
            lower, upper, order = parts(factors)
        else:
            lower = mdqr.linalg.cholesky(a)
            x, upper, order = mdqr.linalg.cho_solve((lower, True), b), lower.T, np.arange(n)
    except LinAlgError as error:
        if "beyond the largest double" not in str(error):
            raise
        return
    size, exact = cases.fractions(x), (cases.fractions(y) for y in (lower, upper, a, b))
    left, right, given_a, given_b = exact
    grown = (abs(left) @ abs(right))[np.argsort(order)]
    error = abs(given_b - given_a @ size)
    bound = Fraction((3.5 * n + 192) * precision.eps) * (grown @ abs(size))
    lost = Fraction(precision.limbs, 2**1074) * abs(given_a).sum(axis=-1)
    assert (error <= bound + lost).all()
