"""What series of systems with known solutions have to show, on any device."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from series_families import (
    cyclic,
    cyclic_errors,
    cyclic_start,
    katsura,
    total_degree,
    triangular_exponential,
    triangular_rational,
)

import mdqr
from mdqr._precision import PRECISIONS
from mdqr.series import SingularJacobianError, System, newton_series, pade, track
from mdqr.testing import ulp_error

# Of research on cyclic roots: 2,000 to 20,000 eps.
CYCLIC = 2.0**15  # in eps: what orders up to 31 lose
QUOTIENT = System.from_strings(["(1-t)*(x^2-1) + t*(3*x^2-3/2)"], ["x"])
VIVIANI = System.from_strings(
    ["x - 2*t^2", "x^2 + y^2 + z^2 - 4", "(x-1)^2 + y^2 - 1"], ["x", "y", "z"]
)
VIVIANI_START = [0.5, math.sqrt(0.75), math.sqrt(3)]
RESIDUALS = {"d": 1e-14, "dd": 1e-28}


def check_cyclic(n, degree, precision, device):
    """Every order of a dense complex system, and digits that claim no more than is true."""
    s = newton_series(cyclic(n), cyclic_start(n), degree=degree, precision=precision, device=device)
    errors = cyclic_errors(s.coeffs, n)
    assert errors.max() <= CYCLIC * precision.eps
    with np.errstate(divide="ignore"):
        true = -np.log10(errors.max(axis=0))
    assert (s.digits <= true + 1).all()


def check_singular(n, precision, device):
    with pytest.raises(SingularJacobianError, match="no power series in t") as caught:
        newton_series(cyclic(n), cyclic_start(n), degree=3, precision=precision, device=device)
    assert caught.value.rank < n


def check_triangular(n, precision, device):
    """Coefficients are rational; those that cancel are right relative to 1."""
    system, exact = triangular_rational(n)
    s = newton_series(system, np.ones(n), degree=31, precision=precision, device=device)
    found = s.coeffs.to_fractions()
    for i, k in np.ndindex(found.shape):
        truth = exact(i + 1, k)
        error = abs(found[i, k] - truth) / max(1, abs(truth))
        assert error <= 1e3 * Fraction(precision.eps)


def check_exponential(n, degree, precision, device):
    """Errors grow as local rounding errors do; digits claim no more than is true.

    The sums of product i, of size ``(|b_(i-1)| + 1)^k / k!``, are rounded, and x_i is a quotient by
    product i - 1: that of sums i, or x_i times that of sums i - 1.
    """
    system, a, b = triangular_exponential(n, degree, precision)
    s = newton_series(system, np.ones(n), degree=degree, precision=precision, device=device)
    found = s.coeffs.to_fractions()
    sums = [0, 0, *map(abs, b)]
    worst, sizes = np.zeros(degree + 1), np.zeros(degree + 1)
    for i, k in np.ndindex(found.shape):
        truth = abs(a[i] ** k / math.factorial(k))
        error = abs(abs(found[i, k]) - truth)
        growth = 1 + sums[i + 1] + max(sums[i + 1], 1 + sums[i])
        # What is wrong in all digits is no small error any more.
        if s.digits[k] > 0:
            assert error <= truth * n * Fraction(precision.eps) * growth**k
        worst[k] = max(worst[k], float(error))
        sizes[k] = max(sizes[k], float(truth))
    with np.errstate(divide="ignore"):
        true = -np.log10(worst / sizes)
    assert (s.digits <= np.maximum(true, 0.0) + 1).all()
    # Estimates are 8 times the largest of few draws of eps, of which od rounds far less, and hd
    # still less.
    more = 8 if precision.limbs <= 8 else 16
    assert (s.digits >= np.minimum(true, precision.digits) - more).all()


def check_next_precision(n, degree, precision, device):
    """With data and work in the next precision errors stay below those of data in this one."""
    higher = next(p for p in PRECISIONS[1:] if p > precision)
    system, a, b = triangular_exponential(n, degree, higher)
    s = newton_series(system, np.ones(n), degree=degree, precision=higher, device=device)
    sums = [0, *map(abs, b)]
    found = s.coeffs.to_fractions()
    for i, k in np.ndindex(found.shape):
        truth = abs(a[i] ** k / math.factorial(k))
        growth = sums[i + 1] + sums[i]
        bound = 100 * n * Fraction(precision.eps) * growth**k
        assert abs(abs(found[i, k]) - truth) <= truth * bound


def check_data_errors(n, degree, precision):
    """What data rounded to a precision do to exact solutions: no arithmetic in it does better.

    Product i is off by eps of order k of ``exp(b_i t)``, and ``x_i = P_i / P_(i-1)``.
    """
    system, a, b = triangular_exponential(n, degree, precision)
    found = newton_series(system, np.ones(n), degree=degree, precision="od").coeffs.to_fractions()
    sums, worst = [Fraction(0), *b], Fraction(0)
    for i, k in np.ndindex(found.shape):
        truth = abs(a[i] ** k / math.factorial(k))
        last, this = sums[i], sums[i + 1]
        growth = abs(last) + max(abs(this), abs(this - 2 * last))
        error = abs(abs(found[i, k]) - truth) / truth / Fraction(precision.eps)
        assert error <= 2 * growth**k
        worst = max(worst, error / (100 * n * (abs(last) + abs(this)) ** k))
    return float(worst)


def check_staircase(precision, device):
    """Newton's method doubles the orders that are right."""
    s = newton_series(
        cyclic(5), cyclic_start(5), degree=31, precision=precision, method="newton", device=device
    )
    assert s.info.orders == [1, 2, 4, 8, 16, 32]
    assert cyclic_errors(s.coeffs, 5).max() <= CYCLIC * precision.eps


