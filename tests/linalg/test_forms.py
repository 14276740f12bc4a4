"""Hessenberg form, RQ, tridiagonal and banded matrices, beside SciPy and by residuals."""

import numpy as np
import pytest
import scipy.linalg

import mdqr
from mdqr import linalg
from mdqr._precision import PRECISIONS
from mdqr.testing import assert_same_bits


@pytest.mark.parametrize("dtype", [float, complex])
def test_hessenberg(dtype, precision):
    a = mdqr.random.normal((2, 5, 5), precision=precision, dtype=dtype, rng=1)
    H, Q = found = linalg.hessenberg(a, calc_q=True)
    assert_same_bits(H, linalg.hessenberg(a))
    assert not np.tril(H.to_numpy(), -2).any()
    assert H.is_complex == Q.is_complex == a.is_complex
    for k in range(2):
        rest = float(linalg.norm(Q[k].astype(PRECISIONS[-1]) @ H[k] @ Q[k].conj().mT - a[k]))
        limit = found.info.error_bound[k] + 3 * found.info.orthogonality[k] * 10
        assert rest <= limit <= 1e3 * precision.eps
    assert linalg.hessenberg(np.zeros((0, 0)), precision="qd").shape == (0, 0)
    with pytest.raises(np.linalg.LinAlgError, match="hessenberg: a must be square"):
        linalg.hessenberg(np.ones((2, 3)))


@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (4, 4)])
@pytest.mark.parametrize("mode", ["full", "economic"])
def test_rq(mode, shape, dtype, precision):
    a = mdqr.random.normal(shape, precision=precision, dtype=dtype, rng=1)
    R, Q = found = linalg.rq(a, mode)
    wanted = scipy.linalg.rq(a.to_numpy(), mode=mode)
    assert (R.shape, Q.shape) == tuple(x.shape for x in wanted)
    np.testing.assert_allclose(abs(R.to_numpy()), abs(wanted[0]), atol=1e-13)
    rest = linalg.norm(R.astype(PRECISIONS[-1]) @ Q - a)
    own = 64 * PRECISIONS[-1].eps  # of the product
    assert float(rest) - own <= found.info.error_bound <= 200 * precision.eps
    with pytest.raises(ValueError, match='mode must be "full" or "economic"'):
        linalg.rq(a, "r")


def test_tridiagonal():
    d, e = mdqr.random.normal((2, 6), precision="qd", rng=1)
    found = linalg.eigh_tridiagonal(d, e[1:])
    matrix = mdqr.diag(d) + mdqr.diag(e[1:], 1) + mdqr.diag(e[1:], -1)
    assert_same_bits(found.eigenvalues, linalg.eigh(matrix).eigenvalues)
    assert linalg.eigh_tridiagonal([2.0], [], precision="dd").eigenvalues.shape == (1,)
    with pytest.raises(ValueError, match="d and e must have the shapes"):
        linalg.eigh_tridiagonal(d, e)
    with pytest.raises(TypeError, match="must be real"):
        linalg.eigh_tridiagonal(d, 1j * e[1:])


@pytest.mark.parametrize("dtype", [float, complex])
def test_banded_systems(dtype):
    ab = mdqr.random.normal((4, 6), precision="qd", dtype=dtype, rng=1)
    b = mdqr.random.normal((6,), precision="qd", dtype=dtype, rng=2)
    x, info = linalg.solve_banded((1, 2), ab, b, return_info=True)
    wanted = scipy.linalg.solve_banded((1, 2), ab.to_numpy(), b.to_numpy())
    np.testing.assert_allclose(x.to_numpy(), wanted, rtol=1e-11)
    assert info.digits.min() > 60
    for lower in (False, True):
        bands = ab.copy()
        bands[0 if lower else -1] += 9
        x = linalg.solveh_banded(bands, b, lower=lower)
        y = scipy.linalg.solveh_banded(bands.to_numpy(), b.to_numpy(), lower=lower)
        np.testing.assert_allclose(x.to_numpy(), y, rtol=1e-11)
    with pytest.raises(ValueError, match=r"ab must have l \+ u \+ 1 = 3 rows; got 4"):
        linalg.solve_banded((1, 1), ab, b)
    with pytest.raises(ValueError, match=r"l and u must be at least 0; got \(-1, 4\)"):
        linalg.solve_banded((-1, 4), ab, b)
    with pytest.raises(TypeError):
        linalg.solve_banded((1.5, 2), ab, b)


@pytest.mark.parametrize("dtype", [float, complex])
def test_toeplitz_systems(dtype):
    c, r, b = mdqr.random.normal((3, 6), precision="qd", dtype=dtype, rng=1)
    for given in (c, (c, r)):
        x = linalg.solve_toeplitz(given, b)
        matrix = linalg.toeplitz(*given) if isinstance(given, tuple) else linalg.toeplitz(given)
        assert float(abs(matrix @ x - b).max()) <= 1e-58
    decimal = linalg.solve_toeplitz(["0.1"], ["0.2"], precision="qd")
    assert float(decimal[0]) == 2.0
    with pytest.raises(np.linalg.LinAlgError, match="solve_toeplitz: a is singular"):
        linalg.solve_toeplitz([0, 0], [1, 1], precision="qd")
