"""Schur decompositions: residuals, orthogonality, blocks of two rows."""

from __future__ import annotations

import linalg_cases as cases
import numpy as np
import pytest

import mdqr
from mdqr.linalg import LinAlgError, schur


def check(a, output="real"):
    """``a = Z T Z^H`` and unitary Z to ``10 n eps``; T as promised."""
    t, z = schur(a, output)
    n, eps = a.shape[-1], z.precision.eps
    assert (t.shape, z.shape) == (a.shape, a.shape)
    assert t.is_complex == z.is_complex == (a.is_complex or output == "complex")
    for place in np.ndindex(a.shape[:-2]):
        one, middle, unitary = (cases.Exact.of(x[place]) for x in (a, t, z))
        rest = one @ unitary - unitary @ middle
        assert rest.norm() <= 10 * n * eps * one.norm()
        off = unitary.H @ unitary - cases.Exact.of(mdqr.eye(n, precision=z.precision))
        assert off.norm() <= 10 * n * eps
        plain = t[place].to_numpy()
        below = np.diagonal(plain, -1)
        assert not np.tril(plain, -2).any()
        assert not (below[1:] * below[:-1]).any()
        for i in np.flatnonzero(below):
            assert not t.is_complex
            assert plain[i, i] == plain[i + 1, i + 1]
            assert np.sign(plain[i, i + 1]) == -np.sign(plain[i + 1, i])
    return t, z


@pytest.mark.parametrize("output", ["real", "complex"])
@pytest.mark.parametrize("shape", [(0, 0), (1, 1), (2, 2), (2, 3, 5, 5), (12, 12)], ids=str)
def test_any_matrix(precision, dtype, output, shape, rng):
    a = mdqr.random.normal(shape, precision=precision, dtype=dtype, rng=rng)
    check(a, output)


@pytest.mark.parametrize("output", ["real", "complex"])
@pytest.mark.parametrize(
    "a",
    [
        np.zeros((3, 3)),
        np.eye(4)[::-1],
        np.diag(np.ones(5), -1),
        np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]]),
        np.array([[1, 5], [-3, 4]]),
        np.array([[1, 5], [-3, 1]]),
        np.array([[2.0, 0, 0], [1, 2, 0], [0, 1, 2]]),
        np.diag([1.0, 2.0, 3.0]) + 2.0**-60 * np.ones((3, 3)),
    ],
)
def test_special_matrices(multiple, a, output):
    """Permutations, whose shifts are exceptional ones, multiple values, scales."""
    for power in (0, 800, cases.in_range(-400, multiple)):
        check(mdqr.array(a * 2.0**power, precision=multiple), output)


def test_rotated_jordan_block(multiple, rng):
    """Convergence is linear where an eigenvalue is multiple. Once in hd there was none.

    Entries below the diagonal are 2^-580 there when the values come apart.
    """
    q, _ = mdqr.linalg.qr(cases.random(5, 5, multiple, float, rng))
    a = q @ mdqr.array(np.diag(np.ones(4), 1), precision=multiple) @ q.T
    for output in ("real", "complex"):
        check(a, output)


def test_entries_at_the_end_of_the_range(multiple):
    """Nothing is small beside zeros on the diagonal, and quotients by it overflow."""
    a = np.array([[0, 1, 1, 1], [2.0**-1070, 0, 1, 1], [0, 0.5, 1, 1], [0, 0, 0.5, 2]])
    check(mdqr.array(a, precision=multiple))


def test_bad_input():
    with pytest.raises(ValueError, match="schur: a must be square"):
        schur(np.ones((2, 3)))
    with pytest.raises(ValueError, match='output must be "real" or "complex"'):
        schur(np.eye(2), "x")
    with pytest.raises(LinAlgError, match="row 1, column 0 of a is NaN or infinite"):
        schur(mdqr.array([[1.0, 0.0], [np.inf, 1.0]], precision=mdqr.qd))
