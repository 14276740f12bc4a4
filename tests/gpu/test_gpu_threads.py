"""Calls in threads that CUDA has not met before: the limbs of the main thread, on every device."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Thread

import gpu_cases as cases
import numpy as np
import pytest

import mdqr
from mdqr import linalg, series, tensorcore
from mdqr.testing import assert_same_bits

pytestmark = pytest.mark.gpu


def _qr(a, b, method):
    return linalg.qr(a, method=method).Q


CALLS = {
    "add": lambda a, b: a + b,
    "multiply": lambda a, b: a * 3 + b,
    "exp": lambda a, b: mdqr.exp(a),
    "sum": lambda a, b: a.sum(axis=0),
    "sort": lambda a, b: mdqr.sort(a, axis=0),
    "astype": lambda a, b: a.astype("dd"),
    "direct product": lambda a, b: linalg.matmul(a, b, method="direct"),
    "exact product": lambda a, b: linalg.matmul(a, b, method="exact"),
    "vector": lambda a, b: a @ b[:, 0],
    "norm": lambda a, b: linalg.norm(a),
    "reflections": lambda a, b: _qr(a, b, "householder"),
    "refined": lambda a, b: _qr(a, b, "refine"),
    "R": lambda a, b: linalg.qr(a, "r"),
    "pivots": lambda a, b: linalg.qr(a, pivoting=True).R,
    "triangle": lambda a, b: linalg.solve_triangular(linalg.qr(a, "r"), b),
    "solve": lambda a, b: linalg.solve(a, b),
    "small": lambda a, b: linalg.solve(a[:8, :8], b[:8]),
    "small lstsq": lambda a, b: linalg.lstsq(a[:12, :5], b[:12]).x,
    "lstsq": lambda a, b: linalg.lstsq(a[:, :40], b).x,
    "lu": lambda a, b: linalg.lu_factor(a).lu,
    "cholesky": lambda a, b: linalg.cholesky(a @ a.H),
    "inv": lambda a, b: linalg.inv(a),
    "det": lambda a, b: linalg.det(a),
    "svdvals": lambda a, b: linalg.svdvals(a[:20, :20]),
    "eigvalsh": lambda a, b: linalg.eigvalsh((a + a.H)[:20, :20]),
    "update": lambda a, b: linalg.qr_update(*linalg.qr(a), b[:, 0], b[:, 1]).R,
    "insert": lambda a, b: linalg.qr_insert(*linalg.qr(a), b[:3], 2).R,
}
PRECISIONS = ("dd", "qd", "od")


def _in_new_threads(work, count=2):
    """Run `work` in threads of their own, one after the other; return what they returned."""
    found = []

    def call():
        try:
            found.append(work())
        except Exception as error:
            found.append(error)

    for _ in range(count):
        thread = Thread(target=call)
        thread.start()
        thread.join()
    for each in found:
        if isinstance(each, Exception):
            raise each
    return found


@pytest.fixture(params=range(2))
def device(cupy, request):
    """Skip where there is no such device."""
    if request.param >= cupy.cuda.runtime.getDeviceCount():
        pytest.skip("one GPU")
    return request.param


def _operands(precision, device):
    shape, where = (80, 80), f"cuda:{device}"
    return [
        mdqr.random.normal(shape, precision=precision, rng=seed, device=where) for seed in (1, 2)
    ]


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", CALLS)
def test_every_call_twice_in_new_threads(cupy, device, precision, name):
    """The first call of a layout records its launches, those behind it repeat them."""
    call = CALLS[name]
    with cupy.cuda.Device(device):
        a, b = _operands(precision, device)
        wanted = cases.to_host(call(a, b))

    def work():
        with cupy.cuda.Device(device):
            return [cases.to_host(call(a, b)) for _ in range(2)]

    starts_from_library = name in ("refined", "svdvals", "eigvalsh", "solve", "lstsq", "inv")
    for found in _in_new_threads(work):
        for each in found:
            if starts_from_library:
                error = abs(each - wanted).max() / abs(wanted).max()
                assert float(error) <= 2.0**20 * wanted.precision.eps
            else:
                assert_same_bits(each, wanted)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_pool_of_threads(cupy, precision):
    """Eight threads at once, on the default stream and on streams of their own."""
    names = ["add", "exp", "direct product", "exact product", "reflections", "small", "triangle"]
    a, b = _operands(precision, 0)
    wanted = {name: cases.to_host(CALLS[name](a, b)) for name in names}
    cupy.cuda.runtime.deviceSynchronize()

    def work(task):
        name, own = task
        if not own:
            return name, cases.to_host(CALLS[name](a, b))
        with cupy.cuda.Stream(non_blocking=True) as stream:
            found = CALLS[name](a, b)
            stream.synchronize()
            return name, cases.to_host(found)

    tasks = [(name, own) for own in (False, True) for name in names for _ in range(4)]
    with ThreadPoolExecutor(8) as pool:
        for name, found in pool.map(work, tasks):
            assert_same_bits(found, wanted[name])


def test_other_modules_in_new_threads(cupy):
    """Tensor cores, power series and least squares that are changed row by row."""
    rng = np.random.default_rng(3)
    a = cupy.asarray(rng.standard_normal((300, 200)))

    def factors():
        return [tensorcore.qr(a).R.get() for _ in range(3)]

    for found in _in_new_threads(factors):
        for each in found:
            assert np.abs(each - factors()[0]).max() <= 2.0**-10 * np.abs(each).max()

    system = series.System.from_strings(["x**2 + y**2 - 2 - t", "x - y"], ["x", "y"])

    def expanded():
        return [
            series.newton_series(system, [1, 1], degree=8, precision="qd", device="cuda").coeffs
            for _ in range(2)
        ]

    wanted = cases.to_host(expanded()[0])
    for found in _in_new_threads(expanded):
        for each in found:
            assert_same_bits(cases.to_host(each), wanted)
