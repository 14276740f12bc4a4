"""The end of an update: signs, scales, what was lost, and one look at the device."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from mdqr._backend.protocol import Block
from mdqr._errors import PrecisionWarning
from mdqr._limbs import planes
from mdqr.linalg._factor.householder import diagonal
from mdqr.linalg._factor.qr import clear_diagonal_signs, multiply_signs
from mdqr.linalg._shared.checks import Checks, fetch
from mdqr.linalg._update.checks import require_in_range
from mdqr.linalg._update.cost import seconds
from mdqr.linalg._update.engine import Engine, clear_below
from mdqr.linalg._update.floats import Floats
from mdqr.linalg._update.jobs import Built, Frame, Job
from mdqr.linalg._update.operands import UpdateResult
from mdqr.linalg._update.quick import attempted
from mdqr.linalg._update.scales import shifted
from mdqr.linalg._update.state import State, leading, rounding


def normalise(state: State, untouched: int) -> None:
    """Make the diagonal of R real and not negative, and change Q with it.

    Windows leave a real diagonal, unless the state says that it is `turned`; rows before
    `untouched` were in none, and have the diagonal that the caller gave.
    """
    engine, count = state.engine, state.count
    if engine.is_complex:
        _rotate(state, count if state.turned else min(untouched, count))
    r, q = state.r[..., :count, :], state.q
    xp = engine.backend.xp
    if isinstance(engine, Floats):
        signs = engine.sign_rows(state.r, count, state.n)
        if q is not None:
            own = q[..., count - signs.shape[-1] : count]
            xp.multiply(own, signs[..., None, :], out=own)
        return
    signs = xp.where(diagonal(leading(engine, r)) < 0, -1.0, 1.0)
    multiply_signs(r, signs[..., :, None], engine.is_complex)
    clear_below(state.r[..., : state.n])
    clear_diagonal_signs(r, engine.is_complex)
    if q is not None:
        multiply_signs(q[..., :count], signs[..., None, :], engine.is_complex)


def _rotate(state: State, rows: int) -> None:
    """Multiply the first rows of R by the phases that make their diagonal real."""
    if not rows:
        return
    engine, xp = state.engine, state.engine.backend.xp
    options: dict[str, Any] = {"limbs": engine.limbs, "is_complex": True}
    block = engine.to_block(state.r[..., :rows, :])
    on_diagonal = xp.stack([xp.stack([diagonal(limb) for limb in part]) for part in block])
    size = planes.complexify(
        engine.backend.unary("abs", on_diagonal, limbs=engine.limbs, is_complex=True)
    )
    turned = on_diagonal[1, 0] != 0
    one = xp.zeros_like(size)
    one[0, 0] = 1.0
    phase = engine.backend.binary(
        "divide", xp.where(turned, on_diagonal, one), xp.where(turned, size, one), **options
    )
    found = engine.backend.binary("multiply", _conjugate(phase)[..., :, None], block, **options)
    state.r[..., :rows, :] = engine.from_block(xp.where(turned[..., :, None], found, block))
    imaginary = engine.to_block(state.r)[1]
    for limb in imaginary:
        diagonal(limb[..., :rows, :])[...] = 0.0
    if isinstance(engine, Floats):
        diagonal(state.r[..., :rows, :]).imag[...] = 0.0
    if state.q is not None:
        columns = engine.to_block(state.q[..., :rows])
        found = engine.backend.binary("multiply", columns, phase[..., None, :], **options)
        state.q[..., :rows] = engine.from_block(xp.where(turned[..., None, :], found, columns))


def _conjugate(block: Block) -> Block:
    block = block.copy()
    block[1] = planes.negate(block[1], False)
    return block


def settle(frame: Frame, job: Job, method: str, limit: float | None = None) -> UpdateResult:
    """Do the job, and return the new factors as the caller wants them.

    Parameters
    ----------
    frame : Frame
        The operands.
    job : Job
        What to do.
    method : {"auto", "update", "fresh"}
        How.
    limit : float, optional
        The smallest reciprocal condition of an inserted column.

    Raises
    ------
    ValueError
        If the way that is wanted cannot be gone.
    """
    if frame.checks is None:
        state, r, _ = _settled(frame, job, method, limit)
        return frame.given.result(state.q, r)
    engine = frame.given.engine
    state, r, values = attempted(engine, lambda: _settled(frame, job, method, limit))
    note_loss(frame.function, engine, lost_digits(state, values), stacklevel=5)
    return frame.given.result(state.q, r)


def _settled(
    frame: Frame, job: Job, method: str, limit: float | None
) -> tuple[State, Block, tuple[np.ndarray, ...]]:
    """Return the new state, its R with the scales undone, and shares and noise of removals."""
    engine, checks = frame.given.engine, frame.checks
    way, untouched = _way(frame, job, method)
    state, scales = way(checks is not None)
    normalise(state, untouched)
    r = shifted(engine, state.r, scales)
    if checks is None:
        return state, r, ()
    require_share(frame.function, checks, state, limit)
    require_in_range(checks, frame.function, engine, "R", r)
    return state, r, checks.settle(*pairs(state))


def _way(frame: Frame, job: Job, method: str) -> tuple[Callable[[bool], Built], int]:
    """Return the way to go, and how many rows of R it leaves alone."""
    engine, update, fresh = frame.given.engine, job.update, job.fresh
    if fresh is None or (update is not None and method == "update"):
        if update is None or method == "fresh":
            raise ValueError(
                f"{frame.function}: a fresh factorisation needs the rows that stay: factor them "
                "by qr"
            )
        return update, job.untouched
    if update is None and method == "update":
        raise ValueError(
            f"{frame.function}: without Q an update has at least as many rows of A as columns: "
            'take method="fresh", or "auto"'
        )
    if update is None or method == "fresh":
        return fresh, 0
    work, again = (seconds(engine, work) for work in job.works())
    return (update, job.untouched) if work <= again else (fresh, 0)


def pairs(state: State) -> list[Block]:
    """Return the shares and noise of removals."""
    return [x for loss in state.losses if loss.noise is not None for x in (loss.share, loss.noise)]


def require_share(function: str, checks: Checks, state: State, limit: float | None = None) -> None:
    """Demand that new columns are independent, and that something is left of the rows."""
    for loss in state.losses:
        if loss.noise is None:
            _require_independence(function, checks, state, loss.share, limit)
        else:
            _require_rest(function, checks, state, loss.share > loss.noise)


def _require_independence(
    function: str, checks: Checks, state: State, share: Block, limit: float | None
) -> None:
    least = state.engine.eps if limit is None else limit

    def complain() -> NoReturn:
        raise np.linalg.LinAlgError(
            f"{function}: with u a column lies in the span of the others: the reciprocal "
            f"condition {float(fetch(share.min())[0]):.1e} is below rcond {least:.1e}"
        )

    checks.require(~(share < least).any(), complain)


def _require_rest(function: str, checks: Checks, state: State, holds: Block) -> None:
    def complain() -> NoReturn:
        raise np.linalg.LinAlgError(
            f"{function}: all digits are lost: without these rows the rank is at most "
            f"{max(state.n - 1, 0)} of {state.n} as far as R can tell, or they are larger by "
            "1 / eps than what stays; factor the remaining rows anew"
        )

    checks.require(holds.all(), complain)


def note_loss(function: str, engine: Engine, lost: float, stacklevel: int) -> None:
    """Raise if all digits are lost, and warn if half of them are."""
    digits = digits_of(engine)
    if lost >= digits:
        raise np.linalg.LinAlgError(
            f"{function}: all digits are lost with these rows and those removed before; factor "
            "the remaining rows anew"
        )
    if lost >= digits / 2:
        warnings.warn(
            f"{function}: about {lost:.0f} of {digits:.0f} digits of R are lost, since little is "
            "left where these rows were; factor the remaining rows anew",
            PrecisionWarning,
            stacklevel=stacklevel,
        )


def digits_of(engine: Engine) -> float:
    """Return the number of digits of an arithmetic."""
    return -math.log10(engine.eps)


def lost_digits(state: State, values: tuple[np.ndarray, ...], before: float = 0.0) -> float:
    """Return the digits that removals lost, from pairs of shares and noise on the host.

    `before` digits were lost already: a removal magnifies these errors as it does its own.
    """
    worst = known = 10.0**before
    unit = rounding(state.engine, state.n)
    for share, noise in zip(values[::2], values[1::2], strict=True):
        ratio = np.max((noise / unit + known) / np.maximum(share, 1e-300), initial=known)
        worst = max(worst, float(ratio))
    return math.log10(worst)
