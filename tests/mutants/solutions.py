"""Solutions before their last rounding, which hides errors far below it, against exact ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from adversarial import families, problems, sides
from adversarial.draws import Draw, limbs_of
from adversarial.exact import Truth, integers
from adversarial.verdicts import answered

import mdqr
from mdqr._limbs import planes, scaling
from mdqr._precision import PRECISIONS, Precision
from mdqr.linalg._solve import answer
from mutants.judges import Claims

_SEED = 5


@contextmanager
def unrounded() -> Iterator[list[tuple[Any, Any]]]:
    """Collect pairs of a system and a part: a solution, what it lacks of that found, its bound."""
    found: list[tuple[Any, Any]] = []
    original = answer.unknowns

    def noted(system: Any, parts: Any, precision: Any) -> Any:
        found.extend((system, replace(part)) for part in parts)
        return original(system, parts, precision)

    answer.unknowns = noted
    try:
        yield found
    finally:
        answer.unknowns = original


def ratios(system: Any, part: Any, weights: Any) -> Iterator[float]:
    """Yield log2 of the errors of a solution that was not rounded over their bounds."""
    field, x, low = system.kind.is_complex, part.solution.x, part.solution.low
    a, b, x = (_single(block, field) for block in (system.given, part.given, x))
    if a is None:
        return
    truth = Truth(a, b, weights)
    error: Any = part.error
    if low is not None:
        eps = _eps(planes.limb_count(low, field))
        error = error + eps * scaling.leading(low, field)
        x = np.concatenate([x, _single(low, field)], axis=1)
    if truth.singular or not np.isfinite(x).all():
        return
    ints, exponents = integers(x, ())
    shift = (system.powers[..., :, None] - part.powers[..., None, :]).reshape(exponents.shape)
    shape = (*error.shape[:-2], *exponents.shape)
    bounds = np.broadcast_to(error, shape).reshape(exponents.shape) * (2.0**0.5 if field else 1)
    for place in np.ndindex(exponents.shape):
        at = int(exponents[place]) + int(shift[place])
        wrong = truth.log2_error(ints[:, *place].tolist(), at, *place)
        bound = float(bounds[place])
        if wrong > -math.inf and bound < math.inf:
            yield wrong - (math.log2(bound) + int(shift[place]) if bound > 0 else -math.inf)


def _eps(limbs: int) -> float:
    return next(p.eps for p in PRECISIONS if p.limbs == limbs)


def _single(block: Any, field: bool) -> Any:
    """Return a block ``(parts, N, m, n)`` of one matrix, None of more."""
    block = block if field else block[None]
    batch = math.prod(block.shape[2:-2])
    return block.reshape(*block.shape[:2], *block.shape[-2:]) if batch == 1 else None


def _family(name: str, make: Callable[..., Any], count: int, **options: Any) -> Claims:
    """Return claims about the first problems of a family, with work in a precision."""

    def claims(precision: Precision) -> Iterator[float]:
        for index in range(count):
            given = make(_SEED, index)
            if given.work == precision:
                yield from _claims(
                    given.a, given.b, given.weights, precision=given.precision, **options
                )

    return Claims(name, claims)


def _made(name: str, count: int, shape: str, **options: Any) -> Claims:
    """Return claims about problems that are made in a precision."""

    def claims(precision: Precision) -> Iterator[float]:
        for index in range(count):
            yield from _claims(*problem_of(precision, index, shape), **options)

    return Claims(name, claims)


def _claims(a: Any, b: Any, weights: Any, **options: Any) -> Iterator[float]:
    if weights is not None:
        options["weights"] = weights
    with unrounded() as parts:
        answered(partial(mdqr.linalg.lstsq, a, b, **options))
    for system, part in parts:
        yield from ratios(system, part, None if weights is None else problems.limbs(weights))


def problem_of(precision: Precision, index: int, shape: str) -> tuple[Any, Any, Any]:
    """Return one of few unknowns, of a condition that leaves steps something to do."""
    r = Draw(f"{shape}/{precision}/{index}")
    n, parts, bits = r.choice([1, 2, 2, 3, 3, 4]), 2 if r.chance(0.15) else 1, precision.bits
    m = n if shape == "square" else n + r.randint(1, 4)
    spread = r.uniform(0, 0.9 if shape == "square" else 0.45) * bits
    ints = families._conditioned(r, parts, m, n, bits, spread)
    ints = ints.swapaxes(1, 2) if shape == "wide" else ints
    a = _limbs(ints, precision)
    side = r.choice([sides.general, sides.consistent, sides.nearly])
    b = _limbs(side(r, integers(a, (0,))[0], 1, bits)[0], precision)
    weights = None
    if shape == "tall" and r.chance(0.3):
        weights = _array(_limbs(abs(r.full((1, m), bits)), precision))
    return _array(a), _array(b)[..., 0], weights


def _limbs(ints: Any, precision: Precision) -> Any:
    """Return limbs of integers in a unit that brings the largest near 1."""
    top = max(int(abs(x)).bit_length() for x in ints.ravel())
    return problems._normal(limbs_of(ints, np.full(ints.shape[1:], -top), precision.limbs))


def _array(block: Any) -> Any:
    """Return an MDArray of limbs ``(parts, N, ...)``."""
    field = len(block) == 2
    return mdqr.from_limbs(block if field else block[0], dtype=complex if field else float)


def _normal(precision: Precision) -> Iterator[float]:
    """Claims about problems of many rows, by normal equations."""
    for trial in range(10):
        rng = np.random.default_rng(trial)
        a, b = rng.standard_normal((300, 3)), rng.standard_normal(300)
        yield from _claims(a * 2.0 ** (trial * np.arange(3)) + a[:, :1], b, None)


def _square(seed: int, index: int) -> Any:
    return problems.problem(seed, index, square=True)


def _nothing(*_: Any) -> None:
    """A listener to progress: small systems do without one."""


TALL = _made("tall, by steps", 200, "tall", progress=_nothing)
SQUARE = _made("square, by steps", 200, "square", progress=_nothing)
TALL_BY_QR = _made("tall, by QR", 150, "tall", method="householder")
SQUARE_BY_QR = _made("square, by QR", 150, "square", method="householder")
HARD_BY_QR = _family("hard, by QR", problems.problem, 300, method="householder")
WIDE = _made("wide, by steps", 150, "wide")
WIDE_BY_QR = _made("wide, by QR", 150, "wide", method="householder")
HARD_WIDE = _family("hard and wide", problems.wide, 200)
NORMAL = Claims("by normal equations", _normal)
