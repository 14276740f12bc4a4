"""Rank from condition estimates, messages if it is missing, and solutions by a chosen rank.

A rank is chosen by `rtol`: column pivoting chooses r columns ``A1 = A[:, P[:r]]`` of full rank. The
components of the others outside of these are left out: ``A_r = A1 [I C] P^T``, ``C = A1^+ A2``, as
in a complete orthogonal decomposition. Then ``A_r^+ = ([I C] P^T)^+ A1^+``: a problem of full rank
by columns, and one of fewer equations than unknowns, which are refined and bounded as such.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from mdqr._array.array import MDArray
from mdqr._errors import (
    DataPrecisionWarning,
    PrecisionWarning,
    place_of_least,
    warn_of_precision,
)
from mdqr._functions.filled import zeros
from mdqr._functions.matrices import eye
from mdqr._functions.sequences import concatenate, stack
from mdqr._limbs import planes, scaling
from mdqr._limbs.device import host_block, place_on_device_of
from mdqr._limbs.planes import Block, widen
from mdqr._precision import PRECISIONS, Precision
from mdqr.linalg._factor import householder
from mdqr.linalg._factor.condition import condition
from mdqr.linalg._factor.qr import qr
from mdqr.linalg._inverse.approximate_inverse import UP
from mdqr.linalg._shared.caller import LSTSQ, Caller
from mdqr.linalg._shared.checks import Checks, fetch
from mdqr.linalg._shared.operands import Inputs, gather
from mdqr.linalg._solve.householder.augmented import refine
from mdqr.linalg._solve.problem import SMALL, Decisive
from mdqr.linalg._solve.system import System, deficient, triangle_of
from mdqr.linalg._spectral.nearest import values_above_rounding
from mdqr.linalg._spectral.norms import norm

_DEPENDENT_BITS = 8
# So many multiply-adds take about a second in the highest precision.
_SOON = 2**23
# Errors beyond so many eps of the largest component of a solution are warned of.
_WARNED = 2.0**10


def decide(
    system: System, found: Decisive, eps: float, rcond: float | None, inputs: Inputs
) -> np.ndarray:
    """Return the numerical rank of each matrix, int64 of the batch shape.

    Parameters
    ----------
    system : System
        The factored problem.
    found : Decisive
        Its condition.
    eps : float
        The eps of the data.
    rcond : float or None
        As in `lstsq`.
    inputs : Inputs
        The operands, for the working precision.

    Raises
    ------
    numpy.linalg.LinAlgError
        If a matrix is rank deficient and the caller gave `rcond`, or a column is linearly dependent
        on the others to working precision.
    """
    m, n = system.a.shape[-2:]
    threshold, line = eps * max(m, n) if rcond is None else float(rcond), system.line
    rank = np.full(found.value.shape, n, dtype=np.int64)
    for index in np.ndindex(found.value.shape):
        value = float(found.value[index])
        rounded = value * threshold >= 1.0
        # The entries may have more digits than the work.
        if not rounded and value * n * inputs.work.eps < 1.0:
            continue
        vector = found.vector[index]
        if (rounded and rcond is not None) or _depends(
            system, index, vector, value, inputs.work.eps
        ):
            if value * n * inputs.work.eps < 1.0:
                advice = f"rcond={threshold:.3g} refuses that; give less, or leave the {line} out"
            else:
                advice = _advice(system, index, value, inputs.work)
            column = _last_large(vector)
            raise np.linalg.LinAlgError(
                deficient(system.caller, column, index, value, advice, line)
            )
        if rounded:
            rank[index] = _peeled(system, index, int(vector.argmax()), threshold)
    return rank


def _last_large(vector: np.ndarray) -> int:
    """Return the last column with a large component in the direction that is nearly lost."""
    return int(np.flatnonzero(vector >= 0.1)[-1])


def require_regular(system: System, found: Decisive, work: Precision) -> None:
    """Raise LinAlgError if a column is linearly dependent on the others to working precision."""
    for index in np.ndindex(found.value.shape):
        value = float(found.value[index])
        if _depends(system, index, found.vector[index], value, work.eps):
            column, advice = _last_large(found.vector[index]), _advice(system, index, value, work)
            raise np.linalg.LinAlgError(deficient(system.caller, column, index, value, advice))


def _advice(system: System, index: tuple[int, ...], value: float, work: Precision) -> str:
    """Return what to do about a matrix whose columns the work cannot tell apart.

    Its condition is lost in rounding errors, and is found in higher precisions; "" for a matrix
    whose columns depend on each other in all of them. For large ones that takes long.
    """
    a, n, front = system.a, system.columns, (slice(None),) * system.kind.lead
    verb = "tells" if a.shape[-2] * n**2 <= _SOON else "may tell"
    for precision in (p for p in PRECISIONS if p > work):
        if verb == "tells":
            kind = system.kind._replace(limbs=precision.limbs)
            try:
                trial = System.of(
                    system.caller, system.backend, a[front + index], Checks(), kind=kind
                )
                value = float(trial.checks.settle(condition(trial.triangle).value)[0])
            except np.linalg.LinAlgError:
                return ""
        if value * n * precision.eps < SMALL:
            leave = f", or leave the {system.line} out" if system.caller == LSTSQ else ""
            return (
                f"precision=mdqr.{precision.name} {verb} them apart if the entries are exact; if "
                f"they are rounded, give them with more digits too{leave}"
            )
    return ""


def _depends(
    system: System, index: tuple[int, ...], vector: np.ndarray, value: float, eps: float
) -> bool:
    """Return whether a column is linearly dependent on the others to working precision.

    Only where the condition hides the smallest singular value below the rounding errors is that
    open. Then the column is fitted by the others: refinement finds its distance from them to
    about ``eps**2`` times their condition, while a matrix that is merely ill conditioned leaves a
    distance near eps.
    """
    n = system.columns
    if value * n * eps < 1.0:
        return False
    if n == 1:
        return True
    front = (slice(None),) * system.kind.lead
    a = system.a[front + index]
    column = int(vector.argmax())
    rest = System.of(system.caller, system.backend, _without(a, column), Checks(), kind=system.kind)
    limit = 4.0 * n * eps * system.backend.xp.asarray(condition(rest.triangle).value)
    (known,) = rest.checks.settle(limit)
    if not known < 0.5:
        return True
    target = a[..., column : column + 1]
    distance = refine(rest, target, eps, limit).r
    sizes = rest.checks.settle(
        *(scaling.leading(x, system.kind.is_complex).max() for x in (distance, target))
    )
    level = eps * min(8.0 * float(known), 2.0**-_DEPENDENT_BITS)
    return bool(sizes[0] <= level * sizes[1])


def _without(block: Block, column: int) -> Block:
    """Return matrices less one column."""
    parts = [block[..., :column], block[..., column + 1 :]]
    return planes.namespace(block).concatenate(parts, axis=-1)


def _peeled(system: System, index: tuple[int, ...], column: int, threshold: float) -> int:
    """Return the number of columns left when those that depend on others are taken out of R."""
    front = (slice(None),) * system.kind.lead
    r = system.factors.form_r(system.columns)[front + index]
    while r.shape[-1] > 1:
        r = _without(r, column)
        factors = householder.factor(
            system.backend,
            r.copy(),
            kind=system.kind,
            keep_q=False,
        )
        checks = Checks()
        found = condition(triangle_of(factors, system.caller, checks))
        value, vector = checks.settle(found.value, found.vector)
        if float(value) * threshold < 1.0:
            break
        column = int(vector.argmax())
    return int(r.shape[-1])


def warn_if_deficient(caller: Caller, rank: np.ndarray, n: int, inputs: Inputs) -> None:
    """Warn where the solution is that of the entries as given, which may not determine it."""
    if bool((rank == n).all()):
        return
    options = " (info.data_digits tells); rcond=0 says that they are exact"
    warn_of_precision(
        caller.public,
        f"{caller.a} has numerical rank {int(rank.min())} of {n} to the precision of its entries: "
        "x solves the entries as they are given, and if those are rounded, few or none of its "
        "digits mean anything in any precision" + (options if caller == LSTSQ else ""),
        precision=inputs.precision,
        index=place_of_least(rank),
        category=DataPrecisionWarning,
    )


class RankInfo(NamedTuple):
    """Quality of a solution by numerical rank: `lstsq` with `rtol`.

    Attributes
    ----------
    pivots : numpy.ndarray
        The columns of `a`, int64 ``(..., n)``: the first `rank` of them count.
    distance : float or numpy.ndarray
        Length, in the Frobenius norm of (weighted) rows, of the components of the other columns
        outside of these, which are discarded: rounding errors of `a` where the rank is exactly
        that.
    condition : float or numpy.ndarray
        Estimated condition of the columns that count, scaled by powers of two.
    error_bound : numpy.ndarray
        Bound of the absolute error of each component of x, as the solution for the matrix without
        the discarded part; float64 of x's shape.
    digits : numpy.ndarray
        Correct decimal digits of each component, from `error_bound`.
    """

    pivots: np.ndarray
    distance: Any
    condition: Any
    error_bound: np.ndarray
    digits: np.ndarray


RankInfo.__module__ = "mdqr.linalg"


class DeficientProblem(NamedTuple):
    """The problem to solve, each matrix of a batch for itself.

    `caller` is for messages. a and b have one batch shape, b as columns; `weights`, the same or
    None, ``(..., m)``. `rows` are those of a times the roots of weights, times ``2**-top`` so that
    entries are at most 1.
    Singular values of at most `rtol` of the largest count as zero. `basic` tells whether x is zero
    where columns do not count, or the shortest, and `is_vector` whether users see x without its
    last axis. `solve` is `lstsq` for matrices of full rank.
    """

    caller: Caller
    inputs: Inputs
    weights: MDArray | None
    rows: MDArray
    top: np.ndarray
    rtol: float
    basic: bool
    is_vector: bool
    solve: Callable[..., Any]

    @property
    def wider(self) -> Precision:
        """The precision of solutions that others are made of."""
        return self.inputs.precision.next


class ByRank(NamedTuple):
    """Solutions ``(..., n, k)``, sums of squares of residuals ``(..., k)``, ranks, and the rest."""

    x: MDArray
    residuals: MDArray
    rank: Any
    info: RankInfo


class _One(NamedTuple):
    """That of one matrix."""

    x: MDArray
    residuals: MDArray
    rank: int
    pivots: np.ndarray
    distance: float
    condition: float
    bound: np.ndarray


def weighted_rows(
    inputs: Inputs, root: Block | None, powers: Block | None, positive: Block | None
) -> tuple[MDArray, np.ndarray]:
    """Return rows of the first operand times ``root 2**powers``, times ``2**-top``, and top.

    No product over- or underflows relative to the largest entry, whatever the sizes of both are.
    """
    a, field, xp = inputs.blocks[0], inputs.is_complex, inputs.backend.xp
    if positive is not None:
        a = xp.where(positive[..., None], a, 0.0)
    bits = scaling.largest(scaling.magnitude_bits(a, field), -1, 0)
    sizes = scaling.exponents_or_absent(bits)
    sizes = sizes if powers is None else sizes + powers
    top = scaling.largest(sizes, -1, 0)
    top = xp.where(top > scaling.ABSENT // 2, top, 0)
    shift = -top[..., None] if powers is None else powers - top[..., None]
    rows = inputs.backend.ldexp(a, shift[..., None], is_complex=field)
    rows = widen(rows, field, inputs.work.limbs)
    if root is not None:
        rows = inputs.backend.binary("multiply", rows, root, kind=inputs.kind)
    return MDArray._wrap(rows, inputs.work, field), fetch(top)[0]


def by_rank(problem: DeficientProblem) -> ByRank:
    """Return solutions by numerical rank; warn where digits are missing."""
    inputs, weights = problem.inputs, problem.weights
    work, field = inputs.work, inputs.is_complex
    a, b = (MDArray._wrap(widen(x, field, work.limbs), work, field) for x in inputs.blocks)
    batch, (n, k) = a.shape[:-2], (a.shape[-1], b.shape[-1])
    found = [
        _solution(problem, place, a[place], b[place], None if weights is None else weights[place])
        for place in np.ndindex(batch)
    ]

    def joined(name: str, *shape: int, dtype: type = float) -> Any:
        values: np.ndarray = np.array([getattr(one, name) for one in found], dtype=dtype)
        return values.reshape((*batch, *shape)) if batch or shape else values.item()

    if found:
        x, residuals = (stack([getattr(one, name) for one in found]) for name in ("x", "residuals"))
    else:
        dtype = complex if field else float
        x = zeros((0, n, k), precision=inputs.precision, dtype=dtype, device=a.device)
        residuals = zeros((0, k), precision=inputs.precision, device=a.device)
    x, residuals = x.reshape(*batch, n, k), residuals.reshape(*batch, k)
    bound = joined("bound", n, k)
    digits = _digits(problem, bound, abs(x.to_numpy()))
    distance, condition = joined("distance"), joined("condition")
    pivots, rank = joined("pivots", n, dtype=np.int64), joined("rank", dtype=np.int64)
    return ByRank(x, residuals, rank, RankInfo(pivots, distance, condition, bound, digits))


def _digits(problem: DeficientProblem, bound: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Return the digits that bounds show, and warn where a large component has few of them."""
    caller, precision = problem.caller, problem.inputs.precision
    with np.errstate(all="ignore"):
        digits = np.clip(-np.log10(np.where(bound > 0, bound / size, 0.0)), 0, precision.digits)
    largest = size.max(axis=-2, initial=0.0, keepdims=True)
    if not (bound <= _WARNED * precision.eps * largest).all():
        shown = float(digits[np.broadcast_to(size == largest, digits.shape)].min())
        place = place_of_least(digits)
        warn_of_precision(
            caller.public,
            f"about {int(shown)} of {precision.digits} digits are shown to be correct in "
            "the largest component, of the solution by numerical rank for "
            f"{caller.a} and {caller.b} as stored",
            digits=digits[place],
            precision=precision,
            index=place[:-1] if problem.is_vector else place,
        )
    return digits


