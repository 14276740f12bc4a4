"""NVRTC, the compiler of CUDA C++, by ctypes.

Run as a program this compiles for another process, which writes one job a line. It imports neither
mdqr nor NumPy nor CuPy: a program starts in 20 ms, and needs no memory of a device.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from collections.abc import Sequence


class Compiler:
    """NVRTC of one library.

    Parameters
    ----------
    library : str
        Its path, or a name that the loader finds.
    """

    def __init__(self, library: str) -> None:
        self._library = ctypes.CDLL(library)
        self._library.nvrtcGetErrorString.restype = ctypes.c_char_p

    def version(self) -> tuple[int, int]:
        """Return the version, major and minor."""
        major, minor = ctypes.c_int(), ctypes.c_int()
        self._call("Version", ctypes.byref(major), ctypes.byref(minor))
        return major.value, minor.value

    def architectures(self) -> list[int]:
        """Return the architectures that it compiles for, such as 90."""
        count = ctypes.c_int()
        self._call("GetNumSupportedArchs", ctypes.byref(count))
        found = (ctypes.c_int * count.value)()
        self._call("GetSupportedArchs", found)
        return sorted(found)

    def compile(self, source: str, options: Sequence[str]) -> bytes:
        """Return the machine code, or PTX if the options name a virtual architecture.

        Raises
        ------
        RuntimeError
            With the log of the compiler.
        """
        program = ctypes.c_void_p()
        text = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
        self._call(
            "CreateProgram", ctypes.byref(program), source.encode(), b"mdqr.cu", 0, None, None
        )
        try:
            if self._library.nvrtcCompileProgram(program, len(options), text):
                raise RuntimeError(self._text(program, "ProgramLog").decode(errors="replace"))
            is_virtual = any(option.startswith("-arch=compute") for option in options)
            return self._text(program, "PTX" if is_virtual else "CUBIN")
        finally:
            self._call("DestroyProgram", ctypes.byref(program))

    def _text(self, program: ctypes.c_void_p, what: str) -> bytes:
        size = ctypes.c_size_t()
        self._call(f"Get{what}Size", program, ctypes.byref(size))
        found = ctypes.create_string_buffer(size.value)
        self._call(f"Get{what}", program, found)
        return found.raw if what == "CUBIN" else found.raw.rstrip(b"\0")

    def _call(self, name: str, *arguments: object) -> None:
        error = getattr(self._library, f"nvrtc{name}")(*arguments)
        if error:
            said = self._library.nvrtcGetErrorString(error).decode()
            raise RuntimeError(f"NVRTC cannot do nvrtc{name}: {said}")


def write(path: str, data: bytes) -> None:
    """Write a file that others see whole or not at all."""
    unfinished = f"{path}.{os.getpid()}"
    with open(unfinished, "wb") as file:
        file.write(data)
    os.replace(unfinished, path)


def do(compiler: Compiler, line: str) -> str:
    """Do the job of a line, and return nothing or what went wrong."""
    job = json.loads(line)
    try:
        write(job["file"], compiler.compile(job["source"], job["options"]))
    except (RuntimeError, OSError) as error:
        return str(error) or type(error).__name__
    return ""


def _serve(library: str) -> None:
    """Do the jobs of the standard input until it ends; answer each by a line."""
    compiler = Compiler(library)
    for line in sys.stdin:
        said = json.dumps(do(compiler, line))
        try:
            print(said, flush=True)
        except BrokenPipeError:
            os._exit(0)  # who asked has ended


if __name__ == "__main__":
    _serve(sys.argv[1])
