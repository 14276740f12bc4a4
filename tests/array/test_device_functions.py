"""NumPy's functions on a device: the same limbs, and no array of NumPy meets one of CuPy."""

import fake_device
import numpy as np
import pytest
from array_cases import full_width, same_bits
from each_case import each_case
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


@each_case("name", OF_MATRICES)
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


CALLS = {
    "flipud": lambda a: (a,),
    "rot90": lambda a: (a, 3),
    "dstack": lambda a: ([a, a],),
    "array_split": lambda a: (a, 2),
    "resize": lambda a: (a, (2, 5)),
    "pad": lambda a: (a, 1),
    "trim_zeros": lambda a: (a,),
    "compress": lambda a: ([True, False], a, 0),
    "choose": lambda a: ([[0, 1, 0], [1, 1, 0]], [a, -a]),
    "select": lambda a: ([a > 0, a < -1], [a, 2 * a]),
    "piecewise": lambda a: (a, [a > 0], [lambda x: x * 2, 0.5]),
    "apply_along_axis": lambda a: (mdqr.cumsum, 0, a),
    "flatnonzero": lambda a: (a,),
    "argwhere": lambda a: (a,),
    "diagflat": lambda a: (a,),
    "union1d": lambda a: (a, a[0]),
    "intersect1d": lambda a: (a, a[0]),
    "setxor1d": lambda a: (a, a[0]),
    "lexsort": lambda a: ([a, -a],),
    "partition": lambda a: (a, 1),
    "digitize": lambda a: (a, mdqr.sort(a, None)),
    "bincount": lambda a: ([0, 2, 0], a[0]),
    "histogram2d": lambda a: (a[0], a[1], 2),
    "ediff1d": lambda a: (a,),
    "unwrap": lambda a: (a,),
    "fmax": lambda a: (a, 0.0),
    "fmod": lambda a: (a, 0.25),
    "modf": lambda a: (a,),
    "frexp": lambda a: (a,),
    "ldexp": lambda a: (a, [1, 2, 3]),
    "spacing": lambda a: (a,),
    "heaviside": lambda a: (a, 0.5),
    "logaddexp2": lambda a: (a, -a),
    "sinc": lambda a: (a,),
    "i0": lambda a: (a,),
    "isposinf": lambda a: (a,),
    "array_equiv": lambda a: (a, a[0]),
    "nanpercentile": lambda a: (a, 30, 0),
}


@pytest.mark.parametrize("name", CALLS)
def test_functions_of_other_names(name, device, rng):
    a = full_width(rng, mdqr.qd, (2, 3))
    function = getattr(mdqr, name)
    assert same(function(*CALLS[name](moved(a))), function(*CALLS[name](a)))


def test_functions_that_write(device, rng):
    a = full_width(rng, mdqr.qd, (2, 3))
    for write in (
        lambda x: mdqr.put(x, [0, -1], [1.0, 2.0]),
        lambda x: mdqr.putmask(x, x > 0, 7.0),
        lambda x: mdqr.place(x, x > 0, [7.0, 8.0]),
        lambda x: mdqr.fill_diagonal(x, 3.0),
        lambda x: mdqr.put_along_axis(x, mdqr.argmax(x, 1, keepdims=True), 0.0, 1),
    ):
        there, here = moved(a.copy()), a.copy()
        write(there)
        write(here)
        assert same(there, here)


def test_windows_on_a_device(device):
    assert same(mdqr.kaiser(5, 3, precision="qd", device="cuda"), mdqr.kaiser(5, 3, precision="qd"))
