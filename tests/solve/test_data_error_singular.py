"""Errors of the data near a singular matrix, against exact inverses."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import mdqr
from mdqr._precision import PRECISIONS
from mdqr.linalg import lstsq


@pytest.mark.parametrize("precision", PRECISIONS, ids=str)
@pytest.mark.parametrize("part", [1, 2], ids=["all bits", "half"])
def test_errors_of_inverses_that_most_of_the_precision_takes_are_in_the_bound(precision, part):
    """Near a singular matrix the inverse of R has few digits, or none: exact ones, by fractions."""
    bits = (53 * precision.limbs - 20) // part
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


def fraction_pseudo_inverse(a, b):
    """Return ``A^+``, ``(A^T A)^-1``, the solution and the residuals for two columns, exactly."""
    p, q, s = (sum(row[i] * row[j] for row in a) for i, j in ((0, 0), (0, 1), (1, 1)))
    det = p * s - q * q
    normal = [[s / det, -q / det], [-q / det, p / det]]
    inverse = [[sum(n * x for n, x in zip(row, y, strict=True)) for y in a] for row in normal]
    x = [sum(n * y for n, y in zip(row, b, strict=True)) for row in inverse]
    r = [y - sum(n * z for n, z in zip(row, x, strict=True)) for row, y in zip(a, b, strict=True)]
    return inverse, normal, x, r
