"""Exact products at their limits: rounding, range, runs of terms, memory, threads, progress."""

from __future__ import annotations

import math
import threading
from fractions import Fraction

import linalg_cases as cases
import numpy as np
import pytest
from exact_limbs import greedy
from exact_product_cases import HOST, MULTIPLES, by_powers, full
from hypothesis import given, settings
from hypothesis import strategies as st

import mdqr
from mdqr._backend import workspace
from mdqr._backend.host.exact import Buffers
from mdqr._limbs.planes import Kind
from mdqr.linalg import matmul
from mdqr.linalg._products.exact import plan, product
from mdqr.testing import assert_same_bits

# -- rounding and range ------------------------------------------------------------------------


@st.composite
def numbers_of_digits(draw, bits=400):
    """Integers of runs of ones and zeros, of gaps and ties at the ends of limbs and digits."""
    total, top = 0, draw(st.integers(1, bits))
    while top > 0 and draw(st.integers(0, 9)):
        length = min(top, draw(st.sampled_from([1, 2, 30, 52, 53])))
        ones = draw(st.sampled_from([1 << (length - 1), (1 << length) - 1]))
        total += draw(st.sampled_from([-1, 1])) * ones << (top - length)
        top -= draw(st.sampled_from([1, 2, 34, 41, 52, 53, 54, 106, 107, 200]))
    return total


@settings(max_examples=60)
@given(
    values=st.lists(numbers_of_digits(), min_size=1, max_size=20),
    cut=st.integers(0, 390),
    precision=st.sampled_from(MULTIPLES),
    subtract=st.booleans(),
)
def test_any_digits_are_rounded_once(values, cut, precision, subtract):
    """Numbers of more limbs than the result, as 2**cut times their upper part and the rest."""
    parts = [[v >> cut, v - (v >> cut << cut)] for v in values]
    a = mdqr.array(parts, precision=mdqr.od)
    b = mdqr.array([[2**cut], [1]], precision=mdqr.od)
    kind = Kind(precision.limbs, False)
    out = kind.empty(np, (1, len(values)))
    assert product.multiply(
        HOST, b.T._block, a.T._block, kind=kind, subtract=subtract, out=out, bits=430, scaled=False
    )
    stored = [int(x) * 2**cut + int(y) for x, y in a.to_fractions()]
    wanted = np.array([greedy(Fraction(-v if subtract else v), precision.limbs) for v in stored])
    assert_same_bits(mdqr.from_limbs(out[:, 0]), mdqr.from_limbs(wanted.T.copy()))


@pytest.mark.parametrize("precision", MULTIPLES, ids=str)
def test_what_is_cut_does_not_overflow(precision, dtype, rng):
    """Large entries of a row and a column that meet small ones leave products in range.

    "exact" refuses them, and "auto" would multiply directly.
    """
    a, b = (full((2, 2), precision, dtype, rng).copy() for _ in range(2))
    a[1, 0] = b[0, 0] = b[1, 1] = 0
    a[0, 0], b[1, 0] = by_powers(a[0, 0], 900), by_powers(b[1, 0], 900)
    if precision.limbs <= 8:  # of more, integers are long enough
        with pytest.raises(mdqr.linalg.LinAlgError, match="errors as integers cannot overflow"):
            matmul(a, b, method="exact")
    kind = Kind(precision.limbs, dtype is complex)
    found = product.product(HOST, a._block, b._block, kind=kind, all_bits=False)
    assert_same_bits(a._like(found), matmul(a, b, method="direct"))


@pytest.mark.parametrize("precision", MULTIPLES, ids=str)
@pytest.mark.parametrize("subtract", [False, True])
def test_runs_of_terms(precision, dtype, subtract, monkeypatch, rng):
    """Runs of terms are added up, one of them directly, with what they are added to."""
    kind = Kind(precision.limbs, dtype is complex)
    monkeypatch.setattr(plan, "MOST_TERMS", 8)
    a, b, c = (full(s, precision, dtype, rng).copy() for s in ((2, 5, 21), (2, 21, 6), (2, 5, 6)))
    # Too small beside their row: the second run is a product of limbs.
    a[:, 1, 8:16] = by_powers(a[:, 1, 8:16], -300 * (np.arange(8) > 0))
    b[:, 8] = 0
    options = {"kind": kind, "conj_a": True, "c": c._block, "subtract": subtract}
    out = product.product(HOST, a._block, b._block, all_bits=False, **options)
    found = mdqr.from_limbs(out, dtype=dtype)
    for i in range(2):
        x, y, start = (cases.Exact.of(v[i]) for v in (mdqr.conj(a), b, c))
        wanted = start - x @ y if subtract else start + x @ y
        error = (cases.Exact.of(found[i]) - wanted).moduli()
        size = x.moduli() @ y.moduli() + start.moduli()
        assert error.within(8 * Fraction(precision.eps), size)


# -- memory ------------------------------------------------------------------------------------


SHAPES = [(5, 9, 300), (100, 41, 90), (300, 40, 10), (260, 30, 200)]


