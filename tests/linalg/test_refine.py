"""Refinement by approximate inverses in float64: proven bounds, and where it does not serve."""

from __future__ import annotations

import linalg_cases as cases
import numpy as np
import pytest
from flushing import flushing, needs_mxcsr
from hypothesis import given
from hypothesis import strategies as st
from test_lstsq import check_bounds

import mdqr
from mdqr._limbs import planes
from mdqr._precision import PRECISIONS
from mdqr.linalg import lstsq, solve
from mdqr.linalg._shared.checks import Checks
from mdqr.linalg._shared.operands import gather
from mdqr.linalg._solve.refine.approximate_inverse import largest_singular_value
from mdqr.linalg._solve.refine.rounds import approximate_inverse, inverse_of_lower
from mdqr.testing import assert_close, assert_same_bits

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
    fit = lstsq(a, b, method="refine", rcond=0)
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
    a = cases.random(*shape, precision, dtype, rng, cond=cond)
    a = mdqr.stack([a, a[::-1]])
    b = cases.random(shape[0], 3, precision, dtype, rng)
    weights = rng.uniform(0.1, 10, shape[0])
    weights[3] = 0.0 if shape[0] > shape[1] else 1.0
    options = {"weights": weights, "rcond": 0}
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
        lstsq(a.astype(precision=multiple), b, rcond=0, **options)


def test_small_residuals_of_ill_conditioned_problems(rng):
    """The first x errs by the square of the condition, and the first step is as large as x."""
    a = cases.random(80, 6, mdqr.od, float, rng, cond=1e10)
    b = mdqr.linalg.matmul(a, np.ones(6)) + 1e-6 * rng.standard_normal(80)
    assert lstsq(a, b, rcond=0).info.method == "refine"


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
    found = lstsq(cases.scaled(a, columns=-40), b, method="refine").x
    assert_same_bits(cases.scaled(found, rows=-40), wanted)


@given(
    st.integers(0, 2**32),
    st.integers(1, 24),
    st.sampled_from([float, complex]),
    st.sampled_from([mdqr.dd, mdqr.qd, mdqr.od]),
)
def test_what_an_inverse_leaves_is_bounded(seed, n, dtype, precision):
    """Of one to four limbs, against products in od."""
    rng = np.random.default_rng(seed)
    m = n + int(rng.integers(0, 2)) * 7
    most = -np.log10(precision.eps) * (1 if m == n else 0.5)
    a = cases.random(m, n, precision, dtype, rng, cond=10.0 ** rng.uniform(0, 0.8 * most))
    inputs = gather(a, precision=None)
    answer = approximate_inverse(inputs.backend, inputs.blocks[0], Checks(), kind=inputs.kind)
    if answer is None:
        assert n > 1
        return
    found, good = answer
    assert good.all()
    assert found.rate < 2.0**-5
    x = mdqr.from_limbs(planes.widen(found.x, dtype is complex, 8), dtype=dtype)
    one = mdqr.eye(n, precision=mdqr.od)
    if found.is_square:
        left = abs(one - mdqr.linalg.matmul(x, a)).to_numpy()
        assert (left.sum(axis=-1, keepdims=True) <= found.rows).all()
        norm = left.sum(axis=-1).max()
    else:
        q = mdqr.linalg.matmul(a, x)
        norm = np.linalg.norm((one - mdqr.linalg.matmul(q.H, q)).to_numpy(), 2)
    assert norm <= found.rate[0, 0]


@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 130])
@pytest.mark.parametrize("batch", [(), (3,), (2, 2)])
def test_inverses_of_triangles(n, batch, dtype, rng):
    lower = np.tril(rng.standard_normal((*batch, n, n))).astype(dtype) / n + 2 * np.eye(n)
    if dtype is complex:
        lower = lower + 0.5j * np.eye(n)
    found = inverse_of_lower(np, lower)
    # Some roundings a term.
    np.testing.assert_allclose(found @ lower, np.broadcast_to(np.eye(n), lower.shape), atol=1e-13)


def test_singular_values_are_estimated_from_below(rng):
    a = rng.standard_normal((4, 30, 20))
    found, exact = largest_singular_value(np, a), np.linalg.norm(a, 2, axis=(-2, -1))
    assert (found <= exact * (1 + 1e-12)).all()
    assert (found >= 0.9 * exact).all()


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
    options = {"precision": multiple, "rcond": 0, "callback": lambda *_: None}
    fit = lstsq(a, b, method="refine", **options)
    # The residual is right to eps^2 times the condition and the norm of b, 64 m times.
    most = 64 * 5 * multiple.eps**2 * float(fit.info.condition) * float(np.linalg.norm(b))
    assert float(fit.residuals.to_fractions()[0]) <= most**2


@pytest.mark.parametrize("options", [{}, {"callback": print}, {"method": "householder"}])
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
    fit = lstsq(a, b, precision=multiple, rcond=0, callback=lambda *_: None)
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
