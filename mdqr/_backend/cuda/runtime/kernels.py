"""Compiling the CUDA kernels through CuPy, and launching them.

A kernel takes one struct of 64-bit fields by value (`kernels/cuda/device/device.hpp`):
`Kernels.launch` gets it as one int64 array. A module holds one source file for one limb count and
field; it is compiled on first use and kept on disk, see `cubins`.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from math import prod
from types import ModuleType
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from mdqr._backend.blocks import broadcast_shapes
from mdqr._backend.cuda.runtime import calls, examples
from mdqr._backend.cuda.runtime.cubins import Cubins, Target, arch_of, library
from mdqr._backend.cuda.runtime.cubins import Module as Module
from mdqr._backend.cuda.runtime.cupy_kernels import CupyCompilations
from mdqr._backend.cuda.runtime.device import GLOBAL_BLOCKS, Device, Workspace
from mdqr._backend.cuda.runtime.graphs import Graphs
from mdqr._backend.cuda.vendor.cublas import NUMBERS, Cublas, Numbers, cublas
from mdqr._backend.cuda.vendor.cusolver import Reflectors as LibraryReflectors
from mdqr._backend.cuda.vendor.cusolver import cusolver, lu
from mdqr._backend.protocol import Reflectors
from mdqr._limbs.planes import Block, Kind
from mdqr._limbs.rounding_mode import require_nearest

# Dynamic shared memory that a block may have without asking.
_PLAIN_SHARED = 48 * 1024
# Bytes that recordings may hold: a part of the memory of a device, in which all sweeps of one call
# find room, and at least these.
_RECORDED_SHARE, _LEAST_RECORDED = 32, 2**28
# A compilation is announced after so many seconds.
_PATIENCE = 1.0
# Attributes of functions, of CUDA's driver.
_SHARED_BYTES, _MOST_DYNAMIC_SHARED_BYTES = 1, 8


class Launch(NamedTuple):
    """A launch, with the place of its arguments among those of several."""

    module: Module
    name: str
    arguments: slice
    grid: tuple[int, ...]
    threads: int
    shared: int
    cooperative: bool


class BatchedProduct(NamedTuple):
    """A call of `Cublas.gemm_batched`; its arguments are the three addresses."""

    arguments: slice
    numbers: Numbers
    shape: tuple[int, int, int]
    products: int
    strides: tuple[tuple[int, int], ...]
    flags: tuple[int, int]

    def start(self, library: Cublas, arguments: NDArray[np.int64]) -> None:
        """Make the call."""
        addresses = arguments[self.arguments].tolist()
        a, b, c = ((place, *far) for place, far in zip(addresses, self.strides, strict=True))
        library.gemm_batched(self.numbers, self.shape, self.products, a, b, c, flags=self.flags)


class Kernels(Protocol):
    """Something that runs kernels over blocks of `xp`."""

    xp: ModuleType
    plans: dict[Hashable, object]  # of `replay`
    graphs: Graphs | None = None  # where work can be recorded

    @property
    def device(self) -> Device:
        """The device for which launches are planned."""
        ...

    @property
    def memory(self) -> int:
        """Bytes of memory of the current device."""
        ...

    @property
    def cublas(self) -> Cublas:
        """The library of the current device."""
        ...

    def address(self, block: Block) -> int:
        """Return the address of the first element of `block`."""
        ...

    def scratch(self, words: int, *, zero: bool = False) -> tuple[Block, int]:
        """Return memory for `words` 64-bit words, and its address.

        It may go back to the pool as soon as the last launch that uses it has been started.
        """
        ...

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Block:
        """Return a new array."""
        return self.xp.empty(shape, dtype=dtype)

    def constant(self, key: Hashable, make: Callable[[], NDArray[Any]]) -> Block:
        """Return what `make` returns in the memory of the current device, made once for `key`."""
        ...

    def workspace(
        self,
        units: int,
        shared: int,
        *,
        moved: int | None = None,
        left: int = 0,
        in_turn: bool = True,
    ) -> Workspace:
        """Return shared memory for a block a unit of work, or global memory for fewer blocks.

        Parameters
        ----------
        units : int
            Units of work.
        shared : int
            Bytes of shared memory that a block works on.
        moved, left : int, optional
            Where the device has less: bytes of global memory, all by default, and of shared memory.
        in_turn : bool
            Whether blocks may be fewer than the units then, and take them in turn. Blocks that wait
            for each other may not; they are no more than the multiprocessors.
        """
        if shared <= self.device.shared:
            return Workspace((), units, shared, [0, 0, units], None)
        # Blocks begin at multiples of 16 bytes.
        words = 2 * divided(shared if moved is None else moved, 16)
        most = GLOBAL_BLOCKS * self.device.multiprocessors
        blocks = min(units, most) if in_turn else units
        memory, address = self.scratch(blocks * words)
        return Workspace(("MDQR_GLOBAL",), blocks, left, [address, words, units], memory)

    def foresee(self, modules: Sequence[Module]) -> None:
        """Start to compile modules before they are launched, without waiting."""
        return

    def multiply(self, a: Block, b: Block) -> Block:
        """Return ``a @ b`` of float64 or complex128 matrices, computed in float64."""
        ...

    def lu_floats(self, a: Block) -> tuple[Block, Block]:
        """Return L and U of a float64 or complex128 matrix, and interchanges."""
        ...

    def reflectors(self, raw: Block, tau: Block) -> Reflectors:
        """Return Q of float64 or complex128 matrices; see `Backend.reflectors`."""
        ...

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
        """Start ``grid`` blocks of `threads` threads with `shared` bytes each, asynchronously.

        The blocks of a cooperative launch run at the same time, or the launch fails.
        """
        ...

    def repeat(
        self, launches: Sequence[Launch | BatchedProduct], arguments: NDArray[np.int64]
    ) -> None:
        """Start kernels and products in their order; `arguments` are those of all."""
        for each in launches:
            if isinstance(each, BatchedProduct):
                each.start(self.cublas, arguments)
                continue
            module, name, part, grid, threads, shared, cooperative = each
            self.launch(
                module, name, arguments[part], grid=grid, threads=threads, shared=shared,
                cooperative=cooperative,
            )  # fmt: skip


class KernelCalls:
    """A family of the calls of `mdqr._backend.protocol.Backend`, which says what each computes."""

    def __init__(self, kernels: Kernels) -> None:
        self.kernels = kernels
        self.xp: ModuleType = kernels.xp


def divided(x: int, y: int) -> int:
    """Return ``x / y`` rounded up."""
    return -(-x // y)


def planes(kernels: Kernels, block: Block, is_complex: bool) -> list[int]:
    """Return the fields of `struct planes` (kernels/cuda/device/views.hpp)."""
    strides = [stride // 8 for stride in block.strides]
    between = (
        [strides[1], strides[0], block.shape[1]] if is_complex else [strides[0], 0, len(block)]
    )
    return [kernels.address(block), *between]


def matrix_view(kernels: Kernels, block: Block, is_complex: bool) -> list[int]:
    """Return the fields of `struct matrix_view` for values ``(batch, rows, columns)``."""
    return [*planes(kernels, block, is_complex), *(stride // 8 for stride in block.strides[-3:])]


def fields(*values: int | list[int]) -> NDArray[np.int64]:
    """Return the argument struct of a kernel: numbers and views in the order of its fields."""
    flat: list[int] = []
    for value in values:
        if isinstance(value, list):
            flat += value
        else:
            flat.append(value)
    return np.array(flat, dtype=np.int64)


def _announce(module: Module) -> None:
    print(
        f"mdqr: compiling {module.source} for {module.kind.limbs} limbs; it is kept on disk",
        file=sys.stderr,
    )


class CupyKernels(Kernels):
    """Kernels on the current CUDA device and stream, in CuPy's memory.

    Attributes
    ----------
    limit : Device or None
        For tests: launches are planned, and kernels compiled, as for a device with no more than
        this one.
    """

    def __init__(self) -> None:
        import cupy

        self.xp: ModuleType = cupy
        self.plans: dict[Hashable, object] = {}
        self.limit: Device | None = None
        self._devices: dict[int, Device] = {}
        self._modules: dict[tuple[Module, int, Target], Any] = {}
        self._early: dict[tuple[Module, int, Target], Any] = {}
        self._functions: dict[tuple[Module, str, int, Device | None], Any] = {}
        self._expected: set[Hashable] = set()
        self._memory: dict[int, int] = {}
        self._constants: dict[tuple[int, Hashable], Block] = {}
        self.graphs: Graphs | None = Graphs(cupy, self._memory_of_recordings)

    @cached_property
    def cubins(self) -> Cubins:
        """The machine code of modules, by the compiler that CuPy uses."""
        self.xp.cuda.nvrtc.getVersion()  # loads it
        return Cubins(library())

    @cached_property
    def cupy_compilations(self) -> CupyCompilations:
        """CuPy's compilations of its own kernels."""
        return CupyCompilations(self.xp, self.cubins)

    @property
    def target(self) -> Target:
        """The target of modules for the current device."""
        capability, planned = self._device().capability, self.device.capability
        older = () if planned == capability else ("-DMDQR_CAPABILITY={}{}".format(*planned),)
        return Target(arch_of(capability, self.cubins.architectures), older)

    @property
    def launched(self) -> set[Module]:
        """The modules of which functions have been launched."""
        return {key[0] for key in self._functions} | {key[0] for key in self._early}

    def expect(self, function: str, kind: Kind) -> None:
        """Start to compile what a function launches for results of `kind`, once for each device."""
        device = self.xp.cuda.runtime.getDevice()
        call = function, kind, device, self.limit
        if call not in self._expected:
            self._expected.add(call)
            self.cubins.expect(calls.modules_of(function, kind), self.target, quick=True)
            self.cupy_compilations.expect(examples.TABLE.of(function, kind), device)

    def foresee(self, modules: Sequence[Module]) -> None:
        """Start to compile modules, once for each device."""
        device = self.xp.cuda.runtime.getDevice()
        calls_of = {module: (module, device, self.limit) for module in modules}
        new = [module for module, call in calls_of.items() if call not in self._expected]
        if new:
            self._expected.update(calls_of.values())
            self.cubins.expect(new, self.target)

    @property
    def device(self) -> Device:
        """The properties of the current device; an error if it is too old."""
        found = self._device()
        return found if self.limit is None else found.limited(self.limit)

    def _device(self) -> Device:
        runtime = self.xp.cuda.runtime
        number = runtime.getDevice()
        if number not in self._devices:
            self._devices[number] = Device.of(runtime.getDeviceProperties(number))
        return self._devices[number]

    @property
    def memory(self) -> int:
        """Bytes of memory of the current device."""
        runtime = self.xp.cuda.runtime
        device = runtime.getDevice()
        if device not in self._memory:
            self._memory[device] = int(runtime.getDeviceProperties(device)["totalGlobalMem"])
        return self._memory[device]

    def _memory_of_recordings(self) -> int:
        return max(_LEAST_RECORDED, self.memory // _RECORDED_SHARE)

    @property
    def cublas(self) -> Cublas:
        """The library that CuPy calls."""
        return cublas(self.xp)

    def calling(self, library: Cublas) -> CupyKernels:
        """Return the same kernels with other functions of cuBLAS, for work that is recorded."""
        return _Recorded(self, library)

    def address(self, block: Block) -> int:
        """Return the address of the first element of `block`."""
        address: int = block.data.ptr
        return address

    def constant(self, key: Hashable, make: Callable[[], NDArray[Any]]) -> Block:
        """Return a table, copied once for each device."""
        place = self.xp.cuda.runtime.getDevice(), key
        found = self._constants.get(place)
        if found is None:
            found = self.xp.asarray(make())
            # The next call may be on another stream.
            self.xp.cuda.get_current_stream().synchronize()
            # Another thread may have made it meanwhile: its table is in use.
            found = self._constants.setdefault(place, found)
        return found

    def multiply(self, a: Block, b: Block) -> Block:
        """Return ``a @ b`` by cuBLAS, in float64 even where the environment asks for emulation."""
        xp = self.xp
        batch = broadcast_shapes(a.shape[:-2], b.shape[:-2])
        (m, k), n = a.shape[-2:], b.shape[-1]
        if not prod((*batch, m, n, k)):
            return xp.zeros((*batch, m, n), dtype=a.dtype)
        c = xp.empty((*batch, m, n), dtype=a.dtype)
        x = xp.ascontiguousarray(xp.broadcast_to(a, (*batch, m, k)))
        y = xp.ascontiguousarray(xp.broadcast_to(b, (*batch, k, n)))
        # Column by column, which is how cuBLAS reads: c^T = b^T a^T.
        self.cublas.gemm_batched(
            NUMBERS[a.dtype.char], (n, m, k), prod(batch),
            (self.address(y), n, k * n), (self.address(x), k, m * k), (self.address(c), n, m * n),
        )  # fmt: skip
        return c

    def lu_floats(self, a: Block) -> tuple[Block, Block]:
        """Return L and U by cuSOLVER."""
        return lu(cusolver(self.xp), a)

    def reflectors(self, raw: Block, tau: Block) -> Reflectors:
        """Return Q by cuSOLVER."""
        return LibraryReflectors(cusolver(self.xp), raw, tau)

    def scratch(self, words: int, *, zero: bool = False) -> tuple[Block, int]:
        """Return memory of CuPy's pool, and its address."""
        memory = self.xp.empty(max(words, 1))
        if zero:
            memory.data.memset_async(0, memory.nbytes)
        return memory, self.address(memory)

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
        """Start a kernel on the current stream."""
        whole = slice(0, len(arguments))
        self.repeat([Launch(module, name, whole, grid, threads, shared, cooperative)], arguments)

    def repeat(
        self, launches: Sequence[Launch | BatchedProduct], arguments: NDArray[np.int64]
    ) -> None:
        """Start kernels and products on the current stream."""
        require_nearest()
        # Of CuPy's 15 microseconds a launch the driver takes 6.
        cuda, base = self.xp.cuda, arguments.ctypes.data
        driver, stream = cuda.driver, cuda.get_current_stream().ptr
        device = cuda.runtime.getDevice()
        if not driver.ctxGetCurrent():
            # A thread that the runtime has not served yet; the driver does not look for a context.
            cuda.runtime.setDevice(device)
        for each in launches:
            if isinstance(each, BatchedProduct):
                each.start(self.cublas, arguments)
                continue
            module, name, part, grid, threads, shared, cooperative = each
            key = (module, name, device, self.limit)
            function = self._functions.get(key)
            if function is None:
                function = self._function(module, name)
            argument = ctypes.c_void_p(base + arguments.itemsize * part.start)
            sizes = (*grid, *(1,) * (3 - len(grid)), threads, 1, 1, shared, stream)
            if cooperative:
                driver.launchCooperativeKernel(function.ptr, *sizes, ctypes.addressof(argument))
            else:
                driver.launchKernel(function.ptr, *sizes, ctypes.addressof(argument), 0)

    def _function(self, module: Module, name: str) -> Any:
        """Return the function of a module on the current device, compiling it if need be."""
        cuda = self.xp.cuda
        number, target = cuda.runtime.getDevice(), self.target
        place = module, number, target
        function = self._loaded(*place).get_function(name)
        own = cuda.driver.funcGetAttribute(_SHARED_BYTES, function.ptr)
        most = self.device.shared - own
        if most > _PLAIN_SHARED:
            cuda.driver.funcSetAttribute(function.ptr, _MOST_DYNAMIC_SHARED_BYTES, most)
        if place in self._modules:
            self._functions.setdefault((module, name, number, self.limit), function)
        return function

    def _loaded(self, module: Module, number: int, target: Target) -> Any:
        """Return a module on the current device; code for first calls until better is ready."""
        place = module, number, target
        found, early = self._modules.get(place), self._early.get(place)
        if found is not None:
            return found
        if early is not None and not self.cubins.file(module, target).exists():
            return early
        note = threading.Timer(_PATIENCE, _announce, [module])
        note.start()
        try:
            code, is_kept = self.cubins.get(module, target)
        finally:
            note.cancel()
        loaded = self.xp.cuda.function.Module()
        loaded.load(code)
        # Early code stays: recorded work may launch it.
        return (self._modules if is_kept else self._early).setdefault(place, loaded)


class _Recorded(CupyKernels):
    """Kernels of another object, with functions of cuBLAS that can be recorded."""

    def __init__(self, kernels: CupyKernels, library: Cublas) -> None:
        self.__dict__.update(kernels.__dict__)
        self.graphs, self._library = None, library

    @property
    def cublas(self) -> Cublas:
        """The library of the recording."""
        return self._library
