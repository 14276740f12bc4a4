"""Numbers to limbs: one rounding, correct; exact types, other packages, NumPy arrays."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import flint
import gmpy2
import mpmath
import numpy as np
import pytest
from exact_limbs import SMALLEST, decimal_texts, dyadics, exact, greedy, is_normalised, same
from hypothesis import example, given
from hypothesis import strategies as st

import mdqr
from mdqr._convert.arrays import (
    block_to_fractions,
    fraction_to_limbs,
    objects_to_block,
    scalar_to_limbs,
)
from mdqr._precision import PRECISIONS, dd, od, qd

precisions = st.sampled_from(PRECISIONS)

# -- exact numbers ---------------------------------------------------------------------------


@given(dyadics(), precisions)
@example(Fraction(2**120 + 2**67 + 1, 2**120), od)
@example(Fraction(2**1024 - 2**970 - 2**960), dd)
@example(SMALLEST / 2, qd)
@example(SMALLEST * Fraction(3, 2), qd)
def test_dyadic_is_greedy(value, precision):
    limbs = fraction_to_limbs(value, precision.limbs)
    assert [x + 0.0 for x in limbs] == greedy(value, precision.limbs)
    assert is_normalised(limbs)


@given(
    st.integers(-(10**150), 10**150),
    st.integers(1, 10**150),
    st.integers(-1000, 500),
    precisions,
)
def test_fraction_is_greedy(num, den, power, precision):
    value = Fraction(num, den) * Fraction(2) ** power
    limbs = fraction_to_limbs(value, precision.limbs)
    assert [x + 0.0 for x in limbs] == greedy(value, precision.limbs)
    # the definition of correct rounding: at most half an ulp of the last limb
    assert abs(exact(limbs) - value) <= Fraction(math.ulp(limbs[-1])) / 2


@given(dyadics(low=-2, high=200), precisions)
def test_int_is_its_fraction(value, precision):
    number = int(value)
    assert scalar_to_limbs(number, precision.limbs) == (
        fraction_to_limbs(Fraction(number), precision.limbs),
        None,
    )


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("x", [10**400, 2**1024, 2**1024 - 2**970 - 1])
def test_a_value_beyond_the_range_is_infinite_whatever_its_type(x, sign):
    sympy = pytest.importorskip("sympy", reason="SymPy (extra series) is not installed")
    x *= sign
    number = mpmath.mp.make_mpf(mpmath.libmp.from_int(x))
    values = [x, Fraction(x), Decimal(x), str(x), hex(x), number, gmpy2.mpz(x), gmpy2.mpq(x)]
    for value in [*values, sympy.Integer(x), sympy.Float(x, 400)]:
        assert scalar_to_limbs(value, 4) == ([sign * math.inf, 0.0, 0.0, 0.0], None)
    assert scalar_to_limbs(Fraction(10**500, 3) * sign, 2)[0] == [sign * math.inf, 0.0]


def test_huge_rational_of_ordinary_size():
    value = Fraction(10**6000 + 1, 10**6000 * 3)
    assert exact(fraction_to_limbs(value, 4)) == exact(greedy(Fraction(1, 3), 4))


def test_not_normalised_greedy_form_is_mended():
    value = 1 + Fraction(1, 2**53) + Fraction(1, 2**120)
    assert fraction_to_limbs(value, 4) == [1.0, 2.0**-53, 2.0**-120, 0.0]


# -- numbers of other packages ---------------------------------------------------------------


@given(dyadics(), precisions)
def test_exact_types_agree(value, precision):
    wanted = fraction_to_limbs(value, precision.limbs)
    power = value.denominator.bit_length() - 1
    number = mpmath.mp.make_mpf(mpmath.libmp.from_man_exp(value.numerator, -power))
    for x in (number, gmpy2.mpq(value)):
        assert [t + 0.0 for t in scalar_to_limbs(x, precision.limbs)[0]] == [
            t + 0.0 for t in wanted
        ]


@given(decimal_texts(), precisions)
def test_decimal_is_its_text(text, precision):
    assert scalar_to_limbs(Decimal(text), precision.limbs) == scalar_to_limbs(text, precision.limbs)


def test_other_types():
    third = fraction_to_limbs(Fraction(1, 3), 4)
    zero = [0.0] * 4
    assert scalar_to_limbs(flint.fmpq(1, 3), 4) == (third, None)
    assert scalar_to_limbs(flint.fmpz(7), 4) == ([7.0, 0.0, 0.0, 0.0], None)
    assert scalar_to_limbs(mpmath.mpc(1, -2), 2) == ([1.0, 0.0], [-2.0, 0.0])
    assert scalar_to_limbs(mpmath.mpf("-inf"), 2) == ([-math.inf, 0.0], None)
    assert math.isnan(scalar_to_limbs(mpmath.mpf("nan"), 2)[0][0])
    assert scalar_to_limbs(mpmath.ldexp(-1, 5000), 2)[0] == [-math.inf, 0.0]
    assert scalar_to_limbs(Decimal("1e400"), 2)[0] == [math.inf, 0.0]
    assert math.isnan(scalar_to_limbs(Decimal("sNaN12"), 2)[0][0])
    assert scalar_to_limbs(True, 2) == ([1.0, 0.0], None)
    assert scalar_to_limbs(np.bool_(True), 2) == ([1.0, 0.0], None)
    assert scalar_to_limbs(np.float32(0.1), 2) == ([float(np.float32(0.1)), 0.0], None)
    assert scalar_to_limbs(np.uint64(2**64 - 1), 2) == ([2.0**64, -1.0], None)
    assert scalar_to_limbs(np.complex64(1 - 2j), 2) == ([1.0, 0.0], [-2.0, 0.0])
    assert scalar_to_limbs(0.1, 4) == ([0.1, 0.0, 0.0, 0.0], None)
    assert scalar_to_limbs(-0.5j, 4) == ([-0.0, 0.0, 0.0, 0.0], [-0.5, 0.0, 0.0, 0.0])
    assert scalar_to_limbs(math.inf, 4)[0] == [math.inf, *zero[1:]]


def test_constant_of_mpmath_is_not_cut_at_its_precision():
    with mpmath.workprec(600):
        wanted = block_to_fractions(np.array(scalar_to_limbs(+mpmath.pi, 8)[0]))[()]
    assert mpmath.mp.prec == 53
    assert exact(scalar_to_limbs(mpmath.pi, 8)[0]) == wanted


def test_sympy_numbers():
    sympy = pytest.importorskip("sympy", reason="SymPy (extra series) is not installed")
    third = fraction_to_limbs(Fraction(1, 3), 8)
    assert scalar_to_limbs(sympy.Rational(1, 3), 8) == (third, None)
    assert scalar_to_limbs(sympy.Integer(5), 2) == ([5.0, 0.0], None)
    with mpmath.workprec(700):
        assert scalar_to_limbs(sympy.sqrt(2), 8)[0] == scalar_to_limbs(mpmath.sqrt(2), 8)[0]
        cosine = scalar_to_limbs(mpmath.cos(mpmath.pi / 7), 8)[0]
        sine = scalar_to_limbs(mpmath.sin(mpmath.pi / 7), 8)[0]
    assert scalar_to_limbs(sympy.pi, 8) == scalar_to_limbs(mpmath.pi, 8)
    assert scalar_to_limbs(sympy.exp(sympy.I * sympy.pi / 7), 8) == (cosine, sine)
    assert scalar_to_limbs(sympy.I, 1) == ([0.0], [1.0])
    assert scalar_to_limbs(-sympy.oo, 1) == ([-math.inf], None)
    assert math.isnan(scalar_to_limbs(sympy.nan, 1)[0][0])
    hidden_zero = sympy.sin(1) ** 2 + sympy.cos(1) ** 2 - 1
    assert scalar_to_limbs(hidden_zero, 2)[0] == [0.0, 0.0]
    with pytest.raises(TypeError, match="free symbols; got x"):
        scalar_to_limbs(sympy.Symbol("x"), 2)
    with pytest.raises(ValueError, match="without a direction"):
        scalar_to_limbs(sympy.zoo, 2)
    # the stored value, not the decimal
    number = sympy.Float("0.1", 30)
    stored = Fraction(str(sympy.Rational(number)))
    assert stored != Fraction(1, 10)
    assert scalar_to_limbs(number, 4) == (fraction_to_limbs(stored, 4), None)


def test_what_is_no_number():
    for x in (object(), b"1", None, {1}, np.datetime64("2020-01-01")):
        with pytest.raises(TypeError, match=f"cannot convert {type(x).__name__} to a number"):
            scalar_to_limbs(x, 2)


# -- NumPy arrays and nested sequences -------------------------------------------------------


@pytest.mark.parametrize("name", ["bool", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
@pytest.mark.parametrize("precision", PRECISIONS, ids=str)
def test_integer_array_is_exact(name, precision):
    dtype = np.dtype(name)
    values = [0, 1]
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        near = [max(info.max // 2**k + j, 0) for k in (0, 1, 9, 10, 11) for j in (-1, 0)]
        values += near + [info.min // 2**k for k in (0, 1, 9, 10, 11)]
    array = np.array(values, dtype=dtype).reshape(1, -1)
    block, is_complex = objects_to_block(array, precision.limbs)
    assert not is_complex
    assert block.shape == (precision.limbs, *array.shape)
    for i, value in enumerate(values):
        assert block[:, 0, i].tolist() == fraction_to_limbs(Fraction(value), precision.limbs)


@pytest.mark.parametrize("precision", PRECISIONS, ids=str)
def test_longdouble_array_is_exact(precision):
    one = np.longdouble(1)
    x = np.array([one / 3, -one / 7 * 2**-1060, np.inf, np.nan, -0.0, 1 + one * 2.0**-63])
    block, _ = objects_to_block(x, precision.limbs)
    for i, value in enumerate(x):
        wanted = scalar_to_limbs(value, precision.limbs)[0]
        assert same([t + 0.0 for t in block[:, i]], [t + 0.0 for t in wanted]) or np.isnan(value)
    z = np.zeros(x.size, dtype=np.clongdouble)
    z.imag = x
    pair, is_complex = objects_to_block(z, precision.limbs)
    assert is_complex
    assert same(pair[1, :, 0].tolist(), block[:, 0].tolist())
    if np.finfo(np.longdouble).maxexp > 1024:
        assert objects_to_block(np.array([one * 2.0**1023 * 4]), 1)[0][0, 0] == np.inf


def test_float_and_complex_arrays_are_one_limb():
    x = np.array([0.1, np.inf, -0.0, 5e-324])
    block, is_complex = objects_to_block(x, 4)
    assert not is_complex
    assert same(block[0].tolist(), x.tolist())
    assert not block[1:].any()
    block, is_complex = objects_to_block(x[:1] * (1 - 2j), 2)
    assert is_complex
    assert block[:, :, 0].tolist() == [[0.1, 0.0], [-0.2, 0.0]]


def test_nested_sequences():
    block, _ = objects_to_block([["0.1", 1], (Fraction(1, 3), 2.5)], 2)
    assert block.shape == (2, 2, 2)
    assert block[:, 0, 0].tolist() == scalar_to_limbs("0.1", 2)[0]
    assert block[:, 1, 0].tolist() == fraction_to_limbs(Fraction(1, 3), 2)
    assert objects_to_block([[], []], 2)[0].shape == (2, 2, 0)
    assert objects_to_block("0.5", 2)[0].tolist() == [0.5, 0.0]
    assert objects_to_block(range(3), 2)[0][0].tolist() == [0.0, 1.0, 2.0]
    assert objects_to_block(np.array([["1", "2"]]), 2)[0][0].tolist() == [[1.0, 2.0]]
    assert objects_to_block(np.array([[1, "2"]], dtype=object), 2)[0][0].tolist() == [[1.0, 2.0]]
    assert objects_to_block([np.array([1, 2]), [3, "4"]], 2)[0][0].tolist() == [[1, 2], [3, 4]]
    assert objects_to_block(mpmath.matrix([[1, 2]]), 2)[0][0].tolist() == [[1.0, 2.0]]
    block, is_complex = objects_to_block([1, 2j], 1)
    assert is_complex
    assert block.tolist() == [[[1.0, 0.0]], [[0.0, 2.0]]]


def test_errors_name_the_place():
    with pytest.raises(ValueError, match=r"at \[1, 0\]: cannot read '1\.2\.3' as a number"):
        objects_to_block([["1", "2"], ["1.2.3", "4"]], 2)
    with pytest.raises(ValueError, match=r"at \[1\]: cannot read 'x'"):
        objects_to_block([1, "x"], 2)
    with pytest.raises(TypeError, match=r"at \[0, 1\]: cannot convert NoneType"):
        objects_to_block([[1, None]], 2)
    with pytest.raises(ValueError, match=r"item 0 has shape \(2,\), item 1 has shape \(1,\)"):
        objects_to_block([[1, 2], [3]], 2)
    endless: list = []
    endless.append(endless)
    with pytest.raises(ValueError, match="nested more than 64 deep"):
        objects_to_block(endless, 2)


class Ratio:
    """A rational number of somebody else's."""

    numerator, denominator = 1, 0


