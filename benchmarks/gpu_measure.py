"""Event timings on a GPU, data made there, and what a reader needs to compare two runs."""

from __future__ import annotations

import datetime
import platform
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from types import ModuleType
from typing import Any
from unittest import mock

from measure import Row, commit, table

import mdqr
from mdqr._backend.protocol import Block
from mdqr.linalg._factor import householder

LONGEST = 1.0  # seconds that the repeats of one timing may take


@cache
def cupy() -> ModuleType:
    """Return CuPy; the module can be imported where there is none."""
    import cupy

    return cupy


def draw(
    shape: tuple[int, ...], precision: mdqr.Precision, dtype: type = float, seed: int = 7
) -> mdqr.MDArray:
    """Return numbers with 1 <= abs(x) < 2 in each part and every limb filled, made on the GPU."""
    xp = cupy()
    state = xp.random.RandomState(seed)
    front = (2, precision.limbs) if dtype is complex else (precision.limbs,)
    block = 1.0 + state.random_sample((*front, *shape))
    block *= xp.where(state.random_sample(block.shape) < 0.5, -1.0, 1.0)
    for i in range(precision.limbs):
        # A limb of exponent E - 54 is below half an ulp of one of exponent E.
        part = block[:, i] if dtype is complex else block[i]
        part *= 2.0 ** (-54 * i)
    return mdqr.MDArray._wrap(block, precision, dtype is complex)


def milliseconds(call: Callable[[], Any], repeats: int) -> float:
    """Return the median time of a call between two events, after two calls that do not count."""
    xp = cupy()
    call()
    start = time.monotonic()
    call()
    xp.cuda.runtime.deviceSynchronize()
    once = time.monotonic() - start
    found = []
    for _ in range(max(1, min(repeats, int(LONGEST / max(once, 1e-6))))):
        before, after = xp.cuda.Event(), xp.cuda.Event()
        before.record()
        call()
        after.record()
        after.synchronize()
        found.append(xp.cuda.get_elapsed_time(before, after))
    return float(statistics.median(found))


class Phases:
    """Where the time of a factorisation goes; the innermost phase owns the time.

    An event at every boundary, so that nothing waits: they cost a few microseconds each.
    """

    def __init__(self) -> None:
        self.stack = ["rest"]
        self.events: list[tuple[str, Any]] = []
        self.launches = 0

    def boundary(self) -> None:
        """Note that what follows belongs to the innermost phase."""
        event = cupy().cuda.Event()
        event.record()
        self.events.append((self.stack[-1], event))

    def timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return `function` as the phase `name`, unless it is called inside of "T" or "Q"."""

        def run(*arguments: Any, **options: Any) -> Any:
            if self.stack[-1] == name or (self.stack[-1] in "TQ" and name == "updates"):
                return function(*arguments, **options)
            self.stack.append(name)
            self.boundary()
            try:
                return function(*arguments, **options)
            finally:
                self.stack.pop()
                self.boundary()

        return run

    def counted(self, launch: Callable[..., Any]) -> Callable[..., Any]:
        """Return `launch`, counted."""

        def run(*arguments: Any, **options: Any) -> Any:
            self.launches += 1
            return launch(*arguments, **options)

        return run

    @contextmanager
    def watch(self, backend: Any) -> Iterator[None]:
        """Time the factorisations inside of the block."""
        factors, kernels = householder.Factors, backend.kernels
        patches = (
            mock.patch.object(backend, "qr_panel", self.timed("panel", backend.qr_panel)),
            mock.patch.object(
                householder, "_factor_columns", self.timed("T", householder._factor_columns)
            ),
            mock.patch.object(factors, "reflect", self.timed("updates", factors.reflect)),
            mock.patch.object(factors, "form_q", self.timed("Q", factors.form_q)),
            mock.patch.object(kernels, "launch", self.counted(kernels.launch)),
        )
        for patch in patches:
            patch.start()
        try:
            self.boundary()
            yield
            self.boundary()
        finally:
            for patch in reversed(patches):
                patch.stop()

    def milliseconds(self) -> dict[str, float]:
        """Return the time of each phase."""
        self.events[-1][1].synchronize()
        found = dict.fromkeys(("panel", "T", "updates", "Q", "rest"), 0.0)
        for (name, first), (_, second) in zip(self.events, self.events[1:], strict=False):
            found[name] += cupy().cuda.get_elapsed_time(first, second)
        return found


def largest(block: Block, is_complex: bool, over: Any = None) -> float:
    """Return the largest modulus of first limbs, or of quotients by `over`."""
    xp = cupy()
    size = xp.hypot(block[0, 0], block[1, 0]) if is_complex else abs(block[0])
    return float((size if over is None else size / over).max())


def environment(command: str, given: str | None) -> dict[str, Any]:
    """Return the machine, the versions and the commit."""
    xp = cupy()
    runtime = xp.cuda.runtime
    device = runtime.getDeviceProperties(runtime.getDevice())
    driver = "unknown"
    if shutil.which("nvidia-smi"):
        query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
        driver = (subprocess.run(query, capture_output=True, text=True).stdout.split() or [driver])[
            0
        ]
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "command": command,
        "commit": given or commit(),
        "device": device["name"].decode(),
        "driver": driver,
        "CUDA": runtime.runtimeGetVersion(),
        "CuPy": xp.__version__,
        "Python": platform.python_version(),
        "mdqr": mdqr.__version__,
    }


def markdown(rows: list[Row], failures: dict[str, str], about: dict[str, Any]) -> str:
    """Return the rows as one table a group."""
    versions = ", ".join(
        f"{name} {about[name]}" for name in ("driver", "CUDA", "CuPy", "Python", "mdqr")
    )
    lines = [
        "# GPU benchmarks",
        "",
        f"`{about['command']}`, medians of event timings. {about['date']}, commit "
        f"{about['commit']}.",
        "",
        f"{about['device']}, {versions}.",
    ]
    for group in dict.fromkeys(row.group for row in rows):
        lines += ["", f"## {group.capitalize()}", "", *table(r for r in rows if r.group == group)]
    for group, error in failures.items():
        lines += ["", f"## {group.capitalize()} failed", "", "```", error.rstrip(), "```"]
    return "\n".join(lines) + "\n"
