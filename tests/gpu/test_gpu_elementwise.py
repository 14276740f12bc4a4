"""Elementwise operations give the same limbs on the device as on the host.

MDQR_GPU_VALUES values an operation, of all families and in all relations of `mdqr.testing`.
"""

from __future__ import annotations

import gpu_cases as cases
import numpy as np
import pytest

from mdqr._limbs.planes import Kind
from mdqr._precision import PRECISIONS

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("host")]

UNARY = ("sqrt", "square", "reciprocal", "abs", "renormalize")
REAL_UNARY = ("floor", "ceil", "rint")
BINARY = ("add", "subtract", "multiply", "divide")
REAL_BINARY = ("hypot",)


@pytest.fixture(scope="module")
def operands(precision, dtype):
    """Pairs of blocks, drawn once for all operations of a precision and field."""
    return cases.pairs(precision.limbs, dtype is complex)


@pytest.fixture
def backends(cupy):
    """The device and the host."""
    from mdqr._backend.cuda import backend
    from mdqr._backend.host import backend as host

    return backend.backend(), host.backend()


@pytest.fixture
def compare(backends, operands, record_property):
    """Return a function that compares ``call(backend, *blocks)`` for blocks made of the pairs."""
    device, host = backends

    def check(what, call, prepare=lambda x, y: (x, y)):
        count = 0
        for x, y in operands:
            given = prepare(x, y)
            got = call(device, *map(device.xp.asarray, given))
            with np.errstate(all="ignore"):
                wanted = call(host, *given)
            cases.assert_same_block(device.xp, got, wanted, what, given)
            count += x.shape[-1]
        record_property("operation", what)
        record_property("values", count)

    return check


def operations(both, real):
    """Return the operations with their fields, as parameters."""
    cases = [(dtype, op) for dtype in (float, complex) for op in both] + [
        (float, op) for op in real
    ]
    names = [f"{'real' if dtype is float else 'complex'}-{op}" for dtype, op in cases]
    return pytest.mark.parametrize(("dtype", "op"), cases, ids=names, indirect=["dtype"])


@operations(UNARY, REAL_UNARY)
def test_unary(compare, precision, dtype, op):
    options = {"kind": Kind(precision.limbs, dtype is complex)}

    def prepare(x, y):
        # Renormalisation takes any number of doubles in any order: the limbs of both operands.
        return (np.concatenate([y, x], axis=-2) if op == "renormalize" else x,)

    compare(f"{op}", lambda backend, x: backend.unary(op, x, **options), prepare)


@operations(BINARY, REAL_BINARY)
def test_binary(compare, precision, dtype, op):
    options = {"kind": Kind(precision.limbs, dtype is complex)}
    compare(op, lambda backend, x, y: backend.binary(op, x, y, **options))


@pytest.mark.parametrize("dtype", [float], ids=["real"], indirect=True)
def test_compare(compare, precision, dtype):
    compare("compare", lambda backend, x, y: backend.compare(x, y))


@pytest.mark.parametrize("dtype", [float], ids=["real"], indirect=True)
def test_ldexp(compare, precision, dtype):
    def prepare(x, _):
        rng = np.random.default_rng(x.shape[-1])
        near = rng.integers(-2200, 2200, size=x.shape[-1])
        far = rng.choice([-(2**62), -(2**40), 2**40, 2**62], size=x.shape[-1])
        return x, np.where(rng.random(x.shape[-1]) < 0.9, near, far)

    compare("ldexp", lambda backend, x, e: backend.ldexp(x, e), prepare)


# -- operands that are not contiguous, or shorter than the result -------------------------------


def views(rng, limbs, is_complex):
    """Return pairs of blocks whose strides a kernel might get wrong."""

    def drawn(*shape):
        return cases.block(rng, limbs, shape, is_complex, special=True, bounds=cases.EVERYTHING)

    x, y = drawn(37, 29), drawn(37, 29)
    wide = drawn(5, 1, 3, 1, 2, 7)
    return {
        "transposed": (x.swapaxes(-1, -2), drawn(29, 37)),
        "reversed": (x[..., ::-1, ::-2], y[..., ::2]),
        "one value against many": (drawn(), x),
        "a row and a column": (x[..., :1, :], y[..., :, :1]),
        "six axes": (wide, drawn(4, 1, 6, 1, 1)),
        "eight axes": (drawn(2, 1, 2, 3, 1, 2, 1, 3), drawn(1, 2, 2, 1, 3, 1, 2, 3)),
        "nothing": (drawn(0, 3), drawn(1, 3)),
        "slices of one": (x[..., 1:, :], x[..., :-1, :]),
    }


