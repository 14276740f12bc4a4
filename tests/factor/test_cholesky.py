"""Cholesky factors: backward errors, which triangle is read, matrices that are not definite."""

from __future__ import annotations

from fractions import Fraction

import linalg_cases as cases
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mdqr
from mdqr._precision import PRECISIONS
from mdqr.linalg import LinAlgError, cho_solve, cholesky
from mdqr.testing import assert_same_bits


def definite(n, precision, dtype, rng, cond=10):
    """A Hermitian positive definite matrix with full limbs."""
    g = cases.random(n, n, precision, dtype, rng, cond)
    a = g.H @ g if dtype is complex else g.T @ g
    # The triangles are rounded apart.
    upper = mdqr.triu(a, 1)
    return upper + (upper.H if dtype is complex else upper.T) + mdqr.diag(mdqr.diag(a).real)


def check_factor(a, c, upper):
    """``abs(A - C^H C) <= (n + 16) eps abs(C^H) abs(C)`` in every entry, exactly."""
    right = cases.Exact.of(c)
    left = right.H if upper else right
    right = right if upper else right.H
    error = (cases.Exact.of(a) - left @ right).moduli()
    factor = (a.shape[0] + 16) * (2 if c.is_complex else 1)
    assert error.within(factor * Fraction(c.precision.eps), left.moduli() @ right.moduli())
    values = c.to_numpy()
    assert (values == (np.triu(values) if upper else np.tril(values))).all()
    assert (np.diagonal(values).real > 0).all()
    assert (np.diagonal(values).imag == 0).all()


@pytest.mark.parametrize("n", [1, 5, 16, 37])
@pytest.mark.parametrize("upper", [False, True])
def test_backward_error(precision, dtype, n, upper, rng):
    a = definite(n, precision, dtype, rng)
    check_factor(a, cholesky(a, upper=upper), upper)


@pytest.mark.parametrize("n", [150])
def test_strips_of_symmetric_products(n, rng):
    a = definite(n, mdqr.dd, float, rng)
    check_factor(a, cholesky(a), False)


@given(st.integers(-48, 48), st.integers(1, 9), st.integers(0, 2**32 - 1))
def test_far_scales(power, n, seed):
    """Scaling by powers of two changes no bit, unless entries lose limbs to underflow."""
    a = definite(n, mdqr.qd, float, np.random.default_rng(seed))
    moved = cases.scaled(a, power, power)
    check_factor(moved, cholesky(moved), False)
    assert_same_bits(cholesky(moved), cases.scaled(cholesky(a), power, 0))


@pytest.mark.parametrize("upper", [False, True])
def test_one_triangle_is_read(precision, dtype, upper, rng):
    a = definite(6, precision, dtype, rng)
    other = np.tril(np.ones((6, 6)), -1) if upper else np.triu(np.ones((6, 6)), 1)
    rubbish = a.copy()
    rubbish[other.astype(bool)] = np.nan
    assert_same_bits(cholesky(rubbish, upper=upper), cholesky(a, upper=upper))
    if dtype is complex:
        rubbish = a + 1j * mdqr.eye(6, precision=precision)
        assert_same_bits(cholesky(rubbish, upper=upper), cholesky(a, upper=upper))


@given(st.integers(1, 20), st.integers(0, 2**32 - 1))
def test_factors_of_few_bits_are_exact(n, seed):
    """Roots and quotients that are doubles are found as such."""
    rng = np.random.default_rng(seed)
    c = np.triu(rng.integers(-99, 100, (n, n)), 1) + np.diag(rng.integers(1, 100, n))
    z = c + 1j * np.triu(rng.integers(-99, 100, (n, n)), 1)
    for p in PRECISIONS:
        assert (cholesky(c.T @ c, upper=True, precision=p) == c).all()
        assert (cholesky(z.conj().T @ z, precision=p) == z.conj().T).all()


