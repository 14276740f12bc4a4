"""Exact comparisons and selections."""

import math
import operator
import tracemalloc
from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from array_cases import SPECIALS, exact, few_examples, finite, same_bits
from hypothesis import given
from hypothesis import strategies as st

import mdqr
from mdqr._precision import PRECISIONS
from mdqr.testing import pairs

COMPARISONS = [
    operator.eq,
    operator.ne,
    operator.lt,
    operator.le,
    operator.gt,
    operator.ge,
]


# Oracle: the comparison of the exact rational values.
@given(data=st.data())
def test_comparisons_are_exact_across_precisions(data):
    left, right = (data.draw(st.sampled_from(PRECISIONS)) for _ in range(2))
    a, b = data.draw(finite(left)), data.draw(finite(right))
    # Values that agree in the limbs both have, and values that are equal.
    near = b.copy()
    near[::2] = a[::2]
    for x, y in ((a, b), (a, near), (near, a)):
        for op in COMPARISONS:
            np.testing.assert_array_equal(op(x, y), op(exact(x), exact(y)))


@given(data=st.data())
def test_pairs_that_nearly_agree(data, precision):
    a, b = data.draw(pairs(precision, 64, allow_nan=False, allow_infinity=False))
    for op in COMPARISONS:
        np.testing.assert_array_equal(op(a, b), op(exact(a), exact(b)))


def test_other_forms_of_a_value_are_equal():
    # 1 + 2^-53 is the limbs (1, 2^-53) and, unnormalised by the tie, (1 + 2^-52, -2^-53).
    a = mdqr.from_limbs(np.array([1.0, 2.0**-53]), normalize=False)
    b = mdqr.from_limbs(np.array([1 + 2.0**-52, -(2.0**-53)]), normalize=False)
    assert a == b
    assert not a < b


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # NumPy's
@pytest.mark.parametrize("dtype", [float, complex])
def test_special_values_compare_as_numpys(dtype, precision):
    values = np.array(SPECIALS)
    if dtype is complex:
        values = (values[:, None] + np.array([1j, complex(0, math.nan)])).ravel()
        values[0] = complex(math.inf, -math.inf)
    a = mdqr.array(values, precision=precision, dtype=dtype)
    for op in COMPARISONS:
        np.testing.assert_array_equal(op(a[:, None], a), op(values[:, None], values))
        np.testing.assert_array_equal(op(a[:, None], values), op(values[:, None], values))
    maximum = mdqr.maximum(a[:, None], a).to_numpy()
    np.testing.assert_array_equal(maximum, np.maximum(values[:, None], values))
    minimum = mdqr.minimum(a[:, None], a).to_numpy()
    np.testing.assert_array_equal(minimum, np.minimum(values[:, None], values))


@few_examples
@given(data=st.data())
def test_complex_values_are_ordered_as_numpys(data, precision):
    parts = st.sampled_from([-1.5, -0.0, 0.0, 2.0])
    values = data.draw(st.lists(st.builds(complex, parts, parts), min_size=1, max_size=8))
    x = np.array(values)
    a = mdqr.array(x, precision=precision)
    for op in COMPARISONS:
        np.testing.assert_array_equal(op(a, a[::-1]), op(x, x[::-1]))
        np.testing.assert_array_equal(op(a, 2.0), op(x, 2.0))
        np.testing.assert_array_equal(op(a.real, a), op(x.real, x))


NUMBERS = [
    Fraction(1, 3),
    Fraction(-1, 3),
    Decimal("0.1"),
    10**60 + 1,
    mpmath.mpf(2) ** -2000 + 0,
    Fraction(1, 2**1080),
    -(10**400),
    Fraction(10**400, 3),
    2**53 + 1,
    0.1,
]


