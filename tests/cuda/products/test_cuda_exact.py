"""Exact products by the CUDA kernels, run on the CPU: the limbs are those of the host."""

from __future__ import annotations

import itertools
import weakref
from fractions import Fraction

import numpy as np
import pytest
from cuda_cases import EVERY, assert_same
from emulation.kernels import EmulatedKernels
from exact_product_cases import HOST, full
from stand_ins import ONE_BLOCK

import mdqr
from mdqr._backend import workspace
from mdqr._backend.cuda.backend import CudaBackend
from mdqr._backend.cuda.products import exact as calls
from mdqr._backend.cuda.products import exact_tables
from mdqr._limbs.planes import Kind
from mdqr._precision import PRECISIONS
from mdqr.linalg._products.exact import lines, plan, product

PAIR = Kind(2, False)


def both(cuda, a, b, kind, all_bits=True, **options):
    """The same product on the host and by the CUDA kernels; True if they formed it."""
    m, n = a.shape[-2], b.shape[-1]
    found, wanted = (kind.empty(np, (m, n)) for _ in range(2))
    bits = lines.full_bits(kind) if all_bits else None
    served = [
        product.multiply(backend, a, b, kind=kind, bits=bits, out=out, **options)
        for backend, out in ((HOST, wanted), (cuda, found))
    ]
    assert served[0] == served[1]
    if served[0]:
        assert_same(found, wanted)
    return served[0]


@pytest.mark.parametrize(("precision", "dtype"), EVERY)
@pytest.mark.parametrize("all_bits", [False, True])
def test_limbs_are_those_of_the_host(cuda, precision, dtype, all_bits, rng):
    kind = Kind(precision.limbs, dtype is complex)
    a, b = (full(shape, precision, dtype, rng)._block for shape in ((21, 70), (70, 18)))
    assert both(cuda, a, b, kind, all_bits=all_bits)


def test_small_devices_take_fewer_lines_and_leave_tables_in_memory(kernel_folder, rng):
    """Words and tables of complex hexa-doubles take more shared memory than many devices have."""
    cuda = CudaBackend(EmulatedKernels(kernel_folder))
    cuda.kernels.device = ONE_BLOCK
    a, b = (full(shape, mdqr.hd, complex, rng)._block for shape in ((9, 70), (70, 5)))
    assert both(cuda, a, b, Kind(mdqr.hd.limbs, True))


@pytest.mark.parametrize("kind", [PAIR, Kind(4, True)], ids=str)
def test_addends_and_conjugates(cuda, kind, rng):
    precision, dtype = ((mdqr.dd, float), (mdqr.qd, complex))[kind.is_complex]
    a, b, c = (full(s, precision, dtype, rng)._block for s in ((5, 19), (19, 7), (5, 7)))
    for conj_a, subtract in itertools.product((False, True), repeat=2):
        for addend in (None, c):
            options = {"conj_a": conj_a, "subtract": subtract, "c": addend}
            assert both(cuda, a, b, kind, **options)


@pytest.mark.parametrize("kind", [PAIR, Kind(4, True)], ids=str)
@pytest.mark.parametrize("order", [70, 130])
def test_upper_triangle(cuda, kind, order, rng, monkeypatch):
    monkeypatch.setattr(calls, "_LEAST_COLUMNS", 64)
    precision, dtype = ((mdqr.dd, float), (mdqr.qd, complex))[kind.is_complex]
    a = full((19, order), precision, dtype, rng)._block
    # What is below the diagonal is left as it is: the same zeros.
    found, wanted = (kind.zeros(np, (order, order)) for _ in range(2))
    for backend, out in ((HOST, wanted), (cuda, found)):
        options = {"kind": kind, "conj_a": True, "shape": "gram", "out": out}
        assert product.multiply(backend, a.swapaxes(-1, -2), a, **options)
    assert_same(found, wanted)


