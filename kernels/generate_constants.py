"""Write the constants of the elementary functions: `python kernels/generate_constants.py`.

Every constant is a row of integers d[0], d[1], ... of at most 23 bits and a sign, and stands for
sum(d[i] * 2**(-24 * i)), the nearest such number. The first digits of a row are the constant to
fewer digits, so one table serves every limb count.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import mpmath
from mpmath import mpf

BITS = 24  # of a digit
DIGITS = 39  # of a row; hexa-double works with 38 and a guard
TWO_OVER_PI_DIGITS = 130  # (1024 + 53 * 16 + guard bits) of any argument, see reduction.hpp
STIRLING_FROM = 128  # as in gamma.hpp: a hexa-double takes 160 terms there
# Terms that are summed before a product: sums of their factors times digits are exact.
BLOCKS = {"exp": 6, "sin": 4, "cos": 4, "log": 6, "atan": 5}
ERFC_STEPS, ERFC_ROWS = 16, 438  # as in erf.hpp: erfc(27.3) underflows
TARGET = Path(__file__).parent / "include" / "mdqr" / "elementary" / "constants.hpp"

HEAD = """// Written by kernels/generate_constants.py; do not edit.
// Rows of digits: sum(d[i] 2^(-24 i)), |d[i]| <= 2^23.
#pragma once
#include "mdqr/config.hpp"

