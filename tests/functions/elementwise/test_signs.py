"""Signs and conjugates, exact for every value."""

import mpmath
import numpy as np
import pytest
from array_cases import SPECIALS, full_width, same_bits
from flushing import flushing, needs_mxcsr
from hypothesis import given
from hypothesis import strategies as st

import mdqr
from mdqr._limbs.planes import is_normalised
from mdqr.testing import arrays


@given(data=st.data())
def test_signs_are_exact(data, precision):
    a = data.draw(arrays(precision, 64))
    for got in (-a, mdqr.negative(a), abs(a), mdqr.sign(a)):
        assert is_normalised(got.limbs).all()
    np.testing.assert_array_equal((-a).limbs, -a.limbs)
    np.testing.assert_array_equal(np.signbit((-a).limbs[0]), ~np.signbit(a.limbs[0]))
    assert same_bits(mdqr.negative(-a), a)
    np.testing.assert_array_equal(abs(a).limbs[0], np.abs(a.limbs[0]))
    assert not np.signbit(abs(a).limbs[0]).any()
    negative = np.signbit(a.limbs[0])
    np.testing.assert_array_equal(abs(a).limbs, np.where(negative, -a.limbs, a.limbs))
    np.testing.assert_array_equal(mdqr.sign(a).to_numpy(), np.sign(a.limbs[0]))


@given(data=st.data())
def test_conjugates_are_exact(data, precision):
    a = data.draw(arrays(precision, 16, dtype=complex))
    for got in (mdqr.conj(a), a.conj()):
        assert same_bits(got.real, a.real)
        assert same_bits(got.imag, -a.imag)
    assert same_bits(mdqr.conj(a.real), a.real)
    assert not np.shares_memory(mdqr.conj(a.real).limbs, a.limbs)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # NumPy's
def test_sign_of_complex_values(multiple, rng):
    a = full_width(rng, multiple, 20, complex)
    for got, z in zip(mdqr.sign(a).to_mpmath(), a.to_mpmath(), strict=True):
        with mpmath.workprec(3 * multiple.bits):
            assert abs(got - z / abs(z)) <= 20 * multiple.eps
    values = np.array([complex(x, y) for x in SPECIALS for y in SPECIALS])
    got = mdqr.sign(mdqr.array(values, precision=multiple)).to_numpy()
    # 1 / sqrt(2) twice: NumPy's rounding is up to an ulp.
    np.testing.assert_allclose(got, np.sign(values), rtol=2.0**-51)


@needs_mxcsr
def test_signs_of_subnormals_with_flushing():
    # NumPy's arithmetic would flush the lower limbs: these work on bits.
    block = np.array([[-(2.0**-1000), 2.0**-1060], [-(2.0**-1060), 0.0]])
    a = mdqr.from_limbs(block, normalize=False)
    expected = abs(a).limbs.tobytes(), (-a).limbs.tobytes()
    with flushing():
        found = abs(a).limbs.tobytes(), (-a).limbs.tobytes()
        signs, some = mdqr.sign(a).limbs[0].tolist(), bool(a[1:].any())
    assert found == expected
    assert signs == [-1.0, 1.0]
    assert some


def test_sign_of_negative_zero_is_zero(precision):
    signs = mdqr.sign(mdqr.array([-0.0, 0.0, -3.0], precision=precision)).limbs
    np.testing.assert_array_equal(signs[0], np.sign([-0.0, 0.0, -3.0]))
    assert not np.signbit(signs[:, :2]).any()
