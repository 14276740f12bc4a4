"""Random limbs from counters: value i of a draw depends on its key and on i alone.

Word j of value i is a word of Philox 4x64-10 (Salmon, Moraes, Dror and Shaw, "Parallel random
numbers: as easy as 1, 2, 3", SC 2011), NumPy's bit generator `Philox`, at the counter
``(i // 4 + 1, j, 0, 0)``. So every device has the same words, in any order. Kernels repeat this
file operation by operation (kernels/cuda/elementwise/draw.cu): nothing here may call a function of
a C library that is not correctly rounded.

Normal doubles come from the ziggurat method (Marsaglia and Tsang, J. Statistical Software 5(8),
2000), with 256 layers of equal area, the last one with the tail.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, localcontext
from functools import cache
from math import factorial
from typing import NamedTuple

import numpy as np

# Two words of 64 bits.
Key = tuple[int, int]

_WORD = 53
_ALL = 2**64 - 1
# Values drawn at a time, in the cache of a core; a multiple of 4.
_PIECE = 2**16
# The third number of counters for values that the first word does not give; the first is i + 1
# then, and the second counts from 0.
_FURTHER = 1
_NUMBERS = 2**256
# Fewer words are not worth arrays.
_FEW = 30

_LAYERS = 256
# Where the tail begins, and the area of a layer under exp(-x**2 / 2).
_TAIL = Decimal("3.6541528853610087716454297203995157629748546")
_AREA = Decimal("0.0049286732339746553473617754023360280691353847")
TAIL = float(_TAIL)


class Ziggurat(NamedTuple):
    """Tables of the layers, the widest first, which has the tail, then from the top down.

    Attributes
    ----------
    limits : numpy.ndarray
        Numbers of 52 bits below these lie within the next narrower layer.
    widths : numpy.ndarray
        The unit of such a number.
    heights : numpy.ndarray
        The function at the right end; 1 for the first.
    """

    limits: np.ndarray
    widths: np.ndarray
    heights: np.ndarray


@cache
def ziggurat() -> Ziggurat:
    """Return the tables, correctly rounded: the same on every machine."""
    with localcontext() as context:
        context.prec = 40
        ends, heights = [_TAIL], [(-_TAIL * _TAIL / 2).exp()]
        for _ in range(_LAYERS - 2):
            heights.append(_AREA / ends[-1] + heights[-1])
            ends.append((-2 * heights[-1].ln()).sqrt())
        base = _AREA / heights[0]
        ends, heights = [base, *reversed(ends)], [Decimal(1), *reversed(heights)]
        inner = [_TAIL, Decimal(0), *ends[1:-1]]
        unit = Decimal(2) ** 52
        limits = [int(a / b * unit) for a, b in zip(inner, ends, strict=True)]
        widths = [end / unit for end in ends]
    return Ziggurat(*(np.array(list(map(float, x))) for x in (limits, widths, heights)))


class _Stream:
    """Words of a key, wherever they are asked for."""

    def __init__(self, key: Key) -> None:
        self._key = key
        self._bits = np.random.Philox(key=np.array(key, np.uint64))
        self._generator = np.random.Generator(self._bits)
        self._place = 0  # the number that is raised and encrypted next

    def words(self, place: int, first: int, count: int) -> np.ndarray:
        """Return words `place` of values from `first` on, a multiple of 4."""
        wanted = (place << 64) + first // 4
        self._bits.advance((wanted - self._place) % _NUMBERS)
        self._place = wanted + -(-count // 4)
        return self._generator.integers(0, _ALL, count, np.uint64, endpoint=True)

    def further(self, step: int, values: np.ndarray) -> np.ndarray:
        """Return four words ``(4, count)`` for a step of some values."""
        if len(values) > _FEW:
            return _philox(self._key, values.astype(np.uint64) + np.uint64(1), step)
        found = [self._four(step, int(i)) for i in values]
        return np.array(found, dtype=np.uint64).T

    def _four(self, step: int, value: int) -> np.ndarray:
        wanted = (_FURTHER << 128) + (step << 64) + value
        self._bits.advance((wanted - self._place) % _NUMBERS)
        self._place = wanted + 1
        return self._generator.integers(0, _ALL, 4, np.uint64, endpoint=True)


_FACTORS = (0xD2E7470EE14C6C93, 0xCA5A826395121157)
_STEPS = (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)
_LOWER = np.uint64(2**32 - 1)
_HALF = np.uint64(32)


def _product(x: np.ndarray, by: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the upper and lower words of products."""
    low, high = np.uint64(by & (2**32 - 1)), np.uint64(by >> 32)
    x_low, x_high = x & _LOWER, x >> _HALF
    middle = high * x_low + ((low * x_low) >> _HALF)
    other = low * x_high + (middle & _LOWER)
    return high * x_high + (middle >> _HALF) + (other >> _HALF), x * np.uint64(by)


