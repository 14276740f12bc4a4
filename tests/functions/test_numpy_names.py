"""Functions of NumPy's names: values of NumPy for small numbers, errors against rationals."""

from fractions import Fraction

import flint
import mpmath
import numpy as np
import pytest
from array_cases import exact, full_width

import mdqr

QUIET_NUMPY = pytest.mark.filterwarnings("ignore::RuntimeWarning")
REDUCTIONS = ["nansum", "nanprod", "nanmean", "nanvar", "nanstd", "nanmax", "nanmin", "nanmedian"]
HOLES = np.array([[1.0, np.nan, 2, 7], [np.nan, 3, 3, -1], [4, 0, np.nan, 2]])


def plain(x):
    return x.to_numpy() if isinstance(x, mdqr.MDArray) else x


@QUIET_NUMPY
@pytest.mark.parametrize("name", [*REDUCTIONS, "nancumsum", "nancumprod", "nanargmax", "nanargmin"])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_nan_is_passed_over(name, axis):
    x = HOLES if "arg" in name else np.vstack([HOLES, np.full(4, np.nan)])
    for options in ({}, {"keepdims": True}) if "cum" not in name else ({},):
        wanted = getattr(np, name)(x, axis, **options)
        for precision in ("d", "qd"):
            got = getattr(mdqr, name)(mdqr.array(x, precision=precision), axis, **options)
            assert np.shape(got) == np.shape(wanted)
            np.testing.assert_allclose(plain(got), wanted, rtol=1e-14)
            assert got is not None
    got = getattr(np, name)(mdqr.qd(x), axis=axis)
    np.testing.assert_allclose(plain(got), getattr(np, name)(x, axis=axis), rtol=1e-14)


@QUIET_NUMPY
@pytest.mark.parametrize("q", [0.3, [0.0, 0.5], [[0.1, 0.2], [0.7, 1.0]]])
@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1)])
def test_quantiles_pass_over_nan(q, axis):
    x = np.vstack([HOLES, np.full(4, np.nan)])
    for keepdims in (False, True):
        got = mdqr.nanquantile(mdqr.qd(x), q, axis, keepdims=keepdims)
        wanted = np.nanquantile(x, q, axis, keepdims=keepdims)
        np.testing.assert_allclose(plain(got), wanted, rtol=1e-14)


def test_no_nan_makes_no_difference(multiple, rng):
    a = full_width(rng, multiple, (5, 6))
    for name in REDUCTIONS:
        got, wanted = getattr(mdqr, name)(a, 1), getattr(mdqr, name[3:])(a, 1)
        scale = float(abs(a).max()) ** (6 if "prod" in name else 2 if "var" in name else 1)
        assert float(abs(got - wanted).max()) <= 16 * multiple.eps * scale


def test_all_nan_warns():
    a = mdqr.qd([np.nan, np.nan])
    for name in ("nanmean", "nanmax", "nanmedian", "nanvar"):
        with pytest.warns(RuntimeWarning, match=name):
            assert np.isnan(float(getattr(mdqr, name)(a)))
    with pytest.raises(ValueError, match="nanargmax: all values"):
        mdqr.nanargmax(a)
    for name in ("nanmax", "nanargmin"):
        with pytest.raises(ValueError, match="no values"):
            getattr(mdqr, name)(a[:0])


def test_complex_values_are_in_lexicographic_order():
    z = mdqr.qd([1 + 2j, complex(np.nan, 1), 1 - 3j])
    assert complex(mdqr.nanmax(z)) == 1 + 2j
    assert complex(mdqr.nanmin(z)) == 1 - 3j


def test_angles(multiple):
    with mpmath.workdps(300):
        for x in ("33.3", "-720", "1e-300"):
            a = mdqr.array(x, precision=multiple)
            value = mpmath.mpf(exact(a).item().numerator) / exact(a).item().denominator
            for got, wanted in (
                (mdqr.deg2rad(a), value * mpmath.pi / 180),
                (mdqr.rad2deg(a), value * 180 / mpmath.pi),
            ):
                # Below 2**-1022 less the bits of the precision, limbs are cut off.
                slack = 2.0**-1074 / abs(float(wanted)) if abs(value) < 1e-200 else 0.0
                error = abs(got.to_mpmath() - wanted) / abs(wanted)
                assert error <= 4 * multiple.eps + 4 * slack
    z = mdqr.array([1 + 1j, -1, -1j], precision=multiple)
    np.testing.assert_array_equal(mdqr.angle(z, deg=True).to_numpy(), [45, 180, -90])
    assert float(mdqr.angle(mdqr.array(-2, precision=multiple))) == np.pi
    with pytest.raises(TypeError, match="real"):
        mdqr.deg2rad(z)


