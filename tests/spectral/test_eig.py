"""Eigenvalues of general matrices: bounds against exact eigenvalues, residuals, conditions."""

from __future__ import annotations

import copy
import pickle
from fractions import Fraction

import linalg_cases as cases
import mpmath
import numpy as np
import pytest
from exact_roots import each_within, eigenvalues, values_of
from hypothesis import example, given
from hypothesis import strategies as st

import mdqr
from mdqr._precision import PRECISIONS
from mdqr.linalg import EigResult, LinAlgError, companion, eig, eigh, eigvals, inv, qr, roots
from mdqr.linalg._general.subspaces import decomposition

multiples = st.sampled_from(PRECISIONS[1:])


def check(a, left=True):
    """Bounds hold; vectors have length 1, and small residuals where conditions are not huge."""
    found = eig(a, left=left)
    assert each_within(values_of(found.eigenvalues), found.info.error_bound, eigenvalues(a))
    n = a.shape[-1]
    if n:
        w, v, eps = found.eigenvalues, found.eigenvectors, w_eps(found)
        size = float(abs(a).max()) + float(abs(w).max())
        assert (abs((abs(v) ** 2).sum(axis=0) - 1) <= 8 * n * eps).all()
        # Near a cluster vectors have fewer digits, as their bounds have it.
        sure = (found.info.multiplicity == 1) & (found.info.vector_error_bound <= eps**0.7)
        assert (abs(a @ v - v * w)[:, sure] <= 100 * n * eps * size).all()
    return found


def w_eps(found):
    return found.eigenvalues.precision.eps


@given(multiples, st.integers(1, 6), st.integers(0, 2**32 - 1), st.integers(0, 40))
def test_any_matrix(precision, n, seed, grade):
    """Of all limbs; with rows and columns of far sizes."""
    rng = np.random.default_rng(seed)
    a = mdqr.random.normal((n, n), precision=precision, rng=rng)
    powers = rng.integers(-grade, grade + 1, n)
    a = a * 2.0 ** (powers[:, None] - powers)
    found = check(a)
    limit = 8 * precision.eps * np.maximum(abs(found.eigenvalues).to_numpy(), 2.0**-40)
    assert (found.info.error_bound <= limit * found.info.condition * n).all()


@given(multiples, st.integers(2, 6), st.integers(0, 2**32 - 1), st.integers(4, 250))
def test_jordan_blocks_and_clusters(precision, n, seed, power):
    """Integer similarities of blocks with values that are equal, or 2**-power apart."""
    rng = np.random.default_rng(seed)
    t = np.zeros((n, n), dtype=object)
    for i in range(n):
        t[i, i] = Fraction(int(rng.integers(-1, 2))) + Fraction(int(rng.integers(-1, 2)), 2**power)
        if i + 1 < n:
            t[i, i + 1] = int(rng.integers(0, 2))
    for _ in range(n):
        i, j = rng.choice(n, 2, replace=False)
        factor = int(rng.integers(-2, 3))
        t[i] += factor * t[j]
        t[:, j] -= factor * t[:, i]
    check(mdqr.array(t, precision=precision))


