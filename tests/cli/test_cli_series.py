"""``mdqr series``: text, JSON, plots, and what is wrong with a command."""

from __future__ import annotations

import json
import re
from fractions import Fraction

import matplotlib
import pytest
from cli_runs import last_place

from mdqr._cli.main import main

SYSTEM = "x^2 - 1 - t\nx*y - 1\n"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "system.txt"
    path.write_text(SYSTEM, encoding="utf-8")
    return path


def binomial(numerator, k):
    """The binomial coefficient of +-1/2 over k."""
    value = Fraction(1)
    for j in range(k):
        value *= Fraction(numerator, 2) - j
        value /= j + 1
    return value


def test_text(file, capsys):
    """As many digits as hold, of the binomial series, and the radius 1."""
    assert main(["series", str(file), "--start", "1,1", "--degree", "12"]) == 0
    x, y, summary = capsys.readouterr().out.split("\n\n")
    for part, sign in ((x, 1), (y, -1)):
        lines = [line.split() for line in part.splitlines()[1:]]
        assert [int(order) for order, *_ in lines] == list(range(13))
        for order, digits, text in lines:
            exact = binomial(sign, int(order))
            assert int(digits) > 50
            assert abs(Fraction(text) - exact) <= last_place(text)
    assert "x, y" in summary
    radius = re.search(r"^radius +([\d.]+) \+- ([\de.-]+), at -0\.99", summary, re.MULTILINE)
    assert abs(float(radius[1]) - 1) <= 2 * float(radius[2])


def test_json(file, tmp_path, capsys):
    output = tmp_path / "series.json"
    command = ["series", str(file), "--start", "1,1", "--degree", "6", "--precision", "dd"]
    assert main([*command, "--verify", "--output", str(output)]) == 0
    found = json.loads(output.read_text(encoding="utf-8"))
    assert found["precision"] == "dd"
    assert found["degree"] == 6
    for k, text in enumerate(found["series"]["x"]["real"]):
        assert abs(Fraction(text) - binomial(1, k)) <= Fraction(1, 10**29)
    assert min(found["digits"]) >= 29
    assert "written to" in capsys.readouterr().out


def test_complex_text_and_t0(tmp_path, capsys):
    path = tmp_path / "complex.txt"
    path.write_text("2\nz^2 + s;\n w - i*z;\n", encoding="utf-8")
    command = ["series", str(path), "--start", "1j,-1", "--degree", "4", "--t0", "1"]
    assert main([*command, "--parameter", "s", "--variables", "z,w"]) == 0
    assert "z, w" in capsys.readouterr().out


def test_plot(file, tmp_path, capsys):
    matplotlib.use("Agg")
    output = tmp_path / "series.svg"
    command = ["series", str(file), "--start", "1,1", "--degree", "9", "--output", str(output)]
    assert main(command) == 0
    assert output.read_text(encoding="utf-8").lstrip().startswith("<?xml")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--start", "1", "--degree", "3"], 2, "--start has 1 numbers, and there are 2 unknowns"),
        (["--start", "7,9", "--degree", "3"], 0, ""),
        (["--start", "one,1", "--degree", "3"], 2, "one"),
        (["--start", "0,1", "--degree", "3"], 1, "the Jacobian at the start point has rank"),
        (["--start", "1,1", "--degree", "3", "--variables", "x"], 2, "unknown variable"),
        (["--start", "1,1", "--degree", "3", "--precision", "hd", "--verify"], 2, "highest"),
    ],
)
def test_wrong_commands(file, capsys, arguments, code, message):
    assert main(["series", str(file), *arguments]) == code
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--degree", "3"], "--start"),
        (["--start", "1,1", "--degree", "-1"], "the degree must be an integer from 0"),
        (["--start", "1,1", "--degree", "3", "--output", "a.txt"], "must end in .json"),
    ],
)
def test_wrong_options(file, capsys, arguments, message):
    with pytest.raises(SystemExit, match="2"):
        main(["series", str(file), *arguments])
    assert message in capsys.readouterr().err


def test_files_that_are_no_systems(tmp_path, capsys):
    path = tmp_path / "wrong.txt"
    path.write_text("x +\n", encoding="utf-8")
    assert main(["series", str(path), "--start", "1", "--degree", "3"]) == 2
    assert f"{path}: 'x +': a number, a variable" in capsys.readouterr().err
    assert main(["series", str(tmp_path / "none"), "--start", "1", "--degree", "3"]) == 2
    assert "No such file" in capsys.readouterr().err


def test_starts_that_moved(file, capsys):
    """Newton's method may lead to another solution than was meant."""
    assert main(["series", str(file), "--start", "5,-3", "--degree", "4"]) == 0
    out, err = capsys.readouterr()
    assert re.search(r"^start +moved by [\d.]+ of its size$", out, re.MULTILINE)
    assert "the solution at t0 is at a relative distance" in out + err


def test_texts_of_phcpack(tmp_path, capsys):
    path = tmp_path / "system"
    path.write_text("1\n x1^2 - 1 - t;\n\nTITLE : one\n", encoding="utf-8")
    assert main(["series", str(path), "--start", "1", "--degree", "4"]) == 0
    assert "x1" in capsys.readouterr().out
    path.write_text("2\nx*t - 1;\nx + t - 3;\n", encoding="utf-8")
    assert main(["series", str(path), "--start", "1,1", "--degree", "4"]) == 2
    assert "--parameter" in capsys.readouterr().err
