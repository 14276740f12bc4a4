"""Balls and jets contain values and derivatives at all points in them."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import mdqr
from mdqr.optimize._enclosure.ball import Ball
from mdqr.optimize._enclosure.functions import CHAINS
from mdqr.optimize._enclosure.jet import Jet, variables, vector

DIGITS = 420
MPMATH = {
    "exp2": lambda x: mpmath.power(2, x),
    "log2": lambda x: mpmath.log(x) / mpmath.log(2),
    "log10": lambda x: mpmath.log(x) / mpmath.log(10),
    "log1p": lambda x: mpmath.log(1 + x),
    "expm1": lambda x: mpmath.exp(x) - 1,
    "square": lambda x: x * x,
    "cbrt": lambda x: mpmath.sign(mpmath.re(x)) * mpmath.cbrt(x * mpmath.sign(mpmath.re(x))),
    "reciprocal": lambda x: 1 / x,
    "arcsin": mpmath.asin,
    "arccos": mpmath.acos,
    "arctan": mpmath.atan,
    "arcsinh": mpmath.asinh,
    "arccosh": mpmath.acosh,
    "arctanh": mpmath.atanh,
}
POSITIVE = ("log", "log2", "log10", "sqrt")
COMPLEX = ("exp", "log", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "square")
PRECISIONS = [mdqr.d, mdqr.dd, mdqr.qd, mdqr.od]


def mp(name):
    return MPMATH.get(name) or getattr(mpmath, name)


def derivatives(function, x, order):
    """Return derivatives by differences over 1e-100, right to some 90 digits."""
    return mpmath.diff(function, x, order, h=mpmath.mpf(10) ** -130) if order else function(x)


def drawn(name, precision, rng, *, is_complex=False):
    """Return a full-width point within the domain of a function, and a radius."""
    middle = mdqr.random.uniform((), low=-0.9, high=0.9, precision=precision, rng=rng)
    if is_complex:
        middle = middle + 1j * mdqr.random.uniform((), low=0.1, precision=precision, rng=rng)
    if name in POSITIVE and not is_complex:
        middle = abs(middle) + 2.0 ** int(rng.integers(-20, 20))
    if name == "arccosh":
        middle = abs(middle) + 1.2
    rad = float(rng.choice([0.0, 1e-40, 1e-10, 0.01]))
    return Ball(middle, rad)


def point_in(ball, rng):
    """Return a number of a ball, often of its edge."""
    share = rng.choice([-1, 1, rng.uniform(-1, 1)])
    turn = mpmath.expjpi(rng.uniform(0, 2)) if ball.mid.is_complex else 1
    return ball.mid.to_mpmath().item() + mpmath.mpf(float(ball.rad)) * share * turn


def holds(ball, value, slack):
    distance = abs(ball.mid.to_mpmath().item() - value)
    return distance <= mpmath.mpf(float(ball.rad)) + slack


def chain_claims(name, precision, rng, *, is_complex):
    """Yield whether the value and two derivatives lie in their balls."""
    with mpmath.workdps(DIGITS):
        u = drawn(name, precision, rng, is_complex=is_complex)
        found = CHAINS[name](u)
        x = point_in(u, rng)
        for order, ball in enumerate(found):
            exact = derivatives(mp(name), x, order)
            slack = 0 if not order else abs(exact) * mpmath.mpf(10) ** -125
            yield ball.rad, holds(ball, exact, slack)


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("is_complex", [False, True])
def test_functions_and_their_derivatives(name, is_complex):
    if is_complex and name not in COMPLEX:
        u = Ball(mdqr.array(0.5 + 0.5j, precision=mdqr.dd))
        if name in ("reciprocal", "log2", "log10", "exp2"):
            return
        with pytest.raises(TypeError, match="cannot be enclosed"):
            CHAINS[name](u)
        return
    rng = np.random.default_rng(5)
    for precision in PRECISIONS:
        for _ in range(2):
            for rad, held in chain_claims(name, precision, rng, is_complex=is_complex):
                assert held
                assert np.isfinite(rad)


@pytest.mark.parametrize("name", ["exp", "log", "sqrt", "sin", "arctan", "tan", "cbrt", "erf"])
def test_radii_are_not_far_above_the_change(name):
    """A tenth of the radius does not hold the values at both ends."""
    rng = np.random.default_rng(7)
    with mpmath.workdps(60):
        u = Ball(drawn(name, mdqr.qd, rng).mid, 1e-12)
        found = CHAINS[name](u)[0]
        middle = u.mid.to_mpmath().item()
        ends = [mp(name)(middle + sign * mpmath.mpf(float(u.rad))) for sign in (-1, 1)]
        assert abs(ends[1] - ends[0]) > 2 * mpmath.mpf(float(found.rad)) / 10


@pytest.mark.parametrize(
    ("name", "middle", "rad"),
    [("log", 1e-3, 1e-2), ("sqrt", 1e-3, 1e-3), ("reciprocal", 0.1, 0.2), ("arcsin", 0.99, 0.1),
     ("arccosh", 1.05, 0.1), ("arctanh", 0.95, 0.1), ("cbrt", 0.0, 0.1), ("log1p", -0.9, 0.2),
     ("tan", 1.5, 0.2), ("log2", -1.0, 0.1)],
)  # fmt: skip
def test_balls_beyond_a_domain_prove_nothing(name, middle, rad):
    with np.errstate(all="ignore"):
        found = CHAINS[name](Ball(mdqr.array(middle, precision=mdqr.qd), rad))
    assert not all(np.isfinite(ball.rad) and np.isfinite(float(ball.mid)) for ball in found)


def test_a_complex_ball_on_the_cut_proves_nothing():
    for name in ("log", "sqrt"):
        found = CHAINS[name](Ball(mdqr.array(-1 + 0.01j, precision=mdqr.qd), 0.02))
        assert np.isinf(found[0].rad)


def expressions(m, x, c):
    """Return values of a function of two variables and constants, in a module of functions."""
    a, b = x[0], x[1]
    return [
        a * m.exp(-b * c) + c / (a - b * b),
        (a**3 - b**-2) * m.sin(a * b) + 2.5,
        (2 + a * a) ** b - a / 3,
        m.sqrt(1 + a * a + b) / (1 + m.exp(c * b)) - (1 - b) / a,
    ]


class Functions:
    exp, sin, sqrt = mpmath.exp, mpmath.sin, mpmath.sqrt


def jet_claims(precision, seed):
    """Yield whether values, gradients and Hessians lie in the jets of a box."""
    rng = np.random.default_rng(seed)
    x = mdqr.random.uniform((2,), low=0.5, precision=precision, rng=rng)
    c = mdqr.random.uniform((), low=0.5, precision=mdqr.od, rng=rng)
    rad = rng.choice([0.0, 1e-30, 1e-6, 1e-3], size=2)
    box = Ball(x, rad)
    jets = variables(box, 2)
    found = vector(expressions(mdqr, jets, c), jets)
    with mpmath.workdps(DIGITS):
        at = [point_in(box[j], rng) for j in range(2)]
        constant = c.to_mpmath().item()
        for k in range(4):

            def f(a, b, k=k):
                return expressions(Functions, [a, b], constant)[k]

            yield holds(found.value[k], f(*at), 0)
            for orders, ball in (
                ((1, 0), found.first[0, k]),
                ((0, 1), found.first[1, k]),
                ((2, 0), found.second[0, 0, k]),
                ((1, 1), found.second[0, 1, k]),
                ((1, 1), found.second[1, 0, k]),
                ((0, 2), found.second[1, 1, k]),
            ):
                exact = mpmath.diff(f, tuple(at), orders, h=mpmath.mpf(10) ** -130)
                yield holds(ball, exact, abs(exact) * mpmath.mpf(10) ** -120)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("seed", range(4))
def test_jets_of_a_function(precision, seed):
    assert all(jet_claims(precision, seed))


OPERATIONS = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b,
}


def test_roundings_of_operations():
    """Of exact operands only the result is rounded; some errors come near to the radius."""
    rng = np.random.default_rng(9)
    for precision in PRECISIONS:
        a, b = (mdqr.random.normal((40,), precision=precision, rng=rng) for _ in range(2))
        for operation in OPERATIONS.values():
            found = operation(Ball(a), Ball(b))
            exact = operation(a.to_fractions(), b.to_fractions())
            assert np.all(np.abs(found.mid.to_fractions() - exact) <= found.rad)


def test_products_and_sums_of_vectors():
    rng = np.random.default_rng(3)
    a = mdqr.random.normal((4, 3), precision=mdqr.od, rng=rng)
    x = mdqr.random.normal((3,), precision=mdqr.dd, rng=rng)
    jets = variables(Ball(x, 1e-20), 2)
    found = a @ jets
    assert found.shape == (4,)
    for k in range(4):
        exact = sum(p * q for p, q in zip(a[k].to_fractions(), x.to_fractions(), strict=True))
        error = abs(found.value.mid.to_fractions()[k] - exact)
        assert error <= found.value.rad[k]
        for j in range(3):
            slope = found.first[j, k]
            assert abs(slope.mid.to_fractions() - a.to_fractions()[k, j]) <= slope.rad
    assert np.all(found.second.mid.to_numpy() == 0)
    total = jets.sum()
    assert np.allclose(total.value.mid.to_numpy(), x.to_numpy().sum())


REFUSED = {
    "comparison": lambda x: x[0] > 0,
    "truth": lambda x: bool(x[0]),
    "float": lambda x: float(x[0]),
    "equality": lambda x: x[0] == 1,
    "to_numpy": lambda x: x.to_numpy(),
    "astype": lambda x: x.astype(mdqr.d),
    "where": lambda x: mdqr.where(x[0], 1, 0),
    "floor": lambda x: mdqr.floor(x[0]),
    "abs": abs,
    "text": lambda x: x * "2",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_enclosures_cannot_do(name):
    jets = variables(Ball(mdqr.ones(2, precision=mdqr.qd)), 1)
    with pytest.raises((TypeError, AttributeError)):
        REFUSED[name](jets)


def test_functions_of_numpy_answer():
    jets = variables(Ball(mdqr.ones(2, precision=mdqr.qd)), 1)
    for found in (np.exp(jets), mdqr.exp(jets), np.float64(2) * jets, np.ones(2) + jets):
        assert isinstance(found, Jet)
    assert (np.ones(2) - jets).shape == (2,)
