"""The array as a container: properties, views, copies, single values, pickles."""

import copy
import math
import operator
import pickle
import sys
import types
from fractions import Fraction

import numpy as np
import pytest
from array_cases import counted, exact, few_examples, full_width, planes, same_bits
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import mdqr
from mdqr import MDArray
from mdqr._convert.arrays import fraction_to_limbs
from mdqr._io.files import restored
from mdqr._limbs.planes import is_normalised
from mdqr._precision import PRECISIONS
from mdqr.testing import arrays

SHAPES = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)

# -- properties and views --------------------------------------------------------------------


@given(shape=SHAPES)
def test_properties(shape, precision, dtype):
    a = mdqr.zeros(shape, precision=precision, dtype=dtype)
    model = np.zeros(shape)
    assert (a.shape, a.ndim, a.size) == (model.shape, model.ndim, model.size)
    assert a.precision is precision
    assert a.is_complex is (dtype is complex)
    assert a.device == "cpu"
    assert a.limbs.shape == ((2,) if a.is_complex else ()) + (precision.limbs, *shape)


@given(data=st.data())
def test_views_are_numpys_on_every_plane(data, multiple, dtype):
    shape = data.draw(SHAPES)
    a = counted(multiple, shape, dtype)
    axes = tuple(data.draw(st.permutations(range(len(shape)))))
    signed = tuple(data.draw(st.sampled_from([axis, axis - len(shape)])) for axis in axes)
    size = math.prod(shape)
    target = data.draw(st.sampled_from([(size,), (-1,), (1, size), (size, 1, 1), shape[::-1]]))
    if size == 0 and -1 in target:
        target = (0,)
    views = {
        "transpose": lambda x: x.transpose(signed) if axes else x.transpose(),
        "T": lambda x: x.T,
        "reshape": lambda x: x.reshape(target),
        "ravel": lambda x: x.ravel(),
    }
    if len(shape) >= 2:
        views["mT"] = lambda x: x.mT
    for view in views.values():
        got = view(a)
        for plane, wanted in zip(planes(got), map(view, planes(a)), strict=True):
            np.testing.assert_array_equal(plane, wanted)
            assert plane.shape == wanted.shape
        assert not a.size or np.shares_memory(got.limbs, a.limbs)


def test_reshape_of_strided_values_copies_where_numpy_does(multiple):
    a = counted(multiple, (3, 4))
    assert not np.shares_memory(a.T.reshape(-1).limbs, a.limbs)
    assert same_bits(a.T.reshape(-1), a.T.copy().reshape(12))
    with pytest.raises(ValueError, match="cannot reshape array of size 12 into shape"):
        a.reshape(5, -1)


def test_axes_that_are_no_permutation():
    a = counted(mdqr.dd, (2, 3))
    for axes in ((0,), (0, 0), (0, 2), (0, 1, -1), (-3, 0)):
        with pytest.raises(ValueError, match=r"permutation of the 2 axes of shape \(2, 3\)"):
            a.transpose(axes)
    for name in ("mT", "H"):
        with pytest.raises(ValueError, match="at least two axes"):
            getattr(a[0], name)


def test_hermitian_transpose(precision):
    a = mdqr.array([[1 + 2j, 3], [4j, 5 - 1j]], precision=precision)
    np.testing.assert_array_equal(a.H.to_numpy(), a.to_numpy().conj().T)
    assert np.shares_memory(a.real.H.limbs, a.limbs)


def test_real_and_imag_are_views(precision):
    a = mdqr.array([1 + 2j, 3 - 4j], precision=precision)
    a.real[0] = 7
    a.imag = [8, 9]
    np.testing.assert_array_equal(a.to_numpy(), [7 + 8j, 3 + 9j])
    a.real = 0.5
    np.testing.assert_array_equal(a.to_numpy(), [0.5 + 8j, 0.5 + 9j])
    x = mdqr.ones(3, precision=precision)
    assert np.shares_memory(x.real.limbs, x.limbs)
    assert (x.imag == 0).all()
    assert x.imag.shape == (3,)
    x.real = 2
    assert (x == 2).all()
    with pytest.raises(TypeError, match=r"astype\(dtype=complex\)"):
        x.imag = 1


# -- copies ----------------------------------------------------------------------------------


@pytest.mark.parametrize("clone", [copy.copy, copy.deepcopy, MDArray.copy, operator.pos])
def test_copies_do_not_share(clone, precision, dtype, rng):
    a = full_width(rng, precision, (2, 3), dtype)
    b = clone(a.T)
    assert same_bits(b, a.T)
    assert not np.shares_memory(a.limbs, b.limbs)
    assert b.limbs.flags.c_contiguous


@few_examples
@given(data=st.data())
def test_pickles_keep_every_bit(data, precision, dtype):
    a = data.draw(arrays(precision, (3, 4), dtype=dtype))
    for view in (a, a.T, a[1:, ::2], a[0, 0], a[:0]):
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            assert same_bits(pickle.loads(pickle.dumps(view, protocol)), view)


