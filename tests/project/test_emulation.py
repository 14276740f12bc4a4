"""The emulation of CUDA's threads: what it must find in kernels, and what threads exchange."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from emulation.kernels import EmulatedKernels, build

from mdqr._backend.cuda.runtime.kernels import Module
from mdqr._backend.sources import kernels_folder
from mdqr._limbs.planes import Kind

SOURCE = """
#include "device/matrix_step.hpp"

struct arguments {
    double* out;
};
MDQR_KERNEL(rotated, arguments, 64) {
    double x = mdqr::thread_index();
    for (int k = 0; k < 5; ++k)
        x = mdqr::shuffle(x, (mdqr::thread_index() + 1) % 32);
    p.out[mdqr::thread_index()] = x;
}
MDQR_KERNEL(apart, arguments, 64) {
    if (mdqr::thread_index() == 40)
        mdqr::sync_warp();
    else
        mdqr::sync_threads();
    p.out[mdqr::thread_index()] = 1.0;
}
MDQR_KERNEL(left, arguments, 64) {
    if (mdqr::thread_index() < 40)
        return;
    mdqr::sync_warp();
    mdqr::sync_threads();
    p.out[mdqr::thread_index()] = 1.0;
}
MDQR_KERNEL(unwritten, arguments, 64) {
    p.out[mdqr::thread_index()] = mdqr::shared_memory()[mdqr::thread_index()];
}
MDQR_KERNEL(unordered, arguments, 64) {
    double* const shared = mdqr::shared_memory();
    shared[mdqr::thread_index()] = mdqr::thread_index();
    p.out[mdqr::thread_index()] = shared[63 - mdqr::thread_index()];
}
MDQR_KERNEL(multiplied, arguments, 64) {
    const double x = p.out[mdqr::thread_index()];
    double by_matrices[4] = {x, -x, x * x, 1.0}, by_lanes[4] = {x, -x, x * x, 1.0};
    for (int k = 0; k < 3; ++k) {
        mdqr::matrix_multiply_add(by_matrices, x, x + k, x - k);
        mdqr::multiply_add_by_lanes(by_lanes, x, x + k, x - k);
    }
    double differ = 0.0;
    for (int i = 0; i < 4; ++i)
        differ += by_matrices[i] != by_lanes[i];
    p.out[mdqr::thread_index()] = differ;
}
"""


class ProbeKernels(EmulatedKernels):
    """The kernels above."""

    def _compile(self, module):
        source, file = self._folder / "probe.cu", self._folder / "probe.so"
        source.write_text(SOURCE)
        build(file, source, f"-I{kernels_folder() / 'cuda'}", after=[self._fibers])
        return ctypes.CDLL(str(file))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Return a function that runs a kernel and returns what its 64 threads wrote."""
    kernels = ProbeKernels(tmp_path_factory.mktemp("probe"))

    def run_kernel(name, shared=0, given=0.0):
        out = np.full(64, given)
        arguments = np.array([out.ctypes.data])
        kernels.launch(
            Module("probe", Kind(1, False)), name, arguments, grid=(1,), threads=64, shared=shared
        )
        return out

    return run_kernel


def test_exchanges_one_after_another(run):
    thread = np.arange(64)
    np.testing.assert_array_equal(run("rotated"), thread // 32 * 32 + (thread + 5) % 32)


def test_threads_that_meet_at_different_places_never_end(run):
    with pytest.raises(AssertionError, match="apart: 64 threads wait for others that never come"):
        run("apart")
    # The next launch is none the worse for it.
    assert run("left").sum() == 24


def test_threads_that_have_left_count_as_arrived(run):
    np.testing.assert_array_equal(run("left"), np.arange(64) >= 40)


def test_shared_memory_that_nobody_wrote_is_nan(run):
    assert np.isnan(run("unwritten", 8 * 64)).all()
    # As what others have not written yet.
    assert np.isnan(run("unordered", 8 * 64)[:32]).all()


def test_steps_without_tensor_cores_are_those_of_the_emulation(run, rng):
    """Which are those of the tensor cores: sums in the order of the terms."""
    assert not run("multiplied", given=rng.standard_normal(64)).any()
