"""Results of chunks in a folder, which a call that begins again takes."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import uuid
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from mdqr._errors import shown
from mdqr.distributed._rows import Form

_CALL = "call.json"


class Step(Protocol):
    """A function of a chunk, called as ``call(index, item, *arguments)``, with a working precision.

    Its results are of `kind`. `again` returns the result for a chunk that may have changed since
    `found` was made.
    """

    kind: type
    form: Form

    def __call__(self, index: int, item: Any, *arguments: Any) -> Any: ...

    def again(self, found: Any, index: int, item: Any, *arguments: Any) -> Any: ...


class Kept:
    """A function of a chunk whose results stay in a folder, also when a worker calls it.

    Parameters
    ----------
    folder : str
        Where all that run tasks can write.
    name : str
        The stage.
    call : Step
        The function.
    """

    def __init__(self, folder: str, name: str, call: Step) -> None:
        self.folder, self.name, self.call = folder, name, call

    def __call__(self, index: int, item: Any, *arguments: Any) -> Any:
        """Return the result that is there, or make and write it."""
        # A pass at another x has other results.
        mark = hashlib.sha256(pickle.dumps(_plain(arguments))).hexdigest()[:16]
        name = f"{self.name}-{self.call.form.work.name}-{index}-{mark}.pickle"
        path = Path(self.folder) / name
        try:
            kept = pickle.loads(path.read_bytes())
        except Exception:  # what was being written when the power went may be anything
            kept = None
        if not isinstance(kept, self.call.kind):
            found = self.call(index, item, *arguments)
        else:
            found = self.call.again(kept, index, item, *arguments)
            if found is not kept:  # other rows, of which no sums are known
                for old in Path(self.folder).glob(f"*-{index}-*.pickle"):
                    old.unlink(missing_ok=True)
        if found is not kept and not isinstance(getattr(found, "error", None), Exception):
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
    ValueError, TypeError
        If it belongs to another call, or is not a path.
    """
    if not isinstance(folder, (str, os.PathLike)):
        raise TypeError(f"{function}: checkpoint must be the path of a folder; got {shown(folder)}")
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    known = path / _CALL
    if not known.exists():
        _written(known, json.dumps(call, sort_keys=True).encode())
    try:
        held = dict(json.loads(known.read_text()))
    except (ValueError, TypeError):
        held = {}
    if held != call:
        others = [
            f"{name} {shown(held.get(name))} there and {shown(value)} here"
            for name, value in call.items()
            if held.get(name) != value
        ]
        raise ValueError(
            f"{function}: the checkpoint {path} belongs to another call: {', '.join(others)}: give "
            "another folder, or delete this one"
        )
    return str(path)
