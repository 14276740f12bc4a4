"""The functions of cuBLAS for recordings: CuPy's refuse a stream that is being recorded."""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from types import ModuleType
from typing import Any

from mdqr._backend.cuda.vendor.cublas import Cublas

_POINTER, _INT = ctypes.c_void_p, ctypes.c_int
_MATRIX = (_POINTER, _INT)  # with its stride
_TYPED = (_POINTER, _INT, _INT)  # with its type and its stride
_BATCH = (*_TYPED, ctypes.c_longlong)  # with the distance of its matrices
# Arguments behind the handle; scalars are addresses in host memory.
_FUNCTIONS = {
    "cublasCreate_v2": (),
    "cublasDestroy_v2": (),
    "cublasSetStream_v2": (_POINTER,),
    "cublasSetWorkspace_v2": (_POINTER, ctypes.c_size_t),
    "cublasGemmEx": (
        *(5 * [_INT]), _POINTER, *_TYPED, *_TYPED, _POINTER, *_TYPED, _INT, _INT,
    ),
    "cublasGemmStridedBatchedEx": (
        *(5 * [_INT]), _POINTER, *_BATCH, *_BATCH, _POINTER, *_BATCH, _INT, _INT, _INT,
    ),
    "cublasSgeam": (*(4 * [_INT]), _POINTER, *_MATRIX, _POINTER, *_MATRIX, *_MATRIX),
    "cublasSdgmm": (*(3 * [_INT]), *_MATRIX, *_MATRIX, *_MATRIX),
}  # fmt: skip
_WORKSPACE = 2**23
_ALLOC_FAILED = 3


@cache
def _library() -> ctypes.CDLL:
    """Return the library that CuPy has loaded."""
    from cuda.pathfinder import load_nvidia_dynamic_lib

    found = ctypes.CDLL(load_nvidia_dynamic_lib("cublas").abs_path)
    for name, arguments in _FUNCTIONS.items():
        getattr(found, name).argtypes = (_POINTER, *arguments)
    return found


class _Functions:
    """A handle of one stream with a workspace, and calls named as CuPy's.

    Parameters
    ----------
    xp : module
        CuPy.
    stream : Stream
        The stream of all calls.
    """

    def __init__(self, xp: ModuleType, stream: Any) -> None:
        self._workspace = xp.empty(_WORKSPACE, dtype="uint8")
        created = _POINTER()
        _require(_library().cublasCreate_v2(ctypes.byref(created)))
        self.handle = created.value
        self._call("cublasSetStream_v2", stream.ptr)
        self._call("cublasSetWorkspace_v2", self._workspace.data.ptr, _WORKSPACE)

    def __del__(self) -> None:
        # As the interpreter ends, what the library needs may be gone before.
        if getattr(self, "handle", None) is not None and not sys.is_finalizing():
            _library().cublasDestroy_v2(self.handle)

    def _call(self, name: str, *arguments: Any) -> None:
        _require(getattr(_library(), name)(self.handle, *arguments))

    def gemmEx(self, _: object, *arguments: int) -> None:
        """Multiply matrices."""
        self._call("cublasGemmEx", *arguments)

    def gemmStridedBatchedEx(self, _: object, *arguments: int) -> None:
        """Multiply matrices of batches."""
        self._call("cublasGemmStridedBatchedEx", *arguments)

    def sgeam(self, _: object, *arguments: int) -> None:
        """Add matrices of float32, or transpose one."""
        self._call("cublasSgeam", *arguments)

    def sdgmm(self, _: object, *arguments: int) -> None:
        """Multiply the rows or columns of a matrix of float32."""
        self._call("cublasSdgmm", *arguments)


def recording_cublas(xp: ModuleType, stream: Any) -> Cublas:
    """Return cuBLAS on a stream of CuPy, `xp`, that may be recorded."""
    functions = _Functions(xp, stream)
    return Cublas(functions, lambda: functions.handle)


def _require(status: int) -> None:
    if status == _ALLOC_FAILED:
        raise MemoryError("no memory for cuBLAS")
    if status:
        raise RuntimeError(f"cuBLAS failed with status {status}")
