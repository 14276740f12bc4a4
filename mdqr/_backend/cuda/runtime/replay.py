"""Launches that are planned once for operands of one layout, and repeated with other addresses.

A plan may be of one call, or of several that follow each other: these get placeholders for what
they work on, which have its layout but no memory.

What a call has to do before its launches - tiles, splits, sizes of scratch memory, forty fields of
arguments - depends on shapes, strides, flags and the device alone. The first call of a layout runs
the code of its module with a `Recorder` instead of the kernels, whose addresses are tags; the plan
that comes out needs only the addresses of the operands.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from math import prod
from types import ModuleType
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from mdqr._backend.cuda.runtime.device import Device
from mdqr._backend.cuda.runtime.kernels import BatchedProduct, Kernels, Launch, Module, divided
from mdqr._backend.cuda.vendor.cublas import Batch, Cublas, N, Numbers
from mdqr._backend.protocol import Reflectors
from mdqr._limbs.planes import Block

# Tags are odd multiples of 2**47: far beyond sizes and strides, and far enough from each other for
# the first row of a view that runs backwards, which lies below or above its address.
_TAG = 48


def _tag(source: Any) -> Any:
    """Return the tag of operand or scratch memory number `source`; also for arrays."""
    return (source + 1 << _TAG) + (1 << _TAG - 1)


# Addresses below belong to memory.
_FIRST_TAG = 1 << _TAG

# Plans of a layout that are kept before all are dropped.
_MOST_PLANS = 4096


class _Unplanned(Exception):
    """The call copies an operand, so that its launches cannot be repeated by address."""


# Words between arrays of scratch memory: as CuPy's pool aligns them.
_APART = 64


class _RecordedProducts:
    """Has of cuBLAS what can be repeated by address."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def gemm_batched(
        self,
        numbers: Numbers,
        shape: tuple[int, int, int],
        count: int,
        a: Batch,
        b: Batch,
        c: Batch,
        *,
        flags: tuple[int, int] = (N, N),
    ) -> None:
        """Keep a product."""
        addresses = np.array([a[0], b[0], c[0]], dtype=np.int64)
        strides = a[1:], b[1:], c[1:]
        part = self._recorder.keep(addresses)
        product = BatchedProduct(part, numbers, shape, count, strides, flags)
        self._recorder.launches.append(product)

    def __getattr__(self, name: str) -> Any:
        raise _Unplanned


class Recorder(Kernels):
    """Kernels that write down what they are asked to do."""

    def __init__(self, kernels: Kernels, addresses: Sequence[int]) -> None:
        self.xp: ModuleType = kernels.xp
        self.launches: list[Launch | BatchedProduct] = []
        self.arguments: list[NDArray[np.int64]] = []
        self.words = [0, 0]  # of scratch memory, any and zero
        self.constants: list[Constant] = []
        self._kernels = kernels
        self._operands = len(addresses)
        self._tags = {address: _tag(i) for i, address in reversed([*enumerate(addresses)])}
        self.plans: dict[Hashable, object] = {}

    @property
    def device(self) -> Device:
        """The device for which launches are planned."""
        return self._kernels.device

    @property
    def memory(self) -> int:
        """Bytes of memory of the current device."""
        return self._kernels.memory

    @property
    def cublas(self) -> Cublas:
        """Batched products, and nothing else."""
        return cast(Cublas, _RecordedProducts(self))

    def address(self, block: Block) -> int:
        """Return the tag of an operand, or where a placeholder lies behind one."""
        if isinstance(block, np.ndarray) and block.ctypes.data >= _FIRST_TAG:
            return int(block.ctypes.data)
        tag = self._tags.get(self._kernels.address(block))
        if tag is None:
            raise _Unplanned
        return tag

    def placeholder(self, block: Block) -> Block:
        """Return what stands for an operand."""
        return _placeholder(self.address(block), block.shape, block.strides, block.dtype)

    def constant(self, key: Hashable, make: Callable[[], NDArray[Any]]) -> Block:
        """Return what stands for a table, which is asked for again whenever the plan runs."""
        block = self._kernels.constant(key, make)
        self.constants.append(Constant(key, make))
        tag = _tag(self._operands + len(self.words) + len(self.constants) - 1)
        return _placeholder(tag, block.shape, block.strides, block.dtype)

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Block:
        """Return what stands for new memory: a part of what the plan takes."""
        kind = np.dtype(dtype)
        _, address = self.scratch(divided(prod(shape) * kind.itemsize, 8))
        return _placeholder(address, shape, None, kind)

    def multiply(self, a: Block, b: Block) -> Block:
        """Refuse: what is formed is new."""
        raise _Unplanned

    def lu_floats(self, a: Block) -> tuple[Block, Block]:
        """Refuse likewise."""
        raise _Unplanned

    def reflectors(self, raw: Block, tau: Block) -> Reflectors:
        """Refuse likewise."""
        raise _Unplanned

    def scratch(self, words: int, *, zero: bool = False) -> tuple[Block, int]:
        """Return the tag of new memory: a part of what the call takes at once."""
        offset = self.words[zero]
        self.words[zero] += _APART * divided(max(words, 1), _APART)
        return None, _tag(self._operands + zero) + 8 * offset

    def launch(
        self,
        module: Module,
        name: str,
        arguments: NDArray[np.int64],
        *,
        grid: tuple[int, ...],
        threads: int,
        shared: int = 0,
        cooperative: bool = False,
    ) -> None:
        """Keep a launch."""
        part = self.keep(arguments)
        self.launches.append(Launch(module, name, part, grid, threads, shared, cooperative))

    def keep(self, arguments: NDArray[np.int64]) -> slice:
        """Add arguments to those of all launches, and return their place."""
        start = self.launches[-1].arguments.stop if self.launches else 0
        self.arguments.append(arguments)
        return slice(start, start + len(arguments))


