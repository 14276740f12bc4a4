"""Verdicts on `det` and `slogdet`: values, bounds and digits against exact integers."""

from __future__ import annotations

import math
from fractions import Fraction

import flint
import numpy as np

import mdqr
from mdqr._precision import PRECISIONS

from .draws import Draw, limbs_of, product
from .exact import flint_matrix, integers
from .problems import Problem, limbs
from .verdicts import Verdict, answered

_LOG10_2 = math.log10(2)
_PERTURBED = 3


def determinant(seed, index):
    """Judge the determinant of one matrix, and that of a few within half a unit of its entries."""
    r = Draw(f"det/{seed}/{index}")
    given = _problem(r, seed, index)
    found, error, caught = answered(
        lambda: mdqr.linalg.det(given.a, precision=given.precision, return_info=True)
    )
    verdict = Verdict()
    warned = verdict.note_warnings(caught)
    exact = _exact(limbs(given.a))
    if error is not None:
        verdict.note_error(error)
        if verdict.outcome != "crashed" and _log2(exact) < 1023.9:
            verdict.note("needless_error")
        return given, verdict
    value, info = found
    if exact == (0, 0):
        verdict.outcome = "singular_warned" if warned else "solved"
        if not _is_zero(value) and not warned:
            verdict.outcome = "singular_silent"
            verdict.note("singular_silent")
        if _is_zero(value) and any("shown" in str(w.message) for w in caught):
            verdict.note("needless_warning")
    verdict.components += 1
    distance = _distance(value, exact)
    _compare(verdict, distance, float(info.error_bound), "ordinary")
    _judge_digits(verdict, distance, exact, float(info.digits))
    eps = given.answer.eps
    right = distance <= Fraction((4 * given.a.shape[0] + 32) * eps) ** 2 * _square(exact)
    if not right and not warned:
        verdict.note("silent_error")
    for _ in range(_PERTURBED):
        moved = _exact(_perturbed(r, given))
        verdict.components += 1
        _compare(verdict, _distance(value, moved), float(info.data_error_bound), "within data")
    _judge_slogdet(given, exact, verdict)
    return given, verdict


def _judge_slogdet(given, exact, verdict):
    found, error, _ = answered(lambda: mdqr.linalg.slogdet(given.a, precision=given.precision))
    if error is not None:
        verdict.note("crashed")
        return
    bound = float(found.info.error_bound)
    if exact == (0, 0):
        if float(found.logabsdet) > -math.inf and bound < math.inf:
            verdict.note("bound_violated")
        return
    if not math.isfinite(bound):
        return
    with flint.ctx.workprec(1200):
        square = _square(exact)
        logarithm = flint.arb(flint.fmpq(square.numerator, square.denominator)).log() / 2
        value = Fraction(found.logabsdet.to_fractions().item())
        error = abs(flint.arb(flint.fmpq(value.numerator, value.denominator)) - logarithm)
        if not error <= flint.arb(bound):
            verdict.violations["logarithm"] += 1
            verdict.note("bound_violated", "excess", 0.0)


def _compare(verdict, distance, bound, kind):
    if distance == 0 or bound == math.inf:
        return
    error = (math.log2(distance.numerator) - math.log2(distance.denominator)) / 2
    gap = ((math.log2(bound) if bound > 0 else -math.inf) - error) * _LOG10_2
    if gap < -1e-10:
        verdict.violations[kind] += 1
        verdict.note("bound_violated", "excess", min(-gap, 9999.0))
    elif kind == "ordinary":
        verdict.gaps.append((kind, gap))


def _judge_digits(verdict, distance, exact, digits):
    if distance == 0:
        return
    true = 0.0
    if exact != (0, 0):
        ratio = distance / _square(exact)
        true = -(math.log2(ratio.numerator) - math.log2(ratio.denominator)) / 2 * _LOG10_2
    if digits > max(true, 0.0) + (0.05 if digits >= 1 else 0.31):
        verdict.false["ordinary"] += 1
        verdict.note("false_digits", "overclaim", digits - true)


def _square(value):
    return value[0] ** 2 + value[1] ** 2


def _log2(value):
    square = _square(value)
    if not square:
        return -math.inf
    return (math.log2(square.numerator) - math.log2(square.denominator)) / 2


def _is_zero(value):
    return not np.asarray(value.limbs).any()


def _distance(value, exact):
    """The square of the distance of a 0-d array from an exact number."""
    parts = (value.real, value.imag) if value.is_complex else (value, 0 * value)
    held = [Fraction(part.to_fractions().item()) for part in parts]
    return sum((x - y) ** 2 for x, y in zip(held, exact, strict=True))


