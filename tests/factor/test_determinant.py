"""Determinants and inverses against exact rationals; singular matrices are not passed over."""

from __future__ import annotations

import copy
import pickle
import warnings
from fractions import Fraction

import flint
import linalg_cases as cases
import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mdqr
from mdqr import PrecisionWarning
from mdqr._backend import for_block
from mdqr._limbs.planes import Kind
from mdqr._precision import PRECISIONS
from mdqr.linalg import LinAlgError, det, inv, slogdet
from mdqr.linalg._factor.determinants.elimination import Elimination
from mdqr.testing import assert_same_bits


def exact_det(a):
    """The determinant of limbs as held: two rationals."""
    held = cases.Exact.of(a)
    unit = Fraction(2) ** int(-held.exponent * a.shape[0])
    if held.imag is None:
        return _det(held.real) * unit, Fraction(0)
    # det(X + t Y) has degree n in t: take it at n + 1 integers, and t = i.
    n = a.shape[0]
    values = [_det(held.real + t * held.imag) for t in range(n + 1)]
    poly = flint.fmpq_poly([])
    for j, value in enumerate(values):
        term = flint.fmpq_poly([flint.fmpq(int(value))])
        for k in range(n + 1):
            if k != j:
                term *= flint.fmpq_poly([flint.fmpq(-k, j - k), flint.fmpq(1, j - k)])
        poly += term
    parts = [Fraction(0), Fraction(0)]
    for k, c in enumerate(poly.coeffs()):
        parts[k % 2] += (-1) ** (k // 2) * Fraction(int(c.p), int(c.q))
    return parts[0] * unit, parts[1] * unit


def _det(x):
    rows, columns = x.shape
    return Fraction(int(flint.fmpz_mat(rows, columns, [int(v) for v in x.ravel()]).det()))


def check_det(a, found, factor=1):
    """The relative error is below ``(4 n + 32) eps``, in modulus."""
    wanted = exact_det(a)
    parts = (found.real, found.imag) if found.is_complex else (found,)
    got = [Fraction(p.to_fractions().item()) for p in parts]
    error = sum((g - w) ** 2 for g, w in zip(got, wanted, strict=False))
    size = sum(w**2 for w in wanted)
    bound = (4 * a.shape[0] + 32) * factor * Fraction(found.precision.eps)
    assert error <= bound**2 * size


@pytest.mark.parametrize("n", [1, 2, 3, 7, 12])
def test_against_rationals(precision, dtype, n, rng):
    a = cases.random(n, n, precision, dtype, rng)
    found = det(a)
    check_det(a, found)
    assert found.shape == ()
    with mpmath.workdps(precision.digits + 40):
        sign, logabsdet = slogdet(a)
        real, imag = [mpmath.mpf(p.numerator) / p.denominator for p in exact_det(a)]
        wanted = mpmath.log(mpmath.hypot(real, imag))
        error = abs(logabsdet.to_mpmath().item() - wanted)
        # The absolute error of the logarithm is the relative one of the determinant.
        assert error <= (4 * n + 32) * precision.eps + 8 * precision.eps * abs(wanted)
        phase = mpmath.mpc(real, imag) / mpmath.hypot(real, imag)
        assert abs(sign.to_mpmath().item() - phase) <= (4 * n + 48) * precision.eps


@given(
    st.sampled_from(PRECISIONS[1:]),
    st.integers(2, 10),
    st.floats(0.0, 1.0),
    st.integers(0, 2**32 - 1),
)
def test_digits_are_right_or_there_is_a_warning(multiple, n, share, seed):
    """All digits are shown up to conditions near the root of 1 / eps of od."""
    rng = np.random.default_rng(seed)
    cond = 10.0 ** (share * min(0.9 * multiple.digits, 100))
    a = mdqr.testing.matrix("random", n, n, cond=cond, precision=multiple, rng=rng)
    # The singular values lie between 1 and 1 / cond: the determinant stays in range.
    a = cases.scaled(a, 0, int(rng.integers(-5, 5))) * 2.0 ** int(np.log2(cond) / 2)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = det(a)
    assert not caught or cond > 1e58 or abs(found) < multiple.tiny
    if not caught:
        check_det(a, found)


def test_small_singular_matrices_of_integers(precision):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert float(det(mdqr.array([[1, 2], [2, 4]], precision=precision))) == 0.0
        assert float(det(mdqr.zeros((3, 3), precision=precision))) == 0.0
        sign, logabsdet = slogdet(mdqr.array([[1, 2], [2, 4]], precision=precision))
        assert (float(sign), float(logabsdet)) == (0.0, -np.inf)


def test_zeros_are_exact_whatever_the_rounding_errors(precision, dtype, rng):
    """The next precision decides integers and dyadics; no warning for what is exact."""
    x, y = rng.integers(-999, 999, (5, 4)), rng.integers(-999, 999, (4, 5))
    powers = 2.0 ** rng.integers(-40, 40, (5, 1)) * 2.0 ** rng.integers(-40, 40, 5)
    a = mdqr.array((x @ y).tolist(), precision=precision, dtype=dtype)
    skew = mdqr.array([[0, 2, -7], [-2, 0, 5], [7, -5, 0]], precision=precision, dtype=dtype)
    reported = mdqr.array([[2, -2, 1], [-3, 9, 3], [7, -1, 8]], precision=precision, dtype=dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for matrix in (a, a * powers, skew, reported):
            found, info = det(matrix, return_info=True)
            assert not found.limbs.any()
            assert (info.error_bound, info.digits) == (0.0, precision.digits)
            sign, logabsdet = slogdet(matrix)
            assert not sign.limbs.any()
            assert float(logabsdet) == -np.inf


def test_singular_matrices_that_no_precision_decides(multiple, rng):
    """Elimination of integers is the last resort, of few matrices."""
    # Normal numbers of hd are multiples of about 2**-850; quotients fill the last limb, too.
    x = mdqr.random.normal((6, 6), precision=multiple, rng=rng) / 3
    x[5] = x[2]
    with pytest.warns(PrecisionWarning, match="det: no digit of a determinant is determined"):
        assert not det(x).limbs.any()


@pytest.mark.parametrize("n", [2, 5])
def test_bounds_of_data(precision, n, rng):
    """Half a unit of the entries, errors that are given, and short numbers, which are exact."""
    a = mdqr.random.normal((n, n), precision=precision, rng=rng)
    a[1] = a[0] * (1 + 2.0**-20) + 2.0 ** (14 - precision.bits) * a[1]
    a = a * 2.0 ** (precision.bits // n)  # a determinant near 1 has all limbs
    _, info = det(a, return_info=True)
    assert info.data_digits < 6
    _, exact = det(a, return_info=True, data_error={"a_rtol": 0.0})
    assert exact.data_digits > precision.digits - 2
    assert exact.data_error_bound == pytest.approx(exact.error_bound, rel=1e-8)
    short = mdqr.array([[3, 1], [6, 2 + 2.0**-30]], precision=precision)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        det(short)
    with pytest.warns(PrecisionWarning, match="no digit of a determinant"):
        det(short, data_error={"a_atol": 0.1})
    with pytest.raises(ValueError, match="data_error has the keys a_atol, a_rtol"):
        det(short, data_error={"b_atol": 0.1})


def distance(found, wanted):
    """The distance of a value from an exact one, 0-d."""
    parts = (found.real, found.imag) if found.is_complex else (found, 0 * found)
    error = [Fraction(p.to_fractions().item()) - w for p, w in zip(parts, wanted, strict=True)]
    with mpmath.workdps(200):
        return mpmath.hypot(*[mpmath.mpf(e.numerator) / e.denominator for e in error])


@pytest.mark.parametrize("n", [2, 3, 5, 9])
def test_bounds_hold_and_are_close(precision, dtype, n, rng):
    """A bound 2**-10 times as large would be broken, but for od beyond what integers give."""
    closest = 0.0
    for _ in range(12):
        a = mdqr.random.normal((n, n), precision=precision, dtype=dtype, rng=rng)
        # A determinant of hd above 2^-216 has all limbs.
        a = cases.scaled(a, *rng.integers(-4 if precision.limbs <= 8 else -1, 4, 2))
        found, info = det(a, return_info=True)
        error, bound = distance(found, exact_det(a)), float(info.error_bound)
        assert error <= bound <= (4 * n + 32) * precision.eps * float(abs(found))
        closest = max(closest, float(error / bound))
        assert float(info.digits) <= -mpmath.log10(error / abs(complex(found))) + 1e-6
    assert closest > 2.0**-10 or (precision >= mdqr.od and n == 9)


def test_bounds_of_the_factors_are_close(rng):
    """Those of a product of pivots, before more limbs hide them: of one limb, where eps is met."""
    closest = 0.0
    for _ in range(100):
        a = mdqr.random.normal((2, 2), precision=mdqr.d, rng=rng)
        backend = for_block(a.limbs)
        block, _ = backend.balance_columns(a.limbs[:, None], None, is_complex=False)
        a = mdqr.from_limbs(block[:, 0])
        known = Elimination(backend, block, Kind(1, False))
        for found in (known.found, known.by_inverse()):
            value = Fraction(float(found.value[0, 0])) * Fraction(2) ** int(found.exponent[0])
            error = abs(value - exact_det(a)[0])
            assert error <= 2.0 ** float(found.error[0])
            closest = max(closest, float(error) / 2.0 ** float(found.error[0]))
    assert closest > 2.0**-10


@pytest.mark.parametrize("n", [2, 4, 8])
def test_bounds_of_data_hold_and_are_close(precision, n, rng):
    """Entries that err by half a unit each, with the signs of the cofactors, and with others."""
    a = mdqr.random.normal((n, n), precision=precision, rng=rng)
    a[1] = a[0] + 2.0 ** -(precision.bits // 3) * a[1]
    a = a * 2.0 ** (precision.bits // (3 * n))  # a determinant near 1 has all limbs
    found, info = det(a, return_info=True)
    entries = np.asarray(a.to_fractions())
    signs = np.sign(inv(a).to_numpy().T)
    unit = Fraction(2) ** -precision.bits
    worst = 0.0
    for chosen in (signs, rng.choice([-1.0, 1.0], (n, n))):
        moved = entries + abs(entries) * unit * chosen.astype(int).astype(object)
        value = flint.fmpq_mat([[flint.fmpq(x.numerator, x.denominator) for x in r] for r in moved])
        value = value.det()
        error = abs(Fraction(int(value.p), int(value.q)) - Fraction(found.to_fractions().item()))
        assert error <= Fraction(float(info.data_error_bound))
        worst = max(worst, float(error / Fraction(float(info.data_error_bound))))
    assert worst > 2.0**-10
    assert float(info.data_digits) < precision.digits * 0.7


@pytest.mark.parametrize("n", [3, 8])
def test_bounds_of_logarithms(precision, dtype, n, rng):
    a = mdqr.random.normal((n, n), precision=precision, dtype=dtype, rng=rng)
    found = slogdet(a)
    with mpmath.workdps(precision.digits + 80):
        real, imag = [mpmath.mpf(p.numerator) / p.denominator for p in exact_det(a)]
        wanted = mpmath.log(mpmath.hypot(real, imag))
        error = abs(found.logabsdet.to_mpmath().item() - wanted)
    bound = float(found.info.error_bound)
    assert error <= bound <= 64 * n * precision.eps * (1 + abs(wanted))


def test_results_keep_their_info(multiple, rng):
    found = slogdet(mdqr.random.normal((2, 4, 4), precision=multiple, rng=rng))
    for other in (copy.copy(found), copy.deepcopy(found), pickle.loads(pickle.dumps(found))):
        assert len(other) == 2
        assert (other.info.error_bound == found.info.error_bound).all()


def test_batches_and_scales(multiple, dtype, rng):
    a = mdqr.random.normal((2, 3, 5, 5), precision=multiple, dtype=dtype, rng=rng)
    found = det(a)
    for place in np.ndindex(2, 3):
        assert_same_bits(found[place], det(a[place]))
        check_det(a[place], found[place])
    assert det(a[:0]).shape == (0, 3)
    assert_same_bits(np.linalg.det(a), found)
    sign, logabsdet = slogdet(a)
    for place in np.ndindex(2, 3):
        assert_same_bits(logabsdet[place], slogdet(a[place]).logabsdet)
    back = sign * mdqr.exp(logabsdet)
    # The exponential makes absolute errors relative.
    assert float(abs(back / found - 1).max()) < 1000 * multiple.eps
    assert_same_bits(np.linalg.slogdet(a)[1], logabsdet)


def exact_slogdet(a):
    """The sign, and the logarithm to 160 digits."""
    value = exact_det(a)[0]
    logarithm = mpmath.log(abs(value.numerator)) - mpmath.log(value.denominator)
    return (1 if value > 0 else -1), logarithm


@given(
    st.sampled_from([p for p in PRECISIONS if p.limbs <= 8]),
    st.lists(st.integers(-440, 440), min_size=2, max_size=5),
    st.integers(0, 2**32 - 1),
)
def test_rows_far_apart(precision, powers, seed):
    """Limbs would underflow in products if columns alone were scaled."""
    n = len(powers)
    a = mdqr.random.normal((n, n), precision=precision, rng=np.random.default_rng(seed))
    block = np.ldexp(a.limbs, np.array(powers, dtype=np.int32)[:, None])
    a = mdqr.from_limbs(block)
    found = slogdet(a)
    with mpmath.workdps(160):
        sign, wanted = exact_slogdet(a)
        error = abs(found.logabsdet.to_mpmath().item() - wanted)
        assert error <= (4 * n + 32 + 8 * abs(wanted)) * precision.eps
    assert float(found.sign) == sign


def test_products_below_the_smallest_doubles_count(precision):
    """The determinant is 2**-1200."""
    e = 2.0**-600
    a = [[1.0, e, 0.0, 0.0], [e, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0], [0.0, 0.0, 1.0, 0.0]]
    sign, logabsdet = slogdet(mdqr.array(a, precision=precision))
    assert float(sign) == 1.0
    assert float(logabsdet) == pytest.approx(-1200 * np.log(2.0), rel=1e-15)


def test_exact_factors_need_no_condition(precision):
    """Triangles however ill-conditioned, and integer matrices with integer factors."""
    n = 40
    lower = np.tril(np.ones((n, n)))
    upper = np.triu(np.full((n, n), -3.0), 1) + np.eye(n)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for a in (lower, upper, (lower @ upper)[::-1]):
            found = det(mdqr.array(a.tolist(), precision=precision))
            assert abs(float(found)) == 1.0


def test_one_singular_matrix_costs_the_others_no_bit(multiple, rng):
    a = mdqr.random.normal((3, 5, 5), precision=multiple, rng=rng)
    wanted = det(a[[0, 2]])
    a[1, 4] = a[1, 3]
    a[1, 4, 0] += 2.0**-90
    found = det(a)
    check_det(a[1], found[1])
    assert_same_bits(found[[0, 2]], wanted)


def test_beyond_the_range(multiple):
    large = 1e200 * mdqr.eye(3, precision=multiple)
    with pytest.raises(LinAlgError, match="slogdet has its logarithm"):
        det(large)
    with pytest.warns(PrecisionWarning, match="below the smallest numbers"):
        assert float(det(1e-100 * mdqr.eye(3, precision=multiple))) == pytest.approx(1e-300)
    sign, logabsdet = slogdet(-large)
    assert float(sign) == -1.0
    assert float(logabsdet) == pytest.approx(600 * np.log(10), rel=1e-15)


def test_of_a_matrix_near_one_the_logarithm_is_relative(multiple):
    a = mdqr.eye(2, precision=multiple)
    a[0, 0] = 1 + 2.0**-40
    logabsdet = slogdet(a).logabsdet
    with mpmath.workdps(multiple.digits + 40):
        wanted = mpmath.log1p(mpmath.mpf(2) ** -40)
        assert abs(logabsdet.to_mpmath().item() / wanted - 1) < 2.0**40 * 40 * multiple.eps


def test_of_nothing(precision, dtype):
    empty = mdqr.zeros((2, 0, 0), precision=precision, dtype=dtype)
    assert det(empty).to_numpy().tolist() == [1.0, 1.0]
    assert inv(empty).shape == (2, 0, 0)
    sign, logabsdet = slogdet(empty)
    assert (sign.to_numpy() == 1).all()
    assert (logabsdet.to_numpy() == 0).all()


@pytest.mark.parametrize("method", ["auto", "householder"])
@pytest.mark.parametrize("n", [1, 6])
def test_inverses_are_right_to_the_last_digit(multiple, dtype, method, n, rng):
    a = mdqr.random.normal((2, n, n), precision=multiple, dtype=dtype, rng=rng)
    x = inv(a, method=method)
    for found, given_ in zip(x, a, strict=True):
        left = cases.Exact.of(given_) @ cases.Exact.of(found) - cases.Exact.of(
            mdqr.eye(n, precision=multiple)
        )
        # An error of 4 eps in every entry, complex ones in modulus.
        bound = (4 if dtype is float else 40) * Fraction(multiple.eps)
        allowed = cases.Exact.of(given_).moduli() @ cases.Exact.of(found).moduli()
        assert left.moduli().within(bound, allowed)
    assert_same_bits(np.linalg.inv(a), inv(a))


def test_larger_inverses(dtype, rng):
    a = cases.random(70, 70, mdqr.dd, dtype, rng)
    error = a @ inv(a) - mdqr.eye(70, precision=mdqr.dd)
    assert float(abs(error).max()) < 1e4 * mdqr.dd.eps


@pytest.mark.parametrize("function", [det, slogdet, inv])
def test_bad_input(function):
    name = function.__name__
    with pytest.raises(ValueError, match=f"{name}: a must be square"):
        function(np.ones((2, 3)))
    with pytest.raises(ValueError, match="at least two dimensions"):
        function(np.ones(3))
    with pytest.raises(LinAlgError, match="row 0, column 1 of a is NaN or infinite"):
        function(mdqr.array([[1.0, np.inf], [0.0, 1.0]], precision=mdqr.qd))


def test_singular_matrices_have_no_inverse(multiple):
    with pytest.raises(LinAlgError, match="inv: "):
        inv(mdqr.array([[1, 2], [2, 4]], precision=multiple))


def test_names_that_are_not_there_yet():
    with pytest.raises(AttributeError, match=r"mdqr.linalg has no tensorsolve yet; numpy.linalg"):
        getattr(mdqr.linalg, "tensor" + "solve")
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        getattr(mdqr.linalg, "no" + "thing")
    assert mdqr.linalg.LinAlgError is np.linalg.LinAlgError
