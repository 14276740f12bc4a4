"""QR factorisation: the acceptance bounds, shapes, special columns, bad input."""

from __future__ import annotations

import tracemalloc
import warnings
from fractions import Fraction

import linalg_cases as cases
import numpy as np
import pytest
from each_case import each_case
from hypothesis import given, settings
from hypothesis import strategies as st

import mdqr
from mdqr.linalg import qr, qr_factor
from mdqr.testing import arrays, assert_same_bits, matrix

SHAPES = [(1, 1), (1, 4), (6, 1), (9, 5), (5, 9), (35, 17), (41, 41)]


def accept(a, Q, R):
    """The acceptance of factors: columnwise residuals, orthogonality, and the form of R."""
    n = a.shape[-1]
    assert cases.column_errors(a, Q, R).max(initial=0.0) <= 20 * n
    assert cases.orthogonality(Q) <= 20 * n
    cases.check_form(R)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_acceptance(precision, dtype, shape, rng):
    a = cases.random(*shape, precision, dtype, rng)
    accept(a, *qr(a))


@pytest.mark.parametrize("kind", ["hilbert", "vandermonde", "kahan", "rank_deficient"])
def test_acceptance_of_special_matrices(precision, dtype, kind, rng):
    a = matrix(kind, 22, 19, precision=precision, dtype=dtype, rng=rng)
    accept(a, *qr(a))


@settings(max_examples=15)
@given(data=st.data())
def test_acceptance_of_wild_entries(precision, dtype, data):
    """Entries over 400 binary orders, with gaps, runs of ones, cancellation and zeros."""
    m, n = data.draw(st.sampled_from([(6, 4), (4, 6), (9, 9)]))
    a = data.draw(
        arrays(
            precision,
            (m, n),
            dtype=dtype,
            allow_nan=False,
            allow_infinity=False,
            min_exponent=-200,
            max_exponent=200,
        )
    )
    accept(a, *qr(a))


def test_acceptance_at_the_largest_condition(precision, dtype, rng):
    cond = min(1e100, 0.01 / precision.eps)
    a = cases.random(30, 21, precision, dtype, rng, cond=cond)
    accept(a, *qr(a))


# Within the double range: 30 rows and 20 bits a row leave the last limbs of od near 2**-1003.
@pytest.mark.parametrize(
    ("rows", "columns"), [(0, -20), (0, 20), (-20, 0), (20, 0), (-10, 20)], ids=str
)
def test_acceptance_of_scaled_matrices(precision, dtype, rows, columns, rng):
    a = cases.scaled(cases.random(30, 21, precision, dtype, rng), rows, columns)
    accept(a, *qr(a))


def test_one_huge_column_with_graded_rows(precision, dtype, rng):
    a = cases.random(30, 21, precision, dtype, rng)
    a[:, 3] = a[:, 3] * mdqr.array(2.0 ** (600.0 - 20.0 * np.arange(30)), precision=precision)
    accept(a, *qr(a))


