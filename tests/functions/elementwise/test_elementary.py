"""Elementary functions against balls of python-flint, and what NumPy says of special values."""

from __future__ import annotations

import numpy as np
import pytest
from each_case import each_case
from elementwise_cases import assert_normalised
from hypothesis import given, settings
from hypothesis import strategies as st

import mdqr
from benchmarks.common.elementary import (
    COMPLEX_BOUND,
    FUNCTIONS,
    REAL_BOUND,
    errors,
    place,
)
from mdqr._precision import PRECISIONS
from mdqr.testing import arrays, assert_same_bits

# Values of an array: 400 of each precision in every run, 50,000 in the long profile.
FEW, MANY = {"count": 40, "profile": "arrays"}, {"count": 250, "profile": "long"}

BINARY = [name for name in FUNCTIONS if len(FUNCTIONS[name].regions[0]) == 2]
REAL = [name for name in FUNCTIONS if name not in BINARY]
COMPLEX = [name for name in REAL if FUNCTIONS[name].complex]


def operands(draw, name, precision, count, dtype=float):
    """Draw arguments from a region of a function."""
    regions = draw(st.sampled_from(FUNCTIONS[name].regions))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return [
        place(
            draw(
                arrays(
                    precision,
                    count,
                    dtype=dtype,
                    min_exponent=region.low,
                    max_exponent=region.high,
                )
            ),
            region,
            rng,
        )
        for region in regions
    ]


def check(name, precision, dtype=float, *, count, profile):
    # What is proven (docs/explanation/elementary-functions.md): the first bit that the limbs cannot
    # hold, 2^-53N, and a hundredth of eps. A complex number has the errors of two parts.
    proven = 2.0**-precision.bits / precision.eps + 0.01
    bound = proven * (1 if dtype is float else 1.5)
    assert bound <= (REAL_BOUND if dtype is float else COMPLEX_BOUND)

    @settings(settings.get_profile(profile))
    @given(st.data())
    def run(data):
        given_operands = operands(data.draw, name, precision, count, dtype)
        result = getattr(mdqr, name)(*given_operands)
        assert_normalised(result)
        found = errors(name, result, *given_operands)
        worst = found.argmax()
        assert found[worst] <= bound, (
            f"{name} of {[x.ravel()[worst] for x in given_operands]} errs by {found[worst]} eps"
        )

    run()


@pytest.mark.parametrize("name", [*REAL, *BINARY])
def test_real(name, precision):
    check(name, precision, **FEW)


@pytest.mark.parametrize("name", [*COMPLEX, "power"])
def test_complex(name, precision):
    check(name, precision, complex, **FEW)


@pytest.mark.long
@pytest.mark.parametrize("name", [*REAL, *BINARY])
def test_real_many(name, precision):
    check(name, precision, **MANY)


@pytest.mark.long
@pytest.mark.parametrize("name", [*COMPLEX, "power"])
def test_complex_many(name, precision):
    check(name, precision, complex, **MANY)


# -- the ends of the range, and what is not finite -------------------------------------------------

POINTS = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 709.0, 711.0, 746.0, 800.0, 1e17, 1e300, 5e-324, np.inf]
POINTS = np.array([sign * x for x in POINTS for sign in (1, -1)] + [np.nan])
PARTS = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, np.inf, -np.inf, np.nan]


def one_limb(values, precision):
    """Return an array whose lower limbs are zero."""
    kind = complex if np.iscomplexobj(values) else float
    return mdqr.array(values, precision=precision, dtype=kind)


def assert_as_numpy(got, wanted, err_msg=""):
    """Zeros with their sign, infinities and NaN are NumPy's; the rest to a few of its units."""
    regular = np.isfinite(wanted) & (wanted != 0) & np.isfinite(got)
    np.testing.assert_allclose(
        got[regular], wanted[regular], rtol=4e-15, atol=1e-323, err_msg=err_msg
    )
    rest = ~regular
    np.testing.assert_array_equal(got[rest], wanted[rest], err_msg=err_msg)
    zeros = rest & (wanted == 0)
    np.testing.assert_array_equal(np.signbit(got[zeros]), np.signbit(wanted[zeros]), err_msg)


@each_case("name", [name for name in REAL if hasattr(np, name)])
def test_special_values_are_numpys(name, precision):
    x = one_limb(POINTS, precision)
    with np.errstate(all="ignore"):
        wanted = getattr(np, name)(POINTS)
    result = getattr(np, name)(x)
    assert_as_numpy(result.to_numpy(), wanted, name)
    special = ~np.isfinite(wanted)
    assert not result.limbs[1:, special].any()


