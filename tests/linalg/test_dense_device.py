"""Factors, inverses, singular values and eigenvalues keep arrays of a device there."""

from __future__ import annotations

import fake_device
import linalg_cases as cases
import numpy as np
import pytest

import mdqr
from mdqr._limbs import planes
from mdqr.linalg import (
    block_diag,
    cho_solve,
    cholesky,
    circulant,
    cond,
    cosm,
    det,
    eig,
    eigh,
    eigvals,
    expm,
    expm_cond,
    expm_frechet,
    funm,
    hankel,
    inv,
    khatri_rao,
    ldl,
    logm,
    lowrank,
    lstsq,
    lu_factor,
    lu_solve,
    matrix_rank,
    norm,
    null_space,
    ordqz,
    pinv,
    polar,
    qr,
    qz,
    roots,
    schur,
    signm,
    sinhm,
    slogdet,
    solve_continuous_are,
    solve_discrete_are,
    solve_discrete_lyapunov,
    solve_sylvester,
    sqrtm,
    svd,
    svdvals,
    tanhm,
    toeplitz,
)
from mdqr.linalg._spectral.onesided import jacobi


def calls(a, b):
    """Every function, of definite matrices."""
    factors, c = lu_factor(a), cholesky(a)
    yield from factors
    yield from (lu_solve(factors, b, trans) for trans in (0, 1, 2))
    yield from (c, cholesky(a, upper=True), cho_solve((c, True), b))
    yield from slogdet(a)
    yield from (det(a), inv(a))


@pytest.mark.parametrize("batch", [(), (2,)], ids=str)
def test_limbs_beside_those_of_the_host(multiple, dtype, batch, monkeypatch, rng):
    g = mdqr.random.normal((*batch, 7, 7), precision=multiple, dtype=dtype, rng=rng)
    a = g @ (g.mT.conj() if dtype is complex else g.mT) + mdqr.eye(7, precision=multiple)
    b = cases.random(7, 2, multiple, dtype, rng)
    *wanted, inverse = calls(a, b)
    install(monkeypatch)
    *results, other = calls(to_device(a), to_device(b))
    # Limbs of hd hold more than the digits of what refinement ends with.
    far = abs(fake_device.bare(other.limbs) - inverse.limbs).max()
    assert far <= 2.0**-6 * multiple.eps * abs(inverse.limbs).max() * (multiple.limbs > 8)
    for found, known in zip(results, wanted, strict=True):
        if isinstance(known, mdqr.MDArray):
            found, known = fake_device.bare(found.limbs), known.limbs
        assert (np.asarray(fake_device.bare(found)) == np.asarray(known)).all()


def test_determinants_that_take_more_limbs(monkeypatch, rng):
    """Of a batch the matrices near singular ones are factored again, on the device."""
    a = mdqr.random.normal((3, 7, 7), precision=mdqr.dd, rng=rng)
    a[1, 3] = a[1, 2]
    a[1, 3, 0] += 2.0**-80
    wanted = det(a)
    fake_device.install(monkeypatch)
    # Rounding to fewer limbs waits for the device.
    monkeypatch.setattr(planes, "narrow", fake_device.on_device(planes.narrow))
    found = det(mdqr.MDArray._wrap(fake_device.DeviceArray(a.limbs), a.precision, a.is_complex))
    assert (fake_device.bare(found.limbs) == wanted.limbs).all()


def install(monkeypatch):
    """Take the fake device; rounding to fewer limbs waits for it."""
    fake_device.install(monkeypatch)
    narrow = planes.narrow

    def narrowed(block, *options):
        parts = isinstance(block, np.ndarray)  # complex values are narrowed by parts
        return (narrow if parts else fake_device.on_device(narrow))(block, *options)

    monkeypatch.setattr(planes, "narrow", narrowed)


def to_device(x):
    return mdqr.MDArray._wrap(fake_device.DeviceArray(x.limbs), x.precision, x.is_complex)


