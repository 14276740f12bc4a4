"""Matrix products and residuals of the CUDA kernels, run on the CPU, against exact arithmetic."""

from __future__ import annotations

from fractions import Fraction

import linalg_cases as cases
import numpy as np
import pytest
from emulation import kernels as emulated_kernels
from hypothesis import given, settings
from hypothesis import strategies as st
from product_cases import CASES, WIDE_RANGE, call, check, draw

import mdqr
from mdqr._backend.cuda.backend import CudaBackend
from mdqr._backend.cuda.products import sliced
from mdqr._backend.host import backend as host
from mdqr._limbs.planes import Kind
from mdqr._precision import PRECISIONS
from mdqr.testing import arrays


@pytest.fixture(scope="session", params=CASES)
def kind(request):
    """A precision and a field."""
    return request.param


SHAPES = [
    (3, 5, 3), (20, 17, 18), (40, 3, 9),  # tiles, not filled
    (5, 300, 4),  # terms divided among blocks
    (9, 20, 1), (1, 9, 12), (2, 300, 5), (1, 40, 1),  # sums along rows
]  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_bound(kernels, kind, shape, rng):
    m, k, n = shape
    a, b = draw(kind, rng, m, k), draw(kind, rng, k, n)
    check(call(kernels, a, b), a, b)


def test_wide_tiles(kernels, kind, rng, monkeypatch):
    monkeypatch.setattr(sliced, "_BUSY", 1)
    a, b, c = draw(kind, rng, 35, 21), draw(kind, rng, 21, 33), draw(kind, rng, 35, 33)
    kernels.launched.clear()
    check(call(kernels, a, b, c=c, subtract=True), a, b, c, True)
    assert kernels.launched == ["mdqr_slices", "mdqr_matmul", "mdqr_accumulator"]


@pytest.mark.parametrize("n", [1, 4])
def test_conjugates_and_addends(kernels, kind, n, rng):
    a, b, c = draw(kind, rng, 6, 10), draw(kind, rng, 10, n), draw(kind, rng, 6, n)
    for conj_a in (False, True):
        for conj_b in (False, True):
            x, y = (v.conj() if flag else v for v, flag in ((a, conj_a), (b, conj_b)))
            for subtract in (False, True):
                for addend in (None, c):
                    options = {"c": addend, "subtract": subtract}
                    check(call(kernels, a, b, conj_a=conj_a, conj_b=conj_b, **options), x, y,
                          addend, subtract)  # fmt: skip


@pytest.mark.parametrize("n", [1, 5])
def test_result_in_the_memory_of_the_addend(kernels, kind, n, rng):
    a, b, c = draw(kind, rng, 7, 9), draw(kind, rng, 9, n), draw(kind, rng, 7, n)
    memory = np.full((*c.limbs.shape[:-2], 14, n + 3), np.nan)
    out = memory[..., 1::2, ::-1][..., :n]
    out[...] = c.limbs
    before = memory.copy()
    options = {"kind": Kind(kind[0].limbs, kind[1] is complex), "subtract": True}
    CudaBackend(kernels).matmul(a.limbs, b.limbs, c=out, out=out, **options)
    check(mdqr.from_limbs(out.copy(), dtype=kind[1], normalize=False), a, b, c, True)
    out[...] = before[..., 1::2, ::-1][..., :n]
    assert np.array_equal(memory, before, equal_nan=True)


def test_strides(kernels, kind, rng):
    a, b = draw(kind, rng, 18, 24), draw(kind, rng, 12, 5)
    for n in (1, 5):
        x, y = a[::-3, ::2], b[:, :n]
        check(call(kernels, x, y), x, y)
        check(call(kernels, y.T, a[:12, ::-1]), y.T, a[:12, ::-1])


def test_batches(kernels, kind, rng):
    a, b = draw(kind, rng, 6, 4).reshape(2, 3, 4), draw(kind, rng, 12, 4).reshape(3, 1, 4, 4)
    for n in (1, 4):
        y = b[..., :n]
        found = call(kernels, a, y)
        assert found.shape == (3, 2, 3, n)
        for i in range(3):
            for j in range(2):
                check(found[i, j], a[j], y[i, 0])
        one = call(kernels, a, y[0])
        check(one[1], a[1], y[0, 0])


@pytest.mark.parametrize("n", [1, 4])
def test_inner_size_zero(kernels, kind, n):
    precision, dtype = kind
    a = mdqr.zeros((3, 0), precision=precision, dtype=dtype)
    b = mdqr.zeros((0, n), precision=precision, dtype=dtype)
    c = mdqr.ones((3, n), precision=precision, dtype=dtype)
    assert (call(kernels, a, b) == 0).all()
    assert (call(kernels, a, b, c=c, subtract=True) == 1).all()