@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_rational_number_with_denominator_zero_is_refused(precision):
    with pytest.raises(ValueError, match="denominator 0"):
        mdqr.array([Ratio()], precision=precision)
    with pytest.raises(ValueError, match="denominator 0"):
        mdqr.ones(2, precision=precision) + Ratio()


@pytest.mark.parametrize("order", "<>")
def test_texts_of_no_characters_are_refused(order):
    texts = np.array([0x31, 0x110000], dtype=f"{order}u4").view(f"{order}U1")
    with pytest.raises(ValueError, match="0x110000"):
        mdqr.array(texts, precision="dd")
    with pytest.raises(ValueError, match="0x110000"):
        mdqr.ones(2, precision="dd") + texts


def test_texts_of_many_axes_are_refused_in_arithmetic():
    texts = np.full((1,) * 40, "0.1")
    with pytest.raises(TypeError, match="string is not a number"):
        mdqr.ones(1, precision="dd") + texts
    with pytest.raises(TypeError, match=r"^.{0,200}$"):
        mdqr.ones(1, precision="dd") + "1" * 10**5


def test_very_long_texts_are_read_right():
    assert mdqr.qd("0." + "0" * 70_000 + "1e70001").to_numpy() == 1.0
    assert mdqr.qd("1" + "0" * 70_000 + "e-70000").to_numpy() == 1.0


@pytest.mark.parametrize(
    "given", [np.ones((50, 50)), "x" * 10**5, 10**5000], ids=["array", "text", "integer"]
)
@pytest.mark.parametrize(
    "call",
    [
        lambda x: mdqr.zeros(3, precision=x),
        lambda x: mdqr.ones((2, 2), precision="dd").to_strings(digits=x),
        lambda x: mdqr.linalg.solve_triangular(np.eye(2), np.ones(2), trans=x, precision="dd"),
    ],
    ids=["precision", "digits", "trans"],
)
def test_what_an_option_was_given_is_shortened(call, given):
    with pytest.raises((TypeError, ValueError, MemoryError)) as caught:
        call(given)
    assert len(str(caught.value)) < 400


def test_lists_without_end_are_shown():
    deep = []
    for _ in range(10**5):
        deep = [deep]
    with pytest.raises(TypeError, match="precision"):
        mdqr.zeros(3, precision=deep)
