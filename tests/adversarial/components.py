"""Verdicts on the error bound and the digits of each component of a solution."""

from __future__ import annotations

import math

import numpy as np

from .exact import integers

_LOG10_2 = math.log10(2)


def judge_all(verdict, truth, block, info):
    """Judge the limbs ``(..., n, k)`` of a solution by the exact one, with an info of its shape."""
    ints, places = integers(block, ())
    bounds, digits = (np.reshape(x, block.shape[-2:]) for x in (info.error_bound, info.digits))
    for j, k in np.ndindex(*block.shape[-2:]):
        error = truth.log2_error(ints[:, j, k].tolist(), int(places[j, k]), j, k)
        judge(verdict, error, truth.log2_size(j, k), bounds[j, k], digits[j, k])


def judge(verdict, error, size, bound, digits):
    """Judge one component; `error` and `size` are binary logarithms of exact moduli."""
    verdict.components += 1
    if error == -math.inf:
        return
    gap = ((math.log2(bound) if bound > 0 else -math.inf) - error) * _LOG10_2
    if gap < -1e-9:
        verdict.violations["all"] += 1
        verdict.note("bound_violated", "excess", min(-gap, 9999.0))
    elif bound < math.inf:
        verdict.gaps.append(("all", gap))
    if digits > max((size - error) * _LOG10_2, 0.0) + 1e-9:
        verdict.note("false_digits", "overclaim", digits - (size - error) * _LOG10_2)
