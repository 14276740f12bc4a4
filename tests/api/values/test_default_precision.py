"""Without `precision=` a result has the highest precision of its operands, never a lower one."""

from __future__ import annotations

import inspect
import types

import pytest

import mdqr
from mdqr import series, tensorcore
from mdqr._precision import PRECISIONS

SYSTEM = series.System.from_strings(["x^2 - 1 - 3*t"], ["x"], "t")


@pytest.mark.parametrize("precision", PRECISIONS, ids=str)
def test_paths_and_series_keep_the_precision_of_their_start(precision):
    start = mdqr.array([1], precision=precision)
    for x0 in (start, [start[0]]):
        assert series.track(SYSTEM, x0, t_end=0.1).x.precision == precision
        assert series.newton_series(SYSTEM, x0, degree=2).coeffs.precision == precision


def test_a_value_of_the_parameter_counts():
    found = series.newton_series(SYSTEM, [1], degree=2, t0=mdqr.od(0))
    assert found.coeffs.precision == mdqr.od


def test_coefficients_of_the_system_count():
    system = series.System.from_arrays([[2], [0]], mdqr.qd([[1, 0], [-1, -3]]), [0, 0])
    assert series.track(system, mdqr.dd([1]), t_end=0.1).x.precision == mdqr.qd
    assert series.newton_series(system, [1], degree=2).coeffs.precision == mdqr.qd


def test_numbers_without_a_precision_give_dd():
    assert series.track(SYSTEM, [1.0], t_end=0.1).x.precision == mdqr.dd
    assert series.newton_series(SYSTEM, [1.0], degree=2).coeffs.precision == mdqr.dd


def test_a_precision_that_is_given_wins():
    start = mdqr.od([1])
    assert series.track(SYSTEM, start, t_end=0.1, precision="dd").x.precision == mdqr.dd


@pytest.mark.parametrize("module", [mdqr, mdqr.linalg, series, tensorcore], ids=str)
def test_no_function_has_another_default(module):
    for name in module.__all__:
        function = getattr(module, name)
        if not isinstance(function, types.FunctionType):
            continue
        parameter = inspect.signature(function).parameters.get("precision")
        assert parameter is None or parameter.default in (None, parameter.empty), name