def test_a_pickle_of_another_device_says_how_to_move_it(no_cupy):
    with pytest.raises(ImportError, match=r'mdqr\.load\(file, device="cpu"\)'):
        restored(np.zeros((2, 3)), "dd", False, "cuda")


def test_to_device(no_cupy):
    a = mdqr.ones(2, precision=mdqr.qd)
    assert a.to_device("cpu") is a
    with pytest.raises(ImportError, match=r"pip install \"mdqr\[cuda12\]\""):
        a.to_device("cuda:1")
    with pytest.raises(ValueError, match='"cpu", "cuda" or "cuda:k"; got \'gpu\''):
        a.to_device("gpu")
    with pytest.raises(TypeError, match="must be a string"):
        a.to_device(0)


class FakeRuntime:
    """What is asked of CUDA about devices: on a machine without a driver, or with two GPUs."""

    class CUDARuntimeError(RuntimeError):
        pass

    def __init__(self, count):
        self.count = count

    def getDeviceCount(self):
        if not self.count:
            raise self.CUDARuntimeError("no driver")
        return self.count

    def getDevice(self):
        return 0


@pytest.mark.parametrize(
    ("count", "device", "message"),
    [
        (0, "cuda", r'CUDA finds no GPU on this machine \(no driver\); use device="cpu"'),
        (2, "cuda:2", "this machine has 2 GPUs, numbered from 0"),
    ],
)
def test_gpus_that_are_not_there(monkeypatch, count, device, message):
    cupy = types.ModuleType("cupy")
    cupy.cuda = types.SimpleNamespace(runtime=FakeRuntime(count))
    cupy.ndarray = type("ndarray", (), {})
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    with pytest.raises(ValueError, match=message):
        mdqr.zeros(2, precision=mdqr.dd, device=device)


@given(data=st.data())
def test_astype_rounds_correctly(data, multiple, dtype):
    a = data.draw(arrays(multiple, 64, dtype=dtype, allow_nan=False, allow_infinity=False))
    for target in PRECISIONS:
        b = a.astype(target)
        assert b.precision is target
        for part, wide in [(b.real, a.real), (b.imag, a.imag)]:
            assert is_normalised(part.limbs).all()
            if target >= multiple:
                assert same_bits(part.astype(multiple), wide)
                continue
            rounded = wide.limbs[target.limbs] != 0
            np.testing.assert_array_equal(
                part.limbs[:, ~rounded], wide.limbs[: target.limbs, ~rounded]
            )
            wanted = [fraction_to_limbs(x, target.limbs) for x in exact(wide)[rounded]]
            np.testing.assert_array_equal(
                part.limbs[:, rounded], np.reshape(wanted, (-1, target.limbs)).T
            )


def test_astype_breaks_ties_by_what_follows():
    # 1 + 2^-53 lies between two doubles; the third limb decides.
    limbs = np.array([1.0, 2.0**-53, 2.0**-120, 0.0])
    a = mdqr.from_limbs(limbs, normalize=False)
    assert float(a) == 1 + 2.0**-52
    assert float(mdqr.from_limbs(limbs * [1, 1, -1, 1], normalize=False)) == 1.0
    assert exact(a.astype(mdqr.dd)).item() == 1 + Fraction(2) ** -53
    assert a.to_numpy() == 1 + 2.0**-52


def test_astype_of_specials(multiple):
    a = mdqr.array([np.nan, np.inf, -np.inf, -0.0], precision=multiple)
    for target in PRECISIONS:
        b = a.astype(target)
        np.testing.assert_array_equal(b.limbs[0], [np.nan, np.inf, -np.inf, -0.0])
        assert np.signbit(b.limbs[0, 3])
        assert not b.limbs[1:].any()
        assert not np.signbit(b.limbs[1:]).any()


def test_values_with_nan_in_lower_limbs_are_narrowed(multiple):
    # No operation returns such values, but a kernel or a writer to `limbs` might.
    for leading in (np.nan, np.inf, 1.0):
        block = np.full((multiple.limbs, 3), np.nan)
        block[0] = leading, 0.5, 0.25
        block[1:, 1:] = 0.0
        block[1, 1] = 2.0**-54
        a = mdqr.from_limbs(block, normalize=False)
        np.testing.assert_array_equal(a.to_numpy(), block[0])
        np.testing.assert_array_equal(a.astype(mdqr.d).limbs[0], block[0])


def test_astype_changes_the_field(precision):
    a = mdqr.array([1, 2], precision=precision)
    z = a.astype(dtype=complex)
    assert z.is_complex
    assert (z == a).all()
    assert not np.shares_memory(a.astype().limbs, a.limbs)
    with pytest.raises(TypeError, match="take the real part"):
        z.astype(dtype=float)
    with pytest.raises(TypeError, match="dtype must be None, float or complex"):
        a.astype(dtype=np.float32)


