"""Verdicts on the bounds of `svd`, `eigh`, `eigh` with b and `pinv`, by exact polynomials.

Eigenvalues are roots of a characteristic polynomial over the integers, or the rationals, which
python-flint encloses; singular values are roots of those of ``A^H A``.
"""

from __future__ import annotations

import math
from fractions import Fraction

import flint
import numpy as np

import mdqr

from . import families
from .draws import Draw, conjugate_transpose, limbs_of, product
from .exact import embedded, flint_matrix, integers, log2
from .problems import Problem, _array, _chosen, _normal, _precisions, _within, limbs
from .verdicts import Verdict, answered

# Bits of roots: far more than any bound is relative to a value.
_BITS = 3000
_LOG10_2 = math.log10(2)


def svd(seed, index):
    """Judge singular values, the vectors' residuals aside."""
    r = Draw(f"svd/{seed}/{index}")
    given = _given(r, (seed, index))
    found, error, caught = answered(lambda: mdqr.linalg.svd(given.a, precision=given.precision))
    verdict = Verdict()
    verdict.note_warnings(caught)
    if error is not None:
        verdict.note_error(error)
        return given, verdict
    ints, power = _integers(limbs(given.a))
    ints = ints if ints.shape[-2] >= ints.shape[-1] else conjugate_transpose(ints)
    squares = _roots(flint_matrix(embedded(product(conjugate_transpose(ints), ints))), len(ints))
    exact = [_root(value) for value in reversed(squares)]
    _judge(verdict, given, found.S, found.info, [(x, power) for x in exact])
    return given, verdict


def eigh(seed, index):
    """Judge eigenvalues of one matrix."""
    r = Draw(f"eigh/{seed}/{index}")
    given = _given(r, (seed, index), hermitian=True)
    found, error, caught = answered(lambda: mdqr.linalg.eigh(given.a, precision=given.precision))
    verdict = Verdict()
    verdict.note_warnings(caught)
    if error is not None:
        verdict.note_error(error)
        return given, verdict
    ints, power = _integers(limbs(given.a))
    exact = _roots(flint_matrix(embedded(ints)), len(ints))
    _judge(verdict, given, found.eigenvalues, found.info, [(x, power) for x in exact])
    return given, verdict


def eigh_of_two(seed, index):
    """Judge eigenvalues of two matrices, the second of any condition."""
    r = Draw(f"pair/{seed}/{index}")
    given = _given(r, (seed, index), hermitian=True, second=True)
    found, error, caught = answered(
        lambda: mdqr.linalg.eigh(given.a, b=given.b, precision=given.precision)
    )
    verdict = Verdict()
    verdict.note_warnings(caught)
    if error is not None:
        verdict.outcome = "raised"
        verdict.note_error(error)
        return given, verdict
    (a, of_a), (b, of_b) = (_integers(limbs(x)) for x in (given.a, given.b))
    parts = max(len(a), len(b))
    a, b = (flint_matrix(embedded(x if len(x) == parts else _complex(x))) for x in (a, b))
    quotient = flint.fmpq_mat(b).inv() * flint.fmpq_mat(a)
    exact = _roots(quotient, parts)
    _judge(verdict, given, found.eigenvalues, found.info, [(x, of_a - of_b) for x in exact])
    return given, verdict


def pinv(seed, index):
    """Judge pseudoinverses of matrices of full rank."""
    r = Draw(f"pinv/{seed}/{index}")
    given = _given(r, (seed, index))
    found, error, caught = answered(
        lambda: mdqr.linalg.pinv(given.a, rtol=0, precision=given.precision, return_info=True)
    )
    verdict = Verdict()
    verdict.note_warnings(caught)
    if error is not None:
        verdict.outcome = "raised"
        verdict.note_error(error)
        return given, verdict
    ints, power = _integers(limbs(given.a))
    wide = ints.shape[-2] < ints.shape[-1]
    tall = flint.fmpq_mat(flint_matrix(embedded(conjugate_transpose(ints) if wide else ints)))
    gram = tall.transpose() * tall
    if gram.det() == 0:
        verdict.outcome = "singular"
        if np.isfinite(found[1].error_bound).any() and found[1].bound_kind == "proven":
            verdict.note("bound_violated", "excess", 9999.0)
        return given, verdict
    inverse = gram.inv() * tall.transpose()
    inverse = inverse.transpose() if wide else inverse
    x, info = found
    (m, n), bound = x.shape, info.error_bound
    values, at = _integers(limbs(x))
    for i, j in np.ndindex(m, n):
        verdict.components += 1
        exact = [
            _fraction(inverse[i + m * part, j]) * Fraction(2) ** -power for part in range(len(ints))
        ]
        error = [
            abs(Fraction(int(values[part, i, j])) * Fraction(2) ** at - e)
            for part, e in enumerate(exact)
        ]
        _compare(verdict, _root(sum(e * e for e in error)), float(bound[i, j]))
    return given, verdict


def _complex(x):
    return np.concatenate([x, np.zeros_like(x)])