@pytest.mark.parametrize("exponent", [-1000, -700, 1000])
def test_acceptance_at_the_ends_of_the_range(precision, dtype, exponent, rng):
    a = cases.random(12, 9, precision, dtype, rng)
    a = cases.scaled(a * 2.0 ** (exponent // 2), 0, 0) * 2.0 ** (exponent // 2)
    accept(a, *qr(a))


def test_acceptance_of_a_larger_matrix(rng):
    a = cases.random(110, 73, mdqr.od, float, rng, cond=1e100)
    accept(a, *qr(a))


@pytest.mark.long
def test_acceptance_at_300_by_200(precision, dtype, rng):
    cond = min(1e100, 0.01 / precision.eps)
    a = cases.random(300, 200, precision, dtype, rng, cond=cond)
    accept(a, *qr(a))


@pytest.mark.parametrize("tile", [1, 5, 100])
def test_every_tile_width_is_accurate(multiple, dtype, tile, rng):
    a = cases.random(33, 21, multiple, dtype, rng)
    accept(a, *qr(a, tile=tile))


@each_case("shape", [(5, 3), (3, 5), (4, 4), (2, 3, 5), (2, 2, 5, 3)])
@each_case("mode", ["reduced", "complete", "r", "raw"])
def test_shapes_are_those_of_numpy(precision, dtype, shape, mode, rng):
    real = rng.standard_normal(shape)
    a64 = real if dtype is float else real + 1j * rng.standard_normal(shape)
    found, wanted = (
        f(x, mode) for f, x in ((qr, mdqr.array(a64, precision=precision)), (np.linalg.qr, a64))
    )
    if mode == "r":
        found, wanted = (found,), (wanted,)
    assert [x.shape for x in found] == [x.shape for x in wanted]
    assert all(x.precision is precision for x in found)


@each_case("shape", [(0, 0), (0, 3), (3, 0), (2, 0, 3), (0, 4, 2)])
@each_case("mode", ["reduced", "complete", "r", "raw"])
def test_empty_matrices(precision, shape, mode):
    found = qr(mdqr.zeros(shape, precision=precision), mode)
    wanted = np.linalg.qr(np.zeros(shape), mode)
    if mode == "r":
        found, wanted = (found,), (wanted,)
    for x, y in zip(found, wanted, strict=True):
        assert x.shape == y.shape
        assert np.array_equal(x.to_numpy(), y)


@pytest.mark.parametrize("shape", [(9, 5), (5, 9), (7, 7)], ids=str)
def test_complete_q(precision, dtype, shape, rng):
    a = cases.random(*shape, precision, dtype, rng)
    Q, R = qr(a, "complete")
    accept(a, Q, R)
    assert Q.shape == (shape[0], shape[0])
    assert_same_bits(R[: min(shape)], qr(a, "r"))


def test_raw_reflectors_give_the_factorisation(precision, dtype, rng):
    a = cases.random(13, 9, precision, dtype, rng)
    h, tau = qr(a, "raw")
    packed = h.T
    x = mdqr.triu(packed)
    for j in reversed(range(9)):
        v = packed[:, j : j + 1].copy()
        v[: j + 1] = 0.0
        v[j] = 1.0
        x = x - tau[j] * (v @ (v.H @ x))
    # Nine reflections of norm 1 with dot products of 13 terms: (13 + 8 + 4) eps each, and 20 n eps.
    error = mdqr.linalg.norm(x - a, axis=0) / mdqr.linalg.norm(a, axis=0)
    assert (error.to_numpy() <= (9 * 25 + 20 * 9) * precision.eps).all()


def test_batches_have_the_bits_of_single_matrices(multiple, dtype, rng):
    parts = [cases.random(11, 6, multiple, dtype, rng) for _ in range(6)]
    a = mdqr.stack(parts).reshape(2, 3, 11, 6)
    Q, R = qr(a, tile=4)
    for i, part in enumerate(parts):
        q, r = qr(part, tile=4)
        assert_same_bits(Q[divmod(i, 3)], q)
        assert_same_bits(R[divmod(i, 3)], r)


def test_zero_columns(precision, dtype, rng):
    a = matrix("zero_columns", 12, 8, precision=precision, dtype=dtype, rng=rng)
    Q, R = qr(a)
    accept(a, Q, R)
    for j in (0, 4):
        assert (R[:, j].limbs == 0).all()
    zero = mdqr.zeros((4, 3), precision=precision, dtype=dtype)
    Q, R = qr(zero)
    assert (R.limbs == 0).all()
    assert_same_bits(Q, mdqr.eye(4, 3, precision=precision, dtype=dtype))


def test_dependent_columns_leave_a_small_diagonal(multiple, dtype, rng):
    a = cases.random(12, 4, multiple, dtype, rng)
    a = mdqr.concatenate([a, a[:, :2]], axis=1)
    Q, R = qr(a)
    accept(a, Q, R)
    small = abs(R[4:, 4:].to_numpy()).max()
    assert small <= 20 * 6 * multiple.eps * abs(R.to_numpy()).max()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("function", [qr, qr_factor])
def test_check_raises_with_the_place(precision, dtype, bad, function, rng):
    a = cases.random(6, 5, precision, dtype, rng)
    a[2, 3] = bad
    message = rf"{function.__name__}: the entry in row 2, column 3 of a is NaN or infinite"
    with pytest.raises(np.linalg.LinAlgError, match=message):
        function(a)


def test_check_names_the_matrix_of_a_batch(multiple):
    a = mdqr.ones((2, 3, 4, 2), precision=multiple)
    a[1, 2, 0, 1] = np.nan
    with pytest.raises(np.linalg.LinAlgError, match=r"matrix \(1, 2\) of the batch"):
        qr(a)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_without_check_nan_goes_through(precision, dtype, bad, rng):
    a = cases.random(20, 12, precision, dtype, rng)
    clean = qr(a, "r", tile=5)
    a[2, 3] = bad
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Q, R = qr(a, check=False, tile=5)
    assert np.isnan(R[:, 3].to_numpy()).any()
    assert np.isnan(Q.to_numpy()).any()
    if precision > mdqr.d:
        assert_same_bits(R[:3, :3], clean[:3, :3])


@pytest.mark.parametrize("mode", ["reduced", "complete", "r", "raw"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_without_check_nothing_warns_in_any_mode(precision, dtype, bad, mode, rng):
    a = cases.random(6, 4, precision, dtype, rng)
    a[2, 1] = bad
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = qr(a, mode, check=False)
    # h of the raw mode holds the transpose.
    r = found[0].mT if mode == "raw" else found if mode == "r" else found[1]
    assert not np.isfinite(r[:2, 1].to_numpy()).all()


def test_a_norm_beyond_the_range_raises(precision):
    a = mdqr.full((4, 2), 1.5e308, precision=precision)
    with pytest.raises(np.linalg.LinAlgError, match="column 0 of R is beyond the largest double"):
        qr(a)
    assert np.isinf(qr(a, "r", check=False)[0, 0].to_numpy())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "full"}, "mode must be one of 'reduced', 'complete', 'r', 'raw'; got 'full'"),
        ({"method": "lapack"}, 'method must be "auto", "householder" or "refine"; got'),
        ({"tile": 0}, "tile must be a positive integer or None; got 0"),
        ({"tile": 2.5}, "tile must be a positive integer or None; got 2.5"),
        ({"tile": True}, "tile must be a positive integer or None; got True"),
        ({"precision": "xd"}, "precision must be one of"),
    ],
)
def test_unknown_options(options, message):
    with pytest.raises(ValueError, match=message):
        qr(np.eye(2), **options)


