"""The kernel calls of exact products on the GPU: kernels/cuda/products/exact*.cu and cuBLAS."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from mdqr._backend import workspace
from mdqr._backend.cuda.products.operands import NO_VIEW
from mdqr._backend.cuda.runtime.kernels import (
    KernelCalls,
    Kernels,
    Module,
    divided,
    fields,
    matrix_view,
    planes,
)
from mdqr._backend.cuda.vendor.cublas import BYTES, N, T
from mdqr._backend.protocol import Channels, Reconstruction, Scan
from mdqr._limbs.planes import Block, Kind

# Lines and terms that tensor cores read at a time.
_PADDED = 16

# As in kernels/cuda/products/exact_lines.cu: threads, lines that a block scans, and the exponent of
# lines of zeros.
_LINE_THREADS, _SCANNED, _ABSENT = 256, 8, -(2**40)
_LEAST_BLOCKS = 1024
# As in kernels/cuda/products/exact_residues.cu.
_RESIDUE_THREADS, _TILE_LINES, _TILE_TERMS = 128, 8, 64
_WORD_STRIDE = _TILE_LINES * _TILE_TERMS + 2
# Channels and words of a product by tensor cores, and what sums of bytes begin with: the word of
# the float that has its integer behind 1.5 * 2**23.
_CHANNELS, _STEP_WORDS, _MAGIC_WORD = 16, 8, 0x4B400000
# As in kernels/cuda/products/exact_numbers.cu.
_NUMBER_THREADS, _FEW_PIECES, _FEW_LIMBS, _AHEAD = 128, 8, 4, 8

# The least products of bytes in one call of cuBLAS, a multiple of the three that a wide modulus
# takes, and the bytes of sums up to which there are more: small ones do not fill a device.
_GROUP, _SUMS_BYTES = 12, 2**28

# Digits are rounded up to a multiple of this by zeros, so that fewer modules are compiled.
_PIECES = 2

# Columns of parts that leave zeros out: fewer take less time than their launches.
_LEAST_COLUMNS = 1024

# The part of the memory of a device that a call takes unless the configuration says otherwise.
_MEMORY_SHARE = 8
# The part of the workspace that residues leave to sums.
_SUMS_SHARE = 4


class Residues(NamedTuple):
    """Bytes ``(planes, lines, terms)``, both padded by zeros, of so many lines.

    Planes may have more lines behind those, and lines more terms.
    """

    data: Block
    lines: int


class _Digits(NamedTuple):
    """The module for so many digits, tables for so many moduli, and the entries of a block."""

    module: Module
    table: Block
    moduli: int
    entries: int


_LINES = Module("products/exact_lines", Kind(1, False))


class ExactProducts(KernelCalls):
    """See `mdqr._backend.protocol.ExactProducts` for what each call computes."""

    def exact_workspace(self) -> int:
        """Return the bytes that a call may take."""
        return workspace.bound(self.kernels.memory // _MEMORY_SHARE)

    def exact_columns(self) -> int:
        """Return the least columns of a part."""
        return _LEAST_COLUMNS

    def exact_line_bytes(self, planes: int, terms: int) -> int:
        """Return the bytes of the residues of a line, and its share of those of sums."""
        return divided(planes * _padded(terms) * _SUMS_SHARE, _SUMS_SHARE - 1)

    def exact_part(self, x: Residues, part: slice, terms: int | None = None) -> Residues:
        """Return a view of the residues of some lines, and of some terms."""
        stop = part.start + _padded(part.stop - part.start)
        last = None if terms is None else _padded(terms)
        return Residues(x.data[:, part.start : stop, :last], part.stop - part.start)

    def exact_release(self, x: Residues) -> None:
        """Do nothing: memory goes back to CuPy's pool with the last reference."""

    def exact_scan(self, x: Block, shift: Block, *, is_complex: bool) -> Scan:
        """Return the exponents above the lines, and how far down their bits go."""
        lines = x.shape[-2]
        top, exponent = self.xp.empty((2, lines), dtype=np.int64)
        extents = self.xp.full(2, _ABSENT, dtype=np.int64)
        view = _lines_view(self.kernels, x, is_complex)
        written = self._addresses(shift, top, exponent, extents)
        self.kernels.launch(
            _LINES, "mdqr_exact_scan", fields(view, *written),
            grid=(divided(lines, _SCANNED),), threads=_LINE_THREADS, shared=16 * _LINE_THREADS,
        )  # fmt: skip
        return Scan(top, exponent, extents)

    def exact_residues(
        self,
        x: Block,
        exponent: Block,
        shift: Block,
        tau: int,
        channels: Channels,
        *,
        is_complex: bool,
    ) -> Residues:
        """Return the residues of lines as integers."""
        count, narrow = len(channels.modulus), channels.narrow
        out = self._empty(narrow + 3 * (count - narrow), x)
        table = self.kernels.constant(("residues", channels), partial(_residue_table, channels))
        _, lines, terms = out.data.shape
        words = f"MDQR_WORDS={channels.words}"
        module = Module("products/exact_residues", Kind(x.shape[-3], is_complex), (words,))
        arguments = fields(
            _lines_view(self.kernels, x, is_complex), *self._addresses(exponent, shift),
            tau, count, narrow, *self._addresses(table, out.data), lines, terms,
        )  # fmt: skip
        self.kernels.launch(
            module, "mdqr_exact_residues", arguments,
            grid=(lines // _TILE_LINES * divided(terms, _TILE_TERMS),),
            threads=_RESIDUE_THREADS,
            shared=4 * _WORD_STRIDE * channels.words * (1 + is_complex),
        )  # fmt: skip
        return out

    def exact_magnitudes(
        self, x: Block, exponent: Block, shift: Block, *, is_complex: bool
    ) -> Residues:
        """Return lower bounds of magnitudes, and where there are some."""
        out = self._empty(2, x)
        _, lines, terms = out.data.shape
        arguments = fields(
            _lines_view(self.kernels, x, is_complex),
            *self._addresses(exponent, shift, out.data), lines, terms,
        )  # fmt: skip
        self.kernels.launch(
            _LINES, "mdqr_exact_magnitudes", arguments,
            grid=(divided(lines * terms // 4, _LINE_THREADS),), threads=_LINE_THREADS,
        )  # fmt: skip
        return out

    def exact_least(self, left: Residues, right: Residues) -> int:
        """Return the least entry of a product of magnitudes."""
        across = right.data.shape[1]
        most = self.xp.full(1, -(2**30), dtype=np.int64)
        for start, rows in self._tiles(left, 8 * across):
            sums = self.xp.empty((2, rows, across), dtype=np.int32)
            self._multiply(left, right, start, 0, sums)
            size = rows * across
            self.kernels.launch(
                _LINES, "mdqr_exact_least", fields(*self._addresses(sums), size,
                *self._addresses(most)),
                grid=(min(_LEAST_BLOCKS, divided(size, _LINE_THREADS)),), threads=_LINE_THREADS,
            )  # fmt: skip
        return -int(most[0])

    def exact_product(
        self,
        left: Residues,
        right: Residues,
        exponents: tuple[Block, Block],
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
        """Write ``c + a @ b`` or ``c - a @ b`` to `out`."""
        across = right.data.shape[1]
        row_exponent, column_exponent = exponents
        digits = self._digits(back, kind)
        for start, rows in self._tiles(left, across * (2 * len(channels.modulus) + 4 * _GROUP)):
            residues = self._reduced(left, right, channels, slice(start, start + rows), digits)
            inside = slice(start, min(start + rows, left.lines))
            to, columns = out[..., inside, :], out.shape[-1]
            addend = NO_VIEW if c is None else self._view(c[..., inside, :], kind)
            arguments = fields(
                *self._addresses(residues), rows * across, across, to.shape[-2], columns,
                *self._addresses(row_exponent[inside], column_exponent), digits.moduli,
                back.weight.shape[1], back.width, unit, scale, *self._addresses(digits.table),
                addend, self._view(to, kind), int(subtract),
            )  # fmt: skip
            self.kernels.launch(
                digits.module, "mdqr_exact_numbers", arguments,
                grid=(divided(to.shape[-2] * columns, digits.entries),),
                threads=_NUMBER_THREADS, shared=digits.table.nbytes,
            )  # fmt: skip

    def _reduced(
        self, left: Residues, right: Residues, channels: Channels, part: slice, digits: _Digits
    ) -> Block:
        """Return the residues ``(channels, rows, lines of right)`` of rows of a product."""
        count, narrow = len(channels.modulus), channels.narrow
        rows, across = part.stop - part.start, right.data.shape[1]
        residues = self.xp.empty((count, rows, across), dtype=np.int16)
        room = min(_SUMS_BYTES, self.exact_workspace() // _SUMS_SHARE - residues.nbytes)
        group = max(_GROUP, room // (4 * rows * across) // 3 * 3)
        sums = self.xp.empty((group, rows, across), dtype=np.int32)
        table = self.kernels.constant(("moduli", channels), partial(_moduli_table, channels))
        for first, some, is_wide in _groups(count, narrow, group):
            plane = narrow + 3 * (first - narrow) if is_wide else first
            self._multiply(left, right, part.start, plane, sums[: some * (3 if is_wide else 1)])
            arguments = fields(
                *self._addresses(sums), rows * across, int(is_wide),
                *self._addresses(table[first:], residues[first:]),
            )  # fmt: skip
            self.kernels.launch(
                digits.module, "mdqr_exact_reduce", arguments,
                grid=(divided(rows * across // 4, _NUMBER_THREADS), some),
                threads=_NUMBER_THREADS,
            )  # fmt: skip
        return residues

    def _addresses(self, *blocks: Block) -> list[int]:
        return [self.kernels.address(block) for block in blocks]

    def _view(self, x: Block, kind: Kind) -> list[int]:
        return matrix_view(self.kernels, x[..., None, :, :], kind.is_complex)

    def _empty(self, count: int, x: Block) -> Residues:
        """Return planes to be written for the lines of `x`."""
        lines, terms = x.shape[-2:]
        shape = (count, _padded(lines), _padded(terms))
        return Residues(self.xp.empty(shape, dtype=np.int8), lines)

    def _digits(self, back: Reconstruction, kind: Kind) -> _Digits:
        """Return what leads to numbers of so many digits."""
        _, moduli, pieces = back.weight.shape
        rows, padded = (divided(x, y) * y for x, y in ((moduli, _AHEAD), (pieces, _PIECES)))
        make = partial(_digit_table, back, rows, padded)
        module = Module("products/exact_numbers", kind, (f"MDQR_PIECES={padded}",))
        few = padded <= _FEW_PIECES and kind.limbs <= _FEW_LIMBS
        entries = _NUMBER_THREADS * (2 if few else 1)
        return _Digits(module, self.kernels.constant(("digits", back), make), rows, entries)

    def _multiply(
        self, left: Residues, right: Residues, start: int, plane: int, sums: Block
    ) -> None:
        """Set sums ``(planes, rows, lines of right)`` from plane `plane` and row `start` on."""
        count, rows, across = sums.shape
        terms = left.data.shape[-1]
        (stride, line), (across_stride, column) = left.data.strides[:2], right.data.strides[:2]
        a = self.kernels.address(left.data) + plane * stride + start * line
        b = self.kernels.address(right.data) + plane * across_stride
        # Column by column, which is how cuBLAS reads: the transpose of left right^T.
        self.kernels.cublas.gemm_batched(
            BYTES, (across, rows, terms), count, (b, column, across_stride),
            (a, line, stride), (self.kernels.address(sums), across, rows * across),
            flags=(T, N),
        )  # fmt: skip

    def _tiles(self, left: Residues, row_bytes: int) -> Iterator[tuple[int, int]]:
        """Yield the first row and the rows of tiles whose sums fit their share of the workspace."""
        lines = left.data.shape[1]
        most = self.exact_workspace() // _SUMS_SHARE // row_bytes // _PADDED * _PADDED
        for start in range(0, lines, max(most, _PADDED)):
            yield start, min(max(most, _PADDED), lines - start)


def _digit_table(back: Reconstruction, rows: int, padded: int) -> np.ndarray:
    """Return what kernels/cuda/products/exact_numbers.cu reads, padded by zeros."""
    parts, moduli, pieces = back.weight.shape
    weight, fraction = np.zeros((parts, rows, padded)), np.zeros((parts, rows))
    weight[:, :moduli, :pieces] = back.weight
    fraction[:, :moduli] = back.fraction
    product = np.zeros(padded)
    product[:pieces] = back.product
    return np.concatenate([part.ravel() for part in (weight, fraction, product)])


def _moduli_table(channels: Channels) -> np.ndarray:
    return np.stack([channels.modulus, 1.0 / channels.modulus], axis=-1)


def _residue_table(channels: Channels) -> np.ndarray:
    """Return what kernels/cuda/products/exact_residues.cu reads, in 32-bit words.

    Channels, narrow and wide ones padded each; factors of narrow ones, of the lower digits of wide
    ones and of the upper ones, as the lanes of a warp take them.
    """
    narrow = channels.narrow
    inverse = (1.0 / channels.modulus).astype(np.float32).view(np.int32)
    modulus = channels.modulus.astype(np.float32).view(np.int32)
    front = [modulus, inverse, channels.start + _MAGIC_WORD, np.zeros_like(modulus)]
    rows = np.stack(front, axis=-1)
    low, high = channels.low, channels.high
    parts = [_padded_rows(rows[:narrow]), _padded_rows(rows[narrow:])]
    parts += [_by_lanes(part) for part in (low[:narrow], low[narrow:], high)]
    return np.concatenate([part.ravel() for part in parts])


def _padded_rows(table: np.ndarray) -> np.ndarray:
    return np.pad(table, ((0, -len(table) % _CHANNELS), (0, 0)))


def _by_lanes(table: np.ndarray) -> np.ndarray:
    """Return words in the order in which lanes hold them, see `device/matrix_step.hpp`."""
    rows = np.pad(_padded_rows(table), ((0, 0), (0, -table.shape[1] % _STEP_WORDS)))
    # Tiles, row / 8, row % 8, steps, word / 4, word % 4.
    split = rows.reshape(len(rows) // 16, 2, 8, rows.shape[1] // 8, 2, 4)
    return split.transpose(0, 3, 2, 5, 4, 1)


def _lines_view(kernels: Kernels, x: Block, is_complex: bool) -> list[int]:
    """Return the fields of `struct lines_view`."""
    lines, terms = x.shape[-2:]
    strides = [stride // 8 for stride in x.strides[-2:]]
    return [*planes(kernels, x, is_complex), *strides, lines, terms]


def _padded(count: int) -> int:
    return divided(count, _PADDED) * _PADDED


def _groups(count: int, narrow: int, group: int) -> Iterator[tuple[int, int, bool]]:
    """Yield the first channel, the number of channels, and whether they are wide."""
    for first in range(0, narrow, group):
        yield first, min(group, narrow - first), False
    for first in range(narrow, count, group // 3):
        yield first, min(group // 3, count - first), True