@pytest.mark.parametrize("case", ["random", "far", "clusters", "rotations"])
def test_spectra_beside_those_of_the_host(case, dtype, monkeypatch, rng):
    """Blocks of far sizes, vectors of equal length, and rotations."""
    a = mdqr.random.normal((2, 5, 5), precision=mdqr.qd, dtype=dtype, rng=rng)
    if case == "far":
        a = cases.scaled(a, 0, -100)
        a[1, 2] = a[1, 1]
    if case == "clusters":
        a = 1e-30 * a + mdqr.eye(5, precision=mdqr.qd)
        a[0, 3, 3] = 2
    if case == "rotations":
        monkeypatch.setattr(jacobi, "_BY_BLOCKS", 0)
        monkeypatch.setattr(jacobi, "_BY_CLUSTERS", 0)
        a[0] = 0
    h = a + (a.mT.conj() if dtype is complex else a.mT)
    b = mdqr.eye(5, precision=mdqr.qd) + 2 * (case == "random")

    def spectra(a, h, b):
        of_two = eigh(h, b=b, subset_by_index=[1, 3])
        return [*svd(a), *svd(a[..., :3]), svdvals(a), *eigh(h), *of_two]

    wanted = spectra(a, h, b)
    install(monkeypatch)
    found = spectra(*(to_device(x) for x in (a, h, b)))
    # LAPACK starts, and its vectors of near values depend on where matrices lie in memory: gaps of
    # some 1e-30 leave 1e-33 of them.
    most = 1e-32 if case == "clusters" else 0.0
    for x, known in zip(found, wanted, strict=True):
        near = mdqr.from_limbs(fake_device.bare(x.limbs), dtype=complex if x.is_complex else float)
        assert float(abs(near - known).max()) <= most


def ranks(a):
    """Pivots, approximations of low rank and norms."""
    for mode in ("reduced", "r", "raw"):
        yield from qr(a, mode, pivoting=True)
    yield from (*lowrank(a, 2), norm(a, 2, axis=(-2, -1)))


@pytest.mark.parametrize("case", ["random", "far", "deficient"])
def test_ranks_beside_those_of_the_host(case, dtype, monkeypatch, rng):
    a = mdqr.random.normal((2, 6, 5), precision=mdqr.qd, dtype=dtype, rng=rng)
    if case == "far":
        a = cases.scaled(a, 0, -100)
    if case == "deficient":
        a[:, :, 3] = a[:, :, 1]
        a[1] = 0
    wanted = list(ranks(a))
    install(monkeypatch)
    for x, known in zip(ranks(to_device(a)), wanted, strict=True):
        if isinstance(known, mdqr.MDArray):
            x, known = x.limbs, known.limbs
        assert (np.asarray(fake_device.bare(x)) == np.asarray(known)).all()


def decisions(a, b):
    """What ranks are decided for, with tolerances of the host."""
    rtol = np.array([1e-3, 1e-20])
    yield from (pinv(a), pinv(a, 1e-3), pinv(a, rtol=rtol), pinv(a, 0.0), null_space(a[0], 1e-3))
    yield from (null_space(a[1]), *polar(a), *polar(a, "left"), lowrank(a[0]).S)
    yield from (matrix_rank(a), matrix_rank(a, 1e-3), matrix_rank(a, rtol=rtol))
    yield from (matrix_rank(a, rtol=0), matrix_rank(a[0], rtol=1e-3), cond(a))
    for options in ({}, {"basic": True}, {"weights": [1, 2, 3, 0, 5, 6]}):
        x, residuals, rank, info = lstsq(a, b, rtol=1e-20, **options)
        yield from (x, residuals, rank, info.pivots, info.distance, info.condition)
        yield from (info.error_bound, info.digits)
    yield from lstsq(a[:0], b, rtol=1e-20)[:3]


def test_decisions_of_ranks_beside_those_of_the_host(dtype, monkeypatch, rng):
    """Tolerances and bounds of the host met matrices of the device: ValueError."""
    a = mdqr.random.normal((2, 6, 4), precision=mdqr.qd, dtype=dtype, rng=rng)
    a[0, :, 3] = a[0, :, 1]
    b = mdqr.random.normal((6, 2), precision=mdqr.qd, dtype=dtype, rng=rng)
    wanted = list(decisions(a, b))
    fake_device.install_cupy(monkeypatch)
    for x, known in zip(decisions(a.to_device("cuda"), b.to_device("cuda")), wanted, strict=True):
        if isinstance(known, mdqr.MDArray):
            assert x.device == "cuda:0"
            x, known = x.limbs, known.limbs
        assert (np.asarray(fake_device.bare(x)) == np.asarray(known)).all()


def test_many_vectors_far_apart_beside_those_of_the_host(monkeypatch, rng):
    """Enough of them to be mixed before products."""
    a = cases.scaled(mdqr.random.normal((26, 26), precision=mdqr.qd, rng=rng), 0, -9)
    wanted = svd(a)
    install(monkeypatch)
    for x, known in zip(svd(to_device(a)), wanted, strict=True):
        assert (fake_device.bare(x.limbs) == known.limbs).all()


