"""Arithmetic of single values by the extension, which a loop over them is made of.

`operate` takes the name of an operation and two operands, of which one is an array. It returns an
array where both are real values on the CPU, or one is a number of Python that is a double; else
None, and so without the extension.
"""

from __future__ import annotations

from typing import Any

from mdqr._backend.host.backend import extension

_array_type: type | None = None


def register(array_type: type) -> None:
    """Take the class of arrays; the extension is loaded for the first operation."""
    global _array_type
    _array_type = array_type


def _load(op: str, x: Any, y: Any) -> Any:
    """Load the extension, and answer the first call."""
    global operate
    try:
        module = extension()
    except ImportError:  # said by what is called next
        return None
    module.register_arrays(_array_type)
    operate = module.operate
    return operate(op, x, y)


operate = _load