class Constant(NamedTuple):
    """A table, as `Kernels.constant` takes it."""

    key: Hashable
    make: Callable[[], NDArray[Any]]


class _Address:
    """Memory that is not there, in the form that NumPy takes."""

    def __init__(self, **interface: Any) -> None:
        self.__array_interface__ = {"version": 3, **interface}


def _placeholder(
    address: int, shape: tuple[int, ...], strides: tuple[int, ...] | None, dtype: np.dtype[Any]
) -> Block:
    """Return an array whose views have addresses, and which nobody may read."""
    place = _Address(data=(address, True), shape=shape, strides=strides, typestr=dtype.str)
    return np.asarray(place)


class _Plan(NamedTuple):
    launches: tuple[Launch | BatchedProduct, ...]
    arguments: NDArray[np.int64]  # of all launches, offsets in place of addresses
    places: NDArray[np.intp]  # of the addresses
    # Which operand each belongs to, or the scratch memory behind them, or the constants behind it.
    sources: NDArray[np.intp]
    words: tuple[int, int]  # of scratch memory, any and zero
    constants: tuple[Constant, ...]

    @classmethod
    def of(cls, recorder: Recorder) -> _Plan:
        """Return the plan that repeats what a recorder wrote down."""
        # A call for arrays without values launches nothing.
        arguments = np.concatenate([np.empty(0, dtype=np.int64), *recorder.arguments])
        (places,) = np.nonzero(arguments >= _tag(0) - (1 << _TAG - 1))
        sources = (arguments[places] >> _TAG) - 1
        arguments[places] -= _tag(sources)
        any_, zero = recorder.words
        constants = tuple(recorder.constants)
        return cls(tuple(recorder.launches), arguments, places, sources, (any_, zero), constants)

    def run(self, kernels: Kernels, addresses: list[int]) -> None:
        """Launch with the addresses of the operands."""
        # Kept until all is launched; later work of the stream may have the memory again.
        memories, bases = [], [*addresses, 0, 0]
        for zero, words in enumerate(self.words):
            if words:
                memory, bases[zero - 2] = kernels.scratch(words, zero=bool(zero))
                memories.append(memory)
        bases += [kernels.address(kernels.constant(*constant)) for constant in self.constants]
        arguments = self.arguments.copy()
        arguments[self.places] += np.array(bases, dtype=np.int64)[self.sources]
        kernels.repeat(self.launches, arguments)


def planned(
    kernels: Kernels,
    flags: tuple[Hashable, ...],
    operands: Sequence[Block],
    launch: Callable[[Kernels], None],
    most: int | None = None,
) -> None:
    """Call ``launch(kernels)``, or repeat what it did for operands of the same layout.

    Within a plan what is launched becomes a part of it.

    Parameters
    ----------
    kernels : Kernels
        Where the launches go.
    flags : tuple
        All that `launch` depends on besides the device, and shapes, strides and shared memory of
        the operands.
    operands : sequence of Block
        All blocks whose addresses `launch` uses.
    launch : callable
        Does its work by ``kernels.launch``, ``kernels.scratch``, ``kernels.empty``,
        ``kernels.constant`` and ``kernels.cublas.gemm_batched`` alone.
    most : int, optional
        Bytes of memory: what takes more at once is not repeated.
    """
    # The classes of a protocol take microseconds to ask.
    if type(kernels) is Recorder:
        launch(kernels)
        return
    addresses = [kernels.address(block) for block in operands]
    shared = len(set(addresses)) < len(addresses)
    same = tuple(map(addresses.index, addresses)) if shared else ()
    key = (kernels.device, *flags, same, *((block.shape, block.strides) for block in operands))
    try:
        plan = kernels.plans[key]
    except KeyError:
        plan = _record(kernels, addresses, launch, most)
        if len(kernels.plans) >= _MOST_PLANS:
            kernels.plans.clear()
        kernels.plans[key] = plan
    if isinstance(plan, _Plan):
        plan.run(kernels, addresses)
    else:
        launch(kernels)


def _record(
    kernels: Kernels, addresses: list[int], launch: Callable[[Kernels], None], most: int | None
) -> _Plan | None:
    recorder = Recorder(kernels, addresses)
    try:
        launch(recorder)
    except _Unplanned:
        return None
    if most is not None and 8 * sum(recorder.words) > most:
        return None
    return _Plan.of(recorder)