def _exact(block):
    """The determinant of limbs ``(parts, N, n, n)``, real and imaginary."""
    ints, exponent = integers(block, (0, 1))
    n, unit = block.shape[-1], Fraction(2) ** (int(exponent.ravel()[0]) * block.shape[-1])
    if len(ints) == 1:
        return Fraction(int(flint_matrix(ints[0]).det())) * unit, Fraction(0)
    # det(X + t Y) is a polynomial in t: of its value at a large power of two all coefficients.
    largest = max(abs(int(x)) for x in ints.ravel()) if n else 1
    bits = n * (largest.bit_length() + n.bit_length() + 2) + 8
    rest = int(flint_matrix(ints[0] + (ints[1] << bits)).det())
    parts = [0, 0]
    for k in range(n + 1):
        coefficient = rest & ((1 << bits) - 1)
        coefficient -= (coefficient >> (bits - 1)) << bits
        rest = (rest - coefficient) >> bits
        parts[k % 2] += (-1) ** (k // 2) * coefficient
    return parts[0] * unit, parts[1] * unit


def _perturbed(r, given):
    """Limbs of a matrix whose entries lie within half a unit of those given."""
    block = limbs(given.a)
    ints, exponents = integers(block, ())
    wide = 60
    unit = given.data.bits
    found = np.empty((*ints.shape, 1), dtype=object)
    signs = [r.choice([-1, 1]) for _ in range(ints.size)]
    moved = []
    for x, sign in zip(ints.ravel().tolist(), signs, strict=True):
        size = abs(x)
        moved.append((x << unit + wide) + sign * (size << wide) if size else 0)
    found = np.array(moved, dtype=object).reshape(ints.shape)
    return _limbs_of_exact(found, np.broadcast_to(exponents - (unit + wide), ints.shape))


def _limbs_of_exact(ints, exponents):
    """Pieces of 53 bits of integers times powers of two, as an array of doubles."""
    pieces, low = [], exponents.copy()
    signs = np.where(ints < 0, -1, 1).astype(object)
    rest = abs(ints)
    while any(rest.ravel().tolist()):
        piece = signs * (rest & ((1 << 53) - 1))
        pieces.append(np.ldexp(piece.astype(np.float64), low.astype(np.int32)))
        rest, low = rest >> 53, low + 53
    if not pieces:
        pieces = [np.zeros(ints.shape)]
    return np.stack(pieces, axis=1)


def _problem(r, seed, index):
    data = r.precision(25, 30, 25, 20)
    precision = None if r.chance(0.8) else r.choice(PRECISIONS)
    parts = 2 if r.chance(0.25) else 1
    n = r.choice([1, 2, 2, 3, 3, 4, 5, 6, 7, 9])
    n = r.randint(10, 20) if parts == 1 and r.chance(0.04) else n
    name = r.choice(list(_FAMILIES))
    ints, exponents = _FAMILIES[name](r, parts, n, data.bits)
    side = r.choice(["near", "near", "graded", "far"])
    if side == "graded":
        exponents = exponents + r.exponents((n, 1), 110) + r.exponents((1, n), 110)
    elif side == "far":
        exponents = exponents + r.randint(-300, 300)
    block = limbs_of(ints, np.broadcast_to(exponents, ints.shape), data.limbs)
    block = np.ascontiguousarray(block)
    a = mdqr.from_limbs(block, dtype=complex) if parts == 2 else mdqr.from_limbs(block[0])
    return Problem(seed, index, name, side, a, None, None, precision, data)


def _integers(r, parts, n, bits):
    return r.small((parts, n, n), r.choice([1, 9, 999])), np.zeros((n, n), dtype=np.int64)


def _singular_integers(r, parts, n, bits):
    rank = max(n - r.randint(1, 2), 0)
    most = r.choice([2, 9, 99])
    found = product(r.small((parts, n, rank), most), r.small((parts, rank, n), most))
    return found, np.zeros((n, n), dtype=np.int64)


def _skew(r, parts, n, bits):
    x = r.small((parts, n, n), r.choice([9, 9999]))
    return x - x.swapaxes(1, 2), np.zeros((n, n), dtype=np.int64)


def _dyadics(r, parts, n, bits):
    ints, _ = r.choice([_integers, _singular_integers])(r, parts, n, bits)
    return ints, r.exponents((n, 1), 6) + r.exponents((1, n), 6)


def _random(r, parts, n, bits):
    return r.full((parts, n, n), bits), np.full((n, n), -bits)


def _equal_rows(r, parts, n, bits):
    ints = r.full((parts, n, n), bits)
    if n > 1:
        i, j = r.sample(range(n), 2)
        ints[:, i] = ints[:, j]
    return ints, np.full((n, n), -bits)


def _near_singular(r, parts, n, bits):
    """A singular matrix, and changes of the last bits, or of bits below a random one."""
    ints, exponents = _equal_rows(r, parts, n, bits - 2)
    shift = r.choice([0, r.randint(0, bits - 3)])
    return ints + (r.small((parts, n, n), 3) << shift), exponents


def _products(r, parts, n, bits):
    """Products of tall and wide matrices, rounded to the precision."""
    rank = max(n - 1, 1)
    half = bits // 2
    found = product(r.full((parts, n, rank), bits), r.full((parts, rank, n), bits))
    shift = max(max(abs(x).bit_length() for x in found.ravel().tolist()) - bits, 0)
    return found >> shift, np.full((n, n), -half)


_FAMILIES = {
    f.__name__.strip("_"): f
    for f in (
        _integers,
        _singular_integers,
        _skew,
        _dyadics,
        _random,
        _equal_rows,
        _near_singular,
        _products,
    )
}
