"""Norms against exact sums and mpmath roots."""

from __future__ import annotations

import math

import fake_device
import linalg_cases as cases
import mpmath
import numpy as np
import pytest
from each_case import each_case

import mdqr
from mdqr import MDArray
from mdqr.linalg import norm
from mdqr.testing import assert_close, assert_same_bits

VECTOR_ORDERS = [None, 2, 1, math.inf, -math.inf, 0, 3, 4, 7, -1, -2]
MATRIX_ORDERS = [None, "fro", 1, -1, math.inf, -math.inf]


def moduli(a):
    """Moduli as mpmath numbers."""
    values = np.asarray(a.to_mpmath(), dtype=object)
    return np.asarray(np.frompyfunc(abs, 1, 1)(values))


def exact_norm(values, order):
    values = list(values)
    if order in (None, 2, "fro"):
        return mpmath.sqrt(mpmath.fsum(v * v for v in values))
    if order == 0:
        return mpmath.mpf(sum(v != 0 for v in values))
    if order == math.inf:
        return max(values)
    if order == -math.inf:
        return min(values)
    return mpmath.fsum(v**order for v in values) ** (mpmath.mpf(1) / order)


@each_case("order", VECTOR_ORDERS)
def test_vectors(precision, dtype, order, rng):
    x = cases.random(30, 1, precision, dtype, rng)[:, 0]
    with mpmath.workprec(precision.bits + 176):
        wanted = np.array([exact_norm(moduli(x), order)], dtype=object)
        # (K + 16) eps, for integer p a root of a sum of powers of p factors each.
        power = abs(order) if isinstance(order, int) and order not in (0, 1, 2) else 1
        assert_close(norm(x, order).reshape(1), wanted, ulps=(30 + 16) * power)


@pytest.mark.parametrize("order", MATRIX_ORDERS)
def test_matrices(precision, dtype, order, rng):
    a = cases.random(9, 6, precision, dtype, rng)
    with mpmath.workprec(precision.bits + 176):
        values = moduli(a)
        if order in (None, "fro"):
            wanted = exact_norm(values.ravel(), None)
        else:
            sums = values.sum(axis=0 if abs(order) == 1 else 1)
            wanted = max(sums) if order > 0 else min(sums)
        assert_close(norm(a, order).reshape(1), np.array([wanted], dtype=object), ulps=54 + 16)


@each_case("keepdims", [False, True])
@each_case(
    "shape, order, axis",
    [
        ((3, 4, 5), None, None),
        ((3, 4, 5), None, 1),
        ((3, 4, 5), 1, -1),
        ((3, 4, 5), math.inf, 0),
        ((3, 4, 5), 3, 2),
        ((3, 4, 5), "fro", (0, 2)),
        ((3, 4, 5), 1, (2, 0)),
        ((3, 4, 5), -math.inf, (1, 2)),
        ((3, 4, 5), None, (0, 1)),
        ((3, 4), None, (1,)),
        ((4,), 2, None),
        ((3, 4), math.inf, None),
        ((), None, None),
        ((3, 0), None, 1),
        ((3, 0), 1, 1),
        ((0,), None, None),
    ],
)
def test_axes_are_those_of_numpy(precision, shape, order, axis, keepdims, rng):
    a = rng.standard_normal(shape)
    found = norm(mdqr.array(a, precision=precision), order, axis, keepdims)
    wanted = np.linalg.norm(a, order, axis, keepdims)
    assert found.shape == np.shape(wanted)
    assert not found.is_complex
    # NumPy's error: at most 60 additions.
    assert np.allclose(found.to_numpy(), wanted, rtol=60 * 2.0**-52, atol=0)


