"""Rows and columns as integers: their powers of two, and the bits that they take."""

from __future__ import annotations

import math
from functools import partial
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from mdqr._backend.exact import (
    EXTENT_WORDS,
    NON_FINITE_EXPONENT,
    ExactProducts,
    Extents,
    LinePair,
    Residues,
)
from mdqr._limbs import planes
from mdqr._limbs.planes import Block, Kind
from mdqr.linalg._products.exact.parts import Lines, form_pairs
from mdqr.linalg._shared.checks import fetch
from mdqr.linalg._shared.operands import precision_for

_BEYOND = NON_FINITE_EXPONENT // 2  # all exponents of numbers, with shifts
_GUARD = 5


def full_bits(kind: Kind) -> int:
    """Return the bits of integers that keep all limbs, and those of somewhat smaller numbers."""
    return 53 * kind.limbs + _GUARD


def integer_lines(
    backend: ExactProducts, a: Block, b: Block, kind: Kind, bits: int | None, *, scaled: bool
) -> tuple[tuple[Lines, Lines], int] | None:
    """Return the scaled rows of `a` and columns of `b`, and the bits that their integers may have.

    These are `bits`, or as many as an error of eps |a| |b| takes. None if an entry is not finite,
    or no number of bits will do.
    """
    pair, terms = (a, b.swapaxes(-1, -2)), int(a.shape[-1])
    has_bound = bits is None
    lines, found, shift = _surveyed(backend, pair, (None, None), kind, scaled, has_bound)
    # Powers of two between the terms may cut bits of integers that are exact without.
    if shift is not None and max(found.span) > full_bits(kind) and found.shift > 1:
        if max(found.top) > _BEYOND:
            return None
        lines, found, _ = _surveyed(backend, pair, (shift, -shift), kind, False, has_bound)
    if max(found.top) > _BEYOND:
        return None
    if has_bound:
        # Of all entries, or where that is 0 of those that have a term.
        least = found.least or _least_of_terms(backend, *lines)
        bits = sufficient_bits(least, kind, terms * (1 + kind.is_complex))
    return None if bits is None else (lines, bits)


def scanned(backend: ExactProducts, pair: LinePair, is_complex: bool) -> tuple[LinePair, Block]:
    """Return the powers of two of both operands' lines, and the words of `Extents`, unread.

    Leading limbs determine the powers and the tops; limbs and spans are of these alone.
    """
    left, right = (planes.first_limbs(x, is_complex, 1) for x in pair)
    m, n = left.shape[-2], right.shape[-2]
    memory = backend.xp.zeros(EXTENT_WORDS + m + n, dtype=np.int64)
    words, rows, columns = (
        memory[:EXTENT_WORDS], memory[EXTENT_WORDS : EXTENT_WORDS + m], memory[EXTENT_WORDS + m :]
    )  # fmt: skip
    powers = rows, columns
    backend.exact_scan((left, right), (None, None), powers, words, is_complex=is_complex)
    return powers, words


class _Survey(NamedTuple):
    """Properties of lines: powers of two between the terms, the smallest entry."""

    is_complex: bool
    scaled: bool
    has_bound: bool

    def make(
        self,
        backend: ExactProducts,
        a: Block,
        b: Block,
        shift: Block | None,
        other_shift: Block | None,
        words: Block,
        exponent: Block,
        other_exponent: Block,
        balance: Block,
    ) -> None:
        """Find exponents, powers of two that balance the terms, and words of `Extents`."""
        pair, shifts, exponents = (a, b), (shift, other_shift), (exponent, other_exponent)
        field = self.is_complex
        backend.exact_scan(pair, shifts, exponents, words, is_complex=field)
        if self.scaled:
            backend.exact_balance(pair, exponents, balance, words, is_complex=field)
        if self.has_bound:
            _find_least(backend, pair, exponents, shifts, words, planes=1, is_complex=field)


def _surveyed(
    backend: ExactProducts,
    pair: LinePair,
    shifts: tuple[Block | None, Block | None],
    kind: Kind,
    scaled: bool,
    has_bound: bool,
) -> tuple[tuple[Lines, Lines], Extents, Block | None]:
    """Return lines, their extents, and powers of two that balance the terms if asked for.

    All that may be needed is asked for before the first of it is known: a device is waited for
    once.
    """
    field, (m, k), n = kind.is_complex, pair[0].shape[-2:], pair[1].shape[-2]
    memory = backend.xp.zeros(EXTENT_WORDS + m + n + k, dtype=np.int64)
    ends = accumulate((EXTENT_WORDS, m, n, k))
    words, *exponents, balance = (
        memory[end - size : end] for size, end in zip((EXTENT_WORDS, m, n, k), ends, strict=True)
    )
    survey = _Survey(field, scaled, has_bound)
    backend.repeated(survey, [*pair, *shifts, words, *exponents, balance], survey.make)
    found = _extents(words)
    left, right = (
        Lines(
            planes.first_limbs(pair[i], field, precision_for(max(1, found.limbs[i])).limbs),
            exponents[i],
            shifts[i],
            found.top[i],
            found.span[i],
            field,
        )
        for i in (0, 1)
    )
    return (left, right), found, balance if scaled else None


def _least_of_terms(backend: ExactProducts, left: Lines, right: Lines) -> int:
    """Return the least entry of a product of magnitudes where a term is not 0."""
    words, pair = backend.xp.zeros(EXTENT_WORDS, dtype=np.int64), (left.block, right.block)
    powers = (left.exponent, right.exponent), (left.shift, right.shift)
    _find_least(backend, pair, *powers, words, planes=2, is_complex=left.is_complex)
    return _extents(words).least


def _extents(words: Block) -> Extents:
    """Wait for what calls have found."""
    (found,) = fetch(words)
    return Extents.of(found)


def _find_least(
    backend: ExactProducts,
    pair: LinePair,
    exponents: LinePair,
    shifts: tuple[Block | None, Block | None],
    words: Block,
    *,
    planes: int,
    is_complex: bool,
) -> None:
    """Multiply the magnitudes of lines, in parts that fit the workspace, for the least entry.

    With two planes that of products which have a term other than 0.
    """

    def form(number: int, part: slice) -> Residues:
        x, exponent, shift = pair[number], exponents[number], shifts[number]
        return backend.exact_magnitudes(
            x[..., part, :], exponent[part], shift, planes, is_complex=is_complex
        )

    def use(row: slice, column: slice, x: Residues, y: Residues) -> None:
        backend.exact_least(x, y, words)

    forms = [partial(form, number) for number in (0, 1)]
    form_pairs(backend, pair, forms, planes, use)


def sufficient_bits(least: int, kind: Kind, terms: int) -> int | None:
    """Return the bits for an error of eps |a| |b|, or None if no number will do.

    With bits t each entry has an error of at most terms 2^(1 - t) times what its row and column
    have as their powers of two, twice that if complex; sums of magnitudes cut to 7 bits bound |a|
    |b| from below, in units of 2^-14 of the same, and the least of them is `least`.
    """
    if least == 0:
        return None
    above = (terms - 1).bit_length() - (least.bit_length() - 1)
    return 16 - math.frexp(precision_for(kind.limbs).eps)[1] + kind.is_complex + above
