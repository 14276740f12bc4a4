"""The tables that the kernels of exact products read: kernels/cuda/products/exact*.cu."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from mdqr._backend.cuda.runtime.device import Device
from mdqr._backend.cuda.runtime.kernels import Kernels, Module, divided
from mdqr._backend.exact import Channels, Reconstruction
from mdqr._limbs.planes import Block, Kind

# Channels and words of a product by tensor cores, and what sums of bytes begin with: the word of
# the float that has its integer behind 1.5 * 2**23.
_CHANNELS, _STEP_WORDS = 16, 8
_MAGIC, _MAGIC_WORD = 3 * 2**22, 0x4B400000
# As in kernels/cuda/products/exact_numbers.cu; what sums of bytes are behind, there.
_BEHIND = 2.0**52 + 2.0**31
_AHEAD, _WIDE_AHEAD = 8, 4
NUMBER_THREADS, _FEW_PIECES, _FEW_LIMBS = 128, 8, 4
# As in kernels/cuda/products/exact_residues.cu; lines of a block where the words of more take too
# much shared memory.
RESIDUE_THREADS, _TILE_LINES, _TILE_TERMS, _FEW_LINES = 128, 8, 64, 4
# Digits are rounded up to a multiple of this by zeros, so that fewer modules are compiled.
_PIECES = 2


class Digits(NamedTuple):
    """The module for so many digits, its table, and a block's entries and shared memory."""

    module: Module
    table: Block
    entries: int
    shared: int


class ResidueTile(NamedTuple):
    """The module that forms residues; lines, terms and shared memory of a block."""

    module: Module
    lines: int
    terms: int
    shared: int


def residue_tile(device: Device, channels: Channels, kind: Kind) -> ResidueTile:
    """Return what a block takes, fewer lines where a device has less memory."""
    defines: tuple[str, ...] = (f"MDQR_WORDS={channels.words}",)
    lines, an_entry = _TILE_LINES, 4 * channels.words * (1 + kind.is_complex)
    if (lines * _TILE_TERMS + 2) * an_entry > device.shared:
        lines = _FEW_LINES
        defines += (f"MDQR_TILE_LINES={lines}",)
    module = Module("products/exact_residues", kind, defines)
    return ResidueTile(module, lines, _TILE_TERMS, (lines * _TILE_TERMS + 2) * an_entry)


def planes_of(channels: Channels) -> int:
    """Return the number of products of bytes."""
    return int(channels.narrow + 3 * (len(channels.modulus) - channels.narrow))


def digits_of(kernels: Kernels, channels: Channels, back: Reconstruction, kind: Kind) -> Digits:
    """Return the steps to numbers of so many digits."""
    parts, _, pieces = back.weight.shape
    padded = divided(pieces, _PIECES) * _PIECES
    table = kernels.constant(("digits", back), partial(digit_table, channels, back, padded))
    fits = table.nbytes <= kernels.device.shared
    defines = (f"MDQR_PIECES={padded}", *(() if fits else ("MDQR_TABLE_IN_MEMORY",)))
    module = Module("products/exact_numbers", kind, defines)
    few = parts == 1 and padded <= _FEW_PIECES and kind.limbs <= _FEW_LIMBS
    entries = NUMBER_THREADS * (2 if few else 1)
    return Digits(module, table, entries, table.nbytes if fits else 0)


def digit_table(channels: Channels, back: Reconstruction, padded: int) -> np.ndarray:
    """Return the table of kernels/cuda/products/exact_numbers.cu.

    A row a modulus, those of one and of two digits padded by rows of zeros each, and the digits of
    the product of all.
    """
    parts, moduli, pieces = back.weight.shape
    header = 2 + 2 * parts
    rows = np.zeros((moduli, header + parts * padded))
    rows[:, 0] = channels.modulus[::parts]
    rows[:, 1] = 1.0 / rows[:, 0]
    rows[:, 2] = _BEHIND - _BEHIND % rows[:, 0]
    rows[:, 3 : 3 + parts] = back.fraction.T
    for part in range(parts):
        start = header + part * padded
        rows[:, start : start + pieces] = back.weight[part]
    narrow = channels.narrow // parts
    kinds = (rows[:narrow], _AHEAD), (rows[narrow:], _WIDE_AHEAD)
    padded_rows = [np.pad(kind, ((0, -len(kind) % ahead), (0, 0))) for kind, ahead in kinds]
    product = np.pad(back.product, (0, padded - pieces))
    return np.concatenate([*(part.ravel() for part in padded_rows), product])


def residue_table(channels: Channels) -> np.ndarray:
    """Return the table of kernels/cuda/products/exact_residues.cu, in 32-bit words.

    Channels, narrow and wide ones padded each; factors of narrow ones, of the lower digits of wide
    ones and of the upper ones, as the lanes of a warp take them.
    """
    narrow = channels.narrow
    inverse = (1.0 / channels.modulus).astype(np.float32).view(np.int32)
    modulus = channels.modulus.astype(np.float32).view(np.int32)
    start = channels.start + _MAGIC_WORD
    start[:narrow] -= _MAGIC % channels.modulus[:narrow]
    front = [modulus, inverse, start, channels.modulus]
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
