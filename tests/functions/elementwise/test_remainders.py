"""Rounding, remainders, signs and bounds: exact, with NumPy's special values."""

import math
from fractions import Fraction

import numpy as np
import pytest
from array_cases import SPECIALS, exact, finite, full_width, same_bits
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import mdqr

VALUES = np.array([*SPECIALS, 2.5, -2.5, 0.5, -0.5, 3.0, 7.0, -7.0, 0.1, 5e-324])


def same_values(got, wanted):
    np.testing.assert_array_equal(got.to_numpy(), wanted)
    number = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(got.to_numpy())[number], np.signbit(wanted)[number])


@pytest.mark.parametrize("name", ["remainder", "floor_divide", "copysign"])
def test_special_values_of_pairs_are_numpys(name, precision):
    a = mdqr.array(VALUES[:, None], precision=precision)
    with np.errstate(all="ignore"):
        wanted = getattr(np, name)(VALUES[:, None], VALUES)
    if name == "floor_divide":  # NumPy's quotient is rounded before it is floored
        wanted = np.where(np.isfinite(wanted) & (abs(wanted) > 1e15), np.nan, wanted)
    got = getattr(mdqr, name)(a, VALUES)
    if name == "floor_divide":
        got = mdqr.where(np.isnan(wanted), np.nan, got)
    if name == "remainder":  # and its remainders of numbers of far sizes are rounded
        assert (abs(got) <= abs(mdqr.array(VALUES, precision=precision)))[got == got].all()
    same_values(got, wanted)


@pytest.mark.parametrize("name", ["trunc", "round", "nan_to_num"])
def test_special_values_are_numpys(name, precision):
    same_values(
        getattr(mdqr, name)(mdqr.array(VALUES, precision=precision)), getattr(np, name)(VALUES)
    )


