"""An answer of lstsq on tensor cores keeps what is promised, or says that it does not."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tensorcore_cases import error_bound, lstsq, reference

import mdqr
from mdqr.tensorcore._algorithms.cgls import _EPS
from mdqr.tensorcore._engine.formats import FORMATS
from mdqr.tensorcore._plan import PANELS


@pytest.mark.parametrize("panel", PANELS)
def test_two_nearly_equal_columns(panel):
    """By "geqrf" x was -4.7e7 and 4.7e7, and said to have converged."""
    t = np.arange(1.0, 9.0)
    for apart in (1e-3, 1e-6, 1e-7, 1e-9):
        a = np.column_stack([t, t + apart * np.cos(t)])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", mdqr.PrecisionWarning)
            x = lstsq(a, a @ [1.0, 2.0], panel=panel).x
        # eps times the condition, 20 / apart.
        assert np.abs(x - [1, 2]).max() <= 32 * _EPS * 20 / apart


@pytest.mark.parametrize("panel", PANELS)
def test_columns_that_depend_on_others_in_one_panel(panel, rng):
    for m, n in ((8, 2), (40, 30), (131, 128)):
        a = rng.integers(-9, 10, (m, n)).astype(np.float64)
        a[:, n - 1] = 2 * a[:, 0] - (a[:, 1] if n > 2 else 0)
        for b in (np.zeros(m), a.sum(axis=1), rng.standard_normal(m)):
            with pytest.raises(np.linalg.LinAlgError, match=f"column {n - 1} of a depends"):
                lstsq(a, b, panel=panel)


@pytest.mark.parametrize("compute", ["fp16", "fp16x2"])
@pytest.mark.parametrize("panel", PANELS)
def test_columns_that_depend_on_others_in_other_panels(panel, compute, rng):
    """31 of 40 such problems were answered, with a condition of 1e4."""
    for m, n in ((451, 260), (300, 140)):
        a, b = rng.standard_normal((m, n)), rng.standard_normal(m)
        a[:, -3] = a[:, 2] * 1.5 + a[:, 4]
        with pytest.raises(np.linalg.LinAlgError, match=f"column {n - 3} of a depends"):
            lstsq(a, b, panel=panel, compute=compute)


@pytest.mark.parametrize("panel", PANELS)
@pytest.mark.parametrize("lost", [1, 11])
def test_small_singular_values_that_the_format_loses(panel, lost, rng):
    """x was wrong by 240 % at 11 values of 1e-8, where QR in float64 keeps eight digits."""
    for m, n, value in ((400, 260, 1e-8), (200, 130, 1e-8), (300, 200, 1e-6)):
        p, q = (np.linalg.qr(rng.standard_normal((k, n)))[0] for k in (m, n))
        values = np.ones(n)
        values[-lost:] = value
        a = (p * values) @ q.T
        b = np.column_stack([a.sum(axis=1), rng.standard_normal(m)])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", mdqr.PrecisionWarning)
            x, _, _, info = lstsq(a, b, panel=panel)
        error = np.linalg.norm(a @ np.float64(x - reference(a, b)), axis=0)
        assert (error <= error_bound(a, b, x)).all()
        assert np.abs(x[:, 0] - 1).max() <= 64 * np.sqrt(n) * _EPS / value
        # Columns have lengths of about 1, within a factor of the estimate.
        assert 0.1 / value <= info.condition <= 10 / value


@settings(max_examples=40)
@given(
    n=st.integers(1, 150),
    extra=st.integers(0, 100),
    seed=st.integers(0, 2**32 - 1),
    digits=st.floats(0, 11),
    few=st.integers(1, 8),
    compute=st.sampled_from([*FORMATS]),
    panel=st.sampled_from(PANELS),
    exact=st.booleans(),
)
def test_what_is_promised_is_kept(n, extra, seed, digits, few, compute, panel, exact):
    """Some singular values far below the others: consistent systems and others."""
    rng = np.random.default_rng(seed)
    p, q = (np.linalg.qr(rng.standard_normal((k, n)))[0] for k in (n + extra, n))
    values = np.ones(n)
    values[-few:] = 10.0**-digits
    a = (p * values) @ q.T
    b = a @ rng.standard_normal(n) if exact else rng.standard_normal(n + extra)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mdqr.PrecisionWarning)
        x = lstsq(a, b, compute=compute, panel=panel).x
    assert np.linalg.norm(a @ np.float64(x - reference(a, b))) <= 4 * error_bound(a, b, x)
