"""Substitution on the GPU, run by the CPU emulation of its threads: exact backward errors."""

from __future__ import annotations

import ctypes
from fractions import Fraction

import linalg_cases as cases
import numpy as np
import pytest
from cuda_cases import EVERY, FIELDS
from each_case import each_case
from emulation.kernels import EmulatedKernels
from exact_limbs import is_normalised
from hypothesis import given, settings
from hypothesis import strategies as st
from stand_ins import ONE_BLOCK, STAND_INS

import mdqr
from mdqr._backend.cuda.backend import CudaBackend
from mdqr._backend.cuda.factor import triangular
from mdqr._backend.cuda.runtime.kernels import Kernels
from mdqr._limbs.planes import Kind
from mdqr._precision import PRECISIONS
from mdqr.testing import assert_same_bits

ROWS = 32
# The bits of `unset` in triangular_math.hpp, as a NaN that a caller might hand in.
UNSET = np.int64(0x7FF80000756E7365).view(np.float64)

LONGEST = 8  # limbs whose networks take the emulation seconds


class Watched(EmulatedKernels):
    """Keeps the sizes of the last launch, and how many jobs were solved a second time."""

    def launch(self, module, name, arguments, *, grid, threads, shared=0, cooperative=False):
        super().launch(
            module, name, arguments, grid=grid, threads=threads, shared=shared,
            cooperative=cooperative,
        )  # fmt: skip
        self.grid, self.cooperative, self.repeated = grid, cooperative, None
        if name == "mdqr_solve_triangular":
            jobs, blocks, state = (int(arguments[i]) for i in (-7, -5, -4))
            groups = grid[0] // blocks
            marks = (ctypes.c_int64 * (groups + jobs)).from_address(state)
            self.repeated = sum(marks[groups:])


@pytest.fixture(scope="module")
def kernels(kernel_folder):
    return Watched(kernel_folder)


def solve(kernels, a, b, *, lower=False, unit=False, precision=None):
    """The solution as an array, limbs as the kernel left them."""
    limbs = (precision or a.precision).limbs
    kernels.plans.clear()  # tests move the rules by which launches are planned
    x = CudaBackend(kernels).solve_triangular_tile(
        a.limbs, b.limbs, kind=Kind(limbs, a.is_complex), lower=lower, unit_diagonal=unit
    )
    assert x.flags["C_CONTIGUOUS"]
    return mdqr.from_limbs(x, dtype=complex if a.is_complex else float, normalize=False)


def triangle(n, precision, dtype, rng, lower, diagonal=2.0):
    """A triangle with NaN in the other one."""
    a = cases.random(n, n, precision, dtype, rng) + diagonal * mdqr.eye(n, precision=precision)
    other = np.triu(np.ones((n, n), bool), 1)
    a[other if lower else other.T] = np.nan
    return a


def check(a, x, b, *, lower=False, unit=False):
    """``abs(b - a x) <= (w + 16) eps abs(a) abs(x)`` in every entry, twice that for complex."""
    n = a.shape[0]
    t = (mdqr.tril if lower else mdqr.triu)(a, (-1 if lower else 1) if unit else 0)
    if unit:
        t = t + mdqr.eye(n, precision=a.precision)
    exact, solution = cases.Exact.of(t), cases.Exact.of(x)
    residual = (cases.Exact.of(b) - exact @ solution).moduli()
    factor = (n + 16) * (2 if x.is_complex else 1)
    allowed = exact.moduli() @ solution.moduli()
    assert residual.within(factor * Fraction(x.precision.eps), allowed)
    planes = x.limbs.reshape(-1, x.precision.limbs, *x.shape)
    for plane in planes:
        for value in plane.reshape(plane.shape[0], -1).T[:40]:
            assert is_normalised(value.tolist())


