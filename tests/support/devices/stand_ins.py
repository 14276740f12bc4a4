"""Devices that tests plan for: a large one, and those that another one stands in for."""

from __future__ import annotations

from mdqr._backend.cuda.runtime.device import Device

STAND_INS = {
    "t4": Device((7, 5), 40, 65_536, 65_536),
    "rtx4090": Device((8, 9), 128, 101_376, 102_400),
    "a100": Device((8, 0), 108, 166_912, 167_936),
}
# No device is smaller.
ONE_BLOCK = Device((7, 5), 1, 65_536, 65_536)
