"""LU and Cholesky factors from those of float64, by the host's kernels, against exact products."""

from __future__ import annotations

import fake_device
import linalg_cases as cases
import numpy as np
import pytest
from factor_cases import accept_cholesky, accept_lu, definite, watch

import mdqr
from mdqr._array.array import MDArray
from mdqr.linalg import cholesky, lu_factor
from mdqr.linalg._factor import cholesky as by_rows
from mdqr.linalg._factor import lu as by_columns
from mdqr.linalg._factor.refine import cholesky as refined_cholesky
from mdqr.linalg._factor.refine import lu, pace, products
from mdqr.linalg._shared import tuning
from mdqr.linalg._shared.operands import gather
from mdqr.testing import assert_same_bits


@pytest.fixture(autouse=True)
def served(monkeypatch):
    """Refine factors of any order on the host; whether that served, each time."""
    monkeypatch.setitem(tuning._REFINED_FACTORS, "cpu", 1)
    return watch(monkeypatch, by_rows.refine, by_columns.refine)


@pytest.mark.parametrize("cond", [1e1, 1e6])
@pytest.mark.parametrize("n", [1, 9])
def test_errors_of_entries(served, multiple, dtype, cond, n, rng):
    far = min(300, cases.room(multiple) * 5 // 9)  # its square has limbs that are doubles
    scale = 2.0 ** rng.integers(-far, far, n)
    accept_lu(cases.random(n, n, multiple, dtype, rng, cond=cond) * scale)
    a = definite(n, multiple, dtype, rng, cond=cond)
    accept_cholesky(a * scale * scale[:, None])
    assert served == [True] * 2


def test_what_float64_does_not_factor_is_left_to_others(served, multiple, rng):
    """And so are matrices whose factors have zeros."""
    accept_lu(cases.random(9, 9, multiple, float, rng, cond=1e17))
    accept_cholesky(definite(9, multiple, float, rng, cond=1e16))
    band = np.triu(np.tril(rng.standard_normal((12, 12)), 2), -2) + 8 * np.eye(12)
    accept_lu(mdqr.array(band, precision=multiple))
    accept_cholesky(mdqr.array(band @ band.T, precision=multiple))
    assert not any(served)
    singular = mdqr.zeros((5, 5), precision=multiple)
    lu, _ = lu_factor(singular)
    assert not lu.to_numpy().any()
    with pytest.raises(np.linalg.LinAlgError, match="order 1 is not positive"):
        cholesky(singular)


def test_rectangles_and_batches_are_left_to_others(served, multiple, rng):
    lu_factor(cases.random(9, 4, multiple, float, rng))
    lu_factor(mdqr.stack([cases.random(4, 4, multiple, float, rng)] * 2))
    cholesky(mdqr.stack([definite(4, multiple, float, rng)] * 2))
    assert served == []


@pytest.mark.parametrize("module", [by_columns, by_rows])
def test_bounds_decide(multiple, module, rng):
    """An error of an entry beyond the bound is seen, also where others hide it."""
    inputs = gather(definite(12, multiple, float, rng), precision=None)
    given, bound = (inputs.backend, inputs.blocks[0], inputs.kind), by_columns.error_of(12)
    assert module.refine.factor(*given, bound * multiple.eps) is not None
    assert module.refine.factor(*given, bound * 2.0**-10 * multiple.eps) is None


def test_panels_of_triangles(served, multiple, dtype, monkeypatch, rng):
    """Panels of two columns, as large matrices have of more."""
    monkeypatch.setattr(products, "_COLUMNS", (2, 2))
    accept_lu(cases.random(13, 13, multiple, dtype, rng, cond=1e4))
    accept_cholesky(definite(13, multiple, dtype, rng, cond=1e4))
    assert served == [True] * 2


@pytest.mark.parametrize(
    ("module", "sweeps"), [(by_columns, lu._Sweeps), (by_rows, refined_cholesky.Sweeps)]
)
@pytest.mark.parametrize("is_planned", [False, True])
def test_the_last_sweep_corrects_nothing(module, sweeps, is_planned, monkeypatch, rng):
    """The expected error is below the bound: its difference shows."""
    if not is_planned:
        monkeypatch.setattr(pace, "_LEAST_GAIN", 100)
    calls = []

    def seen(name, call):
        def run(*args):
            calls.append(name)
            return call(*args)

        return run

    for name in ("difference", "change"):
        monkeypatch.setattr(sweeps, name, seen(name, getattr(sweeps, name)))
    inputs = gather(definite(12, mdqr.od, float, rng), precision=None)
    bound = by_columns.error_of(12) * mdqr.od.eps
    assert module.refine.factor(inputs.backend, inputs.blocks[0], inputs.kind, bound) is not None
    assert calls == ["difference", "change"] * (len(calls) // 2) + ["difference"]


def test_over_arrays_of_a_device(served, monkeypatch, multiple, dtype, rng):
    fake_device.install(monkeypatch)
    monkeypatch.setitem(tuning._REFINED_FACTORS, "cuda", 1)
    a = definite(9, multiple, dtype, rng)
    there = MDArray._wrap(fake_device.DeviceArray(a.limbs), multiple, dtype is complex)
    for found, wanted in ((lu_factor(there).lu, lu_factor(a).lu), (cholesky(there), cholesky(a))):
        held = MDArray._wrap(found.limbs.values, multiple, dtype is complex)
        assert_same_bits(held, wanted)
    assert served == [True] * 4
