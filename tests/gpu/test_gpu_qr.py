"""QR on the device: design.md's acceptance, shapes, zero columns, batches, no waiting."""

from __future__ import annotations

import warnings

import gpu_cases as cases
import gpu_exact
import numpy as np
import pytest
from exact_matrices import check_form

import mdqr
from mdqr._backend.cuda.products import exact as calls
from mdqr._limbs.planes import Kind
from mdqr.linalg import certify, qr, qr_factor
from mdqr.linalg._shared import tuning
from mdqr.testing import assert_same_bits, matrix

pytestmark = pytest.mark.gpu

SHAPES = [(1, 1), (1, 4), (6, 1), (9, 5), (5, 9), (35, 17), (41, 41)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_acceptance(precision, dtype, shape, rng):
    a = cases.random_matrix(*shape, precision, dtype, rng)
    Q, R = qr(a)
    assert Q.device == R.device == a.device
    gpu_exact.accept(a, Q, R)


@pytest.mark.parametrize("kind", ["hilbert", "vandermonde", "kahan", "rank_deficient"])
def test_special_matrices(precision, dtype, kind, rng):
    a = cases.to_device(matrix(kind, 22, 19, precision=precision, dtype=dtype, rng=rng))
    gpu_exact.accept(a, *qr(a))


@pytest.mark.parametrize("shape", [(1, 1), (6, 1), (1, 5), (35, 17), (17, 35), (90, 90)], ids=str)
@pytest.mark.parametrize("cond", [1e2, 1e14, 1e24])
def test_products_alone(multiple, dtype, shape, cond, rng):
    a = cases.random_matrix(*shape, multiple, dtype, rng, cond=cond)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Q, R = qr(a, method="refine")
    assert Q.device == R.device == a.device
    gpu_exact.accept(a, Q, R)


def test_auto_refines_large_matrices(multiple, dtype, rng, monkeypatch):
    """Products through residues, and panels of triangles."""
    a = cases.to_device(mdqr.random.normal((900, 800), precision=multiple, dtype=dtype, rng=rng))
    kind = Kind(multiple.limbs, dtype is complex)
    monkeypatch.setitem(tuning.REFINED_QR["cuda"], kind, 900 * 800**2)
    monkeypatch.setattr(calls, "_LEAST_COLUMNS", 64)
    stages = set()
    Q, R = qr(a, progress=lambda stage, *_: stages.add(stage))
    assert stages == {"refine"}
    found = certify(a, Q, R)
    assert max(float(found.columnwise), float(found.orthogonality)) <= 20 * 800
    few = a[:, :799]
    assert_same_bits(qr(few).R, qr(few, method="householder").R)


def test_an_error_where_products_prove_nothing(multiple, dtype, rng):
    a = cases.to_device(matrix("rank_deficient", 22, 19, precision=multiple, dtype=dtype, rng=rng))
    with pytest.raises(mdqr.linalg.LinAlgError, match='method="householder" takes any matrix'):
        qr(a, method="refine")


def test_the_largest_condition(precision, dtype, rng):
    cond = min(1e100, 0.01 / precision.eps)
    a = cases.random_matrix(30, 21, precision, dtype, rng, cond=cond)
    gpu_exact.accept(a, *qr(a))


def scaled(a, rows=0, columns=0):
    exponent = rows * np.arange(a.shape[-2])[:, None] + columns * np.arange(a.shape[-1])
    block = np.ldexp(cases.to_host(a).limbs, exponent.astype(np.int32))
    return cases.to_device(mdqr.MDArray._wrap(block, a.precision, a.is_complex))


@pytest.mark.parametrize(
    ("rows", "columns"), [(0, -20), (0, 20), (-20, 0), (20, 0), (-10, 20)], ids=str
)
def test_graded_matrices(precision, dtype, rows, columns, rng):
    a = scaled(cases.random_matrix(30, 21, precision, dtype, rng), rows, columns)
    gpu_exact.accept(a, *qr(a))


@pytest.mark.parametrize("exponent", [-1000, -700, 1000])
def test_the_ends_of_the_range(precision, dtype, exponent, rng):
    a = cases.random_matrix(12, 9, precision, dtype, rng)
    block = np.ldexp(cases.to_host(a).limbs, exponent) + 0.0
    a = cases.to_device(mdqr.MDArray._wrap(block, precision, dtype is complex))
    gpu_exact.accept(a, *qr(a))


@pytest.mark.parametrize("shape", [(130, 70), (70, 130), (300, 200), (600, 33)], ids=str)
@pytest.mark.usefixtures("host")
def test_larger_matrices(precision, dtype, shape, rng):
    """Measured on the host, where nothing of the device takes part."""
    a = mdqr.random.normal(shape, precision=precision, dtype=dtype, rng=rng)
    Q, R = (cases.to_host(x) for x in qr(cases.to_device(a)))
    errors = certify(a, Q, R)
    n = shape[1]
    assert errors.columnwise <= 20 * n
    assert errors.orthogonality <= 20 * n
    check_form(R)


@pytest.mark.usefixtures("host")
def test_a_larger_matrix_of_condition_1e100(rng):
    a = matrix("random", 300, 200, cond=1e100, precision=mdqr.od, rng=rng)
    Q, R = (cases.to_host(x) for x in qr(cases.to_device(a)))
    errors = certify(a, Q, R)
    assert max(errors.columnwise, errors.orthogonality) <= 20 * 200


@pytest.mark.usefixtures("host")
def test_certificates_agree(multiple, dtype, rng):
    """Each figure is right to 1/8 and to 12 digits, on the host and on the device."""
    a = cases.random_matrix(40, 25, multiple, dtype, rng)
    Q, R = qr(a)
    found = certify(a, Q, R)
    wanted = certify(*(cases.to_host(x) for x in (a, Q, R)))
    for x, y in zip(found, wanted, strict=True):
        assert abs(x - y) <= 0.25 + 2e-12 * y


@pytest.mark.parametrize("tile", [1, 5, 100])
def test_every_tile_width_is_accurate(multiple, dtype, tile, rng):
    a = cases.random_matrix(33, 21, multiple, dtype, rng)
    gpu_exact.accept(a, *qr(a, tile=tile))


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4), (2, 3, 5), (2, 2, 5, 3)], ids=str)
@pytest.mark.parametrize("mode", ["reduced", "complete", "r", "raw"])
def test_shapes_are_those_of_numpy(precision, dtype, shape, mode, rng):
    a64 = rng.standard_normal(shape) + (1j * rng.standard_normal(shape) * (dtype is complex))
    a64 = a64 if dtype is complex else a64.real
    a = mdqr.array(a64, precision=precision, device=cases.DEVICE)
    found, wanted = qr(a, mode), np.linalg.qr(a64, mode)
    if mode == "r":
        found, wanted = (found,), (wanted,)
    assert [x.shape for x in found] == [x.shape for x in wanted]
    assert all(x.precision is precision and x.device == a.device for x in found)


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (2, 0, 3), (0, 4, 2)], ids=str)
@pytest.mark.parametrize("mode", ["reduced", "complete", "r", "raw"])
def test_empty_matrices(precision, shape, mode):
    found = qr(mdqr.zeros(shape, precision=precision, device=cases.DEVICE), mode)
    wanted = np.linalg.qr(np.zeros(shape), mode)
    if mode == "r":
        found, wanted = (found,), (wanted,)
    for x, y in zip(found, wanted, strict=True):
        assert x.shape == y.shape
        assert np.array_equal(x.to_numpy(), y)


