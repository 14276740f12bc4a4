"""Singular values, each relatively right, and what follows from them."""

from __future__ import annotations

import linalg_cases as cases
import mpmath
import numpy as np
import pytest
from each_case import each_case
from hypothesis import given
from hypothesis import strategies as st

import mdqr
from mdqr._precision import PRECISIONS
from mdqr.linalg import (
    LinAlgError,
    cond,
    matrix_rank,
    null_space,
    pinv,
    svd,
    svdvals,
)
from mdqr.linalg._spectral.onesided import jacobi, starts

SHAPES = [(1, 1), (5, 5), (9, 4), (4, 9), (2, 6, 3), (2, 1, 3, 5), (3, 0), (0, 3), (2, 0, 0)]


def exact_values(a, digits=500):
    """The singular values of limbs as held, by mpmath."""
    with mpmath.workdps(digits):
        given_ = mpmath.matrix(a.to_mpmath().tolist())
        found = mpmath.svd(given_, compute_uv=False)
        return sorted((found[i] for i in range(len(found))), reverse=True)


def check_values(a, found, factor=1.0):
    """Each value is right to ``40 k eps`` of itself, or some times that."""
    with mpmath.workdps(500):
        bound = 40 * min(a.shape) * factor * found.precision.eps
        for got, wanted in zip(found.to_mpmath(), exact_values(a), strict=True):
            assert abs(got - wanted) <= bound * wanted


def identity(n, precision):
    return mdqr.eye(n, precision=precision)


def adjoint(x):
    return x.mT.conj()


def check_factors(a, u, s, vh):
    """``norm(a - U S Vh) <= 40 k eps norm(a)``, and orthonormal vectors; values in order."""
    k, eps = min(a.shape[-2:]), s.precision.eps
    for place in np.ndindex(a.shape[:-2]):
        one, left, values, right = a[place], u[place], s[place], vh[place]
        rest = cases.Exact.of(one) - cases.Exact.of(left[:, :k] * values) @ cases.Exact.of(
            right[:k]
        )
        # Products of U and S are rounded once.
        size = float(mdqr.linalg.norm(one))
        assert norm(rest) <= (40 * k + 8) * eps * size
        for q in (left, right.mT):
            unit = identity(q.shape[-1], q.precision)
            off = cases.Exact.of(q).H @ cases.Exact.of(q) - cases.Exact.of(unit)
            assert norm(off) <= 40 * k * eps * q.shape[-1] ** 0.5
        found = values.to_fractions()
        assert (found[:-1] >= found[1:]).all()
        assert (found >= 0).all()


def norm(exact):
    with mpmath.workdps(30):
        total = mpmath.mpf(sum(int(v) for v in exact.squares().ravel()))
        return float(mpmath.sqrt(total) * mpmath.mpf(2) ** -exact.exponent)


@each_case("shape", SHAPES)
@each_case("full", [False, True])
def test_shapes_are_those_of_numpy(precision, dtype, shape, full, rng):
    a = mdqr.random.normal(shape, precision=precision, dtype=dtype, rng=rng)
    found, wanted = svd(a, full), np.linalg.svd(a.to_numpy(), full)
    assert [x.shape for x in found] == [x.shape for x in wanted]
    assert (found.S.is_complex, found.U.is_complex) == (False, dtype is complex)
    assert abs(found.S.to_numpy() - wanted.S).max(initial=0) < 1e-13
    if a.size:
        check_factors(a, *found)
    alone = svdvals(a)
    assert float(abs(alone - found.S).max()) < 100 * precision.eps if found.S.size else True


@given(
    st.sampled_from(PRECISIONS[1:]),
    st.integers(1, 6),
    st.integers(0, 4),
    st.floats(0, 1),
    st.booleans(),
    st.integers(0, 2**32 - 1),
)
def test_values_of_any_condition(multiple, n, extra, share, turned, seed):
    """Random matrices determine small values to eps times the condition of equal columns."""
    rng = np.random.default_rng(seed)
    cond_ = 10.0 ** (share * min(0.9 * multiple.digits, 100))
    a = mdqr.testing.matrix("random", n + extra, n, cond=cond_, precision=multiple, rng=rng)
    a = a.T if turned else a
    u, s, vh = svd(a, False)
    check_factors(a, u, s, vh)
    check_values(a, s, factor=n * max(cond_, 1.0))