def test_sine_and_cosine_of_multiples_of_pi(precision):
    x = one_limb([0.0, -0.0, 0.5, 1, 1.5, 2, -0.5, -1, 1e300, -1e300, 2.0**53 + 2], precision)
    sine, cosine = mdqr.sinpi(x), mdqr.cospi(x)
    np.testing.assert_array_equal(sine.to_numpy(), [0, 0, 1, 0, -1, 0, -1, 0, 0, 0, 0])
    np.testing.assert_array_equal(cosine.to_numpy(), [1, 1, 0, -1, 0, 1, 0, -1, 1, 1, 1])
    zeros = np.signbit(sine.to_numpy()) & (sine.to_numpy() == 0)
    np.testing.assert_array_equal(np.flatnonzero(zeros), [1, 7, 9])
    assert not np.signbit(cosine.to_numpy()[[2, 4, 6]]).any()
    assert mdqr.isnan(mdqr.sinpi(one_limb([np.inf, -np.inf, np.nan], precision))).all()
    assert mdqr.isnan(mdqr.cospi(one_limb([np.inf, -np.inf, np.nan], precision))).all()


@pytest.mark.parametrize("name", BINARY)
def test_special_pairs_are_numpys(name, precision):
    points = POINTS[np.abs(POINTS) != 711.0]
    x, y = points[:, None], points
    with np.errstate(all="ignore"):
        wanted = getattr(np, name)(x, y)
    got = getattr(np, name)(one_limb(x, precision), one_limb(y, precision))
    assert_as_numpy(got.to_numpy(), wanted, name)


# Signs that C99 leaves open, and where NumPy's formulas give NaN for what has a limit.
OPEN = {"sin": [np.inf, -np.inf, np.nan], "expm1": [np.inf, -np.inf, np.nan]}


@pytest.mark.parametrize("name", COMPLEX)
def test_special_values_of_complex_numbers_are_numpys(name, precision):
    z = np.empty((len(PARTS), len(PARTS)), dtype=complex)
    z.real, z.imag = np.array(PARTS)[:, None], PARTS
    if name in OPEN:
        z[np.isin(z.real, OPEN[name]) | np.isnan(z.real)] = 1
    if name == "log1p":
        z[z == 0] = 1  # NumPy loses the sign of zero
    if name in ("arcsin", "arcsinh", "arccosh") and np.lib.NumpyVersion(np.__version__) < "2.3.0":
        z[~np.isfinite(z)] = 1  # NaN, where C99 has a limit
    if name in ("exp", "exp2", "tan", "tanh"):
        z[~np.isfinite(z.real) & ~np.isfinite(z.imag)] = 1
    with np.errstate(all="ignore"):
        wanted = getattr(np, name)(z)
    got = getattr(np, name)(one_limb(z, precision)).to_numpy()
    size = np.where(np.isfinite(wanted), np.abs(wanted), 0.0)
    for part, expected in ((got.real, wanted.real), (got.imag, wanted.imag)):
        # Parts that are only what rounding leaves of NumPy's.
        rounded = np.isfinite(expected) & (np.abs(expected) < 1e-15 * size) & (expected != 0)
        assert (np.abs(part[rounded]) <= 1e-15 * size[rounded]).all()
        assert_as_numpy(part[~rounded], expected[~rounded], name)


@pytest.mark.parametrize("name", ["arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh"])
def test_signed_zeros_tell_the_side_of_a_cut(name, multiple):
    """The value on a cut is the limit from the side that the sign of the zero names."""
    on_imaginary_axis = name in ("arctan", "arcsinh")
    away = np.array([2.0, -2.0, 1.0625, -1.0625, 1e10, -1e10])
    if name == "arccosh":
        away = np.array([-2.0, -1.0625, 0.5, -0.5])
    for zero in (0.0, -0.0):
        z, beside = np.empty((2, len(away)), dtype=complex)
        side = np.copysign(1e-100, zero)
        if on_imaginary_axis:
            z.real, z.imag, beside.real, beside.imag = zero, away, side, away
        else:
            z.real, z.imag, beside.real, beside.imag = away, zero, away, side
        function = getattr(mdqr, name)
        on, near = function(one_limb(z, multiple)), function(one_limb(beside, multiple))
        assert (mdqr.abs(on - near).to_numpy() <= 1e-30 * np.abs(on.to_numpy())).all()


# -- exact cases ----------------------------------------------------


def test_exact_results_are_exact(precision):
    n = np.arange(-40, 41)
    assert (mdqr.exp2(one_limb(n, precision)) == 2.0**n).all()
    assert (mdqr.log2(one_limb(2.0**n, precision)) == n).all()
    assert (mdqr.log10(one_limb(10.0 ** np.arange(16), precision)) == np.arange(16)).all()
    assert (mdqr.cbrt(one_limb(n**3, precision)) == n).all()
    base, exponent = np.arange(-9, 10)[:, None], np.arange(16)
    exact = np.array([[int(b) ** int(e) for e in exponent] for b in base[:, 0]])
    assert (mdqr.power(one_limb(base, precision), one_limb(exponent, precision)) == exact).all()
    squares = one_limb(np.arange(1, 40) ** 2, precision)
    assert (mdqr.power(squares, 0.5) == np.arange(1, 40)).all()
    assert (mdqr.power(squares, -0.5) * np.arange(1, 40) - 1).to_numpy().max() <= precision.eps
    zero, one = one_limb([0.0], precision), one_limb([1.0], precision)
    assert (mdqr.exp(zero) == 1).all()
    assert (mdqr.log(one) == 0).all()
    assert (mdqr.cos(zero) == 1).all()
    assert (mdqr.arccos(one) == 0).all()


