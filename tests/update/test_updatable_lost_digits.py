"""Least squares that change: the digits that removals of rows lose."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import update_cases as cases

import mdqr
from mdqr import PrecisionWarning
from mdqr.linalg import UpdatableLstsq, lstsq
from mdqr.linalg._update import fit as fits
from mdqr.testing import assert_same_bits


def test_data_replace_what_was_lost(precision):
    """With the data a hopeless removal is a fresh factorisation, without them an error."""
    a = cases.values((9, 3), precision, float, np.random.default_rng(3))
    a[4] = a[4] * (16 / precision.eps)
    b = cases.values((9,), precision, float, np.random.default_rng(4))
    rest, right = cases.delete(a, 4, 1, 0), mdqr.concatenate([b[:4], b[5:]])
    for keep_q in (False, True):
        fit = UpdatableLstsq(a, b, keep_q=keep_q)
        fit.delete_rows(4)
        cases.accept_r(rest, fit.R)
        assert fit.lost_digits == 0
        bare = UpdatableLstsq(a, b, keep_q=keep_q, keep_data=False)
        with pytest.raises(np.linalg.LinAlgError, match="all digits are lost"):
            bare.delete_rows(4, b=b[4], **({} if keep_q else {"u": a[4]}))
        # The object is as before the attempt.
        assert bare.shape == (9, 3)
    expected = lstsq(rest, right).x
    assert float(abs(fit.solve() - expected).max()) <= 1e5 * precision.eps


def test_lost_digits_are_counted(precision):
    a = cases.values((9, 3), precision, float, np.random.default_rng(5))
    a[4] = a[4] * 2.0 ** -int(np.log2(precision.eps) * 0.3)
    b = cases.values((9,), precision, float, np.random.default_rng(6))
    fit = UpdatableLstsq(a, b, keep_data=False)
    with pytest.warns(PrecisionWarning, match="digits of R are lost") as caught:
        fit.delete_rows(u=a[4], b=b[4])
    assert caught[0].filename == __file__
    assert 0.5 * precision.digits < fit.lost_digits < precision.digits


def graded_rows(precision, part):
    """Six rows of size one, three larger by the digits times `part`, three as much again."""

    def normal(shape, seed):
        return mdqr.random.normal(shape, precision=precision, rng=seed)

    factor = 2.0 ** int(-np.log2(precision.eps) * part)
    a = [normal((6, 3), 1), normal((3, 3), 3) * factor, normal((3, 3), 4) * factor**2]
    return mdqr.concatenate(a), mdqr.concatenate([normal((6,), 2), mdqr.ones(6, precision="d")])


def remove_three(fit, a, b, k):
    """Take rows k to k + 3 away from a problem without data."""
    rows = slice(k, k + 3)
    fit.delete_rows(k, 3, b=b[rows], **({"u": a[rows]} if fit.Q is None else {}))


def lost_in(fit, a, b):
    """The digits that the solution has lost, by the exact one."""
    exact = lstsq(a, b).x
    return np.log10(float(abs((fit.solve() - exact) / exact).max()) / exact.precision.eps)


@pytest.mark.parametrize("keep_q", [False, True])
def test_lost_digits_of_removals_add(precision, keep_q):
    """Neither of two removals loses half of the digits, but both do."""
    a, b = graded_rows(precision, 0.14)
    fit = UpdatableLstsq(a, b, keep_data=False, keep_q=keep_q)
    with warnings.catch_warnings():
        warnings.simplefilter("error", PrecisionWarning)
        remove_three(fit, a, b, 9)
    once = fit.lost_digits
    with pytest.warns(PrecisionWarning, match="digits of R are lost"):
        remove_three(fit, a, b, 6)
    assert fit.lost_digits > once + 0.2 * precision.digits
    lost = lost_in(fit, a[:6], b[:6])
    # With Q as many digits of Q^H b can be lost again; these rows have a small b.
    more = max(6, 0.05 * precision.digits)
    assert lost <= fit.lost_digits < (2 * lost if keep_q else lost) + more
    # What is lost stays lost when rows and columns come and go, until a fresh factorisation.
    fit.insert_rows(a[:1], b[:1])
    fit.delete_cols(1)
    assert fit.lost_digits > once + 0.2 * precision.digits


@pytest.mark.parametrize("keep_q", [False, True])
def test_removals_that_lose_all_digits_together_are_refused(precision, keep_q):
    a, b = graded_rows(precision, 0.32)
    fit = UpdatableLstsq(a, b, keep_data=False, keep_q=keep_q)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrecisionWarning)
        remove_three(fit, a, b, 9)
    before = fit.lost_digits, fit.shape, fit.R, fit.solve()
    with pytest.raises(np.linalg.LinAlgError, match="all digits are lost"):
        remove_three(fit, a, b, 6)
    # The object is as before the attempt.
    assert (fit.lost_digits, fit.shape) == before[:2]
    assert_same_bits(fit.R, before[2])
    assert_same_bits(fit.solve(), before[3])


@pytest.mark.parametrize("keep_q", [False, True])
def test_the_data_replace_what_removals_lose_together(precision, keep_q, monkeypatch):
    a, b = graded_rows(precision, 0.14)
    monkeypatch.setattr(fits, "prefers_refactor", lambda *_: False)
    fit = UpdatableLstsq(a, b, keep_q=keep_q)
    fit.delete_rows(9, 3)
    assert fit.lost_digits > 0.14 * precision.digits
    fit.delete_rows(6, 3)
    if keep_q:
        assert 0.25 * precision.digits < fit.lost_digits < 0.5 * precision.digits
    else:
        assert fit.lost_digits == 0
    assert lost_in(fit, a[:6], b[:6]) <= fit.lost_digits + 2


def test_a_sliding_window_does_not_run_out_of_digits(precision, rng):
    """Each removal loses little, and what many lose together is bounded."""
    window, steps = 8, 60
    a = cases.values((window + steps, 2), precision, float, rng)
    b = cases.values((window + steps,), precision, float, rng)
    fit = UpdatableLstsq(a[:window], b[:window], keep_data=False)
    most = 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrecisionWarning)
        for i in range(steps):
            fit.insert_rows(a[window + i], b[window + i])
            fit.delete_rows(u=a[i], b=b[i])
            most = max(most, fit.lost_digits)
    # Rounding errors are smaller than eps the more limbs there are.
    assert -2 <= lost_in(fit, a[steps:], b[steps:]) <= fit.lost_digits
    # The number of changes and a condition of a few hundred.
    assert most <= max(precision.digits / 2, np.log10(2 * 2 * steps) + 6)


@pytest.mark.parametrize("keep_data", [False, True])
def test_large_rows_leave_q(precision, keep_data):
    """With the data the lost digits are counted once, without them Q^H b loses as many again."""
    bits = -int(np.log2(precision.eps) * 0.4)
    a = cases.values((9, 3), precision, float, np.random.default_rng(7))
    b = cases.values((9,), precision, float, np.random.default_rng(8))
    a[4], b[4] = a[4] * 2.0**bits, b[4] * 2.0**bits
    fit = UpdatableLstsq(a, b, keep_q=True, keep_data=keep_data)
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore", PrecisionWarning)
        patch.setattr(fits, "prefers_refactor", lambda *_: False)
        fit.delete_rows(4, **({} if keep_data else {"b": b[4]}))
    digits = bits * np.log10(2)
    low, high = (0.8, 1.2) if keep_data else (1.6, 2.2)
    assert low * digits < fit.lost_digits < high * digits
    exact = lstsq(cases.delete(a, 4, 1, 0), mdqr.concatenate([b[:4], b[5:]]))
    error = float(abs(fit.solve() - exact.x).max())
    assert error <= 1e3 * precision.eps * exact.info.condition**2 * 10.0**fit.lost_digits
