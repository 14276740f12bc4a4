"""Least squares."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from mdqr._array.array import MDArray
from mdqr._core.promotion import to_block, together
from mdqr._limbs import planes
from mdqr._limbs.planes import Block
from mdqr._precision import Precision
from mdqr.linalg._shared.caller import LSTSQ, Caller
from mdqr.linalg._shared.checks import Checks
from mdqr.linalg._shared.data_error import check_data_error
from mdqr.linalg._shared.operands import (
    Callback,
    Inputs,
    broadcast_batch,
    check_callback,
    data_precision,
    entry_unit,
    gather,
    matrix_shape,
    memory_guard,
    precision_for,
    right_hand_side,
    trim,
)
from mdqr.linalg._solve import rank as _rank
from mdqr.linalg._solve.answer import moduli
from mdqr.linalg._solve.choose import check_method, choose
from mdqr.linalg._solve.minimum_norm.deficient import DeficientProblem, by_rank, weighted_rows
from mdqr.linalg._solve.minimum_norm.wide import Wide
from mdqr.linalg._solve.problem import Problem
from mdqr.linalg._solve.reports.data_error import (
    NAMES,
    DataErrors,
    data_errors,
    relative_error,
    require_certain_zeros,
)
from mdqr.linalg._solve.reports.info import Fit, LstsqInfo, has_constant
from mdqr.linalg._solve.solvers import small
from mdqr.linalg._solve.system import System
from mdqr.linalg._solve.weights import Weights, weights_of


class LstsqResult(NamedTuple):
    """A least-squares solution; unpacks as NumPy's, with `info` instead of s.

    Attributes
    ----------
    x : MDArray
        The solution, ``(n,)`` or ``(..., n, k)``.
    residuals : MDArray
        Sums of squares of the (weighted) residuals, ``(1,)`` for a vector b, else ``(..., k)``: if
        m < n, of what rounding x leaves;
        the residuals are right to a few eps of their norm and ``eps**2 * condition * norm(b)``.
    rank : int or numpy.ndarray
        Numerical rank of a; an array for a batch.
    info : LstsqInfo or RankInfo
        Condition, error bounds, digits and statistics; with `rtol` what the rank says.
    """

    x: MDArray
    residuals: MDArray
    rank: Any
    info: Any


LstsqResult.__module__ = "mdqr.linalg"


def lstsq(
    a: Any,
    b: Any,
    rcond: float | None = None,
    *,
    rtol: float | None = None,
    basic: bool = False,
    weights: Any = None,
    method: str = "auto",
    verified: bool = False,
    precision: Precision | str | None = None,
    data_error: Mapping[str, Any] | None = None,
    callback: Callback | None = None,
) -> LstsqResult:
    """Return the least-squares solution of ``a x = b``, with its error bound.

    Of fewer equations than unknowns, m < n, that is the shortest solution: the one of least
    2-norm.

    Parameters
    ----------
    a : array_like
        Matrices ``(..., m, n)`` of full rank ``min(m, n)``.
    b : array_like
        A vector ``(m,)``, or matrices ``(..., m, k)``: only a 1-D `b` is a vector.
    rcond : float, optional
        A matrix counts as rank deficient if its condition number, with columns (if m < n, rows)
        scaled by powers of two, exceeds ``1 / rcond``; then LinAlgError is raised. None means
        ``eps(a) * max(m, n)``, eps of the precision of the entries of `a`, or where `data_error`
        tells of less, twice their largest error relative to the columns (rows); then LinAlgError is
        raised only if a column (row) depends on the others as far as the work can tell, and
        PrecisionWarning otherwise. 0 accepts every matrix.
    rtol : float, optional
        Solve by numerical rank instead: the number of singular values, of rows with weights, above
        `rtol` times the largest, but at least ``max(m, n) eps`` of the work. Without it no
        direction is ever left out. It is a choice about the data: entries that were rounded to
        float64 hide what lies below ``2**-53``, others do not. Not with `rcond`, `data_error`,
        `verified`.
    basic : bool, optional
        With `rtol`: x is zero but for as many columns as the rank says, those that column pivoting
        chooses; by default x is the shortest solution.
    weights : array_like, optional
        ``(m,)`` or ``(..., m)``, real and not negative: 1 / variance of each row. All limbs of an
        `MDArray` are used, as those of `a` and `b`. If m < n they are positive, and count in
        `residuals` alone: all equations hold; with `rtol` some may not, and weights count as ever.
    method : {"auto", "householder", "refine"}, optional
        "householder": QR in the precision of the work, and refinement. "refine": refinement by an
        approximate inverse with proven bounds; LinAlgError where that does not show all digits:
        as a rule for conditions beyond ``0.01 / eps``, or of tall matrices its root, and zeros that
        only cancellation makes. "auto" takes "refine" where that is cheaper, on a CPU to some 1e13
        in dd, 1e21 in qd and 1e40 in od; else "refine" in the next precision, and where that does
        not show all digits "householder".
    verified : bool, optional
        Whether LinAlgError is to be raised unless bounds are proven and all digits are as promised;
        the message says what would do. Takes "refine" at any cost.
    precision : Precision or str, optional
        The precision of the answer; by default the highest of the operands. ``lstsq(A64, b64,
        precision=mdqr.od)`` solves float64 data to 127 digits.
    data_error : dict, optional
        What is known of the errors of the data, for `info.data_digits`: x stays the solution for
        a and b as stored. Entries of a err by at most ``a_atol + a_rtol * abs(a)``, absolute and
        relative, for complex entries of the modulus; those of b by ``b_atol`` and ``b_rtol``,
        weights by ``weights_atol`` and ``weights_rtol``. Numbers or arrays that broadcast to a, b
        or weights, real and not negative; of a pair only one is needed, and 0 is exact, as in
        ``{"a_rtol": [0, 1e-9], "b_atol": sigma}`` for a line with a column of ones. Matrices of
        which nothing is said are taken as rounded to their precision, weights as exact.
    callback : callable, optional
        Called as ``callback(stage, done, total)``; the stages are "factor", "condition", "refine".
        They start again where "auto" goes from refinement to "householder".

    Returns
    -------
    LstsqResult
        ``(x, residuals, rank, info)``.

    Raises
    ------
    TypeError
        If `callback` cannot be called, or `data_error` is not a dict.
    ValueError
        If the shapes do not fit, weights or errors of the data are negative or not finite, weights
        are zero with m < n and without `rtol`, an option is unknown, or `verified` is asked of
        "householder" where that only estimates bounds, m >= n.
    numpy.linalg.LinAlgError
        If `a` or `b` is not finite, `a` is rank deficient (see `rcond`), a component of
        x is beyond the largest double, or `method` is "refine", or `verified` asked for, and that
        does not serve.
    MemoryError
        If memory for the factorisation cannot be allocated; the message gives the requested size.

    Warns
    -----
    PrecisionWarning
        If a component is not shown to be right to ``4 eps``, with the number of digits of the worst
        one; if the entries of `a`, taken as rounded to their precision, do not determine x.

    See Also
    --------
    qr_factor : Solve many systems with one matrix, without refinement.

    Notes
    -----
    "refine": with columns scaled by powers of two, X is the inverse in float64 of R, ``A = Q R``,
    and ``x += X X^H A^H W (b - A x)``, what a residual leaves in half the limbs, and so on (A.
    Bjorck 1987 on seminormal equations); ``norm(I - (A X)^H W (A X)) < 1`` proves the bounds. Where
    X leaves more, ``A X`` is rounded to float64 and its R multiplies X, which gets one limb more
    (T. Ogita 2010).
    At most 256 equations with 64 unknowns are one kernel call, unless there are weights
    or a callback. Each matrix of a batch is solved by the first solver that serves it.

    "householder": QR of the matrix with columns scaled by powers of two, weights as powers of two
    of the rows and factors near 1, and, if rows are weighted or their sizes span more than 8 bits,
    rows sorted by decreasing maxima; then at most three refinement steps of the augmented system
    (A. Bjorck 1967) with residuals computed as if in twice the precision. Right-hand sides whose
    entries are too far apart for one power of two are solved in pieces.

    Where that does not show that each component is right to ``4 eps``, up to 100 further steps keep
    x and the residual in twice the limbs, with exact sums as long as they are few (J. Demmel and
    others 2006), and each component is bounded by itself, with an approximate inverse whose own
    error is computed if it is not too large (S. M. Rump 2013). What is still missing then is said:
    components that are tiny beside others whose rounding errors reach them, conditions near
    ``1/eps``, results below `Precision.tiny`.

    m < n: ``x = A^H y``, ``A A^H y = b``, rows scaled by powers of two, with the same X, or R in
    the precision of the work, of ``A^H = Q R``: ``y += X X^H (b - A A^H y)``, and once y has all
    limbs, ``A^H y`` and ``b - A x`` as if in twice the limbs. ``norm(I - (A^H X)^H A^H X) < 1``
    proves the bounds of both methods.

    `rtol`: ``A[:, P] = Q R`` with pivoting, of which R[:r, :r] counts, with singular values of R to
    find r (P. Businger and G. Golub 1965; G. Golub and C. Van Loan, Matrix Computations, 5.5, on
    complete orthogonal decompositions). ``x = T^+ A1^+ b`` with ``A1 = A[:, P[:r]]`` and ``T = [I,
    A1^+ A2]``, both factors solved as above, in the next higher precision, with bounds of what
    errors of the first change in the second; the matrices of a batch one after the other. `info` is
    a `RankInfo`: its bound is that for ``A1 T`` instead of `a`, which differs by ``info.distance``;
    where `a` has exactly that rank, not at all.

    Examples
    --------
    >>> import mdqr
    >>> t = mdqr.array(["0.1", "0.2", "0.3", "0.4"], precision=mdqr.qd)
    >>> fit = mdqr.linalg.lstsq(mdqr.vander(t, 2), 3 * t + 1)
    >>> fit.x.to_numpy().round(12).tolist(), fit.rank
    ([3.0, 1.0], 2)
    >>> measured = {"a_rtol": [1e-9, 0], "b_rtol": 1e-9}  # the ones are exact
    >>> info = mdqr.linalg.lstsq(mdqr.vander(t, 2), 3 * t + 1, data_error=measured).info
    >>> info.digits.tolist(), info.data_digits.round(1).tolist()
    ([63.0, 63.0], [8.2, 8.4])
    >>> mdqr.linalg.lstsq([[1, 2, 3, 4]], [15], precision=mdqr.qd).x.to_numpy()
    array([0.5, 1. , 1.5, 2. ])
    >>> twice = mdqr.array([[1, 2], [2, 4], [3, 6]], precision=mdqr.qd)
    >>> shortest = mdqr.linalg.lstsq(twice, [5, 10, 15], rtol=1e-50)
    >>> shortest.x.to_numpy().tolist(), shortest.rank
    ([1.0, 2.0], 1)
    >>> mdqr.linalg.lstsq(twice, [5, 10, 15], rtol=1e-50, basic=True).x.to_numpy().tolist()
    [0.0, 2.5]
    """
    return solved_for(
        LSTSQ,
        a,
        b,
        rcond=rcond,
        rtol=rtol,
        basic=basic,
        weights=weights,
        method=method,
        verified=verified,
        precision=precision,
        data_error=data_error,
        callback=callback,
    )


def solved_for(
    caller: Caller,
    a: Any,
    b: Any,
    *,
    rcond: float | None = None,
    rtol: float | None = None,
    basic: bool = False,
    weights: Any = None,
    method: str = "auto",
    verified: bool = False,
    precision: Precision | str | None = None,
    data_error: Mapping[str, Any] | None = None,
    callback: Callback | None = None,
) -> LstsqResult:
    """Run `lstsq`, with messages and warnings in the words of another public function."""
    function = caller.function
    _check_rcond(rcond)
    _check_rtol(rtol, basic, alone=rcond is None and data_error is None and not verified)
    check_callback(function, callback)
    check_data_error(function, data_error, NAMES if weights is not None else NAMES[:2])
    inputs = gather(a, b, precision=precision)
    if isinstance(weights, MDArray) and not weights.is_complex:
        held = len(trim([(weights._block, False)])[0][0])
        inputs = inputs._replace(work=precision_for(max(held, inputs.work.limbs)))
    m, n = matrix_shape(function, caller.a, inputs.shape(0))
    check_method(function, method, verified=verified and m >= n)
    with memory_guard(
        function, inputs, 3 * m * n + 2 * min(m, n) ** 2, "take fewer rows or columns"
    ):
        if rtol is not None:
            solve = partial(solved_for, caller, rcond=0, method=method, callback=callback)
            return _by_rank(caller, inputs, rtol, basic, weights, solve)
        data = data_precision(a, inputs.work), data_precision(b, inputs.work)
        units = entry_unit(a, data[0]), entry_unit(b, data[1])
        return _solved(
            caller,
            inputs,
            data[0].eps,
            units,
            rcond,
            weights,
            method,
            data_error,
            callback,
            verified,
        )


def _check_rcond(rcond: Any) -> None:
    if rcond is not None and (isinstance(rcond, str) or not rcond >= 0):
        raise ValueError(f"lstsq: rcond must be None or at least 0; got {rcond!r}")


def _check_rtol(rtol: Any, basic: bool, *, alone: bool) -> None:
    if rtol is None:
        if basic:
            raise ValueError("lstsq: basic=True wants rtol, which says what counts as rank")
        return
    if isinstance(rtol, str) or not rtol >= 0:
        raise ValueError(f"lstsq: rtol must be None or at least 0; got {rtol!r}")
    if not alone:
        raise ValueError(
            "lstsq: rtol chooses a rank, rcond refuses one, and verified and data_error are for "
            "full rank; give rtol without these"
        )


def _by_rank(
    caller: Caller,
    inputs: Inputs,
    rtol: float,
    basic: bool,
    given: Any,
    solve: Callable[..., LstsqResult],
) -> LstsqResult:
    """Solve by numerical rank."""
    checks = Checks()
    inputs, is_vector, batched = _checked(caller, inputs)
    for name, block in zip(caller[1:], inputs.blocks, strict=True):
        checks.require_finite(caller.function, name, block, inputs.is_complex)
    parts = weights_of(caller.function, inputs, given, checks, zeros=True)
    checks.settle()
    rows, top = weighted_rows(inputs, parts.root, parts.rows, parts.positive)
    weights = None
    if given is not None:
        pair = to_block(given, inputs.work.limbs)
        near = together([(inputs.blocks[0], inputs.is_complex), pair], (inputs.blocks[0], given))
        block = planes.broadcast(near[1][0], False, inputs.shape(0)[:-1])
        block = planes.widen(block, False, inputs.work.limbs)
        weights = MDArray._wrap(block, inputs.work, False)
    problem = DeficientProblem(caller, inputs, weights, rows, top, rtol, basic, solve)
    x, residuals, rank, info = by_rank(problem)
    if is_vector:
        bound, digits = info.error_bound[..., 0], info.digits[..., 0]
        x, info = x[..., 0], info._replace(error_bound=bound, digits=digits)
    return LstsqResult(x, residuals, rank if batched else int(rank), info)


def _solved(
    caller: Caller,
    inputs: Inputs,
    eps: float,
    units: tuple[float, float],
    rcond: float | None,
    given: Any,
    method: str,
    data_error: Mapping[str, Any] | None,
    callback: Callback | None,
    verified: bool,
) -> LstsqResult:
    """Take the cheapest way that shows all digits."""
    checks = Checks()
    inputs, is_vector, batched = _checked(caller, inputs)
    errors = data_errors(caller.function, data_error, units, inputs, is_vector, checks)
    if data_error is not None:
        eps = min(eps, 2.0 * relative_error(inputs.blocks[0], errors.a, inputs.is_complex))
    known = None
    if given is None and callback is None:
        known = small.solve(inputs, method, _limit(inputs, eps, rcond))
    if known is not None and known.promised:
        checks.settle()
        # Statistics are made later, and the operands may be changed before.
        known = known.apart()
        fit = Fit(known.inputs, known, None, is_vector, known.size, errors, None)
        return _result(fit, batched)
    problem, positive = _problem(caller, inputs, eps, rcond, given, errors, checks, callback)
    found = choose(problem, method, known=known, verified=verified)
    _rank.warn_if_deficient(caller, found.rank, problem.system.factored.columns)
    found.warn()
    size = moduli(found.x, inputs.is_complex)
    constant = has_constant(problem.inputs.blocks[0], inputs.kind, positive, checks)
    fit = Fit(problem.inputs, found, positive, is_vector, size, errors, constant)
    checks.settle()
    return _result(fit, batched)


def _problem(
    caller: Caller,
    inputs: Inputs,
    eps: float,
    rcond: float | None,
    given: Any,
    errors: DataErrors,
    checks: Checks,
    callback: Callback | None,
) -> tuple[Problem, Block | None]:
    """Return the scaled problem, and which rows have positive weight; None for all."""
    for name, block in zip(caller[1:], inputs.blocks, strict=True):
        checks.require_finite(caller.function, name, block, inputs.is_complex)
    weights = weights_of(caller.function, inputs, given, checks)
    if weights.positive is not None:
        require_certain_zeros(caller.function, errors, weights.positive, checks)
        # What does not count neither has a size nor joins unknowns.
        counts = weights.positive[..., None]
        blocks = [inputs.backend.xp.where(counts, block, 0.0) for block in inputs.blocks]
        inputs = inputs._replace(blocks=blocks)

    def in_precision(work: Precision, weights: Weights) -> Problem:
        operands = inputs._replace(work=work)

        def decide(system: System, found: _rank.Decisive) -> np.ndarray:
            return _rank.decide(system.factored, found, eps, rcond, operands)

        def raised() -> Problem:
            higher = inputs._replace(work=work.next)
            return in_precision(work.next, weights_of(caller.function, higher, given, checks))

        system = _system(caller, operands, weights, checks, callback)
        limit = _limit(operands, eps, rcond)
        return Problem(system, operands.blocks[1], operands, limit, decide, callback, raised)

    return in_precision(inputs.work, weights), weights.positive


def _system(
    caller: Caller, inputs: Inputs, weights: Weights, checks: Checks, callback: Callback | None
) -> System:
    """Return the scaled problem, or that of the shortest solution."""
    a = inputs.blocks[0]
    return (Wide if a.shape[-2] < a.shape[-1] else System).of(
        caller,
        inputs.backend,
        a,
        checks,
        kind=inputs.kind,
        rows=weights.rows,
        weight=weights.weight,
        root=weights.root,
        callback=callback,
    )


def _limit(inputs: Inputs, eps: float, rcond: float | None) -> float:
    """Return what conditions are multiplied by: where that is not small, ranks are decided."""
    m, n = inputs.shape(0)[-2:]
    limit = eps * max(m, n) if rcond is None else float(rcond)
    return max(limit, min(m, n) * inputs.work.eps)


def _checked(caller: Caller, inputs: Inputs) -> tuple[Inputs, bool, bool]:
    """Return the operands with one batch shape, whether b is a vector, and whether a batch."""
    function, field = caller.function, inputs.is_complex
    m, _ = matrix_shape(function, caller.a, inputs.shape(0))
    right, is_vector = right_hand_side(function, inputs.blocks[1], inputs.shape(1), m)
    batch, blocks = broadcast_batch(function, [inputs.blocks[0], right], field)
    return inputs._replace(blocks=blocks), is_vector, bool(batch)


def _result(fit: Fit, batched: bool) -> LstsqResult:
    """Wrap everything."""
    inputs, answer, sums = fit.inputs, fit.answer, fit.answer.squares
    squares = inputs.backend.ldexp(sums.block, 2 * sums.exponents)
    return LstsqResult(
        inputs.wrap(answer.x[..., 0] if fit.is_vector else answer.x),
        inputs.wrap(squares, is_complex=False),
        answer.rank if batched else int(answer.rank),
        LstsqInfo(fit),
    )
