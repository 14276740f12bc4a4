"""Bounds of steps in between, which nothing of a result shows, against exact differences."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import linalg_cases as cases
import mpmath
import numpy as np
from exact_matrices import Exact, identity

import mdqr
from mdqr._array.array import MDArray
from mdqr._backend import for_block
from mdqr._limbs import planes
from mdqr._limbs.planes import Kind
from mdqr._precision import PRECISIONS, Precision
from mdqr.linalg._factor.determinants import elimination, inverse
from mdqr.linalg._general import certificate, vector_bounds
from mdqr.linalg._general.matrix import Matrix
from mdqr.linalg._general.pencil import Pair
from mdqr.linalg._general.subspaces.newton import Basis
from mdqr.linalg._shared.data_error import Errors
from mdqr.linalg._spectral import residual_bounds, singular_bounds
from mdqr.testing import matrix
from mutants import judges
from mutants.judges import Claims

_TRIALS = 20


def exact(block: Any, limbs: int | None = None) -> Exact:
    """Return the first matrix of a block ``([2,] N, 1, m, n)``."""
    field = block.ndim == 5
    one = block[..., 0, :, :]
    held = planes.limb_count(one, field)
    precision = next(p for p in PRECISIONS if p.limbs >= held)
    return Exact.of(MDArray._wrap(planes.widen(one, field, precision.limbs), precision, field))


def over(error: Exact, bounds: np.ndarray) -> Iterator[float]:
    """Yield log2 of the moduli over their bounds, float64 ``(1, m, n)``; -inf of zeros is left."""
    moduli = error.moduli()
    for wrong, bound in zip(moduli.real.ravel(), bounds.ravel(), strict=True):
        if wrong:
            yield _log2(int(wrong)) - moduli.exponent - (math.log2(bound) if bound > 0 else -1e9)


def _log2(value: int) -> float:
    spare = max(value.bit_length() - 60, 0)
    return math.log2(value >> spare) + spare


def _trials(name: str, step: Callable[..., Iterator[float]]) -> Claims:
    def claims(precision: Precision) -> Iterator[float]:
        for trial in range(_TRIALS):
            yield from step(precision, np.random.default_rng([trial, precision.limbs]), trial)

    return Claims(name, claims)


def _block(a: MDArray, kind: Kind) -> Any:
    """Return a matrix as a block of one batch."""
    block = a._block if a.is_complex == kind.is_complex else planes.complexify(a._block)
    return block[..., None, :, :].copy()


def _random(n: int, precision: Precision, rng: Any, dtype: type = float, cond: float = 100) -> Any:
    return matrix("random", n, n, cond=cond, precision=precision, dtype=dtype, rng=rng)


def _determinant(precision: Precision, rng: Any, trial: int) -> Iterator[float]:
    known, a = _eliminated(2 + trial % 3, precision, rng, 2.0 ** (trial % 7))
    truth = _det(cases.fractions(a))
    ways = [known.found, known.by_inverse()]
    if precision == PRECISIONS[-1]:
        ways.append(known.corrected())
    for found in ways:
        value = found.value[..., None, :] if found.value.ndim == 2 else found.value
        held = sum(Fraction(float(x)) for x in value.ravel()) * Fraction(2) ** int(
            found.exponent[0]
        )
        wrong = abs(held - truth)
        if wrong and np.isfinite(found.error[0]):
            yield _log2(wrong.numerator) - _log2(wrong.denominator) - float(found.error[0])


def _eliminated(n: int, precision: Precision, rng: Any, cond: float) -> Any:
    """Return factors of a matrix with columns near 1, and the matrix."""
    kind = Kind(precision.limbs, False)
    block = _block(_random(n, precision, rng, cond=cond), kind)
    backend = for_block(block)
    block, _ = backend.balance_columns(block, None, is_complex=False)
    known = elimination.Elimination(backend, block, kind)
    return known, MDArray._wrap(block[:, 0], precision, False)


def _det(rows: Any) -> Fraction:
    """Return a determinant of fractions by Laplace's expansion."""
    if not len(rows):
        return Fraction(1)
    return sum(
        (-1) ** j * rows[0, j] * _det(np.delete(rows[1:], j, axis=1)) for j in range(len(rows))
    )


