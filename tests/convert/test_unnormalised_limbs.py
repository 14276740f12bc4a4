"""Limbs that are not normalised, as users may leave them, and threads that round otherwise."""

from __future__ import annotations

import contextlib
import ctypes
import io
import sys
from fractions import Fraction
from math import isfinite

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mdqr
from mdqr._convert.digits import significant
from mdqr._limbs import planes
from mdqr._precision import PRECISIONS

EDGES = [0.0, -0.0, 5e-324, 2.0**-1022, 2.0**-900, 1.0, -1.0, 2.0**53, 1e308, -1e308]
SPECIAL = [float("inf"), -float("inf"), float("nan")]
finite = st.sampled_from(EDGES) | st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def arrays(draw, doubles=finite):
    precision = draw(st.sampled_from(PRECISIONS[1:]))
    limbs = draw(st.lists(doubles, min_size=precision.limbs, max_size=precision.limbs))
    order = draw(st.sampled_from(["as drawn", "rising", "falling"]))
    if order != "as drawn":
        limbs.sort(key=abs, reverse=order == "falling")
    a = mdqr.zeros(1, precision=precision)
    a.limbs[:, 0] = limbs
    return a


def value_of(a):
    return sum(map(Fraction, a.limbs[:, 0].tolist()), Fraction(0))


@given(arrays(), st.integers(1, 60))
def test_digits_are_those_of_the_sum(a, digits):
    value, (text,) = value_of(a), a.to_strings(digits=digits)
    assert (
        Fraction(text) == 0
        if not value
        else abs(Fraction(text) / value - 1) <= Fraction(1, 2 * 10 ** (digits - 1))
    )
    if value:
        man = abs(value.numerator)
        exact, _ = significant(man, 1 - value.denominator.bit_length(), digits)
        shown = text.lstrip("-").partition("e")[0].replace(".", "").strip("0")
        assert shown == exact.strip("0")


@given(arrays())
def test_the_fewest_digits_end(a):
    (text,) = a.to_strings()
    again = mdqr.array([text], precision=a.precision)
    if planes.is_normalised(a.limbs).all():
        assert again.limbs.tolist() == a.limbs.tolist()
    assert len(repr(a)) < 1000


@given(arrays(finite | st.sampled_from(SPECIAL)))
def test_conversions_end(a):
    repr(a)
    a.to_strings(digits=40)
    with contextlib.suppress(ValueError):  # an infinite limb below a finite one
        mdqr.round(a, 3)
    a.astype(mdqr.d)
    float(a[0])
    a.to_numpy()


@given(arrays(finite | st.sampled_from(SPECIAL)))
def test_renormalised_limbs_are_the_greedy_ones(a):
    limbs = a.limbs[:, 0].tolist()
    with np.errstate(all="ignore"):
        found = planes.renormalize(a.limbs.copy())
    assert planes.is_normalised(found).all()
    if all(map(isfinite, limbs)) and abs(value_of(a)) < Fraction(2) ** 1023:
        rest = abs(value_of(a) - sum(map(Fraction, found[:, 0].tolist())))
        assert rest <= Fraction(2) ** -1074 or rest * 2 ** (53 * len(limbs) - 2) < abs(value_of(a))


def test_limbs_that_corrupted_memory_are_written():
    a = mdqr.dd([1.0, 2.0])
    a.limbs[1] = 1e308
    assert a.to_strings(digits=20).tolist() == ["1.0000000000000000110e+308"] * 2
    a = mdqr.dd([1 / 3])
    a.limbs[:, 0] = a.limbs[::-1, 0].copy()
    a.limbs[:, 0] = [2.0**-60, 1 / 3]
    exact = Fraction(1 / 3) + Fraction(2) ** -60
    assert abs(Fraction(a.to_strings(digits=30).item()) - exact) < Fraction(1, 10**29)


@pytest.fixture
def rounding():
    """Set the mode of this thread."""
    if sys.platform != "linux" or not hasattr(ctypes.CDLL("libm.so.6"), "fesetround"):
        pytest.skip("the modes of glibc")
    libm = ctypes.CDLL("libm.so.6")
    yield libm.fesetround
    libm.fesetround(0)


x = mdqr.dd(["0.1", "0.7"])
NEAREST_ONLY = {
    "array of texts": lambda: mdqr.array(["0.1", "1e-30"], precision="dd"),
    "array of integers": lambda: mdqr.array([10**40], precision="dd"),
    "array of doubles": lambda: mdqr.array([0.1], precision="dd"),
    "to_numpy": lambda: x.to_numpy(),
    "float": lambda: float(mdqr.dd("0.1") * 3),
    "astype": lambda: x.astype("d"),
    "repr": lambda: repr(x),
    "from_limbs": lambda: mdqr.from_limbs(np.ones((2, 3))),
    "uniform": lambda: mdqr.random.uniform(3, precision="dd", rng=1),
    "normal": lambda: mdqr.random.normal(3, precision="dd", rng=1),
    "loadtxt": lambda: mdqr.loadtxt(io.StringIO("0.1,0.2\n"), precision="dd"),
    "round": lambda: mdqr.round(x, 1),
    "add": lambda: x + x,
    "one value": lambda: x[0] * x[1],
    "order": lambda: x[0] < x[1],
    "sum": lambda: x.sum(),
    "product of float64": lambda: mdqr.d(np.ones((3, 3))) @ np.ones(3),
    "lstsq": lambda: mdqr.linalg.lstsq(np.eye(3), np.ones(3), precision="dd"),
    "svd": lambda: mdqr.linalg.svd(mdqr.dd(np.eye(3))),
    "roots": lambda: mdqr.linalg.roots(mdqr.dd([1, 2, 3])),
}


@pytest.mark.parametrize("mode", [0x400, 0x800, 0xC00], ids=["downward", "upward", "to zero"])
@pytest.mark.parametrize("call", NEAREST_ONLY.values(), ids=NEAREST_ONLY)
def test_another_rounding_mode_is_refused(rounding, call, mode):
    call()
    rounding(mode)
    try:
        with pytest.raises(FloatingPointError, match="fesetround"):
            call()
    finally:
        rounding(0)


def test_what_adds_no_doubles_needs_no_mode(rounding):
    rounding(0x400)
    fractions, copied = x.to_fractions(), x.copy()
    rounding(0)
    assert fractions.tolist() == x.to_fractions().tolist()
    assert copied.limbs.tolist() == x.limbs.tolist()
