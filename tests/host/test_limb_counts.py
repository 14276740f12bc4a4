"""The headers at limb counts that no precision has: right, or refused by the compiler."""

from __future__ import annotations

import math
import subprocess
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest
from compilers import host_compiler

from mdqr._backend.cuda.digits import residual_digits, result_digits
from mdqr._backend.sources import kernels_folder
from mdqr._limbs.exact import sum_of_units
from mdqr._precision import Precision, eps_bits

PROGRAM = Path(__file__).with_suffix("").with_name("limb_counts.cpp")
FLAGS = ["-std=c++17", "-ffp-contract=off", "-fwrapv", f"-I{kernels_folder() / 'include'}"]
LEAST = Fraction(1, 2**1074)
# Relative errors of the contract, in eps; of parts of complex numbers, relative to the modulus.
ALLOWED = {"add": 2, "sub": 2, "mul": 2, "div": 2, "exact": 1, "digits": 2}
COMPLEX = {"complex_mul": 4, "complex_div": 10}


@pytest.fixture(scope="module", params=[3, 5], ids=lambda n: f"{n}")
def printed(request, tmp_path_factory):
    """Return the precision of a limb count, and the lines of the program for it."""
    precision = Precision._make("xd", request.param)
    program = tmp_path_factory.mktemp("limbs") / "program"
    defines = [f"-DMDQR_LIMBS={precision.limbs}", f"-DTINY={-math.frexp(precision.tiny)[1] + 1}"]
    command = [host_compiler(), *FLAGS, *defines, "-O1", "-w", str(PROGRAM), "-o", str(program)]
    subprocess.run(command, check=True)
    text = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    return precision, [line.split() for line in text.splitlines()]


def numbers(words, limbs):
    """Return the limbs of each number of a line."""
    values = [float.fromhex(word) for word in words]
    return [values[i : i + limbs] for i in range(0, len(values), limbs)]


def value(limbs):
    return Fraction(sum_of_units(limbs)) * LEAST


def wanted(name, x, y):
    """Return the exact result of an operation; None for roots."""
    if name in ("add", "sub"):
        return x + y if name == "add" else x - y
    if name == "div":
        return x / y
    return x * y


def test_constants_are_those_of_python(printed):
    precision, lines = printed
    limbs = precision.limbs
    assert lines[0] == ["constants", *map(str, (eps_bits(limbs), *digits_of(limbs)))]


def digits_of(limbs):
    return result_digits(limbs), residual_digits(limbs)


def test_results_are_normalised(printed):
    precision, lines = printed
    for name, *words in lines[1:]:
        for limbs in numbers(words, precision.limbs):
            if not math.isfinite(limbs[0]) or name.startswith(("inverse", "cut", "loose")):
                continue
            are_apart = all(a + b == a for a, b in pairwise(limbs))
            assert are_apart, (name, words)


def test_real_operations_keep_the_contract(printed):
    precision, lines = printed
    eps, least = Fraction(precision.eps), precision.limbs**2 * LEAST
    seen = set()
    for name, *words in lines[1:]:
        if name not in ALLOWED:
            continue
        x, y, found = numbers(words, precision.limbs)
        exact = wanted(name, value(x), value(y))
        if abs(exact) < 2**1020:
            error = abs(value(found) - exact)
            assert error <= ALLOWED[name] * eps * abs(exact) + least, (name, words)
            seen.add(name)
    assert seen == set(ALLOWED)


def test_products_of_sums_that_cancelled(printed):
    """Their limbs are out of order, which digits of more than 9 limbs do not bear."""
    precision, lines = printed
    eps, count = Fraction(precision.eps), 0
    for name, *words in lines[1:]:
        if name == "loose":
            x, y, found = map(value, numbers(words, precision.limbs))
            bound = 2 * eps * abs(x * y) + precision.limbs**2 * LEAST
            assert abs(found - x * y) <= bound, words
            count += 1
    assert count == (64 if precision.limbs > 9 else 0)


