"""Decimals in C++: the limbs and the digits are those of Python's integers."""

from __future__ import annotations

import io

import numpy as np
import pytest
from exact_limbs import stored
from hypothesis import given, settings
from hypothesis import strategies as st

from mdqr._backend.host import text
from mdqr._convert import arrays
from mdqr._convert.arrays import block_to_strings
from mdqr._convert.digits import most_digits
from mdqr._convert.strings import strings_to_block, text_to_limbs
from mdqr._io.loadtxt import read_table
from mdqr._precision import PRECISIONS

SIGNS = st.sampled_from(["", "-", "+"])
POWERS = st.integers(-40, 45) | st.integers(-340, 320)
EXPONENTS = st.just("") | st.builds("{}{}".format, st.sampled_from("eE"), POWERS)
LIMBS = [limbs for p in PRECISIONS for limbs in (p.limbs, p.limbs + 1)]


@st.composite
def decimals(draw):
    digits = draw(
        st.text("0123456789", min_size=1, max_size=20)
        | st.text("0123456789", min_size=60, max_size=140)
        | st.builds("{}{}".format, st.integers(1, 2**70), st.text("09", max_size=90))
    )
    place = draw(st.integers(0, len(digits)))
    point = draw(st.sampled_from(["", "."]))
    blanks = draw(st.sampled_from(["{}", " {}\t"]))
    return blanks.format(draw(SIGNS) + digits[:place] + point + digits[place:] + draw(EXPONENTS))


STRANGE = st.sampled_from(["nan", "1_0", "0x1p3", "1+2j", "-0.0", "0", "9007199254740993", "é"])


def ties(limbs):
    """Integers that lie at, or one beside, the middle between numbers of so many limbs."""
    bits = 53 * limbs + 1
    return st.builds(
        lambda top, side: str((((1 << bits - 1) + 2 * top + 1) << 1) + side),
        st.integers(0, 2 ** (bits - 2) - 1),
        st.sampled_from([-1, 0, 1]),
    )


def check_reading(data, limbs):
    texts = data.draw(st.lists(decimals() | ties(limbs) | STRANGE, min_size=1, max_size=40))
    block, read = text.read_texts(texts, limbs)
    for column, one, is_read in zip(block.T, texts, read, strict=True):
        if is_read:
            assert column.tobytes() == np.array(text_to_limbs(one, limbs)[0]).tobytes()
        else:
            assert not column.any()


@settings(max_examples=100)
@given(data=st.data(), limbs=st.sampled_from(LIMBS))
def test_limbs_are_those_of_single_texts(data, limbs):
    check_reading(data, limbs)


@pytest.mark.long
@settings(max_examples=5000)
@given(data=st.data(), limbs=st.sampled_from(LIMBS))
def test_limbs_are_those_of_many_single_texts(data, limbs):
    check_reading(data, limbs)


@pytest.mark.parametrize("limbs", [limbs for limbs in LIMBS if limbs <= text.MOST_LIMBS])
def test_plain_decimals_are_read(limbs):
    """So that the test above is one of something."""
    plain = ["1", "-2.5", "0.1", "1e22", "1.7976931348623157e100", "+.5", "5.e-3", "0", "-0.0"]
    assert text.read_texts([*plain, "1" * 140, "3" * 18 + "." + "7" * 60], limbs)[1].all()
    left = ["1e", "e1", "--1", "1.2.3", "", ".", "é", "1\n2", "1e99999", "nan", "1 2", "1" * 401]
    assert not text.read_texts(left, limbs)[1].any()


def check_writing(data, precision):
    rows = data.draw(st.lists(stored(precision.limbs), min_size=1, max_size=12))
    block = np.array(rows).T.copy()
    digits = data.draw(st.none() | st.integers(1, 160))
    most = data.draw(st.sampled_from([None, most_digits(precision)]))
    found = block_to_strings(block, precision, False, digits, most)
    nothing = ([None] * len(rows), [0] * len(rows))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrays, "write_texts", lambda *_: nothing)
        assert found.tolist() == block_to_strings(block, precision, False, digits, most).tolist()


@given(data=st.data(), precision=st.sampled_from(PRECISIONS))
def test_digits_are_those_of_integers(data, precision):
    check_writing(data, precision)


@pytest.mark.long
@settings(max_examples=20_000)
@given(data=st.data(), precision=st.sampled_from(PRECISIONS))
def test_digits_of_many_numbers_are_those_of_integers(data, precision):
    check_writing(data, precision)