def check_methods_agree(precision, device):
    """Online and Newton, within ten times the larger estimate of errors, order by order."""
    system, *_ = triangular_exponential(8, 31, precision)
    online, newton = (
        newton_series(
            system, np.ones(8), degree=31, precision=precision, method=method, device=device
        )
        for method in ("online", "newton")
    )
    pair = [s.coeffs.to_device("cpu") for s in (online, newton)]
    difference = abs(pair[0] - pair[1]).max(axis=0).to_numpy()
    size = abs(pair[0]).max(axis=0).to_numpy()
    digits = np.minimum(online.digits, newton.digits)
    # Of what is wrong in all digits nothing is said.
    held = digits > 0
    assert held[:12].all()
    assert (difference <= 10 * 10.0**-digits * size)[held].all()


def check_double_start(precision, device):
    """A start in float64 is refined: sqrt(2) and its reciprocal, to 2 ulp."""
    system = System.from_strings(["x^2 - 2 - t"], ["x"])
    s = newton_series(system, [1.4], degree=3, precision=precision, device=device)
    found = s.coeffs.to_device("cpu")
    scale = 1 << (precision.bits + 176)
    root = Fraction(math.isqrt(2 * scale**2), scale)
    for k, exact in ((0, root), (1, 1 / (2 * root))):
        assert float(ulp_error(found[0, k], exact)) <= 2


def check_quotient(precision, device):
    """The coefficients of ``sqrt((1 + t/2) / (1 + 2 t))``, and its approximant [2/2]."""
    s = newton_series(QUOTIENT, [1], degree=6, precision=precision, device=device)
    texts = "1 -3/4 39/32 -267/128 7563/2048 -54789/8192 806595/65536"
    close(s.coeffs[0], texts.split(), 4 * Fraction(precision.eps))
    found = pade(s["x"], 2, 2)
    close(found.numerator, ["1", "17/8", "61/64"], 1000 * Fraction(precision.eps))
    close(found.denominator, ["1", "23/8", "121/64"], 1000 * Fraction(precision.eps))


def close(found, exact, tolerance):
    values = found.to_device("cpu").to_fractions().ravel()
    for a, b in zip(values, map(Fraction, exact), strict=True):
        assert abs(a - b) <= tolerance * abs(b)


def check_overdetermined(device):
    """Consistent ones are exact; what others leave of an order does not touch those before."""
    equations = ["(1-t)*x - 1", "(1-t)*y - x", "y - x^2"]
    options = {"degree": 15, "precision": "qd", "device": device}
    system = System.from_strings(equations, ["x", "y"])
    s = newton_series(system, [1, 1], **options)
    k = np.arange(16)
    exact = mdqr.array(np.stack([np.ones(16), k + 1]), precision="qd")
    assert abs(s.coeffs.to_device("cpu") - exact).max() <= 1e3 * mdqr.qd.eps
    doubled = newton_series(system, [1, 1], method="newton", **options)
    assert doubled.info.orders == [1, 2, 4, 8, 16]
    assert abs(doubled.coeffs.to_device("cpu") - exact).max() <= 1e3 * mdqr.qd.eps
    equations[2] += " - t^3/1000"
    other = newton_series(System.from_strings(equations, ["x", "y"]), [1, 1], **options)
    assert (abs(other.coeffs - s.coeffs).to_numpy()[:, :3] <= 1e2 * mdqr.qd.eps).all()
    left = other.residual().to_device("cpu").to_numpy()
    assert np.linalg.norm(left[:, 3]) > 1e-5
    assert np.linalg.norm(left) == pytest.approx(8.451e-4, rel=1e-3)


