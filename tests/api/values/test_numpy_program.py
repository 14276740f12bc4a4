"""A program written for `numpy.linalg` runs with two changed lines, and has all digits."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import mdqr

PROGRAM = Path(mdqr.__file__).parents[1] / "examples" / "numpy_linalg.py"
CHANGED = {
    "import numpy as np\n": "import numpy as np\nimport mdqr\n",
    "np.arange(-20.0, 25.0, 5.0)": "mdqr.arange(-20, 25, 5, precision=mdqr.qd)",
}


@pytest.fixture
def text():
    if not PROGRAM.exists():
        pytest.skip("the examples are not beside an installed package")
    return PROGRAM.read_text()


def _changed(text):
    for before, after in CHANGED.items():
        assert text.count(before) == 1
        text = text.replace(before, after)
    return text


def test_two_lines_change(text):
    before, after = text.splitlines(), _changed(text).splitlines()
    assert len(before) > 80
    assert len([line for line in after if line not in before]) == 2


def test_it_runs_with_numpy_and_with_mdqr(text):
    for program in (text, _changed(text)):
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        assert "rank           5 " in done.stdout


def test_every_way_has_all_digits(text):
    names, floats = {"__name__": "program"}, {"__name__": "program"}
    exec(_changed(text), names)
    exec(text, floats)
    a = names["design"](names["TEMPERATURE"], 4)
    b = names["READING"]
    x, squares = names["by_lstsq"](a, b)
    assert x.precision is mdqr.qd
    # Of condition 1.5e5, and of normal equations its square.
    for way, condition in (("by_qr", 1.6e5), ("by_normal_equations", 2.4e10)):
        y = names[way](a, b)
        assert y.precision is mdqr.qd
        assert float(names["distance"](x, y)) < 10 * condition * mdqr.qd.eps
    values, vectors = names["principal_axes"](names["covariance"](a, squares))
    assert values.precision is vectors.precision is mdqr.qd
    once = floats["by_lstsq"](floats["design"](floats["TEMPERATURE"], 4), floats["READING"])[0]
    np.testing.assert_allclose(x.to_numpy(), once, rtol=1e-9)
