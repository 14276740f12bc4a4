"""`assert_allclose` decides exactly, and is what refused assertions of others name."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mdqr
from mdqr.testing import arrays, assert_allclose


def fails(*arguments, **options):
    try:
        assert_allclose(*arguments, **options)
    except AssertionError:
        return True
    return False


@given(arrays("qd", shape=()), arrays("qd", shape=()), st.floats(0, 1e-3), st.floats(0, 1e3))
def test_the_tolerances_decide_exactly(x, y, rtol, atol):
    if not (mdqr.isfinite(x) and mdqr.isfinite(y)):
        return
    a, b = x.to_fractions().item(), y.to_fractions().item()
    wanted = abs(a - b) > Fraction(atol) + Fraction(rtol) * abs(b)
    assert fails(x, y, rtol=rtol, atol=atol) == wanted
    if b:  # the tolerance that just holds, and one below
        error = abs(a - b) / abs(b)
        if Fraction(1, 10**300) < error < 10**300:
            near = float(error)
            assert fails(x, y, rtol=np.nextafter(near, 0))
            assert not fails(x, y, rtol=np.nextafter(near, np.inf))


def test_moduli_of_complex_values():
    x = mdqr.array([3 + 4j], precision="od")
    y = x + mdqr.array([3e-90 + 4e-90j], precision="od")
    assert not fails(x, y, rtol=1.01e-90)
    assert fails(x, y, rtol=0.99e-90)
    assert not fails(x, y, rtol=0, atol=5.01e-90)
    assert fails(x, y, rtol=0, atol=4.99e-90)


def test_values_that_are_not_finite():
    x = mdqr.array([np.nan, np.inf, -np.inf, 1], precision="dd")
    assert_allclose(x, x, rtol=0)
    for y in ([np.nan, np.inf, np.inf, 1], [np.nan, 5, -np.inf, 1], [0, np.inf, -np.inf, 1]):
        assert fails(x, y, rtol=1e300)
        assert fails(np.array(y), x, rtol=1e300)


def test_what_is_said():
    x = mdqr.array(["0.1", "0.2"], precision="qd")
    with pytest.raises(
        AssertionError, match=r"here\n2 of 2 .*rtol=1e-20(.|\n)*\(0,\)(.|\n)*0\.1000"
    ):
        assert_allclose(x, [0.1, 0.2], rtol=1e-20, err_msg="here")
    with pytest.raises(AssertionError, match="shapes differ"):
        assert_allclose(x, [0.1], rtol=1)
    for tolerance in (-1, np.nan, np.inf):
        with pytest.raises(ValueError, match="rtol must be"):
            assert_allclose(x, x, rtol=tolerance)
    assert_allclose(x, Fraction(1, 10), rtol=2)


@pytest.mark.parametrize(
    ("compare", "who"),
    [
        (lambda x: x == pytest.approx(0.1), r"pytest\.approx"),
        (lambda x: x == pytest.approx(x), r"pytest\.approx"),
        (lambda x: pytest.approx(0.1) == x, r"pytest\.approx"),
        (lambda x: np.testing.assert_allclose(x, x), r"numpy\.testing\.assert_allclose"),
    ],
)
def test_other_assertions_name_this_one(compare, who):
    message = rf"^{who} asks for .* mdqr\.testing\.assert_allclose\(x, y, rtol=\.\.\.\) keeps"
    with pytest.raises(TypeError, match=message):
        compare(mdqr.qd("0.1"))
