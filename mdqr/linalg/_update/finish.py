"""The end of an update: signs, scales, what was lost, and one look at the device."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mdqr._limbs import planes
from mdqr._limbs.planes import Block, Kind, clear_below, diagonal
from mdqr.linalg._factor.qr import clear_diagonal_signs, multiply_signs
from mdqr.linalg._update.arithmetic.engine import attempted
from mdqr.linalg._update.arithmetic.floats import Floats
from mdqr.linalg._update.cost import seconds
from mdqr.linalg._update.loss import leading, lost_digits, pairs, require_share, warn_of_loss
from mdqr.linalg._update.operands import UpdateResult, require_in_range, shifted
from mdqr.linalg._update.state import State
from mdqr.linalg._update.updates import Built, Frame, Job


def normalise(state: State, untouched: int) -> None:
    """Make the diagonal of R real and not negative, and change Q with it.

    Windows leave a real diagonal, unless the state says that it is `turned`; rows before
    `untouched` were in none, and have the diagonal that the caller gave.
    """
    engine, count = state.engine, state.count
    if engine.kind.is_complex:
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
    multiply_signs(r, signs[..., :, None], engine.kind.is_complex)
    clear_below(state.r[..., : state.n])
    clear_diagonal_signs(r, engine.kind.is_complex)
    if q is not None:
        multiply_signs(q[..., :count], signs[..., None, :], engine.kind.is_complex)


def _rotate(state: State, rows: int) -> None:
    """Multiply the first rows of R by the phases that make their diagonal real."""
    if not rows:
        return
    engine, xp = state.engine, state.engine.backend.xp
    kind = Kind(engine.kind.limbs, True)
    block = engine.to_block(state.r[..., :rows, :])
    on_diagonal = xp.stack([xp.stack([diagonal(limb) for limb in part]) for part in block])
    size = planes.complexify(
        engine.backend.unary("abs", on_diagonal, kind=Kind(engine.kind.limbs, True))
    )
    turned = on_diagonal[1, 0] != 0
    one = xp.zeros_like(size)
    one[0, 0] = 1.0
    phase = engine.backend.binary(
        "divide", xp.where(turned, on_diagonal, one), xp.where(turned, size, one), kind=kind
    )
    found = engine.backend.binary("multiply", _conjugate(phase)[..., :, None], block, kind=kind)
    state.r[..., :rows, :] = engine.from_block(xp.where(turned[..., :, None], found, block))
    imaginary = engine.to_block(state.r)[1]
    for limb in imaginary:
        diagonal(limb[..., :rows, :])[...] = 0.0
    if isinstance(engine, Floats):
        diagonal(state.r[..., :rows, :]).imag[...] = 0.0
    if state.q is not None:
        columns = engine.to_block(state.q[..., :rows])
        found = engine.backend.binary("multiply", columns, phase[..., None, :], kind=kind)
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
    warn_of_loss(frame.function, engine, lost_digits(state, values), stacklevel=5)
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
