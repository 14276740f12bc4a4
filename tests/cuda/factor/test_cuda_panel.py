"""Householder panels on the GPU, run by the CPU emulation of its threads: exact errors."""

from __future__ import annotations

from fractions import Fraction

import linalg_cases as cases
import numpy as np
import pytest
from cuda_cases import EVERY, FIELDS, assert_same, flipped_axes
from hypothesis import given, settings
from hypothesis import strategies as st
from panel_cases import array_of, check_form, errors, row_error, vectors

import mdqr
from mdqr._backend.cuda.backend import CudaBackend
from mdqr._backend.cuda.factor import panel
from mdqr._backend.host import backend as host
from mdqr._backend.protocol import PanelOut
from mdqr._limbs.planes import Kind
from mdqr._precision import PRECISIONS
from mdqr.testing import arrays

MULTIPLE = [case for case in EVERY if case.values[0].limbs > 1]
every = pytest.mark.parametrize(("precision", "dtype"), EVERY)
multiples = pytest.mark.parametrize(("precision", "dtype"), MULTIPLE)


@pytest.fixture(params=["alone", "shared"])
def blocks(request, monkeypatch):
    """Panels by one block, and by several of at most 8 rows that meet; few threads are faster."""
    rows = 10**9 if request.param == "alone" else 1
    monkeypatch.setattr(panel, "_THREADS", 64)
    monkeypatch.setattr(panel, "_ROWS", ((float("inf"), rows, 8, 8),))
    panel.plan.cache_clear()
    yield request.param
    panel.plan.cache_clear()


def factors_of(kernels, block, limbs, is_complex):
    """h, tau and t, planned again, since tests move the rules; V is checked against h."""
    kernels.plans.clear()
    h, tau, v, t = CudaBackend(kernels).qr_panel(block, kind=Kind(limbs, is_complex))
    unit = np.tril(h, -1)
    diagonal = np.arange(h.shape[-1])
    unit[(0, 0) if is_complex else 0][..., diagonal, diagonal] = 1.0
    assert_same(v, unit)
    return h, tau, t


def factor(kernels, a, precision=None):
    """The limbs of h, tau and t."""
    limbs = (precision or a.precision).limbs
    results = factors_of(kernels, a.limbs, limbs, a.is_complex)
    assert all(block.flags["C_CONTIGUOUS"] for block in results)
    return results


def accept(kernels, a):
    """Factor one panel; the acceptance of factors, and of all columns of H."""
    h, tau, t = factor(kernels, a)
    check_form(h, tau, t, a.is_complex)
    assert max(errors(a, h, t)) <= 20 * a.shape[-1]
    return h, tau, t


def without(a, columns):
    """The matrix with zeros in `columns`."""
    limbs = a.limbs.copy()
    limbs[..., columns] = 0.0
    return array_of(limbs, a.is_complex)


SHAPES = [(1, 1), (5, 1), (2, 2), (9, 9), (17, 4), (33, 7)]


@every
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_acceptance(kernels, blocks, precision, dtype, shape, rng):
    accept(kernels, cases.random(*shape, precision, dtype, rng))


def test_reflectors_are_accurate(kernels, multiple, rng):
    """Single columns: beta, and H^H H = I, to some roundings; Newton's steps must not lose more."""
    eps = Fraction(multiple.eps)
    a = mdqr.random.normal((60, 2, 1), precision=multiple, rng=rng)
    h, tau, _ = factor(kernels, a)
    entries = [mdqr.from_limbs(x).to_fractions() for x in (a.limbs, h, tau)]
    for (alpha, x), (beta, v), (scale,) in zip(
        *(array.reshape(60, -1) for array in entries), strict=True
    ):
        assert abs(beta**2 / (alpha**2 + x**2) - 1) <= 8 * eps
        assert abs(scale * (1 + v**2) - 2) <= 8 * eps


@every
def test_rows_in_global_memory_give_the_same_bits(
    kernels, blocks, precision, dtype, rng, monkeypatch
):
    a = cases.random(21, 6, precision, dtype, rng)
    wanted = factor(kernels, a)
    monkeypatch.setattr(panel, "MOST_SHARED", 0)
    panel.plan.cache_clear()
    kind = Kind(precision.limbs, dtype is complex)
    assert not panel.plan(1, 21, 6, kind, kernels.device).in_shared
    for x, y in zip(factor(kernels, a), wanted, strict=True):
        assert_same(x, y)


@settings(max_examples=8)
@given(data=st.data())
@every
def test_acceptance_of_wild_entries(kernels, precision, dtype, data):
    """Entries over 400 binary orders, with gaps, runs of ones, cancellation and zeros."""
    shape = data.draw(st.sampled_from([(6, 4), (9, 9), (40, 3)]))
    a = data.draw(
        arrays(
            precision,
            shape,
            dtype=dtype,
            allow_nan=False,
            allow_infinity=False,
            min_exponent=-200,
            max_exponent=200,
        )
    )
    accept(kernels, a)


