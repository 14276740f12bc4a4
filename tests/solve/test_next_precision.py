"""The next precision, where the one of the answer leaves digits missing; what batches say of it."""

from __future__ import annotations

import warnings
from fractions import Fraction

import linalg_cases as cases
import numpy as np
import pytest

import mdqr
from mdqr.linalg import lstsq, solve
from mdqr.linalg._solve import choose
from mdqr.testing import assert_close


def test_where_digits_are_missing_the_next_precision_is_asked(rng):
    """Once Householder QR, whose bounds are estimates, and which left digits missing."""
    for precision in (mdqr.d, mdqr.dd, mdqr.qd):
        a = cases.random(8, 8, precision, float, rng, cond=0.009 / precision.eps)
        b = cases.random(8, 1, precision, float, rng)
        exact = cases.rational_solution(a, b)[0]
        for fit in (
            lstsq(a, b, max_condition=np.inf),
            lstsq(a, b, max_condition=np.inf, verified=True),
        ):
            assert fit.info.method == "refine"
            assert fit.info.bound_kind == "proven"
            assert_close(fit.x, exact, ulps=4)


@pytest.mark.parametrize("shape", [(70, 70), (80, 66)])
def test_inverses_of_more_limbs_are_tried_before_the_next_precision(shape, monkeypatch, rng):
    """Once four times as long in octo-double: bounds were proven in hexa-double alone."""
    precision = mdqr.od
    # The square of the condition counts where there are more rows than columns.
    a = cases.random(*shape, precision, float, rng, cond=1e60 if shape[0] == shape[1] else 1e50)
    b = cases.random(shape[0], 1, precision, float, rng)
    monkeypatch.setattr(choose, "_in_next_precision", None)
    info = lstsq(a, b).info
    assert (info.method, info.bound_kind) == ("refine", "proven")


def test_inverses_of_matrices_near_singular_ones_keep_their_limbs():
    """Once a ValueError: an inverse had five limbs, and was multiplied as one of four."""
    rows = [
        [8938, -711520, 743781, 8938],
        [-562840, -594337, 89404, -562840],
        [-720747, -1044327, 202013, -720747],
        [-506788, 1029412, 95749, -506788],
    ]
    a = mdqr.array(np.array(rows, float), precision=mdqr.qd)
    a[:, 3] += mdqr.array(np.ldexp([3.0, -7, -6, -5], -185), precision=mdqr.qd)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mdqr.PrecisionWarning)
        x, info = solve(a, np.ones(4), return_info=True)
    exact = cases.rational_solution(a, mdqr.ones((4, 1), precision=mdqr.qd))[0][:, 0]
    for found, bound, truth in zip(x.to_fractions(), info.error_bound, exact, strict=True):
        assert abs(found - truth) <= Fraction(float(bound))


def test_errors_of_batches_name_the_matrix(rng):
    """Once the place among those whose rank was in doubt."""
    batch = mdqr.random.normal((3, 4, 4), precision=mdqr.dd, rng=rng)
    for place, k in enumerate((90, 91, 104)):
        batch[place, :, 3] = batch[place, :, :3].sum(axis=-1) + batch[place, :, 3] * 2.0**-k
    for options in ({}, {"progress": lambda *_: None}):
        with pytest.raises(np.linalg.LinAlgError, match="matrix 2"):
            lstsq(batch, np.ones((4, 1)), max_condition=1e31, **options)


def test_advice_for_batches_is_of_the_precision_that_was_asked_for():
    """Once none in qd, as if the work of those that took octo-double were that of all."""
    a = mdqr.random.normal((2, 4, 4), precision=mdqr.qd, rng=0)
    for place, k in enumerate((203, 215)):
        a[place, :, 3] = a[place, :, :3].sum(axis=-1) + a[place, :, 3] * 2.0**-k
    # The first solution has zeros that only cancellation makes, which Householder QR leaves.
    b = a[..., :1].copy()
    b[1] = mdqr.arange(1, 5, precision=mdqr.qd)[:, None]
    with pytest.warns(mdqr.PrecisionWarning, match=r"precision=mdqr\.od finds more"):
        lstsq(a, b, max_condition=np.inf)


def test_what_is_said_of_no_rows_with_weights():
    for n in (0, 3):
        a = mdqr.zeros((0, n), precision="dd")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", mdqr.PrecisionWarning)
            found = lstsq(a, mdqr.zeros((0,), precision="dd"), weights=np.zeros(0))
        assert "LstsqInfo" in repr(found.info)
