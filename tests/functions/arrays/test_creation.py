"""Making arrays: from numbers of any kind, constant ones, from limbs."""

import re
import warnings
from decimal import Decimal
from fractions import Fraction
from functools import partial

import mpmath
import numpy as np
import pytest
import sympy
from array_cases import exact, few_examples, full_width, same_bits
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import mdqr
from mdqr._convert.arrays import fraction_to_limbs
from mdqr._limbs.planes import is_normalised
from mdqr._precision import PRECISIONS
from mdqr.testing import arrays

THIRD = Fraction(1, 3)
SHAPES = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)


# -- array, asarray --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "value"),
    [
        ("0.1", Fraction(1, 10)),
        ("1e-30", Fraction(1, 10**30)),
        (10**50 + 1, Fraction(10**50 + 1)),
        (THIRD, THIRD),
        (Decimal("-2.7"), Fraction(-27, 10)),
        (0.1, Fraction(0.1)),
        (np.float32(0.1), Fraction(float(np.float32(0.1)))),
        (np.uint64(2**64 - 1), Fraction(2**64 - 1)),
        (mpmath.mpf("0.1"), Fraction(0.1)),
        (sympy.Rational(2, 7), Fraction(2, 7)),
        (True, Fraction(1)),
    ],
    ids=repr,
)
def test_numbers_are_rounded_once(number, value, precision):
    wanted = fraction_to_limbs(value, precision.limbs)
    for a in (precision(number), mdqr.array(number, precision=precision.name)):
        assert (a.shape, a.precision, a.is_complex) == ((), precision, False)
        np.testing.assert_array_equal(a.limbs, wanted)
    nested = mdqr.array([[number, 1], (2, number)], precision=precision)
    assert nested.shape == (2, 2)
    np.testing.assert_array_equal(nested[1, 1].limbs, wanted)
    objects = mdqr.array(np.array([number, 1], dtype=object), precision=precision)
    np.testing.assert_array_equal(objects[0].limbs, wanted)


@given(x=hnp.arrays(st.sampled_from([np.float64, np.complex128, np.int64, np.bool_]), SHAPES))
def test_numpy_arrays_are_taken_exactly(x, multiple):
    a = mdqr.array(x, precision=multiple)
    assert (a.shape, a.is_complex) == (x.shape, x.dtype.kind == "c")
    parts = ((a.real, x.real), (a.imag, x.imag)) if a.is_complex else ((a, x),)
    for part, wanted in parts:
        if x.dtype.kind == "i":
            assert exact(part).tolist() == wanted.tolist()
        else:
            np.testing.assert_array_equal(part.limbs[0], wanted)
            assert not part.limbs[1:].any()
    assert not np.may_share_memory(a.limbs, x)


def test_the_precision_comes_from_the_input():
    a = mdqr.ones(2, precision=mdqr.dd)
    assert mdqr.array(a).precision is mdqr.dd
    assert mdqr.array([a, mdqr.zeros(2, precision=mdqr.od), [1, THIRD]]).precision is mdqr.od
    for x in (1, [1, 2], np.ones(2), "0.1", None):
        with pytest.raises(TypeError, match=r"precision is missing.*precision=mdqr\.qd"):
            mdqr.array(x)


def test_nested_arrays_are_stacked(multiple, rng):
    a, b = full_width(rng, multiple, (2, 3)), full_width(rng, mdqr.dd, (2, 3))
    got = mdqr.array([a, [[1, 2j, "0.1"], list(b[0])]])
    assert got.shape == (2, 2, 3)
    assert got.is_complex
    assert same_bits(got[0].real, a)
    assert same_bits(got[1, 1].real, b[0].astype(multiple))
    assert same_bits(got[1, 0, 2].real, multiple("0.1"))
    with pytest.raises(ValueError, match=r"one shape; got \[\(2,\), \(2, 3\)\]"):
        mdqr.array([a, a[0, :2]])


