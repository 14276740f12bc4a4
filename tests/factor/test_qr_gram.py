"""R alone by products: the Cholesky factor of an exact Gram matrix, and its proof."""

from __future__ import annotations

import fake_device
import linalg_cases as cases
import mpmath
import numpy as np
import pytest
from fake_cuda_libraries import libraries

import mdqr
from mdqr._backend.cuda.factor import elimination
from mdqr._backend.cuda.floats.library import Library
from mdqr._limbs import planes
from mdqr._limbs.planes import Kind
from mdqr.linalg import qr
from mdqr.linalg._factor.refine import cholesky, gram, products
from mdqr.linalg._factor.refine.cholesky import Sweeps
from mdqr.linalg._shared import tuning
from mdqr.linalg._shared.operands import gather
from mdqr.testing import matrix

NARROW = [mdqr.dd, mdqr.qd]
WITH_WIDER = [mdqr.dd, mdqr.qd, mdqr.od]
# Limbs hold all of products of float64 numbers.
LONG = [mdqr.qd, mdqr.od]


def accept(a, r):
    """R as of a factor with orthonormal columns, within ``20 n eps`` of every column."""
    n = a.shape[-1]
    exact = qr(a, "r", precision=mdqr.hd, method="householder")
    error = mdqr.linalg.norm(r.astype(precision=mdqr.hd) - exact, axis=-2)
    bound = 21 * n * r.precision.eps * mdqr.linalg.norm(exact, axis=-2)
    assert (error <= bound).all()
    cases.check_form(r)


def told(monkeypatch):
    """Return a list that gets whether each matrix was factored by its Gram matrix."""
    seen, factor = [], gram.factor

    def kept(*args, **options):
        found = factor(*args, **options)
        seen.append(found is not None)
        return found

    monkeypatch.setattr(gram, "factor", kept)
    return seen


@pytest.mark.parametrize("shape", [(1, 1), (6, 1), (9, 5), (35, 17), (3, 9, 4)], ids=str)
@pytest.mark.parametrize("multiple", WITH_WIDER, ids=str)
def test_acceptance(multiple, dtype, shape, rng, monkeypatch):
    a = mdqr.random.normal(shape, precision=multiple, dtype=dtype, rng=rng)
    seen = told(monkeypatch)
    r = qr(a, "r", method="refine")
    assert seen == [True] * (shape[0] if len(shape) > 2 else 1)
    for place in np.ndindex(shape[:-2]):
        accept(a[place], r[place])


@pytest.mark.parametrize("cond", [1e1, 1e4, 1e7, 1e9, 1e14])
def test_conditions(multiple, dtype, cond, rng, monkeypatch):
    """Beyond what the certificate takes, in hd the square of the condition, sweeps have Q, too."""
    seen = told(monkeypatch)
    a = cases.random(40, 13, multiple, dtype, rng, cond=cond)
    r = qr(a, "r", method="refine")
    if multiple < mdqr.hd:
        assert seen == [cond < 1e6] or 1e6 < cond < 1e8
        accept(a, r)
    else:
        assert seen == [False]


@pytest.mark.parametrize("multiple", WITH_WIDER, ids=str)
def test_scaled_columns_and_graded_rows(multiple, dtype, rng):
    a = cases.random(30, 9, multiple, dtype, rng)
    for power in (110, 900):
        scale = 2.0 ** rng.integers(-power, power, 9)
        accept(a * scale, qr(a * scale, "r", method="refine"))
    rows = 2.0 ** rng.integers(-20, 20, (30, 1))
    accept(a * rows, qr(a * rows, "r", method="refine"))
    mixed = a.copy()
    mixed[3:6] *= 2.0**-500
    accept(mixed, qr(mixed, "r", method="refine"))


def test_dependent_columns_are_refused(multiple, rng):
    a = cases.random(9, 4, multiple, float, rng)
    a[:, 2] = a[:, 1]
    with pytest.raises(mdqr.linalg.LinAlgError, match='method="householder" takes any'):
        qr(a, "r", method="refine")
    a[:, 2] = 0
    with pytest.raises(mdqr.linalg.LinAlgError):
        qr(a, "r", method="refine")


