"""Least squares and linear systems against exact rational solutions."""

from __future__ import annotations

import warnings
from fractions import Fraction

import linalg_cases as cases
import mpmath
import numpy as np
import pytest

import mdqr
from mdqr._precision import PRECISIONS
from mdqr.linalg import LstsqResult, lstsq, solve
from mdqr.testing import LSTSQ_PROBLEMS, assert_close, assert_same_bits, lstsq_problem

LINEAR = [name for name in LSTSQ_PROBLEMS if not name.startswith("hilbert")]


def root(value, digits=60):
    with mpmath.workdps(digits):
        return mpmath.sqrt(mpmath.mpf(value.numerator) / value.denominator)


def errors(x, exact):
    return np.abs(cases.fractions(x) - np.asarray(exact).reshape(x.shape))


def check_bounds(fit, exact):
    """No bound and no digit claims too much."""
    found = errors(fit.x, exact)
    bound = np.asarray(fit.info.error_bound)
    assert bound.shape == fit.info.digits.shape == fit.x.shape
    finite = np.isfinite(bound)
    limit = np.frompyfunc(Fraction, 1, 1)(bound[finite])
    assert (found[finite] <= limit).all()
    size = np.abs(np.asarray(exact).reshape(found.shape))
    tenth = np.frompyfunc(lambda d: Fraction(10.0 ** -float(d) * (1 + 1e-12)), 1, 1)
    claims = fit.info.digits > 0
    digits = np.minimum(fit.info.digits, 300)
    assert (found <= size * tenth(digits))[claims].all()


@pytest.mark.parametrize("method", ["refine", "householder"])
@pytest.mark.parametrize("name", LINEAR)
def test_reference_problems(multiple, name, method):
    """Every coefficient within 4 eps of the exact rational solution of the data as held."""
    problem = lstsq_problem(name)
    a = mdqr.array(problem.a, precision=multiple)
    b = mdqr.array(problem.b, precision=multiple)
    fit = lstsq(a, b, method=method)
    x, squares, inverse = cases.rational_solution(a, b.reshape(-1, 1))
    assert_close(fit.x, x[:, 0], ulps=4)
    check_bounds(fit, x)
    assert fit.info.digits.min() == multiple.digits
    assert fit.rank == a.shape[1]
    assert fit.info.method == method
    # From float64, each step gains some 30 of 53 bits a limb, 15 at filip's condition of 6e9.
    most = 3 if method == "householder" else max(32, 4 * multiple.limbs)
    assert 1 <= fit.info.iterations <= most
    assert fit.info.bound_kind == ("estimated" if method == "householder" else "proven")
    assert len(fit.info.history) in (fit.info.iterations, 0 if method == "refine" else -1)
    freedom = a.shape[0] - a.shape[1]
    for found, j in zip(fit.info.standard_errors().to_fractions(), range(a.shape[1]), strict=True):
        wanted = root(squares[0] / freedom * inverse[j])
        with mpmath.workdps(60):
            # R is right to 20 n eps times the condition 5e4, 10 digits were asked for.
            distance = abs(mpmath.mpf(found.numerator) / found.denominator - wanted)
            assert distance <= wanted * mpmath.mpf(10) ** -20 + mpmath.mpf(2.0**-140)


@pytest.mark.parametrize("name", LINEAR)
def test_certified_statistics(multiple, name):
    """Standard errors and residual standard deviation to 10 digits of the certified values."""
    problem = lstsq_problem(name)
    info = lstsq(
        mdqr.array(problem.a, precision=multiple), mdqr.array(problem.b, precision=multiple)
    ).info
    found = [*info.standard_errors().to_mpmath(), info.residual_std.to_mpmath().item()]
    for value, exact in zip(
        found, [*problem.standard_errors(), problem.residual_std()], strict=True
    ):
        # An exact fit leaves what the rounding of decimal data leaves.
        assert abs(value - exact) <= exact * mpmath.mpf(10) ** -10 + 1e-24


@pytest.mark.parametrize("name", LINEAR)
def test_float64_data_in_double(name):
    problem = lstsq_problem(name)
    a, b = (np.array(v, dtype=float) for v in (problem.a, problem.b))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mdqr.PrecisionWarning)
        fit = lstsq(a, b)
    assert fit.x.precision is mdqr.d
    x, _, _ = cases.rational_solution(
        mdqr.array(a, precision=mdqr.d), mdqr.array(b, precision=mdqr.d).reshape(-1, 1)
    )
    assert_close(fit.x, x[:, 0], ulps=4)
    check_bounds(fit, x)