@st.composite
def problems(draw, precision, orders, columns):
    """Full limbs in every memory layout that callers hand over: copies, transposes, slices."""
    n, k = draw(orders), draw(columns)
    lower, unit = draw(st.booleans()), draw(st.booleans())
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    dtype = draw(st.sampled_from(FIELDS)) if precision.limbs <= 2 else float
    a = triangle(n, precision, dtype, rng, lower)
    if unit:
        a[np.arange(n), np.arange(n)] = np.nan
    b = cases.random(max(n, k), max(n, k), precision, dtype, rng)[:n, :k]
    layout = draw(st.sampled_from(["plain", "transposed", "sliced", "reversed"]))
    if layout == "transposed":
        a, b = a.T.copy().T, b.T.copy().T
    elif layout == "sliced":
        memory = mdqr.full((2 * n, 3 * n), np.nan, precision=precision, dtype=dtype)
        memory[::2, 1::3] = a
        a = memory[::2, 1::3]
    elif layout == "reversed":
        a, b = a[::-1, ::-1].copy()[::-1, ::-1], b[::-1].copy()[::-1]
    return a, b, lower, unit


@pytest.mark.parametrize("precision", [p for p in PRECISIONS if p.limbs < LONGEST], ids=str)
@settings(max_examples=8)
@given(data=st.data())
def test_small_orders(kernels, precision, data):
    orders, columns = st.integers(1, 40), st.integers(1, 11)
    a, b, lower, unit = data.draw(problems(precision, orders, columns))
    check(a, solve(kernels, a, b, lower=lower, unit=unit), b, lower=lower, unit=unit)


@settings(max_examples=3)
@given(data=st.data())
def test_large_orders(kernels, data):
    a, b, lower, unit = data.draw(problems(mdqr.dd, st.integers(65, 100), st.integers(1, 2)))
    check(a, solve(kernels, a, b, lower=lower, unit=unit), b, lower=lower, unit=unit)
    assert kernels.cooperative
    assert kernels.repeated == 0


@pytest.mark.parametrize(("precision", "dtype"), EVERY)
@pytest.mark.parametrize("lower", [False, True])
def test_every_field(kernels, precision, dtype, lower, rng):
    for n, k in ((33, 1), (66, 1)):
        a = triangle(n, precision, dtype, rng, lower)
        b = cases.random(n, k, precision, dtype, rng)
        check(a, solve(kernels, a, b, lower=lower), b, lower=lower)
    assert kernels.launched[-1] == "mdqr_solve_triangular"
    assert kernels.repeated == 0


# The condition of a random triangle of order 100 is about 2**100.
@pytest.mark.parametrize("lower", [False, True])
def test_badly_conditioned(kernels, lower, rng):
    full = mdqr.random.normal((100, 100), precision=mdqr.qd, rng=rng)
    b = mdqr.random.normal((100, 1), precision=mdqr.qd, rng=rng)
    x = solve(kernels, full, b, lower=lower)
    assert abs(x.to_numpy()).max() > 2.0**40
    check(full, x, b, lower=lower)
    assert kernels.repeated == 0


@pytest.fixture(scope="module")
def shared(kernels):
    """Three triangles of order 100 with two right-hand sides, solved by four blocks a job."""
    rng = np.random.default_rng(3)
    a = mdqr.stack([triangle(100, mdqr.dd, float, rng, False) for _ in range(3)])
    b = cases.random(100, 2, mdqr.dd, float, rng)
    x = solve(kernels, a, b)
    assert kernels.grid == (24,)
    for i in range(3):
        check(a[i], x[i], b)
    return a, b, x


# Four tiles and six jobs: blocks with two tiles, with all of a job, with several jobs in turn.
@pytest.mark.parametrize(("blocks", "most", "grid"), [(12, 9, 12), (6, 9, 6), (6, 4, 4)], ids=str)
def test_how_blocks_share_the_jobs(kernels, shared, monkeypatch, blocks, most, grid):
    a, b, expected = shared
    monkeypatch.setattr(kernels, "device", kernels.device._replace(multiprocessors=blocks))
    monkeypatch.setattr(triangular, "_MOST_BLOCKS", most)
    x = solve(kernels, a, b)
    assert kernels.grid == (grid,)
    assert kernels.cooperative == (blocks == 12)
    assert kernels.repeated == 0
    assert_same_bits(x, expected)


