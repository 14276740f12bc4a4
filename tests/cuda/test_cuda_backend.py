"""The algorithms of linear algebra over the CUDA backend, its threads emulated on the CPU."""

from __future__ import annotations

from fractions import Fraction

import linalg_cases as cases
import numpy as np
import pytest

import mdqr
from mdqr._backend.cuda.backend import CudaBackend
from mdqr._backend.host import backend as host
from mdqr._limbs.planes import Kind, set_unit_diagonal
from mdqr._precision import PRECISIONS
from mdqr.linalg._factor import householder
from mdqr.linalg._factor.triangular import Triangle
from mdqr.linalg._shared.checks import Checks

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
    factors = householder.factor(
        backend, a.limbs.copy(), kind=Kind(a.precision.limbs, a.is_complex), tile=tile
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
    assert cases.orthogonality(Q) <= 20 * n
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
@pytest.mark.parametrize("adjoint", [False, True])
@pytest.mark.parametrize("batch", [(), (2,)], ids=str)
def test_reflections(backend, precision, dtype, adjoint, batch, rng):
    """One plan for three products gives their limbs; a corner of the identity is only a hint."""
    is_complex = dtype is complex
    options = {"kind": Kind(precision.limbs, is_complex)}

    def draw(m, n):
        found = cases.random(m, n, precision, dtype, rng)
        return (mdqr.stack([found, -found]) if batch else found).limbs

    v, t, x = draw(9, 4), draw(4, 4), draw(12, 14)[..., 3:, 4:]
    x[..., :4, :] = 0.0
    x[..., :4] = 0.0
    set_unit_diagonal(x[..., :4, :4], is_complex)
    w = backend.matmul(v.swapaxes(-1, -2), x, conj_a=True, **options)
    w = backend.matmul(t.swapaxes(-1, -2) if adjoint else t, w, conj_a=adjoint, **options)
    wanted = backend.matmul(v, w, c=x, subtract=True, **options)
    for unit in (0, 4):
        found, on_host = x.copy(), x.copy()
        backend.reflect(v, t, found, adjoint=adjoint, unit=unit, **options)
        np.testing.assert_array_equal(found, wanted)
        host.backend().reflect(v, t, on_host, adjoint=adjoint, unit=unit, **options)
        # Results below 2**17 in leading limbs: 17 - 53 bits.
        first = (slice(None), 0) if is_complex else 0
        np.testing.assert_allclose(on_host[first], found[first], rtol=0, atol=1e-10)


@every
def test_batch(backend, precision, dtype, rng):
    parts = [cases.random(7, 4, precision, dtype, rng) for _ in range(2)]
    a = mdqr.stack(parts)
    factors = householder.factor(backend, a.limbs.copy(), kind=Kind(precision.limbs, a.is_complex))
    Q, R = (
        mdqr.MDArray._wrap(block, precision, a.is_complex)
        for block in (factors.form_q(4), factors.form_r(4))
    )
    for i, part in enumerate(parts):
        assert cases.column_errors(part, Q[i], R[i]).max() <= 20 * 4


@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("shape", [(9, 5), (5, 9), (6, 6), (2, 7, 4), (9, 3, 3)], ids=str)
def test_one_limb_by_the_library(backend, dtype, shape, rng):
    """A few matrices go to the library as they are, batches of many get tiles."""
    a = cases.random(*shape[-2:], mdqr.d, dtype, rng)
    a = mdqr.stack([a] * shape[0]) if len(shape) > 2 else a
    factors = householder.factor(backend, a.limbs.copy(), kind=Kind(1, a.is_complex))
    assert (factors.library is None) == (shape[0] > 8 and len(shape) > 2) == bool(factors.vs)
    m, n = shape[-2:]

    def native(block):
        return mdqr.MDArray._wrap(block, mdqr.d, a.is_complex).to_numpy()

    # Orthogonal transformations of a matrix with entries below 8: n eps each.
    tolerance = {"rtol": 0, "atol": 8 * 16 * mdqr.d.eps * max(m, n)}
    r, q = native(factors.form_r(m)), native(factors.form_q(m))
    np.testing.assert_allclose(q @ r, a.to_numpy(), **tolerance)
    np.testing.assert_allclose(q.conj().swapaxes(-1, -2) @ q, np.broadcast_to(
        np.eye(m), (*shape[:-2], m, m)), **tolerance)  # fmt: skip
    np.testing.assert_allclose(native(factors.apply_qh(a.limbs)), r, **tolerance)
    np.testing.assert_allclose(
        native(factors.apply_q(factors.form_r(m))), a.to_numpy(), **tolerance
    )
    slim = native(factors.form_q(min(m, n)))
    np.testing.assert_allclose(slim, q[..., : min(m, n)], **tolerance)


@every
@pytest.mark.parametrize(("lower", "trans"), [(False, "N"), (True, "C")])
def test_triangle(backend, precision, dtype, lower, trans, rng):
    n = 37  # more than a tile
    full = cases.random(n, n, precision, dtype, rng, cond=10) + mdqr.eye(n, precision=precision)
    b = cases.random(n, 2, precision, dtype, rng)
    triangle = Triangle(
        backend,
        full.limbs,
        kind=Kind(precision.limbs, full.is_complex),
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
        [(1, c.limbs)], a.limbs, b.limbs, kind=Kind(precision.limbs, c.is_complex)
    )
    found = cases.Exact.of(mdqr.MDArray._wrap(block, precision, c.is_complex))
    wanted = cases.Exact.of(c) - cases.Exact.of(a) @ cases.Exact.of(b)
    assert (found - wanted).moduli().within(2 * Fraction(precision.eps), wanted.moduli())
