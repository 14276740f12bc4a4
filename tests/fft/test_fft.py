"""Transforms beside exact references, bounds, and NumPy's shapes and norms."""

from __future__ import annotations

import warnings

import fake_device
import flint
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ranges import in_range

import mdqr
from mdqr._precision import PRECISIONS
from mdqr.fft._bounds import error_bound
from mdqr.fft._plan import factors
from mdqr.fft._roots import roots_of_unity

# A prime above 192 and its multiple are convolutions.
LENGTHS = (1, 2, 3, 5, 8, 12, 16, 17, 30, 49, 64, 97, 120, 211, 422)


def exact_fft(values, sign, bits):
    """Return transforms of columns ``(n, columns)`` of `flint.acb` by the sum itself."""
    n = len(values)
    roots = [flint.acb(flint.fmpq(2 * sign * j, n)).exp_pi_i() for j in range(n)]
    return [
        [sum((roots[j * k % n] * x for j, x in enumerate(c)), flint.acb(0)) for k in range(n)]
        for c in zip(*values, strict=True)
    ]


def balls(a):
    """Return the exact values of an array as lists of `flint.acb`."""
    parts = [part.to_fractions() for part in (a.real, a.imag)]
    fraction = np.frompyfunc(lambda x: flint.arb(flint.fmpq(x.numerator, x.denominator)), 1, 1)
    real, imag = (fraction(part) for part in parts)
    return np.frompyfunc(flint.acb, 2, 1)(real, imag).tolist()


def errors_and_sizes(found, wanted):
    """Return the 2-norms of the errors and of the exact transforms, of each column."""
    columns = list(zip(*balls(found), strict=True))
    errors, sizes = [], []
    for ours, theirs in zip(columns, wanted, strict=True):
        pairs = zip(ours, theirs, strict=True)
        errors.append(sum((abs(x - y) ** 2 for x, y in pairs), flint.arb(0)))
        sizes.append(sum((abs(y) ** 2 for y in theirs), flint.arb(0)))
    return errors, sizes


def full(rng, shape, precision):
    """Return complex numbers with all limbs, of sizes within 2**+-20."""
    limbs = rng.standard_normal((2, precision.limbs, *shape))
    limbs *= 2.0 ** rng.integers(-20, 20, shape)
    limbs *= 2.0 ** (-53.0 * np.arange(precision.limbs)).reshape(-1, *[1] * len(shape))
    return mdqr.from_limbs(limbs, dtype=complex)


@pytest.fixture(autouse=True)
def _bits():
    before = flint.ctx.prec
    flint.ctx.prec = 1500
    yield
    flint.ctx.prec = before


@pytest.mark.parametrize("precision", PRECISIONS, ids=str)
@pytest.mark.parametrize("n", LENGTHS)
def test_errors_keep_the_bound(n, precision):
    rng = np.random.default_rng(n)
    a = full(rng, (n, 1), precision)
    for sign, function in ((-1, mdqr.fft.fft), (1, mdqr.fft.ifft)):
        found = function(a, axis=0, norm="backward" if sign < 0 else "forward")
        (error,), (size,) = errors_and_sizes(found, exact_fft(balls(a), sign, 1500))
        bound = error_bound(n) * precision.eps
        assert error <= flint.arb(bound) ** 2 * size
        if precision is mdqr.d and n in (3, 5, 8, 12, 16, 30, 64):  # not a thousand times too large
            assert error > (flint.arb(bound) / 2**10) ** 2 * size