def test_large_powers_fill_the_limbs_exactly(multiple):
    """3**n of up to the bits of the precision."""
    n = int(multiple.bits / np.log2(3))
    x = mdqr.power(one_limb([3.0, -3.0], multiple), np.array([n, n]))
    assert x.to_fractions().tolist() == [3**n, (-3) ** n]


def test_tiny_arguments_stay(precision):
    """x (1 + c x) is x where the second term does not count, with all its limbs."""
    x = mdqr.array([5e-324, -1e-310, 1e-200], precision=precision) * 1
    for name in ("expm1", "log1p", "sin", "tan", "arcsin", "arctan", "sinh", "tanh", "arcsinh"):
        assert_same_bits(getattr(mdqr, name)(x), x)
    assert_same_bits(mdqr.arctanh(x), x)


# -- operands ----------------------------------------------------


def test_operands_promote_and_broadcast():
    y, x = mdqr.array([[1], [2]], precision=mdqr.dd), mdqr.array([3, 4, 5], precision=mdqr.od)
    angles = mdqr.arctan2(y, x)
    assert angles.shape == (2, 3)
    assert angles.precision is mdqr.od
    assert_same_bits(mdqr.arctan2(1, x)[0], mdqr.arctan2(mdqr.od(1), mdqr.od(3)))
    assert mdqr.exp(mdqr.qd([1, 2])[::-1]).shape == (2,)
    assert (2**x == [8, 16, 32]).all()
    assert (x**y == [[3, 4, 5], [9, 16, 25]]).all()
    assert mdqr.power(x, 1j).is_complex
    assert np.power(x, 2.5).precision is mdqr.od


@pytest.mark.parametrize("name", [name for name in REAL if name not in COMPLEX])
def test_real_functions_refuse_complex_numbers(name):
    with pytest.raises(TypeError, match=f"{name} is for real values"):
        getattr(mdqr, name)(mdqr.qd(1j))


@pytest.mark.parametrize("name", ["arctan2", "logaddexp"])
def test_real_functions_of_two_values_refuse_complex_numbers(name):
    with pytest.raises(TypeError, match=f"{name} is for real values"):
        getattr(mdqr, name)(mdqr.qd(1j), 1)


@pytest.mark.parametrize("precision", PRECISIONS[1:], ids=str)
def test_functions_undo_each_other(precision, rng):
    """Through the public names alone: an operation under the wrong name would show."""
    x = mdqr.array(rng.uniform(0.1, 0.9, 50), precision=precision)
    for there, back in (
        *(("exp", "log"), ("expm1", "log1p"), ("exp2", "log2"), ("sin", "arcsin")),
        *(("cos", "arccos"), ("tan", "arctan"), ("sinh", "arcsinh"), ("tanh", "arctanh")),
    ):
        returned = getattr(mdqr, back)(getattr(mdqr, there)(x))
        # The condition of the way back is below 16 on this interval.
        assert (mdqr.abs(returned / x - 1).to_numpy() <= 64 * float(precision.eps)).all(), there


@pytest.mark.parametrize("precision", PRECISIONS)
def test_logaddexp_of_nan_has_no_lower_limbs(precision):
    x = mdqr.array([1, np.nan, 2, np.nan, np.inf, -np.inf, 3, 4, 5], precision=precision)
    y = mdqr.array([np.nan, 1, np.nan, np.nan, np.nan, np.nan, 3, 4, np.inf], precision=precision)
    for found in (mdqr.logaddexp(x, y), mdqr.logaddexp(y, x)):
        assert mdqr.isnan(found).tolist() == [True] * 6 + [False] * 3
        assert not found.limbs[1:, :6].any()


@each_case("name", ["tan", "tanh"])
def test_poles_beside_the_axis_in_hexa_double(name):
    """sinh(2**-600) had 450 bits: enough for sinh, but not for tanh next to poles."""
    part = mdqr.hd(1) / 3 * np.ldexp([1.0, -1.0], -np.arange(60, 900, 20)[:, None])
    pole = mdqr.hd.pi / 2 * [[1], [37]] + np.ldexp([0.0, 1.0], -700)
    part, pole = mdqr.broadcast_arrays(part[:, :, None, None], pole)
    z = pole + 1j * part if name == "tan" else part + 1j * pole
    assert errors(name, getattr(mdqr, name)(z), z).max() <= COMPLEX_BOUND
