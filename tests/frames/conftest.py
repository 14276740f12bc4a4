"""The fixtures of pandas' tests of extension arrays."""

from __future__ import annotations

from pandas.tests.extension.conftest import (
    all_arithmetic_operators,
    all_boolean_reductions,
    all_data,
    all_numeric_accumulations,
    all_numeric_reductions,
    all_reductions,
    as_array,
    as_frame,
    as_series,
    box_in_series,
    comparison_op,
    data_repeated,
    fillna_method,
    groupby_apply_op,
    invalid_scalar,
    na_value,
    use_numpy,
    using_nan_is_na,
)

__all__ = [
    "all_arithmetic_operators",
    "all_boolean_reductions",
    "all_data",
    "all_numeric_accumulations",
    "all_numeric_reductions",
    "all_reductions",
    "as_array",
    "as_frame",
    "as_series",
    "box_in_series",
    "comparison_op",
    "data_repeated",
    "fillna_method",
    "groupby_apply_op",
    "invalid_scalar",
    "na_value",
    "use_numpy",
    "using_nan_is_na",
]
