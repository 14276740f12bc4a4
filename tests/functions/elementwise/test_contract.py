"""Promises of operations other than their error: special values, signs, symmetry, range."""

from __future__ import annotations

import operator
import os
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from elementwise_cases import BINARY, UNARY, VALUES, assert_normalised
from hypothesis import given, settings
from hypothesis import strategies as st
from ranges import room

import mdqr
from mdqr.testing import arrays, assert_close, assert_same_bits, exact, pairs

HUGE, TINY = np.finfo(float).max, 5e-324
SPECIAL = np.array([0.0, 1.0, 2.5, HUGE, TINY, 2.0**-1022, np.inf, np.nan])
SPECIAL = np.concatenate([SPECIAL, -SPECIAL])


def one_limb(values, precision):
    """Return the doubles as values of `precision`, bypassing conversion."""
    limbs = np.zeros((precision.limbs, *values.shape))
    limbs[0] = values.real
    if values.dtype.kind != "c":
        return mdqr.MDArray._wrap(limbs, precision, False)
    imag = np.zeros_like(limbs)
    imag[0] = values.imag
    return mdqr.MDArray._wrap(np.stack([limbs, imag]), precision, True)


def assert_leading(result, wanted, err_msg=""):
    """First limbs as IEEE has them where that is special, lower limbs +0 there."""
    if result.is_complex:
        assert_leading(result.real, wanted.real, err_msg)
        assert_leading(result.imag, wanted.imag, err_msg)
        return
    limbs = np.asarray(result.limbs)
    special = ~np.isfinite(wanted) | (wanted == 0) & (limbs[0] == 0)
    got, wanted = limbs[0], np.where(special, wanted, limbs[0])
    np.testing.assert_array_equal(got, wanted, err_msg=err_msg)
    real_number = ~np.isnan(wanted)
    np.testing.assert_array_equal(
        np.signbit(got[real_number]), np.signbit(wanted[real_number]), err_msg=err_msg
    )
    assert_normalised(result)


@pytest.mark.parametrize("op", BINARY)
def test_special_values_of_two_reals(op, precision):
    x, y = (part.ravel() for part in np.meshgrid(SPECIAL, SPECIAL))
    with np.errstate(all="ignore"):
        wanted = getattr(np, op)(x, y)
    result = BINARY[op](one_limb(x, precision), one_limb(y, precision))
    assert_leading(result, wanted, err_msg=op)
    finite = np.isfinite(wanted)
    # a finite double result is the N-limb one to one rounding; below that nothing may be special
    assert np.isfinite(result.limbs[:, finite]).all()
    np.testing.assert_allclose(result.limbs[0][finite], wanted[finite], rtol=2.0**-52, atol=TINY)


@pytest.mark.parametrize("op", UNARY)
def test_special_values_of_one_real(op, precision):
    with np.errstate(all="ignore"):
        wanted = getattr(np, op)(SPECIAL)
    assert_leading(UNARY[op](one_limb(SPECIAL, precision)), wanted, err_msg=op)


def complex_special(parts):
    re, im = (part.ravel() for part in np.meshgrid(parts, parts))
    out = np.empty(re.shape, dtype=complex)
    out.real, out.imag = re, im
    return out


FEW = np.array([0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan])


def numpy_multiply(x, y):
    """The definition of NumPy's complex product; its loops may fuse, which no standard pins."""
    out = np.empty(x.shape, dtype=complex)
    out.real = x.real * y.real - x.imag * y.imag
    out.imag = x.real * y.imag + x.imag * y.real
    return out


@pytest.mark.parametrize("op", BINARY)
def test_special_values_of_two_complex(op, precision):
    values = complex_special(FEW)
    x, y = (part.ravel() for part in np.meshgrid(values, values))
    with np.errstate(all="ignore"):
        wanted = numpy_multiply(x, y) if op == "multiply" else getattr(np, op)(x, y)
    result = BINARY[op](one_limb(x, precision), one_limb(y, precision))
    special = ~(np.isfinite(x) & np.isfinite(y) & ((op != "divide") | (y != 0)))
    assert_leading(result[special], wanted[special], err_msg=op)
    np.testing.assert_allclose(result.to_numpy()[~special], wanted[~special], rtol=2.0**-50)


