"""The namespaces: dtypes that carry the precision, who is an array, and the consumers."""

import copy
import inspect
import math
import pickle
from fractions import Fraction

import array_api_compat
import array_api_extra
import array_api_strict
import numpy as np
import pytest
from array_cases import full_width, same_bits
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.array_api import make_strategies_namespace

import mdqr
from mdqr._precision import PRECISIONS

xp = mdqr.array_api
xps = make_strategies_namespace(xp, api_version="2025.12")


def test_arrays_know_the_namespace_of_their_precision(precision):
    a = mdqr.ones(2, precision=precision)
    found = a.__array_namespace__()
    assert found is mdqr.array_api(precision) is mdqr.array_api(precision.name)
    assert found.asarray([1.0]).precision is found.precision is precision
    assert found.float64 is a.dtype
    assert repr(found) == f"<namespace mdqr.array_api of precision {precision}>"
    assert array_api_compat.array_namespace(a, 1.0, a[0]) is found
    for version in ("2022.12", "2025.12"):
        assert a.__array_namespace__(api_version=version) is found
    with pytest.raises(ValueError, match=r"2021\.12"):
        a.__array_namespace__(api_version="2021.12")


def test_the_module_is_the_namespace_of_qd():
    assert mdqr.qd(1).__array_namespace__() is xp
    assert xp.__array_api_version__ == "2025.12"
    assert mdqr.array_api(mdqr.qd) is xp


def test_dtypes_carry_the_precision(precision, dtype):
    is_complex = dtype is complex
    a = mdqr.zeros(2, precision=precision, dtype=dtype)
    found = a.dtype
    assert (found.precision, found.is_complex) == (precision, is_complex)
    assert found == getattr(xp, found.name) == xp.DType(precision, is_complex)
    assert str(found) == ("complex_" if is_complex else "float_") + precision.name
    assert repr(found) == f"mdqr.array_api.{found}"
    assert (found.kind, found.itemsize) == ("c" if is_complex else "f", a.itemsize)
    assert pickle.loads(pickle.dumps(found)) is copy.deepcopy(found) is found
    assert len({found, getattr(xp, found.name)}) == 1
    assert found not in (float, np.float64, None)
    with pytest.raises(AttributeError, match="immutable"):
        found.precision = mdqr.d


def test_functions_take_dtypes(precision, dtype):
    wanted = mdqr.zeros(1, precision=precision, dtype=dtype).dtype
    for made in (
        mdqr.array([1, 2], dtype=wanted),
        mdqr.asarray([1, 2], dtype=wanted),
        mdqr.zeros(2, dtype=wanted),
        mdqr.full(2, 1, dtype=wanted),
        mdqr.eye(2, dtype=wanted),
        mdqr.linspace(0, 1, 3, dtype=wanted),
        mdqr.ones_like(mdqr.ones(2, precision="dd"), dtype=wanted),
        mdqr.ones(2, precision="dd").astype(wanted),
        mdqr.ones(2, precision="dd").astype(dtype=wanted),
        mdqr.random.normal(2, dtype=wanted, rng=1),
    ):
        assert made.dtype is wanted
    other = next(p for p in PRECISIONS if p is not precision)
    with pytest.raises(TypeError, match="that of the dtype is"):
        mdqr.zeros(2, precision=other, dtype=wanted)


def test_what_finfo_tells(precision):
    found = xp.finfo(xp.DType(precision, True))
    assert (found.eps, found.max, found.min) == (precision.eps, precision.huge, -precision.huge)
    assert found.smallest_normal == found.tiny == precision.tiny
    assert found.dtype is xp.DType(precision)
    assert xp.finfo(mdqr.ones(1, precision=precision)).eps == precision.eps
    with pytest.raises(TypeError, match="floating-point"):
        xp.finfo(xp.int8)
    for wrong in (xp.float64, xp.bool):
        with pytest.raises(TypeError, match="integer"):
            xp.iinfo(wrong)


def test_the_highest_precision_is_the_result_type():
    assert xp.result_type(xp.float_dd, xp.complex_d) is xp.complex_dd
    assert xp.result_type(xp.float_dd, xp.int64, 1.0) is xp.float_dd
    assert xp.result_type(xp.float_dd, 1j) is xp.complex_dd
    assert xp.result_type(xp.int8, 1.0) is xp.float64
    assert xp.result_type(xp.int8, xp.uint8, 1) == xp.int16
    assert xp.result_type(mdqr.ones(1, precision="od"), np.ones(1)) is xp.float_od
    assert xp.result_type(np.float32, xp.float_d) is xp.float_d
    with pytest.raises(ValueError, match="needs"):
        xp.result_type(1.0)
    for wrong in ("qd", object(), np.longdouble, str):
        with pytest.raises(TypeError, match="no dtype"):
            xp.result_type(wrong)