# -- single values ---------------------------------------------------------------------------


@given(data=st.data())
def test_conversion_to_python_numbers(data, precision):
    a = data.draw(arrays(precision, (1, 1), allow_nan=False, allow_infinity=False))
    value = exact(a).item()
    if abs(value) < 2**1023:
        assert float(a) == value.numerator / value.denominator
    assert int(a) == math.trunc(a.reshape(())) == math.trunc(value)
    assert math.floor(a.reshape(())) == math.floor(value)
    assert math.ceil(a.reshape(())) == math.ceil(value)
    assert bool(a) == bool(value)
    assert complex(a) == complex(float(a))


def test_single_values_of_more_than_one_are_refused(precision):
    a = mdqr.ones(2, precision=precision)
    for convert in (float, int, complex):
        with pytest.raises(TypeError, match=r"shape is \(2,\)"):
            convert(a)
    with pytest.raises(ValueError, match=r"a\.any\(\) or a\.all\(\)"):
        bool(a)
    with pytest.raises(ValueError, match=r"a\.any\(\)"):
        bool(a[:0])


def test_conversions_that_lose_something_are_refused(precision):
    for convert in (float, int, math.floor):
        with pytest.raises(TypeError, match=r"a\.real or a\.imag"):
            convert(precision(1j))
    assert complex(precision(1 + 2j)) == 1 + 2j
    assert bool(precision(1j))
    with pytest.raises(TypeError, match="interpreted as an integer"):
        operator.index(precision(0.5))
    with pytest.raises(OverflowError, match="infinity"):
        int(precision(np.inf))
    with pytest.raises(ValueError, match="NaN"):
        int(precision(np.nan))


def test_item_and_tolist(precision, dtype):
    a = counted(precision, (2, 3), dtype)
    assert same_bits(a.item(4), a[1, 1])
    assert same_bits(a.item(1, 1), a[1, 1])
    assert same_bits(a.item((1, 1)), a[1, 1])
    assert same_bits(a[:1, :1].item(), a[0, 0])
    assert same_bits(mdqr.array(a.tolist()), a)
    assert same_bits(a[0, 0].tolist(), a[0, 0])
    for call, error in ((a.item, ValueError), (lambda: a.item(6), IndexError)):
        with pytest.raises(error):
            call()
    with pytest.raises(ValueError, match="one flat index or 2 integers"):
        a.item(0, 0, 0)


@pytest.mark.parametrize("dtype", [float, complex])
def test_more_than_one_limb_is_not_rounded_by_numpy(multiple, dtype):
    a = mdqr.ones(2, precision=multiple, dtype=dtype)
    for convert in (np.asarray, np.array, lambda x: np.zeros(2).__setitem__(slice(None), x)):
        with pytest.raises(
            TypeError, match=r"not rounded to float64 implicitly; use a\.to_numpy\(\)"
        ):
            convert(a)


def test_numpy_takes_the_values_of_precision_d():
    a = mdqr.array([1, 0.5], precision=mdqr.d)
    values = np.asarray(a)
    assert values.dtype == np.float64
    assert np.shares_memory(values, a.limbs)
    assert not np.shares_memory(np.array(a), a.limbs)
    assert np.shares_memory(np.array(a, copy=False), a.limbs)
    np.testing.assert_array_equal(np.array([a, a]), [[1, 0.5]] * 2)
    assert np.asarray(a[0]).shape == ()
    assert np.asarray(a, dtype=np.float32).dtype == np.float32
    with pytest.raises(ValueError, match="copy"):
        np.array(a, dtype=np.float32, copy=False)
    into = np.zeros(2)
    into[:] = a
    np.testing.assert_array_equal(into, [1, 0.5])


def test_numpy_takes_the_complex_values_of_precision_d():
    values = [1 + 2j, complex(-0.0, np.inf)]
    a = mdqr.array(values, precision=mdqr.d)
    got = np.asarray(a)
    assert got.dtype == np.complex128
    assert got.tobytes() == np.array(values).tobytes()
    with pytest.raises(ValueError, match="NumPy needs a copy"):
        np.array(a, copy=False)


def test_not_hashable_and_not_callable(precision):
    a = mdqr.ones(2, precision=precision)
    with pytest.raises(TypeError, match="unhashable"):
        hash(a)
    with pytest.raises(TypeError, match=r"use mdqr\.array"):
        MDArray([1, 2])


def test_membership(precision):
    a = mdqr.array([1, 2], precision=precision)
    assert 2 in a
    assert 3 not in a


def test_format_of_one_value(precision):
    a = precision("0.5")
    assert f"{a:.3e}" == "5.000e-01"
    assert f"{a}" == str(a)
    with pytest.raises(TypeError, match=r"format '\.3g'"):
        format(mdqr.ones(2, precision=precision), ".3g")
