"""Eigenvalues of pairs of matrices: bounds against exact ones, infinite ones, shifts."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from exact_roots import each_within, pencil_eigenvalues, values_of
from hypothesis import given
from hypothesis import strategies as st

import mdqr
from mdqr._precision import PRECISIONS
from mdqr.linalg import LinAlgError, eig, eigvals

multiples = st.sampled_from(PRECISIONS[1:])


def check(a, b):
    """Bounds hold."""
    found, wanted = eig(a, b), pencil_eigenvalues(a, b)
    assert each_within(values_of(found.eigenvalues), found.info.error_bound, wanted)
    return found


@given(multiples, st.integers(1, 4), st.integers(0, 2**32 - 1), st.integers(0, 3))
def test_pairs(precision, n, seed, rank):
    """Of integers, so that b is singular often; infinite eigenvalues are told."""
    rng = np.random.default_rng(seed)
    a, b = (mdqr.array(rng.integers(-2, 3, (n, n)), precision=precision) for _ in range(2))
    b[:, rank:] = b[:, rank:] * 2.0 ** -int(rng.integers(0, 100))
    if pencil_eigenvalues(a, b) is None:
        with pytest.raises(LinAlgError, match="is singular for every s"):
            eig(a, b)
    else:
        check(a, b)


def test_pairs_as_scipy(multiple, dtype, rng):
    a = mdqr.random.normal((2, 5, 5), precision=multiple, dtype=dtype, rng=rng)
    b = mdqr.random.normal((5, 5), precision=multiple, dtype=dtype, rng=rng)
    w, left, right = found = eig(a, b, left=True)
    rest = [
        abs(a @ right - b @ right * w[:, None, :]),
        abs(left.mT.conj() @ a - w[..., None] * (left.mT.conj() @ b)),
    ]
    limit = 1e5 * multiple.eps * max(1.0, float(abs(w).max()))
    assert max(float(each.max()) for each in rest) <= limit
    for i in range(2):
        wanted = scipy.linalg.eig(a[i].to_numpy(), b.to_numpy(), right=False)
        apart = abs(w[i].to_numpy()[:, None] - wanted)
        assert apart.min(axis=1).max() <= 1e-10 * (1 + abs(wanted).max())
    assert (found.info.error_bound <= 16 * multiple.eps * abs(w).to_numpy()).all()
    assert (eigvals(a, b).limbs == w.limbs).all()


def test_shifts_that_make_pairs_singular_are_followed_by_others():
    """Columns that float64 does not tell apart: it knows no condition of any ``a - s b``."""
    a = mdqr.od([[-2, 0, 2], [2, -2, 2], [1, 0, -1]]) * mdqr.od([2.0**-163, 2.0**-163, 1])
    b = mdqr.od([[0, 0, 2], [1, 2, -2], [0, -1, -2]]) * mdqr.od([2.0**-163, 2.0**-163, 1])
    found = check(a, b)
    assert found.info.error_bound.max() <= 1e-120


def test_infinite_values(multiple, rng):
    """As many as b lacks rank; the others are as sure as if there were none."""
    a = mdqr.random.normal((4, 4), precision=multiple, rng=rng)
    b = mdqr.diag(mdqr.array([1, 2, 0, 0], precision=multiple))
    found = eig(a, b)
    infinite = ~np.isfinite(found.eigenvalues.to_numpy())
    assert infinite.tolist() == [False, False, True, True]
    assert np.isinf(found.info.error_bound).tolist() == infinite.tolist()
    assert found.info.error_bound[:2].max() <= 1e4 * multiple.eps


@pytest.mark.parametrize("precision", PRECISIONS[1:-1], ids=str)
def test_a_pair_that_takes_more_limbs_stands_beside_others(precision):
    """The second is singular but for an entry's last bits: two limb counts are joined."""
    a = mdqr.array([np.diag([1, 2, 3]), [[1, 2, 3], [2, 4, 6], [0, 1, 1]]], precision=precision)
    a[1, 1, 2] += 2.0 ** -(precision.bits + 50)
    b = mdqr.array([np.eye(3), [[1, 0, 1], [2, 0, 2], [1, 1, 0]]], precision=precision)
    both, alone = eig(a, b, left=True), eig(a[1], b[1], left=True)
    assert both.info.error_bound.tolist()[1] == alone.info.error_bound.tolist()
    assert (both.eigenvalues.limbs[..., 1, :] == alone.eigenvalues.limbs).all()
    for found, wanted in zip(both[1:3], alone[1:3], strict=True):
        assert (found.limbs[..., 1, :, :] == wanted.limbs).all()
    assert eigvals(a, b).precision is precision
