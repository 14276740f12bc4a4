"""Repair of factors that drifted: one sweep of first-order corrections by products."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from mdqr._errors import advised
from mdqr._limbs import planes
from mdqr._limbs.planes import Block
from mdqr._precision import Precision
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

# One sweep squares the error: from here it reaches half of what is wanted, and no more.
_FARTHEST = 0.1


@advised
def repair(
    A: Any,
    Q: Any,
    R: Any,
    *,
    precision: Precision | str | None = None,
    check: bool = True,
) -> UpdateResult:
    """Make factors accurate again that have drifted over many updates.

    Parameters
    ----------
    A : array_like
        The matrices ``(..., m, n)`` that the factors belong to, m >= n.
    Q : array_like or None
        ``(..., m, n)``, ``(..., m, m)``, or None where only R is kept.
    R : array_like
        ``(..., n, n)`` or ``(..., m, n)``.
    precision : Precision or str, optional
        The precision of the factors; by default the highest of the operands.
    check : bool, optional
        Raise if something is not finite or too far from a factorisation; a device is synchronized
        once, at the end.

    Returns
    -------
    UpdateResult
        ``(Q, R)``, or ``(None, R)``; the diagonal of R is real and not negative. Float arrays of
        NumPy or CuPy give float arrays.

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
    ``Y = E R^-1``, ``C = Q^H Y``: T is the upper part of ``C + C^H - F`` with half its diagonal,
    and ``R + T R`` and ``Q + Y - Q T`` are right to first order. The relative errors, with E
    divided by R, are squared; what remains is the rounding of the last sums. No column is worked
    on alone: the sweep is products and two triangular solutions, ``5 m n^2`` multiply-adds.
    Without Q, ``Q = A R^-1``.

    Examples
    --------
    >>> import mdqr
    >>> a = mdqr.vander([1.0, 2.0, 3.0, 4.0], 3, precision=mdqr.dd)
    >>> Q, R = mdqr.linalg.qr(a)
    >>> Q, R = mdqr.linalg.repair(a, Q * (1 + 1e-17), R)
    >>> bool(mdqr.linalg.certify(a, Q, R).normwise < 60)
    True
    """
    require_given("repair", A=A, R=R)
    known, (a,) = read_factors("repair", Q, R, precision, check, A=A)
    engine, rows, n, checks = known.engine, known.m, known.n, known.checks
    a = matrix_operand("repair", engine, "A", a, known.batch, columns=n, vectors=False)
    m = int(a.shape[-2])
    if m < n or (Q is not None and rows != m) or rows < n:
        raise ValueError(
            f"repair: A must have at least as many rows as columns, and Q and R must belong to it; "
            f"got A with shape {(m, n)} and {rows} rows of {'R' if Q is None else 'Q'}"
        )
    (base, r), scales = scaled(engine, a, known.r)
    state = known.state(r, n)
    repair_state(state, base, checks, "repair")
    state.normalise()
    found = shifted(engine, state.r, scales)
    if check:
        require_in_range(checks, "repair", engine, "R", found)
        checks.settle()
    return known.numbers.result(state.q, found)


def repair_state(state: State, a: Block, checks: Checks, function: str) -> None:
    """Correct Q and R of `state` for the matrix `a`; extra columns of R stay as they are."""
    engine, n = state.engine, state.n
    r = state.r[..., :n, :n]
    system = engine.triangle(r, function, checks)
    q = state.q
    first = _over(engine, system, a) if q is None else q[..., :n]
    step = _upper(engine, first)
    if q is None:
        step = engine.add(engine.zeros(step, n, n), step, subtract=True)
    else:
        difference = engine.from_block(_residual(engine, a, first, r))
        y = _over(engine, system, difference)
        c = engine.multiply(first.swapaxes(-1, -2), y, conj_a=True)
        step = engine.add(
            _half_upper(engine, engine.add(c, adjoint(engine, c))), step, subtract=True
        )
        y = engine.multiply(first, step, c=y, subtract=True)
        _require_near(checks, engine, y, function)
        q[..., :n] = engine.add(first, y)
        if q.shape[-1] > n:
            q[..., n:] = _other_columns(engine, q[..., :n], q[..., n:])
    _require_near(checks, engine, step, function)
    state.r[..., :n, :n] = engine.multiply(step, r, c=r)


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


def _require_near(checks: Checks, engine: Engine, x: Block, function: str) -> None:
    size = engine.magnitudes(x)
    norm = ((size**2).sum(axis=(-2, -1))) ** 0.5

    def raise_distance() -> NoReturn:
        (found,) = fetch(norm.max())
        raise np.linalg.LinAlgError(
            f"{function}: the factors are {float(found):.1e} away from a factorisation of A, "
            f"and {_FARTHEST} is as far as a correction of first order goes: factor A anew"
        )

    checks.require((norm <= _FARTHEST).all(), raise_distance)
