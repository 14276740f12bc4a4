"""Digits of least-squares solutions, said and true, against exact rational arithmetic."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import flint
import numpy as np

import mdqr
from benchmarks.common.precisions import PRECISIONS
from benchmarks.common.rows import Row
from benchmarks.common.runner import Benchmark, Options
from benchmarks.common.tables import Found, grid
from mdqr.testing import LSTSQ_PROBLEMS, lstsq_problem, matrix

Problem = tuple[mdqr.MDArray, mdqr.MDArray]
Maker = Callable[[mdqr.Precision], Problem]

CONDITIONS = (1e1, 1e5, 1e10, 1e15, 1e20, 1e30, 1e40, 1e60, 1e80, 1e100)
TALL = (20_000, 50)


def nist(name: str, precision: mdqr.Precision) -> Problem:
    """One of the sets of NIST, its decimals rounded to the precision."""
    found = lstsq_problem(name)
    return mdqr.array(found.a, precision=precision), mdqr.array(found.b, precision=precision)


def drawn(a: mdqr.MDArray, fits: bool = False) -> Problem:
    """A matrix with random right-hand sides: in its range but for rounding, or anywhere."""
    rng, p = np.random.default_rng(5), a.precision
    draw = partial(mdqr.random.uniform, low=-1, high=1, precision=p, rng=rng)
    return a, a @ draw(a.shape[1]) if fits else draw(a.shape[0])


def of_kind(
    kind: str, m: int, n: int, precision: mdqr.Precision, *, fits: bool = False, **options: Any
) -> Problem:
    """A matrix of `mdqr.testing`."""
    return drawn(matrix(kind, m, n, precision=precision, rng=3, **options), fits)


def graded_rows(precision: mdqr.Precision) -> Problem:
    """Rows that shrink by 2^-20 from one to the next."""
    a, b = of_kind("random", 20, 6, precision)
    down = 2.0 ** (-20.0 * np.arange(20))
    return a * down[:, None], b * down


def tall(precision: mdqr.Precision) -> Problem:
    """Many observations in float64."""
    rng = np.random.default_rng(11)
    return tuple(mdqr.array(rng.random(s), precision=precision) for s in (TALL, TALL[0]))


def families(options: Options) -> dict[str, Maker]:
    """Return the problems by name."""
    found: dict[str, Maker] = {f"NIST {name}": partial(nist, name) for name in LSTSQ_PROBLEMS}
    found["Hilbert 12 x 12"] = partial(of_kind, "hilbert", 12, 12)
    found["Hilbert 20 x 12"] = partial(of_kind, "hilbert", 20, 12)
    found["Vandermonde 30 x 15"] = partial(of_kind, "vandermonde", 30, 15)
    for bits in (20, 50, 100, 200):
        name = f"Läuchli 11 x 10, 2^-{bits}"
        found[name] = partial(of_kind, "laeuchli", 11, 10, cond=Fraction(2**bits))
    for cond in CONDITIONS:
        for fits, what in ((True, "small"), (False, "large")):
            name = f"random 40 x 20, condition {cond:.0e}, {what} residual"
            found[name] = partial(of_kind, "random", 40, 20, fits=fits, cond=Fraction(int(cond)))
    found["graded columns 40 x 20"] = partial(of_kind, "graded", 40, 20)
    found["graded rows 20 x 6"] = graded_rows
    found["random 20 x 40, minimum norm"] = partial(of_kind, "random", 20, 40, cond=10**6)
    found["random 20 x 40, condition 1e+12"] = partial(of_kind, "random", 20, 40, cond=10**12)
    if not options.quick:
        found[f"tall {TALL[0]} x {TALL[1]}, float64 data"] = tall
    return found


def exact_matrix(a: mdqr.MDArray) -> tuple[Any, int]:
    """Return integers and an exponent of two with the values of a matrix."""
    values = a.to_fractions()
    bits = max(value.denominator for value in values.ravel()).bit_length() - 1
    entries = [int(value * 2**bits) for value in values.ravel()]
    return flint.fmpz_mat(*a.shape, entries), bits


def exact_solution(a: mdqr.MDArray, b: mdqr.MDArray) -> list[Fraction]:
    """Return the exact least-squares, or minimum-norm, solution."""
    (left, alpha), (right, beta) = exact_matrix(a), exact_matrix(b[:, None])
    adjoint = left.transpose()
    wide = a.shape[0] < a.shape[1]
    numerators, denominator = (
        (left * adjoint).solve(right) if wide else (adjoint * left).solve(adjoint * right)
    ).numer_denom()
    numerators = adjoint * numerators if wide else numerators
    scale = Fraction(2**alpha, 2**beta * int(denominator))
    return [int(value) * scale for value in numerators.entries()]


def digits(precision: mdqr.Precision, relative: Fraction) -> float:
    """Return the decimal digits that a relative error leaves."""
    if relative == 0:
        return float(precision.digits)
    log = math.log10(relative.numerator) - math.log10(relative.denominator)
    return min(max(-log, 0.0), float(precision.digits))


def judged(name: str, problem: Problem, precision: mdqr.Precision) -> Row:
    """Solve, and compare every component with the exact one."""
    a, b = problem
    row = partial(Row, "digits", name, "mdqr", precision.name, f"{a.shape[0]}x{a.shape[1]}")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            fit = mdqr.linalg.lstsq(a, b)
        except np.linalg.LinAlgError as error:
            return row(math.nan, "digits", details={"said": None, "way": f"refused: {error}"})
    pairs = list(zip(fit.x.to_fractions(), exact_solution(a, b), strict=True))
    errors = [abs(x - truth) for x, truth in pairs]
    true = [
        digits(precision, error / abs(truth)) if truth else precision.digits * (error == 0)
        for error, (_, truth) in zip(errors, pairs, strict=True)
    ]
    said = fit.info.digits
    # Digits are cut off at those of the precision; a hundredth is the rounding of the logarithms.
    false = sum(said > np.array(true) + 0.01)
    beyond = sum(e > Fraction(float(w)) for e, w in zip(errors, fit.info.error_bound, strict=True))
    details = {
        "said": float(said.min()),
        "false digits": int(false),
        "bounds violated": int(beyond),
        "way": fit.info.method,
        "condition": float(fit.info.condition),
        "warned": bool(caught),
    }
    return row(float(min(true)), "digits", details=details)


def accuracy(options: Options) -> Iterator[Row]:
    """Judge every family in every precision."""
    for name, maker in families(options).items():
        for precision in PRECISIONS[1:]:
            try:
                problem = maker(precision)
            except ValueError:  # the precision has too few bits for such a condition
                continue
            yield judged(name, problem, precision)


def cell(row: Row | None) -> str:
    """Return the digits of the worst component, true and said."""
    if row is None:
        return ""
    said, way = row.details["said"], row.details["way"]
    if said is None:
        return "refused"
    wrong = row.details["false digits"] + row.details["bounds violated"]
    return (
        f"{row.value:.1f} / {said:.1f}"
        + (" H" if way == "householder" else "")
        + (" w" if row.details["warned"] else "")
        + (f" ({wrong} wrong)" if wrong else "")
    )


def lines(rows: list[Row]) -> list[str]:
    """Return one table: a problem a line, a precision a column."""
    found, names = Found(rows), [p.name for p in PRECISIONS[1:]]
    problems = dict.fromkeys(row.what for row in rows)
    cells = [
        [what, *(cell(found.row("digits", what=what, precision=name)) for name in names)]
        for what in problems
    ]
    wrong = sum(
        row.details.get("false digits", 0) + row.details.get("bounds violated", 0) for row in rows
    )
    head = (
        "Digits of the worst component, true / said by `info.digits`, at most those of the "
        'precision; H: by "householder"; w: with a warning. '
        f"Components with false digits or violated bounds: {wrong}."
    )
    return [head, "", *grid(["problem", *names], cells)]


BENCHMARKS = {
    "fits": Benchmark(
        "fits", "Digits of least-squares solutions", {"digits": accuracy}, lines=lines
    )
}
