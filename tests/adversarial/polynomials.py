"""Random polynomials, and verdicts on what `roots` says of them, against balls of flint."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import Any

import flint
import mpmath
import numpy as np
from scipy.optimize import linear_sum_assignment

import mdqr
from mdqr._precision import PRECISIONS

from .draws import Draw, limbs_of
from .verdicts import Verdict, answered

_LOWEST = 1074
_BITS = 3000
# What the balls of the oracle are wide, relative to roots, and mpmath's rounding.
_ORACLE = mpmath.mpf(2) ** -2400


@dataclass
class PolynomialProblem:
    """Coefficients, that of the highest power first, as an array; `errors` is `data_error`."""

    seed: int
    index: int
    family: str
    side: str
    a: Any
    data: Any
    errors: Any
    b: Any = None
    weights: Any = None

    @property
    def answer(self):
        return self.data

    @property
    def work(self):
        return self.data


def _times(p, q):
    """The product of polynomials of Gaussian integers, as pairs."""
    found = [[0, 0] for _ in range(len(p) + len(q) - 1)]
    for i, (a, b) in enumerate(p):
        for j, (c, d) in enumerate(q):
            found[i + j][0] += a * c - b * d
            found[i + j][1] += a * d + b * c
    return found


def _product(roots):
    """``prod (q x - p)`` of roots ``p / q``, p a Gaussian integer."""
    return reduce(_times, ([[q, 0], [-re, -im]] for re, im, q in roots), [[1, 0]])


def _dense(r, n, is_complex, bits):
    return [[r.wide(bits), r.wide(bits) if is_complex else 0] for _ in range(n + 1)], 0


def _graded(r, n, is_complex, bits):
    p, _ = _dense(r, n, is_complex, bits)
    return p, r.exponents((n + 1,), 110)


def _extreme(r, n, is_complex, bits):
    """From 1e-313 to 1e295 and a little beyond."""
    p, _ = _dense(r, min(n, 8), is_complex, bits)
    most = r.choice((300, 600, 1000))
    return p, r.exponents((len(p),), most) - bits


def _integers(r, n, is_complex, bits):
    most = r.choice((1, 3, 9, 1000))
    return [
        [r.randint(-most, most), r.randint(-most, most) if is_complex else 0] for _ in range(n + 1)
    ], 0


def _root(r, is_complex, most=6):
    return r.randint(-most, most), r.randint(-most, most) if is_complex else 0, r.randint(1, 4)


def _multiple(r, n, is_complex, bits):
    roots = []
    while len(roots) < max(n, 2) and len(roots) < 9:
        roots += [_root(r, is_complex)] * r.randint(1, 4)
    return _product(roots), 0


def _clusters(r, n, is_complex, bits):
    """Roots at distances of powers of eps, or of any power of two."""
    k = r.choice((bits // 4, bits // 2, bits, r.randint(3, 2 * bits)))
    centre = _root(r, is_complex, 3)
    q = centre[2] << k
    roots = [
        ((centre[0] << k) + r.randint(-3, 3), (centre[1] << k) + is_complex * r.randint(-3, 3), q)
        for _ in range(r.randint(2, 4))
    ]
    return _product(roots + [_root(r, is_complex) for _ in range(r.randint(0, 3))]), 0


def _famous(r, n, is_complex, bits):
    """Wilkinson, Mignotte, Chebyshev, roots of unity, truncated exponentials."""
    kind = r.randrange(5)
    if kind == 0:
        first = r.choice((0, 1, 10, 1000))
        return _product([(first + k, 0, 1) for k in range(n)]), 0
    if kind == 1:
        a = r.choice((10, 100, 2**20))
        p = [[0, 0] for _ in range(max(n, 3) + 1)]
        p[0][0], p[-3][0], p[-2][0], p[-1][0] = 1, -2 * a * a, 4 * a, -2
        return p, 0
    if kind == 2:
        return [[int(c), 0] for c in flint.fmpz_poly.chebyshev_t(n).coeffs()[::-1]], 0
    if kind == 3:
        return [[1, 0], *([0, 0] for _ in range(n - 1)), [r.randint(1, 9), is_complex * 3]], 0
    return [[math.factorial(n) // math.factorial(k), 0] for k in range(n, -1, -1)], 0


def _lacunary(r, n, is_complex, bits):
    p, _ = _dense(r, n, is_complex, bits)
    p = [c if k in (0, n) or r.chance(0.3) else [0, 0] for k, c in enumerate(p)]
    return p, r.exponents((n + 1,), 60)


FAMILIES = {
    "dense": _dense,
    "graded": _graded,
    "extreme": _extreme,
    "integers": _integers,
    "multiple": _multiple,
    "clusters": _clusters,
    "famous": _famous,
    "lacunary": _lacunary,
}


def problem(seed, index):
    """Return the polynomial of that name."""
    r = Draw(f"roots/{seed}/{index}")
    precision = r.choice(PRECISIONS)
    family = r.choice(list(FAMILIES))
    is_complex = r.chance(0.3)
    n = r.choice((1, 2, 2, 3, 3, 4, 5, 6, 8, 12, 16))
    parts, exponents = FAMILIES[family](r, n, is_complex, precision.bits)
    zeros = [[0, 0]] * r.choice((0, 0, 0, 0, 0, 0, 1, 2))
    ends = [[0, 0]] * r.choice((0, 0, 0, 0, 0, 0, 1, 2))
    exponents = np.broadcast_to(exponents, len(parts)).tolist()
    exponents = [*(0 for _ in zeros), *exponents, *(0 for _ in ends)]
    ints = np.array([*zeros, *parts, *ends], dtype=object).T
    block = limbs_of(ints, np.array(exponents, dtype=np.int64), precision.limbs)
    array = mdqr.from_limbs(
        block if is_complex else block[0], dtype=complex if is_complex else float
    )
    errors = None
    if r.chance(0.2):
        errors = {"p_rtol": 2.0 ** -r.randint(4, precision.bits)}
    side = "zeros at the ends" if zeros or ends else "none"
    return PolynomialProblem(seed, index, family, side, array, precision, errors)


def _gaussian(array):
    """The coefficients in units of 2**-1074, as pairs of integers."""
    block = array.limbs if array.is_complex else array.limbs[None]
    parts = []
    for part in block:
        columns = part.T.tolist()
        parts.append([sum(_units(limb) for limb in column) for column in columns])
    re, im = parts if len(parts) == 2 else (parts[0], [0] * len(parts[0]))
    return list(zip(re, im, strict=True))


def _units(x):
    numerator, denominator = x.as_integer_ratio()
    return (numerator << _LOWEST) // denominator


def exact_roots(pairs):
    """The roots of Gaussian integers as mpmath numbers; None where flint does not find them."""
    while pairs and pairs[0] == (0, 0):
        pairs = pairs[1:]
    if not pairs:
        return []
    zeros = 0
    while pairs[-1] == (0, 0):
        pairs, zeros = pairs[:-1], zeros + 1
    if len(pairs) == 1:
        return [mpmath.mpc(0)] * zeros
    found = [mpmath.mpc(0)] * zeros
    with flint.ctx.workprec(_BITS):
        if all(im == 0 for _, im in pairs):
            p = flint.fmpz_poly([re for re, _ in pairs[::-1]])
            for factor, count in p.factor_squarefree()[1]:
                found += [_number(z) for z, _ in factor.complex_roots()] * count
            return found
        return _complex_roots(pairs, found)


def _complex_roots(pairs, found):
    """The roots of p: those of ``p conj(p)``, which is real, where p vanishes.

    None where p has a root and its conjugate that is not real: only their sum is known of how often
    they count.
    """
    re, im = (flint.fmpz_poly(list(part)[::-1]) for part in zip(*pairs, strict=True))
    for factor, count in (re * re + im * im).factor_squarefree()[1]:
        for z, _ in factor.complex_roots():
            vanish = [
                (flint.acb_poly(re)(x) + flint.acb(0, 1) * flint.acb_poly(im)(x)).contains(0)
                for x in (z, z.conjugate())
            ]
            if all(vanish) and z.imag != 0:
                return None
            found += [_number(z)] * (count // (1 + all(vanish)) if vanish[0] else 0)
    return found


def _number(z):
    """The midpoint of a ball, which is narrow."""
    with mpmath.workprec(_BITS):
        return mpmath.mpc(*(mpmath.mpf(_dyadic(x.mid())) for x in (z.real, z.imag)))


def _dyadic(x):
    mantissa, exponent = x.man_exp()
    return (int(mantissa < 0), abs(int(mantissa)), int(exponent), int(abs(mantissa)).bit_length())


def roots(seed, index):
    """Judge the roots of one polynomial: disks, counts, symmetry, order, data errors."""
    given = problem(seed, index)
    found, error, caught = answered(lambda: mdqr.linalg.roots(given.a, data_error=given.errors))
    verdict = Verdict()
    verdict.note_warnings(caught)
    verdict.flags.discard("warned")
    pairs = _gaussian(given.a)
    exact = exact_roots(pairs)
    with mpmath.workprec(_BITS):
        if error is not None:
            largest = max(map(abs, exact), default=0) if exact else 0
            if not verdict.note_error(error) or largest < mpmath.mpf(2) ** 1023:
                verdict.note("crashed")
            verdict.outcome = "beyond doubles"
        elif exact is None:
            verdict.outcome = "not judged"
        else:
            _judge(given, found, exact, pairs, verdict)
    return given, verdict


def _judge(given, found, exact, pairs, verdict):
    values = [mpmath.mpc(z) for z in np.atleast_1d(found.roots.to_mpmath())]
    verdict.components = len(values)
    if len(values) != len(exact):
        verdict.note("crashed")
        return
    if not values:
        return
    name = given.data.name
    excess = _excess(values, found.error_bound, exact)
    if excess > 0:
        verdict.note("bound_violated", "excess", excess)
        verdict.violations[name] += 1
    near = [min(range(len(exact)), key=lambda k: abs(z - exact[k])) for z in values]
    for i, z in enumerate(values):
        x, radius = exact[near[i]], mpmath.mpf(found.error_bound[i])
        inside = sum(abs(z - y) <= radius * (1 - 1e-9) for y in exact)
        if found.multiplicity[i] == 1 and inside > 1:
            verdict.note("counts_wrong")
        error = abs(z - x)
        if found.multiplicity[i] == 1 and error > abs(x) * _ORACLE and abs(z) > 2.0**-500:
            verdict.gaps.append(("count 1", float(mpmath.log10(radius / error))))
        digits = found.info.digits[i]
        right = given.data.digits if error == 0 or x == 0 else -mpmath.log10(error / abs(z or x))
        if digits > right + 1e-6 and found.multiplicity[i] == 1:
            verdict.note("false_digits", "overclaim", float(digits - right))
            verdict.false[name] += 1
    _judge_order(found, values, given.data.eps, verdict)
    if all(im == 0 for _, im in pairs):
        _judge_symmetry(found, values, exact, near, verdict)
    if given.index % 3 == 0:
        _judge_data(given, found, values, pairs, verdict)


def _excess(values, radii, exact):
    """log10 of how far beyond their radii roots are that are numbered as well as may be; or 0."""
    allowed = [
        [abs(z - x) <= r + abs(x) * _ORACLE for x in exact]
        for z, r in zip(values, radii, strict=True)
    ]
    allowed = np.array(allowed, dtype=bool)
    rows = linear_sum_assignment(~allowed)
    if allowed[rows].all():
        return 0.0
    i, j = (index[~allowed[rows]][0] for index in rows)
    size = abs(values[i] - exact[j])
    return max(float(mpmath.log10(size / radii[i])) if radii[i] else 1e3, 1e-3)


def _judge_order(found, values, eps, verdict):
    sizes = [abs(z) for z in values]
    for i, (x, y) in enumerate(pairwise(sizes)):
        slack = 4 * (found.error_bound[i] + found.error_bound[i + 1]) + mpmath.mpf(2) ** -1072
        if y > x * (1 + 4 * mpmath.mpf(eps)) + slack:
            verdict.note("order_wrong")


def _judge_symmetry(found, values, exact, near, verdict):
    """Roots of real polynomials: exactly real, or exact conjugates."""
    if (found.multiplicity == 1).all():
        keys = {(z.real, z.imag) for z in values}
        if any((z.real, -z.imag) not in keys for z in values):
            verdict.note("symmetry_lost")
        if any(exact[k].imag == 0 and z.imag != 0 for k, z in zip(near, values, strict=True)):
            verdict.note("symmetry_lost")


def _judge_data(given, found, values, pairs, verdict):
    """Move the coefficients within their errors."""
    r = Draw(f"moved/{given.seed}/{given.index}")
    unit = given.data.bits if given.errors is None else -round(math.log2(given.errors["p_rtol"]))
    size = 1 << 200
    moved = []
    for re, im in pairs:
        # Half of the bound for each part: the modulus of both is below it.
        change = [r.choice((-1, 1, r.randint(-size, size) / size)) for _ in range(2)]
        x, y = (int(change[k] * 2**60) for k in range(2))
        most = max(abs(re), abs(im))
        factor = 1 << unit + 61
        both = (re * factor + most * x, im * factor + (most * y if im else 0))
        moved.append(both)
    exact = exact_roots(moved)
    if exact is None or len(exact) != len(values):
        return
    bounds = found.info.data_error_bound
    finite = [float(b) if np.isfinite(b) else 1e308 for b in bounds]
    excess = _excess(values, finite, exact)
    if excess > 0 and np.isfinite(bounds).all():
        verdict.note("data_bound_violated", "excess", excess)
        verdict.violations[f"{given.data.name} data"] += 1
