"""Square roots of matrices and their bounds, against arb."""

import numpy as np
import pytest
from arb_matrices import disturbed, moduli, square_root, to_acb

import mdqr
from mdqr import linalg
from mdqr.testing import assert_same_bits


def matrices(precision, dtype):
    """Return matrices of many kinds, every limb filled, by their names."""
    a = mdqr.random.normal((4, 4), precision=precision, dtype=dtype, rng=3)
    positive = a @ a.conj().mT
    graded = 2.0 ** np.array([0, 40, -30, 7])
    return {
        "ordinary": a,
        "positive": positive,
        "negative": -positive,
        "large": a * 2.0**900,
        "small": a * 2.0**-901,
        "graded": positive * graded / graded[:, None],
        "triangular": mdqr.triu(a) + 3 * np.eye(4),
        "one eigenvector": mdqr.triu(a, 1) + 2 * np.eye(4),
        "one": a[:1, :1],
        "identity": np.eye(4) * (1 + 0 * a),
    }


@pytest.mark.parametrize("dtype", [float, complex])
def test_errors_are_within_their_bounds(dtype, precision):
    for kind, a in matrices(precision, dtype).items():
        x, info = linalg.sqrtm(a, return_info=True)
        assert_same_bits(x, linalg.sqrtm(a))
        wanted = square_root(to_acb(a), to_acb(x))
        error, size = moduli(to_acb(x) - wanted), moduli(wanted)
        assert (error <= info.error_bound).all(), kind
        assert (info.data_error_bound >= info.error_bound).all()
        with np.errstate(all="ignore"):
            digits = np.where(error == 0, np.inf, -np.log10(error / size))
        assert (info.digits <= np.maximum(digits, 0) + 1e-9).all(), kind
        if kind != "graded":
            # Limbs below the smallest double are lost.
            limit = 16 * precision.eps * size.max() + 16 * 2.0**-1074
            assert info.error_bound.max() <= limit, kind
        assert (np.linalg.eigvals(x.to_numpy() / size.max()).real > -1e-12).all()
        assert x.is_complex or dtype is float


def test_bounds_are_near_the_errors(multiple, monkeypatch):
    disturbed(monkeypatch)
    a = mdqr.random.normal((4, 4), precision=multiple, rng=3)
    x, info = linalg.sqrtm(a, return_info=True)
    error = moduli(to_acb(x) - square_root(to_acb(a), to_acb(x)))
    assert (error <= info.error_bound).all()
    assert error.max() >= info.error_bound.max() / 2


def test_errors_of_the_data_are_bounded(precision):
    a = mdqr.random.uniform((3, 3), precision=precision, rng=8) + 2 * np.eye(3)
    x, info = linalg.sqrtm(a, return_info=True, data_error={"a_rtol": 1e-9})
    change = abs(linalg.sqrtm(a.astype("od") * (1 + 1e-9)) - x).to_numpy()
    assert (change <= info.data_error_bound).all()
    assert (change >= 2.0**-6 * info.data_error_bound).any()
    assert np.isfinite(info.condition)
    assert info.condition >= 0.5


def test_real_matrices_have_complex_roots_for_negative_eigenvalues_alone():
    assert not linalg.sqrtm([[0.0, -1.0], [1.0, 0.0]], precision="qd").is_complex
    x = linalg.sqrtm(-mdqr.eye(2, precision="qd"))
    np.testing.assert_array_equal(x.to_numpy(), 1j * np.eye(2))
    both = linalg.sqrtm(np.array([np.eye(2), -np.eye(2)]), precision="qd")
    assert both.is_complex
    np.testing.assert_array_equal(both.to_numpy()[0], np.eye(2))


def test_singular_matrices():
    zeros = linalg.sqrtm(np.zeros((2, 2)), precision="qd")
    np.testing.assert_array_equal(zeros.to_numpy(), np.zeros((2, 2)))
    x, info = linalg.sqrtm(np.diag([0.0, 4.0]), precision="qd", return_info=True)
    np.testing.assert_array_equal(x.to_numpy(), np.diag([0.0, 2.0]))
    assert np.isinf(info.error_bound).all()
    with pytest.raises(np.linalg.LinAlgError, match="sqrtm: a has no square root"):
        linalg.sqrtm([[0.0, 1.0], [0.0, 0.0]], precision="qd")
    a = mdqr.array([[1, 2, 3], [4, 5, 6], [7, 8, 9]], precision="qd")
    with pytest.warns(mdqr.PrecisionWarning, match="sqrtm: a has no square root, or nearly so"):
        x = linalg.sqrtm(a)
    assert float(abs(x @ x - a).max()) < 1e-12


def test_order_100_keeps_its_digits(multiple):
    a = mdqr.random.normal((100, 100), precision=multiple, rng=2) / 10 + 2 * np.eye(100)
    x, info = linalg.sqrtm(a, return_info=True)
    assert float(info.error_bound.max()) <= 64 * multiple.eps
    assert float(abs(x @ x - a).max()) <= 1000 * multiple.eps


def test_other_operands():
    assert linalg.sqrtm(np.zeros((0, 0)), precision="qd").shape == (0, 0)
    assert linalg.sqrtm(np.zeros((3, 0, 2, 2)), precision="dd").shape == (3, 0, 2, 2)
    a = mdqr.random.normal((2, 3, 3, 3), precision="dd", rng=4)
    x, info = linalg.sqrtm(a @ a.mT, return_info=True)
    assert info.error_bound.shape == x.shape == (2, 3, 3, 3)
    with pytest.raises(np.linalg.LinAlgError, match="sqrtm: a must be square"):
        linalg.sqrtm(np.ones((2, 3)))
    with pytest.raises(np.linalg.LinAlgError, match="NaN or infinite"):
        linalg.sqrtm([[1.0, np.nan], [0.0, 1.0]])
