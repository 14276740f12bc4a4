"""Repair of factors that drifted: sweeps of first-order corrections by products."""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn

import numpy as np

from mdqr._errors import advised
from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Block
from mdqr._typing import PrecisionLike
from mdqr.linalg._factor.triangular import Triangle
from mdqr.linalg._shared.checks import Checks, fetch
from mdqr.linalg._update.arithmetic.engine import Engine
from mdqr.linalg._update.arithmetic.matrices import adjoint, set_identity
from mdqr.linalg._update.operands import (
    UpdateResult,
    matrix_operand,
    require_given,
    require_in_range,
    scaled,
    shifted,
)
from mdqr.linalg._update.state import State
from mdqr.linalg._update.updates import read_factors

# One sweep squares the error: from here it converges.
_FARTHEST = 0.1
# From a tenth nine sweeps would reach the last bit of od.
_MOST_SWEEPS = 9
# Where nothing waits for a device: the second corrects what the first has made of good factors.
_UNCHECKED_SWEEPS = 2


@advised
def repair(
    a: Any,
    Q: Any,
    R: Any,
    /,
    *,
    precision: PrecisionLike | None = None,
    check: bool = True,
) -> UpdateResult:
    """Make factors accurate again that have drifted over many updates, if they are not yet.

    Parameters
    ----------
    a : array_like
        The matrices ``(..., m, n)`` that the factors belong to, m >= n.
    Q : array_like or None
        ``(..., m, n)``, ``(..., m, m)``, or None where only R is kept.
    R : array_like
        ``(..., n, n)`` or ``(..., m, n)``.
    precision : Precision or str, optional
        The precision of the factors; by default the highest of the operands.
    check : bool, optional
        Raise if something is not finite or too far from a factorisation. A device is synchronized
        after each sweep, and once at the end; otherwise never, and two sweeps are made.

    Returns
    -------
    UpdateResult
        ``(Q, R)``, or ``(None, R)``; the diagonal of R is real and not negative. Float arrays of
        NumPy or CuPy give float arrays. Where those given were better they come back: the larger of
        ``norm(I - Q^H Q)`` and of ``norm(A - Q R)`` relative to `a` never grows.

    Raises
    ------
    ValueError
        If the shapes do not fit, or m < n.
    numpy.linalg.LinAlgError
        If R is singular, something is not finite, or the errors are too large for a correction of
        first order (a tenth, after division by R).

    See Also
    --------
    certify : Measures the errors of factors.

    Notes
    -----
    With ``E = A - Q R`` and ``F = I - Q^H Q``, computed as if in twice the precision, and
    ``Y = E R^-1``, ``C = Q^H Y``, let T be the upper part of ``C + C^H - F`` with half its
    diagonal. Then ``R + T R`` and ``Q + D``, ``D = Y - Q T``, are accurate to first order:
    ``D^H D`` and ``D T`` are left. Sweeps are repeated until these are below eps; what remains is
    the rounding of the last sums. No column is worked on alone: a sweep is products and two
    triangular solutions, ``8 m n^2`` multiply-adds. Without Q, ``Q = A R^-1``.

    Examples
    --------
    >>> import mdqr
    >>> a = mdqr.vander([1.0, 2.0, 3.0, 4.0], 3, precision=mdqr.dd)
    >>> Q, R = mdqr.linalg.qr(a)
    >>> Q, R = mdqr.linalg.repair(a, Q * (1 + 1e-17), R)
    >>> bool(mdqr.linalg.certify(a, Q, R).normwise < 60)
    True
    """
    require_given("repair", a=a, R=R)
    known, (a,) = read_factors("repair", Q, R, precision, check, a=a)
    engine, rows, n, checks = known.engine, known.m, known.n, known.checks
    a = matrix_operand("repair", engine, "a", a, known.batch, columns=n, vectors=False)
    m = int(a.shape[-2])
    if m < n or (Q is not None and rows != m) or rows < n:
        raise ValueError(
            f"repair: a must have at least as many rows as columns, and Q and R must belong to it; "
            f"got a with shape {(m, n)} and {rows} rows of {'R' if Q is None else 'Q'}"
        )
    (base, r), scales = scaled(engine, a, known.r)
    state = known.state(r, n)
    repair_state(state, base, checks, "repair", waits=check)
    state.normalise()
    found = shifted(engine, state.r, scales)
    if check:
        require_in_range(checks, "repair", engine, "R", found)
        checks.settle()
    return known.numbers.result(state.q, found, a)


class _Measured(NamedTuple):
    """The errors of factors: ``A - Q R``, the upper part of ``I - Q^H Q``, and how large both are.

    `size`, float64 ``(...)``, is the larger of ``norm(I - Q^H Q)`` and of ``norm(A - Q R)``
    relative to A, in the Frobenius norm.
    """

    difference: Block
    step: Block
    size: Block


def repair_state(
    state: State, a: Block, checks: Checks, function: str, *, waits: bool = True
) -> None:
    """Correct Q and R of `state` for the matrix `a`; extra columns of R stay as they are.

    Where the factors that were given are better than what is found they stay. `waits`: each sweep
    tells, on the host, whether another is needed.
    """
    engine, n = state.engine, state.n
    if state.q is None:
        _repair_r(state, a, checks, function, waits)
        return
    known = best = _measured(state, a)
    q, r = state.q.copy(), state.r[..., :n, :n].copy()
    for _ in range(_MOST_SWEEPS if waits else _UNCHECKED_SWEEPS):
        left = _sweep(state, known, checks, function)
        known = _measured(state, a)
        if waits and not _is_above(engine.eps, left, checks):
            break
    # NaN is no better than anything.
    worse = ~(known.size <= best.size)[..., None, None]
    xp = engine.backend.xp
    state.q[...] = xp.where(worse, q, state.q)
    state.r[..., :n, :n] = xp.where(worse, r, state.r[..., :n, :n])