def left_of_exact(a, r):
    """The Frobenius norm of ``R^-H (A^H A - R^H R) R^-1``."""
    with mpmath.workprec(2000):
        return left_of(a, mpmath.matrix(r.to_mpmath().tolist()))


def left_of(a, r):
    """The same of a matrix of numbers of any precision."""
    with mpmath.workprec(2000):
        a, inverse = mpmath.matrix(a.to_mpmath().tolist()), r**-1
        s = inverse.H * (a.H * a - r.H * r) * inverse
        return float(mpmath.sqrt(sum(abs(x) ** 2 for x in s)))


@pytest.mark.parametrize("cond", [1e1, 1e3, 1e6])
@pytest.mark.parametrize("multiple", NARROW, ids=str)
def test_bounds_are_above_what_each_sweep_leaves(multiple, dtype, cond, rng):
    """And not far: those of early sweeps are what F shows."""
    a = cases.random(12, 5, multiple, dtype, rng, cond=cond)
    inputs = gather(a, precision=None, trimmed=False)
    scaled, _ = inputs.backend.balance_columns(a._block, None, is_complex=dtype is complex)
    near = inputs.wrap(scaled)
    wide = Kind(2 * multiple.limbs, dtype is complex)
    options = {"kind": wide, "conj_a": True, "shape": "gram"}
    whole = products.formed(inputs.backend, scaled.swapaxes(-1, -2), scaled, **options)
    sweeps = Sweeps.of(inputs.backend, whole, wide, runs=1)
    (r,), ratios = sweeps.start(), []
    for _ in range(4):
        found = sweeps.changed(r)
        left = sweeps.bound(found)
        held = mdqr.MDArray._wrap(r, multiple.next, dtype is complex)
        exact = left_of_exact(near, held)
        assert exact <= left
        ratios.append(exact / left)
        (r,) = sweeps.corrected((r,), found.changes)
    assert max(ratios) > 2.0**-4


def corrected_by_few_bits(a, bits, lost=0.0):
    """Return A, sweeps for R of few bits, R from its Gram matrix rounded to od, and a correction.

    Entries of the Gram matrix are off by `lost`.
    """
    inputs = gather(a, precision=None, trimmed=False)
    backend, kind = inputs.backend, Kind(8, a.is_complex)
    wide = kind._replace(limbs=16)
    scaled, _ = backend.balance_columns(a._block, None, is_complex=kind.is_complex)
    options = {"kind": wide, "conj_a": True, "shape": "gram", "bits": bits}
    whole = products.formed(backend, scaled.swapaxes(-1, -2), scaled, **options)
    n = a.shape[-1]
    off = mdqr.full((n, n), lost, precision=mdqr.hd)._block
    real = (0,) if kind.is_complex else ()
    whole[real] = backend.binary("add", whole[real], off, kind=wide.real)
    rounded = planes.first_limbs(whole, kind.is_complex, 8)
    r = cholesky.factor(backend, rounded, kind, cholesky.error_of(n) * mdqr.od.eps)
    r = planes.widen(r, kind.is_complex, 16)
    sweeps = Sweeps.near(backend, whole, r, wide, runs=1)
    sweeps.take_bits(bits, runs=1)
    held = mdqr.MDArray._wrap(r, mdqr.hd, kind.is_complex)
    return inputs.wrap(scaled), sweeps, held, sweeps.changed(r)


def left_of_corrected(near, held, found):
    """Return the exact norm of S for R with its correction."""
    change = products.block_of(found.changes[0], Kind(1, near.is_complex))
    with mpmath.workprec(2000):
        change = mpmath.matrix(mdqr.MDArray._wrap(change, mdqr.d, near.is_complex).to_numpy())
        return left_of(near, mpmath.matrix(held.to_mpmath().tolist()) + change)


