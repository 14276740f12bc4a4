"""Least squares by numerical rank: shortest and basic solutions, their bounds, what is left out."""

from __future__ import annotations

import warnings
from fractions import Fraction

import linalg_cases as cases
import numpy as np
import pytest
import rank_cases
from hypothesis import given
from hypothesis import strategies as st

import mdqr
from mdqr._precision import PRECISIONS
from mdqr.linalg import LinAlgError, RankInfo, lstsq, null_space, pinv
from mdqr.testing import assert_same_bits


@given(
    st.sampled_from(PRECISIONS),
    st.sampled_from([float, complex]),
    st.integers(1, 7),
    st.integers(1, 7),
    st.integers(0, 7),
    st.booleans(),
    st.integers(0, 2**32 - 1),
)
def test_shortest_solutions_of_exact_rank(precision, dtype, m, n, rank, weighted, seed):
    """Of products of integers: every component within its bound, and nearly all digits."""
    rng, rank = np.random.default_rng(seed), min(rank, m, n)
    x, y = rank_cases.factors(m, n, rank, dtype, rng)
    a = mdqr.zeros((m, n), precision=precision, dtype=dtype)
    a = rank_cases.product(x, y, precision) if rank else a
    b = mdqr.random.normal((m, 2), precision=precision, dtype=dtype, rng=rng)
    weights = rng.integers(1, 9, m).astype(float) if weighted else np.ones(m)
    found = lstsq(a, b, rtol=1e-10, weights=weights if weighted else None)
    if found.rank != rank:  # of small integers, whose factors depend on each other
        return
    wanted = rank_cases.shortest(x, y, weights, b) if rank else (np.full((n, 2), Fraction(0)),) * 2
    error = rank_cases.errors(found.x, wanted)
    assert (error <= found.info.error_bound).all()
    assert (found.info.error_bound <= 1e4 * precision.eps * abs(found.x.to_numpy()).max()).all()
    assert found.info.distance <= 20 * n * precision.eps * float(mdqr.linalg.norm(a)) * 3
    left = b - a @ found.x
    squares = (weights[:, None] * abs(left) ** 2).sum(axis=0)
    scale = (weights[:, None] * abs(b) ** 2).sum(axis=0)
    assert (abs(squares - found.residuals) <= 1e3 * precision.eps * scale).all()


def test_basic_solutions(precision, dtype, rng):
    x, y = rank_cases.factors(9, 7, 4, dtype, rng)
    a, b = (
        rank_cases.product(x, y, precision),
        mdqr.random.normal(9, precision=precision, dtype=dtype, rng=rng),
    )
    found = lstsq(a, b, rtol=1e-10, basic=True)
    first = found.info.pivots[:4]
    alone = lstsq(a[:, first], b)
    assert found.rank == 4
    assert set(np.flatnonzero(found.x.to_numpy())) == set(first)
    error = abs(found.x[first] - alone.x).to_numpy()
    assert (error <= alone.info.error_bound + found.info.error_bound[first]).all()
    short = lstsq(a, b, rtol=1e-10)
    assert float(mdqr.linalg.norm(short.x)) < float(mdqr.linalg.norm(found.x))
    assert abs(float(short.residuals[0] / found.residuals[0]) - 1) < 1e-10


def test_basic_solutions_of_fewer_equations(multiple, rng):
    a = cases.random(3, 8, multiple, float, rng)
    b = cases.random(3, 1, multiple, float, rng)
    found = lstsq(a, b, rtol=0, basic=True)
    assert (found.x.to_numpy() != 0).sum() == found.rank == 3
    assert float(abs(a @ found.x - b).max()) <= 1e4 * multiple.eps
    # The shortest one is that of full rank.
    full, short = lstsq(a, b), lstsq(a, b, rtol=0)
    assert (abs(full.x - short.x).to_numpy() <= 2 * short.info.error_bound).all()


def test_full_rank(multiple, dtype, rng):
    a = cases.random(8, 5, multiple, dtype, rng)
    b = mdqr.random.normal(8, precision=multiple, dtype=dtype, rng=rng)
    found, full = lstsq(a, b, rtol=1e-20), lstsq(a, b)
    assert isinstance(found.info, RankInfo)
    assert (found.rank, found.info.distance) == (5, 0.0)
    assert (abs(found.x - full.x).to_numpy() <= 8 * multiple.eps * abs(full.x).to_numpy()).all()
    assert found.residuals.shape == full.residuals.shape
    assert found.x.precision is multiple


