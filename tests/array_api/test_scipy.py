"""SciPy computes with MDArrays where it follows the array API."""

import os
import subprocess
import sys
from pathlib import Path

import flint

ROOT = Path(__file__).resolve().parents[2]


def test_the_example_gives_sixty_digits():
    """In a process of its own: SciPy looks at its environment when it is imported."""
    run = subprocess.run(
        [sys.executable, ROOT / "examples" / "roots_and_integrals.py"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
        capture_output=True,
        text=True,
        check=True,
    )
    root, area = (line.rpartition(" ") for line in run.stdout.splitlines())
    assert [root[0], area[0]] == ["the cube root of 2:", "the area under exp(-x^2):"]
    with flint.ctx.workprec(300):
        errors = flint.arb(root[2]) ** 3 - 2, flint.arb(area[2]) ** 2 - flint.arb.pi()
        assert all(abs(error) < flint.arb("1e-60") for error in errors)
