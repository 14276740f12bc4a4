"""The array API on the device, expression by expression against the host."""

from __future__ import annotations

import copy
from fractions import Fraction

import gpu_cases as cases
import mpmath
import numpy as np
import pytest

import mdqr
from mdqr.testing import assert_same_bits

pytestmark = pytest.mark.gpu

MASK = np.arange(20).reshape(4, 5) % 3 == 0

# Need no arithmetic: compared in the bare tree too.
CONTAINER = {
    "slice": lambda a, b: a[1:3, ::2],
    "negative step": lambda a, b: a[::-1, ::-2],
    "newaxis": lambda a, b: a[:, None, ..., 0],
    "one": lambda a, b: a[2, -1],
    "0-d view": lambda a, b: a[2, 1, ...],
    "advanced": lambda a, b: a[[2, 0, 0], [1, -1, 4]],
    "advanced and slice": lambda a, b: a[1:, [0, 3]],
    "mask": lambda a, b: a[MASK],
    "row mask": lambda a, b: a[np.array([True, False, True, True])],
    "transpose": lambda a, b: a.T,
    "mT": lambda a, b: a.mT,
    "H": lambda a, b: a.H,
    "reshape": lambda a, b: a.reshape(2, -1),
    "ravel of a transpose": lambda a, b: a.T.ravel(),
    "real": lambda a, b: a.real,
    "imag": lambda a, b: a.imag.copy(),
    "copy": lambda a, b: a.T.copy(),
    "deepcopy": lambda a, b: copy.deepcopy(a),
    "conj": lambda a, b: a.conj(),
    "negative": lambda a, b: -a,
    "concatenate": lambda a, b: mdqr.concatenate([a, b], axis=1),
    "concatenate flat": lambda a, b: mdqr.concatenate([a, b], axis=None),
    "stack": lambda a, b: mdqr.stack([a, b], axis=-1),
    "tril": lambda a, b: mdqr.tril(a, -1),
    "triu": lambda a, b: mdqr.triu(a, 1),
    "diag": lambda a, b: mdqr.diag(a),
    "diag of a vector": lambda a, b: mdqr.diag(a[0], 1),
    "zeros_like": lambda a, b: mdqr.zeros_like(a),
    "ones_like": lambda a, b: mdqr.ones_like(a),
    "full_like": lambda a, b: mdqr.full_like(a, "0.1"),
    "where": lambda a, b: mdqr.where(MASK, a, b),
    "where with a number": lambda a, b: mdqr.where(MASK, a, 0.5),
    "isfinite": lambda a, b: mdqr.isfinite(a),
    "isnan": lambda a, b: mdqr.isnan(a),
    "isinf": lambda a, b: mdqr.isinf(a),
    "item": lambda a, b: a.item(3),
    "tolist": lambda a, b: a[0].tolist(),
    "asarray": lambda a, b: mdqr.asarray(a),
    "array of rows": lambda a, b: mdqr.array([a[0], b[1]]),
    "nested with numbers": lambda a, b: mdqr.array([a[0, 0], 2, Fraction(1, 3)]),
    "float": lambda a, b: complex(a[0, 0]) if a.is_complex else float(a[0, 0]),
    "length": lambda a, b: (len(a), a.shape, a.size, a.ndim),
    "repr": lambda a, b: repr(a.to_device("cpu")),
    "strings": lambda a, b: a.to_strings(5).tolist(),
}
ARITHMETIC = {
    "add": lambda a, b: a + b,
    "broadcast": lambda a, b: a[:, :1] * b[:1, :],
    "strided": lambda a, b: a.T / b.T,
    "int": lambda a, b: 3 - a,
    "large int": lambda a, b: a + 2**200,
    "float": lambda a, b: a * 0.1,
    "complex": lambda a, b: a * (1 - 2j),
    "fraction": lambda a, b: a / Fraction(1, 3),
    "mpmath": lambda a, b: a + mpmath.mpf(0.375),
    "power": lambda a, b: a**3,
    "negative power": lambda a, b: a**-2,
    "square": lambda a, b: mdqr.square(a),
    "sqrt": lambda a, b: mdqr.sqrt(abs(a)),
    "reciprocal": lambda a, b: mdqr.reciprocal(a),
    "sign": lambda a, b: mdqr.sign(a),
    "numpy ufunc": lambda a, b: np.multiply(a, b),
    "equal": lambda a, b: a == b,
    "not equal": lambda a, b: a != a.copy(),
    "array_equal": lambda a, b: mdqr.array_equal(a, a.copy()),
    "allclose": lambda a, b: mdqr.allclose(a, a * 1.0000001),
    "trace": lambda a, b: mdqr.trace(a * 0 + 1),
    "outer": lambda a, b: mdqr.outer(a[0], b[0]),
    "vander": lambda a, b: mdqr.vander(a[0], 4),
    "linspace": lambda a, b: mdqr.linspace(a[0, 0], b[0, 0], 5),
    "any": lambda a, b: (a.any(), a.any(axis=0)),
    "all": lambda a, b: (a.all(), a.all(axis=1, keepdims=True)),
    "argmax": lambda a, b: (a.argmax(), a.argmax(axis=1)),
    "argmin": lambda a, b: (a.argmin(), a.argmin(axis=0)),
    "max": lambda a, b: (a.max(), a.max(axis=-1, keepdims=True)),
    "min": lambda a, b: (a.min(), a.min(axis=(0, 1))),
}
REAL = {
    "less": lambda a, b: a < b,
    "less than a number": lambda a, b: a <= Fraction(1, 3),
    "greater": lambda a, b: a > b.astype("d"),
    "maximum": lambda a, b: mdqr.maximum(a, b),
    "minimum": lambda a, b: mdqr.minimum(a, 0.25),
    "hypot": lambda a, b: mdqr.hypot(a, b),
    "floor": lambda a, b: mdqr.floor(a * 1e6),
    "ceil": lambda a, b: mdqr.ceil(a * 1e6),
    "rint": lambda a, b: mdqr.rint(a * 1e6),
}