@pytest.mark.parametrize("kind", [PAIR, Kind(4, True)], ids=str)
@pytest.mark.parametrize("shape", ["cholesky", "triangular", "triangles", "factors", "upper"])
def test_products_with_an_upper_triangle(cuda, kind, shape, rng, monkeypatch):
    monkeypatch.setattr(calls, "_LEAST_COLUMNS", 64)
    precision, dtype = ((mdqr.dd, float), (mdqr.qd, complex))[kind.is_complex]
    a, b = (mdqr.triu(full((150, 150), precision, dtype, rng)) for _ in range(2))
    if shape == "triangular":
        a = full((21, 150), precision, dtype, rng)
    if shape in ("factors", "upper"):
        a = a.T
    if shape == "cholesky":
        a = b.T
    found, wanted = (kind.zeros(np, a.shape) for _ in range(2))
    for backend, out in ((HOST, wanted), (cuda, found)):
        options = {"kind": kind, "shape": shape, "bits": lines.full_bits(kind), "out": out}
        assert product.multiply(backend, a._block, b._block, **options)
    assert_same(found, wanted)


def test_result_in_the_memory_of_the_addend(cuda, rng):
    a, b, c = (full(s, mdqr.dd, float, rng)._block for s in ((9, 21), (21, 17), (9, 17)))
    wanted, memory = PAIR.empty(np, (9, 17)), np.full((2, 17, 12), np.nan)
    product.multiply(HOST, a, b, kind=PAIR, c=c, out=wanted, subtract=True)
    out = memory[:, ::-1, 1:10].swapaxes(-1, -2)
    out[...] = c
    product.multiply(cuda, a, b, kind=PAIR, c=out, out=out, subtract=True)
    assert_same(out.copy(), wanted)
    assert np.isnan(memory).sum() == 2 * 17 * 3


@pytest.mark.parametrize(
    "pair", list(itertools.product([p.limbs for p in PRECISIONS], repeat=2)), ids=str
)
def test_operands_of_any_precision(cuda, pair, rng):
    kind = Kind(max(2, *pair), False)
    names = {precision.limbs: precision for precision in PRECISIONS}
    a, b = (
        full(shape, names[limbs], float, rng)._block
        for shape, limbs in zip(((6, 20), (20, 5)), pair, strict=True)
    )
    assert both(cuda, a, b, kind)


@pytest.mark.parametrize("strides", ["columns", "reversed", "every second"])
def test_strides(cuda, strides, rng):
    a, b = (full(s, mdqr.dd, float, rng)._block for s in ((40, 70), (70, 40)))
    if strides == "columns":
        a, b = (x.swapaxes(-1, -2).copy().swapaxes(-1, -2) for x in (a, b))
    elif strides == "reversed":
        a, b = a[..., ::-1, ::-1], b[..., ::-1, ::-1]
    else:
        a, b = a[..., ::2, ::2], b[..., ::2, ::2]
    assert both(cuda, a, b, PAIR)


@pytest.mark.parametrize("kind", [PAIR, Kind(2, True)], ids=str)
def test_parts_under_a_small_workspace(cuda, kind, rng, monkeypatch):
    """Parts of the operands, and tiles of the result."""
    dtype = complex if kind.is_complex else float
    a, b, c = (full(s, mdqr.dd, dtype, rng)._block for s in ((150, 33), (33, 140), (150, 140)))
    monkeypatch.setattr(workspace, "_bound", 2**18)
    assert both(cuda, a, b, kind, c=c)


