"""Polynomials whose coefficients are sums of doubles, in integers: evaluation with error bounds.

A point is ``(re + i im) 2**unit``. A value of p, or of a derivative, at a point z with ``abs(z)``
about ``2**slope`` is computed from the coefficients ``c_k 2**floor(slope k)`` over a power of two
that makes the largest one about ``2**bits``: all terms are of their true relative size, and what
is cut off is a few units.
"""

from __future__ import annotations

from functools import cached_property
from math import comb, floor, inf, ldexp, log2
from typing import NamedTuple

from mdqr._limbs.exact import LOWEST

# More than what rounding takes from logarithms here, in bits.
SLACK = 2.0**-20


class Point(NamedTuple):
    """``(re + i im) 2**unit``; never 0."""

    re: int
    im: int
    unit: int

    @property
    def log(self) -> float:
        """The binary logarithm of its modulus."""
        return log_of(self.re, self.im) + self.unit

    @property
    def is_nearly_real(self) -> bool:
        """True if it is not real, but may represent a real root."""
        return bool(self.im) and abs(self.im) << 20 <= abs(self.re)

    def conj(self) -> Point:
        """Return its conjugate."""
        return self._replace(im=-self.im)

    def real(self) -> Point:
        """Return its projection on the real axis."""
        return self._replace(im=0)

    def moved(self, by: Point) -> Point:
        """Return the sum."""
        unit = min(self.unit, by.unit)
        mine, other = self.unit - unit, by.unit - unit
        return Point(
            (self.re << mine) + (by.re << other), (self.im << mine) + (by.im << other), unit
        )

    def minus(self, other: Point) -> Point:
        """Return the difference, which may be 0."""
        return self.moved(Point(-other.re, -other.im, other.unit))

    def rounded(self, bits: int) -> Point:
        """Return the point with the parts cut off behind the first bits of the larger one."""
        spare = max(self.re.bit_length(), self.im.bit_length()) - bits
        if spare <= 0:
            return self
        return Point(self.re >> spare, self.im >> spare, self.unit + spare)

    def native(self, exponent: int = 0) -> complex:
        """Return it over ``2**exponent`` as a complex number of two doubles, or near infinity."""
        return complex(ratio(self.re, self.unit - exponent), ratio(self.im, self.unit - exponent))

    @classmethod
    def of(cls, value: complex, exponent: int = 0) -> Point:
        """Return the value of doubles times ``2**exponent``."""
        (re, below), (im, under) = value.real.as_integer_ratio(), value.imag.as_integer_ratio()
        shift = max(below.bit_length(), under.bit_length()) - 1
        return cls(
            re << shift - below.bit_length() + 1,
            im << shift - under.bit_length() + 1,
            exponent - shift,
        )


def ratio(part: int, unit: int) -> float:
    """Return ``part 2**unit`` to double precision; a huge double where it overflows."""
    spare = max(part.bit_length() - 64, 0)
    try:
        return ldexp(float(part >> spare), unit + spare)
    except OverflowError:
        return 2.0**1023 if part > 0 else -(2.0**1023)


def log_of(re: int, im: int) -> float:
    """Return the binary logarithm of the modulus, ``-inf`` of 0."""
    if not im:
        return log2(abs(re)) if re else -inf
    if not re:
        return log2(abs(im))
    spare = max(re.bit_length(), im.bit_length(), 64) - 64
    re, im = re >> spare, im >> spare
    return log2(re * re + im * im) / 2 + spare


def log_sum(x: float, y: float) -> float:
    """Return ``log2(2**x + 2**y)``."""
    if x < y:
        x, y = y, x
    return x if y - x < -1000 else x + log2(1.0 + 2.0 ** (y - x))


def log_difference(x: float, y: float) -> float:
    """Return ``log2(2**x - 2**y)``, ``-inf`` where it is not positive."""
    if not y < x:
        return -inf
    left = 1.0 - 2.0 ** max(y - x, -1000.0)
    return x + log2(left) if left > SLACK else -inf


