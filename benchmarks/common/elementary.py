"""Elementary functions of multiple doubles against the ball arithmetic of python-flint."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import flint
import numpy as np
from flint import acb, arb

import mdqr

REAL_BOUND, COMPLEX_BOUND = 4, 10  # the contract, in eps
_SPAN = 2300  # bits from the largest double to the smallest, and carries
_MOST = 1 << 15  # bits of an evaluation
_LARGEST = arb(flint.fmpz(2**1024 - 2**970))  # from where a double overflows


class Region(NamedTuple):
    """Arguments: a centre and something with exponents between `low` and `high`.

    Centres: a number, or multiples of "half pi", "half" or "one". Towards: only from that side.
    """

    low: int
    high: int
    centre: float | str = 0
    side: int = 0


class Function(NamedTuple):
    """Values on balls, `complex` if there are any, and where to look."""

    real: Callable[..., arb]
    complex: Callable[..., acb] | None
    regions: tuple[tuple[Region, ...], ...]  # one region an argument
    least: Callable[..., arb] | None = None  # the error is relative to at least that


def _each(*regions: Region) -> tuple[tuple[Region, ...], ...]:
    return tuple((region,) for region in regions)


_ANY = Region(-1074, 1023)
_SMALL, _MIDDLE = Region(-400, -9), Region(-9, 3)
_EXPONENTS = _each(_MIDDLE, _SMALL, Region(3, 8), Region(8, 10))
_POSITIVE = _each(
    *(Region(-1074, 1023, 0, 1), Region(-3, 3, 0, 1), Region(-420, -1, 1), Region(-1074, -300, 1))
)
_ANGLES = _each(_MIDDLE, _SMALL, Region(4, 1023), Region(-440, -60, "half pi"))
_TURNS = _each(Region(-9, 10), _SMALL, Region(10, 400), Region(-300, -9, "half"))
_UNIT = _each(
    *(Region(-9, -1), _SMALL, Region(-300, -2, 1, -1), Region(-300, -2, -1, 1)),
    Region(-1074, -300, 1, -1),
)


def _over(value: Callable[[Any], Any], base: int) -> Callable[[Any], Any]:
    return lambda z: value(z) / type(z)(base).log()


def _gamma(x: arb) -> arb:
    return x.gamma() if x > 0 else arb.pi() / (arb.sin_pi(x) * (1 - x).gamma())


def _lgamma(x: arb) -> arb:
    return x.lgamma() if x > 0 else abs(arb.pi() / arb.sin_pi(x)).log() - (1 - x).lgamma()


def _logaddexp(x: arb, y: arb) -> arb:
    high, low = (x, y) if x > y else (y, x)
    return high + (low - high).exp().log1p()


FUNCTIONS: dict[str, Function] = {
    "exp": Function(arb.exp, acb.exp, _EXPONENTS),
    "exp2": Function(lambda x: 2**x, lambda z: (z * acb(2).log()).exp(), _EXPONENTS),
    "expm1": Function(arb.expm1, acb.expm1, _EXPONENTS),
    "log": Function(arb.log, acb.log, _POSITIVE),
    "log2": Function(_over(arb.log, 2), _over(acb.log, 2), _POSITIVE),
    "log10": Function(_over(arb.log, 10), _over(acb.log, 10), _POSITIVE),
    "log1p": Function(
        arb.log1p,
        acb.log1p,
        _each(
            *(Region(-9, -1), _SMALL, Region(0, 1023, 0, 1), Region(-300, -1, -1, 1)),
            Region(-1074, -300, -1, 1),
        ),
    ),
    "sin": Function(arb.sin, acb.sin, _ANGLES),
    "cos": Function(arb.cos, acb.cos, _ANGLES),
    "tan": Function(arb.tan, acb.tan, _ANGLES),
    "sinpi": Function(arb.sin_pi, None, _TURNS),
    "cospi": Function(arb.cos_pi, None, _TURNS),
    "arcsin": Function(arb.asin, acb.asin, _UNIT),
    "arccos": Function(arb.acos, acb.acos, _UNIT),
    "arctan": Function(arb.atan, acb.atan, _each(_MIDDLE, _ANY)),
    "sinh": Function(arb.sinh, acb.sinh, _EXPONENTS),
    "cosh": Function(arb.cosh, acb.cosh, _EXPONENTS),
    "tanh": Function(arb.tanh, acb.tanh, _EXPONENTS),
    "arcsinh": Function(arb.asinh, acb.asinh, _each(_MIDDLE, _ANY)),
    "arccosh": Function(
        arb.acosh,
        acb.acosh,
        _each(Region(-300, 8, 1, 1), Region(1, 1023, 0, 1), Region(-1074, -300, 1, 1)),
    ),
    "arctanh": Function(arb.atanh, acb.atanh, _UNIT),
    "cbrt": Function(lambda x: x.root(3) if x > 0 else -(-x).root(3), None, _each(_MIDDLE, _ANY)),
    "arctan2": Function(arb.atan2, None, ((_MIDDLE, _MIDDLE), (_ANY, _ANY))),
    "power": Function(
        arb.__pow__,
        acb.__pow__,
        (
            (Region(-3, 3, 0, 1), Region(-3, 7)),
            (Region(-1000, 1000, 0, 1), Region(-60, -1)),
            (Region(-40, -30, 1), Region(20, 39)),
        ),
    ),
    "gamma": Function(
        _gamma,
        None,
        _each(
            *(_MIDDLE, _SMALL, Region(3, 8), Region(-1074, -400)),
            *(Region(-400, -3, "one"), Region(-1074, -900, "one")),
        ),
    ),
    "lgamma": Function(
        _lgamma,
        None,
        _each(
            *(_MIDDLE, _SMALL, Region(3, 11), _ANY, Region(7, 1023, 0, 1)),
            *(Region(-420, -2, 1), Region(-420, -2, 2), Region(-900, -3, "one")),
        ),
        lambda x: arb(2) ** -20 if x < 0 else arb(0),
    ),
    "erf": Function(arb.erf, None, _each(_MIDDLE, _SMALL, Region(-7, 5), _ANY)),
    "erfc": Function(arb.erfc, None, _each(_MIDDLE, _SMALL, Region(2, 4, 0, 1), Region(-7, 5))),
    "logaddexp": Function(
        _logaddexp,
        None,
        (
            *((_MIDDLE, _MIDDLE), (Region(-9, 10), Region(-9, 10)), (_ANY, _ANY)),
            *((_SMALL, Region(3, 9, 0, -1)), (Region(900, 1023), Region(900, 1023))),
        ),
        lambda x, y: abs(x if x > y else y) * arb(2) ** -10,
    ),
}


def place(x: mdqr.MDArray, region: Region, rng: np.random.Generator) -> mdqr.MDArray:
    """Move what was drawn between the exponents of a region to its centre, if real.

    Parts of complex numbers get the centre or not, so that the points are -1, 0, 1 and i too.
    """
    x = x.copy()
    for part in (x.real, x.imag) if x.is_complex else (x,):
        part.limbs[0][part.limbs[0] == 0] = 2.0**region.low  # balls have no signed zeros
    if region.side:
        x = _one_sided(x, region.side)
    if region.centre == 0:
        return x
    unit = {
        "half pi": x.precision.pi / 2,
        "half": mdqr.array(0.5, precision=x.precision),
        "one": mdqr.array(1, precision=x.precision),
    }.get(str(region.centre))
    if unit is None:
        centre = mdqr.array(np.full(x.shape, float(region.centre)), precision=x.precision)
    else:
        centre = unit * rng.integers(-40, 41, x.shape)
    if x.is_complex:
        centre = centre * rng.choice([1, 1j], x.shape)
    return x + centre


def _one_sided(x: mdqr.MDArray, side: int) -> mdqr.MDArray:
    if not x.is_complex:
        return abs(x) * side
    y = x.copy()
    y.real[...] = abs(x.real) * side
    return y


def balls(x: mdqr.MDArray) -> list[Any]:
    """Return the values as exact balls."""
    flint.ctx.prec = _SPAN
    parts = [x.real, x.imag] if x.is_complex else [x]
    columns = [
        [
            sum(map(arb, column), start=arb(0))
            for column in part.limbs.reshape(len(part.limbs), -1).T.tolist()
        ]
        for part in parts
    ]
    return [acb(*z) for z in zip(*columns, strict=True)] if x.is_complex else columns[0]


def evaluate(value: Callable[..., Any], arguments: tuple[Any, ...], bits: int) -> Any:
    """Return a ball whose radius is at most 2**-bits of its value; NaN has no radius."""
    precision = bits + 64
    while True:
        flint.ctx.prec = precision
        ball = value(*arguments)
        size = abs(ball)
        radius = ball.real.rad() + ball.imag.rad() if isinstance(ball, acb) else ball.rad()
        if radius <= (size * arb(2) ** -bits).lower() or not size.is_finite() or precision > _MOST:
            return ball
        precision *= 2


def errors(name: str, result: mdqr.MDArray, *operands: mdqr.MDArray) -> np.ndarray:
    """Return the errors of results in eps, beyond what the contract allows for underflow.

    Infinity stands for a wrong NaN or infinity. Values without a real result want NaN.
    """
    function = FUNCTIONS[name]
    value = function.complex if result.is_complex else function.real
    p = result.precision
    bits = 53 * p.limbs + 30
    tiny = p.limbs**2 * (4 if result.is_complex else 1) * arb(2) ** -1074
    eps = arb(2) ** round(math.log2(float(p.eps)))
    leading = result.to_numpy().ravel()
    found = np.zeros(leading.shape)
    got = balls(mdqr.where(mdqr.isfinite(result), result, 0).ravel())
    for i, arguments in enumerate(zip(*(balls(x.ravel()) for x in operands), strict=True)):
        truth = evaluate(value, arguments, bits)
        if not np.isfinite(leading[i]):
            expected = _is_beyond(truth) if np.isinf(leading[i]) else not truth.is_finite()
            found[i] = 0.0 if expected else np.inf
            continue
        distance, size = abs(got[i] - truth), abs(truth)
        if function.least is not None:
            size = size.max(function.least(*arguments))
        excess = (distance - tiny).upper()
        if excess > 0:
            found[i] = float((excess / (size * eps)).upper()) if size > 0 else np.inf
    return found


def _is_beyond(ball: Any) -> bool:
    parts = (ball.real, ball.imag) if isinstance(ball, acb) else (ball,)
    return any(bool(abs(part) >= _LARGEST) or not part.is_finite() for part in parts)
