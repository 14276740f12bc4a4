"""Printing: repr evaluates back, format rounds correctly, options stay in their context."""

from __future__ import annotations

import re
import threading
from decimal import Context, Decimal
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import mdqr
from mdqr._convert.digits import most_digits
from mdqr._precision import PRECISIONS

precisions = st.sampled_from(PRECISIONS)
DECIMALS = Context(prec=2000, Emax=10**6, Emin=-(10**6))
FLOATS = st.floats(allow_nan=False)
SHAPES = st.lists(st.integers(0, 3), max_size=3).map(tuple)


@st.composite
def arrays(draw):
    precision, shape = draw(precisions), draw(SHAPES)
    parts, count = draw(st.sampled_from([1, 2])), int(np.prod(shape))
    limbs = np.zeros((parts, precision.limbs, count))
    for part in limbs:
        part[0] = draw(st.lists(FLOATS, min_size=count, max_size=count))
        for above, below in pairwise(part):
            # a fraction of the last bit above, as often as not followed by a gap
            near = np.abs(above) < 1e300
            below[near] = np.spacing(above[near])
            below *= draw(st.sampled_from([0.0, 0.25, -0.375, 2.0**-30]))
            below[(above == 0) | (above + below != above)] = 0.0
            below += 0.0
    block = limbs.reshape(parts, precision.limbs, *shape)
    if parts == 2:
        return mdqr.from_limbs(block, dtype=complex, normalize=False)
    return mdqr.from_limbs(block[0], normalize=False)


@given(arrays())
def test_repr_evaluates_back(a):
    again = eval(repr(a), {"mdqr": mdqr})
    assert again.precision is a.precision
    assert again.is_complex == a.is_complex
    assert again.shape == a.shape
    digits = most_digits(a.precision)
    for ours, theirs in ((again.real, a.real), (again.imag, a.imag)):
        same = (ours.limbs == theirs.limbs).all(axis=0)
        lengths = [len(significand(text)) for text in theirs.to_strings().reshape(-1)]
        long = np.array(lengths) > digits
        assert (same | long.reshape(a.shape)).all()
        for x, y in zip(ours[~same], theirs[~same], strict=True):
            x, y = (v.to_fractions().item() for v in (x, y))
            assert abs(x - y) <= abs(y) / 2 / Fraction(10) ** (digits - 1)


def significand(text):
    """Return the digits of a decimal; of the lossless form far more."""
    return text if "x" in text else text.partition("e")[0].lstrip("-0.").replace(".", "")


def test_repr_leaves_out_what_stands_far_below():
    """A sum of qd showed 217 digits, and some values the hexadecimal form."""
    assert [most_digits(p) for p in PRECISIONS] == [17, 36, 73, 146, 293]
    far = mdqr.array(1, precision=mdqr.qd) + mdqr.qd(2.0**-700)
    assert repr(far) == "mdqr.array('1.0', precision=mdqr.qd)"
    assert len(far.to_strings().item()) > 300
    third = mdqr.array(1, precision=mdqr.od) / 3
    assert eval(repr(third), {"mdqr": mdqr}).limbs.tolist() == third.limbs.tolist()
    tie = mdqr.from_limbs(np.array([1.0, 2.0**-53, 2.0**-106, 0.0]), normalize=False)
    assert "x" not in repr(tie)
    assert "x" in tie.to_strings().item()


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("value", [1e-71, -1e100, 2.0**-236, 1e-300, 5e-324, 1.7e308])
def test_repr_of_one_limb_has_few_digits(value, precision):
    """1e-71 had 219 digits in dd."""
    a = mdqr.array([value, value * (1 - 2.0**-30)], precision=precision)
    digits = most_digits(precision)
    again = eval(repr(a), {"mdqr": mdqr})
    texts = re.findall("'(.*?)'", repr(a))
    for x, y, text, exact in zip(a, again, texts, a.to_fractions(), strict=True):
        assert len(significand(text)) <= digits
        near = abs(Fraction(text) - exact) <= abs(exact) / 2 / Fraction(10) ** (digits - 1)
        assert near or (x.limbs == y.limbs).all()


def test_repr_reads_well():
    a = mdqr.array(["0.1", "2", "-1e-30"], precision=mdqr.qd)
    assert repr(a) == "mdqr.array(['0.1', '2.0', '-1e-30'], precision=mdqr.qd)"
    assert repr(a[0]) == "mdqr.array('0.1', precision=mdqr.qd)"
    assert repr(a[:0]) == "mdqr.zeros((0,), precision=mdqr.qd)"
    b = mdqr.zeros((0, 2), precision=mdqr.dd, dtype=complex)
    assert repr(b) == "mdqr.zeros((0, 2), precision=mdqr.dd, dtype=complex)"
    long = mdqr.array([[1], [2]], precision=mdqr.od) / 3
    first, second, third = repr(long).split("\n")
    assert first.startswith("mdqr.array([['0.3333333333333333333")
    assert second.startswith("            ['0.6666666666666666666")
    assert third == "           precision=mdqr.od)"


