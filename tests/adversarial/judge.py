"""Verdicts: what a function said about its answer, against the exact solution."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field

import numpy as np

import mdqr

from .exact import Truth, integers
from .problems import limbs

_LOG10_2 = math.log10(2)
# The largest double and half an ulp: from here on a value rounds to infinity.
_BEYOND = 1024.0
# Comparisons of logarithms: they are right to a few ulp of numbers below 2^14.
_LOOSE = 1e-10

DEFECTS = (
    "crashed",
    "singular_silent",
    "infinite_silent",
    "silent_error",
    "silent_underflow",
    "silent_zero",
    "bound_violated",
    "false_digits",
    "missing_warning",
    "needless_error",
)


@dataclass
class Verdict:
    """What was found of one problem: flags that count it, and figures of its components."""

    outcome: str = "solved"
    flags: set = field(default_factory=set)
    components: int = 0
    # log10(bound / error) of components in the normal range whose error is not 0.
    gaps: list = field(default_factory=list)
    # log10 of how far the error is beyond the bound; digits that are claimed too much.
    excess: float = 0.0
    overclaim: float = 0.0
    violations: int = 0
    false: int = 0
    # log10 of the largest relative error of a silent answer in units of eps.
    silent: float = 0.0
    condition: float = 0.0
    message: str = ""


def truths(problem):
    """Return the exact solution of each member of the batch."""
    a, b = limbs(problem.a), limbs(problem.b)
    w = None if problem.weights is None else limbs(problem.weights)
    if problem.b.ndim == 1:
        b = b[..., None]
    if a.ndim == 4:
        return [Truth(a, b, w)]
    return [Truth(a[:, :, i], b[:, :, i], w) for i in range(a.shape[2])]


def answered(call):
    """Return what a call gives or raises, and the warnings that it gave."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found, error = call(), None
        except Exception as raised:
            found, error = None, raised
    return found, error, caught


def called(name, problem):
    """Return what a function of `mdqr.linalg` answers to a problem, or what it raises."""
    options = {"precision": problem.precision}
    if problem.weights is not None:
        options["weights"] = problem.weights
    found, error, _ = answered(lambda: getattr(mdqr.linalg, name)(problem.a, problem.b, **options))
    return error if found is None else found


def lstsq(problem):
    """Judge `lstsq` of a problem."""
    options = {"precision": problem.precision}
    if problem.weights is not None:
        options["weights"] = problem.weights
    found, error, caught = answered(lambda: mdqr.linalg.lstsq(problem.a, problem.b, **options))
    if found is None:
        return verdict_of(problem, None, None, None, error, caught)
    info = found.info
    return verdict_of(problem, found.x, info.error_bound, info.digits, error, caught)


def solve(problem):
    """Judge `solve` of a problem."""
    found, error, caught = answered(
        lambda: mdqr.linalg.solve(problem.a, problem.b, precision=problem.precision)
    )
    return verdict_of(problem, found, None, None, error, caught)


def verdict_of(problem, x, bound, digits, error=None, caught=()):
    """Return the verdict on an answer, or on what was raised, and on the warnings given."""
    exact = truths(problem)
    verdict = Verdict()
    warned = any(issubclass(w.category, mdqr.PrecisionWarning) for w in caught)
    others = [str(w.message) for w in caught if not issubclass(w.category, mdqr.PrecisionWarning)]
    if others:
        verdict.flags.add("leaked_warning")
        verdict.message = str(others)[:300]
    if error is not None:
        _judge_error(problem, exact, error, verdict)
        return verdict
    if any(truth.singular for truth in exact):
        _judge_singular(exact, x, digits, warned, verdict)
        return verdict
    _judge_answer(problem, exact, x, bound, digits, warned, verdict)
    if warned:
        verdict.flags.add("warned")
        verdict.condition = max(truth.condition for truth in exact)
    return verdict


def _judge_error(problem, exact, error, verdict):
    verdict.message = f"{type(error).__name__}: {error}"[:300]
    if not isinstance(error, np.linalg.LinAlgError):
        verdict.outcome = "crashed"
        verdict.flags.add("crashed")
    elif any(truth.singular for truth in exact):
        verdict.outcome = "singular_raised"
    elif any(_log2_largest(truth) >= _BEYOND for truth in exact):
        verdict.outcome = "overflow_raised"
    else:
        verdict.outcome = "regular_raised"
        verdict.condition = max(truth.condition for truth in exact)
        if verdict.condition * exact[0].columns * problem.work.eps < 0.03:
            verdict.flags.add("needless_error")


