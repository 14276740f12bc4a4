"""Roots and their disks, against roots of exact polynomials by flint."""

from __future__ import annotations

from fractions import Fraction
from math import factorial

import mpmath
import numpy as np
import pytest
import scipy.linalg
from exact_roots import BITS, each_within, polynomial_roots
from hypothesis import given
from hypothesis import strategies as st

import mdqr
from mdqr._precision import PRECISIONS
from mdqr.linalg import LinAlgError, RootsResult, companion, roots


def product(wanted):
    """Coefficients of ``prod (x - r)``."""
    p = [Fraction(1)]
    for r in wanted:
        p = [x - r * y for x, y in zip([*p, 0], [0, *p], strict=True)]
    return p


def check(p, precision):
    """Every root is in a disk of its own; the coefficients are those that were rounded."""
    given_ = mdqr.array(p, precision=precision)
    found = roots(given_)
    with mpmath.workprec(BITS):
        values = [mpmath.mpc(z) for z in found.roots.to_mpmath()]
    assert each_within(values, found.error_bound, polynomial_roots(given_.to_fractions()))
    return found


numbers = st.fractions(min_value=-4, max_value=4, max_denominator=20)


@given(
    st.sampled_from(PRECISIONS[1:]),
    st.lists(numbers, min_size=1, max_size=6),
    st.integers(0, 150),
    st.integers(-60, 60),
)
def test_each_root_lies_in_its_disk(precision, wanted, close, size):
    """Roots near 1 and near each other, multiple ones, scaled."""
    wanted = [(1 + r / Fraction(2) ** close) * Fraction(2) ** size for r in wanted]
    check(product(wanted), precision)


@given(st.sampled_from(PRECISIONS[1:]), st.lists(st.floats(-1, 1), min_size=2, max_size=7))
def test_any_coefficients(precision, p):
    held = np.flatnonzero(p)
    if held.size and abs(np.array(p)[held]).min() > 1e-100:
        check([Fraction(c) for c in p[held[0] :]], precision)


@pytest.mark.parametrize("n", [10, 20])
def test_wilkinson(multiple, n):
    """Disks are as small as rounding of the values, once the evaluation has the digits."""
    found = check(product(range(1, n + 1)), multiple)
    assert (found.multiplicity == 1).all()
    lost = 1e22 if multiple is mdqr.od else 1.0
    assert found.error_bound.max() <= n * multiple.eps * lost
    assert (found.roots.imag == 0).all()


def test_simple_roots_are_right_to_the_last_bits(rng):
    for precision in (mdqr.dd, mdqr.qd):
        p = mdqr.random.normal(31, precision=precision, rng=rng)
        found = check(list(p.to_fractions()), precision)
        assert (found.error_bound <= precision.eps * abs(found.roots).to_numpy()).all()
        p = p + 1j * mdqr.random.normal(31, precision=precision, rng=rng)
        assert (roots(p).error_bound <= precision.eps * abs(roots(p).roots).to_numpy()).all()


@pytest.mark.parametrize("k", [2, 5])
def test_multiple_roots_are_told(multiple, k):
    """A root of multiplicity k is one value, right to all its digits."""
    found = check(product([1] * k + [-2]), multiple)
    assert sorted(found.multiplicity) == sorted([k] * k + [1])
    assert (found.error_bound <= multiple.eps * abs(found.roots).to_numpy()).all()
    near = found.roots[np.flatnonzero(found.multiplicity == k)]
    assert (near.real.to_fractions() == 1).all()
    assert not near.imag.limbs.any()


def test_clusters_are_resolved():
    """Roots at a distance of 2**-50, and of 2**-150 in od."""
    for precision, power in ((mdqr.qd, 50), (mdqr.od, 150)):
        found = check(product([1, 1 + Fraction(1, 2**power), -3]), precision)
        assert (found.multiplicity == 1).all()


def test_mignotte_polynomial():
    """``x^n - 2 (a x - 1)^2`` has two roots that are ``a**(-(n + 2) / 2)`` apart."""
    n, a = 12, 100
    p = [Fraction(0)] * (n + 1)
    p[0], p[-3], p[-2], p[-1] = (Fraction(x) for x in (1, -2 * a * a, 4 * a, -2))
    found = check(p, mdqr.qd)
    assert (found.multiplicity == 1).all()
    assert abs(float(found.roots[-1].real - found.roots[-2].real)) < 1e-13


