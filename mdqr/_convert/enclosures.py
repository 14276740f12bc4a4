"""Enclosures of exact constants by the intervals of mpmath, and their rounding and comparison."""

from __future__ import annotations

from collections.abc import Callable, Container
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from mdqr._limbs.exact import same_limbs, saturated

if TYPE_CHECKING:
    from mdqr._convert.constants import Constant, Factor, Sum

_FIRST_BITS = 128
_MOST_BITS = 2**14  # and those of the coefficients; beyond, two values count as one
UNIT: Sum = {frozenset(): Fraction(1)}
_ROUNDED: dict[Any, tuple[float, ...]] = {}
_MOST_ROUNDED = 256
_BEYOND = 1200  # no double is as large as 2 to this power


def rounded(x: Constant, limbs: int) -> list[float]:
    """Return the number in its greedy form with `limbs` limbs, correctly rounded."""
    value = x.rational
    if value is not None:
        return saturated(value.numerator, value.denominator, 0, limbs)

    def alike(low: int, high: int, exponent: int) -> list[float] | None:
        first, last = (saturated(end, 1, exponent, limbs) for end in (low, high))
        return first if same_limbs(first, last) else None

    # A function that is evaluated again and again has the same multiples of pi in it.
    key = frozenset(x._terms.items()), frozenset(x._divisor.items()), limbs
    if key not in _ROUNDED:
        if len(_ROUNDED) >= _MOST_ROUNDED:
            _ROUNDED.clear()
        _ROUNDED[key] = tuple(settled(x, alike, 53 * limbs + 64))
    return list(_ROUNDED[key])


def between_doubles(x: Constant) -> Fraction:
    """Return a fraction that compares with every sum of doubles, multiples of 2**-1074, as `x`."""
    value = x.rational
    if value is not None:
        return value

    def decide(low: int, high: int, exponent: int) -> Fraction | None:
        if high.bit_length() + exponent > _BEYOND:
            return Fraction(2) ** _BEYOND * (-1 if high < 0 else 1)
        count = whole(low, high, exponent + 1074)
        away = -1 if low < 0 else 1
        return None if count is None else Fraction(2 * count + away, 2**1075)

    found: Fraction = settled(x, decide)
    return found


def settled(x: Constant, decide: Callable[[int, int, int], Any], bits: int = _FIRST_BITS) -> Any:
    """Return the result of `decide` for the first enclosure that gives one.

    A number that lies where the decision changes, without being known to be rational, is taken for
    the nearest number of few bits.
    """
    most = max(_MOST_BITS, 2 * bits) + 4 * _coefficient_bits(x)
    while bits <= most:
        ends = _enclosure(x, bits)
        found = None if ends is None else decide(*ends)
        if found is not None:
            return found
        bits *= 2
    ends = _enclosure(x, bits)
    assert ends is not None, "a divisor is not zero"
    low, high, exponent = ends
    width = (high - low).bit_length() + 8
    middle = ((low + high) >> width) + 1 >> 1
    return decide(middle, middle, exponent + width)


def sign(x: Constant) -> int:
    value = x.rational
    if value is not None:
        return (value > 0) - (value < 0)

    def decide(low: int, high: int, _: int) -> int | None:
        return 1 if low > 0 else -1 if high < 0 else 0 if low == high == 0 else None

    found: int = settled(x, decide)
    return found


def whole(low: int, high: int, exponent: int) -> int | None:
    """Return the integer to which both ends are truncated."""
    if low < 0 < high:
        return None
    ends = {int(Fraction(end) * Fraction(2) ** exponent) for end in (low, high)}
    return ends.pop() if len(ends) == 1 else None


def _coefficient_bits(x: Constant) -> int:
    count = 0
    for terms in (x._terms, x._divisor):
        for product, value in terms.items():
            count += value.numerator.bit_length() + value.denominator.bit_length()
            for factor, _ in product:
                parts = factor if isinstance(factor, tuple) else (factor,)
                count += sum(_coefficient_bits(y) for y in parts if not isinstance(y, str))
    return count