@pytest.mark.parametrize("n", [1, 4])
def test_fewer_limbs_have_the_same_bits(kernels, kind, n, rng):
    precision, dtype = kind
    a, b = draw(kind, rng, 5, 9), draw(kind, rng, 9, n)
    few = mdqr.from_limbs(a.limbs[..., :1, :, :].copy(), dtype=dtype, normalize=False)
    full = few.astype(precision=precision)
    assert np.array_equal(call(kernels, few, b).limbs, call(kernels, full, b).limbs)
    assert few.precision < precision


@pytest.mark.parametrize("n", [1, 4])
def test_integers_are_exact(kernels, kind, n, rng):
    a, b = (rng.integers(-(2**20), 2**20, shape).astype(kind[1]) for shape in ((6, 30), (30, n)))
    x, y = (mdqr.array(v, precision=kind[0]) for v in (a, b))
    found = call(kernels, x, y)
    assert np.array_equal(found.to_numpy(), a @ b)
    assert not found.limbs[..., 1:, :, :].any()


@pytest.mark.parametrize("n", [1, 4])
def test_terms_far_below_the_largest(kernels, kind, n, rng):
    """Row and column maxima never meet: every element is left to the exact accumulator."""
    a, b = draw(kind, rng, 5, 8), draw(kind, rng, 8, n)
    down, up = (np.ldexp(1.0, sign * 40 * np.arange(8)) for sign in (-1, 1))
    a, b = (
        a * mdqr.array(down, precision=kind[0]),
        b * mdqr.array(up[::-1, None], precision=kind[0]),
    )
    a = mdqr.concatenate([a, a * 0 + 1e30], axis=1)
    b = mdqr.concatenate([b, b * 0], axis=0)
    check(call(kernels, a, b), a, b)


def test_sums_carry_before_they_overflow(kernels, kind, rng, monkeypatch, tmp_path):
    """The exact accumulator carries after so many products that no test reaches: here after 3."""
    a, b = draw(kind, rng, 5, 200), draw(kind, rng, 200, 6)
    scaled = mdqr.array(np.ldexp(1.0, 40 * (np.arange(200) % 8)), precision=kind[0])
    a, b = a * scaled, b * scaled[::-1, None]
    wanted = call(kernels, a, b)
    flags = (*emulated_kernels.FLAGS, "-DMDQR_PRODUCTS_A_CARRY=3")
    monkeypatch.setattr(emulated_kernels, "FLAGS", flags)
    often = emulated_kernels.EmulatedKernels(tmp_path)
    found = call(often, a, b)
    assert "mdqr_accumulator" in often.launched
    check(found, a, b)
    assert np.array_equal(found.limbs, wanted.limbs)


@pytest.mark.parametrize("n", [1, 4])
def test_cancellation(kernels, kind, n, rng):
    """Sums that cancel to the last limbs, and to zero."""
    a, b = draw(kind, rng, 5, 8), draw(kind, rng, 8, n)
    tiny = np.ldexp(1.0, -kind[0].bits)
    x = mdqr.concatenate([a, -a, a * tiny], axis=1)
    y = mdqr.concatenate([b, b, b], axis=0)
    check(call(kernels, x, y), x, y)
    x, y = mdqr.concatenate([a, -a], axis=1), mdqr.concatenate([b, b], axis=0)
    zero = call(kernels, x, y)
    check(zero, x, y)
    # Slices and digits are exact; the carry-save limbs of the lowest precision are not.
    if n > 1 or kind[0] is not PRECISIONS[1]:
        assert not zero.limbs.any()
        assert not np.signbit(zero.limbs).any()


@pytest.mark.parametrize("n", [1, 4])
@pytest.mark.parametrize("shift", [-1070, -1000, -600, 500, 1010])
def test_ends_of_the_range(kernels, kind, n, shift, rng):
    """Scaling by powers of two changes limbs only where they turn subnormal or overflow."""
    a, b = draw(kind, rng, 5, 8), draw(kind, rng, 8, n)
    middle = call(kernels, a, b).limbs
    scaled = mdqr.from_limbs(np.ldexp(a.limbs, shift), dtype=kind[1])
    found = call(kernels, scaled, b)
    if shift < 0:
        exact = cases.Exact.of(scaled) @ cases.Exact.of(b)
        off = (cases.Exact.of(found) - exact).moduli()
        eps = Fraction(kind[0].eps)
        x, y = cases.Exact.of(scaled).moduli(), cases.Exact.of(b).moduli()
        limit = (x @ y).real * 48
        # Half of the last bit a limb, and carries.
        floor = 2 * kind[0].limbs * eps.denominator << (x @ y).exponent >> 1074
        bound = cases.Exact(limit + floor, None, (x @ y).exponent)
        assert off.within(eps, bound)
    else:
        fits = np.abs(middle[..., :1, :, :]) < np.ldexp(1.0, 1020 - shift)
        same = found.limbs == np.ldexp(middle, shift)
        assert (same | ~np.broadcast_to(fits, same.shape)).all()