def _elimination(precision: Precision, rng: Any, trial: int) -> Iterator[float]:
    """The 1-norms of rows of ``P A - L U``, those of rows of ``A^-1 E``, and traces."""
    known, _ = _eliminated(2 + trial % 3, precision, rng, 100)
    lu = known.factors.lu.copy()
    lower, upper = np.tril(lu, -1), np.triu(lu)
    planes.set_unit_diagonal(lower, False)
    rest = exact(known.a) - exact(lower) @ exact(upper)
    sums = Exact(abs(rest.real).sum(axis=-1), None, rest.exponent)
    yield from over(sums, known.rows[1])


def _inverse(precision: Precision, rng: Any, trial: int) -> Iterator[float]:
    n = 2 + trial % 3
    a = _random(n, precision, rng, cond=2.0 ** (trial % 8))
    block = _block(a, Kind(precision.limbs, False))
    x = np.linalg.inv(a.to_numpy()) * (1 + 2.0**-18 * rng.uniform(-1, 1, (n, n)))
    found = inverse.of(for_block(block), block, x[None, None], Kind(1, False), 2.0**-52)
    truth = cases.rational_inverse(cases.fractions(a))
    lengths = 2.0 ** rng.uniform(-9, 9, n)
    rows = abs(truth) @ np.array([Fraction(v) for v in lengths])
    # E that has no more than its sums of rows in the columns that count.
    errors = rng.uniform(size=(n, n))
    trace = sum(abs(truth[i, j]) * Fraction(errors[j, i]) for i in range(n) for j in range(n))
    for wrong, bound in (
        *zip(rows, found.rows(lengths[None])[0], strict=True),
        (trace, found.trace(errors[None])[0]),
    ):
        yield math.log2(float(wrong)) - math.log2(bound)


def _logarithm(precision: Precision, rng: Any, trial: int) -> Iterator[float]:
    a = _random(1 + trial % 4, precision, rng) * 2.0 ** rng.integers(-300, 300)
    found = mdqr.linalg.slogdet(a)
    truth = abs(_det(cases.fractions(a)))
    with mpmath.workprec(3000):
        exact_value = mpmath.log(mpmath.mpf(truth.numerator) / truth.denominator)
        wrong = abs(exact_value - found.logabsdet.to_mpmath().item())
        yield float(mpmath.log(wrong, 2)) - math.log2(float(found.info.error_bound))


LOGARITHMS = _trials("logarithms of determinants", _logarithm)
DETERMINANTS = _trials("determinants, unrounded", _determinant)
ELIMINATION = _trials("elimination", _elimination)
INVERSES = _trials("inverses in float64", _inverse)


def _hermitian(precision: Precision, rng: Any, trial: int) -> Iterator[float]:
    """Departures, residuals and their products for vectors and values of one limb more or less."""
    n, field = 2 + trial % 3, bool(trial % 2)
    kind = Kind(precision.limbs, field)
    g = _random(n, precision, rng, complex if field else float)
    a = g + g.mT.conj()
    w, x = mdqr.linalg.eigh(a)
    backend = for_block(a._block)
    of_a, of_x = (residual_bounds.known(_block(y, kind), kind) for y in (a, x))
    diagonal = residual_bounds.diagonal_matrix(np, w._block[:, None, :], kind)
    of_w = residual_bounds.known(diagonal, kind)
    r, lost = residual_bounds.residual(backend, of_a, of_x, of_x, of_w, kind)
    wanted = exact(of_a.block) @ exact(of_x.block) - exact(of_x.block) @ exact(diagonal)
    yield from over(wanted - exact(r.block), lost)
    z = residual_bounds.product(backend, of_x, r, lost, kind)
    yield from over(exact(of_x.block).H @ wanted, z.sizes)
    departure = residual_bounds.departure(backend, of_x, kind)
    yield from over(identity(n) - exact(of_x.block).H @ exact(of_x.block), departure)
    gaps = residual_bounds.distances(backend, w._block[:, None, :], kind)
    sizes = abs(w._block[:1])
    both = residual_bounds.Remainders(z.sizes, departure)
    lengths = residual_bounds.bounds(gaps, both, sizes).lengths[0]
    gap = identity(n) - exact(of_x.block).H @ exact(of_x.block)
    diagonal = Exact(gap.real.diagonal(), None, gap.exponent)
    yield from over(diagonal, lengths)
    b = _random(n, precision, rng, complex if field else float)
    b = b @ b.mT.conj()
    b = (b + b.mT.conj()) * 0.5
    w, x = mdqr.linalg.eigh(a, b=b)
    found = residual_bounds.remainders(
        backend, of_a.block, _block(b, kind), _block(x, kind), w._block[:, None, :], kind
    )
    of_b, of_x = exact(_block(b, kind)), exact(_block(x, kind))
    diagonal = exact(residual_bounds.diagonal_matrix(np, w._block[:, None, :], kind))
    rest = exact(of_a.block) @ of_x - of_b @ of_x @ diagonal
    yield from over(of_x.H @ rest, found.z)
    yield from over(identity(n) - of_x.H @ of_b @ of_x, found.g)


