"""Approximations of low rank on tensor cores, emulated."""

from __future__ import annotations

import numpy as np
import pytest
from tensorcore_cases import U16, lowrank, with_condition

from mdqr.tensorcore._engine.formats import FORMATS
from mdqr.tensorcore._plan import PANELS


@pytest.mark.parametrize("shape", [(300, 150), (150, 300), (40, 40)], ids=str)
@pytest.mark.parametrize("panel", PANELS)
def test_lowrank_is_nearly_the_best(shape, panel, rng):
    m, n = shape
    a = with_condition(rng, max(shape), min(shape), 1e6)
    a = a if m > n else a.T
    s = np.linalg.svd(a, compute_uv=False)
    for r in (1, 20, min(shape)):
        u, values, vh = lowrank(a, r, panel=panel)
        assert (u.shape, values.shape, vh.shape) == ((m, r), (r,), (r, n))
        rest = np.linalg.norm(a - (u * values) @ vh, 2)
        best = s[r] if r < len(s) else 0.0
        assert rest <= best + 16 * U16
        assert np.abs(values - s[:r]).max() <= 16 * U16
        assert (np.diff(values) <= 0).all()
        side = vh if m >= n else u.T
        assert np.abs(side @ side.T - np.eye(r)).max() <= 1e-6


@pytest.mark.parametrize("compute", ["fp16", "fp16x2"])
def test_lowrank_of_what_has_a_low_rank(compute, rng):
    """Columns of one pass that depend on others are roundings: values came out 24 % too large."""
    u, x = FORMATS[compute].unit, np.linspace(0, 1, 400)
    matrices = {
        "cholesky": rng.standard_normal((500, 20)) @ rng.standard_normal((20, 300)),
        "caqr": 1 / (1 + x[:, None] + x[:150]),
    }
    for panel, a in matrices.items():
        s = np.linalg.svd(a, compute_uv=False)
        for r in (4, 20):
            q, values, vh = lowrank(a, r, compute=compute, panel=panel)
            # Products of fp16x2 and the panels err by some units of 2^-22.
            bound = (16 if compute == "fp16" else 128) * u * s[0]
            assert np.abs(values - s[:r]).max() <= bound
            assert np.linalg.norm(a - (q * values) @ vh, 2) <= s[r] + bound


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)], ids=str)
def test_lowrank_of_nothing(shape):
    with pytest.raises(ValueError, match="a must have rows and columns"):
        lowrank(np.zeros(shape), 1)


def test_lowrank_of_wild_scales_and_types(rng):
    a = with_condition(rng, 90, 30, 1e3)
    for factor in (1e-30, 1e30):
        u, s, vh = lowrank((a * factor).astype(np.float32), 5)
        assert u.dtype == s.dtype == vh.dtype == np.float32
        np.testing.assert_allclose(s / factor, np.linalg.svd(a)[1][:5], atol=16 * U16)
    assert not lowrank(np.zeros((9, 4)), 2).S.any()
    large = np.full((60, 20), 3e38)
    assert lowrank(large, 2).S[0] > 1e40
    with pytest.raises(np.linalg.LinAlgError, match="s does not fit float32; divide a by a power"):
        lowrank(large.astype(np.float32), 2)
    for r in (0, 31, 2.5, True):
        with pytest.raises(ValueError, match=f"r must be an integer from 1 to 30.*got {r}"):
            lowrank(a, r)


@pytest.mark.parametrize("compute", FORMATS)
def test_lowrank_of_powers(compute):
    """Q R was 23 times the matrix, or overflowed in fp16."""
    for m, n in ((137, 129), (60, 60), (100, 64)):
        powers = np.vander(np.linspace(0, 1, m), n)
        rising = np.vander(np.linspace(0, 1, n), m, increasing=True).T
        for a in (powers, rising):
            s = np.linalg.svd(a, compute_uv=False)
            u, values, vh = lowrank(a, 5, compute=compute)
            bound = (16 * FORMATS[compute].unit + 64 * 2.0**-24) * s[0]
            assert np.linalg.norm(a - (u * values) @ vh, 2) <= s[5] + bound
            assert np.abs(values - s[:5]).max() <= bound


@pytest.mark.parametrize("panel", PANELS)
def test_lowrank_of_a_repeated_column(panel):
    """U had columns that were not numbers, of values that are roots of rounding errors."""
    for seed in range(4):
        a = np.repeat(np.random.default_rng(seed).standard_normal((161, 1)), 10, axis=1)
        u, s, vh = lowrank(a, 10, panel=panel)
        assert np.isfinite(u).all()
        assert np.linalg.norm((u * s) @ vh - a, 2) <= 16 * U16 * s[0]