@pytest.mark.parametrize(("cond", "spare"), [(1e1, 0), (1e1, 8), (1e1, 24), (1e3, 30), (1e6, 40)])
def test_bounds_of_few_bits(dtype, cond, spare, rng):
    """Of the factor of a Gram matrix rounded to od, and of R with its change.

    With few spare bits it is their rounding that counts.
    """
    a = cases.random(12, 5, mdqr.od, dtype, rng, cond=cond)
    near, sweeps, r, found = corrected_by_few_bits(a, 424 + int(2 * np.log2(cond)) + spare)
    left = left_of_exact(near, r)
    assert left <= sweeps.bound(found)
    assert spare < 20 or sweeps.bound(found) <= 2.0**8 * left
    assert left_of_corrected(near, r, found) <= sweeps.bound_behind(found)


@pytest.mark.parametrize("n", [1, 3])
def test_bounds_of_few_bits_count_what_products_may_lose(dtype, n, rng):
    """Errors of one sign in all entries of the Gram matrix of nearly orthonormal columns."""
    a, bits = cases.random(12, n, mdqr.od, dtype, rng, cond=1.5), 440
    near, sweeps, r, found = corrected_by_few_bits(a, bits, lost=2.0**-bits)
    assert left_of_corrected(near, r, found) <= sweeps.bound_behind(found)


def test_columns_that_are_orthonormal(dtype, rng, monkeypatch):
    """The Gram matrix has entries of which no digit is right."""
    seen, a = told(monkeypatch), cases.random(12, 4, mdqr.od, dtype, rng, cond=1.0)
    accept(a, qr(a, "r", method="refine"))
    assert seen == [True]


def test_matrices_of_like_conditions_have_the_same_plans(dtype, rng, monkeypatch):
    bits, formed = set(), gram.formed

    def kept(*args, **options):
        bits.add(options["bits"])
        return formed(*args, **options)

    monkeypatch.setattr(gram, "formed", kept)
    for _ in range(20):
        a = mdqr.random.normal((30, 6), precision=mdqr.od, dtype=dtype, rng=rng)
        qr(a, "r", method="refine")
    assert len(bits) <= 2


def test_conditions_that_float64_does_not_see(dtype, monkeypatch):
    """Too few bits, or no factor in float64: nothing is claimed, and others take over."""
    seen = told(monkeypatch)
    a = mdqr.random.normal((20, 4), precision=mdqr.od, dtype=dtype, rng=3)
    for power, is_shown in ((-10, True), (-30, False), (-200, False)):
        near = a.copy()
        near[:, 3] = near[:, 2] + near[:, 3] * 2.0**power
        accept(near, qr(near, "r", method="refine"))
        assert seen[-1] == is_shown
    # A float64 condition of 1 asks for too few bits.
    monkeypatch.setattr(Sweeps, "condition", lambda _: 1.0)
    near[:, 3] = near[:, 2] + a[:, 3] * 2.0**-20
    accept(near, qr(near, "r", method="refine"))
    assert not seen[-1]


@pytest.mark.parametrize("shape", [(100, 12), (8, 1)], ids=str)
def test_hexa_doubles_of_moderate_conditions(dtype, shape, rng, monkeypatch):
    a = mdqr.random.normal(shape, precision=mdqr.hd, dtype=dtype, rng=rng)
    seen = told(monkeypatch)
    exact, r = (qr(a, "r", method=method) for method in ("householder", "refine"))
    assert seen == [True]
    bound = 41 * shape[1] * mdqr.hd.eps * mdqr.linalg.norm(exact, axis=-2)
    assert (mdqr.linalg.norm(r - exact, axis=-2) <= bound).all()
    # Sums in runs are rounded several times.
    monkeypatch.setattr(gram, "MOST_TERMS", shape[0] - 1)
    assert mdqr.linalg.norm(qr(a, "r", method="refine")) > 0
    assert seen == [True, False]


