"""Least squares and linear systems: rank, `max_condition`, and what is refused."""

from __future__ import annotations

import linalg_cases as cases
import numpy as np
import pytest

import mdqr
from mdqr.linalg import lstsq, null_space, pinv, qr, qr_factor, solve
from mdqr.testing import assert_close, assert_same_bits


def test_dependent_columns_raise_with_the_column(precision, rng):
    a = np.round(rng.standard_normal((12, 5)) * 2**20)
    a[:, 3] = a[:, 1] + a[:, 2] - 2 * a[:, 0]
    a = mdqr.array(a, precision=precision)
    with pytest.raises(np.linalg.LinAlgError, match="rank deficient: column 3 depends on the oth"):
        lstsq(a, np.ones(12))
    with pytest.raises(np.linalg.LinAlgError, match="solve: a is singular: column 3 depends"):
        solve(a[:5], np.ones(5))
    twice = mdqr.concatenate([a[:, :3], a[:, :3]], axis=1)
    with pytest.raises(np.linalg.LinAlgError, match=r"rank deficient: column [345] depends"):
        lstsq(twice, np.ones(12))
    good = mdqr.array(rng.standard_normal((12, 5)), precision=precision)
    with pytest.raises(np.linalg.LinAlgError, match=r"column 3 depends .*matrix 1 of the batch"):
        lstsq(mdqr.stack([good, a]), np.ones(12))


def test_zero_columns_raise_with_the_column(precision):
    a = mdqr.ones((5, 3), precision=precision)
    a[:, 1] = 0.0
    a[1, 0] = 2.0
    with pytest.raises(np.linalg.LinAlgError, match="rank deficient: column 1 is zero"):
        lstsq(a, np.ones(5))
    with pytest.raises(np.linalg.LinAlgError, match=r"^solve: a is singular: column 1 is zero$"):
        solve(a[:3], np.ones(3))


def test_max_condition(multiple, rng):
    cond = 1e10
    a = cases.random(12, 5, multiple, float, rng, cond=cond)
    b = cases.random(12, 1, multiple, float, rng)
    assert lstsq(a, b, max_condition=1e13).rank == 5
    assert lstsq(a, b, max_condition=np.inf).rank == 5
    with pytest.raises(np.linalg.LinAlgError, match=r"column . depends.* max_condition=1e\+07"):
        lstsq(a, b, max_condition=1e7)
    for wrong in (-1.0, 0.5, np.nan, "1"):
        with pytest.raises(ValueError, match="max_condition must be None or at least 1"):
            lstsq(a, b, max_condition=wrong)


@pytest.mark.parametrize("call", [lstsq, np.linalg.lstsq])
def test_rcond_is_the_tolerance_of_numpy(call, precision, rng):
    """It refused matrices, where NumPy's truncates: rank 3 of condition 2.8e4 and rcond 1e-3."""
    u, _ = np.linalg.qr(rng.standard_normal((6, 4)))
    v, _ = np.linalg.qr(rng.standard_normal((4, 4)))
    a = u * [1.0, 0.5, 0.1, 2.0**-15] @ v.T
    b = rng.standard_normal(6)
    wanted = np.linalg.lstsq(a, b, rcond=1e-3)
    found = call(mdqr.array(a, precision=precision), b, rcond=1e-3)
    assert found[2] == wanted[2] == 3
    # What column pivoting and the SVD leave out differs by about its size over that of the rest.
    assert abs(found[0].to_numpy() - wanted[0]).max() < 32 * 2.0**-15 * abs(wanted[0]).max() / 0.1
    assert call(mdqr.array(a, precision=precision), b, rcond=-1)[2] == 4
    assert call(mdqr.array(a, precision=precision), b, rcond=0)[2] == 4


def test_rcond_and_rtol_are_one_option(multiple, rng):
    a = cases.random(6, 3, multiple, float, rng)
    b = cases.random(6, 1, multiple, float, rng)
    one, other = lstsq(a, b, 0.5), lstsq(a, b, rtol=0.5)
    assert mdqr.array_equal(one.x, other.x)
    assert one.rank == other.rank
    for call, operands in ((lstsq, (a, b)), (pinv, (a,)), (null_space, (a,))):
        with pytest.raises(ValueError, match="two names for one tolerance"):
            call(*operands, rcond=0.5, rtol=0.5)
    assert null_space(a, rtol=2.0).shape == (3, 3)


def test_rounded_data_of_low_rank_warn(rng):
    """float64 entries that agree to 1e-15: right for the entries as given, and said so."""
    a = rng.standard_normal((12, 5))
    a[:, 3] = a[:, 1] + a[:, 2] + 1e-15 * a[:, 0]
    b = rng.standard_normal(12)
    with pytest.warns(mdqr.PrecisionWarning, match="numerical rank 4 of 5"):
        fit = lstsq(a, b, precision=mdqr.qd)
    assert fit.rank == 4
    wide = mdqr.array(a, precision=mdqr.qd)
    x, _, _ = cases.rational_solution(wide, mdqr.array(b, precision=mdqr.qd).reshape(-1, 1))
    assert_close(fit.x, x[:, 0], ulps=4)
    # Entries that are qd numbers, or said to be exact, determine x.
    for call in ((wide, b), (a, b, 0)):
        assert lstsq(*call, precision=mdqr.qd).rank == 5


