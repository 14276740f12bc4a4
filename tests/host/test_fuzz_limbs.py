"""A few cases of `fuzz_limbs`, in a process of their own since they may crash it."""

import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).with_name("fuzz_limbs.py")


def test_calls_with_any_limbs_in_any_rounding_mode_end():
    done = subprocess.run(
        [sys.executable, str(PROGRAM), "--count", "400", "--seed", "7"],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "400 cases, no crash, no hang" in done.stdout
