"""What is said of devices that the kernels do not fit, and of long compilations."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from mdqr._backend.cuda.runtime import kernels
from mdqr._backend.cuda.runtime.kernels import CupyKernels, Module
from mdqr._limbs import device
from mdqr._limbs.planes import Kind


def kernels_on(**properties):
    """Return kernels on a device with the properties of an A100 but for some."""
    found = {
        "name": b"Small One",
        "major": 8,
        "minor": 0,
        "multiProcessorCount": 108,
        "sharedMemPerBlockOptin": 166_912,
    }
    runtime = SimpleNamespace(
        getDevice=lambda: 0, getDeviceProperties=lambda number: found | properties
    )
    made = CupyKernels.__new__(CupyKernels)
    made.xp = SimpleNamespace(cuda=SimpleNamespace(runtime=runtime))
    return made


def test_the_least_device_is_accepted():
    assert kernels_on()._require_device() == 166_912


@pytest.mark.parametrize(
    ("properties", "said"),
    [
        ({"major": 7}, r"has 7\.0, 108 and 166,912"),
        ({"multiProcessorCount": 56}, r"has 8\.0, 56 and 166,912"),
        ({"minor": 6, "sharedMemPerBlockOptin": 101_376}, "101,376"),
    ],
)
def test_small_devices_are_refused_by_name(properties, said):
    with pytest.raises(RuntimeError, match=rf'Small One.*{said}.*use device="cpu"'):
        kernels_on(**properties)._require_device()


class Stream:
    """A stream that notes what it is asked to do."""

    def __init__(self, name, log):
        self.name, self.log = name, log

    def record(self):
        self.log.append(f"{self.name} records")
        return self.name

    def wait_event(self, event):
        self.log.append(f"{self.name} waits for {event}")


class Number:
    """A device; inside `with` it is the current one."""

    current = 0

    def __init__(self, number):
        self.id = number

    def __enter__(self):
        self.before, Number.current = Number.current, self.id

    def __exit__(self, *_):
        Number.current = self.before


@pytest.mark.parametrize("held", [0, 1])
def test_copies_between_devices_wait_for_each_other(monkeypatch, held):
    """The copy runs after the work of its source, whose memory is given back after the copy."""
    log = []
    streams = [Stream(f"stream {i}", log) for i in range(2)]
    cuda = SimpleNamespace(
        Device=Number,
        get_current_stream=lambda: streams[Number.current],
        runtime=SimpleNamespace(getDeviceCount=lambda: 2, getDevice=lambda: Number.current),
    )

    def copy(block, order):
        log.append(f"copy on {Number.current}")
        return SimpleNamespace(device=Number(Number.current))

    def in_order(block):
        log.append(f"in order on {Number.current}")
        return block

    fake = SimpleNamespace(cuda=cuda, array=copy, ascontiguousarray=in_order)
    monkeypatch.setitem(sys.modules, "cupy", fake)
    block = SimpleNamespace(device=Number(held))
    moved = device.place(block, f"cuda:{1 - held}")
    assert moved.device.id == 1 - held
    here, there = f"stream {1 - held}", f"stream {held}"
    assert log == [
        f"in order on {held}", f"{there} records", f"{here} waits for {there}",
        f"copy on {1 - held}", f"{here} records", f"{there} waits for {here}",
    ]  # fmt: skip
    assert device.place(block, f"cuda:{held}") is block
    assert Number.current == 0


def test_long_compilations_are_announced(capsys):
    kernels._announce(Module("panel/panel", Kind(4, False)))
    assert "compiling panel/panel for 4 limbs" in capsys.readouterr().err
