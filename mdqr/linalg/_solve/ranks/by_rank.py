"""Solutions of least-squares problems by a chosen numerical rank.

A rank is chosen by `rtol`: column pivoting chooses r columns ``A1 = A[:, P[:r]]`` of full rank. The
components of the others outside of these are omitted: ``A_r = A1 [I C] P^T``, ``C = A1^+ A2``, as
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
from mdqr._errors import PrecisionWarning, place_of_least, warn_of_precision
from mdqr._functions.filled import zeros
from mdqr._functions.matrices import eye
from mdqr._functions.sequences import concatenate, stack
from mdqr._limbs import scaling
from mdqr._limbs.device import host_block, place_on_device_of
from mdqr._limbs.planes import Block, widen
from mdqr._precision import Precision, od
from mdqr.linalg._factor.qr import qr
from mdqr.linalg._inverse.approximate_inverse import UP
from mdqr.linalg._shared.caller import Caller
from mdqr.linalg._shared.checks import Checks, fetch
from mdqr.linalg._shared.digits import digits_within
from mdqr.linalg._shared.operands import Inputs, gather
from mdqr.linalg._solve.info import has_constant
from mdqr.linalg._solve.ranks.info import Fitted, Ranked, RankInfo
from mdqr.linalg._spectral.nearest import values_above_rounding
from mdqr.linalg._spectral.norms import norm

# Errors beyond so many eps of the largest component of a solution are warned of.
_WARNED = 2.0**10


class DeficientProblem(NamedTuple):
    """The problem to solve, each matrix of a batch for itself.

    `caller` is for messages. a and b have one batch shape, b as columns; `weights`, the same or
    None, ``(..., m)``. `rows` are those of a times the roots of weights, times ``2**-top`` so that
    entries are at most 1.
    Singular values of at most `rtol` of the largest count as zero. `basic` tells whether x is zero
    where columns do not count, or the shortest. `solve` is `lstsq` for matrices of full rank.
    `positive`, bool ``(..., m)``, marks the weights that are not zero; None is for all.
    """

    caller: Caller
    inputs: Inputs
    weights: MDArray | None
    rows: MDArray
    top: np.ndarray
    rtol: float
    basic: bool
    solve: Callable[..., Any]
    positive: Block | None
    is_vector: bool

    @property
    def wider(self) -> Precision:
        """The precision of solutions that others are made of, the next one up to octo-double.

        Sixteen limbs would take too long only to find the digits of eight.
        """
        own = self.inputs.precision
        return max(own, min(own.next, od))


class _One(NamedTuple):
    """The solution of one matrix, its residuals, and the rest."""

    x: MDArray
    residuals: MDArray
    part: Ranked


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


def by_rank(problem: DeficientProblem) -> tuple[MDArray, MDArray, Any, RankInfo]:
    """Return solutions ``(..., n, k)``, sums of squares of residuals ``(..., k)``, ranks, and info.

    Warn where digits are missing.
    """
    inputs, weights = problem.inputs, problem.weights
    work, field = inputs.work, inputs.is_complex
    a, b = (MDArray._wrap(widen(x, field, work.limbs), work, field) for x in inputs.blocks)
    batch, (n, k) = a.shape[:-2], (a.shape[-1], b.shape[-1])
    found = [
        _solution(problem, place, a[place], b[place], None if weights is None else weights[place])
        for place in np.ndindex(batch)
    ]
    if found:
        x, residuals = (stack([getattr(one, name) for one in found]) for name in ("x", "residuals"))
    else:
        dtype = complex if field else float
        x = zeros((0, n, k), precision=inputs.precision, dtype=dtype, device=a.device)
        residuals = zeros((0, k), precision=inputs.precision, device=a.device)
    x, residuals = x.reshape(*batch, n, k), residuals.reshape(*batch, k)
    parts = [one.part for one in found]
    bound = np.array([part.bound for part in parts]).reshape(*batch, n, k)
    digits = _digits(problem, bound, abs(x.to_numpy()))
    rank = np.array([part.rank for part in parts], dtype=np.int64).reshape(batch)
    return x, residuals, rank, RankInfo(_fitted(problem, b), parts, digits, residuals)


def _fitted(problem: DeficientProblem, b: MDArray) -> Fitted:
    """Return the data for statistics, which are computed when they are read."""
    inputs, positive, checks = problem.inputs, problem.positive, Checks()
    constant = has_constant(inputs.blocks[0], inputs.kind, positive, checks)
    counted = np.full(b.shape[:-2], b.shape[-2]) if positive is None else positive.sum(axis=-1)
    constant, counted = checks.settle(constant, counted)
    return Fitted(
        inputs._replace(blocks=[inputs.blocks[0][..., :0, :0]]),
        problem.rows,
        problem.top,
        b.copy(),
        None if problem.weights is None else problem.weights.copy(),
        constant,
        counted,
        problem.is_vector,
    )


def _digits(problem: DeficientProblem, bound: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Return the digits that bounds show, and warn where a large component has few of them."""
    caller, precision = problem.caller, problem.inputs.precision
    with np.errstate(all="ignore"):
        digits = digits_within(np.where(bound > 0, bound / size, 0.0), precision.digits)
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
    bound, triangle = np.zeros((n, k)), r[:rank, :rank]
    if not rank:
        squares = abs(b) ** 2
        squares = (squares if weights is None else weights[:, None] * squares).sum(axis=0)
        none = _part([], rank, host, distance, bound, triangle, None)
        return _One(x, squares.astype(inputs.precision), none)
    all_count = problem.basic or rank == n
    # One problem for b and for the columns that do not count, `C = A1^+ A2`.
    right = b if all_count else concatenate([b, a[:, pivots[rank:]]], axis=1)
    with warnings.catch_warnings():
        # Of parts; what matters for x is in its bound.
        warnings.simplefilter("ignore", PrecisionWarning)
        fit = problem.solve(a[:, pivots[:rank]], right, weights=weights, precision=problem.wider)
        found, known, places, infos = fit.x, fit.info.error_bound, rank, [fit.info]
        if not all_count:
            found, known, of_shortest = _shortest(problem, fit.x, known, k)
            places, infos = n, [fit.info, of_shortest]
    x[pivots[:places]] = found
    # What is cut off is right to eps of the wider precision.
    cut = abs(found - x[pivots[:places]]).to_numpy()
    bound[host[:places]] = np.where(cut > 0, (known + cut) * UP, known)
    others = None if all_count else fit.x[:, k:]
    part = _part(infos, rank, host, distance, bound, triangle, others)
    return _One(x, fit.residuals[:k].astype(inputs.precision), part)


def _part(infos: list[Any], *known: Any) -> Ranked:
    """Join facts of a matrix and of the solutions of the problems for x."""
    first = infos[0] if infos else None
    found = (
        float(first.condition) if first else 1.0,
        first.method if first else "householder",
        "proven" if all(info.bound_kind == "proven" for info in infos) else "estimated",
        max((info.iterations for info in infos), default=0),
        first.history if first else np.zeros(0),
    )
    return Ranked._make((*known, *found))


def _shortest(
    problem: DeficientProblem, fits: MDArray, bound: np.ndarray, k: int
) -> tuple[MDArray, np.ndarray, Any]:
    """Return the shortest of the solutions given by fits of k right-hand sides and C.

    With bounds of its errors, and the info of the problem that was solved.
    """
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
    moved = short.info.data_error_bound if known else np.full(short.x.shape, np.inf)
    return short.x, moved, short.info
