"""Algebraic Riccati equations and their bounds, against arb."""

import numpy as np
import pytest
from arb_matrices import disturbed, moduli, riccati, to_acb

import mdqr
from mdqr import linalg

NAMES = ["solve_continuous_are", "solve_discrete_are"]


def operands(precision, dtype=float):
    """Return A, B, Q and R with every limb filled."""

    def draw(shape, seed):
        return mdqr.random.normal(shape, precision=precision, dtype=dtype, rng=seed)

    c, d = draw((3, 3), 5), draw((2, 2), 6)
    return draw((3, 3), 3), draw((3, 2), 4), c @ c.conj().mT, d @ d.conj().mT + np.eye(2)


def exact(name, given, x):
    parts = [to_acb(part) for part in given]
    return riccati(*parts, to_acb(x), discrete=name == "solve_discrete_are")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", [float, complex])
def test_errors_are_within_their_bounds(name, dtype, precision):
    a, b, q, r = operands(precision, dtype)
    jordan = mdqr.eye(3, precision=precision) + mdqr.diag(mdqr.ones(2, precision=precision), 1)
    for given in (
        (a, b, q, r),
        (a, 1e-3 * b, q, r),
        (jordan, b, q * 1e6, r),
        (a, b[:, :1], q, r[:1, :1]),
    ):
        x, info = getattr(linalg, name)(*given, return_info=True)
        assert x.is_complex == (dtype is complex)
        wanted = exact(name, given, x)
        error, size = moduli(to_acb(x) - wanted), moduli(wanted)
        assert (error <= info.error_bound).all()
        assert (info.data_error_bound >= info.error_bound).all()
        with np.errstate(all="ignore"):
            digits = np.where(error == 0, np.inf, -np.log10(error / size))
        assert (info.digits <= np.maximum(digits, 0) + 1e-9).all()


@pytest.mark.parametrize("name", NAMES)
def test_bounds_are_near_the_errors(name, multiple, monkeypatch):
    given = operands(multiple)
    with monkeypatch.context() as patch:
        disturbed(patch, (3, 3))
        x, info = getattr(linalg, name)(*given, return_info=True)
        bound = info.error_bound
    error = moduli(to_acb(x) - exact(name, given, x))
    assert (error <= bound).all()
    assert error.max() >= bound.max() / 2


@pytest.mark.parametrize("name", NAMES)
def test_errors_of_the_data_are_bounded(name, precision):
    given = operands(precision)
    errors = {f"{key}_rtol": 1e-9 for key in "abqr"}
    x, info = getattr(linalg, name)(*given, return_info=True, data_error=errors)
    changes = []
    for signs in np.ndindex(2, 2, 2, 2):
        factors = [1 + 1e-9 * (2 * s - 1) for s in signs]
        moved = [g.astype("od") * f for g, f in zip(given, factors, strict=True)]
        changes.append(abs(getattr(linalg, name)(*moved) - x).to_numpy())
    assert (np.array(changes) <= info.data_error_bound).all()
    assert (np.max(changes, axis=0) >= info.data_error_bound / 2.0**9).any()


@pytest.mark.parametrize("name", NAMES)
def test_solutions_stabilize(name):
    a = mdqr.random.normal((2, 1, 6, 6), precision="qd", rng=1)
    b = mdqr.random.normal((3, 6, 2), precision="qd", rng=2)
    x, info = getattr(linalg, name)(a, b, np.eye(6), np.eye(2), return_info=True)
    assert x.shape == info.error_bound.shape == (2, 3, 6, 6)
    assert info.digits.max() > 60
    closed = (a - b @ b.mT @ x).to_numpy()
    values = np.linalg.eigvals(closed)
    if name == "solve_continuous_are":
        assert (values.real < 0).all()


@pytest.mark.parametrize("name", NAMES)
def test_bad_operands(name):
    function, one = getattr(linalg, name), np.eye(2)
    with pytest.raises(np.linalg.LinAlgError, match=f"{name}: r is singular"):
        function(one, one, one, np.zeros((2, 2)), precision="qd")
    with pytest.raises(np.linalg.LinAlgError, match=f"{name}: no stabilizing solution"):
        function([[0.0, 1.0], [-1.0, 0.0]], np.zeros((2, 1)), one, [[1.0]], precision="qd")
    with pytest.raises(np.linalg.LinAlgError, match=f"{name}: a must be square"):
        function(np.ones((2, 3)), one, one, one)
    with pytest.raises(np.linalg.LinAlgError, match=r"b must have the shape \(2, 2\)"):
        function(one, np.ones((2, 3)), one, one)
    with pytest.raises(np.linalg.LinAlgError, match="NaN or infinite"):
        function(one, one, np.full((2, 2), np.nan), one)
    for place, name in ((2, "q"), (3, "r")):
        given = [one, one, one, one]
        given[place] = [[1.0, 2.0], [0.0, 1.0]]
        with pytest.raises(ValueError, match=f"{name} must be Hermitian"):
            function(*given, precision="qd")
    with pytest.raises(ValueError, match="data_error"):
        function(one, one, one, one, data_error={"x_rtol": 1})