@pytest.mark.parametrize(("m", "n"), [(5, 5), (300, 70), (1100, 40), (90, 130)], ids=str)
def test_q_times_a_few_columns(multiple, dtype, m, n, rng):
    """All tiles by one launch are as close to ``Q^H x`` as tile by tile, at every scale of x."""
    a = cases.random_matrix(m, n, multiple, dtype, rng)
    f = qr_factor(a)
    wide = cases.random_matrix(m, 9, multiple, dtype, rng)  # too many columns for one launch
    for apply in (lambda x: f.apply_qh(x, "complete"), f.apply_q):
        wanted = apply(wide)
        # Reflections of norm 1: some (m + 8) eps of the column each, and no more than n of them.
        size = float((abs(wide) ** 2).sum(axis=0).max()) ** 0.5
        for columns in (1, 2, 8):
            error = abs(apply(wide[:, :columns]) - wanted[:, :columns])
            assert float(error.max()) <= 6 * (m + 16) * min(m, n) * multiple.eps * size
        for exponent in (-300, 900):
            moved = apply(wide[:, :1] * 2.0**exponent) * 2.0**-exponent
            error = abs(moved - wanted[:, :1])
            low = 2.0 ** (-1070 - exponent) if exponent < 0 else 0.0
            assert float(error.max()) <= 6 * (m + 16) * min(m, n) * multiple.eps * size + low


@pytest.mark.parametrize("shape", [(9, 5), (5, 9), (7, 7)], ids=str)
def test_complete_q(precision, dtype, shape, rng):
    a = cases.random_matrix(*shape, precision, dtype, rng)
    Q, R = qr(a, "complete")
    assert Q.shape == (shape[0], shape[0])
    gpu_exact.accept(a, Q, R)


