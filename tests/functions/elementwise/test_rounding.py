"""Floor, ceil and rint, exact for every value."""

import math

import numpy as np
import pytest
from array_cases import SPECIALS, exact, finite
from hypothesis import given
from hypothesis import strategies as st

import mdqr
from mdqr._limbs.planes import is_normalised
from mdqr._precision import PRECISIONS


# Oracle: floor, ceil and round of the exact rational value.
@given(data=st.data())
def test_rounding_to_integers_is_exact(data, precision):
    a = data.draw(finite(precision))
    # Neighbours of integers and of halves: a large integer, a half, something tiny.
    tiny = mdqr.array([0, 1, -1, 0] * 16, precision=precision) * precision.eps
    for x in (a, mdqr.rint(a.real * 2.0**-900 * 2.0**890) * 0.5 + tiny):
        values = exact(x)
        for function, reference in (
            (mdqr.floor, math.floor),
            (mdqr.ceil, math.ceil),
            (mdqr.rint, round),
        ):
            got = function(x)
            assert is_normalised(got.limbs).all()
            assert exact(got).tolist() == [reference(value) for value in values]


def test_rounding_of_specials_and_complex(precision):
    a = mdqr.array(SPECIALS, precision=precision)
    for function, reference in ((mdqr.floor, np.floor), (mdqr.ceil, np.ceil), (mdqr.rint, np.rint)):
        got = function(a)
        np.testing.assert_array_equal(got.to_numpy(), reference(SPECIALS))
        np.testing.assert_array_equal(np.signbit(got.limbs[0, :2]), [False, True])
    z = precision(2.5 - 0.5j)
    assert mdqr.rint(z) == 2
    for function in (mdqr.floor, mdqr.ceil):
        with pytest.raises(TypeError, match="is for real values"):
            function(z)


@pytest.mark.parametrize("places", [10**9, -(10**9), 10**30, 400, -331])
def test_round_to_places_beyond_all_numbers(places):
    x = mdqr.qd(["1.5", "-2.25e-300", "1e308", "-0.0", "inf"])
    rounded = mdqr.round(x, places)
    want = x if places > 0 else mdqr.qd([0.0, -0.0, 0.0, -0.0, np.inf])
    assert rounded.limbs.tobytes() == want.limbs.tobytes()


@pytest.mark.parametrize("precision", [p.name for p in PRECISIONS[1:]])
def test_nextafter_keeps_the_sign_where_it_comes_to_zero(precision):
    x = mdqr.array([-5e-324, 5e-324], precision=precision)
    found = mdqr.nextafter(x, 0).limbs
    want = np.zeros_like(found)
    want[0, 0] = -0.0
    assert found.tobytes() == want.tobytes()
