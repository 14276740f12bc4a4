"""Folds of plain arrays by the kernel, run by the CPU: the values of NumPy for every layout."""

import numpy as np
import pytest

from mdqr._backend.cuda.floats.fold import fold
from mdqr._limbs import folds

LAYOUTS = {
    "vector": ((5000,), [None, 0, -1]),
    "long": ((40_003,), [None]),
    "matrix": ((70, 90), [None, 0, 1, (-2, -1)]),
    "thin": ((3, 2000), [0, -1]),
    "tall": ((1500, 40), [0, -1]),
    "batch": ((4, 30, 20), [None, 0, 1, 2, (0, 2), (0, 1), (1, 2)]),
    "number": ((), [None]),
}
CASES = [(name, axis) for name, (_, axes) in LAYOUTS.items() for axis in axes]


def entries(rng, shape, dtype):
    x = rng.integers(-9, 10, shape) if dtype is not bool else rng.random(shape) < 0.99
    return np.asarray(x, dtype=dtype)


@pytest.mark.parametrize("dtype", [float, np.int64, bool])
@pytest.mark.parametrize("op", folds.OPERATIONS)
@pytest.mark.parametrize(("name", "axis"), CASES)
def test_folds_are_those_of_numpy(kernels, rng, name, axis, op, dtype):
    if dtype is bool and op in ("max", "min"):
        pytest.skip("a maximum of truths is their any")
    x = entries(rng, LAYOUTS[name][0], dtype)
    views = [x, x[..., ::-1], x[..., ::2], x.T] if x.ndim else [x]
    for view in views:
        for keepdims in (False, True):
            found = fold(kernels, op, view, axis, keepdims)
            wanted = np.asarray(getattr(view, op)(axis=axis, keepdims=keepdims))
            # Sums of small integers are exact in any order.
            assert found.dtype == wanted.dtype
            assert found.shape == wanted.shape
            assert np.array_equal(found, wanted)


@pytest.mark.parametrize("op", ["max", "min", "sum"])
@pytest.mark.parametrize("place", [0, 31, 4999])
def test_a_nan_wins(kernels, rng, op, place):
    x = rng.standard_normal((5000, 2))
    x[place, 1] = np.nan
    for axis in (0, None):
        wanted = getattr(x, op)(axis=axis)
        assert np.array_equal(np.isnan(fold(kernels, op, x, axis, False)), np.isnan(wanted))
    assert np.isnan(fold(kernels, op, np.ascontiguousarray(x.T), -1, False)[1])


def test_sums_of_doubles_are_within_their_bound(kernels, rng):
    x = rng.standard_normal((3, 30_000)) * np.exp(rng.uniform(-9, 9, 30_000))
    for axis in (0, 1):
        found = fold(kernels, "sum", x, axis, False)
        size = np.abs(x).sum(axis)
        # No more roundings than entries, and of a tree far fewer.
        assert (abs(found - x.sum(axis)) <= 40 * np.finfo(float).eps * size).all()


def test_what_has_no_kernel_is_left(kernels):
    for x in (np.zeros(3, complex), np.zeros(3, np.float32), np.zeros((0, 3))):
        assert fold(kernels, "sum", x, None, False) is None


def test_arrays_of_a_device_take_the_kernel(kernels, monkeypatch):
    class Array:
        def max(self, axis, keepdims):
            return "its own"

    monkeypatch.setattr(folds, "_on_device", [])
    assert folds.fold("max", Array()) == "its own"
    folds.use_on_device(lambda *given: None)
    assert folds.fold("max", Array()) == "its own"
    folds.use_on_device(lambda op, x, axis, keepdims: (op, axis, keepdims))
    assert folds.fold("max", Array(), -1, keepdims=True) == ("max", -1, True)
    assert folds.is_any(np.zeros(3)) == np.False_
