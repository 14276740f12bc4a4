"""Small systems on the GPU, run by the CPU emulation of its threads: limb for limb as the host."""

from __future__ import annotations

import numpy as np
import pytest
from emulation.kernels import EmulatedKernels
from small_cases import block_of, matrix
from stand_ins import ONE_BLOCK

from mdqr._backend.cuda.backend import CudaBackend
from mdqr._backend.cuda.factor import small
from mdqr._backend.cuda.runtime.device import Device
from mdqr._backend.host.backend import backend as host
from mdqr._backend.small_systems import REASONS, small_systems
from mdqr._limbs.planes import Kind

SHAPES = [(1, 1), (5, 5), (17, 17), (2, 1), (9, 4), (21, 12)]
GUARD = 64
# An H100.
LARGE = Device((9, 0), 132, 232_448, 233_472)


class Guarded(EmulatedKernels):
    """One block at a time, and numbers behind all memory that nobody may change."""

    device = EmulatedKernels.device._replace(multiprocessors=1)

    def scratch(self, words, *, zero=False):
        memory, address = super().scratch(words + GUARD, zero=zero)
        memory[words:] = 7.0
        self.behind = memory[words:]
        return memory, address


@pytest.fixture(scope="module")
def kernels(kernel_folder):
    return Guarded(kernel_folder)


@pytest.fixture
def replan():
    """Rules for launches may be changed."""
    small.plan.cache_clear()
    yield
    small.plan.cache_clear()


def problem(rng, limbs, is_complex, shape, *, cond=100.0, columns=2, items=3):
    m, n = shape
    values = np.stack([matrix(rng, m, n, cond, is_complex) for _ in range(items)])
    right = rng.standard_normal((items, m, columns))
    right = right + 1j * rng.standard_normal(right.shape) if is_complex else right
    return block_of(rng, limbs, values), block_of(rng, limbs, right)


def assert_as_on_host(kernels, a, b, kind):
    """Everything that the call returns has the host's bits. Return the status of items."""
    kernels.plans.clear()
    name = "solve_small" if a.shape[-2] == a.shape[-1] else "lstsq_small"
    found, wanted = (
        getattr(each, name)(a, b, kind=kind) for each in (CudaBackend(kernels), host())
    )
    for field in found._fields:
        ours, theirs = getattr(found, field), getattr(wanted, field)
        assert (ours is None) == (theirs is None)
        if ours is not None:
            assert ours.shape == theirs.shape
            assert ours.tobytes() == np.ascontiguousarray(theirs).tobytes(), field
    assert (kernels.behind == 7.0).all()
    return wanted.status


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_limbs_are_those_of_the_host(kernels, precision, dtype, shape, rng):
    kind = Kind(precision.limbs, dtype is complex)
    for cond, power in ((10.0, 0), (1e9, 8), (1e17, 30)):
        a, b = problem(rng, *kind, shape, cond=cond)
        a = np.ldexp(a, rng.integers(-power, power + 1, shape[1]))
        b = np.ldexp(b, rng.integers(-power, power + 1, (shape[0], 1)))
        assert_as_on_host(kernels, a, b, kind)


@pytest.mark.parametrize("shape", [(40, 40), (70, 20)], ids=str)
def test_several_warps(kernels, dtype, shape, rng):
    kind = Kind(8, dtype is complex)
    a, b = problem(rng, *kind, shape, items=1)
    assert not assert_as_on_host(kernels, a, b, kind).any()


@pytest.mark.parametrize("shape", [(33, 33), (20, 9)], ids=str)
def test_few_systems_get_more_threads(kernels, shape, rng):
    """One warp and several find the same."""
    a, b = problem(rng, 4, False, shape, items=2)
    name = "solve" if shape[0] == shape[1] else "lstsq"
    assert small.plan(name, *shape, kernels.device, few=True).threads > 32
    for items in (1, 2):
        assert_as_on_host(kernels, a[:, :items], b[:, :items], Kind(4, False))