def check_viviani(device):
    """Viviani's curve about t = 1/2, with two square roots, and its singularity at t = 1."""
    s = newton_series(
        VIVIANI, VIVIANI_START, degree=63, precision="qd", t0=Fraction(1, 2), device=device
    )
    with mpmath.workdps(80):
        x, y, z = (row.to_device("cpu").to_mpmath() for row in s.coeffs)
        # 1 - t^2 is (1 - 2 s) (1 + 2 s / 3) times 3/4.
        half = mpmath.mpf(1) / 2
        parts = [[mpmath.binomial(half, k) * r**k for k in range(64)]
                 for r in (mpmath.mpf(-2), mpmath.mpf(2) / 3)]  # fmt: skip
        exact = mpmath.sqrt(3) * np.convolve(*parts)[:64]
        scale = [mpmath.mpf(2) ** k for k in range(64)]
        assert max(abs(a - b) / c for a, b, c in zip(z, exact, scale, strict=True)) <= 1e-59
        # y = t z, and x = 2 t^2.
        product = [z[0] / 2, *(z[k] / 2 + z[k - 1] for k in range(1, 64))]
        assert max(abs(a - b) / c for a, b, c in zip(y, product, scale, strict=True)) <= 1e-59
        assert [float(value) for value in x[:4]] == [0.5, 2.0, 2.0, 0.0]
        ratios = [z[k] / z[k + 1] for k in range(63)]
        for order, bound in ((4, 1e-9), (8, 1e-15)):
            assert abs(extrapolated(ratios, order) - half) <= bound


def extrapolated(ratios, order):
    """Richardson's extrapolation in 1/k from the last ratios."""
    k = len(ratios) - 1
    total = mpmath.mpf(0)
    for j in range(order + 1):
        weight = mpmath.mpf((-1) ** (order - j) * (k - order + j) ** order)
        weight /= math.factorial(j) * math.factorial(order - j)
        total += weight * ratios[k - order + j]
    return total


def check_katsura(number, precision, device):
    """All solutions, from all starts, which are apart and solve."""
    equations, names = katsura(number)
    homotopy, starts = total_degree(equations, names, [2] * number + [1])
    paths = track(homotopy, starts, precision=precision, device=device)
    assert [path.success for path in paths] == [True] * 2**number
    ends = mdqr.stack([path.x[-1] for path in paths]).to_device("cpu")
    values = ends.to_numpy()
    apart = np.linalg.norm(values[:, None] - values[None], axis=2) + np.eye(len(values))
    assert apart.min() > 0.05
    assert residuals(System.from_strings(equations, names), ends) <= RESIDUALS[precision]


def residuals(system, points):
    """The largest value of an equation, relative to the sum of its terms or to 1."""
    exponents, terms = system._float64(1.0)
    total = mdqr.zeros((len(points), system.equations), precision=points.precision, dtype=complex)
    size = np.zeros(total.shape)
    for powers, place, c in zip(exponents, system._equation, terms, strict=True):
        term = mdqr.array(complex(c), precision=points.precision)
        for i in np.flatnonzero(powers):
            term = term * points[:, int(i)] ** int(powers[i])
        total[:, int(place)] += term
        size[:, place] += abs(term).to_numpy()
    return (abs(total).to_numpy() / np.maximum(size, 1.0)).max()


def check_near_misses(exponent, device):
    """Between two branches that come as near as p: no jump, and steps of the distance."""
    p = 10.0**-exponent
    system = System.from_strings([f"x^2 - (t-1/2)^2 - 1e-{2 * exponent}"], ["x"])
    start = np.hypot(0.5, p)
    path = track(system, [start], precision="d", device=device)
    assert path.success
    assert float(path.x[-1, 0]) == pytest.approx(start)
    assert len(path.t) - 1 <= 70
    # A piece is right to about 0.005 of the distance of the branches where it begins.
    assert float(path(0.5)[0]) == pytest.approx(p, rel=0.05)
    assert path.message == "the path has its end"
