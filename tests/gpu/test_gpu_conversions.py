"""Numbers on their way to the device and back keep every bit."""

from __future__ import annotations

import pickle
from fractions import Fraction

import gpu_cases as cases
import numpy as np
import pytest

import mdqr
from mdqr._precision import PRECISIONS
from mdqr.testing import assert_same_bits

pytestmark = pytest.mark.gpu

FEW = 20_000  # of values that Python converts one by one


@pytest.fixture
def drawn(precision, dtype, rng):
    """A host array of values of all families."""
    return cases.array(rng, precision, (FEW,), dtype, special=True, bounds=cases.EVERYTHING)


def test_round_trip(precision, dtype, record_property):
    count = 0
    for x, _ in cases.pairs(precision.limbs, dtype is complex):
        a = mdqr.MDArray._wrap(x, precision, dtype is complex)
        moved = cases.to_device(a)
        assert moved.device.startswith(cases.DEVICE)
        assert_same_bits(cases.to_host(moved), a)
        count += a.size
    record_property("operation", "round trip")
    record_property("values", count)


def test_values_that_leave_through_the_host(drawn, rng):
    moved = cases.to_device(drawn)
    np.testing.assert_array_equal(moved.to_numpy(), drawn.to_numpy())
    few = rng.integers(0, drawn.size, 300)
    some = drawn[few]
    assert moved[few].to_strings().tolist() == some.to_strings().tolist()
    assert moved[few].to_strings(12).tolist() == some.to_strings(12).tolist()
    assert list(map(repr, moved[few].to_mpmath())) == list(map(repr, some.to_mpmath()))
    real = drawn.real[np.isfinite(drawn.real.to_numpy())][:300]
    assert cases.to_device(real).to_fractions().tolist() == real.to_fractions().tolist()


@pytest.mark.parametrize("target", PRECISIONS, ids=str)
def test_other_precisions(drawn, target):
    moved = cases.to_device(drawn).astype(target)
    assert moved.device.startswith(cases.DEVICE)
    with np.errstate(all="ignore"):
        assert_same_bits(cases.to_host(moved), drawn.astype(target))


def test_other_fields(drawn):
    moved = cases.to_device(drawn).astype(dtype=complex)
    assert_same_bits(cases.to_host(moved), drawn.astype(dtype=complex))
    if drawn.is_complex:
        with pytest.raises(TypeError, match="complex"):
            cases.to_device(drawn).astype(dtype=float)


@pytest.mark.usefixtures("host")
def test_limbs_in_any_order(cupy, precision, dtype, rng, record_property):
    """`from_limbs` of a device array rounds the exact sum, as on the host."""
    count = 0
    for x, y in cases.pairs(precision.limbs, dtype is complex, min(cases.VALUES, 1_000_000)):
        keep = rng.random(x.shape) < 0.5
        limbs = np.where(keep, x, y)
        on_host = mdqr.from_limbs(limbs, dtype=dtype)
        moved = mdqr.from_limbs(cupy.asarray(limbs), dtype=dtype)
        cases.assert_same(moved, on_host)
        count += limbs.shape[-1]
    record_property("operation", "from_limbs")
    record_property("values", count)


def test_limbs_are_shared_with_cupy(cupy, precision, rng):
    limbs = cupy.asarray(cases.block(rng, precision.limbs, (3, 5), False))
    a = mdqr.from_limbs(limbs, normalize=False)
    assert a.limbs.data.ptr == limbs.data.ptr
    a[0, 0] = 7
    assert float(limbs[0, 0, 0]) == 7.0
    view = cupy.asarray(cuda_interface(a[1:, ::2].limbs))
    assert view.data.ptr == a[1:, ::2].limbs.data.ptr
    assert view.strides == a[1:, ::2].limbs.strides
    b = mdqr.from_limbs(dlpack(a.limbs), normalize=False)
    assert b.limbs.data.ptr == limbs.data.ptr
    assert_same_bits(cases.to_host(b), cases.to_host(a))
    assert cupy.from_dlpack(a.T.limbs).strides == a.T.limbs.strides


def cuda_interface(x):
    """Return an object with nothing but the CUDA array interface of `x`."""
    return type("Interface", (), {"__cuda_array_interface__": x.__cuda_array_interface__})()


def dlpack(x):
    """Return an object with nothing but the DLPack methods of `x`."""
    methods = {
        "__dlpack__": lambda self, **options: x.__dlpack__(**options),
        "__dlpack_device__": lambda self: x.__dlpack_device__(),
    }
    return type("Capsule", (), methods)()


@pytest.mark.parametrize(
    "kind", ["bool", "int8", "uint32", "int64", "uint64", "float32", "float64", "complex64"]
)
def test_arrays_of_cupy(cupy, precision, kind, rng):
    """Every number of a CuPy array is converted exactly, or rounded once."""
    bits = rng.integers(-(2**63), 2**63 - 1, 50, endpoint=True)
    values = bits.astype(kind) if np.dtype(kind).kind in "iu" else (bits / 2**40).astype(kind)
    a = mdqr.array(cupy.asarray(values), precision=precision)
    assert a.device.startswith(cases.DEVICE)
    assert_same_bits(cases.to_host(a), mdqr.array(values, precision=precision))


def test_text_goes_to_the_device(precision):
    texts = ["0.1", "-1e-30", "0x1.8p3", "123456789012345678901234567890", "nan", "-inf"]
    a = mdqr.array(texts, precision=precision, device=cases.DEVICE)
    assert a.device.startswith(cases.DEVICE)
    assert_same_bits(cases.to_host(a), mdqr.array(texts, precision=precision))
    third = mdqr.array(Fraction(1, 3), precision=precision, device=cases.DEVICE)
    assert_same_bits(cases.to_host(third), mdqr.array(Fraction(1, 3), precision=precision))
    assert_same_bits(eval(repr(third), {"mdqr": mdqr}), cases.to_host(third))


def test_files_and_pickles(precision, dtype, rng, tmp_path):
    a = cases.array(rng, precision, (4, 3), dtype)
    moved = cases.to_device(a)
    mdqr.save(tmp_path / "a.npz", moved)
    assert_same_bits(mdqr.load(tmp_path / "a.npz"), a)
    loaded = mdqr.load(tmp_path / "a.npz", device=cases.DEVICE)
    copy = pickle.loads(pickle.dumps(moved))
    for found in (loaded, copy):
        assert found.device == moved.device
        assert_same_bits(cases.to_host(found), a)


def test_draws_are_the_same_on_every_device(precision, dtype):
    for draw in (mdqr.random.uniform, mdqr.random.normal):
        options = {"precision": precision, "dtype": dtype}
        a = draw((3, 4), rng=5, **options)
        b = draw((3, 4), rng=5, device=cases.DEVICE, **options)
        assert b.device.startswith(cases.DEVICE)
        assert_same_bits(cases.to_host(b), a)


@pytest.mark.usefixtures("host")
def test_scaled_draws_are_the_same_on_every_device(precision, dtype):
    options = {"precision": precision, "dtype": dtype, "rng": 6}
    draws = {mdqr.random.uniform: ("low", "high"), mdqr.random.normal: ("loc", "scale")}
    for draw, names in draws.items():
        given = dict(zip(names, ("0.1", "7.3"), strict=True))
        a = draw((3, 4), **given, **options)
        b = draw((3, 4), device=cases.DEVICE, **given, **options)
        assert_same_bits(cases.to_host(b), a)