@pytest.mark.parametrize("precision", PRECISIONS, ids=str)
def test_columns_of_any_size(precision):
    """Graded columns do not share their errors, and nothing overflows or underflows between."""
    rng = np.random.default_rng(0)
    n, powers = 12, in_range([-600, -350, 0, 350, 960], precision)
    a = full(rng, (n, 5), precision)
    wanted = mdqr.fft.fft(a, axis=0)
    scaled = mdqr.fft.fft(a * mdqr.array(2.0**powers, precision="d"), axis=0)
    for i, power in enumerate(powers):
        difference = abs(scaled[:, i] * 2.0 ** -float(power) - wanted[:, i]).to_numpy().max()
        assert difference <= 2 * error_bound(n) * precision.eps * abs(wanted[:, i]).to_numpy().max()
    zero = mdqr.fft.fft(mdqr.zeros(6, precision=precision))
    assert (zero == 0).all()
    wild = mdqr.fft.fft(mdqr.array([1, np.inf, 2, np.nan], precision=precision)[:, None] + [[0, 1]])
    assert not mdqr.isfinite(wild[1]).any()


def test_batches_have_the_limbs_of_single_transforms():
    rng = np.random.default_rng(1)
    a = full(rng, (3, 30, 2), mdqr.qd)
    whole = mdqr.fft.fft(a, axis=1)
    for i, j in np.ndindex(3, 2):
        mdqr.testing.assert_same_bits(whole[i, :, j], mdqr.fft.fft(a[i, :, j]))


@pytest.mark.parametrize("precision", PRECISIONS, ids=str)
@pytest.mark.parametrize("n", [1, 3, 7, 8, 12, 36, 101])
def test_roots_are_correctly_rounded(n, precision):
    places = np.arange(-n, 2 * n)
    block = roots_of_unity(places, n, precision.limbs)
    for k in range(n):
        root = flint.acb(flint.fmpq(2 * k, n)).exp_pi_i()
        for plane, part in zip(block, (root.real, root.imag), strict=True):
            text = part.str(400, radius=False)
            wanted = mdqr.array(text, precision=precision).limbs
            assert (plane[:, k + n] == wanted).all()
            assert (plane[:, [k, k + 2 * n]] == wanted[:, None]).all()


@given(st.integers(1, 10**6))
def test_factors(n):
    found = factors(n)
    assert np.prod(found, dtype=object) == n
    assert all(r <= 16 or all(r % p for p in range(2, int(r**0.5) + 1)) for r in found)


def test_the_bound_grows_slowly():
    assert error_bound(1) == 0
    assert error_bound(4096) < 500
    assert error_bound(2**20) < 800
    assert error_bound(211) < 20000
    with pytest.raises(ValueError, match="at least 1"):
        error_bound(0)


ONE = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
SEVERAL = ("fftn", "ifftn", "rfftn", "irfftn", "fft2", "ifft2", "rfft2", "irfft2")
SHAPES = st.lists(st.integers(0, 6), min_size=1, max_size=3).map(tuple)
NORMS = st.sampled_from([None, "backward", "ortho", "forward"])


