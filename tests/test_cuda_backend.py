"""The algorithms of linear algebra over the CUDA backend, its threads emulated on the CPU."""

from __future__ import annotations

from fractions import Fraction

import linalg_cases as cases
import numpy as np
import pytest

import mdqr
from mdqr._backend.cuda.backend import CudaBackend
from mdqr._precision import PRECISIONS
from mdqr.linalg import _householder
from mdqr.linalg._checks import Checks
from mdqr.linalg._triangular import Triangle

PAIR = PRECISIONS[1]
# One field of one precision takes a compiler ten seconds: the plain run has the cheapest.
EVERY = [
    pytest.param(
        precision,
        dtype,
        id=f"{precision}-{dtype.__name__}",
        marks=[] if precision is PAIR and dtype is float else [pytest.mark.long],
    )
    for precision in PRECISIONS[1:]
    for dtype in (float, complex)
]
every = pytest.mark.parametrize(("precision", "dtype"), EVERY)


@pytest.fixture(scope="module")
def backend(kernels):
    return CudaBackend(kernels)


def factor(backend, a, tile):
    """Return Q and R as the algorithm leaves them: the diagonal of R may be negative."""
    count = min(a.shape)
    factors = _householder.factor(
        backend, a.limbs.copy(), limbs=a.precision.limbs, is_complex=a.is_complex, tile=tile
    )
    blocks = factors.form_q(count), factors.form_r(count)
    return factors, [mdqr.MDArray._wrap(block, a.precision, a.is_complex) for block in blocks]


@every
@pytest.mark.parametrize(("shape", "tile"), [((13, 9), 4), ((6, 9), None)], ids=str)
def test_factorisation(backend, precision, dtype, shape, tile, rng):
    a = cases.random(*shape, precision, dtype, rng)
    _, (Q, R) = factor(backend, a, tile)
    n = shape[1]
    assert cases.column_errors(a, Q, R).max() <= 20 * n
    assert cases.factor_errors(a, Q, R)[3] <= 20 * n
    assert not np.tril(R.limbs, -1).any()


@every
def test_implicit_q(backend, precision, dtype, rng):
    """`apply_qh` of the matrix itself is R, and `apply_q` leads back."""
    a = cases.random(11, 5, precision, dtype, rng)
    factors, (_, R) = factor(backend, a, 3)
    y = mdqr.MDArray._wrap(factors.apply_qh(a.limbs), precision, a.is_complex)
    size = max(part for part in np.ravel(abs(a).to_fractions()))
    # Five reflections of norm 1 with dot products of 11 terms, for the factors and for y.
    bound = 2 * 5 * (11 + 12) * 4 * Fraction(precision.eps) * size
    assert (np.asarray(abs(y[:5] - R).to_fractions()) <= bound).all()
    assert (np.asarray(abs(y[5:]).to_fractions()) <= bound).all()
    back = mdqr.MDArray._wrap(factors.apply_q(y.limbs), precision, a.is_complex)
    assert (np.asarray(abs(back - a).to_fractions()) <= 2 * bound).all()


@every
def test_batch(backend, precision, dtype, rng):
    parts = [cases.random(7, 4, precision, dtype, rng) for _ in range(2)]
    a = mdqr.stack(parts)
    factors = _householder.factor(
        backend, a.limbs.copy(), limbs=precision.limbs, is_complex=a.is_complex
    )
    Q, R = (
        mdqr.MDArray._wrap(block, precision, a.is_complex)
        for block in (factors.form_q(4), factors.form_r(4))
    )
    for i, part in enumerate(parts):
        assert cases.column_errors(part, Q[i], R[i]).max() <= 20 * 4


@every
@pytest.mark.parametrize(("lower", "trans"), [(False, "N"), (True, "C")])
def test_triangle(backend, precision, dtype, lower, trans, rng):
    n = 37  # more than a tile
    full = cases.random(n, n, precision, dtype, rng, cond=10) + mdqr.eye(n, precision=precision)
    b = cases.random(n, 2, precision, dtype, rng)
    triangle = Triangle(
        backend,
        full.limbs,
        limbs=precision.limbs,
        is_complex=full.is_complex,
        lower=lower,
        function="test",
        checks=Checks(),
    )
    x = mdqr.MDArray._wrap(triangle.solve(b.limbs, trans), precision, full.is_complex)
    a = mdqr.tril(full) if lower else mdqr.triu(full)
    op = cases.Exact.of(a if trans == "N" else a.H)
    error = (cases.Exact.of(b) - op @ cases.Exact.of(x)).moduli()
    # Substitution is backward stable: (n + 10) eps in every row, complex thrice.
    factor = (n + 10) * (1 if dtype is float else 3)
    size = op.moduli() @ cases.Exact.of(x).moduli()
    assert error.within(factor * Fraction(precision.eps), size)


@every
def test_errors_of_factors(backend, precision, dtype, rng):
    """The residual that certificates and refinement rest on, as if in twice the limbs."""
    a, b, c = (cases.random(m, n, precision, dtype, rng) for m, n in ((5, 9), (9, 4), (5, 4)))
    block = backend.residual(
        [(1, c.limbs)], a.limbs, b.limbs, limbs=precision.limbs, is_complex=c.is_complex
    )
    found = cases.Exact.of(mdqr.MDArray._wrap(block, precision, c.is_complex))
    wanted = cases.Exact.of(c) - cases.Exact.of(a) @ cases.Exact.of(b)
    assert (found - wanted).moduli().within(2 * Fraction(precision.eps), wanted.moduli())
