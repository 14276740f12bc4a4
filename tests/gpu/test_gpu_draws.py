"""Random arrays and folds of a device: the values of the host; bounds of small systems."""

from __future__ import annotations

from fractions import Fraction

import gpu_cases as cases
import numpy as np
import pytest

import mdqr
from mdqr._limbs import folds

pytestmark = pytest.mark.gpu

SHAPES = [(), (3, 5), (0, 2), (100_003,), (300, 200)]


@pytest.mark.parametrize("draw", [mdqr.random.uniform, mdqr.random.normal])
def test_draws_are_those_of_the_host(cupy, draw, precision, dtype):
    for shape in SHAPES:
        options = {"precision": precision, "dtype": dtype, "rng": 7}
        here, there = (draw(shape, device=name, **options) for name in ("cpu", cases.DEVICE))
        assert there.device.startswith("cuda")
        assert here._block.tobytes() == there._block.get().tobytes()


def test_draws_with_parameters_stay_on_the_device(cupy, precision):
    options = {"precision": precision, "rng": 3}
    here, there = (
        mdqr.random.normal((40, 3), loc=2, scale=[1.0, 2.0, 3.0], device=name, **options)
        for name in ("cpu", cases.DEVICE)
    )
    assert here._block.tobytes() == there._block.get().tobytes()


@pytest.mark.parametrize("op", folds.OPERATIONS)
def test_folds_are_those_of_numpy(cupy, rng, op):
    mdqr.ones(1, precision="dd", device=cases.DEVICE).sum()  # loads the backend
    assert folds._on_device
    for shape in ((1000, 70), (5, 20_000), (20_000, 5), (3, 40, 50), (7,)):
        x = rng.integers(-9, 10, shape).astype(float)
        there = cupy.asarray(x)
        for axis in (None, 0, -1):
            for view, wanted in ((there, x), (there.T, x.T)):
                found = folds.fold(op, view, axis)
                assert np.array_equal(found.get(), getattr(wanted, op)(axis=axis))


def _exact(a, b):
    """Return the least-squares solution of Fractions, by the normal equations."""
    n = len(a[0])
    rows = [
        [sum(r[i] * r[j] for r in a) for j in range(n)]
        + [sum(r[i] * v for r, v in zip(a, b, strict=True))]
        for i in range(n)
    ]
    for i in range(n):
        for k in range(n):
            if k != i:
                factor = rows[k][i] / rows[i][i]
                rows[k] = [x - factor * y for x, y in zip(rows[k], rows[i], strict=True)]
    return [row[n] / row[i] for i, row in enumerate(rows)]


def _fractions(block):
    """Return the values of planes ``(limbs, count)``."""
    return [sum(map(Fraction, limbs)) for limbs in block.T.tolist()]


def test_bounds_of_small_systems_are_near_the_errors(cupy, multiple):
    a = mdqr.random.normal((30, 9, 4), precision=multiple, rng=1)
    b = mdqr.random.normal((30, 9, 1), precision=multiple, rng=2)
    fit = mdqr.linalg.lstsq(a.to_device(cases.DEVICE), b.to_device(cases.DEVICE))
    x, bounds = fit.x.to_device("cpu")._block[..., 0], np.asarray(fit.info.error_bound)[..., 0]
    losses = []
    for i in range(30):
        rows = [_fractions(a._block[:, i, j]) for j in range(9)]
        wanted = _exact(rows, _fractions(b._block[:, i, :, 0]))
        for found, value, bound in zip(_fractions(x[:, i]), wanted, bounds[i], strict=True):
            error = abs(found - value)
            assert error <= Fraction(float(bound))
            losses.append(np.log10(float(Fraction(float(bound)) / error)) if error else 0.0)
    assert np.median(losses) <= 1.0
