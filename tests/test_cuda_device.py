"""What is said of devices that the kernels do not fit, and of long compilations."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from mdqr._backend.cuda import kernels
from mdqr._backend.cuda.kernels import CupyKernels, Module


def kernels_on(**attributes):
    """Return kernels on a device with the attributes of an A100 but for some."""
    found = {
        "ComputeCapabilityMajor": 8,
        "ComputeCapabilityMinor": 0,
        "MultiProcessorCount": 108,
        "MaxSharedMemoryPerBlockOptin": 166_912,
    }
    device = SimpleNamespace(id=0, attributes=found | attributes)
    runtime = SimpleNamespace(getDeviceProperties=lambda number: {"name": b"Small One"})
    made = CupyKernels.__new__(CupyKernels)
    made.xp = SimpleNamespace(cuda=SimpleNamespace(Device=lambda: device, runtime=runtime))
    return made


def test_the_least_device_is_accepted():
    assert kernels_on()._require_device() == 166_912


@pytest.mark.parametrize(
    ("attributes", "said"),
    [
        ({"ComputeCapabilityMajor": 7}, r"has 7\.0, 108 and 166,912"),
        ({"MultiProcessorCount": 56}, r"has 8\.0, 56 and 166,912"),
        ({"ComputeCapabilityMinor": 6, "MaxSharedMemoryPerBlockOptin": 101_376}, "101,376"),
    ],
)
def test_small_devices_are_refused_by_name(attributes, said):
    with pytest.raises(RuntimeError, match=rf'Small One.*{said}.*use device="cpu"'):
        kernels_on(**attributes)._require_device()


def test_long_compilations_are_announced(capsys):
    kernels._announce(Module("panel", 4, False))
    assert "compiling panel for 4 limbs" in capsys.readouterr().err
