"""Certificates against exact integer arithmetic."""

from __future__ import annotations

import linalg_cases as cases
import numpy as np
import pytest

import mdqr
from mdqr.linalg import Certificate, certify, qr


def check(a, Q, R):
    """Each figure is right to 1/8, and to 12 digits where that is more."""
    found = certify(a, Q, R)
    for name, value, exact in zip(found._fields, found, cases.factor_errors(a, Q, R), strict=True):
        assert isinstance(value, float), name
        assert value == pytest.approx(exact, rel=1e-12, abs=0.125), name


@pytest.mark.parametrize("shape", [(1, 1), (9, 6), (6, 9), (31, 20)], ids=str)
def test_good_factors(precision, dtype, shape, rng):
    a = cases.random(*shape, precision, dtype, rng)
    check(a, *qr(a))
    check(a, *qr(a, "complete"))


@pytest.mark.parametrize("error", [4.0, 1e3, 1e9])
def test_perturbed_factors(precision, dtype, error, rng):
    a = cases.random(9, 6, precision, dtype, rng)
    Q, R = qr(a)
    Q[3, 2] = Q[3, 2] * (1 + error * precision.eps)
    check(a, Q, R)
    R[1, 4] = R[1, 4] + error * precision.eps
    check(a, Q, R)


@pytest.mark.parametrize(("rows", "columns"), [(0, -20), (0, 20), (-15, 0), (15, 0)], ids=str)
def test_scaled_matrices(precision, dtype, rows, columns, rng):
    a = cases.scaled(cases.random(12, 9, precision, dtype, rng), rows, columns)
    check(a, *qr(a))


def test_errors_of_rows_that_are_small_beside_others(dtype, rng):
    """Products of small rows end far below the smallest double in units of the largest one."""
    powers = np.ldexp(1.0, -60 * np.arange(8))
    a = cases.random(8, 5, mdqr.hd, dtype, rng) * powers[:, None] * powers[:5]
    check(a, *qr(a))


def test_zero_rows_and_columns(precision):
    a = mdqr.zeros((4, 3), precision=precision)
    assert certify(a, *qr(a)) == Certificate(0.0, 0.0, 0.0, 0.0)
    a[0, 0] = 1.0
    Q, R = qr(a)
    R[0, 1] = precision.eps
    found = certify(a, Q, R)
    assert found.normwise == 1.0
    assert found.columnwise == np.inf
    assert found.rowwise == 1.0


@pytest.mark.parametrize("power", [0, -900, 700])
def test_zeros_in_matrices_of_any_size(multiple, dtype, power):
    """A zero row or column has no size of its own; what is wrong of it counts."""
    unit, small = 2.0**power, 2.0**-80
    one = mdqr.eye(3, 2, precision=multiple, dtype=dtype)
    Q, R = one.copy(), mdqr.eye(2, precision=multiple, dtype=dtype) * unit
    Q[2, 0] = small
    found, eps = certify(one * unit, Q, R), multiple.eps
    assert found.rowwise == np.inf
    assert abs(found.normwise * eps / small - 2.0**-0.5) <= 2.0**-40
    # A row of zeros in Q only: all of that row of A is wrong.
    found = certify(one * unit, one * [[1], [0], [0]], R)
    assert abs(found.rowwise * eps - 1.0) <= 2.0**-40
    # A column of zeros, and an error in another one.
    a, R = one * [1, 0] * unit, R * [1, 0]
    R[0, 0] = unit * (1.0 + 2.0**-20)
    found = certify(a, one, R)
    for error in (found.normwise, found.columnwise, found.rowwise):
        assert abs(error * eps * 2.0**20 - 1.0) <= 2.0**-40


def test_batches(multiple, dtype, rng):
    parts = [cases.random(8, 5, multiple, dtype, rng) for _ in range(4)]
    a = mdqr.stack(parts).reshape(2, 2, 8, 5)
    Q, R = qr(a)
    found = certify(a, Q, R)
    for name, value in zip(found._fields, found, strict=True):
        assert value.shape == (2, 2), name
        for i, part in enumerate(parts):
            single = getattr(certify(part, Q[divmod(i, 2)], R[divmod(i, 2)]), name)
            assert value[divmod(i, 2)] == single, name


def test_factors_of_lower_precision(rng):
    """The errors of float64 factors in multiples of the eps of d."""
    a = rng.standard_normal((10, 6))
    Q, R = np.linalg.qr(a)
    found = certify(a, Q, R)
    assert 0 < found.columnwise <= 20 * 6
    in_od = certify(a, Q, R, precision="od")
    assert in_od.orthogonality == pytest.approx(found.orthogonality * 2.0 ** (423 - 52), rel=1e-12)


@pytest.mark.parametrize(
    ("q", "r", "message"),
    [
        ((3, 2), (3, 2), r"a \(3, 2\), Q \(3, 2\) and R \(3, 2\) do not fit"),
        ((2, 2), (2, 2), "do not fit"),
        ((3,), (2, 2), "Q must have at least two dimensions"),
    ],
)
def test_shapes_must_fit(q, r, message):
    with pytest.raises(ValueError, match=message):
        certify(np.ones((3, 2)), np.ones(q), np.ones(r))


def test_not_finite_factors():
    with pytest.raises(np.linalg.LinAlgError, match="certify: the entry in row 0, column 0 of R"):
        certify(np.ones((1, 1)), np.ones((1, 1)), np.full((1, 1), np.inf))


@pytest.mark.parametrize("exponent", [-1074, -1060, -800])
def test_a_matrix_far_below_its_factors_is_infinitely_far_from_them(
    precision, dtype, exponent, rng
):
    Q, R = qr(cases.random(6, 4, precision, dtype, rng))
    a = mdqr.full((6, 4), 2.0**exponent, precision=precision, dtype=dtype)
    found = certify(a, Q, R)
    # norm(R) is about 1, so that the quotient in eps is about this power of two.
    power = np.log2(1 / precision.eps) - exponent
    for figure in (found.normwise, found.columnwise, found.rowwise):
        assert figure == np.inf if power > 1023 + 8 else abs(np.log2(figure) - power) < 8
    assert found.orthogonality <= 20 * 4


def test_factors_whose_product_leaves_the_range(precision, dtype, rng):
    a = cases.random(6, 4, precision, dtype, rng)
    Q, R = qr(a)
    large = certify(a, Q * 2.0**900, R * 2.0**300)
    assert large == Certificate(*[np.inf] * 4)
    # Powers of two move between the factors without a trace where no limb is lost.
    far = min(500, cases.room(precision))
    moved = certify(a, Q * 2.0**far, R * 2.0**-far)
    assert moved[:3] == certify(a, Q, R)[:3]
    small = certify(a, Q * 2.0**-900, R)
    assert small.orthogonality == pytest.approx(2 / precision.eps, rel=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_figures_do_not_depend_on_the_order_of_memory(precision, dtype, seed):
    def transposed(x):
        return mdqr.from_limbs(x.mT.limbs.copy(), dtype=dtype).mT

    def reversed_rows(x):
        return mdqr.from_limbs(x[::-1].limbs.copy(), dtype=dtype)[::-1]

    a = mdqr.random.normal((37, 23), precision=precision, dtype=dtype, rng=seed)
    factors = a, *qr(a)
    for moved in (transposed, reversed_rows):
        # The products of precision d are NumPy's, whose bits depend on the order themselves.
        count = slice(None) if precision.limbs > 1 else slice(0, 0)
        assert certify(*map(moved, factors))[count] == certify(*factors)[count]
