"""Triangular systems, linear systems and least squares on the device, against exact solutions."""

from __future__ import annotations

import warnings
from fractions import Fraction

import gpu_cases as cases
import numpy as np
import pytest
from exact_matrices import Exact

import mdqr
from mdqr import linalg
from mdqr._precision import PRECISIONS
from mdqr.linalg import lstsq, qr_factor, solve, solve_triangular
from mdqr.testing import LSTSQ_PROBLEMS, assert_close, assert_same_bits, lstsq_problem

pytestmark = pytest.mark.gpu


def assert_small_residual(a, x, b, factor):
    """``|b - a x| <= factor eps |a| |x|`` in every entry."""
    exact = Exact.of(a)
    error = (Exact.of(b) - exact @ Exact.of(x)).moduli()
    size = exact.moduli() @ Exact.of(x).moduli()
    assert error.within(factor * Fraction(x.precision.eps), size)


@pytest.mark.parametrize("n", [1, 5, 33, 70])
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("trans", ["N", "T", "C"])
def test_triangular_systems(precision, dtype, n, lower, trans, rng):
    """Substitution is backward stable: ``(n + 10) eps |T| |x|`` in every row, complex thrice."""
    full = cases.random_matrix(n, n, precision, dtype, rng) + mdqr.eye(
        n, precision=precision, device=cases.DEVICE
    )
    a = mdqr.tril(full) if lower else mdqr.triu(full)
    b = cases.random_matrix(n, 2, precision, dtype, rng)
    x = solve_triangular(full, b, trans, lower)
    assert x.device == a.device
    op = {"N": a, "T": a.T, "C": a.H}[trans]
    assert_small_residual(op, x, b, (n + 10) * (1 if dtype is float else 3))


def test_unit_diagonal_and_vectors(precision, dtype, rng):
    a = cases.random_matrix(20, 20, precision, dtype, rng)
    b = cases.random_matrix(20, 1, precision, dtype, rng)
    x = solve_triangular(a, b[:, 0], unit_diagonal=True)
    assert x.shape == (20,)
    unit = mdqr.triu(a, 1) + mdqr.eye(20, precision=precision, device=cases.DEVICE)
    assert_small_residual(unit, x[:, None], b, 30 * 3)


def test_random_triangles_of_order_1000(multiple):
    """A random dense triangle has a condition near 2**1000: the residual says what is right."""
    rng = np.random.default_rng(1)
    n = 1000
    a = mdqr.triu(
        mdqr.random.uniform((n, n), precision=multiple, rng=rng, device=cases.DEVICE)
        + 2 * mdqr.eye(n, precision=multiple, device=cases.DEVICE)
    )
    b = mdqr.random.uniform((n, 1), precision=multiple, rng=rng, device=cases.DEVICE)
    x = solve_triangular(a, b)
    rows = slice(0, n, 97)
    product = Exact.of(a[rows]) @ Exact.of(x)
    error = (Exact.of(b[rows]) - product).moduli()
    size = Exact.of(a[rows]).moduli() @ Exact.of(x).moduli()
    assert error.within((n + 10) * Fraction(multiple.eps), size)


@pytest.mark.parametrize("shape", [(), (0, 3), (3, 0)], ids=str)
def test_empty_systems(precision, shape):
    n = shape[0] if shape else 0
    a = mdqr.eye(n, precision=precision, device=cases.DEVICE)
    b = mdqr.zeros(shape or (0,), precision=precision, device=cases.DEVICE)
    assert solve_triangular(a, b).shape == b.shape
    assert solve(a, b).shape == b.shape


@pytest.mark.parametrize("n", [1, 5, 40])
def test_linear_systems(precision, dtype, n, rng):
    a, b = (
        cases.random_matrix(n, n, precision, dtype, rng, 1e3),
        cases.random_matrix(n, 2, precision, dtype, rng),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if precision == mdqr.d else "error", mdqr.PrecisionWarning)
        x = solve(a, b)
    assert x.device == a.device
    # Every component right to 4 eps gives 4 eps |a| |x|; complex ones are right in modulus only.
    assert_small_residual(a, x, b, 4 if dtype is float else 40)