@given(
    st.sampled_from(PRECISIONS),
    st.integers(2, 6),
    st.integers(-120, 120),
    st.booleans(),
    st.integers(0, 2**32 - 1),
)
def test_small_values_of_graded_columns_are_relatively_right(precision, n, power, turned, seed):
    rng = np.random.default_rng(seed)
    a = mdqr.testing.matrix("random", n, n, cond=10, precision=precision, rng=rng)
    # Values are not far below 1, so that all limbs of hexa-double are in range.
    a = cases.scaled(2.0 ** max(0, -power * (n - 1)) * a, 0, power)
    a = a.T if turned else a
    check_values(a, svdvals(a), factor=10 * n)
    check_factors(a, *svd(a))


@pytest.mark.parametrize("power", [-30, -100, -200])
def test_laeuchli(multiple, power):
    """One large value and n - 1 equal ones: sqrt(n + e^2) and e."""
    n, small = 7, 2.0**power
    a = mdqr.concatenate([mdqr.ones((1, n), precision=multiple), small * identity(n, multiple)])
    s = svdvals(a)
    with mpmath.workdps(400):
        wanted = [
            mpmath.sqrt(n + mpmath.mpf(2) ** (2 * power)),
            *[mpmath.mpf(2) ** power] * (n - 1),
        ]
        errors = [abs(x / y - 1) for x, y in zip(s.to_mpmath(), wanted, strict=True)]
        # Columns of equal length that have condition sqrt(n) 2^-power, or none that counts.
        assert errors[0] <= 40 * n * multiple.eps
        assert max(errors[1:]) <= 40 * n * multiple.eps * max(1.0, 3 * 2.0**-power)
    check_factors(a, *svd(a))


