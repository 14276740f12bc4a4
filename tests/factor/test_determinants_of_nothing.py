"""Determinants of empty batches and matrices, and of operands that change later."""

from __future__ import annotations

import numpy as np
import pytest

from mdqr.linalg import det, slogdet


@pytest.mark.parametrize("shape", [(0, 2, 2), (2, 0, 3, 3), (0, 7, 7), (0, 0), (2, 0, 0)], ids=str)
@pytest.mark.parametrize("dtype", [float, complex])
def test_nothing(shape, dtype):
    a = np.empty(shape, dtype)
    value, info = det(a, return_info=True)
    assert value.shape == info.error_bound.shape == info.data_digits.shape == shape[:-2]
    assert np.shape(info.condition) == shape[:-2]
    assert slogdet(a).sign.shape == shape[:-2]


def test_what_is_known_is_of_the_operand_as_it_was(rng):
    a = rng.random((6, 6))
    kept, changed = a.copy(), a
    _, info = det(changed, return_info=True)
    changed[...] = 0.5
    assert info.data_digits == det(kept, return_info=True)[1].data_digits
