"""Least squares of rows in chunks, before the last rounding, against exact solutions."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import flint
import mpmath
import numpy as np

import mdqr
from mdqr._precision import Precision
from mdqr.distributed import _products, _refinement
from mdqr.distributed._job import Where, job_of
from mdqr.distributed._passes import errors_of
from mdqr.distributed._tree import tree
from mdqr.linalg import lstsq
from mdqr.linalg._shared.pairs import Pair
from mutants.judges import Claims, over

_TRIALS = 12
_RTOL = 2.0**-20
# Of a Gram matrix, in eps of its entries.
OF_GRAM = 1.0


def _problem(precision: Precision, trial: int) -> tuple[list[Any], Any, Any, np.ndarray]:
    """Return chunks, and all rows, some with weights of powers of two, with a grade of columns."""
    rng = np.random.default_rng(trial)
    m, n = int(rng.integers(8, 14)), int(rng.integers(1, 5))
    a, b = (mdqr.random.normal(s, precision=precision, rng=rng) for s in ((m, n), (m,)))
    if trial % 3 == 1:
        a = mdqr.vander(a[:, 0], n)
    a = a * 2.0 ** rng.integers(-60, 60, n)
    w = 4.0 ** rng.integers(-8, 9, m) if trial % 2 else np.ones(m)
    if trial % 4 == 3:
        w = rng.uniform(0.1, 3.0, m)
    cut = int(rng.integers(0, m + 1))
    parts = [slice(0, cut), slice(cut, m)]
    return [(a[p], b[p], w[p]) for p in parts], a, b, w


def _exact(a: Any, b: Any, w: np.ndarray) -> list[Fraction]:
    """Return the solution in rational numbers."""

    def rational(x: np.ndarray) -> flint.fmpq_mat:
        rows = [[flint.fmpq(v.numerator, v.denominator) for v in row] for row in x.tolist()]
        return flint.fmpq_mat(rows)

    left, right = a.to_fractions(), b.to_fractions()[:, None]
    weighted = np.array([Fraction(v) for v in w])[:, None] * left
    found = (rational(weighted.T) * rational(left)).solve(rational(weighted.T) * rational(right))
    return [Fraction(int(v.p), int(v.q)) for v in found.entries()]


def _errors(problem: Any, at: Pair, bound: np.ndarray, exact: list[Fraction]) -> Iterator[float]:
    """Yield log2 of the errors of a pair in scaled units over their bounds."""
    shift = problem.unit[None, :] - problem.solved.powers[:, None]
    high, low = (mdqr.from_limbs(problem.unscaled(part)).to_fractions() for part in at)
    errors = [abs(p - q) for p, q in zip(exact, (high + low).ravel(), strict=True)]
    for error, claim, power in zip(errors, bound.ravel(), shift.ravel(), strict=True):
        if error:
            size = math.log2(error.numerator) - math.log2(error.denominator)
            yield size - (math.log2(claim) + float(power) if claim else -math.inf)


def _stepped(job: Any, problem: Any, x: Any, exact: list[Fraction], steps: int) -> Iterator[float]:
    at, errors = Pair(x, np.zeros_like(x)), errors_of("lstsq", None, job.form)
    for number in range(2, 2 + steps):
        sums = job.pass_of(problem, at, errors, number)
        made = _refinement.step(problem, at, sums)
        at = made.x
        yield from _errors(problem, at, made.bound, exact)


def _drifted(precision: Precision) -> Iterator[float]:
    """Passes by an R of a tree that is off, whose distance vectors measure."""
    for trial in range(_TRIALS):
        parts, a, b, w = _problem(precision, trial)
        job = job_of("lstsq", (parts, None, None), None, Where(), 8, None)
        node = tree("lstsq", job.engine, job.source, job.form, 8)
        fit = node.problem._fit
        rng = np.random.default_rng(trial)
        r = fit.r.copy()
        r[..., : fit.n] *= 1 + 2.0**-9 * rng.integers(-4, 5, r.shape[-2:])[:, : fit.n]
        problem = _refinement.problem_of(replace(fit, r=r), "lstsq")
        x = problem.scaled(problem.solved.x)
        yield from _stepped(job, problem, x, _exact(a, b, w), 3)


def _product(precision: Precision, trial: int, drift: float = 0.0) -> tuple[Any, ...]:
    """Return a problem with R by products, perhaps off, and what `alpha_of` takes."""
    parts, a, b, w = _problem(precision, trial)
    job = job_of("lstsq", (parts, None, None), None, Where(), 8, None, method="products")
    found = _products.node_of(job)
    if found is None:
        return ()
    node, triangle = found
    fit = node.problem._fit
    if drift:
        r = fit.r.copy()
        r[..., 0, 0] *= 1 + drift
        fit = replace(fit, r=r)
    return job, _refinement.problem_of(fit, "lstsq"), triangle, (a, b, w)


def _proven(precision: Precision) -> Iterator[float]:
    """Passes by products; also by an R that is off, with its exact distance."""
    for trial in range(_TRIALS):
        for drift in (0.0, 2.0**-8):
            found = _product(precision, trial, drift)
            if not found:
                continue
            job, problem, triangle, (a, b, w) = found
            alpha = _products.alpha_of(problem, triangle, job.form)
            if drift:
                alpha = _distance(problem, a, w) * (1 + 2.0**-30)
            known = problem.known(alpha)
            x = problem.scaled(problem.solved.x)
            yield from _stepped(job, known, x, _exact(a, b, w), 3)


def _distance(problem: Any, a: Any, w: np.ndarray) -> float:
    """Return the 2-norm of ``R^-H A^H W A R^-1 - I``."""
    fit = problem.fit
    r = mdqr.from_limbs(fit.r[..., : fit.n].copy()).to_fractions()
    with mpmath.workdps(400):

        def matrix(x: np.ndarray) -> mpmath.matrix:
            return mpmath.matrix([[mpmath.mpf(v.numerator) / v.denominator for v in row]
                                  for row in x.tolist()])  # fmt: skip

        left = matrix(a.to_fractions())
        weighted = matrix(np.array([Fraction(v) for v in w])[:, None] * a.to_fractions())
        inverse = matrix(r) ** -1
        s = inverse.T * (weighted.T * left) * inverse - mpmath.eye(fit.n)
        return float(max(abs(v) for v in mpmath.eigsy((s + s.T) / 2, eigvals_only=True)))


def _alphas(precision: Precision) -> Iterator[float]:
    """Distances of R by products."""
    for trial in range(_TRIALS):
        found = _product(precision, trial)
        if found:
            job, problem, triangle, (a, _, w) = found
            bound = _products.alpha_of(problem, triangle, job.form)
            yield from over(np.array([_distance(problem, a, w)]), np.array([bound]))


def _moved(precision: Precision) -> Iterator[float]:
    """Changes of x by errors of the data, the worst of some signs."""
    for trial in range(6):
        parts, a, b, _ = _problem(precision, 2 * trial)
        chunks = [(x, y) for x, y, _ in parts]
        errors = {"a_rtol": _RTOL, "b_rtol": _RTOL}
        info = mdqr.distributed.lstsq(chunks, data_error=errors).info
        x, rng = lstsq(a, b).x, np.random.default_rng(trial)
        worst = np.zeros(len(x))
        for _ in range(20):
            signs = [rng.choice([-1.0, 1.0], each.shape) * _RTOL for each in (a, b)]
            moved = lstsq(a * (1 + signs[0]), b * (1 + signs[1])).x
            worst = np.maximum(worst, abs(moved - x).to_numpy())
        yield from over(worst, info.data_error_bound)


def _given(precision: Precision) -> Iterator[float]:
    """Errors of solutions from elsewhere."""
    for trial in range(_TRIALS):
        parts, a, b, w = _problem(precision, trial)
        exact = _exact(a, b, w)
        x = mdqr.array(exact, precision=precision) * (1 + 2.0**12 * precision.eps)
        info = mdqr.distributed.certify_lstsq(parts, None, x)
        pairs = zip(exact, x.to_fractions(), strict=True)
        yield from over(np.array([float(abs(p - q)) for p, q in pairs]), info.error_bound)


def _once(precision: Precision) -> Iterator[float]:
    """Errors of solutions from R of a tree alone."""
    for trial in range(_TRIALS):
        parts, a, b, w = _problem(precision, trial)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", mdqr.PrecisionWarning)
            found = mdqr.distributed.lstsq(parts, passes=1)
        pairs = zip(_exact(a, b, w), found.x.to_fractions(), strict=True)
        yield from over(np.array([float(abs(p - q)) for p, q in pairs]), found.info.error_bound)


def _grams(precision: Precision) -> Iterator[float]:
    """Errors of Gram matrices, over what the docstring states: the second part is far below."""
    for trial in range(_TRIALS):
        parts, a, _, _ = _problem(precision, trial)
        found = mdqr.distributed.gram([x for x, _, _ in parts]).to_fractions()
        exact = a.to_fractions()
        pairs = zip((exact.T @ exact).ravel(), found.ravel(), strict=True)
        errors = [(abs(p - q), OF_GRAM * precision.eps * abs(float(p))) for p, q in pairs]
        yield from over(*np.array([(float(x), y) for x, y in errors]).T)


DRIFTED = Claims("rows in chunks, by an R that is off", _drifted)
PROVEN = Claims("rows in chunks, by products", _proven)
ALPHAS = Claims("distances of R by products", _alphas)
MOVED = Claims("rows in chunks within data errors", _moved)
ONCE = Claims("rows in chunks, after one pass", _once)
GRAMS = Claims("Gram matrices of chunks", _grams)
GIVEN = Claims("solutions from elsewhere, of rows in chunks", _given)