@pytest.mark.parametrize("grade", [0, -15, 40, 600])
def test_graded_columns(cuda, grade, rng):
    """Balanced by powers of two; those that cannot be keep the bits that they have or are left."""
    a, b = (full(s, mdqr.qd, float, rng)._block for s in ((9, 30), (30, 8)))
    a = np.ldexp(a, (np.arange(30) % 8 * grade // 8)[None, :])
    for all_bits in (False, True):
        both(cuda, a, b, Kind(4, False), all_bits=all_bits)
    both(cuda, a.swapaxes(-1, -2), b[..., :9, :], Kind(4, False), all_bits=False)


def test_zeros_and_subnormal_numbers(cuda):
    a = np.zeros((2, 5, 17))
    a[0, 1, 3], a[0, 2, 5:9], a[0, 3, 4] = 2.0**-1074, 3 * 2.0**-600, -1.0
    b = a.swapaxes(-1, -2)
    for all_bits in (False, True):
        both(cuda, a, b, PAIR, all_bits=all_bits)
    assert both(cuda, np.zeros_like(a), b, PAIR)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_what_is_not_finite_is_left(cuda, value):
    a = np.ones((2, 4, 20))
    a[1] = 0.0
    a[0, 2, 3] = value
    assert not both(cuda, a, np.ones((1, 20, 3)), PAIR)


@pytest.mark.parametrize("entry", [-128, 127, 2**106 - 1, 1 - 2**106])
def test_largest_residues(cuda, entry):
    """-128 modulo 256, and integers of all ones; units keep those from being smaller ones."""
    a, b = (mdqr.full(s, entry, precision="dd")._block.copy() for s in ((3, 300), (300, 5)))
    a[:, 1, 0] = b[:, 4, 2] = 1.0, 0.0
    assert both(cuda, a, b, PAIR)


def test_batches_in_runs_of_terms(cuda, rng, monkeypatch):
    """As `matmul` forms them; the second run of each matrix is one of limbs."""
    monkeypatch.setattr(plan, "MOST_TERMS", 16)
    kind = Kind(4, True)
    a, b, c = (full(s, mdqr.qd, complex, rng)._block for s in ((2, 5, 40), (2, 40, 6), (2, 5, 6)))
    a, b = a.copy(), b.copy()
    b[..., 17, :], a[..., 1, 17:32] = 0.0, a[..., 1, 17:32] * 2.0**-900
    options = {"kind": kind, "all_bits": False, "conj_a": True, "c": c, "subtract": True}
    wanted, found = (product.product(backend, a, b, **options) for backend in (HOST, cuda))
    assert_same(found, wanted)


def test_longest_sums(cuda):
    """Whether libraries wrap around or saturate is not asked."""
    a = np.full((1, 2, 2**17), -128.0)
    a[0, 1, 0] = 1.0
    b = a.swapaxes(-1, -2)
    found = product.product(cuda, a, b, kind=PAIR, all_bits=True)
    assert np.array_equal(found[0], a[0] @ b[0])
    assert not found[1].any()


def test_ties(cuda):
    """Sums of half a unit in the last place have two forms, of which the greedy one is taken."""
    a = np.zeros((4, 3, 18))
    a[0], a[1], a[3, :, 0] = 1.0, 2.0**-53, 2.0**-300
    b = np.zeros((4, 18, 2))
    b[0], b[2, 3:] = 1.0, 2.0**-170
    assert both(cuda, a, b, Kind(4, False))


@pytest.mark.parametrize("precision", [mdqr.dd, mdqr.qd], ids=str)
def test_ends_half_a_unit_behind(cuda, precision, rng):
    """Ties with nothing behind go to even limbs, up and down."""
    x = full((60, 1), precision, float, rng)._block
    half = np.spacing(x[-1:]) / 2 * rng.choice([-1.0, 1.0], x[-1:].shape)
    a = np.concatenate([x, np.concatenate([half, np.zeros_like(x[1:])])], axis=-1)
    b = np.zeros((len(x), 2, 1))
    b[0] = 1.0
    assert both(cuda, a, b, Kind(precision.limbs, False))


@pytest.mark.parametrize("kind", [PAIR, Kind(4, True)], ids=str)
@pytest.mark.parametrize("graded", [False, True])
def test_extents_are_those_of_the_host(cuda, kind, graded, rng):
    precision, dtype = ((mdqr.dd, float), (mdqr.qd, complex))[kind.is_complex]
    a, b = (full(s, precision, dtype, rng)._block for s in ((33, 40), (40, 18)))
    if graded:
        powers = rng.integers(-90, 90, 40)
        a, b = a * 2.0**powers, b / 2.0 ** powers[:, None]
    a[..., 0], b[..., 3], b[..., 7, :] = 0.0, 0.0, 0.0
    pair, seen = (a, b.swapaxes(-1, -2)), []
    for backend in (HOST, cuda):
        first = lines._surveyed(backend, pair, (None, None), kind, True, True)
        shift = first[2]
        again = lines._surveyed(backend, pair, (shift, -shift), kind, False, True)
        numbers = [x for found in (first, again) for x in (found[0][0].exponent, *found[1])]
        seen.append([*numbers, first[0][1].exponent, again[0][1].exponent, shift])
        assert (first[1].shift > 1) == graded
    for x, y in zip(*seen, strict=True):
        np.testing.assert_array_equal(x, y)


def test_a_device_is_waited_for_once(cuda, rng, monkeypatch):
    """Twice where powers of two balance the terms, or an entry has no terms."""
    waits = []
    monkeypatch.setattr(lines, "fetch", lambda *x: waits.append(x) or x)
    a, b = (full(s, mdqr.dd, float, rng)._block for s in ((20, 30), (30, 10)))
    for all_bits, factor, most in ((False, 1.0, 1), (True, 1.0, 1), (False, 2.0**40, 2)):
        waits.clear()
        x, y = a.copy(), b.copy()
        x[..., 3], y[..., 3, :] = x[..., 3] * factor, y[..., 3, :] / factor
        product.product(cuda, x, y, kind=PAIR, all_bits=all_bits)
        assert len(waits) == most
    # And where all terms of an entry are zeros: whether others are too small is asked then.
    waits.clear()
    a[..., 4, :] = 0.0
    product.product(cuda, a, b, kind=PAIR, all_bits=False)
    assert len(waits) == 2


@pytest.mark.parametrize("kind", [Kind(8, False), Kind(4, True)], ids=str)
def test_zero_limbs_are_left_out(cuda, kind, rng, monkeypatch):
    precision, dtype = ((mdqr.od, float), (mdqr.qd, complex))[kind.is_complex]
    a, b = (full(s, precision, dtype, rng)._block for s in ((20, 30), (30, 10)))
    for block, limbs in ((a, 2), (b, 1)):
        (block[:, limbs:] if kind.is_complex else block[limbs:])[...] = 0.0
    taken, residues = [], calls.ExactProducts.exact_residues

    def counted(self, x, *rest, **options):
        taken.append(x.shape[-3])
        return residues(self, x, *rest, **options)

    monkeypatch.setattr(calls.ExactProducts, "exact_residues", counted)
    for all_bits in (False, True):
        taken.clear()
        cuda.kernels.plans.clear()
        assert both(cuda, a, b, kind, all_bits=all_bits)
        assert sorted(taken) == [1, 2]


@pytest.mark.parametrize("kind", [Kind(8, False), Kind(8, True), Kind(4, False)], ids=str)
def test_few_digits_of_many_limbs(cuda, kind, rng):
    """A thread has one number where limbs are many, two where limbs and digits are few."""
    a, b, c = (full(s, mdqr.d, float, rng)._block for s in ((40, 9), (9, 17), (40, 17)))
    a, b, c = (np.zeros((kind.limbs, *x.shape[1:])) + np.rint(x * 1000) for x in (a, b, c))
    for x in (a, b, c):
        x[1:] = 0.0
    if kind.is_complex:
        a, b, c = (np.stack([x, -3 * x]) for x in (a, b, c))
    assert both(cuda, a, b, kind, c=c)


@pytest.mark.parametrize("kind", [PAIR, Kind(8, True)], ids=str)
def test_calls_of_one_layout_are_repeated(cuda, kind, rng):
    """With other operands, results and addends; the kernels are planned once."""
    precision, dtype = ((mdqr.dd, float), (mdqr.od, complex))[kind.is_complex]
    cuda.kernels.plans.clear()
    known = []
    for _ in range(3):
        a, b, c = (full(s, precision, dtype, rng)._block for s in ((23, 37), (37, 19), (23, 19)))
        assert both(cuda, a, b, kind, c=c, subtract=True)
        known.append(len(cuda.kernels.plans))
    assert known[0] == 2  # what decides, and what is formed
    assert known[1:] == known[:-1]
    assert None not in cuda.kernels.plans.values()


@pytest.mark.parametrize("shape", [(64, 16, 500), (150, 64, 130), (64, 96, 300)], ids=str)
@pytest.mark.parametrize("kind", [PAIR, Kind(4, False)], ids=str)
def test_sums_stay_within_the_workspace(cuda, kind, shape, rng, monkeypatch):
    """Beside residues of all lines that a part has."""
    bound, scratch, most = 2**18, type(cuda.kernels).scratch, [0, 0]

    def counted(self, words, *, zero=False):
        most[0] = max(most[0], 8 * words)
        return scratch(self, words, zero=zero)

    def parts(self, count, x):
        found = empty(self, count, x)
        most[1] = max(most[1], found.data.nbytes)
        return found

    m, k, n = shape
    empty = calls.ExactProducts._empty
    monkeypatch.setattr(type(cuda.kernels), "scratch", counted)
    monkeypatch.setattr(calls.ExactProducts, "_empty", parts)
    monkeypatch.setattr(workspace, "_bound", bound)
    precision = {2: mdqr.dd, 4: mdqr.qd}[kind.limbs]
    a, b = (full(s, precision, float, rng)._block for s in ((m, k), (k, n)))
    out = kind.empty(np, (m, n))
    assert product.multiply(cuda, a, b, kind=kind, bits=lines.full_bits(kind), out=out)
    planes = plan.moduli(2 * lines.full_bits(kind) + k.bit_length() + 2, False).planes
    least = planes * (128 * (k + 16) + 4 * 16 * 64)
    assert 0 < most[0] + most[1] <= max(bound, least)


def test_residues_stay_within_the_workspace(cuda, rng, monkeypatch):
    """Those that are alive at a time: nothing is released but by the last reference."""
    a, b = (full(shape, mdqr.dd, float, rng)._block for shape in ((320, 64), (64, 330)))
    live, peak, empty = 0, 0, calls.ExactProducts._empty

    def counted(self, count, x):
        nonlocal live, peak
        found = empty(self, count, x)
        live += found.data.nbytes
        peak = max(peak, live)
        weakref.finalize(found.data, gone, found.data.nbytes)
        return found

    def gone(size):
        nonlocal live
        live -= size

    monkeypatch.setattr(calls.ExactProducts, "_empty", counted)
    monkeypatch.setattr(workspace, "_bound", 2**19)
    for all_bits in (False, True):
        assert both(cuda, a, b, PAIR, all_bits=all_bits)
    assert live == 0
    assert 2**17 < peak <= 2**19


# -- residues without divisions ------------------------------------------------------------------

MODULI = sorted({*plan._NARROW, *plan._NARROW_COMPLEX})


@pytest.mark.parametrize("m", MODULI)
def test_quotients_in_float32(m):
    """As `narrow_residue` of exact_residues.cu: all sums near a halfway case, and others."""
    magic, least = 3 * 2**22, -(2**22) + 1
    half = np.arange(least, 2**22, m)[:, None] + np.arange(-2, 3) + m // 2
    sums = np.concatenate([half.ravel(), np.arange(-4096, 4096)])
    sums = sums[(sums >= least) & (sums < 2**22)]
    behind = sums + magic - magic % m
    # In units of 2^-40, which the product of two floats has; the sum with 2^23 is rounded once.
    inverse = int(np.float32(1.0) / np.float32(m) * np.float32(2.0**40))
    turns, rest = np.divmod(behind * inverse, 2**40)
    turns += (rest > 2**39) | ((rest == 2**39) & (turns % 2 == 1))
    byte = behind - turns * m
    assert byte.min() >= -128
    assert byte.max() <= (127 if m < 256 else 128)
    assert not ((byte - sums) % m).any()


@pytest.mark.parametrize("m", MODULI)
def test_quotients_in_float64(m, rng):
    """As `residue_of` of exact_numbers.cu, for sums as large as they may be."""
    most = plan.MOST_TERMS * (128 if m == 256 else m // 2 + 1) ** 2
    near = rng.integers(-most // m, most // m, 300) * m + m // 2 + rng.integers(-2, 3, 300)
    behind = exact_tables._BEHIND - exact_tables._BEHIND % m
    assert behind == int(behind)
    for s in (-most, most, *near.tolist()):
        x = int(behind) + s
        assert 2**52 <= x < 2**52 + 2**32
        turns = _rounded(Fraction(x) * Fraction(1.0 / m) + 2**52) - 2**52
        r = x - turns * m
        assert abs(r) <= (m + 1) // 2
        assert (r - s) % m == 0


def _rounded(x):
    """The nearest integer, ties to even, as float64 has between 2**52 and 2**53."""
    assert 2**52 <= x < 2**53
    return round(x)
