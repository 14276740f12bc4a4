"""Machine code of modules: on disk, or compiled by other processes.

NVRTC compiles one module at a time in a process, so that threads gain nothing. Here a few processes
compile the modules of a call ahead of time, those that a launch waits for first.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from tempfile import mkdtemp
from typing import NamedTuple

from mdqr._backend.cuda.runtime import nvrtc
from mdqr._backend.sources import digest, kernels_folder
from mdqr._limbs.planes import Kind

FLAGS = ("-std=c++17", "--fmad=false")
# As CuPy does: older releases take no lambdas without the first. The second makes zeros of
# subnormal float32 numbers; panels rely on it, as their reciprocal roots do the same.
_NVRTC_FLAGS = ("--device-as-default-execution-space", "-ftz=true")
# The kernels of small systems are so long that the first calls take code that is ready in a tenth
# of the processor time, and runs longer. The macro keeps loops and functions, see
# mdqr/small/team.hpp.
_QUICK = ("--Ofast-compile=mid", "--split-compile=0", "--ptxas-options=-O1", "-DMDQR_QUICK")
_LONG_SOURCES, _QUICK_SINCE = "small/", (12, 9)
_MOST_PROCESSES = 16
# Seconds that a process waits for more.
_LINGER = 2.0


class Module(NamedTuple):
    """The source of a module: ``kernels/cuda/<source>.cu`` and its macros."""

    source: str
    kind: Kind
    defines: tuple[str, ...] = ()

    @property
    def options(self) -> tuple[str, ...]:
        """The macros as compiler options."""
        limbs, is_complex = self.kind
        names = (f"MDQR_LIMBS={limbs}", f"MDQR_COMPLEX={int(is_complex)}", *self.defines)
        return tuple(f"-D{name}" for name in names)


class Target(NamedTuple):
    """The target of a compilation: a value of -arch, and a macro for planned launches."""

    arch: str
    options: tuple[str, ...] = ()


def folder() -> Path:
    """Return the folder of machine code: in the folder of CuPy's cache, if that is set."""
    given = os.environ.get("CUPY_CACHE_DIR")
    if given:
        return Path(given) / "mdqr"
    caches = os.environ.get("XDG_CACHE_HOME")
    return (Path(caches) if caches else Path.home() / ".cache") / "mdqr" / "kernels"


def _usable(wanted: Path) -> Path:
    """Return a folder that can be written: `wanted`, or a new one for this process."""
    try:
        wanted.mkdir(parents=True, exist_ok=True)
    except OSError:
        return Path(mkdtemp(prefix="mdqr-"))
    return wanted if os.access(wanted, os.W_OK) else Path(mkdtemp(prefix="mdqr-"))


def kept() -> tuple[Path, int, int]:
    """Return the folder, and how many files it has and of how many bytes."""
    sizes = [file.stat().st_size for file in folder().glob("*.cubin")]
    return folder(), len(sizes), sum(sizes)


def arch_of(capability: tuple[int, int], known: Sequence[int]) -> str:
    """Return the value of -arch for a device, of those that a compiler supports.

    Code for an earlier device of the same major version runs; a device newer than the compiler gets
    PTX, which the driver compiles.
    """
    number = 10 * capability[0] + capability[1]
    below = [arch for arch in known if arch <= number]
    if not below:
        raise RuntimeError(f"the compiler of CUDA {known} supports nothing below {capability}")
    most = max(below)
    return f"sm_{most}" if most // 10 == capability[0] else f"compute_{most}"


