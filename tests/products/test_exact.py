"""Exact products: integers, special values, parts, batches."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from exact_limbs import greedy
from exact_matrices import Exact
from exact_matrices import product as integer_product
from exact_product_cases import HOST, MULTIPLES, auto, full
from hypothesis import given, settings
from hypothesis import strategies as st

import mdqr
from mdqr._array.array import MDArray
from mdqr._backend import workspace
from mdqr._limbs.planes import Kind
from mdqr.linalg import matmul
from mdqr.linalg._products.exact import plan, product
from mdqr.linalg._shared import tuning
from mdqr.testing import assert_same_bits


def integers(values, precision):
    return mdqr.array([[int(v) for v in row] for row in values], precision=precision)


def rounded(values, precision):
    """Exact integers in the greedy form of the precision."""
    limbs = [[greedy(Fraction(int(v)), precision.limbs) for v in row] for row in values]
    return mdqr.from_limbs(np.moveaxis(np.array(limbs), -1, 0))


# -- integers ----------------------------------------------------------------------------------


@settings(max_examples=40)
@given(
    data=st.data(),
    precision=st.sampled_from(MULTIPLES),
    shape=st.tuples(*[st.integers(1, 9)] * 3),
)
def test_integers_are_rounded_once(data, precision, shape):
    m, k, n = shape
    bits = data.draw(st.integers(1, min(53 * precision.limbs, 500)))  # products are doubles
    entry = st.integers(-(2**bits) + 1, 2**bits - 1) | st.sampled_from([0, 1, -1, 2**bits - 1])
    a, b = (
        np.array(data.draw(st.lists(entry, min_size=r * c, max_size=r * c)), dtype=object).reshape(
            r, c
        )
        for r, c in ((m, k), (k, n))
    )
    found = matmul(integers(a, precision), integers(b, precision), method="exact")
    stored = [integers(x, precision).to_fractions() for x in (a, b)]
    wanted = integer_product(*[np.vectorize(int, otypes=[object])(x) for x in stored])
    assert_same_bits(found, rounded(wanted, precision))


@settings(max_examples=60)
@given(
    data=st.data(),
    pair=st.tuples(*[st.sampled_from((mdqr.d, *MULTIPLES))] * 2),
    shape=st.tuples(*[st.integers(1, 6)] * 3),
)
def test_integers_of_two_precisions(data, pair, shape):
    """Each operand takes the bits that it has; the result has the limbs of the larger one."""
    if max(pair, key=lambda p: p.limbs) is mdqr.d:
        pair = (mdqr.dd, mdqr.d)
    m, k, n = shape
    operands = []
    for p, (rows, columns) in zip(pair, ((m, k), (k, n)), strict=True):
        bits = min(53 * p.limbs, 500)  # products are doubles
        entry = st.integers(-(2**bits) + 1, 2**bits - 1)
        row = st.lists(entry, min_size=columns, max_size=columns)
        operands.append(data.draw(st.lists(row, min_size=rows, max_size=rows)))
    a, b = (integers(x, p) for x, p in zip(operands, pair, strict=True))
    stored = [np.vectorize(int, otypes=[object])(x.to_fractions()) for x in (a, b)]
    larger = max(pair, key=lambda p: p.limbs)
    assert_same_bits(matmul(a, b, method="exact"), rounded(integer_product(*stored), larger))


@pytest.mark.parametrize("precision", MULTIPLES, ids=str)
@pytest.mark.parametrize("sign", [1, -1])
def test_largest_entries(precision, sign):
    """Sums of residues reach their limits where all entries are the largest ones."""
    top = 2 ** min(53 * precision.limbs, 500) - 1  # whose products are doubles
    a = mdqr.full((5, 300), top, precision=precision)
    b = mdqr.full((300, 3), sign * top, precision=precision)
    found = matmul(a, b, method="exact")
    wanted = np.full((5, 3), sign * 300 * top * top, dtype=object)
    assert_same_bits(found, rounded(wanted, precision))


# Of real numbers, and of complex ones; with two bits less their moduli would hold next to nothing
# above their products, and not both signs.
TIGHTEST = [(303, 255, False), (302, 31, False), (261, 31, False), (330, 31, False)]
TIGHTEST += [(168, 31, True), (73, 1023, True), (134, 31, True), (345, 31, True)]


@pytest.mark.parametrize(("tau", "terms", "is_complex"), TIGHTEST)
@pytest.mark.parametrize("sign", [1, -1])
def test_products_as_large_as_the_moduli_hold(tau, terms, is_complex, sign):
    top = 2**tau - 2 ** (tau - 54) - 1  # whose first limb is below 2^tau
    a = mdqr.full((2, terms), top, precision="od")
    b = mdqr.full((terms, 3), sign * top, precision="od")
    if is_complex:
        a, b = a + a * 1j, b + b * 1j
    found = matmul(a, b, method="exact")
    wanted = np.full((2, 3), sign * terms * top * top * (1 + is_complex), dtype=object)
    parts = (found.imag, found.real) if is_complex else (found,)
    assert_same_bits(parts[0], rounded(wanted, mdqr.od))
    assert not any(part.any() for part in parts[1:])


def test_moduli_with_two_bits_less_would_not_hold_them():
    for tau, terms, field in TIGHTEST:
        bits = 2 * tau + (terms << field).bit_length()
        assert math.prod(plan.moduli(bits, field).values) < 2**bits * 1.02


@pytest.mark.parametrize("a", [-128, 128, 127, -127, 384])
def test_residues_of_128(a):
    """128 and -128 are one number modulo 256; units keep the integers from being smaller ones."""
    x, y = np.full((33, 70), float(a)), np.full((70, 35), float(a))
    x[5, 3] = y[7, 2] = 1.0
    found = matmul(*(mdqr.array(v, precision="dd") for v in (x, y)), method="exact")
    assert np.array_equal(found.to_numpy(), x @ y)


@pytest.mark.parametrize("is_complex", [False, True])
def test_longest_sums(is_complex):
    """As many terms as a sum of residues of bytes takes, all as large as can be, and one more."""
    k = plan.MOST_TERMS
    for terms in (k, k + 1):
        a = np.full((1, terms), 2.0**52 - 1)
        x = mdqr.array(a + 1j * a if is_complex else a, precision="qd")
        y = mdqr.array((a - 1j * a).T if is_complex else a.T, precision="qd")
        found = matmul(x, y, method="exact")
        wanted = terms * (2**52 - 1) ** 2 * (2 if is_complex else 1)
        assert found.real.to_fractions().item() == wanted
        assert not is_complex or found.imag.to_fractions().item() == 0


@pytest.mark.parametrize("terms", [plan.MOST_TERMS, 2**17])
def test_longest_sums_of_128(terms):
    """2**17 of them would be 2**31: no sum of bytes has as many."""
    a = np.full((2, terms), -128.0)
    a[1, 0] = 1.0
    assert plan.MOST_TERMS * 2**14 < 2**31
    found = matmul(*(mdqr.array(v, precision="dd") for v in (a, a.T)), method="exact")
    assert np.array_equal(found.to_numpy(), a @ a.T)


def test_sums_that_cancel():
    """What is left of large integers is exact, however small; so are zeros, which are positive."""
    big = 2**211 + 1
    a = integers([[big, -big, 3], [big, -big, 0]], mdqr.qd)
    b = integers([[big, 1], [big, 1], [5, 0]], mdqr.qd)
    found = matmul(a, b, method="exact")
    assert found.to_fractions().tolist() == [[15, 0], [0, 0]]
    assert not np.signbit(found.limbs).any()


@pytest.mark.parametrize("precision", MULTIPLES, ids=str)
def test_ties_have_the_greedy_form(precision):
    """Half a unit in the last place of a limb is a tie; the limbs below it decide."""
    limbs = precision.limbs
    values = [
        sign * (2**400 + odd * 2**348 + 2**347 + rest)
        for sign in (1, -1)
        for odd in (0, 1)
        for rest in (0, 1, -1, 2**200, -(2**200))
    ]
    # Products of 2^200 and what is 2^-200 of these: one term each, of any bits.
    a = integers([[2**200, v - (v >> 200 << 200)] for v in values], mdqr.od)
    b = integers([[v >> 200 for v in values], [1] * len(values)], mdqr.od)
    kind = Kind(limbs, False)
    out = kind.empty(np, (len(values), len(values)))
    assert product.multiply(HOST, a._block, b._block, kind=kind, out=out, bits=424)
    wanted = np.array([[(w >> 200 << 200) + v - (v >> 200 << 200) for w in values] for v in values])
    assert_same_bits(mdqr.from_limbs(out), rounded(wanted, precision))


# -- one product, however it is formed ---------------------------------------------------------


def test_parts_under_a_bound_have_the_same_limbs(dtype, rng, monkeypatch):
    a, b = (
        full((200, 90), mdqr.od, dtype, rng),
        full((90, 210), mdqr.od, dtype, rng),
    )
    whole = matmul(a, b, method="exact")
    monkeypatch.setattr(workspace, "_bound", 2**20)
    seen = []
    parts = matmul(a, b, method="exact", progress=lambda *done: seen.append(done))
    assert_same_bits(whole, parts)
    assert len(seen) > 1
    assert seen[-1] == ("matmul", 210, 210)


@pytest.mark.parametrize("order", [1, 64, 65, 300])
@pytest.mark.parametrize("bound", [None, 2**20, 2**12], ids=str)
@pytest.mark.parametrize("conjugated", [False, True])
def test_upper_triangle_of_a_product_with_the_transpose(
    dtype, order, bound, conjugated, monkeypatch, rng
):
    kind = Kind(2, dtype is complex)
    a, c = (full(s, mdqr.dd, dtype, rng)._block for s in ((40, order), (order, order)))
    options = {"kind": kind, "conj_a": conjugated, "c": c, "subtract": True, "bits": 111}
    whole, upper = (kind.zeros(np, (order, order)) for _ in range(2))
    operands = a.swapaxes(-1, -2), a
    assert product.multiply(HOST, *operands, out=whole, **options)
    monkeypatch.setattr(workspace, "_bound", bound)
    assert product.multiply(HOST, *operands, out=upper, shape="gram", **options)
    np.testing.assert_array_equal(np.triu(upper), np.triu(whole))
    untouched = (upper == 0).all(axis=tuple(range(kind.lead)))
    assert np.triu(untouched).sum() == 0
    # Panels of 64 columns and more: what is below those on the diagonal is not computed.
    width = -(-order // 256) * 64
    assert untouched.sum() >= order**2 / 2 - order * width


@pytest.mark.parametrize("order", [1, 65, 300])
@pytest.mark.parametrize("bound", [None, 2**20, 2**12], ids=str)
@pytest.mark.parametrize("shape", ["cholesky", "triangular", "triangles", "factors", "upper"])
def test_products_with_an_upper_triangle(dtype, order, bound, shape, monkeypatch, rng):
    kind = Kind(2, dtype is complex)
    b = mdqr.triu(full((order, order), mdqr.dd, dtype, rng))._block
    a = b if shape == "triangles" else full((70, order), mdqr.dd, dtype, rng)._block
    if shape in ("cholesky", "factors"):
        a = b.swapaxes(-1, -2)
    elif shape == "upper":
        a = mdqr.tril(full((order, order), mdqr.dd, dtype, rng))._block
    c = full((a.shape[-2], order), mdqr.dd, dtype, rng)._block
    options = {"kind": kind, "c": c, "subtract": True, "bits": 111}
    whole, found = (kind.zeros(np, (a.shape[-2], order)) for _ in range(2))
    assert product.multiply(HOST, a, b, out=whole, **options)
    monkeypatch.setattr(workspace, "_bound", bound)
    assert product.multiply(HOST, a, b, out=found, shape=shape, **options)
    upper = np.triu if shape in ("cholesky", "triangles", "upper") else np.asarray
    np.testing.assert_array_equal(upper(found), upper(whole))


def test_differences_that_nobody_looks_at(multiple, dtype, rng):
    """Within their bits of the largest entries of rows and columns, of short and long numbers."""
    kind, bits = Kind(multiple.limbs, dtype is complex), 90
    a, b = full((40, 20), mdqr.dd, dtype, rng), full((20, 40), mdqr.d, dtype, rng)
    c, out = full((40, 40), multiple, dtype, rng), kind.zeros(np, (40, 40))
    options = {"kind": kind, "c": c._block, "out": out, "bits": bits}
    words = product.multiply_unseen(HOST, a._block, b._block, **options)
    assert product.is_within_range(words)
    error = (
        Exact.of(MDArray._wrap(out, multiple, kind.is_complex))
        - (Exact.of(c) - Exact.of(a) @ Exact.of(b))
    ).moduli()
    sizes = np.outer(abs(a).to_numpy().max(axis=1), abs(b).to_numpy().max(axis=0))
    most = (80 * 2.0**-bits + 4 * multiple.eps) * (sizes + abs(c).to_numpy())
    assert error.within(Fraction(1), Exact.of(mdqr.array(most, precision=mdqr.d)))


@pytest.mark.parametrize("entry", [np.inf, np.nan, 2.0**700])
def test_what_is_out_of_range_shows(entry):
    kind, a = Kind(2, False), np.full((2, 3, 3), 0.5)
    a[1] = 0.0
    a[0, 1, 1] = entry
    options = {"kind": kind, "c": a, "out": a.copy(), "bits": 90}
    assert not product.is_within_range(product.multiply_unseen(HOST, a, a, **options))


def test_residues_of_one_operand_are_formed_once(monkeypatch, rng):
    a, formed = full((40, 300), mdqr.dd, float, rng)._block, []
    residues = type(HOST).exact_residues

    def counted(self, x, *rest, **options):
        formed.append(x.shape[-2])
        return residues(self, x, *rest, **options)

    monkeypatch.setattr(type(HOST), "exact_residues", counted)
    kind = Kind(2, False)
    out = kind.zeros(np, (300, 300))
    assert product.multiply(HOST, a.swapaxes(-1, -2), a, kind=kind, out=out, shape="gram")
    assert formed == [300]


def test_batches(dtype, rng):
    a = full((3, 1, 5, 7), mdqr.dd, dtype, rng)
    b = full((2, 7, 4), mdqr.dd, dtype, rng)
    found = matmul(a, b, method="exact")
    assert found.shape == (3, 2, 5, 4)
    for i, j in itertools.product(range(3), range(2)):
        assert_same_bits(found[i, j], matmul(a[i, 0], b[j], method="exact"))


def test_vectors_and_nothing(rng):
    a, b = (
        full((5, 7), mdqr.dd, float, rng),
        full((7,), mdqr.dd, float, rng),
    )
    assert_same_bits(matmul(a, b, method="exact"), matmul(a, b[:, None], method="exact")[:, 0])
    assert (
        matmul(
            mdqr.zeros((3, 0), precision=mdqr.dd),
            mdqr.zeros((0, 2), precision=mdqr.dd),
            method="exact",
        ).tolist()
        == [[0, 0]] * 3
    )
    assert matmul(
        mdqr.zeros((0, 3), precision=mdqr.dd), mdqr.zeros((3, 2), precision=mdqr.dd), method="exact"
    ).shape == (0, 2)


def test_views(rng):
    """Transposed and strided operands, and what a matrix is added to."""
    a = full((40, 50), mdqr.qd, float, rng)
    x, y = a.T[:20:2], a[:, ::-3]
    wanted = matmul(x.copy(), y.copy(), method="exact")
    assert_same_bits(matmul(x, y, method="exact"), wanted)


@pytest.mark.parametrize("conj_a", [False, True])
@pytest.mark.parametrize("subtract", [False, True])
def test_multiply_as_the_call_of_limbs(conj_a, subtract, rng):
    kind = Kind(4, True)
    a, b, c = (full(s, mdqr.qd, complex, rng)._block for s in ((12, 30), (30, 9), (12, 9)))
    options = {"conj_a": conj_a, "subtract": subtract}
    out = kind.empty(np, (12, 9))
    assert product.multiply(HOST, a, b, kind=kind, c=c, out=out, **options)
    direct = HOST.matmul(a, b, kind=kind, c=c, **options)
    difference = mdqr.from_limbs(out, dtype=complex) - mdqr.from_limbs(direct, dtype=complex)
    assert float(abs(difference).max()) < 80 * float(mdqr.qd.eps)


def test_auto_takes_residues_above_the_crossover(rng):
    assert tuning.residues_are_faster(HOST, 1024, 1024, 1024, kind=Kind(2, False))
    assert not tuning.residues_are_faster(HOST, 4096, 64, 4096, kind=Kind(2, False))
    n = 240
    a, b = (
        full((n, n), mdqr.od, float, rng),
        full((n, n), mdqr.od, float, rng),
    )
    assert tuning.residues_are_faster(HOST, n, n, n, kind=Kind(8, False))
    assert_same_bits(a @ b, auto(a, b, Kind(8, False)))


def test_auto_multiplies_skinny_matrices_directly(monkeypatch):
    """Residues convert ``m k + k n + m n`` entries, which must be few beside the products."""
    taken = []

    def counted(backend, a, b, **options):
        taken.append((*a.shape[-2:], b.shape[-1]))
        return options["kind"].zeros(np, (a.shape[-2], b.shape[-1]))

    monkeypatch.setattr(product, "product", counted)
    lengths = (1, 6, 64, 700)
    for precision, shape in itertools.product(MULTIPLES, itertools.product(lengths, repeat=3)):
        m, k, n = shape
        taken.clear()
        a, b = (mdqr.zeros(s, precision=precision) + 1 for s in ((m, k), (k, n)))
        matmul(a, b)
        entries, products = m * k + k * n + m * n, m * k * n
        # Conversions of an entry to residues and back cost as much as 70 to 150 products.
        assert (taken == [shape]) == (products > 150 * entries), (precision, shape)
