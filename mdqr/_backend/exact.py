"""The kernel calls of exact products that every backend offers beside those of `protocol`.

Lines are the rows of the left operand and the columns of the right one, blocks
``(..., lines, terms)``. What each call computes: docs/explanation/exact-products.md.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from enum import IntEnum
from types import ModuleType
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from mdqr._limbs.planes import Block, Kind


class Channels(NamedTuple):
    """The conversion of bytes of integers to residues, as NumPy arrays.

    The tables of kernels/host/products/exact/arguments.hpp.
    """

    modulus: Block
    narrow: int
    words: int
    low: Block
    high: Block
    start: Block

    # Equal to itself alone: a key of what is made of it.
    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other

    def __hash__(self) -> int:
        return id(self)


class Reconstruction(NamedTuple):
    """The conversion of residues to digits, in NumPy arrays; kernels/include/mdqr/residues.hpp."""

    weight: Block
    fraction: Block
    product: Block
    width: int

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other

    def __hash__(self) -> int:
        return id(self)

    def without(self, count: int) -> Reconstruction:
        """Return the weights without their lowest digits.

        Sums of the digits left out are below 2**53 each, so they change the integers by less than
        ``2**(width * count - width + 54)``.
        """
        weight = self.weight[..., count:].copy()
        return Reconstruction(weight, self.fraction, self.product[count:], self.width)


# The exponent of lines of zeros, and above those of what is not finite.
ABSENT_EXPONENT, NON_FINITE_EXPONENT = -(2**40), 2**40
# Above all sums of magnitudes.
MOST_MAGNITUDE = 2**30


class ExtentWord(IntEnum):
    """The first indices of the words of `Extents`, those of both operands one behind the other."""

    LIMBS, TOP, SPAN, SHIFT, LEAST = 0, 2, 4, 6, 7


EXTENT_WORDS = 8


class Extents(NamedTuple):
    """The values that decide how a product is formed.

    All that the host has to know is in `EXTENT_WORDS` words, int64, in which calls leave the
    largest that they have seen, zeros to begin with: so it waits for a device once. Tops count from
    `ABSENT_EXPONENT` on, least entries down from `MOST_MAGNITUDE`.

    Attributes
    ----------
    limbs, top, span : tuple of int
        Of both operands: the limbs that hold all values, the largest power of two above a line,
        which is some `NON_FINITE_EXPONENT` if an entry is not finite, and, where all is, the
        most bits between the power of two of a line and its lowest bit.
    shift : int
        The largest size of the powers of two that balance the terms.
    least : int
        The least entry of a product of magnitudes, `MOST_MAGNITUDE` if all are zeros.
    """

    limbs: tuple[int, int]
    top: tuple[int, int]
    span: tuple[int, int]
    shift: int
    least: int

    @classmethod
    def of(cls, words: NDArray[np.int64]) -> Extents:
        """Return what the words say."""
        limbs, other_limbs, top, other_top, span, other_span, shift, below = words.tolist()
        tops = top + ABSENT_EXPONENT, other_top + ABSENT_EXPONENT
        spans = span, other_span
        return cls((limbs, other_limbs), tops, spans, shift, MOST_MAGNITUDE - below)


# What belongs to the rows of the left, and to the columns of the right operand.
LinePair = tuple[Block, Block]


class Residues(Protocol):
    """The residues of integers modulo each modulus of a plan, laid out as a backend likes."""


class Peer(Protocol):
    """Another GPU, which takes copies and works on them."""

    def take(self, block: Block) -> Block:
        """Return a copy there, asynchronously."""
        ...

    def start(
        self, call: Callable[..., None], operands: Sequence[Block | None], out: Block
    ) -> None:
        """Start ``call(backend, *operands, result)`` there; `finish` sets `out`.

        Other operands are copied.
        """
        ...

    def finish(self) -> None:
        """Let the current stream wait for all that was asked for, also where a call failed."""
        ...


class ExactProducts(Protocol):
    """The calls of exact products, over blocks of one matrix.

    A *line* is a row of `x` ``(..., lines, k)``: rows of the left operand are lines, columns of the
    right one those of its transpose. `shift` has a power of two for each step along k.
    """

    xp: ModuleType

    def matmul(
        self,
        a: Block,
        b: Block,
        *,
        kind: Kind,
        conj_a: bool = False,
        c: Block | None = None,
        subtract: bool = False,
        out: Block | None = None,
    ) -> Block:
        """Return ``c + a @ b`` or ``c - a @ b``, see `Backend.matmul`."""
        ...

    def repeated(
        self, flags: Hashable, operands: Sequence[Block | None], call: Callable[..., None]
    ) -> None:
        """Call ``call(backend, *operands)``, or do again what it did for operands of such a layout.

        It makes calls of `backend` alone, which depend on `flags` and on shapes and strides, and
        leaves its results in the operands.
        """
        ...

    def peer(self, number: int) -> Peer:
        """Return another GPU."""
        ...

    def exact_scan(
        self,
        pair: LinePair,
        shifts: tuple[Block | None, ...],
        exponents: LinePair,
        words: Block,
        *,
        is_complex: bool,
    ) -> None:
        """Set for each line the largest ``E + shift``, where ``2**E`` is above an entry.

        0 for lines of zeros. Without `shifts` they are 0. `words` get limbs, tops and spans.
        """
        ...

    def exact_balance(
        self, pair: LinePair, exponents: LinePair, shift: Block, words: Block, *, is_complex: bool
    ) -> None:
        """Set powers of two, int64, that balance the terms: of left lines times them.

        Half the distance between what is largest in the columns of the left and of the right
        lines, these scaled by their exponents, rounded down; 0 where one has none. `words` get the
        largest size.
        """
        ...

    def exact_workspace(self) -> int:
        """Return the bytes that a call may take in addition to its operands and its result."""
        ...

    def exact_columns(self) -> int:
        """Return the least columns, a multiple of 64, of parts that leave zeros out."""
        ...

    def exact_line_bytes(self, planes: int, terms: int) -> int:
        """Return the bytes that the residues of a line of so many terms take."""
        ...

    def exact_residues(
        self,
        x: Block,
        exponent: Block,
        shift: Block | None,
        tau: int,
        channels: Channels,
        *,
        is_complex: bool,
    ) -> Residues:
        """Return residues of the integers nearest to ``x * 2**(tau - exponent + shift)``.

        Each limb is rounded to an integer, ties to even.
        """
        ...

    def exact_part(self, x: Residues, part: slice, terms: int | None = None) -> Residues:
        """Return some lines of residues, a view; `part` begins at a multiple of 64.

        With `terms` those behind are zeros in the other operand and may be left out.
        """
        ...

    def exact_release(self, x: Residues) -> None:
        """Take the memory of residues back, which are not used again."""
        ...

    def exact_magnitudes(
        self, x: Block, exponent: Block, shift: Block | None, planes: int, *, is_complex: bool
    ) -> Residues:
        """Return ``abs(x) * 2**(7 - exponent + shift)`` rounded down.

        The second one of two planes says where x is not 0.
        The magnitude of a complex number is the larger one of its parts; it may be rounded down to
        an integer below the next one.
        """
        ...

    def exact_least(self, left: Residues, right: Residues, words: Block) -> None:
        """Find the least entry of the product of magnitudes; `words` get it.

        With two planes the least one where a term is not 0.
        """
        ...

    def exact_product(
        self,
        left: Residues,
        right: Residues,
        exponents: LinePair,
        channels: Channels,
        back: Reconstruction,
        unit: int,
        scale: int,
        *,
        kind: Kind,
        c: Block | None,
        subtract: bool,
        out: Block,
    ) -> None:
        """Write ``c + a @ b`` or ``c - a @ b`` to `out`; `c` may be `out`.

        Digits count multiples of ``2**-unit``; an entry is their sum, rounded once, times ``2**(e +
        f + scale)`` of its line's `exponents`.
        """
        ...

    def exact_sums(self, left: Residues, right: Residues) -> Block:
        """Return the sums of products of bytes, int32 ``(planes, rows, columns)``, both padded.

        Those of several runs of terms may be added, and be taken modulo what they belong to.
        """
        ...

    def exact_numbers(
        self,
        sums: Block,
        exponents: LinePair,
        channels: Channels,
        back: Reconstruction,
        unit: int,
        scale: int,
        *,
        kind: Kind,
        out: Block,
    ) -> None:
        """Write the numbers of sums to `out`, as `exact_product` does."""
        ...
