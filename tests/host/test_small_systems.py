"""Small systems in one kernel call: bounds against exact rationals, and what is not served."""

from __future__ import annotations

import numpy as np
import pytest
from each_case import each_case
from hypothesis import given, settings
from hypothesis import strategies as st
from small_cases import block_of, call, check, matrix

from mdqr._backend.host.backend import backend
from mdqr._backend.small_systems import REASONS, small_systems
from mdqr._limbs.planes import Kind

SHAPES = [(1, 1), (2, 2), (5, 5), (8, 8), (11, 11), (2, 1), (5, 3), (10, 3), (19, 9)]


def problem(rng, precision, is_complex, shape, *, cond=100.0, columns=1, items=2):
    m, n = shape
    values = np.stack([matrix(rng, m, n, cond, is_complex) for _ in range(items)])
    right = rng.standard_normal((items, m, columns))
    right = right + 1j * rng.standard_normal(right.shape) if is_complex else right
    return block_of(rng, precision.limbs, values), block_of(rng, precision.limbs, right)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("columns", [1, 3])
def test_every_component_is_right_and_bounded(precision, dtype, rng, shape, columns):
    is_complex = dtype is complex
    a, b = problem(rng, precision, is_complex, shape, columns=columns)
    found = call(a, b, (precision.limbs, is_complex))
    assert check(found, a, b, precision, is_complex) == 2


@given(
    shape=st.sampled_from(SHAPES[1:]),
    cond=st.floats(0, 16),
    grades=st.tuples(st.integers(0, 40), st.integers(0, 40), st.integers(0, 60)),
    power=st.floats(-1, 1),
    fits=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=30, deadline=None)
