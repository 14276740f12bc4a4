"""Products and reductions on the device keep the bounds of the contract."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from fractions import Fraction
from functools import partial
from pathlib import Path

import gpu_cases as cases
import gpu_exact
import numpy as np
import pytest
from exact_matrices import Exact

import mdqr
from mdqr._precision import PRECISIONS
from mdqr.linalg import matmul, norm
from mdqr.testing import assert_same_bits, ulp_error

pytestmark = pytest.mark.gpu

SHAPES = [(1, 1, 1), (7, 30, 5), (33, 9, 40), (1, 200, 1), (65, 17, 1), (1, 33, 64), (40, 64, 40)]


def draw(rng, precision, shape, dtype, exponent=3):
    """Return full-width values on the device within a few binary orders."""
    block = cases.block(rng, precision.limbs, shape, dtype is complex)
    lead = block[:, :1] if dtype is complex else block[:1]
    size = np.frexp(np.where(lead == 0, 1.0, lead))[1]
    target = rng.integers(-exponent, exponent, size=size.shape, endpoint=True)
    block = np.ldexp(block, target - size)
    return cases.to_device(mdqr.MDArray._wrap(block, precision, dtype is complex))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_products(precision, dtype, shape, rng):
    m, k, n = shape
    a, b = draw(rng, precision, (m, k), dtype), draw(rng, precision, (k, n), dtype)
    product = matmul(a, b)
    assert product.device.startswith(cases.DEVICE)
    gpu_exact.assert_product(a, b, product)


@pytest.mark.parametrize("shape", [(9, 40, 8), (40, 70, 1)], ids=str)
@pytest.mark.parametrize("grade", ["rows", "inner", "wide range"])
def test_products_over_many_binary_orders(multiple, dtype, shape, grade, rng):
    """The span of one sum decides between digits and exact sums."""
    m, k, n = shape
    a = draw(rng, multiple, (m, k), dtype, 120 if grade == "wide range" else 3)
    b = draw(rng, multiple, (k, n), dtype, 120 if grade == "wide range" else 3)
    step = {"rows": np.arange(m)[:, None] * -10, "inner": np.arange(k) * -9, "wide range": 0}[grade]
    a = mdqr.MDArray._wrap(
        a.limbs * cases.to_device_block(np.ldexp(np.ones((m, k)), step)), multiple, a.is_complex
    )
    gpu_exact.assert_product(a, b, matmul(a, b))


def test_every_pair_of_precisions(rng):
    for p in PRECISIONS:
        for q in PRECISIONS:
            a, b = draw(rng, p, (5, 7), float), draw(rng, q, (7, 3), complex)
            product = matmul(a, b)
            assert product.precision is max(p, q)
            gpu_exact.assert_product(a, b, product)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((3,), (3,)),
        ((4, 3), (3,)),
        ((3,), (3, 2)),
        ((5, 4, 3), (3, 2)),
        ((4, 3), (5, 3, 2)),
        ((5, 1, 4, 3), (6, 3, 2)),
        ((0, 3), (3, 2)),
        ((4, 0), (0, 2)),
        ((2, 0, 3), (2, 3, 0)),
    ],
    ids=str,
)
def test_shapes_are_those_of_numpy(precision, dtype, left, right):
    a = np.arange(1.0, 1.0 + np.prod(left)).reshape(left)
    b = np.arange(2.0, 2.0 + np.prod(right)).reshape(right)
    if dtype is complex:
        a = a * (1 - 2j)
    product = matmul(
        cases.to_device(mdqr.array(a, precision=precision)),
        mdqr.array(b, precision=precision, device=cases.DEVICE),
    )
    with np.errstate(invalid="ignore"):
        wanted = a @ b
    assert product.shape == wanted.shape
    assert np.array_equal(product.to_numpy(), wanted)


def test_products_repeat_their_bits(multiple, dtype, rng):
    multiply = partial(matmul, method="direct")
    a, b = draw(rng, multiple, (70, 50), dtype), draw(rng, multiple, (50, 90), dtype)
    whole = multiply(a, b)
    assert_same_bits(multiply(a, b), whole)
    rows = mdqr.concatenate([multiply(a[:33], b), multiply(a[33:], b)])
    assert_same_bits(rows, whole)


def test_values_that_are_not_finite(precision, dtype):
    a = mdqr.array([[1, np.inf, 2], [np.nan, 1, 0], [1, 2, 3]], precision=precision, dtype=dtype)
    b = mdqr.array([[1, 0], [2, 1], [-np.inf, 1]], precision=precision, dtype=dtype)
    with np.errstate(invalid="ignore"):
        product = matmul(cases.to_device(a), cases.to_device(b))
    found = np.isfinite(product.to_numpy())
    assert found.tolist() == [[False, False], [False, False], [False, True]]
    lower = cases.to_host(product).limbs[..., 1:, :, :]
    assert (lower[..., ~found] == 0).all()


# -- reductions ---------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 7, 100, 1025])
def test_sums(multiple, count, rng):
    a = cases.array(rng, multiple, (3, count), float)
    moved = cases.to_device(a)
    values = np.asarray(a.to_fractions())
    sizes = abs(values)
    bound = (count + 8) * Fraction(multiple.eps)
    for found, wanted, size in (
        (moved.sum(1), values.sum(1), sizes.sum(1)),
        (moved.sum(0), values.sum(0), sizes.sum(0)),
        (moved.sum(), values.sum(), sizes.sum()),
        (moved.cumsum(1), values.cumsum(1), sizes.cumsum(1)),
        (moved.mean(1), values.sum(1) / count, 2 * sizes.sum(1) / count),
    ):
        assert found.device.startswith(cases.DEVICE)
        error = np.asarray(abs(found.to_fractions() - wanted))
        assert np.all(error <= bound * size + Fraction(2) ** -1060)


def test_products_of_values(multiple, dtype, rng):
    a = draw(rng, multiple, (4, 40), dtype, 1)
    found = a.prod(axis=1)
    for i in range(4):
        real, imag = Fraction(1), Fraction(0)
        for x, y in zip(*(part[i].to_fractions() for part in (a.real, a.imag)), strict=True):
            real, imag = real * x - imag * y, real * y + imag * x
        square = (found[i].real.to_fractions().item() - real) ** 2
        square += (found[i].imag.to_fractions().item() - imag) ** 2
        # 39 products of error 2 eps, complex ones 4 eps.
        assert square <= (2 * 48 * 2 * Fraction(multiple.eps)) ** 2 * (real**2 + imag**2)


@pytest.mark.parametrize("axis", [None, 0, 1, (0, 2), (), -1])
@pytest.mark.parametrize("keepdims", [False, True])
def test_axes(precision, dtype, axis, keepdims, rng):
    """Small integers, whose sums and products are exact: NumPy's shapes and values."""
    x = rng.integers(-3, 4, (2, 3, 4)) + (1j * rng.integers(-3, 4, (2, 3, 4)) * (dtype is complex))
    x = x if dtype is complex else x.real
    a = mdqr.array(x, precision=precision, dtype=dtype, device=cases.DEVICE)
    for name in ("sum", "prod", "any", "all"):
        found = getattr(a, name)(axis=axis, keepdims=keepdims)
        wanted = getattr(x, name)(axis=axis, keepdims=keepdims)
        found = found.to_numpy() if isinstance(found, mdqr.MDArray) else cases.to_host(found)
        np.testing.assert_array_equal(found, wanted)
    if dtype is float:
        for name in ("max", "min"):
            found = getattr(a, name)(axis=axis, keepdims=keepdims).to_numpy()
            np.testing.assert_array_equal(found, getattr(x, name)(axis=axis, keepdims=keepdims))


