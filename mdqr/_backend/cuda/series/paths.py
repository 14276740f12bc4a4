"""Homotopy paths on a GPU, a thread each: kernels/cuda/series/paths.cu."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from mdqr._backend.cuda.runtime.kernels import KernelCalls, Kernels, Module, divided, fields
from mdqr._backend.path_calls import PathGoal, PathPoints, PathSystem
from mdqr._limbs.device import host_block
from mdqr._limbs.planes import Block, Kind

# Threads of a block, and blocks a multiprocessor that share few paths among them.
_THREADS, _BLOCKS = 32, 8
# Limbs in which paths are followed.
_LIMBS = (1, 2, 4)
# Fewer paths are not worth the copies there and back.
_LEAST_PATHS = 256
# Points that a path knows: as `past` in mdqr/paths/arguments.hpp, and its own.
_KNOWN = 4
# The driver keeps local memory for all threads that a device can hold: of its memory this part.
_MOST_THREADS, _SHARE = 2048, 4


class Paths(KernelCalls):
    """The kernel of homotopy paths."""

    def follows_paths(self, system: PathSystem, count: int) -> bool:
        """Return True if a call for so many paths is worth while, and their memory is there."""
        kernels = self.kernels
        threads = _MOST_THREADS * kernels.device.multiprocessors
        held = 8 * _rounded(_words(system, system.coefficient.shape[1])) * threads
        return count >= _LEAST_PATHS and _SHARE * held <= kernels.memory

    def expect_paths(self, system: PathSystem, limbs: Iterable[int]) -> None:
        """Start to compile kernels for systems of this shape, and do not wait."""
        self.kernels.foresee([_module(system, count) for count in limbs])

    def follow_paths(
        self, system: PathSystem, points: PathPoints, which: Block, goal: PathGoal
    ) -> Block:
        """Follow some paths; the arrays are the host's, and copied there and back."""
        count = len(which)
        if not count:
            return np.zeros(0, np.int64)
        kernels, xp = self.kernels, self.xp
        # Ends of paths come in higher precisions.
        self.expect_paths(system, _LIMBS)
        tables = PathSystem(*map(self._moved, system))
        moved = PathPoints(*(xp.array(part, order="C") for part in points))
        state, chosen = xp.zeros(count, np.int64), xp.asarray(which)
        arguments = fields(
            _system(kernels, tables), _points(kernels, moved),
            _bits(goal.target.real, goal.target.imag, goal.tolerance, goal.least, goal.longest),
            _bits(goal.vanishing), goal.most, int(goal.jump), kernels.address(state),
            kernels.address(chosen), count,
        )  # fmt: skip
        threads = min(_THREADS, divided(count, _BLOCKS * kernels.device.multiprocessors))
        kernels.launch(
            _module(system, system.coefficient.shape[1]), "mdqr_follow_paths", arguments,
            grid=(divided(count, threads),), threads=threads,
        )  # fmt: skip
        for part, new in zip(points, moved, strict=True):
            part[...] = host_block(new)
        return host_block(state)

    def _moved(self, part: Block | complex | None) -> Block:
        return self.xp.asarray(part) if isinstance(part, np.ndarray) else part


def _words(system: PathSystem, limbs: int) -> int:
    """Return the doubles that a path works on: `path_lanes::used` in mdqr/paths/follow.hpp."""
    v, terms = len(system.power_start) - 1, len(system.factor_start) - 1
    widest = int(np.diff(system.factor_start).max(initial=0))
    numbers = int(system.power_start[-1]) + 2 * terms + widest + 1 + v * (v + 2) + 2 * v
    return 2 * limbs * numbers + 2 * v * (1 + 2 * _KNOWN)


def _rounded(words: int) -> int:
    """Return a size of memory for which a kernel is compiled: 2 or 3 times a power of two."""
    power = 1 << (words - 1).bit_length()
    return 3 * power // 4 if words <= 3 * power // 4 else power


def _module(system: PathSystem, limbs: int) -> Module:
    words = _rounded(_words(system, limbs))
    return Module("series/paths", Kind(limbs, False), (f"MDQR_PATH_WORDS={words}",))


def _bits(*values: float) -> list[int]:
    """Return doubles as the words that hold them."""
    words: list[int] = np.array(values, float).view(np.int64).tolist()
    return words


def _layout(block: Block) -> list[int]:
    """Return `struct layout` of a contiguous block of complex numbers ``(2, limbs, ...)``."""
    plane = block[0, 0].size
    return [plane, block.shape[1] * plane, 1]


def _system(kernels: Kernels, system: PathSystem) -> list[int]:
    """Return `struct homotopy`."""
    coefficient = system.coefficient
    sets, terms, orders = coefficient.shape[2:]

    def address(part: Block | None) -> int:
        return 0 if part is None else kernels.address(part)

    return [
        len(system.power_start) - 1, len(system.start) - 1, terms, orders,
        *map(kernels.address, system[:5]), kernels.address(coefficient), *_layout(coefficient),
        address(system.weight), address(system.patch),
        *_bits(system.gamma.real, system.gamma.imag),
        sets, 1 if system.weight is None else len(system.weight),
    ]  # fmt: skip


def _points(kernels: Kernels, points: PathPoints) -> list[int]:
    """Return `struct points`."""
    x, *others = points
    return [
        kernels.address(x),
        *_layout(x),
        *map(kernels.address, others),
        len(points.s),
    ]
