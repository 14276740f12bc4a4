"""JSON files of the command line carry the number of their format."""

from __future__ import annotations

import json

import pytest

import mdqr
from mdqr._cli.main import main

FILES = {
    "lstsq": ("x,y\n1,3\n2,5\n4,9\n", []),
    "series": ("x^2 - 2 - t\n", ["--start", "1.4", "--degree", "3"]),
}


@pytest.mark.parametrize("command", FILES)
def test_format_and_version_come_first(command, tmp_path, capsys):
    text, options = FILES[command]
    file, output = tmp_path / "in.txt", tmp_path / "out.json"
    file.write_text(text)
    assert main([command, str(file), *options, "--output", str(output)]) == 0
    found = json.loads(output.read_text())
    assert list(found)[:2] == ["format", "mdqr"]
    assert (found["format"], found["mdqr"]) == (1, mdqr.__version__)
