"""Series of polynomial systems against closed forms, and what is said of their digits."""

from __future__ import annotations

import itertools
import math
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
import sympy
from series_families import (
    cyclic,
    cyclic_start,
    triangular_exponential,
    triangular_rational,
)

import mdqr
from mdqr import series
from mdqr.series import (
    NotASolutionError,
    PowerSeries,
    SingularJacobianError,
    System,
    newton_series,
    recommended_precision,
)


def test_decimal_texts_are_exact():
    """A float is the double it is; texts and rational numbers are rounded once."""
    coefficients = {
        "text": System.from_strings(["x - 0.1 - t"], ["x"]),
        "fraction": System.from_strings(["x - 1/10 - t"], ["x"]),
        "float": System.from_arrays([[1], [0]], [[1.0, 0.0], [-0.1, -1.0]], [0, 0]),
    }
    values = {
        name: newton_series(system, [0.1], degree=1, precision="qd").coeffs[0, 0]
        for name, system in coefficients.items()
    }
    assert values["text"] == values["fraction"] == mdqr.qd("0.1")
    assert values["float"] == 0.1


def test_batches():
    starts = np.stack([cyclic_start(5) * np.exp(2j * np.pi * k / 5) for k in range(5)])
    many = newton_series(cyclic(5), starts, degree=9, precision="dd")
    assert many.coeffs.shape == (5, 5, 10)
    assert many.digits.shape == (5, 10)
    for one, start in zip(many.coeffs, starts, strict=True):
        alone = newton_series(cyclic(5), start, degree=9, precision="dd")
        assert abs(one - alone.coeffs).max() <= 1e3 * mdqr.dd.eps


def test_another_point_of_the_parameter():
    """Viviani's curve at t = 1/2, where its two square roots are series."""
    system = System.from_strings(
        ["x - 2*t^2", "x^2 + y^2 + z^2 - 4", "(x-1)^2 + y^2 - 1"], ["x", "y", "z"]
    )
    start = [0.5, math.sqrt(0.75), math.sqrt(3)]
    s = newton_series(system, start, degree=63, precision="qd", t0=Fraction(1, 2))
    t = mdqr.qd("0.6")
    root = mdqr.sqrt(1 - t * t)
    # 0.1 is a fifth of the radius of convergence.
    assert abs(s(t) - mdqr.stack([2 * t * t, 2 * t * root, 2 * root])).max() <= 0.2**62


def test_every_start_point_has_its_parameter(precision):
    """One call for points at different t, as many calls for one."""
    system = System.from_strings(["x^2 - 1 - 3*t + t^2*y", "y - t*x - 2"], ["x", "y"])
    where, far = np.array([0.0, 0.25, 0.5]), {"max_distance": math.inf}
    rough = newton_series(system, [1, 2], degree=20, precision="d")
    starts = [rough(t).to_numpy() for t in where]
    many = newton_series(system, starts, degree=9, precision=precision, t0=where, **far)
    assert repr(many).startswith("<SeriesSolution in x, y about t0 = t0, degree 9")
    assert repr(many["x"][1]).endswith("... + O((t - t0)^10)")
    values = many(0.3)
    for i, t in enumerate(where):
        one = newton_series(system, starts[i], degree=9, precision=precision, t0=t, **far)
        size = abs(one.coeffs).max(axis=0)
        assert (abs(many.coeffs[i] - one.coeffs) <= 64 * precision.eps * size).all()
        assert abs(values[i] - one(0.3)).max() <= 64 * precision.eps
        assert abs(many.digits[i] - one.digits).max() <= 1


def test_terms_of_one_monomial_are_added():
    system = System.from_arrays(
        [[1], [1], [0], [0]], [[1.0, 0], [2.0, 0], [-1.0, 0], [-2.0, -3.0]], [0, 0, 0, 0]
    )
    s = newton_series(system, [1], degree=2, precision="dd")
    np.testing.assert_array_equal(s.to_numpy(), [[1, 1, 0]])


def test_many_products_are_shared_out():
    """1,820 products of four of 16 unknowns: one start point, and a task for each of two."""
    rng = np.random.default_rng(5)
    fours = np.array(list(itertools.combinations(range(16), 4)))
    powers = np.zeros((len(fours) + 32, 16), dtype=int)
    powers[np.arange(len(fours))[:, None], fours] = 1
    powers[len(fours) : len(fours) + 16] = np.eye(16)
    factors = np.zeros((len(powers), 2))
    factors[: len(fours), 1] = rng.uniform(-1, 1, len(fours)) / 64
    factors[len(fours) :, 0] = np.repeat([1.0, -1.0], 16)
    rows = [*(np.arange(len(fours)) % 16), *range(16), *range(16)]
    system = System.from_arrays(powers, factors, rows)
    alone = newton_series(system, np.ones(16), degree=8, precision="qd")
    both = newton_series(system, np.ones((2, 16)), degree=8, precision="qd")
    size = abs(alone.coeffs).max(axis=0)
    assert (abs(both.coeffs - alone.coeffs) <= 1e3 * mdqr.qd.eps * size).all()
    assert abs(alone.residual()).max() <= 1e3 * mdqr.qd.eps * float(size.max())