@pytest.mark.parametrize("n", [65, 96, 128])
@pytest.mark.parametrize("columns", [1, 2, 3])
def test_middle_systems(multiple, n, columns, rng):
    """Of real ones for one or two right-hand sides each is a block of threads."""
    a = cases.random_matrix(n, n, multiple, float, rng, 1e6)
    b = cases.random_matrix(n, columns, multiple, float, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("error", mdqr.PrecisionWarning)
        x, info = solve(a, b, return_info=True)
    assert_small_residual(a, x, b, 4)
    assert cases.to_host(x).shape == (n, columns)
    if multiple < mdqr.od:
        wanted = solve(cases.to_host(a), cases.to_host(b), precision=multiple.next)
        error = abs(cases.to_host(x) - wanted).to_numpy()
        assert (error <= np.asarray(info.error_bound)).all()


def test_batches_of_middle_systems(multiple, rng):
    a = cases.random_matrix(7 * 96, 96, multiple, float, rng).reshape(7, 96, 96)
    b = cases.random_matrix(7 * 96, 1, multiple, float, rng).reshape(7, 96, 1)
    x = solve(a, b)
    for each in (0, 6):
        assert_small_residual(a[each], x[each], b[each], 4)


def test_singular_systems_raise(precision):
    a = mdqr.array([[1, 2], [0, 0]], precision=precision, device=cases.DEVICE)
    b = mdqr.ones(2, precision=precision, device=cases.DEVICE)
    with pytest.raises(
        np.linalg.LinAlgError, match=r"diagonal entry of column 1\s+is exactly zero"
    ):
        solve_triangular(a, b)
    with pytest.raises(np.linalg.LinAlgError):
        solve(a, b)
    with pytest.raises(np.linalg.LinAlgError, match="NaN or infinite"):
        solve_triangular(
            a + a.T + mdqr.eye(2, precision=precision, device=cases.DEVICE), b * np.nan
        )


@pytest.mark.parametrize("name", LSTSQ_PROBLEMS)
def test_reference_problems(multiple, name):
    """Every coefficient within 4 eps of the exact solution of the data as held, digits reported."""
    problem = lstsq_problem(name)
    a = mdqr.array(problem.a, precision=multiple, device=cases.DEVICE)
    b = mdqr.array(problem.b, precision=multiple, device=cases.DEVICE)
    fit = lstsq(a, b)
    assert fit.x.device == a.device
    held = [np.asarray(v.to_fractions()) for v in (a, b)]
    exact = solution(held[0], held[1][:, None])[:, 0]
    assert_close(cases.to_host(fit.x), exact, ulps=4)
    assert fit.info.digits.min() == multiple.digits
    error = abs(np.asarray(fit.x.to_fractions()) - exact)
    bound = np.array([Fraction(v) for v in np.asarray(fit.info.error_bound).tolist()])
    assert (error <= bound).all()


def solution(a, b, weights=1):
    """Solve the normal equations of Fractions by elimination."""
    rows = np.concatenate([a.T.dot(weights * a), a.T.dot(weights * b)], axis=1)
    for i in range(len(rows)):
        rows[i] = rows[i] / rows[i, i]
        for k in range(len(rows)):
            if k != i:
                rows[k] = rows[k] - rows[k, i] * rows[i]
    return rows[:, len(rows) :]


@pytest.mark.usefixtures("host")
@pytest.mark.parametrize("shape", [(30, 7), (120, 40)], ids=str)
def test_least_squares(multiple, dtype, shape, rng):
    """The same answers as the host's to the bounds that both report."""
    a = cases.random_matrix(*shape, multiple, dtype, rng, 1e6)
    b = cases.random_matrix(shape[0], 2, multiple, dtype, rng)
    fit = lstsq(a, b)
    wanted = lstsq(cases.to_host(a), cases.to_host(b))
    assert fit.rank == wanted.rank == shape[1]
    difference = abs(cases.to_host(fit.x) - wanted.x)
    both = np.asarray(fit.info.error_bound) + np.asarray(wanted.info.error_bound)
    assert (difference.to_numpy() <= both * (1 + 1e-12)).all()
    assert (np.asarray(fit.info.digits) >= multiple.digits - 1).all()
    assert abs(cases.to_host(fit.residuals) / wanted.residuals - 1).max() <= 1e-10


@pytest.mark.usefixtures("host")
@pytest.mark.parametrize("method", ["refine", "householder"])
@pytest.mark.parametrize("shape", [(7, 30), (40, 120)], ids=str)
def test_shortest_solutions(precision, dtype, method, shape, rng):
    """The same answers as the host's to the bounds that both report, also for wild columns."""
    a = cases.random_matrix(*shape[::-1], precision, dtype, rng, 1e3).T
    a = a * mdqr.array(
        2.0 ** rng.integers(-9, 1, shape[1]), precision=precision, device=cases.DEVICE
    )
    b = cases.random_matrix(shape[0], 2, precision, dtype, rng)
    fit = lstsq(a, b, method=method, max_condition=np.inf)
    wanted = lstsq(cases.to_host(a), cases.to_host(b), method=method, max_condition=np.inf)
    assert fit.x.device == a.device
    assert fit.rank == wanted.rank == shape[0]
    difference = abs(cases.to_host(fit.x) - wanted.x)
    both = np.asarray(fit.info.error_bound) + np.asarray(wanted.info.error_bound)
    assert (difference.to_numpy() <= both * (1 + 1e-12)).all()
    assert (np.asarray(fit.info.digits) == precision.digits).all()
    assert np.isnan(cases.to_host(fit.info.residual_std).to_numpy()).all()
    assert (np.asarray(fit.info.data_digits) > precision.digits - 9).all()


def test_shortest_solutions_are_exact(multiple):
    """In a batch, and zeros that cancellation makes are shown."""
    rng = np.random.default_rng(6)
    given = rng.integers(-9, 10, (2, 3, 6)).astype(float)
    a = mdqr.array(given, precision=multiple, device=cases.DEVICE)
    b = mdqr.array(given @ (given.swapaxes(-1, -2) @ np.ones((3, 1))), precision=multiple)
    fit = lstsq(a, b.to_device(cases.DEVICE))
    # y is a vector of ones.
    exact = given.swapaxes(-1, -2) @ np.ones((3, 1))
    assert_close(cases.to_host(fit.x), exact, ulps=1)
    zero = mdqr.array([[1, 1, 0], [0, 1, 1]], precision=multiple, device=cases.DEVICE)
    fit = lstsq(zero, [1, -1])
    assert cases.to_host(fit.x).to_fractions().tolist() == [1, 0, -1]
    assert (np.asarray(fit.info.digits) == multiple.digits).all()


def test_float64_data_to_127_digits():
    rng = np.random.default_rng(5)
    a, b = rng.standard_normal((40, 9)), rng.standard_normal(40)
    moved = [mdqr.array(v, precision=mdqr.d, device=cases.DEVICE) for v in (a, b)]
    fit = lstsq(*moved, precision=mdqr.od)
    exact = solution(*(np.frompyfunc(Fraction, 1, 1)(v) for v in (a, b[:, None])))
    assert_close(cases.to_host(fit.x), exact[:, 0], ulps=4)


@pytest.mark.usefixtures("host")
def test_errors_of_the_data(multiple, dtype, rng):
    """The same digits as the host's, for numbers and for arrays of the device."""
    a = cases.random_matrix(30, 4, multiple, dtype, rng, 1e3)
    b = cases.random_matrix(30, 2, multiple, dtype, rng)
    sigma, points = mdqr.array(rng.uniform(0, 1e-9, (30, 1)), precision=multiple), [0, 1e-9, 0, 0]
    found = lstsq(a, b, data_error={"a_rtol": points, "b_atol": sigma.to_device(cases.DEVICE)})
    wanted = lstsq(
        cases.to_host(a), cases.to_host(b), data_error={"a_rtol": points, "b_atol": sigma}
    )
    assert np.allclose(found.info.data_digits, wanted.info.data_digits, atol=1e-3)
    assert "data_digits>=" in repr(found.info)
    with pytest.raises(ValueError, match="b_atol must be finite and not negative"):
        lstsq(a, b, data_error={"b_atol": -1})


@pytest.mark.parametrize("on_device", [True, False], ids=["array", "list"])
def test_weights_and_several_sides(multiple, on_device, rng):
    """Weights on the device, and as a list of the host."""
    a = cases.random_matrix(20, 4, multiple, float, rng)
    b = cases.random_matrix(20, 3, multiple, float, rng)
    weights = rng.integers(1, 9, 20).astype(float).tolist()
    operand = mdqr.array(weights, precision=multiple, device=cases.DEVICE) if on_device else weights
    fit = lstsq(a, b, weights=operand)
    x, y = (np.asarray(v.to_fractions()) for v in (a, b))
    exact = solution(x, y, np.array([Fraction(w) for w in weights], dtype=object)[:, None])
    assert_close(cases.to_host(fit.x), exact, ulps=4)


@pytest.mark.parametrize("sorted_rows", [False, True])
def test_blocks_of_far_scales(precision, sorted_rows, rng):
    """Blocks are factored apart, and rows without weight are as if they were not there."""
    a, size = np.zeros((10, 6)), min(2.0**300, 2.0**-116 / precision.tiny)
    for k in range(3):
        a[3 * k : 3 * k + 3, 2 * k : 2 * k + 2] = rng.integers(1, 99, (3, 2)) * size**k
    b = rng.integers(1, 99, (10, 2)).astype(float)
    b[:3, 0], a[9] = 0.0, rng.integers(1, 99, 6)
    order = np.arange(10) if sorted_rows else rng.permutation(10)
    weights = (np.arange(10) < 9)[order].astype(float)
    moved = [mdqr.array(v, precision=precision, device=cases.DEVICE) for v in (a[order], b[order])]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit = lstsq(*moved, weights=weights.tolist())
    exact = solution(*(np.frompyfunc(Fraction, 1, 1)(v[:9]) for v in (a, b)))
    assert_close(cases.to_host(fit.x), exact, ulps=4)
    assert (fit.info.digits == precision.digits).all()


def test_residuals_that_are_small_beside_b(multiple):
    b = mdqr.array(["1e200", "1", "2"], precision=multiple, device=cases.DEVICE)
    fit = lstsq(np.array([[1.0, 0], [0, 1], [0, 1]]).tolist(), b)
    assert_close(cases.to_host(fit.residuals), [Fraction(1, 2)], ulps=4)
    errors = fit.info.standard_errors()
    assert_close(cases.to_host(errors * errors), [Fraction(1, 2), Fraction(1, 4)], ulps=8)


def test_factors_take_lists(multiple, rng):
    """A list of the host goes where the factors are."""
    a = cases.random_matrix(9, 4, multiple, float, rng)
    factors, b = qr_factor(a), rng.standard_normal(9)
    found = factors.apply_qh(b.tolist())
    assert found.device == a.device
    assert_same_bits(
        found, factors.apply_qh(mdqr.array(b, precision=multiple, device=cases.DEVICE))
    )


@pytest.mark.parametrize(("order", "good"), [(12, mdqr.dd), (22, mdqr.qd), (43, mdqr.od)], ids=str)
def test_hilbert(order, good):
    """Right as rounded also where the condition is 1/eps; lstsq says that rounding decides then."""
    exact = [[Fraction(1, i + j + 1) for j in range(order)] for i in range(order)]
    for precision in (good, max(p for p in PRECISIONS if p < good)):
        a = mdqr.array(exact, precision=precision, device=cases.DEVICE)
        b = a.sum(axis=1)
        with warnings.catch_warnings():
            warnings.filterwarnings(
                "ignore", "solve: a is singular to the precision of its entries"
            )
            x = solve(a, b)
        held = np.asarray(a.to_fractions())
        error = np.asarray(b.to_fractions()) - held.dot(np.asarray(x.to_fractions()))
        size = abs(held).dot(abs(np.asarray(x.to_fractions())))
        assert (abs(error) <= 4 * Fraction(precision.eps) * size).all()
    with pytest.warns(mdqr.PrecisionWarning, match="numerical rank"):
        fit = lstsq(a, b)
    difference = abs(fit.x - x).to_numpy()
    assert (difference <= 2 * np.asarray(fit.info.error_bound)).all()


def test_a_thousand_small_systems(multiple, dtype):
    options = {"precision": multiple, "dtype": dtype, "device": cases.DEVICE}
    a = mdqr.random.normal((1000, 32, 16), rng=3, **options)
    b = mdqr.random.normal((1000, 32, 1), rng=4, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mdqr.PrecisionWarning)
        fit = lstsq(a, b)
    assert fit.x.shape == (1000, 16, 1)
    assert np.asarray(fit.rank).tolist() == [16] * 1000
    for i in (0, 501, 999):
        one = lstsq(a[i], b[i])
        difference = abs(fit.x[i] - one.x).to_numpy()
        both = np.asarray(fit.info.error_bound)[i] + np.asarray(one.info.error_bound)
        assert (difference <= both * (1 + 1e-12)).all()
    plain = qr_factor(a).solve(b)
    # Unrefined: 20 n eps times a condition below 1e3, squared for residuals of the size of b.
    worst = abs(plain - fit.x).to_numpy().max() / abs(fit.x.to_numpy()).max()
    assert worst <= 20 * 16 * 1e6 * multiple.eps


@pytest.mark.parametrize("batch", [(), (3,)], ids=str)
def test_factors_determinants_and_inverses(precision, dtype, batch, rng):
    """LU and Cholesky choose and round as the host does, up to the order of products."""
    n = 20
    g = mdqr.random.normal((*batch, n, n), precision=precision, dtype=dtype, rng=rng)
    a = g @ (g.mT.conj() if dtype is complex else g.mT) + mdqr.eye(n, precision=precision)
    b = mdqr.random.normal((n, 2), precision=precision, dtype=dtype, rng=rng)
    device, sides = a.to_device(cases.DEVICE), b.to_device(cases.DEVICE)
    factors, c = linalg.lu_factor(device), linalg.cholesky(device)
    assert (factors.piv.get() == linalg.lu_factor(a).piv).all()
    x = linalg.solve(a, b)
    size, tolerance = float(abs(x).max()), 1e5 * n * precision.eps
    for found in (linalg.lu_solve(factors, sides), linalg.cho_solve((c, True), sides)):
        assert found.device == device.device
        assert float(abs(found.to_device("cpu") - x).max()) < tolerance * size
    # All digits, on both.
    found, wanted = linalg.det(device).to_device("cpu"), linalg.det(a)
    assert float(abs(found / wanted - 1).max()) <= 2 * (4 * n + 32) * precision.eps
    inverse, wanted = linalg.inv(device).to_device("cpu"), linalg.inv(a)
    assert float(abs(inverse - wanted).max()) < tolerance * float(abs(wanted).max())