@pytest.mark.parametrize(("order", "good"), [(12, mdqr.dd), (22, mdqr.qd), (43, mdqr.od)], ids=str)
@pytest.mark.parametrize("function", [lstsq, solve])
def test_hilbert(order, good, function):
    """Right as rounded also where the condition is 1/eps; it is said that rounding decides then."""
    exact = np.array([[Fraction(1, i + j + 1) for j in range(order)] for i in range(order)])
    b = exact.sum(axis=1)
    lower = max(p for p in PRECISIONS if p < good)
    for precision in (good, lower):
        a, y = (mdqr.array(value, precision=precision) for value in (exact, b))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = function(a, y)
        x = result.x if function is lstsq else result
        assert_close(x, cases.square_solution(a, y), ulps=4)
        if function is lstsq:
            check_bounds(result, cases.square_solution(a, y))
            assert result.info.digits.min() == precision.digits
        says = "numerical rank" if function is lstsq else "singular to the precision"
        wanted = precision is lower
        assert [says in str(warning.message) for warning in caught] == [True] * wanted


@pytest.mark.parametrize("power", [0, 4, 8, 12, 20, 24, 28])
@pytest.mark.parametrize("residual", [0.0, 1e-12, 1.0])
def test_honest_bounds(power, residual, rng):
    """Conditions from 1 to 1e28 in dd: the error is below the bound, whether warned or not."""
    a = cases.random(14, 6, mdqr.dd, float, rng, cond=10.0**power)
    b = a @ np.ones(6) + residual * cases.random(14, 1, mdqr.dd, float, rng)[:, 0]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit = lstsq(a, b, 0)
    x, _, _ = cases.rational_solution(a, b.reshape(-1, 1))
    check_bounds(fit, x)
    largest = max(abs(x[:, 0]))
    if not caught:
        assert errors(fit.x, x).max() <= 8 * Fraction(mdqr.dd.eps) * largest
    assert 0.01 * 10**power <= fit.info.condition <= 100 * 10**power


@pytest.mark.parametrize("power", [60, 90, 100])
def test_condition_up_to_1e100(power, rng):
    a = cases.random(20, 12, mdqr.od, float, rng, cond=Fraction(10) ** power)
    b = cases.random(20, 2, mdqr.od, float, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mdqr.PrecisionWarning)
        fit = lstsq(a, b)
    x, _, _ = cases.rational_solution(a, b)
    check_bounds(fit, x)
    assert 10.0 ** (power - 2) < fit.info.condition < 10.0 ** (power + 2)
    consistent = a @ np.ones(12)
    x, _, _ = cases.rational_solution(a, consistent.reshape(-1, 1))
    fit = lstsq(a, consistent)
    assert_close(fit.x, x[:, 0], ulps=4)
    check_bounds(fit, x)


@pytest.mark.parametrize(
    ("rows", "columns"), [(0, -20), (0, 20), (-7, 0), (7, 0), (-7, 20)], ids=str
)
def test_scaled_problems(multiple, rows, columns, rng):
    a = cases.scaled(cases.random(16, 7, multiple, float, rng, cond=10), rows, columns)
    b = cases.random(16, 1, multiple, float, rng)
    fit = lstsq(a, b)
    x, _, _ = cases.rational_solution(a, b)
    assert_close(fit.x, x, ulps=4)
    check_bounds(fit, x)


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("size", [1e30, 1e50, 1e130])
def test_residuals_beside_rows_that_hold_exactly(size, weighted, dtype, rng):
    """Of such a row ``b - A x`` has what is missing of x times its length, above all others."""
    m, n, heavy = 40, 6, rng.permutation(40)[:6]
    a = mdqr.random.normal((m, n), dtype=dtype, precision=mdqr.d, rng=rng)
    b = mdqr.random.normal((m, 2), dtype=dtype, precision=mdqr.d, rng=rng)
    factors = np.ones(m)
    factors[heavy] = 2.0 ** np.round(np.log2(size))
    if weighted:
        fit = lstsq(a, b, weights=factors**2)
    else:
        fit = lstsq(a * factors[:, None], b * factors[:, None])
    # Complex problems are real ones of twice the size.
    parts = [mdqr.concatenate([x.real, x.imag]) for x in (a, 1j * a, b)] if a.is_complex else None
    left, right = (a, b) if parts is None else (mdqr.concatenate(parts[:2], axis=1), parts[2])
    weights = np.tile(factors**2, 1 + a.is_complex)
    _, squares, _ = cases.rational_solution(left, right, weights)
    for k in range(2):
        assert fit.residuals.to_fractions()[k] == pytest.approx(squares[k], rel=1e-12)
        wanted, found = root(squares[k] / (m - n)), fit.info.residual_std[k].to_mpmath().item()
        assert abs(found - wanted) <= wanted * 1e-12


