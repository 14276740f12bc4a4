"""QR with column pivoting: the bounds of qr, the choice of pivots, orders and shapes of SciPy."""

from __future__ import annotations

from fractions import Fraction

import linalg_cases as cases
import numpy as np
import pytest
import scipy.linalg
from each_case import each_case
from hypothesis import given, settings
from hypothesis import strategies as st

import mdqr
from mdqr.linalg import LinAlgError, QRPResult, qr, svdvals
from mdqr.linalg._factor import pivoted
from mdqr.testing import arrays, assert_same_bits, matrix

SHAPES = [(1, 1), (1, 4), (6, 1), (9, 5), (5, 9), (41, 33)]
# The part of lengths that a stage of float64 cannot tell.
CLOSE = Fraction(1, 2**9)
# Of squares of lengths, relative to that of the column: what is left of it there are subnormals.
UNDERFLOW = 2**2080


def accept(a, Q, R, P):
    """The acceptance of factors of ``a[:, P]``, and no later column that is longer."""
    n = a.shape[-1]
    assert sorted(P.tolist()) == list(range(n))
    a = a[:, P]
    assert cases.column_errors(a, Q, R).max(initial=0.0) <= 20 * n
    assert cases.orthogonality(Q) <= 20 * n
    cases.check_form(R)
    squares = cases.Exact.of(R).squares()
    lost = squares.sum(axis=0) // UNDERFLOW
    for k in range(min(R.shape)):
        # Squares of lengths may differ by twice that.
        assert squares[k, k] * (1 + CLOSE) >= (squares[k:, k:].sum(axis=0) - lost[k:]).max()


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_acceptance(precision, dtype, shape, rng):
    a = cases.random(*shape, precision, dtype, rng, cond=min(1e30, 0.01 / precision.eps))
    accept(a, *qr(a, pivoting=True))


@pytest.mark.parametrize("kind", ["hilbert", "vandermonde", "kahan", "rank_deficient"])
def test_acceptance_of_special_matrices(precision, dtype, kind, rng):
    a = matrix(kind, 22, 19, precision=precision, dtype=dtype, rng=rng)
    accept(a, *qr(a, pivoting=True))


@settings(max_examples=15)
@given(data=st.data())
def test_acceptance_of_wild_entries(precision, dtype, data):
    """Entries over 400 binary orders, with gaps, runs of ones, cancellation and zeros."""
    shape = data.draw(st.sampled_from([(6, 4), (4, 6), (7, 7)]))
    a = data.draw(
        arrays(
            precision,
            shape,
            dtype=dtype,
            allow_nan=False,
            allow_infinity=False,
            min_exponent=-200,
            max_exponent=200,
        )
    )
    accept(a, *qr(a, pivoting=True))


def test_acceptance_where_subnormals_are_left(multiple):
    """Of rank 2: what a third and a fourth column leave in hexa-double are subnormals."""
    a = mdqr.ones((7, 7), precision=multiple, dtype=complex)
    row = [-16 - 0.1796875j, -0.03271484375 + 0.0001354217529296875j]
    row += [0.0064697265625 + 7936j, 0.25390625 - 10240j]
    a[6, 2:6] = mdqr.array(row, precision=multiple)
    accept(a, *qr(a, pivoting=True))


@pytest.mark.parametrize(
    ("rows", "columns"), [(0, -20), (0, 20), (-20, 0), (20, 0), (-10, 20)], ids=str
)
def test_acceptance_of_scaled_matrices(precision, dtype, rows, columns, rng):
    a = cases.scaled(cases.random(30, 21, precision, dtype, rng), rows, columns)
    accept(a, *qr(a, pivoting=True))


@pytest.mark.parametrize("exponent", [-900, 900])
def test_scales_do_not_change_the_order(multiple, exponent, rng):
    a = cases.random(9, 7, multiple, float, rng)
    Q, R, P = qr(a, pivoting=True)
    q, r, p = qr(a * 2.0**exponent, pivoting=True)
    assert (p == P).all()
    if exponent > 0:
        assert_same_bits(q, Q)
        assert_same_bits(r * 2.0**-exponent, R)


def test_pivots_are_those_of_scipy(precision, dtype, rng):
    a = cases.random(12, 9, precision, dtype, rng)
    R, P = qr(a, "r", pivoting=True)
    wanted = scipy.linalg.qr(a.to_numpy(), mode="r", pivoting=True)
    assert P.tolist() == wanted[1].tolist()
    assert abs(abs(R.to_numpy()) - abs(wanted[0][:9])).max() < 1e-13


@each_case("shape", [(5, 3), (3, 5), (2, 3, 5), (2, 2, 5, 3), (2, 0, 3)])
@each_case("mode", ["reduced", "complete", "r", "raw"])
def test_shapes_beside_those_without_pivots(precision, dtype, shape, mode, rng):
    a = mdqr.random.normal(shape, precision=precision, dtype=dtype, rng=rng)
    *found, order = qr(a, mode, pivoting=True)
    wanted = qr(a, mode)
    wanted = (wanted,) if mode == "r" else wanted
    assert [x.shape for x in found] == [x.shape for x in wanted]
    assert order.shape == (*shape[:-2], shape[-1])
    assert order.dtype == np.int64


