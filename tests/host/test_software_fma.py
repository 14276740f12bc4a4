"""The fused multiply-add by integers, for targets whose C library has a wrong one."""

from __future__ import annotations

import math
import subprocess
from fractions import Fraction
from pathlib import Path

from compilers import host_compiler

from mdqr._backend.sources import kernels_folder

SOURCE = Path(__file__).with_name("software_fma.cpp")


def wanted(a: float, b: float, c: float) -> float:
    """The exact value, rounded once; for what is not finite or zero, what the parts say."""
    if not all(map(math.isfinite, (a, b))) or 0.0 in (a, b):
        return a * b + c
    if not math.isfinite(c):
        return c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    sign = math.copysign(1.0, (exact > 0) - (exact < 0))
    if exact == 0:
        return 0.0
    try:
        return sign * abs(float(exact))
    except OverflowError:
        return sign * math.inf


def test_software_fma_is_rounded_once(tmp_path):
    program = tmp_path / "program"
    include = kernels_folder() / "include"
    flags = ["-std=c++17", "-O2", "-ffp-contract=off", "-Wall", "-Werror", f"-I{include}"]
    subprocess.run([host_compiler(), *flags, str(SOURCE), "-o", str(program)], check=True)
    printed = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    lines = [tuple(map(float.fromhex, line.split())) for line in printed.splitlines()]
    assert len(lines) == 20_000 + 9**3
    for a, b, c, found in lines:
        expected = wanted(a, b, c)
        same = found == expected and math.copysign(1, found) == math.copysign(1, expected)
        assert same or (math.isnan(found) and math.isnan(expected)), (a, b, c)
