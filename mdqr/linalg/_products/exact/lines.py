"""Rows and columns as integers: their powers of two, and the bits that they take."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from mdqr._backend.protocol import ExactProducts, Residues
from mdqr._limbs.planes import Block, Kind
from mdqr._precision import PRECISIONS
from mdqr.linalg._products.exact.parts import Lines, form_pairs
from mdqr.linalg._shared.checks import fetch

_BEYOND = 2**39  # all exponents of numbers
_GUARD = 5
_MAGNITUDES = 2  # planes: magnitudes, and where there are some


def full_bits(kind: Kind) -> int:
    """Return the bits of integers that keep all limbs, and those of somewhat smaller numbers."""
    return 53 * kind.limbs + _GUARD


def scaled_lines(
    backend: ExactProducts, a: Block, b: Block, kind: Kind, *, scaled: bool
) -> tuple[Lines, Lines] | None:
    """Return the scaled rows of `a` and columns of `b`, or None if an entry is not finite."""
    blocks, none = (a, b.swapaxes(-1, -2)), backend.xp.zeros(a.shape[-1], dtype=np.int64)
    pair = _scanned(backend, blocks, (none, none), kind)
    # Powers of two between the terms may cut bits of integers that are exact without.
    if scaled and pair is not None and any(lines.span > full_bits(kind) for lines in pair):
        shift = _inner_shift(backend, pair)
        if shift is not None:
            return _scanned(backend, blocks, (shift, -shift), kind)
    return pair


def _scanned(
    backend: ExactProducts, blocks: tuple[Block, Block], shifts: tuple[Block, Block], kind: Kind
) -> tuple[Lines, Lines] | None:
    """Return lines with their exponents; None if an entry is not finite."""
    scans = [
        backend.exact_scan(block, shift, is_complex=kind.is_complex)
        for block, shift in zip(blocks, shifts, strict=True)
    ]
    # A device is waited for once.
    extents = [tuple(map(int, found)) for found in fetch(*(scan.extents for scan in scans))]
    if max(top for top, _ in extents) > _BEYOND:
        return None
    left, right = (
        Lines(block, scan.exponent, shift, top, span, kind.is_complex)
        for block, scan, shift, (top, span) in zip(blocks, scans, shifts, extents, strict=True)
    )
    return left, right


def _inner_shift(backend: ExactProducts, pair: tuple[Lines, Lines]) -> Block | None:
    """Return powers of two that columns of `a` are multiplied and rows of `b` divided by.

    Rows of `a` and columns of `b` are scaled before: maxima of rows that differ are not taken for
    a column that is large. None where nothing is gained.
    """
    xp = backend.xp
    steps = []
    for lines in pair:
        leading = lines.block[:, :1] if lines.is_complex else lines.block[:1]
        turned, scale = leading.swapaxes(-1, -2), -lines.exponent
        steps.append(backend.exact_scan(turned, scale, is_complex=lines.is_complex).top)
    a, b = steps
    shift = xp.where((a < -_BEYOND) | (b < -_BEYOND), 0, (b - a) // 2)
    (gains,) = fetch((abs(shift) > 1).any())
    return shift if gains else None


def sufficient_bits(
    backend: ExactProducts, left: Lines, right: Lines, kind: Kind, terms: int
) -> int | None:
    """Return the bits for an error of eps |a| |b|, or None if no number will do.

    With bits t each entry errs by at most terms 2^(1 - t) times what its row and column have as
    their powers of two, twice that if complex; sums of magnitudes cut to 7 bits bound |a| |b| from
    below, in units of 2^-14 of the same.
    """
    forms = [partial(_magnitudes, backend, lines) for lines in (left, right)]
    found: list[int] = []

    def use(row: slice, column: slice, x: Residues, y: Residues) -> None:
        found.append(backend.exact_least(x, y))

    form_pairs(backend, (left, right), forms, _MAGNITUDES, use)
    least = min(found)
    if least == 0:
        return None
    above = (terms - 1).bit_length() - (least.bit_length() - 1)
    eps = next(p.eps for p in PRECISIONS if p.limbs == kind.limbs)
    return 16 - math.frexp(eps)[1] + kind.is_complex + above


def _magnitudes(backend: ExactProducts, lines: Lines, part: slice) -> Residues:
    """Return the magnitudes of some lines."""
    return backend.exact_magnitudes(
        lines.block[..., part, :], lines.exponent[part], lines.shift, is_complex=lines.is_complex
    )
