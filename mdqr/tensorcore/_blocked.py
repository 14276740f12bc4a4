"""Blocked Householder QR with a full Q: panels in float32, sums in float64."""

from __future__ import annotations

from functools import partial
from types import ModuleType
from typing import Any, Literal, NamedTuple, overload

import numpy as np

from mdqr._backend.float_panels import CUTOFF
from mdqr._limbs.planes import Block
from mdqr._typing import NumberArray
from mdqr.tensorcore._algorithms.passes import finish, rescaled
from mdqr.tensorcore._algorithms.reflections import check, orthonormal_panel, with_fallbacks
from mdqr.tensorcore._engine.protocol import Engine
from mdqr.tensorcore._input import choose, engine_for, real_matrix
from mdqr.tensorcore._plan import Plan, fixed_plan
from mdqr.tensorcore._results import Factors, QRInfo, QRResult

_MODES = ("reduced", "complete", "r")
# Columns whose reflections are applied together.
_BLOCK = CUTOFF


class _Reflection(NamedTuple):
    """The reflections of some columns: ``I + W Y^T`` from row `first` on, in float64."""

    first: int
    w: Block
    y: Block


@overload
def blocked_householder(
    a: Any, mode: Literal["reduced", "complete"] = "reduced", *, keep_factors: bool = False
) -> QRResult: ...
@overload
def blocked_householder(
    a: Any, mode: Literal["r"], *, keep_factors: bool = False
) -> NumberArray: ...
def blocked_householder(
    a: Any, mode: Literal["reduced", "complete", "r"] = "reduced", *, keep_factors: bool = False
) -> QRResult | Block:
    """Return the QR factorisation by blocks of Householder reflections, factors in float32.

    Parameters
    ----------
    a : array_like
        A float32 or float64 matrix ``(m, n)`` of NumPy or CuPy, as for `qr`.
    mode : {"reduced", "complete", "r"}, optional
        The shape of Q: ``(m, k)`` with ``k = min(m, n)``, or ``(m, m)``; or R alone, ``(k, n)``.
    keep_factors : bool, optional
        As for `qr`.

    Returns
    -------
    QRResult or ndarray
        ``(Q, R)`` in the type of `a` and in Fortran order, the diagonal of R not negative;
        ``info.compute`` is ``"fp32"``. With ``"complete"`` R is ``(m, n)``, zero below row k.

    Raises
    ------
    TypeError
        If `a` is an MDArray (`mdqr.linalg.qr` keeps its digits), or not real.
    ValueError
        If `a` does not have two axes, or an option is unknown.
    numpy.linalg.LinAlgError
        If an entry of `a` is not finite, or R does not fit its type.

    See Also
    --------
    qr : Recursive, with products on tensor cores; ``method="householder"`` is its stable member.
    mdqr.linalg.qr : Factors to the last digit of their precision.

    Notes
    -----
    A. Kerr, D. Campbell and M. Richards 2009, Algorithm 3: the reflections of a block are
    ``P = I + W Y^T``. They are applied to the columns behind as ``A + Y (W^T A)``, and to a full
    Q, which starts as the identity, as ``Q + (Q W) Y^T``. With ``"reduced"`` Q is formed from the
    last block to the first, for its k columns alone. Their Y are Householder vectors, computed
    column by column; here W and Y are another basis of the same product, found from the
    orthonormal factor of the block. Panels are float32, what they are applied to float64 until the
    end. Rounding errors of float32 sums of equal terms have one sign, and Q of a matrix of ones
    would depart by k u for sums of k terms. Columns are scaled by powers of two.

    With u the unit roundoff of float32, ``norm(a - Q @ R) <= c * u * norm(a)`` column by column, c
    some tens, and ``norm(Q.T @ Q - I)`` is a few u, the rounding of Q to float32, for every matrix.
    The paper accepts up to ``2 * m * u`` for both.

    Examples
    --------
    >>> import numpy as np, mdqr
    >>> a = np.vander(np.linspace(0, 1, 50), 4).astype(np.float32)
    >>> Q, R = mdqr.tensorcore.blocked_householder(a, mode="complete")
    >>> Q.shape, R.shape, bool(np.abs(Q.T @ Q - np.eye(50)).max() < 1e-5)
    ((50, 50), (50, 4), True)
    """
    call = "blocked_householder"
    choose(call, "mode", mode, _MODES)
    a = real_matrix(call, "a", a)
    kept = bool(keep_factors) and mode != "r"
    made = with_fallbacks(partial(_factored, a, mode == "complete", kept), fixed_plan(call))
    return made.R if mode == "r" else made