@pytest.mark.parametrize("order", [5, 70])
def test_batches_broadcast(kernels, order, rng):
    a = mdqr.stack([triangle(order, mdqr.dd, float, rng, True) for _ in range(2)])
    b = mdqr.stack([cases.random(order, 3, mdqr.dd, float, rng)[:, :2] for _ in range(2)])
    x = solve(kernels, a[:, None], b, lower=True)
    assert x.shape == (2, 2, order, 2)
    for i in range(2):
        for j in range(2):
            check(a[i], x[i, j], b[j], lower=True)
    assert_same_bits(solve(kernels, a[1], b, lower=True), x[1])


def test_blocks_take_several_columns(kernels, monkeypatch, rng):
    a = mdqr.stack([triangle(6, mdqr.dd, float, rng, False) for _ in range(2)])
    b = cases.random(20, 20, mdqr.dd, float, rng)[:6]
    expected = solve(kernels, a, b)
    assert kernels.grid == (6,)
    monkeypatch.setattr(triangular, "_MOST_BLOCKS", 4)
    x = solve(kernels, a, b)
    assert kernels.grid == (4,)
    assert_same_bits(x, expected)


@pytest.mark.parametrize("order", [7, 70])
def test_missing_limbs_are_zero(kernels, order, rng):
    a = triangle(order, mdqr.d, float, rng, False)
    b = cases.random(order, 1, mdqr.dd, float, rng)
    x = solve(kernels, a, b, precision=mdqr.qd)
    full = solve(kernels, a.astype(precision=mdqr.qd), b.astype(precision=mdqr.qd))
    assert_same_bits(x, full)


# ---- out of range: the operations of the contract


# Rows or columns by powers of two: the products a_ij x_j of a row span up to 2**1400.
@pytest.mark.parametrize("order", [9, 66])
@pytest.mark.parametrize(("rows", "columns"), [(11, 0), (-11, 0), (0, 7), (11, -11)], ids=str)
def test_graded_systems(kernels, order, rows, columns, rng):
    step = 9 if order == 66 else 60
    rows, columns = rows * step // 10, columns * step // 10
    a = mdqr.triu(triangle(order, mdqr.dd, float, rng, False))
    b = cases.random(order, 1, mdqr.dd, float, rng)
    graded = cases.scaled(a, rows, columns)
    side = cases.scaled(b, rows)
    check(graded, solve(kernels, graded, side), side)


@pytest.mark.parametrize("order", [9, 66])
@pytest.mark.parametrize("factor", [2.0**-330, 2.0**500])
def test_the_end_of_the_range(kernels, order, factor, dtype, rng):
    a = triangle(order, mdqr.dd, dtype, rng, True) * factor
    b = cases.random(order, 2, mdqr.dd, dtype, rng)
    side = b * factor * factor
    x = solve(kernels, a, side, lower=True)
    assert kernels.repeated in (None, 2)
    check(a, x, side, lower=True)


# The divided element of the last row loses its last limbs, and a large x brings them into view.
@pytest.mark.parametrize(
    ("precision", "exponent", "order"),
    [(mdqr.dd, -1100, 9), (mdqr.dd, -1100, 66), (mdqr.od, -690, 9)],
)
def test_small_coefficients(kernels, order, precision, exponent, rng):
    n = order - 1
    a = mdqr.tril(triangle(order, precision, float, rng, True))
    a[1:, 0] = a[1:, 0] * 2.0**-300
    a[n, 1:n] = 0.0
    a[n, n - 1] = a[n, 0] * 2.0**300 * 2.0 ** (exponent + 200)
    a[n, 0] = 0.0
    a[n, n] = a[n, n] * 2.0**200
    a[n - 1] = a[n - 1] * 2.0**-300
    b = cases.random(order, 1, precision, float, rng)
    b[n] = 0.0
    x = solve(kernels, a, b, lower=True)
    assert abs(x.to_numpy()[n - 1, 0]) > 2.0**280
    assert kernels.repeated in (None, 1)
    check(a, x, b, lower=True)


def test_only_columns_out_of_range_are_repeated(kernels, rng):
    a = mdqr.stack([triangle(66, mdqr.dd, float, rng, False) for _ in range(2)])
    b = mdqr.stack([cases.random(66, 2, mdqr.dd, float, rng) for _ in range(2)])
    expected = solve(kernels, a, b)
    b[1, :, 0] = b[1, :, 0] * 2.0**600
    x = solve(kernels, a, b)
    assert kernels.repeated == 1
    assert_same_bits(x[0], expected[0])
    assert_same_bits(x[1, :, 1], expected[1, :, 1])
    check(a[1], x[1, :, :1], b[1, :, :1])


