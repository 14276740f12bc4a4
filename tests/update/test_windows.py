"""Windows with few diagonals below the main one: both backends against exact arithmetic.

The CUDA kernel runs by the emulation of its threads, the host's in its extension.
"""

from __future__ import annotations

import linalg_cases as cases
import numpy as np
import pytest
from cuda_cases import EVERY, FIELDS, assert_same
from hypothesis import given, settings
from hypothesis import strategies as st
from panel_cases import column_errors, exact
from window_cases import band, check_form, errors, identity, leave_out_long

import mdqr
from mdqr._backend.blocks import window_lanes
from mdqr._backend.cuda.factor import window
from mdqr._backend.host import backend as host
from mdqr._limbs.planes import Kind
from mdqr._precision import PRECISIONS
from mdqr.testing import arrays

every = pytest.mark.parametrize(("precision", "dtype"), EVERY)
# Rows, columns, and diagonals below the main one: clipped at the bottom, square, high.
SHAPES = [
    (1, 1, 0),
    (2, 1, 1),
    (2, 2, 1),
    (9, 8, 1),
    (8, 8, 3),
    (13, 8, 5),
    (20, 6, 14),
    (24, 9, 15),
]


@pytest.fixture(scope="module", params=["cpu", pytest.param("cuda", marks=pytest.mark.kernels)])
def backend(request):
    return host.backend() if request.param == "cpu" else request.getfixturevalue("cuda")


def factored(backend, block, below, dtype):
    """R and E of a window."""
    r, field = block.copy(), dtype is complex
    limbs, m = block.shape[1 if field else 0], block.shape[-2]
    leave_out_long(backend, limbs)
    e = identity(block, m, field=field)
    backend.window(r, e[..., :0], e, below=below, kind=Kind(limbs, field))
    return r, e


def accept(backend, block, below, precision, dtype):
    """Each of w reflectors errs by some roundings of its short sums, however long the window is."""
    r, e = factored(backend, block, below, dtype)
    check_form(r, dtype is complex)
    allowed = 20 * block.shape[-1] * precision.eps
    assert max(errors(block, r, e, dtype is complex)) <= allowed
    return r, e


@every
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_acceptance(backend, precision, dtype, shape, rng):
    m, w, below = shape
    block = band(cases.random(m, w, precision, dtype, rng).limbs, below)
    accept(backend, block, below, precision, dtype)


@settings(max_examples=10)
@given(data=st.data())
@every
def test_acceptance_of_entries_of_all_sizes(backend, precision, dtype, data):
    """Entries over 400 binary orders, with gaps, runs of ones, cancellation and zeros."""
    w, below = data.draw(st.integers(1, 6)), data.draw(st.integers(0, 7))
    m = data.draw(st.integers(w, w + below))
    options = {"allow_nan": False, "allow_infinity": False}
    options |= {"min_exponent": -200, "max_exponent": 200}
    a = data.draw(arrays(precision, (m, w), dtype=dtype, **options))
    accept(backend, band(a.limbs, below), below, precision, dtype)


@every
@pytest.mark.parametrize("exponent", [-900, 900])
def test_powers_of_two_leave_the_orthogonal_matrix(backend, precision, dtype, exponent, rng):
    block = band(cases.random(9, 7, precision, dtype, rng).limbs, 2)
    powers = np.array([0, 30, -30, 7, 0, 100, -100]) + exponent
    far = np.ldexp(block, powers)
    (r, e), (far_r, far_e) = (factored(backend, x, 2, dtype) for x in (block, far))
    if not np.array_equal(np.ldexp(far, -powers), block):
        accept(backend, far, 2, precision, dtype)  # the last limbs have left the range
        return
    assert_same(far_e, e)
    assert np.array_equal(far_r, np.ldexp(r, powers))


@every
def test_zero_columns_and_nothing_below(backend, precision, dtype, rng):
    """Zeros stay, a real diagonal is left alone, a complex one made real."""
    block = cases.random(8, 6, precision, dtype, rng).limbs.copy()
    block[..., [0, 3]] = 0.0
    r, _ = accept(backend, band(block, 2), 2, precision, dtype)
    assert not r[..., 0].any()
    upper = np.triu(cases.random(6, 5, precision, dtype, rng).limbs)
    r, e = accept(backend, upper, 1, precision, dtype)
    if dtype is float:
        assert_same(r, upper)
        assert_same(e, identity(upper, 6, field=False))
    else:
        assert not np.tril(e, -1).any()


