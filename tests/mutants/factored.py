"""Bounds of factors, approximate inverses and residuals, against exact differences."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import linalg_cases as cases
import numpy as np
from adversarial.verdicts import answered
from exact_matrices import identity

import mdqr
from mdqr._backend import for_block
from mdqr._backend.blocks import to_native
from mdqr._limbs import planes
from mdqr._limbs.planes import Kind
from mdqr._precision import Precision
from mdqr.linalg._factor.condition import condition
from mdqr.linalg._inverse import split
from mdqr.linalg._inverse.approximate_inverse import constant
from mdqr.linalg._inverse.rounds import approximate_inverse
from mdqr.linalg._inverse.split import Halves
from mdqr.linalg._solve.householder import augmented, componentwise
from mdqr.linalg._solve.structure import Joined
from mdqr.linalg._solve.wide import Basis
from mutants import steps
from mutants.judges import Claims, over
from mutants.solutions import problem_of, unrounded

_TRIALS = 24


def _exact(block: Any) -> Any:
    """Return a real matrix, with a batch of one or without."""
    return steps.exact(block.reshape(len(block), 1, *block.shape[-2:]))


def _solved(precision: Precision, shape: str) -> Iterator[Any]:
    """Yield factored systems of real problems without weights, with a part of each solution."""
    for index in range(_TRIALS):
        a, b, weights = problem_of(precision, index, shape)
        if a.is_complex or weights is not None:
            continue
        with unrounded() as parts:
            answered(partial(mdqr.linalg.lstsq, a, b, method="householder"))
        if parts:
            yield parts[0]


def _factors(precision: Precision) -> Iterator[float]:
    for shape in ("square", "tall"):
        for system, part in _solved(precision, shape):
            yield from _of_factors(system, part, precision.eps)


def _of_factors(system: Any, part: Any, eps: float) -> Iterator[float]:
    """Errors after one step, and residuals of approximate inverses, over their bounds."""
    limit = augmented.contraction_limit(system, condition(system.triangle), eps)
    if not (limit < 0.1).all():
        return
    if system.is_square:
        x, _ = system.correct(planes.widen(part.b, False, system.kind.limbs), None)
        step, size = _exact(part.solution.x) - _exact(x), np.abs(part.solution.x[0]).max()
        most = np.full(x.shape[-2:], size * float(limit.max()))
        yield max(steps.over(step, most), default=-math.inf)
    norm = float(np.linalg.norm(to_native(np, part.solution.r, False)))
    yield from over(np.array(norm), augmented._weighted_norm(system, part.solution.r))
    inverse = componentwise.Inverse(system, Joined.of(system), eps, limit)
    q = system.form_q()
    h, d = inverse._measured(q)
    y, of_a = _exact(inverse._y), _exact(system.a)
    left = identity(system.columns) - y @ of_a
    yield from steps.over(left, h)
    yield from steps.over(left, inverse._estimated()[0])
    normal = _exact(inverse._inverse_r) @ _exact(inverse._inverse_r).T
    rest = _lengths(y - normal @ of_a.T)
    yield from over(rest, d.ravel())
    yield from over(rest, inverse._estimated()[1].ravel())


def _floats(matrix: Any, function: Callable[[int], int] = int) -> np.ndarray:
    """Return a real matrix in float64."""
    unit = 2**matrix.exponent
    return np.array([[float(Fraction(function(v), unit)) for v in row] for row in matrix.real])


def _lengths(matrix: Any) -> np.ndarray:
    """Return the lengths of the rows of a real matrix."""
    return np.array(
        [matrix.__class__(row[None], None, matrix.exponent).norm() for row in matrix.real]
    )


def _residuals(precision: Precision) -> Iterator[float]:
    """Residuals ``c - A x`` that cancel, as if in twice the precision."""
    for system, part in _solved(precision, "square"):
        backend, x = system.backend, part.solution.x
        f = backend.residual([(1, part.b)], system.a, x, kind=system.kind)
        size = partial(componentwise.magnitudes, is_complex=False)
        sums = componentwise.Sums.of(backend, size(system.a), size(x), size(part.b), lossless=True)
        wrong = _exact(part.b) - _exact(system.a) @ _exact(x) - _exact(f)
        zero = np.zeros((1, 1, 1), np.int64)
        known = componentwise.Evaluated(size(f), sums, zero, None, None)
        yield from steps.over(wrong, known.error(zero, precision.eps, system.columns + 8))


def _shortest(precision: Precision) -> Iterator[float]:
    """Bases of the range of ``A^H``, and solutions that are off, with what these leave."""
    for system, part in _solved(precision, "wide"):
        backend, tall, kind = system.backend, system.tall, system.kind
        made = approximate_inverse(backend, tall.a, system.checks, kind=kind, most=1)
        ways = [(Basis.of_factors(system), tall.triangle.solve(tall.identity()))]
        if made is not None and made[1].all():
            ways.append((Basis.of_inverse(system, made[0]), made[0].x))
        for basis, inverse in ways:
            columns = _exact(tall.a) @ _exact(inverse)
            left = identity(system.a.shape[-2]) - columns.T @ columns
            yield from over(np.linalg.norm(_floats(left), 2), basis.rate)
            v = system.image(basis.step(part.b)[0], None, kind.limbs)
            off = 1 + 2.0**-20 * np.random.default_rng(0).uniform(-1, 1, v.shape[-2:])
            moved = backend.binary(
                "multiply", v, planes.widen(off[None], False, kind.limbs), kind=kind
            )
            g, x = (backend.binary("subtract", y, moved, kind=kind) for y in (v, part.solution.x))
            f = system.less(part.b, moved, kind.limbs)
            bound = basis.bound(f, np.zeros(f.shape[1:]), system.size(g))
            yield from over(system.size(x), bound)


def _inverses(precision: Precision) -> Iterator[float]:
    """Residuals ``I - X A`` of approximate inverses, over their bounds."""
    for shape in ("square", "tall"):
        for system, _ in _solved(precision, shape):
            made = approximate_inverse(system.backend, system.a, system.checks, kind=system.kind)
            if made is None or not made[1].all():
                continue
            found, one = made[0], identity(system.columns)
            if shape == "square":
                left = one - _exact(found.x) @ _exact(system.a)
                sums = _floats(left, abs).sum(axis=1)
                yield from over(sums, found.rows)
                yield from over(sums.max(), found.rate)
            else:
                columns = _exact(system.a) @ _exact(found.x)
                norm = np.linalg.norm(_floats(one - columns.T @ columns), 2)
                yield from over(norm, found.rate)
                yield from over(np.linalg.norm(_floats(_exact(found.x)), axis=1) * norm, found.rows)


def _halves(precision: Precision) -> Iterator[float]:
    """Products of matrices of two limbs by halves of float64."""
    for trial in range(_TRIALS):
        rng, n = np.random.default_rng(trial), 2 + trial % 5
        x, a = (cases.random(n, n, mdqr.dd, float, rng)._block for _ in range(2))
        x = x * 2.0 ** (rng.integers(-40, 0, (n, 1)) * rng.integers(2))
        left, right = Halves.of(x, False, -1), Halves.of(a, False, -2)
        found = split.pair(for_block(x), left, right)
        wrong = _floats(_exact(x) @ _exact(a) - _exact(found), abs)
        unit = constant(Kind(1, False), n)
        yield from over(wrong.sum(axis=1), split.error_of_rows(left, right, unit))
        yield from over(np.linalg.norm(wrong, 2), split.error_norm(left, right, unit))


HALVES = Claims("products by halves", _halves)
INVERSES = Claims("approximate inverses", _inverses)
SHORTEST = Claims("bases of shortest solutions", _shortest)
FACTORS = Claims("what factors leave", _factors)
RESIDUALS = Claims("residuals that cancel", _residuals)