def _solution(
    problem: DeficientProblem,
    place: tuple[int, ...],
    a: MDArray,
    b: MDArray,
    weights: MDArray | None,
) -> _One:
    """Return the answer for one matrix."""
    inputs, (n, k) = problem.inputs, (a.shape[-1], b.shape[-1])
    r, pivots = qr(problem.rows[place], "r", pivoting=True)
    values = values_above_rounding(problem.caller.function, gather(r, precision=None))
    least = max(float(problem.rtol), max(a.shape) * inputs.work.eps)
    rank = int((values > values[:1] * least).sum())
    host = np.asarray(host_block(pivots))
    with np.errstate(over="ignore"):
        distance = float(np.ldexp(float(norm(r[rank:, rank:])), int(problem.top[place])))
    dtype = complex if inputs.is_complex else float
    x = zeros((n, k), precision=inputs.precision, dtype=dtype, device=a.device)
    bound = np.zeros((n, k))
    if not rank:
        squares = abs(b) ** 2
        squares = (squares if weights is None else weights[:, None] * squares).sum(axis=0)
        return _One(x, squares.astype(inputs.precision), 0, host, distance, 1.0, bound)
    all_count = problem.basic or rank == n
    # One problem for b and for the columns that do not count, `C = A1^+ A2`.
    right = b if all_count else concatenate([b, a[:, pivots[rank:]]], axis=1)
    with warnings.catch_warnings():
        # Of parts; what matters for x is in its bound.
        warnings.simplefilter("ignore", PrecisionWarning)
        fit = problem.solve(a[:, pivots[:rank]], right, weights=weights, precision=problem.wider)
        if all_count:
            found, known, places = fit.x, fit.info.error_bound, rank
        else:
            found, known = _shortest(problem, fit.x, fit.info.error_bound, k)
            places = n
    x[pivots[:places]] = found
    # What is cut off is right to eps of the wider precision.
    cut = abs(found - x[pivots[:places]]).to_numpy()
    bound[host[:places]] = np.where(cut > 0, (known + cut) * UP, known)
    squares = fit.residuals[:k].astype(inputs.precision)
    return _One(x, squares, rank, host, distance, float(fit.info.condition), bound)


def _shortest(
    problem: DeficientProblem, fits: MDArray, bound: np.ndarray, k: int
) -> tuple[MDArray, np.ndarray]:
    """Return the shortest of the solutions that fits of k right-hand sides and C stand for."""
    rank, precision = fits.shape[0], problem.wider
    one = eye(rank, precision=precision, device=fits.device)
    known = bool(np.isfinite(bound).all())
    near = partial(place_on_device_of, other=fits._block)
    of_a = np.concatenate([np.zeros((rank, rank)), bound[:, k:]], axis=1)
    short = problem.solve(
        concatenate([one, fits[:, k:]], axis=1),
        fits[:, :k],
        precision=precision,
        data_error={"a_atol": near(of_a), "b_atol": near(bound[:, :k])} if known else None,
    )
    return short.x, short.info.data_error_bound if known else np.full(short.x.shape, np.inf)