def test_coefficients_that_would_leave_the_range():
    """t is scaled: the coefficients grow as 2^(100 k)."""
    system = System.from_strings([f"(1 - {2**100}*t)*x - 1"], ["x"])
    s = newton_series(system, [1], degree=9, precision="od")
    assert s.info.exponent == -100
    assert (s.coeffs[0] == mdqr.array([2 ** (100 * k) for k in range(10)], precision="od")).all()


def test_verified_digits():
    system, a, _ = triangular_exponential(8, 31, mdqr.dd)
    with pytest.warns(mdqr.PrecisionWarning, match="orders from"):
        s = newton_series(system, np.ones(8), degree=31, precision="dd", verify=True)
    found = s.coeffs.to_fractions()
    for k in (5, 15, 31):
        error = max(abs(found[i, k] - a[i] ** k / math.factorial(k)) for i in range(8))
        size = max(abs(a[i] ** k / math.factorial(k)) for i in range(8))
        assert s.digits[k] == pytest.approx(-math.log10(error / size), abs=0.3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"precision": "hd", "verify": True}, "highest precision"),
        ({"method": "fast"}, 'method must be "auto"'),
        ({"degree": -1}, "degree must be at least 0"),
        ({"x0": np.ones((0, 1))}, r"no start point; its shape is \(0, 1\)"),
        ({"t0": [0, 1]}, r"one number, or one for each start point \(\); its shape is \(2,\)"),
        ({"x0": [1, 2]}, r"x0 must have shape \(1,\)"),
    ],
)
def test_wrong_options(options, message):
    system = System.from_strings(["x^2 - 1 - t"], ["x"])
    arguments = {"x0": [1], "degree": 3, "precision": "dd"} | options
    with pytest.raises(ValueError, match=message):
        newton_series(system, arguments.pop("x0"), **arguments)


def test_fewer_equations_than_unknowns():
    with pytest.raises(ValueError, match="1 equations do not determine 2 unknowns"):
        newton_series(
            System.from_strings(["x + y - t"], ["x", "y"]), [0, 0], degree=1, precision="dd"
        )


def test_names_that_are_not_there():
    with pytest.raises(AttributeError, match=r"'mdqr\.series' has no attribute 'trace'"):
        _ = series.trace


def test_a_start_that_is_no_solution():
    with pytest.raises(NotASolutionError, match="not near a solution"):
        newton_series(System.from_strings(["x^2 + 1 + t"], ["x"]), [0.3], degree=1, precision="dd")


# Of docs/howto/choose-a-precision-for-series.md: the last order, by the number of unknowns.
RECOMMENDED = {7: "d d dd", 15: "dd dd dd", 31: "dd qd qd", 47: "qd qd qd", 63: "qd qd od",
               95: "od od od", 127: "od hd hd"}  # fmt: skip


@pytest.mark.parametrize("place", range(3))
def test_table_of_recommended_precisions(place):
    n = (8, 16, 32)[place]
    system, *_ = triangular_exponential(n, 127, mdqr.hd)
    for degree, names in RECOMMENDED.items():
        found = recommended_precision(system, np.ones(n), degree=degree)
        assert found.name == names.split()[place]


def test_recommended_precisions():
    """As measured: the exponential systems need more than their coefficients' size tells."""
    system, *_ = triangular_exponential(8, 31, mdqr.od)
    assert recommended_precision(system, np.ones(8), degree=7) == mdqr.d
    assert recommended_precision(system, np.ones(8), degree=31) == mdqr.dd
    assert recommended_precision(system, np.ones(8), degree=31, digits=20) == mdqr.qd
    assert recommended_precision(system, np.ones(8), degree=3, digits=200) == mdqr.hd
    with pytest.raises(ValueError, match=r"from .* on have fewer than 254 digits even in hd"):
        recommended_precision(system, np.ones(8), degree=31, digits=254)


def test_solutions_for_other_packages():
    system = System.from_strings(["x^2 - 1 - t", "y - x"], ["x", "y"])
    s = newton_series(system, [2, 2], degree=3, precision="qd", t0=3)
    found = s.to_sympy()
    x, t = sympy.symbols("x t")
    assert abs(found[x].subs(t, 3) - 2) < 1e-60
    assert abs(sympy.diff(found[x], t).subs(t, 3) - sympy.Rational(1, 4)) < 1e-60
    np.testing.assert_array_equal(s.to_numpy()[0], [2, 0.25, -1 / 64, 1 / 512])
    assert s.to_mpmath().shape == (2, 4)
    assert repr(s["x"]).startswith("2 + 0.25 (t - 3) - 0.015625 (t - 3)^2")
    assert repr(s) == "<SeriesSolution in x, y about t0 = 3, degree 3, qd>"
    with pytest.raises(KeyError, match="no unknown 'z'; there are x, y"):
        s["z"]
    many = newton_series(system, [[1, 1], [-1, -1]], degree=3, precision="qd")
    with pytest.raises(ValueError, match="takes one path; the batch is"):
        many.to_sympy()


