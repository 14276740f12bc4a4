"""Derivatives of the exponential and condition numbers, against arb and SciPy."""

import flint
import numpy as np
import pytest
import scipy.linalg
from arb_matrices import BITS, moduli, to_acb

import mdqr
from mdqr import linalg


def derivative(a, e):
    """Return the block of the exponential of the exact block matrix."""
    flint.ctx.prec = BITS
    n = a.nrows()
    entries = []
    for i, j in np.ndindex(2 * n, 2 * n):
        same, above = (i < n) == (j < n), i < n <= j
        entries.append(a[i % n, j % n] if same else e[i, j - n] if above else flint.acb(0))
    whole = flint.acb_mat(2 * n, 2 * n, entries).exp()
    return flint.acb_mat(n, n, [whole[i, n + j] for i, j in np.ndindex(n, n)])


@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("scale", [1.0, 2.0**-200, 2.0**200])
def test_errors_are_within_their_bounds(dtype, scale, precision):
    a = mdqr.random.normal((3, 3), precision=precision, dtype=dtype, rng=3)
    e = mdqr.random.normal((3, 3), precision=precision, dtype=dtype, rng=4) * scale
    found = linalg.expm_frechet(a, e)
    wanted = derivative(to_acb(a), to_acb(e))
    error, size = moduli(to_acb(found.frechet) - wanted), moduli(wanted)
    assert (error <= found.info.error_bound).all()
    assert (found.info.data_error_bound >= found.info.error_bound).all()
    assert found.info.error_bound.max() <= 2.0**20 * precision.eps * size.max()
    assert float(abs(found.expm - linalg.expm(a)).max()) <= 2.0**10 * precision.eps * 30


def test_zeros_and_batches():
    a = mdqr.random.normal((2, 3, 3), precision="qd", rng=3)
    nothing = linalg.expm_frechet(a, np.zeros((3, 3)))
    assert nothing.frechet.shape == nothing.info.error_bound.shape == (2, 3, 3)
    assert not nothing.frechet.to_numpy().any()
    e = mdqr.random.normal((3, 3), precision="qd", rng=4)
    same = linalg.expm_frechet(np.zeros((3, 3)), e).frechet
    assert float(abs(same - e).max()) <= 1e-60
    with pytest.raises(np.linalg.LinAlgError, match="expm_frechet: e must have the shape of a"):
        linalg.expm_frechet(a, np.eye(2))


@pytest.mark.parametrize("dtype", [float, complex])
def test_condition_numbers(dtype, precision):
    a = mdqr.random.normal((2, 4, 4), precision=precision, dtype=dtype, rng=3)
    found = linalg.expm_cond(a)
    assert found.shape == (2,)
    for k in range(2):
        np.testing.assert_allclose(
            float(found[k]), scipy.linalg.expm_cond(a[k].to_numpy()), rtol=1e-10
        )
        _, info = linalg.expm(a[k], return_info=True)
        assert info.condition >= float(found[k]) * 0.99
    assert linalg.expm_cond(np.zeros((0, 2, 2)), precision="qd").shape == (0,)
    with pytest.raises(np.linalg.LinAlgError, match="without entries has no condition"):
        linalg.expm_cond(np.zeros((0, 0)), precision="qd")
