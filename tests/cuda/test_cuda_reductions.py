"""CUDA kernels over rows, run by emulated threads, against the host and exact sums."""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate

import numpy as np
import pytest
from cuda_cases import assert_same, cases, flipped_axes
from kernel_hashes import draws, mixed, plain

from mdqr._backend.cuda import reductions
from mdqr._backend.cuda.axes import MAX_AXES
from mdqr._backend.host import backend as host
from mdqr._limbs.planes import Kind


@pytest.fixture(scope="module")
def backend():
    return host.backend()


ROWS = {
    "short": lambda maker: maker((13, 5)),
    "one": lambda maker: maker((7, 1)),
    "many": lambda maker: maker((37, 19)),
    "pieces": lambda maker: maker((2, 4_300)),
    "columns": lambda maker: maker((150, 11)).swapaxes(-1, -2),
    "column pieces": lambda maker: maker((4_200, 5)).swapaxes(-1, -2),
    "reversed": lambda maker: maker((6, 4, 60))[..., ::-2, :, ::-3],
    "vector": lambda maker: maker((70,)),
    "axes": lambda maker: flipped_axes(maker((9, *(2,) * (MAX_AXES + 1))), MAX_AXES + 2),
}


def rows(shape_name, rng, limbs, is_complex, kind=plain):
    return ROWS[shape_name](lambda shape: draws(rng, limbs, shape, is_complex, kind))


@pytest.mark.parametrize("kind", [plain, mixed])
@pytest.mark.parametrize(("op", "precision", "dtype"), cases(["sum", "prod"]))
def test_reduce_as_on_the_host(kernels, backend, op, precision, dtype, kind, rng):
    limbs, is_complex = precision.limbs, dtype is complex
    for name in ROWS:
        x = rows(name, rng, limbs, is_complex, kind)
        expected = backend.reduce(op, x, kind=Kind(limbs, is_complex))
        assert_same(reductions.reduce(kernels, op, x, Kind(limbs, is_complex)), expected)


@pytest.mark.parametrize("op", ["sum", "prod"])
@pytest.mark.parametrize("shape", [(3, 0), (0, 3), (0, 0), (2, 0, 4)])
def test_reduce_of_nothing(kernels, backend, op, shape):
    for is_complex in (False, True):
        x = np.empty(((2,) if is_complex else ()) + (2, *shape))
        expected = backend.reduce(op, x, kind=Kind(2, is_complex))
        assert_same(reductions.reduce(kernels, op, x, 2, is_complex), expected)


def test_launches_of_a_sum(kernels, rng):
    for length, launches in ((4096, 1), (4097, 2)):
        del kernels.launched[:]
        reductions.reduce(kernels, "sum", rng.standard_normal((2, length)), 2, False)
        assert kernels.launched == ["mdqr_reduce"] * launches


@pytest.mark.parametrize("kind", [plain, mixed])
@pytest.mark.parametrize(("op", "precision", "dtype"), cases(["cumsum"]))
def test_short_running_sums_as_on_the_host(kernels, backend, op, precision, dtype, kind, rng):
    limbs, is_complex = precision.limbs, dtype is complex
    for x in (
        rows("short", rng, limbs, is_complex, kind),
        rows("columns", rng, limbs, is_complex, kind)[..., :64],
        rows("reversed", rng, limbs, is_complex, kind),
        rows("axes", rng, limbs, is_complex, kind),
        rows("vector", rng, limbs, is_complex, kind)[..., :0],
    ):
        expected = backend.cumsum(x, kind=Kind(limbs, is_complex))
        assert_same(reductions.cumsum(kernels, x, Kind(limbs, is_complex)), expected)


def exact_values(block):
    """Return the value of every number of real planes ``(limbs, length)``."""
    return [sum(map(Fraction, limbs), Fraction(0)) for limbs in block.T.tolist()]


@pytest.mark.parametrize(("op", "precision", "dtype"), cases(["cumsum"], [float]))
def test_long_running_sums(kernels, op, precision, dtype, rng):
    for length, across in ((65, False), (200, True), (4_200, False)):
        x = draws(rng, precision.limbs, (4, length), False)
        if across:
            x = np.ascontiguousarray(x.swapaxes(-1, -2)).swapaxes(-1, -2)
        sums = reductions.cumsum(kernels, x, precision.limbs, False)
        terms = exact_values(x[:, 1])
        sizes = accumulate(map(abs, terms))
        for k, (found, wanted, size) in enumerate(
            zip(exact_values(sums[:, 1]), accumulate(terms), sizes, strict=True)
        ):
            # A running sum's bound: as many additions as terms.
            assert abs(found - wanted) <= (k + 8) * Fraction(precision.eps) * size


def test_running_sums_of_values_that_are_not_finite(kernels, rng):
    x = draws(rng, 2, (3, 300), False)
    x[:, 0, 100], x[:, 1, 150], x[:, 2, 250] = np.nan, [np.inf, 0.0], [-np.inf, 0.0]
    x[:, 1, 170] = [-np.inf, 0.0]
    sums = reductions.cumsum(kernels, x, 2, False)
    assert_same(np.isnan(sums[0, 0]), np.arange(300) >= 100)
    assert_same(sums[0, 1, 150:170], np.full(20, np.inf))
    assert_same(np.isnan(sums[0, 1]), np.arange(300) >= 170)
    assert_same(sums[:, 2, 250:], np.array([[-np.inf] * 50, [0.0] * 50]))


@pytest.mark.parametrize("kind", [plain, mixed])
@pytest.mark.parametrize(("op", "precision", "dtype"), cases(["max", "min"], [float]))
def test_argreduce_as_on_the_host(kernels, backend, op, precision, dtype, kind, rng):
    for name in ROWS:
        x = rows(name, rng, precision.limbs, False, kind)
        assert_same(reductions.argreduce(kernels, op, x), backend.argreduce(op, x))


@pytest.mark.parametrize("op", ["max", "min"])
def test_argreduce_takes_the_first(kernels, op):
    x = np.zeros((2, 3, 2_000))
    # Two forms of one value, 1 + 2**-53.
    one_sided = [[1.0, 1.0 + 2.0**-52], [2.0**-53, -(2.0**-53)]]
    sign = 1.0 if op == "max" else -1.0
    x[:, 0, [1_700, 900]] = x[:, 0, [901, 12]] = sign * np.array(one_sided)
    x[0, 1, [1_999, 3]] = sign * np.inf
    x[0, 1, [1_500, 700]] = np.nan
    assert_same(reductions.argreduce(kernels, op, x), np.array([12, 700, 0]))
