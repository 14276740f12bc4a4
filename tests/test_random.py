"""Random arrays: every limb filled, the grid, the distribution, the same limbs for a seed."""

import math
from fractions import Fraction

import numpy as np
import pytest
from array_cases import exact, same_bits
from hypothesis import given
from hypothesis import strategies as st

import mdqr
from mdqr._backend import draws
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
    leading = mdqr.random.normal(64, precision=mdqr.d, rng=seed).to_numpy()
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
    leading = mdqr.random.normal(400, precision=mdqr.d, rng=2).to_numpy()
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


FACTORS = (0xD2E7470EE14C6C93, 0xCA5A826395121157)
STEPS = (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)


def philox(counter, key):
    """Return four words of Philox 4x64-10, from its description."""
    c, k = list(counter), list(key)
    for _ in range(10):
        left, right = c[0] * FACTORS[0], c[2] * FACTORS[1]
        c = [
            (right >> 64) ^ c[1] ^ k[0], right % 2**64, (left >> 64) ^ c[3] ^ k[1], left % 2**64,
        ]  # fmt: skip
        k = [(x + step) % 2**64 for x, step in zip(k, STEPS, strict=True)]
    return c


@given(st.tuples(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1)), st.integers(1, 2**40))
def test_words_are_those_of_their_counters(key, block):
    stream = draws._Stream(key)
    for place in (7, 0):
        found = stream.words(place, 4 * (block - 1), 8).tolist()
        assert found == philox((block, place, 0, 0), key) + philox((block + 1, place, 0, 0), key)
    for values in (np.array([5]), block + np.arange(0, 400, 10)):
        four = stream.further(3, values).T.tolist()
        assert four == [philox((int(i) + 1, 3, 1, 0), key) for i in values]


@pytest.mark.parametrize("draw", DRAWS)
def test_a_value_does_not_depend_on_how_many_there_are(draw, precision, monkeypatch):
    a = draw(300, precision=precision, rng=4)
    assert same_bits(a[:5], draw(5, precision=precision, rng=4))
    monkeypatch.setattr(draws, "_PIECE", 64)
    assert same_bits(a, draw(300, precision=precision, rng=4))


def test_the_layers_have_equal_areas():
    tables = draws.ziggurat()
    ends, heights = tables.widths * 2.0**52, tables.heights
    areas = ends[1:] * (heights[:-1] - heights[1:])
    tail = math.sqrt(math.pi / 2) * math.erfc(draws.TAIL / math.sqrt(2))
    # Sums of three roundings each, of heights near 1 whose difference is some 0.005.
    assert np.allclose(areas, draws.TAIL * heights[-1] + tail, rtol=1e-12)
    assert ends[0] * heights[-1] == pytest.approx(areas[0], rel=1e-12)
    assert tables.limits[0] == pytest.approx(2**52 * draws.TAIL / ends[0], rel=1e-12)
    assert np.allclose(tables.limits[2:], 2**52 * ends[1:-1] / ends[2:], rtol=1e-12)
    assert tables.limits[1] == 0


def test_normal_doubles_are_normal():
    n = 400_000
    x = draws.normal((1, 2), n, 1)[0]
    # Every layer, its wedge, and the tail: six standard deviations of each share.
    ends = np.sort(draws.ziggurat().widths[1:]) * 2.0**52
    edges = np.concatenate([[0.0], np.sort([*ends, *(ends[1:] + ends[:-1]) / 2]), [3.9, 4.3, 99.0]])
    shares = np.diff([math.erf(e / math.sqrt(2)) for e in edges])
    counts = np.histogram(abs(x), edges)[0]
    assert counts.sum() == n
    assert (abs(counts - n * shares) <= 6 * np.sqrt(n * shares) + 6).all()
    assert abs((x > 0).mean() - 0.5) < 6 * 0.5 / math.sqrt(n)
    # The functions of the wedges and of the tail.
    y = np.linspace(0.0, draws.TAIL, 500)
    assert np.allclose(draws._falling(y), np.exp(-y * y / 2), rtol=1e-13, atol=0)
    words = np.array([0, 2**11, 2**63, 2**64 - 1, *range(3, 2**64, 2**56 + 12345)], np.uint64)
    wanted = np.log(((words >> np.uint64(11)).astype(float) + 1) * 2.0**-53)
    assert np.allclose(draws._log(words), wanted, rtol=1e-14, atol=3e-16)
