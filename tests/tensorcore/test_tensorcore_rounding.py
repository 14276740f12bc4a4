"""The operands of low-precision products, bit for bit, and the bound of the products."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tensorcore_cases import U32, emulated_engine, values_of

from mdqr.tensorcore._engine.formats import FORMATS, SPLIT, pairs
from mdqr.tensorcore._engine.numpy import NumpyEngine
from mdqr.tensorcore._engine.rounding import rounded

ROUNDED = [form for form in FORMATS.values() if form.kernel]
# Significant bits, smallest exponent of a last bit, largest finite number.
SHAPES = {
    "half": (11, -24, Fraction(65504)),
    "bfloat": (8, -133, Fraction(255 * 2**120)),
    "tf32": (11, -136, Fraction(2047 * 2**117)),
}
floats = st.floats(width=32, allow_nan=False, allow_infinity=False)
entries = st.one_of(
    floats,
    # Ties and neighbours of ties, subnormals, and the edges of binary16.
    st.builds(
        lambda digits, bit, exponent: float(
            np.float32((2 * digits + 1 + bit * 2.0**-9) * 2.0**exponent)
        ),
        st.integers(-4096, 4096),
        st.integers(-1, 1),
        st.integers(-40, 20),
    ),
    st.sampled_from([0.0, -0.0, 65519.99, 65520.0, -65536.0, 2.0**-25, 2.0**-149]),
)


def nearest(x: Fraction, kernel: str) -> float:
    """Return the number of a format next to `x`, ties to even, by exact arithmetic."""
    bits, last, largest = SHAPES[kernel]
    size = abs(x)
    if size == 0:
        return 0.0
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= Fraction(2) ** exponent > size
    unit = Fraction(2) ** max(exponent - bits + 1, last)
    steps = round(size / unit)  # Python rounds ties to even
    value = steps * unit
    result = float("inf") if value > largest else float(value)
    return -result if x < 0 else result


@given(x=hnp.arrays(np.float32, st.integers(0, 20), elements=entries))
@pytest.mark.parametrize("form", ROUNDED, ids=lambda form: form.name)
def test_operands_are_the_nearest_numbers(form, x):
    x = np.ldexp(x, -form.exponent).astype(np.float32)
    terms = rounded(x, form)
    for i, value in enumerate(x):
        exact = Fraction(float(value)) * 2**form.exponent
        kernel = "half" if form.kernel == "split" else form.kernel
        high = nearest(exact, kernel)
        assert float(terms[0][i]) == high
        if form.terms == 2 and np.isfinite(high):
            rest = (exact - Fraction(high)) * 2**SPLIT
            assert float(terms[1][i]) == nearest(rest, "half")


@pytest.mark.parametrize("form", ROUNDED, ids=lambda form: form.name)
def test_what_is_not_finite_stays(form):
    x = np.array([np.nan, np.inf, -np.inf], dtype=np.float32)
    high = rounded(x, form)[0]
    assert np.isnan(high[0])
    assert high[1] == np.inf
    assert high[2] == -np.inf


@given(rows=st.integers(1, 40), seed=st.integers(0, 2**32 - 1))
@pytest.mark.parametrize("form", FORMATS.values(), ids=lambda form: form.name)
def test_products_are_float32_sums_of_rounded_operands(form, rows, seed):
    """Each sum of k products errs by k roundings, those of split operands by three times k."""
    rng = np.random.default_rng(seed)
    engine = NumpyEngine()
    p, x = (np.asfortranarray(rng.standard_normal((rows, n)).astype(np.float32)) for n in (3, 2))
    a, b = (engine.round(y, engine.memory(*y.shape, form)) for y in (p, x))
    out = engine.matrix(3, 2)
    engine.inner(a, b, out)
    truth, sizes = np.zeros((3, 2)), np.zeros((3, 2))
    for i, j, exponent in pairs(form):
        # Products of 24-bit numbers need 48 bits, their sums some more: float64 is exact enough.
        left, right = (np.float64(y) for y in (a.terms[i], b.terms[j]))
        truth += 2.0**exponent * (left.T @ right)
        sizes += 2.0**exponent * (np.abs(left).T @ np.abs(right))
    bound = 1.01 * U32 * (rows + 2) * sizes
    assert (np.abs(out - truth) <= bound).all()
    # Against the data: two operands of relative error u each.
    exact = np.float64(p).T @ np.float64(x)
    unit = 2.02 * form.unit * (np.abs(np.float64(p)).T @ np.abs(np.float64(x)))
    assert (np.abs(out - exact) <= unit + bound).all()


def test_adding_a_product(rng):
    engine, form = NumpyEngine(), FORMATS["fp16"]
    c = np.asfortranarray(rng.standard_normal((5, 4)).astype(np.float32))
    p = np.asfortranarray(rng.integers(-8, 8, (5, 3)).astype(np.float32))
    x = np.asfortranarray(rng.integers(-8, 8, (3, 4)).astype(np.float32))
    wanted = c - np.float32(p @ x)
    operands = [engine.round(y, engine.memory(*y.shape, form)) for y in (p, x)]
    engine.add(c, *operands, -1)
    np.testing.assert_array_equal(c, wanted)


@pytest.mark.parametrize("rows", [37, 36])
@pytest.mark.parametrize("form", ROUNDED, ids=lambda form: form.name)
def test_the_kernel_rounds_to_the_same_bits(kernels, form, rows, rng):
    x = rng.standard_normal((rows, 5)) * 10.0 ** rng.integers(-12, 4, (rows, 5))
    x = np.asfortranarray(x.astype(np.float32))
    x[:8, 0] = [np.inf, -np.inf, np.nan, 1e30, 16.0, 15.998, 0.0, 1e-40]
    engine = emulated_engine(kernels)
    got = engine.round(x, engine.memory(rows + 3, 6, form))
    for term, wanted in zip(got.terms, rounded(x, form), strict=True):
        np.testing.assert_array_equal(values_of(term, form.kernel), wanted)
