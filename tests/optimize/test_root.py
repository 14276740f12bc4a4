"""Zeros of systems: against mpmath, with proven and estimated digits."""

from __future__ import annotations

import copy
import pickle

import mpmath
import numpy as np
import pytest
import scipy.optimize

import mdqr
from mdqr.optimize import root

PRECISIONS = [mdqr.d, mdqr.dd, mdqr.qd, mdqr.od, mdqr.hd]


def equations(m, x, c):
    return [x[0] + m.exp(-x[1] * x[1]) / 3 - c[0], x[1] + m.sin(x[0]) / 3 - c[1]]


def trigonometric(m, x, c):
    return [
        x[0] - c[0] * m.sin(x[1]) / 2,
        x[1] - c[1] * m.cos(x[2]) / 2,
        x[2] - m.exp(-x[0]) * c[2],
    ]


def rational(m, x, c):
    return [x[0] + c[0] / (4 + x[1] ** 2) - c[1], x[1] + m.sqrt(2 + x[0] ** 2) / 3 - c[2]]


SYSTEMS = {"equations": (equations, [1.5, 0.8]), "trigonometric": (trigonometric, [0.5, 0.5, 0.5]),
           "rational": (rational, [0.7, 0.7])}  # fmt: skip


def problem(name, seed):
    """Return a system with full-width constants, its start, and the zero to 300 digits."""
    function, start = SYSTEMS[name]
    c = mdqr.random.uniform((3,), low=1, high=2, precision=mdqr.od, rng=seed + 7)
    with mpmath.workdps(640):
        constants = c.to_mpmath()
        # The error may be as large as the root of the tolerance.
        exact = mpmath.findroot(
            lambda *x: function(mpmath, x, constants), start, tol=mpmath.mpf("1e-600"), maxsteps=60
        )
    return lambda x: function(mdqr, x, c), start, exact


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("verified", [False, True])
def test_systems(name, precision, verified):
    for seed in range(2):
        function, start, exact = problem(name, seed)
        jac = "series" if verified else None
        found = root(function, start, jac=jac, precision=precision, verified=verified)
        assert found.success
        assert found.status == 1
        assert found.info.bound_kind == ("proven" if verified else "estimated")
        with mpmath.workdps(320):
            pairs = zip(found.x.to_mpmath(), exact, found.info.error_bound, strict=True)
            for value, true, bound in pairs:
                assert abs(value - true) <= bound
        assert found.info.digits.min() > 0.9 * precision.digits


def test_complex_unknowns():
    c = mdqr.random.normal((2,), precision=mdqr.od, rng=1, dtype=complex)
    with mpmath.workdps(640):
        a, b = c.to_mpmath()
        exact = mpmath.findroot(
            lambda x, y: [x * x + a + y, mpmath.exp(y) - b * x],
            [1 + 1j, 0.5j],
            tol=mpmath.mpf("1e-600"),
            maxsteps=60,
        )
    for options in ({}, {"jac": "series"}, {"verified": True}):
        found = root(
            lambda z: [z[0] ** 2 + c[0] + z[1], mdqr.exp(z[1]) - c[1] * z[0]], [1 + 1j, 0.5j],
            precision=mdqr.qd, **options,
        )  # fmt: skip
        assert found.x.is_complex
        assert found.jac.shape == (2, 2)
        with mpmath.workdps(320):
            pairs = zip(found.x.to_mpmath(), exact, found.info.error_bound, strict=True)
            assert all(abs(value - true) <= bound for value, true, bound in pairs)
        assert found.info.digits.min() > 60


def test_scipy_finds_the_same():
    ours = root(lambda x: equations(mdqr, x, [1.5, 1]), [1.5, 0.8], precision=mdqr.dd)
    theirs = scipy.optimize.root(lambda x: equations(np, x, [1.5, 1]), [1.5, 0.8])
    np.testing.assert_allclose(ours.x.to_numpy(), theirs.x, atol=1e-8)
    assert {"x", "success", "status", "message", "fun", "nfev"} <= set(ours)
    assert len(repr(ours)) < 200


