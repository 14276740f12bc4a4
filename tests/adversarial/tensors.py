"""Verdicts on `mdqr.tensorcore`: float64 matrices, with LAPACK's answers beside."""

from __future__ import annotations

import math
import warnings

import numpy as np

import mdqr
from mdqr.tensorcore import lowrank, lstsq, qr
from mdqr.tensorcore._engine.formats import FORMATS
from mdqr.tensorcore._plan import with_panel

from .problems import Problem
from .verdicts import NEEDLESS, Verdict, answered

# Beyond so many times what is promised, while LAPACK keeps it, an answer is wrong.
_FACTOR = 30.0
_EPS = 2.0**-52


def _rotated(rng, m, n, values):
    left = np.linalg.qr(rng.standard_normal((m, n)))[0]
    right = np.linalg.qr(rng.standard_normal((n, n)))[0]
    return left * values @ right


def conditioned(rng, m, n):
    return _rotated(rng, m, n, np.geomspace(1, 10.0 ** -rng.uniform(0, 15), n))


def clusters(rng, m, n):
    values = np.ones(n)
    values[n - rng.integers(1, min(n, 20) + 1) :] = 10.0 ** -rng.uniform(3, 12)
    return _rotated(rng, m, n, values)


def pair(rng, m, n):
    """Two columns that are nearly one."""
    a = rng.standard_normal((m, n))
    j, k = rng.permutation(n)[:2] if n > 1 else (0, 0)
    a[:, k] = a[:, j] + 10.0 ** -rng.uniform(3, 14) * np.cos(np.arange(m))
    return a


def vandermonde(rng, m, n):
    return np.vander(np.linspace(rng.choice([0.0, -1.0]), 1, m), n, increasing=rng.random() < 0.5)


def vandermonde_transposed(rng, m, n):
    a = np.vander(np.linspace(0, 1, n), m, increasing=True).T
    return a if rng.random() < 0.5 else a[::-1].copy()


def hilbert(rng, m, n):
    return 1 / (1.0 + np.arange(m)[:, None] + np.arange(n))


def graded(rng, m, n):
    rows = 2.0 ** rng.uniform(-1, 1, (m, 1)) ** rng.choice([1, 30])
    return rng.standard_normal((m, n)) * rows * 2.0 ** rng.uniform(-90, 90, n)


def laeuchli(rng, m, n):
    a = np.zeros((max(m, n + 1), n))
    a[0] = 1
    a[1 : n + 1] = np.eye(n) * 10.0 ** -rng.uniform(1, 9)
    return a


def integers(rng, m, n):
    return rng.integers(-9, 10, (m, n)).astype(float)


def dependent(rng, m, n):
    """A column that is exactly a combination of others, or zero."""
    a = rng.integers(-99, 100, (m, n)).astype(float)
    if n > 1:
        j, *others = rng.permutation(n)[: rng.integers(2, 5)]
        a[:, j] = a[:, others] @ rng.integers(1, 4, len(others))
    else:
        a[:] = 0
    return a


FAMILIES = (conditioned, clusters, pair, vandermonde, vandermonde_transposed, hilbert, graded)
FAMILIES += (laeuchli, integers, dependent)


def tensor(seed, index):
    """Judge one call of `tensorcore.lstsq`, `qr` or `lowrank` on the CPU."""
    rng = np.random.default_rng([seed, index])
    family = FAMILIES[rng.integers(len(FAMILIES))]
    n = int(rng.integers(1, 41)) if rng.random() < 0.7 else int(rng.integers(41, 301))
    m = n + int(rng.integers(0, 1 + max(4, n)))
    a = family(rng, m, n)
    name = str(rng.choice(["lstsq", "lstsq", "qr", "lowrank"]))
    options = {
        "panel": str(rng.choice(["cholesky", "caqr", "geqrf"])),
        "compute": str(rng.choice(list(FORMATS))) if rng.random() < 0.5 else "fp16",
    }
    given = Problem(
        seed, index, family.__name__, f"{name} {options['panel']}", a, None, None, None, mdqr.d
    )
    judged = {"lstsq": _lstsq, "qr": _qr, "lowrank": _lowrank}[name]
    with np.errstate(all="ignore"):
        return given, judged(rng, given, options)


def _called(call):
    found, error, caught = answered(call)
    verdict = Verdict()
    verdict.note_warnings(caught)
    if error is not None and verdict.note_error(error):
        verdict.outcome = "regular_raised"
    return found, error, verdict


def _scaled(a):
    """The matrix with columns of norm about 1, where they are not zero."""
    norms = np.linalg.norm(a, axis=0)
    return a / np.where(norms > 0, norms, 1.0), norms


