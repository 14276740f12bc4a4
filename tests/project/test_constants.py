"""The constants of the elementary functions are what their script writes."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import mpmath

SCRIPT = Path(__file__).resolve().parents[2] / "kernels" / "generate_constants.py"


def script():
    """Import the script, which is beside the kernels and not part of a package."""
    spec = importlib.util.spec_from_file_location("generate_constants", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_header_is_what_the_script_writes():
    generate = script()
    with mpmath.workprec(mpmath.mp.prec):  # the script sets its own
        assert generate.TARGET.read_text() == generate.source()


def test_rows_are_the_nearest_numbers_of_their_digits():
    generate = script()
    text = generate.TARGET.read_text()
    with mpmath.workprec(4000):
        for name, constant in {"ln2": mpmath.log(2), "half_pi": mpmath.pi / 2}.items():
            (row,) = re.findall(rf"double {name}_table\[\] = \{{([^}}]*)\}}", text)
            digits = [int(digit) for digit in row.split(",")]
            value = sum(mpmath.ldexp(d, -24 * i) for i, d in enumerate(digits))
            assert abs(value - constant) <= mpmath.ldexp(0.5, -24 * (len(digits) - 1))
            assert all(abs(digit) <= 2**23 for digit in digits[1:])