def test_what_runs_on_the_host_comes_back(dtype, monkeypatch, rng):
    """Eigenvalues of general matrices, triangular forms and roots."""
    a, b = (
        mdqr.random.normal((2, 4, 4), precision=mdqr.qd, dtype=dtype, rng=rng) for _ in range(2)
    )

    def results(a, b):
        found = roots(a[0, 0])
        general = [*eig(a, left=True), eigvals(a, b), *schur(a), found.roots]
        factors = ldl(a)
        return [*general, *qz(a, b), *ordqz(a, b), factors.lu, factors.d, funm(a, mdqr.exp)]

    def moved(x, device):
        block = fake_device.bare(x._block)
        block = block if device == "cpu" else fake_device.DeviceArray(block)
        return mdqr.MDArray._wrap(block, x.precision, x.is_complex)

    wanted = results(a, b)
    fake_device.install(monkeypatch)
    monkeypatch.setattr(mdqr.MDArray, "to_device", moved)
    for x, known in zip(results(moved(a, "cuda"), moved(b, "cuda")), wanted, strict=True):
        assert isinstance(x.limbs, fake_device.DeviceArray)
        assert (fake_device.bare(x.limbs) == known.limbs).all()


def of_matrices(a):
    """Functions of matrices whose scalings differ, and structured matrices."""
    for function in (expm, cosm, sinhm):
        x, info = function(a, return_info=True)
        yield from (x, info.error_bound)
    column = a[..., 0]
    yield from (toeplitz(column, a[..., 1, :3]), hankel(column), circulant(column))
    yield from (block_diag(a, a[..., :2]), khatri_rao(a, a[..., :2, :]))


def test_functions_of_matrices_beside_those_of_the_host(multiple, dtype, monkeypatch, rng):
    a = mdqr.random.normal((3, 4, 4), precision=multiple, dtype=dtype, rng=rng)
    a[1] *= 50
    a[2] = cases.scaled(a[2], 0, -60)
    wanted = list(of_matrices(a))
    install(monkeypatch)
    for found, known in zip(of_matrices(to_device(a)), wanted, strict=True):
        if isinstance(known, mdqr.MDArray):
            found, known = fake_device.bare(found.limbs), known.limbs
        assert (np.asarray(fake_device.bare(found)) == np.asarray(known)).all()


def of_equations(a, b):
    """Functions and equations of matrices that are refined in limbs."""
    for function in (sqrtm, logm, signm, tanhm):
        x, info = function(b if function is not tanhm else a, return_info=True)
        yield from (x, info.error_bound)
    yield solve_sylvester(b, b, a)
    yield solve_discrete_lyapunov(a, a)


def test_equations_of_matrices_beside_those_of_the_host(multiple, dtype, monkeypatch, rng):
    a = mdqr.random.normal((2, 4, 4), precision=multiple, dtype=dtype, rng=rng)
    b = a + 6 * np.eye(4)
    wanted = list(of_equations(a, b))
    install(monkeypatch)
    for found, known in zip(of_equations(to_device(a), to_device(b)), wanted, strict=True):
        if isinstance(known, mdqr.MDArray):
            found, known = fake_device.bare(found.limbs), known.limbs
        assert (np.asarray(fake_device.bare(found)) == np.asarray(known)).all()


def of_riccati(a, b, q):
    """Riccati equations, and the derivative of the exponential."""
    for function in (solve_continuous_are, solve_discrete_are):
        x, info = function(a, b[..., :3], q, q[..., :3, :3], return_info=True)
        yield from (x, info.error_bound)
    derivative = expm_frechet(a, b)
    yield from (*derivative, derivative.info.error_bound, expm_cond(a[:1, :2, :2]))


def test_riccati_equations_beside_those_of_the_host(multiple, dtype, monkeypatch, rng):
    a, b = mdqr.random.normal((2, 2, 4, 4), precision=multiple, dtype=dtype, rng=rng)
    q = a @ a.conj().mT + np.eye(4)
    wanted = list(of_riccati(a, b, q))
    fake_device.install_cupy(monkeypatch)
    for found, known in zip(of_riccati(*map(to_device, (a, b, q))), wanted, strict=True):
        if isinstance(known, mdqr.MDArray):
            found, known = fake_device.bare(found.limbs), known.limbs
        assert (np.asarray(fake_device.bare(found)) == np.asarray(known)).all()