def test_the_tolerance_is_a_choice(multiple):
    """Singular values of a Hilbert matrix: what is left out is said, and no default leaves out."""
    i = mdqr.arange(1, 11, precision=multiple)
    hilbert, one = 1 / (i[:, None] + i - 1), mdqr.ones(10, precision=multiple)
    b = hilbert @ one
    found = lstsq(hilbert, b, rtol=1e-6)
    values = mdqr.linalg.svdvals(hilbert)
    assert found.rank == int((values > 1e-6 * values[0]).sum()) == 6
    assert float(values[6]) <= found.info.distance <= 100 * float(values[6])
    # b is that of a matrix at this distance, which changes x by no more than the condition.
    assert float(mdqr.linalg.norm(hilbert @ found.x - b)) <= 10 * found.info.distance
    full = lstsq(hilbert, b)
    assert full.rank == 10
    assert float(abs(full.x - one).max()) < 1e15 * multiple.eps
    assert lstsq(hilbert, b, rtol=0).rank == 10


def test_batches_of_several_ranks(multiple, rng):
    a = mdqr.random.normal((2, 2, 6, 4), precision=multiple, rng=rng)
    a[0, 0, :, 2] = a[0, 0, :, 1]
    a[1, 0] = 0
    a[1, 1, :, 1:] = 0
    b = mdqr.random.normal((6, 3), precision=multiple, rng=rng)
    found = lstsq(a, b, rtol=1e-10)
    assert found.rank.tolist() == [[3, 4], [0, 1]]
    assert found.x.shape == found.info.digits.shape == (2, 2, 4, 3)
    assert found.info.pivots.shape == (2, 2, 4)
    for place in np.ndindex(2, 2):
        one = lstsq(a[place], b, rtol=1e-10)
        assert_same_bits(found.x[place], one.x)
        assert found.info.condition[place] == one.info.condition
    b = b[:, 0]
    assert lstsq(a, b, rtol=1e-10).x.shape == (2, 2, 4)
    assert lstsq(a[:0], b, rtol=1e-10).x.shape == (0, 2, 4)


def test_float64_data_in_a_higher_precision():
    """The digits of the answer are those of the data as stored."""
    a, b = np.array([[1.0, 2.0], [0.1, 0.2], [3.0, 6.0]]), np.array([1.0, 0.3, 2.0])
    found = lstsq(a, b, rtol=1e-12, precision=mdqr.od)
    assert found.rank == 1
    assert found.x.precision is mdqr.od
    x = cases.fractions(mdqr.array(a[None, :, :1], precision=mdqr.d))
    y = np.array([[[1, 2]]], dtype=object)
    wanted = rank_cases.shortest(x, y, np.ones(3), mdqr.array(b[:, None], precision=mdqr.d))
    error = rank_cases.errors(found.x[:, None], wanted)[:, 0]
    assert (error <= found.info.error_bound).all()
    assert found.info.digits.min() > 120


def test_bad_arguments(multiple):
    a, b = mdqr.ones((3, 2), precision=multiple), mdqr.ones(3, precision=multiple)
    with pytest.raises(ValueError, match="basic=True wants rcond"):
        lstsq(a, b, basic=True)
    for wrong in (np.nan, np.inf, "1", [0.1]):
        with pytest.raises(ValueError, match="rcond must be None or a finite number"):
            lstsq(a, b, rtol=wrong)
    for options in ({"max_condition": np.inf}, {"verified": True}, {"data_error": {"a_rtol": 0.1}}):
        with pytest.raises(ValueError, match="rcond chooses a rank"):
            lstsq(a, b, rtol=0.1, **options)
    with pytest.raises(ValueError, match="weights must have shape"):
        lstsq(a, b, rtol=0.1, weights=[1.0, 2.0])
    with pytest.raises(LinAlgError, match="depends on the other columns"):
        lstsq(a, b)
    a[1, 1] = np.nan
    with pytest.raises(LinAlgError, match="row 1, column 1 of a is NaN or infinite"):
        lstsq(a, b, rtol=0.1)


def test_nothing_to_solve(multiple):
    for shape in ((0, 3), (3, 0)):
        found = lstsq(
            mdqr.zeros(shape, precision=multiple), mdqr.ones(shape[0], precision=multiple), rtol=0
        )
        assert found.rank == 0
        assert found.x.to_numpy().tolist() == [0.0] * shape[1]


def test_weights_of_zero_leave_rows_out(multiple, rng):
    x, y = rank_cases.factors(7, 4, 2, float, rng)
    a, b = rank_cases.product(x, y, multiple), mdqr.random.normal(7, precision=multiple, rng=rng)
    found = lstsq(a, b, rtol=1e-10, weights=[1, 1, 1, 1, 1, 0, 0])
    wanted = lstsq(a[:5], b[:5], rtol=1e-10)
    assert (abs(found.x - wanted.x).to_numpy() <= 2 * wanted.info.error_bound + 1e-300).all()


