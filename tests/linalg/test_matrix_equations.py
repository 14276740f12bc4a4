"""Equations of matrices and their bounds, against arb."""

import numpy as np
import pytest
from arb_matrices import disturbed, moduli, sylvester, to_acb

import mdqr
from mdqr import linalg
from mdqr._backend import for_block
from mdqr.linalg._matrix.refined.bases import eigenvectors, schur_vectors
from mdqr.linalg._matrix.refined.operators import Operator

NAMES = ["solve_sylvester", "solve_continuous_lyapunov", "solve_discrete_lyapunov"]


def operands(name, a, b, q):
    """Return the operands of a function, and A, B and Q of its equation."""
    if name == "solve_sylvester":
        return (a, b, q), (a, b, q)
    return (a, q[..., :, :1] * q[..., :, :1].conj().mT), (a, a.conj().mT, None)


def exact(name, given, parts):
    a, b, q = (to_acb(x) for x in (*parts[:2], given[-1]))
    return sylvester(a, b, q, stein=name == "solve_discrete_lyapunov")


def families(precision, dtype):
    """Return A, B and Q of many kinds, every limb filled."""

    def draw(shape, seed):
        return mdqr.random.normal(shape, precision=precision, dtype=dtype, rng=seed)

    a, b, q = draw((3, 3), 3), draw((2, 2), 4), draw((3, 2), 5)
    jordan = mdqr.eye(3, precision=precision) / 3 + mdqr.diag(mdqr.ones(2, precision=precision), 1)
    graded = 2.0 ** np.array([0, 30, -25])
    return {
        "ordinary": (a, b, q),
        "large": (a * 1e40, b * 1e40, q * 1e-30),
        "small": (a * 1e-20, b * 1e-20, q),
        "graded": (a * graded / graded[:, None], b, q * graded[::-1, None]),
        "one eigenvector": (jordan, 3 * jordan[:2, :2] * jordan[0, 0], q),
        "triangular": (mdqr.triu(a), mdqr.tril(b), q),
        "one": (a[:1, :1], b[:1, :1], q[:1, :1]),
    }


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", [float, complex])
def test_errors_are_within_their_bounds(name, dtype, precision):
    for kind, parts in families(precision, dtype).items():
        if kind == "large" and name == "solve_discrete_lyapunov":
            continue
        given, parts = operands(name, *parts)
        x, info = getattr(linalg, name)(*given, return_info=True)
        assert x.is_complex == any(part.is_complex for part in given)
        wanted = exact(name, given, parts)
        error, size = moduli(to_acb(x) - wanted), moduli(wanted)
        assert (error <= info.error_bound).all(), kind
        assert (info.data_error_bound >= info.error_bound).all()
        assert (info.digits <= -np.log10(np.maximum(error / size, 1e-300)) + 1e-9).all()
        worst = max(precision.eps, 2.0**10 * mdqr.dd.eps) * size.max()
        if kind != "graded":
            assert info.error_bound.max() <= 2.0**12 * worst, kind


@pytest.mark.parametrize("name", NAMES)
def test_bounds_are_near_the_errors(name, multiple, monkeypatch):
    """Of solutions with errors far above those of rounding."""
    disturbed(monkeypatch)
    a, b, q = (
        mdqr.random.normal(s, precision=multiple, rng=i)
        for i, s in enumerate([(3, 3), (2, 2), (3, 2)])
    )
    given, parts = operands(name, a, b, q)
    x, info = getattr(linalg, name)(*given, return_info=True)
    error = moduli(to_acb(x) - exact(name, given, parts))
    assert (error <= info.error_bound).all()
    assert error.max() >= info.error_bound.max() / 2