def test_a_jacobian_of_the_caller_and_one_unknown():
    found = root(lambda x: x * x - 2, 1.0, jac=lambda x: [[2 * x[0]]], precision=mdqr.od,
                 verified=True)  # fmt: skip
    assert found.info.derivatives == "jac"
    assert abs(found.x[0] - mdqr.sqrt(mdqr.od(2))) <= found.info.error_bound[0]
    assert found.info.digits[0] > 120


@pytest.mark.parametrize("power", [2, 3])
def test_multiple_zeros_claim_nothing(power):
    with pytest.warns(mdqr.PrecisionWarning, match="Jacobian singular"):
        found = root(lambda x: (x - 1) ** power * mdqr.exp(x), [1.5], precision=mdqr.qd)
    assert not found.success
    assert found.status == -4
    assert found.info.digits[0] == 0


def test_no_zero():
    with pytest.warns(mdqr.PrecisionWarning, match="No zero was found"):
        found = root(lambda x: x * x + 2, [1.0], precision=mdqr.qd)
    assert not found.success
    assert np.isinf(found.info.error_bound).all()
    with pytest.raises(mdqr.linalg.LinAlgError, match="verified: No zero"):
        root(lambda x: x * x + 2, [1.0], precision=mdqr.qd, verified=True)


def test_a_function_that_rounds():
    with pytest.warns(mdqr.PrecisionWarning, match="`fun` rounds to 1"):
        found = root(lambda x: np.cos(x.to_numpy()) - x.to_numpy(), [1.0], precision=mdqr.qd)
    exact = root(lambda x: mdqr.cos(x) - x, [1.0], precision=mdqr.qd)
    assert np.all(np.abs((found.x - exact.x).to_numpy()) <= found.info.error_bound)
    with pytest.raises(mdqr.linalg.LinAlgError, match="must take enclosures"):
        root(lambda x: x.astype(mdqr.dd) - 2, [1.0], precision=mdqr.qd, verified=True)


def test_limits_callbacks_and_progress():
    seen, steps = [], []
    found = root(lambda x: mdqr.cos(x) - x, [1.5], precision=mdqr.dd, callback=seen.append,
                 progress=lambda *report: steps.append(report))  # fmt: skip
    assert found.success
    assert len(seen) == len(steps)
    assert steps[0] == ("steps", 1, None)
    with pytest.warns(mdqr.PrecisionWarning, match="maximum number"):
        found = root(lambda x: mdqr.exp(x) + 1, [1.5], precision=mdqr.dd, options={"maxfev": 2})
    assert found.status == 0

    def stop(x):
        raise StopIteration

    assert root(lambda x: mdqr.cos(x) - x, [9.5], precision=mdqr.dd, callback=stop).status == -2


def test_results_are_copied_and_pickled():
    found = root(lambda x: mdqr.cos(x) - x, [1.0], precision=mdqr.dd, verified=True)
    for other in (copy.copy(found), copy.deepcopy(found), pickle.loads(pickle.dumps(found))):
        assert mdqr.array_equal(other.x, found.x)
        assert (other.info.digits == found.info.digits).all()
        assert other.info.derivatives == "differences"


