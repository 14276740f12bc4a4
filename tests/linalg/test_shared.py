"""Helpers that all of linear algebra shares: norms of native values, rounded entries, tables."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

import numpy as np
import pytest

import mdqr
from mdqr._backend import for_block
from mdqr._limbs import scaling
from mdqr._limbs.planes import Kind
from mdqr._precision import PRECISIONS
from mdqr.linalg._shared import tuning
from mdqr.linalg._shared.data_error import may_be_rounded

HOST = for_block(np.zeros((1, 1)))


def exact_norm(values: np.ndarray) -> float:
    parts = values.view(np.float64).ravel()
    total = sum((Fraction(float(x)) ** 2 for x in parts), Fraction(0))
    return float(Fraction(isqrt(int(total * 4**1200)), 2**1200))


@pytest.mark.parametrize("exponent", [-1070, -600, -60, 0, 60, 600, 1015])
@pytest.mark.parametrize("dtype", [float, complex])
def test_norms_of_any_size(exponent, dtype, rng):
    """Within 4 eps and half the smallest number: squares of neither end are representable."""
    x = rng.standard_normal((3, 5)) + (1j * rng.standard_normal((3, 5)) if dtype is complex else 0)
    x = np.ldexp(1.0, exponent) * x
    found = scaling.norms(x, -1)
    for row, norm in zip(x, found, strict=True):
        exact = exact_norm(np.ascontiguousarray(row))
        assert abs(norm - exact) <= 4 * 2.0**-52 * exact + 2.0**-1074


def test_norms_have_the_bits_of_plain_ones_within_the_range(rng):
    x = rng.standard_normal((4, 6, 5))
    assert (scaling.norms(x, -2) == np.sqrt((x**2).sum(axis=-2))).all()
    assert scaling.norms(x, (-2, -1), keepdims=True).shape == (4, 1, 1)


def test_norms_of_special_values():
    x = np.array([[0.0, 0.0], [np.inf, 1.0], [np.nan, 1.0], [1.6e308, 1.6e308]])
    assert np.array_equal(scaling.norms(x, -1), [0.0, np.inf, np.nan, np.inf], equal_nan=True)
    assert (scaling.norms(np.zeros((2, 0)), -1) == 0).all()


@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("precision", PRECISIONS, ids=str)
def test_rounded_entries_are_told_from_short_ones(precision, dtype):
    short = mdqr.array([[1.0, 0.75], [-3.0, 2.0**-30]], precision=precision, dtype=dtype)
    third = short.copy()
    third[1, 0] = mdqr.array(1, precision=precision) / 3
    stack = mdqr.stack([short, third])
    found = may_be_rounded(stack._block, stack.is_complex, precision.limbs, (-2, -1))
    assert found.tolist() == [False, True]
    assert bool(may_be_rounded(stack._block, stack.is_complex, precision.limbs))
    narrow = short.limbs[:, :1] if stack.is_complex else short.limbs[:1]
    assert may_be_rounded(narrow, stack.is_complex, precision.limbs).item() == 0


def test_tables_without_a_limb_count_take_the_entry_below():
    lengths = {limbs: tuning.RESIDUES["cpu"][Kind(limbs, False)].lengths for limbs in (2, 4)}

    def first(limbs: int) -> int:
        orders = range(2, 1000)
        kind = Kind(limbs, False)
        return next(n for n in orders if tuning.residues_are_faster(HOST, n, n, n, kind=kind))

    assert first(3) == first(2) == lengths[2]
    assert first(4) == lengths[4]
    assert not tuning.residues_are_faster(HOST, 4096, 4096, 4096, kind=Kind(1, False))
