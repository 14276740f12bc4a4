"""The kernel calls of exact products on the CPU."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from math import prod
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mdqr._backend import workspace
from mdqr._backend.exact import (
    ABSENT_EXPONENT,
    MOST_MAGNITUDE,
    Channels,
    ExtentWord,
    LinePair,
    Peer,
    Reconstruction,
)
from mdqr._limbs import planes
from mdqr._limbs.planes import Kind

Block = NDArray[np.float64]
Integers = NDArray[np.int64]

_PANEL = 32  # panel_lines of kernels/host/products/exact/arguments.hpp

# Memory that is kept from call to call: new pages take as long as the residues in them.
_KEPT_BYTES = 2**28
# Of parts that leave zeros out.
_LEAST_COLUMNS = 64
# What a call takes unless the configuration says otherwise.
_WORKSPACE = 2**30


class Residues(NamedTuple):
    """Bytes ``(planes, panels, fours, 32, 4)`` of the residues of lines, and their sums."""

    data: NDArray[np.int8]
    sums: NDArray[np.int32]
    lines: int
    buffer: NDArray[np.int8]


class Buffers:
    """Memory that calls give back and take again."""

    def __init__(self) -> None:
        self._kept: list[NDArray[np.int8]] = []
        self._lock = Lock()

    def take(self, count: int) -> NDArray[np.int8]:
        """Return so many bytes of the smallest buffer kept that fits.

        Or of a new one: a call takes no more than a quarter beyond what it asks for.
        """
        with self._lock:
            fits = [i for i, x in enumerate(self._kept) if count <= x.size <= count + count // 4]
            if fits:
                return self._kept.pop(min(fits, key=lambda i: self._kept[i].size))
            self._kept.clear()
        return np.empty(count, dtype=np.int8)

    def give(self, buffer: NDArray[np.int8]) -> None:
        """Keep a buffer, unless there is enough, or more than calls may take."""
        with self._lock:
            most = min(_KEPT_BYTES, workspace.bound(_WORKSPACE))
            if sum(kept.size for kept in self._kept) + buffer.size <= most:
                self._kept.append(buffer)


class ExactProducts:
    """See `mdqr._backend.exact.ExactProducts` for what each call computes."""

    _kernels: Any
    _buffers: Buffers
    unary: Any

    def exact_workspace(self) -> int:
        """Return the bytes that a call may take: buffers have up to a quarter more."""
        return workspace.bound(_WORKSPACE) * 4 // 5

    def exact_columns(self) -> int:
        """Return the least columns of a part."""
        return _LEAST_COLUMNS

    def exact_line_bytes(self, planes: int, terms: int) -> int:
        """Return the bytes of the residues of a line and of their sums."""
        return planes * 4 * (-(-terms // 4) + 1)

    def exact_part(self, x: Residues, part: slice, terms: int | None = None) -> Residues:
        """Return a view of the residues of some lines, with all terms: the sums are of these."""
        panels = slice(part.start // _PANEL, -(-part.stop // _PANEL))
        return Residues(x.data[:, panels], x.sums[:, panels], part.stop - part.start, x.buffer)

    def exact_release(self, x: Residues) -> None:
        """Take the memory of residues back."""
        self._buffers.give(x.buffer)

    def repeated(
        self, flags: Hashable, operands: Sequence[Block | None], call: Callable[..., None]
    ) -> None:
        """Call ``call(self, *operands)``."""
        call(self, *operands)

    def peer(self, number: int) -> Peer:
        """Refuse."""
        raise ValueError("a CPU has no other devices")

    def exact_scan(
        self,
        pair: LinePair,
        shifts: tuple[Integers | None, ...],
        exponents: LinePair,
        words: Integers,
        *,
        is_complex: bool,
    ) -> None:
        """Find the exponents above the lines, and how far down their bits go."""
        for number, (x, shift) in enumerate(zip(pair, shifts, strict=True)):
            top, bottom = self._scanned(x, shift, is_complex)
            is_zero = top < bottom
            found: dict[int, Any] = {
                ExtentWord.LIMBS: x.shape[int(is_complex)],
                ExtentWord.TOP: top.max() - ABSENT_EXPONENT,
                ExtentWord.SPAN: np.where(is_zero, 0, top - bottom).max(),
            }
            for first, value in found.items():
                words[first + number] = max(words[first + number], value)
            exponents[number][...] = np.where(is_zero, 0, top)

    def exact_balance(
        self,
        pair: LinePair,
        exponents: LinePair,
        shift: Integers,
        words: Integers,
        *,
        is_complex: bool,
    ) -> None:
        """Find powers of two between the terms."""
        tops = []
        for x, exponent in zip(pair, exponents, strict=True):
            leading = planes.first_limbs(x, is_complex, 1).swapaxes(-1, -2)
            tops.append(self._scanned(leading, -exponent, is_complex)[0])
        left, right = tops
        is_absent = np.minimum(left, right) < ABSENT_EXPONENT // 2
        shift[...] = np.where(is_absent, 0, (right - left) >> 1)
        words[ExtentWord.SHIFT] = max(words[ExtentWord.SHIFT], abs(shift).max())

    def _scanned(
        self, x: Block, shift: Integers | None, is_complex: bool
    ) -> tuple[Integers, Integers]:
        """Return the powers of two above lines, and those of their lowest bits."""
        top, bottom = (np.empty(x.shape[-2], dtype=np.int64) for _ in range(2))
        self._kernels.exact_scan(x, is_complex, _zeros(shift, x), top, bottom)
        return top, bottom

    def exact_residues(
        self,
        x: Block,
        exponent: Integers,
        shift: Integers | None,
        tau: int,
        channels: Channels,
        *,
        is_complex: bool,
    ) -> Residues:
        """Return the residues of lines as integers."""
        planes = channels.narrow + 3 * (len(channels.modulus) - channels.narrow)
        out = self._empty(planes, x)
        self._kernels.exact_residues(
            out.data, out.sums, x, is_complex, exponent, _zeros(shift, x), tau, *channels
        )
        return out

    def exact_magnitudes(
        self,
        x: Block,
        exponent: Integers,
        shift: Integers | None,
        planes: int,
        *,
        is_complex: bool,
    ) -> Residues:
        """Return lower bounds of magnitudes, and where there are some."""
        out = self._empty(planes, x)
        powers = exponent, _zeros(shift, x)
        self._kernels.exact_magnitudes(out.data, out.sums, x, is_complex, *powers)
        return out

    def exact_least(self, left: Residues, right: Residues, words: Integers) -> None:
        """Find the least entry of a product of magnitudes."""
        found = self._kernels.exact_least(*_operand(left), *_operand(right))
        words[ExtentWord.LEAST] = max(words[ExtentWord.LEAST], MOST_MAGNITUDE - found)

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
        addend = [] if c is None else [c]
        self._kernels.exact_product(
            out,
            addend,
            subtract,
            *kind,
            left.data,
            left.sums,
            exponents[0],
            right.data,
            right.sums,
            exponents[1],
            *channels,
            *back,
            unit,
            scale,
        )

    def exact_sums(self, left: Residues, right: Residues) -> NDArray[np.int32]:
        """Return the sums of products of bytes, by float64: they are exact there."""
        a, b = (_lines(x).astype(np.float64) for x in (left, right))
        return np.matmul(a, b.swapaxes(-1, -2)).astype(np.int32)

    def exact_numbers(
        self,
        sums: NDArray[np.int32],
        exponents: LinePair,
        channels: Channels,
        back: Reconstruction,
        unit: int,
        scale: int,
        *,
        kind: Kind,
        out: Block,
    ) -> None:
        """Write the numbers of sums to `out`, by digits as kernels/include/mdqr/residues.hpp."""
        residues = _residues(sums[:, : out.shape[-2], : out.shape[-1]], channels, kind.is_complex)
        powers = exponents[0][:, None] + exponents[1] + scale
        for part, (weight, fraction) in enumerate(zip(back.weight, back.fraction, strict=True)):
            turns = np.rint(np.tensordot(fraction, residues[part], 1))
            digits = np.tensordot(weight.T, residues[part], 1)
            digits -= back.product[:, None, None] * turns
            places = back.width * np.arange(len(digits))[:, None, None] - unit
            found = self.unary("renormalize", np.ldexp(digits, places), kind=kind.real)
            (out[part] if kind.is_complex else out)[...] = np.ldexp(found, powers)

    def _empty(self, planes: int, x: Block) -> Residues:
        """Return residues to be written for the lines of `x`."""
        lines, k = x.shape[-2:]
        shape = (planes, -(-lines // _PANEL), -(-k // 4), _PANEL, 4)
        buffer = self._buffers.take(prod(shape))
        data = buffer[: prod(shape)].reshape(shape)
        return Residues(data, np.empty((*shape[:2], _PANEL), dtype=np.int32), lines, buffer)


def _lines(x: Residues) -> NDArray[np.int8]:
    """Return the bytes ``(planes, lines, terms)``, both padded."""
    planes, panels, fours, width, four = x.data.shape
    return x.data.transpose(0, 1, 3, 2, 4).reshape(planes, panels * width, fours * four)


def _residues(
    sums: NDArray[np.int32], channels: Channels, is_complex: bool
) -> list[NDArray[np.float64]]:
    """Return the residues ``(moduli, rows, columns)`` of each part, near 0."""
    narrow, values = channels.narrow, sums.astype(np.int64)
    # Karatsuba, as in kernels/cuda/products/exact_numbers.cu.
    first, second, both = (values[narrow + i :: 3] for i in range(3))
    values = np.concatenate([values[:narrow], 16256 * first + 128 * both - 127 * second])
    modulus = channels.modulus.astype(np.int64)[:, None, None]
    found = ((values + modulus // 2) % modulus - modulus // 2).astype(np.float64)
    if not is_complex:
        return [found]
    return [found[::2] + found[1::2], found[::2] - found[1::2]]


def _operand(x: Residues) -> tuple[NDArray[np.int8], NDArray[np.int32], int]:
    return x.data, x.sums, x.lines


def _zeros(shift: Integers | None, x: Block) -> Integers:
    return np.zeros(x.shape[-1], dtype=np.int64) if shift is None else shift
