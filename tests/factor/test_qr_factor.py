"""QR factorisation with implicit Q: products, solutions, operands of other precisions."""

from __future__ import annotations

import warnings
from fractions import Fraction

import linalg_cases as cases
import numpy as np
import pytest

import mdqr
from mdqr import PrecisionWarning
from mdqr._precision import PRECISIONS
from mdqr.linalg import qr, qr_factor
from mdqr.testing import assert_same_bits


@pytest.mark.parametrize("shape", [(9, 5), (5, 9), (40, 35)], ids=str)
def test_factor_agrees_with_qr(precision, dtype, shape, rng):
    a = cases.random(*shape, precision, dtype, rng)
    f = qr_factor(a)
    Q, R = qr(a)
    assert f.shape == shape
    assert_same_bits(f.R, R)
    assert_same_bits(f.q(), Q)
    assert_same_bits(f.q("complete"), qr(a, "complete").Q)


def near(x, y, bound):
    assert x.shape == y.shape
    assert abs((x - y).to_numpy()).max(initial=0.0) <= bound


def test_implicit_products(precision, dtype, rng):
    a = cases.random(17, 9, precision, dtype, rng)
    x = cases.random(17, 4, precision, dtype, rng)
    y = cases.random(9, 4, precision, dtype, rng)
    f = qr_factor(a, tile=4)
    Q, full = f.q(), f.q("complete")
    # 20 n eps for the implicit and for the explicit Q, times norms below 10.
    bound = 40 * 9 * precision.eps * 10
    near(f.apply_qh(x), Q.H @ x, bound)
    near(f.apply_qh(x, "complete"), full.H @ x, bound)
    near(f.apply_q(y), Q @ y, bound)
    near(f.apply_q(x), full @ x, bound)
    near(f.apply_qh(x[:, 0]), Q.H @ x[:, 0], bound)
    near(f.apply_q(y[:, 0]), Q @ y[:, 0], bound)
    near(f.apply_q(f.R), a, bound)


def test_implicit_products_of_batches(multiple, dtype, rng):
    a = mdqr.stack([cases.random(7, 4, multiple, dtype, rng) for _ in range(3)])
    x = cases.random(7, 2, multiple, dtype, rng)
    f = qr_factor(a)
    y = f.apply_qh(x)
    assert y.shape == (3, 4, 2)
    for i in range(3):
        assert_same_bits(y[i], qr_factor(a[i]).apply_qh(x))
        assert_same_bits(f.solve(x)[i], qr_factor(a[i]).solve(x))


def test_factor_solves(precision, dtype, rng):
    a = cases.random(15, 8, precision, dtype, rng, cond=10)
    x = cases.random(8, 3, precision, dtype, rng)
    b = a @ x
    # Backward error 20 n eps, condition 10, norms below 10.
    near(qr_factor(a).solve(b), x, 20 * 8 * precision.eps * 100)
    near(qr_factor(a).solve(b[:, 0]), x[:, 0], 20 * 8 * precision.eps * 100)


def test_operands_of_a_higher_precision_are_rounded(multiple, dtype, rng):
    """Rounded to the factorisation's precision, ties by what follows; not cut off after a limb."""
    lower = max(p for p in PRECISIONS if p < multiple)
    f = qr_factor(cases.random(9, 5, lower, dtype, rng), tile=2)
    b = cases.random(9, 2, multiple, dtype, rng)
    # What follows any limb is half its unit and more, or a tie at the end.
    planes = np.broadcast_to(
        2.0 ** (-53.0 * np.arange(multiple.limbs))[:, None], (multiple.limbs, 9)
    )
    ties = mdqr.from_limbs(planes, normalize=False).reshape(9, 1).astype(dtype=dtype)
    if multiple.limbs > 2:
        cut = mdqr.from_limbs(planes[: lower.limbs], normalize=False)
        assert not (cut == ties[:, 0].real.astype(precision=lower)).any()
    for operand in (b, ties):
        rounded = operand.astype(precision=lower)
        for found, wanted in (
            (f.solve(operand), f.solve(rounded)),
            (f.apply_qh(operand), f.apply_qh(rounded)),
            (f.apply_q(operand), f.apply_q(rounded)),
        ):
            assert found.precision is lower
            assert_same_bits(found, wanted)
    exact = np.asarray(b.real.astype(precision=lower).to_fractions())
    distance = abs(exact - np.asarray(b.real.to_fractions()))
    assert (distance <= abs(exact) * Fraction(lower.eps) / 2).all()


def test_factor_solve_refuses(multiple):
    f = qr_factor(mdqr.ones((3, 5), precision=multiple))
    with pytest.raises(ValueError, match="a has fewer rows than columns"):
        f.solve(np.ones(3))
    a = mdqr.array([[1.0, 0.0], [2.0, 0.0]], precision=multiple)
    with pytest.raises(np.linalg.LinAlgError, match="diagonal entry of column 1 is exactly zero"):
        qr_factor(a).solve([1.0, 2.0])
    good = qr_factor(mdqr.eye(2, precision=multiple))
    with pytest.raises(ValueError, match=r"the operand must have 2 rows; got shape \(3,\)"):
        good.solve(np.ones(3))
    with pytest.raises(np.linalg.LinAlgError, match="row 1, column 0 of b is NaN or infinite"):
        good.solve([1.0, np.nan])
    with pytest.raises(ValueError, match="a is real and the operand complex"):
        good.apply_q([1.0j, 2.0])
    with pytest.raises(ValueError, match='mode must be "reduced" or "complete"'):
        good.q("r")


def test_factor_solve_refuses_singular_matrices(multiple):
    a = mdqr.array([[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]], precision=multiple) / 3
    a[0, 1] = a[0, 0] * (1 + mdqr.array(multiple.eps, precision=multiple))
    message = r"^QRFactor.solve: .* singular to working precision \(condition about .*lstsq refines"
    with pytest.raises(np.linalg.LinAlgError, match=message):
        qr_factor(a).solve(np.ones(3))


def test_lost_digits_are_told(multiple):
    """More than half of the digits of an unrefined solution: then `lstsq` is named."""
    n = 10 * multiple.limbs
    i = mdqr.arange(1, n + 1, precision=multiple)
    hilbert = 1 / (i[:, None] + i - 1)
    f = qr_factor(hilbert)
    for _ in range(2):
        with pytest.warns(
            PrecisionWarning, match=r"QRFactor.solve: about \d+ of \d+ digits"
        ) as caught:
            f.solve(hilbert.sum(axis=1))
        assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        qr_factor(mdqr.eye(n, precision=multiple)).solve(i)
