"""Eigenvalues of Hermitian matrices: residuals, closed forms, clusters, pairs of both signs."""

from __future__ import annotations

import linalg_cases as cases
import mpmath
import numpy as np
import pytest
import scipy.linalg
from each_case import each_case
from hypothesis import given
from hypothesis import strategies as st

import mdqr
from mdqr._precision import PRECISIONS
from mdqr.linalg import LinAlgError, eigh, eigvalsh


def hermitian(shape, precision, dtype, rng):
    g = mdqr.random.normal(shape, precision=precision, dtype=dtype, rng=rng)
    return (g + g.mT.conj()) / 2


def check(a, w, v):
    """``norm(a V - V w) <= 100 n eps norm(a)``, orthonormal columns, ascending values."""
    n, eps = a.shape[-1], w.precision.eps
    for place in np.ndindex(a.shape[:-2]):
        one, values, vectors = cases.Exact.of(a[place]), w[place], cases.Exact.of(v[place])
        diagonal = mdqr.diag(values)
        rest = one @ vectors - vectors @ cases.Exact.of(diagonal)
        assert rest.norm() <= 100 * n * eps * max(one.norm(), 1e-300)
        off = vectors.H @ vectors - cases.Exact.of(mdqr.eye(n, precision=w.precision))
        assert off.norm() <= 40 * n * eps * n**0.5
        found = values.to_fractions()
        assert (found[:-1] <= found[1:]).all()


@each_case("shape", [(1, 1), (2, 2), (7, 7), (2, 3, 4, 4), (0, 0), (2, 0, 0)])
@each_case("uplo", ["L", "U"])
def test_one_triangle_is_read(precision, dtype, shape, uplo, rng):
    a = hermitian(shape, precision, dtype, rng)
    given_ = (mdqr.tril(a) if uplo == "L" else mdqr.triu(a)) if a.size else a
    w, v = eigh(given_, uplo)
    wanted = np.linalg.eigh(a.to_numpy(), uplo)
    assert (w.shape, v.shape) == (wanted[0].shape, wanted[1].shape)
    assert abs(w.to_numpy() - wanted[0]).max(initial=0) < 1e-12
    check(a, w, v)
    assert (eigvalsh(given_, uplo).limbs == w.limbs).all()
    if dtype is complex and a.size:
        given_ = given_ + 1j * mdqr.eye(shape[-1], precision=precision)
        assert (eigvalsh(given_, uplo).limbs == w.limbs).all()


@given(
    st.sampled_from(PRECISIONS[1:]),
    st.sampled_from([float, complex]),
    st.integers(2, 8),
    st.lists(st.integers(-3, 3), min_size=8, max_size=8),
    st.integers(0, 200),
    st.integers(0, 2**32 - 1),
)
def test_clusters_and_pairs_of_both_signs(multiple, dtype, n, integers, spread, seed):
    """Multiple values, values of both signs and 2**-spread apart; zeros among them."""
    rng = np.random.default_rng(seed)
    values = mdqr.array(integers[:n], precision=multiple)
    values = values + mdqr.array(2.0**-spread * rng.integers(-2, 3, n), precision=multiple)
    q, _ = mdqr.linalg.qr(cases.random(n, n, multiple, dtype, rng))
    a = (q * values) @ q.mT.conj()
    a = (a + a.mT.conj()) / 2
    w, v = eigh(a)
    check(a, w, v)
    size = max(float(abs(values).max()), 1e-3)
    error = abs(np.sort(w.to_fractions()) - np.sort(values.to_fractions())).max()
    assert error <= 100 * n * multiple.eps * size


@pytest.mark.parametrize("n", [5, 24])
def test_second_differences(multiple, n):
    """``2 - 2 cos(k pi / (n + 1))``."""
    a = 2 * mdqr.eye(n, precision=multiple)
    a[np.arange(n - 1) + 1, np.arange(n - 1)] = -1
    w, v = eigh(a)
    check(mdqr.tril(a) + mdqr.tril(a, -1).T, w, v)
    with mpmath.workdps(280):
        wanted = [2 - 2 * mpmath.cospi(mpmath.mpf(k) / (n + 1)) for k in range(1, n + 1)]
        errors = [abs(x - y) for x, y in zip(w.to_mpmath(), wanted, strict=True)]
    assert max(errors) <= 40 * n * multiple.eps * 4


def test_hilbert_matrix(multiple):
    """Its smallest value is right beside the largest one, by mpmath."""
    i = mdqr.arange(1, 9, precision=multiple)
    h = 1 / (i[:, None] + i - 1)
    w, v = eigh(h)
    check(h, w, v)
    with mpmath.workdps(400):
        wanted = mpmath.eigsy(mpmath.matrix(h.to_mpmath().tolist()), eigvals_only=True)
        errors = [abs(x - y) for x, y in zip(w.to_mpmath(), sorted(wanted), strict=True)]
    assert max(errors) <= 320 * multiple.eps * 1.7