def test_zero_columns(precision, dtype, rng):
    a = matrix("zero_columns", 12, 8, precision=precision, dtype=dtype, rng=rng)
    a = cases.to_device(a)
    Q, R = qr(a)
    gpu_exact.accept(a, Q, R)
    for j in (0, 4):
        assert not bool(cases.to_host(R).limbs[..., j].any())
    zero = mdqr.zeros((4, 3), precision=precision, dtype=dtype, device=cases.DEVICE)
    Q, R = qr(zero)
    assert not bool(cases.to_host(R).limbs.any())
    assert_same_bits(cases.to_host(Q), mdqr.eye(4, 3, precision=precision, dtype=dtype))


def test_dependent_columns(multiple, dtype, rng):
    a = cases.random_matrix(12, 4, multiple, dtype, rng)
    a = mdqr.concatenate([a, a[:, :2]], axis=1)
    Q, R = qr(a)
    gpu_exact.accept(a, Q, R)
    small = abs(R[4:, 4:].to_numpy()).max()
    assert small <= 20 * 6 * multiple.eps * abs(R.to_numpy()).max()


def test_batches(multiple, dtype, rng):
    parts = [cases.random_matrix(11, 6, multiple, dtype, rng) for _ in range(6)]
    a = mdqr.stack(parts).reshape(2, 3, 11, 6)
    Q, R = qr(a)
    for i, part in enumerate(parts):
        gpu_exact.accept(part, Q[divmod(i, 3)], R[divmod(i, 3)])


@pytest.mark.parametrize("shape", [(32, 16), (16, 16), (64, 64)], ids=str)
def test_a_thousand_small_matrices(multiple, dtype, shape):
    a = mdqr.random.normal(
        (1000, *shape), precision=multiple, dtype=dtype, rng=3, device=cases.DEVICE
    )
    Q, R = qr(a)
    errors = certify(a, Q, R)
    assert errors.columnwise.shape == (1000,)
    assert errors.columnwise.max() <= 20 * shape[1]
    assert errors.orthogonality.max() <= 20 * shape[1]
    # The certificate is of the device; one matrix in 250 is measured exactly.
    for i in range(0, 1000, 250 if shape[1] < 64 else 999):
        gpu_exact.accept(a[i], Q[i], R[i])


def test_factorisations_repeat_their_bits(multiple, dtype, rng):
    a = cases.random_matrix(150, 90, multiple, dtype, rng)
    Q, R = qr(a)
    for _ in range(3):
        again = qr(a)
        assert_same_bits(again.Q, Q)
        assert_same_bits(again.R, R)


def test_implicit_q(precision, dtype, rng):
    a = cases.random_matrix(23, 14, precision, dtype, rng)
    f = qr_factor(a)
    gpu_exact.accept(a, f.q(), f.R)
    full = f.q("complete")
    x = cases.random_matrix(23, 3, precision, dtype, rng)
    # 14 reflections of norm 1 with dot products of 23 terms, twice; 20 n eps for Q itself.
    bound = (2 * 14 * (23 + 12) + 20 * 23) * precision.eps
    for found, wanted in ((f.apply_q(x), full @ x), (f.apply_qh(x, "complete"), full.H @ x)):
        error = mdqr.linalg.norm(found - wanted) / mdqr.linalg.norm(x)
        assert float(error) <= bound


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("function", [qr, qr_factor])
def test_check_raises_with_the_place(precision, dtype, bad, function, rng):
    a = cases.random_matrix(6, 5, precision, dtype, rng).copy()
    a[2, 3] = bad
    message = rf"{function.__name__}: the entry in row 2, column 3 of a is NaN or infinite"
    with pytest.raises(np.linalg.LinAlgError, match=message):
        function(a)


def test_without_check_nan_goes_through(precision, dtype, rng):
    a = cases.random_matrix(20, 12, precision, dtype, rng).copy()
    clean = qr(a, "r", tile=5)
    a[2, 3] = np.nan
    Q, R = qr(a, check=False, tile=5)
    assert np.isnan(R[:, 3].to_numpy()).any()
    assert np.isnan(Q.to_numpy()).any()
    if precision > mdqr.d:
        assert_same_bits(R[:3, :3], clean[:3, :3])


def test_r_beyond_the_range_raises(precision):
    a = mdqr.full((4, 2), 1.5e308, precision=precision, device=cases.DEVICE)
    with pytest.raises(np.linalg.LinAlgError, match="column 0 of R is beyond the largest double"):
        qr(a)