@pytest.mark.parametrize("cond", [1e1, 1e3])
@pytest.mark.parametrize("lost", [0.0, 1.0])
def test_bounds_of_hexa_doubles_count_entries(dtype, cond, lost, rng):
    """The Gram matrix is rounded to hd; what that changes, eps at most, is within the bound."""
    a = cases.random(96, 12, mdqr.hd, dtype, rng, cond=cond)
    inputs, kind = gather(a, precision=None, trimmed=False), Kind(16, dtype is complex)
    backend = inputs.backend
    scaled, _ = backend.balance_columns(a._block, None, is_complex=kind.is_complex)
    options = {"kind": kind, "conj_a": True, "shape": "gram"}
    options["bits"] = products.bits_of_entries(kind)
    whole = products.formed(backend, scaled.swapaxes(-1, -2), scaled, **options)
    signs = lost * mdqr.hd.eps * rng.choice([-1.0, 1.0], (12, 12))
    whole = backend.binary("add", whole, whole * np.triu(signs), kind=kind)
    r, sweeps = gram._start(backend, whole, kind, 1, at_once=True)
    sweeps.count_entries()
    left = sweeps.bound(sweeps.changed(r))
    held = mdqr.MDArray._wrap(r, mdqr.hd, kind.is_complex)
    assert left_of_exact(inputs.wrap(scaled), held) <= left <= 2.0 * sweeps.entries
    assert (gram.factor(backend, scaled, kind=kind) is not None) == (left <= 20 * 12 * mdqr.hd.eps)


def short(m, n, dtype, cond, rng):
    """A matrix of octo-doubles that float64 holds."""
    return cases.random(m, n, mdqr.dd, dtype, rng, cond=cond).to_numpy()


@pytest.mark.parametrize("cond", [1e1, 1e3, 1e6])
@pytest.mark.parametrize("multiple", LONG, ids=str)
def test_bounds_of_exact_gram_matrices(multiple, dtype, cond, rng):
    """Of short entries nothing is lost; R with its change counts before its rounding."""
    a = mdqr.asarray(short(12, 5, dtype, cond, rng), precision=multiple)
    inputs, kind = gather(a, precision=None, trimmed=False), Kind(multiple.limbs, dtype is complex)
    backend = inputs.backend
    scaled, _ = backend.balance_columns(a._block, None, is_complex=kind.is_complex)
    options = {"kind": kind, "conj_a": True, "shape": "gram"}
    whole = products.exact_product(backend, scaled.swapaxes(-1, -2), scaled, **options)
    r, sweeps = gram._start(backend, whole, kind, 1, at_once=True)
    sweeps.take_exactly()
    found, near = sweeps.changed(r), inputs.wrap(scaled)
    wide = mdqr.MDArray._wrap(r, multiple, kind.is_complex)
    assert left_of_exact(near, wide) <= sweeps.bound(found) <= 2.0**6 * left_of_exact(near, wide)
    change = products.block_of(found.changes[0], Kind(1, kind.is_complex))
    with mpmath.workprec(2000):
        change = mpmath.matrix(mdqr.MDArray._wrap(change, mdqr.d, kind.is_complex).to_numpy())
        assert left_of(near, mpmath.matrix(wide.to_mpmath().tolist()) + change) <= (
            sweeps.bound_behind(found)
        )


@pytest.mark.parametrize("cond", [1e1, 1e6])
@pytest.mark.parametrize("shape", [(23, 9), (9, 9), (40, 3)], ids=str)
@pytest.mark.parametrize("multiple", LONG, ids=str)
def test_short_entries(multiple, dtype, shape, cond, rng, monkeypatch):
    """To the conditions of other precisions, of tall matrices and others."""
    a, seen = short(*shape, dtype, cond, rng), told(monkeypatch)
    r = qr(a, "r", method="refine", precision=multiple)
    assert seen == [True]
    with mpmath.workprec(2000):
        given = mpmath.matrix(a.tolist())
        exact = mpmath.cholesky(given.H * given).H
        for j in range(shape[1]):
            off = [exact[i, j] - x for i, x in enumerate(r[:, j].to_mpmath())]
            size = mpmath.norm(exact[:, j])
            assert mpmath.norm(off) <= 20 * shape[1] * multiple.eps * size
    cases.check_form(r)