@pytest.mark.parametrize("tile", [np.int64(4), np.uint8(4), np.array(4)], ids=repr)
def test_integers_of_numpy_are_tile_widths(tile, rng):
    a = cases.random(11, 9, mdqr.qd, float, rng)
    assert_same_bits(qr(a, "r", tile=tile), qr(a, "r", tile=4))
    assert_same_bits(qr_factor(a, tile=tile).R, qr(a, "r", tile=4))


@pytest.mark.parametrize("function", [qr, qr_factor])
def test_progress_must_be_callable(function):
    with pytest.raises(TypeError, match=rf"^{function.__name__}: progress must be .*callable.*int"):
        function(np.eye(2), progress=1)


def test_vectors_are_refused():
    with pytest.raises(ValueError, match=r"qr: a must have at least two dimensions; got shape \(3"):
        qr(np.ones(3))
    with pytest.raises(ValueError, match="qr_factor: a must have at least two dimensions"):
        qr_factor(mdqr.array(1.0, precision=mdqr.dd))


def test_exact_numbers_need_a_precision():
    a = [[Fraction(1, 3), 1], [2, Fraction(1, 7)]]
    with pytest.raises(TypeError, match="exact numbers have no precision of their own"):
        qr(a)
    assert qr(a, "r", precision="qd").precision is mdqr.qd


def test_precision_of_the_answer(rng):
    a64 = rng.standard_normal((8, 5))
    assert qr(a64, "r").precision is mdqr.d
    assert qr(a64.tolist(), "r").precision is mdqr.d
    wide = qr(mdqr.array(a64, precision=mdqr.od), "r")
    assert_same_bits(qr(a64, "r", precision="od"), wide)
    narrow = qr(mdqr.array(a64, precision=mdqr.od) / 3, "r", precision=mdqr.dd)
    assert narrow.precision is mdqr.dd
    # Both are right to 20 n eps of dd.
    other = qr(mdqr.array(a64, precision=mdqr.dd) / 3, "r")
    assert abs((narrow - other).to_numpy()).max() <= 40 * 5 * mdqr.dd.eps * abs(a64).max() * 3


def test_arguments_are_not_changed(precision, dtype, rng):
    a = cases.random(9, 6, precision, dtype, rng)
    before = a.copy()
    for mode in ("reduced", "complete", "r", "raw"):
        qr(a, mode)
    qr_factor(a).solve(a[:, 0])
    assert_same_bits(a, before)


def test_views_of_any_strides(multiple, dtype, rng):
    a = cases.random(20, 24, multiple, dtype, rng)
    for view in (a.T, a[::-1, ::2], a[3:17, 2:9]):
        assert_same_bits(qr(view).R, qr(view.copy()).R)


def test_progress_counts_the_columns(multiple):
    calls = []
    qr(mdqr.eye(10, precision=multiple), tile=4, progress=lambda *call: calls.append(call))
    assert calls == [("factor", 4, 10), ("factor", 8, 10), ("factor", 10, 10)]


@pytest.mark.parametrize("shape", [(130, 130), (300, 60)], ids=str)
def test_memory(multiple, shape):
    """At most three times the bytes of A, Q and R together."""
    rng = np.random.default_rng(0)
    a = mdqr.random.normal(shape, precision=multiple, rng=rng)
    qr(a[:8, :8])
    tracemalloc.start()
    try:
        Q, R = qr(a)
        peak = tracemalloc.get_traced_memory()[1] + a.limbs.nbytes
    finally:
        tracemalloc.stop()
    assert peak <= 3 * sum(x.limbs.nbytes for x in (a, Q, R))
