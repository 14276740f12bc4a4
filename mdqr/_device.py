"""Where a block lives, and moving it."""

from __future__ import annotations

import importlib
import re
from typing import Any

import numpy as np

from mdqr._backend.protocol import Block

_DEVICE = re.compile(r"cpu|cuda(:\d+)?")


def device_of(block: Block) -> str:
    """Return "cpu" or "cuda:k"."""
    return "cpu" if isinstance(block, np.ndarray) else f"cuda:{block.device.id}"


def host_block(block: Block) -> np.ndarray:
    """Return `block` in host memory: itself if it lives there."""
    host: np.ndarray = block if isinstance(block, np.ndarray) else block.get()
    return host


def check_device(device: str | None) -> None:
    """Raise unless arrays can be made on `device`.

    Parameters
    ----------
    device : str or None
        "cpu", "cuda" or "cuda:k"; None means "cpu".

    Raises
    ------
    TypeError, ValueError
        If `device` is not the name of a device, or this version has no backend for it.
    ImportError
        If `device` needs CuPy and CuPy cannot be imported.
    """
    if device is None:
        return
    if not isinstance(device, str):
        raise TypeError(
            f'device must be a string, "cpu", "cuda" or "cuda:0"; got {type(device).__name__}'
        )
    if not _DEVICE.fullmatch(device):
        raise ValueError(f'device must be "cpu", "cuda" or "cuda:k"; got {device!r}')
    if device == "cpu":
        return
    try:
        importlib.import_module("cupy")
    except ImportError as error:
        raise ImportError(
            f"device={device!r} needs CuPy, which cannot be imported: install it with "
            '`pip install "mdqr[cuda12]"` or `pip install "mdqr[cuda13]"`, or use device="cpu"'
        ) from error
    raise ValueError(
        f'device={device!r}: this version of mdqr computes on the CPU only; use device="cpu"'
    )


def check_together(blocks: list[Any]) -> None:
    """Raise ValueError unless all blocks live on one device."""
    devices = sorted({device_of(block) for block in blocks})
    if len(devices) > 1:
        raise ValueError(
            f"the operands are on different devices: {', '.join(devices)}; "
            f"move one with a.to_device({devices[0]!r})"
        )
