"""Linear least squares with bounds: against rational arithmetic and SciPy."""

from __future__ import annotations

import copy
import itertools
import pickle
from fractions import Fraction

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
import scipy.sparse.linalg
from flint import fmpq, fmpq_mat

import mdqr
from mdqr.optimize import lsq_linear, nnls
from mdqr.optimize._enclosure import krawczyk
from mdqr.optimize._solver import active_set

PRECISIONS = [mdqr.d, mdqr.dd, mdqr.qd, mdqr.od, mdqr.hd]


def rational(values):
    return [fmpq(v.numerator, v.denominator) for v in np.ravel(values)]


def exact_minimum(a, b, lower, upper):
    """Return the solution in rational arithmetic: of all active sets the one that fits."""
    m, n = a.shape
    rows = fmpq_mat(m, n, rational(a.to_fractions()))
    right = fmpq_mat(m, 1, rational(b.to_fractions()))
    low, high = (rational(side.to_fractions()) for side in (lower, upper))
    for sides in itertools.product((-1, 0, 1), repeat=n):
        x = [low[j] if sides[j] < 0 else high[j] if sides[j] > 0 else fmpq(0) for j in range(n)]
        free = [j for j in range(n) if not sides[j]]
        rest = right - rows * fmpq_mat(n, 1, x)
        if free:
            columns = fmpq_mat(m, len(free), [rows[i, j] for i in range(m) for j in free])
            solved = (columns.transpose() * columns).solve(columns.transpose() * rest)
            for k, j in enumerate(free):
                x[j] = solved[k, 0]
        gradient = rows.transpose() * (rows * fmpq_mat(n, 1, x) - right)
        inside = all(low[j] <= x[j] <= high[j] for j in range(n))
        if inside and all(not s or -s * gradient[j, 0] > 0 for j, s in enumerate(sides)):
            return [Fraction(int(v.p), int(v.q)) for v in x], list(sides)
    return None


def drawn(seed, precision, *, negative=True):
    """Return full-width problems, graded by up to 2^+-60."""
    rng = np.random.default_rng([seed, precision.limbs])
    m, n = int(rng.integers(3, 6)), int(rng.integers(1, 4))
    a = mdqr.random.normal((m, n), precision=precision, rng=rng)
    a = a * 2.0 ** rng.integers(-60, 60) * np.exp2(rng.integers(-8, 8, n))
    b = mdqr.random.normal((m,), precision=precision, rng=rng) * 2.0 ** rng.integers(-60, 60)
    size = np.linalg.norm(b.to_numpy()) / np.linalg.norm(a.to_numpy(), axis=0)
    upper = mdqr.random.uniform((n,), low=0.05, precision=precision, rng=rng) * size
    lower = -upper * 0.7 if negative else mdqr.zeros_like(upper)
    return a, b, lower, upper


def linear_claims(precision, seeds):
    """Yield the errors of components and their bounds, where these are proven."""
    for seed in seeds:
        a, b, lower, upper = drawn(seed, precision)
        exact = exact_minimum(a, b, lower, upper)
        found = lsq_linear(a, b, (lower, upper), precision=precision)
        assert exact is not None
        assert found.active_mask.tolist() == exact[1]
        assert found.info.bound_kind == "proven"
        errors = [abs(v - e) for v, e in zip(found.x.to_fractions(), exact[0], strict=True)]
        yield [float(e) for e in errors], found.info.error_bound


@pytest.mark.parametrize("precision", PRECISIONS)
def test_bounds_hold_and_are_near(precision):
    ratios = []
    for errors, bounds in linear_claims(precision, range(12)):
        assert np.all(np.asarray(errors) <= bounds)
        ratios += [e / bound for e, bound in zip(errors, bounds, strict=True) if e]
    # A thousandth of the bounds is too small; those of hd are made in hd itself.
    assert max(ratios) > 2.0**-10 or precision is mdqr.hd


