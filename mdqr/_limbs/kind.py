"""What kind of values a block holds: how many limbs each, and whether complex."""

from __future__ import annotations

from types import ModuleType
from typing import NamedTuple

from mdqr._limbs.planes import Block


class Kind(NamedTuple):
    """The limbs of every value, and whether there are imaginary planes.

    A call of a backend gets the kind of its result; operands may have fewer limbs.
    """

    limbs: int
    is_complex: bool

    @property
    def lead(self) -> int:
        """Number of axes of a block before those of the values."""
        return 1 + self.is_complex

    @property
    def real(self) -> Kind:
        """The real kind of as many limbs."""
        return Kind(self.limbs, False)

    def planes(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of the block of values of `shape`."""
        return (2, self.limbs, *shape) if self.is_complex else (self.limbs, *shape)

    def empty(self, xp: ModuleType, shape: tuple[int, ...]) -> Block:
        """Return a new block whose values are not set."""
        return xp.empty(self.planes(shape))

    def zeros(self, xp: ModuleType, shape: tuple[int, ...]) -> Block:
        """Return a new block of zeros."""
        return xp.zeros(self.planes(shape))