def test_logarithmic_spacing(multiple):
    with mpmath.workdps(300):
        got = mdqr.logspace("-0.3", 2, 7, base=3, precision=multiple)
        start = mdqr.array("-0.3", precision=multiple.next)
        low = mpmath.mpf(exact(start).item().numerator) / exact(start).item().denominator
        m = 2 * mpmath.log(3)
        bound = 2 if multiple.next > multiple else 8 + 16 * m
        for i, x in enumerate(got):
            wanted = mpmath.mpf(3) ** (low + (2 - low) * i / 6)
            assert abs(x.to_mpmath() / wanted - 1) <= bound * multiple.eps
        got = mdqr.geomspace(3, 50, 9, precision=multiple)
        bound = 2 if multiple.next > multiple else 16 + 16 * mpmath.log(17)
        for i, x in enumerate(got):
            wanted = 3 * (mpmath.mpf(50) / 3) ** (mpmath.mpf(i) / 8)
            assert abs(x.to_mpmath() / wanted - 1) <= bound * multiple.eps
    assert float(got[-1]) == 50
    np.testing.assert_allclose(
        plain(mdqr.geomspace(-1, -1000, 4, False, precision=multiple)),
        np.geomspace(-1, -1000, 4, False),
    )
    np.testing.assert_allclose(
        plain(mdqr.geomspace(1j, 1000, 4, precision=multiple)), np.geomspace(1j, 1000, 4)
    )
    for ends in ((0, 1), (-1, 1)):
        with pytest.raises(ValueError, match="geomspace"):
            mdqr.geomspace(*ends, precision=multiple)
    with pytest.raises(ValueError, match="base"):
        mdqr.logspace(0, 1, base=-2, precision=multiple)


def rationals(x):
    return [Fraction(v) for v in exact(x).tolist()]


def test_polynomials_of_roots(multiple, rng):
    r = full_width(rng, multiple, 7)
    found, sizes = rationals(mdqr.poly(r)), [Fraction(1)]
    wanted = [Fraction(1)]
    for value in rationals(r):
        wanted = [a - value * b for a, b in zip([*wanted, 0], [0, *wanted], strict=True)]
        sizes = [a + abs(value) * b for a, b in zip([*sizes, 0], [0, *sizes], strict=True)]
    for got, value, size in zip(found, wanted, sizes, strict=True):
        assert abs(got - value) <= 4 * 7 * Fraction(multiple.eps) * size
    z = mdqr.array([1 + 2j, 3, 1 - 2j], precision=multiple)
    assert not mdqr.poly(z).is_complex
    np.testing.assert_array_equal(plain(mdqr.poly(z)), [1, -5, 11, -15])
    np.testing.assert_allclose(
        plain(mdqr.poly(mdqr.array([[2, 1], [1, 2]], precision="qd"))), [1, -4, 3]
    )
    with pytest.raises(ValueError, match="poly needs"):
        mdqr.poly(mdqr.zeros((2, 3), precision=multiple))


def test_quotients_of_polynomials(multiple, rng):
    u, v = full_width(rng, multiple, 9), full_width(rng, multiple, 4)
    q, r = mdqr.polydiv(u, v)
    assert len(q) == 6
    left = flint.fmpq_poly([to_fmpq(x) for x in rationals(u)[::-1]])
    v_exact, q_exact, r_exact = (rationals(x)[::-1] for x in (v, q, r))
    product = flint.fmpq_poly(list(map(to_fmpq, v_exact))) * flint.fmpq_poly(
        list(map(to_fmpq, q_exact))
    )
    rest = left - product - flint.fmpq_poly(list(map(to_fmpq, r_exact)))
    size = flint.fmpq_poly([abs(to_fmpq(x)) for x in v_exact]) * flint.fmpq_poly(
        [abs(to_fmpq(x)) for x in q_exact]
    )
    for k in range(9):
        bound = 4 * 8 * Fraction(multiple.eps) * (to_fraction(size[k]) + abs(rationals(u)[8 - k]))
        assert abs(to_fraction(rest[k])) <= bound
    with pytest.raises(ZeroDivisionError):
        mdqr.polydiv(u, [0.0])
    q, r = mdqr.polydiv(v, u)
    assert float(q[0]) == 0
    assert rationals(r) == rationals(v)


def to_fmpq(x):
    return flint.fmpq(x.numerator, x.denominator)


def to_fraction(x):
    return Fraction(int(x.p), int(x.q))