@pytest.mark.parametrize("precision", PRECISIONS, ids=str)
def test_ordinary_numbers_are_written(precision):
    """So that the test above is one of something."""
    texts = ["1", "-2.5", "0.1", "1e22", "3e-5", "7" * 40, "1." + "3" * 130, "-9.99e9"]
    block, read = text.read_texts(texts, precision.limbs)
    assert read.all()
    for digits in (None, 1, 17, 300):
        written, _ = text.write_texts(block, precision.limbs, digits, None)
        assert None not in written
    assert text.write_texts(np.array([[0.0], [0.0]]), 2, None, None)[0] == [None]


@pytest.mark.parametrize("precision", PRECISIONS, ids=str)
def test_places_of_errors_and_of_other_numbers(precision):
    texts = ["1.5"] * 40 + ["2+3j", "nan"] + ["0.1"] * 40
    real, imag = strings_to_block(texts, precision.limbs)
    assert real[0, 40] == 2
    assert imag[0, 40] == 3
    assert np.isnan(real[0, 41])
    assert (real[0, 42:] == 0.1).all()
    texts[60] = "x"
    with pytest.raises(ValueError, match="cannot read 'x'") as caught:
        strings_to_block(texts, precision.limbs)
    assert caught.value.index == 60


def test_without_the_extension_everything_is_converted(monkeypatch):
    monkeypatch.setattr(text, "kernels", lambda: None)
    block, read = text.read_texts(["1", "2"], 2)
    assert not block.any()
    assert not read.any()
    assert text.write_texts(np.ones((2, 3)), 2, None, None) == ([None] * 3, [0] * 3)
    assert text.read_rows(b"1\n", np.array([1]), np.array([0]), 2, ",", None) is None
    assert strings_to_block(["0.1"], 2)[0].ravel().tolist() == text_to_limbs("0.1", 2)[0]


def test_the_extension_refuses_what_does_not_fit():
    module = text.kernels()
    done, ends, targets = np.zeros(1, np.uint8), np.array([1]), np.array([0])
    cells = np.zeros((1, 1), np.uint8)
    for call in (
        lambda: module.read_texts(["1", "2"], np.zeros((2, 1)), done),
        lambda: module.read_texts(["1"], np.zeros((17, 1)), done),
        lambda: module.read_texts(["1"], np.zeros((2, 1)), np.zeros(2, np.uint8)),
        lambda: module.read_rows(
            b"1", np.array([2]), targets, np.zeros((2, 1, 1)), done, cells, 44, ""
        ),
        lambda: module.read_rows(
            b"1", np.array([-1]), targets, np.zeros((2, 1, 1)), done, cells, 44, ""
        ),
        lambda: module.read_rows(
            b"1", ends, np.array([1]), np.zeros((2, 1, 1)), done, cells, 44, ""
        ),
        lambda: module.read_rows(
            b"1", ends, np.array([-2]), np.zeros((2, 1, 1)), done, cells, 44, ""
        ),
        lambda: module.read_rows(b"1", ends, targets, np.zeros((2, 2, 1)), done, cells, 44, ""),
        lambda: module.read_rows(b"1", ends, targets, np.zeros((2, 1)), done, cells, 44, ""),
        lambda: module.write_texts(np.zeros((2, 1)), 1, 0, 0),
        lambda: module.write_texts(np.zeros((2, 1)), 17, 0, 0),
        lambda: module.write_texts(np.zeros((2, 1)), 2, -1, 0),
    ):
        with pytest.raises(ValueError, match="a kernel was given"):
            call()


def test_more_limbs_than_the_extension_has_are_read():
    """The command line reads one limb more than its precision has, be these 16."""
    limbs, decimals = text.MOST_LIMBS + 1, ["0.1", "-3e-7", "12345678901234567890.5"]
    _, read = text.read_texts(decimals, limbs)
    assert not read.any()
    wanted = np.array([text_to_limbs(decimal, limbs)[0] for decimal in decimals]).T
    assert np.array_equal(strings_to_block(decimals, limbs)[0], wanted)
    assert np.count_nonzero(wanted[:, 0]) == limbs
    table = read_table(io.StringIO("".join(f"{decimal},1\n" for decimal in decimals)), limbs)
    assert np.array_equal(table.real[..., 0], wanted)