def test_array_copies_and_asarray_does_not(precision, dtype):
    a = mdqr.ones((2, 2), precision=precision, dtype=dtype)
    x = np.ones(3)
    for made in (mdqr.array(a), mdqr.array(a.T), mdqr.array(a, dtype=dtype)):
        assert not np.shares_memory(made.limbs, a.limbs)
        assert made.limbs.flags.c_contiguous
    assert not np.shares_memory(mdqr.array(x, precision=precision).limbs, x)
    assert mdqr.asarray(a) is mdqr.asarray(a, precision=precision.name, dtype=dtype) is a
    other = next(p for p in PRECISIONS if p is not precision)
    assert mdqr.asarray(a, precision=other).precision is other
    assert mdqr.asarray(a, dtype=complex).is_complex


def test_the_field(precision):
    assert mdqr.array([1, 2], precision=precision, dtype=complex).is_complex
    assert mdqr.array([1, 2], precision=precision, dtype=np.complex128).is_complex
    assert not mdqr.array([1, 2], precision=precision, dtype=np.float64).is_complex
    with pytest.raises(TypeError, match="complex values do not fit into a real array"):
        mdqr.array([1, 2j], precision=precision, dtype=float)
    for wrong in (int, np.float32, "x", 3):
        with pytest.raises(TypeError, match="dtype must be None, float or complex"):
            mdqr.array(1, precision=precision, dtype=wrong)


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ("abc", ValueError),
        (["1", "2x"], ValueError),
        ([[1, 2], [3]], ValueError),
        (None, TypeError),
        ({1: 2}, TypeError),
        ([1, None], TypeError),
        (np.array(["2020-01-01"], dtype="datetime64[D]"), TypeError),
        (b"1", TypeError),
    ],
    ids=repr,
)
def test_what_is_no_number_is_refused(wrong, error, precision):
    with pytest.raises(error):
        mdqr.array(wrong, precision=precision)


@pytest.mark.parametrize(
    "make",
    [
        lambda d: mdqr.array(1, precision=mdqr.dd, device=d),
        lambda d: mdqr.asarray(mdqr.dd(1), device=d),
        lambda d: mdqr.zeros(1, precision=mdqr.dd, device=d),
        lambda d: mdqr.ones(1, precision=mdqr.dd, device=d),
        lambda d: mdqr.full(1, 2, precision=mdqr.dd, device=d),
        lambda d: mdqr.empty(1, precision=mdqr.dd, device=d),
        lambda d: mdqr.eye(1, precision=mdqr.dd, device=d),
        lambda d: mdqr.zeros_like(mdqr.dd(1), device=d),
        lambda d: mdqr.linspace(0, 1, 3, precision=mdqr.dd, device=d),
        lambda d: mdqr.arange(3, precision=mdqr.dd, device=d),
        lambda d: mdqr.random.uniform(3, precision=mdqr.dd, device=d),
        lambda d: mdqr.random.normal(3, precision=mdqr.dd, device=d),
    ],
)
def test_devices_are_checked(make, no_cupy):
    assert make("cpu").device == "cpu"
    with pytest.raises(ImportError, match=r'needs CuPy.*use device="cpu"'):
        make("cuda")
    with pytest.raises(ValueError, match='must be "cpu", "cuda" or "cuda:k"'):
        make("tpu")


# -- constant arrays -------------------------------------------------------------------------


@few_examples
@given(shape=SHAPES, data=st.data())
def test_constant_arrays(shape, data, precision, dtype):
    size = data.draw(st.sampled_from([shape, list(shape)]))
    zeros = mdqr.zeros(size, precision=precision, dtype=dtype)
    for a, value in (
        (zeros, 0),
        (mdqr.empty(size, precision=precision, dtype=dtype), 0),
        (mdqr.ones(size, precision=precision, dtype=dtype), 1),
        (mdqr.full(size, "0.1", precision=precision, dtype=dtype), precision("0.1")),
        (mdqr.zeros_like(zeros), 0),
        (mdqr.empty_like(zeros), 0),
        (mdqr.ones_like(zeros), 1),
        (mdqr.full_like(zeros, "0.1"), precision("0.1")),
    ):
        assert (a.shape, a.precision, a.is_complex) == (shape, precision, dtype is complex)
        assert (a == value).all()


def test_full_broadcasts_and_takes_the_field(precision):
    a = mdqr.full((2, 2), [1, 2j], precision=precision)
    np.testing.assert_array_equal(a.to_numpy(), [[1, 2j], [1, 2j]])
    assert mdqr.full(3, mdqr.od("0.1")).precision is mdqr.od
    with pytest.raises(ValueError, match="broadcast"):
        mdqr.full((2, 2), [1, 2, 3], precision=precision)


