"""Least squares where the caller says what counts as rank: shortest and basic solutions.

Column pivoting chooses r columns ``A1 = A[:, P[:r]]`` of full rank. What the others have beside
these is left out: ``A_r = A1 [I C] P^T``, ``C = A1^+ A2``, which is what a complete orthogonal
decomposition is of. Then ``A_r^+ = ([I C] P^T)^+ A1^+``: a problem of full rank by columns, and one
of fewer equations than unknowns, which are refined and bounded as such.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from mdqr._array.array import MDArray
from mdqr._errors import PrecisionWarning, warn_of_precision
from mdqr._functions.filled import zeros
from mdqr._functions.matrices import eye
from mdqr._functions.sequences import concatenate, stack
from mdqr._limbs import scaling
from mdqr._limbs.device import host_block, place_on_device_of
from mdqr._limbs.planes import Block, widen
from mdqr._precision import Precision
from mdqr.linalg._factor.qr import qr
from mdqr.linalg._inverse.approximate_inverse import UP
from mdqr.linalg._shared.caller import Caller
from mdqr.linalg._shared.checks import fetch
from mdqr.linalg._shared.operands import Inputs, gather
from mdqr.linalg._spectral.nearest import values_above_rounding
from mdqr.linalg._spectral.norms import norm

# Errors beyond so many eps of the largest component of a solution are warned of.
_WARNED = 2.0**10


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
    where columns do not count, or the shortest. `solve` is `lstsq` for matrices of full rank.
    """

    caller: Caller
    inputs: Inputs
    weights: MDArray | None
    rows: MDArray
    top: np.ndarray
    rtol: float
    basic: bool
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
    digits = _digits(problem.caller, bound, abs(x.to_numpy()), inputs.precision)
    distance, condition = joined("distance"), joined("condition")
    pivots, rank = joined("pivots", n, dtype=np.int64), joined("rank", dtype=np.int64)
    return ByRank(x, residuals, rank, RankInfo(pivots, distance, condition, bound, digits))


def _digits(
    caller: Caller, bound: np.ndarray, size: np.ndarray, precision: Precision
) -> np.ndarray:
    """Return the digits that bounds show, and warn where a large component has few of them."""
    with np.errstate(all="ignore"):
        digits = np.clip(-np.log10(np.where(bound > 0, bound / size, 0.0)), 0, precision.digits)
    largest = size.max(axis=-2, initial=0.0, keepdims=True)
    if not (bound <= _WARNED * precision.eps * largest).all():
        found = digits[np.broadcast_to(size == largest, digits.shape)].min()
        warn_of_precision(
            f"{caller.function}: about {int(found)} of {precision.digits} digits are shown to be "
            "correct in the largest component, of the solution by numerical rank for "
            f"{caller.a} and {caller.b} as stored"
        )
    return digits


def _solution(
    problem: DeficientProblem,
    place: tuple[int, ...],
    a: MDArray,
    b: MDArray,
    weights: MDArray | None,
) -> _One:
    """Return that of one matrix."""
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
