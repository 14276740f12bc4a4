"""The kernel calls of exact products on the GPU: kernels/cuda/products/exact*.cu and cuBLAS."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import NamedTuple, cast

import numpy as np

from mdqr._backend import workspace
from mdqr._backend.cuda.products.exact_tables import (
    NUMBER_THREADS,
    RESIDUE_THREADS,
    Digits,
    digits_of,
    planes_of,
    residue_table,
    residue_tile,
)
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
from mdqr._backend.cuda.runtime.peers import Peer
from mdqr._backend.cuda.runtime.replay import Recorder, planned
from mdqr._backend.cuda.vendor.cublas import BYTES, N, T
from mdqr._backend.exact import Channels, ExtentWord, LinePair, Reconstruction
from mdqr._limbs import planes as limb_planes
from mdqr._limbs.planes import Block, Kind

# Lines and terms that tensor cores read at a time, and rows that cuBLAS takes at a time.
_PADDED, _WHOLE = 16, 128

# As in kernels/cuda/products/exact_lines.cu: threads, and lines that a block scans.
_LINE_THREADS, _SCANNED = 256, 8
_MOST_BLOCKS = 1024

# Columns of parts that leave zeros out: fewer take less time than their launches.
_LEAST_COLUMNS = 1024

# The part of the memory of a device that a call takes unless the configuration says otherwise.
_MEMORY_SHARE = 4
# The part of the workspace that residues leave to sums at least.
_SUMS_SHARE = 4


class Residues(NamedTuple):
    """Bytes ``(planes, lines, terms)``, both padded by zeros, of so many lines.

    Planes may have more lines behind those, and lines more terms.
    """

    data: Block
    lines: int


class _Tile(NamedTuple):
    """Rows of a product, padded."""

    left: Residues
    right: Residues
    start: int
    rows: int

    @property
    def size(self) -> int:
        """The entries of a plane."""
        return self.rows * self.right.data.shape[1]

    @property
    def height(self) -> int:
        """The rows that are not padding."""
        return min(self.rows, self.left.lines - self.start)

    def multiply(self, kernels: Kernels, count: int, sums: int) -> None:
        """Set sums ``(count, rows, lines of right)`` of products of planes."""
        left, right = self.left.data, self.right.data
        across, terms = right.shape[1], left.shape[-1]
        (stride, line), (across_stride, column) = left.strides[:2], right.strides[:2]
        a, b = kernels.address(left) + self.start * line, kernels.address(right)
        # Column by column, which is how cuBLAS reads: the transpose of left right^T.
        kernels.cublas.gemm_batched(
            BYTES, (across, self.rows, terms), count, (b, column, across_stride),
            (a, line, stride), (sums, across, self.size), flags=(T, N),
        )  # fmt: skip


class _Place(NamedTuple):
    """The address of sums, and the rows that they belong to; `height` of them are not padding."""

    sums: int
    start: int
    rows: int
    height: int
    across: int


_LINES = Module("products/exact_lines", Kind(1, False))


class ExactProducts(KernelCalls):
    """See `mdqr._backend.exact.ExactProducts` for what each call computes."""

    def exact_workspace(self) -> int:
        """Return the bytes that a call may take."""
        return workspace.bound(self.kernels.memory // _MEMORY_SHARE)

    def exact_columns(self) -> int:
        """Return the least columns of a part."""
        return _LEAST_COLUMNS

    def exact_line_bytes(self, planes: int, terms: int) -> int:
        """Return the bytes of the residues of a line, and its share of those of sums.

        Sums of the fewest rows take more than their share where terms are few.
        """
        padded = _padded(terms)
        share = divided(padded * _SUMS_SHARE, _SUMS_SHARE - 1)
        return planes * max(share, padded + 4 * _PADDED)

    def exact_part(self, x: Residues, part: slice, terms: int | None = None) -> Residues:
        """Return a view of the residues of some lines, and of some terms."""
        stop = part.start + _padded(part.stop - part.start)
        last = None if terms is None else _padded(terms)
        return Residues(x.data[:, part.start : stop, :last], part.stop - part.start)

    def exact_release(self, x: Residues) -> None:
        """Do nothing: memory goes back to CuPy's pool with the last reference."""

    def repeated(
        self, flags: Hashable, operands: Sequence[Block | None], call: Callable[..., None]
    ) -> None:
        """Call ``call(self, *operands)``, or repeat what it launched for such operands."""
        given = [x for x in operands if x is not None]

        def launch(kernels: Kernels) -> None:
            if kernels is self.kernels:
                call(self, *operands)
                return
            recorder = cast(Recorder, kernels)
            places = (None if x is None else recorder.placeholder(x) for x in operands)
            call(type(self)(kernels), *places)

        most = self.exact_workspace()
        key = ("repeated", flags, tuple(x is None for x in operands), most)
        planned(self.kernels, key, given, launch, most)

    def peer(self, number: int) -> Peer:
        """Return another GPU."""
        return Peer(self, number)

    def exact_scan(
        self,
        pair: LinePair,
        shifts: tuple[Block | None, ...],
        exponents: LinePair,
        words: Block,
        *,
        is_complex: bool,
    ) -> None:
        """Find the exponents above the lines, and how far down their bits go."""

        def launch(kernels: Kernels) -> None:
            rest = [
                [_address(kernels, shift), 0, kernels.address(exponent)]
                for shift, exponent in zip(shifts, exponents, strict=True)
            ]
            _scan(kernels, pair, rest, is_complex, 1, kernels.address(words))

        given = [shift for shift in shifts if shift is not None]
        flags = ("exact_scan", is_complex, tuple(x is None for x in shifts))
        planned(self.kernels, flags, [*pair, *exponents, words, *given], launch)

    def exact_balance(
        self, pair: LinePair, exponents: LinePair, shift: Block, words: Block, *, is_complex: bool
    ) -> None:
        """Find powers of two between the terms."""
        terms = pair[0].shape[-1]

        def launch(kernels: Kernels) -> None:
            memory, first = kernels.scratch(2 * terms)
            tops = [first, first + 8 * terms]
            left, right = (limb_planes.first_limbs(x, is_complex, 1).swapaxes(-1, -2) for x in pair)
            rest = [
                [kernels.address(exponent), top, 0]
                for exponent, top in zip(exponents, tops, strict=True)
            ]
            _scan(kernels, (left, right), rest, is_complex, -1, 0)
            most = kernels.address(words) + 8 * ExtentWord.SHIFT
            kernels.launch(
                _LINES, "mdqr_exact_balance",
                fields(tops, terms, kernels.address(shift), most),
                grid=(divided(terms, _LINE_THREADS),), threads=_LINE_THREADS,
            )  # fmt: skip
            del memory

        flags = ("exact_balance", is_complex)
        planned(self.kernels, flags, [*pair, *exponents, shift, words], launch)

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
        """Return the residues of lines as integers."""
        count, narrow = len(channels.modulus), channels.narrow
        out = self._empty(narrow + 3 * (count - narrow), x)
        table = self.kernels.constant(("residues", channels), partial(residue_table, channels))

        def launch(kernels: Kernels) -> None:
            _, lines, terms = out.data.shape
            tile = residue_tile(kernels.device, channels, Kind(x.shape[-3], is_complex))
            arguments = fields(
                _lines_view(kernels, x, is_complex), kernels.address(exponent),
                _address(kernels, shift), tau, count, narrow, kernels.address(table),
                kernels.address(out.data), lines, terms,
            )  # fmt: skip
            kernels.launch(
                tile.module, "mdqr_exact_residues", arguments,
                grid=(lines // tile.lines * divided(terms, tile.terms),),
                threads=RESIDUE_THREADS, shared=tile.shared,
            )  # fmt: skip

        operands = [x, exponent, table, out.data, *([] if shift is None else [shift])]
        planned(self.kernels, ("exact_residues", is_complex, tau, channels), operands, launch)
        return out

    def exact_magnitudes(
        self, x: Block, exponent: Block, shift: Block | None, planes: int, *, is_complex: bool
    ) -> Residues:
        """Return lower bounds of magnitudes, and where there are some."""
        out = self._empty(planes, x)

        def launch(kernels: Kernels) -> None:
            _, lines, terms = out.data.shape
            arguments = fields(
                _lines_view(kernels, x, is_complex), kernels.address(exponent),
                _address(kernels, shift), kernels.address(out.data), lines, terms, planes,
            )  # fmt: skip
            kernels.launch(
                _LINES, "mdqr_exact_magnitudes", arguments,
                grid=(divided(lines * terms // 4, _LINE_THREADS),), threads=_LINE_THREADS,
            )  # fmt: skip

        operands = [x, exponent, out.data, *([] if shift is None else [shift])]
        planned(self.kernels, ("exact_magnitudes", is_complex), operands, launch)
        return out

    def exact_least(self, left: Residues, right: Residues, words: Block) -> None:
        """Find the least entry of a product of magnitudes."""
        most = self.exact_workspace()

        def launch(kernels: Kernels) -> None:
            planes, across, _ = right.data.shape
            tiles = _tiles(left, right, planes, most)
            memory, sums = kernels.scratch(divided(tiles[0].size * planes, 2))
            target = kernels.address(words) + 8 * ExtentWord.LEAST
            for tile in tiles:
                tile.multiply(kernels, planes, sums)
                counts = sums + 4 * tile.size if planes > 1 else 0
                kernels.launch(
                    _LINES, "mdqr_exact_least",
                    fields(sums, counts, tile.height, right.lines, across, target),
                    grid=(min(_MOST_BLOCKS, tile.height),), threads=_LINE_THREADS,
                )  # fmt: skip
            del memory

        flags = ("exact_least", left.lines, right.lines, most)
        planned(self.kernels, flags, [left.data, right.data, words], launch)

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
        """Write ``c + a @ b`` or ``c - a @ b`` to `out`."""
        most, digits = self.exact_workspace(), digits_of(self.kernels, channels, back, kind)
        across = right.data.shape[1]

        def launch(kernels: Kernels) -> None:
            tiles = _tiles(left, right, planes_of(channels), most)
            memory, sums = kernels.scratch(divided(tiles[0].size * planes_of(channels), 2))
            for tile in tiles:
                tile.multiply(kernels, planes_of(channels), sums)
                place = _Place(sums, tile.start, tile.rows, tile.height, across)
                _numbers(
                    kernels, place, exponents, channels, back, (unit, scale), digits, kind, c, out,
                    subtract=subtract,
                )  # fmt: skip
            del memory

        flags = ("exact_product", channels, back, unit, scale, kind, subtract, left.lines, most)
        operands = [left.data, right.data, *exponents, digits.table, out]
        planned(self.kernels, flags, [*operands, *([] if c is None else [c])], launch)

    def exact_sums(self, left: Residues, right: Residues) -> Block:
        """Return the sums of products of bytes."""
        count, lines, _ = left.data.shape
        out = self.kernels.empty((count, lines, right.data.shape[1]), np.int32)

        def launch(kernels: Kernels) -> None:
            _Tile(left, right, 0, lines).multiply(kernels, count, kernels.address(out))

        planned(self.kernels, ("exact_sums",), [left.data, right.data, out], launch)
        return out

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
        """Write the numbers of sums to `out`."""
        digits, (_, lines, across) = digits_of(self.kernels, channels, back, kind), sums.shape

        def launch(kernels: Kernels) -> None:
            place = _Place(kernels.address(sums), 0, lines, int(out.shape[-2]), across)
            _numbers(
                kernels, place, exponents, channels, back, (unit, scale), digits, kind, None, out
            )

        flags = ("exact_numbers", channels, back, unit, scale, kind)
        planned(self.kernels, flags, [sums, *exponents, digits.table, out], launch)

    def _empty(self, count: int, x: Block) -> Residues:
        """Return planes to be written for the lines of `x`."""
        lines, terms = x.shape[-2:]
        shape = (count, _padded(lines), _padded(terms))
        return Residues(self.kernels.empty(shape, np.int8), lines)


def _numbers(
    kernels: Kernels,
    place: _Place,
    exponents: LinePair,
    channels: Channels,
    back: Reconstruction,
    units: tuple[int, int],
    digits: Digits,
    kind: Kind,
    c: Block | None,
    out: Block,
    *,
    subtract: bool = False,
) -> None:
    """Write rows of ``c`` plus or minus the numbers of sums to `out`."""
    parts, count, narrow = 1 + kind.is_complex, len(channels.modulus), channels.narrow
    columns, (row, column) = out.shape[-1], map(kernels.address, exponents)
    arguments = fields(
        place.sums, place.rows * place.across, place.across, place.height, columns,
        row + 8 * place.start, column, narrow // parts, (count - narrow) // parts, back.width,
        *units, kernels.address(digits.table),
        NO_VIEW if c is None else _rows_view(kernels, c, kind, place.start),
        _rows_view(kernels, out, kind, place.start), int(subtract),
    )  # fmt: skip
    kernels.launch(
        digits.module, "mdqr_exact_numbers", arguments,
        grid=(divided(place.height * columns, digits.entries),),
        threads=NUMBER_THREADS, shared=digits.shared,
    )  # fmt: skip


def _scan(
    kernels: Kernels,
    pair: LinePair,
    rest: list[list[int]],
    is_complex: bool,
    sign: int,
    words: int,
) -> None:
    """Find the exponents of the lines of both; `rest` are the fields behind those of the views."""
    of = [[*_lines_view(kernels, x, is_complex), *more] for x, more in zip(pair, rest, strict=True)]
    lines = max(x.shape[-2] for x in pair)
    kernels.launch(
        _LINES, "mdqr_exact_scan", fields(*of, sign, words), grid=(divided(lines, _SCANNED), 2),
        threads=_LINE_THREADS, shared=12 * _LINE_THREADS,
    )  # fmt: skip


def _tiles(left: Residues, right: Residues, planes: int, workspace: int) -> list[_Tile]:
    """Return tiles of rows whose sums fit what operands leave of the workspace."""
    lines, row_bytes = left.data.shape[1], 4 * planes * right.data.shape[1]
    taken = sum(x.data.shape[0] * x.data.strides[0] for x in (left, right))
    most = max(workspace - taken, workspace // _SUMS_SHARE) // row_bytes
    whole = _WHOLE if most >= _WHOLE else _PADDED
    count = divided(lines, max(most // whole * whole, _PADDED))
    rows = divided(lines, count * whole) * whole
    starts = range(0, lines, rows)
    return [_Tile(left, right, start, min(rows, lines - start)) for start in starts]


def _address(kernels: Kernels, x: Block | None) -> int:
    return 0 if x is None else kernels.address(x)


def _rows_view(kernels: Kernels, x: Block, kind: Kind, start: int) -> list[int]:
    """Return the fields of `struct matrix_view` for the rows from `start` on."""
    address, *rest = matrix_view(kernels, x[..., None, :, :], kind.is_complex)
    return [address + start * x.strides[-2], *rest]


def _lines_view(kernels: Kernels, x: Block, is_complex: bool) -> list[int]:
    """Return the fields of `struct lines_view`."""
    lines, terms = x.shape[-2:]
    strides = [stride // 8 for stride in x.strides[-2:]]
    return [*planes(kernels, x, is_complex), *strides, lines, terms]


def _padded(count: int) -> int:
    return divided(count, _PADDED) * _PADDED
