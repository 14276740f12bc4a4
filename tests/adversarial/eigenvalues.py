"""Verdicts on `eig` of matrices and pairs: bounds of values and vectors against Arb's balls."""

from __future__ import annotations

import math
from contextlib import suppress

import flint
import numpy as np
from scipy.optimize import linear_sum_assignment

import mdqr
from mdqr._precision import PRECISIONS

from .draws import Draw, limbs_of, product
from .problems import Problem, _array, _normal, limbs
from .verdicts import Verdict, answered

_BITS = 4000
# Bits of the eigenvectors that inverse iteration finds.
_VECTOR_BITS = 1500


def eig(seed, index):
    """Judge eigenvalues, their counts and both kinds of vectors of one matrix."""
    r = Draw(f"eig/{seed}/{index}")
    data = r.choice(PRECISIONS)
    family = r.choice(_MATRICES)
    parts = 2 if r.chance(0.3) else 1
    a = _rounded(*family(r, parts, r.choice([2, 2, 3, 3, 3, 4, 5]), data.bits), data, r)
    given = Problem(seed, index, family.__name__, "matrix", _array(a, r), None, None, None, data)
    verdict = Verdict()
    found, error, caught = answered(lambda: mdqr.linalg.eig(given.a, left=True))
    verdict.note_warnings(caught)
    if error is not None:
        if verdict.note_error(error):
            verdict.outcome = "regular_raised"
            verdict.note("needless_error")
        return given, verdict
    with flint.ctx.workprec(_BITS):
        matrix, wanted = _matrix(limbs(given.a)), _eigenvalues(limbs(given.a))
        if wanted is None:
            verdict.outcome = "undecided"
            return given, verdict
        _judge_values(found, found.info.error_bound, wanted, verdict)
        _judge_vectors(found, matrix, _identity(given.a.shape[-1]), verdict)
        if r.chance(0.2):
            wanted = _eigenvalues(_perturbed(r, limbs(given.a), data))
            if wanted and not _within(
                _values(found.eigenvalues), found.info.data_error_bound, wanted
            ):
                verdict.violations["data"] += 1
                verdict.note("bound_violated")
    return given, verdict


