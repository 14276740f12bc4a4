"""Approximations of low rank by a QR factorisation and the SVD of its triangle."""

from __future__ import annotations

from functools import partial
from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from mdqr._errors import shown
from mdqr._io.format import summary
from mdqr._limbs.planes import Block
from mdqr._typing import Compute, NumberArray
from mdqr.linalg._shared.info import Info, WithInfo
from mdqr.linalg._shared.operands import as_integer
from mdqr.tensorcore._algorithms.cgls import norms
from mdqr.tensorcore._algorithms.passes import Passes, finish
from mdqr.tensorcore._algorithms.reflections import with_fallbacks
from mdqr.tensorcore._engine.protocol import PROBES, Engine, operand
from mdqr.tensorcore._input import engine_for, real_matrix
from mdqr.tensorcore._plan import Plan, plan_of

# Of the squares of singular values, in units of the format: what leaves them as good as Q R.
_TOLERANCE = 16.0
_EPS = 2.0**-52


class _Factors(NamedTuple):
    U: NumberArray
    S: NumberArray
    Vh: NumberArray


class LowRankResult(WithInfo, _Factors):
    """An approximation ``(U * S) @ Vh``.

    Attributes
    ----------
    U : ndarray
        ``(m, r)``.
    S : ndarray
        ``(r,)``, the largest first.
    Vh : ndarray
        ``(r, n)``, orthonormal rows.
    info : mdqr.linalg.Info
        Its `method`, as of `qr`, without bounds of errors.
    """

    info: Info

    def __repr__(self) -> str:
        return summary(self)


def lowrank(a: Any, r: int, *, compute: Compute = "fp16") -> LowRankResult:
    """Approximate a matrix by one of rank `r`, factoring on tensor cores.

    Parameters
    ----------
    a : array_like
        A float32 or float64 matrix ``(m, n)``; fast where m is many times n, or n times m.
    r : int
        From 1 to ``min(m, n)``.
    compute : str, optional
        As for `qr`.

    Returns
    -------
    LowRankResult
        ``(U, S, Vh)``, of the type of `a`.

    Raises
    ------
    TypeError
        As `qr`.
    numpy.linalg.LinAlgError
        As `qr`, and if S does not fit its type.
    ValueError
        As `qr`, and if `a` is empty or `r` out of range.

    Notes
    -----
    QR-SVD (S. Zhang, E. Baharlouei, P. Wu 2020, section 3.4): ``a = Q R``, R has the singular
    values of `a`, found in float64 from ``R.T @ R``, if Q is orthonormal where R is large. It is
    estimated whether that holds; if not, as where most columns depend on a few, Q is made
    orthonormal as by `orthogonalize`. With u the unit roundoff of `compute` the approximation has
    an error of about ``u * norm(a)`` besides the discarded part: below that, `a` has no rank that
    this can see. A value s has an error of about ``u * norm(a)**2 / s``, at most by the root of u
    times the norm. U is as orthonormal as the part of Q that belongs to the values kept: about
    ``u * s[0] / s[-1]``.

    Examples
    --------
    >>> import numpy as np, mdqr
    >>> x, y = np.linspace(0, 1, 40)[:, None], np.linspace(0, 1, 12)
    >>> a = 1 / (1 + x + y)
    >>> U, S, Vh = mdqr.tensorcore.lowrank(a, 3)
    >>> bool(np.linalg.norm((U * S) @ Vh - a, 2) < 1e-3)
    True
    """
    plan = plan_of("lowrank", "auto", compute)
    a = real_matrix("lowrank", "a", a)
    if not a.size:
        raise ValueError(f"lowrank: a must have rows and columns; got the shape {a.shape}")
    rank = as_integer(r)
    if rank is None or not 1 <= rank <= min(a.shape):
        raise ValueError(
            f"lowrank: r must be an integer from 1 to {min(a.shape)}, for a of the shape "
            f"{a.shape}; got {shown(r)}"
        )
    return with_fallbacks(partial(_approximated, a, rank), plan)


def _approximated(a: Block, r: int, plan: Plan) -> LowRankResult:
    if a.shape[0] < a.shape[1]:
        left, s, right = _tall(a.T, r, plan)
        return LowRankResult(right.T, s, left.T)._described(Info(method=plan.method))
    left, s, right = _tall(a, r, plan)
    return LowRankResult(left, s, right)._described(Info(method=plan.method))


def _tall(a: Block, r: int, plan: Plan) -> tuple[Block, Block, Block]:
    engine, (m, n) = engine_for(a), a.shape
    xp = engine.xp
    q, exponents = engine.load(a, scaled=True)
    triangle = engine.matrix(n, n, zero=True)
    passes = Passes(engine, plan, q, triangle)
    passes.first()
    finish(engine, plan, triangle, triangle)
    # Powers of two in the middle of all keep squares in range.
    middle = exponents.max()
    shifts = (exponents - middle).astype(np.int32)
    big = xp.ldexp(triangle.astype(np.float64), shifts)
    square = big.T @ big
    if _weighted_departure(engine, q, big, square) > _TOLERANCE * max(plan.form.unit, 2.0**-22):
        passes.repeat()
        passes.warn()
        big = xp.ldexp(triangle.astype(np.float64), shifts)
        square = big.T @ big
    _, vectors = xp.linalg.eigh(square)
    v = vectors[:, ::-1][:, :r]
    w = big @ v
    # Roots of the eigenvalues would be rounding errors below the root of eps: these are not.
    s = norms(w)
    order = xp.argsort(-s)
    s, v, w = s[order], v[:, order], w[:, order]
    kept = s > _EPS * s[:1]
    w = xp.asfortranarray(w * xp.where(kept, 1 / xp.where(kept, s, 1), 0), dtype=np.float32)
    u = engine.matrix(m, r, zero=True)
    engine.add(u, operand(engine, q, plan.fine), operand(engine, w, plan.fine), 1)
    kind = a.dtype
    values = xp.ldexp(s, middle.astype(np.int32)).astype(kind)
    _, (finite,) = engine.report(xp.isfinite(values).all())
    if not finite:
        raise np.linalg.LinAlgError(f"lowrank: s does not fit {kind}; divide a by a power of two")
    return u.astype(kind, copy=False), values, v.T.astype(kind)


def _weighted_departure(engine: Engine, q: Block, r: Block, square: Block) -> float:
    """Estimate the Frobenius norm of ``r.T @ (q.T @ q - I) @ r`` relative to that of ``r.T @ r``.

    The first is what the squares of the singular values of r and of ``q @ r`` differ by.
    """
    xp, n = engine.xp, len(r)
    x = xp.asarray(np.random.default_rng(n).integers(0, 2, (n, PROBES)) * 2.0 - 1.0)
    y = r @ x
    z = (q.T @ (q @ y.astype(np.float32))).astype(np.float64) - y
    _, (found, size) = engine.report(xp.linalg.norm(r.T @ z), xp.linalg.norm(square))
    return float(found) / (float(size) * sqrt(PROBES)) if size > 0 else 0.0