def _log2_largest(truth):
    sizes = np.ndindex(truth.exponents.shape)
    return max((truth.log2_size(j, k) for j, k in sizes), default=-math.inf)


def _judge_singular(exact, x, digits, warned, verdict):
    verdict.outcome = "singular_warned"
    claims = 0.0 if digits is None else _largest_digits(digits, exact)
    if not warned or claims > 0:
        verdict.outcome = "singular_silent"
        verdict.flags.add("singular_silent")


def _largest_digits(digits, exact):
    digits = digits.reshape(len(exact), -1)
    return max(float(digits[i].max(initial=0.0)) for i, t in enumerate(exact) if t.singular)


def _judge_answer(problem, exact, x, bound, digits, warned, verdict):
    answer = problem.answer
    block = limbs(x)
    values = np.moveaxis(block.reshape(*block.shape[:2], len(exact), exact[0].columns, -1), 2, 0)
    shape = values.shape[0], *values.shape[3:]
    bound, digits = (None if y is None else y.reshape(shape) for y in (bound, digits))
    right = True
    lost = False
    for i, truth in enumerate(exact):
        finite = np.isfinite(values[i]).all(axis=(0, 1))
        ints, exponents = integers(np.where(np.isfinite(values[i]), values[i], 0.0), ())
        for j, k in np.ndindex(shape[1:]):
            claim = None if digits is None else float(digits[i, j, k])
            if not finite[j, k]:
                right = False
                if not warned or (claim or 0.0) > 0.0:
                    verdict.flags.add("infinite_silent")
                continue
            size = truth.log2_size(j, k)
            value = ints[: truth.parts, j, k].tolist()
            value += [0] * (truth.parts - len(value))
            error = truth.log2_error(value, int(exponents[j, k]), j, k)
            good = error <= size + math.log2(4 * answer.eps) + _LOOSE
            right &= good
            if not good and not warned:
                _count_silent(verdict, error, size, answer)
            if bound is not None:
                at_most = float(bound[i, j, k])
                _judge_bound(verdict, error, size, at_most, answer)
                _judge_digits(verdict, error, size, claim)
                leading = np.abs(values[i][:, 0, j, k])
                promised = at_most <= 4 * answer.eps * math.hypot(*leading)
                lost |= not promised and error > -math.inf
            verdict.components += 1
    if warned and right:
        verdict.flags.add("needless_warning")
    if lost and not warned:
        verdict.flags.add("missing_warning")


def _count_silent(verdict, error, size, answer):
    if size < math.log2(answer.tiny):
        verdict.flags.add("silent_zero" if size == -math.inf else "silent_underflow")
        return
    verdict.flags.add("silent_error")
    verdict.silent = max(verdict.silent, (error - size - math.log2(answer.eps)) * _LOG10_2)


def _judge_bound(verdict, error, size, bound, answer):
    if error == -math.inf:
        return
    most = math.log2(bound) if bound > 0 else -math.inf
    if error > most + _LOOSE:
        verdict.flags.add("bound_violated")
        verdict.violations += 1
        verdict.excess = max(verdict.excess, min(error - most, 9999.0) * _LOG10_2)
    elif math.log2(answer.tiny) <= size < _BEYOND and bound < math.inf:
        verdict.gaps.append((most - error) * _LOG10_2)


def _judge_digits(verdict, error, size, claim):
    """Digits are false beyond -log10 of the relative error, and any are of a wrong zero.

    Where fewer than one digit is claimed the answer and the truth differ so much that it matters
    which of them the error is relative to: by log10(2) at most.
    """
    if error == -math.inf:
        return
    true = max(0.0, (size - error) * _LOG10_2)
    allowance = 0.05 if claim >= 1 else 0.3
    if claim > true + allowance:
        verdict.flags.add("false_digits")
        verdict.false += 1
        verdict.overclaim = max(verdict.overclaim, claim - true)
