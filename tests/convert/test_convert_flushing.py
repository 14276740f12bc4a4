"""Conversions while the caller flushes subnormals: the same results, bit for bit."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from array_cases import exact, same_bits
from exact_limbs import SMALLEST, decimal_texts, dyadics
from flushing import flushing, needs_mxcsr
from hypothesis import example, given
from hypothesis import strategies as st

import mdqr
from mdqr._convert.arrays import fraction_to_limbs, scalar_to_limbs
from mdqr._limbs import planes
from mdqr.testing import arrays

pytestmark = needs_mxcsr

TINY = 2.0**-1074
# Around the smallest normal double, the smallest subnormal, and far below.
EXPONENTS = st.sampled_from([-1000, -1021, -1022, -1050, -1073, -1074, -1075, -1130])


def low(precision, dtype=float):
    """Draw values whose limbs reach into the subnormal numbers."""
    return arrays(precision, 16, dtype=dtype, max_exponent=-850)


def bits(x):
    return np.asarray(x, dtype=np.float64).tobytes()


def test_numpy_flushes_here():
    with flushing():
        flushed = (np.array([TINY]) * np.array([1.0]))[0]
    assert flushed == 0


@given(data=st.data())
def test_exact_output_with_flushing(data, precision):
    a = data.draw(arrays(precision, 16, max_exponent=-850, allow_nan=False, allow_infinity=False))
    a[:2] = [TINY, -3 * TINY]
    with flushing():
        fractions, numbers = a.to_fractions(), a.to_mpmath()
    assert fractions.tolist() == exact(a).tolist()
    assert numbers.tolist() == a.to_mpmath().tolist()


@given(data=st.data())
def test_text_output_with_flushing(data, precision, dtype):
    a = data.draw(low(precision, dtype))
    wanted = [a.to_strings().tolist(), a.to_strings(20).tolist(), repr(a), f"{a[0]:.30e}"]
    with flushing():
        got = [a.to_strings().tolist(), a.to_strings(20).tolist(), repr(a), f"{a[0]:.30e}"]
    assert got == wanted


def test_lossless_text_with_flushing():
    # A tie that went to even although the third limb decides it: no decimal reads back to this.
    block = np.array([[2.0**-950], [2.0**-1003], [3 * 2.0**-1058], [0.0]])
    a = mdqr.from_limbs(block, normalize=False)
    with flushing():
        (text,) = a.to_strings().tolist()
        back = mdqr.array([text], precision=mdqr.qd)
    assert text == "+".join(x.hex() for x in block[:3, 0].tolist())
    assert same_bits(back, a)


@given(text=decimal_texts(), exponent=st.integers(-420, -290))
@example(text="5", exponent=-324)
@example(text="-2.4703282292062328", exponent=-324)
@example(text="-1", exponent=-400)
def test_text_input_with_flushing(text, exponent, precision):
    text = f"{text.partition('e')[0]}e{exponent}"
    wanted = mdqr.array([text, "1", "(0x1p-1050)+(0x1.8p+0)j"], precision=precision)
    with flushing():
        several = mdqr.array([text, "1", "(0x1p-1050)+(0x1.8p+0)j"], precision=precision)
        one = mdqr.array(text, precision=precision)
    assert same_bits(several, wanted)
    assert same_bits(one, mdqr.array(text, precision=precision))


@given(x=st.floats(-(2.0**-1000), 2.0**-1000))
@example(x=TINY)
@example(x=-TINY)
def test_hexadecimal_input_with_flushing(x, precision):
    texts = [x.hex(), f"0x1p-900{'-' if x < 0 else '+'}{abs(x).hex()}", "-0x0p0"]
    wanted = [scalar_to_limbs(text, precision.limbs)[0] for text in texts]
    with flushing():
        got = [scalar_to_limbs(text, precision.limbs)[0] for text in texts]
    assert bits(got) == bits(wanted)
    assert bits(got[0][0]) == bits(x)


@given(value=dyadics(low=-1, high=0), exponent=EXPONENTS)
@example(value=Fraction(-1), exponent=-1074)
@example(value=Fraction(3, 2), exponent=-1074)
def test_numbers_with_flushing(value, exponent, precision):
    value *= Fraction(2) ** exponent
    power = value.denominator.bit_length() - 1
    number = mpmath.mp.make_mpf(mpmath.libmp.from_man_exp(value.numerator, -power))
    wanted = fraction_to_limbs(value, precision.limbs)
    with flushing():
        got = fraction_to_limbs(value, precision.limbs)
        from_mpf = scalar_to_limbs(number, precision.limbs)[0]
    assert bits(got) == bits(from_mpf) == bits(wanted)
    total = sum(map(Fraction, got))
    # Half an ulp of the last limb.
    assert abs(total - value) <= max(Fraction(math.ulp(got[-1])), SMALLEST) / 2


@given(data=st.data())
def test_narrowing_with_flushing(data, dtype):
    a = data.draw(low(mdqr.od, dtype))
    wanted = [a.astype(p) for p in (mdqr.d, mdqr.dd, mdqr.qd)]
    nearest = a.to_numpy()
    with flushing():
        got = [a.astype(p) for p in (mdqr.d, mdqr.dd, mdqr.qd)]
        doubles = a.to_numpy()
    assert all(map(same_bits, got, wanted))
    assert doubles.tobytes() == nearest.tobytes()


def test_low_values_are_narrowed_correctly(multiple):
    # A tie in limb 1 that the last subnormal decides, under a leading limb of any size.
    for leading in (1.0, 2.0**-1000):
        tie = leading * 2.0**-53
        for sign in (1, -1):
            a = mdqr.array(
                Fraction(leading) + Fraction(tie) + sign * Fraction(TINY), precision=mdqr.od
            )
            for limbs in {1, multiple.limbs}:
                with flushing():
                    got = planes.narrow(a.limbs, False, limbs)
                assert bits(got) == bits(fraction_to_limbs(exact(a).item(), limbs)[: len(got)])


def test_low_limbs_beyond_the_lost_one_decide_ties(multiple):
    # In one array, for one limb kept: low, ties that low and other limbs break, ties that fit.
    unit = Fraction(1, 2**53)
    values = [
        Fraction(TINY) * (2**60 + 1),
        1 + unit + Fraction(TINY),
        1 + unit - Fraction(TINY),
        1 + unit + unit**3,
        1 + unit - unit**3,
        1 + 2 * unit + unit,
        1 + unit,
        Fraction(0),
        1 + unit / 4,
    ]
    a = mdqr.array([*values, np.inf, np.nan], precision=mdqr.hd)
    for limbs in {1, multiple.limbs}:
        wanted = np.array([fraction_to_limbs(value, limbs) for value in values]).T
        for x, expected in [(a, wanted), *zip(a[:9], wanted.T, strict=True)]:
            with flushing():
                got = planes.narrow(x.limbs, False, limbs)
            assert bits(got[..., :9] if x.ndim else got) == bits(expected)
        np.testing.assert_array_equal(planes.narrow(a.limbs, False, limbs)[0, 9:], [np.inf, np.nan])


def test_subnormal_limbs_count_as_limbs_with_flushing(multiple):
    block = np.zeros((multiple.limbs, 2))
    block[0], block[1] = 2.0**-1000, [2.0**-1060, -TINY]
    a = mdqr.from_limbs(block, normalize=False)
    with flushing():
        largest = [mdqr.linalg.norm(a[i : i + 1], np.inf) for i in range(2)]
    for i, found in enumerate(largest):
        assert same_bits(found, a[i])


@given(data=st.data())
def test_normalisation_with_flushing(data, precision):
    doubles = st.floats(-(2.0**-950), 2.0**-950) | st.sampled_from([0.0, 1.0, TINY, -TINY])
    rows = st.lists(doubles, min_size=precision.limbs, max_size=precision.limbs)
    block = np.array(data.draw(st.lists(rows, min_size=1, max_size=8))).T
    wanted = mdqr.from_limbs(block)
    ready = planes.is_normalised(block)
    for is_normal, column in zip(ready, block.T.tolist(), strict=True):
        pairs = pairwise(column)
        assert is_normal == (
            all(x + y == x for x, y in pairs) and "-0.0" not in map(str, column[1:])
        )
    with flushing():
        got = mdqr.from_limbs(block)
        again = planes.is_normalised(block)
    assert same_bits(got, wanted)
    np.testing.assert_array_equal(again, ready)


@given(data=st.data())
def test_renormalizing_with_flushing(data, multiple):
    a = data.draw(arrays(multiple, 8, max_exponent=-900, allow_nan=False, allow_infinity=False))
    spread = a.limbs[::-1].copy()
    with flushing():
        renormalized = planes.renormalize(spread)
    assert [sum(map(Fraction, x)) for x in renormalized.T.tolist()] == exact(a).tolist()
    assert planes.is_normalised(renormalized).all()


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.complex64])
def test_short_floats_with_flushing(kind, precision):
    smallest = np.finfo(kind).smallest_subnormal
    x = np.array([smallest, -smallest * 3, 0.0, -0.0, 1.5, np.inf], dtype=kind)
    wanted = x.astype(complex if x.dtype.kind == "c" else float)
    ones = mdqr.ones(6, precision=precision)
    with flushing():
        array = mdqr.array(x, precision=precision)
        single = mdqr.array([x[0], x[1]], precision=precision)
        product = ones * x
    assert array.to_numpy().tobytes() == wanted.tobytes()
    assert single.to_numpy().tobytes() == wanted[:2].tobytes()
    np.testing.assert_array_equal(product.to_numpy()[:5], wanted[:5])


def test_single_values_and_comparisons_with_flushing(precision):
    a = precision(-TINY)
    with flushing():
        values = math.floor(a), math.ceil(-a), int(a)
        order = [bool(a < 0), bool(a == Fraction(-1, 2**1074)), bool(a < Fraction(-1, 2**1080))]
    assert values == (-1, 1, 0)
    assert order == [True, True, True]


def test_draws_of_subnormal_size_with_flushing(precision):
    options = {"precision": precision, "rng": 1}
    calls = [
        lambda: mdqr.random.uniform(8, low=0, high="1e-310", **options),
        lambda: mdqr.random.uniform(8, low=0, high=2.0**-1030, **options),
        lambda: mdqr.random.normal(8, loc=2.0**-1060, scale=2.0**-1040, **options),
        lambda: mdqr.random.normal(8, loc=Fraction(1, 2**1060), scale="1e-320", **options),
    ]
    for call in calls:
        wanted = call()
        with flushing():
            got = call()
        assert same_bits(got, wanted)
