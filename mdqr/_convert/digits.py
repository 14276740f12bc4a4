"""Exact dyadic numbers to decimal text: a given number of digits, or the fewest that read back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, copysign, floor, log10

from mdqr._limbs.exact import decimal_to_limbs, power_of_five, same_limbs, saturated, units
from mdqr._precision import Precision

Dyadic = tuple[int, int]  # man, exp: the number man * 2**exp

_LOG10_2 = log10(2.0)
_FINEST = 1074  # every finite value is a multiple of 2**-1074, hence of 10**-1074
_GAP = 8  # bits between limbs that no repr leaves out
_INT_DIGITS = 600  # below the smallest limit that sys.set_int_max_str_digits takes


def int_text(n: int) -> str:
    """Return ``str(n)`` for ``n >= 0`` whatever limit the interpreter has on digits."""
    if n.bit_length() < 3 * _INT_DIGITS:
        return str(n)
    half = int(n.bit_length() * _LOG10_2) // 2
    high, low = divmod(n, power_of_five(half) << half)
    return int_text(high) + int_text(low).zfill(half)


def _shifted(man: int, exp: int, places: int) -> tuple[int, int, int]:
    """Return ``num, den, right`` with ``man * 2**exp * 10**places == num / (den * 2**right)``."""
    right = -exp - places
    if places >= 0:
        num, den = man * power_of_five(places), 1
    else:
        num, den = man, power_of_five(-places)
    return (num, den, right) if right >= 0 else (num << -right, den, 0)


def floor_places(man: int, exp: int, places: int) -> int:
    """Return ``floor(man * 2**exp * 10**places)``."""
    num, den, right = _shifted(man, exp, places)
    return num >> right if den == 1 else num // (den << right)


def round_places(man: int, exp: int, places: int) -> int:
    """Return ``man * 2**exp * 10**places``, rounded to an integer, ties to even."""
    num, den, right = _shifted(man, exp, places)
    den <<= right
    if den == 1:
        return num
    quotient, rest = divmod(num, den)
    twice = 2 * rest
    return quotient + (twice > den or (twice == den and quotient & 1))


def significant(man: int, exp: int, digits: int) -> tuple[str, int]:
    """Round ``man * 2**exp > 0`` to `digits` digits, ties to even.

    Returns
    -------
    text : str
        Exactly `digits` digits, the first not 0.
    leading : int
        The power of ten of the first digit.
    """
    leading = floor((man.bit_length() + exp - 1) * _LOG10_2)  # right, or one too small
    places = digits - 1 - leading
    if places > _FINEST:
        text = int_text(round_places(man, exp, _FINEST))
        return text.ljust(digits, "0"), len(text) - 1 - _FINEST
    text = int_text(round_places(man, exp, places))
    if len(text) > digits:
        return int_text(round_places(man, exp, places - 1)), leading + 1
    return text, leading


def shortest(man: int, exp: int, limbs: list[float]) -> tuple[str, int] | None:
    """Return the fewest digits that read back to `limbs`, of those the nearest; None if none do.

    Parameters
    ----------
    man, exp : int
        The absolute value of the exact sum of `limbs`.
    limbs : list of float
        All limbs of the precision, trailing zeros included.

    Returns
    -------
    text, leading
        As `significant`, without trailing zeros.
    """
    sign, count = -1 if copysign(1.0, limbs[0]) < 0 else 1, len(limbs)
    # Half a unit in the last place of the last limb.
    half = max(units(limbs[-1]).bit_length() - 53, 0) - _FINEST - 1
    unit = min(exp, half)
    value, reach = man << (exp - unit), 1 << (half - unit)
    places = ceil(-(half + 1) * _LOG10_2)  # a multiple of 10**-places lies within 2**half
    if value <= reach:
        return None  # no number whose last limb is as large as the whole is read
    low = -floor_places(reach - value, unit, places)
    high = floor_places(value + reach, unit, places)
    start = places = places - _trailing(low, high)
    while True:
        nearest = round_places(man, exp, places)
        other = 2 * floor_places(man, exp, places) + 1 - nearest
        for digits in (nearest, other):
            if digits and same_limbs(decimal_to_limbs(sign * digits, -places, count), limbs):
                text = int_text(digits)
                return text.rstrip("0"), len(text) - 1 - places
        if places == start + 2 and not same_limbs(saturated(sign * man, 1, exp, count), limbs):
            return None
        places += 1


def _trailing(low: int, high: int) -> int:
    """Return the largest k such that a multiple of ``10**k`` is from `low` > 0 to `high`."""

    def reaches(k: int) -> bool:
        return high - high % 10**k >= low

    bound = 1
    while reaches(bound):
        bound *= 2
    k, step = bound // 2, bound // 4
    while step:
        if reaches(k + step):
            k += step
        step //= 2
    return k if bound > 1 else 0


# -- layout ----------------------------------------------------------------------------------


def layout(text: str, leading: int, limit: int, *, point: bool) -> str:
    """Write digits as people do: with an exponent below 1e-4 and from ``10**limit``.

    `point` asks for ".0" behind an integer.
    """
    if not -5 < leading < limit:
        fraction = "." + text[1:] if len(text) > 1 else ""
        return f"{text[0]}{fraction}e{leading:+03d}"
    if leading < 0:
        return "0." + "0" * (-leading - 1) + text
    whole = text[: leading + 1].ljust(leading + 1, "0")
    fraction = text[leading + 1 :]
    if not fraction:
        return whole + ".0" if point else whole
    return f"{whole}.{fraction}"


def lossless_text(limbs: Sequence[float]) -> str:
    """Write limbs as hexadecimal floats joined by their signs."""
    terms = [_hexadecimal(count) for count in map(units, limbs) if count]
    return terms[0] + "".join(t if t[0] == "-" else "+" + t for t in terms[1:])


def _hexadecimal(count: int) -> str:
    """Write `count` units of 2**-1074 as ``float.hex`` does, which may flush subnormals."""
    sign, size = "-" if count < 0 else "", abs(count)
    spare = size.bit_length() - 53
    if spare < 0:
        return f"{sign}0x0.{size:013x}p-1022"
    return f"{sign}0x1.{size >> spare & (1 << 52) - 1:013x}p{spare - 1022:+d}"


def complex_text(real: str, imag: str) -> str:
    """Join the texts of the parts of a complex number."""
    if "x" in real or "x" in imag:
        return f"({real})+({imag})j"
    return f"{real}{imag}j" if imag[0] == "-" else f"{real}+{imag}j"


Writer = Callable[[Dyadic | float, list[float]], str]


def most_digits(precision: Precision) -> int:
    """Return how many digits every value is worth whose limbs stand at most 8 bits apart."""
    return floor((precision.bits + _GAP * (precision.limbs - 1)) * _LOG10_2) + 2


def real_text(precision: Precision, digits: int | None, most: int | None = None) -> Writer:
    """Return the function that writes one value, given exactly and as limbs.

    With `most`, values that take more digits to read back are rounded to so many.
    """
    count_limbs = precision.limbs

    def write(value: Dyadic | float, limbs: list[float]) -> str:
        if isinstance(value, float):
            return _special_text(value, digits)
        man, exp = value
        sign = "-" if man < 0 else ""
        if digits is not None:
            return sign + layout(*significant(abs(man), exp, digits), digits, point=False)
        full = list(limbs) + [0.0] * (count_limbs - len(limbs))
        if most is not None and abs(man).bit_length() > (most - 2) / _LOG10_2:
            rounded = significant(abs(man), exp, most)
            read = decimal_to_limbs(int(sign + rounded[0]), rounded[1] + 1 - most, count_limbs)
            found = shortest(abs(man), exp, full) if same_limbs(read, full) else None
        else:
            found = shortest(abs(man), exp, full)
        if most is None and found is None:
            return lossless_text(limbs)
        if found is None or (most is not None and len(found[0]) > most):
            text, leading = significant(abs(man), exp, most or 1)
            found = text.rstrip("0"), leading
        return sign + layout(*found, max(precision.digits, 16), point=True)

    return write


def _special_text(value: float, digits: int | None) -> str:
    if value:
        return str(value)
    zero = "0.0" if digits is None else "0." + "0" * (digits - 1) if digits > 1 else "0"
    return "-" + zero if copysign(1.0, value) < 0 else zero
