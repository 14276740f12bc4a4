"""Steps of CI: each is a script of `.ci/run` or of a workflow alone; workflows call no other."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted((ROOT / ".ci").iterdir())
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
STEPS = re.findall(r"^step (\S+)", (ROOT / ".ci" / "run").read_text(), re.MULTILINE)
# Too long for every change on a machine of two cores; a job of its own in the workflow.
ALONE = {"ports"}


def test_every_script_is_a_step_of_the_run_or_of_a_workflow():
    assert sorted({*STEPS, *ALONE}) == [path.name for path in SCRIPTS if path.name != "run"]
    assert not ALONE & set(STEPS)
    workflows = "".join(path.read_text() for path in WORKFLOWS)
    assert all(f"run: .ci/{name}" in workflows for name in ALONE)


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
    assert {command.split()[0].removeprefix(".ci/") for command in commands} <= {*STEPS, *ALONE}
    assert all(command.startswith(".ci/") for command in commands)


def ports(*names: str, path: Path) -> subprocess.CompletedProcess[str]:
    """Run `.ci/ports` where a shell and its tools are found, but no compiler and no emulator."""
    for tool in ("bash", "dirname"):
        (path / tool).symlink_to(shutil.which(tool) or "/bin/" + tool)
    command = [str(path / "bash"), str(ROOT / ".ci" / "ports"), *names]
    return subprocess.run(command, env={"PATH": str(path)}, capture_output=True, text=True)


def test_ports_without_compilers_say_so_and_pass(tmp_path):
    done = ports(path=tmp_path)
    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        "aarch64 is not compared: no aarch64-linux-gnu-g++, no emulator",
        "windows is not compared: no x86_64-w64-mingw32-g++-posix, no emulator",
    ]


@pytest.mark.parametrize(("name", "status"), [("windows", 1), ("vax", 2)])
def test_ports_named_without_compilers_fail(name, status, tmp_path):
    done = ports(name, path=tmp_path)
    assert done.returncode == status
    assert name in done.stdout
