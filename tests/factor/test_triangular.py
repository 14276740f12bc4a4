"""Triangular systems: backward error of substitution, SciPy's arguments, bad input."""

from __future__ import annotations

from fractions import Fraction

import linalg_cases as cases
import numpy as np
import pytest
import scipy.linalg
from each_case import each_case

import mdqr
from mdqr.linalg import solve_triangular
from mdqr.testing import assert_same_bits

SIZES = [2, 37]


def triangular(n, precision, dtype, rng, lower=False):
    """A well-conditioned triangle with rubbish in the other one."""
    a = cases.random(n, n, precision, dtype, rng)
    a = a + 2.0 * mdqr.eye(n, precision=precision)
    rubbish = np.triu(np.ones((n, n)), 1) if lower else np.tril(np.ones((n, n)), -1)
    a[rubbish.astype(bool)] = np.nan
    return a


def check_backward_error(t, x, b, op):
    """``abs(b - op(a) x) <= (n + 16) eps abs(op(a)) abs(x)`` in every entry, exactly."""
    exact = getattr(cases.Exact.of(t), op) if op != "N" else cases.Exact.of(t)
    solution = cases.Exact.of(x)
    residual = (cases.Exact.of(b) - exact @ solution).moduli()
    allowed = exact.moduli() @ solution.moduli()
    # A complex product of moduli is at most sqrt(2) of its parts, a quotient errs by 10 eps.
    factor = (t.shape[0] + 16) * (2 if x.is_complex else 1)
    assert residual.within(factor * Fraction(x.precision.eps), allowed)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("trans", ["N", "T", "C"])
def test_backward_error(precision, dtype, n, lower, trans, rng):
    a = triangular(n, precision, dtype, rng, lower)
    b = cases.random(n, 3, precision, dtype, rng)
    x = solve_triangular(a, b, trans, lower)
    t = mdqr.tril(a) if lower else mdqr.triu(a)
    check_backward_error(t, x, b, "H" if trans == "C" else trans)


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("trans", [0, 1, 2])
def test_unit_diagonal_is_not_read(precision, dtype, lower, trans, rng):
    n = 12
    a = triangular(n, precision, dtype, rng, lower)
    a[np.arange(n), np.arange(n)] = np.nan
    b = cases.random(n, 2, precision, dtype, rng)
    x = solve_triangular(a, b, trans, lower, unit_diagonal=True)
    t = mdqr.tril(a, -1) if lower else mdqr.triu(a, 1)
    check_backward_error(t + mdqr.eye(n, precision=precision), x, b, ("N", "T", "H")[trans])


# The rows and columns of a triangle times powers of two: the limbs of x follow exactly.
@pytest.mark.parametrize(("rows", "columns"), [(-9, 0), (9, 0), (0, -9), (0, 9), (9, -9)], ids=str)
def test_graded_systems(precision, dtype, rows, columns, rng):
    a = mdqr.triu(triangular(35, precision, dtype, rng))
    most = cases.room(precision) // 35
    rows, columns = (max(-most, min(each, most)) for each in (rows, columns))
    graded = cases.scaled(a, rows, columns)
    b = cases.random(35, 1, precision, dtype, rng)
    x = solve_triangular(graded, b)
    check_backward_error(graded, x, b, "N")


@pytest.mark.parametrize("exponent", [-900, 900])
def test_the_ends_of_the_range(precision, dtype, exponent, rng):
    a = mdqr.triu(triangular(20, precision, dtype, rng))
    b = cases.random(20, 1, precision, dtype, rng)
    x = solve_triangular(a, b)
    half = 2.0 ** (exponent // 2)
    extreme = solve_triangular(a * half * half, b * half * half)
    if exponent > 0 or precision <= mdqr.dd:
        assert_same_bits(extreme, x)
    else:
        # Below tiny the entries lose their last limbs: 2**-1074 against 2**-900.
        assert abs((extreme - x).to_numpy()).max() <= 2.0**-140


def test_a_diagonal_far_below_its_row(multiple):
    a = mdqr.array([[2.0**-1000, 2.0**1000], [0.0, 1.0]], precision=multiple)
    b = mdqr.array([2.0**1000, 1.0], precision=multiple)
    assert solve_triangular(a, b).to_numpy().tolist() == [0.0, 1.0]


@each_case("trans", [0, 1, 2, "N", "T", "C"])
@each_case("lower", [False, True])
def test_arguments_are_those_of_scipy(precision, dtype, trans, lower, rng):
    real = rng.standard_normal((6, 6)) + 4 * np.eye(6)
    a = real if dtype is float else real + 1j * rng.standard_normal((6, 6))
    b = rng.standard_normal((6, 2))
    found = solve_triangular(mdqr.array(a, precision=precision), b, trans, lower)
    wanted = scipy.linalg.solve_triangular(a, b, trans=trans, lower=lower)
    # The condition of a is below 20, its backward error in float64 below 6 eps.
    assert np.allclose(found.to_numpy(), wanted, rtol=0, atol=20 * 6 * 2.0**-52 * abs(wanted).max())


def test_only_one_dimension_is_a_vector(precision, rng):
    a = np.triu(rng.standard_normal((2, 4, 4))) + 3 * np.eye(4)
    a = mdqr.array(a, precision=precision)
    b = mdqr.array(rng.standard_normal((2, 4, 3)), precision=precision)
    x = solve_triangular(a, b)
    assert x.shape == (2, 4, 3)
    assert solve_triangular(a, b[0, :, 0]).shape == (2, 4)
    assert solve_triangular(a[0], b).shape == (2, 4, 3)
    for i in range(2):
        assert_same_bits(x[i], solve_triangular(a[i], b[i]))
    with pytest.raises(ValueError, match="b must have 4 rows"):
        solve_triangular(a, b[:, 0])


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (4, 0)], ids=str)
def test_empty(precision, shape):
    a = mdqr.eye(shape[0], precision=precision)
    x = solve_triangular(a, mdqr.zeros(shape, precision=precision))
    assert x.shape == shape