def _singular(precision: Precision, rng: Any, trial: int) -> Iterator[float]:
    """Parts of residuals outside of the span of an inexact U, over their bounds."""
    n = 2 + trial % 3
    a, noise = (cases.random(n + 3, n, precision, float, rng) for _ in range(2))
    u, s, vh = mdqr.linalg.svd(a, full_matrices=False)
    u = u + noise * 2.0**-12
    kind = Kind(precision.limbs, False)
    blocks = [_block(x, kind) for x in (a, u, vh.T)]
    given = singular_bounds.Triples(blocks[0], blocks[1], s._block[:, None, :], blocks[2])
    found = singular_bounds.sides(for_block(blocks[0]), given, kind)
    a, u = a.to_numpy(), u.to_numpy()
    q, _ = np.linalg.qr(u)
    yield math.log2(np.linalg.norm(a - q @ (q.T @ a), 2)) - math.log2(found.outside[0])


SINGULAR = _trials("spans of singular vectors", _singular)
HERMITIAN = _trials("remainders of Hermitian matrices", _hermitian)


def _perturbation(precision: Precision, rng: Any, trial: int) -> Iterator[float]:
    """``Z = X^-1 R`` and ``I - Y X`` for an inverse Y that is off."""
    n, kind = 2 + trial % 3, Kind(precision.limbs, True)
    x, r = (_random(n, precision, rng) for _ in range(2))
    y = mdqr.linalg.inv(x) * (1 + 2.0 ** -rng.integers(3, 60) * rng.uniform(-1, 1, (n, n)))
    nothing = np.zeros((1, n, n))
    rest = certificate.Remainder(_block(r, kind), nothing, _block(x, kind), None)
    basis = Basis(rest.x, _block(y, kind), rest.x, np.arange(n)[None], np.ones(1, bool))
    found = certificate.perturbation(for_block(rest.x), rest, basis, kind)
    truth = cases.rational_inverse(cases.fractions(x)) @ cases.fractions(r)
    yield from _over_fractions(truth, found.moduli[0])
    left = identity(n) - exact(basis.y) @ exact(basis.x)
    yield from over(left, found.off)
    # Rows of the exact inverse of the rows that Y has.
    rows = cases.rational_inverse(cases.fractions(x))
    sizes = np.linalg.norm(y.to_numpy(), axis=1)
    lengths, lost = vector_bounds.of_inverse(found.off, sizes[None])
    difference = np.array((rows - cases.fractions(y)).tolist(), dtype=float)
    wanted = np.linalg.norm(np.array(rows.tolist(), dtype=float), axis=1)
    for wrong, bound in ((np.linalg.norm(difference, axis=1), lost), (wanted, lengths)):
        yield from judges.over(wrong * (1 - 2.0**-40), bound[0])


def _over_fractions(wrong: Any, bounds: np.ndarray) -> Iterator[float]:
    for each, bound in zip(abs(wrong).ravel(), bounds.ravel(), strict=True):
        if each:
            size = _log2(each.numerator) - _log2(each.denominator)
            yield size - (math.log2(bound) if bound > 0 else -1e9)


