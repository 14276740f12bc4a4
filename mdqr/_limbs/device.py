"""The device of a block, and transfers of it."""

from __future__ import annotations

import importlib
import re
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from mdqr._limbs.planes import Block

_DEVICE = re.compile(r"cpu|cuda(:\d+)?")


def device_of(block: Block) -> str:
    """Return "cpu" or "cuda:k"."""
    return "cpu" if isinstance(block, np.ndarray) else f"cuda:{block.device.id}"


def is_cuda_array(x: object) -> bool:
    """Return whether `x` is a CuPy array; CuPy is not imported for the question."""
    cupy = sys.modules.get("cupy")
    return cupy is not None and isinstance(x, cupy.ndarray)


def cupy_of(block: Block) -> ModuleType:
    """Return CuPy for a block that is not NumPy's.

    Raises
    ------
    ValueError
        If `block` lives on another GPU than the current one.
    TypeError
        If `block` is not an array of NumPy or CuPy.
    """
    cupy = sys.modules.get("cupy")
    if cupy is None or not isinstance(block, cupy.ndarray):
        raise TypeError(f"blocks are NumPy or CuPy arrays; got {type(block).__name__}")
    current = cupy.cuda.runtime.getDevice()
    if block.device.id != current:
        raise ValueError(
            f"the array lives on cuda:{block.device.id}, but the current device is "
            f"cuda:{current}; work inside `with cupy.cuda.Device({block.device.id}):`, "
            f'or move it with a.to_device("cuda:{current}")'
        )
    return cupy


def host_block(block: Block) -> np.ndarray:
    """Return `block` in host memory: itself if it lives there."""
    host: np.ndarray = block if isinstance(block, np.ndarray) else block.get()
    return host


def check_device(device: str | None) -> int | None:
    """Raise unless arrays can be made on `device`.

    Parameters
    ----------
    device : str or None
        "cpu", "cuda" (the current CUDA device) or "cuda:k"; None stands for the default.

    Returns
    -------
    int or None
        The number of the CUDA device, None for the CPU or the default.

    Raises
    ------
    TypeError, ValueError
        If `device` is not the name of a device, or this machine has no such GPU.
    ImportError
        If `device` needs CuPy and CuPy cannot be imported.
    """
    if device is None:
        return None
    if not isinstance(device, str):
        raise TypeError(
            f'device must be a string, "cpu", "cuda" or "cuda:0"; got {type(device).__name__}'
        )
    if not _DEVICE.fullmatch(device):
        raise ValueError(f'device must be "cpu", "cuda" or "cuda:k"; got {device!r}')
    return None if device == "cpu" else _cuda_number(device)


def _cuda_number(device: str) -> int:
    try:
        cupy = importlib.import_module("cupy")
    except ImportError as error:
        raise ImportError(
            f"device={device!r} needs CuPy, which cannot be imported: install it with "
            '`pip install "mdqr[cuda12]"` or `pip install "mdqr[cuda13]"`, or use device="cpu"'
        ) from error
    try:
        count = int(cupy.cuda.runtime.getDeviceCount())
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise ValueError(
            f'device={device!r}: CUDA finds no GPU on this machine ({error}); use device="cpu"'
        ) from error
    number = int(device.partition(":")[2] or cupy.cuda.runtime.getDevice())
    if number >= count:
        raise ValueError(f"device={device!r}: this machine has {count} GPUs, numbered from 0")
    return number


def place(block: Block, device: str | None) -> Block:
    """Return `block` on `device`: itself if it lives there already or `device` is None.

    A copy to a GPU runs on its current stream, after what the current stream of the GPU of `block`
    has to do; raises as `check_device`.
    """
    number = check_device(device)
    if device is None or device_of(block) == (device if number is None else f"cuda:{number}"):
        return block
    if number is None:
        return host_block(block)
    cupy = importlib.import_module("cupy")
    with cupy.cuda.Device(number):
        if isinstance(block, np.ndarray):
            return cupy.array(block, order="C")
        return _copy_between(cupy, block)


def _copy_between(cupy: ModuleType, block: Block) -> Block:
    """Return a copy of `block` on the current device, which is another than its own."""
    here = cupy.cuda.get_current_stream()
    with block.device:
        there = cupy.cuda.get_current_stream()
        # CuPy would bring it into order on its own device, after what is waited for.
        block = cupy.ascontiguousarray(block)
        here.wait_event(there.record())
    copy = cupy.array(block, order="C")
    # Its memory may have another owner as soon as the caller drops it.
    there.wait_event(here.record())
    return copy


def zeros(shape: tuple[int, ...], device: str | None) -> Block:
    """Return float64 zeros on `device`, None for the CPU; raises as `check_device`."""
    number = check_device(device)
    if number is None:
        return np.zeros(shape)
    cupy = importlib.import_module("cupy")
    with cupy.cuda.Device(number):
        return cupy.zeros(shape)


def place_on_device_of(block: Block, other: Block) -> Block:
    """Return the host `block` of a number on the device of `other`."""
    return block if isinstance(other, np.ndarray) else place(block, device_of(other))


def check_together(blocks: list[Any]) -> None:
    """Raise ValueError unless all blocks live on one device."""
    devices = sorted({device_of(block) for block in blocks})
    if len(devices) > 1:
        raise ValueError(
            f"the operands are on different devices: {', '.join(devices)}; "
            f"move one with a.to_device({devices[0]!r})"
        )