def compare(name, x, *arguments, **options):
    """Call NumPy and mdqr: both fail, or values, shapes and fields agree."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            wanted = getattr(np.fft, name)(x, *arguments, **options)
        except (ValueError, IndexError, TypeError):
            with pytest.raises((ValueError, IndexError, TypeError)):
                getattr(mdqr.fft, name)(mdqr.array(x, precision="dd"), *arguments, **options)
            return
    found = getattr(np.fft, name)(mdqr.array(x, precision="dd"), *arguments, **options)
    assert found.shape == wanted.shape
    assert found.is_complex == (wanted.dtype.kind == "c")
    scale = 1e-13 * (1 + abs(wanted).max(initial=0))
    assert abs(found.to_numpy() - wanted).max(initial=0) <= scale


@settings(max_examples=150)
@given(
    st.sampled_from(ONE),
    SHAPES,
    st.booleans(),
    st.integers(-3, 3),
    st.none() | st.integers(0, 9),
    NORMS,
    st.integers(0, 99),
)
def test_one_axis_as_numpy(name, shape, is_complex, axis, n, norm, seed):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    if is_complex and name not in ("rfft", "ihfft"):
        x = x + 1j * rng.standard_normal(shape)
    if n != 0 or -len(shape) <= axis < len(shape):
        compare(name, x, n=n, axis=axis, norm=norm)


@settings(max_examples=150)
@given(st.sampled_from(SEVERAL), SHAPES, st.booleans(), NORMS, st.data())
def test_several_axes_as_numpy(name, shape, is_complex, norm, data):
    x = np.random.default_rng(1).standard_normal(shape)
    if is_complex and name[0] != "r":
        x = x * (1 - 2j)
    options = {}
    if data.draw(st.booleans()):
        places = st.integers(-len(shape), len(shape) - 1)
        options["axes"] = data.draw(st.lists(places, min_size=1, max_size=3))
    if data.draw(st.booleans()):
        count = len(options.get("axes", (0, 1)))
        lengths = st.sampled_from([-1, 1, 2, 5])
        options["s"] = data.draw(st.lists(lengths, min_size=count, max_size=count))
    compare(name, x, norm=norm, **options)


@pytest.mark.parametrize("precision", PRECISIONS, ids=str)
@pytest.mark.parametrize("n", [1, 2, 9, 16, 211])
def test_real_transforms_come_back(n, precision):
    a = full(np.random.default_rng(n), (n,), precision).real
    back = mdqr.fft.irfft(mdqr.fft.rfft(a), n)
    assert not back.is_complex
    error = abs(back - a).to_numpy()
    assert np.linalg.norm(error) <= 2 * (error_bound(n) + 4) * precision.eps * float(
        mdqr.linalg.norm(a)
    )


def test_what_is_refused():
    a = mdqr.array([1, 2j], precision="dd")
    for name in ("rfft", "rfftn", "rfft2", "ihfft"):
        with pytest.raises(TypeError, match="real numbers"):
            getattr(mdqr.fft, name)(mdqr.stack([a, a]))
    with pytest.raises(ValueError, match="norm must be"):
        mdqr.fft.fft(a, norm="none")
    with pytest.raises(TypeError, match="needs precision="):
        mdqr.fft.fftfreq(4)
    with pytest.raises(ValueError, match="at least 1"):
        mdqr.fft.rfftfreq(0, precision="d")


@pytest.mark.parametrize("n", [1, 2, 5, 8])
@pytest.mark.parametrize("name", ["fftfreq", "rfftfreq"])
def test_frequencies(name, n):
    found = getattr(mdqr.fft, name)(n, "0.3", precision="qd")
    wanted = getattr(np.fft, name)(n, 0.3)
    np.testing.assert_allclose(found.to_numpy(), wanted, rtol=1e-15)
    exact = [3 * round(float(w) * 0.3 * n) for w in wanted]  # k / (0.3 n) = 10 k / (3 n)
    again = found * 9 * n / 10
    mdqr.testing.assert_close(again, mdqr.array(exact, precision="qd"), ulps=10)
    other = getattr(mdqr.fft, name)(n, mdqr.qd("0.3"))
    mdqr.testing.assert_same_bits(found, other)


@pytest.mark.parametrize("axes", [None, 0, 1, (0,), (1, 0), -1])
def test_shifts(axes):
    x = np.arange(15.0).reshape(3, 5)
    a = mdqr.array(x, precision="dd")
    for name in ("fftshift", "ifftshift"):
        for ours in (getattr(mdqr.fft, name), getattr(np.fft, name)):
            np.testing.assert_array_equal(ours(a, axes).to_numpy(), getattr(np.fft, name)(x, axes))


@pytest.mark.parametrize("n", [1, 12, 97, 211])
def test_a_device_gives_the_limbs_of_the_host(n, monkeypatch):
    fake_device.install_cupy(monkeypatch)
    a = full(np.random.default_rng(n), (2, n), mdqr.qd)
    for function in (mdqr.fft.fft, mdqr.fft.ifft, mdqr.fft.irfft, mdqr.fft.fftshift):
        if n == 1 and function is mdqr.fft.irfft:
            continue
        found = function(a.to_device("cuda"))
        assert found.device == "cuda:0"
        mdqr.testing.assert_same_bits(found.to_device("cpu"), function(a))
    assert mdqr.fft.fftfreq(n, precision="dd", device="cuda").device == "cuda:0"