// clang-format off
namespace mdqr { // one copy for all CPU levels

inline constexpr int row_digits = %d;
"""


def digits(value: mpf, count: int = DIGITS) -> list[int]:
    """Return balanced digits of `value`, largest first."""
    whole = int(mpmath.nint(mpmath.ldexp(value, BITS * (count - 1))))
    row = []
    for _ in range(count - 1):
        low = (whole + (1 << BITS - 1)) % (1 << BITS) - (1 << BITS - 1)
        row.append(low)
        whole = (whole - low) >> BITS
    return [whole, *reversed(row)]


def zero_bits(values: list[mpf]) -> int:
    """Return the largest z with abs(value) <= 2**-z for all values."""
    return -int(mpmath.ceil(mpmath.log(max(map(abs, values)), 2)))


def gamma_coefficients(count: int) -> list[mpf]:
    """Return those of ``1 / gamma(1 + t)``, from the ones of its logarithm (A&S 6.1.33)."""
    logarithm = [mpmath.euler, *((-1) ** (k - 1) * mpmath.zeta(k) for k in range(2, count))]
    coefficients = [mpf(1)]
    for k in range(1, count):
        terms = zip(logarithm, reversed(coefficients), strict=False)
        coefficients.append(mpmath.fsum(a * c for a, c in terms) / k)
    return coefficients


def stirling(k: int) -> mpf:
    """Return the coefficient of ``t**(2 k + 1)`` of Stirling's series in STIRLING_FROM / x."""
    n = 2 * k + 2
    return mpmath.bernoulli(n) / (n * (n - 1)) / mpf(STIRLING_FROM) ** (n - 1)


def scaled_erfc(x: mpf) -> mpf:
    """Return ``exp(x**2) erfc(x)``."""
    with mpmath.workprec(BITS * DIGITS + 200):
        return mpmath.erfc(x) * mpmath.exp(x * x)


# The coefficients of these are 1 / d(k).
DENOMINATORS: dict[str, Callable[[int], int]] = {
    "exp": lambda k: math.factorial(k + 1),
    "sin": lambda k: math.factorial(2 * k + 1),
    "cos": lambda k: math.factorial(2 * k),
    "log": lambda k: k + 1,
    "atan": lambda k: 2 * k + 1,
}


def series() -> dict[str, tuple[Callable[[int], mpf], int]]:
    """Return the coefficients of each power series, and how many a hexa-double takes."""
    gamma = gamma_coefficients(180)
    return {
        **{
            name: (lambda k, d=DENOMINATORS[name]: 1 / mpf(d(k)), count)
            for name, count in {"exp": 53, "sin": 39, "cos": 39, "log": 51, "atan": 65}.items()
        },
        "gamma": (lambda k: gamma[k + 1], 174),
        "stirling": (stirling, 161),
    }


def blocks(name: str, terms: int) -> str:
    """Return the tables of ``c[k + j] = row * factor[j]``, j = 1, 2, ..., for blocks of a series.

    A factor is an integer, and a row the same for all terms of a block but the first.
    """
    size, rows, factors = BLOCKS[name], [], []
    for k in range(0, terms, size):
        denominators = [DENOMINATORS[name](k + j) for j in range(1, size)]
        common = math.lcm(*denominators)
        rows.append(1 / mpf(common))
        factors.append([common // d for d in denominators])
        assert sum(factors[-1]) < 2**29
    zeros = ", ".join(str(zero_bits([row])) for row in rows)
    return (
        f"inline constexpr int {name}_block = {size};\n"
        f"MDQR_TABLE int {name}_block_zero_bits[] = {{{zeros}}};\n"
        + array(f"{name}_block_factors", factors)
        + array(f"{name}_block_series", map(digits, rows))
    )


def tables() -> dict[str, list[mpf]]:
    """Return the tables of values, one row an argument."""
    return {
        "exp2_64": [mpf(2) ** (mpf(j) / 64) for j in range(64)],
        "exp2_4096": [mpf(2) ** (mpf(j) / 4096) for j in range(64)],
        "log_64": [mpmath.log(mpf(j) / 64) for j in range(45, 92)],
        "log_4096": [mpmath.log1p(mpf(j) / 2**12) for j in range(-48, 49)],
        "log_2_18": [mpmath.log1p(mpf(j) / 2**18) for j in range(-34, 35)],
        "sin_64": [mpmath.sin(mpf(j) / 64) for j in range(53)],
        "cos_64": [mpmath.cos(mpf(j) / 64) for j in range(53)],
        "atan_64": [mpmath.atan(mpf(j) / 64) for j in range(66)],
        "ln2": [mpmath.log(2)],
        "ln2_4096": [mpmath.log(2) / 4096],
        "inverse_ln2": [1 / mpmath.log(2)],
        "inverse_ln10": [1 / mpmath.log(10)],
        "half_pi": [mpmath.pi / 2],
        "third": [mpf(1) / 3],
        "erfc_16": [scaled_erfc(mpf(j) / ERFC_STEPS) for j in range(ERFC_ROWS)],
        "two_over_root_pi": [2 / mpmath.sqrt(mpmath.pi)],
        "eighth_over_root_pi": [1 / (8 * mpmath.sqrt(mpmath.pi))],
        "half_log_2pi": [mpmath.log(2 * mpmath.pi) / 2],
        "log_pi": [mpmath.log(mpmath.pi)],
    }


def array(name: str, rows: Iterable[list[int]]) -> str:
    """Return the definition of a table."""
    text = ",\n".join(", ".join(str(d) for d in row) for row in rows)
    return f"MDQR_TABLE double {name}[] = {{\n{text}}};\n"


def source() -> str:
    """Return the text of the header."""
    mpmath.mp.prec = BITS * TWO_OVER_PI_DIGITS + 200
    parts = [HEAD % DIGITS]
    for name, (coefficient, count) in series().items():
        values = [coefficient(k) for k in range(count)]
        zeros = ", ".join(str(zero_bits(values[k:])) for k in range(count))
        parts.append(f"MDQR_TABLE int {name}_zero_bits[] = {{{zeros}}};\n")
        parts.append(array(f"{name}_series", map(digits, values)))
        if name in BLOCKS:
            parts.append(blocks(name, count))
    for name, values in tables().items():
        parts.append(array(f"{name}_table", map(digits, values)))
    two_over_pi = digits(2 / mpmath.pi, TWO_OVER_PI_DIGITS)
    parts.append(array("two_over_pi_table", [two_over_pi]))
    parts.append("} // namespace mdqr\n// clang-format on\n")
    return "\n".join(parts)


if __name__ == "__main__":
    TARGET.write_text(source())
    sys.stdout.write(f"{TARGET}\n")
