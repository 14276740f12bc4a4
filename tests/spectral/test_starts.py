"""Rotations to start from: by the eigenvectors of Gram matrices, and of batches of one."""

from __future__ import annotations

import fake_device
import numpy as np
import pytest

import mdqr
from mdqr._backend.blocks import one_by_one
from mdqr.linalg import eigh, svdvals
from mdqr.linalg._shared import tuning

N = 12


def matrix(name, rng):
    a = rng.standard_normal((N + 3, N))
    if name == "graded":
        return a * 2.0 ** -np.linspace(0, 11, N)
    if name == "far":
        return a * 2.0 ** -np.linspace(0, 200, N)
    if name == "equal":
        return np.linalg.qr(a)[0]
    if name == "dependent":
        a[:, 1] = a[:, 0]
    return a


@pytest.mark.parametrize("name", ["full", "graded", "far", "equal", "dependent"])
def test_values_are_those_of_other_starts(name, monkeypatch, rng):
    a = mdqr.array(matrix(name, rng), precision=mdqr.qd)
    a = a * (1 + mdqr.random.uniform((N,), precision=mdqr.qd, rng=rng) * 1e-20)
    wanted = svdvals(a)
    monkeypatch.setitem(tuning._GRAM_STARTS, "cpu", True)
    found = svdvals(a)
    kept = wanted > wanted[0] * 1e-62
    error = abs(found - wanted)
    assert (error <= 40 * N * mdqr.qd.eps * wanted)[kept.tolist()].all()
    assert (error <= 40 * N * mdqr.qd.eps * wanted[0]).all()


def test_a_batch_of_one_is_a_matrix_to_the_library():
    seen = []

    def find(a):
        seen.append(a.shape)
        return np.linalg.eigh(a)

    a = np.diag([3.0, 1.0, 2.0])
    for batch in ((), (1,), (1, 1), (2,), (0,)):
        values, vectors = one_by_one(find, np.broadcast_to(a, (*batch, 3, 3)))
        assert values.shape == (*batch, 3)
        assert vectors.shape == (*batch, 3, 3)
    assert seen == [(3, 3), (3, 3), (3, 3), (2, 3, 3), (0, 3, 3)]
    assert one_by_one(np.linalg.inv, a[None]).shape == (1, 3, 3)


def test_on_a_device(monkeypatch, rng):
    g = rng.standard_normal((N, N))
    wanted = eigh(mdqr.array(g + g.T, precision=mdqr.dd))
    values = svdvals(mdqr.array(g, precision=mdqr.dd))
    fake_device.install(monkeypatch)
    a = mdqr.from_limbs(fake_device.DeviceArray(np.stack([g + g.T, 0 * g])))
    found = eigh(a)
    limbs = fake_device.bare(found.eigenvalues.limbs)
    assert abs(limbs - wanted.eigenvalues.limbs).max() <= 100 * N * mdqr.dd.eps * abs(limbs).max()
    b = mdqr.from_limbs(fake_device.DeviceArray(np.stack([g, 0 * g])))
    limbs = fake_device.bare(svdvals(b).limbs).sum(axis=0)
    assert np.allclose(limbs, values.to_numpy(), rtol=1e-15)