WRONG = {
    "fun": (lambda: root(3, [1]), TypeError, "`fun` must be callable"),
    "method": (lambda: root(lambda x: x, [1], method="krylov"), ValueError, "there is one method"),
    "tol": (lambda: root(lambda x: x, [1], tol=1e-8), TypeError, "tol is not needed"),
    "options": (lambda: root(lambda x: x, [1], options={"xtol": 1}), TypeError, "options: xtol"),
    "options is a number": (
        lambda: root(lambda x: x, [1], options=5), TypeError, "`options` must be a dict"
    ),
    "negative maxfev": (
        lambda: root(lambda x: x, [1], options={"maxfev": -1}), ValueError, "`options.'maxfev'.`"
    ),
    "jac=True of values alone": (
        lambda: root(lambda x: [x[0] - 1, x[1] - 2], [1, 1], jac=True), ValueError,
        "must return .values, Jacobian."
    ),
    "maxfev": (lambda: root(lambda x: x, [1], options={"maxfev": 0}), ValueError, "positive int"),
    "count": (lambda: root(lambda x: [x[0], x[0]], [1]), ValueError, "2 values for 1 unknowns"),
    "complex": (lambda: root(lambda x: x * 1j, [1]), ValueError, "give a complex x0"),
    "real": (lambda: root(lambda x: x.real, [1j]), ValueError, "real values of complex unknowns"),
    "jac": (lambda: root(lambda x: x, [1j], jac=lambda x: x), ValueError, "of complex unknowns"),
    "jac name": (lambda: root(lambda x: x, [1], jac="exact"), ValueError, "`jac` must be None"),
    "empty": (lambda: root(lambda x: x, []), ValueError, "`x0` is empty"),
    "NaN": (lambda: root(lambda x: x, [np.nan]), ValueError, "`x0` is not finite"),
    "not finite": (lambda: root(lambda x: mdqr.log(x - 2), [1]), ValueError, "not finite in the"),
    "progress": (lambda: root(lambda x: x, [1], progress=3), TypeError, "progress must be"),
    "series": (
        lambda: root(lambda x: mdqr.floor(x) + x, [1], jac="series"), TypeError, "power series"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_input(name):
    call, error, text = WRONG[name]
    with pytest.raises(error, match=text):
        call()


@pytest.mark.filterwarnings("ignore::mdqr.PrecisionWarning")
def test_a_wrong_jacobian_is_in_the_bounds():
    """The last step is a bound of the error only with the right one."""
    jacobian = np.linalg.inv(np.eye(2) - [[0, 0.49], [0.49, 0]])

    def fun(z):
        return [z[0] - 1 + 1e-3 * (z[0] - 1) ** 2, z[1] - 2 + 1e-3 * (z[1] - 2) ** 2]

    found = root(fun, [1.055125, 2.125], jac=lambda z: jacobian, precision="dd")
    assert (abs(found.x - [1.0, 2.0]).to_numpy() <= found.info.error_bound).all()
    close = np.eye(2) * (1 + 2.0**-20)
    found = root(fun, [1.055125, 2.125], jac=lambda z: close, precision="dd")
    assert (abs(found.x - [1.0, 2.0]).to_numpy() <= found.info.error_bound).all()
    assert (found.info.digits > 25).all()


def test_one_call_gives_values_and_jacobian():
    calls = []

    def both(x):
        calls.append(x.size // 2)  # points
        values = [x[0] + mdqr.exp(x[1]) - 5, x[0] * x[1] - 2]
        return values, [[mdqr.ones_like(x[0]), mdqr.exp(x[1])], [x[1], x[0]]]

    found = root(both, [1, 1], jac=True, precision=mdqr.qd)
    assert found.info.digits.min() > 60
    assert sum(calls) <= found.info.evaluations
    assert len(calls) < 4 * found.nfev
    apart = root(lambda x: both(x)[0], [1, 1], jac=lambda x: both(x)[1], precision=mdqr.qd)
    assert apart.info.digits.min() > 60


@pytest.mark.parametrize("jac", [None, "series", True])
def test_equations_of_any_size(jac):
    """The sum of squares of all has those that are 1e-400 times as large as others."""
    small, large = mdqr.qd("1e-200"), mdqr.qd("1e200")

    def fun(x):
        values = [x[0] - small * (x[1] / large), x[1] - large]
        return (values, [[1, 0], [0, 1]]) if jac is True else values

    found = root(fun, [2e-200, 3e200], jac=jac, precision=mdqr.qd)
    assert found.success
    np.testing.assert_allclose(found.x.to_numpy(), [1e-200, 1e200], rtol=1e-14)
    assert found.info.digits.min() > 50
    assert bool((abs(found.x - [small, large]) <= 1e-50 * abs(found.x)).all())


@pytest.mark.parametrize("precision", [mdqr.d, mdqr.dd])
def test_no_digits_where_one_equation_follows_from_the_other(precision):
    """The zeros are a curve: rounding errors alone make the Jacobian regular."""

    def same(x):
        a, b = x[0], x[1]
        return mdqr.stack([a * b - 1.3, mdqr.exp(mdqr.log(a) + mdqr.log(b)) - 1.3])

    starts = [[1.1599437060490778, 1.1982071651138528], [1.1, 1.2], [1.12, 1.19], [1.2, 1.23]]
    for start in starts:
        with pytest.warns(mdqr.PrecisionWarning):
            found = root(same, start, precision=precision)
        assert np.all(found.info.digits == 0)
