"""Least squares."""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn

import numpy as np

from mdqr import _limbs
from mdqr._array import MDArray
from mdqr._backend.protocol import Block
from mdqr._precision import Precision
from mdqr._promotion import to_block, together
from mdqr.linalg import _bounds, _householder, _rank, _scaling
from mdqr.linalg._augmented import Solution, System, refine, take_rows
from mdqr.linalg._checks import Checks
from mdqr.linalg._condition import Condition, condition
from mdqr.linalg._lstsq_info import Fit, LstsqInfo, scale_back, sum_of_squares
from mdqr.linalg._operands import (
    Callback,
    Inputs,
    broadcast_batch,
    check_callback,
    data_eps,
    gather,
    matrix_shape,
    room,
)
from mdqr.linalg._triangular import right_hand_side

_METHODS = ("auto", "householder")
_SORTED_SPAN = 8


class LstsqResult(NamedTuple):
    """A least-squares solution; unpacks as NumPy's, with `info` in the place of s.

    Attributes
    ----------
    x : MDArray
        The solution, ``(n,)`` or ``(..., n, k)``.
    residuals : MDArray
        Sums of squares of the (weighted) residuals, ``(1,)`` for a vector b, else ``(..., k)``.
    rank : int or numpy.ndarray
        Numerical rank of a; an array for a batch.
    info : LstsqInfo
        Condition, error bounds, digits and statistics.
    """

    x: MDArray
    residuals: MDArray
    rank: Any
    info: LstsqInfo


LstsqResult.__module__ = "mdqr.linalg"


class Weighted(NamedTuple):
    """Weights of the rows: W and its root as columns ``(..., m, 1)``, W at most 1."""

    weight: Block | None
    root: Block | None
    omega: Block
    rows: Block


class Problem(NamedTuple):
    """A factored problem and the exponents of its scales."""

    system: System
    b: Block
    alpha: Block
    beta: Block
    condition: Condition


class Report(NamedTuple):
    """What is known of the errors, on the host; the arrays have a column for each of b."""

    missing: bool
    worst: float
    bound: np.ndarray
    digits: np.ndarray
    history: np.ndarray


def lstsq(
    a: Any,
    b: Any,
    rcond: float | None = None,
    *,
    weights: Any = None,
    method: str = "auto",
    precision: Precision | str | None = None,
    callback: Callback | None = None,
) -> LstsqResult:
    """Return the least-squares solution of ``a x = b``, with its error bound.

    Parameters
    ----------
    a : array_like
        Matrices ``(..., m, n)`` of full column rank, m >= n.
    b : array_like
        A vector ``(m,)``, or matrices ``(..., m, k)``: only a 1-D `b` is a vector.
    rcond : float, optional
        A matrix counts as rank deficient if its condition number, with columns scaled by powers
        of two, exceeds ``1 / rcond``; then LinAlgError is raised. None means
        ``eps(a) * max(m, n)``, eps of the precision of the entries of `a`; then LinAlgError is
        raised only if a column depends on the others as far as the work can tell, and
        PrecisionWarning otherwise. 0 accepts every matrix.
    weights : array_like, optional
        ``(m,)`` or ``(..., m)``, real and not negative: 1 / variance of each row, rounded to the
        precision of the work.
    method : {"auto", "householder"}, optional
        Both mean Householder QR and refinement.
    precision : Precision or str, optional
        The precision of the answer; by default the highest of the operands. ``lstsq(A64, b64,
        precision=mdqr.od)`` solves float64 data to 127 digits.
    callback : callable, optional
        Called as ``callback(stage, done, total)``; the stages are "factor", "condition", "refine".

    Returns
    -------
    LstsqResult
        ``(x, residuals, rank, info)``.

    Raises
    ------
    TypeError
        If `callback` cannot be called.
    ValueError
        If the shapes do not fit, weights are negative or not finite, or an option is unknown.
    numpy.linalg.LinAlgError
        If `a` or `b` is not finite, m < n, or `a` is rank deficient (see `rcond`).
    MemoryError
        If there is no room for the factorisation; with what was wanted.

    Warns
    -----
    PrecisionWarning
        If fewer digits are correct than the precision promises, with their number.

    See Also
    --------
    qr_factor : Solve many systems with one matrix, without refinement.

    Notes
    -----
    Householder QR of the matrix with columns scaled by powers of two and, if rows are weighted or
    their sizes span more than 8 bits, rows sorted by decreasing maxima; then at most three
    refinement steps of the augmented system (A. Bjorck 1967) with residuals computed as if in
    twice the precision, until no component of x changes by more than eps of itself. Each component
    is then right to ``4 eps`` as long as the condition number is below about ``eps**-0.75``.

    Examples
    --------
    >>> import mdqr
    >>> t = mdqr.array(["0.1", "0.2", "0.3", "0.4"], precision=mdqr.qd)
    >>> fit = mdqr.linalg.lstsq(mdqr.vander(t, 2), 3 * t + 1)
    >>> fit.x.to_numpy().round(12).tolist(), fit.rank
    ([3.0, 1.0], 2)
    """
    if method not in _METHODS:
        raise ValueError(f'lstsq: method must be "auto" or "householder"; got {method!r}')
    check_callback("lstsq", callback)
    inputs = gather(a, b, precision=precision)
    m, n = matrix_shape("lstsq", "a", inputs.shape(0))
    with room("lstsq", inputs, 3 * m * n + 2 * n * n, "take fewer rows or columns"):
        return _solved(inputs, data_eps(a, inputs.work), rcond, weights, callback)