class Scaled(NamedTuple):
    """Coefficients for points of moduli of about ``2**(slope)``, the highest power first.

    `powers` are ``floor(slope k)``, `steps` their differences, by decreasing k; `top` is the
    logarithm of the common scale.
    """

    re: list[int]
    im: list[int] | None
    powers: list[int]
    steps: list[int]
    top: int


class Taylor(NamedTuple):
    """Coefficients ``a_0, ..., a_m`` of ``p(z + t)``, times ``abs(z)**k`` over a common scale.

    Attributes
    ----------
    parts : list of (int, int)
        ``a_k 2**(bits + shifts[k])``, cut off.
    shifts : list of int
        Powers of two.
    logs : list of float
        Binary logarithms of ``abs(a_k) abs(z)**k``, but for the errors.
    errors : list of float
        Those of bounds of the errors of ``a_k abs(z)**k``.
    tail : float
        That of T with ``sum_(k > m) abs(a_k) r**k <= T (r / abs(z))**(m + 1)`` for all
        ``r <= abs(z) / (2 n)``.
    top : int
        That of the common scale.
    """

    parts: list[tuple[int, int]]
    shifts: list[int]
    logs: list[float]
    errors: list[float]
    tail: float
    top: int

    def at_most(self, k: int) -> float:
        """Return the logarithm of an upper bound of ``abs(a_k) abs(z)**k``."""
        return log_sum(self.logs[k], self.errors[k]) + SLACK

    def at_least(self, k: int) -> float:
        """Return the logarithm of a lower bound of ``abs(a_k) abs(z)**k``."""
        return log_difference(self.logs[k], self.errors[k]) - SLACK