def pencil(seed, index):
    """Judge eigenvalues and vectors of one pair; singular ones must raise, regular ones not."""
    r = Draw(f"pencil/{seed}/{index}")
    data = r.choice(PRECISIONS)
    family = r.choice(_PAIRS)
    n = r.choice([1, 2, 2, 3, 3, 4])
    ints, exponents = family(r, n, min(data.bits // 3, 60))
    pair = [_rounded(x, e, data, r) for x, e in zip(ints, exponents, strict=True)]
    a, b = (_array(x, r) for x in pair)
    given = Problem(seed, index, family.__name__, "pair", a, b, None, None, data)
    found, error, caught = answered(lambda: mdqr.linalg.eig(a, b, left=True))
    verdict = Verdict()
    verdict.note_warnings(caught)
    with flint.ctx.workprec(_BITS):
        polynomial = _determinant(limbs(a), limbs(b))
        if error is not None:
            if verdict.note_error(error):
                singular = polynomial is None
                verdict.outcome = "singular_raised" if singular else "regular_raised"
                if not singular:
                    verdict.note("needless_error")
        elif polynomial is None:
            verdict.outcome = "singular_silent"
            verdict.note("singular_silent")
        else:
            _judge_values(found, found.info.error_bound, _roots(polynomial), verdict)
            _judge_vectors(found, _matrix(limbs(a)), _matrix(limbs(b)), verdict)
    return given, verdict


# -- families ----------------------------------------------------------------------------------


def full_width(r, parts, n, bits):
    return r.full((parts, n, n), bits), 0


def graded_both(r, parts, n, bits):
    """Rows and columns of powers of two as far as the precision reaches."""
    ints = r.full((parts, n, n), bits) if r.chance(0.5) else r.small((parts, n, n))
    most = r.choice([20, 60, 110])
    return ints, r.exponents((n, 1), most) + r.exponents((1, n), most)


def one_row_and_column(r, parts, n, bits):
    """Small integers with one row and one column multiplied by a large power of two."""
    exponents, t = np.zeros((n, n), np.int64), r.randint(bits // 2, bits + 8)
    exponents[r.randrange(n)] += t
    exponents[:, r.randrange(n)] += t
    return r.small((parts, n, n), 4), exponents


def symmetric_graded(r, parts, n, bits):
    """Hermitian, graded on both sides alike."""
    ints, t = r.small((parts, n, n), 4), r.exponents((n,), bits + 8)
    ints[0] = np.triu(ints[0]) + np.triu(ints[0], 1).T
    if parts == 2:
        ints[1] = np.triu(ints[1], 1) - np.triu(ints[1], 1).T
    return ints, t[:, None] + t


def similar(r, parts, n, bits):
    """Jordan blocks and clusters, by integer similarities."""
    power = r.randint(4, max(bits - 40, 5))
    t = np.zeros((parts, n, n), dtype=object)
    for i in range(n):
        t[0, i, i] = (r.randint(-1, 1) << power) + r.randint(-1, 1)
        if i + 1 < n:
            t[0, i, i + 1] = r.randint(0, 1) << power
    for _ in range(n):
        i, j = r.sample(range(n), 2)
        factor = r.randint(-2, 2)
        t[:, i] += factor * t[:, j]
        t[:, :, j] -= factor * t[:, :, i]
    return t, -power


def sparse_integers(r, parts, n, bits):
    return r.small((parts, n, n), 3) * r.small((parts, n, n), 1), 0


def far_scales(r, parts, n, bits):
    ints, exponents = r.choice([full_width, sparse_integers, similar])(r, parts, n, bits)
    return ints, exponents + r.choice([-950, -700, 500, 850]) - _bits_of(ints)


_MATRICES = (
    *(full_width, graded_both, one_row_and_column, one_row_and_column),
    *(symmetric_graded, similar, sparse_integers, far_scales),
)


def integer_pairs(r, n, bits):
    most = r.choice([2, 9, 1 << 20])
    pair = [r.small((1, n, n), most) for _ in range(2)]
    if r.chance(0.3):
        pair[1][..., : r.randint(1, n)] = 0
    return pair, (0, 0)


def wide_pairs(r, n, bits):
    return [r.full((1, n, n), 3 * bits) for _ in range(2)], (0, 0)


def graded_pairs(r, n, bits):
    """Rows and columns of both by the same powers of two, and by others."""
    most = r.choice([30, 110])
    pair = [r.small((1, n, n)) if r.chance(0.5) else r.full((1, n, n), bits) for _ in range(2)]
    rows, columns = r.exponents((n, 1), most), r.exponents((1, n), most)
    other = r.exponents((n, 1), r.choice([0, 0, most]))
    return pair, (rows + columns, rows + columns + other)


def low_rank_pairs(r, n, bits):
    """Common columns or rows: singular for every s unless there are n of these."""
    k = r.randint(max(n - 1, 1), n)
    inner = [r.small((1, k, n), 6) for _ in range(2)]
    left = r.small((1, n, k), 6)
    return [product(left, x) for x in inner], (0, 0)


def kronecker_pairs(r, n, bits):
    """A canonical form with a singular block, or none, between integer matrices."""
    a, b = (np.zeros((1, n, n), dtype=object) for _ in range(2))
    k = r.randint(0, n - 1)
    # A block (k) x (k + 1), then regular rows, then one row of zeros or of small numbers.
    for i in range(k):
        a[0, i, i], b[0, i, i + 1] = 1, 1
    for i in range(k, n - 1):
        a[0, i, i + 1], b[0, i, i + 1] = r.randint(-9, 9), r.randint(0, 1)
    if r.chance(0.3):
        a[0, n - 1, r.randrange(n)] = 1
    left, right = (r.full((1, n, n), r.choice([4, bits])) for _ in range(2))
    return [product(product(left, x), right) for x in (a, b)], (0, 0)


_PAIRS = (integer_pairs, wide_pairs, graded_pairs, low_rank_pairs, kronecker_pairs)


def _bits_of(ints):
    return max((abs(int(x)).bit_length() for x in ints.ravel()), default=0)


def _rounded(ints, exponents, data, r):
    """Limbs of ``ints * 2**exponents``, near 1 where these are of full width."""
    shift = 0 if np.ndim(exponents) or _bits_of(ints) <= 60 or exponents else _bits_of(ints)
    return _normal(limbs_of(ints, exponents - shift, data.limbs))


def _perturbed(r, block, data):
    """Each entry changed by at most half a unit in its last place: limbs, one more than there."""
    moved = np.array([r.uniform(-1, 1) for _ in range(block[:, 0].size)]).reshape(block[:, 0].shape)
    # Of a complex entry, the error bounds the modulus.
    size = np.hypot(*block[:, 0]) if len(block) == 2 else abs(block[0, 0])
    change = moved * size * 2.0**-data.bits / 1.5
    return np.concatenate([block, change[:, None]], axis=1)


# -- the truth ---------------------------------------------------------------------------------


def _number(values):
    """The sum of limbs ``(parts, N)``."""
    parts = [sum((flint.arb(float(x)) for x in part), flint.arb(0)) for part in values]
    return flint.acb(*parts)


def _matrix(block):
    n = block.shape[-1]
    entries = [_number(block[:, :, i, j]) for i in range(block.shape[-2]) for j in range(n)]
    return flint.acb_mat(block.shape[-2], n, entries)


def _identity(n):
    return flint.acb_mat(n, n, [int(i == j) for i in range(n) for j in range(n)])


def _values(w):
    block = w.limbs
    return [_number(block[:, :, i]) for i in range(block.shape[-1])]


def _eigenvalues(block):
    """The eigenvalues as small balls, over Q if the matrix is real; None where Arb finds none."""
    if len(block) == 1:
        x = _exact(block)
        return _roots(flint.fmpq_mat(len(x), len(x), [v for row in x for v in row]).charpoly())
    for bits in (_BITS, 4 * _BITS):
        with flint.ctx.workprec(bits), suppress(ValueError):
            return _matrix(block).eig(multiple=True)
    return None


def _exact(block):
    """Integers over a power of two."""
    return [
        [_fmpq(block[0, :, i, j]) for j in range(block.shape[-1])] for i in range(block.shape[-2])
    ]


def _fmpq(values):
    total = flint.fmpq(0)
    for x in values:
        top, bottom = float(x).as_integer_ratio()
        total += flint.fmpq(top, bottom)
    return total


def _determinant(a, b):
    """``det(a - s b)`` as a polynomial over Q of a real pair; None if it is 0."""
    x, y = (_exact(block) for block in (a, b))
    n = len(x)
    total = flint.fmpq_poly([])
    for i in range(n + 1):
        entries = [
            p - i * q
            for left, right in zip(x, y, strict=True)
            for p, q in zip(left, right, strict=True)
        ]
        term = flint.fmpq_poly([flint.fmpq_mat(n, n, entries).det()])
        for j in set(range(n + 1)) - {i}:
            term *= flint.fmpq_poly([flint.fmpq(-j, i - j), flint.fmpq(1, i - j)])
        total += term
    return None if total == 0 else total


def _roots(polynomial):
    found = []
    for factor, count in polynomial.factor()[1]:
        found += [z for z, _ in factor.complex_roots()] * count
    return found


# -- verdicts ----------------------------------------------------------------------------------


def _above(x, bound):
    """Whether a ball lies beyond a float."""
    return math.isfinite(bound) and bool(x.abs_lower() > flint.arb(float(bound)))


def _within(values, bounds, wanted):
    """Whether exact values can be numbered so that none is surely beyond its bound.

    Those that are missing are infinite, as bounds may be.
    """
    near = np.array(
        [
            [not _above(z - x, r) for x in wanted]
            + [not math.isfinite(r)] * (len(values) - len(wanted))
            for z, r in zip(values, bounds, strict=True)
        ]
    ).reshape(len(values), len(values))
    return bool(near[linear_sum_assignment(~near)].all())


def _judge_values(found, bounds, wanted, verdict):
    finite = np.isfinite(found.eigenvalues.to_numpy())
    values = [
        z if ok else flint.acb(0)
        for z, ok in zip(_values(_safe(found.eigenvalues, finite)), finite, strict=True)
    ]
    bounds = np.where(finite, bounds, np.inf)
    verdict.components += len(values)
    if not _within(values, bounds, wanted):
        verdict.violations["values"] += 1
        verdict.note("bound_violated")
    for z, bound, count in zip(values, bounds, found.info.multiplicity, strict=True):
        near = [x for x in wanted if not _above(z - x, bound)]
        if math.isfinite(bound) and count == 1:
            if len(near) != 1:
                verdict.violations["counts"] += 1
                verdict.note("bound_violated")
            else:
                error = (
                    float((z - near[0]).abs_upper().log() / math.log(10))
                    if (z - near[0]) != 0
                    else -1e9
                )
                if error > -290 and bound > 1e-290:
                    verdict.gaps.append(("values", math.log10(bound) - error))


def _safe(w, finite):
    return w if finite.all() else mdqr.where(finite, w, 0)


def _judge_vectors(found, a, b, verdict):
    """Distances of vectors with a bound from those of inverse iteration."""
    bounds, counts = found.info.vector_error_bound, found.info.multiplicity
    for i in np.flatnonzero(np.isfinite(bounds) & (counts == 1)):
        if not np.isfinite(found.eigenvalues[i].to_numpy()):
            continue
        (value,) = _values(found.eigenvalues[i : i + 1])
        for x, p, q, z in (
            (found.eigenvectors, a, b, value),
            (found.left_eigenvectors, _adjoint(a), _adjoint(b), value.conjugate()),
        ):
            exact = _vector(p, q, z)
            if exact is None:
                continue
            distance = _distance(_matrix(x.limbs[:, :, :, i : i + 1]), exact)
            if _above(distance, bounds[i]):
                verdict.violations["vectors"] += 1
                excess = float(distance.abs_lower() / flint.arb(float(bounds[i])))
                verdict.note("bound_violated", "excess", math.log10(excess))
            elif distance.abs_upper() > flint.arb(2) ** -900:
                gap = math.log10(bounds[i]) - float(distance.abs_upper().log() / math.log(10))
                verdict.gaps.append(("vectors", gap))


def _adjoint(a):
    entries = [a[j, i].conjugate() for i in range(a.nrows()) for j in range(a.ncols())]
    return flint.acb_mat(a.nrows(), a.ncols(), entries)


def _vector(a, b, value):
    """The eigenvector next to a value, by inverse iteration; None where that does not settle."""
    n = a.nrows()
    # Next to no vector's dual is at right angles to this one.
    r = Draw("start")
    x = flint.acb_mat(n, 1, [flint.acb(r.getrandbits(40), r.getrandbits(40)) for _ in range(n)])
    last = None
    shifted = (a - b * value).mid()
    for _ in range(60):
        try:
            x = shifted.solve((b * x).mid(), algorithm="approx").mid()
        except (ValueError, ZeroDivisionError):
            return None
        size = sum((y.abs_upper() ** 2 for y in x.entries()), flint.arb(0)).sqrt().mid()
        if not size.is_finite() or size == 0:
            return None
        x = (x * (1 / size)).mid()
        if last is not None and _distance(x, last).abs_upper() < flint.arb(2) ** -_VECTOR_BITS:
            return x
        last = x
    return None


def _distance(x, y):
    """The distance of unit vectors, y of length 1, but for a phase."""
    inner = sum(
        (p.conjugate() * q for p, q in zip(x.entries(), y.entries(), strict=True)), flint.acb(0)
    )
    phase = inner / abs(inner)
    rest = [p * phase - q for p, q in zip(x.entries(), y.entries(), strict=True)]
    return sum((abs(z) ** 2 for z in rest), flint.arb(0)).sqrt()