@each_case("exponent", [-1060, -700, 1000])
@each_case("order", [None, 1, 3, -2, math.inf])
def test_nothing_over_or_underflows(precision, dtype, exponent, order):
    x = np.array([3.0, 4.0]) * (1 if dtype is float else 1j)
    small = norm(mdqr.array(x, precision=precision), order)
    half = 2.0 ** (exponent // 2)
    large = norm(mdqr.array(x * half * half, precision=precision), order)
    # A subnormal norm is rounded to 2**-1074 in its last limb.
    back = (large * (1 / half)) * (1 / half)
    error = abs((back - small).to_numpy())
    assert error <= 4 * precision.eps * 7 + 8 * precision.limbs * 2.0 ** (-1074 - exponent)


@each_case("order", [-1, -2, -5, -64])
@each_case("low", [-1000, -300, 500])
def test_negative_orders_of_wild_ranges(precision, dtype, order, low):
    x = np.ldexp([3.0, 4.0, 7.0], [1000, low, low + 3]) * (1 if dtype is float else 1j)
    with mpmath.workprec(2000):
        values = [mpmath.mpf(float(abs(v))) for v in x]
        wanted = np.array([exact_norm(values, order)], dtype=object)
        # (K + 16) eps, a root of a sum of powers of |p| factors each; below `tiny` the last limb.
        found = norm(mdqr.array(x, precision=precision), order).reshape(1)
        error = abs(found.to_mpmath()[0] - wanted[0])
        assert (
            error <= (3 + 16) * abs(order) * precision.eps * wanted[0] + 8 * mpmath.mpf(2) ** -1074
        )


@pytest.mark.parametrize("order", [-1, -3])
def test_negative_orders_with_zeros_and_without_entries(precision, order):
    mixed = mdqr.array([[2.0**1000, 0.0], [0.0, 0.0], [np.inf, 3.0]], precision=precision)
    np.testing.assert_array_equal(norm(mixed, order, axis=1).to_numpy(), [0, 0, 3])
    for values, wanted in (([], np.inf), ([np.inf, np.inf], np.inf), ([np.nan, 1.0], np.nan)):
        np.testing.assert_array_equal(
            norm(mdqr.array(values, precision=precision, dtype=float), order).to_numpy(), wanted
        )


AWAY_CASES = [
    *(((7,), order, None) for order in VECTOR_ORDERS),
    *(((4, 3), order, None) for order in MATRIX_ORDERS),
    ((2, 4, 3), 3, 1),
    ((2, 4, 3), "fro", (2, 0)),
    ((3, 0), None, 1),
]


@pytest.mark.parametrize(("shape", "order", "axis"), AWAY_CASES, ids=str)
def test_blocks_are_touched_by_their_own_module(precision, dtype, shape, order, axis, monkeypatch):
    fake_device.install(monkeypatch)
    a = mdqr.random.normal(shape, precision=precision, rng=1, dtype=dtype)
    on_device = MDArray._wrap(fake_device.DeviceArray(a.limbs), precision, a.is_complex)
    for keepdims in (False, True):
        wanted, found = (norm(x, order, axis, keepdims).limbs for x in (a, on_device))
        assert isinstance(found, fake_device.DeviceArray)
        assert found.shape == wanted.shape
        assert found.get().tobytes() == wanted.tobytes()


def test_pythagoras(precision):
    x = mdqr.array([3.0, 4.0], precision=precision) * 2.0**-1070
    assert_same_bits(norm(x), mdqr.array(5.0 * 2.0**-1070, precision=precision))


def test_not_finite(precision):
    x = mdqr.array([1.0, -np.inf, 2.0], precision=precision)
    for order in (None, 1, math.inf, 3):
        assert norm(x, order).to_numpy() == np.inf
    x[0] = np.nan
    for order in (None, 1, math.inf, -math.inf, 3):
        assert np.isnan(norm(x, order).to_numpy())


def test_zero(precision, dtype):
    x = mdqr.zeros(5, precision=precision, dtype=dtype)
    for order in (None, 1, math.inf, -math.inf, 0, 3):
        assert norm(x, order).to_numpy() == 0
    assert norm(x, -2).to_numpy() == 0


@pytest.mark.parametrize(
    ("shape", "order", "axis", "message"),
    [
        ((3, 3), 5, None, 'ord of a matrix must be .* "nuc", 1, -1, 2, -2, inf or -inf; got 5'),
        ((3,), 2.5, None, "ord of a vector must be None, inf, -inf or an integer .*; got 2.5"),
        ((3,), "fro", None, "ord of a vector must be .*; got 'fro'"),
        ((3,), 100, None, "ord of a vector must be .*; got 100"),
        ((3, 3, 3), 1, None, "x must be a vector or a matrix when ord is given without axis"),
        ((3, 3), 1, 2, "norm: axis 2 is out of bounds for array of dimension 2"),
        ((3, 3), 1, (0, 0), "axis must be one integer or two different ones"),
        ((0,), math.inf, None, "the largest or smallest of no entries does not exist"),
    ],
)
def test_bad_arguments(shape, order, axis, message):
    with pytest.raises(ValueError, match=message):
        norm(mdqr.ones(shape, precision=mdqr.dd), order, axis)


def test_precision_of_the_answer(rng):
    x = cases.random(5, 1, mdqr.od, float, rng)[:, 0]
    assert_same_bits(norm(x, precision="dd"), norm(x).astype(precision=mdqr.dd))


@pytest.mark.parametrize(
    "order", [np.nan, 0.5, 65, -65, 1j, "nuc", 10**400, np.float32(2.5)], ids=str
)
def test_other_orders_of_vectors_name_the_way_out(order):
    x = mdqr.ones(2, precision=mdqr.dd)
    with pytest.raises(
        ValueError, match=r"between -64 and 64; got .*numpy\.linalg\.norm\(x\.to_numpy"
    ):
        norm(x, order)


@pytest.mark.parametrize("order", [3, 3.0, np.int8(3), np.float32(3)])
def test_orders_of_any_type_of_integer(order):
    x = mdqr.array([1, 2], precision=mdqr.qd)
    np.testing.assert_array_equal(norm(x, order).limbs, norm(x, 3).limbs)


def test_axes_are_refused_as_numpy_refuses_them():
    x = mdqr.ones((2, 2), precision=mdqr.dd)
    with pytest.raises(np.exceptions.AxisError):
        norm(x, axis=2)
    with pytest.raises(TypeError, match=r"axis must be one integer or two; got 0\.5"):
        norm(x, axis=0.5)
