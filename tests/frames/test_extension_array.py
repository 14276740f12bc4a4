"""pandas' own tests of extension arrays, for columns of `mdqr.pandas`."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from pandas.tests.extension import base

import mdqr
from mdqr.pandas import MDDtype, MDExtensionArray
from mdqr.pandas._groups import AGGREGATES


@pytest.fixture(params=["qd"])
def dtype(request):
    return MDDtype(request.param)


def column(dtype, values):
    return MDExtensionArray._from_sequence(values, dtype=dtype)


@pytest.fixture
def data(dtype):
    x = mdqr.random.uniform(10, low=0.5, high=2.0, precision=dtype.precision, rng=7)
    return MDExtensionArray(x)


@pytest.fixture
def data_for_twos(dtype):
    return column(dtype, [2] * 10)


@pytest.fixture
def data_missing(dtype):
    return column(dtype, [np.nan, 1])


@pytest.fixture
def data_for_sorting(dtype):
    return column(dtype, [1, 2, 0])


@pytest.fixture
def data_missing_for_sorting(dtype):
    return column(dtype, [1, np.nan, 0])


@pytest.fixture
def na_cmp():
    return lambda x, y: pd.isna(x) and pd.isna(y)


@pytest.fixture
def data_for_grouping(dtype):
    return column(dtype, [1, 1, np.nan, np.nan, 0, 0, 1, 2])


# What columns of mdqr do in another way, and why.
OTHERWISE = {
    "plot_on": "pandas draws numbers that NumPy knows; mdqr.plot and Matplotlib draw MDArrays",
    "groupby_extension_transform": "an MDArray is not hashable, as the name of a group would be",
    "groupby_extension_apply": "an MDArray is not hashable, as the name of a group would be",
    "groupby_apply_identity": "an MDArray is not hashable, as the name of a group would be",
    "listlike_other": "lists of MDArrays are no operands of where and mask; columns are",
    "astype_str": "texts have the digits that read back",
    "getitem_invalid": "the message is that of MDArrays",
    "reduce_series_numeric[qd-count": "Series.count takes no skipna",
    "reduce_array[qd-count": "counts are integers",
    "astype_string[qd-string[python": "texts have the digits that read back",
}


@pytest.mark.parametrize("how", ["left", "inner", "right", "outer"])
def test_frames_are_merged_by_columns_without_repetitions(dtype, how):
    third = mdqr.array([1], precision=dtype.precision) / 3
    near = third + 4 * dtype.precision.eps
    values = [MDExtensionArray(mdqr.concatenate([third, x])) for x in (third + 1, near)]
    left, right = (pd.DataFrame({"x": x, "k": [0, 1]}) for x in values)
    found = left.merge(right, on="x", how=how)
    assert found.x.dtype == dtype
    assert len(found) == {"left": 2, "inner": 1, "right": 2, "outer": 3}[how]
    assert found[["k_x", "k_y"]].notna().all(axis=1).sum() == 1
    joined = left.set_index("x").join(right.set_index("x").rename(columns={"k": "y"}))
    assert joined["y"].isna().tolist() == [False, True]
    assert left.set_index("x").loc[pd.Index(values[0][1:])].k.tolist() == [1]


def test_an_index_knows_its_numbers(dtype):
    index = pd.Index(column(dtype, ["0.1", 2]))
    assert 2 in index
    assert 3 not in index
    assert 0.1 not in index  # the double is another number
    assert index.get_loc(2) == 1


@pytest.mark.long
class TestColumns(base.ExtensionTests):
    divmod_exc = series_scalar_exc = frame_scalar_exc = series_array_exc = None

    @pytest.fixture(autouse=True)
    def as_pandas_has_it(self, request):
        for name, reason in OTHERWISE.items():
            if name in request.node.name:
                pytest.skip(reason)

    def _supports_reduction(self, ser, op_name):
        return op_name in {*AGGREGATES, "any", "all"}

    def check_reduce(self, ser, op_name, skipna):
        found = getattr(ser, op_name)(skipna=skipna)
        wanted = getattr(ser.astype(float), op_name)(skipna=skipna)
        assert float(found) == pytest.approx(float(wanted), rel=1e-14)

    def _supports_accumulation(self, ser, op_name):
        return True

    def check_accumulate(self, ser, op_name, skipna):
        found = getattr(ser, op_name)(skipna=skipna)
        assert found.dtype == ser.dtype
        wanted = getattr(ser.astype(float), op_name)(skipna=skipna)
        pd.testing.assert_series_equal(found.astype(float), wanted)