def test_precisions_mix(rng):
    a = np.triu(rng.standard_normal((5, 5))) + 3 * np.eye(5)
    b = mdqr.array(rng.standard_normal(5), precision=mdqr.od) / 3
    x = solve_triangular(a, b)
    assert x.precision is mdqr.od
    t = mdqr.array(a, precision=mdqr.od)
    assert_same_bits(x, solve_triangular(t, b))
    short = solve_triangular(a, b, precision="dd")
    assert_same_bits(short, x.astype(precision=mdqr.dd))


@pytest.mark.parametrize("lower", [False, True])
def test_zero_on_the_diagonal_names_the_column(precision, lower):
    a = mdqr.eye(40, precision=precision)
    a[35, 35] = 0.0
    message = "solve_triangular: the matrix is singular: the diagonal entry of column 35 is exactly"
    with pytest.raises(np.linalg.LinAlgError, match=message):
        solve_triangular(a, np.ones(40), lower=lower)
    batch = mdqr.stack([mdqr.eye(40, precision=precision), a])
    with pytest.raises(np.linalg.LinAlgError, match=r"matrix 1 of the batch"):
        solve_triangular(batch, np.ones(40))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_not_finite_input_names_the_column(precision, bad):
    a = mdqr.eye(5, precision=precision)
    a[1, 3] = bad
    with pytest.raises(np.linalg.LinAlgError, match="row 1, column 3 of a is NaN or infinite"):
        solve_triangular(a, np.ones(5))
    assert (solve_triangular(a, np.ones(5), lower=True) == 1).all()
    b = np.ones((5, 2))
    b[2, 1] = bad
    with pytest.raises(np.linalg.LinAlgError, match="row 2, column 1 of b is NaN or infinite"):
        solve_triangular(mdqr.eye(5, precision=precision), b)


def test_overflow_raises(precision):
    a = mdqr.array([[2.0**-600]], precision=precision)
    with pytest.raises(np.linalg.LinAlgError, match="the solution is beyond the largest double"):
        solve_triangular(a, [2.0**600])


@pytest.mark.parametrize(
    ("a", "b", "trans", "message"),
    [
        (np.ones((2, 3)), np.ones(2), 0, r"a must be square; got shape \(2, 3\)"),
        (np.ones(3), np.ones(3), 0, "a must have at least two dimensions"),
        (np.eye(2), np.ones(3), 0, r"b must have 2 rows, as a has; got shape \(3,\)"),
        (np.eye(2), 1.0, 0, "b must have at least two dimensions"),
        (np.eye(2), np.ones(2), 3, 'trans must be 0, 1, 2, "N", "T" or "C"; got 3'),
        (np.eye(2), np.ones(2), True, 'trans must be 0, 1, 2, "N", "T" or "C"; got True'),
        (np.eye(2), np.ones(2), "NT", 'trans must be 0, 1, 2, "N", "T" or "C"; got \'NT\''),
        (np.eye(2), np.ones(2), 1.0, 'trans must be 0, 1, 2, "N", "T" or "C"; got 1.0'),
        (np.eye(2), np.ones(2), "H", 'trans must be 0, 1, 2, "N", "T" or "C"; got \'H\''),
        (np.ones((2, 2, 2)), np.ones((3, 2, 1)), 0, "do not broadcast to one batch"),
    ],
)
def test_bad_arguments(a, b, trans, message):
    with pytest.raises(ValueError, match=message):
        solve_triangular(mdqr.array(a, precision=mdqr.dd), b, trans)


@pytest.mark.parametrize("trans", [0, 1, 2])
def test_integers_of_numpy_say_which_matrix(trans, rng):
    a = triangular(5, mdqr.dd, complex, rng)
    b = cases.random(5, 1, mdqr.dd, complex, rng)
    wanted = solve_triangular(a, b, trans)
    for kind in (np.int64, np.uint8, np.array):
        assert_same_bits(solve_triangular(a, b, kind(trans)), wanted)


@pytest.mark.parametrize("lower", [False, True])
def test_progress_counts_the_rows(precision, lower, rng):
    a = triangular(70, precision, float, rng, lower)
    b = cases.random(70, 1, precision, float, rng)
    calls = []
    x = solve_triangular(a, b, lower=lower, progress=lambda *call: calls.append(call))
    assert_same_bits(x, solve_triangular(a, b, lower=lower))
    assert [stage for stage, _, _ in calls] == ["substitute"] * len(calls)
    done = [count for _, count, _ in calls]
    assert len(done) > 1
    assert done == sorted(set(done))
    assert calls[-1] == ("substitute", 70, 70)
    with pytest.raises(TypeError, match=r"^solve_triangular: progress must be .*callable.*got int"):
        solve_triangular(a, b, lower=lower, progress=3)
