"""Bounds by `return_info` of `solve_triangular`, `lu_solve` and `cho_solve`."""

from __future__ import annotations

import copy
import pickle

import fake_device
import numpy as np
import pytest
from adversarial.components import judge_all
from adversarial.draws import Draw, limbs_of
from adversarial.exact import Truth
from adversarial.problems import limbs
from adversarial.verdicts import Verdict

import mdqr
from mdqr import linalg


def drawn(r, parts, rows, columns, precision):
    ints = r.full((parts, rows, columns), precision.bits)
    block = limbs_of(ints, np.full((rows, columns), -precision.bits), precision.limbs)
    return mdqr.from_limbs(block, dtype=complex) if parts == 2 else mdqr.from_limbs(block[0])


def turned(a, trans):
    return {"N": a, "T": a.mT, "C": a.H}[trans]


def case(r, method, precision, parts):
    """A matrix as the solution means it, right-hand sides, and what the function says."""
    n, trans = r.randint(1, 6), r.choice("NTC")
    a, b = (drawn(r, parts, n, k, precision) for k in (n, r.randint(1, 2)))
    if method == "cho_solve":
        a = a @ a.H + 2.0 ** -r.randint(0, 40) * mdqr.eye(n, precision=precision)
        return a, b, linalg.cho_solve((linalg.cholesky(a), True), b, return_info=True)
    if r.chance(0.3):
        a = a * 2.0 ** r.exponents((1, n), 110) * 2.0 ** r.exponents((n, 1), 110)
    elif n > 1 and r.chance(0.5):
        a[:, -1] = a[:, 0] + a[:, -1] * 2.0 ** -r.randint(1, precision.bits)
    if method == "lu_solve":
        found = linalg.lu_solve(linalg.lu_factor(a), b, trans, return_info=True)
        return turned(a, trans), b, found
    lower, unit = r.chance(0.5), r.chance(0.3)
    found = linalg.solve_triangular(a, b, trans, lower, unit, return_info=True)
    part = (mdqr.tril if lower else mdqr.triu)(a)
    if unit:
        part = part - mdqr.diag(mdqr.diag(part)) + mdqr.eye(n, precision=precision)
    return turned(part, trans), b, found


@pytest.mark.parametrize("parts", [1, 2], ids=["real", "complex"])
@pytest.mark.parametrize("method", ["solve_triangular", "lu_solve", "cho_solve"])
def test_bounds_and_digits_hold(method, parts, precision):
    """For the matrix that was factored, by the exact solution, and not far from the errors."""
    verdict, kept = Verdict(), 0
    for index in range(25):
        r = Draw(f"bounds/{method}/{parts}/{precision.name}/{index}")
        a, b, (x, info) = case(r, method, precision, parts)
        assert info.bound_kind == "proven"
        assert info.error_bound.shape == info.digits.shape == x.shape
        truth = Truth(limbs(a), limbs(b))
        if not truth.singular:
            judge_all(verdict, truth, limbs(x), info)
            kept += int(np.isfinite(info.error_bound).all())
    assert not verdict.violations
    assert kept > 15
    # Those of factors are the ones that docstrings state: multiples of eps that are never reached.
    # Products of hd err by 2^-10 of what those of od do.
    gaps, most = [gap for _, gap in verdict.gaps], 6.5 if precision.limbs <= 8 else 9.5
    assert np.median(gaps) < (1.0 if method == "solve_triangular" else most)


def test_data_digits_are_those_of_the_entries():
    """Floats have 16 digits, whatever the precision of the work; exact entries have all."""
    a, b = np.array([[3.0, 0.1], [0, 0.7]]), np.array([0.3, 0.9])
    _, info = linalg.solve_triangular(a, b, precision="qd", return_info=True)
    assert info.digits.min() > 62
    assert np.all((info.data_digits > 14) & (info.data_digits < 16.3))
    _, exact = linalg.solve_triangular([[3, 1], [0, 7]], [1, 2], precision="qd", return_info=True)
    assert exact.data_digits.min() > 61
    for found in (
        linalg.lu_solve(linalg.lu_factor(a), b, return_info=True),
        linalg.cho_solve((a.T, True), b, return_info=True),
    ):
        assert np.isnan(found[1].data_digits).all()
        assert "no error bound" not in repr(found[1])