@pytest.mark.parametrize("name", views(np.random.default_rng(0), 1, False))
def test_views(backends, precision, dtype, name, rng):
    device, host = backends
    is_complex = dtype is complex
    options = {"kind": Kind(precision.limbs, is_complex)}
    x, y = views(rng, precision.limbs, is_complex)[name]
    # Every stride must survive the way to the device: move the memory, then take the same views.
    given = [like(device.xp, block) for block in (x, y)]
    for op in BINARY:
        with np.errstate(all="ignore"):
            wanted = host.binary(op, x, y, **options)
        got = device.binary(op, *given, **options)
        assert got.flags.c_contiguous
        np.testing.assert_array_equal(cases.to_host(got), wanted)
    for op in ("sqrt", "abs"):
        with np.errstate(all="ignore"):
            wanted = host.unary(op, x, **options)
        got = device.unary(op, given[0], **options)
        np.testing.assert_array_equal(cases.to_host(got), wanted)


def like(xp, block):
    """Return a device array with the values and the order of strides of `block`."""
    order = np.argsort([-abs(stride) for stride in block.strides], kind="stable")
    signs = tuple(slice(None, None, -1 if stride < 0 else 1) for stride in block.strides)
    straight = np.ascontiguousarray(block[signs].transpose(order))
    moved = xp.asarray(straight).transpose(np.argsort(order).tolist())[signs]
    assert moved.shape == block.shape
    return moved


@pytest.mark.parametrize("op", BINARY)
def test_results_go_into_any_memory(backends, multiple, dtype, op, rng):
    device, host = backends
    is_complex = dtype is complex
    options = {"kind": Kind(multiple.limbs, is_complex)}
    x, y = (cases.block(rng, multiple.limbs, (13, 17), is_complex) for _ in range(2))
    wanted = host.binary(op, x, y, **options)
    large = device.xp.zeros((*x.shape[:-2], 34, 26))
    target = large.swapaxes(-1, -2)[..., ::2, ::-2]
    given = [device.xp.asarray(v) for v in (x, y)]
    found = device.binary(op, *given, out=target, **options)
    np.testing.assert_array_equal(cases.to_host(found), wanted)
    np.testing.assert_array_equal(cases.to_host(target), wanted)
    untouched = large.swapaxes(-1, -2)[..., 1::2, :]
    assert not bool(untouched.any())
    own = given[0].copy()
    device.binary(op, own, given[1], out=own, **options)
    np.testing.assert_array_equal(cases.to_host(own), wanted)


@pytest.mark.parametrize(
    ("held", "precision"),
    [(held, precision) for precision in PRECISIONS for held in PRECISIONS if held <= precision],
    ids=str,
    indirect=["precision"],
)
@operations(BINARY, ["compare"])
def test_fewer_limbs_than_the_result(backends, precision, dtype, op, held, rng):
    device, host = backends
    is_complex = dtype is complex
    options = {"kind": Kind(precision.limbs, is_complex)}
    wild = {"special": True, "bounds": cases.EVERYTHING}
    x = cases.block(rng, precision.limbs, (999,), is_complex, **wild)
    y = cases.block(rng, held.limbs, (999,), is_complex, **wild)
    for a, b in ((x, y), (y, x)):
        given = [device.xp.asarray(v) for v in (a, b)]
        with np.errstate(all="ignore"):
            if op == "compare":
                got, wanted = device.compare(*given), host.compare(a, b)
            else:
                wanted = host.binary(op, a, b, **options)
                got = device.binary(op, *given, **options)
        cases.assert_same_block(device.xp, got, wanted, op, (a, b))