def library() -> str:
    """Return the path of NVRTC: that which the process has loaded, else a name for the loader."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
            paths = {line.split(maxsplit=5)[-1].strip() for line in maps if "libnvrtc.so" in line}
    except OSError:
        paths = set()
    return min(paths, default="libnvrtc.so")


class Cubins:
    """Machine code for modules, of one compiler.

    Parameters
    ----------
    compiler_library : str
        See `nvrtc.Compiler`.
    announce : callable
        Called with a module for which the caller has waited for a second.
    """

    def __init__(self, compiler_library: str) -> None:
        self._library = compiler_library
        self.pool = Pool(compiler_library)
        self._folder = _usable(folder())

    @cached_property
    def _compiler(self) -> nvrtc.Compiler:
        return nvrtc.Compiler(self._library)

    @cached_property
    def _digest(self) -> str:
        # A changed header is another key, as are other flags.
        kernels = kernels_folder()
        found = [digest(kernels, "include"), digest(kernels, "cuda")]
        return "\n".join([*found, *FLAGS, *_NVRTC_FLAGS, "{}.{}".format(*self._version)])

    def _has_quick(self, module: Module) -> bool:
        return module.source.startswith(_LONG_SOURCES) and self._version >= _QUICK_SINCE

    @cached_property
    def _version(self) -> tuple[int, int]:
        return self._compiler.version()

    @cached_property
    def architectures(self) -> list[int]:
        """The architectures of the compiler, such as 90."""
        return self._compiler.architectures()

    def file(self, module: Module, target: Target, *, quick: bool = False) -> Path:
        """Return the file of the machine code, written or not; `quick` code is for first calls."""
        options = (*module.options, *target.options, *(_QUICK if quick else ()))
        key = sha256("\n".join([self._digest, module.source, target.arch, *options]).encode())
        return self._folder / f"{key.hexdigest()[:40]}.cubin"

    def get(self, module: Module, target: Target) -> tuple[bytes, bool]:
        """Return the machine code of a module, compiling it if need be.

        The second result is false for code that is replaced when better one is ready.
        """
        file, has_quick = self.file(module, target), self._has_quick(module)
        if not file.exists():
            if has_quick:
                early = self._quick(module, target)
                self._job(module, target, later=True)
                return early, False
            self._job(module, target, waits=True).result()
        return file.read_bytes(), True

    def _quick(self, module: Module, target: Target) -> bytes:
        file = self.file(module, target, quick=True)
        if not file.exists():
            self._job(module, target, waits=True, quick=True).result()
        return file.read_bytes()

    def expect(
        self, modules: Iterable[Module], target: Target, *, quick: bool = False
    ) -> list[Job]:
        """Compile the `modules` that are not on disk; returns without waiting.

        With `quick`, code for first calls comes before the code that is kept.
        """
        missing = [module for module in modules if not self.file(module, target).exists()]
        long = [module for module in missing if quick and self._has_quick(module)]
        first = [
            self._job(module, target, quick=True)
            for module in long
            if not self.file(module, target, quick=True).exists()
        ]
        rest = [self._job(module, target) for module in missing if module not in long]
        return [*first, *rest, *(self._job(module, target, later=True) for module in long)]

    def _job(
        self,
        module: Module,
        target: Target,
        *,
        waits: bool = False,
        later: bool = False,
        quick: bool = False,
    ) -> Job:
        kernels = kernels_folder()
        source = (kernels / "cuda" / f"{module.source}.cu").read_text()
        includes = [f"-I{kernels / 'include'}", f"-I{kernels / 'cuda'}"]
        flags = (*FLAGS, *_NVRTC_FLAGS, *(_QUICK if quick else ()), f"-arch={target.arch}")
        options = [*flags, *includes, *module.options, *target.options]
        file = self.file(module, target, quick=quick)
        return self.pool.add(Job(str(file), source, options), first=waits, later=later)


class Job:
    """A module that is compiled by another process."""

    def __init__(self, file: str, source: str, options: list[str]) -> None:
        self.line = json.dumps({"file": file, "source": source, "options": options}) + "\n"
        self.file = file
        self.error: BaseException | None = None
        self.done = threading.Event()

    def result(self) -> None:
        """Wait for it, and raise what went wrong."""
        self.done.wait()
        if self.error is not None:
            raise self.error


class Pool:
    """Processes that compile, each with a thread that feeds it."""

    def __init__(self, compiler_library: str) -> None:
        self._library = compiler_library
        self._changed = threading.Condition()
        self._waiting: list[Job] = []
        self._later: list[Job] = []  # when nothing else is compiled
        self._running = 0
        self._jobs: dict[str, Job] = {}
        self._processes = 0  # that are started
        self._idle = 0

    def add(self, job: Job, *, first: bool = False, later: bool = False) -> Job:
        """Return the job that writes the same file: `job`, or an unfinished one.

        It goes ahead of others if it is to be the first, and waits for all others if later.
        """
        with self._changed:
            known = self._jobs.get(job.file)
            if known is None:
                known = self._jobs[job.file] = job
                (self._later if later else self._waiting).append(job)
                if self._idle < len(self._waiting) + len(self._later):
                    self._start_one()
            if first:
                self._put_first(known)
            self._changed.notify_all()
            return known

    def hurry(self, job: Job) -> None:
        """Let a job go ahead of others, if it waits."""
        with self._changed:
            self._put_first(job)

    def _put_first(self, job: Job) -> None:
        for waiting in (self._waiting, self._later):
            if job in waiting:
                waiting.remove(job)
                self._waiting.insert(0, job)
                return

    def _start_one(self) -> None:
        if self._processes < processes():
            self._processes += 1
            threading.Thread(target=self._feed, name="mdqr-compile", daemon=True).start()

    def _has_work(self) -> bool:
        return bool(self._waiting or (self._later and not self._running))

    def _next(self) -> Job | None:
        with self._changed:
            self._idle += 1
            while not self._changed.wait_for(self._has_work, timeout=_LINGER) and self._later:
                pass
            self._idle -= 1
            if not self._has_work():
                self._processes -= 1
                return None
            self._running += 1
            return (self._waiting or self._later).pop(0)

    def _feed(self) -> None:
        process = None
        while (job := self._next()) is not None:
            try:
                process = process or _start(self._library)
                said = _ask(process, job)
            except OSError:
                _end(process)
                process, said = None, self._here(job)
            job.error = RuntimeError(f"a kernel does not compile: {said}") if said else None
            with self._changed:
                del self._jobs[job.file]
                self._running -= 1
                self._changed.notify_all()
            job.done.set()
        _end(process)

    def _here(self, job: Job) -> str:
        """Compile in this process: no other can be started, or it was ended."""
        try:
            return nvrtc.do(nvrtc.Compiler(self._library), job.line)
        except (OSError, RuntimeError) as error:
            return str(error) or type(error).__name__


def processes() -> int:
    """Return the number of processes that compile at the same time."""
    if hasattr(os, "sched_getaffinity"):
        count = len(os.sched_getaffinity(0))
    else:
        count = os.cpu_count() or 1
    return min(count, _MOST_PROCESSES)


def _start(compiler_library: str) -> subprocess.Popen[str]:
    if not sys.executable:
        raise OSError("no Python was found that compiles kernels: sys.executable is empty")
    return subprocess.Popen(
        [sys.executable, "-I", "-S", nvrtc.__file__, compiler_library],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def _ask(process: subprocess.Popen[str], job: Job) -> str:
    """Return the answer of the process: empty, or an error."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(job.line)
    process.stdin.flush()
    answer = process.stdout.readline()
    if not answer:
        raise OSError("the process that compiles kernels has ended without an answer")
    return str(json.loads(answer))


def _end(process: subprocess.Popen[str] | None) -> None:
    if process is None:
        return
    for stream in (process.stdin, process.stdout):
        assert stream is not None
        with suppress(OSError):
            stream.close()
    process.wait()
