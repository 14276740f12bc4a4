"""LU and Cholesky factors, determinants and inverses keep arrays of a device there."""

from __future__ import annotations

import fake_device
import linalg_cases as cases
import numpy as np
import pytest

import mdqr
from mdqr._limbs import planes
from mdqr.linalg import cho_solve, cholesky, det, inv, lu_factor, lu_solve, slogdet


def calls(a, b):
    """Every function, of definite matrices."""
    factors, c = lu_factor(a), cholesky(a)
    yield from factors
    yield from (lu_solve(factors, b, trans) for trans in (0, 1, 2))
    yield from (c, cholesky(a, upper=True), cho_solve((c, True), b))
    yield from (det(a), *slogdet(a), inv(a))


@pytest.mark.parametrize("batch", [(), (2,)], ids=str)
def test_limbs_beside_those_of_the_host(multiple, dtype, batch, monkeypatch, rng):
    g = mdqr.random.normal((*batch, 5, 5), precision=multiple, dtype=dtype, rng=rng)
    a = g @ (g.mT.conj() if dtype is complex else g.mT) + mdqr.eye(5, precision=multiple)
    b = cases.random(5, 2, multiple, dtype, rng)
    wanted = list(calls(a, b))
    fake_device.install(monkeypatch)

    def to_device(x):
        return mdqr.MDArray._wrap(fake_device.DeviceArray(x.limbs), x.precision, x.is_complex)

    for found, known in zip(calls(to_device(a), to_device(b)), wanted, strict=True):
        if isinstance(known, mdqr.MDArray):
            found, known = fake_device.bare(found.limbs), known.limbs
        assert (np.asarray(fake_device.bare(found)) == np.asarray(known)).all()


def test_determinants_that_take_more_limbs(monkeypatch, rng):
    """Of a batch the matrices near singular ones are factored again, on the device."""
    a = mdqr.random.normal((3, 4, 4), precision=mdqr.dd, rng=rng)
    a[1, 3] = a[1, 2]
    a[1, 3, 0] += 2.0**-80
    wanted = det(a)
    fake_device.install(monkeypatch)
    # Rounding to fewer limbs waits for the device.
    monkeypatch.setattr(planes, "narrow", fake_device.on_device(planes.narrow))
    found = det(mdqr.MDArray._wrap(fake_device.DeviceArray(a.limbs), a.precision, a.is_complex))
    assert (fake_device.bare(found.limbs) == wanted.limbs).all()
