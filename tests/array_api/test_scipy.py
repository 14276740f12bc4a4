"""SciPy computes with MDArrays where it follows the array API."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import flint
from scipy_calls import LOSSY, REFUSED

ROOT = Path(__file__).resolve().parents[2]


def _output(*path: str) -> str:
    """Run a script in a process of its own: SciPy looks at its environment when it is imported."""
    return subprocess.run(
        [sys.executable, ROOT.joinpath(*path)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def test_the_example_gives_sixty_digits():
    output = _output("examples", "roots_and_integrals.py")
    root, area = (line.rpartition(" ") for line in output.splitlines())
    assert [root[0], area[0]] == ["the cube root of 2:", "the area under exp(-x^2):"]
    with flint.ctx.workprec(300):
        errors = flint.arb(root[2]) ** 3 - 2, flint.arb(area[2]) ** 2 - flint.arb.pi()
        assert all(abs(error) < flint.arb("1e-60") for error in errors)


def test_the_functions_of_the_guide_have_all_digits():
    """Those that docs/howto/use-numpy.md lists differ in qd and in od by some units of qd."""
    found = json.loads(_output("tests", "array_api", "scipy_calls.py"))
    guide = (ROOT / "docs" / "howto" / "use-numpy.md").read_text()
    for name in LOSSY:  # if one does not, it belongs to the table
        assert found.pop(name) > 1e-40, name
        assert f"`{name}`" in guide
    for name in REFUSED:
        assert found.pop(name).startswith("TypeError"), name
    wrong = {
        name: value for name, value in found.items() if isinstance(value, str) or value > 2e-62
    }
    assert not wrong
    listed = set(
        re.findall(
            r"`(?:scipy\.)?((?:fft|integrate|optimize|signal|stats|special)\.[\w.]+)`", guide
        )
    )
    for name in found:
        assert name in listed or name.startswith("special."), name
    assert {"special.erf", "special.gammaln", "special.ndtr", "special.xlogy"} <= found.keys()
