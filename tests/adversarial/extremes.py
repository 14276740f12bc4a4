"""Verdicts on `repair`, `lu_solve`, `cho_solve` and streams without data, in extreme units."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

import mdqr
from mdqr._precision import PRECISIONS

from .components import judge_all
from .draws import Draw, limbs_of, product
from .exact import Truth
from .problems import Problem, limbs
from .verdicts import Verdict, answered


def repaired(seed, index):
    """Judge `repair`: factors are no worse than they were, by `certify`, and right to 40 n eps."""
    r = Draw(f"repair/{seed}/{index}")
    precision, parts = r.choice(PRECISIONS), 2 if r.chance(0.3) else 1
    n = r.randint(1, 5)
    m = n + r.randint(0, 4)
    a = _array(r.full((parts, m, n), precision.bits), -precision.bits, precision)
    family = r.choice(["near", "near", "dependent", "graded"])
    if family == "dependent" and n > 1:
        down = 2.0 ** -r.randint(1, int(0.8 * precision.bits))
        a[:, -1] = a[:, 0] + a[:, -1] * down
    if family == "graded":
        a = a * 2.0 ** r.exponents((1, n), 110)
    drift = 0.0 if r.chance(0.4) else precision.eps ** r.uniform(0.1, 1.1)
    Q, R = mdqr.linalg.qr(a)
    Q = Q + _array(r.full((parts, m, n), 40), -40, precision) * drift
    given = Problem(seed, index, family, "drift", a, None, None, None, precision)
    verdict = Verdict()
    before = _worst(mdqr.linalg.certify(a, Q, R))
    found, error, caught = answered(lambda: mdqr.linalg.repair(a, Q, R))
    verdict.note_warnings(caught)
    if error is not None:
        verdict.note_error(error)
        return given, verdict
    verdict.components += 1
    after = _worst(mdqr.linalg.certify(a, *found))
    if not after <= max(before * (1 + 1e-9), 40.0 * n):
        verdict.note("bound_violated", "excess", math.log10(after / max(before, 40.0 * n)))
    return given, verdict


def _worst(known):
    return max(float(known.normwise), float(known.orthogonality))


def by_factors(seed, index):
    """Judge the backward error of `lu_solve` or `cho_solve`, and the bounds of their errors."""
    r = Draw(f"factors/{seed}/{index}")
    precision, parts = r.choice(PRECISIONS), 2 if r.chance(0.3) else 1
    n, method = r.randint(1, 5), r.choice(["lu", "cholesky"])
    a = _array(r.full((parts, n, n), precision.bits), -precision.bits, precision)
    if method == "cholesky":
        a = a @ a.H + 2.0 ** -r.randint(0, 40) * mdqr.eye(n, precision=precision)
    a = a * 2.0 ** r.randint(-450, 450)
    b = _array(r.full((parts, n, 1), precision.bits), -precision.bits, precision)
    b = b * 2.0 ** r.randint(-1050, 450)
    given = Problem(seed, index, method, "units", a, b, None, None, precision)
    verdict = Verdict()
    found, error, caught = answered(lambda: _solution(method, a, b))
    verdict.note_warnings(caught)
    if error is not None:
        verdict.note_error(error)
        return given, verdict
    (x, info), lower, upper, order = found
    left, right, matrix, size, side = (_fractions(y) for y in (lower, upper, a, x, b))
    factor = stated(n, precision.eps, parts)
    grown = (_sums(left) @ _sums(right))[np.argsort(order)]
    rest = _residual(matrix, size, side)
    lost = Fraction(parts * precision.limbs, 2**1074) * _sums(matrix).sum(axis=-1)[:, None]
    allowed = Fraction(factor) * (grown @ _sums(size)) + lost
    verdict.components += n
    for error_of, bound in zip(rest.ravel(), allowed.ravel(), strict=True):
        if error_of > bound:
            verdict.violations["all"] += 1
            verdict.note("bound_violated", "excess", _decades(error_of) - _decades(bound))
        elif error_of:
            verdict.gaps.append(("all", _decades(bound) - _decades(error_of)))
    truth = Truth(limbs(a), limbs(b))
    if not truth.singular:
        judge_all(verdict, truth, limbs(x), info)
    return given, verdict


def stated(n, eps, parts):
    """Return what `lu_solve` and `cho_solve` promise of the backward error."""
    return (3.5 * n + 192) * eps * (4 if parts == 2 else 1)


def _solution(method, a, b):
    n = a.shape[0]
    if method == "cholesky":
        c = mdqr.linalg.cholesky(a)
        return mdqr.linalg.cho_solve((c, True), b, return_info=True), c, c.H, np.arange(n)
    lu, piv = mdqr.linalg.lu_factor(a)
    order = np.arange(n)
    for i, place in enumerate(piv):
        order[[i, place]] = order[[place, i]]
    lower = mdqr.tril(lu, -1) + mdqr.eye(n, precision=lu.precision)
    return mdqr.linalg.lu_solve((lu, piv), b, return_info=True), lower, mdqr.triu(lu), order


def stream(seed, index):
    """Judge `UpdatableLstsq(keep_data=False)` with columns and sides in extreme units."""
    r = Draw(f"stream/{seed}/{index}")
    precision, parts = r.choice(PRECISIONS), 2 if r.chance(0.3) else 1
    n = r.randint(1, 3)
    m, more = n + r.randint(1, 4), r.randint(0, 3)
    shape = (parts, m + more, n + 1)
    units = np.array(
        [r.choice([0, r.randint(-1020, -500), r.randint(-500, 300)]) for _ in range(n)]
    )
    side = r.choice([0, r.randint(-1000, -500), r.randint(-300, 300)])
    exponents = np.broadcast_to(np.append(units, side) - precision.bits, shape[1:])
    data = limbs_of(r.full(shape, precision.bits), exponents, precision.limbs)
    both = _made(data, parts)
    a, b = both[:, :n], both[:, n]
    given = Problem(seed, index, f"{n} columns", "units", a, b, None, None, precision)
    verdict = Verdict()

    def call():
        fit = mdqr.linalg.UpdatableLstsq(a[:m], b[:m], keep_data=False)
        for i in range(m, m + more):
            fit.insert_rows(a[i], b[i])
        return fit.solve(), fit.info

    found, error, caught = answered(call)
    verdict.note_warnings(caught)
    if error is not None:
        verdict.note_error(error)
        return given, verdict
    x, info = found
    truth = Truth(limbs(a), limbs(b)[..., None])
    if truth.singular:
        return given, verdict
    block = limbs(x)[..., None]
    if not np.isfinite(block).all():
        verdict.note("infinite_silent")
        return given, verdict
    judge_all(verdict, truth, block, info)
    return given, verdict


def _array(ints, exponent, precision):
    return _made(limbs_of(ints, np.full(ints.shape[1:], exponent), precision.limbs), len(ints))


def _made(block, parts):
    block = np.ascontiguousarray(block)
    return mdqr.from_limbs(block, dtype=complex) if parts == 2 else mdqr.from_limbs(block[0])


def _fractions(x):
    """Real and imaginary parts as object arrays of fractions ``(parts, m, n)``."""
    parts = [x.real, x.imag] if x.is_complex else [x]
    return np.stack([np.asarray(part.to_fractions()) for part in parts])


def _sums(parts):
    """The sums of the moduli of the parts: at most 1.42 times the moduli of the values."""
    return abs(parts).sum(axis=0)


def _residual(a, x, b):
    """The larger part of each entry of ``b - A x``."""
    return abs(b - product(a, x)).max(axis=0)


def _decades(value):
    if not value:
        return -math.inf
    return math.log10(value.numerator) - math.log10(value.denominator)
