"""Elementwise CUDA kernels, run by emulated threads, give the limbs of the host."""

from __future__ import annotations

import numpy as np
import pytest
from cuda_cases import assert_same, cases, flipped_axes
from hypothesis import given
from hypothesis import strategies as st
from kernel_hashes import draws, mixed, plain

from mdqr._backend import protocol
from mdqr._backend.cuda.axes import MAX_AXES, merge, padded
from mdqr._backend.cuda.runtime.kernels import Module, fields, planes
from mdqr._backend.host import backend as host
from mdqr._limbs.planes import Kind
from mdqr.testing import arrays, pairs

UNARY = [op for op in protocol.UNARY if op != "renormalize"]
VALUES = 96


@pytest.fixture(scope="module")
def backend():
    return host.backend()


@pytest.mark.parametrize(("op", "precision", "dtype"), cases(UNARY))
def test_unary_as_on_the_host(cuda, backend, op, precision, dtype):
    limbs, is_complex = precision.limbs, dtype is complex

    @given(arrays(precision, VALUES, dtype=dtype))
    def check(x):
        expected = backend.unary(op, x.limbs, kind=Kind(limbs, is_complex))
        assert_same(cuda.unary(op, x.limbs, kind=Kind(limbs, is_complex)), expected)

    check()


@pytest.mark.parametrize(("op", "precision", "dtype"), cases(protocol.BINARY))
def test_binary_as_on_the_host(cuda, backend, op, precision, dtype):
    limbs, is_complex = precision.limbs, dtype is complex

    @given(pairs(precision, VALUES, dtype=dtype))
    def check(xy):
        x, y = (operand.limbs for operand in xy)
        expected = backend.binary(op, x, y, kind=Kind(limbs, is_complex))
        assert_same(cuda.binary(op, x, y, kind=Kind(limbs, is_complex)), expected)

    check()


@pytest.mark.parametrize(("op", "precision", "dtype"), cases(["compare"], [float]))
def test_compare_as_on_the_host(cuda, backend, op, precision, dtype):
    @given(pairs(precision, VALUES))
    def check(xy):
        x, y = (operand.limbs for operand in xy)
        for other in (y, y[:1]):
            assert_same(cuda.compare(x, other), backend.compare(x, other))

    check()


@pytest.mark.parametrize(("op", "precision", "dtype"), cases(["ldexp"], [float]))
def test_ldexp_as_on_the_host(cuda, backend, op, precision, dtype):
    @given(arrays(precision, (4, 24)), st.integers(0, 2**32 - 1))
    def check(x, seed):
        exponent = np.random.default_rng(seed).integers(-2200, 2200, size=(4, 24))
        exponent[0, :3] = 2**63 - 1, -(2**63), 0
        for e in (exponent, exponent[1:2, ::-1], exponent[:, :1].astype(np.int32)):
            assert_same(cuda.ldexp(x.limbs, e), backend.ldexp(x.limbs, e))

    check()


@pytest.mark.parametrize(("op", "precision", "dtype"), cases(["renormalize"]))
def test_renormalize_as_on_the_host(cuda, backend, op, precision, dtype, rng):
    limbs, is_complex = precision.limbs, dtype is complex
    for held in (1, limbs + 3):
        x = draws(rng, held, (200,), is_complex, mixed)
        x = np.concatenate([x, rng.permuted(x, axis=-1)], axis=-2)
        expected = backend.unary(op, x, kind=Kind(limbs, is_complex))
        assert_same(cuda.unary(op, x, kind=Kind(limbs, is_complex)), expected)


@pytest.mark.parametrize(("op", "precision", "dtype"), cases(["renormalize"]))
def test_sums_of_numbers_and_corrections(cuda, backend, op, precision, dtype, rng):
    """A number, one below it that may reach its last bit or half of it, and a remainder."""
    limbs, is_complex, count = precision.limbs, dtype is complex, 2000
    planes = (2, limbs, count) if is_complex else (limbs, count)
    kind, grades = Kind(limbs, is_complex), 2.0 ** -(53.0 * np.arange(limbs))[:, None]
    x = backend.unary(op, rng.standard_normal(planes) * grades, kind=kind)
    below = 2.0 ** (-53.0 * limbs + rng.integers(-60, 60, count))
    low = rng.standard_normal(planes) * grades * below
    half = np.spacing(x[..., -1, :]) * rng.choice([0.5, -0.5, 1.0, 0.25], count)
    low[..., 0, ::2] = half[..., ::2]
    low[..., 1:, ::4] = 0.0
    low[..., -1, ::8] = rng.choice([-1.0, 1.0], low[..., -1, ::8].shape) * 2.0**-1074
    x[..., ::16] = 2.0 ** rng.integers(-3, 3) * (np.arange(limbs) == 0)[:, None]
    axis = int(is_complex)
    terms = np.concatenate([x, low], axis=axis)
    whole = backend.unary(op, terms, kind=kind)
    assert_same(cuda.unary(op, terms, kind=kind), whole)
    rest, one = np.concatenate([terms, -whole], axis=axis), Kind(1, is_complex)
    assert_same(cuda.unary(op, rest, kind=one), backend.unary(op, rest, kind=one))
    for value in (np.inf, -np.inf, np.nan, 1.7e308, -0.0):
        few = np.full((*planes[:-1], 3), value)
        assert_same(cuda.unary(op, few, kind=kind), backend.unary(op, few, kind=kind))


