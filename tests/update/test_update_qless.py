"""Updates of R alone: the bound for ``R^H R``, and what tells that information is lost."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
import update_cases as cases
from hypothesis import given, settings
from hypothesis import strategies as st

import mdqr
from mdqr import PrecisionWarning
from mdqr.linalg import qr, qr_delete, qr_insert
from mdqr.testing import matrix


@settings(max_examples=4)
@given(seed=st.integers(0, 2**32), p=st.integers(1, 6))
def test_rows_that_go(precision, dtype, seed, p):
    """``norm(R^H R - A^H A) <= 20 n eps norm(A)^2``, of the matrix with the rows."""
    rng = np.random.default_rng(seed)
    a = cases.values((16, 5), precision, dtype, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrecisionWarning)
        Q, R = qr_delete(None, qr(a, "r"), 0, u=a[:p], p=p)
    assert Q is None
    cases.accept_r(a[p:], R, largest=cases.norm(a))


@settings(max_examples=4)
@given(seed=st.integers(0, 2**32), method=st.sampled_from(["update", "fresh"]))
def test_rows_that_come_and_columns_that_go(precision, dtype, seed, method):
    rng = np.random.default_rng(seed)
    shape = [(9, 5), (5, 5), (3, 6), (2, 5)][seed % 4]
    a = cases.values(shape, precision, dtype, rng)
    R = qr(a, "r")
    u = cases.values((1 + seed % 3, shape[1]), precision, dtype, rng)
    cases.accept_r(mdqr.concatenate([a, u]), qr_insert(None, R, u, 0, method=method).R)
    k, p = seed % 3, 1 + seed % 2
    found = qr_delete(None, R, k, p, "col", method=method).R
    assert found.shape[0] == min(shape[0], shape[1] - p)
    cases.accept_r(cases.delete(a, k, p, 1), found)


@pytest.mark.parametrize("method", ["update", "fresh"])
def test_rows_of_zeros_below_r(precision, dtype, method, rng):
    """R of a square Q serves in every update without Q."""
    a, u = cases.values((7, 4), precision, dtype, rng), cases.values((7, 1), precision, dtype, rng)
    R = qr(a, "complete").R
    for found, wanted in (
        (qr_insert(None, R, a[:2], 0, method=method), mdqr.concatenate([a, a[:2]])),
        (qr_insert(None, R, u, 1, "col", a=a, method=method), cases.insert(a, u, 1, 1)),
        (qr_delete(None, R, 1, 2, "col", method=method), cases.delete(a, 1, 2, 1)),
        (qr_delete(None, R, 0, u=a[:1]), a[1:]),
    ):
        assert found.R.shape == (wanted.shape[1],) * 2
        cases.accept_r(wanted, found.R, largest=8.0 * cases.norm(a))


@settings(max_examples=4)
@given(seed=st.integers(0, 2**32), method=st.sampled_from(["update", "fresh"]))
def test_columns_that_come(precision, dtype, seed, method):
    """Corrected semi-normal equations lose the digits of the condition, here below 100."""
    rng = np.random.default_rng(seed)
    a = matrix("random", 12, 5, cond=10, precision=precision, dtype=dtype, rng=rng)
    u = cases.values((12, 2), precision, dtype, rng)
    k = seed % 6
    R = qr_insert(None, qr(a, "r"), u, k, "col", a=a, method=method).R
    wanted = cases.insert(a, u, k, 1)
    cases.accept_r(wanted, R, largest=cases.norm(wanted) * 10**0.5)


def test_many_rows_at_once(multiple, dtype, rng):
    """More rows than one tile of the Cholesky factor has."""
    a = cases.values((60, 8), multiple, dtype, rng)
    R = qr_delete(None, qr(a, "r"), 0, u=a[:35], p=35).R
    cases.accept_r(a[35:], R, largest=cases.norm(a))


def vanishing(precision, size):
    """A matrix whose last column is, but for a part `size`, in its first row alone."""
    a = mdqr.from_limbs(np.vstack([np.eye(4), np.ones((4, 4))])[None]).astype(precision=precision)
    a[1:, 3] = size * mdqr.array([1.0, -1.0, 2.0, 3.0, 5.0, 7.0, 11.0], precision=precision)
    a[0, 3] = 1.0
    return a


def test_deficient_rest_is_an_error_without_q(precision):
    a = vanishing(precision, 0.0)
    with pytest.raises(np.linalg.LinAlgError, match="rank is at most 3 of 4"):
        qr_delete(None, qr(a, "r"), 0, u=a[0])


def test_what_is_lost_without_q_is_no_warning_of_numpy(precision, dtype):
    """More rows leave than can: the Cholesky factor does not exist, and NaN runs through."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        a = cases.values((5, 5), precision, dtype, rng)
        with pytest.raises(np.linalg.LinAlgError, match="all digits are lost"):
            qr_delete(None, qr(a, "r"), 0, u=a[:4])
        qr_delete(None, qr(a, "r"), 0, u=a[:4], check=False)


