"""Logarithms and signs of matrices and their bounds, against arb."""

import numpy as np
import pytest
from arb_matrices import logarithm, middle, moduli, square_root, to_acb

import mdqr
from mdqr import linalg
from mdqr.testing import assert_same_bits

REFERENCES = {
    "logm": logarithm,
    # Of A A, whose root has positive real parts.
    "signm": lambda a, x: middle(a.inv() * square_root(middle(a * a), middle(a * x))),
}


def matrices(precision, dtype):
    """Return matrices of many kinds, every limb filled, by their names."""
    a = mdqr.random.normal((3, 3), precision=precision, dtype=dtype, rng=3)
    positive = a @ a.conj().mT
    graded = 2.0 ** np.array([0, 40, -30])
    return {
        "ordinary": a,
        "positive": positive,
        "negative": -positive,
        "large": positive * 2.0**400,
        "small": positive * 2.0**-401,
        "near identity": np.eye(3) + a * 1e-12,
        "graded": positive * graded / graded[:, None],
        "one eigenvector": mdqr.triu(a, 1) + 2 * np.eye(3),
        "one": a[:1, :1],
    }


@pytest.mark.parametrize("name", REFERENCES)
@pytest.mark.parametrize("dtype", [float, complex])
def test_errors_are_within_their_bounds(name, dtype, precision):
    for kind, a in matrices(precision, dtype).items():
        x, info = getattr(linalg, name)(a, return_info=True)
        if kind in ("one eigenvector", "graded"):
            assert_same_bits(x, getattr(linalg, name)(a))
        wanted = REFERENCES[name](to_acb(a), to_acb(x))
        error, size = moduli(to_acb(x) - wanted), moduli(wanted)
        assert (error <= info.error_bound).all(), kind
        assert (info.data_error_bound >= info.error_bound).all()
        with np.errstate(all="ignore"):
            digits = np.where(error == 0, np.inf, -np.log10(error / size))
        assert (info.digits <= np.maximum(digits, 0) + 1e-9).all(), kind
        worst = max(precision.eps, 2.0**10 * mdqr.dd.eps) * size.max()
        if kind != "graded":
            assert info.error_bound.max() <= 2.0**20 * worst, kind
        assert x.is_complex == (dtype is complex) or name == "logm"


@pytest.mark.parametrize("name", REFERENCES)
@pytest.mark.parametrize("dtype", [float, complex])
def test_bounds_are_near_the_errors(name, dtype, multiple):
    a = mdqr.random.normal((4, 4), precision=multiple, dtype=dtype, rng=3)
    a = a @ a.conj().mT if name == "logm" else a
    x, info = getattr(linalg, name)(a, return_info=True)
    error = moduli(to_acb(x) - REFERENCES[name](to_acb(a), to_acb(x)))
    assert (error <= info.error_bound).all()
    # Each limb may leave a bit or two, so that rounding errors are smaller the more there are.
    assert (error / info.error_bound).max() > 2.0 ** -(8 + multiple.limbs)


@pytest.mark.parametrize("name", REFERENCES)
def test_errors_of_the_data_are_bounded(name, precision):
    a = mdqr.random.uniform((3, 3), precision=precision, rng=8) + 2 * np.eye(3)
    a[0] *= -1 if name == "signm" else 1
    x, info = getattr(linalg, name)(a, return_info=True, data_error={"a_atol": 1e-9})
    changes = []
    for seed in range(8):
        moved = a.astype("od") + 1e-9 * np.random.default_rng(seed).choice([-1.0, 1.0], (3, 3))
        changes.append(abs(getattr(linalg, name)(moved) - x).to_numpy())
    assert (np.array(changes) <= info.data_error_bound).all()
    assert (np.max(changes, axis=0) >= 2.0**-9 * info.data_error_bound).any()
    assert np.isfinite(info.condition)


@pytest.mark.parametrize("name", REFERENCES)
def test_order_40_keeps_its_digits(name, multiple):
    a = mdqr.random.normal((40, 40), precision=multiple, rng=2) / 8 + 2 * np.eye(40)
    x, info = getattr(linalg, name)(a, return_info=True)
    assert float(info.error_bound.max()) <= 2.0**10 * multiple.eps
    rest = linalg.expm(x) - a if name == "logm" else x @ x - np.eye(40)
    assert float(abs(rest).max()) <= 1e4 * multiple.eps


def test_logarithms_of_negative_numbers():
    x = linalg.logm(-mdqr.eye(2, precision="qd"))
    assert float(abs(x.imag - mdqr.array(mdqr.pi, precision="qd") * np.eye(2)).max()) <= 1e-60
    x = linalg.logm(mdqr.array(np.diag([1e100, 1e-100]), precision="qd"))
    assert float(abs(x[0, 0] - mdqr.log(mdqr.array(1e100, precision="qd")))) <= 1e-58


def test_matrices_without_values():
    with pytest.raises(np.linalg.LinAlgError, match="logm: a has no logarithm"):
        linalg.logm([[0.0, 1.0], [0.0, 0.0]], precision="qd")
    with pytest.raises(np.linalg.LinAlgError, match=r"no logarithm \(matrix 1 of the batch\)"):
        linalg.logm(np.array([np.eye(2), np.diag([1.0, 0.0])]), precision="dd")
    for a in ([[0.0, -1.0], [1.0, 0.0]], np.diag([1.0, 0.0])):
        with pytest.raises(np.linalg.LinAlgError, match="signm: a has an eigenvalue on the imag"):
            linalg.signm(a, precision="qd")


@pytest.mark.parametrize("name", REFERENCES)
def test_other_operands(name):
    function = getattr(linalg, name)
    assert function(np.zeros((0, 0)), precision="qd").shape == (0, 0)
    assert function(np.zeros((3, 0, 2, 2)), precision="dd").shape == (3, 0, 2, 2)
    a = mdqr.random.normal((2, 3, 3, 3), precision="dd", rng=4)
    x, info = function(a @ a.mT, return_info=True)
    assert info.error_bound.shape == x.shape == (2, 3, 3, 3)
    with pytest.raises(np.linalg.LinAlgError, match=f"{name}: a must be square"):
        function(np.ones((2, 3)))
    with pytest.raises(np.linalg.LinAlgError, match="NaN or infinite"):
        function([[1.0, np.nan], [0.0, 1.0]])
