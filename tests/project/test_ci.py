"""The steps of CI: each is a script that `.ci/run` calls, and the workflows call no other."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted((ROOT / ".ci").iterdir())
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
STEPS = re.findall(r"^step (\S+)", (ROOT / ".ci" / "run").read_text(), re.MULTILINE)


def test_every_script_is_a_step_of_the_run():
    assert sorted(STEPS) == [path.name for path in SCRIPTS if path.name != "run"]


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_scripts_stop_at_the_first_failure(path):
    assert os.access(path, os.X_OK)
    text = path.read_text()
    assert text.startswith("#!/usr/bin/env bash\n# ")
    assert "\nset -euo pipefail\n" in text


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_call_steps_of_the_run(path):
    commands = re.findall(r"\brun: *(.*)", path.read_text())
    assert commands
    assert {command.split()[0].removeprefix(".ci/") for command in commands} <= set(STEPS)
    assert all(command.startswith(".ci/") for command in commands)
