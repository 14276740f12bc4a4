"""Times of first calls on a GPU: new processes with empty caches, and what they compile.

``python -m benchmarks.gpu.first_calls CALL [PRECISION [FIELD]]`` makes one first call in this
process; ``... record [SECONDS]`` makes all of them, and writes the modules that each launched to
`mdqr/_backend/cuda/runtime/calls.json`; ``... times [CALL:PRECISION ...]`` prints a line for each.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

# A function, and the shapes of its operands.
CALLS: dict[str, tuple[str, list[tuple[int, ...]]]] = {
    "matmul": ("matmul", [(1024, 1024), (1024, 1024)]),
    "qr": ("qr", [(1024, 1024)]),
    "lstsq": ("lstsq_small", [(50, 10), (50,)]),
    "lstsq 600": ("lstsq", [(1000, 600), (1000,)]),
    "solve": ("solve_small", [(20, 20), (20,)]),
    "solve 512": ("solve", [(512, 512), (512,)]),
    "inv": ("inv", [(512, 512)]),
    "det": ("det", [(100, 100)]),
    "lu_factor": ("lu_factor", [(512, 512)]),
    "cholesky": ("cholesky", [(512, 512)]),
    "eigh": ("eigh", [(256, 256)]),
    "svd": ("svd", [(256, 256)]),
    "curve_fit": ("curve_fit", []),
}
RECORDED = [("dd", "real"), ("qd", "real"), ("od", "real"), ("qd", "complex")]
TIMED = ["matmul:qd", "qr:qd", "lstsq:qd", "solve:qd", "eigh:qd", "svd:qd", "qr:od", "lstsq:dd"]


class Compiled:
    """Notes what CuPy compiles of its own, how long it takes and for which line of mdqr."""

    def __init__(self, cupy: Any) -> None:
        self.kernels: list[tuple[str, float, str]] = []
        compiler = cupy.cuda.compiler
        name = "_compile_using_nvrtc_no_warning"  # of CuPy 14
        name = name if hasattr(compiler, name) else "compile_using_nvrtc"
        self._compile = getattr(compiler, name)
        setattr(compiler, name, self)

    def __call__(self, source: str, *arguments: Any, **options: Any) -> Any:
        """Compile."""
        begin = time.perf_counter()
        found = self._compile(source, *arguments, **options)
        frames = [f for f in traceback.extract_stack() if "/mdqr/" in f.filename]
        place = f"{frames[-1].filename.split('/mdqr/')[-1]}:{frames[-1].lineno}" if frames else ""
        words = source.replace("(", " ").split()
        name = words[words.index("__global__") + 2] if "__global__" in words else words[0]
        self.kernels.append((name, time.perf_counter() - begin, place))
        return found


def measure(call: str, precision: str, field: str) -> dict[str, Any]:
    """Make one call, and return what it took and compiled."""
    import cupy

    from mdqr._backend.cuda.backend import backend
    from mdqr._backend.cuda.runtime import calls
    from mdqr._backend.cuda.runtime.kernels import CupyKernels

    cupy.zeros(3).sum()  # the context, whose start is no matter of mdqr
    work = prepared(call, precision, complex if field == "complex" else float)
    noted = Compiled(cupy)
    cupy.cuda.Device().synchronize()
    begin = time.perf_counter()
    work()
    cupy.cuda.Device().synchronize()
    took = time.perf_counter() - begin
    begin = time.perf_counter()
    work()
    cupy.cuda.Device().synchronize()
    again = time.perf_counter() - begin
    kernels = backend().kernels
    assert isinstance(kernels, CupyKernels)
    used = sorted(map(calls.name_of, kernels.launched))
    return {"seconds": took, "again": again, "cupy": noted.kernels, "modules": used,
            "function": CALLS[call][0]}  # fmt: skip


def prepared(call: str, precision: str, dtype: type) -> Callable[[], Any]:
    """Return a call with its operands on the device."""
    import numpy as np

    import mdqr
    from benchmarks.gpu import fits
    from mdqr._precision import as_precision

    name, shapes = CALLS[call]
    function = name.removesuffix("_small")
    if function == "curve_fit":
        p = as_precision(precision)
        return partial(fits.fits, "MGH10", *fits.data_of("MGH10", 20, p, "cuda"), p)
    rng = np.random.default_rng(1)
    given = [mdqr.random.normal(s, precision=precision, rng=rng, dtype=dtype) for s in shapes]
    if function in ("eigh", "cholesky"):
        given = [given[0] + given[0].mT.conj()]
    if function == "cholesky":
        given = [given[0] + 100 * mdqr.eye(shapes[0][0], precision=precision)]
    return partial(getattr(mdqr.linalg, function), *(x.to_device("cuda") for x in given))


def in_new_process(call: str, precision: str, field: str, caches: str) -> dict[str, Any]:
    """Return what `measure` finds in a new process, with caches in a folder."""
    environment = os.environ | {
        "CUPY_CACHE_DIR": f"{caches}/cupy",
        "CUDA_CACHE_PATH": f"{caches}/cuda",
        "XDG_CACHE_HOME": caches,
    }
    command = [sys.executable, "-m", "benchmarks.gpu.first_calls", call, precision, field]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        return {"error": done.stderr[-600:], "function": CALLS[call][0]}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def record(seconds: float) -> Iterator[str]:
    """Make all calls, some at a time, and write the file of modules; yield what went wrong."""
    from mdqr._backend.cuda.runtime import calls
    from mdqr._limbs.planes import Kind
    from mdqr._precision import as_precision

    end = time.monotonic() + seconds
    used: dict[str, set[Any]] = {}
    with tempfile.TemporaryDirectory() as caches, ThreadPoolExecutor(8) as pool:

        def one(call: str, precision: str, field: str) -> tuple[str, str, str, dict[str, Any]]:
            if time.monotonic() > end:
                return call, precision, field, {"error": "not reached"}
            return call, precision, field, in_new_process(call, precision, field, caches)

        jobs = [
            pool.submit(one, call, *kind)
            for kind in RECORDED
            for call in CALLS
            if call != "curve_fit" or kind[1] == "real"
        ]
        for job in jobs:
            call, precision, field, found = job.result()
            if "error" in found:
                yield f"{call} {precision} {field}: {found['error']}"
                continue
            kind = Kind(as_precision(precision).limbs, field == "complex")
            name = calls.call_of(found["function"], kind)
            used.setdefault(name, set()).update(map(calls.module_of, found["modules"]))
    calls.write(used)


def times(names: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield first calls one after the other, each with empty caches."""
    for name in names:
        call, precision = name.rsplit(":", 1)
        with tempfile.TemporaryDirectory() as caches:
            yield name, in_new_process(call, precision, "real", caches)


def line(name: str, found: dict[str, Any]) -> str:
    """Return a line about a first call."""
    if "error" in found:
        return f"{name}: {found['error']}"
    own = sum(seconds for _, seconds, _ in found["cupy"])
    return (
        f"{name:12} first {found['seconds']:6.2f} s, second {1e3 * found['again']:7.1f} ms; "
        f"{len(found['modules'])} modules; CuPy {len(found['cupy'])} in {own:.2f} s"
    )


def main(arguments: list[str]) -> None:
    """Do what the arguments say."""
    what, *more = arguments
    if what == "record":
        for said in record(float(more[0]) if more else 600.0):
            print(said)
    elif what == "times":
        for name, found in times(more or TIMED):
            print(line(name, found), flush=True)
    else:
        precision, field = [*more, "qd", "real"][0], [*more[1:], "real"][0]
        print(json.dumps(measure(what, precision, field)))


if __name__ == "__main__":
    main(sys.argv[1:])
