"""Matrix products and residuals of the CUDA kernels, run on the CPU, against exact arithmetic."""

from __future__ import annotations

import ctypes
from fractions import Fraction

import emulated_kernels
import linalg_cases as cases
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mdqr
from mdqr._backend.cuda import matvec, products, sliced
from mdqr._backend.cuda.kernels import matrix_view
from mdqr._precision import PRECISIONS
from mdqr.testing import arrays, assert_close

# Compiling takes most of the time: by default the lower precisions, one field each.
CASES = [
    pytest.param(
        (precision, dtype),
        id=f"{precision}-{dtype.__name__}",
        marks=() if precision is PRECISIONS[1] and dtype is complex else pytest.mark.long,
    )
    for precision in PRECISIONS[1:]
    for dtype in (complex, float)
]


@pytest.fixture(scope="session", params=CASES)
def kind(request):
    """A precision and a field."""
    return request.param


def call(kernels, a, b, *, conj_a=False, conj_b=False, c=None, subtract=False, out=None):
    """The product of arrays as an array."""
    addend = None if c is None else c.limbs
    block = products.matmul(
        kernels, a.limbs, b.limbs, max(a.precision, b.precision).limbs, a.is_complex,
        conj_a, conj_b, addend, subtract, out,
    )  # fmt: skip
    return mdqr.from_limbs(block, dtype=complex if a.is_complex else float, normalize=False)


def check(result, a, b, c=None, subtract=False):
    """The product within ``(k + 8) eps abs(a) @ abs(b)``, the sum with `c` rounded by 2 eps."""
    x, y = cases.Exact.of(a), cases.Exact.of(b)
    wanted, room = x @ y, x.moduli() @ y.moduli()
    eps = Fraction(result.precision.eps)
    found = cases.Exact.of(result)
    # Each part of a complex entry is a sum of 2k real products: the modulus is within sqrt 2 of it,
    # and the moduli of the oracle are rounded up.
    bound = cases.entries(room.real) * (a.shape[-1] + 8) * 2
    unit = room.exponent
    if c is not None:
        start = cases.Exact.of(c)
        zero = start - start
        wanted = start - wanted if subtract else start - (zero - wanted)
        size = wanted.moduli()
        top = max(size.exponent, unit)
        bound = bound * 2 ** (top - unit) + 4 * cases.entries(size.at(top).real)
        unit = top
    elif subtract:
        wanted = (wanted - wanted) - wanted
    error = (found - wanted).moduli()
    limit = cases.Exact(cases.mat(bound), None, unit)
    assert error.within(eps, limit)
    assert is_normal(result.limbs, result.is_complex)


def is_normal(block, is_complex):
    """Whether every number is normalised, without negative zeros below its leading limb."""
    planes = np.moveaxis(block, 1, 0) if is_complex else block
    pairs = (planes[:-1] + planes[1:]) == planes[:-1]
    return bool(pairs.all() and not np.signbit(planes[1:][planes[1:] == 0]).any())


def draw(kind, rng, *shape):
    return cases.random(*shape, *kind, rng)


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
    assert kernels.launched == ["mdqr_slices", "mdqr_matmul", "mdqr_exact"]


def in_columns(a):
    """The same values with neighbours of a column side by side."""
    limbs = np.ascontiguousarray(a.limbs.swapaxes(-1, -2)).swapaxes(-1, -2)
    return mdqr.from_limbs(limbs, dtype=complex if a.is_complex else float, normalize=False)