@pytest.mark.parametrize("name", NAMES)
def test_errors_of_the_data_are_bounded(name, precision):
    given, _ = operands(
        name,
        *(
            mdqr.random.uniform(s, precision=precision, rng=i) / 3
            for i, s in enumerate([(3, 3), (2, 2), (3, 2)])
        ),
    )
    keys = ("a", "b", "q") if len(given) == 3 else ("a", "q")
    errors = {f"{key}_rtol": 1e-9 for key in keys}
    x, info = getattr(linalg, name)(*given, return_info=True, data_error=errors)
    wide = [g.astype("od") for g in given]
    changes = []
    for signs in np.ndindex(*(2,) * len(given)):
        moved = [g * (1 + 1e-9 * (2 * s - 1)) for g, s in zip(wide, signs, strict=True)]
        changes.append(abs(getattr(linalg, name)(*moved) - x).to_numpy())
    changes = np.array(changes)
    assert (changes <= info.data_error_bound).all()
    assert (changes.max(axis=0) >= info.data_error_bound / 2.0**9).any()


def test_batches_have_their_own_vectors():
    a = mdqr.random.normal((2, 3, 4, 4), precision="qd", rng=1)
    a[1, 0] = mdqr.eye(4, precision="qd") + mdqr.diag(mdqr.ones(3, precision="qd"), 1)
    q = mdqr.random.normal((3, 4, 4), precision="qd", rng=2)
    x, info = linalg.solve_continuous_lyapunov(a, q, return_info=True)
    assert x.shape == info.error_bound.shape == (2, 3, 4, 4)
    assert float(abs(a @ x + x @ a.mT - q).max()) <= 1e-59
    for i, j in ((0, 0), (1, 0), (1, 2)):
        one = linalg.solve_continuous_lyapunov(a[i, j], q[j])
        assert (abs(one - x[i, j]) <= 2 * info.error_bound[i, j]).all()


@pytest.mark.parametrize("n", [1, 2, 7])
def test_antidiagonals_of_triangles(n):
    """Schur vectors and eigenvectors find the same solutions."""
    rng = np.random.default_rng(n)
    a, b = (rng.normal(size=(1, k, k)) / 3 for k in (n, n + 2))
    f = rng.normal(size=(1, n, n + 2))
    backend = for_block(np.zeros(1))
    for stein in (False, True):
        found = []
        for vectors in (eigenvectors, lambda x: schur_vectors(backend, x)):
            left, right = (vectors(x)[0].of(x, 0 * x) for x in (a, b))
            found.append(Operator(left, right, stein).solve(f))
        np.testing.assert_allclose(found[0], found[1], rtol=1e-9, atol=1e-11)
        x = found[1]
        np.testing.assert_allclose(x - a @ x @ b if stein else a @ x + x @ b, f, atol=1e-11)


def test_singular_equations():
    with pytest.raises(np.linalg.LinAlgError, match="no unique solution"):
        linalg.solve_sylvester([[1.0]], [[-1.0]], [[1.0]], precision="qd")
    with pytest.raises(np.linalg.LinAlgError, match="no unique solution"):
        linalg.solve_discrete_lyapunov(np.eye(2), np.eye(2), precision="dd")
    with pytest.raises(np.linalg.LinAlgError, match=r"matrix 1 of the batch"):
        linalg.solve_sylvester([[[1.0]], [[-1.0]]], [[1.0]], [[1.0]], precision="qd")


@pytest.mark.parametrize("name", NAMES)
def test_bad_operands(name):
    function, count = getattr(linalg, name), 3 if name == "solve_sylvester" else 2
    one = [np.eye(2)] * (count - 1)
    with pytest.raises(np.linalg.LinAlgError, match=f"{name}: a must be square"):
        function(np.ones((2, 3)), *one)
    with pytest.raises(np.linalg.LinAlgError, match="q must have 2 rows"):
        function(*one, np.ones((3, 2)))
    with pytest.raises(np.linalg.LinAlgError, match="NaN or infinite"):
        function(*one, np.full((2, 2), np.nan))
    with pytest.raises(ValueError, match="data_error"):
        function(*one, np.eye(2), data_error={"x_rtol": 1})
    assert function(*[np.zeros((0, 0))] * count, precision="qd").shape == (0, 0)
    assert function(*[np.zeros((0, 2, 2))] * count, precision="qd").shape == (0, 2, 2)