def _solved(
    inputs: Inputs, eps: float, rcond: float | None, weights: Any, callback: Callback | None
) -> LstsqResult:
    """Factor, decide the rank, refine, bound the error."""
    checks = Checks()
    inputs, is_vector, batched = _checked(inputs, checks)
    given = _weights(inputs, weights, checks)
    problem = _factored(inputs, given, checks, callback)
    system, estimate = problem.system, problem.condition
    known = _rank.Decisive(*checks.settle(estimate.value, estimate.vector))
    if callback is not None:
        callback("condition", 1, 1)
    rank = _rank.decide(system, known, eps, rcond, inputs)
    limit = _bounds.contraction_limit(system, estimate, inputs.work.eps)
    solution = refine(system, problem.b, inputs.work.eps, limit, callback)
    report = _report(problem, solution, inputs)
    _rank.warn_if_deficient("lstsq", rank, system.columns, report.missing)
    if report.missing:
        worst = float(np.max(known.value, initial=1.0))
        _bounds.warn_of_missing("lstsq", report.worst, worst, inputs.work, inputs.precision)
    fit = Fit(
        inputs,
        system,
        problem.b,
        solution.r,
        problem.alpha,
        problem.beta,
        given.omega,
        given.rows,
        _has_constant(system),
        is_vector,
    )
    return _result(fit, solution, report, known.value, rank, batched)


def _report(problem: Problem, solution: Solution, inputs: Inputs) -> Report:
    """Bound the errors and fetch what users see as NumPy arrays, and what the warnings need."""
    system = problem.system
    found = _bounds.bounds(system, solution, problem.condition, inputs.work, inputs.precision)
    bound = _bounds.unscaled(found.absolute, scale_back(problem.alpha, problem.beta))
    leading = _scaling.leading(solution.x, inputs.is_complex)
    sizes = [_scaling.largest(size, None, 0.0) for size in (leading, *solution.sizes[1:])]
    missing, worst, bound, digits, largest, *changes = system.checks.settle(
        found.missing, found.worst, bound, found.digits, *sizes
    )
    history = np.array([float(change) for change in changes]) / (float(largest) or 1.0)
    return Report(bool(missing), float(worst), bound, digits, history)


def _checked(inputs: Inputs, checks: Checks) -> tuple[Inputs, bool, bool]:
    """Return the operands with one batch shape, whether b is a vector, and whether a batch."""
    field = inputs.is_complex
    m, n = matrix_shape("lstsq", "a", inputs.shape(0))
    right, is_vector = right_hand_side("lstsq", inputs.blocks[1], inputs.shape(1), m)
    if m < n:
        raise np.linalg.LinAlgError(
            f"lstsq: a has fewer rows than columns, {m} < {n}: column {m} depends on the columns "
            "before it, and no unique solution exists"
        )
    _scaling.require_finite(checks, "lstsq", "a", inputs.blocks[0], field)
    _scaling.require_finite(checks, "lstsq", "b", right, field)
    batch, blocks = broadcast_batch("lstsq", [inputs.blocks[0], right], field)
    return inputs._replace(blocks=blocks), is_vector, bool(batch)


def _weights(inputs: Inputs, weights: Any, checks: Checks) -> Weighted:
    """Return the weights divided by a power of four that makes the largest about 1."""
    xp, shape = inputs.backend.xp, inputs.shape(0)[:-1]
    if weights is None:
        rows = xp.full(shape[:-1], shape[-1])
        return Weighted(None, None, xp.zeros(shape[:-1], dtype=xp.int64), rows)
    block, field = to_block(weights, inputs.work.limbs)
    given = _limbs.value_shape(block, field)
    if field:
        raise ValueError("lstsq: weights must be real; got complex ones")
    if given != shape[-1:] and given != shape:
        raise ValueError(f"lstsq: weights must have shape {shape[-1:]} or {shape}; got {given}")
    a = inputs.blocks[0]
    block = together([(a, inputs.is_complex), (block, False)], (a, weights))[1][0]
    checks.require((xp.isfinite(block[0]) & (block[0] >= 0)).all(), _complain_of_weights)
    block = _limbs.broadcast(block, False, shape)
    omega = (_scaling.exponents(_scaling.magnitude_bits(block, False), -1) + 1) // 2
    block = _scaling.shifted(inputs.backend, block, -2 * omega[..., None], False)
    root = inputs.backend.unary("sqrt", block, limbs=inputs.work.limbs, is_complex=False)
    rows = (block[0] > 0).sum(axis=-1)
    columns = [block[..., None], root[..., None]]
    if inputs.is_complex:
        columns = [_limbs.complexify(column) for column in columns]
    return Weighted(columns[0], columns[1], omega, rows)


