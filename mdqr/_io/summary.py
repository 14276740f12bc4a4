"""Results of several arrays in a few lines."""

from __future__ import annotations

from typing import Any

from mdqr._core.base import ArrayBase

_FEW = 8  # values that are written out


def summary(result: Any) -> str:
    """Return the ``repr`` of a named tuple, with shapes in place of arrays of many values."""
    fields = zip(result._fields, tuple(result), strict=True)
    written = ", ".join(f"{name}={_short(value)}" for name, value in fields)
    return f"{type(result).__name__}({written})"


def _short(value: Any) -> str:
    if getattr(value, "size", 0) <= _FEW or not hasattr(value, "shape"):
        return repr(value)
    kind = value.precision if isinstance(value, ArrayBase) else value.dtype
    return f"<{type(value).__name__} of shape {tuple(value.shape)}, {kind}>"
