"""The same results by a fresh factorisation, where that is less work."""

from __future__ import annotations

from mdqr._backend.protocol import Block
from mdqr.linalg._update.engine import Engine, apply_left, joined
from mdqr.linalg._update.state import State


def factored(engine: Engine, a: Block, n: int, q: int | None) -> State:
    """Factor matrices ``(..., m, n + extra)``, overwritten.

    Parameters
    ----------
    engine : Engine
        The arithmetic.
    a : Block
        The matrix and extra columns, which are transformed along.
    n : int
        Number of columns to factor.
    q : int or None
        Number of columns of Q; None for no Q.

    Returns
    -------
    State
        The factors.
    """
    rows = min(int(a.shape[-2]), n)
    if a.shape[-1] == n and q is not None:
        found = engine.orthogonal(a, q)
        return State(engine, found, a[..., :q, :], n)
    factors = engine.factor(a[..., :n])
    apply_left(engine, factors, a[..., n:])
    state = State(engine, None if q is None else factors.form_q(q), a, n)
    state.drop(rows if q is None else q)
    return state


def product(engine: Engine, q: Block, r: Block, rows: int) -> Block:
    """Return the matrix that the factors belong to; R has so many rows that are not zero."""
    return engine.multiply(q[..., :rows], r[..., :rows, :])


def with_rows(engine: Engine, a: Block, u: Block, k: int) -> Block:
    """Return `a` with rows `u` before row `k`."""
    return joined(engine, [a[..., :k, :], u, a[..., k:, :]], -2)


def without_rows(engine: Engine, a: Block, k: int, p: int) -> Block:
    """Return `a` without p rows from row `k` on."""
    return joined(engine, [a[..., :k, :], a[..., k + p :, :]], -2)


def with_columns(engine: Engine, a: Block, u: Block, k: int) -> Block:
    """Return `a` with columns `u` before column `k`."""
    return joined(engine, [a[..., :k], u, a[..., k:]], -1)


def without_columns(engine: Engine, a: Block, k: int, p: int) -> Block:
    """Return `a` without p columns from column `k` on."""
    return joined(engine, [a[..., :k], a[..., k + p :]], -1)