def _factored(a: Block, full: bool, kept: bool, plan: Plan) -> QRResult:
    engine, (m, n), k = engine_for(a), a.shape, min(a.shape)
    xp = engine.xp
    work, exponents = engine.load(a, scaled=True)
    work = work.astype(np.float64, order="F")
    r = engine.matrix(m if full else k, n, zero=True)
    signs = engine.matrix(k, 1)[:, 0]
    # Q, or, while a full one grows by rows, its transpose.
    q = _identity(xp, m, m if full else k)
    panel, reflections = orthonormal_panel(engine, plan.panel), []
    for first in range(0, k, _BLOCK):
        last = min(first + _BLOCK, k)
        y = work[first:, first:last].astype(np.float32, order="F")
        panel(y, r[first:last, first:last])
        found = _reflection(engine, first, y, signs[first:last])
        behind = work[first:, last:]
        _apply(engine, found.y, found.w, behind)
        rows = slice(first, last)
        xp.multiply(behind[: last - first], signs[rows, None], out=r[rows, last:])
        if full:
            _apply(engine, found.y, found.w, q[first:])
        else:
            reflections.append(found)
    check(engine, plan.panel)
    for found in reversed(reflections):
        _apply(engine, found.w, found.y, q[found.first :, found.first :])
    q = (q.T if full else q).astype(np.float32, order="F")
    q[:, :k] *= signs
    big = rescaled(engine, plan, r, exponents, a.dtype)
    zero = finish(engine, plan, r[:k], big)
    factors = Factors(q, r, exponents) if kept else None
    info = QRInfo(plan.method, plan.compute, plan.panel, 1, zero, None, factors)
    return QRResult(q.astype(a.dtype, order="F", copy=False), big)._described(info)


def _identity(xp: ModuleType, rows: int, columns: int) -> Block:
    q = xp.zeros((rows, columns), order="F")
    q.reshape(-1, order="F")[:: rows + 1] = 1.0
    return q


def _reflection(engine: Engine, first: int, y: Block, signs: Block) -> _Reflection:
    """Return the reflections of an orthonormal panel, which becomes their Y.

    ``I - Y K Y^T`` is orthogonal if ``R = K Y^T Y K^T - K - K^T`` is zero. As K is ``-(Y1^T S)^-1``
    but for rounding errors, with Y1 the first rows of Y, ``K + R S Y1 K / 2`` leaves the square.
    """
    k = engine.matrix(len(signs), len(signs))
    engine.reflector(y, k, signs)
    y, k = (x.astype(np.float64, order="F") for x in (y, k))
    rest = _product(engine, _product(engine, k, _product(engine, y, y, transposed=True)), k.T)
    rest -= k + k.T
    k += _product(engine, rest, _product(engine, signs[:, None] * y[: len(k)], k)) / 2
    return _Reflection(first, -_product(engine, y, k), y)


def _apply(engine: Engine, p: Block, x: Block, c: Block) -> None:
    """Add ``p @ (x.T @ c)`` to `c`."""
    if c.size:
        engine.doubles(c, p, _product(engine, x, c, transposed=True), beta=1.0)


def _product(engine: Engine, a: Block, x: Block, *, transposed: bool = False) -> Block:
    """Return ``a @ x``, or ``a.T @ x``, in float64."""
    xp = engine.xp
    out = xp.empty((a.shape[transposed], x.shape[1]), order="F")
    engine.doubles(out, a, xp.asfortranarray(x), transposed=transposed)
    return out