def test_data_errors_hold_for_changed_entries():
    r = Draw("changed")
    for _ in range(20):
        a, b = np.triu(r_floats(r, (4, 4))) + 2 * np.eye(4), r_floats(r, (4,))
        x, info = linalg.solve_triangular(a, b, precision="qd", return_info=True)
        signs = np.where(r_floats(r, (4, 5)) > 0, 1, -1) * mdqr.qd(2.0**-53)
        other = linalg.solve_triangular(a * (1 + signs[:, :4]), b * (1 + signs[:, 4]))
        moved = abs(other - x).to_numpy()
        assert np.all(moved <= info.data_error_bound)
        assert np.all(info.data_error_bound < 1e5 * np.finfo(float).eps)


def r_floats(r, shape):
    return np.array([r.uniform(-1, 1) for _ in range(int(np.prod(shape)))]).reshape(shape)


def test_exact_zeros_have_all_digits(precision):
    a = mdqr.array([[2, 0, 0], [5, 3, 0], [1, 1, 7]], precision=precision)
    x, info = linalg.solve_triangular(a, [0, 3, 1], lower=True, return_info=True)
    assert x.to_numpy().tolist() == [0, 1, 0]
    assert info.error_bound[0] == 0
    assert info.digits[0] == info.digits[1] == precision.digits


def test_batches_vectors_and_copies(precision):
    r = Draw("batch")
    a = mdqr.stack([drawn(r, 1, 3, 3, precision) for _ in range(4)])
    b = drawn(r, 1, 3, 2, precision)
    factors = linalg.lu_factor(a)
    for trans in "NT":
        x, info = linalg.lu_solve(factors, b, trans, return_info=True)
        assert info.error_bound.shape == x.shape == (4, 3, 2)
        assert info.condition.shape == (4,)
        for i in range(4):
            one = linalg.lu_factor(a[i])
            y, single = linalg.lu_solve(one, b[:, 0], trans, return_info=True)
            assert single.error_bound.shape == y.shape == (3,)
            np.testing.assert_allclose(single.error_bound, info.error_bound[i, :, 0], rtol=1e-6)
            assert isinstance(single.condition, float)
    for again in (copy.deepcopy(info), pickle.loads(pickle.dumps(info))):
        np.testing.assert_array_equal(again.digits, info.digits)


def test_operands_may_change_before_the_bound_is_read():
    a, b = mdqr.eye(3, precision="qd") * 3, mdqr.ones((3, 1), precision="qd")
    x, info = linalg.solve_triangular(a, b, return_info=True)
    a[...], b[...], x[...] = 7, 5, 9
    assert info.digits.min() > 62


def test_no_digit_is_claimed_of_a_matrix_that_rounding_makes_singular():
    a = mdqr.array([[1, 2], [3, 6]], precision="dd") / 7
    lu, piv = linalg.lu_factor(a)
    lu[1, 1] = 2.0**-106
    _, info = linalg.lu_solve((lu, piv), [1, 2], return_info=True)
    assert np.all(info.error_bound == np.inf)
    assert np.all(info.digits == 0)


def test_on_a_device(monkeypatch):
    a, b = drawn(Draw("device"), 1, 4, 4, mdqr.qd), drawn(Draw("b"), 1, 4, 2, mdqr.qd)
    _, wanted = linalg.solve_triangular(a, b, return_info=True)
    fake_device.install(monkeypatch)
    near = (
        mdqr.MDArray._wrap(fake_device.DeviceArray(x.limbs.copy()), mdqr.qd, False) for x in (a, b)
    )
    _, info = linalg.solve_triangular(*near, return_info=True)
    np.testing.assert_array_equal(info.error_bound, wanted.error_bound)