def test_scales_and_zeros(multiple, dtype, rng):
    a = hermitian((5, 5), multiple, dtype, rng)
    w = eigvalsh(a)
    for power in (cases.in_range(-300, multiple), 900):
        moved = eigvalsh(a * 2.0**power)
        assert float(abs(moved / 2.0**power - w).max()) < 1000 * multiple.eps
    zero = mdqr.zeros((3, 3), precision=multiple, dtype=dtype)
    check(zero, *eigh(zero))
    assert eigvalsh(zero).to_numpy().tolist() == [0.0] * 3
    with pytest.raises(LinAlgError, match="of the eigenvalues is beyond the largest double"):
        eigvalsh(mdqr.full((3, 3), 1e308, precision=multiple))


def test_numpy_functions_answer(rng):
    a = hermitian((4, 4), mdqr.qd, float, rng)
    w, v = np.linalg.eigh(a)
    assert (isinstance(w, mdqr.MDArray), isinstance(v, mdqr.MDArray)) == (True, True)
    assert (np.linalg.eigvalsh(a).limbs == w.limbs).all()


@pytest.mark.parametrize("function", [eigh, eigvalsh])
def test_bad_input(function):
    with pytest.raises(ValueError, match=f"{function.__name__}: a must be square"):
        function(np.ones((2, 3)))
    with pytest.raises(ValueError, match='UPLO must be "L" or "U"'):
        function(np.eye(2), "x")
    with pytest.raises(LinAlgError, match="row 1, column 0 of a is NaN or infinite"):
        function(mdqr.array([[1.0, 0.0], [np.inf, 1.0]], precision=mdqr.qd))


def test_b_is_read_in_either_triangle(multiple, rng):
    a, g = (cases.random(3, 3, multiple, float, rng) for _ in range(2))
    a, b = a + a.T, g @ g.T + mdqr.eye(3, precision=multiple)
    assert abs(eigh(a, "u", b=b).eigenvalues - eigh(a, b=b).eigenvalues).max() <= 1e-25


@pytest.mark.parametrize("uplo", ["L", "U"])
def test_two_matrices(multiple, dtype, uplo, rng):
    """``a V = b V w`` and ``V^H b V = 1`` to multiples of the condition of b; batches broadcast."""
    n = 6
    a = hermitian((2, n, n), multiple, dtype, rng)
    g = cases.random(n, n, multiple, dtype, rng)
    b = g @ g.mT.conj() + mdqr.eye(n, precision=multiple)
    one = mdqr.tril if uplo == "L" else mdqr.triu
    w, v = eigh(one(a), uplo, b=one(b))
    plain = b.to_numpy()
    wanted = [scipy.linalg.eigh(each, plain, eigvals_only=True) for each in a.to_numpy()]
    np.testing.assert_allclose(w.to_numpy(), wanted, rtol=1e-10, atol=1e-10)
    limit = 100 * n**2 * multiple.eps * np.linalg.cond(plain)
    unit = v.mT.conj() @ b @ v - mdqr.eye(n, precision=multiple)
    assert float(abs(unit).max()) <= limit
    rest = a @ v - b @ v * w[:, None, :]
    assert float(abs(rest).max()) <= limit * abs(a.to_numpy()).max() * abs(v.to_numpy()).max()
    assert (eigvalsh(one(a), uplo, b=one(b)).limbs == w.limbs).all()


def test_pencil_of_exact_values():
    """``diag(1, 2, ..., n)`` and B, both multiplied by one matrix: rational eigenvalues."""
    n = 5
    t = mdqr.tril(mdqr.array(np.arange(1, n * n + 1).reshape(n, n), precision=mdqr.od))
    a = t @ mdqr.diag(mdqr.arange(1, n + 1, precision=mdqr.od)) @ t.mT
    w = eigvalsh(a, b=t @ t.mT)
    assert abs(w - mdqr.arange(1, n + 1, precision=mdqr.od)).max() <= 1e-115


def test_some_of_them(rng):
    a = hermitian((3, 5, 5), mdqr.qd, complex, rng)
    w, v = eigh(a)
    some = eigh(a, subset_by_index=[1, 3])
    assert (some.eigenvalues.limbs == w.limbs[..., 1:4]).all()
    assert (some.eigenvectors.limbs == v.limbs[..., 1:4]).all()
    for wrong in ([3, 1], [0, 5], [-1, 2], [0.0, 1], [1]):
        with pytest.raises(ValueError, match="subset_by_index must be the first and the last"):
            eigvalsh(a, subset_by_index=wrong)


def test_matrices_that_are_not_definite():
    a = mdqr.eye(3, precision=mdqr.dd)
    b = mdqr.array([[1.0, 0, 0], [2, 1, 0], [0, 0, 1]], precision=mdqr.dd)
    with pytest.raises(LinAlgError, match=r"eigh: b is not positive.*leading minor of order 2"):
        eigh(a, b=b)
    with pytest.raises(ValueError, match="a and b must be of one order"):
        eigh(a, b=mdqr.eye(2, precision=mdqr.dd))
    with pytest.raises(LinAlgError, match="eigvalsh: the entry in row 0, column 0 of b is NaN"):
        eigvalsh(a, b=a * np.nan)