class Counted(Buffers):
    """Buffers that know how many bytes were taken at a time."""

    def __init__(self):
        super().__init__()
        self.live = self.peak = 0

    def take(self, count):
        self.live += count
        self.peak = max(self.peak, self.live)
        return np.empty(count, dtype=np.int8)

    def give(self, buffer):
        self.live -= buffer.size


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_residues_stay_within_the_workspace(shape, dtype, monkeypatch, rng):
    m, k, n = shape
    precision = mdqr.dd if dtype is complex else mdqr.od
    a, b = full((m, k), precision, dtype, rng), full((k, n), precision, dtype, rng)
    whole = matmul(a, b, method="exact")
    monkeypatch.setattr(workspace, "_bound", 2**20)
    counted = Counted()
    monkeypatch.setattr(HOST, "_buffers", counted)
    assert_same_bits(matmul(a, b, method="exact"), whole)
    assert 0 < counted.peak <= 2**20
    assert counted.live == 0


def test_magnitudes_stay_within_the_workspace(monkeypatch, rng):
    """The bits that "auto" takes are found by parts too, and are the same."""
    shape = ((300, 2500), (2500, 200))
    a, b = (full(s, mdqr.dd, float, rng) for s in shape)
    b = by_powers(b, -20 * (np.arange(200) % 7))
    _, whole = product._integers(
        HOST, a._block, b._block, Kind(2, False), None, scaled=True, whole=False
    )
    monkeypatch.setattr(workspace, "_bound", 2**20)
    counted = Counted()
    monkeypatch.setattr(HOST, "_buffers", counted)
    _, parts = product._integers(
        HOST, a._block, b._block, Kind(2, False), None, scaled=True, whole=False
    )
    assert parts.tau == whole.tau
    assert 0 < counted.peak <= 2**20
    assert counted.live == 0


def test_kept_memory_is_within_the_workspace(monkeypatch):
    monkeypatch.setattr(workspace, "_bound", 2**20)
    buffers = Buffers()
    for _ in range(3):
        buffers.give(np.empty(2**19, dtype=np.int8))
    assert len(buffers._kept) == 2
    assert buffers.take(2**19).size == 2**19


def test_memory_is_given_back_after_an_error(monkeypatch, rng):
    a = full((70, 9), mdqr.dd, float, rng)
    counted = Counted()
    monkeypatch.setattr(HOST, "_buffers", counted)

    def stop(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        matmul(a, a.T, method="exact", progress=stop)
    assert counted.peak > 0
    assert counted.live == 0


# -- threads and progress -----------------------------------------------------------------------


def test_threads_of_the_caller(rng):
    """Calls at the same time take buffers of their own."""
    pairs = [
        (full((40, 30 + i), p, field, rng), full((30 + i, 70), p, field, rng))
        for i, p in enumerate(MULTIPLES)
        for field in (float, complex)
    ]
    wanted = [matmul(*pair, method="exact") for pair in pairs]
    failed = []

    def multiply(first):
        for i in range(first, first + 20):
            found = matmul(*pairs[i % len(pairs)], method="exact")
            if not np.array_equal(found.limbs, wanted[i % len(pairs)].limbs):
                failed.append(i)

    threads = [threading.Thread(target=multiply, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


@pytest.mark.parametrize("batch", [(), (3,)], ids=str)
@pytest.mark.parametrize("entry", [1.0, math.inf])
def test_progress_hears_of_all_columns(batch, entry, rng):
    """Of those of products that "auto" forms directly as well, once each."""
    a = full((*batch, 4, 5), mdqr.dd, float, rng).copy()
    a[..., 1, 2] = entry
    b = full((5, 6), mdqr.dd, float, rng)
    seen = []
    options = {"kind": Kind(2, False), "report": lambda *call: seen.append(call)}
    product.product(HOST, a._block, b._block, all_bits=False, **options)
    matrices = math.prod(batch)
    assert seen == [(6 * i, 6 * matrices) for i in range(1, matrices + 1)]


# -- what kernels refuse -----------------------------------------------------------------------


def residue_arguments():
    """What the kernel of residues takes, in order."""
    chosen = plan.moduli(60, False)
    tables = plan.channels(chosen, plan.words_of(20), False)
    x = np.ones((2, 3, 5))
    zeros = [np.zeros(n, dtype=np.int64) for n in (3, 5)]
    data = np.empty((chosen.planes, 1, 2, 32, 4), dtype=np.int8)
    sums = np.empty((chosen.planes, 1, 32), dtype=np.int32)
    return [data, sums, x, False, *zeros, 20, *tables]


def shorter(x, axis):
    """`x` without the last entry of an axis."""
    return np.ascontiguousarray(np.delete(x, -1, axis=axis))


@pytest.mark.parametrize("place", [0, 1, 4, 5, 7, 10, 12])
def test_short_arrays_are_refused(place):
    arguments = residue_arguments()
    HOST._kernels.exact_residues(*arguments)
    for axis in range(arguments[place].ndim):
        short = list(arguments)
        short[place] = shorter(arguments[place], axis)
        with pytest.raises(ValueError, match="a kernel was given"):
            HOST._kernels.exact_residues(*short)


@pytest.mark.parametrize(
    ("place", "value"),
    [(3, True), (6, -1), (6, 31), (8, -1), (8, 100), (9, 0), (9, 33), (9, -(2**31))],
)
def test_numbers_that_do_not_fit_are_refused(place, value):
    arguments = residue_arguments()
    arguments[place] = value
    with pytest.raises(ValueError, match="a kernel was given"):
        HOST._kernels.exact_residues(*arguments)
