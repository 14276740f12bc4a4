"""What is proven of roots before they are rounded, and for coefficients within errors.

Bounds are compared with what they bound: a thousandth of them would be false.
"""

from __future__ import annotations

import copy
import pickle
import warnings
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from exact_roots import BITS, each_within, polynomial_roots
from hypothesis import given
from hypothesis import strategies as st

import mdqr
from mdqr._limbs.exact import LOWEST, units
from mdqr._precision import PRECISIONS
from mdqr.linalg import roots
from mdqr.linalg._roots.clusters import Search
from mdqr.linalg._roots.dyadic import Point, Polynomial
from mdqr.linalg._roots.isolation import Disk, centred, isolated
from mdqr.linalg._roots.smith import enclosed


def exactly(z):
    with mpmath.workprec(BITS):
        return mpmath.mpc(z.re, z.im) * mpmath.mpf(2) ** z.unit


def coefficients(values):
    """A polynomial of doubles, that of the highest power first."""
    return Polynomial([units(float(c)) for c in values[::-1]], None)


@st.composite
def polynomials(draw):
    """Integers over 2**1074 of any length: the parts of p in units of its own."""
    n = draw(st.integers(1, 6))
    part = st.integers(-(2**200), 2**200)
    re, im = (draw(st.lists(part, min_size=n + 1, max_size=n + 1)) for _ in range(2))
    shifts = draw(st.lists(st.integers(0, 400), min_size=n + 1, max_size=n + 1))
    re = [(c or 1) << shift for c, shift in zip(re, shifts, strict=True)]
    im = [c << shift for c, shift in zip(im, shifts, strict=True)]
    return Polynomial(re, draw(st.sampled_from([None, im])))


points = st.builds(
    Point,
    st.integers(-(2**150), 2**150).filter(bool),
    st.sampled_from([0, 1, 2**60, -(2**149) + 7]),
    st.integers(-400, 100),
)


@given(polynomials(), points, st.sampled_from([32, 64, 256]))
def test_taylor_coefficients_are_as_near_as_is_said(p, z, bits):
    """Each within its bound; the bound of the others holds at a distance of abs(z) / (2 n)."""
    last = min(2, p.degree)
    found = p.taylor(z, bits, last)
    with mpmath.workprec(8000):
        im = [0] * len(p.re) if p.im is None else p.im
        c = [mpmath.mpc(x, y) for x, y in zip(p.re, im, strict=True)]
        at = exactly(z)
        scale = mpmath.mpf(2) ** (found.top - LOWEST)
        exact = [
            sum(mpmath.binomial(j, k) * c[j] * at ** (j - k) for j in range(k, p.degree + 1))
            / scale
            for k in range(p.degree + 1)
        ]
        for k in range(last + 1):
            part = mpmath.mpc(*found.parts[k]) * mpmath.mpf(2) ** (-bits - found.shifts[k])
            error = abs(part - exact[k]) * abs(at) ** k
            assert error <= mpmath.mpf(2) ** found.errors[k]
        rest = sum(
            abs(exact[k] * at**k) * mpmath.mpf(2 * p.degree) ** -k
            for k in range(last + 1, p.degree + 1)
        )
        assert rest <= mpmath.mpf(2) ** (found.tail - (last + 1) * mpmath.log(2 * p.degree, 2))


@pytest.mark.parametrize("start", [1.43, 1.42, 1.4143])
def test_disk_of_a_step_of_newton(start):
    """The distance that is left is that of the second derivative; it is bounded within 2**10."""
    from mdqr.linalg._roots.isolation import _newton

    found = _newton(coefficients([1, 0, -2]), Point.of(complex(start)), 128, 60)
    with mpmath.workprec(BITS):
        error = mpmath.log(abs(exactly(found.z) - mpmath.sqrt(2)), 2)
    assert error <= found.log_radius <= error + 10


@pytest.mark.parametrize("power", [20, 60, 100])
def test_disk_of_two_roots(power):
    """Pellet's disk is at most 2**10 times as wide as two roots lie apart."""
    near = Fraction(1, 2**power)
    p = mdqr.array([1, -2 - near, 1 + near], precision=mdqr.qd)
    p = Polynomial([sum(map(units, column)) for column in p.limbs.T.tolist()[::-1]], None)
    found = centred(p, Point.of(1.0000001 + 0j), 2, 400, 512)
    assert found.multiplicity == 2
    assert -power - 1 <= found.log_radius <= -power + 9


def test_no_disk_without_proof():
    p = coefficients([1, -2, 1])
    assert isolated(p, Point.of(1.001 + 0j), 60) is None
    assert centred(coefficients([1, 0, -1]), Point.of(0.3 + 0j), 2, 60, 128) is None


@pytest.mark.parametrize("multiplicity", [1, 2, 3])
def test_disks_are_of_all_roots(multiplicity):
    p = np.poly([1.0, 2.0, 4.0] * multiplicity)
    search = Search(coefficients(p), 100)
    assert search.run()
    assert [disk.multiplicity for disk in search.disks] == [multiplicity] * 3
    assert isinstance(search.disks[0], Disk)


