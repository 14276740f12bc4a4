"""Exponentials, sines and cosines of matrices, and their bounds, against arb."""

import flint
import numpy as np
import pytest
from arb_matrices import moduli, to_acb

import mdqr
from mdqr import linalg
from mdqr._precision import PRECISIONS
from mdqr.linalg._matrix.series import exponential
from mdqr.linalg._matrix.series.plan import plan
from mdqr.testing import assert_same_bits

NAMES = ["expm", "cosm", "sinm", "coshm", "sinhm"]


def exact(name, a):
    """Return the function of an exact matrix, to 1,000 bits."""
    if name == "expm":
        return a.exp()
    i = flint.acb(0, 1)
    factor = i if name in ("cosm", "sinm") else flint.acb(1)
    plus, minus = (a * factor).exp(), (a * -factor).exp()
    if name in ("cosm", "coshm"):
        return (plus + minus) * flint.acb("0.5")
    return (plus - minus) * (flint.acb("0.5") / factor)


def errors(name, a, x):
    """Return upper bounds of the errors of entries, and sizes of the exact ones."""
    flint.ctx.prec = 1000
    wanted, got = exact(name, to_acb(a)), to_acb(x)
    n = a.shape[-1]
    found = [abs(wanted[i, j] - got[i, j]) for i in range(n) for j in range(n)]
    sizes = [float(abs(wanted[i, j])) for i in range(n) for j in range(n)]
    return np.array([float(e) for e in found]).reshape(n, n), np.array(sizes).reshape(n, n)


def matrices(precision, dtype):
    """Return matrices of many kinds, every limb filled, by their names."""
    a = mdqr.random.normal((4, 4), precision=precision, dtype=dtype, rng=3)
    graded = 2.0 ** np.array([0, 40, -30, 7])
    return {
        "ordinary": a,
        "large": 30 * a,
        "small": a * 1e-20,
        "negative": a - 50 * np.eye(4),
        "graded": a * graded / graded[:, None],
        "far from normal": mdqr.triu(a * 1e6, 1) + mdqr.diag(mdqr.diag(a)),
        "nilpotent": mdqr.triu(a, 1) * 1e3,
        "zero": 0 * a,
        "diagonal": mdqr.diag(mdqr.diag(a)) * 20,
        "one": a[:1, :1] * 100,
    }


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", [float, complex])
def test_errors_are_within_their_bounds(name, dtype, precision):
    for kind, a in matrices(precision, dtype).items():
        if name != "expm" and kind in ("large", "one", "diagonal", "negative"):
            a = a / 8
        x, info = getattr(linalg, name)(a, return_info=True)
        assert x.is_complex == a.is_complex
        if kind in ("ordinary", "graded", "nilpotent"):
            assert_same_bits(x, getattr(linalg, name)(a))
        found, sizes = errors(name, a, x)
        assert (found <= info.error_bound).all(), kind
        with np.errstate(all="ignore"):
            digits = np.where(found == 0, np.inf, -np.log10(found / sizes))
        assert (info.digits <= np.maximum(digits, 0) + 1e-9).all(), kind
        if kind == "nilpotent":
            assert info.digits[0, 3] >= precision.digits - 14 or precision is mdqr.d
        if kind in ("ordinary", "graded", "small") and name == "expm":
            top = np.abs(x.to_numpy()).max(axis=0, keepdims=True)
            limit = 64 * precision.eps * top.max()
            assert (info.error_bound <= limit).all() or kind == "graded", kind


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", [float, complex])
def test_bounds_are_near_the_errors(name, dtype, multiple):
    """By the value of the next precision, or by errors that are followed."""
    a = mdqr.random.normal((4, 4), precision=multiple, dtype=dtype, rng=3) * 20
    x, info = getattr(linalg, name)(a, return_info=True)
    found, _ = errors(name, a, x)
    assert (found <= info.error_bound).all()
    assert (found / info.error_bound).max() > 2.0**-8


def test_bounds_of_sums_are_near_their_roundings(monkeypatch):
    """Of exponentials and their inverses, which are taken to be exact."""
    monkeypatch.setattr(exponential.Exponential, "error", lambda self: np.zeros(40))
    a = mdqr.random.normal((20, 1, 1), precision=PRECISIONS[-1], rng=3)
    x, info = linalg.coshm(a, return_info=True)
    one, other = linalg.expm(a), linalg.expm(-a)
    ratios = []
    for i in range(20):
        wanted = (to_acb(one[i]) + to_acb(other[i])) * flint.acb("0.5")
        ratios.append((moduli(wanted - to_acb(x[i])) / info.error_bound[i]).item())
    assert 0.5 < max(ratios) <= 1


def test_negative_matrices_have_small_errors_of_the_data():
    a = mdqr.array([[-50, 1], [0, -51]], precision="qd")
    x, info = linalg.expm(a, return_info=True, data_error={"a_rtol": 1e-20})
    assert (info.data_error_bound <= 1e-17 * float(x[0, 0])).all()
    assert info.condition <= 100


