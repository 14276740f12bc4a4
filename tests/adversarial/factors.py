"""Verdicts on `solve_triangular` and on `qr_factor(a).solve`, which do not refine."""

from __future__ import annotations

import math

import numpy as np

import mdqr

from .components import judge_all
from .draws import Draw, product
from .exact import Truth, integers, log2
from .problems import limbs, problem
from .verdicts import NEEDLESS, Verdict, answered, truths

_LOG10_2 = math.log10(2)
# A multiple of n eps condition that QR without refinement never came near.
_UNREFINED = 32.0
_END = 1023.99


def solve_triangular(seed, index):
    """Judge a triangle, its transpose or conjugate: the backward error, and bounds of errors."""
    given = problem(seed, index, square=True)
    r = Draw(f"triangle/{seed}/{index}")
    options = {
        "trans": r.choice("NTC"),
        "lower": r.chance(0.5),
        "unit_diagonal": r.chance(0.2),
        "precision": given.precision,
        "return_info": True,
    }
    if given.a.ndim == 3:
        given.a, given.b = given.a[0], given.b[0]
    found, error, caught = answered(
        lambda: mdqr.linalg.solve_triangular(given.a, given.b, **options)
    )
    a, b = _operand(limbs(given.a), **options), limbs(given.b)
    b = b if b.ndim == 4 else b[..., None]
    verdict = Verdict()
    verdict.note_warnings(caught)
    if error is not None:
        _judge_error(error, a, b, verdict)
    elif (a == 0).all(axis=(0, 1)).diagonal().any():
        verdict.outcome = "singular_silent"
        verdict.note("singular_silent")
    elif not np.isfinite(limbs(found[0])).all():
        verdict.note("infinite_silent")
    else:
        x = limbs(found[0])
        x = x if x.ndim == 4 else x[..., None]
        _judge_backward(a, b, x, given.answer, verdict)
        judge_all(verdict, Truth(a, b), x, found[1])
    return given, verdict


def _operand(a, *, trans, lower, unit_diagonal, **_):
    """The limbs of op(a), as `solve_triangular` reads them."""
    a = np.tril(a) if lower else np.triu(a)
    if unit_diagonal:
        order = np.arange(a.shape[-1])
        a[..., order, order] = 0.0
        a[0, 0, order, order] = 1.0
    if trans != "N":
        a = a.swapaxes(-1, -2).copy()
    if trans == "C" and len(a) == 2:
        a[1] = -a[1]
    return a


def _judge_error(error, a, b, verdict):
    if not verdict.note_error(error):
        return
    truth = Truth(a, b)
    if truth.singular:
        verdict.outcome = "singular_raised"
        return
    # Substitution may overflow in a solution that is within the error of the range's end.
    if truth.log2_largest() >= _END:
        verdict.outcome = "overflow_raised"
    else:
        verdict.outcome = "regular_raised"
        verdict.note("needless_error")


def _moduli(ints):
    if len(ints) == 1:
        return abs(ints[0])
    root = np.frompyfunc(lambda re, im: math.isqrt(re * re + im * im) + (re != 0 or im != 0), 2, 1)
    return np.asarray(root(*ints), dtype=object)


def stated(n, eps):
    """Return what `solve_triangular` promises of entries of the backward error."""
    return (n + 16) * eps


def _judge_backward(a, b, x, answer, verdict):
    """``abs(b - a x) <= (n + 16) eps abs(a) abs(x)`` and what underflow adds."""
    n = a.shape[-1]
    parts = max(len(a), len(b), len(x))
    (left, p), (right, q), (found, s) = (
        integers(y, (0, 1)) for y in (_padded(z, parts) for z in (a, b, x))
    )
    p, q, s = int(p.ravel()[0]), int(q.ravel()[0]), int(s.ravel()[0])
    image, unit = product(left, found), p + s
    common = min(unit, q)
    residual = _moduli((right << (q - common)) - (image << (unit - common)))
    size = (_moduli(left) @ _moduli(found)) << (unit - common)
    # Each of n products and quotients may lose N^2 units of the smallest double.
    rows = _moduli(left).sum(axis=1)
    for i, k in np.ndindex(residual.shape):
        verdict.components += 1
        if not residual[i, k]:
            continue
        error = log2(residual[i, k]) + common
        allowed = (
            math.log2(stated(n, answer.eps)) + log2(size[i, k]) + common
            if size[i, k]
            else -math.inf
        )
        slack = math.log2(answer.limbs**2 * (n + 1)) - 1074
        slack += max(0.0, log2(rows[i]) + p if rows[i] else 0.0)
        if error > max(allowed, slack) + 1e-9 and error > np.logaddexp2(allowed, slack):
            verdict.violations["all"] += 1
            verdict.note("bound_violated", "excess", min(error - allowed, 9999.0) * _LOG10_2)
        elif allowed > slack:
            verdict.gaps.append(("all", (allowed - error) * _LOG10_2))


