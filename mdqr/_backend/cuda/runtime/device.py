"""The size of a device, for which launches are planned, and the workspace of its blocks.

A launch is planned from the shapes of its operands and a `Device`, by static rules. What is summed
with what depends on the shapes alone; the device decides how many blocks share the work, and
whether they keep it in shared or in global memory. So limbs do not depend on the device.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from mdqr._limbs.planes import Block

LEAST_CAPABILITY = (7, 5)
# A100, H100, B200 and their kin: the others have FP64 units for 1/32 or 1/64 of float32's rate.
_FAST_DOUBLES = ((8, 0), (9, 0), (10, 0))
# What launches ask for at most, however large the device is: blocks that run at the same time, and
# bytes of shared memory of one.
MOST_TOGETHER = 96
MOST_SHARED = 160_000
# Blocks that keep their work in global memory, of a multiprocessor: as many as run at once.
GLOBAL_BLOCKS = 2


class Device(NamedTuple):
    """The size of a device.

    Attributes
    ----------
    capability : tuple of int
        The compute capability, major and minor. From 8.0 on there are FP64 tensor cores.
    multiprocessors : int
        How many it has. Each runs one block of any kernel at least.
    shared : int
        Bytes of shared memory that a block may have; 65,536 at least from 7.5 on.
    shared_together : int
        Bytes of shared memory that the blocks of a multiprocessor have together.
    """

    capability: tuple[int, int]
    multiprocessors: int
    shared: int
    shared_together: int

    @classmethod
    def of(cls, properties: Mapping[str, Any]) -> Device:
        """Return the device with the properties that CUDA's runtime tells.

        Raises
        ------
        RuntimeError
            If it is older than the kernels need.
        """
        capability = properties["major"], properties["minor"]
        if capability < LEAST_CAPABILITY:
            raise RuntimeError(
                "mdqr needs a GPU of compute capability 7.5 or later, a T4 or anything newer; "
                f"{properties['name'].decode()} has {capability[0]}.{capability[1]}: "
                'use device="cpu"'
            )
        return cls(
            capability,
            properties["multiProcessorCount"],
            properties["sharedMemPerBlockOptin"],
            properties["sharedMemPerMultiprocessor"],
        )

    def limited(self, other: Device) -> Device:
        """Return this device with no more of anything than another has."""
        return Device(
            min(self.capability, other.capability),
            min(self.multiprocessors, other.multiprocessors),
            min(self.shared, other.shared),
            min(self.shared_together, other.shared_together),
        )

    @property
    def has_fast_doubles(self) -> bool:
        """True if it has more than the few FP64 units that let such code run at all."""
        return self.capability in _FAST_DOUBLES

    @property
    def together(self) -> int:
        """Blocks of a cooperative launch at most: they have to run at the same time."""
        return min(self.multiprocessors, MOST_TOGETHER)


class Workspace(NamedTuple):
    """The memory in which the blocks of a launch keep intermediate results.

    Attributes
    ----------
    defines : tuple of str
        Macros of the module.
    blocks : int
        Blocks of the launch.
    shared : int
        Bytes of shared memory of a block.
    fields : list of int
        Those of `struct workspace` (kernels/cuda/device/device.hpp).
    memory : Block or None
        Global memory, kept until the launch.
    """

    defines: tuple[str, ...]
    blocks: int
    shared: int
    fields: list[int]
    memory: Block | None
