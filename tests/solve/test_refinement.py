"""What solve and lstsq say of components that are small, zero, or beyond the range."""

from __future__ import annotations

import warnings
from fractions import Fraction

import linalg_cases as cases
import numpy as np
import pytest

import mdqr
from mdqr.linalg import lstsq, qr_factor, solve, solve_triangular
from mdqr.linalg._solve.householder import componentwise
from mdqr.testing import assert_close, matrix

BLOCKS = np.array([[1.0, 0], [2, 0], [3, 0], [0, 1], [0, 2], [0, 3]])


def quiet(function, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return function(*arguments, **options)


def check_claims(fit, exact):
    """No error is above its bound, and no component has fewer digits than it claims."""
    found = cases.fractions(fit.x)
    for x, value, bound, digits in zip(
        found.ravel(), exact, fit.info.error_bound.ravel(), fit.info.digits.ravel(), strict=True
    ):
        error = abs(x - value)
        assert np.isinf(bound) or error <= Fraction(bound)
        # A digit's hundredth for the rounding of the logarithm.
        assert error <= abs(value) * Fraction(10.0 ** (0.01 - digits)) or not digits


def solution(a, b, weights=None):
    x, _, _ = cases.rational_solution(a, b.reshape(-1, 1), weights)
    return x[:, 0]


@pytest.mark.parametrize("size", [-30, -200, -290])
def test_small_entries_of_b_survive_beside_large_ones(precision, size):
    one = mdqr.eye(2, precision=precision)
    b = mdqr.array(["1e300", f"1e{size}"], precision=precision)
    for found in (quiet(solve, one, b), quiet(lstsq, one, b).x):
        assert found.to_fractions().tolist() == b.to_fractions().tolist()


def test_wide_b_of_dense_matrices(multiple, rng):
    a = cases.random(5, 5, multiple, float, rng)
    b = mdqr.array(["1e290", "-3e150", "7e-20", "1", "1e-200"], precision=multiple)
    for fit in (
        quiet(lstsq, a, b),
        quiet(lstsq, mdqr.concatenate([a, a]), mdqr.concatenate([b, b])),
    ):
        assert_close(fit.x, solution(a, b), ulps=4)
        check_claims(fit, solution(a, b))
    assert_close(quiet(solve, a, b), solution(a, b), ulps=4)


def test_zeros_of_exact_fits_have_digits_only_if_they_are_zero(precision):
    """Coefficients that are 0 may come as rounding errors, below their bound, without a digit."""
    for m in range(4, 9):
        t = mdqr.arange(1, m + 1, precision=precision)
        for n in range(3, min(m, 6) + 1):
            a = mdqr.vander(t, n)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                fit = lstsq(a, 3 * t + 1)
            exact = [0] * (n - 2) + [3, 1]
            check_claims(fit, exact)
            rounded = [x != 0 for x in fit.x.to_fractions()[: n - 2]]
            assert [d == 0 for d in fit.info.digits[: n - 2]] == rounded
            assert bool(caught) == any(rounded)


def test_an_exact_zero_is_no_reason_to_warn(precision):
    for a, b in (
        (np.diag([3.0, 1.0]), [1.0, 0.0]),
        (np.triu(np.arange(1.0, 17).reshape(4, 4)), [1.0, 2, 0, 0]),
    ):
        fit = quiet(lstsq, a, b, precision=precision)
        assert fit.info.digits.min() == precision.digits
        check_claims(
            fit, solution(mdqr.array(a, precision=precision), mdqr.array(b, precision=precision))
        )


@pytest.mark.parametrize("power", [20, 40, 60, 100])
def test_blocks_of_far_scales(precision, power):
    """The rounding errors of one block do not reach the unknowns of another."""
    b = mdqr.array([1, 3, 2, 1, 3, 2], precision=precision)
    b[:3] *= mdqr.array(f"1e{power}", precision=precision)
    fit = quiet(lstsq, BLOCKS, b, precision=precision)
    assert_close(fit.x, solution(mdqr.array(BLOCKS, precision=precision), b), ulps=4)
    check_claims(fit, solution(mdqr.array(BLOCKS, precision=precision), b))
    weights = np.array([1.0, 1, 1, 1e-50, 1e-50, 1e-50])
    fit = quiet(lstsq, BLOCKS, [1.0, 3, 2, 1, 3, 2], weights=weights, precision=precision)
    assert_close(fit.x, [Fraction(13, 14)] * 2, ulps=4)


@pytest.mark.parametrize("complex_", [False, True], ids=["real", "complex"])
def test_blocks_in_any_order_of_rows_and_columns_and_beside_dense_matrices(
    precision, complex_, rng
):
    size = min(1e90, 2.0**-16 / precision.tiny)  # its inverse has all limbs
    a = np.zeros((2, 10, 6))
    for k in range(3):
        a[0, 3 * k : 3 * k + 3, 2 * k : 2 * k + 2] = rng.normal(size=(3, 2)) * size**k
    a[0] = a[0][rng.permutation(10)][:, rng.permutation(6)]
    a[1] = rng.normal(size=(10, 6))
    b = rng.normal(size=(2, 10, 2))
    real, factor = mdqr.array(a, precision=precision), 1 + 2j if complex_ else 1
    # One block, and so its unknowns, without any right-hand side.
    b[0, (abs(a[0]) > size**1.5).any(axis=1)] = 0.0
    fit = quiet(lstsq, real * factor, b)
    assert fit.info.digits.min() == precision.digits
    unknowns = (abs(a[0]) > size**1.5).any(axis=0)
    assert (fit.x[0].to_numpy()[unknowns] == 0).all()
    assert (fit.info.error_bound[0][unknowns] == 0).all()
    for k in range(2):
        exact, _, _ = cases.rational_solution(real[k], mdqr.array(b[k], precision=precision))
        # Of x and of a complex product.
        assert_close((fit.x[k] * factor).real, exact, ulps=16)


@pytest.mark.parametrize("power", [100, 200, 300])
def test_weights_of_far_sizes(precision, power):
    a = mdqr.array([[1, 0], [0, 1], [0, 1]], precision=precision)
    b = mdqr.array([1, 2, 5], precision=precision)
    w = mdqr.array(["1", f"3e-{power}", f"7e-{power}"], precision=precision)
    fit = quiet(lstsq, a, b, weights=w)
    exact = solution(a, b, w.to_fractions())
    assert_close(fit.x, exact, ulps=4)
    check_claims(fit, exact)


def test_results_below_tiny_lose_digits(precision):
    a = mdqr.array([["3e200"], ["1e200"]], precision=precision)
    b = mdqr.array(["7e-110", "0"], precision=precision)
    with pytest.warns(mdqr.PrecisionWarning, match="digits are correct in the worst component"):
        fit = lstsq(a, b)
    check_claims(fit, solution(a, b))
    # 2e-310 has some 14 digits above the smallest double.
    assert 8 < fit.info.digits[0] < 15


def test_results_beyond_the_range_raise(precision):
    a, b = mdqr.array([["1e-300"]], precision=precision), mdqr.array(["1e300"], precision=precision)
    for call in (
        lambda: lstsq(a, b),
        lambda: solve(a, b),
        lambda: solve_triangular(a, b),
        lambda: qr_factor(a).solve(b),
    ):
        with pytest.raises(np.linalg.LinAlgError, match="beyond the largest double"):
            call()


def test_bounds_of_complex_answers_in_d_hold_for_both_parts():
    v = mdqr.dd("1") + mdqr.dd(2.0**-53) * mdqr.dd("0.99")
    b = v.reshape(1) + v.reshape(1) * mdqr.dd(1j)
    fit = lstsq(mdqr.ones((1, 1), precision="dd"), b, precision="d")
    error = float(mdqr.abs(b - fit.x)[0])
    assert 1.5e-16 < error <= fit.info.error_bound[0]


@pytest.mark.parametrize("n", [8, 30])
def test_components_of_different_sizes_are_no_reason_to_warn(multiple, n):
    rng = np.random.default_rng(0)
    a = rng.standard_normal((n, n))
    b = a @ np.logspace(0, -8, n)
    exact = solution(*(mdqr.array(v, precision=multiple) for v in (a, b)))
    assert_close(quiet(lstsq, a, b, precision=multiple).x, exact, ulps=4)
    assert_close(quiet(solve, a, b, precision=multiple), exact, ulps=4)


@pytest.mark.parametrize("exponent", [0.6, 0.75, 0.85])
def test_conditions_near_one_over_eps(precision, exponent, rng):
    """As many steps as the contraction needs, and all digits at the end."""
    # Its square leaves digits of what underflows in residuals.
    cond = Fraction(2) ** min(int(-np.log2(precision.eps) * exponent), 520)
    a = matrix("random", 8, 4, cond=cond, precision=precision, rng=rng)
    b = matrix("random", 8, 1, precision=precision, rng=rng)[:, 0]
    for right in (b, a @ np.ones(4)):
        fit = lstsq(a, right, 0)
        check_claims(fit, solution(a, right))
    # Without a residual to speak of the square of the condition does not matter.
    assert fit.info.digits.min() == precision.digits


def test_r_squared_looks_at_rows_of_positive_weight(multiple):
    a, b = [[1, 1], [1, 2], [1, 4.0], [7, 3]], [1, 3, 2, 9.0]
    some = lstsq(a, b, weights=[1, 1, 1, 0.0], precision=multiple).info.r_squared
    without = lstsq(a[:3], b[:3], precision=multiple).info.r_squared
    assert_close(some, without, ulps=64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mdqr.PrecisionWarning)
        constant = lstsq([[1, 1], [1, 2], [1, 3.0]], [5, 5, 5.0], precision=multiple)
    assert np.isnan(float(constant.info.r_squared))


def test_the_advice_names_the_precision_that_tells_columns_apart():
    a = np.vander(np.linspace(0, 1, 40), 30)
    b = np.cos(a[:, -2])
    message = (
        r"depends on .*; precision=mdqr\.dd tells them apart if the entries are exact; if they"
    )
    with pytest.raises(np.linalg.LinAlgError, match=message):
        lstsq(a, b)
    for precision in (mdqr.dd, mdqr.qd):
        with pytest.warns(mdqr.PrecisionWarning, match=r"numerical rank .* in any precision"):
            lstsq(a, b, precision=precision)
    with pytest.raises(np.linalg.LinAlgError, match=r"; max_condition=100 refuses that"):
        lstsq(a[:, -9:], b, max_condition=100)
    # The condition of 1e43 drowns in rounding errors of d and dd.
    i = mdqr.arange(1, 31, precision=mdqr.dd)
    hilbert = 1 / (i[:, None] + i - 1)
    for function in (lstsq, solve):
        with pytest.raises(np.linalg.LinAlgError, match=r"precision=mdqr\.qd tells them") as found:
            function(hilbert, np.ones(30))
        assert ("leave the column out" in str(found.value)) == (function is lstsq)


def test_columns_that_depend_in_every_precision_are_to_be_left_out(precision, rng):
    a = rng.integers(-99, 99, (9, 4)).astype(float)
    a[:, 3] = a[:, 1] - a[:, 2]
    for function, end in ((lstsq, r"\); leave it out, or let rtol .*$"), (solve, r"\)$")):
        with pytest.raises(np.linalg.LinAlgError, match=end):
            function(a[:4] if function is solve else a, np.ones(4 if function is solve else 9),
                     precision=precision)  # fmt: skip


def test_both_are_said_where_digits_are_missing_of_rounded_entries(rng):
    """The entries do not determine the fit, and dd does not solve even what is stored."""
    a = rng.integers(-99, 99, (13, 5)).astype(float)
    a[:, 3] = a[:, 1] + a[:, 2]
    a[12] = [0, 0, 0, 2.0**-100, 0]
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        info = lstsq(a, np.ones(13), precision=mdqr.dd).info
    rank, digits = (str(warning.message) for warning in found)
    assert "numerical rank 4 of 5 to the precision of its entries" in rank
    assert (
        "about 0 of 31 digits are correct in the worst component, of the solution for a" in digits
    )
    assert digits.endswith(
        "precision=mdqr.qd finds more, unless the component is zero, for data that are exact "
        "or come with more digits"
    )
    assert [warning.filename for warning in found] == [__file__] * 2
    assert info.digits.min() < 1
    assert not info.data_digits.any()


@pytest.mark.parametrize("power", [100, 200, 300])
def test_residuals_that_are_small_beside_b_keep_their_digits(precision, power):
    """x fits the large entries exactly; the squares of what is left were below the range of b."""
    a = np.array([[1.0, 0], [0, 1], [0, 1]])
    b = mdqr.array([f"1e{power}", "1", "2"], precision=precision)
    for sides in (b, mdqr.stack([b, mdqr.ones(3, precision=precision)], axis=1)):
        info = (fit := quiet(lstsq, a, sides)).info
        first = (0,) if sides.ndim == 2 else ()
        covariance = [Fraction(1, 2), Fraction(0), Fraction(0), Fraction(1, 4)]
        assert_close(fit.residuals[0], Fraction(1, 2), ulps=4)
        assert_close(info.residual_std[first] ** 2, Fraction(1, 2), ulps=4)
        errors = info.standard_errors()[(..., *first)]
        assert_close(errors**2, [Fraction(1, 2), Fraction(1, 4)], ulps=8)
        assert_close(info.covariance()[first].ravel(), covariance, ulps=8)


def test_residuals_of_tiny_weights(precision):
    weights = mdqr.array([1e308, 1e-100, 1e-100], precision=precision)
    fit = quiet(lstsq, [[1.0, 0], [0, 1], [0, 1]], [1, 1, 2], weights=weights)
    half = weights[1].to_fractions().item() / 2
    assert_close(fit.residuals, [half], ulps=4)


def test_a_row_without_weight_neither_joins_blocks_nor_makes_b_wide(precision):
    """It is as if it were not there, whatever it holds."""
    a = np.vstack([BLOCKS, [[1e200, -1e-200]]])
    b = np.array([1e20, 3e20, 2e20, 1, 3, 2, 1e-300])
    fit = quiet(lstsq, a, b, weights=[1, 1, 1, 1, 1, 1, 0], precision=precision)
    less = quiet(lstsq, a[:6], b[:6], weights=np.ones(6), precision=precision)
    assert fit.x.to_fractions().tolist() == less.x.to_fractions().tolist()
    assert fit.info.iterations == less.info.iterations
    assert_close(fit.info.residual_std, less.info.residual_std, ulps=2)


@pytest.mark.parametrize("least", [5e-324, 1e-100])
def test_steps_that_leave_the_range_are_not_taken(least):
    """Weights from 1e308 on: the condition is 1e154, and the solution about (0, 0.5)."""
    with pytest.warns(mdqr.PrecisionWarning, match="about (0|48) of 127 digits"):
        fit = lstsq(
            [[1, 2], [3, 4], [5, 7]],
            [1, 2, 4],
            max_condition=np.inf,
            weights=[1e308, 1, least],
            precision="od",
        )
    assert np.allclose(fit.x.to_numpy(), [0, 0.5], atol=1e-90)
    assert fit.info.digits[0] < 50


def test_what_is_estimated_of_a_pseudo_inverse_is_above_what_is_measured(precision, monkeypatch):
    """``I - Y A`` was estimated by a triangle, far too small where R is graded."""
    seen = []
    bound = componentwise.Inverse.bound
    monkeypatch.setattr(
        componentwise.Inverse, "bound", lambda self, f, g: seen.append(self) or bound(self, f, g)
    )
    a = mdqr.random.normal((6, 3), precision=precision, rng=1)
    a[:, 2] = a[:, 1] + a[:, 2] * precision.eps**0.5
    lstsq(a, a[:, 0] + a[:, 2] * 2.0**-40 + 1, method="householder", max_condition=np.inf)
    assert seen
    for inverse in seen:
        measured, estimated = inverse._measured(inverse.system.form_q()), inverse._estimated()
        assert all((x <= y).all() for x, y in zip(measured, estimated, strict=True))
