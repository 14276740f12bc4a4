"""cuSOLVER: factorisations of matrices in memory, column by column, and Q of those of float64."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

from mdqr._backend.cuda.vendor.cublas import LEFT, LETTERS, C, N, T
from mdqr._limbs.planes import Block


class Cusolver:
    """The functions on the current device and stream, asynchronous.

    Parameters
    ----------
    xp : module
        The arrays.
    address : callable
        Returns where an array starts.
    functions : object
        CuPy's module of cuSOLVER, or what has functions of these names and arguments.
    handle : callable
        Returns the handle of a call.
    """

    def __init__(
        self,
        xp: ModuleType,
        address: Callable[[Block], int],
        functions: Any,
        handle: Callable[[], Any],
    ) -> None:
        self.xp, self.address = xp, address
        self._functions, self._handle = functions, handle

    def call(
        self, kind: str, name: str, sizing: tuple[int, ...], rest: tuple[int, ...] = ()
    ) -> Block:
        """Call a function with the memory that it wants; return its status.

        Parameters
        ----------
        kind : str
            The letter of NumPy's type.
        name : str
            LAPACK's name for real matrices, without the letter of the type.
        sizing, rest : tuple of int
            Arguments: those that the size of the memory depends on, and those behind them.
        """
        if kind in "FD" and name.startswith("or"):
            name = "un" + name[2:]
        name, handle = LETTERS[kind] + name, self._handle()
        size = getattr(self._functions, f"{name}_bufferSize")(handle, *sizing)
        memory = self.xp.empty(max(size, 1), dtype=kind)
        status = self.xp.empty(1, dtype=np.int32)
        getattr(self._functions, name)(
            handle, *sizing, *rest, self.address(memory), size, self.address(status)
        )
        return status

    def eliminate(self, kind: str, order: int, x: Block, places: Block, status: Block) -> None:
        """Replace a matrix, column by column, by L and U, and write its interchanges, int32."""
        name, handle = LETTERS[kind] + "getrf", self._handle()
        sizing = (order, order, self.address(x), order)
        size = getattr(self._functions, f"{name}_bufferSize")(handle, *sizing)
        memory = self.xp.empty(max(size, 1), dtype=kind)
        getattr(self._functions, name)(
            handle, *sizing, *(self.address(y) for y in (memory, places, status))
        )


@cache
def cusolver(xp: ModuleType) -> Cusolver:
    """Return the library that CuPy calls, `xp`."""
    functions = import_module("cupy_backends.cuda.libs.cusolver")
    return Cusolver(xp, lambda x: int(x.data.ptr), functions, xp.cuda.device.get_cusolver_handle)


def lu(library: Cusolver, a: Block) -> tuple[Block, Block]:
    """Return L and U of a matrix in one array, and its interchanges from 0 on, int64."""
    xp, n, kind = library.xp, len(a), a.dtype.char
    # Columns after columns, which is how cuSOLVER reads, it is the transpose.
    columns = a.T.copy(order="C")
    places, status = xp.empty(n, dtype=np.int32), xp.empty(1, dtype=np.int32)
    library.eliminate(kind, n, columns, places, status)
    return columns.T, places.astype(np.int64) - 1


class Reflectors:
    """Q as LAPACK's reflectors; see `mdqr._backend.protocol.Reflectors`.

    Parameters
    ----------
    library : Cusolver
        What is called.
    raw, tau : Block
        What ``xp.linalg.qr(a, mode="raw")`` returned: ``(..., n, m)`` and ``(..., k)``. cuSOLVER
        reads matrices column by column, so that `raw` is one without a copy.
    """

    def __init__(self, library: Cusolver, raw: Block, tau: Block) -> None:
        self._library, self._raw, self._tau = library, raw, tau

    def form(self, columns: int) -> Block:
        """Return the first columns of Q."""
        xp, address = self._library.xp, self._library.address
        count, rows = self._tau.shape[-1], self._raw.shape[-1]
        q = xp.empty((*self._raw.shape[:-2], columns, rows), dtype=self._raw.dtype)
        q[..., :count, :] = self._raw[..., :count, :]
        for item in np.ndindex(q.shape[:-2]):
            places = (address(q[item]), rows, address(self._tau[item]))
            self._library.call(self._raw.dtype.char, "orgqr", (rows, columns, count, *places))
        return xp.ascontiguousarray(q.swapaxes(-1, -2))

    def apply(self, x: Block, *, adjoint: bool) -> Block:
        """Return ``Q x`` or ``Q^H x``."""
        address, kind = self._library.address, self._raw.dtype.char
        flag = (C if kind in "FD" else T) if adjoint else N
        y = x.swapaxes(-1, -2).copy(order="C")
        count, (columns, rows) = self._tau.shape[-1], y.shape[-2:]
        for item in np.ndindex(y.shape[:-2]) if y.size else ():
            places = (address(self._raw[item]), rows, address(self._tau[item]), address(y[item]))
            shape = (LEFT, flag, rows, columns, count)
            self._library.call(kind, "ormqr", (*shape, *places, rows))
        return y.swapaxes(-1, -2)