@multiples
@pytest.mark.parametrize("small", [30, 60, 100], ids="{}%".format)
def test_columns_that_nearly_depend(kernels, blocks, precision, dtype, small, rng):
    """Remainders down to and below what the precision holds: 2**-400 in od."""
    limbs = cases.random(19, 5, precision, dtype, rng).limbs.copy()
    size = 2.0 ** -int(small / 100 * 53 * precision.limbs)
    limbs[..., [1, 4]] = limbs[..., [0, 3]]
    a = mdqr.from_limbs(limbs, dtype=dtype)
    rest = cases.random(19, 5, precision, dtype, rng) * size
    accept(kernels, a + without(rest, [0, 2, 3]))


@multiples
@pytest.mark.parametrize("step", [3, 20, 30])
def test_rows_of_decreasing_size(kernels, blocks, precision, dtype, step, rng):
    """Rowwise errors stay small: the scale of a sum follows what is left of its columns."""
    limbs = cases.random(19, 5, precision, dtype, rng).limbs
    step = min(step, (1040 - 53 * precision.limbs) // 18)  # the last limbs are in range
    a = mdqr.from_limbs(limbs * 2.0 ** (-step * np.arange(19.0))[:, None], dtype=dtype)
    h, _, t = accept(kernels, a)
    assert row_error(a, h, t) <= 20 * 5


@multiples
def test_little_below_the_diagonal(kernels, blocks, precision, dtype, rng):
    """Vectors of 2**-70 and less below their unit: far below the digits of alpha."""
    below = np.array([2.0**-70, 2.0**-300, 2.0**-700, 1.0])
    limbs = cases.random(19, 4, precision, dtype, rng).limbs.copy()
    limbs *= np.where(np.arange(19)[:, None] > np.arange(4), below, 1.0)
    accept(kernels, mdqr.from_limbs(limbs, dtype=dtype))


@every
def test_zero_columns(kernels, blocks, precision, dtype, rng):
    a = without(cases.random(19, 5, precision, dtype, rng), [0, 3])
    h, tau, _ = accept(kernels, a)
    assert np.array_equal(tau.reshape(-1, 5).any(axis=0), [False, True, True, False, True])
    assert not h[..., [0, 3]].any()


@every
def test_nothing_below_the_diagonal(kernels, blocks, precision, dtype, rng):
    """A real alpha stays, a complex one becomes real; v is zero in both cases."""
    limbs = cases.random(19, 2, precision, dtype, rng).limbs.copy()
    limbs[..., 1:, 0] = 0.0
    a = mdqr.from_limbs(limbs, dtype=dtype)
    h, tau, _ = accept(kernels, a)
    assert not h[..., 1:, 0].any()
    assert tau[..., 0].any() == (dtype is complex)
    if dtype is float:
        assert np.array_equal(h[:, 0, 0], a.limbs[:, 0, 0])


@pytest.mark.parametrize("exponent", [-900, -40, 900])
@multiples
def test_powers_of_two_leave_the_vectors(kernels, blocks, precision, dtype, exponent, rng):
    a = cases.random(19, 4, precision, dtype, rng)
    powers = np.array([0, 30, -30, 7], dtype=np.int32) + np.int32(exponent)
    b = mdqr.from_limbs(np.ldexp(a.limbs, powers), dtype=dtype)
    h, tau, t = factor(kernels, a)
    g, other_tau, other_t = accept(kernels, b)
    if not np.array_equal(np.ldexp(b.limbs, -powers), a.limbs):
        return  # the last limbs have left the range
    assert_same(tau, other_tau)
    assert_same(t, other_t)
    assert_same(np.tril(g, -1), np.tril(h, -1))
    assert np.array_equal(np.triu(g), np.ldexp(np.triu(h), powers))


def test_what_is_left_is_tiny_and_elsewhere(kernels, blocks, rng):
    """A block with zeros only met a power of two beyond the range."""
    a = np.zeros((2, 19, 2))
    a[0, 0, 0], a[0, 0, 1], a[0, 18, 1] = 1.0, 2.0**500, 2.0**-524
    h, tau, _ = accept(kernels, mdqr.from_limbs(a))
    assert h[0, 1, 1] == -(2.0**-524)
    assert h[0, 18, 1] == 1.0
    assert tau[0, 1] == 1.0


@pytest.mark.parametrize("part", [0, 1], ids=["imaginary", "real"])
def test_columns_without_one_part(kernels, blocks, part, rng):
    a = cases.random(19, 4, mdqr.dd, complex, rng).limbs.copy()
    a[part, :, :, [0, 2]] = 0.0
    a[:, :, :, 3] = a[:, :, :, 0]
    accept(kernels, mdqr.from_limbs(a, dtype=complex))


def distance(x, y, field):
    """The largest difference of leading limbs after an exact subtraction, relative to 1."""
    backend = host.backend()
    limbs = x.shape[1] if field else len(x)
    difference = backend.binary("subtract", x, y, kind=Kind(limbs, field))
    return np.abs(difference[:, 0] if field else difference[0]).max()


@multiples
@pytest.mark.parametrize("rows", [19, 70, 200])
def test_agrees_with_the_host(kernels, precision, dtype, rows, rng):
    field = dtype is complex
    a = cases.random(rows, 3, precision, dtype, rng, cond=4)
    found = factor(kernels, a)
    h, tau, _, t = host.backend().qr_panel(a.limbs, kind=Kind(precision.limbs, field))
    wanted = h, tau, t
    # Both have backward errors of some eps; a condition of 4 and 3 reflectors enlarge them.
    for x, y in zip(found, wanted, strict=True):
        assert distance(x, y, field) <= 64 * precision.eps


@pytest.mark.parametrize("dtype", FIELDS)
def test_agrees_with_lapack(kernels, blocks, dtype, rng):
    a = cases.random(40, 5, mdqr.d, dtype, rng, cond=4)
    h, tau, _ = factor(kernels, a)
    wanted, factors = np.linalg.qr(a.to_numpy(), mode="raw")
    for x, y in ((h, wanted.T), (tau, factors)):
        x = x[0, 0] + 1j * x[1, 0] if dtype is complex else x[0]
        assert np.abs(x - y).max() <= 64 * mdqr.d.eps


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [(0, 0), (2, 2), (18, 2), (1, 3)], ids=str)
@multiples
def test_what_is_not_finite(kernels, blocks, precision, dtype, bad, place, rng):
    """NaN from that column on, the columns before it untouched; no barrier is left waiting."""
    clean = cases.random(19, 5, precision, dtype, rng).limbs
    dirty = clean.copy()
    leading = (0,) * (clean.ndim - 2)
    dirty[(*leading, *place)] = bad
    dirty[(*leading[:-1], slice(1, None), *place)] = 0.0
    is_complex, first = dtype is complex, place[1]
    (h, tau, _), (g, other_tau, t) = (
        factors_of(kernels, x, precision.limbs, is_complex) for x in (clean, dirty)
    )
    assert_same(g[..., :first], h[..., :first])
    assert_same(other_tau[..., :first], tau[..., :first])
    lead = g[0, 0] if is_complex else g[0]
    assert np.isnan(lead[np.arange(first, 5), np.arange(first, 5)]).all()
    assert np.isnan(other_tau[(*leading,)][first:]).all()
    assert np.isnan(t[(*leading, slice(None, first + 1), first)]).all()


