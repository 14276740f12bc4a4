"""Bunch-Kaufman factors, by exact residuals and beside SciPy."""

import flint
import numpy as np
import pytest
import scipy.linalg
from arb_matrices import adjoint, to_acb

import mdqr
from mdqr import linalg
from mdqr.linalg._factor.indefinite import bunch_kaufman


def length(x):
    return float(sum((abs(v) ** 2 for v in x.entries()), flint.arb(0)).sqrt().upper())


def matrices(precision, dtype, hermitian):
    a = mdqr.random.normal((6, 6), precision=precision, dtype=dtype, rng=1)
    grades = 2.0 ** np.array([-90, 0, 30, 100, -60, 7])
    for each in (
        a,
        a * grades[:, None] * grades / 2,
        a[:, :2] @ a[:2],
        a * (1 - np.eye(6)),
        a * 0,
        a * 2.0**-800,
        a[:1, :1],
    ):
        yield each + (each.conj().mT if hermitian else each.mT)


@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("hermitian", [True, False])
@pytest.mark.parametrize("lower", [True, False])
def test_errors_are_within_their_bounds(lower, hermitian, dtype, precision):
    flint.ctx.prec = 1000
    for a in matrices(precision, dtype, hermitian):
        read = mdqr.tril(a) if lower else mdqr.triu(a)
        lu, d, perm = found = linalg.ldl(read, lower, hermitian)
        A, L, D = map(to_acb, (a, lu, d))
        other = adjoint(L) if hermitian else L.transpose()
        assert length(A - L * D * other) <= found.info.error_bound
        assert found.info.error_bound <= 200 * precision.eps * length(A) + 1e-300
        native = lu.to_numpy()[perm]
        assert not (np.triu if lower else np.tril)(native - np.eye(len(perm)), 0).any()
        blocks = d.to_numpy()
        assert not np.tril(blocks, -2).any()
        assert not np.triu(blocks, 2).any()
        coupled = np.diagonal(blocks, -1) != 0
        assert not (coupled[1:] & coupled[:-1]).any()
        turned = blocks.conj().T if hermitian else blocks.T
        assert (blocks == turned).all()


@pytest.mark.parametrize("seed", [251, 290, 382, 928])
def test_entries_of_any_size_multiply_what_underflows(seed):
    """Entries of L near 2^200 and more, of D far below the largest one of a."""
    flint.ctx.prec = 8000
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 6))
    a = mdqr.random.normal((n, n), precision=mdqr.hd, rng=int(rng.integers(1 << 40)))
    a = mdqr.tril(a * np.ldexp(1.0, rng.integers(-900, 900, (n, n))))
    found = linalg.ldl(a)
    A, L, D = map(to_acb, (a + mdqr.tril(a, -1).mT, found.lu, found.d))
    assert length(A - L * D * L.transpose()) <= found.info.error_bound < np.inf


@pytest.mark.parametrize("lower", [True, False])
def test_pivots_are_those_of_lapack(lower):
    rng = np.random.default_rng(1)
    for n in range(1, 12):
        a = rng.normal(size=(n, n))
        a = a + a.T
        a[: n // 2, : n // 2] = 0
        wanted = scipy.linalg.ldl(a, lower)
        found = linalg.ldl(a, lower, precision="qd")
        assert (wanted[2] == found.perm).all()
        np.testing.assert_allclose(found.lu.to_numpy(), wanted[0], atol=1e-12)
        np.testing.assert_allclose(found.d.to_numpy(), wanted[1], atol=1e-12)


def test_batches():
    a = mdqr.random.normal((2, 3, 5, 5), precision="qd", rng=1)
    found = linalg.ldl(a + a.mT)
    assert found.perm.shape == (2, 3, 5)
    assert found.info.error_bound.shape == (2, 3)
    back = found.lu @ found.d @ found.lu.mT
    assert float(abs(back - a - a.mT).max()) <= 1e-61
    empty = linalg.ldl(np.zeros((0, 0)), precision="dd")
    assert empty.lu.shape == (0, 0)
    assert empty.perm.shape == (0,)
    with pytest.raises(np.linalg.LinAlgError, match="ldl: a must be square"):
        linalg.ldl(np.ones((2, 3)))
    with pytest.raises(
        np.linalg.LinAlgError, match="ldl: the entry in row 0, column 0 of a is NaN"
    ):
        linalg.ldl([[np.nan, 0.0], [0.0, 1.0]])
    assert np.isfinite(linalg.ldl([[1.0, np.nan], [0.0, 1.0]]).d.to_numpy()).all()


def test_bounds_are_near_the_errors(precision, monkeypatch):
    made = bunch_kaufman.Factors.__init__

    def disturbed(self, a, *, hermitian):
        made(self, a, hermitian=hermitian)
        self.d = self.d * (1 + 2.0**-30)

    monkeypatch.setattr(bunch_kaufman.Factors, "__init__", disturbed)
    a = mdqr.random.normal((5, 5), precision=precision, rng=1)
    a, flint.ctx.prec = a + a.mT, 1000
    lu, d, _ = found = linalg.ldl(a)
    L = to_acb(lu)
    error = length(to_acb(a) - L * to_acb(d) * L.transpose())
    assert error <= found.info.error_bound <= 1.01 * error
