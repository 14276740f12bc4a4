"""Least squares."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from mdqr._array.array import MDArray
from mdqr._core.promotion import to_block, together
from mdqr._errors import shown
from mdqr._limbs import planes
from mdqr._limbs.planes import Block
from mdqr._pickles import pickled_fields
from mdqr._precision import Precision
from mdqr._progress import Progress, Report, Reporter, with_report
from mdqr._typing import Places, PrecisionLike, SolveMethod
from mdqr.linalg._shared.caller import LSTSQ, Caller
from mdqr.linalg._shared.checks import Checks
from mdqr.linalg._shared.data_error import check_data_error
from mdqr.linalg._shared.digits import in_least_precision
from mdqr.linalg._shared.hints import takes_hints
from mdqr.linalg._shared.operands import (
    Inputs,
    data_precision,
    entry_unit,
    gather,
    matrix_shape,
    memory_guard,
    precision_for,
    trim,
)
from mdqr.linalg._shared.tolerance import one_tolerance
from mdqr.linalg._solve.answer import Answer, moduli
from mdqr.linalg._solve.choose import check_method, choose
from mdqr.linalg._solve.data_error import (
    NAMES,
    DataErrors,
    data_errors,
    relative_error,
    require_certain_zeros,
)
from mdqr.linalg._solve.info import Fit, LstsqInfo, has_constant
from mdqr.linalg._solve.problem import Decisive, Problem, Weights, as_columns, weights_of
from mdqr.linalg._solve.ranks import decision as _rank
from mdqr.linalg._solve.ranks.by_rank import DeficientProblem, by_rank, weighted_rows
from mdqr.linalg._solve.solvers import small
from mdqr.linalg._solve.system import System
from mdqr.linalg._solve.wide import Wide


@pickled_fields
class LstsqResult(NamedTuple):
    """A least-squares solution; unpacks as NumPy's, with `info` instead of s.

    Attributes
    ----------
    x : MDArray
        The solution, ``(n,)`` or ``(..., n, k)``.
    residuals : MDArray
        Sums of squares of the (weighted) residuals, ``(1,)`` for a vector b, else ``(..., k)``: if
        m < n, of the residuals of rounding x; the residuals are accurate to a few eps of their norm
        and ``eps**2 * condition * norm(b)``.
    rank : int or numpy.ndarray
        Numerical rank of a; an array for a batch.
    info : LstsqInfo
        Condition, error bounds, digits and statistics; with `rcond` of the rank, too.
    """

    x: MDArray
    residuals: MDArray
    rank: int | Places
    info: LstsqInfo


LstsqResult.__module__ = "mdqr.linalg"


@takes_hints
def lstsq(
    a: Any,
    b: Any,
    /,
    rcond: float | None = None,
    *,
    rtol: float | None = None,
    max_condition: float | None = None,
    basic: bool = False,
    weights: Any = None,
    method: SolveMethod = "auto",
    verified: bool = False,
    precision: PrecisionLike | None = None,
    digits: float | None = None,
    data_error: Mapping[str, Any] | None = None,
    progress: Progress = None,
) -> LstsqResult:
    """Return the least-squares solution of ``a x = b`` with an error bound.

    The result minimises ``norm(b - a x)`` in the 2-norm, weighted if `weights` is given. With fewer
    equations than unknowns, m < n, it is the minimum-norm solution. Each component is refined until
    its computed error bound is at most ``4 eps``, relative to the component; a PrecisionWarning
    reports the components for which this fails.

    Parameters
    ----------
    a : array_like
        Matrices ``(..., m, n)`` of full rank ``min(m, n)``.
    b : array_like
        A vector ``(m,)``, or matrices ``(..., m, k)``: only a 1-D `b` is a vector.
    rcond, rtol : float, optional
        Two names for the tolerance of a solution by numerical rank: the number of singular values,
        of rows with weights, above it times the largest, but at least ``max(m, n) eps`` of the
        working precision; negative as 0. Without it no singular value is treated as zero. It is a
        choice about the data: entries that were rounded to float64 hide all below ``2**-53``,
        others do not. Not with `max_condition`, `data_error`, `verified`.
    max_condition : float, optional
        LinAlgError is raised if the condition number, with columns (if m < n, rows) scaled by
        powers of two, exceeds it. The default is ``1 / (eps(a) * max(m, n))``, with eps of the
        precision of the entries of `a`, or, if `data_error` states smaller errors, twice the
        largest error relative to the columns (rows). With the default a rank-deficient matrix gives
        a DataPrecisionWarning; LinAlgError is raised only if a column (row) is linearly dependent
        to working precision. ``math.inf`` accepts every matrix.
    basic : bool, optional
        With `rcond`: return a basic solution, with as many nonzero components as the rank, for the
        columns that column pivoting chooses; by default x is the minimum-norm solution.
    weights : array_like, optional
        ``(m,)`` or ``(..., m)``, real and not negative: 1 / variance of each row. All limbs of an
        `MDArray` are used, as for `a` and `b`. If m < n they are positive, and count in
        `residuals` alone: all equations hold; with `rcond` some may not, and weights count as ever.
    method : {"auto", "householder", "refine"}, optional
        "householder": QR in working precision, and refinement. "refine": refinement by an
        approximate inverse with proven bounds; LinAlgError if that does not verify all digits. This
        happens for condition numbers beyond about ``0.01 / eps``, or of tall matrices its root, and
        for zeros that only cancellation makes. "auto" uses "refine" if that is cheaper, on a CPU
        for condition numbers to about 1e13 in dd, 1e21 in qd and 1e40 in od. Then it tries "refine"
        in the next precision, and at last "householder".
    verified : bool, optional
        Whether LinAlgError is to be raised unless bounds are proven and all digits are as promised;
        the message names a remedy. Takes "refine" at any cost.
    precision : Precision or str, optional
        The precision of the answer; by default the highest of the operands. ``lstsq(A64, b64,
        precision=mdqr.od)`` solves float64 data to 127 digits.
    digits : int or float, optional
        Take the lowest precision in which so many decimal digits of each component are proven,
        found in `info.precision`. Those from `precision_for_digits` on are tried. The digits are
        `info.digits`, for a and b as stored, and nothing warns if the precision has more. Not with
        `precision` or `rcond`.
    data_error : dict, optional
        Bounds of the errors of the data, for `info.data_digits`: x stays the solution for
        a and b as stored. Entries of a have errors of at most ``a_atol + a_rtol * abs(a)``,
        absolute and relative, for complex entries of the modulus. For b the keys are ``b_atol`` and
        ``b_rtol``, for weights ``weights_atol`` and ``weights_rtol``. Values are numbers or arrays
        that broadcast to a, b or weights, real and not negative. Of a pair only one is needed, and
        0 is exact, as in ``{"a_rtol": [0, 1e-9], "b_atol": sigma}`` for a line with a column of
        ones. Matrices without a bound are assumed to be rounded to their precision, weights to be
        exact.
    progress : callable or bool, optional
        Called as ``progress(stage, done, total)``; the stages are "factor", "condition" and
        "refine", whose number of steps is not known before the last: `total` is None until then.
        They start again if "auto" goes on to another method. True for a bar.

    Returns
    -------
    LstsqResult
        ``(x, residuals, rank, info)``.

    Raises
    ------
    TypeError
        If `progress` is neither callable nor a bool, or `data_error` is not a dict.
    ValueError
        If the shapes do not fit, weights or errors of the data are negative or not finite, or an
        option is unknown.

        If weights are zero with m < n and without `rcond`, or `verified` or `digits` is asked of
        "householder" with m >= n, for which it only estimates bounds.

        If `digits` is given with `precision` or `rcond`, or is more than the highest precision has.
    numpy.linalg.LinAlgError
        If `a` or `b` is not finite, `a` is rank deficient (see `max_condition`), or a component of
        x is beyond the largest double.

        If `method` is "refine", or `verified` is set, and that does not converge. If the highest
        precision does not prove so many `digits`.
    MemoryError
        If memory for the factorisation cannot be allocated; the message gives the requested size.

    Warns
    -----
    PrecisionWarning
        If the error bound of a component exceeds ``4 eps``, with the number of digits of the worst
        one.
    DataPrecisionWarning
        If the entries of `a`, assumed to be rounded to their precision, do not determine x.

    See Also
    --------
    qr_factor : Solve many systems with one matrix, without refinement.

    Notes
    -----
    Each matrix of a batch is solved by its own method, reported in ``info.method``; if m < n, all
    by one method.

    **"refine"** starts in float64. The columns of A are scaled by powers of two, and X is the
    float64 inverse of R, from ``A = Q R``. One iteration is ``x += X X^H A^H W (b - A x)``
    (corrected seminormal equations, A. Bjorck 1987). Residuals are evaluated with as many limbs as
    the correction needs, in nested iterations. If ``norm(I - (A X)^H W (A X)) < 1``, the error
    bounds are proven. For larger condition numbers, ``A X`` is rounded to float64, the inverse of
    its R factor multiplies X, and X is stored with one limb more (T. Ogita 2010). Problems with at
    most 256 equations and 64 unknowns run in a single kernel call, unless weights or `progress` are
    given.

    **"householder"** computes a QR factorisation in working precision. Columns are scaled by powers
    of two. Weights are split into powers of two, which scale the rows, and factors near 1. If rows
    are weighted or their magnitudes span more than 8 bits, rows are sorted by decreasing maxima. At
    most three refinement steps of the augmented system follow (A. Bjorck 1967), with residuals
    computed as if in twice the precision. Right-hand sides whose entries span too wide a range for
    one power of two are split, and the parts are solved separately.

    **If verification fails**, up to 100 further steps keep x and the residual with twice the limbs,
    with exact sums as long as these have few terms (J. Demmel and others 2006). Each component is
    then bounded separately, by an approximate inverse whose own error is computed unless that is
    too large (S. M. Rump 2013). Components that still fail are reported: components much smaller
    than others whose rounding errors reach them, condition numbers near ``1/eps``, and results
    below `Precision.tiny`.

    **Fewer equations than unknowns (m < n).** The solution is ``x = A^H y`` with ``A A^H y = b``.
    Rows are scaled by powers of two. The iteration is ``y += X X^H (b - A A^H y)`` with X as above,
    or with R from a QR factorisation of ``A^H`` in working precision. When y has all limbs,
    ``A^H y`` and ``b - A x`` are evaluated as if in twice the limbs. The bounds of both methods are
    proven if ``norm(I - (A^H X)^H A^H X) < 1``.

    **Numerical rank.** With `rcond`, ``A[:, P] = Q R`` is computed with column pivoting, and the
    rank r from the singular values of R. Only ``R[:r, :r]`` is used (P. Businger and G. Golub 1965;
    complete orthogonal decomposition, G. Golub and C. Van Loan, Matrix Computations, 5.5). The
    solution is ``x = T^+ A1^+ b`` with ``A1 = A[:, P[:r]]`` and ``T = [I, A1^+ A2]``. Both factors
    are solved as above in the next higher precision, and the bounds include the effect of the first
    factor's errors on the second. The matrices of a batch are solved one after another. `info` is a
    `RankInfo`. Its bound is for ``A1 T``, which differs from `a` by ``info.distance``; the two are
    equal if `a` has exactly rank r.

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
    >>> shortest = mdqr.linalg.lstsq(twice, [5, 10, 15], rcond=1e-50)
    >>> shortest.x.to_numpy().tolist(), shortest.rank
    ([1.0, 2.0], 1)
    >>> mdqr.linalg.lstsq(twice, [5, 10, 15], rcond=1e-50, basic=True).x.to_numpy().tolist()
    [0.0, 2.5]
    """
    if not (progress is None or isinstance(progress, Report)):
        return with_report(lstsq, locals())
    solve = partial(
        solved_for,
        LSTSQ,
        a,
        b,
        rcond=one_tolerance("lstsq", rcond, rtol),
        max_condition=max_condition,
        basic=basic,
        weights=weights,
        method=method,
        verified=verified,
        data_error=data_error,
        report=progress,
    )
    if digits is None:
        return solve(precision=precision)
    if not (precision is None and rcond is None and rtol is None):
        raise ValueError(
            "lstsq: digits chooses a precision for full rank; give it without precision and rcond"
        )
    result = in_least_precision("lstsq", digits, partial(solve, for_digits=True))
    fit = result.info._fit
    _warn_if_deficient(LSTSQ, fit.answer, fit.inputs)
    return result


def solved_for(
    caller: Caller,
    a: Any,
    b: Any,
    *,
    rcond: float | None = None,
    max_condition: float | None = None,
    basic: bool = False,
    weights: Any = None,
    method: SolveMethod = "auto",
    verified: bool = False,
    precision: PrecisionLike | None = None,
    data_error: Mapping[str, Any] | None = None,
    report: Reporter | None = None,
    for_digits: bool = False,
) -> LstsqResult:
    """Run `lstsq`, with messages and warnings in the words of another public function.

    `for_digits`: bounds are proven at any cost, and the caller looks at them and warns.
    """
    function = caller.function
    _check_max_condition(max_condition)
    _check_rcond(rcond, basic, alone=max_condition is None and data_error is None and not verified)
    check_data_error(function, data_error, NAMES if weights is not None else NAMES[:2])
    inputs = gather(a, b, precision=precision)
    if isinstance(weights, MDArray) and not weights.is_complex:
        held = len(trim([(weights._block, False)])[0][0])
        inputs = inputs._replace(work=precision_for(max(held, inputs.work.limbs)))
    m, n = matrix_shape(function, caller.a, inputs.shape(0))
    proof = "verified=True" if verified else "digits=" if for_digits else None
    check_method(function, method, proof=proof if m >= n else None)
    with memory_guard(
        function, inputs, 3 * m * n + 2 * min(m, n) ** 2, "take fewer rows or columns"
    ):
        if rcond is not None:
            solve = partial(
                solved_for, caller, max_condition=math.inf, method=method, report=report
            )
            return _by_rank(caller, inputs, max(rcond, 0.0), basic, weights, solve)
        precisions = data_precision(a, inputs.work), data_precision(b, inputs.work)
        units = entry_unit(a, precisions[0]), entry_unit(b, precisions[1])
        checks = Checks()
        inputs, is_vector, batched = as_columns(caller, inputs)
        errors = data_errors(function, data_error, units, inputs, is_vector, checks)
        eps = precisions[0].eps
        if data_error is not None:
            eps = min(eps, 2.0 * relative_error(inputs.blocks[0], errors.a, inputs.is_complex))
        least = None if max_condition is None else 1.0 / max_condition
        request = _Request(caller, inputs, is_vector, errors, eps, least, weights, report, checks)
        return _result(_fit(request, method, verified=verified, for_digits=for_digits), batched)


class _Request(NamedTuple):
    """A problem as it was given: `inputs` of one batch and with b as columns, and weights.

    `eps` is that of the entries of a, `errors` are those of the data, and `checks` get what is
    demanded of values.
    """

    caller: Caller
    inputs: Inputs
    is_vector: bool
    errors: DataErrors
    eps: float
    least: float | None
    weights: Any
    report: Reporter | None
    checks: Checks

    def limit(self, work: Precision) -> float:
        """Return the factor of condition numbers; if products are not small, ranks are decided."""
        m, n = self.inputs.shape(0)[-2:]
        limit = self.eps * max(m, n) if self.least is None else self.least
        return max(limit, min(m, n) * work.eps)

    def weights_in(self, inputs: Inputs) -> Weights:
        """Return the weights in the working precision of operands."""
        return weights_of(self.caller.function, inputs, self.weights, self.checks)

    def system(self, inputs: Inputs, weights: Weights) -> System:
        """Return the scaled problem, or the one of minimum norm."""
        a = inputs.blocks[0]
        return (Wide if a.shape[-2] < a.shape[-1] else System).of(
            self.caller,
            inputs.backend,
            a,
            self.checks,
            kind=inputs.kind,
            rows=weights.rows,
            weight=weights.weight,
            root=weights.root,
            report=self.report,
        )


def _check_max_condition(max_condition: Any) -> None:
    if max_condition is not None and (isinstance(max_condition, str) or not max_condition >= 1):
        raise ValueError(
            f"lstsq: max_condition must be None or at least 1; got {shown(max_condition)}"
        )


def _check_rcond(rcond: Any, basic: bool, *, alone: bool) -> None:
    if rcond is None:
        if basic:
            raise ValueError("lstsq: basic=True wants rcond, which says what counts as rank")
        return
    if isinstance(rcond, str) or np.ndim(rcond) or not -np.inf < rcond < np.inf:
        raise ValueError(f"lstsq: rcond must be None or a finite number; got {shown(rcond)}")
    if not alone:
        raise ValueError(
            "lstsq: rcond chooses a rank, max_condition refuses one, and verified and data_error "
            "are for full rank; give rcond without these"
        )


def _by_rank(
    caller: Caller,
    inputs: Inputs,
    rcond: float,
    basic: bool,
    given: Any,
    solve: Callable[..., LstsqResult],
) -> LstsqResult:
    """Solve by numerical rank."""
    checks = Checks()
    inputs, is_vector, batched = as_columns(caller, inputs)
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
    problem = DeficientProblem(
        caller, inputs, weights, rows, top, rcond, basic, solve, parts.positive, is_vector
    )
    x, residuals, rank, info = by_rank(problem)
    x = x[..., 0] if is_vector else x
    return LstsqResult(x, residuals, rank if batched else int(rank), info)


def _fit(request: _Request, method: str, *, verified: bool, for_digits: bool) -> Fit:
    """Solve by one kernel call, or else by the first solver that shows all digits."""
    inputs, is_vector, errors = request.inputs, request.is_vector, request.errors
    known = None
    if request.weights is None and request.report is None:
        known = small.solve(inputs, method, request.limit(inputs.work))
    if known is not None and known.promised:
        request.checks.settle()
        # Statistics are made later, and the operands may be changed before.
        known = known.apart()
        return Fit(known.inputs, known, None, is_vector, known.size, errors, None)
    problem, positive = _problem(request)
    found = choose(problem, method, known=known, verified=verified, at_any_cost=for_digits)
    if not for_digits:
        _warn_if_deficient(request.caller, found, inputs)
        found.warn(is_vector=is_vector)
    size = moduli(found.x, inputs.is_complex)
    constant = has_constant(problem.inputs.blocks[0], inputs.kind, positive, request.checks)
    request.checks.settle()
    return Fit(problem.inputs, found, positive, is_vector, size, errors, constant)


def _warn_if_deficient(caller: Caller, found: Answer, inputs: Inputs) -> None:
    _rank.warn_if_deficient(caller, found.rank, min(inputs.shape(0)[-2:]), inputs)


def _problem(request: _Request) -> tuple[Problem, Block | None]:
    """Return the scaled problem, and which rows have positive weight; None for all."""
    caller, inputs, checks = request.caller, request.inputs, request.checks
    for name, block in zip(caller[1:], inputs.blocks, strict=True):
        checks.require_finite(caller.function, name, block, inputs.is_complex)
    weights = request.weights_in(inputs)
    if weights.positive is not None:
        require_certain_zeros(caller.function, request.errors, weights.positive, checks)
        # What does not count neither has a size nor joins unknowns.
        counts = weights.positive[..., None]
        blocks = [inputs.backend.xp.where(counts, block, 0.0) for block in inputs.blocks]
        inputs = inputs._replace(blocks=blocks)

    def in_precision(work: Precision, weights: Weights) -> Problem:
        operands = inputs._replace(work=work)

        def decide(system: System, found: Decisive) -> np.ndarray:
            return _rank.decide(system.factored, found, request.eps, request.least, operands)

        @cache
        def raised() -> Problem:
            higher = inputs._replace(work=work.next)
            return in_precision(work.next, request.weights_in(higher))

        system = request.system(operands, weights)
        return Problem(system, operands.blocks[1], operands, request.limit(work), decide, raised)

    return in_precision(inputs.work, weights), weights.positive


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
