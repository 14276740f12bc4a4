"""Functions of matrices given by values, against arb."""

import flint
import numpy as np
import pytest
from arb_matrices import BITS, moduli, to_acb

import mdqr
from mdqr import linalg
from mdqr.linalg._matrix import funm as module
from mdqr.linalg._matrix.parlett.triangular import _Recurrence


def identity(n):
    return flint.acb_mat(n, n, [int(i == j) for i, j in np.ndindex(n, n)])


def inverse(a):
    one = identity(a.nrows())
    return (a + one * flint.acb(9)).solve(one)


FUNCTIONS = {
    "exp": (np.exp, lambda a: a.exp()),
    "cubic": (lambda z: z * z * z - 2 * z + 1, lambda a: a * a * a - a * 2 + identity(a.nrows())),
    "quotient": (lambda z: 1 / (z + 9), inverse),
}


def matrices(precision, dtype):
    """Return matrices with separate, close, equal and defective eigenvalues."""
    a = mdqr.random.normal((4, 4), precision=precision, dtype=dtype, rng=1)
    close = 1 + mdqr.array([1e-1, 1e-13, 1e-30, 0.0], precision=precision)
    jordan = mdqr.eye(4, precision=precision) * 0.3 + mdqr.diag(
        mdqr.ones(3, precision=precision), 1
    )
    q = linalg.qr(a).Q
    scales = 2.0 ** np.array([0, 20, -30, 9])
    return {
        "normal": a,
        "close": mdqr.diag(close) + mdqr.triu(a, 1),
        "triangular": mdqr.diag(mdqr.array([1.0, -2, 1, -2], precision=precision))
        + mdqr.triu(a, 1),
        "jordan": q @ jordan @ q.conj().mT,
        "graded": a * scales[:, None] / scales,
        "symmetric": a + a.conj().mT,
        "small": a * 2.0**-60,
        "equal": mdqr.eye(4, precision=precision) * 2.5,
    }


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        pytest.param("exp", float),
        ("cubic", complex),
        ("quotient", float),
    ],
)
def test_errors_are_within_their_estimates(name, dtype, precision):
    function, exact = FUNCTIONS[name]
    flint.ctx.prec = BITS
    # In od the estimate takes five evaluations.
    kinds = ("normal", "close", "jordan") if precision == mdqr.od else matrices(mdqr.dd, float)
    for kind, a in matrices(precision, dtype).items():
        if kind not in kinds:
            continue
        x, info = linalg.funm(a, function, return_info=True)
        wanted = exact(to_acb(a))
        error = moduli(to_acb(x) - wanted)
        assert (error <= info.error_bound).all(), kind
        assert info.bound_kind == "estimated"
        if kind != "graded":
            assert error.max() <= 1e4 * precision.eps * moduli(wanted).max(), kind


def test_taylor_series_in_hexa_double_keep_their_last_terms():
    """They ended where squares of the norms of powers underflow: errors of 1e-232."""
    a = matrices(mdqr.hd, float)["close"]
    x, info = linalg.funm(a, lambda z: 1 / (z + 9), return_info=True)
    error = moduli(to_acb(x) - inverse(to_acb(a)))
    assert (error <= info.error_bound).all()
    assert info.error_bound.max() <= 1e3 * mdqr.hd.eps


def test_estimates_are_near_the_errors(multiple, monkeypatch):
    flint.ctx.prec = BITS
    a = mdqr.random.normal((5, 5), precision=multiple, rng=1)
    values = module._values

    def disturbed(func, matrix):
        found, dropped = values(func, matrix)
        if matrix.precision == multiple:
            found = found + 2.0**-40 * np.random.default_rng(1).uniform(-1, 1, found.shape)
            monkeypatch.setattr(module, "_values", values)
        return found, dropped

    monkeypatch.setattr(module, "_values", disturbed)
    x, info = linalg.funm(a, np.exp, return_info=True)
    error = moduli(to_acb(x) - to_acb(a).exp())
    assert (error <= info.error_bound).all()
    assert (info.error_bound <= (3 if multiple.next > multiple else 2**10) * error.max()).all()


