"""Q and R by sweeps of products."""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import numpy as np

from mdqr._backend.blocks import from_native, to_native
from mdqr._backend.protocol import Backend
from mdqr._limbs import planes
from mdqr._limbs.planes import Block, Kind
from mdqr._progress import Reporter
from mdqr.linalg._factor.refine.products import Patterns, eps_of, formed
from mdqr.linalg._factor.refine.start import start_of
from mdqr.linalg._factor.refine.sweep import FARTHEST, Sweeps

_BOUND = 20.0  # in n eps
_MOST_SWEEPS = 12


class Refined(NamedTuple):
    """Q ``(m, k)`` and R ``(k, n)``, with proven bounds of their errors.

    `columnwise` bounds ``norm(a_j - Q r_j) / norm(a_j)``, and `orthogonality` the Frobenius norm
    of ``I - Q^H Q``.
    """

    q: Block
    r: Block
    columnwise: float
    orthogonality: float


def factor(
    backend: Backend,
    a: Block,
    *,
    columns: int,
    kind: Kind,
    rounds: int,
    report: Reporter | None = None,
) -> Refined | None:
    """Factor one matrix ``(m, n)`` by sweeps of products.

    Parameters
    ----------
    backend : Backend
        Where the kernels run.
    a : Block
        The matrix, finite, with columns scaled near 1.
    columns : int
        Those of Q: ``min(m, n)``, or m.
    kind : Kind
        That of the work, of two limbs or more.
    rounds : int
        The most factorisations in float64: each after the first takes some 45 bits of a condition.
    report : callable, optional
        Called as ``report("refine", done, total)`` after each sweep; `total` is None before the
        last.

    Returns
    -------
    Refined or None
        Factors within ``20 max(n, columns) eps``, R with a positive diagonal; None where that
        cannot be shown. Then the matrix is too near to singular, or its rows are graded over the
        bits of the work.
    """
    count, field = min(a.shape[-2:]), kind.is_complex
    first = a[..., :count] if columns == count else _bordered(backend, a, columns, field)
    found = _corrected(backend, first, kind, rounds, report)
    if found is None:
        return None
    r = found.r[..., :count]
    if a.shape[-1] == count:
        return found._replace(r=r)
    rest = formed(backend, found.q.swapaxes(-1, -2), a[..., count:], kind=kind, conj_a=True)
    # Of the square Q, I - Q Q^H is as small as I - Q^H Q.
    columnwise = found.orthogonality + 4.0 * eps_of(kind) * (count**0.5 + 1.0)
    if rest is None or columnwise > _BOUND * max(a.shape[-1], columns) * eps_of(kind):
        return None
    r = backend.xp.concatenate([r, rest], axis=-1)
    return found._replace(r=r, columnwise=max(found.columnwise, columnwise))


def _bordered(backend: Backend, a: Block, columns: int, is_complex: bool) -> Block:
    """Return a matrix and columns of float64 that are orthogonal to its own, to complete Q."""
    xp, n = backend.xp, int(a.shape[-1])
    q, _ = xp.linalg.qr(to_native(xp, a, is_complex), mode="complete")
    border = from_native(xp, q[:, n:columns], is_complex)
    border = planes.widen(border, is_complex, planes.limb_count(a, is_complex))
    return xp.concatenate([a, border], axis=-1)


def _corrected(
    backend: Backend, a: Block, kind: Kind, rounds: int, report: Reporter | None
) -> Refined | None:
    """Factor a matrix with no more columns than rows; see `factor`."""
    with np.errstate(all="ignore"):
        patterns = Patterns.of(backend, int(a.shape[-1]), kind.is_complex)
        start = start_of(backend, a, kind, rounds, patterns)
        if start is None:
            return None
        run = Sweeps(backend, a, kind, start, patterns)
        q, r, distance = start.q, start.r, start.distance
        most, before = _BOUND * run.columns * run.eps, inf
        for done in range(1, _MOST_SWEEPS + 1):
            plan = run.plan(distance)
            if plan is None:
                return None
            q, r, found = run.sweep(q, r, plan, distance)
            left = run.left(found, plan)
            worst = float(np.maximum(found.largest, found.stale))
            if not (worst <= FARTHEST and max(left) <= before / 2):
                return None
            before = max(left)
            served = max(left) <= most
            if report is not None:
                report("refine", done, done if served else None)
            if served:
                q, r = (planes.widen(x, kind.is_complex, kind.limbs) for x in (q, r))
                return Refined(q, r, *left)
            distance = run.expected(found.largest, plan.low)
    return None
