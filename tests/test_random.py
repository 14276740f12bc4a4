"""Random arrays: every limb filled, the grid, the distribution, the same limbs for a seed."""

import math
from fractions import Fraction

import numpy as np
import pytest
from array_cases import exact, same_bits
from hypothesis import given
from hypothesis import strategies as st

import mdqr
from mdqr._limbs.planes import is_normalised

DRAWS = [mdqr.random.uniform, mdqr.random.normal]


@given(seed=st.integers(0, 2**63))
def test_uniform_values_lie_on_the_grid(seed, precision):
    a = mdqr.random.uniform(64, precision=precision, rng=seed)
    assert is_normalised(a.limbs).all()
    for value in exact(a):
        assert 0 <= value < 1
        assert (value * 2**precision.bits).denominator == 1


@given(seed=st.integers(0, 2**63))
def test_normal_values_extend_a_normal_double(seed, multiple):
    a = mdqr.random.normal(64, precision=multiple, rng=seed)
    leading = np.random.default_rng(seed).standard_normal(64)
    assert is_normalised(a.limbs).all()
    for value, double in zip(exact(a), leading, strict=True):
        assert abs(value - Fraction(double)) <= Fraction(math.ulp(double)) / 2


@pytest.mark.parametrize("draw", DRAWS)
def test_every_limb_is_filled(draw, precision, dtype):
    a = draw((200,), precision=precision, rng=1, dtype=dtype)
    assert a.is_complex == (dtype is complex)
    # A limb is zero with probability 2^-53 or so; the sign of lower limbs is a fair coin.
    assert (a.limbs != 0).all()
    lower = a.limbs[..., 1:, :]
    if lower.size:
        # Six standard deviations of 200 fair coins.
        assert np.abs(np.sign(lower).mean(axis=-1)).max() < 6 / math.sqrt(200)


def test_the_last_bit_of_the_grid_is_a_fair_coin(precision):
    uniform = mdqr.random.uniform(400, precision=precision, rng=2)
    bits = [int(value * 2**precision.bits) & 1 for value in exact(uniform)]
    # Six standard deviations of 400 fair coins.
    assert abs(np.mean(bits) - 0.5) < 6 * 0.5 / math.sqrt(400)


def test_the_last_bit_of_a_tail_is_a_fair_coin(multiple):
    normal = mdqr.random.normal(400, precision=multiple, rng=2)
    leading = np.random.default_rng(2).standard_normal(400)
    units = [Fraction(math.ulp(x)) / 2 ** (multiple.bits - 53) for x in leading]
    words = [value / unit for value, unit in zip(exact(normal), units, strict=True)]
    assert {word.denominator for word in words} == {1}
    assert abs(np.mean([word.numerator & 1 for word in words]) - 0.5) < 6 * 0.5 / math.sqrt(400)


def test_moments():
    # Six standard deviations of the sample mean and variance of 20,000 values.
    n = 20_000
    u = mdqr.random.uniform(n, precision=mdqr.dd, rng=3).to_numpy()
    z = mdqr.random.normal(n, precision=mdqr.dd, rng=3).to_numpy()
    assert abs(u.mean() - 0.5) < 6 * math.sqrt(1 / 12 / n)
    assert abs(u.var() - 1 / 12) < 6 * math.sqrt(1 / 180 / n)
    assert abs(z.mean()) < 6 / math.sqrt(n)
    assert abs(z.var() - 1) < 6 * math.sqrt(2 / n)


@pytest.mark.parametrize("draw", DRAWS)
def test_seeds_and_generators(draw, precision, dtype):
    options = {"precision": precision, "dtype": dtype}
    a = draw((2, 3), rng=7, **options)
    assert a.shape == (2, 3)
    assert same_bits(a, draw((2, 3), rng=np.random.default_rng(7), **options))
    assert same_bits(a, draw([2, 3], rng=np.int64(7), device="cpu", **options))
    assert not (a == draw((2, 3), rng=8, **options)).any()
    assert not (draw(3, **options) == draw(3, **options)).any()
    generator = np.random.default_rng(7)
    assert not (draw(3, rng=generator, **options) == draw(3, rng=generator, **options)).any()
    assert draw((), rng=1, **options).shape == draw(rng=1, **options).shape == ()
    assert draw((0, 2), rng=1, **options).shape == (0, 2)
    if dtype is complex:
        assert not (a.real == a.imag).any()


def test_ends_and_parameters(multiple, dtype):
    options = {"precision": multiple, "rng": 5, "dtype": dtype}
    low, high = multiple("-0.1"), np.array([2.0, 30.0])
    unit, a = (
        mdqr.random.uniform((4, 2), **ends, **options) for ends in ({}, {"low": low, "high": high})
    )
    for part, source in ((a.real, unit.real), (a.imag, unit.imag))[: 2 if a.is_complex else 1]:
        assert same_bits(part, low + (high - low) * source)
        assert ((part >= low) & (part <= high)).all()
    standard, b = (
        mdqr.random.normal((4, 2), **x, **options) for x in ({}, {"loc": low, "scale": high})
    )
    for part, source in ((b.real, standard.real), (b.imag, standard.imag))[: 1 + b.is_complex]:
        assert same_bits(part, low + high * source)


PARAMETERS = {mdqr.random.uniform: ("low", "high"), mdqr.random.normal: ("loc", "scale")}


@pytest.mark.parametrize("draw", DRAWS)
def test_wrong_arguments(draw, precision):
    first, second = PARAMETERS[draw]
    for rng in (1.5, "x", [1.5]):
        with pytest.raises((TypeError, ValueError), match=r"an int, a numpy\.random\.Generator or"):
            draw(2, precision=precision, rng=rng)
    with pytest.raises(ValueError, match=r"do not broadcast to the wanted shape \(2,\)"):
        draw(2, **{first: np.zeros((3, 2)), second: 1}, precision=precision)
    with pytest.raises(TypeError, match="complex"):
        draw(2, **{first: 1j}, precision=precision)
    with pytest.raises(TypeError, match="precision"):
        draw(2)
