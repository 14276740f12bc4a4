"""Kernels of CuPy's own, compiled by other processes before they are asked for.

CuPy compiles a kernel where an operation first comes for types and layouts, in this process and one
after the other. Here threads make small calls that need the same kernels, see `examples`. The
processes of `cubins` do what CuPy compiles on these threads, and what another thread needs
meanwhile, by CuPy's source and options; CuPy loads and keeps the code as its own.
"""

from __future__ import annotations

import atexit
import inspect
import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from types import ModuleType
from typing import Any
from weakref import WeakSet, finalize

from mdqr._backend.cuda.runtime import examples
from mdqr._backend.cuda.runtime.cubins import Cubins, Job, processes

# CuPy's class of compilations, which no documentation names, and its method: where they differ,
# nothing is compiled ahead.
_CLASS, _PARAMETERS = "_NVRTCProgram", ["self", "options", "log_stream"]
# Seconds after which a thread that waits looks whether Python ends.
_TURN = 0.1

_ends = threading.Event()
_threads: WeakSet[threading.Thread] = WeakSet()

_Key = tuple[str, tuple[str, ...]]  # source and options
_Code = tuple[bytes, None]


class _Ended(Exception):
    """Python ends, and nobody needs the kernel."""


class CupyCompilations:
    """CuPy's compilations on the threads of examples.

    Parameters
    ----------
    xp : module
        CuPy.
    cubins : Cubins
        Whose processes compile.
    """

    def __init__(self, xp: ModuleType, cubins: Cubins) -> None:
        self._xp, self._cubins = xp, cubins
        self._lock = threading.Lock()
        self._running: dict[_Key, _Compilation] = {}
        self._of_thread = threading.local()
        self._unfinished = 0
        self._original: Callable[..., Any] | None = None
        self.compiled = 0  # kernels

    @cached_property
    def is_possible(self) -> bool:
        """True if CuPy's compilations can be made elsewhere."""
        return compilations(self._xp) is not None

    @cached_property
    def _folder(self) -> Path:
        folder = mkdtemp(prefix="mdqr-")
        # What another process writes when this one has ended finds no folder.
        finalize(self, rmtree, folder, ignore_errors=True)
        return Path(folder)

    def expect(self, texts: Sequence[str], device: int) -> list[Future[None]]:
        """Start to make examples on a device; returns without waiting.

        Nothing is started if CuPy has kept the kernels of all of them.
        """
        if not texts or not self.is_possible or _ends.is_set():
            return []
        mark = self._mark(texts, device)
        if mark.exists():
            return []
        with self._lock:
            if not self._unfinished:
                self._put(self._compiled)
            self._unfinished += len(texts)
        work = _Work(texts, mark)
        for _ in range(min(processes(), len(texts))):
            thread = threading.Thread(
                target=self._serve, args=(work, device), name="mdqr-cupy", daemon=True
            )
            _threads.add(thread)
            thread.start()
        return work.futures

    def _serve(self, work: _Work, device: int) -> None:
        while (found := work.next()) is not None:
            text, future = found
            self._make(text, device)
            work.finish(future)

    def _mark(self, texts: Sequence[str], device: int) -> Path:
        """Return a file in the folder of CuPy's kernels, so that both are deleted together."""
        given = os.environ.get("CUPY_CACHE_DIR")
        folder = Path(given) if given else Path.home() / ".cupy" / "kernel_cache"
        number = self._xp.cuda.Device(device).compute_capability
        parts = [self._xp.__version__, str(self._xp.cuda.nvrtc.getVersion()), number, *texts]
        return folder / f"mdqr-{sha256(chr(10).join(parts).encode()).hexdigest()[:40]}"

    def _make(self, text: str, device: int) -> None:
        self._of_thread.keys = []
        cuda = self._xp.cuda
        try:
            # Another CuPy may not know the call, and then does not need its kernel.
            with suppress(Exception), cuda.Device(device), cuda.Stream(non_blocking=True) as stream:
                if not _ends.is_set():
                    examples.run(self._xp, text)
                    stream.synchronize()
        finally:
            with self._lock:
                for key in self._of_thread.keys:
                    self._running.pop(key, None)
                self._unfinished -= 1
                if not self._unfinished:
                    self._put(None)

    def _put(self, compiled: Callable[..., Any] | None) -> None:
        """Let CuPy compile by a function, or by its own method for None."""
        program = compilations(self._xp)
        if program is None:
            return
        if compiled is None:
            program.compile = self._original
            return
        original = self._original = program.compile

        def stand_in(self: Any, options: Any = (), log_stream: Any = None) -> Any:
            code = compiled(self, tuple(options)) if log_stream is None else None
            return original(self, options, log_stream) if code is None else code

        program.compile = stand_in

    def _compiled(self, program: Any, options: tuple[str, ...]) -> _Code | None:
        """Return what CuPy's compilation is to return, or None if it is to do it itself."""
        source, method = getattr(program, "src", None), getattr(program, "method", None)
        # CuPy compiles an empty program to learn the version of the compiler.
        is_plain = method == "cubin" or (method == "ptx" and source == "")
        if source is None or not is_plain or getattr(program, "name_expressions", True):
            return None
        key, keys = (source, options), getattr(self._of_thread, "keys", None)
        with self._lock:
            found = self._running.get(key)
            if found is None:
                if keys is None:
                    return None
                found = self._running[key] = self._start(key)
                keys.append(key)
        if keys is None:
            self._cubins.pool.hurry(found.job)
        return found.result(is_needed=keys is None)

    def _start(self, key: _Key) -> _Compilation:
        source, options = key
        name = sha256("\n".join([source, *options]).encode()).hexdigest()[:40]
        file = self._folder / name
        self.compiled += bool(source)
        job = Job(str(file), source, list(options))
        # Short ones before long ones: they are as likely to be needed.
        return _Compilation(self._cubins.pool.add(job, first=True))