def test_unresolved_roots_have_disks(monkeypatch):
    """Where the search ends too early, disks of S. Gershgorin hold for all roots together."""
    monkeypatch.setattr("mdqr.linalg._roots.clusters.MOST_BITS", 100)
    p = [Fraction(c) for c in (1, -4, 6, -4, 1)]
    found = roots(mdqr.array(p, precision=mdqr.dd))
    assert found.multiplicity.tolist() == [4] * 4
    with mpmath.workprec(BITS):
        values = [mpmath.mpc(z) for z in found.roots.to_mpmath()]
    assert each_within(values, found.error_bound, polynomial_roots(p))
    assert found.error_bound.max() < 1.0


def test_bounds_for_data_are_reached():
    """``x^2 - 2 (1 + e)``: half of the bound is what the root moves by."""
    errors = np.array([-30.0, -np.inf, -np.inf])
    p = coefficients([1, 0, -2])
    z = [Point.of(sign * 2**0.5 + 0j) for sign in (1, -1)]
    found = enclosed(p, z, errors, 200)
    moved = 2.0**-30 / 2**1.5
    assert (moved <= found.radii).all()
    assert (found.radii <= 2 * moved).all()


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("dtype", [float, complex])
def test_radii_are_what_rounding_cuts_off(precision, dtype, rng):
    """Within 1 % in the median: there is nothing else. A thousandth of them holds for no root."""
    p = mdqr.random.normal(13, precision=precision, rng=rng, dtype=dtype)
    found = roots(p)
    higher = roots(p, precision=PRECISIONS[-1])
    with mpmath.workprec(BITS):
        pairs = zip(found.roots.to_mpmath(), higher.roots.to_mpmath(), strict=True)
        errors = np.array([float(abs(x - y)) for x, y in pairs])
    if precision is PRECISIONS[-1]:
        exact = polynomial_roots(list(p.to_fractions())) if dtype is float else None
        if exact is None:
            return
        with mpmath.workprec(BITS):
            errors = np.array(
                [float(min(abs(z - x) for x in exact)) for z in found.roots.to_mpmath()]
            )
    assert (errors <= found.error_bound * (1 + 1e-5)).all()
    assert np.median(found.error_bound / errors) < 1.01
    assert not (errors <= found.error_bound / 1024).any()


@given(
    st.sampled_from(PRECISIONS),
    st.lists(st.integers(-9, 9), min_size=2, max_size=6),
    st.integers(5, 40),
    st.integers(0, 2**32 - 1),
)
def test_roots_within_data_errors(precision, p, power, seed):
    """Coefficients moved within their errors have their roots within `data_error_bound`."""
    if not p[0]:
        return
    rng = np.random.default_rng(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mdqr.PrecisionWarning)
        found = roots(mdqr.array(p, precision=precision), data_error={"p_rtol": 2.0**-power})
    bounds = found.info.data_error_bound
    moved = [
        Fraction(c) * (1 + Fraction(int(s), 2**power))
        for c, s in zip(p, rng.integers(-1, 2, len(p)), strict=True)
    ]
    with mpmath.workprec(BITS):
        values = [mpmath.mpc(z) for z in found.roots.to_mpmath()]
    assert each_within(values, bounds, polynomial_roots(moved))
    assert (bounds >= found.error_bound).all()
    assert (found.info.data_digits <= found.info.digits).all()


def test_errors_of_zero_coefficients():
    """A zero may be none: roots move to where it puts them, or there is one more."""
    with pytest.warns(mdqr.PrecisionWarning, match="errors of p that data_error states"):
        found = roots([1, 0, -1, 0, 0], data_error={"p_atol": 1e-8}, precision="dd")
    bounds = found.info.data_error_bound
    assert (bounds[:2] < 1e-7).all()
    assert (bounds[2:] >= 1e-4).all()
    assert (bounds[2:] < 1e-2).all()
    exact = polynomial_roots(
        [Fraction(c) for c in (1, 0, -1, Fraction(1, 10**8))] + [Fraction(1, 10**8)]
    )
    with mpmath.workprec(BITS):
        assert each_within([mpmath.mpc(z) for z in found.roots.to_mpmath()], bounds, exact)
    with pytest.warns(mdqr.PrecisionWarning, match=r"roots: a root has 0\.0 digits"):
        found = roots([0, 1, -1], data_error={"p_atol": 1e-8})
    assert np.isinf(found.info.data_error_bound).all()


def test_coefficients_rounded_at_the_door():
    """(x - 1000) ... (x - 1014) in dd is another polynomial; in qd the roots are there."""
    c = [1]
    for k in range(1000, 1015):
        c = [a - k * b for a, b in zip([*c, 0], [0, *c], strict=True)]
    for call in (roots, np.roots):
        with pytest.warns(mdqr.PrecisionWarning, match=r"^roots: a root has 1\.0 digits") as caught:
            call(mdqr.array(c, precision=mdqr.dd))
        assert caught[0].filename == __file__
    found = roots(c, precision=mdqr.qd)
    assert found.info.data_digits.min() > 20
    assert found.roots.real.to_fractions().tolist() == list(range(1014, 999, -1))


