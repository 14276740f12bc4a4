"""What a wheel and an sdist must hold: ``python tests/project/distributions.py FILE ...``."""

from __future__ import annotations

import os
import sys
import tarfile
import zipfile
from collections.abc import Iterable
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MOST_BYTES = {"wheel": 8_000_000, "sdist": 5_000_000}  # seen: 7.5 and 3.2 million


def is_ignored(path: Path, lines: list[str]) -> bool:
    """Whether a line of .gitignore names the path, or from the root if it begins with a slash."""
    return any(
        path.is_relative_to(line.strip("/"))
        if line.startswith("/")
        else any(fnmatch(part, line.strip("/")) for part in path.parts)
        for line in lines
    )


@cache
def tree() -> frozenset[str]:
    """The files of the source tree."""
    lines = ["/.git", "/PKG-INFO", *(ROOT / ".gitignore").read_text().split()]
    names = set()
    for folder, folders, files in os.walk(ROOT):
        here = Path(folder).relative_to(ROOT)
        folders[:] = [name for name in folders if not is_ignored(here / name, lines)]
        names |= {(here / name).as_posix() for name in files if not is_ignored(here / name, lines)}
    return frozenset(names)


def wanted_in_wheel() -> set[str]:
    """The package, and the sources that are compiled for a GPU when they are first used."""
    names = tree()
    package = {name for name in names if name.startswith("mdqr/")}
    kernels = {name for name in names if name.startswith(("kernels/include/", "kernels/cuda/"))}
    return package | {f"mdqr/{name}" for name in kernels} | {"_mdqr_host.pyi"}


def differences(found: set[str], wanted: set[str]) -> list[str]:
    return [f"missing: {name}" for name in sorted(wanted - found)] + [
        f"does not belong there: {name}" for name in sorted(found - wanted)
    ]


def faults_of_notices(names: Iterable[str]) -> list[str]:
    """The licences that a wheel lacks: that of mdqr, and of what its extension is linked with."""
    wanted = {name for name in tree() if name == "LICENSE" or name.startswith("LICENSES/")}
    found = {name.partition(".dist-info/licenses/")[2] for name in names}
    return [f"missing: the licence {name}" for name in sorted(wanted - found)]


def faults_of_wheel(names: Iterable[str]) -> list[str]:
    """What is wrong with the files of a wheel, its metadata aside."""
    found = {name for name in names if not name.split("/")[0].endswith(".dist-info")}
    extension = {
        name
        for name in found
        for ending in (".so", ".pyd")
        if fnmatch(name, f"_mdqr_host*{ending}")
    }
    count = [] if len(extension) == 1 else [f"{len(extension)} extensions instead of one"]
    return count + differences(found - extension, wanted_in_wheel())


def faults_of_sdist(names: Iterable[str]) -> list[str]:
    """What is wrong with the files of an sdist, below its one folder."""
    return differences(set(names), tree() | {"PKG-INFO"})


def faults_of_size(kind: str, size: int) -> list[str]:
    return [f"{size:,} bytes: a {kind} has at most {MOST_BYTES[kind]:,}"] * (
        size > MOST_BYTES[kind]
    )


def faults(file: Path) -> list[str]:
    """What is wrong with a wheel or an sdist."""
    if file.suffix == ".whl":
        with zipfile.ZipFile(file) as wheel:
            names = [name for name in wheel.namelist() if name[-1] != "/"]
        found = faults_of_wheel(names) + faults_of_notices(names)
        return found + faults_of_size("wheel", file.stat().st_size)
    with tarfile.open(file) as sdist:
        names = [member.name.partition("/")[2] for member in sdist if member.isfile()]
    return faults_of_sdist(names) + faults_of_size("sdist", file.stat().st_size)


if __name__ == "__main__":
    failed = False
    for path in map(Path, sys.argv[1:]):
        found = faults(path)
        failed |= bool(found)
        print(f"{path.name}: {path.stat().st_size:,} bytes", *(found or ["complete"]), sep="\n  ")
    sys.exit(failed)
