"""Single values: what strategies draw, and what failures shrink to."""

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from array_cases import exact
from hypothesis import HealthCheck, find, given, settings
from hypothesis import strategies as st

import mdqr
from mdqr._limbs.planes import is_normalised
from mdqr.testing import arrays, floats


def shrunk(strategy, condition):
    options = settings(database=None, max_examples=5000)
    return find(strategy, condition, settings=options, random=random.Random(0))


@pytest.mark.parametrize("precision", [mdqr.d, mdqr.qd], ids=str)
def test_failures_shrink_to_small_numbers_of_one_limb(precision):
    values = floats(precision)
    assert repr(shrunk(values, lambda x: x > 1)) == f"mdqr.array('2.0', precision={precision!r})"
    assert shrunk(values, lambda x: x * x > 10) == 4
    assert shrunk(values, lambda x: x < -3.5) == -4
    assert shrunk(values, lambda x: (x > 0) & (x < 1)) == 0.5
    assert np.isnan(float(shrunk(values, np.isnan)))
    assert np.isinf(float(shrunk(values, np.isinf)))
    assert shrunk(values, lambda x: True) == 0


@pytest.mark.parametrize("multiple", [mdqr.dd, mdqr.qd], ids=str)
def test_failures_shrink_to_few_limbs(multiple):
    found = shrunk(floats(multiple), lambda x: x.limbs[1] != 0)
    assert (found.limbs != 0).sum() == 2
    assert found.limbs[0] == 1
    everything = shrunk(floats(multiple), lambda x: x.limbs[-1] != 0)
    assert (everything.limbs != 0).all()


def test_values_are_normalised_and_of_many_kinds(multiple):
    kinds = set()

    @settings(max_examples=300, suppress_health_check=list(HealthCheck), derandomize=True)
    @given(floats(multiple))
    def look(x):
        assert x.shape == ()
        assert is_normalised(x.limbs).all()
        first = float(x.limbs[0])
        if 0 < abs(first) < math.inf:
            half = math.ulp(first) / 2
            kinds.add("tie" if abs(x.limbs[1]) == half else "apart")
            kinds.add(f"{(x.limbs != 0).sum()} limbs")
            kinds.add("negative" if (x.limbs[1] < 0) != (first < 0) else "positive")

    look()
    assert {"tie", "apart", "negative", "positive"} <= kinds
    assert {f"{k} limbs" for k in (1, 2, multiple.limbs)} <= kinds


BOUNDS = [("0.1", "0.3"), (Fraction(1, 3), None), (None, -2), (1, 1), ("1e-320", 5e-320)]


@pytest.mark.parametrize(("low", "high"), BOUNDS)
def test_bounds_are_exact(low, high, precision):
    @settings(max_examples=30)
    @given(floats(precision, min_value=low, max_value=high))
    def look(x):
        value = exact(x).item() if np.isfinite(float(x)) else float(x)
        assert low is None or value >= Fraction(low)
        assert high is None or value <= Fraction(high)

    look()


def test_bounds_may_be_arrays_and_infinite():
    multiple = mdqr.qd
    third = mdqr.array(Fraction(1, 3), precision=multiple)
    near = third + third * multiple.eps
    found = shrunk(floats(multiple, min_value=third, max_value=near), lambda x: True)
    assert (third <= found) & (found <= near)
    assert shrunk(floats(multiple, min_value=-math.inf, max_value=mdqr.qd("inf")), np.isfinite) == 0


def test_nan_and_infinity_as_told(precision):
    @given(floats(precision, allow_nan=False, allow_infinity=False, allow_subnormal=False))
    def look(x):
        assert np.isfinite(float(x))
        assert float(x) == 0 or abs(float(x)) >= 2.0**-1022

    look()


@pytest.mark.parametrize(
    "options",
    [
        {"min_value": 2, "max_value": 1},
        {"min_value": "x"},
        {"min_value": 1j},
        {"min_value": math.nan},
        {"min_value": 1, "families": ["odd"]},
        {"max_value": 1, "min_exponent": 0},
    ],
)
def test_what_leaves_no_value_is_refused(options):
    with pytest.raises(ValueError, match=r"bound|above|go with|literal|Fraction"):
        floats(mdqr.qd, **options).example()


def test_arrays_of_elements():
    multiple = mdqr.dd
    found = shrunk(arrays(multiple, 3, elements=floats(multiple)), lambda a: a.sum() > 5)
    assert sorted(found.tolist()) == [0, 0, 6]
    found = shrunk(arrays(multiple, (2,), elements=st.integers(0, 9)), lambda a: a.sum() > 5)
    assert found.precision is multiple
    assert (found == np.round(found)).all()
    pairs = arrays(multiple, 2, dtype=complex, elements=st.complex_numbers(allow_nan=False))
    assert shrunk(pairs, lambda a: (a.imag > 1).any()).imag.max() == 2


@given(data=st.data())
def test_arrays_within_bounds(data, multiple, dtype):
    shape = data.draw(st.sampled_from([(), 2, (2, 0), (1, 3)]))
    a = data.draw(arrays(multiple, shape, dtype=dtype, min_value="0.1", max_value=2))
    assert a.shape == (shape if isinstance(shape, tuple) else (shape,))
    assert a.is_complex == (dtype is complex)
    for part in (a.real, a.imag) if a.is_complex else (a,):
        assert all(Fraction("0.1") <= value <= 2 for value in exact(part).reshape(-1))


def test_elements_have_their_own_bounds():
    with pytest.raises(ValueError, match="those of the elements"):
        arrays(mdqr.qd, 2, elements=floats(mdqr.qd), min_value=1)
    with pytest.raises(ValueError, match="dtype"):
        arrays(mdqr.qd, 2, dtype=int, min_value=1)
