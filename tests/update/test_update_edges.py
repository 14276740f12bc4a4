"""Updates by nothing, of nothing, to nothing."""

from __future__ import annotations

import pytest
import update_cases as cases

import mdqr
from mdqr.linalg import qr, qr_delete, qr_insert, qr_update
from mdqr.testing import assert_same_bits


def factors(m, n, precision, rng, dtype=float, mode="reduced"):
    a = cases.values((m, n), precision, dtype, rng)
    return a, *qr(a, mode)


def test_nothing_to_insert(precision, rng):
    a, Q, R = factors(6, 4, precision, rng)
    cases.accept(a, *qr_insert(Q, R, a[:0], 2))
    cases.accept(a, *qr_insert(Q, R, a[:, :0], 2, "col"))
    cases.accept(a, *qr_update(Q, R, a[:, :0], a[:4, :0]))
    assert_same_bits(qr_insert(None, R, a[:0], 0).R, R)


@pytest.mark.parametrize("mode", ["reduced", "complete"])
@pytest.mark.parametrize("method", ["update", "fresh"])
def test_nothing_to_insert_into_foreign_factors(precision, mode, method, rng):
    """The diagonal becomes real also where no window is; nothing divides by nothing."""
    a, Q, R = factors(6, 4, precision, rng, complex, mode)
    phases = mdqr.array([1j] * R.shape[-2], precision=precision)
    Q, R = Q * phases, phases.conj()[:, None] * R
    for change in (
        qr_insert(Q, R, a[:0], 2, method=method),
        qr_insert(Q, R, a[:, :0], 2, "col", method=method),
        qr_update(Q, R, a[:, :0], a[:4, :0], method=method),
    ):
        cases.accept(a, *change)


@pytest.mark.parametrize("mode", ["reduced", "complete"])
@pytest.mark.parametrize("method", ["update", "fresh"])
def test_rows_without_columns(precision, mode, method, rng):
    """A matrix of no columns has nothing to lose."""
    Q, R = qr(cases.values((5, 0), precision, float, rng), mode)
    cases.accept(R[:0, :0].reshape(0, 0), *qr_delete(Q, R, 0, 5, method=method))
    found = qr_delete(Q, R, 1, 2, method=method)
    assert found.R.shape == (found.Q.shape[-1], 0)
    assert found.Q.shape[0] == 3


@pytest.mark.parametrize("method", ["update", "fresh"])
def test_a_zero_matrix_loses_all_its_rows(precision, method, rng):
    """Fewer rows than columns stay: that Q becomes square on the way says nothing."""
    found = qr_delete(*qr(mdqr.zeros((3, 1), precision=precision)), 0, 3, method=method)
    assert (found.Q.shape, found.R.shape) == ((0, 0), (0, 1))


@pytest.mark.parametrize("mode", ["reduced", "complete"])
@pytest.mark.parametrize("method", ["update", "fresh"])
def test_everything_goes(precision, mode, method, rng):
    """All columns, all rows: SciPy's shapes."""
    _, Q, R = factors(5, 3, precision, rng, mode=mode)
    found = qr_delete(Q, R, 0, 3, "col", method=method)
    wide = 5 if mode == "complete" else 0
    assert (found.Q.shape, found.R.shape) == ((5, wide), (wide, 0))
    found = qr_delete(Q, R, 0, 5, method=method)
    assert (found.Q.shape, found.R.shape) == ((0, 0), (0, 3))


def test_from_nothing(precision, rng):
    """Columns of an empty matrix, rows of an empty matrix."""
    a = cases.values((5, 3), precision, float, rng)
    Q, R = qr(a[:, :0], "complete")
    cases.accept(a, *qr_insert(Q, R, a, 0, "col", method="update"))
    Q, R = qr(a[:0], "complete")
    cases.accept(a, *qr_insert(Q, R, a, 0, method="update"))
    assert_same_bits(qr_insert(None, a[:0], a, 0, method="fresh").R, qr(a, "r"))


@pytest.mark.parametrize("method", ["update", "fresh"])
def test_the_first_columns_of_thin_factors(precision, dtype, method, rng):
    """R has no rows that tell of scales, and the new columns have theirs."""
    a = 2.0**40 * cases.values((5, 3), precision, dtype, rng)
    Q, R = qr(a[:, :0])
    cases.accept(a, *qr_insert(Q, R, a, 0, "col", method=method))
    cases.accept_r(a, qr_insert(None, R, a, 0, "col", a=a[:, :0], method=method).R)