def _padded(block, parts):
    return block if len(block) == parts else np.concatenate([block, np.zeros_like(block)])


def qr_factor(seed, index):
    """Judge the solution by factors: its error is a multiple of eps times the condition."""
    given = problem(seed, index)
    given.weights = None
    found, error, caught = answered(
        lambda: mdqr.linalg.qr_factor(given.a, precision=given.precision).solve(given.b)
    )
    verdict = Verdict()
    warned = verdict.note_warnings(caught)
    exact = truths(given)
    singular = any(truth.singular for truth in exact)
    if error is not None:
        verdict.outcome = "singular_raised" if singular else "regular_raised"
        if verdict.note_error(error) and not singular:
            _judge_refusal(exact, given, verdict)
        return given, verdict
    if singular:
        verdict.outcome = "singular_warned" if warned else "singular_silent"
        if not warned:
            verdict.note("singular_silent")
        return given, verdict
    block = limbs(found)
    values = block.reshape(*block.shape[:2], len(exact), exact[0].columns, -1)
    for i, truth in enumerate(exact):
        _judge_forward(given, truth, values[:, :, i], warned, verdict)
    return given, verdict


def _judge_refusal(exact, given, verdict):
    verdict.condition = max(truth.condition for truth in exact)
    if max(truth.log2_largest() for truth in exact) >= _END:
        verdict.outcome = "overflow_raised"
    elif max((truth.alpha + truth.log2_norms).max() for truth in exact) >= _END:
        verdict.outcome = "overflow_raised"  # of R
    elif verdict.condition * exact[0].columns * given.work.eps < NEEDLESS:
        verdict.note("needless_error")


def _judge_forward(given, truth, values, warned, verdict):
    if not np.isfinite(values).all():
        if not warned:
            verdict.note("infinite_silent")
        return
    small = truth.columns * given.work.eps * truth.condition
    if small > NEEDLESS:
        if small > 32 and not warned:
            verdict.note("missing_warning")
        return
    scale = truth.alpha + truth.log2_norms
    unit = max(given.work.eps, given.answer.eps) * _UNREFINED * truth.columns
    unit = math.log2(unit) + math.log2(truth.condition)
    # Each product of Q^H b may lose N^2 units of the smallest double.
    lost = math.log2(given.answer.limbs**2 * truth.rows * truth.columns * truth.condition) - 1074
    for k in range(values.shape[-1]):
        size = max(truth.log2_size(j, k) + scale[j] for j in range(truth.columns))
        error = _scaled_error(truth, values, k, scale, given.answer)
        verdict.components += truth.columns
        if error == -math.inf:
            continue
        residual = math.log2(truth.condition) + truth.log2_residual(k)
        allowed = np.logaddexp2(unit + np.logaddexp2(size, residual), lost)
        if error > allowed:
            verdict.violations["all"] += 1
            verdict.note("bound_violated", "excess", min(error - allowed, 9999.0) * _LOG10_2)
        elif size >= math.log2(given.answer.tiny) + max(scale):
            verdict.gaps.append(("all", (allowed - error) * _LOG10_2))


def _scaled_error(truth, values, k, scale, answer):
    """Log2 of the largest error of column k in unknowns of columns of norm one.

    Below the smallest full number a component has an absolute error, which does not count.
    """
    ints, exponents = integers(values, ())
    largest = -math.inf
    for j in range(truth.columns):
        error = truth.log2_error(ints[:, j, k].tolist(), int(exponents[j, k]), j, k)
        if error > math.log2(answer.limbs**2) - 1073:
            largest = max(largest, error + scale[j])
    return largest
