"""Systems with known solutions, on the CPU; tests/gpu has the same on a device."""

from __future__ import annotations

import pytest
import series_acceptance as acceptance

import mdqr

ROOTS = (5, 6, 7, 10, 11, 13)


@pytest.mark.parametrize("n", ROOTS)
def test_cyclic_roots(n, precision):
    acceptance.check_cyclic(n, 31, precision, "cpu")


@pytest.mark.parametrize("precision", [mdqr.qd, mdqr.od], ids=str)
def test_cyclic_roots_of_high_degree(precision):
    acceptance.check_cyclic(7, 63, precision, "cpu")


@pytest.mark.parametrize("n", [4, 8, 9])
def test_singular_starts(n, precision):
    acceptance.check_singular(n, precision, "cpu")


@pytest.mark.parametrize("n", [8, 32, 64])
def test_triangular_systems(n, precision):
    acceptance.check_triangular(n, precision, "cpu")


def test_triangular_systems_with_inverses_of_few_limbs(multiple):
    acceptance.check_triangular(80, multiple, "cpu")


EXPONENTIAL = [
    pytest.param(n, degree, marks=[pytest.mark.long] if n * degree > 1024 else [])
    for n in (8, 16, 32)
    for degree in (15, 31, 63)
]


@pytest.mark.parametrize(("n", "degree"), EXPONENTIAL)
def test_exponential_systems(n, degree, precision):
    acceptance.check_exponential(n, degree, precision, "cpu")


@pytest.mark.parametrize(("n", "degree"), [(8, 31), (16, 31), (32, 15)])
@pytest.mark.parametrize("precision", [mdqr.d, mdqr.dd, mdqr.qd], ids=str)
def test_exponential_systems_in_the_next_precision(n, degree, precision):
    acceptance.check_next_precision(n, degree, precision, "cpu")


@pytest.mark.parametrize("precision", [mdqr.d, mdqr.dd, mdqr.qd], ids=str)
def test_rounded_data_limit_exponential_systems(precision):
    """They miss 100 n eps times ``(|b_i| + |b_(i-1)|)^k`` already, whatever solves them."""
    assert acceptance.check_data_errors(8, 15, precision) < 1
    assert acceptance.check_data_errors(16, 31, precision) > 1e6


def test_newton_doubles_orders(precision):
    acceptance.check_staircase(precision, "cpu")


def test_both_methods_agree(precision):
    acceptance.check_methods_agree(precision, "cpu")


@pytest.mark.parametrize("precision", [mdqr.qd, mdqr.od], ids=str)
def test_a_start_in_double_is_refined(precision):
    acceptance.check_double_start(precision, "cpu")


def test_coefficients_and_approximant_of_a_quotient(precision):
    acceptance.check_quotient(precision, "cpu")


def test_overdetermined_systems():
    acceptance.check_overdetermined("cpu")


def test_another_point_of_the_parameter():
    acceptance.check_viviani("cpu")


@pytest.mark.parametrize("number", [2, 3, 4, 5])
@pytest.mark.parametrize("precision", ["d", "dd"])
def test_all_solutions_of_katsura(number, precision):
    acceptance.check_katsura(number, precision, "cpu")


@pytest.mark.parametrize("exponent", [1, 2, 3, 4, 5, 6])
def test_near_misses(exponent):
    acceptance.check_near_misses(exponent, "cpu")
