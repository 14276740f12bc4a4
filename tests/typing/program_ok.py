"""A program of users: both checkers find no error in it."""

from __future__ import annotations

from typing import assert_type

import numpy as np
from numpy.typing import NDArray

import mdqr
from mdqr import MDArray, Precision, linalg, series, tensorcore


def hilbert(n: int, precision: Precision) -> MDArray:
    i = mdqr.arange(1, n + 1, precision=precision)
    return 1 / (i[:, None] + i - 1)


def largest(v: MDArray) -> MDArray:
    mask = v > 0
    assert_type(mask, NDArray[np.bool_])
    return v[int(v.argmax())] if bool(mask.any()) else v[mask].sum()


def arrays() -> None:
    a = mdqr.array([[1, 2], [3, 4]], precision="qd", dtype=float)
    assert_type(mdqr.exp(a[0]) + 2 * a, MDArray)
    assert_type(a == a.T, NDArray[np.bool_])
    assert_type(mdqr.isfinite(a), NDArray[np.bool_])
    assert_type(a.limbs, NDArray[np.float64])
    assert_type(a.argsort(), NDArray[np.int64])
    a[0, 0] = "0.1"
    a = a + mdqr.zeros(2, dtype=a.dtype) + mdqr.full(2, a[0, 1]) + mdqr.eye(2, precision="dd")
    a[a < 0] = 0
    a += np.eye(2)
    assert_type(a.astype("od", dtype=complex).conj().reshape(-1, order="F"), MDArray)
    assert_type(mdqr.Precision(a.precision.name), Precision)
    assert_type(mdqr.polyfit(a[0], a[1], 1), MDArray)
    assert_type(mdqr.polyfit(a[0], a[1], 1, cov="unscaled"), tuple[MDArray, MDArray])
    assert_type(mdqr.average(a, returned=True), tuple[MDArray, MDArray])
    print(float(a.mean()), a.to_strings(digits=20).tolist(), a.precision.digits, a.shape[0])
    mdqr.save("a.npz", a)
    assert_type(mdqr.load("a.npz", device="cpu"), MDArray)


def factors(a: MDArray) -> MDArray:
    Q, R = linalg.qr(a, "complete", method="householder", check=False)
    assert_type(linalg.qr(a, mode="r"), MDArray)
    assert_type(linalg.qr(a, pivoting=True).P, NDArray[np.int64])
    h, tau = linalg.qr(a, mode="raw", progress=True)
    U, S, Vh = linalg.svd(a, full_matrices=False)
    assert_type(linalg.svd(a, compute_uv=False), MDArray)
    assert_type(linalg.svd(a, False, False, precision=mdqr.od), MDArray)
    assert_type(linalg.eigh(a, UPLO="U").eigenvectors, MDArray)
    found = linalg.eig(a)
    print(found.eigenvalues[0], found.info.error_bound.max(), found.info.multiplicity.tolist())
    assert_type(linalg.eig(a, left=True, right=False).eigenvalues, MDArray)
    assert_type(linalg.eig(a, None, False, False), MDArray)
    assert_type(linalg.eig(a, right=False), MDArray)
    values, info = linalg.eigvals(a, return_info=True, progress=True)
    print(values, info.vector_error_bound, linalg.cholesky(a @ a.T, upper=True))
    assert_type(linalg.pinv(a, rtol=1e-20), MDArray)
    assert_type(linalg.schur(a, "complex").T, MDArray)
    print(linalg.norm(a, "fro"), linalg.norm(a, np.inf), linalg.cond(a, 1), linalg.matrix_rank(a))
    low = linalg.lowrank(a, 2)
    print(low.info.error_bound, h, tau, U, S, Vh)
    return Q @ R


def solutions(a: MDArray, b: MDArray) -> MDArray:
    x = linalg.solve(a, b)
    x, info = linalg.solve(a, b, method="refine", return_info=True)
    inverse = linalg.inv(a, data_error={"a_rtol": 1e-20})
    det, about = linalg.det(a, return_info=True)
    print(info.digits.min(), info.condition, det, about.bound_kind, inverse.T)
    fit = linalg.lstsq(a, b, weights=np.ones(3), progress=lambda stage, done, total: None)
    print(fit.rank, fit.info.digits.min(), fit.info.method, fit.info.history.size)
    assert_type(fit.info.standard_errors(), MDArray)
    assert_type(fit.info.r_squared, MDArray)
    assert_type(fit.info, linalg.LstsqInfo)
    print(linalg.lstsq(a, b, rtol=1e-20).info.singular_values, fit.info.data_error_bound)
    x, known = linalg.lu_solve(linalg.lu_factor(a), b, return_info=True)
    assert_type(known, linalg.Info)
    assert_type(linalg.cho_solve((linalg.cholesky(a @ a.T), True), b), MDArray)
    Q, R = linalg.qr_insert(*linalg.qr(a, "complete"), b, 0, "row", method="update")
    print(Q, R, linalg.roots([1, 0, -2], precision="dd").roots)
    return linalg.solve_triangular(linalg.qr(a, "r"), x, "T")


def matrix_functions(a: MDArray) -> MDArray:
    one = mdqr.eye(len(a), precision=a.precision)
    x = linalg.solve_continuous_are(a, one, one, one)
    assert_type(x, MDArray)
    assert_type(linalg.solve_discrete_lyapunov(a / 9, one), MDArray)
    root, info = linalg.fractional_matrix_power(a @ a.T, 0.5, return_info=True)
    assert_type(info, linalg.Info)
    return linalg.funm(root, mdqr.exp) + x


def others() -> None:
    a = np.vander(np.linspace(0, 1, 8), 2).astype(np.float32)
    print(tensorcore.qr(a, compute="bf16").Q.dtype, tensorcore.qr(a, "r").shape)
    print(tensorcore.lstsq(a, a[:, 0]).x.sum())
    t = series.PowerSeries.identity(8, precision="qd")
    print(series.radius((1 + 2 * t).sqrt(), "fabry").value)


def polynomials() -> None:
    system = series.System.from_strings(["x^2 - a"], ["x", "a"])
    found = series.solve(system, parameters=["a"], target=[2], precision=mdqr.qd)
    assert_type(found, series.Solutions)
    assert_type(found[0], series.Solution)
    assert_type(found[found.is_real].filter(singular=False), series.Solutions)
    start = found.x, [2]
    assert_type(
        series.solve(system, parameters=["a"], start=start, target=["0.1"]), series.Solutions
    )
    sweep = series.solve(system, parameters=["a"], start=start, target=[[3], [4.5]])
    assert_type(sweep, series.SolutionSweep)
    print(sweep.x.shape, sweep[0].digits.min(), sweep[:1].is_found.all())


print(
    largest(factors(hilbert(4, mdqr.qd))[0]),
    solutions(hilbert(3, mdqr.od), mdqr.ones(3, precision="od")),
)
print(matrix_functions(hilbert(3, mdqr.qd)))
arrays()
others()
polynomials()