def _philox(key: Key, first: np.ndarray, second: int) -> np.ndarray:
    """Return four words for each counter ``(first, second, _FURTHER, 0)``."""
    c: list[np.ndarray] = [first, *(np.full_like(first, x) for x in (second, _FURTHER, 0))]
    for turn in range(10):
        keys = [np.uint64((k + turn * step) % 2**64) for k, step in zip(key, _STEPS, strict=True)]
        (high, low), (other, lower) = (_product(c[2 * i], _FACTORS[i]) for i in range(2))
        c = [other ^ c[1] ^ keys[0], lower, high ^ c[3] ^ keys[1], low]
    return np.array(c)


def uniform(key: Key, count: int, limbs: int) -> np.ndarray:
    """Return limbs ``(limbs, count)`` of multiples of ``2**(-53 limbs)`` in [0, 1)."""
    return _in_pieces(_uniform_piece, key, count, limbs)


def normal(key: Key, count: int, limbs: int) -> np.ndarray:
    """Return limbs ``(limbs, count)`` of normal doubles with tails below half a unit of them."""
    return _in_pieces(_normal_piece, key, count, limbs)


def _in_pieces(
    piece: Callable[[_Stream, int, np.ndarray], None], key: Key, count: int, limbs: int
) -> np.ndarray:  # fmt: skip
    out, stream = np.empty((limbs, count)), _Stream(key)
    for first in range(0, count, _PIECE):
        piece(stream, first, out[:, first : first + _PIECE])
    return out


def _uniform_piece(stream: _Stream, first: int, v: np.ndarray) -> None:
    carry = None
    for place in reversed(range(len(v))):
        word = _number(stream.words(place, first, v.shape[1]))
        carry = _balance(word, carry, place + 1, v[place], is_first=place == 0)
    _sweep(v)


def _normal_piece(stream: _Stream, first: int, v: np.ndarray) -> None:
    z, carry = v[0], None
    _leading(stream, first, z)
    if len(v) > 1:
        # A unit in the last place; of zero there is no tail.
        unit = (z.view(np.int64) & (0x7FF << 52)).view(np.float64) * 2.0**-52
    for place in reversed(range(1, len(v))):
        word = _number(stream.words(place, first, v.shape[1]))
        if place == 1:
            word -= 2 ** (_WORD - 1)
        carry = _balance(word, carry, place, v[place], is_first=place == 1)
        v[place] *= unit
    _sweep(v)


def _number(words: np.ndarray) -> np.ndarray:
    """Return the upper 53 bits as int64."""
    return (words >> np.uint64(64 - _WORD)).view(np.int64)


def _balance(
    word: np.ndarray, carry: np.ndarray | None, place: int, to: np.ndarray, *, is_first: bool
) -> np.ndarray | None:  # fmt: skip
    """Write a word in units of ``2**(-53 place)``; return the carry to the one above it.

    But for the first they become numbers from -2**52 to 2**52 - 1.
    """
    if carry is not None:
        word += carry
    if is_first:
        carry = None
    else:
        carry = word >> (_WORD - 1)
        word -= carry << _WORD
    np.multiply(word, 2.0 ** (-_WORD * place), out=to)
    return carry