def test_models_may_be_overruled():
    a = mdqr.ones(2, precision=mdqr.dd)
    b = mdqr.zeros_like(a, precision="od", dtype=complex)
    assert (b.precision, b.is_complex) == (mdqr.od, True)
    with pytest.raises(TypeError, match="the model must be an MDArray; got ndarray"):
        mdqr.zeros_like(np.ones(2))


@pytest.mark.parametrize("name", ["zeros", "ones", "empty", "eye", "linspace", "arange"])
def test_the_precision_is_required(name):
    arguments = (0, 1) if name == "linspace" else (3,)
    with pytest.raises(TypeError, match=r"needs a precision, as in precision=mdqr\.qd"):
        getattr(mdqr, name)(*arguments)


OF_A_SHAPE = {
    "zeros": mdqr.zeros,
    "full": lambda shape, **options: mdqr.full(shape, 2, **options),
    "array": lambda shape, **options: mdqr.array(np.ones(shape), **options),
    "lists": lambda shape, **options: mdqr.array(np.ones(shape).tolist(), **options),
    "uniform": mdqr.random.uniform,
    "normal": mdqr.random.normal,
}


@pytest.mark.parametrize("make", OF_A_SHAPE.values(), ids=OF_A_SHAPE)
@pytest.mark.parametrize("dtype", [float, complex])
def test_more_axes_than_numpy_has(precision, dtype, make):
    most = 62 if dtype is complex else 63
    assert make((1,) * most, precision=precision, dtype=dtype).shape == (1,) * most
    with pytest.raises(ValueError, match=r"at most 6[23] axes"):
        make((1,) * (most + 1), precision=precision, dtype=dtype)


@pytest.mark.parametrize(
    "make",
    [
        mdqr.array,
        mdqr.zeros,
        mdqr.ones,
        mdqr.empty,
        mdqr.eye,
        partial(mdqr.linspace, 0, 1),
        mdqr.random.uniform,
        mdqr.random.normal,
    ],
)
@pytest.mark.parametrize("given", [mdqr.dd, "qd", mdqr.d])
def test_a_precision_given_as_the_dtype_is_named(make, given):
    message = f"dtype must be None, float or complex; got {given!r}, which is a precision: give it"
    with pytest.raises(TypeError, match=re.escape(f"{message} as precision={given!r}")):
        make(3, dtype=given)


def test_functions_of_as_many_axes_as_there_may_be(precision):
    """NumPy's errors of 65 axes came through, and of indices that nobody gave."""
    a = mdqr.ones((1,) * 61 + (3, 1), precision=precision)
    a[...] = np.arange(3).reshape(3, 1)
    assert a.max(axis=2).shape == (1,) * 60 + (3, 1)
    assert float(a.max()) == float(a.max(axis=61).ravel()[0]) == 2
    assert (a[0] * 1j).shape == a.shape[1:]
    assert float(abs((a[0] * 1j).max(axis=60)).ravel()[0]) == 2
    wide = (np.ones((1,) * 61 + (2, 2)), mdqr.eye(2, precision=precision))
    assert mdqr.linalg.solve(mdqr.array(wide[1]), wide[0]).shape == wide[0].shape
    calls = {
        "a complex array has at most 62": [lambda: a * 1j, lambda: a.astype(dtype=complex)],
        "a real array has at most 63": [
            lambda: mdqr.stack([a, a]),
            lambda: a.reshape((3,) + (1,) * 63),
            lambda: mdqr.array([a, a], precision=precision),
        ],
    }
    for message, refused in calls.items():
        for call in refused:
            with pytest.raises(ValueError, match=rf"{message} axes \(NumPy's 64\); got 6[34]"):
                call()


def test_wrong_shapes(precision):
    with pytest.raises(ValueError, match="negative"):
        mdqr.zeros((2, -1), precision=precision)
    with pytest.raises(TypeError):
        mdqr.zeros(2.5, precision=precision)


# -- limbs -----------------------------------------------------------------------------------