def _given(r, name, *, hermitian=False, second=False):
    """Return a problem: rows and columns are now and then graded by 2**110 and less."""
    data, precision = _precisions(r)
    parts = 2 if r.chance(0.3) else 1
    family = _chosen(r, families.FAMILIES)
    n = r.choice([1, 2, 2, 3, 3, 4, 5, 6])
    m = n if hermitian or r.chance(0.5) else n + r.randint(1, 3)
    scale = r.choice([0, 0, 0, r.randint(-60, 60), r.randint(-400, 400)])
    graded = r.choice([0, 0, 0, 20, 110])
    a = _matrix(r, family, (parts, m, n), data, scale, graded, hermitian)
    if not hermitian and r.chance(0.3):
        a = conjugate_transpose_limbs(a)
    b = None
    if second:
        # A product whose condition is that of a factor squared.
        ints = families._conditioned(r, parts, n, n, 60, r.uniform(0, 0.5) * data.bits)
        ints = product(conjugate_transpose(ints), ints)
        exponents = _graded(r, r.choice([0, 0, 20, 110]), n)
        b = _normal(limbs_of(ints, _within(ints, exponents[:, None] + exponents, 0), data.limbs))
        b = _mirrored(b)
    wrap = [None if x is None else _array(x, r) for x in (a, b)]
    return Problem(*name, family.__name__, "graded" if graded else "", *wrap, None, precision, data)


def conjugate_transpose_limbs(a):
    """Return limbs ``(parts, N, n, m)`` of the conjugate transpose."""
    a = a.swapaxes(-1, -2).copy()
    if len(a) == 2:
        a[1] = -a[1]
    return a


def _graded(r, most, count):
    return r.exponents((count,), most)


def _matrix(r, family, shape, data, scale, graded, hermitian):
    ints, exponents = family(r, *shape, data.bits)
    ints = ints[:, : shape[1]]
    exponents = exponents if np.ndim(exponents) == 0 else exponents[: shape[1]]
    rows = _graded(r, graded, ints.shape[1])
    columns = rows if hermitian else _graded(r, graded, ints.shape[2])
    power = _within(ints, exponents, scale) + rows[:, None] + columns
    a = _normal(limbs_of(ints, power, data.limbs))
    return _mirrored(a) if hermitian else a


def _mirrored(a):
    """Return the Hermitian matrix of a lower triangle."""
    if len(a) == 2:
        order = np.arange(a.shape[-1])
        a[1][:, order, order] = 0.0
    lower = np.tril(a)
    return lower + conjugate_transpose_limbs(np.tril(a, -1))


def _integers(block):
    """Return integers ``(parts, m, n)`` and the power of two they are to be multiplied by."""
    ints, power = integers(block, (0, 1))
    return ints, int(power.ravel()[0])


def _roots(matrix, parts):
    """Return the real eigenvalues as fractions, in order; of an embedding each once."""
    polynomial = matrix.charpoly()
    if isinstance(polynomial, flint.fmpq_poly):
        polynomial = polynomial.numer()
    with flint.ctx.workprec(_BITS):
        found = [(_middle(root.real), count) for root, count in polynomial.complex_roots()]
    return sorted(value for value, count in found for _ in range(count // parts))


def _middle(value):
    man, exponent = value.mid().man_exp()
    return Fraction(int(man)) * Fraction(2) ** int(exponent)


def _fraction(value):
    return Fraction(int(value.p), int(value.q))


def _root(value):
    """The square root of a fraction, to 3000 bits."""
    with flint.ctx.workprec(_BITS):
        return _middle((flint.arb(flint.fmpq(value.numerator, value.denominator))).sqrt())


def _judge(verdict, given, values, info, exact):
    """Compare each value with its bound, and its digits with its error."""
    if not np.isfinite(info.error_bound).any() and values.size:
        verdict.note("no_bound")
    found = values.to_fractions()
    for i, (value, power) in enumerate(exact):
        verdict.components += 1
        wanted = value * Fraction(2) ** power
        error = abs(found[i] - wanted)
        _compare(verdict, error, float(info.error_bound[i]), abs(wanted), given.answer.eps)
        claim = float(info.digits[i])
        if claim and error:
            true = max(0.0, _log10(abs(wanted) / error))
            if claim > true + (0.05 if claim >= 1 else 0.31):
                verdict.false["all"] += 1
                verdict.note("false_digits", "overclaim", claim - true)


def _log10(value):
    return (log2(value.numerator) - log2(value.denominator)) * _LOG10_2 if value else -math.inf


def _compare(verdict, error, bound, size=None, eps=0.0):
    if error > bound:
        verdict.violations["all"] += 1
        excess = math.inf if not bound else _log10(error / Fraction(bound))
        verdict.note("bound_violated", "excess", min(excess, 9999.0))
    elif error and bound < math.inf and error > 2.0**-1000:
        kind = "relative" if size is None or bound <= 8 * eps * size else "of few digits"
        verdict.gaps.append((kind, _log10(Fraction(bound) / Fraction(error))))
