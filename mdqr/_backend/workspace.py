"""How much memory a call may take beside its operands and results."""

from __future__ import annotations

_bound = 2**30


def bound() -> int:
    """Return the bytes that a call may take."""
    return _bound


def set_bound(count: int) -> None:
    """Set the bytes that a call may take."""
    global _bound
    _bound = count
