"""Arrays of numbers of any kind to blocks of limbs, and blocks to exact numbers.

Everything runs on the host with Python integers and NumPy, without a kernel, so that the limbs are
the same on every device. Rounding is in `_convert_round`, single numbers in `_convert_scalars`,
text in `_convert_strings` (in) and `_convert_digits` (out).
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import isfinite
from typing import Any, NoReturn

import numpy as np

from mdqr._backend.host.text import write_texts
from mdqr._convert.array_like import EXACT_INTEGER, check_characters, plain
from mdqr._convert.digits import Dyadic, complex_text, layout, real_text
from mdqr._convert.scalars import fraction_to_limbs, scalar_to_fraction, scalar_to_limbs
from mdqr._convert.strings import TextError, strings_to_block
from mdqr._errors import shown
from mdqr._limbs import planes as _limbs
from mdqr._limbs.exact import LOWEST, saturated, sum_of_units
from mdqr._limbs.planes import Block
from mdqr._limbs.rounding_mode import require_nearest
from mdqr._precision import Precision

__all__ = [
    "block_to_fractions",
    "block_to_mpmath",
    "block_to_strings",
    "check_depth",
    "fraction_to_limbs",
    "objects_to_block",
    "refuse_text",
    "scalar_to_fraction",
    "scalar_to_limbs",
]


# -- numbers to limbs ------------------------------------------------------------------------


def check_depth(depth: int) -> None:
    """Raise ValueError if a sequence lies in `depth` others: more than an array has axes."""
    if depth >= _limbs.MOST_AXES:
        raise ValueError(
            f"sequences are nested more than {_limbs.MOST_AXES} deep; does a list contain itself?"
        )


def objects_to_block(x: Any, limbs: int) -> tuple[Block, bool]:
    """Convert a nested sequence or a NumPy array of numbers, each rounded once.

    Parameters
    ----------
    x : nested sequence, NumPy array or scalar
        Its leaves are what `scalar_to_limbs` takes. NumPy arrays may be of bool, integer, float,
        longdouble, complex, string or object type; none goes through float64 on its way.
    limbs : int
        Number of limbs wanted.

    Returns
    -------
    block : Block
        Shape ``(N, *shape)``, complex ``(2, N, *shape)``.
    is_complex : bool
        Whether the block is complex.

    Raises
    ------
    ValueError
        If a text is not a number (its place is named), the rows differ in length, or a list
        contains itself.
    TypeError
        If a leaf is not a number.
    """
    require_nearest()
    if isinstance(x, (np.ndarray, np.generic)) and np.asarray(x).dtype.kind in "biufc":
        array = np.asarray(x)
        shape = array.shape
        real, imag = _numbers_to_planes(array.reshape(-1), limbs)
    else:
        leaves: list[Any] = []
        shape = _flatten(x, leaves, 0)
        real, imag = _leaves_to_planes(leaves, limbs, shape)
    _limbs.check_axes(len(shape), imag is not None)
    if imag is None:
        return real.reshape(limbs, *shape), False
    return np.stack([real, imag]).reshape(2, limbs, *shape), True


def refuse_text(x: str | bytes) -> NoReturn:
    """Raise the TypeError of a text in arithmetic."""
    got = shown(str(x) if isinstance(x, str) else x)
    raise TypeError(
        f"a string is not a number in arithmetic; got {got}: "
        "convert it first, as in mdqr.array('0.1', precision=mdqr.qd)"
    )


_SHORT = (np.float16, np.float32, np.complex64)


def _unpacked(x: Any) -> Any:
    """Return the value of a 0-d array, and other entries of object arrays as they are."""
    while isinstance(x, np.ndarray) and not x.ndim:
        x = plain(x)[()]
    return x


def _flatten(x: Any, leaves: list[Any], depth: int) -> tuple[int, ...]:
    """Append the leaves of `x` in C order and return its shape."""
    x = plain(x)
    if isinstance(x, np.ndarray):
        if x.dtype in _SHORT:  # whose subnormals become doubles without flushing
            leaves.extend(x.reshape(-1))
            return x.shape
        if x.dtype.kind == "U":
            check_characters(x)
        entries = x.reshape(-1).tolist()
        leaves += map(_unpacked, entries) if x.dtype == object else entries
        return x.shape
    if not isinstance(x, (list, tuple)):
        leaves.append(x)
        return ()
    check_depth(depth)
    if set(map(type, x)) <= {str, int, float}:
        leaves += x
        return (len(x),)
    shapes = [_flatten(item, leaves, depth + 1) for item in x]
    for i, shape in enumerate(shapes):
        if shape != shapes[0]:
            raise ValueError(
                f"nested sequences must have one shape: item 0 has shape {shapes[0]}, "
                f"item {i} has shape {shape}"
            )
    return (len(shapes), *shapes[0])


def _leaves_to_planes(
    leaves: list[Any], limbs: int, shape: tuple[int, ...]
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the real and, if a leaf is complex, the imaginary planes ``(N, count)``."""
    kinds = set(map(type, leaves))
    if kinds == {str}:
        try:
            return strings_to_block(leaves, limbs)
        except TextError as error:
            raise _at(error, error.index, shape) from None
    plain_type = _plain_type(leaves, kinds)
    if plain_type is not None:
        return _numbers_to_planes(np.array(leaves, dtype=plain_type), limbs)
    real = np.empty((limbs, len(leaves)))
    imag: np.ndarray | None = None
    for index, leaf in enumerate(leaves):
        try:
            re, im = scalar_to_limbs(leaf, limbs)
        except (ValueError, TypeError) as error:
            raise _at(error, index, shape) from None
        real[:, index] = re
        if im is not None:
            if imag is None:
                imag = np.zeros_like(real)
            imag[:, index] = im
    return real, imag


