"""Text to limbs: correctly rounded, as float() and complex() read it, and safe."""

from __future__ import annotations

import math
import sys
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from exact_limbs import decimal_texts, greedy, same
from hypothesis import example, given
from hypothesis import strategies as st

from mdqr._convert import strings
from mdqr._convert.arrays import (
    block_to_strings,
    fraction_to_limbs,
    objects_to_block,
    scalar_to_limbs,
)
from mdqr._limbs.exact import normalize_units
from mdqr._precision import PRECISIONS, dd, od, qd

precisions = st.sampled_from(PRECISIONS)


@given(decimal_texts(), precisions)
@example("17976931348623158079372897140530341507993413271e262", qd)
@example("-1e-400", dd)
@example("0.1", od)
def test_decimal_text_is_its_fraction(text, precision):
    limbs, imag = scalar_to_limbs(text, precision.limbs)
    wanted = fraction_to_limbs(Fraction(text), precision.limbs)
    if not wanted[0]:
        wanted[0] = math.copysign(0.0, -1 if text[0] == "-" else 1)
    assert imag is None
    assert same(limbs, wanted)


@given(st.text(alphabet="0012359.eE+-_ \tinfaty٣", max_size=12))
@example("1_000.5_0e1_0")
@example("_1")
@example("1__0")
@example("1_.5")
@example(" -Infinity ")
@example("\u00a01\u2003")
def test_accepts_what_float_accepts(text):
    try:
        wanted = float(text)
    except ValueError:
        with pytest.raises(ValueError, match="cannot read"):
            scalar_to_limbs(text, 1)
    else:
        (limb,), imag = scalar_to_limbs(text, 1)
        assert imag is None
        assert limb == wanted or (math.isnan(wanted) and math.isnan(limb))
        assert math.isnan(wanted) or math.copysign(1, limb) == math.copysign(1, wanted)


@given(st.text(alphabet="0123.e+-j()_J inf", max_size=12).map(lambda s: s + "j"))
@example("1+j")
@example("-1e-5-2e+3j")
@example("(1.5-2j)")
@example("infinity-infj")
@example("nanj")
@example("1 + 2j")
def test_accepts_what_complex_accepts(text):
    try:
        wanted = complex(text)
    except ValueError:
        with pytest.raises(ValueError, match="cannot read"):
            scalar_to_limbs(text, 1)
    else:
        real, imag = scalar_to_limbs(text, 1)
        assert imag is not None
        assert str(complex(real[0], imag[0])) == str(wanted)


@given(st.floats(allow_nan=False))
def test_hexadecimal_float(x):
    assert same(scalar_to_limbs(x.hex(), 2)[0], [x, 0.0])


def test_long_hexadecimal_float_is_rounded_once():
    text = "0x1." + "0" * 13 + "8" + "0" * 20 + "1p-3"
    value = Fraction(16**35 + 8 * 16**21 + 1, 16**35 * 8)
    assert scalar_to_limbs(text, 1)[0] == greedy(value, 1)
    assert scalar_to_limbs(text, 8)[0] == greedy(value, 8)
    assert scalar_to_limbs("-0x.8p1", 2)[0] == [-1.0, 0.0]
    assert same(scalar_to_limbs("-0x0p0", 2)[0], [-0.0, 0.0])


def test_sum_of_hexadecimal_floats():
    assert scalar_to_limbs("0x1p0+0x1p-53+0x1p-106", 4)[0] == [1.0, 2.0**-53, 2.0**-106, 0.0]
    assert scalar_to_limbs("0x1p-60+0x1p0", 2)[0] == [1.0, 2.0**-60]
    assert scalar_to_limbs("0x1p0+0x1p-60+0x1p-120", 2)[0] == [1.0, 2.0**-60]
    for bad in ("0x1p0+0x1p-2000", "0x1p0+0x1p2000", "0x1p0+0x1.00000000000001p0", "0x", "0x1p"):
        with pytest.raises(ValueError, match="cannot read"):
            scalar_to_limbs(bad, 4)


@pytest.mark.parametrize("term", ["0x1p-5", "-0x1p-1074", "0x1.fffffffffffffp+1000"])
def test_joined_hexadecimal_floats_take_linear_time(monkeypatch, term):
    """Passes of normalisation over many terms took a minute for 70 kB; few terms take one pass."""
    lengths = []

    def watched(counts):
        lengths.append(len(counts))
        normalize_units(counts)

    monkeypatch.setattr(strings, "normalize_units", watched)
    term = term if term[0] == "-" else "+" + term
    limbs, imag = scalar_to_limbs(term * 20_000, 4)
    assert imag is None
    assert limbs == fraction_to_limbs(20_000 * Fraction(float.fromhex(term)), 4)
    assert not lengths
    scalar_to_limbs("0x1p0+0x1p-60+0x1p-120", 2)
    scalar_to_limbs("0x1p0+0x1p-60", 2)
    assert lengths == [2]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("1e999999999", math.inf),
        ("-1e" + "9" * 100_000, -math.inf),
        ("1e-999999999", 0.0),
        ("0e999999999", 0.0),
        ("0x1p999999999999", math.inf),
        ("0x1p-" + "9" * 50, 0.0),
        ("0." + "0" * 300_000 + "1e300001", 1.0),
        ("1" + "0" * 300_000 + "e-300000", 1.0),
        ("1" * 500_000, math.inf),
    ],
)
def test_untrusted_text_allocates_little(text, wanted):
    tracemalloc.start()
    try:
        assert scalar_to_limbs(text, 8)[0] == [wanted] + [0.0] * 7
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 20 * len(text) + 200_000


def test_digits_beyond_every_boundary_still_count():
    tie = str(2**53 + 1) + "." + "0" * 5000
    assert scalar_to_limbs(tie, 1)[0] == [2.0**53]
    assert scalar_to_limbs(tie + "1", 1)[0] == [2.0**53 + 2]


def test_works_under_a_low_digit_limit():
    text = "1" * 900 + "e-899"
    wanted = scalar_to_limbs(text, 8)
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(640)
    try:
        assert scalar_to_limbs(text, 8) == wanted
        tiny = np.array([5e-324, 0.0])[:, None]
        assert len(block_to_strings(tiny, dd, digits=760)[0]) == 766
    finally:
        sys.set_int_max_str_digits(before)
    value = Fraction(int("1" * 450) * 10**450 + int("1" * 450), 10**899)
    assert wanted[0] == greedy(value, 8)


def test_many_strings_convert_as_single_ones():
    rng = np.random.default_rng(5)
    texts = [
        f"{x:.17f}{'0' * (i % 3)}{i}e{i % 700 - 350}"
        for i, x in enumerate(rng.random(5000).tolist())
    ]
    texts[17], texts[4200], texts[4300] = "-inf", "nan", "0x1p0+0x1p-60"
    block, is_complex = objects_to_block(texts, 4)
    assert not is_complex
    for i, text in enumerate(texts):
        assert same(block[:, i].tolist(), scalar_to_limbs(text, 4)[0]), text


def test_many_strings_with_one_complex():
    texts = ["0.1"] * 5000
    texts[4500] = "1-0.2j"
    block, is_complex = objects_to_block(texts, 2)
    assert is_complex
    assert block[:, :, 4500].tolist() == [[1.0, 0.0], scalar_to_limbs("-0.2", 2)[0]]
    assert not block[1, :, :4500].any()
