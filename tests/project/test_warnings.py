"""Every warning names the function that was called, and points to its caller's line."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import mdqr
from mdqr import linalg, series, tensorcore
from mdqr.linalg import UpdatableLstsq, qr_delete

P = mdqr.dd


def _nearly_deficient() -> Any:
    a = np.random.default_rng(5).integers(-99, 99, (13, 5)).astype(float)
    a[:, 3] = a[:, 1] + a[:, 2]
    a[12] = [0, 0, 0, 2.0**-100, 0]
    return mdqr.array(a, precision=P)


def _far_row(count: int, size: float) -> Any:
    a = mdqr.random.normal((count, 3), precision=P, rng=5)
    a[4] = a[4] * size
    return a


def _stream() -> Any:
    a = _far_row(9, 2.0**31)
    fit = UpdatableLstsq(a, a[:, 0], keep_data=False)
    return fit.delete_rows(u=a[4], b=a[4, 0])


def _loose_lstsq() -> Any:
    rng = np.random.default_rng(3)
    a = rng.standard_normal((60, 20)) * 2.0 ** rng.integers(-8, 8, 20)
    return tensorcore.lstsq(a, rng.standard_normal(60), max_iterations=1)


T = mdqr.linspace(0, 1, 61, precision=P)
Y = mdqr.exp(mdqr.sin(9 * T))
SMALL = mdqr.array(1e-160, precision=P) * mdqr.eye(3, precision=P)
ROOT = series.System.from_strings(["x^2 - t"], ["x"])
EMPTY = mdqr.zeros(0, precision=P)
HILBERT = 1 / (np.arange(14)[:, None] + np.arange(14) + 1)
DOUBLES = np.array([[1.0, 1.0], [1.0, 1 + 2.0**-52]])  # singular if they were rounded

CALLS = {
    "polyfit": lambda: mdqr.polyfit(T, Y, 38),
    "polyfit of NumPy": lambda: np.polyfit(T, Y, 38),
    "lstsq": lambda: linalg.lstsq(_nearly_deficient(), mdqr.ones(13, precision=P)),
    "solve": lambda: linalg.solve(
        mdqr.array([["3e200"]], precision=P), mdqr.array(["7e-110"], precision=P)
    ),
    "inv": lambda: linalg.inv(mdqr.array([["3e300"]], precision=P)),
    "det": lambda: linalg.det(SMALL),
    "det of rounded entries": lambda: linalg.det(HILBERT),
    "slogdet": lambda: linalg.slogdet(HILBERT),
    "pinv": lambda: linalg.pinv(DOUBLES, precision=mdqr.qd),
    "null_space": lambda: linalg.null_space(DOUBLES, precision=mdqr.qd),
    "qr_delete": lambda: qr_delete(*linalg.qr(_far_row(5, 2.0**60)), 4),
    "UpdatableLstsq.delete_rows": _stream,
    "lstsq of tensorcore": _loose_lstsq,
    "newton_series": lambda: series.newton_series(
        ROOT, [1e-150], t0=1e-300, degree=4, precision=P, verify=True
    ),
    "mean": lambda: mdqr.mean(EMPTY),
    "mean of NumPy": lambda: np.mean(EMPTY),
    "mean, the method": lambda: EMPTY.mean(),
    "variance": lambda: mdqr.var(EMPTY),
    "variance by std": lambda: np.std(EMPTY),
}


@pytest.mark.parametrize("name", CALLS)
def test_warnings_name_the_function_and_its_callers_line(name: str) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        CALLS[name]()
    assert caught
    for each in caught:
        assert each.filename == __file__, (each.filename, each.lineno)
        assert str(each.message).startswith(name.split(maxsplit=1)[0].rstrip(",")), each.message