def growing(kind, rng, m, k):
    """A matrix and a vector that start with zeros and grow by 2^14 along the terms."""
    a, b = draw(kind, rng, m, k), draw(kind, rng, k, 1)
    steps = np.arange(k)
    up = mdqr.array(np.where(steps < 40, 0.0, np.ldexp(1.0, 14 * steps // k)), precision=kind[0])
    return a * up, b * up[:, None]


@pytest.mark.parametrize("shape", [(2, 2100), (9, 300), (35, 300)], ids=str)
@pytest.mark.parametrize("limits", [(1, 1), (1, 64), (10**9, 1), (10**9, 64)], ids=str)
def test_ways_to_sum_along_rows(kernels, kind, shape, limits, rng, monkeypatch):
    """Lanes along rows and along columns, several rows a warp, and parts of the vector in turn."""
    for name, limit in zip(("_BUSY", "_MOST_SPLITS"), limits, strict=True):
        monkeypatch.setattr(matvec, name, limit)
    kernels.plans.clear()
    a, b = growing(kind, rng, *shape)
    check(call(kernels, a, b), a, b)
    check(call(kernels, in_columns(a), b), a, b)
    kernels.plans.clear()


@pytest.mark.parametrize("columns", [False, True])
def test_residual_of_long_rows(kernels, kind, columns, rng):
    a, b = growing(kind, rng, 9, 300)
    near = call(kernels, a, b)
    check_residual(kernels, kind, [(1, near)], in_columns(a) if columns else a, b, False)


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
    products.matmul(
        kernels, a.limbs, b.limbs, kind[0].limbs, kind[1] is complex,
        c=out, subtract=True, out=out,
    )  # fmt: skip
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
    far = mdqr.array(np.ldexp(1.0, 40 * (np.arange(200) % 8)), precision=kind[0])
    a, b = a * far, b * far[::-1, None]
    wanted = call(kernels, a, b)
    flags = (*emulated_kernels.FLAGS, "-DMDQR_PRODUCTS_A_CARRY=3")
    monkeypatch.setattr(emulated_kernels, "FLAGS", flags)
    often = emulated_kernels.EmulatedKernels(tmp_path)
    found = call(often, a, b)
    assert "mdqr_exact" in often.launched
    check(found, a, b)
    assert np.array_equal(found.limbs, wanted.limbs)


def test_sums_of_many_parts_carry(kernels, monkeypatch):
    """Rows of more parts than 2^63 has room for: the sums of one part, again and again."""
    terms, parts = 256, 40_000
    third = mdqr.full((8, terms), Fraction(1, 3), precision=mdqr.qd)
    tiles = matvec._Tiles(matvec._ROW_A_WARP, terms, 1, 1, 1, terms, 1)
    monkeypatch.setattr(matvec._Tiles, "of", lambda *_: tiles)
    # As in struct matvec_arguments: two views and six numbers, then these.
    start = 2 * len(matrix_view(kernels, third.limbs, False)) + 7
    splits, sums, exponent = start, start + 3, start + 4
    launch, kept = kernels.launch, []

    def repeated(module, name, arguments, **options):
        if name == "mdqr_matvec_finish":
            arguments = arguments.copy()
            for place, words in ((sums, 7 * 8), (exponent, 8)):
                memory = (ctypes.c_int64 * words).from_address(int(arguments[place]))
                one = np.ctypeslib.as_array(memory)
                kept.append(np.tile(one, parts))
                arguments[place] = kept[-1].ctypes.data
            assert arguments[splits] == 1
            arguments[splits] = parts
        launch(module, name, arguments, **options)

    monkeypatch.setattr(kernels, "launch", repeated)
    kernels.plans.clear()
    found = call(kernels, third, third[0, :, None])
    kernels.plans.clear()
    assert len(kept) == 2
    wanted = sum(map(Fraction, third.limbs[:, 0, 0].tolist())) ** 2 * terms * parts
    assert_close(found, [[wanted]] * 8, ulps=1)


@pytest.mark.parametrize("n", [1, 3])
def test_terms_that_are_left_where_the_largest_meet_zeros(kernels, kind, n):
    """What underflows beside the largest values is no zero."""
    precision, dtype = kind
    options = {"precision": precision, "dtype": dtype}
    for large, small in ((2.0**900, 2.0**-300), (2.0**540, 2.0**-540)):
        far = mdqr.array([[large] * n, [small] * n], **options)
        last = mdqr.array([[0, 1]] * 3, **options)
        for a, b in ((last, far), (far.T, last.T)):
            assert (call(kernels, a, b) == small).all()
            left = products.residual(
                kernels, [], a.limbs, b.limbs, precision.limbs, dtype is complex
            )
            assert (mdqr.from_limbs(left, dtype=dtype) == -small).all()


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
    far = mdqr.from_limbs(np.ldexp(a.limbs, shift), dtype=kind[1])
    found = call(kernels, far, b)
    if shift < 0:
        exact = cases.Exact.of(far) @ cases.Exact.of(b)
        off = (cases.Exact.of(found) - exact).moduli()
        eps = Fraction(kind[0].eps)
        x, y = cases.Exact.of(far).moduli(), cases.Exact.of(b).moduli()
        limit = cases.entries((x @ y).real) * 48
        # Half of the last bit a limb, and carries.
        floor = 2 * kind[0].limbs * 2 ** ((x @ y).exponent - 1074) * eps.denominator
        bound = cases.Exact(cases.mat(limit + floor), None, (x @ y).exponent)
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


WILD = {"allow_nan": False, "allow_infinity": False, "min_exponent": -250, "max_exponent": 250}


@settings(max_examples=15)
@given(data=st.data())
def test_wild_entries(kernels, kind, data):
    n = data.draw(st.sampled_from([1, 3]))
    a = data.draw(arrays(kind[0], (4, 6), dtype=kind[1], **WILD))
    b = data.draw(arrays(kind[0], (6, n), dtype=kind[1], **WILD))
    check(call(kernels, a, b), a, b)


def check_residual(kernels, kind, terms, a, b, conj_a):
    """Within ``eps`` of the result and ``(k + 8) eps**2`` of the sums of moduli."""
    precision, dtype = kind
    block = products.residual(
        kernels, [(sign, term.limbs) for sign, term in terms], a.limbs, b.limbs,
        precision.limbs, dtype is complex, conj_a,
    )  # fmt: skip
    x, y = cases.Exact.of(a.conj() if conj_a else a), cases.Exact.of(b)
    wanted, room = x @ y, x.moduli() @ y.moduli()
    wanted = (wanted - wanted) - wanted
    for sign, term in terms:
        value, size = cases.Exact.of(term), cases.Exact.of(term).moduli()
        wanted = wanted - (value if sign < 0 else (value - value) - value)
        room = room - ((size - size) - size)
    found = cases.Exact.of(mdqr.from_limbs(block, dtype=dtype, normalize=False))
    eps = Fraction(precision.eps)
    size = wanted.moduli()
    top = max(size.exponent, room.exponent)
    # Twice for the moduli of complex errors.
    bound = cases.entries(size.at(top).real) * eps.denominator
    bound = 2 * (bound + (a.shape[-1] + 8) * cases.entries(room.at(top).real))
    assert (found - wanted).moduli().within(eps**2, cases.Exact(cases.mat(bound), None, top))


@pytest.mark.parametrize("shape", [(7, 20, 1), (3, 30, 4), (2, 5, 9)], ids=str)
def test_residual(kernels, kind, shape, rng):
    m, k, n = shape
    a, b = draw(kind, rng, m, k), draw(kind, rng, k, n)
    near = call(kernels, a, b)
    noise = draw(kind, rng, m, n) * np.ldexp(1.0, -kind[0].bits // 2)
    check_residual(kernels, kind, [(1, near)], a, b, False)
    check_residual(kernels, kind, [(1, near), (-1, noise)], a, b, False)
    check_residual(kernels, kind, [], a, b, True)
    wide = mdqr.from_limbs(a.limbs[..., :1, :, :].copy(), dtype=kind[1], normalize=False)
    check_residual(kernels, kind, [(-1, noise), (1, near), (1, near)], wide, b, True)


@settings(max_examples=10)
@given(data=st.data())
def test_residual_of_wild_entries(kernels, kind, data):
    a = data.draw(arrays(kind[0], (3, 5), dtype=kind[1], **WILD))
    b = data.draw(arrays(kind[0], (5, 2), dtype=kind[1], **WILD))
    check_residual(kernels, kind, [(1, call(kernels, a, b))], a, b, False)


def test_one_limb(kernels, rng):
    a, b = rng.standard_normal((6, 9)), rng.standard_normal((9, 4))
    c = rng.standard_normal((6, 4))
    assert np.array_equal(products.matmul(kernels, a[None], b[None], 1, False)[0], a @ b)
    found = products.matmul(kernels, a[None], b[None], 1, False, c=c[None], subtract=True)
    assert np.array_equal(found[0], c - a @ b)


@pytest.mark.long
def test_residual_of_one_limb(kernels, rng):
    a, b = (mdqr.array(rng.standard_normal(s), precision=mdqr.d) for s in ((6, 9), (9, 2)))
    c = mdqr.array(a.to_numpy() @ b.to_numpy(), precision=mdqr.d)
    check_residual(kernels, (mdqr.d, float), [(1, c)], a, b, False)


def test_too_many_terms(kernels):
    x = np.zeros((2, 1, 1))
    with pytest.raises(ValueError, match="a residual takes at most 8 terms on the GPU; got 9"):
        products.residual(kernels, [(1, x)] * 9, x, x, 2, False)