@pytest.mark.parametrize("precision", PRECISIONS)
def test_variables_that_are_not_negative(precision):
    for seed in range(8):
        a, b, lower, upper = drawn(seed + 100, precision, negative=False)
        exact, _ = exact_minimum(a, b, lower, upper * 0 + 2.0**200)
        x, rnorm = found = nnls(a, b)
        for value, true, bound in zip(x.to_fractions(), exact, found.info.error_bound, strict=True):
            assert abs(value - true) <= bound
            assert value >= 0
        wide = a.astype(mdqr.hd) @ x.astype(mdqr.hd) - b.astype(mdqr.hd)
        assert abs(rnorm - mdqr.linalg.norm(wide)) <= 64 * precision.eps * abs(rnorm)


@pytest.mark.parametrize("seed", range(6))
def test_scipy_finds_the_same(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.standard_normal((20, 9)), rng.standard_normal(20)
    ours = lsq_linear(a, b, (-0.1, [0.1] * 9), precision=mdqr.dd)
    theirs = scipy.optimize.lsq_linear(a, b, (-0.1, [0.1] * 9), method="bvls", tol=1e-15)
    np.testing.assert_allclose(ours.x.to_numpy(), theirs.x, atol=1e-12)
    assert (ours.active_mask == theirs.active_mask).all()
    np.testing.assert_allclose(ours.unbounded_sol.to_numpy(), theirs.unbounded_sol[0], atol=1e-12)
    assert set(theirs) <= set(ours)
    np.testing.assert_allclose(nnls(a, b, precision=mdqr.dd).x.to_numpy(),
                               scipy.optimize.nnls(a, b)[0], atol=1e-12)  # fmt: skip


def test_without_bounds_it_is_lstsq():
    a, b = mdqr.random.normal((6, 3), precision=mdqr.qd, rng=1), mdqr.ones(6, precision=mdqr.qd)
    found = lsq_linear(a, b)
    error = np.abs((found.x - mdqr.linalg.lstsq(a, b, precision=mdqr.od).x).to_numpy())
    assert np.all(error <= found.info.error_bound)
    assert found.active_mask.tolist() == [0, 0, 0]


def test_complex_equations_of_real_unknowns():
    rng = np.random.default_rng(2)
    a = rng.standard_normal((5, 3)) + 1j * rng.standard_normal((5, 3))
    b = rng.standard_normal(5) + 1j
    ours, _ = nnls(a, b, precision=mdqr.qd)
    theirs, _ = scipy.optimize.nnls(np.vstack([a.real, a.imag]), np.concatenate([b.real, b.imag]))
    np.testing.assert_allclose(ours.to_numpy(), theirs, atol=1e-12)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_gradients_of_zero_at_bounds(precision):
    """The active set is not determined there, but x is."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        a = mdqr.array(rng.integers(-4, 5, (5, 3)) + 8 * np.eye(5, 3), precision=precision)
        x = rng.integers(0, 3, 3)
        found = lsq_linear(a, a @ x, (0, 2))
        assert found.info.bound_kind == "proven"
        assert np.all(np.abs(found.x.to_numpy() - x) <= found.info.error_bound)
        assert np.all(found.info.error_bound <= 2.0**11 * precision.eps)
        found = nnls(a, a @ x)
        assert np.all(np.abs(found.x.to_numpy() - x) <= found.info.error_bound)
        assert np.all(found.info.error_bound <= 2.0**11 * precision.eps)


def test_a_singular_problem_without_a_proof():
    a = mdqr.array([[1, 1, 1], [0, 1, 2]], precision=mdqr.qd)
    with pytest.warns(mdqr.PrecisionWarning, match="digits are not known"):
        found = nnls(a, a @ [1, 0, 0])
    assert np.isinf(found.info.error_bound).all()
    assert found.info.bound_kind == "estimated"


def test_dependent_columns_are_named():
    """By their indices in A, whichever variables are free; without advice on `linalg.lstsq`."""
    with pytest.raises(mdqr.linalg.LinAlgError, match="lsq_linear: the columns 0, 1 of A are"):
        lsq_linear(np.ones((3, 2)), [1, 2, 4], precision=mdqr.qd)
    a = np.array([[1, 0, 1, 2], [1, 0, 2, 4], [2, 0, 7, 14]])
    fixed = [1, -1, -np.inf, -np.inf], [1.5, 1, np.inf, np.inf]
    with pytest.raises(mdqr.linalg.LinAlgError, match="the columns 2, 3 of A are linearly dep"):
        lsq_linear(a, [1, 2, -4], fixed)
    with pytest.raises(mdqr.linalg.LinAlgError, match="the column 1 of A is zero"):
        lsq_linear(a[:, :3], [1, 2, 4])


def test_a_unique_solution_of_dependent_columns():
    found = lsq_linear([[1, 1], [2, 2], [3, 3]], [10, 20, 40], (0, 1), precision=mdqr.dd)
    assert found.x.to_numpy().tolist() == [1, 1]
    np.testing.assert_allclose(found.unbounded_sol.to_numpy(), [85 / 14, 85 / 14], rtol=1e-15)


@pytest.mark.parametrize("precision", PRECISIONS[1:])
@pytest.mark.parametrize("bounded", [False, True])
def test_columns_that_float64_does_not_tell_apart(precision, bounded):
    a = np.array([[1, 1, 1], [1, 2, 1], [1, 4, 1], [1, 3, 1]])
    close = mdqr.array(a, precision=precision)
    close[:, 2] = close[:, 2] + np.array([1, 2, -3, 1]) * 2.0**-60
    b = close @ np.array([1, 2, 3])
    bounds = ([0, -np.inf, -np.inf], [np.inf, np.inf, 1e9]) if bounded else (-np.inf, np.inf)
    found = lsq_linear(close, b, bounds, precision=precision)
    error = np.abs((found.x - [1, 2, 3]).to_numpy())
    assert np.all(error <= found.info.error_bound)
    # The condition is 2**60; the proof squares it, in od without a higher precision.
    assert np.all(
        found.info.error_bound <= 2.0 ** (140 if precision is mdqr.hd else 70) * precision.eps
    )


def test_limits_and_progress():
    rng = np.random.default_rng(4)
    a, b = rng.standard_normal((20, 9)), rng.standard_normal(20)
    with pytest.raises(RuntimeError, match="maximum number of iterations"), pytest.warns():
        nnls(a, b, maxiter=1, precision=mdqr.dd)
    with pytest.warns(mdqr.PrecisionWarning, match="maximum number of iterations"):
        found = lsq_linear(a, b, (0, 1), max_iter=1, precision=mdqr.dd)
    assert found.status == 0
    assert not found.success
    steps = []
    nnls(a, b, precision=mdqr.dd, progress=lambda *report: steps.append(report))
    assert steps[-1][1] == steps[-1][2]


def test_results_are_copied_and_pickled():
    found = nnls(np.eye(3), [1, -1, 2], precision=mdqr.qd)
    for other in (copy.copy(found), copy.deepcopy(found), pickle.loads(pickle.dumps(found))):
        assert mdqr.array_equal(other.x, found.x)
        assert (other.info.digits == found.info.digits).all()
    bounded = lsq_linear(np.eye(3), [1, -1, 2], (0, 1), precision=mdqr.qd)
    other = pickle.loads(pickle.dumps(bounded))
    assert (other.info.error_bound == bounded.info.error_bound).all()
    assert "digits" in repr(bounded)


A, B = np.eye(3), [1, 2, 3]
WRONG = {
    "precision": (lambda: nnls(A, B, precision="xd"), ValueError, "precision must be one of"),
    "vector": (lambda: nnls(B, B, precision="dd"), ValueError, "`A` must be a matrix"),
    "empty": (lambda: nnls(np.ones((3, 0)), B, precision="dd"), ValueError, "with entries"),
    "shapes": (lambda: nnls(A, [1, 2], precision="dd"), ValueError, "`b` must have shape"),
    "NaN": (lambda: nnls(A * np.nan, B, precision="dd"), ValueError, "`A` must not contain"),
    "inf": (lambda: nnls(A, [1, 2, np.inf], precision="dd"), ValueError, "`b` must not contain"),
    "maxiter": (lambda: nnls(A, B, maxiter=0, precision="dd"), ValueError, "positive integer"),
    "method": (lambda: lsq_linear(A, B, method="x", precision="dd"), ValueError, "`method` must"),
    "tol": (lambda: lsq_linear(A, B, tol=1e-3, precision="dd"), TypeError, "tol is not needed"),
    "bounds": (lambda: lsq_linear(A, B, (1, 0), precision="dd"), ValueError, "strictly less"),
    "progress": (lambda: nnls(A, B, precision="dd", progress=3), TypeError, "progress must be"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_input(name):
    call, error, text = WRONG[name]
    with pytest.raises(error, match=text):
        call()


OPERATOR = scipy.sparse.linalg.aslinearoperator(np.eye(2))
REFUSED = {
    "text": ("abc", TypeError, "`A` must be an array of numbers; got str"),
    "nothing": (None, TypeError, "`A` must be an array of numbers; got NoneType"),
    "words": ([["a", "b"], ["c", "d"]], ValueError, "`A` does not hold numbers"),
    "sparse": (scipy.sparse.eye_array(2), TypeError, "`A` is sparse; give A.toarray.."),
    "an operator": (OPERATOR, TypeError, "`A` is an operator"),
    "an object": (object(), TypeError, "`A` does not hold numbers"),
}


@pytest.mark.parametrize("function", [nnls, lsq_linear])
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_matrix(function, name):
    a, error, text = REFUSED[name]
    with pytest.raises(error, match=f"{function.__name__}: {text}"):
        function(a, [1, 2])
    with pytest.raises((TypeError, ValueError), match="`b`"):
        function(np.eye(2), a)


def test_options_of_scipy():
    for option in ("lsq_solver", "lsmr_tol", "lsmr_maxiter", "verbose", "tol"):
        with pytest.raises(TypeError, match=f"lsq_linear: {option} is not needed"):
            lsq_linear(np.eye(2), [1, 2], **{option: 1})
    with pytest.raises(TypeError, match="nnls: atol is not needed"):
        nnls(np.eye(2), [1, 2], atol=1e-9)
    with pytest.raises(ValueError, match="`maxiter` must be None or a positive integer; got True"):
        nnls(np.eye(2), [1, 2], maxiter=True)


def test_few_digits_are_said():
    """In dd, columns 2^-80 apart leave some eight digits."""
    a = mdqr.random.normal((8, 4), precision=mdqr.od, rng=1)
    a[:, 3] = a[:, 2] + mdqr.random.normal((8,), precision=mdqr.od, rng=2) * 2.0**-80
    b = mdqr.random.normal((8,), precision=mdqr.od, rng=3)
    with pytest.warns(mdqr.PrecisionWarning, match=r"x\[.\] has an error .* higher precision"):
        found = lsq_linear(a.astype(mdqr.dd), b.astype(mdqr.dd), bounds=(-1e40, 1e40))
    exact = mdqr.linalg.lstsq(a.astype(mdqr.dd), b.astype(mdqr.dd), precision=mdqr.od).x
    error = np.abs((found.x.astype(mdqr.od) - exact).to_numpy())
    assert np.all(error <= found.info.error_bound)


@pytest.mark.parametrize(("cond", "most"), [(1e3, mdqr.dd), (1e50, mdqr.od)])
@pytest.mark.parametrize("bounds", [(-np.inf, np.inf), (-0.05, 0.05)])
def test_proofs_take_few_limbs(cond, most, bounds, monkeypatch, rng):
    """Once octo-double took twice the time and memory: Hessians were factored in hexa-double."""
    a = mdqr.testing.matrix("random", 12, 4, cond=cond, precision=mdqr.od, rng=rng)
    b = mdqr.random.normal((12,), precision=mdqr.od, rng=rng)
    factored = []

    def cholesky(h):
        factored.append(h.precision)
        return mdqr.linalg.cholesky(h)

    monkeypatch.setattr(krawczyk, "cholesky", cholesky)
    info = lsq_linear(a, b, bounds=bounds).info
    assert info.bound_kind == "proven"
    assert max(factored, default=most) <= most
    # All limbs of the proof make bounds smaller by less than they may be larger.
    monkeypatch.setattr(active_set, "PRECISIONS", (mdqr.hd,))
    all_limbs = lsq_linear(a, b, bounds=bounds).info
    assert np.all(info.error_bound <= (1 + 2.0**-8) * all_limbs.error_bound)