@multiples
def test_batches_give_the_bits_of_their_items(kernels, precision, dtype, rng):
    a = cases.random(42, 4, precision, dtype, rng).reshape(2, 3, 7, 4)
    whole = factor(kernels, a)
    assert [block.shape[-4:] for block in whole] == [
        (2, 3, 7, 4),
        whole[1].shape[-4:],
        (2, 3, 4, 4),
    ]
    assert whole[1].shape[-3:] == (2, 3, 4)
    for index in np.ndindex(2, 3):
        one = factor(kernels, a[index])
        for x, y, core in zip(whole, one, (2, 1, 2), strict=True):
            assert_same(np.ascontiguousarray(x[(..., *index, *(slice(None),) * core)]), y)


def test_batches_of_panels_that_are_shared(kernels, rng):
    """Several panels of several blocks each in one launch."""
    items = [cases.random(200, 3, mdqr.dd, float, rng) for _ in range(2)]
    assert panel.plan(2, 200, 3, Kind(2, False), kernels.device).blocks > 1
    results = factor(kernels, mdqr.stack(items))
    for i, a in enumerate(items):
        h, tau, t = (block[:, i] for block in results)
        check_form(h, tau, t, False)
        assert max(errors(a, h, t)) <= 20 * 3


def test_batches_of_many_small_panels(kernels, rng):
    """Blocks of fewer threads."""
    items = cases.random(8 * 100, 5, mdqr.dd, float, rng).reshape(100, 8, 5)
    assert panel.plan(100, 8, 5, Kind(2, False), kernels.device).threads == 64
    h, tau, t = factor(kernels, items)
    check_form(h, tau, t, False)
    for i in range(0, 100, 33):
        assert max(errors(items[i], h[:, i], t[:, i])) <= 20 * 5