def test_progress_counts_orders():
    calls = []
    system = System.from_strings(["x^2 - 1 - t"], ["x"])
    newton_series(system, [1], degree=3, precision="dd", progress=lambda *call: calls.append(call))
    assert calls == [("orders", 1, 3), ("orders", 2, 3), ("orders", 3, 3)]


def test_memory_of_the_online_method():
    """No array of ``(d + 1) n^2`` numbers, as Newton's method on series has."""
    n, degree = 64, 63
    system, _ = triangular_rational(n)
    newton_series(system, np.ones(n), degree=1, precision="od")
    tracemalloc.start()
    newton_series(system, np.ones(n), degree=degree, precision="od")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < (degree + 1) * n**2 * 8 * mdqr.od.limbs / 2


def test_batches_of_two_axes():
    starts = np.array([[[1.0], [-1.0], [2.0]], [[3.0], [-2.0], [4.0]]])
    system = System.from_strings(["(x-1)*(x+1)*(x-2)*(x+2)*(x-3)*(x-4) - t"], ["x"])
    for method in ("online", "newton"):
        many = newton_series(system, starts, degree=4, precision="dd", method=method)
        assert many.coeffs.shape == (2, 3, 1, 5)
        assert many.digits.shape == (2, 3, 5)
        np.testing.assert_array_equal(many.coeffs[..., 0].to_numpy(), starts)
        one = newton_series(system, starts[1, 2], degree=4, precision="dd").coeffs
        assert (abs(many.coeffs[1, 2] - one) <= 64 * mdqr.dd.eps * abs(one)).all()


def test_unknowns_that_are_zero():
    """Products that vanish at the start, and powers of one variable."""
    system = System.from_strings(["x^5*y^3 + x - t", "y^4 + 2*y - x*t"], ["x", "y"])
    s = newton_series(system, [0, 0], degree=12, precision="qd")
    x, y = s["x"], s["y"]
    t = PowerSeries.identity(12, precision="qd")
    for left in (x**5 * y**3 + x - t, y**4 + 2 * y - x * t):
        assert abs(left.coeffs).max() <= 64 * mdqr.qd.eps
    assert y.coeffs[2] == 0.5


def test_constants_alone():
    """A system without products, and one without unknowns in an equation."""
    s = newton_series(System.from_strings(["2*x - 1 - t"], ["x"]), [0.5], degree=3, precision="dd")
    np.testing.assert_array_equal(s.to_numpy(), [[0.5, 0.5, 0, 0]])
    with pytest.raises(SingularJacobianError, match="rank 0 < 1"):
        newton_series(System.from_strings(["t"], ["x"]), [0], degree=3, precision="dd")


def test_starts_far_from_the_solution():
    """Newton's method may lead to another solution than was meant."""
    system = System.from_strings(["x^2 + y^2 - 1 - t", "x - y"], ["x", "y"])
    with pytest.warns(UserWarning, match="newton_series: the solution at t0 is at a relative dist"):
        s = newton_series(system, [5.0, -3.0], degree=3, precision="qd")
    assert s.info.start_distance == pytest.approx((5 + 0.5**0.5) / 5)
    with pytest.raises(NotASolutionError, match="more than max_distance") as caught:
        newton_series(system, [5.0, -3.0], degree=3, precision="dd", max_distance=0.1)
    assert caught.value.distance == pytest.approx(s.info.start_distance)
    near = newton_series(system, [0.7, 0.7], degree=3, precision="dd", max_distance=0.02)
    assert near.info.start_distance == pytest.approx(1 - 0.7 * 2**0.5)
    with pytest.warns(UserWarning, match="recommended_precision: the solution"):
        recommended_precision(system, [5.0, -3.0], degree=3)


def test_claimed_digits_are_near_the_truth():
    """Errors of 2^-10 as much would be false: three digits more."""
    system, a, _ = triangular_exponential(8, 31, mdqr.od)
    for precision in ("d", "dd"):
        s = newton_series(system, np.ones(8), degree=31, precision=precision)
        exact = [[x**k / math.factorial(k) for k in range(32)] for x in a]
        found = s.coeffs.to_fractions()
        wrong = [max(abs(found[i, k] - exact[i][k]) for i in range(8)) for k in range(32)]
        size = [max(abs(exact[i][k]) for i in range(8)) for k in range(32)]
        true = np.array(
            [-math.log10(w / z) if w else np.inf for w, z in zip(wrong, size, strict=True)]
        )
        few = (s.digits > 0) & (s.digits < s.coeffs.precision.digits)
        assert (s.digits[few] <= true[few]).all()
        assert few.sum() > 5
        assert (s.digits[few] + 10 * math.log10(2) > true[few]).any()
