"""Write pickles and files of this state: ``python -m tests.api.kept.write NAME``.

A state that is kept is never written again.
"""

from __future__ import annotations

import io
import pickle
import sys
import tarfile
import warnings
from pathlib import Path

import mdqr
from tests.api.kept import objects

HERE = Path(__file__).parent
PROTOCOL = 4


def write(path: Path) -> None:
    """Write one archive with a pickle of each object, and a file of each array."""
    with tarfile.open(path, "x:xz") as archive:

        def add(name: str, data: bytes) -> None:
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))

        for name, found in objects.every():
            add(f"{name}.pickle", pickle.dumps(found, PROTOCOL))
            add(f"{name}.txt", objects.described(found).encode())
            if isinstance(found, mdqr.MDArray):
                stream = io.BytesIO()
                mdqr.save(stream, found)
                add(f"{name}.npz", stream.getvalue())


if __name__ == "__main__":
    target = HERE / f"{sys.argv[1]}.tar.xz"
    if target.exists():
        sys.exit(f"{target.name} is kept: give the new state another name")
    warnings.simplefilter("ignore")
    write(target)
