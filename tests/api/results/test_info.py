"""Every result has an `info`, with the same attributes, known or not."""

from __future__ import annotations

import copy
import inspect
import pickle

import numpy as np
import pytest

import mdqr
from mdqr import linalg, series, tensorcore
from mdqr.linalg import Info

ATTRIBUTES = (
    *("method", "precision", "iterations", "condition", "error_bound", "bound_kind"),
    *("digits", "data_digits", "data_error_bound", "history"),
)
A = mdqr.array([[7, 1, 2], [1, 5, 3], [2, 3, 8]], precision=mdqr.dd) / 3
B = mdqr.array([1, 3, 5], precision=mdqr.dd)
TALL = mdqr.vander([1.0, 2.0, 3.0, 5.0], 3, precision=mdqr.dd)
ONE = mdqr.eye(3, precision=mdqr.dd)
FLOATS = TALL.to_numpy().astype(np.float32)
CIRCLE = series.System.from_strings(["x^2 - 2 - t"], ["x"], "t")


def _updatable():
    return linalg.UpdatableLstsq(TALL, TALL[:, 0])


def _series():
    return series.newton_series(CIRCLE, [1.4], degree=12, precision="dd")


RESULTS = {
    "certify": lambda: linalg.certify(TALL, *linalg.qr(TALL)),
    "eig": lambda: linalg.eig(A),
    "eigh": lambda: linalg.eigh(A),
    "lowrank": lambda: linalg.lowrank(TALL, 2),
    "lstsq": lambda: linalg.lstsq(TALL, TALL[:, 0] + 1),
    "lstsq, rtol": lambda: linalg.lstsq(TALL, TALL[:, 0] + 1, rtol=1e-9),
    "lu_factor": lambda: linalg.lu_factor(TALL),
    "eigh_tridiagonal": lambda: linalg.eigh_tridiagonal(B, B[1:]),
    "expm_frechet": lambda: linalg.expm_frechet(A, A),
    "hessenberg": lambda: linalg.hessenberg(A, calc_q=True),
    "rq": lambda: linalg.rq(TALL),
    "ldl": lambda: linalg.ldl(A),
    "qz": lambda: linalg.qz(A, TALL[:3]),
    "ordqz": lambda: linalg.ordqz(A, TALL[:3]),
    "polar": lambda: linalg.polar(TALL),
    "qr": lambda: linalg.qr(TALL),
    "qr, complete": lambda: linalg.qr(TALL, "complete"),
    "qr, pivoting": lambda: linalg.qr(TALL, pivoting=True),
    "qr, refine": lambda: linalg.qr(TALL, method="refine"),
    "qr_delete": lambda: linalg.qr_delete(*linalg.qr(TALL), 0),
    "qr_factor": lambda: linalg.qr_factor(TALL),
    "qr_insert": lambda: linalg.qr_insert(*linalg.qr(TALL), B, 0),
    "qr_insert, float32": lambda: linalg.qr_insert(*np.linalg.qr(FLOATS), FLOATS[0], 0),
    "qr_update": lambda: linalg.qr_update(*linalg.qr(A), B, B),
    "repair": lambda: linalg.repair(TALL, *linalg.qr(TALL)),
    "roots": lambda: linalg.roots(B),
    "schur": lambda: linalg.schur(A),
    "slogdet": lambda: linalg.slogdet(A),
    "svd": lambda: linalg.svd(A),
    "UpdatableLstsq": _updatable,
    "newton_series": _series,
    "pade": lambda: series.pade(_series()["x"], 2, 2),
    "poles": lambda: series.pade(_series()["x"], 2, 2).poles,
    "radius": lambda: series.radius(_series()["x"]),
    "solve, series": lambda: series.solve(CIRCLE, target=0.25, precision="dd"),
    "track": lambda: series.track(CIRCLE, [2**0.5]),
    "tensorcore.qr": lambda: tensorcore.qr(FLOATS),
    "tensorcore.blocked_householder": lambda: tensorcore.blocked_householder(FLOATS),
    "tensorcore.lowrank": lambda: tensorcore.lowrank(FLOATS, 2),
    "tensorcore.lstsq": lambda: tensorcore.lstsq(FLOATS, FLOATS[:, 0]),
    "tensorcore.orthogonalize": lambda: tensorcore.orthogonalize(FLOATS),
}
ARRAYS = {
    "cholesky": lambda: linalg.cholesky(A, return_info=True),
    "det": lambda: linalg.det(A, return_info=True),
    "eigvals": lambda: linalg.eigvals(A, return_info=True),
    "eigvalsh": lambda: linalg.eigvalsh(A, return_info=True),
    "inv": lambda: linalg.inv(A, return_info=True),
    "expm": lambda: linalg.expm(A, return_info=True),
    "cosm": lambda: linalg.cosm(A, return_info=True),
    "sinm": lambda: linalg.sinm(A, return_info=True),
    "coshm": lambda: linalg.coshm(A, return_info=True),
    "sinhm": lambda: linalg.sinhm(A, return_info=True),
    "sqrtm": lambda: linalg.sqrtm(A, return_info=True),
    "solve_toeplitz": lambda: linalg.solve_toeplitz(B + 1, B, return_info=True),
    "solve_banded": lambda: linalg.solve_banded((0, 0), A[:1] + 9, B, return_info=True),
    "solveh_banded": lambda: linalg.solveh_banded(A[:1] + 9, B, return_info=True),
    "solve_continuous_are": lambda: linalg.solve_continuous_are(A, A, ONE, ONE, return_info=True),
    "solve_discrete_are": lambda: linalg.solve_discrete_are(A, A, ONE, ONE, return_info=True),
    "logm": lambda: linalg.logm(A, return_info=True),
    "funm": lambda: linalg.funm(A, mdqr.exp, return_info=True),
    "tanm": lambda: linalg.tanm(A, return_info=True),
    "tanhm": lambda: linalg.tanhm(A, return_info=True),
    "fractional_matrix_power": lambda: linalg.fractional_matrix_power(A, 0.3, return_info=True),
    "signm": lambda: linalg.signm(A, return_info=True),
    "solve_sylvester": lambda: linalg.solve_sylvester(A, A, A, return_info=True),
    "solve_continuous_lyapunov": lambda: linalg.solve_continuous_lyapunov(A, A, return_info=True),
    "solve_discrete_lyapunov": lambda: linalg.solve_discrete_lyapunov(A, A, return_info=True),
    "pinv": lambda: linalg.pinv(TALL, return_info=True),
    "solve": lambda: linalg.solve(A, B, return_info=True),
    "svdvals": lambda: linalg.svdvals(TALL, return_info=True),
}
# What contracts say of them: no bound is computed, or none exists.
WITHOUT = {
    *("solve_triangular", "lu_solve", "cho_solve", "matmul", "matrix_power", "null_space"),
    *("companion", "cond", "norm", "matrix_norm", "vector_norm", "matrix_rank", "outer"),
    *("toeplitz", "hankel", "circulant", "block_diag", "khatri_rao", "orth", "subspace_angles"),
    *("expm_cond", "cross", "diagonal", "matrix_transpose", "tensordot", "trace", "vecdot"),
    "mixed_volume",  # an int
}