@given(
    st.sampled_from(PRECISIONS),
    st.sampled_from([float, complex]),
    st.tuples(*3 * [st.integers(1, 6)]),
    st.sampled_from([0, -600, -850, 400]),
    st.sampled_from([1e-10, 0]),
    st.integers(0, 2**32 - 1),
)
def test_pseudoinverses_of_exact_rank(precision, dtype, sizes, power, rtol, seed):
    """Of products of integers; singular values near 2**-850 had no digits of od left."""
    m, n, rank = sizes[0], sizes[1], min(sizes)
    rank = min(m, n) if rtol == 0 else rank
    x, y = rank_cases.factors(m, n, rank, dtype, np.random.default_rng(seed))
    a = rank_cases.product(x, y, precision)
    s = mdqr.linalg.svdvals(a).to_numpy()
    if s[rank - 1] <= 1e-6 * s[0]:
        return
    found = pinv(a * 2.0**power, rtol=rtol)
    found = found * 2.0 ** (power // 2) * 2.0 ** (power // 2)
    one = mdqr.eye(m, precision=precision, dtype=dtype)
    error = rank_cases.errors(found, rank_cases.shortest(x, y, np.ones(m), one))
    bound = 300 * min(m, n) * precision.eps * s[0] / s[rank - 1] ** 2
    assert error.max() <= bound + 2.0 ** (power - 1070)


def test_pseudoinverses_beyond_the_largest_double(multiple):
    """They were infinite, or NaN."""
    with pytest.raises(LinAlgError, match="of the pseudoinverse is beyond the largest double"):
        pinv(mdqr.array([[1e-310, 0], [0, 1]], precision=multiple), 0.0)
    with pytest.raises(LinAlgError, match="of the pseudoinverse is beyond the largest double"):
        pinv(mdqr.full((2, 3), 1e-310, precision=multiple), 1e-9)


def test_weights_and_entries_of_far_sizes(multiple, rng):
    """Roots of weights times entries under- or overflowed: rank 0, or an error about `a`."""
    x, y = rank_cases.factors(6, 4, 2, float, rng)
    a, b = rank_cases.product(x, y, multiple), mdqr.random.normal(6, precision=multiple, rng=rng)
    weights = np.arange(1.0, 7.0)
    wanted = lstsq(a, b, rtol=1e-10, weights=weights)
    for of_a, of_weights in ((-700, -1000), (600, 1000), (-900, 1000), (-1000, 0)):
        # Of more limbs the last ones of factors underflow: bounds tell, and so does a warning.
        with warnings.catch_warnings():
            if multiple.limbs > 8:
                warnings.simplefilter("ignore", mdqr.PrecisionWarning)
            found = lstsq(a * 2.0**of_a, b, rtol=1e-10, weights=weights * 2.0**of_weights)
        assert found.rank == wanted.rank == 2
        half = 2.0 ** (of_a // 2)
        error = abs(found.x * half * half - wanted.x).to_numpy()
        bound = np.ldexp(found.info.error_bound, of_a)
        assert (error <= bound + wanted.info.error_bound).all()
    large = np.array([[1.5e308, -1.5e308], [1.5e308, 1.5e308]])
    found = lstsq(large, [1e308, 1e308], rtol=1e-10, precision=multiple)
    assert (found.rank, found.x.to_numpy().round(9).tolist()) == (2, [0.666666667, 0.0])


def test_zero_weights_of_fewer_equations(multiple, rng):
    """Equations of a deficient matrix do not all hold, so that weights count."""
    x, y = rank_cases.factors(3, 5, 2, float, rng)
    a, b = rank_cases.product(x, y, multiple), mdqr.random.normal(3, precision=multiple, rng=rng)
    found = lstsq(a, b, rtol=1e-10, weights=[1, 0, 2])
    wanted = lstsq(a[::2], b[::2], rtol=1e-10, weights=[1, 2])
    assert found.rank == 2
    assert (abs(found.x - wanted.x).to_numpy() <= 2 * wanted.info.error_bound).all()


def test_truncation_by_default_is_said():
    """Float64 entries count as rounded in pinv and null_space; values below that may be exact."""
    a = np.array([[1.0, 1.0], [1.0, 1.0 + 2.0**-52]])
    for function in (pinv, null_space):
        with pytest.warns(
            mdqr.PrecisionWarning, match="1 singular value is below the rounding error"
        ):
            function(a, precision=mdqr.qd)
        function(a, 0.0, precision=mdqr.qd)
        function(a, 1e-9, precision=mdqr.qd)
        function(mdqr.array(a, precision=mdqr.qd))