def test_result_and_raw_reflectors(multiple, rng):
    a = cases.random(7, 5, multiple, float, rng)
    found = qr(a, pivoting=True)
    assert isinstance(found, QRPResult)
    h, tau, order = qr(a, "raw", pivoting=True)
    assert (order == found.P).all()
    assert tau.shape == (5,)
    assert_same_bits(abs(mdqr.triu(h.T)[:5]), abs(found.R))
    assert_same_bits(qr(a, "complete", pivoting=True).R[:5], found.R)


def test_matrices_of_a_batch_have_their_own_order(multiple, dtype, rng):
    """Short stages of one matrix are those of all; the factors are right all the same."""
    a = mdqr.random.normal((3, 6, 5), precision=multiple, dtype=dtype, rng=rng)
    a[0] = cases.scaled(a[0], 0, -30)
    a[1, :, 3] = a[1, :, 2]
    Q, R, P = qr(a, pivoting=True)
    for place in range(3):
        accept(a[place], Q[place], R[place], P[place])


def test_zero_columns_keep_their_order(multiple):
    a = mdqr.zeros((4, 6), precision=multiple)
    a[:, 3] = 1.0
    _, R, P = qr(a, pivoting=True)
    assert P.tolist() == [3, 0, 1, 2, 4, 5]
    assert R.to_numpy()[0].tolist() == [2.0] + 5 * [0.0]


@pytest.mark.parametrize("width", [1, 3, 100])
def test_every_tile_width(multiple, width, rng):
    a = cases.random(19, 13, multiple, float, rng)
    accept(a, *qr(a, pivoting=True, tile=width))


def test_lengths_that_cancel_are_measured_again(multiple, monkeypatch):
    """Downdated lengths in float64 alone take the wrong column (Drmac and Bujanovic 2008)."""
    small = 2.0**-40
    a = mdqr.zeros((4, 3), precision=multiple)
    a[0] = mdqr.array([2.0, 1.0, 1.0], precision=multiple)
    a[1, 1], a[2, 2] = small, 1.5 * small
    assert qr(a, "r", pivoting=True)[1].tolist() == [0, 2, 1]
    monkeypatch.setattr(pivoted, "_SHORTEST", 0.0)
    assert qr(a, "r", pivoting=True)[1].tolist() == [0, 1, 2]


def test_pivots_of_doubles_are_those_of_their_factors(rng):
    """An order found in dd for LAPACK's factors was wrong where cancellation leaves its errors."""
    a = np.ones((7, 7))
    a[:3] = rng.standard_normal((3, 7))
    a[2, 3:5] = 1e46, 3e51
    a = mdqr.array(a, precision=mdqr.d)
    accept(a, *qr(a, pivoting=True))


def test_kahan(multiple):
    """No diagonal entry is small, one singular value is: said in the docs, and so it is."""
    n = 40
    a = kahan(n, 0.3, multiple)
    R, P = qr(a, "r", pivoting=True)
    assert P.tolist() == list(range(n))
    least = float(svdvals(a)[-1])
    assert float(R[-1, -1]) > 100 * least


def kahan(n, c, precision):
    """Rows scaled by powers of s, columns a little shrunk so that none is interchanged."""
    s = (1 - c * c) ** 0.5
    a = np.triu(np.full((n, n), -c), 1) + np.eye(n)
    a = s ** np.arange(n)[:, None] * a * (1 - 2.0**-9) ** np.arange(n)
    return mdqr.array(a, precision=precision)


def test_what_is_not_finite(multiple):
    a = mdqr.ones((3, 3), precision=multiple)
    a[1, 2] = np.nan
    with pytest.raises(LinAlgError, match="row 1, column 2 of a is NaN or infinite"):
        qr(a, pivoting=True)
    _, R, P = qr(a, pivoting=True, check=False)
    assert np.isnan(R.to_numpy()).any()
    assert sorted(P.tolist()) == [0, 1, 2]
    a[1, 2] = np.inf  # without a warning of NumPy's
    assert np.isnan(qr(a, "r", pivoting=True, check=False)[0].to_numpy()).any()


def test_progress_counts_columns(multiple, rng):
    seen = []
    qr(cases.random(9, 6, multiple, float, rng), pivoting=True, progress=lambda *x: seen.append(x))
    assert seen[-1] == ("factor", 6, 6)


def test_columns_of_nearly_equal_length_keep_their_order(multiple):
    """The last bits of products by a BLAS would decide; a column that is longer comes first."""
    a = mdqr.eye(5, precision=multiple) * np.array([1, 1 + 2.0**-30, 1 + 2.0**-50, 1.25, 1])
    assert qr(a, "r", pivoting=True)[1].tolist() == [3, 0, 1, 2, 4]