def test_roots_keep_the_contract(printed):
    precision, lines = printed
    eps, least = Fraction(precision.eps), precision.limbs**2 * LEAST
    count = 0
    for name, *words in lines[1:]:
        if name not in ("sqrt", "hypot"):
            continue
        *operands, found = numbers(words, precision.limbs)
        squares = (
            [value(x) ** 2 for x in operands] if name == "hypot" else [abs(value(operands[0]))]
        )
        root = value(found)
        bound = 2 * eps * root + least
        assert max(root - bound, 0) ** 2 <= sum(squares) <= (root + bound) ** 2, (name, words)
        count += 1
    assert count > 200


def test_reciprocals_of_windows_have_all_limbs(printed):
    """Within the few units of products without a guard."""
    precision, lines = printed
    eps, count = Fraction(precision.eps), 0
    for name, *words in lines[1:]:
        if name in ("inverse", "inverse_root"):
            x, found = (value(each) for each in numbers(words, precision.limbs))
            one = x * found if name == "inverse" else x * found**2
            assert abs(one - 1) <= 64 * precision.limbs**2 * eps, (name, words)
            count += 1
    assert count == 64


def test_digits_of_residuals_hold_a_number(printed):
    """Also far below the smallest power of two that one double can count in."""
    precision, lines = printed
    count = residual_digits(precision.limbs)
    found = [list(map(float.fromhex, words)) for name, *words in lines[1:] if name == "cut"]
    assert len(found) == 64
    for words in found:
        x, digits = value(words[: precision.limbs]), words[precision.limbs :]
        assert len(digits) == count
        assert max(map(abs, digits)) <= 2**50
        held = sum(Fraction(d) / 2 ** (50 + 51 * i) for i, d in enumerate(digits))
        assert abs(held - x) <= Fraction(3, 2) / 2 ** (51 * count)


def test_nan_is_kept(printed):
    _, lines = printed
    found = [words for name, *words in lines[1:] if name == "nan"]
    assert len(found) == 24
    for first, *rest in found:
        assert math.isnan(float.fromhex(first))
        assert {float.fromhex(word) for word in rest} == {0.0}


def test_a_number_over_itself_is_one(printed):
    """Also where digits of it are cut off."""
    precision, lines = printed
    found = [words for name, *words in lines[1:] if name == "one"]
    assert len(found) > 100
    one = [1.0, *[0.0] * (precision.limbs - 1)]
    assert all(list(map(float.fromhex, words)) == one for words in found)


def test_integers_are_nearest(printed):
    precision, lines = printed
    for name, *words in lines[1:]:
        if name == "rint":
            x, found = (value(each) for each in numbers(words, precision.limbs))
            assert found == round(x)


def test_complex_operations_keep_the_contract(printed):
    precision, lines = printed
    eps, least = Fraction(precision.eps), 4 * precision.limbs**2 * LEAST
    for name, *words in lines[1:]:
        if name not in COMPLEX:
            continue
        a, b, c, d, re, im = (value(each) for each in numbers(words, precision.limbs))
        if name == "complex_mul":
            exact = a * c - b * d, a * d + b * c
        else:
            norm = c * c + d * d
            exact = (a * c + b * d) / norm, (b * c - a * d) / norm
        square = (re - exact[0]) ** 2 + (im - exact[1]) ** 2
        size = exact[0] ** 2 + exact[1] ** 2
        assert square <= (COMPLEX[name] * eps) ** 2 * size + least**2, (name, words)


def refusal(source):
    """Return the messages of the compiler for a program; "" if it compiles."""
    command = [host_compiler(), *FLAGS, "-fsyntax-only", "-x", "c++", "-"]
    return subprocess.run(command, input=source, capture_output=True, text=True, check=False).stderr


@pytest.mark.parametrize(
    ("header", "use", "most", "message"),
    [
        ("elementary/fixed", "mdqr::last_digit<{n}>", 16, "constants.hpp has too few digits"),
        ("number/md", "mdqr::small_exponent<{n}>", 16, "the last of so many limbs"),
        (
            "digits",
            "mdqr::to_digits<mdqr::residual_digits<{n}>, {n}>(x, x)",
            16,
            "digits of so many limbs leave the range of doubles",
        ),
    ],
)
def test_what_does_not_hold_for_more_limbs_is_refused(header, use, most, message):
    program = '#include "mdqr/{header}.hpp"\nint value(double* x) {{ return {use}; }}\n'
    fits, beyond = (
        refusal(program.format(header=header, use=use.format(n=n))) for n in (most, most + 4)
    )
    assert fits == ""
    assert message in beyond