@pytest.mark.parametrize("span", [0, 30, 200])
def test_weights_are_taken_exactly(precision, span, rng):
    a = cases.random(15, 5, precision, float, rng, cond=10)
    b = cases.random(15, 2, precision, float, rng)
    weights = rng.uniform(0.5, 2.0, 15) * 2.0 ** rng.integers(-span, span + 1, 15)
    weights[4] = 0.0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            fit = lstsq(a, b, weights=weights)
        except np.linalg.LinAlgError as error:
            # An answer too where the sizes of the weighted rows differ by more than the digits.
            if "rank deficient" not in str(error) or span * 2 <= precision.bits:
                raise
            return
    x, squares, inverse = cases.rational_solution(a, b, weights)
    check_bounds(fit, x)
    assert not caught or span * 2 > precision.bits
    if caught:
        return
    # Normwise for each column: small components of a badly weighted solution are not promised.
    assert (errors(fit.x, x).max(axis=0) <= 4 * Fraction(precision.eps) * abs(x).max(axis=0)).all()
    for k in range(2):
        # Fourteen rows count; the residuals are right to about 20 m eps.
        assert fit.residuals.to_fractions()[k] == pytest.approx(squares[k], rel=1e-12)
        for j in range(5):
            wanted = root(squares[k] / 9 * inverse[j])
            found = fit.info.standard_errors()[j, k].to_mpmath().item()
            assert abs(found - wanted) <= wanted * 1e-10
    with pytest.raises(np.linalg.LinAlgError, match="rank deficient"):
        lstsq(a, b, weights=np.r_[np.ones(4), np.zeros(11)])


def test_weights_in_full_precision(multiple, rng):
    a = cases.random(9, 3, multiple, float, rng, cond=10)
    b = cases.random(9, 1, multiple, float, rng)
    weights = abs(cases.random(9, 1, multiple, float, rng)[:, 0])
    fit = lstsq(a, b, weights=weights)
    x, _, _ = cases.rational_solution(a, b, cases.fractions(weights))
    assert_close(fit.x, x, ulps=4)


def test_complex_problems(precision, rng):
    a = cases.random(13, 5, precision, complex, rng, cond=1e3)
    b = cases.random(13, 2, precision, complex, rng)
    fit = lstsq(a, b, weights=np.linspace(0.5, 2, 13))
    # The same problem with real and imaginary parts apart.
    real, imag = a.real, a.imag
    double = mdqr.concatenate(
        [mdqr.concatenate([real, -imag], axis=1), mdqr.concatenate([imag, real], axis=1)]
    )
    right = mdqr.concatenate([b.real, b.imag])
    x, squares, _ = cases.rational_solution(double, right, np.tile(np.linspace(0.5, 2, 13), 2))
    found = mdqr.concatenate([fit.x.real, fit.x.imag])
    assert errors(found, x).max() <= 4 * Fraction(precision.eps) * abs(x).max()
    assert not fit.residuals.is_complex
    assert not fit.info.standard_errors().is_complex
    for k in range(2):
        assert fit.residuals.to_fractions()[k] == pytest.approx(squares[k], rel=1e-12)


def test_statistics(multiple, rng):
    """Covariance, R squared and their shapes, against float64 formulas of the exact solution."""
    t = np.linspace(-1, 1, 12)
    a64 = np.c_[np.ones(12), t, t**2]
    b64 = np.c_[1 + t + 0.1 * rng.standard_normal(12), np.cos(3 * t)]
    fit = lstsq(mdqr.array(a64, precision=multiple), b64)
    x = np.linalg.lstsq(a64, b64, rcond=None)[0]
    squares = ((b64 - a64 @ x) ** 2).sum(axis=0)
    inverse = np.linalg.inv(a64.T @ a64)
    near = {"rtol": 1e-11, "atol": 1e-13}
    assert np.allclose(fit.residuals.to_numpy(), squares, **near)
    assert np.allclose(fit.info.residual_std.to_numpy(), np.sqrt(squares / 9), **near)
    covariance = fit.info.covariance()
    assert covariance.shape == (2, 3, 3)
    for k in range(2):
        assert np.allclose(covariance[k].to_numpy(), squares[k] / 9 * inverse, **near)
    diagonal = np.sqrt(np.diagonal(covariance.to_numpy(), axis1=1, axis2=2)).T
    assert np.allclose(fit.info.standard_errors().to_numpy(), diagonal, **near)
    total = ((b64 - b64.mean(axis=0)) ** 2).sum(axis=0)
    assert np.allclose(fit.info.r_squared.to_numpy(), 1 - squares / total, **near)
    plain = lstsq(mdqr.array(a64[:, 1:], precision=multiple), b64[:, 0])
    rest = b64[:, 0] - a64[:, 1:] @ plain.x.to_numpy()
    uncentred = 1 - (rest**2).sum() / (b64[:, 0] ** 2).sum()
    assert plain.info.r_squared.shape == ()
    assert np.allclose(plain.info.r_squared.to_numpy(), uncentred, **near)
    assert plain.info.covariance().shape == (2, 2)