def test_values_are_those_of_numpy(dtype, rng):
    a = definite(9, mdqr.qd, dtype, rng)
    assert abs(cholesky(a).to_numpy() - np.linalg.cholesky(a.to_numpy())).max() < 1e-12
    assert_same_bits(np.linalg.cholesky(a), cholesky(a))


@pytest.mark.parametrize("order", [1, 3, 17, 20])
def test_minors_that_are_not_positive_are_named(multiple, dtype, order, rng):
    a = definite(20, multiple, dtype, rng)
    a[order - 1, order - 1] = -1.0
    with pytest.raises(LinAlgError, match=f"leading minor of order {order} is not positive"):
        cholesky(a)
    batch = mdqr.stack([mdqr.eye(20, precision=multiple), a])
    with pytest.raises(LinAlgError, match=r"matrix \(matrix 1 of the batch\) is not positive def"):
        cholesky(batch)


@given(st.integers(2, 6), st.integers(1, 200), st.integers(0, 2**32 - 1))
def test_matrices_near_the_border(n, below, seed):
    """A matrix is refused only if one of its leading minors is not positive beyond rounding."""
    rng = np.random.default_rng(seed)
    a = definite(n, mdqr.qd, float, rng)
    exact = cases.fractions(a)
    # The last entry that makes the determinant zero, and some of it more.
    head, side = a[: n - 1, : n - 1], a[: n - 1, n - 1]
    least = sum(
        s * x for s, x in zip(exact[: n - 1, n - 1], cases.square_solution(head, side), strict=True)
    )
    for sign in (1, -1):
        a[n - 1, n - 1] = least * (1 + sign * Fraction(1, 2**below))
        if below > mdqr.qd.bits - 20:
            continue
        if sign > 0:
            check_factor(a, cholesky(a), False)
        else:
            with pytest.raises(LinAlgError, match=f"minor of order {n} "):
                cholesky(a)


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("batch", [(), (2,), (2, 0)], ids=str)
def test_solutions(precision, dtype, lower, batch, rng):
    n = 8
    a = mdqr.stack([definite(n, precision, dtype, rng) for _ in range(max(int(np.prod(batch)), 1))])
    a = a[: int(np.prod(batch))].reshape(*batch, n, n)
    b = mdqr.random.normal((n, 2), precision=precision, dtype=dtype, rng=rng)
    c = cholesky(a, upper=not lower)
    x = cho_solve((c, lower), b)
    assert x.shape == (*batch, n, 2)
    for place in np.ndindex(batch):
        r = cases.Exact.of(b) - cases.Exact.of(a[place]) @ cases.Exact.of(x[place])
        right = cases.Exact.of(c[place]).moduli()
        grown = right @ right.T if lower else right.T @ right
        bound = (3 * n + 48) * (4 if dtype is complex else 1) * Fraction(precision.eps)
        assert r.moduli().within(bound, grown @ cases.Exact.of(x[place]).moduli())


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: cholesky(np.ones((2, 3))), ValueError, "cholesky: a must be square"),
        (lambda: cholesky([[1, 0], [np.nan, 1.0]]), LinAlgError, "row 1, column 0 of a is NaN"),
        (lambda: cholesky(np.zeros((2, 2))), LinAlgError, "minor of order 1 is not positive"),
        (lambda: cho_solve((np.eye(2), True), np.ones(3)), ValueError, "b must have 2 rows"),
        (lambda: cho_solve((np.eye(2), True), [np.inf, 1]), LinAlgError, "of b is NaN or inf"),
        (lambda: cho_solve((np.zeros((2, 2)), True), [1, 1]), LinAlgError, "column 0 is exactly"),
    ],
)
def test_bad_input(call, kind, message):
    with pytest.raises(kind, match=message):
        call()


def test_nothing(precision, dtype):
    empty = mdqr.zeros((2, 0, 0), precision=precision, dtype=dtype)
    assert cholesky(empty).shape == (2, 0, 0)
    assert cho_solve((empty, True), mdqr.zeros((0, 3), precision=precision)).shape == (2, 0, 3)
