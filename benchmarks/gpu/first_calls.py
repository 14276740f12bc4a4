"""Times of first calls on a GPU: new processes with empty caches, and what they compile.

``python -m benchmarks.gpu.first_calls CALL [PRECISION [FIELD]]`` makes one first call in this
process; ``... record [SECONDS [CALL ...]]`` makes all of them, or some, and writes what each
launched to `calls.json` and `examples.json` in `mdqr/_backend/cuda/runtime`; ``... times
[CALL:PRECISION ...]`` prints a line for each.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from benchmarks.gpu.cupy_examples import Loaded, confirmed, signature_of

# A function, and the shapes of its operands.
CALLS: dict[str, tuple[str, list[tuple[int, ...]]]] = {
    "matmul": ("matmul", [(1024, 1024), (1024, 1024)]),
    "qr": ("qr", [(1024, 1024)]),
    "lstsq": ("lstsq_small", [(50, 10), (50,)]),
    "lstsq 600": ("lstsq", [(1000, 600), (1000,)]),
    "solve": ("solve_small", [(20, 20), (20,)]),
    "solve 96": ("solve_middle", [(96, 96), (96,)]),
    "solve 512": ("solve", [(512, 512), (512,)]),
    "inv": ("inv", [(512, 512)]),
    "det": ("det", [(100, 100)]),
    "lu_factor": ("lu_factor", [(512, 512)]),
    "cholesky": ("cholesky", [(512, 512)]),
    "eigh": ("eigh", [(256, 256)]),
    "svd": ("svd", [(256, 256)]),
    "curve_fit": ("curve_fit", []),
    "paths": ("paths", []),
}
# Calls for real numbers alone, and those of no function with kernels of its own.
ONLY_REAL, NOT_RECORDED = ("curve_fit", "solve 96"), ("paths",)
RECORDED = [("dd", "real"), ("qd", "real"), ("od", "real"), ("qd", "complex")]
TIMED = ["matmul:qd", "qr:qd", "lstsq:qd", "solve:qd", "eigh:qd", "svd:qd", "qr:od", "lstsq:dd"]


def measure(call: str, precision: str, field: str, *, alone: bool = False) -> dict[str, Any]:
    """Make one call, and return what it took and loaded.

    With `alone`, CuPy compiles its kernels itself, which tells all that there are.
    """
    import cupy

    from mdqr._backend.cuda.backend import backend
    from mdqr._backend.cuda.runtime import calls, examples
    from mdqr._backend.cuda.runtime.kernels import CupyKernels

    if alone:
        examples.TABLE.needed.clear()
    cupy.zeros(3).sum()  # the context, whose start is no matter of mdqr
    noted = Loaded(cupy)
    work = prepared(call, precision, complex if field == "complex" else float)
    cupy.cuda.Device().synchronize()
    before, begin = len(noted.kernels), time.perf_counter()
    work()
    cupy.cuda.Device().synchronize()
    took, first = time.perf_counter() - begin, noted.kernels[before:]
    begin = time.perf_counter()
    work()
    cupy.cuda.Device().synchronize()
    again = time.perf_counter() - begin
    kernels = backend().kernels
    assert isinstance(kernels, CupyKernels)
    used = sorted(map(calls.name_of, kernels.launched))
    return {"seconds": took, "again": again, "cupy": first, "modules": used,
            "sources": [source for source, _, _ in noted.kernels],
            "function": CALLS[call][0]}  # fmt: skip


def prepared(call: str, precision: str, dtype: type) -> Callable[[], Any]:
    """Return a call with its operands on the device."""
    import numpy as np

    import mdqr
    from benchmarks.gpu import fits, paths
    from mdqr._backend.cuda.runtime import calls
    from mdqr._precision import as_precision

    name, shapes = CALLS[call]
    function = calls.function_of(name)
    if function == "curve_fit":
        p = as_precision(precision)
        return partial(fits.fits, "MGH10", *fits.data_of("MGH10", 20, p, "cuda"), p)
    if function == "paths":
        return paths.sweep(as_precision(precision), 250)
    rng = np.random.default_rng(1)
    given = [mdqr.random.normal(s, precision=precision, rng=rng, dtype=dtype) for s in shapes]
    if function in ("eigh", "cholesky"):
        given = [given[0] + given[0].mT.conj()]
    if function == "cholesky":
        given = [given[0] + 100 * mdqr.eye(shapes[0][0], precision=precision)]
    return partial(getattr(mdqr.linalg, function), *(x.to_device("cuda") for x in given))


def in_new_process(caches: str, *options: str, given: str = "") -> Any:
    """Return what this program finds in a new process, with caches in a folder."""
    environment = os.environ | {
        "CUPY_CACHE_DIR": f"{caches}/cupy",
        "CUDA_CACHE_PATH": f"{caches}/cuda",
        "XDG_CACHE_HOME": caches,
    }
    command = [sys.executable, "-m", "benchmarks.gpu.first_calls", *options]
    done = subprocess.run(
        command, env=environment, input=given, capture_output=True, text=True, check=False
    )
    if done.returncode:
        return {"error": done.stderr[-600:]}
    return json.loads(done.stdout.splitlines()[-1])


def record(seconds: float, names: Collection[str]) -> Iterator[str]:
    """Make calls, some at a time, and write the files; yield what went wrong.

    What other calls need stays as the files have it.
    """
    from mdqr._backend.cuda.runtime import calls, examples
    from mdqr._backend.cuda.runtime.calls import call_of
    from mdqr._limbs.planes import Kind
    from mdqr._precision import as_precision

    end = time.monotonic() + seconds
    used: dict[str, set[str]] = {}
    sources: dict[str, set[str]] = {}
    with (
        tempfile.TemporaryDirectory() as caches,
        ThreadPoolExecutor(max(8, (os.cpu_count() or 1) // 2)) as pool,
    ):

        def one(*what: str) -> tuple[tuple[str, ...], Any]:
            late = time.monotonic() > end
            return what, {"error": "late"} if late else in_new_process(caches, *what, "alone")

        jobs = [
            pool.submit(one, call, *kind)
            for kind in RECORDED
            for call in names
            if call not in NOT_RECORDED and (call not in ONLY_REAL or kind[1] == "real")
        ]
        for job in jobs:
            (call, precision, field), found = job.result()
            if "error" in found:
                yield f"{call} {precision} {field}: {found['error']}"
                continue
            kind = Kind(as_precision(precision).limbs, field == "complex")
            name = call_of(CALLS[call][0], kind)
            used.setdefault(name, set()).update(found["modules"])
            sources.setdefault(name, set()).update(found["sources"])
        wanted = sorted(set().union(*sources.values()))
        # Nearly all kernels that are tried are those that were compiled.
        texts = in_new_process(caches, "examples", given=json.dumps(wanted))
    found_texts = {name: {texts[s] for s in of if s in texts} for name, of in sources.items()}
    calls.TABLE.write(calls.TABLE.needed | used)
    examples.TABLE.write(examples.TABLE.needed | found_texts)
    for source in wanted:
        if source not in texts:
            yield f"no example: {signature_of(source)}"


def times(names: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield first calls one after the other, each with empty caches."""
    for name in names:
        call, precision = name.rsplit(":", 1)
        with tempfile.TemporaryDirectory() as caches:
            yield name, in_new_process(caches, call, precision, "real")


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
        for said in record(float([*more, 600.0][0]), more[1:] or [*CALLS]):
            print(said)
    elif what == "times":
        for name, found in times(more or TIMED):
            print(line(name, found), flush=True)
    elif what == "examples":
        import cupy

        print(json.dumps(confirmed(cupy, json.load(sys.stdin))))
    else:
        precision, field = [*more, "qd", "real"][0], [*more[1:], "real"][0]
        print(json.dumps(measure(what, precision, field, alone="alone" in more)))


if __name__ == "__main__":
    main(sys.argv[1:])
