"""Machine code in one file, for machines with the same mdqr that would compile it at first calls.

A .tar.xz file, in which code takes a tenth of its size on disk.
"""

from __future__ import annotations

import io
import json
import lzma
import os
import tarfile
from collections.abc import Sequence
from pathlib import Path

from mdqr._backend.cuda.runtime import calls
from mdqr._backend.cuda.runtime.cubins import Cubins, Module, Target
from mdqr._backend.sources import digest, kernels_folder

_INDEX = "modules.json"


def pack(path: Path, made: Cubins, modules: Sequence[Module], target: Target) -> None:
    """Write an archive of modules that are on disk."""
    names = [calls.name_of(module) for module in modules]
    index = {"sources": _sources(), "arch": target.arch, "modules": names}
    with tarfile.open(path, "w:xz") as archive:
        _add(archive, _INDEX, json.dumps(index).encode())
        for place, module in enumerate(modules):
            _add(archive, str(place), made.file(module, target).read_bytes())


def _add(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(data)
    archive.addfile(member, io.BytesIO(data))


def unpack(path: Path, made: Cubins, target: Target) -> tuple[int, int]:
    """Keep the modules of an archive on disk.

    Returns
    -------
    tuple of int
        The number of modules that were written, and of those that were there.

    Raises
    ------
    ValueError
        If the file is not such an archive, or is of other kernels, or for another architecture.
    OSError
        If it cannot be read, or a module not be written.
    """
    try:
        with tarfile.open(path, "r:xz") as archive:
            index = json.loads(_read(archive, _INDEX))
            _check(path, index, target)
            files = [made.file(calls.module_of(name), target) for name in index["modules"]]
            missing = [place for place, file in enumerate(files) if not file.exists()]
            for place in missing:
                unfinished = files[place].with_suffix(f".{os.getpid()}")
                unfinished.write_bytes(_read(archive, str(place)))
                unfinished.replace(files[place])
    except (tarfile.TarError, lzma.LZMAError, EOFError, KeyError, json.JSONDecodeError) as error:
        raise ValueError(f"{path} is not an archive of kernels: {error}") from error
    return len(missing), len(files) - len(missing)


def _read(archive: tarfile.TarFile, name: str) -> bytes:
    file = archive.extractfile(name)
    if file is None:
        raise KeyError(name)
    return file.read()


def _check(path: Path, index: dict[str, object], target: Target) -> None:
    """Require that code is of these kernels and runs on the device."""
    if index["sources"] != _sources():
        raise ValueError(f"{path} has kernels of another version of mdqr: make it again")
    arch = str(index["arch"])
    # Code for an earlier device of the same major version runs.
    same = arch[:-1] == target.arch[:-1] and arch[-1] <= target.arch[-1]
    if not (same and arch.startswith("sm_")) and arch != target.arch:
        raise ValueError(f"{path} has code for {arch}, which {target.arch} does not run")


def _sources() -> list[str]:
    return [digest(kernels_folder(), part) for part in ("include", "cuda")]
