"""The same limbs on every CPU level, for any number of threads, and with flushing set."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import kernel_hashes
import pytest
from kernel_hashes import FIRST, VARIANTS

PROGRAM = Path(kernel_hashes.__file__)
LEVELS = ("portable", "v3", "v4", "neon")


@pytest.fixture(scope="module")
def hashes():
    """Return a function that runs all computations on one CPU level, once."""
    known = {}

    def of_level(level):
        if level not in known:
            environment = os.environ | {
                "MDQR_CPU_LEVEL": level,
                "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
            }
            run = subprocess.run(
                [sys.executable, str(PROGRAM)], env=environment, capture_output=True, text=True
            )
            if "this machine runs" in run.stderr:
                known[level] = run.stderr.strip().splitlines()[-1]
            else:
                assert run.returncode == 0, run.stderr
                known[level] = json.loads(run.stdout)
        if isinstance(known[level], str):
            pytest.skip(known[level])
        return known[level]

    return of_level


def differences(one, other):
    assert one.keys() == other.keys()
    assert len(one) > 150
    return [name for name in one if one[name] != other[name]]


@pytest.mark.parametrize("level", LEVELS)
def test_level_is_the_one_asked_for(hashes, level):
    assert hashes(level)["level"] == level


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("variant", list(VARIANTS)[1:])
def test_threads_and_flushing(hashes, level, variant):
    found = hashes(level)["hashes"]
    assert differences(found[FIRST], found[variant]) == []


@pytest.mark.parametrize("level", LEVELS[1:])
def test_levels(hashes, level):
    portable = hashes("portable")["hashes"][FIRST]
    assert differences(portable, hashes(level)["hashes"][FIRST]) == []


def test_unknown_level_is_an_import_error():
    run = subprocess.run(
        [sys.executable, "-c", "import _mdqr_host"],
        env=os.environ
        | {
            "MDQR_CPU_LEVEL": "v9",
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        },
        capture_output=True,
        text=True,
    )
    assert "ImportError: MDQR_CPU_LEVEL is 'v9'; this machine runs: " in run.stderr