def operands(rng, precision, dtype):
    return [mdqr.random.normal((4, 5), precision=precision, rng=rng, dtype=dtype) for _ in "ab"]


@pytest.mark.parametrize("name", CONTAINER)
def test_container(precision, dtype, name, rng):
    cases.same_on_both(CONTAINER[name], *operands(rng, precision, dtype))


@pytest.mark.parametrize("name", ARITHMETIC)
def test_arithmetic(precision, dtype, name, rng):
    cases.same_on_both(ARITHMETIC[name], *operands(rng, precision, dtype))


@pytest.mark.parametrize("name", REAL)
def test_real(precision, name, rng):
    cases.same_on_both(REAL[name], *operands(rng, precision, float))


# -- assignment ---------------------------------------------------------------------------------

INDICES = {
    "slice": (slice(1, 3), slice(None, None, 2)),
    "negative step": (slice(None, None, -1), slice(None, None, -2)),
    "one": (2, -1),
    "everything": (...,),
    "advanced": ([2, 0, 3], [1, -1, 4]),
    "advanced and slice": (slice(1, None), [0, 3]),
    "mask": (MASK,),
    "newaxis": (slice(None), None, 0),
}


@pytest.mark.parametrize("index", INDICES)
def test_assignment(precision, dtype, index, rng):
    where = INDICES[index]

    def assign(value):
        def call(a, b):
            a[where] = value(a, b)
            return a

        return call

    a, b = operands(rng, precision, dtype)
    for value in (
        lambda a, b: b[where],
        lambda a, b: b[where].astype("od"),
        lambda a, b: 0.1,
        lambda a, b: Fraction(2, 7),
        lambda a, b: b[1, 2],
    ):
        cases.same_on_both(assign(value), a, b)