@pytest.mark.parametrize("number", NUMBERS, ids=str)
def test_comparison_with_numbers_that_no_precision_holds(number, precision):
    if isinstance(number, mpmath.mpf):
        value = Fraction(1, 2**2000)
    else:
        value = Fraction(number)
    if abs(value) < 2**1000:
        near = mdqr.array(number, precision=precision)
    else:
        near = mdqr.array([math.inf, -math.inf], precision=precision)
    around = mdqr.array([0.0, -1.0, 1.0, 2.0**53, 2.0**-1074], precision=precision)
    for a in (near, around):
        finite_values = [
            (10**999 if x > 0 else -(10**999)) if mdqr.isinf(x) else exact(x).item()
            for x in a.ravel()
        ]
        for op in COMPARISONS:
            expected = np.reshape([op(x, value) for x in finite_values], a.shape)
            np.testing.assert_array_equal(op(a, number), expected)
            np.testing.assert_array_equal(
                op(number, a), np.reshape([op(value, x) for x in finite_values], a.shape)
            )


HUGE = 10**9


@pytest.mark.parametrize(
    ("far", "near_zero"),
    [
        (Decimal(f"1e{10**8}"), Decimal(f"1e-{10**8}")),
        (Decimal((0, (1,) * 30, HUGE)), Decimal((0, (1,) * 30, -HUGE))),
        (mpmath.ldexp(3, 10 * HUGE), mpmath.ldexp(3, -10 * HUGE)),
        (mpmath.ldexp(1, 2**70), mpmath.ldexp(1, -(2**70))),
    ],
    ids=["decimal", "long decimal", "mpf", "mpf of an exponent beyond 64 bits"],
)
def test_comparison_with_huge_exponents_makes_no_huge_integer(far, near_zero, precision):
    a = mdqr.array(
        [-math.inf, -1.0, -(2.0**-1074), 0.0, 2.0**-1074, 1.0, math.inf], precision=precision
    )
    tracemalloc.start()
    try:
        found = [
            (a < far).tolist(),
            (a > far).tolist(),
            (a < near_zero).tolist(),
            (near_zero < a).tolist(),
            (a == near_zero).tolist() + (a == far).tolist(),
            (-a > far).tolist(),
        ]
        converted = mdqr.array([far, near_zero], precision=precision).to_numpy()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found[0] == [True] * 6 + [False]
    assert found[1] == [False] * 6 + [True]
    assert found[2] == [True] * 4 + [False] * 3
    assert found[3] == [False] * 4 + [True] * 3
    assert found[4] == [False] * 14
    assert found[5] == [True] + [False] * 6
    assert converted.tobytes() == np.array([math.inf, 0.0]).tobytes()
    # The integers would take megabytes and more.
    assert peak < 10**6


@pytest.mark.parametrize("text", [f"1e{HUGE}", f"1e-{HUGE}", "1e400", "1e-400", "1e-320", "3e307"])
@pytest.mark.parametrize("sign", ["", "-"])
def test_comparison_with_decimals_agrees_with_their_rounding(text, sign, precision):
    number = Decimal(sign + text)
    rounded = mdqr.array(number, precision=precision)
    assert rounded.to_numpy().tobytes() == np.array(float(sign + text)).tobytes()
    assert bool(number < 0) == bool(mdqr.array(0, precision=precision) > number) == bool(sign)


def test_comparisons_give_numpy_bools(precision):
    a = mdqr.ones((2, 1), precision=precision)
    assert (a == np.ones(3)).shape == (2, 3)
    assert (a == 1).dtype == np.bool_
    assert isinstance(precision(1) == 1, np.bool_)
    assert isinstance(precision(1) < 2j, np.bool_)
    with pytest.raises(TypeError, match="string is not a number"):
        a == "1"  # noqa: B015