def test_series_of_the_exponential(multiple):
    check([Fraction(1, factorial(k)) for k in range(20, -1, -1)], multiple)


def test_far_apart(multiple):
    """Beyond what float64 sees beside each other."""
    found = roots(mdqr.array([1e-100, -1, 1e-120], precision=multiple))
    np.testing.assert_allclose(found.roots.to_numpy(), [1e100, 1e-120], rtol=1e-15)
    assert (found.error_bound <= 1e-20 * abs(found.roots.to_numpy())).all()
    with pytest.raises(LinAlgError, match="roots is beyond the largest double"):
        roots(mdqr.array([1e-200, 1e200], precision=multiple))


@given(
    st.sampled_from(PRECISIONS[1:]),
    st.lists(st.integers(-500, 500), min_size=3, max_size=6),
    st.integers(0, 2**32 - 1),
)
def test_coefficients_of_any_sizes(precision, powers, seed):
    """Radii are small beside all roots that have all limbs, multiple ones apart."""
    rng = np.random.default_rng(seed)
    c = mdqr.random.uniform(len(powers), low=1, high=2, precision=precision, rng=rng)
    c = c * 2.0 ** np.array(powers, dtype=float)
    found = check(c, precision)
    sizes = abs(found.roots.to_numpy())
    normal = sizes > 2.0**-400
    assert (found.error_bound[normal] <= 1e-10 * sizes[normal]).all()


def test_roots_six_hundred_digits_apart(multiple):
    """Coefficients and powers are scaled for each root: its polynomial has no others beside."""
    found = check([1, Fraction(10) ** 300, 1], multiple)
    plain = found.roots.to_numpy()
    np.testing.assert_allclose(plain, [-1e300, -1e-300], rtol=1e-15)
    assert found.error_bound[0] <= 1e-30 * 1e300


def test_zeros_of_coefficients(multiple):
    """As NumPy: leading zeros count for nothing, trailing ones are roots."""
    found = roots(mdqr.array([0, 0, 1, 2, 0, 0], precision=multiple))
    assert found.roots.to_numpy().tolist() == [-2, 0, 0]
    assert (found.error_bound[1:].tolist(), found.multiplicity.tolist()) == ([0, 0], [1, 2, 2])
    for p in ([], [0], [3], [0, 3]):
        found = roots(mdqr.array(p, precision=multiple))
        assert found.roots.shape == (0,) == np.roots(p).shape == found.error_bound.shape


def test_order_and_conjugates():
    """Decreasing modulus; exact conjugates, the one with positive imaginary part first."""
    found = roots(mdqr.array([1, 0, 0, 0, 0, 0, 0, 0, -1], precision=mdqr.od)).roots
    assert np.allclose(found.to_numpy()[[0, 7]], [1, -1])
    assert (found[1:7:2].limbs == found[2:8:2].conj().limbs).all()
    assert (found[1:7:2].imag > 0).all()
    assert (found[[0, 7]].imag == 0).all()


def test_numpy_and_mdqr_answer(rng):
    p = mdqr.random.normal(9, precision=mdqr.qd, rng=rng)
    found = roots(p)
    assert isinstance(found, RootsResult)
    assert (np.roots(p).limbs == found.roots.limbs).all()
    assert roots(p.to_numpy()).roots.precision is mdqr.d
    np.testing.assert_allclose(
        np.sort_complex(roots(p.to_numpy(), precision="od").roots.to_numpy()),
        np.sort_complex(np.roots(p.to_numpy())),
    )


def test_companion(precision, dtype, rng):
    a = mdqr.random.normal((2, 3, 5), precision=precision, dtype=dtype, rng=rng)
    np.testing.assert_allclose(
        companion(a).to_numpy(), scipy.linalg.companion(a.to_numpy()), rtol=1e-14
    )
    assert companion(mdqr.array([2, 1], precision=precision)).to_numpy().tolist() == [[-0.5]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: roots(mdqr.zeros((2, 2), precision="dd")), "p must have one axis"),
        (lambda: companion(mdqr.zeros(1, precision="dd")), "must have two coefficients"),
        (lambda: companion(mdqr.zeros((), precision="dd")), "must have two coefficients"),
        (lambda: companion(mdqr.zeros(3, precision="dd")), "first coefficient must not be zero"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_coefficients_that_are_not_finite():
    with pytest.raises(LinAlgError, match="of p is NaN or infinite"):
        roots(mdqr.array([1.0, np.nan, 2.0], precision=mdqr.qd))
