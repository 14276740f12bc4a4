"""Refinement by approximate inverses in float64: proven bounds, and where it does not serve."""

from __future__ import annotations

from fractions import Fraction

import linalg_cases as cases
import numpy as np
import pytest
from flushing import flushing, needs_mxcsr
from hypothesis import given
from hypothesis import strategies as st
from test_lstsq import check_bounds

import mdqr
from mdqr._precision import PRECISIONS
from mdqr.linalg import lstsq, solve
from mdqr.testing import assert_close, assert_same_bits, matrix

REFUSED = 'method="refine" does not show all digits'


@given(st.data())
def test_bounds_of_random_problems(data):
    """Each component is rounded nearly correctly, and no bound is violated."""
    precision = data.draw(st.sampled_from(PRECISIONS))
    m = data.draw(st.integers(1, 12))
    n = data.draw(st.integers(1, m))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    # One limb holds a gradient to the square of the condition.
    cond = 10.0 ** data.draw(st.integers(0, 9 if precision.limbs > 1 or m == n else 4))
    a = cases.random(m, n, precision, float, rng, cond=cond)
    b = cases.random(m, data.draw(st.integers(1, 2)), precision, float, rng)
    fit = lstsq(a, b, method="refine", max_condition=np.inf)
    exact, *_ = cases.rational_solution(a, b)
    # A correction leaves at most 2^-8 eps beside the last rounding, and components that are small
    # beside others somewhat more.
    assert_close(fit.x, exact, ulps=1)
    check_bounds(fit, exact)
    assert fit.info.bound_kind == "proven"


@pytest.mark.parametrize("shape", [(30, 30), (60, 20)])
@pytest.mark.parametrize("cond", [1e2, 1e8])
def test_the_answers_of_both_methods(precision, dtype, shape, cond, rng):
    """Batches, columns and weights; both round the same numbers."""
    if precision.limbs == 1 and shape[0] > shape[1]:
        cond = cond**0.5  # as above
    kind = {"precision": precision, "dtype": dtype, "rng": rng}
    a = matrix("random", *shape, cond=cond, **kind)
    a = mdqr.stack([a, a[::-1]])
    b = matrix("random", shape[0], 3, **kind)
    weights = rng.uniform(0.1, 10, shape[0])
    weights[3] = 0.0 if shape[0] > shape[1] else 1.0
    options = {"weights": weights, "max_condition": np.inf}
    found, wanted = (lstsq(a, b, method=way, **options) for way in ("refine", "householder"))
    assert_close(found.x, wanted.x, ulps=2)
    # Residuals are right to eps of their norm, and their squares to that of their sum.
    assert_close(found.residuals, wanted.residuals, ulps=64 * shape[0])
    np.testing.assert_allclose(found.info.condition, wanted.info.condition, rtol=0.3)
    if shape[0] == shape[1]:
        assert_close(solve(a, b, method="refine"), solve(a, b, method="householder"), ulps=2)


@pytest.mark.parametrize("shape", [(8, 8), (12, 5)])
def test_conditions_beyond_the_work_are_refused(multiple, shape, rng):
    """Those of square matrices near 1 / eps, and of others beyond its root."""
    root = multiple.eps**-0.5
    # No precision holds entries for squares of more.
    cond = min(1e3 / multiple.eps if shape[0] == shape[1] else 1e3 * root, 0.01 / mdqr.od.eps)
    a = cases.random(*shape, mdqr.od, float, rng, cond=cond)
    b, options = np.ones(shape[0]), {"precision": multiple, "method": "refine"}
    with pytest.raises(np.linalg.LinAlgError, match=f"{REFUSED}|depends on the other columns"):
        lstsq(a.astype(precision=multiple), b, max_condition=np.inf, **options)


def test_small_residuals_of_ill_conditioned_problems(rng):
    """The first x errs by the square of the condition, and the first step is as large as x."""
    a = cases.random(80, 6, mdqr.od, float, rng, cond=1e10)
    b = mdqr.linalg.matmul(a, np.ones(6)) + 1e-6 * rng.standard_normal(80)
    assert lstsq(a, b, max_condition=np.inf).info.method == "refine"


