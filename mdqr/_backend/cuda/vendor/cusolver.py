"""Q of float64 factorisations by cuSOLVER, through CuPy's bindings."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

from mdqr._backend.protocol import Block


class Reflectors:
    """Q as LAPACK's reflectors; see `mdqr._backend.protocol.Reflectors`.

    Parameters
    ----------
    xp : module
        CuPy.
    raw, tau : Block
        What ``xp.linalg.qr(a, mode="raw")`` returned: ``(..., n, m)`` and ``(..., k)``. cuSOLVER
        reads matrices column by column, so that `raw` is one without a copy.
    """

    def __init__(self, xp: ModuleType, raw: Block, tau: Block) -> None:
        self._xp, self._raw, self._tau = xp, raw, tau
        self._library = import_module("cupy_backends.cuda.libs.cusolver")

    def form(self, columns: int) -> Block:
        """Return the first columns of Q."""
        count, rows = self._tau.shape[-1], self._raw.shape[-1]
        q = self._xp.empty((*self._raw.shape[:-2], columns, rows), dtype=self._raw.dtype)
        q[..., :count, :] = self._raw[..., :count, :]
        for item in np.ndindex(q.shape[:-2]):
            one, tau = q[item], self._tau[item]
            shape = (rows, columns, count, one.data.ptr, rows, tau.data.ptr)
            self._call(("orgqr", "ungqr"), shape)
        return self._xp.ascontiguousarray(q.swapaxes(-1, -2))

    def apply(self, x: Block, *, adjoint: bool) -> Block:
        """Return ``Q x`` or ``Q^H x``."""
        cublas = import_module("cupy_backends.cuda.libs.cublas")
        turned = cublas.CUBLAS_OP_C if x.dtype.kind == "c" else cublas.CUBLAS_OP_T
        y = x.swapaxes(-1, -2).copy(order="C")
        count, (columns, rows) = self._tau.shape[-1], y.shape[-2:]
        for item in np.ndindex(y.shape[:-2]) if y.size else ():
            one, raw, tau = y[item], self._raw[item], self._tau[item]
            side = (cublas.CUBLAS_SIDE_LEFT, turned if adjoint else cublas.CUBLAS_OP_N)
            shape = (rows, columns, count, raw.data.ptr, rows, tau.data.ptr, one.data.ptr, rows)
            self._call(("ormqr", "unmqr"), (*side, *shape))
        return y.swapaxes(-1, -2)

    def _call(self, names: tuple[str, str], arguments: tuple[Any, ...]) -> None:
        """Call a function for real or complex matrices with the memory that it wants."""
        xp, is_complex = self._xp, self._raw.dtype.kind == "c"
        name = "z" + names[1] if is_complex else "d" + names[0]
        handle = xp.cuda.device.get_cusolver_handle()
        size = getattr(self._library, f"{name}_bufferSize")(handle, *arguments)
        work, status = xp.empty(size, dtype=self._raw.dtype), xp.empty(1, dtype=np.int32)
        getattr(self._library, name)(handle, *arguments, work.data.ptr, size, status.data.ptr)
