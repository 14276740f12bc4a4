"""Pivots, singular values, nearest matrices and solutions by rank on the device."""

from __future__ import annotations

import gpu_cases as cases
import gpu_exact
import numpy as np
import pytest

import mdqr
from mdqr.linalg import (
    lowrank,
    lstsq,
    matrix_rank,
    norm,
    null_space,
    pinv,
    polar,
    qr,
    svd,
)
from mdqr.testing import matrix

pytestmark = pytest.mark.gpu


def check(x, y, tolerance):
    """Arrays of the device that are near each other; norms of small matrices."""
    assert x.device == y.device
    assert float(norm(x - y)) <= tolerance * x.precision.eps * float(norm(y))


def adjoint(x):
    return x.mT.conj()


@pytest.mark.parametrize("shape", [(1, 1), (6, 1), (9, 5), (5, 9), (41, 41)], ids=str)
def test_pivots(precision, dtype, shape, rng):
    a = cases.random_matrix(*shape, precision, dtype, rng)
    Q, R, P = qr(a, pivoting=True)
    assert Q.device == R.device == a.device
    gpu_exact.accept(a[:, P], Q, R)
    diagonal = np.diagonal(cases.to_host(R).to_numpy()).real
    assert (diagonal[1:] <= diagonal[:-1] * (1 + 2.0**-9)).all()


@pytest.mark.parametrize("kind", ["hilbert", "vandermonde", "kahan", "rank_deficient"])
def test_pivots_of_special_matrices(precision, kind, rng):
    a = cases.to_device(matrix(kind, 22, 19, precision=precision, rng=rng))
    Q, R, P = qr(a, pivoting=True)
    gpu_exact.accept(a[:, P], Q, R)


def test_batches_of_pivots(precision, rng):
    a = cases.to_device(mdqr.random.normal((3, 6, 5), precision=precision, rng=rng))
    Q, R, P = qr(a, pivoting=True)
    for place in range(3):
        gpu_exact.accept(a[place][:, P[place]], Q[place], R[place])


def test_nearest_matrices(precision, dtype, rng):
    x = cases.random_matrix(40, 7, precision, dtype, rng)
    y = cases.random_matrix(7, 30, precision, dtype, rng)
    a = x @ y
    u, s, vh = lowrank(a)
    assert s.shape == (7,)
    check((u * s) @ vh, a, 60 * 30)
    unit, p = polar(x)
    check(unit @ p, x, 100 * 7)
    check(adjoint(unit) @ unit, mdqr.eye(7, precision=precision, device=a.device), 100 * 7)
    check(norm(x, 2), svd(x).S[0], 40 * 7)


def test_tolerances_of_the_host(precision, dtype, rng):
    x = cases.random_matrix(9, 4, precision, dtype, rng)
    a = x @ cases.random_matrix(4, 7, precision, dtype, rng)
    for tolerance in (1e-9, np.array(1e-9), cases.to_device(mdqr.array(1e-9, precision=precision))):
        assert matrix_rank(a, rtol=tolerance) == matrix_rank(a, tolerance) == 4
        check(a @ pinv(a, rtol=tolerance) @ a, a, 1e6)
        null = null_space(a, tolerance)
        assert null.shape == (7, 3)
        assert float(norm(a @ null)) <= 1e3 * precision.eps * float(norm(a))


def test_many_vectors_far_apart(dtype, rng):
    a = cases.random_matrix(30, 30, mdqr.od, dtype, rng)
    a = a * mdqr.array(2.0 ** (-9.0 * rng.permutation(30)), precision=mdqr.od, device=a.device)
    u, s, vh = svd(a)
    check((u * s) @ vh, a, 40 * 30)


def test_shortest_solutions(precision, dtype, rng):
    x = rng.integers(-99, 99, (9, 3)).astype(float)
    y = rng.integers(-99, 99, (3, 6)).astype(float)
    a = mdqr.array(x @ y, precision=precision, dtype=dtype)
    b = mdqr.random.normal((9, 2), precision=precision, dtype=dtype, rng=rng)
    for options in ({}, {"basic": True}, {"weights": list(range(1, 10))}):
        found = lstsq(cases.to_device(a), cases.to_device(b), rtol=1e-10, **options)
        assert found.rank == 3
        assert found.x.device == cases.to_device(a).device
        left = b - a @ cases.to_host(found.x)
        # Orthogonal to the columns.
        weights = np.asarray(options.get("weights", np.ones(9)))[:, None]
        bound = 1e6 * precision.eps * float(norm(a)) * float(norm(b)) * weights.max()
        assert float(norm(adjoint(a) @ (weights * left))) <= bound
