"""Small calls of CuPy, each of which needs one kernel of CuPy's own.

`examples.json` has for each example the functions of mdqr that needed its kernel when
`python -m benchmarks.gpu.first_calls record` ran. ``add d2' float -> d2`` adds a number of Python
to a matrix: operands are types, as NumPy's characters, numbers of axes, and ``'`` where elements
are not contiguous; "=d" is a number of NumPy. CuPy's kernels depend on nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import setitem
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from mdqr._backend.cuda.runtime.calls import CallTable

TABLE = CallTable(Path(__file__).with_suffix(".json"))
# Lengths of axes: more than one, so that none is left out.
_LENGTH = 3
_NUMBERS: dict[str, Any] = {"bool": True, "int": 1, "float": 1.0, "complex": 1j}


def run(xp: ModuleType, text: str) -> None:
    """Make the call of an example."""
    name, *words = text.split()
    place = words.index("->")
    given, out = ([_operand(xp, w) for w in ws] for ws in (words[:place], words[place + 1 :]))
    name, _, axis = name.partition("@")
    special = _SPECIAL.get(name)
    if special is not None:
        special(xp, given, out)
    elif axis:
        getattr(xp, name)(given[0], axis=None if axis == "all" else int(axis))
    else:
        getattr(xp, name)(*given, out=tuple(out))


def _operand(xp: ModuleType, word: str) -> Any:
    if word in _NUMBERS:
        return _NUMBERS[word]
    if word.startswith("="):
        return np.dtype(word[1:]).type(1)
    axes = int(word[1:].rstrip("'"))
    length, step = (2 * _LENGTH, 2) if word.endswith("'") else (_LENGTH, 1)
    if word[0] == "?":
        # Masks have entries; these are copied, which needs no kernel.
        found = xp.asarray(np.ones((length,) * axes, dtype=np.bool_))
    else:
        found = xp.zeros((length,) * axes, dtype=word[0])
    return found[(..., *(slice(None, None, step),) * axes)]


# Calls of operands (given, out) that are no universal functions of their names. Indices are zeros.
_Special = Callable[[ModuleType, list[Any], list[Any]], Any]
_SPECIAL: dict[str, _Special] = {
    "copy": lambda xp, given, out: setitem(out[0], ..., given[0]),
    "copied": lambda xp, given, out: given[0].copy(),
    "copyto": lambda xp, given, out: xp.copyto(out[0], given[0]),
    "copy_where": lambda xp, given, out: xp.copyto(out[0], given[0], where=given[1]),
    "fill": lambda xp, given, out: out[0].fill(given[0]),
    "full": lambda xp, given, out: xp.full(out[0].shape, given[0], dtype=out[0].dtype),
    "concatenate": lambda xp, given, out: xp.concatenate(given * 2),
    "where": lambda xp, given, out: xp.where(*given),
    "arange": lambda xp, given, out: xp.arange(_LENGTH, dtype=out[0].dtype),
    "tri": lambda xp, given, out: xp.tri(_LENGTH, dtype=out[0].dtype),
    "take": lambda xp, given, out: given[0][given[1]],
    "take_middle": lambda xp, given, out: given[0][:, given[1]],
    "take_both": lambda xp, given, out: given[0][given[1], given[1]],
    "take_along": lambda xp, given, out: xp.take_along_axis(given[0], given[1], -1),
    "take_mask": lambda xp, given, out: given[0][..., given[1]],
    "put_mask": lambda xp, given, out: setitem(given[0], (..., given[1]), out[0]),
    "put": lambda xp, given, out: setitem(given[0], given[1], out[0]),
    "put_both": lambda xp, given, out: setitem(given[0], (given[1], given[1]), out[0]),
}