@given(data=st.data())
def test_quotients_and_remainders_are_the_nearest(data, multiple):
    x, y = data.draw(finite(multiple, 4)), data.draw(finite(multiple, 4))
    y[y == 0] = 1
    quotients, rests = divmod(x, y)
    pairs = [divmod(a, b) for a, b in zip(exact(x), exact(y), strict=True)]
    for got, wanted in ((quotients, 0), (rests, 1)):
        values = np.array([pair[wanted] for pair in pairs], dtype=object)
        finite_ones = np.array([abs(v) < 2**1023 for v in values])
        nearest = mdqr.array(values, precision=multiple)
        assert (got == nearest)[finite_ones].all()
    assert same_bits(x // y, mdqr.floor_divide(x, y))
    assert same_bits(x % y, rests)


def test_remainders_mix_with_numbers(precision):
    a = mdqr.array([7, -7], precision=precision)
    assert (a // 2).tolist() == [3, -4]
    assert (7 % a).tolist() == [0, 0]
    assert [part.tolist() for part in divmod(9, a)] == [[1, -2], [2, -5]]
    a //= 2
    a %= 3
    assert a.tolist() == [0, 2]
    with pytest.raises(TypeError, match="real"):
        a % 1j


@given(data=st.data(), places=st.integers(-3, 40))
def test_rounding_to_places_is_the_nearest(data, places, multiple):
    a = data.draw(finite(multiple, 4))
    got = mdqr.round(a, places)
    values = np.array([Fraction(v.__round__(places)) for v in exact(a)], dtype=object)
    assert (got == mdqr.array(values, precision=multiple)).all()
    z = mdqr.from_limbs(np.stack([a.limbs, got.limbs]), dtype=complex)
    assert same_bits(mdqr.round(z, places).real, got)


def test_halves_are_those_of_the_value(multiple):
    """2.675 lies below the half as a double, and is one as a decimal to many digits."""
    a = mdqr.array(["0.125", "-0.125", "2.5", "nan", "inf"], precision=multiple)
    assert str(mdqr.round(a, 2)) == str(
        mdqr.array(["0.12", "-0.12", 2.5, "nan", "inf"], precision=multiple)
    )
    assert float(round(mdqr.array(2.675, precision=multiple), 2)) == 2.67
    assert round(mdqr.array("2.5", precision=multiple)) == 2
    with pytest.raises(TypeError):
        mdqr.round(a, 1.5)


@pytest.mark.parametrize("name", ["signbit", "logical_not"])
def test_truths_are_numpys(name, precision):
    a = mdqr.array(VALUES, precision=precision)
    np.testing.assert_array_equal(getattr(mdqr, name)(a), getattr(np, name)(VALUES))


@pytest.mark.parametrize("name", ["logical_and", "logical_or", "logical_xor"])
def test_truths_of_pairs_are_numpys(name, precision, dtype):
    a = mdqr.array(VALUES[:, None], precision=precision, dtype=dtype)
    for other in (VALUES, VALUES != 0, mdqr.array(VALUES, precision=mdqr.dd)):
        got = getattr(mdqr, name)(a, other)
        assert got.dtype == bool
        np.testing.assert_array_equal(got, getattr(np, name)(VALUES[:, None], VALUES))
    with pytest.raises(ValueError, match="broadcast"):
        getattr(mdqr, name)(a[:2, 0], [True] * 3)


@given(x=hnp.arrays(float, 5, elements=st.sampled_from(VALUES)))
def test_clip_is_numpys(x):
    a = mdqr.array(x, precision=mdqr.qd)
    same_values(mdqr.clip(a, -1, 2.5), np.clip(x, -1, 2.5))
    same_values(mdqr.clip(a, max=[1, 2, 3, 4, 5]), np.clip(x, None, [1, 2, 3, 4, 5]))
    same_values(a.clip(min=1), x.clip(min=1))
    assert same_bits(mdqr.clip(a), a)
    assert mdqr.clip(x, mdqr.od(0), 1).precision is mdqr.od
    with pytest.raises(ValueError, match="twice"):
        mdqr.clip(a, 1, min=0)


def test_bounds_do_not_round(multiple):
    third = mdqr.array(Fraction(1, 3), precision=multiple)
    assert same_bits(mdqr.clip(mdqr.array([0, 1], precision="dd"), third, 1)[0], third)


def test_neighbours(precision):
    x = mdqr.array([1, -1, 1.5, 0, math.inf, -math.inf, math.nan, 2], precision=precision)
    up, down = mdqr.nextafter(x, math.inf), mdqr.nextafter(x, -math.inf)
    unit = Fraction(2) ** (1 - precision.bits)
    assert [exact(up[i]).item() - exact(x[i]).item() for i in (0, 2)] == [unit, unit]
    assert exact(up[3]).item() == Fraction(1, 2**1074) == -exact(down[3]).item()
    assert float(up[5]) == -precision.huge
    assert np.isnan(float(up[6]))
    assert same_bits(mdqr.nextafter(x[:4], x[:4]), x[:4])
    if precision is mdqr.d:
        values = VALUES[:, None]
        got = mdqr.nextafter(mdqr.array(values, precision=precision), VALUES)
        np.testing.assert_array_equal(got.to_numpy(), np.nextafter(values, VALUES))


@pytest.mark.parametrize("name", ["remainder", "floor_divide", "copysign", "nextafter"])
def test_complex_pairs_are_refused(name, precision):
    with pytest.raises(TypeError, match="real"):
        getattr(mdqr, name)(mdqr.array(1j, precision=precision), 1)


def test_replacing_what_is_no_number(multiple, rng):
    a = full_width(rng, multiple, 3)
    a[0] = math.inf
    got = mdqr.nan_to_num(a, posinf=5)
    assert float(got[0]) == 5
    assert same_bits(got[1:], a[1:])
    z = mdqr.array([complex(math.nan, -math.inf)], precision=multiple)
    assert complex(mdqr.nan_to_num(z, neginf=-1)[0]) == -1j


def test_closeness_place_by_place(multiple):
    a = mdqr.array([1, math.nan, math.inf, 0], precision=multiple)
    b = a * (1 + multiple.eps)
    assert mdqr.isclose(a, b).tolist() == [True, False, True, True]
    assert mdqr.isclose(a, b, equal_nan=True).all()
    assert mdqr.isclose(a, 1, 0.5).tolist() == [True, False, False, False]