def _plain_type(leaves: list[Any], kinds: set[type]) -> type | None:
    """Return a type of NumPy that holds Python numbers exactly, None if there is none."""
    if kinds == {complex}:
        return complex
    if not kinds <= {bool, int, float}:
        return None
    integers = [leaf for leaf in leaves if type(leaf) is int]
    most = max(map(abs, (min(integers), max(integers)))) if integers else 0
    if float in kinds or not kinds:
        return float if most <= EXACT_INTEGER else None
    return np.int64 if most < 2**63 else None


def _at(error: Exception, index: int, shape: tuple[int, ...]) -> Exception:
    """Return `error` with the place of the leaf in front."""
    kind = ValueError if isinstance(error, TextError) else type(error)
    if not shape:
        return kind(str(error))
    place = ", ".join(str(i) for i in np.unravel_index(index, shape))
    return kind(f"at [{place}]: {error}")


def _numbers_to_planes(x: np.ndarray, limbs: int) -> tuple[np.ndarray, np.ndarray | None]:
    """Convert a one-dimensional bool, integer, float or complex array exactly, or rounded once."""
    if x.dtype.kind == "c":
        return _floats_to_planes(x.real, limbs), _floats_to_planes(x.imag, limbs)
    if x.dtype.kind == "f":
        return _floats_to_planes(x, limbs), None
    return _integers_to_planes(x, limbs), None


def _integers_to_planes(x: np.ndarray, limbs: int) -> np.ndarray:
    block = np.zeros((limbs, x.size))
    if x.dtype.itemsize <= 4:
        block[0] = x
        return block
    wide = x.astype(np.uint64 if x.dtype.kind == "u" else np.int64, copy=False)
    high = (wide >> 32).astype(np.float64) * 2.0**32
    low = (wide & 0xFFFFFFFF).astype(np.float64)
    block[0] = high + low
    if limbs > 1:
        block[1] = low - (block[0] - high)
    return block


def _floats_to_planes(x: np.ndarray, limbs: int) -> np.ndarray:
    block = np.zeros((limbs, x.size))
    if x.dtype.itemsize <= 8:
        block[0] = _limbs.doubles(x)
        return block
    rest = x
    with np.errstate(all="ignore"):  # a longdouble may be beyond the range of a double
        for plane in block:
            plane[...] = rest
            rest = np.where(np.isfinite(plane), rest - plane, 0)
    for column in np.flatnonzero(~_limbs.is_normalised(block)).tolist():
        count = sum_of_units(block[:, column].tolist())
        block[:, column] = saturated(count, 1, LOWEST, limbs)
    return block


# -- limbs to numbers ------------------------------------------------------------------------


def _dyadics(planes: np.ndarray) -> Iterator[Dyadic | float]:
    """Yield each value of ``(N, count)`` as ``(man, exp)``; infinities, NaN and zeros as floats."""
    finite = np.isfinite(planes).all(axis=0)
    # By bits: float arithmetic may flush subnormals.
    bits = planes.view(np.int64)
    biased, fractions = bits >> 52 & 0x7FF, bits & (2**52 - 1)
    sizes = fractions | (biased > 0).astype(np.int64) << 52
    mantissas = np.where(bits < 0, -sizes, sizes).tolist()
    exponents = (np.maximum(biased, 1) - 1 + LOWEST).tolist()
    plain = (finite & (sizes > 0).any(axis=0)).tolist()
    firsts = planes[0].copy()
    for column in np.flatnonzero(~finite).tolist():
        firsts[column] = sum(x for x in planes[:, column].tolist() if not isfinite(x))
    columns = zip(zip(*mantissas, strict=True), zip(*exponents, strict=True), strict=True)
    for is_plain, first, (mans, exps) in zip(plain, firsts.tolist(), columns, strict=True):
        total = _summed(mans, exps) if is_plain else (0, 0)
        yield total if total[0] else 0.0 if is_plain else first


def _summed(mans: tuple[int, ...], exps: tuple[int, ...]) -> Dyadic:
    total, lowest = mans[0], exps[0]
    for man, exp in zip(mans[1:], exps[1:], strict=True):
        if not man:
            continue
        if exp < lowest:
            total = (total << (lowest - exp)) + man
            lowest = exp
        else:
            total += man << (exp - lowest)
    return total, lowest


def exact_parts(planes: np.ndarray) -> list[Dyadic | float]:
    """Return the exact values of real planes ``(N, count)``; see `_dyadics`."""
    return list(_dyadics(planes))