@pytest.mark.parametrize("op", UNARY)
def test_special_values_of_one_complex(op, precision):
    values = complex_special(FEW)
    with np.errstate(all="ignore"):
        if op == "square":
            wanted = numpy_multiply(values, values)
        else:
            wanted = getattr(np, op)(values)
    special = ~np.isfinite(values) | (values == 0)
    result = UNARY[op](one_limb(values, precision))
    assert_leading(result[special], wanted[special], err_msg=op)
    np.testing.assert_allclose(result.to_numpy()[~special], wanted[~special], rtol=2.0**-50)


@pytest.mark.parametrize("op", ["add", "multiply"])
def test_commutes_bitwise(op, precision, dtype):
    @given(pairs(precision, VALUES, dtype=dtype))
    def check(xy):
        x, y = xy
        assert_same_bits(BINARY[op](x, y), BINARY[op](y, x))

    check()


def test_subtraction_is_addition_of_the_negative(precision, dtype):
    @given(pairs(precision, VALUES, dtype=dtype))
    def check(xy):
        x, y = xy
        assert_same_bits(x - y, x + -y)

    check()


def test_difference_of_equals_is_positive_zero(precision, dtype):
    @given(arrays(precision, VALUES, dtype=dtype, allow_nan=False, allow_infinity=False))
    def check(x):
        zero = np.zeros(x.limbs.shape)
        np.testing.assert_array_equal(np.asarray((x - x).limbs).view(np.int64), zero.view(np.int64))

    check()


def test_one_and_zero_are_neutral(precision):
    @given(arrays(precision, VALUES))
    def check(x):
        one, zero = mdqr.ones(VALUES, precision=precision), mdqr.zeros(VALUES, precision=precision)
        number = ~mdqr.isnan(x)
        for same in (x * one, one * x, x / one, x + zero, zero + x, x - zero):
            assert mdqr.array_equal(same[number], x[number])
            assert mdqr.isnan(same[~number]).all()

    check()


def shifted(x, exponent):
    """Return ``x * 2**exponent`` limb by limb."""
    return mdqr.MDArray._wrap(np.ldexp(x._block, exponent), x.precision, x.is_complex)


def is_normal(x, exponent):
    """Return where no limb is below the normal range, times ``2**exponent`` either."""
    size, least = abs(x.limbs), 2.0 ** (-1022 - min(exponent, 0))
    return ((size == 0) | (size >= least)).all(axis=0)


@pytest.mark.parametrize("shift", [-100, 1, 100])
def test_powers_of_two_pass_through(shift, precision):
    """Every operation takes a power of two out of its operands, to the bit."""
    # exponents for which no limb, and no product of limbs, leaves the normal range
    most = (room(precision) - 53) // 2
    shift, least = max(shift, 40 - most), -min(40, most)

    @settings(max_examples=15)
    @given(pairs(precision, VALUES, min_exponent=least, max_exponent=40, relations=["independent"]))
    def check(xy):
        x, y = xy
        # Of many limbs, with gaps between them, the last ones may leave it all the same.
        held = is_normal(x, 2 * shift) & is_normal(y, shift) & is_normal(x * y, 2 * shift)
        x, y = (mdqr.where(held, each, 1.0) for each in (x, y))
        a, b = shifted(x, shift), shifted(y, shift)
        assert_same_bits(a + b, shifted(x + y, shift))
        assert_same_bits(a * b, shifted(x * y, 2 * shift))
        assert_same_bits(a / b, x / y)
        assert_same_bits(mdqr.sqrt(shifted(abs(x), 2 * shift)), shifted(mdqr.sqrt(abs(x)), shift))

    check()


def test_overflow_gives_infinity(precision):
    largest = one_limb(np.array([HUGE, -HUGE]), precision)
    wanted = one_limb(np.array([np.inf, -np.inf]), precision)
    for result in (largest + largest, largest * 2.0, largest / 0.5, largest - (-largest)):
        assert_same_bits(result, wanted)
    assert_same_bits(largest - largest, mdqr.zeros(2, precision=precision))