def test_graded_and_ill_conditioned(precision, dtype, shape, cond, grades, power, fits, seed):
    rng, is_complex = np.random.default_rng(seed), dtype is complex
    # All limbs of x are doubles.
    power = round(power * (200 if precision.limbs <= 8 else 50))
    a, b = problem(rng, precision, is_complex, shape, cond=10**cond)
    rows, columns, right = (rng.integers(-grade, grade + 1, size) for grade, size in
                            zip(grades, (shape[0], shape[1], shape[0]), strict=True))  # fmt: skip
    if fits:  # a residual of rounding errors
        b = block_of(rng, 1, np.ones((2, shape[1], 1)) * (1 + 1j if is_complex else 1))
        b = backend().matmul(a, b, kind=Kind(precision.limbs, is_complex))
    if shape[0] == shape[1]:
        a, b = np.ldexp(a, rows[:, None]), np.ldexp(b, rows[:, None])
    a, b = np.ldexp(a, columns + power), np.ldexp(b, right[:, None] // 2)
    found = call(a, b, (precision.limbs, is_complex))
    served = check(found, a, b, precision, is_complex)
    # Residuals of rounding errors are not right to eps: those of hexa-double leave the words.
    reasons = {"a component is not proven", "no convergence"}
    assert served == 2 or cond > 10 or REASONS[found.status.max()] in reasons
    unserved = found.status != 0
    assert np.isinf(found.error[unserved]).all()
    assert np.isnan(found.x[..., 0, :, :, :][..., unserved, :, :]).all()


@pytest.mark.parametrize("shape", [(7, 7), (12, 5)])
def test_solutions_of_few_bits_are_exact(precision, dtype, rng, shape):
    is_complex = dtype is complex
    a, x = (rng.integers(-9, 10, s).astype(dtype) for s in ((5, *shape), (5, shape[1], 2)))
    x[:, 1] = 0.0
    a, b = block_of(rng, 1, a), block_of(rng, 1, a @ x)
    found = call(a, b, (precision.limbs, is_complex))
    assert (found.status == 0).all()
    assert (found.error == 0.0).all()
    assert (found.x[..., 0, :, :, :] == block_of(rng, 1, x)[..., 0, :, :, :]).all()
    assert found.residual is None or (found.residual == 0.0).all()


def test_zeros_on_the_right(precision, dtype, rng):
    for shape in ((4, 4), (9, 4)):
        a, b = problem(rng, precision, dtype is complex, shape)
        found = call(a, 0.0 * b, (precision.limbs, dtype is complex))
        assert (found.status == 0).all()
        assert not found.x.any()
        assert not found.error.any()


@each_case("shape", [(6, 6), (9, 6)])
@each_case(
    "where, value, reason",
    [
        ("a", np.nan, "not finite"),
        ("a", -np.inf, "not finite"),
        ("b", np.inf, "not finite"),
        ("column", 0.0, "singular"),
        ("b", 2.0**1020, "beyond the range of doubles"),
        ("b", 2.0**-1010, "beyond the range of doubles"),
    ],
)
def test_what_is_not_served_says_why(precision, dtype, rng, shape, where, value, reason):
    is_complex = dtype is complex
    a, b = problem(rng, precision, is_complex, shape, items=3)
    kept = call(a, b, (precision.limbs, is_complex))
    item = (b if where == "b" else a)[..., 1, :, :]
    if where == "column":
        item[..., 2] = 0.0
    elif np.isfinite(value):
        item *= value
    else:
        item[..., 3, 0] = 0.0
        item[(0, 0, 3, 0) if is_complex else (0, 3, 0)] = value
    found = call(a, b, (precision.limbs, is_complex))
    assert [REASONS[status] for status in found.status] == ["served", reason, "served"]
    assert (found.x[..., ::2, :, :] == kept.x[..., ::2, :, :]).all()


def test_a_matrix_scaled_to_the_ends_of_the_range_is_solved(precision, rng):
    a, b = problem(rng, precision, False, (5, 5))
    for power in (900, -500):
        big = np.ldexp(a, power), np.ldexp(b, power)
        assert check(call(*big, (precision.limbs, False)), *big, precision, False) == 2


@pytest.mark.parametrize("size", [2.0**-200, 2.0**-1000, 2.0**-1074])
@pytest.mark.parametrize("shape", [(2, 2), (3, 2)])
def test_what_lies_below_all_words_is_not_taken_for_zero(precision, shape, size):
    """Parts of b, then of a, that vanish beside the largest ones."""
    one = np.eye(*shape)[None, None]
    b = np.ones((1, 1, shape[0], 1))
    b[..., 1, 0] = size
    b[..., 0, 0] = 2.0**900
    mixed = one + size * np.eye(*shape)[None, None, :, ::-1] * (np.arange(shape[0]) == 0)[:, None]
    right = np.ones((1, 1, shape[0], 1))
    for left, sides in ((one, b), (mixed, right)):
        found = call(left, sides, (precision.limbs, False))
        check(found, left, sides, precision, False)


def test_fewer_limbs_and_strides(precision, rng):
    a, b = problem(rng, precision, False, (6, 6), items=4)
    kind = (precision.limbs, False)
    short = call(a[:1], b[:1], kind)
    a[1:] = b[1:] = 0.0
    whole = call(a, b, kind)
    strided = call(a.swapaxes(-1, -2).copy().swapaxes(-1, -2), b[:, ::-1][:, ::-1], kind)
    for found in (whole, strided):
        assert found.x.tobytes() == short.x.tobytes()
        assert found.error.tobytes() == short.error.tobytes()


def test_batches_have_shapes_and_do_not_mix(precision, dtype, rng):
    is_complex, kind = dtype is complex, (precision.limbs, dtype is complex)
    a, b = problem(rng, precision, is_complex, (9, 4), columns=2, items=6)
    found = call(a.reshape(*a.shape[:-3], 2, 3, 9, 4), b.reshape(*b.shape[:-3], 2, 3, 9, 2), kind)
    assert found.error.shape == (2, 3, 4, 2)
    assert found.status.shape == found.condition.shape == (2, 3)
    for i in range(6):
        one = call(a[..., i : i + 1, :, :], b[..., i : i + 1, :, :], kind)
        part = found.x.reshape(*found.x.shape[:-4], 6, 4, 2)[..., i : i + 1, :, :]
        assert one.x.tobytes() == np.ascontiguousarray(part).tobytes()


def test_the_largest_systems(rng, precision):
    for m, n in ((64, 64), (256, 64)):
        a, b = (rng.standard_normal((1, 2, m, k)) for k in (n, 1))
        found = call(a, b, (precision.limbs, False))
        assert (found.status == 0).all()
        x = np.linalg.lstsq(a[0, 0], b[0, 0], rcond=None)[0]
        assert np.allclose(found.x[0, 0], x, rtol=1e-9)
        assert (found.error <= 0.51 * float(precision.eps) * abs(found.x[0])).all()


def test_condition_is_that_of_the_scaled_matrix(rng):
    for m in (8, 20):
        a = rng.standard_normal((1, 50, m, 8))
        found = call(a, rng.standard_normal((1, 50, m, 1)), (2, False))
        exact = np.linalg.cond(a[0])
        assert (found.condition < 8 * exact).all()
        assert (found.condition > exact / 8).all()


def test_square_least_squares_and_solve_agree(precision, rng):
    a, b = problem(rng, precision, False, (6, 6))
    one, other = (call(a, b, (precision.limbs, False), squares=squares) for squares in (0, 1))
    assert (abs(one.x[0] - other.x[0]) <= one.error + other.error + 2.0**-52 * abs(one.x[0])).all()
    assert check(other, a, b, precision, False) == 2


def test_the_host_has_these_calls():
    assert small_systems(backend()) is backend()