@pytest.mark.parametrize("n", [1, 4])
def test_overflow(kernels, kind, n):
    precision, dtype = kind
    a = mdqr.array(np.full((3, 4), 1e300, dtype), precision=precision)
    b = mdqr.array(np.full((4, n), -1e300, dtype), precision=precision)
    found = call(kernels, a, b)
    leading = (found.real if found.is_complex else found).limbs
    assert (leading[0] == -np.inf).all()
    assert not leading[1:].any()


@pytest.mark.parametrize("n", [1, 4])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_special_values(kernels, kind, n, bad, rng):
    a, b = (rng.standard_normal(shape).astype(kind[1]) for shape in ((4, 6), (6, n)))
    b[3, 0] = 0.0
    a[1, 2] = a[2, 3] = bad
    found = call(kernels, *(mdqr.array(v, precision=kind[0]) for v in (a, b)))
    parts = found.limbs if found.is_complex else found.limbs[None]
    clean = parts[:, 0, [0, 3]]
    assert np.isfinite(clean).all()
    if kind[1] is float:
        with np.errstate(invalid="ignore"):
            wanted = a @ b
        assert np.array_equal(parts[0, 0, 1:3], wanted[1:3], equal_nan=True)
    assert not np.isfinite(parts[:, 0, 1:3]).any()
    assert not parts[:, 1:, 1:3].any()


@settings(max_examples=15)
@given(data=st.data())
def test_entries_of_a_wide_range(kernels, kind, data):
    n = data.draw(st.sampled_from([1, 3]))
    a = data.draw(arrays(kind[0], (4, 6), dtype=kind[1], **WIDE_RANGE))
    b = data.draw(arrays(kind[0], (6, n), dtype=kind[1], **WIDE_RANGE))
    check(call(kernels, a, b), a, b)


def test_one_limb(cuda, rng):
    a, b = rng.standard_normal((6, 9)), rng.standard_normal((9, 4))
    c = rng.standard_normal((6, 4))
    assert np.array_equal(cuda.matmul(a[None], b[None], kind=Kind(1, False))[0], a @ b)
    found = cuda.matmul(a[None], b[None], kind=Kind(1, False), c=c[None], subtract=True)
    assert np.array_equal(found[0], c - a @ b)


@pytest.mark.parametrize("conj_a", [False, True])
@pytest.mark.parametrize("field", ["d", "D"])
@pytest.mark.parametrize(("m", "k", "n"), [(5, 4, 3), (1, 7, 1), (7, 1, 4), (1, 1, 1), (6, 3, 1)])
def test_products_of_plain_matrices(cuda, field, conj_a, m, k, n, rng):
    """Rows or columns contiguous, or neither; parts of a result; sums with what it was."""

    def drawn(m, n):
        x = rng.standard_normal((m, n)) + 1j * rng.standard_normal((m, n))
        return (x if field == "D" else x.real).astype(field)

    def layouts(x):
        wide = np.zeros((x.shape[0], 2 * x.shape[1]), field)
        wide[:, ::2] = x
        turned = np.empty(x.shape[::-1], field).T  # a row of a single column has its strides
        turned[...] = x
        rows = np.broadcast_to(x, (2, *x.shape)).reshape(-1, x.shape[1])[: len(x)]
        return x, turned, wide[:, ::2], rows, x[::-1][::-1]

    a, b, before = drawn(m, k), drawn(k, n), drawn(m + 4, n + 5)
    wanted = (a.conj() if conj_a else a) @ b
    at = slice(2, 2 + m), slice(1, 1 + n)
    for left in layouts(a):
        for right in layouts(b):
            for subtract in (False, True):
                known = before.copy()
                known[at] = known[at] - wanted if subtract else wanted
                for backend in (cuda, host.backend()):
                    out = before.copy()
                    backend.multiply(left, right, out[at], conj_a=conj_a, subtract=subtract)
                    assert abs(out - known).max() <= 1e-14