def require_info(info):
    assert isinstance(info, Info)
    for name in ATTRIBUTES:
        getattr(info, name)
    assert info.method is None or isinstance(info.method, (str, np.ndarray))
    assert info.history.ndim == 1
    assert info.bound_kind in (None, "proven", "estimated")
    unknown = np.isnan(info.error_bound).all()
    assert (info.bound_kind is None) == unknown == np.isnan(info.digits).all()
    assert info.digits.shape == info.error_bound.shape
    assert info.data_digits.shape == info.data_error_bound.shape == info.error_bound.shape
    assert np.isnan(info.data_digits).all() or (info.data_digits <= info.digits).all()


def require_same(info, other):
    assert type(info) is type(other)
    for name in ATTRIBUTES:
        first, second = getattr(info, name), getattr(other, name)
        if isinstance(first, (float, np.ndarray)):
            np.testing.assert_array_equal(first, second)
        else:
            assert first == second


@pytest.mark.parametrize("make", RESULTS.values(), ids=RESULTS)
def test_results_have_an_info(make):
    result = make()
    require_info(result.info)
    for again in (copy.copy(result), copy.deepcopy(result), pickle.loads(pickle.dumps(result))):
        require_same(result.info, again.info)
    # Pickled before anything was asked for.
    require_same(pickle.loads(pickle.dumps(make())).info, result.info)
    if hasattr(result, "_replace"):
        first = result._fields[0]
        replaced = result._replace(**{first: getattr(result, first)})
        require_same(replaced.info, result.info)
        assert len(replaced) == len(result) == len(result._fields)


@pytest.mark.parametrize("make", ARRAYS.values(), ids=ARRAYS)
def test_functions_that_return_arrays_return_an_info(make):
    _, info = make()
    require_info(info)
    require_same(pickle.loads(pickle.dumps(make()[1])), info)


def test_every_function_is_here():
    named = {name.partition(",")[0] for name in (*RESULTS, *ARRAYS)} | WITHOUT
    for module, prefix in ((linalg, ""), (series, ""), (tensorcore, "tensorcore.")):
        functions = {
            prefix + name
            for name in module.__all__
            if inspect.isfunction(getattr(module, name)) and name != "recommended_precision"
        }
        assert functions <= named, functions - named


def test_a_result_that_nobody_computed_knows_nothing():
    made = linalg.QRResult(A, A)
    require_info(made.info)
    assert made.info.precision is None
    assert np.isnan(made.info.error_bound)


