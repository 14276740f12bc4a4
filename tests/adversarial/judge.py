"""Verdicts on `lstsq` and `solve`: each component against the exact solution.

A component is right if it is within 4 eps of the truth or exact. Its bound is violated if the error
is larger; its digits are false beyond -log10 of the relative error, and any are of a zero that came
as something else. PrecisionWarning is expected exactly if a component that is not exact claims less
than 4 eps: it is missing if it was not given then, and needless if all components are right.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

import mdqr
from mdqr._precision import PRECISIONS

from .exact import integers
from .verdicts import NEEDLESS, Verdict, answered, truths

_LOG10_2 = math.log10(2)
# From here on a value rounds to infinity.
_BEYOND = 1024.0
# Comparisons of logarithms: they are right to a few ulp of numbers below 2^14.
_LOOSE = 1e-10
_LEAST = 2.0**-1070
# Components below 10^-10 of the largest one of their column are small.
_SMALL = -10 / _LOG10_2
_WARNINGS = {"warned", "rank_warning"}


@dataclass
class Component:
    """One component: log2 of its exact size, of its error and of the largest one beside it."""

    size: float
    error: float
    largest: float
    answer: Any

    @property
    def kind(self):
        """Where it lies: what is lost there has different causes."""
        if self.size == -math.inf:
            return "zero"
        if self.size < math.log2(self.answer.tiny):
            return "below tiny"
        return "small" if self.size < self.largest + _SMALL else "ordinary"

    @property
    def right(self):
        return self.error <= self.size + math.log2(4 * self.answer.eps) + _LOOSE


def called(name, problem, **options):
    """Return the answer of a function of `mdqr.linalg`, what it raised and its warnings."""
    options["precision"] = problem.precision
    if problem.weights is not None:
        options["weights"] = problem.weights
    return answered(lambda: getattr(mdqr.linalg, name)(problem.a, problem.b, **options))


def lstsq(problem, **options):
    """Judge `lstsq` of a problem."""
    found, error, caught = called("lstsq", problem, **options)
    if found is None:
        return verdict_of(problem, None, None, None, error, caught)
    info = found.info
    verdict = verdict_of(problem, found.x, info.error_bound, info.digits, error, caught)
    is_wide = problem.a.shape[-2] < problem.a.shape[-1]
    if verdict.outcome == "solved" and not (is_wide or verdict.flags & _WARNINGS):
        _judge_residuals(problem, found.residuals, verdict)
    return verdict


def lstsq_with_digits(problem, digits):
    """Judge `lstsq` in the precision that it chooses for so many digits; nothing warns of fewer."""
    options = {} if problem.weights is None else {"weights": problem.weights}
    call = partial(mdqr.linalg.lstsq, problem.a, problem.b, digits=digits, **options)
    found, error, caught = answered(call)
    chosen = PRECISIONS[-1] if found is None else found.x.precision
    problem, verdict = replace(problem, precision=chosen), Verdict()
    verdict.note_warnings(caught)
    exact = truths(problem)
    if found is None:
        _judge_error(problem, exact, error, verdict)
        # No precision proves a digit of components that are zero, or below the range.
        verdict.flags.discard("needless_error")
    elif any(truth.singular for truth in exact):
        verdict.note("singular_silent")
    else:
        info = found.info
        _judge_answer(problem, exact, found.x, (info.error_bound, info.digits), True, verdict)
        verdict.flags.discard("needless_warning")  # there was none
        if info.digits.min() < digits or not np.all(np.asarray(info.bound_kind) == "proven"):
            verdict.note("false_digits")
    return verdict


def solve(problem):
    """Judge `solve` of a problem."""
    found, error, caught = called("solve", problem, return_info=True)
    x, info = (None, None) if found is None else found
    bound, digits = (None, None) if found is None else (info.error_bound, info.digits)
    return verdict_of(problem, x, bound, digits, error, caught)


def verdict_of(problem, x, bound, digits, error=None, caught=()):
    """Return the verdict on an answer, or on what was raised, and on the warnings given."""
    exact, verdict = truths(problem), Verdict()
    warned = verdict.note_warnings(caught)
    if error is not None:
        _judge_error(problem, exact, error, verdict)
    elif any(truth.singular for truth in exact):
        _judge_singular(exact, digits, verdict)
    else:
        _judge_answer(problem, exact, x, (bound, digits), warned, verdict)
    if verdict.flags & _WARNINGS and not verdict.condition:
        verdict.condition = max(truth.condition for truth in exact)
    if "rank_warning" in verdict.flags:
        # The default of max_condition is 1 / (eps(data) max(m, n)).
        smallest = exact[0].rows * problem.data.eps
        if verdict.condition * smallest < NEEDLESS:
            verdict.note("needless_rank_warning")
    return verdict


def _judge_residuals(problem, residuals, verdict):
    """Compare the sums of squares: r is right to eps and ``eps**2 condition b``, 64 m times.

    Of b in pieces, which lie ``2**166`` apart in od, it is right to eps of the second piece.
    """
    exact, answer = truths(problem), problem.answer
    block = residuals.limbs.reshape(1, len(residuals.limbs), len(exact), -1)
    for i, truth in enumerate(exact):
        ints, exponents = integers(np.nan_to_num(block[:, :, i]), ())
        factor, work = math.log2(64 * truth.rows), problem.work.eps
        for k in range(block.shape[-1]):
            size = truth.log2_residual(k)
            if 2 * size + 2 * _LOOSE >= _BEYOND:
                continue
            error = truth.log2_residual_error(int(ints[0, k]), int(exponents[k]), k)
            least = math.log2(truth.condition * work) + truth.log2_right_side(k)
            least += max(math.log2(work), -166.0)
            most = factor + np.logaddexp2(size + math.log2(answer.eps), least)
            # Of the square; what falls below the smallest double of its limbs.
            most = max(most + np.logaddexp2(size, most) + 1, -1070)
            if error > most:
                verdict.note("residual_wrong", "silent", (error - most) * _LOG10_2)


def _judge_error(problem, exact, error, verdict):
    if not verdict.note_error(error):
        return
    if any(truth.singular for truth in exact):
        verdict.outcome = "singular_raised"
    elif max(truth.log2_largest() for truth in exact) >= _BEYOND:
        verdict.outcome = "overflow_raised"
    else:
        verdict.outcome = "regular_raised"
        verdict.condition = max(truth.condition for truth in exact)
        if verdict.condition * exact[0].columns * problem.work.eps < NEEDLESS:
            verdict.note("needless_error")


def _judge_singular(exact, digits, verdict):
    claimed = 0.0
    if digits is not None:
        digits = digits.reshape(len(exact), -1)
        claimed = max(digits[i].max() for i, truth in enumerate(exact) if truth.singular)
    verdict.outcome = "singular_warned"
    if not verdict.flags & _WARNINGS or claimed > 0:
        verdict.outcome = "singular_silent"
        verdict.note("singular_silent")


def _judge_answer(problem, exact, x, claims, warned, verdict):
    answer = problem.answer
    block = x.limbs if x.is_complex else x.limbs[None]
    block = block.reshape(*block.shape[:2], len(exact), exact[0].columns, -1)
    shape = block.shape[2:]
    bound, digits = (None if y is None else y.reshape(shape) for y in claims)
    right, short = True, False
    for i, truth in enumerate(exact):
        finite = np.isfinite(block[:, :, i]).all(axis=(0, 1))
        components = _components(truth, np.where(finite, block[:, :, i], 0.0), answer)
        for (j, k), component in components.items():
            claim = None if digits is None else float(digits[i, j, k])
            if not finite[j, k]:
                right = False
                if not warned or claim:
                    verdict.note("infinite_silent")
                continue
            verdict.components += 1
            right &= component.right
            if not component.right and not warned:
                _note_silent(component, verdict)
            if bound is not None and component.error > -math.inf:
                most = float(bound[i, j, k])
                _judge_bound(component, most, verdict)
                _judge_digits(component, claim, verdict)
                # No bound can be much below the smallest double.
                least = max(4 * answer.eps * math.hypot(*block[:, 0, i, j, k]), _LEAST)
                short |= most > least
    if warned and right:
        verdict.note("needless_warning")
    if short and not warned:
        verdict.note("missing_warning")


def _components(truth, block, answer):
    """The components of an answer ``(parts, N, n, k)``, by row and column."""
    ints, exponents = integers(block, ())
    found = {}
    for k in range(block.shape[-1]):
        largest = max(truth.log2_size(j, k) for j in range(truth.columns))
        for j in range(truth.columns):
            error = truth.log2_error(ints[:, j, k].tolist(), int(exponents[j, k]), j, k)
            found[j, k] = Component(truth.log2_size(j, k), error, largest, answer)
    return found


def _note_silent(component, verdict):
    kinds = {"zero": "silent_zero", "below tiny": "silent_underflow"}
    flag = kinds.get(component.kind, "silent_error")
    relative = component.error - component.size - math.log2(component.answer.eps)
    verdict.note(flag, "silent" if flag == "silent_error" else None, relative * _LOG10_2)


def _judge_bound(component, bound, verdict):
    most = math.log2(bound) if bound > 0 else -math.inf
    gap = (most - component.error) * _LOG10_2
    if component.error > most + _LOOSE:
        verdict.violations[component.kind] += 1
        verdict.note("bound_violated", "excess", min(-gap, 9999.0))
    elif component.kind in ("ordinary", "small") and bound < math.inf:
        verdict.gaps.append((component.kind, gap))


def _judge_digits(component, claim, verdict):
    """Compare digits, of the answer, with the error relative to the truth.

    The two differ by log10(2) at most where less than one digit is claimed, by 0.05 elsewhere.
    """
    true = max(0.0, (component.size - component.error) * _LOG10_2)
    if claim > true + (0.05 if claim >= 1 else 0.31):
        verdict.false[component.kind] += 1
        verdict.note("false_digits", "overclaim", claim - true)
    elif claim < component.answer.digits - 1 and component.kind in ("ordinary", "small"):
        verdict.understated.append((component.kind, min(true, component.answer.digits) - claim))
