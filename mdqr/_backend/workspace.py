"""The memory that a call may take in addition to its operands and results."""

from __future__ import annotations

_bound: int | None = None


def bound(usual: int) -> int:
    """Return the bytes that a call may take: `usual` ones unless they were set."""
    return usual if _bound is None else _bound


def bound_set() -> int | None:
    """Return the bytes that were set, or None."""
    return _bound


def set_bound(count: int | None) -> None:
    """Set the bytes that a call may take; None for those that are usual on a device."""
    global _bound
    _bound = count