@pytest.mark.parametrize(("items", "threads"), [(1, 512), (2, 256)])
def test_large_systems_get_the_most_threads(kernel_folder, dtype, items, threads, rng):
    """Neighbours share the sums of residuals, a warp has a column of the inverse.

    The host has no real ones of this size: they are compared with those in global memory.
    """
    wide, narrow = Guarded(kernel_folder), Guarded(kernel_folder)
    wide.device, narrow.device = LARGE._replace(multiprocessors=1), ONE_BLOCK
    order = 33 if dtype is complex else 67
    kind = Kind(8, dtype is complex)
    rows = order * (1 + kind.is_complex)
    plan = small.plan("solve", rows, rows, wide.device, few=items == 1)
    assert (plan.threads, plan.defines) == (threads, ("MDQR_WIDE",))
    a, b = problem(rng, *kind, (order, order), cond=1e6, columns=1, items=items)
    if kind.is_complex:
        assert not assert_as_on_host(wide, a, b, kind).any()
        return
    found, wanted = (CudaBackend(each).solve_small(a, b, kind=kind) for each in (wide, narrow))
    assert small.plan("solve", rows, rows, ONE_BLOCK, few=items == 1).shared == 0
    assert not found.status.any()
    for field in found._fields:
        if getattr(found, field) is not None:
            assert getattr(found, field).tobytes() == getattr(wanted, field).tobytes(), field


class Early(Guarded):
    """The code for first calls, which is shorter."""

    def _compile(self, module):
        return super()._compile(module._replace(defines=(*module.defines, "MDQR_QUICK")))


@pytest.mark.parametrize("shape", [(9, 9), (13, 6)], ids=str)
def test_code_for_first_calls_finds_the_same_limbs(kernel_folder, dtype, shape, rng):
    kernels = Early(kernel_folder)
    for limbs, cond in ((2, 10.0), (4, 1e9), (8, 1e9), (16, 1e9)):
        kind = Kind(limbs, dtype is complex)
        assert not assert_as_on_host(kernels, *problem(rng, *kind, shape, cond=cond), kind).any()


SQUARES = [pytest.param(shape, marks=pytest.mark.long) for shape in ((1, 1), (18, 18))]


@pytest.mark.parametrize("shape", [(5, 3), (19, 9), (40, 33), *SQUARES], ids=str)
@pytest.mark.usefixtures("replan")
def test_all_in_global_memory(kernels, dtype, shape, rng, monkeypatch):
    monkeypatch.setattr(small, "_LEAST_TOGETHER", 10**6)
    kind = Kind(2, dtype is complex)
    assert_as_on_host(kernels, *problem(rng, *kind, shape), kind)


def test_the_largest_systems_fit(kernels):
    for name, m in (("solve", 128), ("lstsq", 512)):
        plan = small.plan(name, m, 128, kernels.device, few=False)
        assert plan.shared == 0
        assert plan.words < small._MOST_WORDS
    assert small.plan("lstsq", 32, 16, LARGE, few=False).together >= 8
    for rows, limbs, together in ((96, 8, 2), (128, 8, 1), (90, 16, 2), (128, 16, 1)):
        plan = small.plan("solve", rows, rows, LARGE, few=False, limbs=limbs)
        assert 0 < plan.shared <= LARGE.shared
        assert plan.together == together
        assert ("MDQR_MOST_DIGITS=20" in plan.defines) == (limbs > 11)


@pytest.mark.parametrize("shape", [(6, 6), (9, 6)], ids=str)
def test_what_is_not_served_says_why(kernels, dtype, shape, rng):
    kind = Kind(4, dtype is complex)
    a, b = problem(rng, *kind, shape, items=6)
    for item, value in ((1, np.nan), (2, np.inf)):
        a[..., item, 3, 0] = 0.0
        a[(0, 0, item, 3, 0) if kind.is_complex else (0, item, 3, 0)] = value
    a[..., 3, :, 2] = 0.0
    b[..., 4, :, :] *= 2.0**1020
    status = assert_as_on_host(kernels, a, b, kind)
    reasons = ["served", "not finite", "not finite", "singular", "beyond the range of doubles"]
    assert [REASONS[each] for each in status] == [*reasons, "served"]


def test_fewer_limbs_strides_and_batches(kernels, rng):
    kind = Kind(8, False)
    a, b = problem(rng, 2, False, (7, 4), items=6)
    assert_as_on_host(kernels, a[:1], b, kind)
    turned = np.ascontiguousarray(a.swapaxes(-1, -2)).swapaxes(-1, -2)
    assert_as_on_host(kernels, turned, b[:, ::-1], kind)
    a, b = a.reshape(2, 2, 3, 7, 4), b.reshape(2, 2, 3, 7, 2)
    assert assert_as_on_host(kernels, a, b, kind).shape == (2, 3)
    assert_as_on_host(kernels, a[:, :1], b, kind)


def test_the_gpu_has_these_calls(kernels):
    backend = CudaBackend(kernels)
    assert small_systems(backend) is backend