def test_empty_problems_have_nothing_to_refine(multiple):
    assert solve(np.zeros((0, 0)), np.zeros(0), method="refine", precision=multiple).shape == (0,)
    fit = lstsq(np.zeros((3, 0)), np.zeros(3), method="refine", precision=multiple)
    assert fit.x.shape == (0,)


def test_singular_matrices_are_named_by_every_method(multiple):
    a = mdqr.array([[1.0, 2.0], [2.0, 4.0]], precision=multiple)
    for method in ("auto", "refine", "householder"):
        with pytest.raises(np.linalg.LinAlgError, match="column 1 depends on the other columns"):
            solve(a, [1.0, 1.0], method=method)


def test_zeros_that_only_cancellation_makes_are_not_shown(multiple, rng):
    """More unknowns than a kernel for small systems takes."""
    a = cases.random(66, 66, multiple, float, rng)
    b = a[:, 0].copy()
    with pytest.raises(np.linalg.LinAlgError, match=REFUSED):
        solve(a, b, method="refine")


def test_zeros_are_solved_by_zeros(precision):
    a = mdqr.random.normal((6, 3), precision=precision, rng=1)
    b = np.zeros((6, 2))
    b[:, 1] = 1.0
    fit = lstsq(a, b, method="refine")
    assert not fit.x.limbs[:, :, 0].any()
    assert (fit.info.error_bound[:, 0] == 0).all()
    assert (fit.info.digits[:, 0] == precision.digits).all()


