"""Results of chunks in a folder, which a call that begins again takes."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import uuid
from pathlib import Path
from typing import Any

import numpy as np

_CALL = "call.json"


class Kept:
    """A function of a chunk whose results stay in a folder, also when a worker calls it.

    Parameters
    ----------
    folder : str
        Where all that run tasks can write.
    name : str
        The stage.
    call : callable
        Called as ``call(index, item, *arguments)``; its `form` has the working precision.
    """

    def __init__(self, folder: str, name: str, call: Any) -> None:
        self.folder, self.name, self.call = folder, name, call

    def __call__(self, index: int, item: Any, *arguments: Any) -> Any:
        """Return the result that is there, or make and write it."""
        # A pass at another x has other results.
        mark = hashlib.sha256(pickle.dumps(_plain(arguments))).hexdigest()[:16]
        name = f"{self.name}-{self.call.form.work.name}-{index}-{mark}.pickle"
        path = Path(self.folder) / name
        try:
            found = pickle.loads(path.read_bytes())
        except (OSError, EOFError, pickle.UnpicklingError, ValueError):
            found = self.call(index, item, *arguments)
            if not isinstance(getattr(found, "error", None), Exception):
                _written(path, pickle.dumps(found))
        return found


def _plain(x: Any) -> Any:
    """Return values as bytes, the same wherever they lie in memory."""
    if isinstance(x, tuple):
        return [_plain(each) for each in x]
    return [x.dtype.str, x.shape, x.tobytes()] if isinstance(x, np.ndarray) else x


def _written(path: Path, content: bytes) -> None:
    """Write a file at once: nobody sees a part of it."""
    part = path.with_name(f"{path.name}.{uuid.uuid4().hex}.part")
    part.write_bytes(content)
    part.replace(path)


def opened(function: str, folder: str | os.PathLike[str], call: dict[str, Any]) -> str:
    """Return a folder for a call, which it was made for if it exists.

    Raises
    ------
    ValueError
        If it belongs to another call.
    """
    path, wanted = Path(folder), json.dumps(call, sort_keys=True)
    path.mkdir(parents=True, exist_ok=True)
    known = path / _CALL
    if not known.exists():
        _written(known, wanted.encode())
    if known.read_text() != wanted:
        raise ValueError(
            f"{function}: the checkpoint {path} belongs to another call: {known.read_text()}, and "
            f"this is {wanted}"
        )
    return str(path)