def _enclosure(x: Constant, bits: int) -> tuple[int, int, int] | None:
    """Return integers and the power of two in whose units they enclose `x`.

    None if so many bits do not separate the divisor from zero.
    """
    from mpmath.libmp import mpi_div

    found = _interval(x._terms, bits)
    if x._divisor != UNIT:
        below = _interval(x._divisor, bits)
        if _has_zero(below):
            return None
        found = mpi_div(found, below, bits)
    (low, i), (high, j) = ((-int(m) if s else int(m), int(k)) for s, m, k, _ in found)
    exponent = min(i, j) if low and high else i if low else j
    return low << (i - exponent if low else 0), high << (j - exponent if high else 0), exponent


def _has_zero(interval: Any) -> bool:
    (low, m, _, _), (high, n, _, _) = interval
    return not m or not n or low != high


def _interval(terms: Sum, bits: int) -> Any:
    from mpmath.libmp import fzero, mpi_add, mpi_mul

    total = (fzero, fzero)
    for product, value in terms.items():
        term = _rational_interval(value, bits)
        for factor, exponent in product:
            term = mpi_mul(term, _power_interval(factor, exponent, bits), bits)
        total = mpi_add(total, term, bits)
    return total


def _rational_interval(value: Fraction, bits: int) -> Any:
    from mpmath.libmp import from_rational

    return tuple(from_rational(value.numerator, value.denominator, bits, end) for end in "fc")


def _power_interval(factor: Factor, exponent: Fraction, bits: int) -> Any:
    from mpmath.libmp import mpi_exp, mpi_log, mpi_mul, mpi_pow_int

    if isinstance(factor, tuple):
        base, power = (_constant_interval(part, bits) for part in factor)
        power = mpi_mul(power, _rational_interval(exponent, bits), bits)
    else:
        base = _constant_interval(factor, bits)
        if exponent.denominator == 1:
            return mpi_pow_int(base, int(exponent), bits)
        power = _rational_interval(exponent, bits)
    logarithm = _wider(mpi_log(base, bits), bits)
    return _wider(mpi_exp(mpi_mul(power, logarithm, bits), bits), bits)


def _wider(interval: Any, bits: int) -> Any:
    """Return more than the errors of mpmath's functions, which are few units of `bits` bits."""
    from mpmath.libmp import from_man_exp, mpi_mul

    ends = ((1 << bits) - 256, (1 << bits) + 256)
    return mpi_mul(interval, tuple(from_man_exp(end, -bits) for end in ends), bits)


def _constant_interval(factor: Factor, bits: int) -> Any:
    from mpmath.libmp import from_man_exp, mpf_e, mpf_euler, mpf_pi

    if isinstance(factor, str):
        _, man, exp, _ = {"pi": mpf_pi, "e": mpf_e, "euler_gamma": mpf_euler}[factor](bits + 32)
        low, high, exponent = (int(man) << 8) - 2**16, (int(man) << 8) + 2**16, int(exp) - 8
    else:
        value = factor.rational
        if value is not None:
            return _rational_interval(value, bits)
        low, high, exponent = settled(factor, _with_sign, bits)
    return from_man_exp(low, exponent, bits, "f"), from_man_exp(high, exponent, bits, "c")


def _with_sign(low: int, high: int, exponent: int) -> tuple[int, int, int] | None:
    return (low, high, exponent) if low > 0 or high < 0 else None


def listed(terms: dict[Any, Fraction]) -> list[Any]:
    """Return a sum as lists, for a pickle."""
    return [([*product], value) for product, value in terms.items()]


def sum_of(lists: list[Any], kind: type, names: Container[str]) -> dict[Any, Fraction]:
    """Return a sum of a pickle, of constants of a type and with these names.

    Raises
    ------
    ValueError
        If it is none.
    """
    found = {}
    for product, value in lists:
        for factor, exponent in product:
            parts = factor if type(factor) is tuple and len(factor) == 2 else (factor,)
            named = type(factor) is str and factor in names
            known = named or all(isinstance(part, kind) for part in parts)
            if not known or not isinstance(exponent, Fraction):
                raise ValueError("this pickle is damaged: a factor of a constant is none")
        if not isinstance(value, Fraction):
            raise ValueError("this pickle is damaged: a coefficient of a constant is none")
        found[frozenset(map(tuple, product))] = value
    return found