@pytest.mark.parametrize("order", [8, 70])
def test_zero_on_the_diagonal(kernels, order, dtype, rng):
    a = triangle(order, mdqr.dd, dtype, rng, True)
    a[order // 2, order // 2] = 0.0
    b = cases.random(order, 1, mdqr.dd, dtype, rng)
    x = solve(kernels, a, b, lower=True)
    finite = np.isfinite(x.to_numpy()[:, 0])
    assert finite[: order // 2].all()
    assert not finite[order // 2 :].any()


@pytest.mark.parametrize("order", [8, 70])
@pytest.mark.parametrize("bad", [np.inf, np.nan, UNSET], ids=["inf", "nan", "unset"])
def test_numbers_that_are_not_finite(kernels, order, bad, rng):
    a = triangle(order, mdqr.dd, float, rng, True)
    b = cases.random(order, 1, mdqr.dd, float, rng)
    b.limbs[0, 3] = bad
    x = solve(kernels, a, b, lower=True).limbs
    assert np.isfinite(x[0, :3]).all()
    assert not np.isfinite(x[0, 3:]).any()
    assert not x[1][~np.isfinite(x[0])].any()


def test_zero_right_hand_sides(kernels, rng):
    a = triangle(70, mdqr.qd, float, rng, True)
    x = solve(kernels, a, mdqr.zeros((70, 1), precision=mdqr.qd), lower=True)
    assert kernels.repeated == 0
    assert not x.limbs.any()


# ---- the static rule


class Counted(Kernels):
    """Kernels that only keep what would be launched."""

    xp, device = np, ONE_BLOCK

    def __init__(self, device=ONE_BLOCK):
        self.plans, self.device = {}, device

    def address(self, block):
        return block.ctypes.data

    def scratch(self, words, *, zero=False):
        memory = np.zeros(words)
        return memory, self.address(memory)

    def launch(self, module, name, arguments, **sizes):
        self.name, self.sizes = name, sizes


@each_case("device", [ONE_BLOCK, STAND_INS["a100"]])
@each_case("columns", [1, 8, 17])
@each_case(
    "order, batch",
    [(1, 1), (1, 10_000), (16, 97), (32, 1000), (33, 95), (64, 3), (65, 100), (1024, 1), (1024, 3)],
)
def test_launches_fit_the_device(precision, dtype, batch, columns, order, device):
    is_complex = dtype is complex
    planes = (2, precision.limbs) if is_complex else (precision.limbs,)
    a, b = (
        np.lib.stride_tricks.as_strided(
            np.zeros(3), (*planes, batch, order, n), (8,) * (len(planes) > 1) + (0,) * 4
        )
        for n in (order, columns)
    )
    counted = Counted(device)
    kind = Kind(precision.limbs, is_complex)
    CudaBackend(counted).solve_triangular_tile(a, b, kind=kind, lower=False, unit_diagonal=False)
    sizes = counted.sizes
    assert sizes["shared"] <= device.shared
    assert sizes["grid"][0] < 2**31
    assert sizes["threads"] <= 256
    if sizes.get("cooperative"):
        assert sizes["grid"][0] <= device.multiprocessors


def test_order_of_tiles(precision, dtype):
    kind = Kind(precision.limbs, dtype is complex)
    small, tile = triangular.small_order(kind), CudaBackend(Counted()).triangular_tile
    assert small % ROWS == 0
    assert tile(0, 1, kind=kind) == 1
    assert tile(8192, 1, kind=kind) == 8192
    assert tile(8192, 1000, kind=kind) == small


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (4, 0)], ids=str)
def test_empty(shape):
    n, k = shape
    counted = Counted()
    options = {"kind": Kind(2, False), "lower": True, "unit_diagonal": False}
    a, b = np.ones((2, n, n)), np.ones((2, n, k))
    x = CudaBackend(counted).solve_triangular_tile(a, b, **options)
    assert x.shape == (2, n, k)
    assert not hasattr(counted, "name")