@every
def test_remainders_of_any_size(backend, precision, dtype, rng):
    """Columns that nearly depend on those before, and entries below the diagonal far below it."""
    block = cases.random(10, 6, precision, dtype, rng).limbs.copy()
    block[..., [1, 4]] = block[..., [0, 3]]
    accept(backend, band(block, 4), 4, precision, dtype)
    small = np.array([2.0**-70, 2.0**-300, 2.0**-700, 1.0, 2.0**-1000, 2.0**-500])
    block = cases.random(10, 6, precision, dtype, rng).limbs
    block = block * np.where(np.arange(10)[:, None] > np.arange(6), small, 1.0)
    accept(backend, band(block, 4), 4, precision, dtype)


@every
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite(backend, precision, dtype, bad, rng):
    """NaN from that column on; the columns before it are untouched."""
    clean = band(cases.random(9, 6, precision, dtype, rng).limbs, 3)
    dirty, front = clean.copy(), (0,) * (clean.ndim - 2)
    dirty[(*front, 4, 2)] = bad
    dirty[(*front[:-1], slice(1, None), 4, 2)] = 0.0
    (r, _), (found, e) = (factored(backend, x, 3, dtype) for x in (clean, dirty))
    assert_same(found[..., :2], r[..., :2])
    leading = found[front[:-1]][0] if dtype is complex else found[0]
    assert np.isnan(np.diagonal(leading)[2:]).all()
    assert np.isnan(e[front][2:, 2:]).any()


@every
@pytest.mark.parametrize("shape", [(13, 9, 4), (9, 9, 1), (24, 9, 15)], ids=str)
def test_both_backends_give_the_same_triangle(cuda, precision, dtype, shape, rng):
    """The operations are the same, and so are the trees of the sums.

    Complex products of more than four limbs are summed from zero on one of them: another last bit.
    """
    m, w, below = shape
    block = band(cases.random(m, w, precision, dtype, rng).limbs, below)
    found = [factored(b, block, below, dtype)[0] for b in (host.backend(), cuda)]
    assert window.plan(m, w, below, Kind(precision.limbs, dtype is complex)).lanes == window_lanes(
        below
    )
    if dtype is float or precision.limbs <= 4:
        assert_same(*found)
        return
    x, y = (exact(r, True) for r in found)
    # Backward errors of 20 w eps each, and the condition of the matrices.
    assert column_errors(x, y, m) <= 40 * w * 100 * precision.eps


@every
@pytest.mark.parametrize("columns", [1, 40])
def test_what_belongs_to_a_window(backend, precision, dtype, columns, rng):
    """Both products, of parts of larger blocks; nobody touches the rest."""
    m, w, below, field = 8, 6, 2, dtype is complex
    block = band(cases.random(m, w, precision, dtype, rng).limbs, below)
    r, e = factored(backend, block, below, dtype)
    wide = cases.random(m + 2, w + columns + 1, precision, dtype, rng).limbs.copy()
    high = cases.random(columns, m + 3, precision, dtype, rng).limbs.copy()
    wide[..., 1 : m + 1, :w] = block
    before = wide.copy(), high.copy()
    left, right = wide[..., 1 : m + 1, w:-1], high[..., 1 : m + 1]
    options = {"kind": Kind(precision.limbs, field), "below": below}
    backend.window(wide[..., 1 : m + 1, :w], left, right, **options)
    assert_same(np.ascontiguousarray(wide[..., 1 : m + 1, :w]), r)
    orthogonal = exact(e, field)
    x, y = before[0][..., 1 : m + 1, w:-1], before[1][..., 1 : m + 1]
    # Both the rows and E err by some roundings for each of w reflectors.
    products = orthogonal.H @ exact(x, field), orthogonal.H @ exact(y, field).H
    for found, wanted in zip((exact(left, field), exact(right, field).H), products, strict=True):
        gap = found - wanted
        squares = [part.squares().sum(axis=0) for part in (gap, wanted)]
        sizes = cases.quotients(squares[0], gap.exponent, squares[1], wanted.exponent)
        assert sizes.max() <= 40 * w * precision.eps
    wide[..., 1 : m + 1, :-1], high[..., 1 : m + 1] = (
        before[0][..., 1 : m + 1, :-1],
        before[1][..., 1 : m + 1],
    )
    assert_same(wide, before[0])
    assert_same(high, before[1])


