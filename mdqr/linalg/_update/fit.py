"""The factors of a least-squares problem that changes: R, ``Q^H b``, the residual sum of squares.

Right-hand sides are extra columns of R, and every window transforms them along.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mdqr._limbs import scaling
from mdqr._limbs.planes import Block
from mdqr.linalg._factor.condition import condition
from mdqr.linalg._factor.triangular import Triangle
from mdqr.linalg._shared.checks import Checks, fetch
from mdqr.linalg._update import columns, cost, rows
from mdqr.linalg._update.arithmetic.engine import Engine, attempted, settle
from mdqr.linalg._update.arithmetic.matrices import (
    Constants,
    Growing,
    constants,
    inserted,
    joined,
    removed,
)
from mdqr.linalg._update.loss import digits_of, lost_digits, require_distance
from mdqr.linalg._update.operands import (
    Scales,
    is_wide,
    require_finite,
    require_in_range,
    scaled,
    scaled_with_sides,
    shifted,
)
from mdqr.linalg._update.repair import repair_state
from mdqr.linalg._update.state import State, factored

# Of the estimate of a condition number that only has to tell singular matrices.
CONDITION_STEPS = 2
# An exponent below those of all doubles.
_ABSENT = -(2**20)


@dataclass
class Fit:
    """R with ``Q^H b`` behind it, Q if it is kept, and the data if they are.

    `squares` is a real block ``(limbs, k)`` in units of ``4**beta``, `beta` the exponents of the
    largest components of residuals so far; `m` counts the rows of the data; `keep_q` tells whether
    Q is kept. Since the last refactorisation removals have lost `lost` digits, the columns of a and
    the norms of b had exponents of at most `peak`, no row went through more than `changes` changes,
    of `steps` in all, and `cut`, a 0-d bool, tells whether entries of b were too far apart to keep
    the digits of all. The data may be a view of `memory`; without them `constants` tells which
    columns are constant.
    """

    engine: Engine
    r: Block
    q: Block | None
    data: Block | None
    squares: Block
    beta: Block
    m: int
    n: int
    keep_q: bool
    cut: Block
    lost: float = 0.0
    changes: int = 0
    steps: int = 0
    peak: Block = None
    memory: Growing = field(default_factory=Growing)
    constants: Constants | None = None

    @property
    def right(self) -> int:
        """Number of right-hand sides."""
        return int(self.squares.shape[-1])


def start(engine: Engine, data: Block, n: int, *, keep_q: bool, keep_data: bool) -> Fit:
    """Factor the columns of `data` ``(m, n + k)``, of which the last k are b.

    Raises
    ------
    numpy.linalg.LinAlgError
        If `data` is not finite.
    """
    squares, beta = _no_squares(engine, int(data.shape[-1]) - n)
    cut = engine.backend.xp.asarray(False)
    fit = Fit(engine, data[..., :0, :], None, None, squares, beta, 0, n, keep_q, cut)

    attempted(engine, _start, fit, data)
    if keep_data:
        fit.data = data
    else:
        fit.constants = constants(engine, data[..., :n])
    return fit


def _start(fit: Fit, data: Block) -> None:
    checks = Checks()
    require_finite(checks, "UpdatableLstsq", fit.engine, "[a b]", data)
    refactor(fit, data)
    settled(fit, checks)


def settled(fit: Fit, checks: Checks, *values: Block) -> tuple[Any, ...]:
    """Return `settle` of the values; demand that nothing in R or ``Q^H b`` overflowed."""
    require_in_range(checks, "UpdatableLstsq", fit.engine, "[R Q^H b]", fit.r)
    return settle(fit.engine, checks, *values)


def prefers_refactor(fit: Fit, work: cost.Work, m: int, n: int) -> bool:
    """Return whether a refactorisation of data ``(m, n)`` is less work."""
    again = cost.factor_work(m, n + fit.right, min(m, n) if fit.keep_q else None)
    return cost.seconds(fit.engine, again) < cost.seconds(fit.engine, work)


def prefers_refactor_without(fit: Fit, p: int, k: int) -> bool:
    """Return whether a refactorisation without rows k to ``k + p`` is less work, or the only way.

    Fewer rows than columns know nothing of the rows that leave.
    """
    m = fit.m - p
    work = cost.removal_work(fit.engine, size(fit, p, k))
    return m < fit.n or prefers_refactor(fit, work, m, fit.n)


def size(fit: Fit, p: int, k: int) -> cost.Size:
    """Return what the work of an update depends on."""
    return cost.Size(fit.m, fit.n, min(fit.m, fit.n) if fit.keep_q else 0, p, k)


def has_wide_sides(fit: Fit, data: Block) -> bool:
    """Return whether entries of b are so far apart that products with the data lose digits."""
    return bool(fetch(is_wide(fit.engine, data[..., fit.n :]))[0])


def refactor(fit: Fit, data: Block) -> None:
    """Factor `data`."""
    fit.m, fit.n = int(data.shape[-2]), int(data.shape[-1]) - fit.right
    (copy,), scales, fit.cut = scaled_with_sides(fit.engine, fit.n, data)
    q = min(fit.m, fit.n) if fit.keep_q else None
    fit.squares, fit.beta = _no_squares(fit.engine, fit.right)
    fit.lost, fit.changes, fit.steps, fit.peak = 0.0, 0, 0, None
    accept(fit, factored(fit.engine, copy, fit.n, q), scales)


def _scaled(fit: Fit, *parts: Block) -> tuple[list[Block], Scales]:
    """Return matrices with b behind them and exponents as `scaled_with_sides`; note what is cut."""
    copies, scales, cut = scaled_with_sides(fit.engine, fit.n, *parts)
    fit.cut = fit.cut | cut
    return copies, scales


def accept(fit: Fit, state: State, scales: Scales) -> None:
    """Take over an updated state, and add what its extra columns dropped to the squares."""
    state.untouched = state.n
    state.normalise()
    if state.m > state.n and state.full and state.q is not None:
        state.drop(state.n)
    extra = None if scales is None else scales[..., state.n :]
    for part in state.dropped:
        add_squares(fit, squares_of(fit.engine, shifted(fit.engine, part, extra)))
    fit.r, fit.q, fit.n = shifted(fit.engine, state.r, scales), state.q, state.n
    fit.changes += 1
    fit.steps += 1
    _note_peak(fit)


def _note_peak(fit: Fit) -> None:
    """Note how long the columns of R and the norms of b are: errors were relative to that."""
    xp = fit.engine.backend.xp
    found = _lengths(fit)
    fit.peak = found if fit.peak is None else xp.maximum(fit.peak, found)


def _lengths(fit: Fit) -> Block:
    """Return the exponents of the columns of R and of the norms of b."""
    xp = fit.engine.backend.xp
    found = _column_exponents(fit.engine, fit.r)
    squares, exponents = xp.frexp(fit.squares[0])
    rest = xp.where(squares > 0, ((exponents + 1) >> 1) + fit.beta, scaling.ABSENT)
    found[fit.n :] = xp.maximum(found[fit.n :], rest)
    return found


def _shortened(fit: Fit) -> Block:
    """Return by how many powers of two a b is shorter than at its longest, a 0-d array.

    Errors of ``Q^H b`` and of the squares are those of the longest.
    """
    return scaling.largest((fit.peak - _lengths(fit))[fit.n :], None, 0)


def _column_exponents(engine: Engine, x: Block) -> Block:
    """Return the exponents of the largest entries of columns."""
    bits = scaling.magnitude_bits(engine.to_block(x), engine.kind.is_complex)
    return scaling.exponents_or_absent(scaling.largest(bits, -2, 0))


def bounded_loss(fit: Fit, lost: float) -> float:
    """Return the digits that are lost at most, where removals one by one make it `lost`.

    That grows without end where rows come and go. The errors of each change are those of the
    longest columns so far, and R as it is now magnifies them by the norm of its inverse, squared.
    """
    if lost < digits_of(fit.engine) / 2:
        return lost
    found, _, alpha = triangle(fit, "UpdatableLstsq.delete_rows", Checks(ignore=True))
    known = condition(found, CONDITION_STEPS)
    shorter = scaling.largest(fit.peak[: fit.n] - alpha, None, 0)
    value, largest, shorter = fetch(known.value, known.largest, shorter)
    with np.errstate(all="ignore"):
        inverse = np.log10(value / largest) + shorter * math.log10(2.0)
    bound = 2.0 * inverse + math.log10(max(fit.n, 1) * fit.changes)
    return float(np.fmin(lost, bound))


def squares_of(engine: Engine, x: Block) -> tuple[Block, Block]:
    """Return the sums of squares of the columns of `x`, as `Fit` has them, and their exponents."""
    backend, block, field = engine.backend, engine.to_block(x), engine.kind.is_complex
    bits = scaling.largest(scaling.magnitude_bits(block, field), -2, 0)
    beta = backend.xp.where(bits > 0, scaling.exponents_of(bits), _ABSENT)
    parts = backend.ldexp(block, -beta[..., None, :], is_complex=field)
    if field:
        parts = backend.xp.concatenate([parts[0], parts[1]], axis=-2)
    transposed, kind = parts.swapaxes(-1, -2), engine.kind.real
    found = backend.matmul(transposed[..., None, :], transposed[..., None], kind=kind)[..., 0, 0]
    return found, beta


def add_squares(fit: Fit, more: tuple[Block, Block], *, subtract: bool = False) -> None:
    """Add sums of squares in units of their basis, or take them away."""
    backend, old = fit.engine.backend, fit.beta
    squares, beta = more
    fit.beta = backend.xp.maximum(old, beta)
    known = backend.ldexp(fit.squares, 2 * (old - fit.beta))
    squares = backend.ldexp(squares, 2 * (beta - fit.beta))
    operation = "subtract" if subtract else "add"
    fit.squares = backend.binary(operation, known, squares, kind=fit.engine.kind.real)


def _no_squares(engine: Engine, right: int) -> tuple[Block, Block]:
    """Return the sums of squares of no rows, and their exponents."""
    xp = engine.backend.xp
    return xp.zeros((engine.kind.limbs, right)), xp.full(right, _ABSENT, dtype=np.int64)


def _state(fit: Fit, r: Block) -> State:
    return State(fit.engine, None if fit.q is None else fit.q.copy(), r, fit.n)


def with_rows(fit: Fit, new: Block, k: int) -> Fit:
    """Return a fit with rows ``(p, n + right)`` before row k of its data."""
    engine, fit, p, data = fit.engine, replace(fit), int(new.shape[-2]), fit.data
    if data is not None and k == fit.m:
        data = fit.memory.extended(engine, data, new)
    else:
        data = inserted(engine, data, new, k, -2)
    work = cost.rows_work(engine, size(fit, p, k))
    if data is not None and prefers_refactor(fit, work, fit.m + p, fit.n):
        refactor(fit, data)
    else:
        insert_rows(fit, new, k)
    fit.data = data
    if data is None:
        note_constants(fit, constants(engine, new[..., : fit.n]))
    settled(fit, Checks())
    return fit


def without_rows(fit: Fit, data: Block, k: int, p: int) -> Fit:
    """Return a fit without rows k to ``k + p`` of its data."""
    engine, fit, checks = fit.engine, replace(fit), Checks()
    rest = fit.memory.without(engine, data, k, p)
    if prefers_refactor_without(fit, p, k):
        return refactored(fit, rest)
    try:
        state = delete_rows(fit, data[..., k : k + p, :], k, checks, data[..., fit.n :])
        smaller, *values = settled(fit, checks, _shortened(fit), *state.removals)
        fit.lost = lost_digits(state, tuple(values), fit.lost)
    except np.linalg.LinAlgError:
        # R is singular, and does not know what leaves.
        fit.lost = smaller = math.inf
    if max(fit.lost, float(smaller) * math.log10(2.0)) >= digits_of(engine) / 2:
        return refactored(fit, rest)
    fit.data = rest
    return fit


def refactored(fit: Fit, data: Block) -> Fit:
    """Return a fit of `data`, factored anew."""
    fit = replace(fit, data=data)
    refactor(fit, data)
    settled(fit, Checks())
    return fit


def ordered(fit: Fit, places: np.ndarray) -> Fit:
    """Return a fit with the rows at `places` behind all others: the order of rows is free."""
    last = np.zeros(fit.m, dtype=bool)
    last[places] = True
    order = np.concatenate([np.flatnonzero(~last), places])
    order = fit.engine.backend.xp.asarray(order.tolist())
    q, data = (None if x is None else x[..., order, :] for x in (fit.q, fit.data))
    return replace(fit, q=q, data=data)


def note_constants(fit: Fit, more: Constants | None) -> None:
    """Note which columns are constant in further rows too."""
    if more is not None:
        known = fit.constants
        fit.constants = more if known is None else known.merged(fit.engine, more)


def insert_rows(fit: Fit, new: Block, k: int, basis: Block | None = None) -> None:
    """Insert rows of the data, ``(p, n + right)``, or R of such rows, whose Q is `basis`."""
    (r, u), scales = _scaled(fit, fit.r, new)
    state = _state(fit, r)
    rows.insert_rows(state, u, k, basis)
    if fit.q is None and state.r.shape[-2] > state.n:
        state.drop(state.n)
    fit.m += int(new.shape[-2])
    accept(fit, state, scales)


def delete_rows(fit: Fit, old: Block, k: int, checks: Checks, b: Block | None) -> State:
    """Remove rows `old` of the data, which start at row `k`; return the state with its losses.

    `b` are all rows of the right-hand sides, if they are known.
    """
    engine, p = fit.engine, int(old.shape[-2])
    (r, u), scales = _scaled(fit, fit.r, old)
    state = _state(fit, r)
    if fit.q is None:
        z = rows.delete_known_rows(state, u, checks, "UpdatableLstsq.delete_rows")
    else:
        whole = None
        if b is not None:
            whole = shifted(engine, b, None if scales is None else -scales[..., fit.n :])
        z = rows.delete_rows_with(state, u[..., fit.n :], k, whole)
    fit.m -= p
    accept(fit, state, scales)
    extra = None if scales is None else scales[..., fit.n :]
    add_squares(fit, squares_of(engine, shifted(engine, z, extra)), subtract=True)
    return state


def delete_columns(fit: Fit, k: int, p: int) -> None:
    """Remove columns."""
    (r,), scales = _scaled(fit, fit.r)
    state = _state(fit, r)
    columns.delete_columns(state, k, p)
    fit.peak = removed(fit.engine, fit.peak, k, p)
    if fit.constants is not None:
        fit.constants = fit.constants.without(fit.engine, k, p)
    accept(fit, state, removed(fit.engine, scales, k, p))


def insert_columns(fit: Fit, data: Block, new: Block, k: int, checks: Checks) -> State:
    """Insert columns `new` ``(m, p)`` into `data`; return the state with its losses."""
    engine, n = fit.engine, fit.n
    (r, base), old = _scaled(fit, fit.r, data)
    (u,), more = scaled(engine, new)
    scales = inserted(engine, old, more, k)
    state = _state(fit, r)
    fit.peak = inserted(engine, fit.peak, _column_exponents(engine, new), k)
    both = joined(engine, [u, base[..., n:]], -1)
    if fit.q is None:
        z = columns.insert_unknown_columns(
            state, base[..., :n], both, k, "UpdatableLstsq.insert_cols", checks
        )
    else:
        z = columns.insert_columns_with(state, both, k)
    accept(fit, state, scales)
    extra = None if scales is None else scales[..., state.n :]
    add_squares(fit, squares_of(engine, shifted(engine, z, extra)), subtract=True)
    return state


def with_columns(fit: Fit, new: Block, k: int, function: str, limit: float | None) -> Fit:
    """Return a fit with columns `new` ``(m, p)`` in its data, which must be independent."""
    m, n = fit.m, fit.n + int(new.shape[-1])
    found, checks = _joined(fit, new, k, function)
    work = cost.insertion_work(fit.engine, size(fit, n - fit.n, k))
    if (
        m >= n
        and not prefers_refactor(fit, work, m, n)
        and (fit.keep_q or not has_wide_sides(fit, fit.data))
    ):
        try:
            state = insert_columns(found, fit.data, new, k, checks)
            require_distance(function, checks, state, limit)
            settled(found, checks)
            return found
        except np.linalg.LinAlgError:
            # Without Q a singular R says nothing of new columns; the data do.
            if fit.keep_q:
                raise
            found, checks = _joined(fit, new, k, function)
    refactor(found, found.data)
    if m >= n:
        require_distance(function, checks, independence(fit, new, found.r, k), limit)
    settled(found, checks)
    return found


def _joined(fit: Fit, new: Block, k: int, function: str) -> tuple[Fit, Checks]:
    """Return a fit with further columns in its data alone, and the demand that they are finite."""
    engine, checks = fit.engine, Checks()
    require_finite(checks, function, engine, "u", new)
    return replace(fit, data=inserted(engine, fit.data, new, k)), checks


def independence(fit: Fit, new: Block, r: Block, k: int) -> State:
    """Return a state that tells how far columns `new` at k, which `r` has already, are from others.

    Where Q is kept it is asked: R does not know the columns that depend on others.
    """
    engine, p = fit.engine, int(new.shape[-1])
    if fit.q is None:
        found = columns.independence_in(engine, r[..., : fit.n + p], k, p)
    else:
        found = columns.independence(engine, fit.q, scaled(engine, new)[0][0])
    return State(engine, fit.q, fit.r, fit.n, losses=[found])


def triangle(fit: Fit, function: str, checks: Checks) -> tuple[Triangle, Block, Block]:
    """Return R with scaled columns, which must not be singular, its block, and the exponents."""
    engine, field = fit.engine, fit.engine.kind.is_complex
    block = engine.to_block(fit.r[..., : fit.n, : fit.n])
    alpha = scaling.column_exponents(block, field)
    r = engine.backend.ldexp(block, -alpha[..., None, :], is_complex=field)
    return engine.triangle(engine.from_block(r), function, checks), r, alpha


def repair(fit: Fit, data: Block, checks: Checks) -> None:
    """Correct R, Q and ``Q^H b`` by the data."""
    engine, n = fit.engine, fit.n
    fit.cut = engine.backend.xp.asarray(False)
    (base, r), scales = _scaled(fit, data, fit.r)
    state = _state(fit, r)
    repair_state(state, base[..., :n], checks, "UpdatableLstsq.repair")
    found = engine.triangle(state.r[..., :n, :n], "UpdatableLstsq.repair", checks)
    known, free = columns.projected(engine, found, base[..., :n], base[..., n:])
    state.r[..., :n, n:] = known
    fit.squares, fit.beta = _no_squares(engine, fit.right)
    state.dropped.append(free)
    fit.lost, fit.changes, fit.steps, fit.peak = 0.0, 0, 0, None
    accept(fit, state, scales)


def residual_norm(fit: Fit) -> Block:
    """Return the norms of the residuals as a real block ``(limbs, k)``, from R alone."""
    xp, squares = fit.engine.backend.xp, fit.squares
    squares = xp.where(squares[0] > 0, squares, 0.0)
    root = fit.engine.backend.unary("sqrt", squares, kind=fit.engine.kind.real)
    return fit.engine.backend.ldexp(root, fit.beta)
