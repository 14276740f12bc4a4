"""Many plain decimals at once: the limbs are those that integers give one by one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdqr._convert.decimals import read_decimals
from mdqr._convert.strings import strings_to_block, text_to_limbs
from mdqr._limbs.exact import normalize_block
from mdqr._precision import PRECISIONS

SIGNS = st.sampled_from(["", "-", "+"])
EXPONENTS = st.just("") | st.builds(
    "{}{}{}".format, st.sampled_from("eE"), SIGNS, st.integers(0, 45)
)


@st.composite
def decimals(draw):
    digits = draw(st.text("0123456789", min_size=1, max_size=20))
    place = draw(st.integers(0, len(digits)))
    point = draw(st.sampled_from(["", "."]))
    return draw(SIGNS) + digits[:place] + point + digits[place:] + draw(EXPONENTS)


STRANGE = st.sampled_from(
    ["nan", "inf", " 1", "1 ", "1_0", "0x1p3", "1+2j", "-0.0", "0", "9007199254740993"]
)


@settings(max_examples=100)
@given(
    texts=st.lists(decimals() | STRANGE, min_size=1, max_size=60),
    limbs=st.sampled_from([p.limbs for p in PRECISIONS]),
)
def test_limbs_are_those_of_single_texts(texts, limbs):
    block, read = read_decimals(texts, limbs)
    normalize_block(block)
    for column, text, is_read in zip(block.T, texts, read, strict=True):
        if is_read:
            assert column.tobytes() == np.array(text_to_limbs(text, limbs)[0]).tobytes()
        else:
            assert not column.any()


def test_plain_decimals_are_read():
    """So that the test above is one of something."""
    texts = ["1", "-2.5", "0.1", "1e22", "123456789012345678", "1.7976931348623157", "+.5", "5.e-3"]
    assert read_decimals(texts, 4)[1].all()
    left = [
        "0",
        "1e23",
        "1.2345678901234567891",
        "1e",
        "e1",
        "--1",
        "1.2.3",
        "",
        "é",
        "1\n2",
        "1e1234",
    ]
    for text in left:
        assert not read_decimals([text, "x"], 4)[1].any()


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