def test_empty_axes(precision, dtype):
    a = mdqr.zeros((2, 0), precision=precision, dtype=dtype, device=cases.DEVICE)
    assert a.sum(axis=1).to_numpy().tolist() == [0, 0]
    assert a.prod(axis=1).to_numpy().tolist() == [1, 1]
    assert a.sum(axis=0).shape == a.cumsum(axis=0)[0].shape == (0,)
    with pytest.raises(ValueError, match="of no values"):
        a.max()


def test_nan_wins(precision):
    x = np.array([[1, np.nan, 3], [np.inf, 2, -np.inf], [4, 5, 5]])
    a = mdqr.array(x, precision=precision, device=cases.DEVICE)
    for name in ("max", "min"):
        np.testing.assert_array_equal(getattr(a, name)(1).to_numpy(), getattr(x, name)(1))
        found = cases.to_host(getattr(a, "arg" + name)(1))
        np.testing.assert_array_equal(found, getattr(x, "arg" + name)(1))


def test_norms(multiple, dtype, rng):
    a = draw(rng, multiple, (12, 9), dtype)
    exact = Exact.of(a)
    squares = exact.squares() * Fraction(1, 4) ** exact.exponent
    # 108 squares and a root: (108 + 8) eps / 2 and 2 eps.
    for found, wanted in ((norm(a), squares.sum()), (norm(a, axis=0)[3], squares[:, 3].sum())):
        error = abs(Fraction(found.to_fractions().item()) ** 2 - wanted)
        assert error <= 2 * 64 * Fraction(multiple.eps) * wanted


