"""Verdicts on `data_error_bound` near singular matrices: all data within their errors, exactly."""

from __future__ import annotations

import math
from fractions import Fraction

import flint
import numpy as np

import mdqr
from mdqr.linalg import inv, lstsq, solve

from .draws import Draw, limbs_of, product
from .exact import embedded
from .problems import Problem, limbs
from .verdicts import Verdict, answered

_LOG10_2 = math.log10(2)
_SIGNS = 3


def near_singular(seed, index):
    """Judge one system, tall, square or wide, whose condition takes most of its precision."""
    r = Draw(f"data errors/{seed}/{index}")
    given, errors, function = _problem(r, seed, index)
    found, error, caught = answered(lambda: _called(function, given, errors))
    verdict = Verdict()
    verdict.note_warnings(caught)
    if error is not None:
        verdict.outcome = "raised" if verdict.note_error(error) else "crashed"
        return given, verdict
    x, info = found
    a, b = _matrix(given.a), _matrix(given.b)
    inverse = None if info is None else _pseudo_inverse(a)
    if inverse is None:
        verdict.outcome = "by rank"
        return given, verdict
    computed, exact = _matrix(x), inverse * b
    parts = 2 if given.a.is_complex else 1
    stored, within = (
        np.asarray(y).reshape(-1, b.ncols() // parts)
        for y in (info.error_bound, info.data_error_bound)
    )
    _compare(verdict, _squares(exact - computed, parts), stored, "bound_violated")
    moved = _moved(r, a, b, inverse, errors, parts)
    for other in moved:
        _compare(verdict, _squares(other - computed, parts), within, "data_bound_violated")
    if "b_rtol" in errors and parts == 1:
        rtol = Fraction(errors["b_rtol"])
        worst = [
            [(sum(abs(_fraction(inverse[i, j] * b[j, k])) for j in range(b.nrows())) * rtol) ** 2
             for k in range(b.ncols())]
            for i in range(inverse.nrows())
        ]  # fmt: skip
        _compare(verdict, worst, within, "data_bound_violated")
    for digits, others in ((info.digits, [exact]), (info.data_digits, moved)):
        for other in others:
            _judge_digits(verdict, other, computed, np.asarray(digits), parts)
    return given, verdict


def _problem(r, seed, index):
    """A product of rank one less than full, but for what one in 2**gap of its entries is."""
    data, parts = r.precision(25, 45, 30), 2 if r.chance(0.25) else 1
    function = r.choice(["solve", "lstsq", "lstsq", "lstsq", "inv"])
    n = r.randint(2, 4)
    m = n if function != "lstsq" else n + r.choice([-2, -1, 0, 1, 3])
    m = max(m, 1)
    rank, gap = max(min(m, n) - 1, 1), r.randint(20, data.bits - 8)
    ints = product(r.small((parts, m, rank), 1024), r.small((parts, rank, n), 1024)) << gap
    ints = ints + r.small((parts, m, n), 9)
    far = r.choice([0, 0, 0, 40])
    exponents = r.exponents((m, 1), far) + r.exponents((1, n), far) - gap
    a = _array(ints, exponents, data)
    b = _array(r.full((parts, m), data.bits), r.exponents((m,), r.choice([0, 30])), data)
    if r.chance(0.5):
        errors = {"a_rtol": 0.0} | ({} if function == "inv" else {"b_rtol": r.choice([1e-3, 1e-9])})
    else:
        # Relative to the distance from a singular matrix.
        size = 2.0 ** (-gap - r.uniform(0, 40))
        errors = {"a_rtol": size * 2.0**-20} if far else {"a_atol": size}
        errors |= {} if function == "inv" else {"b_rtol": 0.0}
    shape = "wide" if m < n else "tall" if m > n else "square"
    given = Problem(seed, index, shape, next(iter(errors)), a, b, None, None, data)
    if function == "inv":
        given.b = mdqr.eye(n, precision=data, dtype=complex if parts == 2 else float)
    return given, errors, function


def _array(ints, exponents, data):
    held = limbs_of(ints, exponents, data.limbs)
    return mdqr.from_limbs(
        held if len(held) == 2 else held[0], dtype=complex if len(held) == 2 else float
    )


def _called(function, given, errors):
    """Return x and info, None of one by numerical rank."""
    if function == "lstsq":
        found = lstsq(given.a, given.b, data_error=errors)
        return found.x, found.info if found.rank == min(given.a.shape) else None
    if function == "inv":
        return inv(given.a, data_error=errors, return_info=True)
    return solve(given.a, given.b, data_error=errors, return_info=True)


def _matrix(x):
    """The real matrix over the rationals that a matrix or a vector stands for."""
    block = limbs(x)
    block = block[..., None] if block.ndim == 3 else block
    return _flint(embedded([_exact(part) for part in block]))


def _exact(part):
    found = np.zeros(part.shape[1:], dtype=object)
    for place in np.ndindex(found.shape):
        found[place] = sum(Fraction(float(limb)) for limb in part[(slice(None), *place)])
    return found


def _flint(values):
    flat = [flint.fmpq(x.numerator, x.denominator) for x in values.ravel()]
    return flint.fmpq_mat(*values.shape, flat)


def _pseudo_inverse(a):
    """Return the pseudo-inverse of a matrix of full rank, else None."""
    t = a.transpose()
    small = t * a if a.nrows() >= a.ncols() else a * t
    if small.det() == 0:
        return None
    return small.inv() * t if a.nrows() >= a.ncols() else t * small.inv()


def _moved(r, a, b, inverse, errors, parts):
    """Return solutions for data at the ends of their errors."""
    found = []
    for _ in range(_SIGNS):
        other, side = _perturbed(r, a, errors, "a", parts), _perturbed(r, b, errors, "b", parts)
        inverted = inverse if other is a else _pseudo_inverse(other)
        if inverted is not None:
            found.append(inverted * side)
    return found


def _perturbed(r, x, errors, name, parts):
    atol, rtol = (Fraction(errors.get(f"{name}_{kind}", 0.0)) for kind in ("atol", "rtol"))
    if not (atol or rtol):
        return x
    m, n = x.nrows() // parts, x.ncols() // parts
    out = np.zeros((parts, m, n), dtype=object)
    for i, j in np.ndindex(m, n):
        value = [_fraction(x[i + part * m, j]) for part in range(parts)]
        # Relative errors turn by a multiple of a right angle, absolute ones lie on an axis.
        turn = r.choice([(1, 0), (-1, 0), (0, 1), (0, -1)] if parts == 2 else [(1, 0), (-1, 0)])
        if parts == 2:
            (re, im), (c, s) = value, turn
            value = [
                re + atol * c + rtol * (re * c - im * s),
                im + atol * s + rtol * (re * s + im * c),
            ]
        else:
            value = [value[0] + turn[0] * (atol + rtol * abs(value[0]))]
        out[:, i, j] = value
    return _flint(embedded(list(out)))


def _fraction(x):
    return Fraction(int(x.p), int(x.q))


def _squares(x, parts):
    """The squares of the moduli of the entries."""
    m, n = x.nrows() // parts, x.ncols() // parts
    return [
        [sum(_fraction(x[i + part * m, k]) ** 2 for part in range(parts)) for k in range(n)]
        for i in range(m)
    ]


def _log2(square):
    return (math.log2(square.numerator) - math.log2(square.denominator)) / 2


def _compare(verdict, squares, bound, flag):
    for i, k in np.ndindex(bound.shape):
        verdict.components += 1
        square, most = squares[i][k], float(bound[i, k])
        if not square or most == math.inf:
            continue
        gap = ((math.log2(most) if most > 0 else -math.inf) - _log2(square)) * _LOG10_2
        kind = "stored" if flag == "bound_violated" else "within data"
        if gap < -1e-10:
            verdict.violations[kind] += 1
            verdict.note(flag, "excess", min(-gap, 9999.0))
        else:
            verdict.gaps.append((kind, gap))


def _judge_digits(verdict, exact, computed, digits, parts):
    wrong, sizes = _squares(exact - computed, parts), _squares(exact, parts)
    digits = digits.reshape(len(wrong), -1)
    for i, k in np.ndindex(digits.shape):
        if not wrong[i][k]:
            continue
        true = -_log2(wrong[i][k] / sizes[i][k]) * _LOG10_2 if sizes[i][k] else 0.0
        if digits[i, k] > max(true, 0.0) + 1e-9:
            verdict.false["digits"] += 1
            verdict.note("false_digits", "overclaim", digits[i, k] - true)