def test_zero_by_a_subnormal_is_zero(precision):
    """The reciprocal of the divisor overflows, the quotient does not: Smith's method gives NaN."""
    zero = one_limb(np.array([0j]), precision)
    for divisor in (TINY + 0j, 1j * TINY, complex(TINY, -TINY)):
        assert mdqr.array_equal(zero / one_limb(np.array([divisor]), precision), zero)


def test_subnormal_parts_by_huge_numbers(multiple, rng):
    """A subnormal limb hides its exponent, where digits of many limbs begin."""
    y = mdqr.random.uniform(20, low=1, high=2, precision=multiple, rng=rng) * 2.0**1022
    tiny = one_limb(np.full(20, 2.0**-1062), multiple)
    for x in (tiny, tiny * 1j):
        product = x * (y + 0j)
        part, zero = (product.imag, product.real) if x.is_complex else (product.real, product.imag)
        assert_same_bits(part, y * 2.0**-1022 * 2.0**-40)
        assert not zero.limbs.any()


def test_whole_range(precision):
    """``2**k`` for every exponent: exact in every operation whose result is representable."""
    powers = np.ldexp(1.0, np.arange(-1074, 1024))
    x = one_limb(powers, precision)
    assert_same_bits(x / x, mdqr.ones(len(powers), precision=precision))
    even = x[::2]  # 2**-1074 is the first
    assert_same_bits(mdqr.sqrt(even) * mdqr.sqrt(even), even)
    assert_same_bits((x[1:] * 0.5) * 2.0, x[1:])
    normal = x[52:-1]
    assert_same_bits(mdqr.reciprocal(mdqr.reciprocal(normal)), normal)


@pytest.mark.parametrize("turn", [1, 1j, 1 - 2.0**-20 * 1j])
def test_products_of_subnormals_keep_their_digits(precision, turn, rng):
    """The exponent of a subnormal power of two is not in its bits."""
    powers = one_limb(np.ldexp(1.0, np.arange(-1074, -1000)), precision)
    large = mdqr.random.normal(powers.shape, precision=precision, rng=rng) * 2.0**1000
    others = large if turn == 1 else large * turn
    for one, other in ((powers, others), (others, powers), (powers + 0j, others)):
        # Rounded once for each part of `turn`, and a product by a power of two is exact.
        error = (one * other * 2.0**53 - others * (powers * 2.0**53)).to_numpy()
        assert (
            abs(error) <= 4 * precision.eps * abs(others.to_numpy() * powers.to_numpy() * 2.0**53)
        ).all()


def test_inputs_are_left_alone(precision, dtype):
    @settings(max_examples=15)
    @given(pairs(precision, VALUES, dtype=dtype))
    def check(xy):
        copies = [part.copy() for part in xy]
        for op in BINARY.values():
            op(*xy)
        for op in UNARY.values():
            op(xy[0])
        for part, copy in zip(xy, copies, strict=True):
            assert_same_bits(part, copy)

    check()


def test_in_place_with_itself(precision, dtype):
    @settings(max_examples=15)
    @given(arrays(precision, VALUES, dtype=dtype))
    def check(x):
        for name, op in {"add": operator.iadd, "multiply": operator.imul}.items():
            y = x.copy()
            op(y, y)
            assert_same_bits(y, BINARY[name](x, x))

    check()


def test_quotient_that_turns_subnormal_is_normalised():
    # The rounding of a subnormal limb makes a tie whose carry reaches the limb above.
    limbs = np.array([1 + 2.0**-52, 2.0**-53 - 2.0**-106, 0.75 * 2.0**-107, 0.0])
    x = mdqr.from_limbs(limbs, normalize=False)
    assert_normalised(x / mdqr.qd(2.0**967))
    assert_normalised(mdqr.qd(2.0**-967) * x)


