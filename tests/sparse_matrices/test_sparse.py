"""Sparse systems beside exact solutions, and what is refused."""

from __future__ import annotations

import flint
import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import mdqr
from mdqr.linalg import LinAlgError

PRECISIONS = ("d", "dd", "qd", "od")
FORMATS = ("csr", "csc", "coo", "lil", "dok", "bsr", "dia")


def draw(rng, m, n, *, spread=0, density=0.3, is_complex=False):
    """Return a sparse matrix with a full diagonal and rows within ``2**+-spread``."""
    a = sp.random(m, n, density=density, rng=rng, data_rvs=rng.standard_normal)
    a = a + 2 * sp.eye(m, n)
    if is_complex:
        a = a + 1j * sp.random(m, n, density=density, rng=rng)
    return sp.csr_array(sp.diags(2.0 ** rng.integers(-spread, spread + 1, m)) @ a)


def full(rng, shape, precision, is_complex=False):
    kind = complex if is_complex else float
    return mdqr.random.normal(shape, precision=precision, rng=rng, dtype=kind)


def rational(a):
    """Return a real array as an exact matrix."""
    found = (
        a.to_fractions()
        if isinstance(a, mdqr.MDArray)
        else mdqr.array(a, precision="d").to_fractions()
    )
    entries = [flint.fmpq(int(x.numerator), int(x.denominator)) for x in found.ravel()]
    return flint.fmpq_mat(*found.shape, entries)


def assert_within(x, exact, bound):
    """Compare a column, or columns, with exact values and bounds of the errors."""
    ours = rational(x)
    for i in range(ours.nrows()):
        for j in range(ours.ncols()):
            error = abs(ours[i, j] - exact[i, j])
            limit = float(bound[i, j])
            assert error <= flint.fmpq(*limit.as_integer_ratio())


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("form", FORMATS)
def test_products(form, is_complex, precision):
    rng = np.random.default_rng(3)
    a = draw(rng, 12, 9, is_complex=is_complex)
    x = full(rng, (9, 3), precision, is_complex)
    found = mdqr.sparse.matmul(a.asformat(form), x)
    dense = mdqr.array(a.toarray(), precision=precision)
    bound = 20 * x.precision.eps * (abs(a.toarray()) @ abs(x).to_numpy())
    assert (abs(found - dense @ x).to_numpy() <= 2 * bound).all()
    assert mdqr.sparse.matmul(a, x[:, 0]).shape == (12,)
    other = mdqr.sparse.matmul(a, x.real)
    assert other.is_complex == is_complex


def test_equal_places_are_not_rounded():
    """SciPy adds them up in float64."""
    a = sp.coo_array(([1.0, 2.0**-80, -1.0], ([0, 0, 0], [0, 0, 0])), shape=(1, 1))
    assert float(mdqr.sparse.matmul(a, mdqr.array([1], precision="qd"))[0]) == 2.0**-80


@pytest.mark.parametrize("precision", PRECISIONS)
@settings(max_examples=8)
@given(st.integers(0, 10**6), st.integers(1, 9), st.sampled_from([0, 20]))
def test_solutions_within_their_estimates(precision, seed, n, spread):
    rng = np.random.default_rng(seed)
    a, b = draw(rng, n, n, spread=spread), full(rng, (n, 2), precision)
    x, info = mdqr.sparse.solve(a, b, return_info=True)
    assert info.bound_kind == "estimated"
    exact = rational(a.toarray()).solve(rational(b))
    assert_within(x, exact, info.error_bound)
    # normwise to all digits
    eps = b.precision.eps
    assert (info.error_bound.max(axis=0) <= 16 * eps * abs(x).to_numpy().max(axis=0)).all()


@pytest.mark.parametrize("precision", PRECISIONS)
@settings(max_examples=6)
@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(0, 8), st.sampled_from([0, 12]))
def test_least_squares_within_their_estimates(precision, seed, n, more, spread):
    rng = np.random.default_rng(seed)
    a, b = draw(rng, n + more, n, spread=spread), full(rng, (n + more,), precision)
    x, info = mdqr.sparse.lstsq(a, b, return_info=True)
    dense = rational(a.toarray())
    exact = (dense.transpose() * dense).solve(dense.transpose() * rational(b[:, None]))
    assert_within(x[:, None], exact, info.error_bound[:, None])


@pytest.mark.parametrize("power", [10, 30, 38])
def test_ill_conditioned_systems(power):
    """Of a condition number of ``2**power``."""
    a = sp.csr_array([[1.0, 1.0, 0.0], [1.0, 1.0 + 2.0**-power, 0.0], [0.0, 1.0, 3.0]])
    b = mdqr.array(["0.1", "0.2", "0.3"], precision="qd")
    x, info = mdqr.sparse.solve(a, b, return_info=True)
    exact = rational(a.toarray()).solve(rational(b[:, None]))
    assert_within(x[:, None], exact, info.error_bound[:, None])
    assert info.digits.min() > 60


def test_complex_solutions():
    rng = np.random.default_rng(5)
    a, b = draw(rng, 20, 20, is_complex=True), full(rng, (20,), "qd")
    x = mdqr.sparse.solve(a, b)
    r = mdqr.array(a.toarray(), precision="qd") @ x - b
    assert float(abs(r).max()) < 1e-60
    x = mdqr.sparse.solve(draw(rng, 20, 20), b * (1 + 2j))
    assert x.is_complex


def test_sizes_beyond_float64():
    a = sp.csr_array(np.diag([2.0, 2.0**-200, 2.0**100]))
    b = mdqr.array(["1e-200", "3e200", "7"], precision="qd")
    x, info = mdqr.sparse.solve(a, b[:, None] * [[1, 2]], return_info=True)
    exact = rational(a.toarray()).solve(rational(b[:, None]))
    assert_within(x[:, :1], exact, info.error_bound[:, :1])


def test_what_is_refused():
    b = mdqr.array([1, 2], precision="qd")
    with pytest.raises(LinAlgError, match="solve: "):
        mdqr.sparse.solve(sp.csr_array([[1.0, 1.0], [1.0, 1.0]]), b)
    with pytest.raises(LinAlgError, match="too ill-conditioned for factors of float64"):
        mdqr.sparse.solve(sp.csr_array(scipy.linalg.hilbert(14)), mdqr.ones(14, precision="qd"))
    with pytest.raises(LinAlgError):
        mdqr.sparse.lstsq(sp.csr_array(np.ones((2, 2))), b)
    with pytest.raises(ValueError, match="must be square"):
        mdqr.sparse.solve(sp.eye(2, 3), b)
    with pytest.raises(ValueError, match="more columns than rows"):
        mdqr.sparse.lstsq(sp.eye(2, 3), b)
    with pytest.raises(ValueError, match="vector or matrix of 3 rows"):
        mdqr.sparse.matmul(sp.eye(2, 3), b)
    with pytest.raises(TypeError, match="wanted a sparse matrix of SciPy; got ndarray"):
        mdqr.sparse.matmul(np.eye(2), b)
    with pytest.raises(TypeError, match="are not doubles"):
        mdqr.sparse.matmul(sp.csr_array(np.eye(2, dtype=np.longdouble)), b)
    with pytest.raises(TypeError, match="beyond 2\\*\\*53"):
        mdqr.sparse.matmul(sp.csr_array(np.diag([2**53 + 1, 1])), b)
    with pytest.raises(TypeError, match=r"mdqr\.sparse\.matmul, solve and lstsq"):
        mdqr.linalg.solve(sp.eye(2), b)
