"""What a newcomer does first, from the README, with the mdqr that is installed.

Run as ``python tests/project/first_steps.py``: the source tree is not on the path then.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

import mdqr
from mdqr._backend.host.backend import extension
from mdqr._backend.sources import digest, kernels_folder

ROOT = Path(__file__).resolve().parents[2]


def block(language: str) -> str:
    """The first block of code of the README in a language."""
    found = re.search(rf"^```{language}\n(.*?)^```$", (ROOT / "README.md").read_text(), re.M | re.S)
    assert found is not None
    return found[1]


def timed(what: str, start: float) -> None:
    print(f"{what}: {time.perf_counter() - start:.1f} s", flush=True)


def installed() -> None:
    """The package is not that of the tree, and has the sources of the tree's kernels for GPUs."""
    package = Path(mdqr.__file__).parent
    assert not package.is_relative_to(ROOT / "mdqr")
    assert kernels_folder() == package / "kernels"
    for part in ("include", "cuda"):
        assert digest(kernels_folder(), part) == digest(ROOT / "kernels", part)
    print(f"mdqr {mdqr.__version__}, {extension().compiler}, CPU level {extension().level()}")


def main() -> None:
    installed()
    start = time.perf_counter()
    name, *arguments = shlex.split(block("sh").rpartition("&&")[2])  # after the installation
    assert name == "mdqr"
    subprocess.run([Path(sys.executable).with_name(name), *arguments], cwd=ROOT, check=True)
    timed("the README's first command", start)
    start = time.perf_counter()
    exec(compile(block("python"), "README.md", "exec"), {})
    timed("the README's lines of Python", start)


if __name__ == "__main__":
    main()