@pytest.mark.parametrize("operation", ["+=", "-=", "*=", "/="])
def test_in_place(precision, dtype, operation, rng):
    def whole(a, b):
        block = a._block
        exec(f"a {operation} b", {}, {"a": a, "b": b})
        assert a._block is block
        return a

    def rows(a, b):
        exec(f"a[1:] {operation} a[:-1]", {}, {"a": a})
        return a

    def view(a, b):
        part = a[::-1, ::2]
        exec(f"part {operation} 3", {}, {"part": part})
        return a

    for call in (whole, rows, view):
        cases.same_on_both(call, *operands(rng, precision, dtype))


def test_views_share_memory(precision, dtype, rng):
    a = cases.to_device(operands(rng, precision, dtype)[0])
    a[1:].T[...] = 0
    assert bool((a[1:] == 0).all())
    assert not bool((a[0] == 0).any())
    copied = a.copy()
    copied[...] = 1
    assert bool((a[1:] == 0).all())


# -- creation -----------------------------------------------------------------------------------

CREATION = {
    "zeros": lambda **to: mdqr.zeros((2, 3), **to),
    "ones": lambda **to: mdqr.ones(4, **to),
    "full": lambda **to: mdqr.full((2, 2), "0.1", **to),
    "empty": lambda **to: mdqr.empty((0, 2), **to),
    "eye": lambda **to: mdqr.eye(3, 4, k=1, **to),
    "array": lambda **to: mdqr.array([[1, 2.5], [Fraction(1, 3), -0.0]], **to),
    "asarray": lambda **to: mdqr.asarray(np.arange(4.0), **to),
}
SEQUENCES = {
    "linspace": lambda **to: mdqr.linspace(0, 1, 7, **to),
    "arange": lambda **to: mdqr.arange(0, 1, "0.125", **to),
}


@pytest.mark.parametrize("name", CREATION)
def test_creation(precision, dtype, name):
    call = CREATION[name]
    found = call(precision=precision, dtype=dtype, device=cases.DEVICE)
    cases.assert_same(found, call(precision=precision, dtype=dtype))


@pytest.mark.parametrize("name", SEQUENCES)
@pytest.mark.usefixtures("host")
def test_sequences(precision, name):
    call = SEQUENCES[name]
    cases.assert_same(call(precision=precision, device=cases.DEVICE), call(precision=precision))


# -- two devices --------------------------------------------------------------------------------

MIXED = {
    "add": lambda a, b: a + b,
    "matmul": lambda a, b: a @ b.T,
    "less": lambda a, b: a == b,
    "where": lambda a, b: mdqr.where(MASK, a, b),
    "concatenate": lambda a, b: mdqr.concatenate([a, b]),
    "dot": lambda a, b: mdqr.dot(a, b.T),
    "solve": lambda a, b: mdqr.linalg.solve(a[:, :4], b[:, 0]),
    "lstsq": lambda a, b: mdqr.linalg.lstsq(a.T, b[0]),
    "in place": lambda a, b: a.__iadd__(b),
    "apply_qh": lambda a, b: mdqr.linalg.qr_factor(a).apply_qh(b),
}


@pytest.mark.usefixtures("host")
@pytest.mark.parametrize("name", MIXED)
def test_arrays_of_two_devices(precision, name, rng):
    a, b = operands(rng, precision, float)
    moved = cases.to_device(a)
    for x, y in ((moved, b), (moved, b.to_numpy())):
        if name == "apply_qh" and isinstance(y, np.ndarray):
            continue  # a NumPy array is converted to the factorisation's work
        with pytest.raises(ValueError, match=r"different devices.*to_device"):
            MIXED[name](x, y)


def test_assignment_moves_nothing_by_itself(precision, rng):
    a, b = operands(rng, precision, float)
    moved = cases.to_device(a)
    with pytest.raises(ValueError, match="to_device"):
        moved[...] = b
    moved[0] = 2.5
    assert_same_bits(cases.to_host(moved)[1:], a[1:])


def test_devices_that_are_not_there(precision):
    with pytest.raises(ValueError, match="this machine has"):
        mdqr.zeros(2, precision=precision, device="cuda:99")
    assert mdqr.zeros(2, precision=precision, device=cases.DEVICE).to_device("cuda").device == (
        mdqr.zeros(2, precision=precision, device="cuda:0").device
    )
