"""Triangular solutions and LU whose products go through residues: bounds, order, progress."""

from __future__ import annotations

from fractions import Fraction

import linalg_cases as cases
import numpy as np
import pytest
from exact_matrices import factor_errors
from exact_product_cases import MULTIPLES, full

import mdqr
from mdqr import linalg
from mdqr._limbs.planes import Kind
from mdqr.linalg._products.exact import product
from mdqr.linalg._shared import tuning

ORDER, COLUMNS = 80, 24


@pytest.fixture(autouse=True)
def early_crossover(monkeypatch):
    """Small matrices are taken for large ones."""
    early = tuning.Crossover(0, 20)
    table = {Kind(p.limbs, field): early for p in MULTIPLES for field in (False, True)}
    monkeypatch.setattr(tuning, "RESIDUES_WITHIN", {"cpu": table})


@pytest.fixture
def used(monkeypatch):
    """The shapes of products that went through residues."""
    shapes, multiply = [], product.multiply

    def counted(backend, a, b, **options):
        shapes.append((*a.shape[-2:], b.shape[-1]))
        return multiply(backend, a, b, **options)

    monkeypatch.setattr(product, "multiply", counted)
    return shapes


@pytest.mark.parametrize("precision", MULTIPLES, ids=str)
@pytest.mark.parametrize("trans", ["N", "T", "C"])
@pytest.mark.parametrize("lower", [False, True])
def test_triangles(precision, dtype, lower, trans, used, rng):
    a = full((ORDER, ORDER), precision, dtype, rng)
    a = (mdqr.tril if lower else mdqr.triu)(a) + 8 * mdqr.eye(ORDER, precision=precision)
    b = full((ORDER, COLUMNS), precision, dtype, rng)
    seen = []
    x = linalg.solve_triangular(
        a, b, trans, lower=lower, progress=lambda _, done, total: seen.append((done, total))
    )
    assert used
    assert [total for _, total in seen] == [ORDER] * len(seen)
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})
    assert seen[-1][0] == ORDER
    matrix = {"N": cases.Exact.of(a), "T": cases.Exact.of(a).T, "C": cases.Exact.of(a).H}[trans]
    found = cases.Exact.of(x)
    error = (cases.Exact.of(b) - matrix @ found).moduli()
    # Substitution: (n + 8) eps |a| |x|, twice that for each part of complex sums.
    factor = Fraction(precision.eps) * (ORDER + 8) * (4 if dtype is complex else 1)
    assert error.within(factor, matrix.moduli() @ found.moduli())


@pytest.mark.parametrize("precision", MULTIPLES, ids=str)
def test_batches_of_triangles(precision, used, rng):
    a = mdqr.triu(full((2, ORDER, ORDER), precision, float, rng)) + 8 * mdqr.eye(
        ORDER, precision=precision
    )
    b = full((2, ORDER, COLUMNS), precision, float, rng)
    x = linalg.solve_triangular(a, b)
    assert used
    for i in range(2):
        alone = linalg.solve_triangular(a[i], b[i])
        np.testing.assert_array_equal(x[i].limbs, alone.limbs)


@pytest.mark.parametrize("precision", MULTIPLES, ids=str)
def test_lu(precision, dtype, used, rng):
    a = full((ORDER, ORDER), precision, dtype, rng)
    found = linalg.lu_factor(a)
    assert used
    x = linalg.lu_solve(found, mdqr.eye(ORDER, precision=precision))
    left = linalg.norm(a @ x - mdqr.eye(ORDER, precision=precision))
    size = linalg.norm(a) * linalg.norm(x)
    # A backward error of n eps, times the growth of random matrices, about n^(2/3).
    assert float(left) < 50 * ORDER * precision.eps * float(size)


@pytest.mark.parametrize("grade", [0, 20, 400])
@pytest.mark.parametrize("precision", MULTIPLES, ids=str)
def test_qr_in_wide_tiles(precision, dtype, grade, used, rng, monkeypatch):
    """As a GPU has them; columns of all sizes, and each with a bound of its own."""
    for name, value in (("WIDE_TILES", {"cpu": 20}), ("LEAST_LENGTH", 10)):
        monkeypatch.setattr(tuning, name, value)
    a = full((60, 50), precision, dtype, rng) * np.ldexp(1.0, np.arange(50) % 3 * grade)
    seen = []
    q, r = linalg.qr(a, progress=lambda _, done, total: seen.append((done, total)))
    assert used
    assert seen[:2] == [(20, 50), (40, 50)]
    limit = 20 * 50
    _, columns, _, orthogonality = factor_errors(a, q, r)
    assert columns <= limit
    assert orthogonality <= limit
    x = q @ full((50, 30), precision, dtype, rng)
    f = linalg.qr_factor(a)
    back = f.apply_q(f.apply_qh(x)) - x
    assert float(abs(back).max()) <= limit * 60 * precision.eps


@pytest.mark.parametrize("precision", MULTIPLES, ids=str)
def test_graded_rows_and_a_huge_column_in_wide_tiles(precision, dtype, used, rng, monkeypatch):
    """Rows of all sizes go by limbs; one column of such rows spoils no other."""
    for name, value in (("WIDE_TILES", {"cpu": 20}), ("LEAST_LENGTH", 10)):
        monkeypatch.setattr(tuning, name, value)
    graded = full((60, 50), precision, dtype, rng)
    column = graded.copy()
    scales = mdqr.array(2.0 ** (-14.0 * np.arange(60)), precision=precision)
    graded = graded * scales[:, None]
    column[:, 3] = column[:, 3] * scales * 2.0**300
    for a in (graded, column):
        _, columns, _, orthogonality = factor_errors(a, *linalg.qr(a))
        assert columns <= 20 * 50
        assert orthogonality <= 20 * 50
    assert used


@pytest.mark.parametrize("precision", MULTIPLES, ids=str)
def test_batches_of_right_hand_sides_of_one_factorisation(precision, dtype, used, rng, monkeypatch):
    """And one right-hand side of a batch: wide tiles, whose vectors or columns broadcast."""
    for name, value in (("WIDE_TILES", {"cpu": 20}), ("LEAST_LENGTH", 10)):
        monkeypatch.setattr(tuning, name, value)
    a, x = full((2, 60, 50), precision, dtype, rng), full((2, 60, 30), precision, dtype, rng)
    one, both = linalg.qr_factor(a[0]), linalg.qr_factor(a)
    used.clear()
    rows, columns = one.apply_qh(x), both.apply_qh(x[0])
    assert used
    for i in range(2):
        np.testing.assert_array_equal(rows[i].limbs, one.apply_qh(x[i]).limbs)
        np.testing.assert_array_equal(columns[i].limbs, linalg.qr_factor(a[i]).apply_qh(x[0]).limbs)


@pytest.mark.parametrize("precision", MULTIPLES, ids=str)
def test_rounds_of_preconditioning(precision, dtype, used, rng):
    """Q and R by products of a matrix that float64 takes for singular, through residues alone."""
    cond = 10.0 ** min(0.65 * precision.digits, 55.0)
    a = cases.random(60, 48, precision, dtype, rng, cond=cond)
    q, r = linalg.qr(a, method="refine")
    assert used
    _, columns, _, orthogonality = factor_errors(a, q, r)
    assert columns <= 20 * 48
    assert orthogonality <= 20 * 48