@pytest.mark.parametrize("spread", [20, 50, 150])
def test_clusters(multiple, dtype, spread, rng):
    """Values of a few digits' difference, and equal ones."""
    n = 12
    q, _ = mdqr.linalg.qr(cases.random(n, n, multiple, dtype, rng))
    p, _ = mdqr.linalg.qr(cases.random(n, n, multiple, dtype, rng))
    values = mdqr.array([1 + (j // 2) * 2.0**-20 for j in range(n)], precision=multiple)
    values = values + mdqr.array([(j % 3) * 2.0**-spread for j in range(n)], precision=multiple)
    a = (q * values) @ p
    u, s, vh = svd(a)
    check_factors(a, u, s, vh)
    found, wanted = np.sort(s.to_fractions()), np.sort(values.to_fractions())
    assert abs(found - wanted).max() <= 200 * n * multiple.eps


def test_equal_values(multiple, dtype, rng):
    q, _ = mdqr.linalg.qr(cases.random(9, 9, multiple, dtype, rng))
    check_factors(q, *svd(q))
    assert float(abs(svdvals(q) - 1).max()) <= 400 * multiple.eps
    assert svdvals(identity(6, multiple)).to_numpy().tolist() == [1.0] * 6


def test_missing_rank_and_zeros(multiple, dtype, rng):
    x, y = rng.integers(-99, 99, (7, 3)), rng.integers(-99, 99, (3, 6))
    a = mdqr.array((x @ y).tolist(), precision=multiple, dtype=dtype)
    a[:, 2] = 0
    u, s, vh = svd(a)
    check_factors(a, u, s, vh)
    assert float(s[3]) <= 300 * multiple.eps * float(s[0])
    assert matrix_rank(a) == 3
    zero = mdqr.zeros((4, 3), precision=multiple, dtype=dtype)
    check_factors(zero, *svd(zero))
    assert matrix_rank(zero) == 0
    assert float(cond(zero[:3] + identity(3, multiple))) == 1.0


@pytest.mark.parametrize("rounds", ["rotations", "blocks"])
def test_every_way_to_orthogonal_vectors(multiple, dtype, rounds, monkeypatch, rng):
    """Rotations alone, and blocks that meet borders."""
    if rounds == "rotations":
        monkeypatch.setattr(jacobi, "_BY_BLOCKS", 0)
        monkeypatch.setattr(jacobi, "_BY_CLUSTERS", 0)
        monkeypatch.setattr(starts, "SMALL", 0.0)
    else:
        monkeypatch.setattr(starts, "SPREAD", 4)
    a = cases.random(11, 11, multiple, dtype, rng, cond=1e8)
    check_factors(a, *svd(a))


def test_no_convergence_is_said(monkeypatch):
    monkeypatch.setattr(jacobi, "_MOST_SWEEPS", 0)
    with pytest.raises(LinAlgError, match="the rotations do not converge in 0 sweeps"):
        svd(mdqr.random.normal((5, 5), precision=mdqr.qd, rng=1))


@pytest.mark.parametrize("function", [svd, mdqr.linalg.eigh])
def test_one_turn_in_each_precision(function, multiple, dtype, monkeypatch):
    """Angles that LAPACK leaves small: each turn cubes their errors."""
    found = []

    def products(backend, gram, exponents, kind):
        found.append(kind.limbs)
        return original(backend, gram, exponents, kind)

    original = jacobi._products
    monkeypatch.setattr(jacobi, "_products", products)
    a = cases.random(24, 24, multiple, dtype, np.random.default_rng(1), cond=4.0)
    function(a + a.mT.conj() if function is not svd else a)
    assert found == [p.limbs for p in PRECISIONS[1:] if p <= multiple]


def test_nearly_equal_lengths_beside_others(multiple):
    """Products of the turns of others are more than the difference of such lengths allows."""
    i = np.arange(6)
    q = np.linalg.qr(np.cos(np.add.outer(i, 3.0 * i)) + np.eye(6))[0]
    d = mdqr.array([3.0, 1.0, 1.0, 2.0, 1.0, 5.0], precision=multiple)
    d = d + mdqr.array([0.0, 0.0, 1.0, 0.0, 2.0, 0.0], precision=multiple) * 2.0**-60
    q = mdqr.linalg.qr(mdqr.array(q, precision=multiple))[0]
    a = (q * d) @ q.mT
    check_factors(a, *svd(a))
    w, v = mdqr.linalg.eigh(a)
    error = abs((v * w) @ v.mT - (a + a.mT) / 2).max()
    assert float(error) <= 400 * multiple.eps * 5.0


def test_far_scales(multiple):
    a = mdqr.random.normal((4, 4), precision=multiple, rng=5)
    s = svdvals(a)
    for power in (cases.in_range(-300, multiple), 900):
        moved = svdvals(cases.scaled(a, 0, 0) * 2.0**power)
        assert float(abs(moved / 2.0**power - s).max()) < 1000 * multiple.eps
    with pytest.raises(LinAlgError, match="of S is beyond the largest double"):
        svdvals(mdqr.full((3, 3), 1e308, precision=multiple))


def test_ranks(multiple):
    i = mdqr.arange(1, 13, precision=multiple)
    hilbert = 1 / (i[:, None] + i - 1)  # condition 2e16
    assert matrix_rank(hilbert) == 12
    values = svdvals(hilbert)
    least = int((values > 1e-9 * values[0]).sum())
    assert matrix_rank(hilbert, rtol=1e-9) == matrix_rank(hilbert, values[0] * 1e-9) == least == 8
    assert matrix_rank(hilbert.to_numpy(), precision=multiple) < 12
    assert matrix_rank(hilbert.to_numpy(), rtol=0, precision=multiple) == 12
    stack = mdqr.stack([hilbert, identity(12, multiple)])
    assert matrix_rank(stack, rtol=np.array([1e-9, 0.0])).tolist() == [8, 12]
    assert matrix_rank(mdqr.zeros(3, precision=multiple)) == 0
    assert matrix_rank([0.0, 2.0]) == 1
    assert matrix_rank(mdqr.zeros((2, 0, 3), precision=multiple)).tolist() == [0, 0]
    with pytest.raises(ValueError, match="give tol or rtol"):
        matrix_rank(hilbert, 1e-3, rtol=1e-3)


@pytest.mark.parametrize("shape", [(6, 3), (3, 6), (2, 4, 4), (0, 3), (2, 3, 0)], ids=str)
def test_pseudoinverses(multiple, dtype, shape, rng):
    """The four conditions of Penrose."""
    a = mdqr.random.normal(shape, precision=multiple, dtype=dtype, rng=rng)
    if a.size:
        a[..., 1, :] = a[..., 0, :]
    x = pinv(a)
    assert x.shape == (*shape[:-2], shape[-1], shape[-2])
    tolerance = 1e5 * multiple.eps
    for left, right in (
        (a @ x @ a, a),
        (x @ a @ x, x),
        (a @ x, adjoint(a @ x)),
        (x @ a, adjoint(x @ a)),
    ):
        assert not left.size or float(abs(left - right).max()) < tolerance
    with pytest.raises(ValueError, match="give rcond or rtol"):
        pinv(a, 1e-3, rtol=1e-3)


def test_null_spaces(multiple, dtype, rng):
    a = mdqr.random.normal((3, 7), precision=multiple, dtype=dtype, rng=rng)
    n = null_space(a)
    assert n.shape == (7, 4)
    assert float(abs(a @ n).max()) < 1000 * multiple.eps
    assert float(abs(adjoint(n) @ n - identity(4, multiple)).max()) < 1000 * multiple.eps
    assert null_space(identity(3, multiple)).shape == (3, 0)
    assert null_space(mdqr.zeros((2, 3), precision=multiple)).shape == (3, 3)
    with pytest.raises(ValueError, match="must be a matrix"):
        null_space(mdqr.zeros((2, 2, 3), precision=multiple))


@pytest.mark.parametrize("p", [None, 2, -2, 1, -1, np.inf, -np.inf, "fro"])
def test_conditions_are_those_of_numpy(dtype, p, rng):
    a = mdqr.random.normal((2, 5, 5), precision=mdqr.qd, dtype=dtype, rng=rng)
    wanted = np.linalg.cond(a.to_numpy(), p)
    assert abs(cond(a, p).to_numpy() / wanted - 1).max() < 1e-12
    assert np.isinf(float(cond(mdqr.array([[1, 0], [0, 0]], precision=mdqr.qd))))
    with pytest.raises(ValueError, match="without entries"):
        cond(mdqr.zeros((0, 0), precision=mdqr.qd))


def test_ranks_and_conditions_of_small_matrices(multiple):
    """Values that underflow beside 2**-1020 are those of the matrix near 1."""
    i = 2.0 ** np.arange(6.0)
    a = mdqr.array(np.diag(i**9) + np.triu(np.ones((6, 6))), precision=multiple)
    small = a * 2.0**-1060
    assert matrix_rank(small, rtol=0) == matrix_rank(small) == 6
    assert null_space(small).shape == (6, 0)
    assert abs(float(cond(small) / cond(a)) - 1) < 1000 * multiple.eps


def test_numpy_functions_answer(rng):
    a = mdqr.random.normal((4, 3), precision=mdqr.qd, rng=rng)
    assert isinstance(np.linalg.svd(a), mdqr.linalg.SVDResult)
    assert np.linalg.matrix_rank(a) == 3
    assert np.linalg.pinv(a).shape == (3, 4)
    assert isinstance(np.linalg.cond(a), mdqr.MDArray)


@pytest.mark.parametrize("function", [svd, svdvals, pinv])
def test_bad_input(function):
    with pytest.raises(ValueError, match="at least two dimensions"):
        function(np.ones(3))
    with pytest.raises(LinAlgError, match="row 0, column 1 of a is NaN or infinite"):
        function(mdqr.array([[1.0, np.nan], [0.0, 1.0]], precision=mdqr.qd))


@pytest.mark.parametrize("n", [9, 22, 27])
@pytest.mark.parametrize("rows", [-20, 3])
@pytest.mark.parametrize("columns", [-3, 0, 20])
def test_low_rank_of_far_scales(multiple, n, rows, columns):
    """Errors of factors of rank one have no order of length; they used to turn for ever."""
    a = cases.scaled(mdqr.ones((n, n), precision=multiple), rows, columns)
    u, s, vh = svd(a)
    check_factors(a, u, s, vh)
    assert float(s[1]) <= 40 * n * multiple.eps * float(s[0])


def test_values_below_the_range_count_as_zeros(multiple):
    """Vectors whose length is rounded to zero used to come before longer ones."""
    a = mdqr.zeros((5, 5), precision=multiple)
    a[0, 0], a[1, 1] = 1.0, 2.0**-1074
    a[2:4, 2:4] = mdqr.array([[1, 1], [1, 1]], precision=multiple) * 2.0**-1074
    u, s, vh = svd(a)
    check_factors(a, u, s, vh)
    assert s.to_numpy().tolist() == [1.0, 2.0**-1073, 2.0**-1074, 0.0, 0.0]


def test_limbs_of_small_values_stay_in_range(multiple, rng):
    """Blocks of far scales: the small one keeps its digits."""
    a = mdqr.random.normal((3, 3), precision=multiple, rng=rng)
    both = mdqr.zeros((6, 6), precision=multiple)
    far = max(-100, multiple.bits - 548)  # of the two, which are scaled together
    both[:3, :3], both[3:, 3:] = a * 2.0**900, a * 2.0**far
    s = svdvals(both)
    assert float(abs(s[3:] * 2.0**-far / svdvals(a) - 1).max()) <= 1e4 * multiple.eps


def test_each_matrix_of_a_batch_is_turned_for_itself(multiple, rng):
    """Graded rows beside a far column, and the adjoint: the better condition is that of rows."""
    a = mdqr.random.normal((3, 3), precision=multiple, rng=rng)
    a[1] = 2.0**60 * (a[0] + 2.0**-20 * a[1])
    a[:2, 2] = a[2, :2] = 0
    a[2, 2] = 2.0**-200
    q, _ = mdqr.linalg.qr(mdqr.random.normal((2, 2), precision=multiple, rng=rng))
    a[:2, :2] = q * mdqr.array([[1.0], [2.0**60]], precision=multiple)
    s = svdvals(mdqr.stack([a, a.mT]))
    for one, found in zip((a, a.mT), s, strict=True):
        check_values(one, found, factor=2.0)