def _objects(values: list[Any], shape: tuple[int, ...]) -> np.ndarray:
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out.reshape(shape)


def _planes(block: Block, is_complex: bool) -> tuple[list[np.ndarray], tuple[int, ...]]:
    """Return the real (and imaginary) planes as ``(N, count)``, and the shape of the values."""
    parts = list(block) if is_complex else [block]
    return [part.reshape(part.shape[0], -1) for part in parts], parts[0].shape[1:]


def block_to_fractions(block: Block, is_complex: bool = False) -> np.ndarray:
    """Return the exact values as an object array of `Fraction`.

    Raises
    ------
    TypeError
        If the block is complex.
    ValueError
        If a value is infinite or NaN; its place is named.
    """
    if is_complex:
        raise TypeError(
            "a Fraction is real; convert a.real and a.imag, or use a.to_mpmath() for complex values"
        )
    (planes,), shape = _planes(block, False)
    values = []
    for index, value in enumerate(_dyadics(planes)):
        if isinstance(value, float):
            if value:
                error = ValueError(f"{value} is no fraction; mask it first, see mdqr.isfinite")
                raise _at(error, index, shape)
            values.append(Fraction(0))
        else:
            man, exp = value
            values.append(Fraction(man << exp) if exp >= 0 else Fraction(man, 1 << -exp))
    return _objects(values, shape)


def block_to_mpmath(block: Block, is_complex: bool = False) -> np.ndarray:
    """Return the exact values as an object array of mpmath numbers.

    They carry all their bits, whatever ``mpmath.mp.prec`` is; mpmath has no signed zero.
    """
    from mpmath import mp
    from mpmath.libmp import from_float, from_man_exp

    def raw(value: Dyadic | float) -> Any:
        return from_float(value) if isinstance(value, float) else from_man_exp(*value)

    parts, shape = _planes(block, is_complex)
    columns = [[raw(value) for value in _dyadics(planes)] for planes in parts]
    if is_complex:
        return _objects([mp.make_mpc(pair) for pair in zip(*columns, strict=True)], shape)
    return _objects([mp.make_mpf(value) for value in columns[0]], shape)


def block_to_strings(
    block: Block,
    precision: Precision,
    is_complex: bool = False,
    digits: int | None = None,
    most: int | None = None,
) -> np.ndarray:
    """Return the values as an object array of decimal strings.

    Parameters
    ----------
    block : Block
        Any number of limbs up to ``precision.limbs``; missing ones are zero.
    precision : Precision
        The precision at which the strings will be read back.
    is_complex : bool
        Whether `block` is complex.
    digits : int, optional
        Number of significant digits, correctly rounded (ties to even). By default the fewest that
        read back to the same limbs. A value whose limbs are not in the greedy form (see
        `mdqr._limbs.exact`) is reached by no decimal: it is written in the lossless form, its
        limbs as hexadecimal floats joined by their signs.
    most : int, optional
        Without `digits`, the most digits; what takes more to read back is rounded to so many.

    Raises
    ------
    TypeError, ValueError
        If `digits` is not a positive integer.
    MemoryError
        If memory for the texts cannot be allocated.
    """
    check_digits(digits)
    parts, shape = _planes(block, is_complex)
    try:
        columns = [_texts(planes, precision, digits, most) for planes in parts]
        if is_complex:
            return _objects([complex_text(*pair) for pair in zip(*columns, strict=True)], shape)
        return _objects(columns[0], shape)
    except (MemoryError, OverflowError):  # the latter from texts longer than any memory
        raise MemoryError(
            f"no memory for {parts[0][0].size} texts of {digits or 'the'} digits of precision "
            f"{precision}; convert fewer values at a time, as in a[:1000].to_strings()"
        ) from None


def _texts(
    planes: np.ndarray, precision: Precision, digits: int | None, most: int | None
) -> list[str]:
    """Return the texts of real planes ``(N, count)``; see `block_to_strings`."""
    limit, point = digits or max(precision.digits, 16), digits is None
    found, leading = write_texts(planes, precision.limbs, digits, most)
    negative = np.signbit(planes[0]).tolist()
    texts = [
        "" if text is None else ("-" if sign else "") + layout(text, place, limit, point=point)
        for text, place, sign in zip(found, leading, negative, strict=True)
    ]
    left = [i for i, text in enumerate(found) if text is None]
    if left:
        rest = planes[:, left]
        write = real_text(precision, digits, most)
        pairs = zip(left, _dyadics(rest), rest.T.tolist(), strict=True)
        for i, value, limbs in pairs:
            texts[i] = write(value, limbs)
    return texts


def check_digits(digits: int | None) -> None:
    """Raise unless `digits` is None or a positive integer."""
    if digits is None:
        return
    if isinstance(digits, bool) or not isinstance(digits, (int, np.integer)):
        raise TypeError(f"digits must be an integer or None; got {shown(digits)}")
    if digits < 1:
        raise ValueError(
            f"digits must be at least 1, or None for as many as needed; got {shown(digits)}"
        )