def _sweep(v: np.ndarray) -> None:
    """Make limbs of balanced words, each of which is as large as the next, or zero.

    One sweep downwards is enough, except for ties, once in about 2**53 values.
    """
    for _ in range(2):
        for i in range(len(v) - 1):
            total = v[i] + v[i + 1]
            v[i + 1] -= total - v[i]
            v[i] = total
        if all(np.array_equal(v[i] + v[i + 1], v[i]) for i in range(len(v) - 1)):
            break


def _leading(stream: _Stream, first: int, x: np.ndarray) -> None:
    words = stream.words(0, first, len(x))
    x[:], inside = _tried(words)
    rest = np.flatnonzero(~inside)
    if rest.size:
        _finish(stream, first, words, x, rest)
    # The ninth bit is the sign.
    bits = x.view(np.uint64)
    words &= np.uint64(256)
    words <<= np.uint64(55)
    bits |= words


def _tried(words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return magnitudes of words, and whether they lie inside of their layer for certain."""
    tables = ziggurat()
    layer = words.astype(np.uint8)
    size = (words >> np.uint64(12)).astype(np.float64)
    inside = size < tables.limits.take(layer)
    size *= tables.widths.take(layer)
    return size, inside


def _finish(
    stream: _Stream, first: int, words: np.ndarray, x: np.ndarray, places: np.ndarray
) -> None:  # fmt: skip
    """Write the magnitudes of `places` to `x`, by further words."""
    tables, word, step = ziggurat(), words[places], 0
    four = np.empty((4, 0), np.uint64)
    while places.size:
        # Two of four words each time.
        if step % 2 == 0:
            four = stream.further(step // 2, places + first)
        u, v = four[2 * (step % 2) :][:2]
        step += 1
        layer = word.astype(np.uint8)
        is_tail, lower = layer == 0, tables.heights[layer]
        beyond = -_log(u) / TAIL
        height = (tables.heights[layer.astype(np.intp) - 1] - lower) * _unit(u) + lower
        x_wedge = _tried(word)[0]
        in_tail = -2.0 * _log(v) > beyond * beyond
        done = np.where(is_tail, in_tail, height < _falling(x_wedge))
        # Who is in the tail stays there.
        word = np.where(is_tail, word, v)
        again, inside = _tried(word)
        inside &= ~is_tail
        x[places] = np.where(done, np.where(is_tail, TAIL + beyond, x_wedge), again)
        left = ~(done | inside)
        places, word, four = places[left], word[left], four[:, left]


def _unit(words: np.ndarray) -> np.ndarray:
    return _number(words) * 2.0**-_WORD


_EXPONENTIAL = tuple((-1.0) ** k / factorial(k) for k in range(9, -1, -1))
_LOGARITHM = tuple(1.0 / k for k in range(19, 0, -2))
_LN2, _ROOT, _LN_ROOT = 0.6931471805599453, 0.7071067811865476, -0.34657359027997264


def _polynomial(coefficients: tuple[float, ...], x: np.ndarray) -> np.ndarray:
    total = np.full_like(x, coefficients[0])
    for c in coefficients[1:]:
        total = total * x + c
    return total


def _falling(x: np.ndarray) -> np.ndarray:
    """Return ``exp(-x**2 / 2)`` to about 1e-14, for x up to the tail."""
    y = _polynomial(_EXPONENTIAL, x * x * 2.0**-7)
    for _ in range(6):
        y = y * y
    return y


def _log(words: np.ndarray) -> np.ndarray:
    """Return the logarithm of ``(n + 1) / 2**53`` to about 1e-16 of 1, n the upper 53 bits."""
    m, e = np.frexp((_number(words) + 1) * 2.0**-_WORD)
    s = (m - _ROOT) / (m + _ROOT)
    return 2.0 * s * _polynomial(_LOGARITHM, s * s) + (e * _LN2 + _LN_ROOT)


Draw = Callable[[Key, int, int], np.ndarray]
DRAWS: dict[str, Draw] = {"uniform": uniform, "normal": normal}