def _complain_of_weights() -> NoReturn:
    raise ValueError("lstsq: weights must be finite and not negative: 1 / variance")


def _factored(
    inputs: Inputs, given: Weighted, checks: Checks, callback: Callback | None
) -> Problem:
    """Scale, sort and factor."""
    backend, field = inputs.backend, inputs.is_complex
    a, b = inputs.blocks
    if given.root is None:
        scaled, powers = backend.balance_columns(a, None, is_complex=field)
        alpha, work = -powers, scaled
    else:
        alpha = _alpha(a, given.root, field)
        scaled = _scaling.shifted(backend, a, -alpha[..., None, :], field)
        options: dict[str, Any] = {"limbs": inputs.work.limbs, "is_complex": field}
        work = backend.binary("multiply", given.root, scaled, **options)
    _require_columns(checks, work, field)
    order = _row_order(checks, work, field, weighted=given.root is not None)
    if order is not None:
        work = take_rows(work, order)
    work = _limbs.widen(work, field, inputs.work.limbs)
    factors = _householder.factor(
        backend,
        work.copy() if work is scaled else work,
        limbs=inputs.work.limbs,
        is_complex=field,
        callback=callback,
    )
    triangle = _rank.triangle_of(factors, "lstsq", checks)
    system = System(
        backend,
        inputs.work.limbs,
        field,
        scaled,
        factors,
        triangle,
        checks,
        given.weight,
        given.root,
        order,
    )
    b, powers = backend.balance_columns(b, None, is_complex=field)
    return Problem(system, b, alpha, -powers, condition(triangle))


def _alpha(a: Block, root: Block, is_complex: bool) -> Block:
    """Return the exponents of the columns, as the weights make them."""
    alpha = _scaling.column_exponents(a, is_complex)
    xp = _limbs.namespace(a)
    magnitudes = xp.ldexp(_scaling.leading(a, is_complex), -alpha[..., None, :])
    weighted = magnitudes * _scaling.leading(root, is_complex)
    return alpha + _scaling.exponents(weighted.view(xp.int64), -2)


def _require_columns(checks: Checks, work: Block, is_complex: bool) -> None:
    zero = (_scaling.magnitude_bits(work, is_complex) == 0).all(axis=-2)

    def complain() -> NoReturn:
        *batch, column = _scaling.first_true(zero)
        raise np.linalg.LinAlgError(
            f"lstsq: a is rank deficient: column {column} is zero"
            f"{_scaling.of_batch(tuple(batch))}; leave it out"
        )

    checks.require(~zero.any(), complain)


def _row_order(checks: Checks, work: Block, is_complex: bool, *, weighted: bool) -> Block | None:
    """Return the order of decreasing row maxima, or None where it does not matter."""
    xp = _limbs.namespace(work)
    largest = _scaling.largest(_scaling.magnitude_bits(work, is_complex), -1, 0)
    if largest.size == 0:
        return None
    if not weighted:
        exponent = _scaling.exponents_of(largest)
        low = xp.where(largest > 0, exponent, 2**20).min()
        high = xp.where(largest > 0, exponent, -(2**20)).max()
        if checks.settle(high - low)[0] <= _SORTED_SPAN:
            return None
    return xp.argsort(-largest, axis=-1, kind="stable")


def _has_constant(system: System) -> Block:
    """Return whether a column of a is constant and not zero."""
    first = system.a[..., :1, :]
    same = (system.a == first).all(axis=-2)
    front = tuple(range(_limbs.lead(system.is_complex)))
    return same.all(axis=front).any(axis=-1)


def _result(
    fit: Fit,
    solution: Solution,
    report: Report,
    condition: np.ndarray,
    rank: np.ndarray,
    batched: bool,
) -> LstsqResult:
    """Undo the scaling and wrap everything."""
    backend, inputs = fit.system.backend, fit.inputs
    x = _scaling.shifted(backend, solution.x, scale_back(fit.alpha, fit.beta), inputs.is_complex)
    squares = _scaling.shifted(
        backend, sum_of_squares(fit, solution.r), 2 * (fit.beta + fit.omega[..., None]), False
    )
    bound, digits = report.bound, report.digits
    if fit.is_vector:
        x, bound, digits = x[..., 0], bound[..., 0], digits[..., 0]
    info = LstsqInfo(
        fit,
        method="householder",
        iterations=solution.steps,
        condition=condition if batched else float(condition),
        error_bound=bound,
        digits=digits,
        bound_kind="estimated",
        history=report.history,
    )
    return LstsqResult(
        inputs.wrap(x),
        inputs.wrap(squares, is_complex=False),
        rank if batched else int(rank),
        info,
    )
