"""Text to limbs, correctly rounded.

Accepted are what ``float()`` and ``complex()`` accept, hexadecimal floats of any length, and the
lossless form that `mdqr._convert.digits` writes: the limbs as hexadecimal floats, joined by
their signs (``0x1.8p+0-0x1.0p-60``), a complex value as ``(...)+(...)j``. Text is untrusted:
the work is linear in its length, and a huge exponent forms no huge number.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from math import copysign, inf, nan

import numpy as np

from mdqr._backend.host.text import read_texts
from mdqr._errors import shortened
from mdqr._limbs.exact import (
    LOWEST,
    decimal_to_limbs,
    from_units,
    normalize_block,
    normalize_units,
    power_of_five,
    saturated,
    scaled_limbs,
)

_POWER = re.compile(r"[+-]?[0-9]{1,4}").fullmatch
_DIGITS = r"[0-9](?:_?[0-9])*+"
_DECIMAL = re.compile(
    rf"([+-]?)(?:({_DIGITS})(?:\.({_DIGITS})?)?|\.({_DIGITS}))(?:e([+-]?)({_DIGITS}))?"
).fullmatch
_HEX_TERM = re.compile(
    r"([+-]?)0x(?=\.?[0-9a-f])([0-9a-f]*+)(?:\.([0-9a-f]*+))?(?:p([+-]?)([0-9]++))?"
)
_HEX_COMPLEX = re.compile(r"\(([^()]*)\)\+\(([^()]*)\)j").fullmatch
_WORDS = {"inf": inf, "infinity": inf, "nan": nan}

_CHUNK = 16384  # strings converted at a time, so that few Python floats live at once
_INT_DIGITS = 600  # below the smallest limit that sys.set_int_max_str_digits takes
_FINEST = 1100  # every rounding boundary is a multiple of 10**-1075
_FAR = 10**18  # stands for any larger exponent
_LONGEST = 100_000  # characters of a text whose exact fraction is formed, which is not linear work


class TextError(ValueError):
    """A text that is not a number; `index` is its position among the texts given."""

    def __init__(self, text: str, index: int = 0) -> None:
        super().__init__(
            f"cannot read {shortened(text)!r} as a number; wanted a decimal such as '-1.5e-3', "
            "'inf', 'nan', a hexadecimal float or a complex number such as '1.5-2j'"
        )
        self.index = index


def text_to_limbs(text: str, limbs: int) -> tuple[list[float], list[float] | None]:
    """Round one text to limbs; the second list is the imaginary part, None if there is none."""
    body = _plain(text)
    pair = _HEX_COMPLEX(body)
    if body[:1] == "(" and body[-1:] == ")":
        body = body[1:-1].strip()
    imag: list[float] | None = None
    if pair:
        real, imag = (_real_to_limbs(part, limbs) for part in pair.groups())
    elif body[-1:] == "j":
        real, imag = _complex_to_limbs(body[:-1], limbs)
    else:
        real = _real_to_limbs(body, limbs)
        if real is not None:
            return real, None
    if real is None or imag is None:
        raise TextError(text)
    return real, imag


def text_to_fraction(text: str) -> Fraction:
    """Return the exact value of a text that `text_to_limbs` rounds to finite real limbs, not zero.

    Raises
    ------
    ValueError
        If the text is too long for exact work.
    """
    if len(text) > _LONGEST:
        raise ValueError(
            f"the exact value of a number of {len(text)} characters is wanted; "
            f"give at most {_LONGEST}"
        )
    body = _plain(text).removeprefix("(").removesuffix(")").strip()
    terms = _hexadecimal_terms(body)
    if terms is None:
        return Fraction(Decimal(body))
    return sum((man * Fraction(2) ** exp for man, exp in terms), Fraction(0))


def _plain(text: str) -> str:
    """Return a text without blanks around it, in lower-case letters and ASCII digits."""
    body = text.strip()
    if not body.isascii():
        body = "".join(str(unicodedata.decimal(c, c)) for c in body)
    return body.lower()


def _complex_to_limbs(body: str, limbs: int) -> tuple[list[float] | None, list[float] | None]:
    """Read ``a+b`` or ``b``, the text of a complex number without its j."""
    if "x" in body:
        return None, None
    cut = max(body.rfind("+"), body.rfind("-"))
    if cut > 0 and body[cut - 1] == "e":
        cut = max(body.rfind("+", 0, cut), body.rfind("-", 0, cut))
    imag_text = body[max(cut, 0) :]
    if imag_text in ("", "+", "-"):
        imag_text += "1"
    real = _real_to_limbs(body[:cut], limbs) if cut > 0 else [0.0] * limbs
    return real, _real_to_limbs(imag_text, limbs)


def _real_to_limbs(body: str, limbs: int) -> list[float] | None:
    """Read a stripped lower-case ASCII real number; None if it is none."""
    match = _DECIMAL(body)
    if match:
        sign, whole, frac, only_frac, exp_sign, exp_digits = match.groups()
        exp = _capped_int(exp_digits)
        return _decimal(
            sign == "-",
            (whole or "").replace("_", ""),
            (frac or only_frac or "").replace("_", ""),
            -exp if exp_sign == "-" else exp,
            limbs,
        )
    word = _WORDS.get(body.removeprefix("-") if body[:1] == "-" else body.removeprefix("+"))
    if word is not None:
        return [-word if body[0] == "-" else word] + [0.0] * (limbs - 1)
    return _hexadecimal(body, limbs)


def _capped_int(digits: str | None) -> int:
    digits = (digits or "0").replace("_", "").lstrip("0")
    return _FAR if len(digits) > 18 else int(digits or "0")


def long_int(digits: str) -> int:
    """Return ``int(digits)`` whatever limit the interpreter has on digits."""
    if len(digits) <= _INT_DIGITS:
        return int(digits)
    middle = len(digits) // 2
    high, low = long_int(digits[:middle]), long_int(digits[middle:])
    power = len(digits) - middle
    return (high * power_of_five(power) << power) + low


def _decimal(negative: bool, whole: str, frac: str, exp: int, limbs: int) -> list[float]:
    """Round a decimal; digits below every rounding boundary become one sticky digit."""
    exp -= len(frac)
    digits = (whole + frac).lstrip("0")
    zero = [copysign(0.0, -negative)] + [0.0] * (limbs - 1)
    leading = len(digits) - 1 + exp
    if not digits or leading < -325:
        return zero
    if leading > 308:
        return [-inf if negative else inf] + [0.0] * (limbs - 1)
    if exp < -_FINEST:
        keep = len(digits) + exp + _FINEST
        sticky = "1" if digits[keep:].strip("0") else "0"
        digits, exp = digits[:keep] + sticky, -_FINEST - 1
    value = -long_int(digits) if negative else long_int(digits)
    return decimal_to_limbs(value, exp, limbs)


def _hexadecimal(body: str, limbs: int) -> list[float] | None:
    """Read one hexadecimal float of any length, or several doubles joined by their signs."""
    terms = _hexadecimal_terms(body)
    if terms is None:
        return None
    if len(terms) == 1:
        return _hex_value(*terms[0], body[0] == "-", limbs)
    return _hex_sum(terms, body[0] == "-", limbs)


def _hexadecimal_terms(body: str) -> list[tuple[int, int]] | None:
    """Return the terms ``man * 2**exp`` of hexadecimal floats joined by their signs."""
    terms: list[tuple[int, int]] = []
    at = 0
    while at < len(body):
        match = _HEX_TERM.match(body, at)
        if match is None or (terms and not match[1]):
            return None
        at = match.end()
        sign, whole, frac, exp_sign, exp_digits = match.groups()
        frac = frac or ""
        exp = _capped_int(exp_digits)
        man = int(whole + frac, 16)
        terms.append(
            (-man if sign == "-" else man, (-exp if exp_sign == "-" else exp) - 4 * len(frac))
        )
    return terms or None


def _hex_value(man: int, exp: int, negative: bool, limbs: int) -> list[float]:
    if not man:
        return [copysign(0.0, -negative)] + [0.0] * (limbs - 1)
    return saturated(man, 1, exp, limbs)


def _hex_sum(terms: list[tuple[int, int]], negative: bool, limbs: int) -> list[float] | None:
    """Return the terms themselves if they are normalised limbs, else their rounded sum."""
    counts: list[int] = []
    for man, exp in terms:
        count = _double_units(man, exp)
        if count is None:
            return None
        counts.append(count)
    if len(counts) <= limbs:
        normalized = counts.copy()
        normalize_units(normalized)
        if normalized == counts:
            return list(map(from_units, counts)) + [0.0] * (limbs - len(counts))
    return _hex_value(sum(counts), LOWEST, negative, limbs)


def _double_units(man: int, exp: int) -> int | None:
    """Return ``man * 2**exp`` in units of 2**-1074 if it is a finite double."""
    if not man:
        return 0
    spare = (man & -man).bit_length() - 1
    man, exp = man >> spare, exp + spare
    if man.bit_length() > 53 or exp < LOWEST or exp + man.bit_length() > 1024:
        return None
    return man << exp - LOWEST


def strings_to_block(texts: Sequence[str], limbs: int) -> tuple[np.ndarray, np.ndarray | None]:
    """Round texts to a block ``(N, count)``; the second block holds imaginary parts, if any.

    Raises
    ------
    TextError
        If a text is not a number; its `index` says which.
    """
    real = np.empty((limbs, len(texts)))
    imag: np.ndarray | None = None
    for start in range(0, len(texts), _CHUNK):
        chunk = texts[start : start + _CHUNK]
        part, read = read_texts(chunk, limbs)
        real[:, start : start + len(chunk)] = part
        places = np.flatnonzero(~read)
        if not places.size:
            continue
        left = [chunk[i] for i in places.tolist()]
        values, exponents, others = _read_chunk(left, limbs, start + places)
        part = np.array(values).reshape(-1, limbs).T
        normalize_block(part)
        real[:, start + places] = np.ldexp(part, np.array(exponents, np.int32))
        for index, (parts, imaginary) in others.items():
            real[:, index] = parts
            if imaginary is not None:
                if imag is None:
                    imag = np.zeros_like(real)
                imag[:, index] = imaginary
    return real, imag


def _read_chunk(
    texts: Sequence[str], limbs: int, indices: np.ndarray
) -> tuple[list[float], list[int], dict[int, tuple[list[float], list[float] | None]]]:
    """Return unscaled limbs one value after another, their exponents, and finished values.

    The finished ones are real and imaginary limbs by index; zeros hold their places.
    """
    values: list[float] = []
    exponents: list[int] = []
    others: dict[int, tuple[list[float], list[float] | None]] = {}
    for index, text in zip(indices.tolist(), texts, strict=True):
        scaled = _read_plain(text, limbs)
        if scaled is None:
            try:
                others[index] = text_to_limbs(text, limbs)
            except TextError:
                raise TextError(text, index) from None
            scaled = [0.0] * limbs, 0
        values += scaled[0]
        exponents.append(scaled[1])
    return values, exponents, others


def _read_plain(text: str, limbs: int) -> tuple[list[float], int] | None:
    """Do the common case, an ordinary decimal of ordinary size; None for everything else."""
    head, mark, tail = text.partition("e")
    whole, _, frac = head.partition(".")
    digits = whole + frac
    power = _power(tail) if mark else 0
    if (
        power is None
        or not whole
        or len(digits) > _INT_DIGITS
        or not (digits[1:] if digits[0] in "+-" else digits).isdecimal()
    ):
        return None
    value = int(digits)
    exp = power - len(frac)
    if not value or not -_FINEST < exp < 400:
        return None
    if exp >= 0:
        return scaled_limbs(value * power_of_five(exp), 1, exp, limbs)
    return scaled_limbs(value, power_of_five(-exp), exp, limbs)


@lru_cache(maxsize=4096)
def _power(text: str) -> int | None:
    return int(text) if _POWER(text) else None