def _general(precision: Precision, rng: Any, trial: int) -> Iterator[float]:
    """Rounding errors of ``A X - X M``, ``A X - B X M`` and ``B X``, over their bounds."""
    n, kind = 2 + trial % 3, Kind(precision.limbs, True)
    a, b, x, m = (_random(n, precision, rng, complex) for _ in range(4))
    blocks = [_block(each, kind) for each in (a, b, x, m)]
    backend, powers = for_block(blocks[0]), np.zeros((1, n), np.int64)
    basis = Basis(blocks[2], blocks[2], blocks[3], np.arange(n)[None], np.ones(1, bool))
    one = Matrix(backend, kind, blocks[0], powers, powers[:, 0], Errors(0.0, 0.0))
    found = one.remainder(basis)
    of_a, of_b, of_x, of_m = (exact(each) for each in blocks)
    yield from over(of_a @ of_x - of_x @ of_m - exact(found.r), found.error)
    nothing = np.zeros((n, n))
    two = Pair(
        backend,
        kind,
        blocks[0],
        blocks[1],
        nothing,
        blocks[0],
        0.40625,
        0,
        powers,
        powers,
        (nothing[None], nothing[None]),
    )
    found = two.remainder(basis)
    yield from over(of_a @ of_x - of_b @ of_x @ of_m - exact(found.r), found.error)
    yield from over(of_b @ of_x - exact(found.x), found.off)
    mu = mdqr.random.normal((1, n), precision=precision, dtype=complex, rng=rng)
    values, lost = two._shifted(mu._block, precision.limbs)
    shifted = MDArray._wrap(values, precision, True)
    for z, s, bound in zip(mu[0].to_mpmath(), shifted[0].to_mpmath(), lost[0], strict=True):
        with mpmath.workprec(2000):
            wrong = abs(1 / z + mpmath.mpf(0.40625) - s)
            if wrong:
                yield float(mpmath.log(wrong, 2)) - math.log2(bound)


def _moved_pair(precision: Precision, rng: Any, trial: int) -> Iterator[float]:
    """``(I + K)^-1 (L - K M)`` for errors with the worst of some signs."""
    n, kind = 2 + trial % 3, Kind(1, True)
    x, m = rng.normal(size=(n, n)), np.diag(rng.normal(size=n))
    of_a, of_b = (rng.uniform(size=(n, n)) * 10.0 ** -rng.integers(2, 9) for _ in range(2))
    y = np.linalg.inv(x)
    block = np.zeros((2, 1, 1, n, n))
    block[0, 0, 0] = x
    powers = np.zeros((1, n), np.int64)
    pair = Pair(
        for_block(block),
        kind,
        block,
        block,
        of_a,
        block,
        None,
        0,
        powers,
        powers,
        (of_a[None], of_b[None]),
    )
    middle = np.zeros_like(block)
    middle[0, 0, 0] = m
    basis = Basis(block, block, middle, np.arange(n)[None], np.ones(1, bool))
    values = np.zeros((2, 1, 1, n))
    values[0, 0, 0] = np.diagonal(m)
    nothing = np.zeros((1, n, n))
    known = certificate.Certified(values, None, nothing, nothing, nothing, basis, basis, nothing)
    bound = pair.data_perturbation(abs(y)[None], known)[0]
    for _ in range(20):
        a, b = (e * rng.choice([-1, 1], e.shape) for e in (of_a, of_b))
        k, change = y @ b @ x, y @ a @ x
        moved = np.linalg.inv(np.eye(n) + k) @ (change - k @ m)
        yield from judges.over(abs(moved), bound)


def _schur(precision: Precision, rng: Any, trial: int) -> Iterator[float]:
    """Norms of ``A - Z T Z^H`` and of ``I - Z^H Z``, and of what errors of the entries add."""
    n = 2 + trial % 4
    a = _random(n, precision, rng, complex if trial % 2 else float) * 2.0 ** rng.integers(-40, 40)
    t, z = found = mdqr.linalg.schur(a, data_error={"a_rtol": 1e-3})
    of_z, info = Exact.of(z), found.info
    rest = Exact.of(a) - of_z @ Exact.of(t) @ of_z.H
    departure = identity(n) - of_z.H @ of_z
    moved = 1e-3 * float(np.linalg.norm(a.to_numpy())) * (1 - 2.0**-40)
    for wrong, bound in (
        (rest.norm(), info.error_bound),
        (departure.norm(), info.orthogonality),
        (moved, info.data_error_bound),
    ):
        if wrong > 1e-300:
            yield math.log2(wrong) - math.log2(float(bound))


PERTURBATIONS = _trials("perturbations", _perturbation)
GENERAL = _trials("remainders of general matrices", _general)
MOVED_PAIRS = _trials("pairs within their errors", _moved_pair)
SCHUR = _trials("Schur forms", _schur)