@few_examples
@given(data=st.data())
def test_maximum_minimum_and_where_choose_limb_for_limb(data, precision, dtype):
    a, b = (data.draw(finite(precision, 16, dtype)) for _ in range(2))
    chosen = data.draw(st.lists(st.booleans(), min_size=16, max_size=16))
    for got, wanted in (
        (mdqr.where(chosen, a, b), np.array(chosen)),
        (mdqr.maximum(a, b), a >= b),
        (mdqr.minimum(a, b), a <= b),
    ):
        assert same_bits(got[wanted], a[wanted])
        assert same_bits(got[~wanted], b[~wanted])


def test_where_broadcasts_promotes_and_takes_any_condition(precision):
    a = mdqr.array([1, 0, 2], precision=precision)
    got = mdqr.where(a, [[1j], [2.0]], a)
    np.testing.assert_array_equal(got.to_numpy(), [[1j, 0, 1j], [2, 0, 2]])
    assert mdqr.where(True, a, PRECISIONS[-1](0)).precision is PRECISIONS[-1]
    with pytest.raises(ValueError, match=r"\(2,\), \(3,\) do not broadcast"):
        mdqr.where([True, False], a, 0)
    with pytest.raises(TypeError, match="no operand is an MDArray"):
        mdqr.where(True, 1, 2)


def test_kinds_of_values(precision):
    values = np.array([1, np.nan, np.inf, -np.inf, 0])
    mixed = np.array([complex(x, y) for x in values for y in values])
    for a, x in (
        (mdqr.array(values, precision=precision), values),
        (mdqr.array(values, precision=precision, dtype=complex), values.astype(complex)),
        (mdqr.array(mixed, precision=precision), mixed),
    ):
        for name in ("isfinite", "isnan", "isinf"):
            np.testing.assert_array_equal(getattr(mdqr, name)(a), getattr(np, name)(x))
    assert isinstance(mdqr.isnan(precision(1)), np.bool_)


def test_array_equal():
    a = mdqr.array([1, "0.1"], precision=mdqr.qd)
    assert mdqr.array_equal(a, a.astype(mdqr.od))
    assert mdqr.array_equal(a, a.astype(dtype=complex))
    assert not mdqr.array_equal(a, a.astype(mdqr.dd))
    assert not mdqr.array_equal(a, [1, 0.1])
    assert not mdqr.array_equal(a, a[:1])
    assert not mdqr.array_equal([1, Fraction(1, 10)], a)
    assert mdqr.array_equal([1, Fraction(1, 4)], mdqr.array([1, 0.25], precision=mdqr.dd))
    broken = mdqr.array([1, np.nan], precision=mdqr.qd)
    assert not mdqr.array_equal(broken, broken)
    assert mdqr.array_equal(broken, broken, equal_nan=True)
    assert mdqr.array_equal(broken, [1, np.nan], equal_nan=True)


def test_allclose(multiple):
    a = mdqr.array(["0.1", 3, -7], precision=multiple)
    near = a + a * (0.5 * math.sqrt(multiple.eps))
    far = a + a * (2 * math.sqrt(multiple.eps))
    assert mdqr.allclose(a, near)
    assert not mdqr.allclose(a, far)
    assert mdqr.allclose(a, far, rtol=1e-7)
    assert mdqr.allclose(a, far, rtol=0, atol=1e-6)
    assert not mdqr.allclose(a, near, rtol=0)
    # A float64 array is data, not a result of its precision: 0.1 is not "0.1".
    assert mdqr.allclose(a.to_numpy(), a) == (multiple is mdqr.dd)
    assert mdqr.allclose(a.to_numpy(), a, rtol=2.0**-53)
    assert mdqr.allclose(a + 1j, near + 1j)
    specials = mdqr.array([np.inf, -np.inf, np.nan], precision=multiple)
    assert mdqr.allclose(specials[:2], specials[:2])
    assert not mdqr.allclose(specials[:1], specials[1:2])
    assert not mdqr.allclose(specials[:1], a[:1])
    assert not mdqr.allclose(specials, specials)
    assert mdqr.allclose(specials, specials, equal_nan=True)