def test_other_arithmetic_of_polynomials():
    p, q = mdqr.qd([0, 1, 2]), mdqr.qd([0, 0, 3, 4])
    np.testing.assert_array_equal(plain(np.polymul(p, q)), np.polymul([0, 1, 2], [0, 0, 3, 4]))
    np.testing.assert_array_equal(plain(np.polyadd(p, q)), [0, 0, 4, 6])
    np.testing.assert_array_equal(plain(mdqr.polysub(p, q[2:])), [0, -2, -2])
    np.testing.assert_array_equal(
        plain(mdqr.polyint(q, 2, [3, 5])), np.polyint([0, 0, 3, 4], 2, [3, 5])
    )
    np.testing.assert_array_equal(plain(mdqr.polyint(q)), [0, 0, 1.5, 4, 0])
    np.testing.assert_array_equal(plain(mdqr.polyder(mdqr.polyint(q, 3), 3)), plain(q))
    with pytest.raises(ValueError, match="constants"):
        mdqr.polyint(q, 2, [1, 2, 3])


@pytest.mark.parametrize("mode", ["valid", "same", "full"])
@pytest.mark.parametrize("sizes", [(3, 3), (2, 5), (6, 3), (5, 4), (1, 4)])
def test_correlations(mode, sizes):
    a, v = (np.arange(1, n + 1) * (1 + 2j) ** k for k, n in enumerate(sizes))
    for precision in ("d", "od"):
        got = np.correlate(mdqr.array(a, precision=precision), v, mode)
        np.testing.assert_allclose(plain(got), np.correlate(a, v, mode))


def test_correlation_coefficients(multiple, rng):
    a = full_width(rng, multiple, (3, 10)) + 3
    got = mdqr.corrcoef(a)
    rows = [rationals(row) for row in a]
    means = [sum(row) / 10 for row in rows]
    far = [[x - m for x in row] for row, m in zip(rows, means, strict=True)]
    with mpmath.workdps(300):
        for i in range(3):
            for j in range(3):
                top, left, right = (
                    sum(x * y for x, y in zip(far[k], far[m], strict=True))
                    for k, m in ((i, j), (i, i), (j, j))
                )
                wanted = mpq(top) / mpmath.sqrt(mpq(left) * mpq(right))
                assert abs(got[i, j].to_mpmath() - wanted) <= (10 + 24) * 8 * multiple.eps
    z = np.array([[1 + 1j, 2, 3j], [0, 1, 1j]])
    np.testing.assert_allclose(plain(mdqr.corrcoef(mdqr.qd(z))), np.corrcoef(z))
    assert float(mdqr.corrcoef(a[0])) == 1


def mpq(x):
    return mpmath.mpf(x.numerator) / x.denominator


@pytest.mark.parametrize("bins", [4, [-1.0, 0, 0.5, 2]])
@pytest.mark.parametrize("density", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_histograms(bins, density, weighted):
    x = np.array([[0.25, 0.5, -1], [2.0, 1.25, np.nan]])[:, : 3 if not isinstance(bins, int) else 2]
    weights = np.arange(1.0, x.size + 1).reshape(x.shape) if weighted else None
    counts, edges = mdqr.histogram(mdqr.qd(x), bins, weights=weights, density=density)
    wanted = np.histogram(x, bins, weights=weights, density=density)
    np.testing.assert_allclose(plain(counts), wanted[0])
    np.testing.assert_allclose(plain(edges), wanted[1])


def test_histograms_compare_exactly():
    edge = mdqr.qd("0.1")
    a = mdqr.stack([edge, mdqr.nextafter(edge, 0), mdqr.nextafter(edge, 1)])
    counts, _ = mdqr.histogram(a, mdqr.stack([0 * edge, edge, 2 * edge]))
    assert counts.tolist() == [1, 2]
    for wrong in ([1.0], [1.0, 0.0], 0):
        with pytest.raises(ValueError, match="histogram"):
            mdqr.histogram(a, wrong)


def test_blocks_are_numpys():
    a, x = mdqr.eye(2, precision="qd"), np.eye(2)
    for given, wanted in (
        ([[a, 2 * a], [3 * a, 4 * a]], [[x, 2 * x], [3 * x, 4 * x]]),
        ([1, a[0], 2], [1, x[0], 2]),
        ([a[None], a[None]], [x[None], x[None]]),
        ([[a], [a[0]]], [[x], [x[0]]]),
    ):
        np.testing.assert_array_equal(plain(np.block(given)), np.block(wanted))
    for wrong in ([], [[a], a]):
        with pytest.raises(ValueError, match="equally deep"):
            mdqr.block(wrong)
    with pytest.raises(TypeError):
        mdqr.block([1.0, 2.0])