class _Compilation:
    """A compilation, whose file is read once."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self._lock = threading.Lock()
        self._code: bytes | None = None

    def result(self, *, is_needed: bool) -> _Code | None:
        """Wait for the machine code; None after an error, which CuPy then finds itself."""
        while not self.job.done.wait(_TURN):
            if _ends.is_set() and not is_needed:
                raise _Ended
        with self._lock, suppress(OSError):
            if self._code is None and self.job.error is None:
                file = Path(self.job.file)
                self._code = file.read_bytes()
                file.unlink()
        return None if self._code is None else (self._code, None)


class _Work:
    """Examples of one call for threads to make, and the file that marks all as made."""

    def __init__(self, texts: Sequence[str], mark: Path) -> None:
        self.futures: list[Future[None]] = [Future() for _ in texts]
        self._waiting = deque(zip(texts, self.futures, strict=True))
        self._unfinished, self._mark = len(texts), mark
        self._lock = threading.Lock()

    def next(self) -> tuple[str, Future[None]] | None:
        """Return the next example, or None after the last."""
        with self._lock:
            return self._waiting.popleft() if self._waiting else None

    def finish(self, future: Future[None]) -> None:
        """Mark an example as made."""
        with self._lock:
            self._unfinished -= 1
            is_last = not self._unfinished
        # CuPy keeps nothing where there is no folder.
        if is_last and not _ends.is_set() and self._mark.parent.is_dir():
            with suppress(OSError):
                self._mark.touch()
        future.set_result(None)


def compilations(xp: ModuleType) -> Any:
    """Return CuPy's class of compilations, or None if it is not as expected."""
    program = getattr(xp.cuda.compiler, _CLASS, None)
    method = getattr(program, "compile", None)
    if method is None or list(inspect.signature(method).parameters) != _PARAMETERS:
        return None
    return program


@atexit.register
def _end() -> None:
    """Let no thread be in CuPy when Python ends."""
    _ends.set()
    for thread in list(_threads):
        thread.join()
