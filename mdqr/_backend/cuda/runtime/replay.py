"""Launches that are planned once for operands of one layout, and repeated with other addresses.

What a call has to do before its launches - tiles, splits, sizes of scratch memory, forty fields of
arguments - depends on shapes, strides, flags and the device alone. The first call of a layout runs
the code of its module with a `Recorder` in place of the kernels, whose addresses are tags; the plan
that comes out needs only the addresses of the operands.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
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
        self._kernels = kernels
        self._operands = len(addresses)
        self._tags = {address: _tag(i) for i, address in reversed([*enumerate(addresses)])}
        self.plans: dict[Hashable, object] = {}

    @property
    def device(self) -> Device:
        """What launches are planned for."""
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
        """Return the tag of an operand."""
        tag = self._tags.get(self._kernels.address(block))
        if tag is None:
            raise _Unplanned
        return tag

    def constant(self, key: Hashable, make: Callable[[], NDArray[Any]]) -> Block:
        """Refuse: memory that is neither an operand nor scratch."""
        raise _Unplanned

    def multiply(self, a: Block, b: Block) -> Block:
        """Refuse: what is formed is new."""
        raise _Unplanned

    def invert_triangle(self, r: Block) -> Block:
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


class _Plan(NamedTuple):
    launches: tuple[Launch | BatchedProduct, ...]
    arguments: NDArray[np.int64]  # of all launches, offsets in place of addresses
    places: NDArray[np.intp]  # of the addresses
    sources: NDArray[np.intp]  # which operand each belongs to, or the scratch memory behind them
    words: tuple[int, int]  # of scratch memory, any and zero

    @classmethod
    def of(cls, recorder: Recorder) -> _Plan:
        """Return the plan that repeats what a recorder wrote down."""
        arguments = np.concatenate(recorder.arguments)
        (places,) = np.nonzero(arguments >= _tag(0) - (1 << _TAG - 1))
        sources = (arguments[places] >> _TAG) - 1
        arguments[places] -= _tag(sources)
        any_, zero = recorder.words
        return cls(tuple(recorder.launches), arguments, places, sources, (any_, zero))

    def run(self, kernels: Kernels, addresses: list[int]) -> None:
        """Launch with the addresses of the operands."""
        # Kept until all is launched; later work of the stream may have the memory again.
        memories, bases = [], [*addresses, 0, 0]
        for zero, words in enumerate(self.words):
            if words:
                memory, bases[zero - 2] = kernels.scratch(words, zero=bool(zero))
                memories.append(memory)
        arguments = self.arguments.copy()
        arguments[self.places] += np.array(bases, dtype=np.int64)[self.sources]
        kernels.repeat(self.launches, arguments)


def planned(
    kernels: Kernels,
    flags: tuple[Hashable, ...],
    operands: Sequence[Block],
    launch: Callable[[Kernels], None],
) -> None:
    """Call ``launch(kernels)``, or repeat what it did for operands of the same layout.

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
        Does its work by ``kernels.launch``, ``kernels.scratch`` and
        ``kernels.cublas.gemm_batched`` alone.
    """
    addresses = [kernels.address(block) for block in operands]
    shared = len(set(addresses)) < len(addresses)
    same = tuple(map(addresses.index, addresses)) if shared else ()
    key = (kernels.device, *flags, same, *((block.shape, block.strides) for block in operands))
    try:
        plan = kernels.plans[key]
    except KeyError:
        plan = _record(kernels, addresses, launch)
        if len(kernels.plans) >= _MOST_PLANS:
            kernels.plans.clear()
        kernels.plans[key] = plan
    if isinstance(plan, _Plan):
        plan.run(kernels, addresses)
    else:
        launch(kernels)


def _record(
    kernels: Kernels, addresses: list[int], launch: Callable[[Kernels], None]
) -> _Plan | None:
    recorder = Recorder(kernels, addresses)
    try:
        launch(recorder)
    except _Unplanned:
        return None
    return _Plan.of(recorder)
