"""One process a GPU: every rank has its rows, and all get the same answer."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from importlib import import_module
from typing import Any, Protocol

import numpy as np

from mdqr._limbs import planes
from mdqr._limbs.planes import Block

_INT32, _INT64, _BYTES, _SUM = "NCCL_INT32", "NCCL_INT64", "NCCL_UINT8", "NCCL_SUM"


class Communicator(Protocol):
    """The interface of `comm=`: ranks that all make the same calls."""

    rank: int
    size: int

    def all_gather(self, value: bytes) -> list[bytes]:
        """Return the bytes of all ranks, in their order."""

    def all_reduce(self, values: Block) -> None:
        """Replace int32 values, in any memory that the ranks work in, by their sums."""


class Ranks:
    """The engine of a rank: tasks run here, and results of all ranks are merged."""

    def __init__(self, comm: Any) -> None:
        self.comm: Communicator = _adapted(comm)

    def submit(
        self, name: str, function: Callable[..., Any], *arguments: Any, place: int | None = None
    ) -> Any:
        """Call the function."""
        return function(*arguments)

    def shared(self, value: Any) -> Any:
        """Return the value."""
        return value

    def result(self, task: Any) -> Any:
        """Return the task, which is its result."""
        return task

    def gathered(self, value: Any) -> list[Any]:
        """Return the values of all ranks."""
        return [pickle.loads(x) for x in self.comm.all_gather(pickle.dumps(value))]

    def joined(self, task: Any, merge: Callable[[list[Any]], Any]) -> Any:
        """Return the merged results of all ranks."""
        across = getattr(merge, "across", None)
        return merge(self.gathered(task)) if across is None else across(self, task)


def _adapted(comm: Any) -> Communicator:
    """Return a communicator of this interface.

    Raises
    ------
    TypeError
        If it is none.
    """
    if callable(getattr(comm, "allReduce", None)) and callable(getattr(comm, "rank_id", None)):
        return _Nccl(comm)
    if callable(getattr(comm, "Get_rank", None)):
        return _Mpi(comm)
    if all(hasattr(comm, name) for name in ("rank", "size", "all_gather", "all_reduce")):
        found: Communicator = comm
        return found
    raise TypeError(
        "comm must be a cupy.cuda.nccl.NcclCommunicator, an mpi4py.MPI.Comm, or have rank, size, "
        f"all_gather and all_reduce; got {type(comm).__name__}"
    )


class _Nccl:
    """CuPy's communicator, on the current device and stream."""

    def __init__(self, comm: Any) -> None:
        self._comm, self._cupy = comm, import_module("cupy")
        self._nccl = import_module("cupy.cuda.nccl")
        self.rank, self.size = int(comm.rank_id()), int(comm.size())

    def all_gather(self, value: bytes) -> list[bytes]:
        """Return the bytes of all ranks; their lengths go ahead."""
        lengths = self._gather(np.array([len(value)], dtype=np.int64), _INT64).ravel().tolist()
        padded = np.zeros(max(lengths), dtype=np.uint8)
        padded[: len(value)] = np.frombuffer(value, dtype=np.uint8)
        rows = self._gather(padded, _BYTES)
        return [row[:length].tobytes() for row, length in zip(rows, lengths, strict=True)]

    def _gather(self, value: np.ndarray, name: str) -> np.ndarray:
        sent = self._cupy.asarray(value)
        got = self._cupy.empty((self.size, *value.shape), dtype=value.dtype)
        stream = self._cupy.cuda.get_current_stream().ptr
        kind = getattr(self._nccl, name)
        self._comm.allGather(sent.data.ptr, got.data.ptr, value.size, kind, stream)
        found: np.ndarray = got.get()
        return found

    def all_reduce(self, values: Block) -> None:
        """Replace values by their sums."""
        stream, place = self._cupy.cuda.get_current_stream().ptr, values.data.ptr
        kinds = getattr(self._nccl, _INT32), getattr(self._nccl, _SUM)
        self._comm.allReduce(place, place, values.size, *kinds, stream)


class _Mpi:
    """mpi4py's communicator, through host memory."""

    def __init__(self, comm: Any) -> None:
        self._comm = comm
        self.rank, self.size = int(comm.Get_rank()), int(comm.Get_size())

    def all_gather(self, value: bytes) -> list[bytes]:
        """Return the bytes of all ranks."""
        found: list[bytes] = self._comm.allgather(value)
        return found

    def all_reduce(self, values: Block) -> None:
        """Replace values by their sums."""
        here = values if isinstance(values, np.ndarray) else values.get()
        found = np.empty_like(here)
        self._comm.Allreduce(np.ascontiguousarray(here), found)
        values[...] = planes.namespace(values).asarray(found)