# Views of values.
VIEWS = {
    "transposed": lambda x: x.swapaxes(-1, -2),
    "reversed": lambda x: x[..., ::-1, ::-2],
    "row": lambda x: x[..., :1, :],
    "column": lambda x: x[..., 3:4],
    "scalar": lambda x: x[..., 2, 5],
    "cut": lambda x: x[..., 2:9, 1:18],
    "empty": lambda x: x[..., :0],
}


@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("view", VIEWS)
def test_strides_and_broadcasting(cuda, backend, view, dtype, rng):
    is_complex = dtype is complex
    x, y, z = (draws(rng, 2, (12, 24), is_complex, mixed) for _ in range(3))
    one, two = VIEWS[view](x), VIEWS[view](y)
    options = {"kind": Kind(2, is_complex)}
    expected = backend.binary("add", one, two, **options)
    assert_same(cuda.binary("add", one, two, kind=Kind(2, is_complex)), expected)
    out = VIEWS[view](z)
    assert cuda.binary("add", one, two, kind=Kind(2, is_complex), out=out) is out
    assert_same(out, expected)
    assert cuda.binary("add", one, two, kind=Kind(2, is_complex), out=one) is one
    assert_same(one, expected)


@pytest.mark.parametrize("view", ["row", "column", "scalar"])
def test_operands_of_two_shapes(cuda, backend, view, rng):
    x = draws(rng, 2, (12, 24), True, plain)
    short = VIEWS[view](x)[:, :1]
    for one, two in ((x, short), (short, x)):
        expected = backend.binary("add", one, two, kind=Kind(2, True))
        assert_same(cuda.binary("add", one, two, kind=Kind(2, True)), expected)
    spread = np.broadcast_to(short[:1], short.shape)
    expected = backend.binary("add", spread, x, kind=Kind(2, True))
    assert_same(cuda.binary("add", spread, x, kind=Kind(2, True)), expected)


def test_more_axes_than_a_kernel_takes(cuda, backend, rng):
    x, y, z = (draws(rng, 2, (2,) * (MAX_AXES + 2), True, plain) for _ in range(3))
    y = flipped_axes(y, MAX_AXES + 2)
    out = z[..., ::-1, :]
    expected = backend.binary("add", x, y, kind=Kind(2, True))
    assert cuda.binary("add", x, y, kind=Kind(2, True), out=out) is out
    assert_same(out, expected)
    exponent = np.arange(128).reshape((2,) * (MAX_AXES + 1)).T
    assert_same(cuda.ldexp(x[0], exponent), backend.ldexp(x[0], exponent))


def test_real_abs_in_place_and_widened(cuda, rng):
    x = draws(rng, 2, (50,), False, mixed)
    wide = cuda.unary("abs", x, kind=Kind(4, False))
    cuda.unary("abs", x, kind=Kind(2, False), out=x)
    assert_same(wide[:2], x)
    assert not wide[2:].any()
    assert not np.signbit(x[0]).any()


def test_offsets_beyond_32_bits(kernels, rng):
    # The size says 2**33, the grid covers the first block: divisions of 64 bits.
    x, out = rng.standard_normal((1, 4, 64)), np.zeros((1, 4, 64))
    view = [*planes(kernels, x.swapaxes(-1, -2), False), *padded([1, 64], 0)]
    to = [*planes(kernels, out, False), *padded([4, 1], 0)]
    arguments = fields(2**33, 2, padded([2**31, 4], 1), to, view)
    module = Module("elementwise/elementwise", Kind(1, False), ("MDQR_UNARY=square",))
    kernels.launch(module, "mdqr_unary", arguments, grid=(1,), threads=256)
    np.testing.assert_array_equal(out.reshape(64, 4), (x * x)[0].T)


@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=5),
    st.integers(1, 3),
    st.randoms(use_true_random=False),
)
def test_merged_axes_visit_the_same_places(shape, operands, random):
    natural = [int(np.prod(shape[k + 1 :])) for k in range(len(shape))]
    strides = [
        tuple(random.choice([n, n, n, 0, -n, 7 * k + 1]) for k, n in enumerate(natural))
        for _ in range(operands)
    ]
    lengths, steps = merge(tuple(shape), strides)
    assert all(n > 1 for n in lengths)
    assert len(lengths) <= len(shape) <= MAX_AXES

    def places(shape, axes):
        index = np.indices(shape).reshape(len(shape), -1)
        return sorted(map(tuple, (np.array(axes).reshape(len(shape), operands).T @ index).T))

    assert places([*lengths, 1], [*steps, (0,) * operands]) == places(
        shape, list(zip(*strides, strict=True))
    )


def test_contiguous_operands_have_one_axis():
    assert merge((3, 4, 5), [(20, 5, 1), (20, 5, 1), (0, 0, 0)]) == ([60], [(1, 1, 0)])
