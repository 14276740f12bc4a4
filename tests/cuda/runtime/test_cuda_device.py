"""What is said of devices that the kernels do not fit, and of long compilations."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from stand_ins import ONE_BLOCK, STAND_INS

from mdqr._backend.cuda.runtime import kernels
from mdqr._backend.cuda.runtime.device import Device
from mdqr._backend.cuda.runtime.kernels import CupyKernels, Module
from mdqr._limbs import device
from mdqr._limbs.planes import Kind


def kernels_on(**properties):
    """Return kernels on a device with the properties of an A100 but for some."""
    found = {
        "name": b"Old One",
        "major": 8,
        "minor": 0,
        "multiProcessorCount": 108,
        "sharedMemPerBlockOptin": 166_912,
        "sharedMemPerMultiprocessor": 167_936,
    }
    runtime = SimpleNamespace(
        getDevice=lambda: 0, getDeviceProperties=lambda number: found | properties
    )
    made = CupyKernels.__new__(CupyKernels)
    made.xp = SimpleNamespace(cuda=SimpleNamespace(runtime=runtime))
    made._devices, made.limit = {}, None
    return made


def test_a_device_is_what_it_says():
    assert kernels_on().device == STAND_INS["a100"]
    assert kernels_on(major=7, minor=5, multiProcessorCount=1).device.capability == (7, 5)


@pytest.mark.parametrize(("major", "minor"), [(7, 2), (7, 0), (6, 1)])
def test_old_devices_are_refused_by_name(major, minor):
    said = rf'capability 7\.5 or later.*Old One has {major}\.{minor}: use device="cpu"'
    with pytest.raises(RuntimeError, match=said):
        kernels_on(major=major, minor=minor).device  # noqa: B018


def test_a_limit_takes_nothing_but_away():
    """A large device stands in for a small one, and not the other way round."""
    kernels = kernels_on()
    kernels.limit = STAND_INS["rtx4090"]
    assert kernels.device == Device((8, 0), 108, 101_376, 102_400)
    assert kernels.device.together == 96
    kernels.limit = ONE_BLOCK
    assert kernels.device == ONE_BLOCK
    assert kernels.device.together == 1


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


def test_a_thread_without_a_context_gets_one_before_the_first_launch():
    """The driver launches in the context of the thread, which only the runtime makes current."""
    done, context = [], [0]

    def take(device):
        done.append(device)
        context[0] = 1

    def start(*_):
        assert context[0], "a launch without a context"
        done.append("launch")

    kernels = kernels_on()
    kernels.xp.cuda.runtime.setDevice = take
    kernels.xp.cuda.driver = SimpleNamespace(ctxGetCurrent=lambda: context[0], launchKernel=start)
    kernels.xp.cuda.get_current_stream = lambda: SimpleNamespace(ptr=0)
    module = Module("elementwise/map", Kind(1, False))
    kernels._functions = {(module, "name", 0, None): SimpleNamespace(ptr=0)}
    for _ in range(2):
        kernels.launch(module, "name", np.zeros(1, dtype=np.int64), grid=(1,), threads=32)
    assert done == [0, "launch", "launch"]
