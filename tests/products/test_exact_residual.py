"""Residuals by exact products: each entry is the exact sum, rounded once."""

from __future__ import annotations

from fractions import Fraction

import fake_device
import linalg_cases as cases
import numpy as np
import pytest
from exact_matrices import Exact, flushed

import mdqr
from mdqr._limbs import planes
from mdqr._limbs.planes import Kind
from mdqr.linalg import inv
from mdqr.linalg._products.exact import residual as module
from mdqr.linalg._products.exact.residual import residual
from mdqr.linalg._shared import tuning
from mdqr.linalg._shared.operands import gather


def drawn(multiple, dtype, rng, n=7, k=5):
    a = cases.random(n, n, multiple, dtype, rng)
    x = cases.random(n, k, multiple, dtype, rng)
    return a, x, a @ x


@pytest.mark.parametrize("short", [False, True])
def test_one_rounding_of_the_exact_sum(multiple, dtype, short, rng):
    """Products cancel to their last bits; what is left has all of its digits."""
    a, x, c = drawn(multiple, dtype, rng)
    if short:
        a = mdqr.array(a.to_numpy(), precision=mdqr.d)
        c = mdqr.asarray(a, precision=multiple) @ x
    backend = gather(c, precision=None).backend
    kind = Kind(multiple.limbs, dtype is complex)
    found = module.whole_residual(backend, c._block, a._block, x._block, kind=kind)
    exact = Exact.of(c) - Exact.of(a) @ Exact.of(x)
    error = (exact - Exact.of(mdqr.MDArray._wrap(found, multiple, kind.is_complex))).moduli()
    assert error.within(2 * Fraction(multiple.eps), exact.moduli() + flushed(c.shape, multiple))


def test_graded_operands_are_left_to_sums(multiple, rng):
    a, x, c = drawn(multiple, float, rng)
    a = a * 2.0 ** rng.integers(-600, 0, a.shape)
    backend, kind = gather(c, precision=None).backend, Kind(multiple.limbs, False)
    assert module.whole_residual(backend, c._block, a._block, x._block, kind=kind) is None
    found = residual(backend, c._block, a._block, x._block, kind=kind)
    wanted = backend.residual([(1, c._block)], a._block, x._block, kind=kind)
    assert (found == wanted).all()


def test_few_limbs_of_graded_operands(multiple, dtype, rng):
    """Sums take no operand of more limbs than their result; steps of inverses in dd failed."""
    a, x, c = drawn(multiple, dtype, rng)
    a = a * 2.0 ** rng.integers(-600, 0, a.shape)
    backend, few = gather(c, precision=None).backend, Kind(1, dtype is complex)
    blocks = (c._block, a._block, x._block)
    assert module.whole_residual(backend, *blocks, kind=few) is None
    found = residual(backend, *blocks, kind=few)
    wanted = residual(backend, *blocks, kind=Kind(multiple.limbs, few.is_complex))
    assert found.shape[few.is_complex] == 1
    assert (found == planes.first_limbs(wanted, few.is_complex, 1)).all()


def test_inverses_and_batches(multiple, dtype, rng, monkeypatch):
    """The same inverses as by sums in twice the precision."""
    a = mdqr.random.normal((2, 70, 70), precision=multiple, dtype=dtype, rng=rng)
    known, info = inv(a, method="refine", return_info=True)
    monkeypatch.setattr(tuning, "residues_are_faster", lambda *_, **__: True)
    monkeypatch.setitem(tuning._EXACT_RESIDUALS, "cpu", True)
    found, other = inv(a, method="refine", return_info=True)
    error = abs(found - known).to_numpy()
    assert (error <= np.asarray(info.error_bound) + np.asarray(other.error_bound)).all()
    assert np.asarray(other.digits).min() >= np.asarray(info.digits).min() - 0.5


def test_on_a_device(multiple, dtype, rng, monkeypatch):
    a, x, c = (y._block for y in drawn(multiple, dtype, rng))
    kind = Kind(multiple.limbs, dtype is complex)
    backend = gather(mdqr.ones(1, precision=multiple), precision=None).backend
    known = module.whole_residual(backend, c, a, x, kind=kind)
    fake_device.install(monkeypatch)
    given = [fake_device.DeviceArray(y) for y in (c, a, x)]
    found = module.whole_residual(fake_device._Backend(), *given, kind=kind)
    assert (fake_device.bare(found) == known).all()