class Polynomial:
    """``c_0 + ... + c_n z^n`` with coefficients in units of 2**-1074, neither c_0 nor c_n zero.

    Parameters
    ----------
    re, im : list of int
        The parts of the coefficients, that of the lowest power first; `im` is None where all are
        real.
    """

    def __init__(self, re: list[int], im: list[int] | None) -> None:
        self.re, self.im = re, im
        self.degree = len(re) - 1
        zero = [0] * len(re) if im is None else im
        self.lengths = [max(x.bit_length(), y.bit_length()) for x, y in zip(re, zero, strict=True)]
        # Slopes are rounded so that n of them are right to a bit.
        self._fine = 1 << self.degree.bit_length()
        self._scaled: dict[tuple[float, int], Scaled] = {}
        self._of_slope: dict[float, tuple[list[int], list[int], int]] = {}
        self._tails: dict[int, float] = {}
        self._errors: dict[int, float] = {}

    @property
    def is_real(self) -> bool:
        """True if all coefficients are real."""
        return self.im is None

    @cached_property
    def logs(self) -> list[float]:
        """The binary logarithms of the moduli of the coefficients."""
        zero = [0] * len(self.re) if self.im is None else self.im
        return [log_of(x, y) + LOWEST for x, y in zip(self.re, zero, strict=True)]

    def times_power(self, count: int) -> Polynomial:
        """Return the product with ``z**count``, whose first coefficients are zero."""
        if not count:
            return self
        front = [0] * count
        return Polynomial(front + self.re, None if self.im is None else front + self.im)

    def slope(self, log: float) -> float:
        """Return the slope for points whose moduli have a binary logarithm."""
        return floor(log * self._fine) / self._fine

    def scaled(self, slope: float, bits: int) -> Scaled:
        """Return coefficients for points of about that slope."""
        found = self._scaled.get((slope, bits))
        if found is None:
            powers, steps, top = self._powers(slope)
            shifts = [bits + power - top for power in powers]
            re = _shifted(self.re, shifts)
            im = None if self.im is None else _shifted(self.im, shifts)
            found = Scaled(re[::-1], im and im[::-1], powers, steps, top + LOWEST)
            self._scaled[slope, bits] = found
        return found

    def _powers(self, slope: float) -> tuple[list[int], list[int], int]:
        """Return what `Scaled` has of a slope for any number of bits."""
        found = self._of_slope.get(slope)
        if found is None:
            powers = [floor(slope * k) for k in range(self.degree + 1)]
            steps = [powers[k + 1] - powers[k] for k in reversed(range(self.degree))]
            pairs = zip(self.lengths, powers, strict=True)
            top = max([length + power for length, power in pairs if length])
            found = self._of_slope[slope] = powers, steps, top
        return found

    def taylor(self, z: Point, bits: int, last: int) -> Taylor:
        """Return the first coefficients of ``p(z + t)``, to that with ``t**last``.

        With ``f = floor(slope k)``, ``1 <= abs(z)**k 2**-f(k) < 4``. The rounding errors of
        Horner's rule are below ``sqrt(2)`` in each step and each coefficient; one in row r and
        place j of the rows of synthetic divisions adds at most ``4 comb(j, k - r)`` times itself
        to ``a_k abs(z)**k``. Coefficients after the last one are bounded by the remainder of
        ``abs(c_j) x**j`` at ``abs(z) + r``.
        """
        log = z.log
        slope = self.slope(log)
        scaled = self.scaled(slope, bits)
        # At least a bit is cut off by each product, so that shifts are positive.
        wr, wi, unit = z.re << 2, z.im << 2, z.unit - 2
        re, im = scaled.re, scaled.im
        if im is None and wi:
            im = [0] * len(re)
        shifts = [step - unit for step in scaled.steps]
        parts, logs = [], []
        for k in range(last + 1):
            if im is None:
                re = _divided_real(re, wr, shifts)
                parts.append((re.pop(), 0))
            else:
                re, im = _divided(re, im, wr, wi, shifts)
                parts.append((re.pop(), im.pop()))
            shifts.pop() if shifts else None
            logs.append(log_of(*parts[-1]) - bits + k * log - scaled.powers[k])
        errors = [self._error(k) - bits for k in range(last + 1)]
        powers = scaled.powers[: last + 1]
        return Taylor(parts, powers, logs, errors, self._tail(last + 1), scaled.top)

    def _error(self, k: int) -> float:
        """Return the logarithm of the bound of the errors of ``a_k abs(z)**k`` in units."""
        found = self._errors.get(k)
        if found is None:
            n = self.degree
            found = log2(12 * sum(comb(n + 1, i) for i in range(1, k + 2))) + SLACK
            self._errors[k] = found
        return found

    def _tail(self, first: int) -> float:
        """Return the logarithm of a bound of the terms from `first` on; see `Taylor`.

        ``abs(c_j z**j)`` is at most ``4 sqrt(2)``, and ``(1 + 1 / (2 n))**n`` below 1.65.
        """
        found = self._tails.get(first)
        if found is None:
            total = comb(self.degree + 1, first + 1)
            found = self._tails[first] = log2(10 * total) + SLACK if total else -inf
        return found


def _shifted(parts: list[int], by: list[int]) -> list[int]:
    return [x << s if s >= 0 else x >> -s for x, s in zip(parts, by, strict=True)]


def _divided_real(re: list[int], w: int, shifts: list[int]) -> list[int]:
    """Return what Horner's rule has after each coefficient: the quotient and the remainder."""
    value = re[0]
    found = [value]
    for c, shift in zip(re[1:], shifts, strict=True):
        value = (value * w >> shift) + c
        found.append(value)
    return found


def _divided(
    re: list[int], im: list[int], wr: int, wi: int, shifts: list[int]
) -> tuple[list[int], list[int]]:
    x, y = re[0], im[0]
    found, other = [x], [y]
    for c, d, shift in zip(re[1:], im[1:], shifts, strict=True):
        x, y = (x * wr - y * wi >> shift) + c, (x * wi + y * wr >> shift) + d
        found.append(x)
        other.append(y)
    return found, other
