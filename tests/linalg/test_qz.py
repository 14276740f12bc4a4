"""Generalized Schur forms, by exact residuals and beside SciPy."""

import flint
import numpy as np
import pytest
import scipy.linalg
from arb_matrices import adjoint, to_acb

import mdqr
from mdqr import linalg
from mdqr.linalg._general.pairs import iteration


def length(x):
    return float(sum((abs(v) ** 2 for v in x.entries()), flint.arb(0)).sqrt().upper())


def pairs(precision, dtype):
    a, b = mdqr.random.normal((2, 5, 5), precision=precision, dtype=dtype, rng=1)
    grades = 2.0 ** np.array([-90, 0, 30, 100, -60])
    low = b[:, :2] @ a[:2]
    double = mdqr.array([[1, 1, 2], [0, 1, 1], [0, 0, 1]], precision=precision)
    return {
        "normal": (a, b),
        "graded": (a * grades, b * grades[:, None]),
        "singular b": (a, low),
        "both singular": (low, b[:, 1:3] @ a[:2]),
        "zero": (a, 0 * b),
        "no pencil": (0 * a, 0 * b),
        "equal": (double, mdqr.eye(3, precision=precision)),
        "nilpotent": (
            mdqr.eye(5, precision=precision),
            mdqr.eye(5, k=1, precision=precision),
        ),
        "rotation": (mdqr.array([[0.0, 1.0], [-1.0, 0.0]], precision=precision), np.eye(2)),
        "one": (a[:1, :1], b[:1, :1]),
    }


def require_form(a, b, found):
    """Check the forms, and that errors are within the bounds."""
    flint.ctx.prec = 1000
    A, B, AA, BB, Q, Z = map(to_acb, (a, b, found.AA, found.BB, found.Q, found.Z))
    one = to_acb(mdqr.eye(a.shape[-1], precision="dd"))
    bounds, lost = found.info.error_bound, found.info.orthogonality
    assert length(A - Q * AA * adjoint(Z)) <= bounds[0]
    assert length(B - Q * BB * adjoint(Z)) <= bounds[1]
    assert length(one - adjoint(Q) * Q) <= lost[0]
    assert length(one - adjoint(Z) * Z) <= lost[1]
    limit = 40 * a.shape[-1] * found.AA.precision.eps
    for x, bound in ((a, bounds[0]), (b, bounds[1])):
        assert bound <= limit * np.linalg.norm(x.to_numpy()) + 1e-300
    assert lost.max() <= limit
    coupled = np.diagonal(found.AA.to_numpy(), -1) != 0
    assert not np.tril(found.AA.to_numpy(), -2).any()
    assert not np.tril(found.BB.to_numpy(), -1).any()
    assert not (coupled[1:] & coupled[:-1]).any()
    assert not (found.AA.is_complex and coupled.any())
    diagonal = found.BB.diagonal()
    assert (diagonal.real >= 0).all()
    assert not found.BB.is_complex or not diagonal.imag.to_numpy().any()


@pytest.mark.parametrize(("dtype", "output"), [(float, "real"), (complex, "complex")])
def test_errors_are_within_their_bounds(output, dtype, precision):
    for a, b in pairs(precision, dtype).values():
        b = mdqr.asarray(b, precision=precision)
        found = linalg.qz(a, b, output)
        assert found.AA.is_complex == (output == "complex" or a.is_complex or b.is_complex)
        require_form(a, b, found)


@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("sort", ["lhp", "rhp", "iuc", "ouc"])
def test_selected_eigenvalues_are_first(sort, dtype):
    for precision, output in (("dd", "real"), ("qd", "real"), ("od", "real"), ("d", "complex")):
        a, b = mdqr.random.normal((2, 6, 6), precision=precision, dtype=dtype, rng=4)
        found = linalg.ordqz(a, b, sort, output)
        require_form(a, b, found)
        values = (found.alpha / found.beta).to_numpy()
        near = scipy.linalg.eigvals(a.to_numpy(), b.to_numpy())
        assert abs(values[:, None] - near).min(axis=1).max() <= 1e-11
        inside = {"lhp": values.real < 0, "rhp": values.real > 0}.get(sort, abs(values) < 1)
        inside = ~inside if sort == "ouc" else inside
        assert (np.diff(inside.astype(int)) <= 0).all()
        assert 0 < inside.sum() < 6


def test_selection_by_a_function():
    a, b = mdqr.random.normal((2, 2, 6, 6), precision="qd", dtype=complex, rng=3)
    found = linalg.ordqz(a, b, lambda alpha, beta: alpha.imag > 0)
    for k in range(2):
        flags = (found.alpha[k].imag > 0).astype(int)
        assert (np.diff(flags) <= 0).all()
    low = mdqr.diag(mdqr.array([1.0, 0.0, 2.0], precision="qd"))
    found = linalg.ordqz(np.eye(3), low, lambda alpha, beta: beta == 0)
    assert found.beta[0] == 0
    assert (found.beta[1:] > 0).all()
    with pytest.raises(ValueError, match=r"sort must return an array of the shape \(6,\); got"):
        linalg.ordqz(a, b, lambda alpha, beta: True)
    with pytest.raises(ValueError, match='sort must be "lhp", "rhp", "iuc", "ouc" or callable'):
        linalg.ordqz(a, b, "left")
    with pytest.raises(ValueError, match='qz: output must be "real" or "complex"'):
        linalg.qz(a, b, "all")


def test_batches_and_devices_keep_their_shape():
    a = mdqr.random.normal((2, 1, 4, 4), precision="dd", rng=1)
    b = mdqr.random.normal((3, 4, 4), precision="qd", rng=2)
    found = linalg.qz(a, b)
    assert found.AA.shape == (2, 3, 4, 4)
    assert found.AA.precision == mdqr.qd
    assert found.info.error_bound.shape == (2, 3, 2)
    assert float(abs(found.Q @ found.AA @ found.Z.mT - a).max()) <= 1e-60
    assert linalg.ordqz(np.zeros((0, 0)), np.zeros((0, 0))).alpha.shape == (0,)


def test_bounds_are_near_the_errors(precision, monkeypatch):
    a, b = mdqr.random.normal((2, 5, 5), precision=precision, rng=1)
    made = iteration.positive_diagonal

    def disturbed(form):
        made(form)
        form.h[...] *= 1 + 2.0**-30
        form.z[...] *= 1 + 2.0**-32

    monkeypatch.setattr("mdqr.linalg._general.pairs.iteration.positive_diagonal", disturbed)
    found = linalg.qz(a, b)
    flint.ctx.prec = 1000
    A, AA, Q, Z = map(to_acb, (a, found.AA, found.Q, found.Z))
    error, lost = (
        length(A - Q * AA * adjoint(Z)),
        length(to_acb(mdqr.eye(5, precision="dd")) - adjoint(Z) * Z),
    )
    assert error <= found.info.error_bound[0] <= 4 * error
    assert lost <= found.info.orthogonality[1] <= 1.01 * lost
