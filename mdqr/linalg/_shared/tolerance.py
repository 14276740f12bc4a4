"""The tolerance of ranks, which has two names."""

from __future__ import annotations

from typing import Any


def one_tolerance(function: str, rcond: Any, rtol: Any) -> Any:
    """Return the tolerance that was given as `rcond`, NumPy's and SciPy's name, or as `rtol`."""
    if rtol is None:
        return rcond
    if rcond is not None:
        raise ValueError(f"{function}: give rcond or rtol, which are two names for one tolerance")
    return rtol
