"""``mdqr solve``: text, JSON, a plot, and what is wrong with a command."""

from __future__ import annotations

import json
import re

import pytest

from mdqr._cli.main import main


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "system.txt"
    path.write_text("x^2 + y^2 - t\nx*y - 1/2\n", encoding="utf-8")
    return path


def test_text_and_json(file, tmp_path, capsys):
    output = tmp_path / "solutions.json"
    assert main(["solve", str(file), "--parameters", "t=3", "--output", str(output)]) == 0
    text = capsys.readouterr().out
    assert "-1.707106781186547524400844362105" in text
    assert "4, 4 real, 4 certified" in text
    document = json.loads(output.read_text(encoding="utf-8"))
    assert document["paths"] == 4
    assert document["format"] == 1
    assert all(one["is_certified"] for one in document["solutions"])


def test_all_names_are_unknowns(tmp_path, capsys):
    """T is an unknown, as in texts of PHCpack; real solutions only."""
    file = tmp_path / "phcpack.txt"
    file.write_text("2\nx^3 - t;\nt - 8;\n", encoding="utf-8")
    assert main(["solve", str(file), "--real"]) == 0
    text = capsys.readouterr().out
    assert "1, 1 real, 1 certified" in text


def test_multiple_solutions_are_said_to_be_one_within_a_distance(tmp_path, capsys):
    file, output = tmp_path / "double.txt", tmp_path / "double.json"
    file.write_text("(x-1)^2*(x-3)\n")
    assert main(["solve", str(file), "--output", str(output)]) == 0
    text = capsys.readouterr().out
    assert "none" in text
    assert re.search(r"multiple +1, each one within \de-\d\d", text)
    radii = [one["cluster_radius"] for one in json.loads(output.read_text())["solutions"]]
    assert 0 < radii[0] < 1e-20
    assert radii[1] == 0


def test_plot(file, tmp_path):
    pytest.importorskip("matplotlib")
    output = tmp_path / "solutions.png"
    assert main(["solve", str(file), "--parameters", "t=3", "--output", str(output)]) == 0
    assert output.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--parameters", "t"], "NAME=NUMBER"),
        (["--output", "x.txt"], ".json"),
        ([], "slice"),
        (["--parameters", "u=1"], "has no u"),
        (["--parameters", "t=z"], "'z' is no number"),
        (["--parameters", "t=1/0"], "'1/0' is no number"),
    ],
)
def test_wrong_commands(file, capsys, arguments, message):
    try:
        code = main(["solve", str(file), *arguments])
    except SystemExit as stop:
        code = stop.code
    assert code == 2
    assert message in capsys.readouterr().err


def test_a_file_that_is_no_text(tmp_path, capsys):
    file = tmp_path / "bytes.txt"
    file.write_bytes(b"\xff\xfe")
    assert main(["solve", str(file)]) == 2
    assert "bytes.txt is no UTF-8 text" in capsys.readouterr().err