def test_times_a_power_of_two_where_gaps_let_a_limb_be_subnormal():
    # The leading limb is far from the end of the range, and the last ones are a tie beside it.
    limbs = np.zeros((16, 1))
    exponents = [-14, -68, -160, -224, -285, -365, -461, -515, -569, -647, -701, -761, -864, -926]
    limbs[:14, 0] = np.ldexp(1.0, exponents)
    limbs[14:, 0] = (2 - 2.0**-52) * 2.0**-981, (2.0**-3 - 2.0**-36) * 2.0**-1031
    x = mdqr.from_limbs(limbs, normalize=False)
    tiny = mdqr.hd(2.0**-900).reshape(1)
    both = mdqr.concatenate([x, tiny])
    for alone, together in (
        (x / 2.0**31, both / 2.0**31),
        (x * 2.0**-31, both * 2.0**-31),
        (mdqr.hd(2.0**-31) * x, mdqr.hd(2.0**-31) * both),
    ):
        assert_normalised(alone)
        assert_same_bits(alone, together[:1])


def test_values_do_not_feel_their_neighbours(precision, dtype):
    """Lanes of a vector and threads share branches, not limbs."""

    @settings(max_examples=15)
    @given(pairs(precision, 24, dtype=dtype))
    def check(xy):
        for operands, ops in ((xy, BINARY), (xy[:1], UNARY)):
            for op in ops.values():
                alone = [op(*(each[i : i + 1] for each in operands)) for i in range(24)]
                assert_same_bits(op(*operands), mdqr.concatenate(alone))

    check()


@pytest.mark.parametrize("n", [580, 1030])
def test_negative_power_where_the_power_leaves_the_range(n):
    # 0.3**580 is near 2^-1007 and 2**1030 overflows; their reciprocals are ordinary numbers.
    base = mdqr.qd("0.3") if n == 580 else mdqr.qd(2)
    exact = 1 / base.to_fractions().item() ** n
    error = abs(Fraction((base**-n).to_fractions().item()) - exact)
    assert error <= 4 * n * Fraction(mdqr.qd.eps) * exact + 16 * Fraction(2) ** -1074


@pytest.mark.parametrize("big", ["1e1000", "-1e1000"])
def test_comparison_with_what_no_double_holds(big):
    assert (mdqr.qd(1) < Decimal(big)).item() is (big[0] != "-")
    assert (mdqr.qd(1) > mpmath.mpf(big)).item() is (big[0] == "-")


def test_child_of_a_fork_computes():
    # Threads do not survive a fork: the child needs a pool of its own.
    program = (
        "import os, mdqr\n"
        "mdqr.config.set_num_threads(2)\n"
        "x = mdqr.full((300, 300), '0.1', precision=mdqr.dd)\n"
        "total = (x @ x).sum()\n"
        "child = os.fork()\n"
        "same = mdqr.array_equal((x @ x).sum(), total)\n"
        "if child == 0: os._exit(0 if same else 1)\n"
        "assert same and os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


@pytest.mark.parametrize("threads", ["0", "many", "1e3", "100000"])
def test_bad_number_of_threads_is_an_import_error(threads):
    program = "import mdqr; mdqr.qd(1) + 1"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "MDQR_NUM_THREADS": threads},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode != 0
    assert "MDQR_NUM_THREADS" in done.stderr


@pytest.mark.parametrize("op", ["divide", "sqrt"])
def test_errors_of_quotients_and_roots_are_those_of_cutting_digits(op, precision):
    """All but 2^-26 of the error is that of N + 1 digits cut to N limbs: 2^-53N (contracts.md)."""
    ulps = 2.0 ** (-53 * precision.limbs) / precision.eps * (1 + 2.0**-20)

    @given(pairs(precision, VALUES))
    def check(xy):
        operands = xy if op == "divide" else [abs(xy[0])]
        result = (BINARY | UNARY)[op](*operands)
        tiny = precision.limbs**2 * 2.0**-1074 / (ulps * precision.eps)
        assert_close(result, exact(op, *operands), ulps=ulps, tiny=tiny, err_msg=op)

    check()


@given(data=st.data())
def test_quotients_of_products_and_roots_of_squares_are_exact(data, precision):
    numbers = st.integers(1, 2 ** (53 * precision.limbs // 2) - 1)
    x, y = data.draw(numbers), data.draw(numbers)
    product, square, root, factor = (
        mdqr.array(v, precision=precision) for v in (x * y, x * x, x, y)
    )
    assert product / factor == root
    assert product / root == factor
    assert product / product == 1
    assert mdqr.sqrt(square) == root
