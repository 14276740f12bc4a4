"""The signatures and results of `mdqr.tensorcore`."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from mdqr import tensorcore

A = np.vander(np.linspace(0, 1, 50), 4).astype(np.float32)


@pytest.mark.parametrize("name", ["qr", "blocked_householder"])
def test_the_second_argument_is_the_mode_of_numpy(name):
    function = getattr(tensorcore, name)
    assert function(A, "r").shape == np.linalg.qr(A, "r").shape
    np.testing.assert_array_equal(function(A, "r"), function(A).R)
    with pytest.raises(ValueError, match="mode"):
        function(A, "householder")


def test_a_complete_q_is_made_by_blocks():
    with pytest.raises(ValueError, match=r"mdqr\.tensorcore\.blocked_householder"):
        tensorcore.qr(A, "complete")
    assert tensorcore.blocked_householder(A, "complete").Q.shape == (50, 50)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("qr", ["a", "mode"]),
        ("blocked_householder", ["a", "mode"]),
        ("orthogonalize", ["a"]),
        ("lstsq", ["a", "b"]),
        ("lowrank", ["a", "r"]),
    ],
)
def test_options_are_keywords_and_panels_are_none(name, data):
    parameters = inspect.signature(getattr(tensorcore, name)).parameters
    kinds = {p.name for p in parameters.values() if p.kind is not p.KEYWORD_ONLY}
    assert kinds == set(data)
    assert not {"panel", "block"} & parameters.keys()


def test_a_solution_has_the_four_fields_of_linalg():
    x, residuals, rank, info = tensorcore.lstsq(A, A[:, 0])
    assert (x.shape, residuals.shape, rank, info.method) == ((4,), (1,), 4, "cgls")


@pytest.mark.parametrize("name", ["qr", "blocked_householder"])
def test_factors_in_float32_are_kept_if_asked_for(name):
    function = getattr(tensorcore, name)
    assert function(A).info.factors is None
    factors = function(A, keep_factors=True).info.factors
    np.testing.assert_array_equal(np.ldexp(factors.R, factors.exponents), function(A).R)


def test_values_of_low_rank_have_the_name_of_svd():
    assert tensorcore.lowrank(A, 2).S.shape == (2,)
