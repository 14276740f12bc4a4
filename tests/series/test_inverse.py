"""Inverses of Jacobians in as few limbs as converge, and steps by them."""

from __future__ import annotations

import numpy as np
import pytest

import mdqr
from mdqr import MDArray
from mdqr._limbs.planes import Kind
from mdqr._precision import PRECISIONS
from mdqr.series import SingularJacobianError
from mdqr.series._solver.inverse import MOST_SMALL, left_inverse
from mdqr.testing import matrix

N = MOST_SMALL + 8


def solved(a, x):
    """The inverse of a matrix, and its solution of ``a @ x``."""
    kind = Kind(a.precision.limbs, a.is_complex)
    right = (a.astype("hd") @ x.astype("hd")).astype(a.precision)
    inverse = left_inverse(a._block, kind)
    found = inverse.solve(a._block, right._block, kind)
    return inverse, MDArray._wrap(found, a.precision, a.is_complex)


CONDITIONS = {1e3: 1, 1e15: 2, 1e40: 4, 1e80: 8}
CASES = [
    pytest.param(condition, limbs, p, id=f"{condition:g}-{p}")
    for condition, limbs in CONDITIONS.items()
    for p in PRECISIONS
    if p.eps * condition < 2.0**-30
]


@pytest.mark.parametrize(("condition", "limbs", "precision"), CASES)
def test_limbs_follow_the_condition(condition, limbs, precision, dtype):
    """Errors are those of the residual in the precision of the work, times the condition."""
    a = matrix("random", N, N, cond=condition, precision=precision, dtype=dtype, rng=3)
    x = mdqr.ones((N, 1), precision=precision, dtype=dtype)
    inverse, found = solved(a, x)
    assert inverse.limbs == min(limbs, precision.limbs)
    assert inverse.limbs == precision.limbs or inverse.steps > 1
    assert abs(found - x).max() <= 8 * N * condition * precision.eps


def test_singular_jacobians(precision):
    """A rank is told in every size."""
    for n in (5, N):
        a = mdqr.array(np.eye(n), precision=precision)
        a[n - 1] = a[0]
        with pytest.raises(SingularJacobianError, match=f"rank {n - 1} < {n}"):
            left_inverse(a._block, Kind(precision.limbs, False))


def test_batches_take_the_worst():
    """One matrix of a batch that needs more limbs decides for all."""
    a = mdqr.stack([matrix("random", N, N, cond=c, precision="qd", rng=1) for c in (10.0, 1e20)])
    inverse = left_inverse(a._block, Kind(4, False))
    assert inverse.limbs == PRECISIONS[1].limbs
    assert inverse.block.shape == (2, 2, N, N)
