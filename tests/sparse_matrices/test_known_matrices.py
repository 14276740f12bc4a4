"""Matrices of the SuiteSparse collection that have formulas: solutions to all digits."""

import pytest
import scipy.sparse as sp

import mdqr
from mdqr import sparse


def nine_points(n):
    """Return HB/lap_25 and HB/gr_30_30 for n = 25 and 30: the nine-point star on a square."""
    ones = sp.diags_array([1.0, 1.0, 1.0], offsets=[-1, 0, 1], shape=(n, n))
    return 9 * sp.eye_array(n * n) - sp.kron(ones, ones)


def brusselator(n):
    """Return Bai/bwm200 for n = 100: waves in a Brusselator model, with its parameters."""
    step = 0.51302 / (n + 1)
    second = sp.diags_array([1.0, -2.0, 1.0], offsets=[-1, 0, 1], shape=(n, n)) / step**2
    one, alpha, beta = sp.eye_array(n), 2.0, 5.45
    return sp.block_array(
        [
            [0.008 * second + (beta - 1) * one, alpha**2 * one],
            [-beta * one, 0.004 * second - alpha**2 * one],
        ]
    )


def convection(p1, p2, p3, n=31):
    """Return Bai/cdde1 to cdde6: convection and diffusion, by central differences."""
    step = 1 / (n + 1)
    one = sp.eye_array(n)

    def differences(p):
        weights = [-1 - p * step / 2, 2.0, -1 + p * step / 2]
        return sp.diags_array(weights, offsets=[-1, 0, 1], shape=(n, n))

    grid = sp.kron(one, differences(p1)) + sp.kron(differences(p2), one)
    return grid - p3 * step**2 * sp.eye_array(n * n)


MATRICES = {
    "lap_25": lambda: nine_points(25),
    "gr_30_30": lambda: nine_points(30),
    "bwm200": lambda: brusselator(100),
    "cdde1": lambda: convection(1.0, 2.0, 30.0),
    "cdde6": lambda: convection(25.0, 50.0, 250.0),
}


@pytest.mark.parametrize("name", MATRICES)
def test_solutions_have_all_digits(name):
    """The right sides are exact, so solutions are known; with A twice there are least squares."""
    a = MATRICES[name]().tocsr()
    n = a.shape[0]
    x = mdqr.random.normal((n,), precision="qd", rng=1)
    b, size = sparse.matmul(a, x.astype("od")), abs(x.to_numpy())
    found, info = sparse.solve(a, b, precision="qd", return_info=True)
    error = abs(found - x).to_numpy()
    assert (error <= info.error_bound).all()
    assert (error <= 8 * mdqr.qd.eps * size.max()).all()
    assert sparse.matmul(a, x, precision="dd").precision == found.astype("dd").precision
    rest = mdqr.random.normal((n,), precision="dd", rng=2)
    twice = sp.vstack([a, a]).tocsr()
    both = mdqr.concatenate([b + rest, b - rest])
    found, info = sparse.lstsq(twice, both, precision="qd", return_info=True)
    error = abs(found - x).to_numpy()
    assert (error <= info.error_bound).all()
    assert (error <= 8 * mdqr.qd.eps * size.max()).all()
