"""Every elementwise operation against exact rational arithmetic: the bounds of the contract."""

from __future__ import annotations

import math
import operator
import sys
from fractions import Fraction

import numpy as np
import pytest
from elementwise_cases import (
    BINARY,
    MANY,
    UNARY,
    VALUES,
    assert_contract,
    assert_normalised,
    bound,
    underflow,
)
from hypothesis import given, settings

import mdqr
from mdqr._precision import PRECISIONS
from mdqr.testing import arrays, assert_close, assert_same_bits, exact, pairs


# As many values as of the default profile, from half as many draws, which take longer than errors.
def check_unary(op, precision, dtype, count=2 * VALUES, profile="arrays"):
    @settings(settings.get_profile(profile))
    @given(arrays(precision, count, dtype=dtype))
    def check(x):
        assert_contract(op, UNARY[op](x), x)

    check()


def check_binary(op, precision, dtype, count=2 * VALUES, profile="arrays"):
    @settings(settings.get_profile(profile))
    @given(pairs(precision, count, dtype=dtype))
    def check(xy):
        assert_contract(op, BINARY[op](*xy), *xy)

    check()


@pytest.mark.parametrize("op", UNARY)
def test_unary(op, precision, dtype):
    check_unary(op, precision, dtype)


@pytest.mark.parametrize("op", BINARY)
def test_binary(op, precision, dtype):
    check_binary(op, precision, dtype)


# Both limbs of two factors: their product overflows, that of the leading limbs alone does not; and
# the other way round.
AT_THE_LIMIT = {
    "overflow": ((sys.float_info.max, 2.0**969), (1.0, 2.0**-54), True),
    "in range": ((2.0**512, -1.5 * 2.0**457), (2.0**512, -1.5 * 2.0**457), False),
}


@pytest.mark.parametrize("case", AT_THE_LIMIT)
def test_partial_products_with_an_infinite_part(case, multiple):
    """``(inf + b i) (1 + d i)``: whether b d overflows is a matter of all limbs."""
    b, d, overflows = AT_THE_LIMIT[case]
    assert math.isinf(b[0] * d[0]) != overflows
    blocks = np.zeros((2, 2, multiple.limbs, 1))
    blocks[0, :, 0, 0], blocks[1, 0, 0, 0] = np.inf, 1.0
    blocks[0, 1, :2, 0], blocks[1, 1, :2, 0] = b, d
    x, y = (mdqr.from_limbs(block, dtype=complex, normalize=False) for block in blocks)
    for factors in ((x, y), (y, x)):
        result = operator.mul(*factors)
        assert_contract("multiply", result, *factors)
        assert np.isnan(result.limbs[0, 0, 0]) == overflows
        assert result.limbs[1, 0, 0] == np.inf


def test_hypot(precision):
    @given(pairs(precision, VALUES))
    def check(xy):
        assert_contract("hypot", mdqr.hypot(*xy), *xy)

    check()


@pytest.mark.long
@pytest.mark.parametrize("op", UNARY)
def test_unary_long(op, precision, dtype):
    check_unary(op, precision, dtype, MANY, "long")


@pytest.mark.long
@pytest.mark.parametrize("op", BINARY)
def test_binary_long(op, precision, dtype):
    check_binary(op, precision, dtype, MANY, "long")


LOWER = [(low, high) for high in PRECISIONS for low in PRECISIONS if low < high]


@pytest.mark.parametrize("op", BINARY)
@pytest.mark.parametrize(("low", "high"), LOWER, ids=str)
def test_mixed_precisions(op, low, high):
    """The higher precision wins, and neither operand is rounded first."""

    @settings(max_examples=10)
    @given(arrays(low, VALUES), arrays(high, VALUES))
    def check(x, y):
        for operands in ((x, y), (y, x)):
            result = BINARY[op](*operands)
            assert result.precision is high
            assert_contract(op, result, *operands)

    check()


@pytest.mark.parametrize("op", BINARY)
def test_mixed_fields(op, precision):
    @settings(max_examples=10)
    @given(arrays(precision, 2 * VALUES), arrays(precision, 2 * VALUES, dtype=complex))
    def check(x, y):
        for operands in ((x, y), (y, x)):
            result = BINARY[op](*operands)
            assert result.is_complex
            reference = exact(op, *operands)
            # zeros and infinities meet 0j here; the special table of test_contract pins those
            finite = ~reference.special
            result = result[finite]
            assert_close(
                result,
                type(reference)(*(part[finite] for part in reference)),
                ulps=bound(op, precision, complex),
                tiny=underflow(op, precision, complex),
            )
            assert_normalised(result)

    check()


IN_PLACE = {
    "add": operator.iadd,
    "divide": operator.itruediv,
    "multiply": operator.imul,
    "subtract": operator.isub,
}


@pytest.mark.parametrize("op", IN_PLACE)
def test_in_place_equals_out_of_place(op, precision, dtype):
    @settings(max_examples=15)
    @given(pairs(precision, VALUES, dtype=dtype))
    def check(xy):
        x, y = xy
        wanted = BINARY[op](x, y)
        result = x.copy()
        block = result._block
        assert IN_PLACE[op](result, y) is result
        assert result._block is block
        assert_same_bits(result, wanted)

    check()


@pytest.mark.parametrize("op", IN_PLACE)
@pytest.mark.parametrize(("low", "high"), LOWER, ids=str)
def test_in_place_rounds_to_the_lower_precision(op, low, high):
    """The result is one rounding away from a result of the higher precision."""

    @settings(max_examples=10)
    @given(arrays(low, VALUES), arrays(high, VALUES))
    def check(x, y):
        reference = exact(op, x, y)
        result = x.copy()
        IN_PLACE[op](result, y)
        assert result.precision is low
        assert_close(result, reference, ulps=bound(op, low, float), tiny=underflow(op, low, float))
        assert_normalised(result)

    check()


@pytest.mark.parametrize("op", BINARY)
def test_numpy_operands_are_one_limb(op, precision, rng):
    x = mdqr.random.normal((VALUES,), precision=precision, rng=rng)
    y = rng.normal(size=VALUES)
    assert_contract(op, BINARY[op](x, y), x, mdqr.array(y, precision=precision))
    assert_contract(op, BINARY[op](y, x), mdqr.array(y, precision=precision), x)


def test_complex_products_whose_parts_overflow_on_the_way(precision):
    """1.1 * 1 is beyond the range, 1.1 * 1 - 0.3 * 0.5 is not."""
    scale = 2.0**512
    x = mdqr.array(scale * (1.1 - 0.3j), precision=precision) / 3 * 3
    y = mdqr.array(scale * (1.0 - 0.5j), precision=precision) / 3 * 3
    z = mdqr.array(scale * (1.05 + 0.4j), precision=precision) / 3 * 3
    for op, result, operands in (("multiply", x * y, (x, y)), ("square", mdqr.square(z), (z,))):
        assert mdqr.isfinite(result).item()
        assert_contract(op, result, *operands)
    assert_same_bits(x * y, y * x)
    # Where only one part is too large, the other one stays.
    far = mdqr.array(complex(2.0**1000, 2.0**-1000), precision=precision)
    product = far * mdqr.array(complex(2.0**100, 2.0**-60), precision=precision)
    assert product.real.item() == float("inf")
    rest = Fraction(1, 2**900) if precision.limbs > 1 else 0
    assert product.imag.to_fractions().item() == 2**940 + rest
