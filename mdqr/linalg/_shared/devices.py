"""Names of devices that share in a call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mdqr._errors import shown
from mdqr._limbs.device import check_device


def checked(function: str, devices: Any) -> list[str]:
    """Return the names of devices.

    Raises
    ------
    TypeError, ValueError, ImportError
        If these are none.
    """
    if isinstance(devices, str) or not isinstance(devices, Sequence) or not devices:
        raise TypeError(
            f'{function}: devices must be a sequence of names, as ["cuda:0", "cuda:1"]; got '
            f"{shown(devices)}"
        )
    numbers = [check_device(name) for name in devices]
    return ["cpu" if number is None else f"cuda:{number}" for number in numbers]


def checked_alike(function: str, devices: Any) -> list[str]:
    """Return the names of devices that share in one matrix: all are GPUs, or all the host.

    Raises
    ------
    TypeError, ValueError, ImportError
        If these are none, or of both.
    """
    names = checked(function, devices)
    if "cpu" in names and len({*names}) > 1:
        raise ValueError(
            f'{function}: devices must be GPUs alone; got {list(devices)!r}: leave "cpu" out'
        )
    return names
