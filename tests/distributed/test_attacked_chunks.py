"""Chunks that change, tiny columns, and solutions that are none."""

from __future__ import annotations

import numpy as np
import pytest

import mdqr
from mdqr import distributed as md
from mdqr import linalg

A, B = (np.random.default_rng(0).normal(size=shape) for shape in ((40, 3), 40))


def parts_of(*arrays):
    return [tuple(x[i : i + 10] for x in arrays) for i in range(0, 40, 10)]


@pytest.mark.parametrize("unit", [1e-300, 1e-305, 2.0**-980])
@pytest.mark.parametrize("columns", [slice(None), 1])
def test_bounds_by_products_where_limbs_of_r_underflow(unit, columns):
    a = A.copy()
    a[:, columns] *= unit
    found = md.lstsq(parts_of(a, B), precision="qd", method="products")
    exact = linalg.lstsq(mdqr.array(a, precision="od"), B)
    error = abs(found.x.astype("od") - exact.x)
    assert (error <= found.info.error_bound + exact.info.error_bound).all()


class Changing:
    """Rows that are others from a second reading on."""

    def __init__(self, change):
        self.change, self.read = change, [0] * 4

    def __call__(self, i):
        self.read[i] += 1
        part = A[10 * i : 10 * i + 10], B[10 * i : 10 * i + 10]
        return self.change(*part) if self.read[i] > 1 + (i == 0) else part


@pytest.mark.parametrize(
    "change",
    [
        lambda a, b: (a, -b),
        lambda a, b: (-a, b),
        lambda a, b: (a, b[::-1]),
        lambda a, b: (a[::-1], b[::-1]),
        lambda a, b: (a, np.nextafter(b, 2 * b)),
    ],
)
def test_rows_that_change_between_passes_are_seen(change):
    with pytest.raises(RuntimeError, match="not the same in pass"):
        md.lstsq(md.Rows(Changing(change), 4), precision="dd")


def test_no_bound_holds_for_a_solution_with_nan():
    for x in ([np.nan, 1, 1], [np.inf, 1, 1]):
        with pytest.raises(ValueError, match="infinities or NaN"):
            md.certify_lstsq(parts_of(A, B), None, x, precision="qd")


def test_two_passes_of_dependent_columns_claim_no_digit():
    a = mdqr.array(A, precision="od")
    a[:, 2] = a[:, 0] + a[:, 2] * mdqr.array("1e-30", precision="od")
    with pytest.warns(mdqr.PrecisionWarning):
        found = md.lstsq(parts_of(a.astype("dd"), B), passes=2)
    assert (found.info.digits == 0).all()
