"""Shortest solutions of fewer rows than columns, against exact rational ones."""

from __future__ import annotations

import contextlib
import warnings
from fractions import Fraction

import fake_device
import linalg_cases as cases
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_lstsq import check_bounds

import mdqr
from mdqr._precision import PRECISIONS
from mdqr.linalg import lstsq
from mdqr.testing import assert_close

METHODS = ["refine", "householder"]


def quiet(*arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return lstsq(*arguments, **options)


def random(m, n, precision, rng, cond=100, dtype=float):
    """A matrix of full limbs, with a condition of its rows that the precision can carry."""
    return cases.random(n, m, precision, dtype, rng, cond=cond).T


def widened(a):
    """The real matrices of complex ones: parts of values become values."""
    real, imag = a.real, a.imag
    rows = [mdqr.concatenate([real, -imag], axis=1), mdqr.concatenate([imag, real], axis=1)]
    return mdqr.concatenate(rows)


@given(st.data())
def test_no_bound_is_violated(data):
    """All conditions, graded rows, columns of wild sizes or zeros, and zeros of b."""
    precision = data.draw(st.sampled_from(PRECISIONS))
    m = data.draw(st.integers(1, 6))
    n = data.draw(st.integers(m + 1, m + 5))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    cond = min(10.0 ** data.draw(st.integers(0, 30)), 0.01 / precision.eps)
    a = random(m, n, precision, rng, cond)
    rows, columns = (data.draw(st.sampled_from([0, 3, -40, 100])) for _ in range(2))
    a = cases.scaled(a, rows, columns if n * abs(columns) < 500 else 3)
    b = cases.random(m, 2, precision, float, rng)
    if data.draw(st.booleans()):
        a[:, data.draw(st.integers(0, n - 1))] = 0.0
    if data.draw(st.booleans()):
        b[:, 1] = 0.0
    method = data.draw(st.sampled_from([*METHODS, "auto"]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mdqr.PrecisionWarning)
        # Columns of zeros and of wild sizes leave matrices of any condition.
        with contextlib.suppress(np.linalg.LinAlgError):
            fit = lstsq(a, b, method=method, max_condition=np.inf)
            check_claims(fit, cases.shortest_solution(a, b))


def check_claims(fit, exact):
    """No error is above its bound, and no component has fewer digits than it claims."""
    found = cases.fractions(fit.x).reshape(exact.shape)
    bounds, digits = fit.info.error_bound.ravel(), fit.info.digits.ravel()
    for x, value, bound, right in zip(found.ravel(), exact.ravel(), bounds, digits, strict=True):
        error = abs(x - value)
        assert np.isinf(bound) or error <= Fraction(bound)
        # A digit's hundredth for the rounding of the logarithm.
        assert error <= abs(value) * Fraction(10.0 ** (0.01 - right)) or not right
        assert value or not error or not right


@pytest.mark.parametrize("method", METHODS)
@given(data=st.data())
def test_random_problems_have_all_digits(method, data):
    precision = data.draw(st.sampled_from(PRECISIONS))
    m = data.draw(st.integers(1, 10))
    n = data.draw(st.integers(m + 1, 14))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    # Of one limb, small components lose digits to errors of eps times the condition.
    most = 4 if precision.limbs == 1 else 9 if method == "refine" else 18
    a = random(m, n, precision, rng, 10.0 ** data.draw(st.integers(0, most)))
    b = cases.random(m, data.draw(st.integers(1, 2)), precision, float, rng)
    fit = quiet(a, b, method=method, max_condition=np.inf)
    exact = cases.shortest_solution(a, b)
    # Beside the last rounding there is 2^-8 eps at most.
    assert_close(fit.x, exact, ulps=1)
    check_bounds(fit, exact)
    assert (fit.info.method, fit.info.bound_kind, fit.rank) == (method, "proven", m)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("precision", PRECISIONS[:3])
def test_small_components_have_all_digits(method, precision, rng):
    """Conditions times how much smaller the first unknown is than others are beyond ``1/eps``."""
    cond = precision.eps**-0.5 if method == "householder" else min(1e8, precision.eps**-0.25)
    for _ in range(4):
        a = random(3, 6, precision, rng, cond)
        b = cases.random(3, 2, precision, float, rng)
        x = quiet(a, b, method=method, max_condition=np.inf).x
        b = b[:, 0] - x[0, 0] / x[0, 1] * b[:, 1]
        fit = quiet(a, b, method=method, max_condition=np.inf)
        exact = cases.shortest_solution(a, b[:, None])
        assert_close(fit.x[:, None], exact, ulps=1)
        check_bounds(fit, exact)
        assert fit.info.digits.min() == precision.digits


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("cond", [1e1, 1e8])
def test_complex_problems(precision, method, cond, rng):
    a = random(4, 7, precision, rng, cond, complex)
    b = cases.random(4, 2, precision, complex, rng)
    fit = quiet(a, b, method=method, max_condition=np.inf)
    parts = mdqr.concatenate([b.real, b.imag])
    exact = cases.shortest_solution(widened(a), parts)
    error = np.asarray(mdqr.concatenate([fit.x.real, fit.x.imag]).to_fractions()) - exact
    squares = error[:7] ** 2 + error[7:] ** 2
    bounds = np.vectorize(Fraction, otypes=[object])(fit.info.error_bound)
    assert (squares <= bounds**2).all()
    assert (fit.info.error_bound <= 2 * precision.eps * abs(fit.x).to_numpy()).all()
    # The shortest solution lies in the range of A^H, where x is A^H y.
    assert fit.info.data_digits.shape == (7, 2)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("power", [-540, -200])
def test_columns_of_wild_sizes_keep_all_digits(precision, method, power, rng):
    """Columns are not scaled as those of others are: x is short in the units of the data."""
    power = max(power, -cases.room(precision))
    sizes = 2.0 ** np.array([0, 0, power, power // 2, 0, power // 4])
    a = mdqr.random.normal((3, 6), precision=precision, rng=rng) * sizes
    b = cases.random(3, 1, precision, float, rng)
    fit = quiet(a, b, method=method, max_condition=np.inf)
    assert_close(fit.x, cases.shortest_solution(a, b), ulps=1)
    assert fit.info.digits.min() == precision.digits


def test_rows_of_wild_sizes_change_nothing(precision, rng):
    a, b = random(3, 5, precision, rng), cases.random(3, 1, precision, float, rng)
    wanted = quiet(a, b)
    power = min(300, cases.room(precision))
    factor = 2.0 ** np.array([[-power], [0], [power]])
    found = quiet(a * factor, b * factor)
    mdqr.testing.assert_same_bits(found.x, wanted.x)
    assert found.info.condition == wanted.info.condition


@pytest.mark.parametrize("cond", [1e17, 1e25])
def test_conditions_beyond_float64(multiple, cond, rng):
    a, b = random(4, 7, multiple, rng, cond), np.ones(4)
    with pytest.raises(np.linalg.LinAlgError, match='method="refine" does not show all digits'):
        lstsq(a, b, method="refine")
    fit = quiet(a, b)
    assert fit.info.method == "householder"
    assert fit.info.condition > 0.1 * cond
    exact = cases.shortest_solution(a, mdqr.array(b, precision=multiple).reshape(-1, 1))
    assert_close(fit.x, exact[:, 0], ulps=1)


# The square of the condition is beyond the range of y; x of a side that is a product is not large.
@pytest.mark.parametrize("cond", [1e170, 1e230])
def test_conditions_whose_squares_leave_the_range(cond, rng):
    precision = PRECISIONS[-1]
    a, b = random(4, 6, precision, rng, cond), cases.random(4, 1, precision, float, rng)
    product = a @ cases.random(6, 1, precision, float, rng)
    for right in (b, product):
        with pytest.warns(mdqr.PrecisionWarning):
            fit = lstsq(a, right, max_condition=np.inf)
        check_claims(fit, cases.shortest_solution(a, right))
        # The digits that the condition leaves, less those that bounds of sums of products take.
        assert fit.info.digits.min() > -np.log10(precision.eps * cond) - 40


@pytest.mark.parametrize("shape", [(1, 2), (5, 9), (40, 41), (30, 100)])
def test_as_numpy_in_float64(shape, dtype, rng):
    a, b = (rng.standard_normal(s).astype(dtype) for s in (shape, (shape[0], 3)))
    if dtype is complex:
        a = a + 1j * rng.standard_normal(shape)
    fit = quiet(a, b, precision=mdqr.od)
    theirs, _, rank, values = np.linalg.lstsq(a, b)
    cond = values[0] / values[-1]
    np.testing.assert_allclose(fit.x.to_numpy(), theirs, atol=1e-14 * cond * abs(theirs).max())
    assert fit.rank == rank
    # That of rows scaled by powers of two, estimated from below.
    assert 0.1 * cond < fit.info.condition < 4 * cond


def test_zeros_that_cancellation_makes(precision, dtype):
    """Of exact solutions they are shown to be zero; other components of the column are right."""
    factor = 1 + 1j if dtype is complex else 1
    for a, b, x in (
        ([[1, 1, 0], [0, 1, 1]], [1, -1], [1, 0, -1]),
        ([[1, 1, 1], [1, -1, 0]], [3, 2], [2, 0, 1]),
        ([[3, 0, 1, 0], [0, 2, 0, 5]], [0, 29], [0, 2, 0, 5]),
    ):
        fit = quiet(np.array(a, float) * factor, np.array(b) * factor, precision=precision)
        assert (fit.x == np.array(x)).all()
        assert (fit.info.digits == precision.digits).all()
        assert (fit.info.error_bound[np.array(x) == 0] == 0).all()
        assert (fit.residuals == 0).all()


def test_zeros_that_are_not_shown_have_no_digits(multiple):
    """The second unknown is (y1 - y2) / 3 with y1 = y2, which no number of limbs holds."""
    a = mdqr.array([[3, 1, 0, 1], [0, -1, 3, 1]], precision=multiple) / 3
    with pytest.warns(mdqr.PrecisionWarning, match="about 0 of"):
        fit = lstsq(a, [1, 1])
    check_claims(fit, cases.shortest_solution(a, mdqr.ones((2, 1), precision=multiple)))


def test_zero_columns_and_zero_sides(precision, rng):
    a, b = random(3, 6, precision, rng), cases.random(3, 2, precision, float, rng)
    a[:, 2], b[:, 1] = 0.0, 0.0
    fit = quiet(a, b)
    zeros = np.zeros((6, 2), bool)
    zeros[2], zeros[:, 1] = True, True
    assert ((fit.x.to_numpy() == 0) == zeros).all()
    assert (fit.info.error_bound[zeros] == 0).all()
    assert (fit.info.digits == precision.digits).all()


def test_batches_and_several_sides(precision, dtype, rng):
    a = mdqr.stack([random(3, 5, precision, rng, 10.0**k, dtype) for k in (1, 2, 4)])
    b = cases.random(3, 4, precision, dtype, rng)
    fit = quiet(a, b, max_condition=np.inf)
    assert fit.x.shape == fit.info.digits.shape == fit.info.data_digits.shape == (3, 5, 4)
    assert fit.residuals.shape == (3, 4)
    assert fit.rank.tolist() == [3, 3, 3]
    assert fit.info.condition.shape == (3,)
    for k in range(3):
        for column in range(4):
            one = quiet(a[k], b[:, column], max_condition=np.inf)
            assert_close(fit.x[k, :, column], one.x, ulps=1)
            assert one.x.shape == (5,)
            assert one.residuals.shape == (1,)


def test_residuals_are_what_rounding_leaves(precision, rng):
    a, b = random(4, 6, precision, rng), cases.random(4, 1, precision, float, rng)[:, 0]
    weights = [1.0, 2.0, 1e-200, 1e200]
    fit = quiet(a, b, weights=weights)
    x, rows = (np.asarray(v.to_fractions()) for v in (fit.x, a))
    left = np.asarray(b.to_fractions()) - rows.dot(x)
    exact = sum(Fraction(w) * r**2 for w, r in zip(weights, left, strict=True))
    assert_close(fit.residuals, [exact], ulps=2.0**10)
    mdqr.testing.assert_same_bits(fit.x, quiet(a, b).x)


@pytest.mark.parametrize("method", METHODS)
def test_statistics_without_degrees_of_freedom(precision, dtype, method, rng):
    a = random(3, 5, precision, rng, dtype=dtype)
    b = cases.random(3, 1, precision, dtype, rng)[:, 0]
    info = quiet(a, b, method=method).info
    a[...] = 0.0  # nothing is a view of what was given
    assert np.isnan(info.residual_std.to_numpy())
    assert info.standard_errors().shape == (5,)
    assert np.isnan(info.standard_errors().to_numpy()).all()
    assert info.covariance().shape == (5, 5)
    assert np.isnan(info.covariance().to_numpy()).all()
    assert abs(info.r_squared - 1) <= precision.eps
    assert (info.data_digits > precision.digits - 4).all()
    assert len(info.history) == info.iterations


@pytest.mark.parametrize("shape", [(1, 4), (3, 8), (7, 8)])
@pytest.mark.parametrize("wild", [False, True])
def test_data_digits(shape, wild, rng):
    """Never more than the worst of 100 random data leaves, and hardly fewer."""
    sizes = 10.0 ** rng.integers(-6, 7, shape[1]) if wild else 1.0
    a, b = rng.standard_normal(shape) * sizes, rng.standard_normal(shape[0])
    info = quiet(a, b, precision=mdqr.qd, max_condition=np.inf).info
    seen, exact = np.full(shape[1], np.inf), [mdqr.array(v, precision=mdqr.qd) for v in (a, b)]
    wanted = quiet(*exact, max_condition=np.inf).x
    for _ in range(100):
        moved = (v * (1 + rng.uniform(-1, 1, v.shape) * mdqr.qd(2.0**-53)) for v in exact)
        x = quiet(*moved, max_condition=np.inf).x
        seen = np.minimum(seen, -np.log10(abs((x - wanted) / wanted).to_numpy()))
    assert (info.data_digits <= seen + 0.01).all()
    assert (info.data_digits >= seen - 1.5).all()


def test_entries_that_do_not_determine_x(rng):
    a = rng.standard_normal((2, 5))
    a[1] = a[0] * (1 + 2.0**-50 * rng.integers(0, 3, 5))
    with pytest.warns(mdqr.PrecisionWarning, match="numerical rank 1 of 2"):
        fit = lstsq(a, np.ones(2), precision=mdqr.qd)
    assert fit.rank == 1
    assert not fit.info.data_digits.any()
    assert_close(
        fit.x,
        cases.shortest_solution(*(mdqr.array(v, precision=mdqr.qd) for v in (a, np.ones((2, 1)))))[
            :, 0
        ],
        ulps=4,
    )


def test_dependent_rows_raise_with_the_row(precision, rng):
    a = np.round(rng.standard_normal((5, 9)) * 2**20)
    a[3] = a[1] + a[2] - 2 * a[0]
    with pytest.raises(np.linalg.LinAlgError, match="rank deficient: row 3 depends on the other r"):
        lstsq(mdqr.array(a, precision=precision), np.ones(5))
    a[1] = 0.0
    with pytest.raises(np.linalg.LinAlgError, match="rank deficient: row 1 is zero; leave it out"):
        lstsq(mdqr.array(a, precision=precision), np.ones(5))
    good = random(3, 5, precision, rng, 1e6)
    assert quiet(good, np.ones(3), max_condition=np.inf).rank == 3
    with pytest.raises(np.linalg.LinAlgError, match=r"row . depends"):
        lstsq(good, np.ones(3), max_condition=1e3)
    with pytest.raises(np.linalg.LinAlgError, match=r"row 1 depends .*matrix 1 of the batch"):
        lstsq(mdqr.stack([good[:2], mdqr.stack([good[0], good[0]])]), np.ones(2))


def test_weights_that_are_zero_are_refused():
    with pytest.raises(ValueError, match="weights of fewer rows than columns must be positive"):
        lstsq(np.ones((2, 3)), np.ones(2), weights=[1.0, 0.0], precision=mdqr.dd)


def test_components_at_the_ends_of_the_range(precision):
    a = mdqr.array([["1e-200", "0", "0"], ["0", "1e10", "1e10"]], precision=precision)
    with pytest.raises(np.linalg.LinAlgError, match="the solution is beyond the largest double"):
        lstsq(a, [1e150, 1.0])
    small = mdqr.array([0, 1], precision=precision) * mdqr.array("1e-300", precision=precision)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mdqr.PrecisionWarning)
        fit = lstsq(a, small)
    check_claims(fit, cases.shortest_solution(a, small.reshape(-1, 1)))


@pytest.mark.parametrize(("m", "n", "k"), [(0, 3, 2), (2, 3, 0), (0, 2, 0)])
@pytest.mark.parametrize("method", METHODS)
def test_empty_problems(precision, m, n, k, method):
    fit = quiet(np.ones((m, n)) + np.eye(m, n), np.ones((m, k)), precision=precision, method=method)
    assert fit.x.shape == fit.info.digits.shape == fit.info.data_digits.shape == (n, k)
    assert not fit.x.to_numpy().any()
    assert fit.rank == m


@pytest.mark.parametrize("method", METHODS)
def test_progress(method, rng):
    seen = []
    a = rng.standard_normal((3, 6))
    quiet(a, np.ones(3), precision=mdqr.od, method=method, progress=lambda *call: seen.append(call))
    stages = [stage for stage, _, _ in seen]
    assert list(dict.fromkeys(stages)) == ["factor", "condition", "refine"]
    assert all(total is None or 0 <= done <= total for _, done, total in seen)
    assert seen[-1][1] == seen[-1][2]


@pytest.mark.parametrize("method", METHODS)
def test_devices_are_waited_for_where_that_is_meant(monkeypatch, precision, dtype, method, rng):
    """A stand-in for CuPy, which reads no value outside `Checks`, gives the limbs of the host."""
    problems = [
        (random(3, 6, precision, rng, 100, dtype), cases.random(3, 2, precision, dtype, rng)),
        (mdqr.array([[1, 1, 0], [0, 1, 1]], precision=precision), [1, -1]),
    ]
    problems = [(a, mdqr.array(b, precision=precision)) for a, b in problems]
    wanted = [quiet(a, b, method=method) for a, b in problems]
    digits = [fit.info.data_digits for fit in wanted]
    fake_device.install(monkeypatch)

    def to_device(x):
        return mdqr.MDArray._wrap(fake_device.DeviceArray(x.limbs), x.precision, x.is_complex)

    for (a, b), fit, own in zip(problems, wanted, digits, strict=True):
        found = quiet(to_device(a), to_device(b), method=method)
        assert (fake_device.bare(found.x.limbs) == fit.x.limbs).all()
        assert (fake_device.bare(found.residuals.limbs) == fit.residuals.limbs).all()
        # A BLAS may sum arrays of another alignment in another order.
        np.testing.assert_allclose(found.info.error_bound, fit.info.error_bound, rtol=2.0**-30)
        np.testing.assert_allclose(found.info.data_digits, own, rtol=2.0**-30)


def test_data_errors_that_are_given(rng):
    """Absolute and relative ones, rows and columns of wild sizes; exact data leave all digits."""
    rows, columns = (10.0 ** rng.integers(-9, 10, n) for n in (3, 6))
    a = mdqr.array(rng.standard_normal((3, 6)) * columns * rows[:, None], precision=mdqr.qd)
    b = mdqr.array(rng.standard_normal((3, 2)) * rows[:, None], precision=mdqr.qd)
    assert quiet(a, b, data_error={"a_atol": 0, "b_atol": 0}).info.data_digits.min() == 63
    errors = {"a_rtol": [1e-20] * 6, "b_atol": 1e-22 * rows[:, None]}
    fit = quiet(a, b, data_error=errors, weights=[1.0, 2.0, 1e30])
    seen = np.full(fit.x.shape, np.inf)
    for _ in range(100):
        signs = (rng.choice([-1.0, 1.0], v.shape) for v in (a, b))
        moved = a * (1 + next(signs) * mdqr.qd("1e-20"))
        x = quiet(moved, b + next(signs) * errors["b_atol"]).x
        seen = np.minimum(seen, -np.log10(abs((x - fit.x) / fit.x).to_numpy()))
    assert (fit.info.data_digits <= seen + 0.01).all()
    assert (fit.info.data_digits >= seen - 1.5).all()