def _lstsq(rng, given, options):
    a = given.a
    x = rng.standard_normal(a.shape[1]) if rng.random() < 0.5 else np.ones(a.shape[1])
    x /= np.maximum(np.linalg.norm(a, axis=0), 1e-300)
    b = a @ x + rng.choice([0.0, 1e-8, 1.0]) * rng.standard_normal(len(a))
    found, error, verdict = _called(lambda: with_panel(lstsq)(a, b, **options))
    scaled, norms = _scaled(a)
    condition = float(np.linalg.cond(scaled)) if (norms > 0).all() else math.inf
    verdict.condition = condition
    if given.family == "dependent":
        verdict.outcome = "singular_raised" if error else "singular_warned"
        if error is None and "warned" not in verdict.flags:
            verdict.outcome = "singular_silent"
            verdict.note("singular_silent")
        return verdict
    if error is not None:
        if condition * len(norms) * _EPS < NEEDLESS and verdict.outcome != "crashed":
            verdict.note("needless_error")
        return verdict
    if not np.isfinite(found.x).all():
        verdict.note("infinite_silent")
        return verdict
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        q, r = np.linalg.qr(scaled)
        try:
            other = np.linalg.solve(r, q.T @ b) / norms
        except np.linalg.LinAlgError:
            other = np.full_like(norms, np.nan)
    sizes = [_relative_error(a, b, q, condition, y) for y in (found.x, other)]
    verdict.components = len(norms)
    if sizes[0] > _FACTOR and sizes[1] <= _FACTOR and "warned" not in verdict.flags:
        verdict.note("silent_error")
        verdict.silent = math.log10(sizes[0])
    elif sizes[0] > 0:
        verdict.gaps.append(("all", math.log10(_FACTOR / sizes[0])))
    return verdict


def _relative_error(a, b, q, condition, x):
    """Return the norm of ``A (x - x*)`` as a multiple of what is promised.

    That is ``eps (sqrt(n) (norm(b) + c norm(r)) + norm(|A| |x|))``.
    """
    wide = np.longdouble
    rest = np.asarray(b.astype(wide) - a.astype(wide) @ x.astype(wide), dtype=float)
    promised = math.sqrt(a.shape[1]) * (np.linalg.norm(b) + condition * np.linalg.norm(rest))
    # The residual that Q leaves has the errors of Q itself: those of the second term.
    promised += np.linalg.norm(np.abs(a) @ np.abs(x))
    return float(np.linalg.norm(q.T @ rest) / (promised * _EPS or 1.0))


def stated(n, compute):
    """Multiples of the unit roundoff: some tens, and what n sums add."""
    return (50.0 + 8.0 * n) * FORMATS[compute].unit


def _qr(rng, given, options):
    a = given.a
    options = options | {"method": str(rng.choice(["auto", "auto", "householder"]))}
    found, error, verdict = _called(lambda: with_panel(qr)(a, **options))
    if error is not None:
        verdict.note("needless_error")
        return verdict
    if not all(np.isfinite(factor).all() for factor in (found.Q, found.R)):
        verdict.note("infinite_silent")
        return verdict
    norms = np.linalg.norm(a, axis=0)
    errors = np.linalg.norm(a - found.Q @ found.R, axis=0) / np.where(norms > 0, norms, 1.0)
    _compare(verdict, float(errors.max()), stated(a.shape[1], options["compute"]))
    if options["method"] == "householder":
        gram = found.Q.T @ found.Q - np.eye(found.Q.shape[1])
        error = float(np.linalg.norm(gram))
        _compare(verdict, error, stated(a.shape[1], options["compute"]))
    return verdict


def _lowrank(rng, given, options):
    a = given.a
    r = int(rng.integers(1, min(a.shape) + 1))
    found, error, verdict = _called(lambda: with_panel(lowrank)(a, r, **options))
    if error is not None:
        verdict.note("needless_error")
        return verdict
    if not all(np.isfinite(factor).all() for factor in found):
        verdict.note("infinite_silent")
        return verdict
    values = np.linalg.svd(a, compute_uv=False)
    if values[0] == 0:
        return verdict
    left = float(values[r]) if r < len(values) else 0.0
    error = float(np.linalg.norm((found.U * found.S) @ found.Vh - a, 2)) - left
    _compare(verdict, error / values[0], stated(a.shape[1], options["compute"]))
    # Of the squares, relative to the largest.
    error = float(np.abs(found.S**2 - values[:r] ** 2).max())
    _compare(verdict, error / values[0] ** 2, stated(a.shape[1], options["compute"]))
    return verdict


def _compare(verdict, error, allowed):
    verdict.components += 1
    if not error <= allowed:
        verdict.violations["all"] += 1
        verdict.note("bound_violated", "excess", math.log10(error / allowed))
    elif error > 0:
        verdict.gaps.append(("all", math.log10(allowed / error)))