def test_errors_of_the_data(precision):
    a = mdqr.random.normal((4, 4), precision=precision, rng=2)
    x, info = linalg.funm(a, np.exp, return_info=True, data_error={"a_rtol": 1e-9})
    changes = []
    for seed in range(20):
        signs = np.random.default_rng(seed).choice([-1.0, 1.0], (4, 4))
        changes.append(abs(linalg.expm(a.astype("od") * (1 + 1e-9 * signs)) - x).to_numpy())
    assert (np.array(changes) <= info.data_error_bound).all()
    assert (np.max(changes, axis=0) >= info.data_error_bound / 2.0**10).any()


def test_known_functions_agree():
    a = mdqr.random.normal((2, 1, 4, 4), precision="qd", rng=1)
    b = a @ a.mT + np.eye(4)
    for function, other, given in (
        (mdqr.log, linalg.logm, b),
        (mdqr.sqrt, linalg.sqrtm, b),
        (mdqr.cos, linalg.cosm, a),
        (lambda z: 1 / z, linalg.inv, b),
    ):
        found = linalg.funm(given, function)
        assert not found.is_complex
        assert float(abs(found - other(given)).max()) <= 1e-57
    rotation = mdqr.array([[0, 1], [-1, 0]], precision="qd")
    assert float(abs(linalg.funm(rotation, np.log) - linalg.logm(rotation)).max()) <= 1e-62
    assert linalg.funm(-np.eye(2), np.sqrt, precision="dd").is_complex


def test_functions_that_are_not_analytic():
    jordan = mdqr.array([[1, 1], [0, 1]], precision="qd")

    def float64(z):
        return mdqr.array(np.exp(z.to_numpy()), precision="qd")

    for a, function in (
        (jordan - np.eye(2), np.sqrt),
        (jordan - np.eye(2), lambda z: 1 / z),
        (-jordan, np.log),
        (jordan, abs),
        (jordan, lambda z: abs(z - 1)),
        (jordan, np.conj),
        (jordan, float64),
    ):
        with pytest.raises(np.linalg.LinAlgError, match="funm: func is not analytic"):
            linalg.funm(a, function)
    with pytest.raises(np.linalg.LinAlgError, match="func is not finite"):
        linalg.funm(mdqr.zeros((2, 2), precision="dd"), np.log)
    # Of separate eigenvalues only values count.
    found = linalg.funm(mdqr.diag(mdqr.array([3.0, -4.0], precision="qd")), abs)
    assert found.to_numpy().tolist() == [[3.0, 0.0], [0.0, 4.0]]


def test_functions_that_return_something_else():
    a = mdqr.random.normal((3, 3), precision="qd", rng=1)
    with pytest.raises(TypeError, match="funm: func must return an MDArray; got"):
        linalg.funm(a, lambda z: z.to_numpy())
    with pytest.raises(ValueError, match=r"must keep the shape \(3,\) of its argument; got \(1,\)"):
        linalg.funm(a, lambda z: z[:1])
    assert linalg.funm(np.zeros((0, 0)), np.exp, precision="qd").shape == (0, 0)
    assert linalg.funm(np.zeros((2, 0, 0)), np.exp, return_info=True)[1].digits.shape == (2, 0, 0)


def test_close_eigenvalues_are_not_divided_by(monkeypatch):
    """Functions of defective matrices come from Taylor series, not from quotients."""
    seen = []
    above = _Recurrence._above
    monkeypatch.setattr(_Recurrence, "_above", lambda self, rows: seen.append(above(self, rows)))
    close = mdqr.diag(1 + mdqr.array([1e-12, 1e-25, 0.0], precision="qd"))
    linalg.funm(close + mdqr.diag(mdqr.ones(2, precision="qd"), 1), np.exp)
    assert not seen


def test_functions_without_more_digits_have_no_bound():
    a = mdqr.array([[1, 1], [0, 1]], precision="dd")
    x, info = linalg.funm(a, lambda z: np.exp(z.astype("dd")), return_info=True)
    assert float(abs(x - linalg.expm(a)).max()) <= 1e-29
    assert (info.error_bound == np.inf).all()