@pytest.mark.parametrize("shape", [(1001,), (400, 3), (8, 8, 20)])
def test_large_arrays_are_summarised(shape):
    a = mdqr.ones(shape, precision=mdqr.dd)
    text = repr(a)
    assert "..." in text
    assert f"shape={shape}, precision=mdqr.dd" in text
    assert "..." in str(a)
    assert len(text) < 4000
    assert "..." not in repr(mdqr.ones((1000,), precision=mdqr.dd))


def test_summary_shows_the_edges():
    text = str(mdqr.arange(2000, precision=mdqr.dd))
    assert text.split() == ["[", "0.0", "1.0", "2.0", "...", "1997.0", "1998.0", "1999.0]"]


def test_str_is_aligned_and_rounded():
    a = mdqr.array([["1", "-22.5"], ["1e-3", "1000"]], precision=mdqr.qd)
    assert str(a) == "[[   1.0    -22.5  ]\n [   0.001 1000.0  ]]"
    third = mdqr.array(1, precision=mdqr.qd) / 3
    assert str(third) == "0." + "3" * 63
    assert str(third[None][:0]) == "[]"
    z = mdqr.array("0.25-1e70j", precision=mdqr.dd)
    assert str(z) == "0.25-1.0e+70j"


def test_numpy_options_do_not_leak_in():
    a = mdqr.array(["0.123456789012345678901"] * 3, precision=mdqr.qd)
    before = repr(a), str(a)
    with np.printoptions(precision=2, threshold=1, edgeitems=1, linewidth=10):
        assert (repr(a), str(a)) == before


# -- format ----------------------------------------------------------------------------------

SPECS = st.tuples(
    st.sampled_from(["", "+", "-", " "]),
    st.sampled_from(["", "1", "30"]),
    st.one_of(st.just(""), st.integers(0, 40).map(lambda k: f".{k}")),
    st.sampled_from("efg"),
).map("".join)


@given(st.floats(), SPECS)
@example(0.0, ".0g")
@example(9.5, ".0e")
@example(9.9999e22, ".3g")
@example(1e16, "g")
@example(-1e-5, ".3g")
@example(-0.0, "+.2f")
@example(float("nan"), "+10.2e")
def test_format_is_that_of_float(x, spec):
    assert format(mdqr.array(x, precision=mdqr.od), spec) == format(x, spec)


@given(st.complex_numbers(allow_nan=False, allow_infinity=False), SPECS)
def test_format_of_complex(z, spec):
    assert format(mdqr.array(z, precision=mdqr.qd), spec) == format(z, spec)


@given(st.integers(-(10**200), 10**200), st.integers(1, 10**200), st.integers(0, 150), precisions)
def test_format_is_correctly_rounded(num, den, count, precision):
    a = mdqr.array(Fraction(num, den), precision=precision)
    top, bottom = a.to_fractions()[()].as_integer_ratio()
    exact = DECIMALS.divide(Decimal(top), Decimal(bottom))
    for kind in "ef":
        assert Decimal(f"{a:.{count}{kind}}") == Decimal(format(exact, f".{count}{kind}"))


def test_more_places_than_a_double_has():
    text = f"{mdqr.array(5e-324, precision=mdqr.dd):.3000f}"
    assert len(text) == 3002
    assert text[2:1076].lstrip("0").startswith("49406564584124654")
    assert not text[1076:].strip("0")


@pytest.mark.parametrize("spec", ["d", "x", "n", "e ", "#.3e", "f,", "z.3f", ".", "<<<f", "3.f"])
def test_other_specifications_are_refused(spec):
    with pytest.raises(ValueError, match=r"\[grouping\]\[\.precision\] and one of e, f, g, %"):
        format(mdqr.array(1, precision=mdqr.qd), spec)


def test_format_needs_one_value():
    a = mdqr.ones((2, 1), precision=mdqr.dd)
    assert f"{a[:1]:.1f}" == "1.0"
    assert f"{a}" == str(a)
    with pytest.raises(TypeError, match=r"shape is \(2, 1\)"):
        format(a, ".3e")


# -- options ---------------------------------------------------------------------------------