@given(st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_sparse_integers(n, seed):
    """Zero rows and blocks, nilpotent matrices, multiple values."""
    rng = np.random.default_rng(seed)
    a = rng.integers(-2, 3, (n, n)) * rng.integers(0, 2, (n, n))
    check(mdqr.array(a, precision=mdqr.qd))


def test_frank(multiple):
    """Small eigenvalues of a large condition: ``1/w`` is one with each w."""
    n = 12
    i, j = np.indices((n, n))
    a = np.where(j >= i, n - j, np.where(j == i - 1, n - i, 0))
    found = check(mdqr.array(a, precision=multiple))
    assert (found.eigenvalues.imag == 0).all()
    assert found.info.condition.max() > 1e6
    product = found.eigenvalues * found.eigenvalues[::-1]
    assert float(abs(product - 1).max()) <= 1e10 * multiple.eps


def test_grcar(multiple):
    """Eigenvalues that float64 does not see."""
    n = 24
    a = np.triu(np.tril(np.ones((n, n)), 3)) - np.eye(n, k=-1)
    found = check(mdqr.array(a, precision=multiple))
    assert (found.info.multiplicity == 1).all()


def test_wilkinson():
    """W21+: pairs that agree to 14 digits, told apart in dd."""
    a = np.diag(abs(np.arange(-10.0, 11))) + np.eye(21, k=1) + np.eye(21, k=-1)
    found = check(mdqr.dd(a))
    assert (found.info.multiplicity == 1).all()
    assert 0 < float((found.eigenvalues[-1] - found.eigenvalues[-2]).real) < 1e-13
    assert (abs(found.eigenvalues.real - eigh(mdqr.dd(a)).eigenvalues) <= 1e-28).all()


def test_toeplitz(multiple):
    """Tridiagonal with 4, 1, 1/4: ``1 + 2 cos(k pi / (n + 1))``; scaling makes it normal."""
    n = 30
    a = np.eye(n) + 4 * np.eye(n, k=-1) + np.eye(n, k=1) / 4
    found = eig(mdqr.array(a, precision=multiple))
    with mpmath.workdps(300):
        wanted = [1 + 2 * mpmath.cospi(mpmath.mpf(k) / (n + 1)) for k in range(1, n + 1)]
    assert each_within(values_of(found.eigenvalues), found.info.error_bound, wanted)
    assert found.info.error_bound.max() <= 100 * multiple.eps


def test_chebyshev_companion(multiple):
    """The companion matrix of ``T_16``, scaled: cosines, as `roots` finds them."""
    p = np.polynomial.chebyshev.cheb2poly([0] * 16 + [1])[::-1]
    p = mdqr.array([int(c) for c in p], precision=multiple)
    found = check(companion(p))
    by_roots = roots(p)
    order = np.argsort(by_roots.roots.to_numpy().real)
    apart = abs(found.eigenvalues - by_roots.roots[order]).to_numpy()
    # The first row of the matrix is exact: coefficients over a power of two.
    assert (apart <= found.info.error_bound + by_roots.error_bound[order]).all()
    with mpmath.workdps(300):
        wanted = [mpmath.cospi((k + mpmath.mpf(0.5)) / 16) for k in range(16)]
    assert each_within(values_of(found.eigenvalues), found.info.error_bound, wanted)


@pytest.mark.parametrize(("precision", "power"), [(mdqr.qd, 50), (mdqr.od, 50), (mdqr.od, 150)])
def test_clusters(precision, power, rng, monkeypatch):
    """Values 2**-power apart are told apart without the QR algorithm for the whole matrix."""
    monkeypatch.setattr(decomposition, "_by_qr", None)
    n = 8
    s = cases.random(n, n, precision, float, rng)
    d = mdqr.array([1, 1, 1, -2, 5, 5, 0.5, 3], precision=precision)
    d = d + mdqr.array(np.arange(n) * 2.0**-power, precision=precision)
    a = s * d @ inv(s)
    found = check(a)
    assert (found.info.multiplicity == 1).all()
    gap = float(2.0**-power)
    assert found.info.error_bound.max() <= 1e-8 * gap
    wanted = np.sort(d.to_fractions())
    assert abs(np.sort(found.eigenvalues.real.to_fractions()) - wanted).max() <= 1e-6 * gap


@pytest.mark.parametrize("k", [2, 4])
def test_defective_values(multiple, k, rng):
    """A rotated Jordan block: bounds of about the k-th root of eps, and the condition tells."""
    j = np.diag([0.0] * k + [2.0, -1.0]) + np.diag([1.0] * (k - 1) + [0, 0], 1)
    j = mdqr.array(j, precision=multiple)
    q, _ = qr(cases.random(k + 2, k + 2, multiple, float, rng))
    found = check(q @ j @ q.T)
    counts, bounds = found.info.multiplicity, found.info.error_bound
    assert sorted(counts) == [1, 1] + [k] * k
    assert (bounds[counts == k] <= 1e4 * multiple.eps ** (1 / k)).all()
    assert (bounds[counts == 1] <= 1e4 * multiple.eps).all()
    assert found.info.condition[counts == k].min() >= 1e5
    assert np.isinf(found.info.vector_error_bound[counts == k]).all()


def test_exact_defective_values(multiple):
    """Of triangular matrices eigenvalues are exact; equal ones have parallel vectors."""
    a = mdqr.array([[1, 1, 0], [0, 1, 0], [0, 0, 1]], precision=multiple)
    found = check(a)
    assert found.eigenvalues.to_numpy().tolist() == [1, 1, 1]
    assert found.info.multiplicity.tolist() == [3, 3, 3]
    assert (abs(a @ found.eigenvectors - found.eigenvectors) <= 8 * multiple.eps).all()
    for matrix in (mdqr.eye(4, precision=multiple), mdqr.zeros((4, 4), precision=multiple)):
        found = check(matrix)
        assert found.info.error_bound.max() <= 100 * multiple.eps
        assert np.linalg.matrix_rank(found.eigenvectors.to_numpy()) == 4


def test_vectors_and_their_bounds(precision, dtype, rng):
    """Left and right vectors; those of two more precisions are within their bounds."""
    a = mdqr.random.normal((3, 7, 7), precision=precision, dtype=dtype, rng=rng)
    w, left, right = found = eig(a, left=True)
    size, eps = 10 * float(abs(a).max()), precision.eps
    assert float(abs(a @ right - right * w[:, None, :]).max()) <= 20 * eps * size
    rest = left.mT.conj() @ a - w[..., None] * left.mT.conj()
    assert float(abs(rest).max()) <= 1000 * eps * size
    for v in (left, right):
        assert float(abs((abs(v) ** 2).sum(axis=-2) - 1).max()) <= 50 * eps
        largest = np.take_along_axis(
            v.to_numpy(), abs(v.to_numpy()).argmax(axis=-2)[..., None, :], -2
        )
        assert (largest.real > 0).all()
        assert (largest.imag == 0).all()
    wider = eig(a, precision=max(precision, mdqr.qd) if precision < mdqr.qd else mdqr.od)
    apart = (abs(wider.eigenvectors - right) ** 2).sum(axis=-2).to_numpy() ** 0.5
    assert (apart <= 2 * found.info.vector_error_bound + 1e-300).all()
    assert found.info.vector_error_bound.max() <= 1e6 * eps


def test_real_matrices_have_conjugate_values(multiple, rng):
    """Exactly, vectors too; the one with the positive imaginary part is first."""
    w, v = eig(mdqr.random.normal((20, 20), precision=multiple, rng=rng))
    plain = w.to_numpy()
    pairs = np.flatnonzero(plain.imag > 0)
    assert (plain.real[1:] >= plain.real[:-1]).all()
    assert (w[pairs + 1].limbs == w[pairs].conj().limbs).all()
    assert (v[:, pairs + 1].limbs == v[:, pairs].conj().limbs).all()
    real = plain.imag == 0
    assert (v.imag[:, real] == 0).all()
    assert real.sum() + 2 * len(pairs) == 20


def test_large_ones_are_first_found_in_two_limbs(multiple, monkeypatch):
    """Grcar's matrix of order 40 is beyond float64, but not beyond two limbs."""
    seen = []
    known = decomposition.triangular
    monkeypatch.setattr(
        decomposition,
        "triangular",
        lambda b, t, kind: (seen.append(kind.limbs), known(b, t, kind))[1],
    )
    n = 64
    a = np.triu(np.tril(np.ones((n, n)), 3)) - np.eye(n, k=-1)
    found = eig(mdqr.array(a, precision=multiple))
    assert (found.info.multiplicity == 1).all()
    assert found.info.error_bound.max() <= found.info.condition.max() * n * multiple.eps
    assert set(seen) <= {2}


def test_shapes_and_results(precision, dtype, rng):
    """As NumPy and SciPy have them."""
    for shape in ((1, 1), (0, 0), (2, 0, 0), (2, 3, 4, 4)):
        a = mdqr.random.normal(shape, precision=precision, dtype=dtype, rng=rng)
        found, wanted = eig(a, left=True), np.linalg.eig(a.to_numpy())
        assert found.eigenvalues.shape == wanted[0].shape == found.info.multiplicity.shape
        assert found.eigenvectors.shape == wanted[1].shape == found.left_eigenvectors.shape
        for name in ("error_bound", "condition", "vector_error_bound"):
            assert getattr(found.info, name).shape == wanted[0].shape
        assert (eigvals(a).limbs == found.eigenvalues.limbs).all()
    w, v = found = eig(a)
    assert (found[0] is w, found.left_eigenvectors, len(found)) == (True, None, 2)
    assert (v.limbs == found.eigenvectors.limbs).all()
    w, vl = eig(a, left=True, right=False)
    assert (vl.limbs == eig(a, left=True).left_eigenvectors.limbs).all()
    assert (eig(a, left=False, right=False).limbs == w.limbs).all()
    for again in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):
        assert isinstance(again, EigResult)
        assert (again.eigenvalues.limbs == w.limbs).all()
        assert (again.info.multiplicity == found.info.multiplicity).all()
    assert repr(found).startswith("EigResult(eigenvalues=")


