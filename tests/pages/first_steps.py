"""What a newcomer does first, from the README and the docs, with the mdqr that is installed.

``python tests/pages/first_steps.py [PAGE ...]`` runs what the README shows, and then the first
block of code of each page. The source tree is not on the path then.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from doc_pages import ROOT, blocks, run_python

import mdqr
from mdqr._backend.host.backend import extension
from mdqr._backend.sources import digest, kernels_folder


def first_command() -> list[str]:
    """The command that the README has after the installation."""
    found = re.search(r"^```sh\n(.*?)^```$", (ROOT / "README.md").read_text(), re.M | re.S)
    assert found is not None
    return shlex.split(found[1].rpartition("&&")[2])


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
    name, *arguments = first_command()
    assert name == "mdqr"
    subprocess.run([Path(sys.executable).with_name(name), *arguments], cwd=ROOT, check=True)
    timed("the README's first command", start)
    pages = [ROOT / page for page in ("README.md", *sys.argv[1:])]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # where pages write what they draw
        for page in pages:
            start = time.perf_counter()
            run_python(blocks(page)[0].text, {}, page.name)
            timed(f"the first lines of Python of {page.relative_to(ROOT)}", start)
        os.chdir(ROOT)


if __name__ == "__main__":
    main()