@few_examples
@given(data=st.data())
def test_limbs_of_an_array_come_back(data, precision, dtype):
    a = data.draw(arrays(precision, (2, 3), dtype=dtype))
    for limbs in (a.limbs, a.T.limbs):
        b = mdqr.from_limbs(limbs, dtype=dtype)
        assert np.asarray(b.limbs).tobytes() == np.ascontiguousarray(limbs).tobytes()
        assert not np.shares_memory(b.limbs, limbs)
        shared = mdqr.from_limbs(limbs, dtype=dtype, normalize=False)
        assert shared.limbs.base is limbs.base


@given(data=st.data())
def test_any_limbs_are_summed_and_rounded_once(data, multiple, dtype):
    front = (2, multiple.limbs) if dtype is complex else (multiple.limbs,)
    doubles = st.floats(-(2.0**900), 2.0**900)
    block = data.draw(hnp.arrays(np.float64, (*front, 4), elements=doubles))
    a = mdqr.from_limbs(block, dtype=dtype)
    parts = zip(a.limbs, block, strict=True) if dtype is complex else [(a.limbs, block)]
    for got, given_limbs in parts:
        assert is_normalised(got).all()
        for limbs, wanted in zip(got.T, given_limbs.T, strict=True):
            if is_normalised(wanted):
                np.testing.assert_array_equal(limbs, wanted)
                continue
            total = sum(map(Fraction, wanted), Fraction(0))
            np.testing.assert_array_equal(limbs, fraction_to_limbs(total, multiple.limbs))


def test_values_that_are_normalised_do_not_feel_their_neighbours(multiple):
    # (1 + 2^-53) + 2^-120 is normalised; the greedy form would be another one.
    block = np.zeros((multiple.limbs, 2))
    block[:2, 0] = [1 + 2.0**-52, -(2.0**-54)]
    block[:2, 1] = [1, 3]
    np.testing.assert_array_equal(mdqr.from_limbs(block).limbs[:, 0], block[:, 0])


class Exporter:
    """An object with nothing but DLPack."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_dlpack_shares_memory():
    limbs = np.ones((2, 3)) * [[1], [2.0**-60]]
    a = mdqr.from_limbs(Exporter(limbs), normalize=False)
    assert np.shares_memory(a.limbs, limbs)
    assert same_bits(a, mdqr.from_limbs(limbs))


def test_the_shape_of_shared_limbs_is_not_the_callers():
    limbs = np.zeros((2, 3))
    a = mdqr.from_limbs(limbs, normalize=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of NumPy 2.5
        limbs.shape = (1, 6)
    assert (a + 1).to_numpy().tolist() == [1.0, 1.0, 1.0]
    limbs[0, 0] = 5.0
    assert float(a[0]) == 5.0


def test_wrong_limbs():
    with pytest.raises(TypeError, match="must be float64; got float32"):
        mdqr.from_limbs(np.ones((2, 3), dtype=np.float32))
    with pytest.raises(
        TypeError, match="NumPy or CuPy array or an object with __dlpack__; got list"
    ):
        mdqr.from_limbs([[1.0], [0.0]])
    with pytest.raises(ValueError, match=r"\(2, N, \*shape\).*got shape \(3, 2\)"):
        mdqr.from_limbs(np.ones((3, 2)), dtype=complex)
    records = np.zeros(2, dtype=[("flag", "i1"), ("limb", "f8")])
    with pytest.raises(ValueError, match="multiples of 8 bytes"):
        mdqr.from_limbs(records["limb"], normalize=False)
    assert mdqr.from_limbs(records["limb"]) == 0
    for block, dtype in ((np.ones(()), float), (np.ones(2), complex)):
        with pytest.raises(ValueError, match="got shape"):
            mdqr.from_limbs(block, dtype=dtype)


def test_limbs_whose_sum_rounds_up_to_infinity():
    """The sum is a double, its greedy limbs tie up to 2**1024: this took for ever."""
    words = ["0x1p+1023", "-0x1p+969", "0x1.fffffffffffffp+1022", "0x1.fffffffffffffp+968"]
    limbs = np.array([float.fromhex(word) for word in words])
    a = mdqr.from_limbs(limbs[:, None])
    assert a.limbs[:, 0].tolist() == [np.inf, 0.0, 0.0, 0.0]
