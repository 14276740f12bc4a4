"""Proven minima: near the true ones, refused where there is no proof."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import mdqr
from mdqr.optimize import curve_fit, least_squares
from mdqr.optimize._enclosure.ball import Ball
from mdqr.optimize._enclosure.jet import variables, vector
from mdqr.optimize._enclosure.krawczyk import Unproven, nearest
from mdqr.optimize._solver.active_set import Solution, System, convex_error, proven_error

from .random_problems import FAMILIES, draw
from .test_nist import SETS, SHORT, fit

PRECISIONS = [mdqr.d, mdqr.dd, mdqr.qd]
X = np.arange(6.0)
Y = mdqr.array(["3.1", "1.9", "1.4", "1.1", "0.7", "0.6"], precision=mdqr.qd)


def decay(x, a, b):
    return a * mdqr.exp(-b * x)


@pytest.mark.parametrize("name", [*SHORT, "MGH09", "Kirby2", "Roszman1", "Nelson", "Rat43"])
def test_nist_minima_are_proven(name):
    found = fit(name, 1, mdqr.dd, verified=True)
    assert found.info.bound_kind == "proven"
    assert found.info.digits.min() > 26
    with mpmath.workdps(100):
        exact = [mpmath.mpf(v) for v in SETS[name]["minimum"]]
        pairs = zip(found.popt.to_mpmath(), exact, found.info.error_bound, strict=True)
        for value, true, bound in pairs:
            assert abs(value - true) <= bound + abs(true) * mpmath.mpf(10) ** -70


@pytest.mark.parametrize("precision", [mdqr.qd, mdqr.od])
def test_exact_derivatives_give_proven_digits(precision):
    found = fit("Misra1a", 1, precision, jac="series", verified=True)
    assert found.info.derivatives == "series"
    assert found.info.digits.min() > 0.95 * precision.digits


@pytest.mark.parametrize("index", range(25))
def test_random_minima(index):
    problem = draw(11, index)
    unit = mdqr.od(f"1e{problem.scale}")
    model = FAMILIES[problem.name].model
    y = mdqr.array(problem.y, precision=mdqr.od)
    found = curve_fit(
        lambda x, *b: model(mdqr, x, *b) * unit, problem.x, y, problem.start,
        bounds=problem.bounds, precision=mdqr.qd, verified=True,
    )  # fmt: skip
    error = np.abs((found.popt - problem.minimum).to_numpy())
    if np.all(error < 0.05 * np.abs(problem.minimum)):
        # y is rounded to od, which moves the minimum by less than a unit of qd.
        assert np.all(error <= found.info.error_bound + 1e-90)
    assert found.info.bound_kind == "proven"


def test_a_parameter_at_its_bound():
    found = curve_fit(decay, X, Y, [2, 1], bounds=([0, 0], [2.5, 9]), precision=mdqr.dd,
                      verified=True)  # fmt: skip
    assert found.result.active_mask.tolist() == [1, 0]
    assert found.info.error_bound[0] == 0
    free = curve_fit(lambda x, b: decay(x, 2.5, b), X, Y, [1], precision=mdqr.qd)
    error = abs(found.popt[1] - free.popt[0])
    assert 0 < float(error) <= found.info.error_bound[1]


def test_all_parameters_at_bounds():
    found = curve_fit(decay, X, Y, [5, 0.3], bounds=([4, 0], [9, 0.5]), precision=mdqr.dd,
                      verified=True)  # fmt: skip
    assert found.result.active_mask.tolist() == [-1, 1]
    assert np.all(found.info.error_bound == 0)


def test_complex_residuals():
    z = mdqr.exp(1j * mdqr.array(X, precision=mdqr.qd))
    found = least_squares(
        lambda b: b[0] * mdqr.exp(-b[1] * X) * z - 2 * z * (Y + 1j), [1, 1], precision=mdqr.dd,
        verified=True,
    )  # fmt: skip
    other = least_squares(
        lambda b: b[0] * mdqr.exp(-b[1] * X) * z - 2 * z * (Y + 1j), [1, 1], precision=mdqr.qd
    )
    error = np.abs((found.x - other.x).to_numpy())
    assert np.all(error <= found.info.error_bound)
    assert found.info.digits.min() > 28


def test_sigma_and_lists():
    found = curve_fit(decay, X, Y, [3, 1], sigma=Y, precision=mdqr.dd, verified=True)
    other = curve_fit(decay, X, Y, [3, 1], sigma=Y, precision=mdqr.qd)
    assert np.all(np.abs((found.popt - other.popt).to_numpy()) <= found.info.error_bound)
    found = least_squares(lambda b: [10 * (b[1] - b[0] ** 2), 1 - b[0]], [-2, 1], verified=True,
                          precision="qd")  # fmt: skip
    assert np.all(np.abs((found.x - 1).to_numpy()) <= found.info.error_bound)


def test_a_starting_point_that_is_the_minimum():
    found = least_squares(lambda b: b - [1, 2], [1, 2], precision=mdqr.qd, verified=True)
    assert np.all(found.info.error_bound < 1e-60)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_bounds_of_zeros_near_the_error(precision):
    """Of a point that is far off, the bound is little above its distance from the zero."""
    c = mdqr.random.uniform((3,), low=1, high=2, precision=precision, rng=2)
    exact = mdqr.random.uniform((3,), low=1, high=2, precision=precision, rng=3)
    off = exact + exact * 2.0 ** (20 - precision.bits)
    jets = variables(Ball(off), 1)
    value = vector([(jets[k] - exact[k]) * c[k] for k in range(3)], jets).value
    slopes = mdqr.diag(c)
    moved, _ = nearest(value, lambda _: Ball(slopes), mdqr.diag(1 / c))
    errors = np.abs((off.astype(mdqr.od) - exact.astype(mdqr.od)).to_numpy())
    assert np.all(errors <= moved)
    assert np.all(moved <= 1.01 * errors)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_bounds_of_convex_problems_near_the_error(precision):
    a = mdqr.eye(4, 3, precision=precision) + mdqr.ones((4, 3), precision=precision) / 8
    exact = mdqr.array([1.0, 2.0, 0.0], precision=precision)
    wide = [each.astype(mdqr.od) for each in (a, a @ exact, exact * 0, exact * 0 + 2)]
    system = System(*wide)
    off = exact + mdqr.array([2.0 ** (20 - precision.bits), 0, 0], precision=precision)
    errors = np.abs((off - exact).to_numpy())
    assert np.all(errors <= convex_error(system, off))
    assert np.all(convex_error(system, off) <= 4 * errors.max())
    free = Solution(off, np.array([0, 1, -1]), 0, True)
    with pytest.raises(Unproven, match="not shown to point outwards"):
        proven_error(system, free, off.copy())
    outwards = system._replace(b=system.b + wide[0] @ mdqr.array([0, 1, -1], precision=mdqr.od))
    a_free = wide[0][:, :1]
    rest = outwards.b - wide[0] @ mdqr.array([0, 2, 0], precision=mdqr.od)
    x = (a_free.T @ rest / (a_free.T @ a_free)[0, 0]).astype(precision)
    point = mdqr.concatenate([x + 2.0 ** (20 - precision.bits), exact[1:]])
    found = proven_error(outwards, free, point.copy())
    distance = np.abs((point[:1].astype(mdqr.od) - x.astype(mdqr.od)).to_numpy())
    assert found[0] >= distance[0] * (1 - 2.0**-16)
    assert found[1:].tolist() == [0, 0]


@pytest.mark.parametrize(("error", "unit"), [(2.0**-600, 1.0), (2.0**-300, 2.0**-300)])
def test_bounds_of_convex_problems_count_squares_below_the_range(error, unit):
    """The square of a gradient of 2^-600 is no double: as a zero it made a bound of 1e-301."""
    a = mdqr.eye(4, 3, precision=mdqr.hd) * unit
    exact = mdqr.array([1.0, 2.0, 0.0], precision=mdqr.hd)
    system = System(a, a @ exact, exact * 0, exact * 0 + 2)
    off = exact + mdqr.array([error, 0, 0], precision=mdqr.hd)
    assert error <= convex_error(system, off)[0] <= 4 * error


UNPROVEN = {
    "a rounding function": (
        lambda: curve_fit(
            lambda x, a, b: a.to_numpy() * np.exp(-b.to_numpy() * x), X, Y, [3, 1], verified=True
        ),
        "must take enclosures.*to_numpy",
    ),
    "a branch": (
        lambda: curve_fit(
            lambda x, a, b: decay(x, a, b) if a.ndim or a > 0 else a * 0 * x, X, Y, [3, 1],
            verified=True,
        ),
        "may not branch",
    ),
    "another loss": (
        lambda: curve_fit(decay, X, Y, [3, 1], loss="cauchy", verified=True),
        "only sums of squares",
    ),
    "correlated residuals": (
        lambda: curve_fit(decay, X, Y, [3, 1], sigma=np.eye(6) + 0.1, verified=True),
        "give standard deviations",
    ),
    "a valley": (
        lambda: curve_fit(lambda x, a, b, c: decay(x, a * c, b), X, Y, [2, 1, 1], verified=True),
        "do not tell a, c apart",
    ),
    "no minimum": (
        lambda: curve_fit(decay, X, Y, [3, 1], max_nfev=2, verified=True),
        "maximum number of function evaluations",
    ),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::mdqr.PrecisionWarning")
@pytest.mark.parametrize("name", UNPROVEN)
def test_what_has_no_proof(name):
    call, text = UNPROVEN[name]
    with pytest.raises(mdqr.linalg.LinAlgError, match=f"verified: .*{text}"):
        call()


def test_a_minimum_that_is_degenerate_has_no_proof():
    """Of ``(b - 1)**2`` the Hessian is zero at the minimum."""
    with pytest.raises(mdqr.linalg.LinAlgError, match="verified"):
        least_squares(lambda b: (b - 1) ** 2, [1.5], precision=mdqr.qd, verified=True)
