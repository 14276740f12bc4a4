"""Verdicts on `mdqr.series` but for radii: approximants in any unit, powers, texts of systems."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import sympy

import mdqr
from mdqr import series
from mdqr._precision import PRECISIONS
from mdqr.series._analysis.units import ldexp

from .draws import Draw
from .problems import Problem
from .verdicts import Verdict, answered


def _given(seed, index, family, side, a, precision):
    return Problem(seed, index, family, side, a, None, None, None, precision)


def _fail(verdict, flag, message):
    verdict.note(flag)
    verdict.message = message[:300]


# -- Pade approximants ---------------------------------------------------------------------------


def pade(seed, index):
    """Judge one approximant: its degrees, what it misses, and that no unit changes it."""
    r = Draw(f"pade/{seed}/{index}")
    precision, degree = r.choice(PRECISIONS), r.randint(6, 14)
    low, high = r.randint(0, 3), r.randint(0, 3)
    p, q = _polynomial(r, low), [Fraction(1), *_polynomial(r, high)[:high]]
    exact = _quotient(p, q, degree)
    is_rational = r.chance(0.6) and _coprime(p, q)
    if not is_rational:
        exact = [c / math.factorial(k) for k, c in enumerate(exact)] if r.chance(0.5) else [
            c * (k % 2 == 0) / (k + 1) for k, c in enumerate(exact)
        ]  # fmt: skip
    room = degree - low - high
    L, M = low + r.randint(0, room // 2), high + r.randint(0, room // 2)
    c = mdqr.array(np.array(exact, dtype=object), precision=precision)
    given = _given(seed, index, "rational" if is_rational else "other", f"[{L}/{M}]", c, precision)
    verdict = Verdict(components=1)
    found, error, caught = answered(lambda: series.pade(series.PowerSeries(c), L, M))
    verdict.note_warnings(caught)
    if error is not None:
        verdict.note_error(error)
        return given, verdict
    degrees = len(found.numerator) - 1, len(found.denominator) - 1
    if is_rational and degrees != (_degree(p), _degree(q)):
        verdict.note("other_degrees")
        verdict.message = f"{degrees} for {(_degree(p), _degree(q))}, asked {(L, M)}"
    _check_missed(verdict, found, c)
    steps = r.randint(-20, 20) * np.arange(degree + 1) + r.randint(-100, 100)
    there = ldexp(c, steps)
    if not bool((ldexp(there, -steps) == c).all()):
        return given, verdict  # limbs have left the range
    other = series.pade(series.PowerSeries(there), L, M)
    time, size = int(steps[1] - steps[0]), int(steps[0])
    for mine, theirs, shift in (
        (found.denominator, other.denominator, 0), (found.numerator, other.numerator, size),
    ):  # fmt: skip
        powers = time * np.arange(len(mine)) + shift
        if len(mine) != len(theirs) or not bool((ldexp(mine, powers) == theirs).all()):
            _fail(verdict, "bound_violated", f"another approximant in the unit {time}")
    return given, verdict


def _check_missed(verdict, found, c):
    p, q, exact = (list(x.to_fractions()) for x in (found.numerator, found.denominator, c))
    eps = Fraction(c.precision.eps)
    order = found.error_order
    for k in range(len(p), len(exact)):
        terms = [q[j] * exact[k - j] for j in range(min(k + 1, len(q)))]
        unsure = 8 * len(q) * eps * sum(map(abs, terms))
        if k < order and abs(sum(terms)) > unsure:
            _fail(verdict, "bound_violated", f"order {k} is missed, and error_order is {order}")
        if k == order:
            if abs(found.error.to_fractions().item() - sum(terms)) > unsure:
                _fail(verdict, "bound_violated", "error is another coefficient")
            return
    if order < len(exact) or not bool(mdqr.isnan(found.error)):
        _fail(verdict, "bound_violated", f"error_order {order}, and the series ends before")


def _polynomial(r, degree):
    return [Fraction(r.randint(-9, 9) or 1, r.randint(1, 9)) for _ in range(degree + 1)]


def _quotient(p, q, degree):
    found = []
    for k in range(degree + 1):
        below = sum(q[j] * found[k - j] for j in range(1, min(k, len(q) - 1) + 1))
        found.append((p[k] if k < len(p) else Fraction(0)) - below)
    return found


def _degree(p):
    return max(k for k, c in enumerate(p) if c)


def _coprime(p, q):
    """Return whether two polynomials have no common root, by Euclid's algorithm."""
    a, b = p[: _degree(p) + 1], q[: _degree(q) + 1]
    while any(b):
        b = b[: _degree(b) + 1]
        while len(a) >= len(b) and any(a):
            factor = a[-1] / b[-1]
            shift = len(a) - len(b)
            a = [x - factor * (b[i - shift] if i >= shift else 0) for i, x in enumerate(a)][:-1]
        a, b = b, a
    return _degree(a) == 0


# -- powers --------------------------------------------------------------------------------------

_TYPES = [
    float, np.float64, np.float32, np.int8, Fraction, Decimal, mpmath.mpf, mpmath.mpc,
    sympy.Integer, sympy.Float, np.array, complex, np.complex128, bool,
    lambda n: mdqr.array(n, precision="d"), lambda n: mdqr.array(n, precision="d") + 0j,
]  # fmt: skip