@pytest.mark.parametrize("precision", PRECISIONS[:2], ids=str)
@pytest.mark.parametrize("dtype", FIELDS)
def test_batches_give_the_bits_of_their_items(backend, precision, dtype, rng):
    """Also where the axes of a batch do not merge, so that windows are copied and written back."""
    field, front = dtype is complex, 2 if dtype is complex else 1
    block = band(cases.random(42, 5, precision, dtype, rng).limbs.reshape(-1, 2, 3, 7, 5), 2)
    block = block.reshape(*((2,) if field else ()), precision.limbs, 2, 3, 7, 5)
    apart = np.full((*block.shape[:front], 2, 6, 7, 5), np.nan)
    apart[(slice(None),) * front + (slice(None), slice(None, None, 2))] = block
    part = apart[(slice(None),) * front + (slice(None), slice(None, None, 2))]
    left = cases.random(42, 4, precision, dtype, rng).limbs.reshape(*block.shape[:-1], 4).copy()
    options = {"kind": Kind(precision.limbs, field), "below": 2}
    wanted = left.copy()
    backend.window(part, left, None, **options)
    for index in np.ndindex(2, 3):
        at = (slice(None),) * front + index
        one, x = block[at].copy(), wanted[at].copy()
        backend.window(one, x, None, **options)
        assert_same(np.ascontiguousarray(part[at]), one)
        assert_same(np.ascontiguousarray(left[at]), x)
    assert np.isnan(apart[(slice(None),) * front + (slice(None), slice(1, None, 2))]).all()


@pytest.mark.parametrize("kind", ["float32", "complex64"])
def test_float32_is_rounded_once(cuda, kind, rng):
    """Window and orthogonal matrix are computed in float64, subnormal numbers too."""
    field = kind == "complex64"
    front = (2, 1) if field else (1,)
    r = band(rng.standard_normal((*front, 9, 7)).astype(np.float32), 2)
    r[..., 3] *= np.float32(2.0**-140)
    wide, e = r.astype(np.float64), np.empty((*front, 9, 9), np.float32)
    wanted, one = factored(host.backend(), wide, 2, complex if field else float)
    cuda.form_window(r, e, below=2, kind=Kind(1, field))
    assert_same(r, wanted.astype(np.float32))
    assert np.abs(e - one).max() <= 2.0**-24


@pytest.mark.parametrize("kind", ["float32", "complex64"])
def test_float32_on_the_host(kind, rng):
    field = kind == "complex64"
    front = (2, 1) if field else (1,)
    options = {"kind": Kind(1, field), "below": 2}
    shapes = ((9, 7), (9, 40), (33, 9))
    r, *rest = (rng.standard_normal((*front, *shape)).astype(np.float32) for shape in shapes)
    narrow = [band(r, 2), *rest]
    wide = [x.astype(np.float64) for x in narrow]
    for blocks in (narrow, wide):
        host.backend().window(*blocks, **options)
    for x, y in zip(narrow, wide, strict=True):
        assert x.dtype == np.float32
        assert_same(x, y.astype(np.float32))


def test_windows_that_fit_a_block_of_threads(cuda, multiple, dtype):
    """What the rule admits has a plan, whatever is cut off at the bottom or the end."""
    kind = Kind(multiple.limbs, dtype is complex)
    served = {below: cuda.window_columns(below, kind=kind) for below in range(60)}
    assert served[1] == {2: 64, 4: 32, 8: 32}.get(kind.limbs, 16 if dtype is complex else 32)
    assert cuda.window_columns(120, kind=kind) == 0
    for below, columns in served.items():
        for w in range(1, columns + 1):
            for m in range(w, w + below + 1):
                assert window.plan(m, w, min(below, m - 1), kind) is not None


def test_refused_windows(cuda):
    e = np.empty((2, 300, 300))
    for shape, below in (((200, 150), 50), ((9, 4), 4), ((4, 5), 2)):
        out = e[:, : shape[0], : shape[0]]
        with pytest.raises(ValueError, match="no kernel for windows"):
            cuda.form_window(np.zeros((2, *shape)), out, below=below, kind=Kind(2, False))
    with pytest.raises(ValueError, match="not empty"):
        cuda.form_window(*np.zeros((2, 2, 0, 4, 4)), below=1, kind=Kind(2, False))


@pytest.mark.parametrize("below", [1, 32, 45])
def test_the_widest_windows(cuda, below, rng):
    columns = cuda.window_columns(below, kind=Kind(2, False))
    a = cases.random(columns + below, columns, mdqr.dd, float, rng)
    accept(cuda, band(a.limbs, below), below, mdqr.dd, float)