def test_casts_without_a_loss():
    assert xp.can_cast(xp.float_dd, xp.complex_qd)
    assert not xp.can_cast(xp.float_qd, xp.float_dd)
    assert not xp.can_cast(mdqr.array(1j, precision="dd"), xp.float_dd)
    assert xp.can_cast(xp.int64, xp.float_dd)
    assert not xp.can_cast(xp.int64, xp.float_d)
    assert xp.can_cast(xp.int8, xp.int16)
    assert not xp.can_cast(xp.float_d, xp.int64)
    with pytest.raises(ValueError, match="kind is one of"):
        xp.isdtype(xp.int8, "float")


def test_integers_and_booleans_are_numpys():
    assert type(xp.asarray([1, 2])) is np.ndarray
    assert xp.asarray([1, 2]).dtype == xp.int64 == np.int64
    assert xp.asarray([True]).dtype == xp.bool
    a = xp.asarray([1.0, 3.0])
    assert isinstance(a > 2, np.ndarray)
    assert isinstance(xp.greater(a[0], 2), np.ndarray)
    assert type(xp.argsort(a)) is np.ndarray
    assert xp.where(a > 2, a, 0.0).tolist() == [0, 3]
    assert (xp.asarray([1, 2]) + a).dtype is a.dtype


@pytest.mark.parametrize(
    "call",
    [
        lambda i: xp.sqrt(i),
        lambda i: xp.divide(i, 2),
        lambda i: xp.mean(i),
        lambda i: xp.add(i, 0.5),
        lambda i: xp.add(1, 2),
        lambda i: xp.bitwise_and(xp.asarray(1.0), i),
        lambda i: xp.where(i > 0, i, 0.5),
        lambda i: xp.linalg.solve(i, i),
    ],
)
def test_nothing_is_rounded_to_float64_in_secret(call):
    with pytest.raises(TypeError, match=r"astype|asarray|integers and booleans"):
        call(xp.asarray([[1, 2], [3, 5]]))


def test_asarray_takes_what_mdqr_takes(multiple):
    namespace = mdqr.array_api(multiple)
    third = namespace.asarray(Fraction(1, 3))
    assert same_bits(third, mdqr.array(Fraction(1, 3), precision=multiple))
    assert same_bits(namespace.asarray(["0.1", 1]), mdqr.array(["0.1", 1], precision=multiple))
    assert namespace.asarray([third, 1.0]).dtype is third.dtype
    assert namespace.asarray(third) is third
    assert namespace.asarray(third, copy=True) is not third
    assert namespace.asarray(np.ones(2)).dtype is namespace.float64
    assert namespace.asarray(memoryview(b"ab")).dtype == np.uint8
    assert namespace.asarray(np.ones(2, dtype=complex)).dtype is namespace.complex128
    assert namespace.asarray([namespace.asarray(2.0)], dtype=xp.int8).dtype == np.int8
    for wrong in ([1.0], np.ones(2)):
        with pytest.raises(ValueError, match="copy=False"):
            namespace.asarray(wrong, copy=False)
    with pytest.raises(TypeError, match="arange"):
        namespace.arange(3, dtype=namespace.complex128)


def test_numpys_floats_are_doubles():
    x = np.asarray([0.1, 0.2])
    assert xp.add(x, x).dtype is xp.float_d
    assert xp.multiply(x, xp.pi).dtype is xp.float_d


@given(
    st.lists(st.integers(-(2**63), 2**63 - 1) | st.fractions(-9, 9, max_denominator=8), max_size=4)
)
def test_integers_are_towards_zero(values):
    a = mdqr.array(np.array([*values, 0], dtype=object), precision=mdqr.qd)
    assert xp.astype(a, xp.int64).tolist() == [*map(math.trunc, values), 0]
    positive = abs(a) * 2
    wanted = [abs(int(v * 2)) if v * 2 == int(v * 2) else abs(math.trunc(v * 2)) for v in values]
    assert xp.astype(positive, xp.uint64).tolist() == [w % 2**64 for w in [*wanted, 0]]
    assert xp.astype(a, xp.bool).tolist() == [v != 0 for v in [*values, 0]]
    with pytest.raises(TypeError, match="complex"):
        xp.astype(a * 1j, xp.int64)


def test_constants_have_the_precision(precision):
    namespace = mdqr.array_api(precision)
    assert (namespace.pi, namespace.e) == (mdqr.pi, mdqr.e)
    assert same_bits(namespace.asarray(namespace.pi), precision.pi)
    assert same_bits(namespace.asarray(1.0) * namespace.e, precision.e)
    assert (namespace.inf, namespace.newaxis) == (math.inf, None)
    assert math.isnan(namespace.nan)


