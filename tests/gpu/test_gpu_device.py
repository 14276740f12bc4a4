"""Streams, devices, memory, and that a factorisation does not wait for the device."""

from __future__ import annotations

import gc

import gpu_cases as cases
import numpy as np
import pytest

import mdqr
from mdqr.linalg import matmul, qr, qr_factor, solve_triangular
from mdqr.linalg._shared import checks
from mdqr.testing import assert_same_bits

pytestmark = pytest.mark.gpu

SPIN = r"""
extern "C" __global__ void spin(long long nanoseconds) {
    long long start, now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
    do {
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    } while (now - start < nanoseconds);
}
"""
SECOND = 1_000_000_000


@pytest.fixture(scope="module")
def spin(cupy):
    """Return a function that keeps the current stream busy for some seconds."""
    kernel = cupy.RawKernel(SPIN, "spin")

    def start(seconds):
        kernel((1,), (1,), (np.int64(int(seconds * SECOND)),))

    start(0)
    return start


def draw(precision, dtype, *shape):
    return mdqr.random.normal(shape, precision=precision, dtype=dtype, rng=1, device=cases.DEVICE)


CALLS = {
    "qr": lambda a: qr(a, check=False).Q,
    "r": lambda a: qr(a, "r", check=False),
    "qr_factor": lambda a: qr_factor(a, check=False).apply_qh(a),
    "add": lambda a: a + a,
    "number": lambda a: a * 3 + 0.5,
    "sum": lambda a: a.sum(axis=0),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls_return_before_the_device_is_done(cupy, spin, multiple, dtype, name):
    """A busy stream keeps every result from being there; the call returns none the less."""
    call = CALLS[name]
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        a = draw(multiple, dtype, 70, 50)
        wanted = call(a)  # compiles, fills the memory pool
        wanted = call(a)
        stream.synchronize()
        spin(0.5)
        found = call(a)
        assert not stream.done, f"{name} waited for the device"
        stream.synchronize()
        assert_same_bits(cases.to_host(found), cases.to_host(wanted))


@pytest.fixture
def transfers(monkeypatch):
    """The blocks that algorithms have read so far."""
    found = []
    read = checks.host_block

    def count(block):
        found.append(block)
        return read(block)

    monkeypatch.setattr(checks, "host_block", count)
    return found


@pytest.mark.parametrize("function", [qr, qr_factor])
def test_a_check_reads_the_device_once(transfers, multiple, dtype, function):
    a = draw(multiple, dtype, 70, 50)
    function(a)
    assert len(transfers) == 1
    function(a, check=False)
    assert len(transfers) == 1


@pytest.mark.parametrize(("rows", "reads"), [(40, 0), (900, 1)])
def test_a_long_product_reads_the_device_once(transfers, multiple, dtype, rows, reads):
    """It looks for limbs that are zero throughout, where that takes less time than it may save."""
    a = draw(multiple, dtype, rows, 50)
    matmul(a, a.T, method="direct")
    assert len(transfers) == reads


def test_work_goes_to_the_current_stream(cupy, spin, multiple, dtype):
    """Work on another stream would read the zeros from before the copy."""
    source = draw(multiple, dtype, 40, 40)
    wanted = [cases.to_host(v) for v in results(source)]
    a = mdqr.zeros_like(source)
    cupy.cuda.get_current_stream().synchronize()
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        spin(1)
        a.limbs[...] = source.limbs
        found = results(a)
        stream.synchronize()
        for x, y in zip(found, wanted, strict=True):
            assert_same_bits(cases.to_host(x), y)


def results(a):
    return [
        a + a * 2,
        mdqr.sqrt(mdqr.square(a.real)),
        matmul(a, a),
        qr(a, check=False).Q,
        solve_triangular(a, a[:, :3]),
        a.sum(axis=1),
        a.cumsum(axis=0),
    ]


def test_memory_comes_from_the_pool(cupy, multiple):
    pool = cupy.get_default_memory_pool()
    a = draw(multiple, float, 256, 256)
    for result in (a + a, matmul(a, a), qr(a, "r"), a.sum(axis=0)):
        assert isinstance(result.limbs.data.mem, cupy.cuda.memory.PooledMemory)
    gc.collect()  # what tests before have left in cycles
    before = pool.used_bytes()
    kept = a + a
    assert pool.used_bytes() - before >= kept.limbs.nbytes
    del kept
    assert pool.used_bytes() == before
    qr(a)
    assert pool.used_bytes() == before


@pytest.fixture
def little_memory(cupy):
    """Leave 64 MiB of the pool."""
    pool = cupy.get_default_memory_pool()
    limit = pool.get_limit()
    pool.free_all_blocks()
    pool.set_limit(size=pool.used_bytes() + 2**26)
    yield
    pool.set_limit(size=limit)


def test_out_of_memory_says_how_much_was_wanted(little_memory):
    with pytest.raises(MemoryError, match=r"no memory for 1 GiB.*on cuda.*take fewer values"):
        mdqr.zeros(2**24, precision=mdqr.od, device=cases.DEVICE)
    a = mdqr.zeros((1024, 512), precision=mdqr.od, device=cases.DEVICE)  # 32 MiB
    with pytest.raises(MemoryError, match=r"qr: no memory for about .* GiB; take mode"):
        qr(a)
    with pytest.raises(MemoryError, match=r"(?i)memory.*\d"):
        (a + 1) * (a + 2)
    assert float(a[0, 0]) == 0.0


def test_memory_that_no_machine_has():
    with pytest.raises(MemoryError, match=r"no memory for .* GiB: real values of shape"):
        mdqr.zeros((2**20, 2**20), precision=mdqr.od, device=cases.DEVICE)


def test_every_device(cupy, multiple):
    """Work on the last GPU of the machine, current or not."""
    number = cupy.cuda.runtime.getDeviceCount() - 1
    with cupy.cuda.Device(number):
        a = draw(multiple, float, 20, 10)
        assert a.device == f"cuda:{number}"
        Q, R = qr(a)
        assert {Q.device, R.device, (a + a).device} == {a.device}


def test_another_device_than_the_current(cupy, multiple):
    number = cupy.cuda.runtime.getDeviceCount() - 1
    if number == 0:
        pytest.skip("one GPU: nothing to mix, and no other device to be current")
    with cupy.cuda.Device(number):
        a = draw(multiple, float, 20, 10)
    with pytest.raises(ValueError, match="but the current device is"):
        a + a
    with pytest.raises(ValueError, match=r"different devices.*to_device"):
        draw(multiple, float, 20, 10) + a


def test_copies_between_devices_wait(cupy, spin, multiple):
    """The source is still being written when the copy is asked for, and overwritten after it."""
    if cupy.cuda.runtime.getDeviceCount() == 1:
        pytest.skip("one GPU: nothing to copy to")
    a = draw(multiple, float, 200, 100)
    wanted = cases.to_host(a)
    b = mdqr.zeros_like(a)
    with cupy.cuda.Stream(non_blocking=True):
        spin(0.5)
        b.limbs[...] = a.limbs
        copied = b.to_device("cuda:1")
        b.limbs[...] = 0.0
    with cupy.cuda.Device(1):
        cupy.cuda.get_current_stream().synchronize()
        assert_same_bits(cases.to_host(copied), wanted)


def test_a_triangle_reads_the_device_once(transfers, multiple, dtype):
    a = draw(multiple, dtype, 70, 70)
    solve_triangular(a, a[:, :3])
    assert len(transfers) == 1


def test_a_long_series_of_launches_keeps_its_order(cupy, multiple, dtype):
    """Hundreds of launches without waiting, each on the result of the last."""
    a = draw(multiple, dtype, 64)
    x, y = a.copy(), a.copy()
    for i in range(300):
        x += a
        if i % 10 == 9:
            cupy.cuda.get_current_stream().synchronize()
        y += a
    assert_same_bits(cases.to_host(x), cases.to_host(y))