def test_short_coefficients_are_what_they_are():
    """A triple root of small integers, and of fractions of few bits, is no reason to warn."""
    for precision in PRECISIONS:
        for p in ([1, -3, 3, -1], [1, -0.75, 0.1875, -0.015625], [1] + [0] * 40):
            roots(mdqr.array(p, precision=precision))


def test_info():
    found = roots(mdqr.array([1, 0, -2], precision=mdqr.qd))
    assert len(found) == 3
    assert (found.info.error_bound == found.error_bound).all()
    assert found.info.digits.tolist() == [mdqr.qd.digits] * 2
    np.testing.assert_allclose(found.info.condition, 1.0, rtol=1e-5)
    assert np.isinf(roots([1.0, -2.0, 1.0]).info.condition).all()
    for other in (copy.copy(found), copy.deepcopy(found), pickle.loads(pickle.dumps(found))):
        assert type(other) is type(found)
        assert (other.info.data_error_bound == found.info.data_error_bound).all()
        assert (other.roots.limbs == found.roots.limbs).all()


@pytest.mark.parametrize(
    ("errors", "kind", "message"),
    [
        (1e-9, TypeError, "data_error must be a dict"),
        ({"a_rtol": 1e-9}, ValueError, "has the keys p_atol, p_rtol; got 'a_rtol'"),
        ({"p_rtol": -1.0}, ValueError, "p_rtol must be finite and not negative"),
        ({"p_atol": [1.0, 2.0]}, ValueError, "must be a number or broadcast"),
    ],
)
def test_bad_data_error(errors, kind, message):
    with pytest.raises(kind, match=message):
        roots([1.0, 0.0, -2.0], data_error=errors)


def test_order_tells_near_moduli_apart():
    """0.243137614279 before 0.243137614245; equal moduli by real, then imaginary part."""
    for low, high in ((0.243137614245, 0.243137614279), (0.5, 0.5 + 2.0**-52)):
        p = [Fraction(1), -Fraction(low) - Fraction(high), Fraction(low) * Fraction(high)]
        assert roots(mdqr.array(p, precision=mdqr.dd)).roots.to_numpy().real.tolist() == [high, low]
    found = roots(mdqr.array([1, 0, 0, 0, -1], precision=mdqr.od)).roots.to_numpy()
    assert found.tolist() == [1, 1j, -1j, -1]


def test_limbs_do_not_depend_on_starts(monkeypatch, rng):
    """Roots are rounded from 32 bits more: the iteration before that may take any way."""
    p = mdqr.random.normal(12, precision=mdqr.od, rng=rng)
    wanted = roots(p).roots.limbs
    monkeypatch.setattr("mdqr.linalg._roots.aberth._TURN", 0.4)
    assert (roots(p).roots.limbs == wanted).all()


def test_a_root_that_rounds_to_zero_beside_those_that_are():
    """Their disks meet: that of the tiny one has three roots."""
    with pytest.warns(mdqr.PrecisionWarning):
        found = roots([2.0**1000, 2.0**-120, 0.0, 0.0], data_error={"p_atol": 2.0**-1000})
    assert not found.roots.limbs.any()
    assert found.multiplicity.tolist() == [3, 3, 3]
    assert found.error_bound[0] > 0
    assert found.error_bound[1:].tolist() == [0, 0]


def test_real_roots_near_each_other_are_real():
    """Three of them, 2**-213 apart, in numbers of 424 bits."""
    near = Fraction(1, 2**213)
    p = [Fraction(1)]
    for r in (Fraction(3, 4) - 2 * near, Fraction(3, 4) + near, Fraction(3, 4) + 3 * near, 2):
        p = [x - r * y for x, y in zip([*p, 0], [0, *p], strict=True)]
    p = mdqr.array(p, precision=mdqr.od)
    found = roots(p)
    exact = polynomial_roots(list(p.to_fractions()))
    with mpmath.workprec(BITS):
        assert each_within(
            [mpmath.mpc(z) for z in found.roots.to_mpmath()], found.error_bound, exact
        )
    assert not found.roots.imag.limbs.any() or any(z.imag for z in exact)
    assert found.multiplicity.tolist() == [1] * 4
    assert (found.error_bound <= mdqr.od.eps * 2).all()


def test_errors_of_the_data_beside_roots_that_are_far_from_each_other():
    """Once distances overflowed in a unit between the largest root and one that underflows."""
    p = mdqr.array([-(2.0**-627), 0.0, -(2.0**939), -(2.0**-586)], precision="od")
    far = float(2.0**783)
    for rtol in (1e-100, 1e-20):
        found = roots(p, data_error={"p_rtol": rtol})
        assert (found.info.data_error_bound[:2] >= 0.9 * rtol * far).all()
        assert (found.info.data_error_bound[:2] <= 1.1 * rtol * far).all()