def test_what_the_namespace_says_of_itself(precision):
    namespace = mdqr.array_api(precision)
    info = namespace.__array_namespace_info__()
    assert info.default_device() in info.devices()
    assert info.capabilities()["boolean indexing"]
    default = info.default_dtypes()
    assert namespace.asarray(1.0).dtype is default["real floating"]
    assert namespace.asarray(1j).dtype is default["complex floating"]
    assert namespace.asarray(1).dtype == default["integral"]
    assert set(info.dtypes(kind="real floating")) == {"float32", "float64"}
    assert set(info.dtypes()) == {"bool", *info.dtypes(kind="numeric")}


def test_signatures_are_those_of_the_standard():
    """What array_api_strict allows can be written with mdqr.array_api."""
    different = []
    pairs = [(xp, array_api_strict), (xp.linalg, array_api_strict.linalg)]
    for ours, theirs in pairs:
        for name in dir(ours):
            mine, other = getattr(ours, name), getattr(theirs, name, None)
            if name[0] == "_" or not inspect.isfunction(other) or inspect.isclass(mine):
                continue
            given = inspect.signature(mine).parameters.values()
            wanted = inspect.signature(other).parameters.values()
            forms = [[(p.name, p.kind, p.default is p.empty) for p in ps] for ps in (given, wanted)]
            if forms[0] != forms[1]:
                different.append((name, *forms))
    assert different == []


@given(x=xps.arrays(xps.floating_dtypes() | xps.complex_dtypes(), xps.array_shapes()))
def test_hypothesis_draws_arrays(x):
    assert isinstance(x, mdqr.MDArray)
    assert x.dtype in (xp.float32, xp.float64, xp.complex64, xp.complex128)


@given(x=xps.arrays(xps.integer_dtypes() | xps.boolean_dtypes(), xps.array_shapes()))
def test_hypothesis_draws_integers(x):
    assert isinstance(x, np.ndarray)


def test_dlpack_is_of_single_doubles(multiple):
    one = mdqr.array([1, 2], precision=mdqr.d)
    assert np.shares_memory(np.from_dlpack(one), one.limbs)
    assert one.__dlpack_device__() == (1, 0)
    assert xp.from_dlpack(np.asarray([0.5])).dtype is xp.float_d
    assert xp.from_dlpack(one) is one
    for a in (mdqr.ones(2, precision=multiple), mdqr.ones(2, precision=mdqr.d, dtype=complex)):
        with pytest.raises(BufferError, match="limbs"):
            np.from_dlpack(a)


def test_devices(precision):
    a = mdqr.ones(2, precision=precision)
    assert array_api_compat.device(a) == "cpu"
    assert array_api_compat.to_device(a, "cpu") is a
    assert xp.zeros(2, device="cpu").device == "cpu"
    with pytest.raises(ValueError, match="stream"):
        a.to_device("cpu", stream=1)


def test_array_api_extra(multiple, rng):
    a = abs(full_width(rng, multiple, 5))
    matrix = full_width(rng, multiple, (2, 3))
    x = array_api_extra
    assert same_bits(x.at(a)[1].set(2.0, copy=True)[1], mdqr.array(2.0, precision=multiple))
    assert x.at(a)[a > 1].add(1.0, copy=True).dtype is a.dtype
    assert same_bits(x.atleast_nd(a, ndim=2), a[None])
    np.testing.assert_allclose(x.cov(matrix).to_numpy(), np.cov(matrix.to_numpy()), rtol=1e-14)
    assert same_bits(x.create_diagonal(a), mdqr.diag(a))
    assert x.default_dtype(a.__array_namespace__()) is a.dtype
    assert x.isclose(a, a * (1 + 1e-9)).all()
    assert same_bits(x.kron(matrix, matrix), mdqr.kron(matrix, matrix))
    assert same_bits(x.nan_to_num(a), a)
    assert x.nunique(a) == 5
    assert same_bits(x.pad(a, 1)[1:-1], a)
    assert same_bits(x.union1d(a, a), mdqr.sort(a))
    assert x.setdiff1d(a, a).size == 0
    # Masks are NumPy's, so that the namespace has to be given.
    doubled = x.apply_where(a > 1, a, lambda v: 2 * v, fill_value=0.0, xp=a.__array_namespace__())
    assert same_bits(doubled, mdqr.where(a > 1, 2 * a, 0))


def test_shapes_broadcast():
    assert xp.broadcast_shapes((3, 1), (4,), ()) == (3, 4)
    assert xp.broadcast_shapes() == ()
    assert xp.isin(np.asarray([1, 2]), np.asarray([2]), invert=True).tolist() == [True, False]
    with pytest.raises(ValueError, match="broadcast"):
        xp.broadcast_shapes((2,), (3,))
