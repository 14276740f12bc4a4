"""Limbs to text and exact numbers: what is written reads back, rounding is correct."""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from exact_limbs import dyadics, exact, greedy, same, stored
from hypothesis import example, given
from hypothesis import strategies as st

from mdqr._convert.arrays import (
    block_to_fractions,
    block_to_mpmath,
    block_to_strings,
    fraction_to_limbs,
    objects_to_block,
)
from mdqr._precision import PRECISIONS, d, dd, od, qd

precisions = st.sampled_from(PRECISIONS)
DECIMALS = Context(prec=2000, Emax=10**6, Emin=-(10**6))


@given(st.data(), precisions)
def test_text_reads_back_to_the_same_limbs(data, precision):
    rows = [data.draw(stored(precision.limbs)) for _ in range(8)]
    block = np.array(rows).T.copy()
    texts = block_to_strings(block, precision)
    again, _ = objects_to_block(texts, precision.limbs)
    assert same(again.tolist(), block.tolist())
    for limbs, text in zip(rows, texts, strict=True):
        assert ("0x" in text) == (limbs != greedy(exact(limbs), precision.limbs))


@given(st.data(), precisions)
def test_complex_text_reads_back(data, precision):
    parts = [data.draw(stored(precision.limbs)) for _ in range(2)]
    block = np.array(parts)
    again, is_complex = objects_to_block(block_to_strings(block, precision, True), precision.limbs)
    assert is_complex
    assert same(again.tolist(), block.tolist())


@given(dyadics(low=-300, high=200), precisions)
@example(Fraction(9007199254740993, 2**53), d)
@example(Fraction(2) ** -44, d)
def test_text_has_the_fewest_digits(value, precision):
    limbs = fraction_to_limbs(value, precision.limbs)
    if not limbs[0]:
        return
    text = block_to_strings(np.array(limbs), precision)[()]
    exponent = Decimal(text).normalize(DECIMALS).as_tuple().exponent
    unit = Fraction(10) ** (int(exponent) + 1)
    below = math.floor(exact(limbs) / unit) * unit
    for shorter in (below, below + unit):
        assert fraction_to_limbs(shorter, precision.limbs) != limbs or shorter == 0
    # and of the numbers of that many digits it is a nearest one that reads back
    for side in (-1, 1):
        other = Fraction(text) + side * unit / 10
        if abs(other - exact(limbs)) < abs(Fraction(text) - exact(limbs)):
            assert fraction_to_limbs(other, precision.limbs) != limbs


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_one_limb_prints_as_float(x):
    assert block_to_strings(np.array([x]), d)[()] == repr(x)


@given(st.data(), precisions, st.integers(1, 150))
def test_digits_are_correctly_rounded(data, precision, digits):
    limbs = data.draw(stored(precision.limbs))
    text = block_to_strings(np.array(limbs), precision, False, digits)[()]
    context = Context(prec=digits, Emax=10**6, Emin=-(10**6))
    num, den = exact(limbs).as_integer_ratio()
    exact_decimal = DECIMALS.divide(Decimal(num), Decimal(den))
    assert Decimal(text) == context.plus(exact_decimal)
    shown = text.lstrip("-").partition("e")[0].replace(".", "").lstrip("0")
    assert len(shown) == digits or int(shown.ljust(digits, "0")) % 10 == 0


@pytest.mark.parametrize(
    ("text", "digits", "wanted"),
    [
        ("0.1", None, "0.1"),
        ("1", None, "1.0"),
        ("1e22", None, "10000000000000000000000.0"),
        ("1e-5", None, "1e-05"),
        ("1e100", None, "1e+100"),
        ("-0", None, "-0.0"),
        ("inf", 5, "inf"),
        ("nan", None, "nan"),
        ("0.5", 3, "0.500"),
        ("123456", 3, "1.23e+05"),
        ("123", 3, "123"),
        ("9.9996", 4, "10.00"),
        ("0", 3, "0.00"),
        ("2.5", 1, "2"),
        ("3.5", 1, "4"),
        ("1.5-2j", None, "1.5-2.0j"),
        ("1e-400", None, "0.0"),
    ],
)
def test_layout(text, digits, wanted):
    block, is_complex = objects_to_block(text, 4)
    assert block_to_strings(block, qd, is_complex, digits)[()] == wanted


def test_lossless_form():
    limbs = np.array([1.0, 2.0**-53, 2.0**-106, 0.0])
    text = block_to_strings(limbs, qd)[()]
    assert text == "0x1.0000000000000p+0+0x1.0000000000000p-53+0x1.0000000000000p-106"
    pair = block_to_strings(np.array([limbs, -limbs]), qd, True)[()]
    assert pair == f"({text})+({text.replace('+0x', '-0x').replace('0x', '-0x', 1)})j"


def test_missing_limbs_are_zero():
    assert block_to_strings(np.array([0.5]), od)[()] == "0.5"
    assert len(block_to_strings(np.array([0.1]), od)[()]) == 57


@given(dyadics(), precisions)
def test_exact_output(value, precision):
    limbs = fraction_to_limbs(value, precision.limbs)
    block = np.array([limbs, limbs]).T
    assert block_to_fractions(block).tolist() == [exact(limbs)] * 2
    for number in block_to_mpmath(block):
        sign, man, exp, _ = number._mpf_
        assert (-1) ** sign * int(man) * Fraction(2) ** int(exp) == exact(limbs)


def test_special_output():
    block = np.array([[np.inf, np.nan, -0.0], [0.0, 0.0, 0.0]])
    numbers = block_to_mpmath(block)
    assert numbers[0] == mpmath.inf
    assert mpmath.isnan(numbers[1])
    assert numbers[2] == 0
    assert block_to_fractions(block[:, 2:]).tolist() == [0]
    with pytest.raises(ValueError, match=r"at \[1\]: nan is no fraction.*isfinite"):
        block_to_fractions(block[:, 1:][:, ::-1])
    with pytest.raises(TypeError, match=r"a\.real and a\.imag"):
        block_to_fractions(np.zeros((2, 2, 1)), True)
    pair = block_to_mpmath(np.array([[[1.0]], [[-2.0]]]), True)
    assert pair[0] == mpmath.mpc(1, -2)
    assert block_to_strings(np.zeros((2, 0, 3)), dd).shape == (0, 3)


@pytest.mark.parametrize("digits", [0, -1, True, 2.0, "3"])
def test_bad_digits(digits):
    with pytest.raises((TypeError, ValueError), match="digits must be"):
        block_to_strings(np.zeros((2, 1)), dd, False, digits)


@pytest.mark.parametrize("x", [1.0, 0.0])
@pytest.mark.parametrize("digits", [10**16, 10**30])
def test_no_memory_for_text_is_said(x, digits):
    block = np.array([[x] * 3, [0.0] * 3])
    with pytest.raises(MemoryError, match=f"no memory for 3 texts of {digits} digits .* fewer val"):
        block_to_strings(block, dd, digits=digits)