def powers(seed, index):
    """Judge a power by a number of some type against the exact one."""
    r = Draw(f"powers/{seed}/{index}")
    precision, degree = r.choice(PRECISIONS), r.randint(0, 8)
    spread = r.choice([0, 0, 5, 15])
    unit = Fraction(1, 2**precision.bits)
    exact = [
        r.wide(precision.bits) * unit * Fraction(2) ** r.randint(-spread, spread)
        for _ in range(degree + 1)
    ]
    c = mdqr.array(np.array(exact, dtype=object), precision=precision)
    exact = list(c.to_fractions())
    n, kind = r.randint(-3, 5), r.choice(_TYPES)
    n = int(kind is not bool or r.chance(0.5)) if kind is bool else n
    name = getattr(kind, "__name__", "MDArray")
    given = _given(seed, index, name, f"** {n}", c, precision)
    verdict = Verdict(components=degree + 1)
    found, error, caught = answered(lambda: series.PowerSeries(c) ** kind(n))
    verdict.note_warnings(caught)
    if error is not None:
        verdict.note_error(error)
        return given, verdict
    base, size = exact, [abs(x) for x in exact]
    if n < 0:
        base = _quotient([Fraction(1)], [x / exact[0] for x in exact], degree)
        base = [x / exact[0] for x in base]
        # The residual of a computed inverse, times the inverse.
        inverse = [abs(x) for x in base]
        size = _times(_times(inverse, inverse), size)
    wanted, bound = ([Fraction(1), *[Fraction(0)] * degree] for _ in range(2))
    # Products may underflow: by limbs^2 units of the smallest double each.
    least = lost = (degree + 1) * precision.limbs**2 * Fraction(2) ** -1074
    for _ in range(abs(n)):
        wanted, bound = _times(wanted, base), _times(bound, size)
        lost = lost * max(1, sum(size)) + least
    factor = 16 * (degree + 10) * (1 + abs(n)) * Fraction(precision.eps)
    if max(bound) > Fraction(2) ** 900:
        verdict.outcome = "out of range"
        return given, verdict
    values = (found.coeffs.real if found.coeffs.is_complex else found.coeffs).to_fractions()
    for value, right, most in zip(values, wanted, bound, strict=True):
        if abs(value - right) > factor * most + lost:
            _fail(verdict, "bound_violated", f"{float(value)} for {float(right)}")
    return given, verdict


def _times(a, b):
    return [sum(a[j] * b[k - j] for j in range(k + 1)) for k in range(len(a))]


# -- texts ---------------------------------------------------------------------------------------

_NAMES = ["x", "y", "x1", "x2", "x_1", "z12", "_a", "lambda", "e", "E1", "I1", "ii", "x10", "s"]
_TAIL = "\nTITLE : a system of {n} equations\n\nTHE SOLUTIONS :\n1 2\nfunction = 3;\nx1 : 1.0E+00\n"


def texts(seed, index):
    """Judge the reading of one text: the right system, or a ValueError if it was damaged."""
    r = Draw(f"texts/{seed}/{index}")
    n = r.randint(1, 4)
    names = r.sample(_NAMES, n)
    parameter = "t" if r.chance(0.6) else "p0"
    equations = [_equation(r, names, parameter) for _ in range(n)]
    for i, name in enumerate(names):  # each unknown is there, in this order
        equations[0] += f" + {i + 2}*{name}"
    equations[0] = " + ".join(names) + " + " + equations[0]
    style = r.choice(["lines", "semicolons", "phcpack", "phcpack 2"])
    text = _styled(r, style, equations, n)
    named = parameter if parameter != "t" or r.chance(0.3) else None
    broken = r.chance(0.3)
    if broken:
        for _ in range(r.randint(1, 4)):
            at = r.randrange(len(text) + 1)
            text = (
                text[:at] + r.choice(["", *"x1;^*+-/().eE \n#%i\0{"]) + text[at + r.randint(0, 2) :]
            )
    given = _given(
        seed, index, "damaged" if broken else style, parameter, mdqr.zeros(1, precision="d"), mdqr.d
    )
    verdict = Verdict(components=1)
    found, error, caught = answered(lambda: series.System.from_text(text, None, named))
    verdict.note_warnings(caught)
    if error is not None:
        verdict.outcome = "refused"
        if not isinstance(error, ValueError) or not broken:
            verdict.note_error(error)
            verdict.note("crashed")
    elif not broken:
        wanted = series.System.from_strings(equations, names, parameter)
        same = repr(found) == repr(wanted) and bool(
            (found._rounded(mdqr.od) == wanted._rounded(mdqr.od)).all()
        )
        if not same:
            _fail(verdict, "bound_violated", f"{found!r} for {wanted!r}")
    return given, verdict


def _equation(r, names, parameter):
    terms = []
    for _ in range(r.randint(1, 4)):
        factors = [
            r.choice(["3", "0.5", "1/7", "2.5E-01", "1.0e+00", "(1 + 2*i)", "(-1/3)", ".25"])
        ]
        for name in r.sample([*names, parameter], r.randint(0, 1 + len(names))):
            power = r.randint(1, 3)
            factors.append(name if power == 1 else f"{name}{r.choice(['^', '**'])}{power}")
        terms.append(r.choice(["*", " * "]).join(factors))
    return r.choice([" + ", "-", "+", " - "]).join(terms)


def _styled(r, style, equations, n):
    if style == "lines":
        return "\n".join(equations) + r.choice(["", "\n", "\n\n# end\n"])
    if style == "semicolons":
        return r.choice([";\n", "; ", ";\n\n"]).join(equations) + ";" + r.choice(["", "\n"])
    head = f"{r.choice(['', ' '])}{n}" + (f" {n}" if style == "phcpack 2" else "")
    body = "".join(
        "\n" + equation.replace(" + ", r.choice([" + ", "\n + "])) + ";" for equation in equations
    )
    return head + r.choice(["", "\n"]) + body + (_TAIL.format(n=n) if r.chance(0.6) else "\n")
