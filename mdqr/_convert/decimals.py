"""Many short decimals to limbs at once: at most 18 digits, with a power of ten that is a double.

A decimal is ``m / 10**k``. Each limb is the quotient of what is left and ``10**k``, correctly
rounded by the division of doubles; the remainder of such a quotient is a double, so that the limbs
are those of the greedy form, exactly as by integers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

_WIDEST = 26  # characters of a text
_MOST_DIGITS = 18  # of an int64
_EXACT_POWER = 22  # powers of ten up to this one are doubles
_LONG_POWER = 20  # for more than 53 bits, with room for two units in the last place
_SPLITTER = 2.0**27 + 1
_POWERS = 10.0 ** np.arange(_EXACT_POWER + 1)
_NEWLINE, _ZERO, _PLUS, _MINUS, _POINT = b"\n0+-."


def read_decimals(texts: Sequence[str], limbs: int) -> tuple[np.ndarray, np.ndarray]:
    """Round plain decimals to greedy limbs, before the pass of FastTwoSum.

    Returns
    -------
    block : numpy.ndarray
        ``(limbs, count)``; what is not read holds zeros.
    read : numpy.ndarray
        Where a text was read. Others are numbers of another form, or none.
    """
    block = np.zeros((limbs, len(texts)))
    found = _characters(texts)
    if found is None:
        return block, np.zeros(len(texts), dtype=bool)
    characters, lengths = found
    exponents = _take_exponents(characters, lengths)
    mantissas, places, read = _mantissas(characters, lengths)
    negative = characters[0] == _MINUS
    powers = exponents - places
    long = mantissas > 2**53
    read &= (powers >= np.where(long, -_LONG_POWER, -_EXACT_POWER)) & (mantissas > 0)
    read &= powers <= np.where(long, 0, _EXACT_POWER)
    chosen = np.flatnonzero(read)
    quotients, sure = _quotients(mantissas[chosen], powers[chosen], limbs)
    np.negative(quotients, out=quotients, where=negative[chosen] & (quotients != 0))
    if sure.all() and chosen.size == read.size:
        return quotients, read
    read[chosen[~sure]] = False
    quotients[:, ~sure] = 0.0
    block[:, chosen] = quotients
    return block, read


def _characters(texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the characters of texts as ``(width, count)``, 0 behind the ends, and the lengths."""
    joined = np.frombuffer(("\n".join(texts) + "\n").encode("utf-8", "replace"), dtype=np.uint8)
    ends = np.flatnonzero(joined == _NEWLINE)
    if ends.size != len(texts):
        return None
    starts = np.concatenate([[0], ends[:-1] + 1])
    lengths = ends - starts
    width = min(int(lengths.max(initial=1)), _WIDEST) or 1
    padded = np.concatenate([joined, np.zeros(width, dtype=np.uint8)])
    offsets = np.arange(width)[:, None]
    characters = padded[starts + offsets]
    characters[offsets >= lengths] = 0
    return characters, lengths


def _take_exponents(characters: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return the exponents behind an "e", and take them away; in place.

    Where what follows the "e" is no exponent of at most three digits, it stays.
    """
    exponents = np.zeros(lengths.size, dtype=np.int64)
    marks = characters | 32 == ord("e")
    where = np.flatnonzero(marks.any(axis=0))
    if not where.size:
        return exponents
    places = marks[:, where].argmax(axis=0)
    tails = np.minimum(places + 1 + np.arange(5)[:, None], len(characters))
    wide = np.concatenate([characters[:, where], np.zeros((1, where.size), dtype=np.uint8)])
    tail = np.take_along_axis(wide, tails, axis=0)
    signed = (tail[0] == _PLUS) | (tail[0] == _MINUS)
    digits = np.where(signed, tail[1:], tail[:-1])
    values = np.zeros(where.size, dtype=np.int64)
    count = np.zeros(where.size, dtype=np.int64)
    for row in digits:
        digit = row - np.uint8(_ZERO)
        known = (digit < 10) & (count >= 0)
        values = np.where(known, 10 * values + digit, values)
        count += known
    fits = (count > 0) & (count <= 3) & (places + 1 + signed + count == lengths[where])
    exponents[where[fits]] = np.where(tail[0] == _MINUS, -values, values)[fits]
    inside = np.arange(len(characters))[:, None] < places
    characters[:, where[fits]] = np.where(inside, characters[:, where], 0)[:, fits]
    lengths[where[fits]] = places[fits]
    return exponents


def _mantissas(
    characters: np.ndarray, lengths: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the digits as integers, how many stand behind the point, and where all was plain."""
    digits = characters - np.uint8(_ZERO)
    known = digits < 10
    digits *= known
    is_point = characters == _POINT
    count = np.add.reduce(known, axis=0, dtype=np.uint8)
    points = np.add.reduce(is_point, axis=0, dtype=np.uint8)
    behind = np.where(points > 0, lengths - 1 - is_point.argmax(axis=0), 0)
    # Zeros in front count for nothing; more than 18 other digits would wrap around.
    leading = (digits != 0).argmax(axis=0)
    significant = lengths - leading - (behind < lengths - leading) * points
    values = np.zeros(lengths.size, dtype=np.int64)
    row = np.empty_like(values)
    factors = known * np.uint8(9) + np.uint8(1)
    for factor, digit in zip(factors, digits, strict=True):
        row[...] = factor
        values *= row
        row[...] = digit
        values += row
    signs = (characters[0] == _PLUS) | (characters[0] == _MINUS)
    plain = (count + points + signs == lengths) & (points < 2) & (count > 0)
    return values, behind, plain & (significant <= _MOST_DIGITS)


def _quotients(
    mantissas: np.ndarray, powers: np.ndarray, limbs: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return limbs of ``mantissas * 10**powers``, and where they are sure to be the greedy ones."""
    out = np.zeros((limbs, mantissas.size))
    scale = _POWERS[np.abs(powers)]
    whole = powers > 0
    high = mantissas.astype(np.float64)
    low = (mantissas - high.astype(np.int64)).astype(np.float64)
    product, error = _two_product(high, scale)
    out[0] = np.where(whole, product, high / scale)
    back, rest = _two_product(out[0], scale)
    rest = np.where(whole, 0.0, (high - back) + (low - rest))
    # The first quotient of more than 53 bits may be a unit off.
    first = out[0] + np.where(whole, 0.0, rest / scale)
    rest -= (first - out[0]) * scale
    out[0] = first
    unit = np.spacing(first) * scale
    sure = whole | (2 * np.abs(rest) < unit * (1 - 2.0**-40)) | (mantissas <= 2**53)
    for i in range(1, limbs):
        out[i] = np.where(whole, error if i == 1 else 0.0, rest / scale)
        back, error_of_back = _two_product(out[i], scale)
        rest = (rest - back) - error_of_back
    return out, sure


def _two_product(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the product and its error, by Dekker."""
    product = x * y
    x_high, y_high = _high_half(x), _high_half(y)
    x_low, y_low = x - x_high, y - y_high
    error = ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low
    return product, error


def _high_half(x: np.ndarray) -> np.ndarray:
    scaled = _SPLITTER * x
    return scaled - (scaled - x)