def _measured(state: State, a: Block) -> _Measured:
    engine, n, q = state.engine, state.n, state.q
    assert q is not None
    difference = engine.from_block(_residual(engine, a, q[..., :n], state.r[..., :n, :n]))
    defect = _defect(engine, q)
    norm = _norm(engine, a)
    relative = _norm(engine, difference) / engine.backend.xp.where(norm > 0, norm, 1.0)
    size = engine.backend.xp.maximum(_norm(engine, defect), relative)
    return _Measured(difference, _half_upper(engine, defect[..., :n, :n]), size)


def _sweep(state: State, known: _Measured, checks: Checks, function: str) -> Block:
    """Correct the factors to first order; return how large what is left is.

    With D added to Q and ``T R`` to R that is ``D^H D`` and ``D T``.
    """
    engine, n, q = state.engine, state.n, state.q
    assert q is not None
    r, first = state.r[..., :n, :n], q[..., :n]
    y = _over(engine, engine.triangle(r, function, checks), known.difference)
    c = engine.multiply(first.swapaxes(-1, -2), y, conj_a=True)
    both = _half_upper(engine, engine.add(c, adjoint(engine, c)))
    step = engine.add(both, known.step, subtract=True)
    change = engine.multiply(first, step, c=y, subtract=True)
    _require_near(checks, engine, change, function)
    _require_near(checks, engine, step, function)
    q[..., :n] = engine.add(first, change)
    if q.shape[-1] > n:
        q[..., n:] = _other_columns(engine, q[..., :n], q[..., n:])
    state.r[..., :n, :n] = engine.multiply(step, r, c=r)
    moved = _norm(engine, change)
    return moved * engine.backend.xp.maximum(moved, _norm(engine, step))


def _is_above(least: float, values: Block, checks: Checks) -> bool:
    """Return whether a value is larger, once all checks hold."""
    (found,) = checks.settle(scaling.largest(values, None, 0.0))
    return bool(found > least)


def _repair_r(state: State, a: Block, checks: Checks, function: str, waits: bool) -> None:
    """Correct R alone by the Q that it has, ``A R^-1``."""
    engine, n = state.engine, state.n
    for _ in range(_MOST_SWEEPS if waits else _UNCHECKED_SWEEPS):
        r = state.r[..., :n, :n]
        step = _upper(engine, _over(engine, engine.triangle(r, function, checks), a))
        step = engine.add(engine.zeros(step, n, n), step, subtract=True)
        _require_near(checks, engine, step, function)
        left = _norm(engine, step) ** 2
        state.r[..., :n, :n] = engine.multiply(step, r, c=r)
        if waits and not _is_above(engine.eps, left, checks):
            break


def _over(engine: Engine, system: Triangle, x: Block) -> Block:
    """Return ``x R^-1``."""
    transposed = system.solve(engine.to_block(adjoint(engine, x)), "C")
    return adjoint(engine, engine.from_block(transposed))


def _residual(engine: Engine, a: Block, x: Block, y: Block, *, adjoint: bool = False) -> Block:
    """Return ``a - x y`` or ``a - x^H y``, as if in twice the precision, as a block."""
    left, right = engine.to_block(x), engine.to_block(y)
    left = left.swapaxes(-1, -2) if adjoint else left
    return engine.residual(engine.to_block(a), left, right, conj_a=adjoint)


def _defect(engine: Engine, q: Block) -> Block:
    """Return ``I - Q^H Q``."""
    one = engine.zeros(q, int(q.shape[-1]), int(q.shape[-1]))
    set_identity(engine, one)
    return engine.from_block(_residual(engine, one, q, q, adjoint=True))


def _upper(engine: Engine, q: Block) -> Block:
    """Return the upper part of ``I - Q^H Q`` with half its diagonal."""
    return _half_upper(engine, _defect(engine, q))


def _half_upper(engine: Engine, x: Block) -> Block:
    """Return the upper part of a Hermitian matrix with half its diagonal, which is made real."""
    block = engine.backend.xp.triu(engine.to_block(x))
    for limb in planes.flat_planes(block, engine.kind.is_complex):
        planes.diagonal(limb)[...] *= 0.5
    if engine.kind.is_complex:
        for limb in block[1]:
            planes.diagonal(limb)[...] = 0.0
    return engine.from_block(block)


def _other_columns(engine: Engine, q: Block, others: Block) -> Block:
    """Return the columns of Q behind those of R, orthogonal to `q` and to each other."""
    cross = engine.multiply(q.swapaxes(-1, -2), others, conj_a=True)
    others = engine.multiply(q, cross, c=others, subtract=True)
    half = engine.to_block(_defect(engine, others)) * 0.5
    return engine.multiply(others, engine.from_block(half), c=others)


def _norm(engine: Engine, x: Block) -> Block:
    """Return Frobenius norms in float64."""
    return scaling.norms(engine.magnitudes(x), (-2, -1))


def _require_near(checks: Checks, engine: Engine, x: Block, function: str) -> None:
    norm = _norm(engine, x)

    def raise_distance() -> NoReturn:
        (found,) = fetch(norm.max())
        raise np.linalg.LinAlgError(
            f"{function}: the factors are {float(found):.1e} away from a factorisation of A, "
            f"and {_FARTHEST} is as far as a correction of first order goes: factor A anew"
        )

    checks.require((norm <= _FARTHEST).all(), raise_distance)
