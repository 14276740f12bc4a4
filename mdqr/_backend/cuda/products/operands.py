"""Code that kernels of products share: operands, scratch memory, the list of remaining tasks."""

from __future__ import annotations

from typing import NamedTuple

from mdqr._backend.cuda.runtime.kernels import Kernels
from mdqr._limbs.planes import Block, Kind

# A `matrix_view` that is absent.
NO_VIEW = [0] * 7


class Product(NamedTuple):
    """Operands of a product with one batch axis: `a` (batch, m, k) and `b` (batch, k, n)."""

    a: Block
    b: Block
    conj_a: bool
    conj_b: bool
    kind: Kind

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Items, rows, columns and inner size."""
        return (*self.a.shape[-3:-1], self.b.shape[-1], self.a.shape[-1])

    def transposed(self) -> Product:
        """Return the product of the transposes, whose result is the transpose."""
        a, b = self.b.swapaxes(-1, -2), self.a.swapaxes(-1, -2)
        return self._replace(a=a, b=b, conj_a=self.conj_b, conj_b=self.conj_a)


class Todo(NamedTuple):
    """Addresses of the elements for the exact accumulator and of their number.

    All elements have no address, but their `number`.
    """

    elements: int
    number: int
    memory: Block | None

    @classmethod
    def of_all(cls, product: Product) -> Todo:
        """Leave every element to the exact accumulator."""
        items, m, n, _ = product.shape
        return cls(0, items * m * n, None)


class Scratch:
    """Sizes of arrays of 64-bit words that share one allocation."""

    def __init__(self) -> None:
        self._words = 0

    def take(self, words: int) -> int:
        """Return the offset in bytes of an array, a multiple of 16."""
        offset = 8 * self._words
        self._words += words + words % 2
        return offset

    def allocate(self, kernels: Kernels) -> tuple[Block, int]:
        """Return the memory and its address."""
        return kernels.scratch(self._words)