@pytest.mark.parametrize("precision", PRECISIONS[:3], ids=str)
def test_views(kernels, blocks, precision, dtype, rng):
    """Transposes, backward strides, equal items of a batch, and fewer limbs than the result."""
    most = PRECISIONS[2]
    is_complex = dtype is complex
    a = cases.random(19, 4, precision, dtype, rng).limbs
    wanted = factors_of(kernels, a, most.limbs, is_complex)
    columns = flipped_axes(np.ascontiguousarray(flipped_axes(a, 2)), 2)
    backwards = np.ascontiguousarray(a[..., ::-1, ::-1])[..., ::-1, ::-1]
    equal = np.broadcast_to(a[..., None, :, :], (*a.shape[:-2], 2, *a.shape[-2:]))
    for view in (columns, backwards):
        found = factors_of(kernels, view, most.limbs, is_complex)
        for x, y in zip(found, wanted, strict=True):
            assert_same(x, y)
    found = factors_of(kernels, equal, most.limbs, is_complex)
    for x, y, core in zip(found, wanted, (2, 1, 2), strict=True):
        for item in range(2):
            assert_same(np.ascontiguousarray(x[(..., item, *(slice(None),) * core)]), y)


@pytest.mark.parametrize("shape", [(0, 0), (3, 0), (0, 4, 2), (2, 0, 5, 3)], ids=str)
def test_empty_panels_launch_nothing(kernels, dtype, shape):
    leading = (2, 2) if dtype is complex else (2,)
    launched = len(kernels.launched)
    h, tau, t = factors_of(kernels, np.empty((*leading, *shape)), 2, dtype is complex)
    assert h.shape == (*leading, *shape)
    assert tau.shape == (*leading, *shape[:-2], shape[-1])
    assert t.shape == (*leading, *shape[:-2], shape[-1], shape[-1])
    assert len(kernels.launched) == launched


def test_too_many_columns(kernels):
    with pytest.raises(ValueError, match="at most 128 columns, this one has 129"):
        factors_of(kernels, np.ones((2, 200, 129)), 2, False)


def test_the_widest_panel(kernels, rng):
    accept(kernels, cases.random(70, 64, mdqr.dd, float, rng))


@pytest.mark.parametrize("precision", PRECISIONS[:3], ids=str)
def test_results_in_place(kernels, blocks, precision, dtype, rng):
    """The factors go into parts of larger blocks, h over the panel itself; the rest stays."""
    is_complex = dtype is complex
    a = cases.random(19, 9, precision, dtype, rng).limbs
    wanted = factors_of(kernels, a[..., 2:6], precision.limbs, is_complex)
    h, v = a.copy(), np.full(a.shape, np.nan)
    tau, t = np.full((*a.shape[:-2], 9), np.nan), np.full((*a.shape[:-2], 9, 9), np.nan)
    part = slice(2, 6)
    out = PanelOut(h[..., part], tau[..., part], v[..., part], t[..., part, part])
    options = {"kind": Kind(precision.limbs, is_complex), "out": out}
    assert CudaBackend(kernels).qr_panel(out.h, **options) is out
    for x, y in zip((out.h, out.tau, out.t), wanted, strict=True):
        assert_same(np.ascontiguousarray(x), y)
    assert_same(np.ascontiguousarray(out.v), vectors(wanted[0]))
    others = [0, 1, 6, 7, 8]
    assert_same(h[..., others], a[..., others])
    for block in (v, tau, t):
        assert np.isnan(block[..., others]).all()


def test_batches_whose_axes_do_not_merge(cuda, rng):
    """Operands and results are copied then, and the results written back."""
    a = cases.random(4 * 19, 4, mdqr.dd, float, rng).limbs.reshape(2, 2, 2, 19, 4)
    wide = np.full((2, 2, 4, 19, 4), np.nan)
    wide[:, :, ::2] = a
    shapes = ((19, 4), (4,), (19, 4), (4, 4))
    out = PanelOut(*(np.full((2, 2, 4, *shape), np.nan)[:, :, ::2] for shape in shapes))
    cuda.qr_panel(wide[:, :, ::2], kind=Kind(2, False), out=out)
    for i in range(2):
        for j in range(2):
            wanted = cuda.qr_panel(a[:, i, j], kind=Kind(2, False))
            for x, y in zip(out, wanted, strict=True):
                assert_same(np.ascontiguousarray(x[:, i, j]), y)


@pytest.mark.parametrize("dtype", FIELDS)
def test_a_norm_that_downdating_leaves_a_little_low(kernels, dtype):
    """Just above a power of four, and all of it on the diagonal."""
    for exponent in range(31, 37):
        for large in (2500, 3001, 3889):
            b, g = Fraction(large, 5), (1 + Fraction(1, 2**exponent)) / 5
            low = [Fraction(1, 2**90), Fraction(1, 2**70), 1]
            rows = [[3, 3 * b - 4 * g, 5], [4, 4 * b + 3 * g, -3], low, [0, 0, 2]]
            accept(kernels, mdqr.array(rows, precision=mdqr.qd, dtype=dtype))
