"""Errors of the data near a singular matrix, against exact inverses."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import mdqr
from mdqr._precision import PRECISIONS
from mdqr.linalg import lstsq
from mdqr.linalg._shared.data_error import Errors
from mdqr.linalg._shared.digits import digits_within
from mdqr.linalg._solve.near_inverse import sum_of_powers


@pytest.mark.parametrize("precision", PRECISIONS, ids=str)
@pytest.mark.parametrize("part", [1, 2], ids=["all bits", "half"])
def test_errors_of_inverses_that_most_of_the_precision_takes_are_in_the_bound(precision, part):
    """Near a singular matrix the inverse of R has few digits, or none: exact ones, by fractions."""
    bits = near_singular(precision) // part
    small = Fraction(3, 2**bits)
    a = [[1, 3], [2, 6 + small], [3, 9 - 2 * small]]
    b = [Fraction(7), Fraction(-5), Fraction(2)]
    error = Fraction(1, 2 ** (bits + 30))
    inverse, normal, x, r = fraction_pseudo_inverse(a, b)
    for stated, errors in (
        # To first order, of the worst signs.
        ({"a_rtol": 0.0, "b_rtol": 2.0**-40}, (0, Fraction(1, 2**40))),
        ({"a_atol": float(error), "b_rtol": 0.0}, (error, 0)),
    ):
        info = lstsq(
            mdqr.array(a, precision=precision), mdqr.array(b, precision=precision),
            precision=precision, max_condition=np.inf, data_error=stated,
        ).info  # fmt: skip
        for i, bound in enumerate(info.data_error_bound):
            moved = sum(abs(inverse[i][k] * b[k]) for k in range(3)) * errors[1]
            moved += errors[0] * sum(
                abs(normal[i][j] * r[k] - inverse[i][k] * x[j]) for k in range(3) for j in range(2)
            )
            assert moved <= bound - info.error_bound[i] * (1 - 2.0**-40) <= 8 * moved


def near_singular(precision):
    """Return the bits of a distance that takes most digits; its inverse squared is a double."""
    return min(53 * precision.limbs - 20, 490)


def fraction_pseudo_inverse(a, b):
    """Return ``A^+``, ``(A^T A)^-1``, the solution and the residuals for two columns, exactly."""
    p, q, s = (sum(row[i] * row[j] for row in a) for i, j in ((0, 0), (0, 1), (1, 1)))
    det = p * s - q * q
    normal = [[s / det, -q / det], [-q / det, p / det]]
    inverse = [[sum(n * x for n, x in zip(row, y, strict=True)) for y in a] for row in normal]
    x = [sum(n * y for n, y in zip(row, b, strict=True)) for row in inverse]
    r = [y - sum(n * z for n, z in zip(row, x, strict=True)) for row, y in zip(a, b, strict=True)]
    return inverse, normal, x, r


@pytest.mark.parametrize("precision", PRECISIONS, ids=str)
@pytest.mark.parametrize("part", [1, 2], ids=["all bits", "half"])
@pytest.mark.filterwarnings("ignore::mdqr.PrecisionWarning")
def test_errors_of_shortest_solutions_near_singular_matrices_are_in_the_bound(precision, part):
    """Rows that nearly depend: the inverse of R has few digits, or none."""
    bits = near_singular(precision) // part
    small = Fraction(3, 2**bits)
    tall = [[1, 3], [2, 6 + small], [3, 9 - 2 * small]]
    b = [Fraction(7), Fraction(-5)]
    inverse, normal, _, _ = fraction_pseudo_inverse(tall, [0, 0, 0])
    y = [sum(normal[i][j] * b[j] for j in range(2)) for i in range(2)]
    x = [sum(inverse[i][j] * b[i] for i in range(2)) for j in range(3)]
    beside = [
        [int(j == k) - sum(tall[j][i] * inverse[i][k] for i in range(2)) for k in range(3)]
        for j in range(3)
    ]
    # Far from where the changed rows depend.
    error = Fraction(1, 2 ** (bits + 30))
    wide = [list(row) for row in zip(*tall, strict=True)]
    for stated, of_a, of_b in (
        ({"a_rtol": 0.0, "b_rtol": 2.0**-40}, 0, Fraction(1, 2**40)),
        ({"a_atol": float(error), "b_rtol": 0.0}, error, 0),
    ):
        info = lstsq(
            mdqr.array(wide, precision=precision), mdqr.array(b, precision=precision),
            precision=precision, max_condition=np.inf, data_error=stated,
        ).info  # fmt: skip
        for j, bound in enumerate(info.data_error_bound):
            moved = sum(abs(inverse[i][j] * b[i]) for i in range(2)) * of_b
            moved += of_a * sum(
                abs(beside[j][k] * y[i] - inverse[i][j] * x[k]) for i in range(2) for k in range(3)
            )
            assert moved * (1 - Fraction(1, 2**20)) <= bound - info.error_bound[j] * (1 - 2.0**-40)
            assert bound - info.error_bound[j] <= 64 * moved


@pytest.mark.parametrize("shape", ["square", "tall", "wide"])
def test_products_of_errors_of_a_and_b_are_in_the_bound(multiple, shape):
    """An entry that is not zero for the errors times a component that is not."""
    d = 2.0**-10
    a, b, of_a = np.eye(2), np.array([1.0, 0.0]), np.array([[0.0, d], [0.0, 0.0]])
    of_b = np.array([0.0, 1.0])
    if shape == "tall":
        a, of_a = (np.concatenate([x, np.zeros((1, 2))]) for x in (a, of_a))
        b, of_b = np.append(b, 0.0), np.append(of_b, 0.0)
    if shape == "wide":
        a, of_a = (np.concatenate([x, np.zeros((2, 1))], axis=1) for x in (a, of_a))
    info = lstsq(a, b, precision=multiple, data_error={"a_atol": of_a, "b_atol": of_b}).info
    moved = abs(np.linalg.lstsq(a + of_a, b + of_b, rcond=None)[0] - np.eye(a.shape[1])[0])
    assert (moved[:2] <= info.data_error_bound[:2] * (1 + 1e-12)).all()
    assert (info.data_error_bound[:2] <= 4 * moved[:2]).all()


def test_errors_that_underflow_in_scaled_units_are_not_lost():
    for errors, size in ((Errors(2.0**-1000, 0.0), 1.0), (Errors(0.0, 2.0**-60), 2.0**-1040)):
        assert errors.of(np, np.array([size, size]), -900).min() > 0
    for errors, size in ((Errors(0.0, 0.0), 1.0), (Errors(0.0, 0.5), 0.0)):
        assert errors.of(np, np.array([size]), -900) == 0


@pytest.mark.parametrize("n", [1, 3, 6])
def test_sums_of_powers_are_bounds(n, rng):
    for scale in (0.3, 1e-3):
        rows = 2.0 ** rng.integers(-40, 40, n)
        e = rng.uniform(0.5, 1.0, (n, n)) * scale / n * rows[:, None] / rows
        exact = np.linalg.inv(np.eye(n) - e) - np.eye(n)
        found = sum_of_powers(np, e)
        assert (found >= exact * (1 - 1e-6)).all()
        assert (found <= 2 * exact).all()
    chain = np.diag(np.ones(n), 1) / 4
    exact = np.linalg.inv(np.eye(n + 1) - chain) - np.eye(n + 1)
    assert (sum_of_powers(np, chain) >= exact).all()
    assert np.isinf(sum_of_powers(np, np.eye(n))).any()


@pytest.mark.parametrize("precision", PRECISIONS, ids=str)
def test_covariances_near_singular_matrices(precision):
    """The inverse of R takes more limbs than the work, where these have no digits for it."""
    small = Fraction(3, 2 ** near_singular(precision))
    a = [[1, 3], [2, 6 + small], [3, 9 - 2 * small]]
    _, normal, _, _ = fraction_pseudo_inverse(a, [0, 0, 0])
    info = lstsq(
        mdqr.array(a, precision=precision), [1, 2, 4], precision=precision, max_condition=np.inf
    ).info
    found = info.covariance(scaled=False).to_fractions()
    for place in np.ndindex(2, 2):
        exact = normal[place[0]][place[1]]
        assert abs(found[place] - exact) <= abs(exact) / 100


@pytest.mark.parametrize(
    "relative", [0.0, 1e-9, 0.1, 0.3, 0.49, 0.5, 0.9, 1.0, 3.0, np.inf, np.nan]
)
def test_digits_are_relative_to_the_exact_value(relative):
    """The exact value may be the smallest that the bound allows."""
    found = float(digits_within(relative, 15.0))
    if not relative < 0.5:
        assert found == 0.0
        return
    true = -np.log10(relative / (1 - relative)) if relative else np.inf
    assert min(true, 15.0) - 0.1 <= found <= min(true, 15.0) + 1e-12


def test_powers_warn_of_data_as_inverses_do():
    a = np.array([[1.0, 0.1], [0.1, 0.01]])
    with pytest.warns(mdqr.DataPrecisionWarning, match="matrix_power"):
        mdqr.linalg.matrix_power(a, -2, precision="qd")


def test_weights_of_a_batch_are_those_of_their_matrices(rng):
    """The largest error of the weights of each matrix met the columns of b."""
    a, b, w = rng.normal(size=(3, 6, 2)), rng.normal(size=(3, 6, 3)), rng.uniform(1, 2, (3, 6))
    errors = np.array([1e-3, 1e-6, 1e-9])[:, None]
    found = lstsq(
        a, b, weights=w, precision="dd", data_error={"weights_rtol": errors}
    ).info.data_error_bound
    for i in range(3):
        alone = lstsq(
            a[i], b[i], weights=w[i], precision="dd", data_error={"weights_rtol": errors[i]}
        )
        np.testing.assert_allclose(found[i], alone.info.data_error_bound, rtol=1e-6)