def test_long_entries_are_left_to_sweeps(dtype, rng, monkeypatch):
    """As are those whose columns span many bits; in hd, beyond which there is no precision."""
    a, seen = short(12, 6, dtype, 1e2, rng), told(monkeypatch)
    a[3, 2] = 2.0**-600
    long = mdqr.random.normal((12, 6), precision=mdqr.hd, dtype=dtype, rng=rng)
    for each in (a, long):
        qr(each, "r", method="refine", precision=mdqr.hd)
    assert seen == [False, False]


def test_complex_matrices_that_lie_column_by_column(rng):
    """From an order on a library returns such ones, of which norms were refused."""
    a = mdqr.random.normal((140, 129), precision=mdqr.d, dtype=complex, rng=rng)
    r, other = (qr(a, "r", method=way, precision=mdqr.dd) for way in ("refine", "householder"))
    error = mdqr.linalg.norm(r - other, axis=-2)
    assert (error <= 40 * 129 * mdqr.dd.eps * mdqr.linalg.norm(other, axis=-2)).all()


@pytest.mark.parametrize("multiple", WITH_WIDER, ids=str)
def test_terms_in_runs(monkeypatch, multiple, dtype, rng):
    monkeypatch.setattr(products, "MOST_TERMS", 7)
    monkeypatch.setattr(gram, "MOST_TERMS", 7)
    a = cases.random(31, 6, multiple, dtype, rng)
    accept(a, qr(a, "r", method="refine"))


@pytest.mark.parametrize("multiple", WITH_WIDER, ids=str)
def test_on_a_device(monkeypatch, multiple, dtype, rng):
    a = cases.random(20, 12, multiple, dtype, rng)
    known = qr(a, "r", method="refine")
    fake_device.install(monkeypatch)
    given = mdqr.MDArray._wrap(fake_device.DeviceArray(a.limbs), a.precision, a.is_complex)
    found = qr(given, "r", method="refine")
    assert (np.asarray(fake_device.bare(found.limbs)) == known.limbs).all()


@pytest.mark.parametrize(("multiple", "dtype"), [(mdqr.dd, float), (mdqr.qd, complex)])
def test_on_emulated_kernels(cuda, multiple, dtype, rng, monkeypatch):
    """Cholesky factors in float64 by LAPACK in place of cuSOLVER."""
    monkeypatch.setattr(elimination, "library", lambda own, kind: Library(own, kind, *libraries()))
    a = cases.random(14, 6, multiple, dtype, rng)
    found = gram.factor(cuda, a._block, kind=Kind(multiple.limbs, dtype is complex))
    accept(a, mdqr.MDArray._wrap(found, multiple, dtype is complex))


@pytest.mark.parametrize("multiple", NARROW, ids=str)
def test_auto_where_the_table_says_so(multiple, dtype, rng, monkeypatch):
    a = cases.random(35, 17, multiple, dtype, rng)
    other = qr(a, "r")
    kind = gather(a, precision=None).kind
    monkeypatch.setattr(tuning, "LEAST_REFINED", 17)
    monkeypatch.setattr(tuning, "REFINED_QR", {"cpu": {kind: 35 * 17**2}})
    seen = told(monkeypatch)
    found = qr(a, "r")
    assert seen == [True]
    assert (found == qr(a, "r", method="refine")).all()
    accept(a, other)
    singular = mdqr.concatenate([a[:, :16], a[:, :1]], axis=1)
    assert (qr(singular, "r") == qr(singular, "r", method="householder")).all()


def test_progress(rng):
    calls = []
    qr(matrix("random", 30, 9, cond=10, precision=mdqr.qd, rng=rng), "r", method="refine",
       progress=lambda *call: calls.append(call))  # fmt: skip
    assert [done for _, done, _ in calls] == list(range(1, len(calls) + 1))
    assert calls[-1] == ("refine", len(calls), len(calls))