def test_numpy_functions_answer(rng):
    a = mdqr.random.normal((4, 4), precision=mdqr.qd, rng=rng)
    w, v = np.linalg.eig(a)
    assert (isinstance(w, mdqr.MDArray), isinstance(v, mdqr.MDArray)) == (True, True)
    assert (np.linalg.eigvals(a).limbs == w.limbs).all()
    assert (mdqr.array_api.linalg.eigvals(a).limbs == w.limbs).all()


@given(multiples, st.integers(3, 6), st.integers(0, 2**32 - 1), st.integers(250, 500))
@example(mdqr.dd, 5, 22515, 430)  # a hundred passes did not balance it
def test_entries_of_far_sizes(precision, n, seed, grade):
    """Entries far below the largest one count, as their products with that one do."""
    rng = np.random.default_rng(seed)
    powers = rng.integers(-grade, grade + 1, n)
    a = mdqr.array(rng.integers(-3, 4, (n, n)), precision=precision)
    found = eig(a * 2.0 ** (powers[:, None] - powers))
    assert each_within(values_of(found.eigenvalues), found.info.error_bound, eigenvalues(a))
    simple = found.info.multiplicity == 1
    assert (found.info.error_bound[simple] <= 1e-14).all()


def test_powers_that_are_855_apart(multiple):
    """Balanced as far as others are: 400 either way had been the most from where they began."""
    powers = np.array([4, -340, 355, -500])
    a = multiple([[-2, -2, 0, -1], [-2, -3, 1, -2], [-2, 3, 0, 2], [1, -3, -2, -2]])
    found = eig(a * 2.0 ** (powers[:, None] - powers))
    assert (found.info.multiplicity == 1).all()
    # That of the matrix without powers, by less than that.
    assert found.info.error_bound.max() <= 4 * eig(a).info.error_bound.max()