def test_dots(multiple, dtype, rng):
    a, b = (draw(rng, multiple, (50,), dtype) for _ in range(2))
    gpu_exact.assert_product(a[None], b[:, None], mdqr.dot(a, b)[None, None])
    gpu_exact.assert_product(a.conj()[None], b[:, None], mdqr.vdot(a, b)[None, None])


# -- float64 stays float64 -----------------------------------------------------------------------

EMULATION = {
    "NVIDIA_TF32_OVERRIDE": "1",
    "CUBLAS_EMULATE_DOUBLE_PRECISION": "1",
    "CUBLAS_EMULATE_SINGLE_PRECISION": "1",
    "CUBLAS_EMULATION_STRATEGY": "eager",
    "CUBLAS_FIXEDPOINT_EMULATION_MANTISSA_BIT_COUNT": "24",
    "CUBLAS_EMULATION_SPECIAL_VALUES_SUPPORT_MASK": "0",
}
PROGRAM = """
import json
import cupy
import numpy as np
import mdqr
rng = np.random.default_rng(8)
a, b = (rng.integers(-2**20, 2**20, (512, 512)).astype(float) for _ in "ab")
x, y = (mdqr.array(v, precision=mdqr.d, device="cuda") for v in (a, b))
found = cupy.asnumpy(mdqr.linalg.matmul(x, y).limbs[0])
plain = cupy.asnumpy(cupy.matmul(cupy.asarray(a), cupy.asarray(b)))
wanted = a.astype(np.int64) @ b.astype(np.int64)
Q, R = mdqr.linalg.qr(x)
errors = mdqr.linalg.certify(x, Q, R)
print(json.dumps([int(abs(found - wanted).max()), int(abs(plain - wanted).max()),
                  errors.columnwise, errors.orthogonality]))
"""


def test_float64_products_stay_float64(record_property):
    """Sums of 512 products of 20-bit integers are exact in float64, whatever the environment asks.

    The error of CuPy's own product is recorded: above zero, the request had an effect.
    """
    root = Path(mdqr.__file__).resolve().parent.parent
    paths = [str(root), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    environment = os.environ | EMULATION | {"PYTHONPATH": os.pathsep.join(paths)}
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    ours, plain, columnwise, orthogonality = json.loads(run.stdout.splitlines()[-1])
    record_property("error of cupy.matmul in this environment", plain)
    assert ours == 0
    assert columnwise <= 20 * 512
    assert orthogonality <= 20 * 512


@pytest.mark.usefixtures("host")
def test_sums_are_those_of_the_host_to_their_bound(multiple, dtype, rng):
    a = draw(rng, multiple, (5, 3000), dtype)
    host = cases.to_host(a)
    error = ulp_error(cases.to_host(a.sum(1)), host.sum(1), tiny=1.0)
    size = abs(host.to_numpy()).sum(1)
    assert (error <= 2 * 2 * 3008 * size).all()
