"""Functions that SciPy asks for: their bounds against mpmath, and its values at the ends."""

import mpmath
import numpy as np
import pytest
import scipy.special

import mdqr
from mdqr._functions import special

# By name: the exact value of one argument or two, and the bound in eps.
EXACT = {
    "expit": (lambda x: 1 / (1 + mpmath.exp(-x)), lambda x: 10),
    "logit": (lambda x: mpmath.log(x) - mpmath.log1p(-x), lambda x: 10),
    "entr": (lambda x: -x * mpmath.log(x), lambda x: 6),
    "ndtr": (mpmath.ncdf, lambda x: 8 + 4 * x * x),
    "log_ndtr": (lambda x: mpmath.log(mpmath.ncdf(x)), lambda x: 32 if x < 0 else 8 + 4 * x * x),
    "exp10": (lambda x: mpmath.mpf(10) ** x, lambda x: 4),
    "sinc": (mpmath.sincpi, lambda x: 8),
    "xlogy": (lambda x, y: x * mpmath.log(y), lambda x, y: 6),
    "xlog1py": (lambda x, y: x * mpmath.log1p(y), lambda x, y: 6),
    "rel_entr": (lambda x, y: x * mpmath.log(x / y), lambda x, y: 12),
}
TWO = ("xlogy", "xlog1py", "rel_entr")


def _arguments(rng, precision, name):
    """Return values of full width, most of them where digits are easily lost."""
    tail = mdqr.random.uniform(40, rng=rng, precision=precision) * 2.0**-60
    near = rng.choice([0.5, 1.0, 0.999, 0.25, 2.0**-30], 40) * rng.uniform(0.99, 1.01, 40)
    wide = rng.uniform(-12, 12, 40)
    if name in ("ndtr", "log_ndtr"):
        wide = rng.choice([-1, -1, 1], 40) * rng.choice([0.3, 3, 28.9, 29.1, 25], 40)
        wide *= rng.uniform(0.98, 1.0, 40)
    if name == "log_ndtr":
        wide[:8] *= 2.0 ** rng.integers(1, 40, 8)
        wide = np.minimum(wide, 5)
    if name in ("logit", "entr", *TWO):
        wide = np.minimum(abs(near), 0.9999 if name == "logit" else 2.0)
    return mdqr.array(wide, precision=precision) + tail * abs(wide)


@pytest.mark.parametrize("name", EXACT)
def test_errors_are_below_the_bounds(name, multiple, rng):
    if (name, multiple) == ("log_ndtr", mdqr.hd):
        with pytest.raises(TypeError, match=r"log_ndtr is not for hd: ndtr\(-36\)"):
            special.UNARY[name](mdqr.ones(2, precision=multiple))
        return
    exact, bound = EXACT[name]
    count = 2 if name in TWO else 1
    values = [_arguments(rng, multiple, name) for _ in range(count)]
    if name == "rel_entr":
        values[1] = values[0] * (1 + _arguments(rng, multiple, name) * 2.0**-20)
    got = getattr(scipy.special, name)(*values) if name != "sinc" else special.sinc(*values)
    with mpmath.workprec(2400):  # far below the 1e-300 of a tail
        for value, *arguments in zip(*(a.to_mpmath() for a in (got, *values)), strict=True):
            wanted = exact(*arguments)
            most = bound(*arguments) * multiple.eps
            underflow = multiple.limbs**2 * mpmath.mpf(2) ** -1074
            assert abs(value - wanted) <= most * abs(wanted) + underflow, arguments


ENDS = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, np.inf, -np.inf, np.nan, 700.0, -700.0, 5e-324]


@pytest.mark.parametrize("name", [name for name in EXACT if name not in TWO])
def test_ends_of_the_range_are_scipys(name, precision):
    if (name, precision) == ("log_ndtr", mdqr.hd):
        pytest.skip("refused, see above")
    with np.errstate(all="ignore"):
        wanted = getattr(scipy.special, name)(np.array(ENDS))
        got = special.UNARY[name](mdqr.array(ENDS, precision=precision))
    np.testing.assert_allclose(got.to_numpy(), wanted, rtol=1e-13, atol=2e-16)


@pytest.mark.parametrize("name", TWO)
def test_ends_of_the_range_of_two_arguments_are_scipys(name, precision):
    x, y = np.meshgrid(ENDS, ENDS)
    with np.errstate(all="ignore"):
        wanted = getattr(scipy.special, name)(x, y)
        got = getattr(scipy.special, name)(mdqr.array(x, precision=precision), y)
    np.testing.assert_allclose(got.to_numpy(), wanted, rtol=1e-13, atol=1e-320)
