"""Products and residuals with few columns: every way through the kernels has the same limbs."""

from __future__ import annotations

from fractions import Fraction

import linalg_cases as cases
import numpy as np
import pytest
from exact_matrices import flushed
from hypothesis import given, settings
from hypothesis import strategies as st

import mdqr
from mdqr._backend.host import backend
from mdqr._limbs.planes import Kind
from mdqr.testing import arrays

# Blocks of 32 and of 64 vectors of 8 along k, with something left; groups of columns, chunks.
SHAPES = [(3, 1), (40, 9), (9, 700), (150, 40)]
# How far below the largest the entries lie, in bits: two digits do for float64 data, more digits
# are needed, the exact accumulator is.
SPREADS = [0, 25, 400]


def residual(a, b, kind, terms=()):
    return backend.backend().residual([(1, t) for t in terms], a, b, kind=kind)


def matmul(a, b, kind):
    return backend.backend().matmul(a, b, kind=kind)


def entries(precision, is_complex, shape, spread, rng):
    """A block of full-width entries with zeros among them."""
    parts = []
    for _ in range(1 + is_complex):
        planes = rng.standard_normal((precision.limbs, *shape))
        planes[0] = np.ldexp(planes[0], rng.integers(-spread, 1, shape))
        planes[0, rng.random(shape) < 0.1] = 0.0
        for i in range(1, precision.limbs):
            # Below half an ulp of the limb before.
            planes[i] = planes[i - 1] * rng.uniform(-1, 1, shape) * 2.0**-54
        parts.append(planes)
    return np.stack(parts) if is_complex else parts[0]


def layouts(a):
    """The same matrix along rows, along columns, and with strides of both signs."""
    yield np.ascontiguousarray(a)
    yield np.ascontiguousarray(a.swapaxes(-1, -2)).swapaxes(-1, -2)
    apart = np.zeros((*a.shape[:-2], 2 * a.shape[-2], 3 * a.shape[-1]))[..., ::-2, ::3]
    apart[...] = a
    yield apart


def padded(a, kind):
    """The same with limbs of zero."""
    full = np.zeros(kind.planes(a.shape[kind.lead :]))
    full[..., : a.shape[kind.lead - 1], :, :] = a
    return full


def computations(limbs):
    """Sums of digits are exact; the carry-save sums of dd products round, each way in its own."""
    return (residual,) if limbs == 2 else (matmul, residual)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("spread", SPREADS)
def test_layouts_and_columns(multiple, dtype, shape, spread, rng):
    kind = Kind(multiple.limbs, dtype is complex)
    a = entries(multiple, kind.is_complex, shape, spread, rng)
    b = entries(multiple, kind.is_complex, (shape[1], 9), 0, rng)
    for compute in computations(multiple.limbs):
        wanted = compute(a, b, kind)
        for columns in (1, 3):
            few = b[..., :columns]
            for x in layouts(a):
                found = compute(x, few, kind)
                assert np.array_equal(found, wanted[..., :columns])
                turned = compute(few.swapaxes(-1, -2), x.swapaxes(-1, -2), kind)
                assert np.array_equal(turned.swapaxes(-1, -2), found)


@pytest.mark.parametrize("spread", SPREADS)
def test_fewer_limbs(multiple, dtype, spread, rng):
    kind = Kind(multiple.limbs, dtype is complex)
    pairs = [(mdqr.d, mdqr.d), *((p, multiple) for p in (mdqr.d, mdqr.dd, mdqr.qd))]
    for p, q in pairs:
        if p > multiple:
            continue
        a = entries(p, kind.is_complex, (17, 300), spread, rng)
        b = entries(q, kind.is_complex, (300, 1), 0, rng)
        for compute in computations(multiple.limbs):
            wanted = compute(padded(a, kind), padded(b, kind), kind)
            for x in layouts(a):
                assert np.array_equal(compute(x, b, kind), wanted)


def test_one_entry_far_below_the_others(multiple, dtype, rng):
    """Digits that one vector of a block uses, and the others do not."""
    kind = Kind(multiple.limbs, dtype is complex)
    a = rng.integers(-9, 10, (2, 10, 500)).astype(float)
    a[1, 3, 77] = a[0, 7, 400] = 2.0**-70 + 2.0**-120
    a = a[:, None] if kind.is_complex else a[:1]
    b = entries(multiple, kind.is_complex, (500, 1), 0, rng)
    wanted = residual(padded(a, kind), padded(b, kind), kind)
    for x in layouts(a):
        assert np.array_equal(residual(x, b, kind), wanted)


def check_residual(a, b, c):
    """Within ``eps`` of the result and ``(k + 8) eps**2`` of the sums of moduli."""
    kind = Kind(a.precision.limbs, a.is_complex)
    block = residual(a.limbs, b.limbs, kind, [c.limbs])
    dtype = complex if a.is_complex else float
    x, y, start = (cases.Exact.of(v) for v in (a, b, c))
    wanted, sizes = start - x @ y, x.moduli() @ y.moduli() + start.moduli()
    found = cases.Exact.of(mdqr.from_limbs(block, dtype=dtype, normalize=False))
    eps, size = Fraction(a.precision.eps), wanted.moduli()
    top = max(size.exponent, sizes.exponent)
    # Twice for the moduli of complex errors.
    bound = size.at(top).real * eps.denominator
    bound = 2 * (bound + (a.shape[-1] + 8) * sizes.at(top).real)
    lost = flushed(wanted.real.shape, a.precision, 2)
    lost = cases.Exact(lost.real * a.shape[-1] * a.precision.limbs, None, lost.exponent)
    assert (found - wanted).moduli().within(eps**2, cases.Exact(bound, None, top) + lost)


@settings(max_examples=15)
@given(data=st.data(), columns=st.integers(1, 3))
def test_residual_of_wild_entries(multiple, dtype, data, columns):
    limits = {"allow_nan": False, "allow_infinity": False}
    limits |= {"min_exponent": -250, "max_exponent": 250}
    a, b, c = (
        data.draw(arrays(multiple, shape, dtype=dtype, **limits))
        for shape in ((5, 11), (11, columns), (5, columns))
    )
    check_residual(a, b, c)


def test_residual_that_cancels(multiple, dtype, rng):
    a, b = (cases.random(*shape, multiple, dtype, rng) for shape in ((20, 300), (300, 2)))
    check_residual(a, b, mdqr.linalg.matmul(a, b))