def test_the_same_limbs_whatever_the_scale(multiple, rng):
    a = cases.random(20, 8, multiple, float, rng, cond=1e4)
    b = cases.random(20, 1, multiple, float, rng)
    wanted = lstsq(a, b, method="refine").x
    # The last limbs of the smallest column are doubles.
    columns = -min(40, cases.room(multiple) // 8)
    found = lstsq(cases.scaled(a, columns=columns), b, method="refine").x
    assert_same_bits(cases.scaled(found, rows=columns), wanted)


@pytest.mark.parametrize("columns", [None, 2])
def test_answers_of_fewer_limbs_than_the_data(columns, dtype, rng):
    """Rounded once more: bounds have the shape of x, and hold."""
    a = cases.random(9, 4, mdqr.qd, dtype, rng)
    b = cases.random(9, columns or 1, mdqr.qd, dtype, rng)
    right = b[:, 0] if columns is None else b
    fit = lstsq(a, right, precision=mdqr.dd)
    assert fit.info.error_bound.shape == fit.info.digits.shape == fit.x.shape
    if dtype is float:
        exact, *_ = cases.rational_solution(a, b)
        check_bounds(fit, exact[:, 0] if columns is None else exact)
    assert fit.info.digits.min() == mdqr.dd.digits


@pytest.mark.parametrize("k", [6, 20])
def test_sums_of_squares_of_nearly_exact_fits(multiple, k):
    """Laeuchli's matrix; what is left is far below the rounding of x."""
    a = np.vstack([np.full((1, 4), 2.0**-38), np.diag([2.0 ** (-38 - k)] * 4)])
    b = a @ np.array([-0.3125, -0.4375, 0.0625, 0.5])
    options = {"precision": multiple, "max_condition": np.inf, "progress": lambda *_: None}
    fit = lstsq(a, b, method="refine", **options)
    # The residual is right to eps^2 times the condition and the norm of b, 64 m times, where that
    # is a double.
    square = max(multiple.eps**2, 2.0**-1000)
    most = 64 * 5 * square * float(fit.info.condition) * float(np.linalg.norm(b))
    assert fit.residuals.to_fractions()[0] <= Fraction(most) ** 2


@pytest.mark.parametrize("options", [{}, {"progress": print}, {"method": "householder"}])
def test_operands_may_change_before_statistics_are_asked_for(options, rng, capsys):
    a, b = rng.standard_normal((9, 3)), rng.standard_normal(9)
    a[:, 0] = 1.0
    wanted = lstsq(a.copy(), b.copy(), precision=mdqr.dd, **options).info
    info = lstsq(a, b, precision=mdqr.dd, **options).info
    a *= 3.0
    a[0], b[:] = 7.0, 0.0
    for name in ("standard_errors", "covariance"):
        assert_same_bits(getattr(info, name)(), getattr(wanted, name)())
    for name in ("residual_std", "r_squared"):
        assert_same_bits(getattr(info, name), getattr(wanted, name))
    assert (info.data_digits == wanted.data_digits).all()


@pytest.mark.parametrize("precision", PRECISIONS)
def test_exact_fits_of_few_unknowns_are_exact(precision):
    a = np.array([[1.0, 2.0, 0.0], [3.0, 1.0, 1.0], [0.0, 5.0, 2.0], [1.0, 1.0, 7.0]])
    fit = lstsq(a, np.stack([a @ [1.0, 0.0, 3.0], 0 * a[:, 0]], axis=1), precision=precision)
    assert fit.info.method == "refine"
    assert fit.x.to_numpy().tolist() == [[1.0, 0.0], [0.0, 0.0], [3.0, 0.0]]
    assert not fit.info.error_bound.any()
    assert not fit.residuals.to_numpy().any()


def test_the_condition_of_few_unknowns_is_no_chance_find(rng):
    """The longest column is orthogonal to the direction of the largest singular value."""
    u, _ = np.linalg.qr(rng.standard_normal((256, 64)))
    core = np.eye(64)
    core[1:, 1:] += 5.0 / 63
    core[0, 0] = 1.9
    a = u @ core
    found = lstsq(a, u[:, 0], precision=mdqr.dd).info.condition
    assert found >= 0.5 * lstsq(a, u[:, 0], precision=mdqr.dd, method="householder").info.condition


def test_limbs_that_vanish_are_not_proven():
    """The second limb of x lies below the smallest number that kernels keep."""
    b = mdqr.array(2.0**-880, precision=mdqr.dd) + 2.0**-1010
    fit = lstsq([[1.0]], b.reshape(1), precision=mdqr.dd)
    assert fit.x.to_fractions()[0] == b.to_fractions()


def test_square_problems_with_rows_of_zeros(multiple, rng):
    """Exact fits of ill-conditioned matrices: sums of squares keep their promise."""
    a = np.vstack([cases.random(3, 3, mdqr.d, float, rng, cond=1e9).to_numpy(), np.zeros((1, 3))])
    b = np.append(rng.standard_normal(3), 0.0)
    fit = lstsq(a, b, precision=multiple, max_condition=np.inf, progress=lambda *_: None)
    most = 64 * 4 * multiple.eps**2 * float(fit.info.condition) * float(np.linalg.norm(b))
    assert float(fit.residuals.to_fractions()[0]) <= most**2


@needs_mxcsr
@pytest.mark.parametrize("shape", [(12, 5), (70, 66), (90, 20)])
def test_zero_columns_for_who_flushes(multiple, shape, rng):
    """Neither way meets a subnormal number: the same limbs and bounds, and zeros are exact."""
    a = cases.random(*shape, multiple, float, rng)
    b = np.stack([np.zeros(shape[0]), rng.standard_normal(shape[0])], axis=1)
    wanted = lstsq(a, b, method="refine")
    with flushing():
        found = lstsq(a, b, method="refine")
    assert_same_bits(found.x, wanted.x)
    assert found.info.iterations == wanted.info.iterations
    for info in (found.info, wanted.info):
        assert not info.error_bound[:, 0].any()
        assert (info.error_bound[:, 1] > 0).all()


SCALES = st.sampled_from([1e1, 1e6, 1e12, 1e14, 1e16, 1e18, 1e28, 1e30, 1e32, 1e34, 1e45, 1e60])


@given(st.data())
def test_bounds_at_any_condition(data):
    """Around the limits of each number of limbs: no bound is violated, no digit overclaimed."""
    precision = data.draw(st.sampled_from([p for p in PRECISIONS if p.limbs > 1]))
    m = data.draw(st.integers(2, 10))
    n = data.draw(st.integers(2, m))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    cond = min(data.draw(SCALES) * 10.0 ** data.draw(st.floats(-1, 1)), 1e-3 / precision.eps)
    a = cases.random(m, n, precision, float, rng, cond=max(cond, 1.0))
    b = cases.random(m, 1, precision, float, rng)
    if data.draw(st.booleans()):
        b = mdqr.linalg.matmul(a, cases.random(n, 1, precision, float, rng)) + b * 1e-20
    # Progress keeps the kernels for small systems out.
    fit = lstsq(a, b, max_condition=np.inf, progress=lambda *_: None)
    exact, *_ = cases.rational_solution(a, b)
    check_bounds(fit, exact)
    if fit.info.method == "refine":
        assert_close(fit.x, exact, ulps=1)


@pytest.mark.parametrize("shape", [(70, 70), (90, 66)])
def test_inverses_of_several_limbs_serve(shape, dtype, rng):
    for cond in (1e14, 1e30):
        a = cases.random(*shape, mdqr.od, dtype, rng, cond=cond)
        b = cases.random(shape[0], 1, mdqr.od, dtype, rng)
        fit = lstsq(a, b, method="refine", max_condition=np.inf)
        assert_close(fit.x, lstsq(a, b, method="householder", max_condition=np.inf).x, ulps=2)


@pytest.mark.parametrize("shape", [(8, 8), (20, 8), (70, 70), (80, 70)])
def test_each_matrix_of_a_batch_takes_its_own_way(shape, rng):
    """A system comes out as it does alone, and says so."""
    conds = (1e2, 1e120, 1e14, 1e3, 1e20)
    a = mdqr.stack([cases.random(*shape, PRECISIONS[-1], float, rng, cond=c) for c in conds])
    b = cases.random(shape[0], 2, PRECISIONS[-1], float, rng)
    found = lstsq(a, b, max_condition=np.inf)
    ways = ["householder" if cond == 1e120 else "refine" for cond in conds]
    assert found.info.method.tolist() == ways
    assert found.info.bound_kind.tolist() == [
        "proven" if way == "refine" else "estimated" for way in ways
    ]
    for i, way in enumerate(ways):
        alone = lstsq(a[i], b, max_condition=np.inf)
        assert alone.info.method == way
        # Which bits below eps are right is left to the last step.
        assert_close(found.x[i], alone.x, ulps=1)
        assert_close(found.residuals[i], alone.residuals, ulps=64 * shape[0])
        np.testing.assert_allclose(found.info.condition[i], alone.info.condition, rtol=1e-2)
        assert (found.info.digits[i] == PRECISIONS[-1].digits).all()
    if shape[0] == shape[1]:
        assert_close(solve(a, b), found.x, ulps=1)
    assert "householder" in repr(found.info)


def test_the_place_of_a_singular_matrix_in_a_batch(rng):
    a = rng.standard_normal((3, 4, 4))
    a[2, :, 1] = a[2, :, 0]
    with pytest.raises(np.linalg.LinAlgError, match=r"matrix 2 of the batch"):
        solve(a, np.ones(4), precision=mdqr.dd)


@pytest.mark.parametrize("shape", [(7, 7), (10, 6)])
def test_who_asks_for_proofs_gets_inverses_of_all_limbs(shape, rng):
    """In the next precision, where Householder QR would be cheaper in this one."""
    a = cases.random(*shape, mdqr.od, float, rng, cond=1e50)
    b = cases.random(shape[0], 1, mdqr.od, float, rng)
    assert lstsq(a, b, max_condition=np.inf).info.method == "refine"
    fit = lstsq(a, b, max_condition=np.inf, verified=True)
    assert fit.info.bound_kind == "proven"
    exact, *_ = cases.rational_solution(a, b)
    check_bounds(fit, exact)


@pytest.mark.parametrize("shape", [(5, 5), (9, 4), (70, 66)])
def test_verified_answers(multiple, shape, rng):
    """Proven, or refused with what would do."""
    a = cases.random(*shape, multiple, float, rng)
    b = cases.random(shape[0], 1, multiple, float, rng)
    fit = lstsq(a, b, verified=True)
    assert fit.info.bound_kind == "proven"
    assert fit.info.digits.min() == multiple.digits
    if shape[0] < 10:
        exact, *_ = cases.rational_solution(a, b)
        check_bounds(fit, exact)
    if shape[0] == shape[1]:
        assert_same_bits(solve(a, b, verified=True), solve(a, b))
    with pytest.raises(ValueError, match="verified=True wants them proven"):
        lstsq(a, b, verified=True, method="householder")


def test_unverified_answers_name_the_way_out(rng):
    a = cases.random(8, 5, mdqr.qd, float, rng, cond=1e22).astype(precision=mdqr.dd)
    with pytest.raises(np.linalg.LinAlgError, match=r"\"refine\".*precision=mdqr\.qd may do"):
        lstsq(a, np.ones(8), max_condition=np.inf, method="refine")
    lstsq(a, np.ones(8), max_condition=np.inf, method="refine", precision=mdqr.qd)


@pytest.mark.parametrize("progress", [None, lambda *_: None], ids=["small", "ladder"])
def test_batches_of_two_axes_take_several_ways(progress, rng):
    """Once an IndexError: places of a batch were taken for places on one axis."""
    a = mdqr.array(rng.standard_normal((2, 2, 5, 3)), precision="qd")
    a[1, 0] = cases.random(5, 3, mdqr.qd, float, rng, cond=1e20)
    a[1, 0, :3] = cases.random(3, 3, mdqr.qd, float, rng, cond=1e20)
    b = rng.standard_normal((2, 2, 5, 1))
    found = lstsq(a, b, max_condition=np.inf, progress=progress)
    for at in np.ndindex(2, 2):
        assert_close(found.x[at], lstsq(a[at], b[at], max_condition=np.inf).x, ulps=1)
    square = a[..., :3, :]
    x = solve(square, b[..., :3, :], progress=progress)
    for at in np.ndindex(2, 2):
        assert_close(x[at], solve(square[at], b[(*at, slice(3))]), ulps=1)


def test_one_impossible_matrix_leaves_the_others_proven(rng):
    """Once all went to Householder QR: the largest condition decided for the whole batch."""
    # Of the highest precision: there is no next one.
    easy = [cases.random(90, 70, PRECISIONS[-1], float, rng) for _ in range(3)]
    hard = cases.random(90, 70, PRECISIONS[-1], float, rng, cond=1e140)
    b = cases.random(90, 1, PRECISIONS[-1], float, rng)
    found = lstsq(mdqr.stack([easy[0], hard, *easy[1:]]), b, max_condition=np.inf)
    assert found.info.method.tolist() == ["refine", "householder", "refine", "refine"]


def test_refusals_tell_why(rng):
    """Once an OverflowError, or that an easy matrix is near to singular."""
    a = cases.random(8, 5, mdqr.od, float, rng)
    a[:, 0] = a[:, 1] + a[:, 0] * 2.0**-600
    with pytest.raises(np.linalg.LinAlgError, match=r"depends on|does not show all digits"):
        lstsq(a, np.ones(8), max_condition=np.inf, verified=True)
    hilbert = 1.0 / (np.arange(13)[:, None] + np.arange(12) + 1)
    with pytest.raises(np.linalg.LinAlgError, match=r"rank in doubt; max_condition=math.inf says"):
        lstsq(hilbert, np.ones(13), precision=mdqr.od, method="refine")
    lstsq(hilbert, np.ones(13), precision=mdqr.od, verified=True, max_condition=np.inf)
    a = rng.standard_normal((4, 5, 3))
    a[2] *= 2.0**-1000
    b = np.ones((4, 5, 1))
    b[2] *= 2.0**1000
    with pytest.raises(np.linalg.LinAlgError, match=r"matrix 2 .*beyond the largest double"):
        lstsq(a, b, precision="dd")
    with pytest.raises(np.linalg.LinAlgError, match="beyond the largest double"):
        lstsq(a[2], b[2], precision="dd", verified=True)


@pytest.mark.parametrize("weighted", [False, True])
def test_what_rounding_b_leaves_of_an_exact_fit(weighted, dtype, rng):
    """Far below what x is rounded by, of more unknowns than a kernel for small systems takes."""
    a = cases.random(90, 66, mdqr.dd, dtype, rng, cond=1e2)
    b = mdqr.linalg.matmul(a, cases.random(66, 1, mdqr.dd, dtype, rng))
    weights = rng.uniform(0.1, 10, 90) if weighted else None
    found = lstsq(a, b, weights=weights, method="refine")
    wanted = lstsq(a, b, weights=weights, precision=mdqr.qd, method="householder")
    # A few eps of the residual, whose square has twice as many, and a sum of 90.
    assert_close(found.residuals, wanted.residuals, ulps=90)