@pytest.mark.parametrize("kind", ["float32", "float64", "complex64", "complex128"])
def test_what_is_lost_of_many_floats_is_not_a_singular_matrix(kind, rng):
    """LAPACK may take the NaN of a large T for a zero; the other item of the batch is right."""
    n, p = 75, 48
    a = rng.uniform(-1, 1, (2, 3 * n, n)) + (1j if kind[0] == "c" else 0)
    a[0, p + n // 2 :] = 0
    a = a.astype(kind)
    R = np.linalg.qr(a, "r")
    with pytest.raises(np.linalg.LinAlgError, match="all digits are lost"):
        qr_delete(None, R, 0, u=a[:, :p])
    found = qr_delete(None, R, 0, u=a[:, :p], check=False).R
    assert np.isnan(found[0]).any()
    rest, R = a[1, p:].astype(complex), found[1].astype(complex)
    error = np.linalg.norm(R.conj().T @ R - rest.conj().T @ rest)
    assert error <= 20 * n * np.finfo(kind).eps * np.linalg.norm(a[1]) ** 2


@pytest.mark.parametrize("mode", ["reduced", "complete"])
@pytest.mark.parametrize("method", ["update", "fresh"])
def test_deficient_rest_is_an_error_with_q(precision, mode, method):
    a = vanishing(precision, 0.0)
    with pytest.raises(np.linalg.LinAlgError, match="rank is at most 3 of 4"):
        qr_delete(*qr(a, mode), 0, method=method)


@pytest.mark.parametrize("mode", ["reduced", "complete"])
@pytest.mark.parametrize("method", ["update", "fresh"])
def test_the_diagonal_of_a_deficient_r_does_not_tell_its_rank(precision, mode, method, rng):
    """[0 x; 0 y] has rank one, and so has [0 z; 0 0]: no false alarm where the rank stays."""
    for k in range(4):
        a = cases.values((5, 3), precision, float, rng)
        a[:, 0] = 0.0
        found = qr_delete(*qr(a, mode), k, 2 if k < 3 else 1, method=method)
        rest = cases.delete(a, k, 2 if k < 3 else 1, 0)
        cases.accept(rest, *found, largest=cases.norm(a))


@pytest.mark.parametrize("mode", ["reduced", "complete"])
@pytest.mark.parametrize("method", ["update", "fresh"])
@pytest.mark.parametrize("n", [1, 2])
def test_few_columns_have_rounding_errors_too(precision, dtype, mode, method, n):
    """Sums of one or two terms err by more than that many eps: zero is recognised all the same."""
    rng = np.random.default_rng(11)
    for m in range(n + 1, n + 7):
        a = cases.values((m, n), precision, dtype, rng)
        a[1:, n - 1] = a[1:, 0] if n > 1 else 0.0
        with pytest.raises(np.linalg.LinAlgError, match="all digits are lost"):
            qr_delete(*qr(a, mode), 0, method=method)


@pytest.mark.parametrize("mode", ["reduced", "complete"])
def test_a_gigantic_row_of_a_deficient_matrix(precision, mode, rng):
    a = cases.values((6, 3), precision, float, rng)
    a[:, 1] = 0.0
    a[4] = a[4] * (1024 / precision.eps)
    for method in ("update", "fresh"):
        with pytest.raises(np.linalg.LinAlgError, match="all digits are lost"):
            qr_delete(*qr(a, mode), 4, method=method)


@pytest.mark.parametrize("mode", ["reduced", "complete", None])
def test_a_gigantic_row_takes_all_digits_along(precision, mode):
    """What stays is far below the rounding errors of R."""
    a = cases.values((9, 3), precision, float, np.random.default_rng(3))
    a[4] = a[4] * (16 / precision.eps)
    factors, options = ((None, qr(a, "r")), {"u": a[4]}) if mode is None else (qr(a, mode), {})
    with pytest.raises(np.linalg.LinAlgError, match="all digits are lost"):
        qr_delete(*factors, 4, **options)


@pytest.mark.parametrize("mode", ["reduced", "complete"])
def test_a_large_row_takes_some_digits_along(precision, mode):
    """The digits that are reported as lost cover the error of what stays."""
    a = cases.values((9, 3), precision, float, np.random.default_rng(4))
    factor = 2.0 ** -int(np.log2(precision.eps) * 0.7)
    a[4] = a[4] * factor
    with pytest.warns(PrecisionWarning, match="digits of R are lost") as caught:
        Q, R = qr_delete(*qr(a, mode), 4)
    lost = int(re.search(r"about (\d+) of", str(caught[0].message)).group(1))
    rest = cases.delete(a, 4, 1, 0)
    error = cases.product_error(rest, Q, R) / cases.norm(rest)
    assert error <= 20 * 3 * precision.eps * 10.0 ** (lost + 1)
    assert error > precision.eps


def test_lost_digits_without_q_are_reported(precision):
    a = cases.values((9, 3), precision, float, np.random.default_rng(5))
    a[4] = a[4] * 2.0 ** -int(np.log2(precision.eps) * 0.35)
    with pytest.warns(PrecisionWarning, match="digits of R are lost") as caught:
        R = qr_delete(None, qr(a, "r"), 4, u=a[4]).R
    lost = int(re.search(r"about (\d+) of", str(caught[0].message)).group(1))
    rest = cases.delete(a, 4, 1, 0)
    cases.accept_r(rest, R, largest=cases.norm(a))
    error = cases.gram_error(rest, R) / cases.norm(rest) ** 2
    assert error <= 20 * 3 * precision.eps * 10.0 ** (lost + 1)


@pytest.mark.parametrize("kind", ["float32", "complex64"])
@pytest.mark.parametrize(("m", "n", "p"), [(260, 200, 20), (800, 600, 100)])
def test_rows_of_average_share_are_not_lost(kind, m, n, p, rng):
    """Removing a few of many rows costs a digit or two, however many columns there are."""
    a = rng.uniform(-1, 1, (m, n)) + (1j * rng.uniform(-1, 1, (m, n)) if kind[0] == "c" else 0)
    a = a.astype(kind)
    with warnings.catch_warnings():
        warnings.simplefilter("error", PrecisionWarning)
        R = qr_delete(None, np.linalg.qr(a, "r"), 0, u=a[:p], p=p).R
    rest, R = a[p:].astype(complex), R.astype(complex)
    error = np.linalg.norm(R.conj().T @ R - rest.conj().T @ rest)
    assert error <= 20 * np.finfo(kind).eps * np.linalg.norm(a) ** 2


@pytest.mark.parametrize("kind", ["float32", "complex64"])
def test_hidden_directions_of_many_columns_are_lost(kind, rng):
    """One direction stands in the rows that leave alone."""
    m, n, p = 800, 600, 20
    a = rng.uniform(-1, 1, (m, n)) + (1j * rng.uniform(-1, 1, (m, n)) if kind[0] == "c" else 0)
    x = rng.uniform(-1, 1, n)
    a[p:] -= np.outer(a[p:] @ x, x) / (x @ x)
    a = a.astype(kind)
    with pytest.raises(np.linalg.LinAlgError, match="all digits are lost"):
        qr_delete(None, np.linalg.qr(a, "r"), 0, u=a[:p], p=p)


def test_an_ill_conditioned_rest_is_not_mistaken_for_a_sound_one(precision):
    """The removed row hides a direction that the others have only to half the digits' square."""
    tiny = precision.eps**0.75
    a = mdqr.array(np.vstack([np.eye(3), np.ones((3, 3))]), precision=precision)
    a[:, 2] = a[:, 1] * 1.0
    a[1:, 2] = a[1:, 1] + tiny * mdqr.array([1.0, 2.0, -1.0, 3.0, -2.0], precision=precision)
    a[0, 2] = 1.0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            R = qr_delete(None, qr(a, "r"), 0, u=a[0]).R
        except np.linalg.LinAlgError:
            return
    assert caught
    cases.accept_r(a[1:], R, largest=cases.norm(a))


def test_insertion_of_dependent_columns_is_an_error(precision, dtype, rng):
    a = cases.values((8, 4), precision, dtype, rng)
    u = (a[:, 1] - 2 * a[:, 3]).reshape(8, 1)
    for factors, options in ((qr(a), {}), ((None, qr(a, "r")), {"a": a})):
        with pytest.raises(np.linalg.LinAlgError, match="below rcond"):
            qr_insert(*factors, u, 2, "col", method="update", **options)


def test_rcond_is_the_threshold(precision, rng):
    a = mdqr.eye(6, 3, precision=precision)
    u = mdqr.array([1.0, 0, 0, 2.0**-10, 0, 0], precision=precision)
    qr_insert(*qr(a), u, 0, "col", rcond=2.0**-12)
    with pytest.raises(np.linalg.LinAlgError, match="below rcond"):
        qr_insert(*qr(a), u, 0, "col", rcond=2.0**-9)


@pytest.mark.parametrize("p", [1, 3])
@pytest.mark.parametrize("k", [0, 2, 4])
def test_both_ways_and_forms_see_the_same_dependence(precision, dtype, k, p, rng):
    """The reciprocal condition that the messages tell, for columns of very different lengths."""
    a, u = cases.values((9, 4), precision, dtype, rng), cases.values((9, p), precision, dtype, rng)
    u = u * mdqr.array([1e-10, 1e5, 1.0][:p], precision=precision)
    u[:, p - 1] = u[:, p - 1] * 1e-3 + a[:, 0]
    found = []
    for factors, options in ((qr(a), {}), ((None, qr(a, "r")), {"a": a})):
        for method in ("update", "fresh"):
            with pytest.raises(np.linalg.LinAlgError, match="below rcond") as caught:
                qr_insert(*factors, u, k, "col", rcond=1.0, method=method, **options)
            found.append(float(re.search(r"condition ([-+.e\d]+)", str(caught.value)).group(1)))
    assert min(found) > 0
    assert max(found) <= 1.1 * min(found)


@pytest.mark.parametrize("tiny", [0.5, 0.4])
def test_the_closest_of_columns_is_known_to_every_digit(multiple, tiny, rng):
    """Columns that nearly are others, or each other, by a distance that no float64 sum shows."""
    distance = float(multiple.eps) ** tiny
    a = cases.values((14, 5), multiple, float, rng)
    u = cases.values((14, 3), multiple, float, rng)
    u[:, 2] = u[:, 0] + u[:, 2] * distance
    R = qr(a, "r")
    limits = []
    for method in ("update", "fresh"):
        with pytest.raises(np.linalg.LinAlgError, match="reciprocal condition") as told:
            qr_insert(None, R, u, 2, "col", a=a, method=method, rcond=0.1)
        limits.append(float(re.search(r"condition (\S+) is", str(told.value))[1]))
    # Printed with two digits.
    assert limits[1] == pytest.approx(limits[0], rel=0.1)
    assert distance / 100 <= limits[0] <= distance
    qr_insert(None, R, u, 2, "col", a=a, method="fresh")