def test_printoptions():
    a = mdqr.ones((5,), precision=mdqr.dd) / 3
    outside = str(a)
    with mdqr.printoptions(digits=3) as options:
        assert options == {"digits": 3, "threshold": 1000}
        assert str(a) == "[0.333 0.333 0.333 0.333 0.333]"
        assert repr(a[0]) == "mdqr.array('0.333', precision=mdqr.dd)"
        with mdqr.printoptions(threshold=4):
            assert str(mdqr.ones((7,), precision=mdqr.dd)).count("1.00") == 6
        assert "..." not in str(a)
    assert str(a) == outside


def test_printoptions_end_with_an_error():
    a = mdqr.ones((), precision=mdqr.dd) / 3
    outside = str(a)
    with pytest.raises(RuntimeError, match="inside"), mdqr.printoptions(digits=2):
        raise RuntimeError("inside")
    assert str(a) == outside


def test_printoptions_belong_to_one_thread():
    a = mdqr.ones((), precision=mdqr.dd) / 3
    seen = []
    with mdqr.printoptions(digits=2):
        thread = threading.Thread(target=lambda: seen.append(str(a)))
        thread.start()
        thread.join()
        assert str(a) == "0.33"
    assert seen == [str(a)]


@pytest.mark.parametrize(
    "options",
    [{"digits": 0}, {"digits": 2.5}, {"digits": True}, {"threshold": -1}, {"threshold": "9"}],
)
def test_bad_printoptions(options):
    name = next(iter(options))
    with (
        pytest.raises((TypeError, ValueError), match=f"{name} must be"),
        mdqr.printoptions(**options),
    ):
        pass


@pytest.mark.parametrize("spec", [f".{10**16}e", f".{10**30}f", f"{10**16}.3g"])
@pytest.mark.parametrize("x", [1, 1 + 1j])
def test_no_memory_for_a_format_is_said(spec, x):
    with pytest.raises(MemoryError, match=f"no memory for .* '{spec}'; ask for fewer digits"):
        format(mdqr.qd(x), spec)


@given(
    align=st.one_of(st.just(""), st.tuples(st.sampled_from("*x0 "), st.sampled_from("<>=^"))),
    sign=st.sampled_from(["", "+", "-", " "]),
    zero=st.sampled_from(["", "0"]),
    width=st.sampled_from(["", "1", "7", "12", "20", "21", "25"]),
    group=st.sampled_from(["", ",", "_"]),
    count=st.sampled_from(["", ".0", ".1", ".3", ".10"]),
    kind=st.sampled_from("eEfFgG"),
    x=st.one_of(st.floats(), st.floats(-1e7, 1e7), st.sampled_from([999.9996, 12345.0, -0.0])),
)
def test_specifications_mean_what_they_mean_for_floats(
    align, sign, zero, width, group, count, kind, x
):
    spec = "".join([*align, sign, zero, width, group, count, kind])
    assert format(mdqr.d(x), spec) == format(x, spec)


def test_values_are_aligned_with_all_digits():
    x = mdqr.qd("0.1")
    assert f"{x:>8}|{x:*<6}|{x:^9}|{x:+}" == "     0.1|0.1***|   0.1   |+0.1"
    assert f"{mdqr.qd(1) / 3:.40}" == "0." + "3" * 40
    assert f"{mdqr.qd('1234567.891') / 1:,.45f}".startswith("1,234,567.891000000000000000000000000")
    assert f"{mdqr.qd('0.1234'):.1%}" == "12.3%"
    z = mdqr.array([1 - 2j], precision="qd")[0]
    assert f"{z:>20.2f}|{z:<12}" == f"{'1.00-2.00j':>20}|{'1.0-2.0j':<12}"
    for spec in ("q", "z.3f", "..", "1.f", "%%"):
        with pytest.raises(ValueError, match="is not supported"):
            format(x, spec)
    for spec in ("=9.3f", "09.3f", "%"):
        with pytest.raises(ValueError, match="for real values"):
            format(z, spec)


@pytest.mark.parametrize("values", [["1e-30", "1e30"], [1, "1e40", 3], ["0.1", "-1e-4"]])
def test_numbers_are_not_much_wider_than_their_digits(values, multiple):
    """Points below each other made columns of twice the digits."""
    text = str(mdqr.array(values, precision=multiple)[:, None] / 3)
    assert max(len(line.strip("[] ")) for line in text.split("\n")) <= multiple.digits + 8


def test_results_are_shown_by_shape():
    a = mdqr.random.normal((20, 20), precision="qd", rng=1)
    assert len(repr(mdqr.linalg.qr(a))) < 120
    assert repr(mdqr.linalg.qr(mdqr.eye(1, precision="d"))).startswith("QRResult(Q=mdqr.array([[")
