"""NumPy's own tests of indices, with MDArrays beside NumPy's arrays."""

from __future__ import annotations

import numpy as np
import pytest
from numpy._core.tests import test_indexing as numpys

import mdqr


def outcome(act):
    """Return what an action gives, or the error that it raises."""
    try:
        return act()
    except (IndexError, ValueError) as error:
        return error


def assert_same(got, wanted):
    if isinstance(wanted, Exception):
        assert isinstance(got, type(wanted))
    else:
        np.testing.assert_array_equal(got.to_numpy(), wanted, strict=True)


class TestIndices(numpys.TestMultiIndexingAutomated):
    """Each index of NumPy's tests gives the same values, and takes the same values."""

    def _check_multi_index(self, arr, index):
        wanted, got = (
            outcome(lambda a=a: a[index])
            for a in (arr.astype(float), mdqr.array(arr, precision="dd"))
        )
        assert_same(got, wanted)
        value = 0.0 if isinstance(wanted, Exception) else -1.0 - wanted
        plain, array = arr.astype(float), mdqr.array(arr, precision="dd")
        done = [outcome(lambda a=a: a.__setitem__(index, value)) for a in (plain, array)]
        assert type(done[0]) is type(done[1])
        assert_same(array, plain)

    _check_single_index = _check_multi_index


def test_the_indices_are_compared():
    """That the class of NumPy still asks for the check above."""
    with pytest.raises(AssertionError):
        assert_same(mdqr.array([1.0], precision="dd"), np.array([2.0]))
    assert {"_check_multi_index", "_check_single_index"} <= set(
        vars(numpys.TestMultiIndexingAutomated)
    )