def test_no_degrees_of_freedom(multiple):
    fit = lstsq(mdqr.eye(3, precision=multiple), np.arange(3.0))
    assert fit.residuals.to_numpy().tolist() == [0.0]
    assert np.isnan(fit.info.residual_std.to_numpy())
    assert np.isnan(fit.info.standard_errors().to_numpy()).all()


@pytest.mark.parametrize("batch", [(), (3,), (2, 3)], ids=str)
def test_shapes(precision, batch, rng):
    a = mdqr.array(rng.standard_normal((*batch, 7, 4)), precision=precision)
    b = rng.standard_normal((*batch, 7, 2))
    fit = lstsq(a, b)
    assert isinstance(fit, LstsqResult)
    x, residuals, rank, info = fit
    assert x.shape == (*batch, 4, 2)
    assert residuals.shape == (*batch, 2)
    assert info.residual_std.shape == info.r_squared.shape == (*batch, 2)
    assert info.standard_errors().shape == (*batch, 4, 2)
    assert info.covariance().shape == (*batch, 2, 4, 4)
    assert np.shape(info.condition) == np.shape(rank) == batch
    assert np.all(rank == 4)
    vector = lstsq(a, b[(0,) * len(batch)][:, 0])
    assert vector.x.shape == (*batch, 4)
    assert vector.residuals.shape == (*batch, 1)
    assert vector.info.residual_std.shape == batch
    if batch and precision > mdqr.d:
        index = (0,) * len(batch)
        assert_same_bits(x[index], lstsq(a[index], b[index]).x)


def test_float64_data_to_every_precision(precision, rng):
    """The headline call: the answer is that of the same data with zero limbs."""
    a, b = rng.standard_normal((12, 5)), rng.standard_normal(12)
    fit = lstsq(a, b, precision=precision)
    assert fit.x.precision is precision
    wide = lstsq(mdqr.array(a, precision=precision), mdqr.array(b, precision=precision))
    assert_same_bits(fit.x, wide.x)
    x, _, _ = cases.rational_solution(
        mdqr.array(a, precision=precision), mdqr.array(b, precision=precision).reshape(-1, 1)
    )
    assert_close(fit.x, x[:, 0], ulps=4)


def test_data_of_a_higher_precision_are_used_in_full(rng):
    a = cases.random(9, 4, mdqr.od, float, rng, cond=1e30)
    b = cases.random(9, 1, mdqr.od, float, rng)
    fit = lstsq(a, b, precision="dd")
    assert fit.x.precision is mdqr.dd
    assert_close(fit.x, cases.rational_solution(a, b)[0], ulps=4)
    square = a[:4]
    assert_close(
        solve(square, b[:4], precision="dd"), cases.rational_solution(square, b[:4])[0], ulps=4
    )


@pytest.mark.parametrize("shape", [(0, 0), (3, 0)], ids=str)
def test_empty(precision, shape):
    fit = lstsq(mdqr.zeros(shape, precision=precision), np.ones(shape[0]))
    assert fit.x.shape == (0,)
    assert fit.rank == 0
    assert fit.residuals.to_numpy().tolist() == [float(shape[0])]
    assert solve(mdqr.zeros((0, 0), precision=precision), np.ones(0)).shape == (0,)


def test_statistics_without_right_hand_sides(precision, dtype):
    fit = lstsq(mdqr.ones((4, 1), precision=precision, dtype=dtype), np.zeros((4, 0)))
    assert fit.info.r_squared.shape == fit.info.residual_std.shape == (0,)
    assert fit.info.standard_errors().shape == (1, 0)
    assert fit.info.covariance().shape == (0, 1, 1)


def test_arguments_are_not_changed(multiple, rng):
    a = cases.random(9, 4, multiple, float, rng)
    b = cases.random(9, 1, multiple, float, rng)
    before = a.copy(), b.copy()
    lstsq(a, b, weights=np.ones(9))
    solve(a[:4], b[:4])
    assert_same_bits(a, before[0])
    assert_same_bits(b, before[1])


@pytest.mark.parametrize("method", ["refine", "householder"])
def test_progress(multiple, method):
    stages, one = [], mdqr.eye(5, precision=multiple)
    lstsq(one, np.ones(5), method=method, progress=lambda *call: stages.append(call))
    assert stages[0] == ("factor", 5, 5)
    assert stages[1] == ("condition", 1, 1)
    count = len(stages) - 3
    steps = [("refine", done, None) for done in range(1, count + 1)]
    assert stages[2:] == [*steps, ("refine", count, count)]


def test_repr(multiple):
    info = lstsq(mdqr.eye(2, precision=multiple), np.ones(2)).info
    assert repr(info).startswith("<LstsqInfo method='refine' iterations=")
