"""Losses of a change of rows or columns: distances from a span, digits, warnings."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple, NoReturn

import numpy as np

from mdqr._backend.blocks import from_native, to_native
from mdqr._errors import warn_of_precision
from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Block, Kind, diagonal
from mdqr._precision import Precision
from mdqr.linalg._shared.checks import Checks, fetch
from mdqr.linalg._update.arithmetic.engine import Engine
from mdqr.linalg._update.state import Loss, State

# Sums of few terms err by a few eps all the same.
_FEW = 8


_Norm = Callable[[Engine, Block], Block]


def rounding_level(engine: Engine, n: int) -> float:
    """Return the size of the rounding errors in a sum of `n` terms of size one."""
    return (n + _FEW) * engine.eps


def smallest_singular_value(engine: Engine, triangle: Block) -> Block:
    """Return at most the smallest singular value, and nearly that: float64.

    Computed from the leading limbs after a scaling by powers of two, so that no small value is
    lost; zero where the diagonal has a zero.
    """
    xp, field = engine.backend.xp, engine.kind.is_complex
    block = engine.to_block(triangle)
    first = planes.first_limbs(block, field, 1)
    rows = scaling.top_exponents(first, field, -1)
    scaled = to_native(xp, xp.ldexp(first, -rows[..., :, None]), field)
    return _over_inverse(engine, scaled, rows, spectral_bound)


def least_distance(engine: Engine, triangle: Block, size: Block) -> Block:
    """Return ``1 / norm_F(triangle^-1)`` with columns divided by `size`, all within range."""
    xp = engine.backend.xp
    native = to_native(xp, engine.to_block(triangle), engine.kind.is_complex)
    rows = xp.zeros(native.shape[:-1], dtype=xp.int64)
    with np.errstate(all="ignore"):
        return _over_inverse(engine, native / size[..., None, :], rows, _frobenius)


def _over_inverse(engine: Engine, scaled: Block, rows: Block, norm: _Norm) -> Block:
    """Return 1 over the norm of the inverse of ``diag(2**rows) scaled``."""
    xp, p = engine.backend.xp, int(scaled.shape[-1])
    entries = abs(diagonal(scaled))
    sound = (entries > 0).all(axis=-1) & xp.isfinite(abs(scaled)).all(axis=(-2, -1))
    if p == 1:
        return xp.where(sound, xp.ldexp(entries[..., 0], rows[..., 0]), 0.0)
    one = xp.eye(p, dtype=scaled.dtype)
    inverse = engine.inverse(xp.where(sound[..., None, None], scaled, one))
    low = -scaling.largest(-rows, -1, 0)
    shrink = xp.ldexp(xp.ones(rows.shape), low[..., None] - rows)
    with np.errstate(all="ignore"):
        total = norm(engine, inverse * shrink[..., None, :])
        # An inverse beyond the largest double may have NaN.
        return xp.where(sound & (total >= 0), xp.ldexp(1.0 / total, low), 0.0)


def _frobenius(_: Engine, x: Block) -> Block:
    return scaling.norms(x, (-2, -1))


def spectral_bound(engine: Engine, x: Block) -> Block:
    """Return at least the largest singular value of floats, and at most ``p**(1/32)`` times that.

    The Frobenius norm of the eighth power of ``x^H x``, by three squarings.
    """
    xp, field = engine.backend.xp, engine.kind.is_complex
    size = scaling.largest(scaling.largest(abs(x), -1, 0.0), -1, 0.0)
    safe = xp.where(size > 0, size, 1.0)
    power = from_native(xp, x / safe[..., None, None], field)
    factors = []
    for i in range(4):
        left = power if i else power.swapaxes(-1, -2)
        power = engine.backend.matmul(left, power, kind=Kind(1, field), conj_a=not i)
        total = _frobenius(engine, to_native(xp, power, field))
        factors.append(total)
        power = power / xp.where(total > 0, total, 1.0)[..., None, None]
    bound = xp.ones_like(size)
    for total in reversed(factors):
        bound = total * xp.sqrt(bound)
    return safe * xp.sqrt(bound)


class Before(NamedTuple):
    """R before rows left: norms of the columns, how many diagonal entries counted, and distances.

    `distance` is the smallest singular value of R with columns of norm one, where R will be made
    by a refactorisation.
    """

    norms: Block
    rank: Block
    distance: Block | None


def before(state: State, *, refactor: bool) -> Before:
    """Return what `note_rank` compares with."""
    norms = state.engine.column_norms(state.r[..., : state.n])
    return Before(norms, _rank(state, norms), _least_distance(state, norms) if refactor else None)


def _rank(state: State, norms: Block) -> Block:
    """Return how many diagonal entries of R are above the rounding errors of columns so long."""
    r = state.r[..., : state.count, : state.n]
    entries = state.engine.diagonal_magnitudes(r)
    return (entries > rounding_level(state.engine, state.n) * norms[..., : state.count]).sum(
        axis=-1
    )


def _least_distance(state: State, norms: Block) -> Block:
    """Return the smallest singular value of R with columns divided by `norms`, about."""
    xp = state.engine.backend.xp
    if state.count < state.n or not state.n:
        return xp.ones(norms.shape[:-1])
    size = xp.where(norms > 0, norms, 1.0)
    return least_distance(state.engine, state.r[..., : state.n, : state.n], size)


def _shortened(state: State, norms: Block) -> Block:
    """Return the quotient of the norms after and before of the column that lost most."""
    xp = state.engine.backend.xp
    after = state.engine.column_norms(state.r[..., : state.n])
    some = (norms > 0) & (after > 0)
    quotients = xp.where(some, after / xp.where(some, norms, 1.0), 1.0)
    return -scaling.largest(-quotients, -1, -1.0)


def note_rank(state: State, known: Before) -> None:
    """Estimate the loss of accuracy of a deletion of rows, once R is new.

    The loss is the smallest singular value of what the deleted rows have outside of Q, and all is
    lost if the rank of R is lower. If R was rank deficient before, whose diagonal does not show its
    rank, or fewer rows than columns stay, only columns that vanished are reported. After a
    refactorisation the smallest singular value of R is compared with the old one.
    """
    xp, level = state.engine.backend.xp, rounding_level(state.engine, state.n)
    columns = _shortened(state, known.norms)
    if state.count < state.n:
        # What Q lost before it became square says nothing of rows that are fewer than columns.
        state.losses = [Loss(columns, xp.full(columns.shape, level))]
        return
    regular = known.rank == state.n
    less = regular & (_rank(state, known.norms) < state.n)
    if known.distance is not None:
        some = known.distance > level
        ratio = _least_distance(state, known.norms) / xp.where(some, known.distance, 1.0)
        distance = xp.where(some, xp.minimum(ratio, columns), columns)
        found = Loss(xp.maximum(distance, 2.0 * level), xp.full(distance.shape, level))
        state.losses.append(found)
    for loss in state.losses:
        loss.distance = xp.where(less, 0.0, xp.where(regular, loss.distance, columns))


def require_distance(
    function: str, checks: Checks, state: State, limit: float | None = None
) -> None:
    """Demand that new columns are independent, and that something is left of the rows."""
    least = state.engine.eps if limit is None else limit
    for loss in state.losses:
        if loss.level is None:
            raise_error = partial(_raise_dependence, function, loss.distance, least)
            checks.require(~(loss.distance < least).any(), raise_error)
        else:
            raise_error = partial(_raise_loss, function, state.n)
            checks.require((loss.distance > loss.level).all(), raise_error)


def _raise_dependence(function: str, distance: Block, least: float) -> NoReturn:
    raise np.linalg.LinAlgError(
        f"{function}: with u a column lies in the span of the others: the reciprocal "
        f"condition {float(fetch(distance.min())[0]):.1e} is below rcond {least:.1e}"
    )


def _raise_loss(function: str, n: int) -> NoReturn:
    raise np.linalg.LinAlgError(
        f"{function}: all digits are lost: without these rows the rank is at most "
        f"{max(n - 1, 0)} of {n} as far as R can tell, or they are larger by "
        "1 / eps than what stays; factor the remaining rows anew"
    )


def warn_of_loss(function: str, engine: Engine, lost: float, precision: Precision | None) -> None:
    """Raise if all digits are lost, and warn if half of them are."""
    digits = digits_of(engine)
    if lost >= digits:
        raise np.linalg.LinAlgError(
            f"{function}: all digits are lost with these rows and those removed before; factor "
            "the remaining rows anew"
        )
    if lost >= digits / 2:
        warn_of_precision(
            f"linalg.{function}",
            f"about {lost:.0f} of {digits:.0f} digits of R are lost, since little is left where "
            "these rows were; factor the remaining rows anew",
            digits=digits - lost,
            precision=precision,
        )


def digits_of(engine: Engine) -> float:
    """Return the number of digits of an arithmetic."""
    return -math.log10(engine.eps)


def lost_digits(state: State, values: tuple[np.ndarray, ...], before: float = 0.0) -> float:
    """Return the digits that removals lost, from what `State.removals` returns, on the host.

    `before` digits were lost already: a removal magnifies these errors as it does its own.
    """
    worst = known = 10.0**before
    unit = rounding_level(state.engine, state.n)
    for distance, level in zip(values[::2], values[1::2], strict=True):
        ratio = np.max((level / unit + known) / np.maximum(distance, 1e-300), initial=known)
        worst = max(worst, float(ratio))
    return math.log10(worst)
