"""A solution by the tree and as many further passes as it takes."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from mdqr._backend import for_block
from mdqr._backend.blocks import native_abs
from mdqr._errors import shown
from mdqr._limbs import scaling
from mdqr._limbs.device import host_block
from mdqr._limbs.planes import Block
from mdqr.distributed._info import Course, DistributedLstsqInfo, Found, described
from mdqr.distributed._job import Job
from mdqr.distributed._products import Triangle, alpha_of, node_of
from mdqr.distributed._refinement import Problem, Step, data_bound, problem_of, step
from mdqr.distributed._rows import Form
from mdqr.distributed._sums import Errors, Sums, joined_squares
from mdqr.distributed._tree import Node, tree
from mdqr.linalg._shared.operands import Inputs
from mdqr.linalg._shared.pairs import Pair
from mdqr.linalg._solve import lstsq as whole
from mdqr.linalg._solve.lstsq import LstsqResult
from mdqr.linalg._update import solution
from mdqr.linalg._update.fit import Fit

# Components are found to this part of eps, so that the last rounding is mostly certain.
_ENOUGH = 2.0**-2
_LARGEST_ALPHA = 0.5


def errors_of(function: str, given: Mapping[str, Any] | None, form: Form) -> Errors:
    """Return the errors of entries, by default of their last place."""
    wanted = dict(given or {})
    for name, unit in zip("ab", form.units, strict=True):
        if not {f"{name}_atol", f"{name}_rtol"} & set(wanted):
            wanted[f"{name}_rtol"] = unit
    found = []
    for name, length in (("a", form.n), ("b", form.right)):
        for kind in ("atol", "rtol"):
            value = np.asarray(wanted.get(f"{name}_{kind}", 0.0), dtype=np.float64)
            if value.shape not in ((), (length,)) or not (value >= 0).all():
                raise ValueError(
                    f"{function}: data_error[{name}_{kind}] must be a number, or one for each "
                    f"column, not negative; got {shown(wanted[f'{name}_{kind}'])}"
                )
            found.append(np.broadcast_to(value, (length,)).copy())
    return Errors(*found)


def solved(
    job: Job, errors: Errors, most: int, *, automatic: bool, last: bool, first: bool
) -> LstsqResult | None:
    """Return the solution by one working precision; None where the next one may do better.

    These are a singular R, and at the `first` one where a bound stays too large.
    """
    function, form = job.function, job.form
    times = [time.perf_counter()]
    node, product = first_of(job) if most > 1 else (tree_of(job), None)
    times.append(time.perf_counter())
    fit: Fit = node.problem._fit
    if fit.m < fit.n:
        raise np.linalg.LinAlgError(
            f"{function}: {fit.m} rows in all, and {fit.n} columns: no unique solution exists; "
            "rcond= finds the shortest one"
        )
    try:
        problem = problem_of(fit, function, measured=product is None)
        if product is not None:
            problem = problem.known(alpha_of(problem, product, form))
    except np.linalg.LinAlgError:
        if last:
            raise
        return None
    if most == 1:
        return _result(job, node, problem, _after_one(job, node, problem), times, [])
    x = problem.scaled(problem.solved.x)
    at, changes = Pair(x, fit.engine.backend.xp.zeros_like(x)), []
    before, enough = np.inf, False
    for number in range(2, most + 1):
        sums = job.pass_of(problem, at, errors, number)
        times.append(time.perf_counter())
        require_same(function, node, sums, number)
        made = step(problem, at, sums)
        at, size = made.x, host_block(native_abs(made.x.high, form.is_complex))
        with np.errstate(all="ignore"):
            changes.append(float(np.nanmax(made.change / size, initial=0.0)))
            left = float(np.max(np.where(size > 0, made.bound / size, 0.0), initial=0.0))
        enough = bool((made.bound <= _ENOUGH * form.precision.eps * size).all())
        # More passes help only while they make the bound smaller.
        if made.alpha >= _LARGEST_ALPHA or (automatic and (enough or not left < 0.5 * before)):
            break
        before = left
    if not last and (made.alpha >= _LARGEST_ALPHA or (first and not enough)):
        return None
    return _result(job, node, problem, _found(problem, made, sums), times, changes)


def first_of(job: Job) -> tuple[Node, Triangle | None]:
    """Return R of all rows by the method of the call, or by the tree where products end."""
    is_empty = not (job.form.n and job.form.right)
    found = node_of(job) if job.method == "products" and not is_empty else None
    return (tree_of(job), None) if found is None else found


def tree_of(job: Job) -> Node:
    """Return R and ``Q^H b`` of all rows."""
    return tree(
        job.function, job.engine, job.source, job.form, job.fan_in, report=job.report,
        checkpoint=job.checkpoint,
    )  # fmt: skip


def _found(problem: Problem, made: Step, sums: Sums) -> Found:
    """Return the solution after a step in the units of the data."""
    moved = data_bound(problem, sums, made.alpha)
    shift = problem.unit[None, :] - host_block(problem.solved.powers)[:, None]
    squares = _squares(problem, sums, made.y)
    return Found(
        Pair(*(problem.unscaled(part) for part in made.x)),
        scaling.scaled_bound(made.bound, shift),
        scaling.scaled_bound(moved, shift),
        squares,
        problem.condition,
        made.is_proven,
    )


def certified(job: Job, x: Block) -> DistributedLstsqInfo:
    """Return the info of a solution ``(n, k)`` that was given, by one pass."""
    function = job.function
    times = [time.perf_counter()]
    node, product = first_of(job)
    times.append(time.perf_counter())
    problem = problem_of(node.problem._fit, function, measured=product is None)
    if product is not None:
        problem = problem.known(alpha_of(problem, product, job.form))
    scaled = problem.scaled(x)
    at = Pair(scaled, np.zeros_like(scaled))
    errors = errors_of(function, None, job.form)
    sums = job.pass_of(problem, at, errors, 2)
    times.append(time.perf_counter())
    require_same(function, node, sums, 2)
    made = step(problem, at, sums)
    # The corrected x is known to within the bound; the given one is as far from it as the step.
    far = made._replace(x=at, bound=(made.bound + made.change) * (1.0 + 2.0**-20))
    found = _found(problem, far, sums)._replace(squares=_squares(problem, sums, None))
    return _described(job, node, problem, found, times, [])[0]


def require_same(function: str, node: Node, sums: Sums, number: int) -> None:
    """Demand that a pass has seen the rows of the first one."""
    rows = sum(node.counts)
    if sums.rows != rows or sums.check != node.check:
        raise RuntimeError(
            f"{function}: the chunks are not the same in pass {number}: {sums.rows} rows, {rows} "
            "before" + (", and other values" if sums.rows == rows else "")
        )


def _squares(problem: Problem, sums: Sums, y: Block | None) -> tuple[Block, Block]:
    """Return the sums of squares of the residuals after the last step, in units of the data.

    A step with ``y = R^-H g`` takes the square of its norm away.
    """
    backend, kind = problem.fit.engine.backend, problem.kind
    exponents = backend.xp.asarray(sums.squares[1])
    units = exponents + backend.xp.asarray(problem.unit)
    if y is None:
        return backend.xp.asarray(sums.squares[0]), units
    shift = -exponents[None, :]
    near = backend.ldexp(y, shift, is_complex=kind.is_complex).swapaxes(-1, -2)
    less = backend.matmul(
        near[..., None, :], near[..., :, None], conj_a=kind.is_complex, kind=kind
    )[..., 0, 0]
    less = less[0] if kind.is_complex else less
    left = backend.xp.asarray(sums.squares[0])
    rest = backend.binary("subtract", left, less, kind=kind.real)
    rest = backend.xp.where(rest[0] > 0, rest, 0.0)
    return rest, units


def _after_one(job: Job, node: Node, problem: Problem) -> Found:
    """Return the solution of the tree, with the bound that counts its changes."""
    fit, info = problem.fit, node.problem.info
    bound = np.asarray(info.error_bound)
    bound = bound[..., None] if job.form.is_vector else bound
    x = problem.solved.x
    zero = fit.engine.backend.xp.zeros_like(x)
    squares = (fit.squares, fit.beta)
    return Found(Pair(x, zero), bound, None, squares, problem.condition)


def _described(
    job: Job, node: Node, problem: Problem, found: Found, times: list[float], changes: list[float]
) -> tuple[DistributedLstsqInfo, Block]:
    seconds = tuple(np.diff(times).tolist())
    course = Course(node.method, node.counts, node.depth, len(seconds), np.array(changes), seconds)
    return described(found, problem.fit, problem.solved, job.form, course)


def _result(
    job: Job, node: Node, problem: Problem, found: Found, times: list[float], changes: list[float]
) -> LstsqResult:
    """Wrap everything."""
    form, fit = job.form, problem.fit
    info, x = _described(job, node, problem, found, times, changes)
    inputs = Inputs(form.precision, form.work, form.is_complex, [])
    squares = fit.engine.backend.ldexp(found.squares[0], 2 * found.squares[1])
    return LstsqResult(
        inputs.wrap(x[..., 0] if form.is_vector else x),
        inputs.wrap(squares, is_complex=False),
        fit.n,
        info,  # type: ignore[arg-type]
    )


def by_rank(job: Job, rcond: float) -> LstsqResult:
    """Return the solution for R, with the residuals and the statistics of all rows."""
    fit, form = tree_of(job).problem._fit, job.form
    inputs = Inputs(form.work, form.work, form.is_complex, [])
    r, c = (inputs.wrap(x.copy()) for x in (fit.r[..., : fit.n], fit.r[..., fit.n :]))
    c = c[:, 0] if form.is_vector else c
    found = whole.lstsq(r, c, rcond=rcond, precision=form.precision)
    info, backend, below = found.info, fit.engine.backend, (fit.squares, fit.beta)
    known = info._measured
    (first, p), (second, q) = ([host_block(x) for x in pair] for pair in (known.squares, below))
    sums = joined_squares(for_block(first), form.kind, (first, p), (second, q))
    squares = backend.xp.asarray(sums[0]), backend.xp.asarray(sums[1])
    info._measured = known._replace(
        squares=squares,
        freedom=backend.xp.asarray([float(fit.m - found.rank)]),
        total=partial(solution.total, fit, fit.r[..., : fit.n], below),
    )
    # The errors of R itself are not bounded.
    info.error_bound = np.full_like(info.error_bound, np.nan)
    info.digits = np.full_like(info.digits, np.nan)
    info.bound_kind = "none"
    residuals = backend.ldexp(squares[0], 2 * squares[1])
    return found._replace(residuals=inputs.wrap(residuals, is_complex=False))
