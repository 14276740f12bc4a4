"""Tangents and powers of matrices, and their bounds, against arb."""

import flint
import numpy as np
import pytest
from arb_matrices import BITS, logarithm, moduli, to_acb

import mdqr
from mdqr import linalg
from mdqr.testing import assert_same_bits


def tangent(name, a):
    flint.ctx.prec = BITS
    i = flint.acb(0, 1) if name == "tanm" else flint.acb(1)
    plus, minus = (a * i).exp(), (a * -i).exp()
    return (plus + minus).solve((plus - minus) * (flint.acb(1) / i))


def check(x, info, wanted):
    error, size = moduli(to_acb(x) - wanted), moduli(wanted)
    assert (error <= info.error_bound).all()
    assert (info.data_error_bound >= info.error_bound).all()
    with np.errstate(all="ignore"):
        digits = np.where(error == 0, np.inf, -np.log10(error / size))
    assert (info.digits <= np.maximum(digits, 0) + 1e-9).all()
    return error


@pytest.mark.parametrize("name", ["tanm", "tanhm"])
@pytest.mark.parametrize("dtype", [float, complex])
def test_errors_of_tangents_are_within_their_bounds(name, dtype, precision):
    a = mdqr.random.normal((4, 4), precision=precision, dtype=dtype, rng=3)
    graded = 2.0 ** np.array([0, 40, -30, 7])
    for b in (a, a * 1e-20, a * 3, a * graded / graded[:, None], mdqr.triu(a, 1), a[:1, :1]):
        x, info = getattr(linalg, name)(b, return_info=True)
        assert x.is_complex == a.is_complex
        if b is a:
            assert_same_bits(x, getattr(linalg, name)(b))
        check(x, info, tangent(name, to_acb(b)))


@pytest.mark.parametrize("t", [-0.25, 3, 2.75])
def test_errors_of_powers_are_within_their_bounds(t, multiple):
    a = mdqr.random.normal((3, 3), precision=multiple, rng=3)
    for b in (a @ a.mT, np.eye(3) + a * 1e-15, mdqr.triu(a, 1) + 2 * np.eye(3)):
        x, info = linalg.fractional_matrix_power(b, t, return_info=True)
        near = to_acb(linalg.logm(b))
        wanted = (logarithm(to_acb(b), near) * flint.acb(t)).exp()
        check(x, info, wanted)
        assert info.error_bound.max() <= 2.0**34 * multiple.eps * moduli(wanted).max()


@pytest.mark.parametrize("name", ["tanm", "tanhm"])
@pytest.mark.parametrize("dtype", [float, complex])
def test_bounds_are_near_the_errors(name, dtype, multiple):
    """By the value of the next precision, or by errors that are followed."""
    a = mdqr.random.normal((4, 4), precision=multiple, dtype=dtype, rng=3)
    x, info = getattr(linalg, name)(a, return_info=True)
    error = check(x, info, tangent(name, to_acb(a)))
    # Most are the distance to the next precision; where there is none, errors are followed.
    least = {8: 2.0**-6, 16: 2.0**-20}.get(multiple.limbs, 0.5)
    assert (error / info.error_bound).max() > least


@pytest.mark.parametrize("t", [-0.25, 2.75])
def test_bounds_of_powers_are_near_the_errors(t, multiple):
    a = mdqr.random.normal((3, 3), precision=multiple, rng=3)
    a = a @ a.mT
    x, info = linalg.fractional_matrix_power(a, t, return_info=True)
    wanted = (logarithm(to_acb(a), to_acb(linalg.logm(a))) * flint.acb(t)).exp()
    assert (check(x, info, wanted) / info.error_bound).max() > 2.0**-8


def test_exponents():
    a = mdqr.array([[1024]], precision="qd")
    tenth = linalg.fractional_matrix_power(a, "0.1")
    assert float(abs(tenth - 2).max()) <= 1e-61
    assert float(abs(linalg.fractional_matrix_power(a, 0.1) - tenth).max()) > 1e-20
    whole = linalg.fractional_matrix_power(a, mdqr.array("0.1", precision="od"))
    assert float(abs(whole - 2).max()) <= 1e-61
    with pytest.raises(TypeError, match="t must be one real number"):
        linalg.fractional_matrix_power(a, [1, 2])
    with pytest.raises(TypeError, match="t must be one real number"):
        linalg.fractional_matrix_power(a, 1j)


def test_singular_operands():
    with pytest.raises(np.linalg.LinAlgError, match="fractional_matrix_power: a has no logarithm"):
        linalg.fractional_matrix_power(np.zeros((2, 2)), 0.5, precision="qd")
    with pytest.raises(np.linalg.LinAlgError, match="tanhm: a has a singular coshm"):
        linalg.tanhm([[1000.0]], precision="qd")