def test_bounds_are_not_a_thousand_times_too_large(multiple, monkeypatch):
    """For numbers, with a polynomial whose truncation is what makes the error.

    Of full polynomials rounding errors are the last bits of expansions, that many times smaller
    than the units of kernels' bounds.
    """
    monkeypatch.setattr(exponential, "plan", lambda radius, bits: plan(radius, 40))
    a = mdqr.random.uniform((20, 1, 1), precision=multiple, rng=5) * 30
    x, info = linalg.expm(a, return_info=True)
    ratios = [errors("expm", a[i], x[i])[0].item() / info.error_bound[i].item() for i in range(20)]
    assert 0.5 < max(ratios) <= 1


def test_errors_of_the_data_are_bounded(precision):
    """An upper triangular matrix is moved by the errors that count most."""
    a = mdqr.random.uniform((3, 3), precision=precision, rng=8)
    with np.errstate(all="ignore"):
        for name in NAMES:
            _, info = getattr(linalg, name)(a, return_info=True, data_error={"a_rtol": 1e-9})
            moved = getattr(linalg, name)(a * (1 + 1e-9), precision="od")
            change = abs(moved - getattr(linalg, name)(a, precision="od")).to_numpy()
            assert (change <= info.data_error_bound).all()
            assert (change > 2.0**-10 * info.data_error_bound).any()
            assert (info.data_digits <= info.digits).all()


def test_batches_have_their_own_scalings(multiple):
    a = mdqr.random.normal((2, 3, 5, 5), precision=multiple, rng=1)
    a[0, 1] *= 100
    a[1, 2] *= 1e-9
    x, info = linalg.expm(a, return_info=True)
    assert info.error_bound.shape == (2, 3, 5, 5)
    assert np.shape(info.condition) == (2, 3)
    for i, j in ((0, 1), (1, 2), (0, 0)):
        one, own = linalg.expm(a[i, j], return_info=True)
        scale = float(abs(one).max())
        assert (abs(x[i, j] - one).to_numpy() <= info.error_bound[i, j] + own.error_bound).all()
        assert float(info.error_bound[i, j].max()) <= 1e12 * multiple.eps * scale


def test_order_100_keeps_its_digits(multiple):
    a = mdqr.random.normal((100, 100), precision=multiple, rng=2) / 10
    x, info = linalg.expm(a, return_info=True)
    bound = float(info.error_bound.max())
    assert bound <= 64 * multiple.eps * float(abs(x).max())
    rest = linalg.norm(x @ linalg.expm(-a) - np.eye(100))
    assert float(rest) <= 4 * 100 * bound * float(abs(x).max())


def test_info_is_of_the_call(multiple):
    a = mdqr.random.normal((3, 3), precision=multiple, rng=4)
    x, info = linalg.expm(a, return_info=True)
    _, other = linalg.expm(a, return_info=True)
    a *= 1000
    x *= 1000
    np.testing.assert_array_equal(info.error_bound, other.error_bound)
    np.testing.assert_array_equal(info.data_error_bound, other.data_error_bound)
    assert info.condition == other.condition >= 1 / 10
    assert (info.method, info.bound_kind) == ("scaling and squaring", "proven")


def test_other_operands():
    assert linalg.expm(np.zeros((0, 0)), precision="qd").shape == (0, 0)
    assert linalg.expm(np.zeros((3, 0, 2, 2)), precision="dd").shape == (3, 0, 2, 2)
    _, info = linalg.expm(np.zeros((0, 0)), precision="qd", return_info=True)
    assert info.error_bound.shape == (0, 0)
    assert linalg.expm([[1, 0], [0, 1]], precision="dd").precision is mdqr.dd
    a = mdqr.random.normal((3, 3), precision="od", rng=4)
    assert_same_bits(linalg.expm(a, precision="dd"), linalg.expm(a).astype("dd"))
    tiny, _ = linalg.expm(-1e300 * mdqr.eye(2, precision="qd"), return_info=True)
    assert float(abs(tiny).max()) == 0.0


@pytest.mark.parametrize("name", NAMES)
def test_bad_operands(name):
    function = getattr(linalg, name)
    with pytest.raises(np.linalg.LinAlgError, match=f"{name}: a must be square"):
        function(np.ones((2, 3)))
    with pytest.raises(np.linalg.LinAlgError, match="at least two dimensions"):
        function(np.ones(3))
    with pytest.raises(np.linalg.LinAlgError, match="NaN or infinite"):
        function([[1.0, np.nan], [0.0, 1.0]])
    with pytest.raises(ValueError, match="data_error"):
        function(np.eye(2), data_error={"b_rtol": 1})
    if name in ("expm", "coshm", "sinhm"):
        with pytest.raises(np.linalg.LinAlgError, match="beyond the largest double"):
            function(mdqr.dd([[1e4]]))