def test_a_defective_pair_leaves_other_vectors_alone():
    """The pair at zero was split by noise, with vectors of condition 1e26."""
    a = mdqr.dd([[0, 1, 0, 0], [1, 0, -1, -1], [0, 1, 0, 0], [0, 1, 0, 1]])
    found = check(a)
    assert found.info.multiplicity.tolist() == [2, 2, 1, 1]
    assert found.info.vector_error_bound[2:].max() <= 1e-27


def test_nilpotent_blocks_leave_other_values_alone(multiple):
    """Vectors of rows of too large conditions join their nearest ones, not all."""
    a = mdqr.zeros((6, 6), precision=multiple)
    a[1, 0], a[3, 0], a[4, 0], a[5, 0] = 0.378, 0.31, -1.148, -1.629
    a[3, 1], a[5, 3], a[2, 2], a[3:, 2] = -0.938, -0.376, -0.509, mdqr.dd([0.502, -0.623, -0.101])
    found = check(a)
    assert found.info.multiplicity.tolist() == [1, 5, 5, 5, 5, 5]
    assert found.info.error_bound[0] <= 100 * multiple.eps


def test_matrices_of_a_batch_have_their_own_bounds(multiple, rng):
    """Blocks of one matrix are not those of the others."""
    one = [
        np.eye(4) + np.eye(4, k=1),
        rng.integers(-2, 3, (4, 4)),
        np.zeros((4, 4)),
        np.eye(4)[::-1],
    ]
    a = mdqr.array(np.stack([*one, np.diag([1.0, 2, 3, 4])]), precision=multiple)
    found = eig(a)
    for i, matrix in enumerate(a):
        bounds = found.info.error_bound[i]
        assert each_within(values_of(found.eigenvalues[i]), bounds, eigenvalues(matrix))
    assert found.info.multiplicity[[0, 2, 4]].tolist() == [[4] * 4, [4] * 4, [1] * 4]
    assert np.isfinite(found.info.vector_error_bound[4]).all()