@pytest.mark.parametrize("function", [lstsq, solve])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_not_finite_input_names_the_column(precision, function, bad):
    a = mdqr.eye(4, precision=precision)
    a[1, 2] = bad
    name = function.__name__
    with pytest.raises(np.linalg.LinAlgError, match=f"{name}: the entry in row 1, column 2 of a"):
        function(a, np.ones(4))
    b = np.ones((4, 2))
    b[3, 1] = bad
    with pytest.raises(np.linalg.LinAlgError, match=f"{name}: the entry in row 3, column 1 of b"):
        function(mdqr.eye(4, precision=precision), b)


@pytest.mark.parametrize("function", [lstsq, solve, qr, qr_factor])
def test_out_of_memory_says_what_was_wanted(function):
    """A broadcast view stands for a matrix beyond any address space."""
    n = 10**9
    huge = mdqr.from_limbs(np.broadcast_to(1.0, (1, n, n)), normalize=False)
    message = rf"^{function.__name__}: no memory for about [\d.e+]+ GiB; take .* lower precision$"
    with pytest.raises(MemoryError, match=message):
        function(huge, *([huge[0]] if function in (lstsq, solve) else []))


@pytest.mark.parametrize("function", [lstsq, solve])
def test_warnings_point_at_the_caller(function):
    a = mdqr.array([[1.0, 1.0], [1.0, 1.0]], precision=mdqr.dd) / 3
    a[0, 1] = a[0, 0] * (1 + mdqr.array(mdqr.dd.eps, precision=mdqr.dd))
    with pytest.warns(mdqr.PrecisionWarning) as caught:
        function(a, np.ones(2))
    assert {warning.filename for warning in caught} == {__file__}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weights": -np.ones(3)}, "weights must be finite and not negative"),
        ({"weights": np.full(3, np.inf)}, "weights must be finite and not negative"),
        ({"weights": np.ones(2)}, r"weights must have shape \(3,\); got \(2,\)"),
        ({"weights": 1j * np.ones(3)}, "weights must be real"),
        ({"method": "svd"}, 'method must be "auto", "householder" or "refine"; got \'svd\''),
        ({"precision": "xd"}, "precision must be one of"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        lstsq(mdqr.eye(3, precision=mdqr.dd), np.ones(3), **options)


class Stranger:
    """An array with a dtype that is none of NumPy's, as torch's."""

    dtype = "stranger.float64"

    def __init__(self, values):
        self.values = np.asarray(values)

    def __array__(self, dtype=None, copy=None):
        return self.values


def test_array_likes_of_foreign_dtypes(precision, rng):
    a, b = rng.standard_normal((5, 3)), rng.standard_normal(5)
    options = {"precision": precision}
    fits = [lstsq(*pair, **options) for pair in ((Stranger(a), Stranger(b)), (a, b))]
    assert_same_bits(fits[0].x, fits[1].x)
    np.testing.assert_array_equal(fits[0].info.error_bound, fits[1].info.error_bound)
    assert_same_bits(qr(Stranger(a), "r", **options), qr(a, "r", **options))
    assert qr(Stranger(a), "r").precision is mdqr.d
    # The entries of an integer array are exact.
    assert lstsq(Stranger([[1, 1], [1, 2], [1, 4]]), [1, 2, 3], **options).rank == 2
    with pytest.raises(TypeError, match="exact numbers have no precision of their own"):
        qr(Stranger(np.array([["1"]])))


def test_lists_that_contain_themselves():
    endless = []
    endless.append(endless)
    for options in ({}, {"precision": mdqr.dd}):
        with pytest.raises(ValueError, match="does a list contain itself"):
            lstsq(endless, np.ones(3), **options)


def test_progress_must_be_callable():
    with pytest.raises(TypeError, match=r"^lstsq: progress must be .*callable.*got int"):
        lstsq(mdqr.eye(3, precision=mdqr.dd), np.ones(3), progress=0)


@pytest.mark.parametrize(
    ("function", "a", "b", "message"),
    [
        (lstsq, np.ones((3, 2)), np.ones(4), r"b must have 3 rows, as a has; got shape \(4,\)"),
        (lstsq, np.ones(3), np.ones(3), "a must have at least two dimensions"),
        (lstsq, np.ones((2, 3, 2)), np.ones((3, 3, 1)), "do not broadcast to one batch"),
        (solve, np.ones((3, 2)), np.ones(3), r"a must be square; got shape \(3, 2\): use lstsq"),
        (solve, np.eye(3), np.ones((2, 3)), r"b must have 3 rows.*only a 1-D b is a vector"),
    ],
)
def test_bad_shapes(function, a, b, message):
    with pytest.raises(ValueError, match=message):
        function(mdqr.array(a, precision=mdqr.dd), b)
