"""NumPy's functions on a device: the same limbs, and no array of NumPy meets one of CuPy."""

import fake_device
import numpy as np
import pytest
from array_cases import full_width, same_bits
from test_protocols import OF_MATRICES, OF_VECTORS

import mdqr
from mdqr._backend.host import backend as host


@pytest.fixture
def device(monkeypatch):
    fake_device.install_cupy(monkeypatch)
    return host


def moved(x):
    return x.to_device("cuda") if isinstance(x, mdqr.MDArray) else x


def same(got, wanted):
    if isinstance(wanted, (tuple, list)):
        return all(map(same, got, wanted))
    if isinstance(wanted, mdqr.MDArray):
        assert got.device == "cuda:0"
        return same_bits(got.to_device("cpu"), wanted)
    return np.array_equal(fake_device.bare(got), wanted)


@pytest.mark.parametrize("name", OF_MATRICES)
def test_functions_of_a_matrix(name, device, rng, dtype):
    if dtype is complex and name in (
        "quantile",
        "percentile",
        "nanquantile",
        "histogram",
        "nextafter",
    ):
        return
    a = full_width(rng, mdqr.qd, (2, 2), dtype)
    function, arguments = getattr(mdqr, name), OF_MATRICES[name]
    assert same(function(moved(a), *arguments), function(a, *arguments))


@pytest.mark.parametrize("name", OF_VECTORS)
def test_functions_of_vectors(name, device, rng):
    if name == "polyfit":
        return
    a = full_width(rng, mdqr.qd, 3)
    function = getattr(mdqr, name)
    device_arguments = [
        [moved(x) for x in each] if isinstance(each, list) else moved(each)
        for each in OF_VECTORS[name](a)
    ]
    if name == "searchsorted":
        device_arguments = [moved(mdqr.sort(a)), moved(a)]
    assert same(function(*device_arguments), function(*OF_VECTORS[name](a)))


PAIRS = ("remainder", "floor_divide", "copysign", "nextafter", "logical_and", "logical_xor", "clip")


@pytest.mark.parametrize("name", PAIRS)
def test_functions_of_pairs(name, device, rng):
    a, b = full_width(rng, mdqr.qd, 3), full_width(rng, mdqr.qd, 3)
    function = getattr(mdqr, name)
    assert same(function(moved(a), moved(b)), function(a, b))
    assert same(function(moved(a), 0.5), function(a, 0.5))


@pytest.mark.parametrize("name", ["trunc", "round", "signbit", "logical_not", "nan_to_num", "sort"])
def test_functions_of_one_array(name, device, rng):
    a = full_width(rng, mdqr.qd, (2, 3))
    function = getattr(mdqr, name)
    assert same(function(moved(a)), function(a))


def test_the_namespace_on_a_device(device, rng):
    xp = mdqr.array_api
    a = full_width(rng, mdqr.qd, (2, 3))
    b = moved(a)
    assert same(xp.sum(b, axis=0), xp.sum(a, axis=0))
    assert same(xp.where(xp.greater(b, 0.0), b, 0.0), xp.where(a > 0, a, 0.0))
    assert same(xp.argsort(b, descending=True), xp.argsort(a, descending=True))
    assert same(xp.take_along_axis(b, xp.argsort(b)), xp.sort(a))
    assert same(xp.astype(b * 9, xp.int64), xp.astype(a * 9, xp.int64))
    assert same(xp.zeros_like(b), xp.zeros_like(a))
    assert same(xp.zeros(2, device="cuda"), xp.zeros(2))