def test_scaling_costs_vectors_nothing():
    """A row that is nearly zero is not scaled to be as long as its column."""
    a = mdqr.qd([[-3, 1, -1], [-4, 1, -1], [0, 0, -(2.0**-168)]])
    found = check(a)
    assert found.info.multiplicity.tolist() == [2, 2, 1]
    assert found.info.vector_error_bound[2] <= 1e-30


def test_scales(multiple, rng):
    a = mdqr.random.normal((5, 5), precision=multiple, rng=rng)
    w = eigvals(a)
    for power in (-400, 900):
        found = eig(a * 2.0**power)
        assert (found.eigenvalues.limbs == (w * 2.0**power).limbs).all()
        apart = abs(found.info.error_bound / 2.0**power - eig(a).info.error_bound)
        assert (apart <= 1e-9 * found.info.error_bound / 2.0**power).all()
    with pytest.raises(LinAlgError, match="of the eigenvalues is beyond the largest double"):
        eigvals(mdqr.full((3, 3), 1e308, precision=multiple))


def test_lapack_that_fails_is_replaced(monkeypatch, rng):
    """One matrix of a batch for which it does not converge takes the QR algorithm."""
    known = np.linalg.eig
    a = mdqr.random.normal((3, 5, 5), precision=mdqr.qd, rng=rng)

    def failing(x):
        if (abs(x - a[1].to_numpy()).max(axis=(-2, -1)) < 1).any():
            raise LinAlgError("no convergence")
        return known(x)

    wanted = eigvals(a)
    monkeypatch.setattr(np.linalg, "eig", failing)
    assert float(abs(eigvals(a) - wanted).max()) <= 1e-60


def test_precision_of_the_answer(rng):
    a = rng.normal(size=(4, 4))
    found = eig(a, precision=mdqr.od)
    assert found.eigenvalues.precision is mdqr.od
    assert check(mdqr.od(a)).info.error_bound.max() <= 1e-120
    narrow = eig(mdqr.od(a), precision=mdqr.dd)
    assert narrow.eigenvalues.precision is mdqr.dd
    assert abs(narrow.eigenvalues - found.eigenvalues).max() <= 1e-30
    plain = eig(a)
    assert plain.eigenvalues.precision is mdqr.d
    assert each_within(
        values_of(plain.eigenvalues), plain.info.error_bound, eigenvalues(mdqr.od(a))
    )
    assert plain.info.error_bound.max() <= 1e-14


@pytest.mark.parametrize("function", [eig, eigvals])
def test_bad_input(function):
    name = function.__name__
    with pytest.raises(ValueError, match=f"{name}: a must be square"):
        function(np.ones((2, 3)))
    with pytest.raises(ValueError, match=f"{name}: a and b must be of the same order"):
        function(np.eye(2), np.eye(3))
    wrong = mdqr.array([[1.0, 0.0], [np.inf, 1.0]], precision=mdqr.qd)
    with pytest.raises(LinAlgError, match=f"{name}: the entry in row 1, column 0 of a is NaN"):
        function(wrong)
    with pytest.raises(LinAlgError, match=f"{name}: the entry in row 1, column 0 of b is NaN"):
        function(np.eye(2), wrong)
