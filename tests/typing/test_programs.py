"""Programs of users under the checkers of types, as far as these are installed."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PROGRAMS = {name: HERE / f"program_{name}.py" for name in ("ok", "wrong")}
# What basedpyright calls the errors of mypy.
RULES = {
    "arg-type": "reportArgumentType",
    "assignment": "reportAssignmentType",
    "attr-defined": "reportAttributeAccessIssue",
    "call-arg": "reportCallIssue",
    "call-overload": "reportCallIssue reportArgumentType",
    "union-attr": "reportAttributeAccessIssue",
}


def marks() -> dict[int, str]:
    lines = PROGRAMS["wrong"].read_text().splitlines()
    found = ((at, re.search(r"# expect: (\S+)$", line)) for at, line in enumerate(lines, 1))
    return {at: mark[1] for at, mark in found if mark}


@pytest.mark.skipif(find_spec("mypy") is None, reason="mypy is in the extra lint")
def test_mypy_finds_the_errors_of_users_alone() -> None:
    command = [sys.executable, "-m", "mypy", "--output=json", *PROGRAMS.values()]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    found = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]
    found = [each for each in found if each["severity"] == "error"]
    assert not run.stderr
    assert {Path(each["file"]).name for each in found} == {PROGRAMS["wrong"].name}
    assert {each["line"]: each["code"] for each in found} == marks()


@pytest.mark.skipif(find_spec("basedpyright") is None, reason="basedpyright is in the extra lint")
def test_basedpyright_finds_the_errors_of_users_alone() -> None:
    options = ["--outputjson", "--level", "error", "--pythonpath", sys.executable]
    command = [sys.executable, "-m", "basedpyright", *options, *PROGRAMS.values()]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    found = json.loads(run.stdout)["generalDiagnostics"]
    assert {Path(each["file"]).name for each in found} == {PROGRAMS["wrong"].name}
    wanted = {line: RULES[code] for line, code in marks().items()}
    seen = {each["range"]["start"]["line"] + 1: each["rule"] for each in found}
    assert seen.keys() == wanted.keys()
    assert not [line for line, rule in seen.items() if rule not in wanted[line]]


def test_the_program_without_errors_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(PROGRAMS["ok"]))
    assert capsys.readouterr().out