def test_a_rank_keeps_all_attributes():
    """As of full rank: `lstsq(a, b, rtol=1e-9).info.method` was an AttributeError."""
    full, chosen = linalg.lstsq(TALL, B[[0, 1, 2, 0]]), linalg.lstsq(TALL, B[[0, 1, 2, 0]], rtol=0)
    one, other = full.info, chosen.info
    assert other.method == one.method == "refine"
    names = {name for name in dir(one) if name[0] != "_"}
    assert names <= {name for name in dir(other) if name[0] != "_"}
    for name in ("residual_std", "r_squared", "singular_values"):
        assert abs(getattr(one, name) / getattr(other, name) - 1).to_numpy().max() < 1e-28
    assert abs(one.standard_errors() / other.standard_errors() - 1).to_numpy().max() < 1e-28
    for scaled in (True, False):
        first, second = one.covariance(scaled=scaled), other.covariance(scaled=scaled)
        assert float(abs(first - second).max() / abs(first).max()) < 1e-26


@pytest.mark.parametrize("dtype", [float, complex])
def test_statistics_by_rank_are_those_of_the_pseudoinverse(dtype):
    a = mdqr.random.normal((7, 3), precision=mdqr.qd, dtype=dtype, rng=1)
    a = mdqr.concatenate([a, a[:, :1] - 2 * a[:, 1:2]], axis=1)
    b = mdqr.random.normal((7, 2), precision=mdqr.qd, rng=2)
    weights = np.array([1.0, 4.0, 0.0, 2.0, 1e9, 3.0, 0.5])
    found = linalg.lstsq(a, b, rtol=1e-40, weights=weights)
    roots = mdqr.sqrt(mdqr.array(weights, precision=mdqr.qd))
    inverse = linalg.pinv(a * roots[:, None], rtol=1e-40)
    wanted = inverse @ inverse.mT.conj()
    unscaled = found.info.covariance(scaled=False)
    assert float(abs(unscaled - wanted).max() / abs(wanted).max()) < 1e-40
    left = ((roots[:, None] * abs(b - a @ found.x)) ** 2).sum(axis=0)
    assert float(abs(found.info.residual_std**2 * 3 / left - 1).max()) < 1e-40  # 6 rows, rank 3
    basic = linalg.lstsq(a, b, rtol=1e-40, basic=True).info
    assert (basic.standard_errors().to_numpy() == 0).sum() == 2


@pytest.mark.parametrize("shape", [(6, 3), (3, 6), (2, 5, 3)])
@pytest.mark.parametrize("options", [{}, {"weights": 4.0}])
def test_singular_values_of_least_squares(shape, options):
    a = mdqr.random.normal(shape, precision=mdqr.dd, rng=3) * 2.0**600
    options = {name: np.full(shape[-2], value) for name, value in options.items()}
    info = linalg.lstsq(a, mdqr.ones(shape[-2], precision=mdqr.dd), **options).info
    wanted = linalg.svdvals(a * (2 if options else 1))
    assert (abs(info.singular_values - wanted) <= 64 * mdqr.dd.eps * wanted[..., :1]).all()


def test_methods_of_qr():
    a = mdqr.random.normal((2, 6, 6), precision=mdqr.dd, rng=4)
    found = linalg.qr(a, method="refine")
    assert (found.info.method, found.info.error_bound.shape) == ("refine", (2,))
    assert linalg.qr(a).info.method == "householder"


LOWER = {
    "det": lambda **options: linalg.det(A, return_info=True, **options),
    "eig": lambda **options: linalg.eig(A, **options),
    "eigh": lambda **options: linalg.eigh(A, **options),
    "inv": lambda **options: linalg.inv(A, return_info=True, **options),
    "lstsq": lambda **options: linalg.lstsq(TALL, TALL[:, 0] + B[0] / 7, **options),
    "roots": lambda **options: linalg.roots(A[0], **options),
    "slogdet": lambda **options: linalg.slogdet(A, **options),
    "solve": lambda **options: linalg.solve(A, B, return_info=True, **options),
    "svd": lambda **options: linalg.svd(TALL / 3, **options),
    "svdvals": lambda **options: linalg.svdvals(TALL / 3, return_info=True, **options),
}


@pytest.mark.parametrize("precision", [mdqr.d, mdqr.dd], ids=str)
@pytest.mark.parametrize("make", LOWER.values(), ids=LOWER)
def test_an_info_is_of_what_was_returned(make, precision):
    """Results that are changed in place, as by a sort or a scaling, leave their bounds."""

    def bounds(made):
        info = made.info if hasattr(made, "info") else made[1]
        names = ("condition", "error_bound", "digits", "data_error_bound", "data_digits")
        return [getattr(info, name) for name in names]

    expected, changed = bounds(make(precision=precision)), make(precision=precision)
    for each in changed:
        if isinstance(each, mdqr.MDArray):
            each[...] = 7
    for value, found in zip(expected, bounds(changed), strict=True):
        np.testing.assert_array_equal(value, found)
