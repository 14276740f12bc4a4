"""Floor, ceil and rint, exact for every value."""

import math

import numpy as np
import pytest
from array_cases import SPECIALS, exact, finite
from hypothesis import given
from hypothesis import strategies as st

import mdqr
from mdqr._limbs.planes import is_normalised


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
