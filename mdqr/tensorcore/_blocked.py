"""Blocked Householder QR with a full Q, in float32 throughout."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, NamedTuple

from mdqr._backend.float_panels import CUTOFF
from mdqr._limbs.planes import Block
from mdqr.linalg._shared.operands import as_integer
from mdqr.tensorcore._algorithms.passes import rescaled, settle
from mdqr.tensorcore._algorithms.reflections import DoubtfulPanel, check, orthonormal_panel
from mdqr.tensorcore._engine.formats import FP32
from mdqr.tensorcore._engine.protocol import Engine, Operand
from mdqr.tensorcore._input import choose, engine_for, real_matrix
from mdqr.tensorcore._plan import PANELS, Plan
from mdqr.tensorcore._results import Factors, QRInfo, QRResult

MODES = ("reduced", "complete")


class _Reflection(NamedTuple):
    """The reflections of some columns: ``I + W Y^T`` from row `first` on."""

    first: int
    w: Block
    y: Block


def blocked_householder(
    a: Any, mode: str = "reduced", block: int = CUTOFF, panel: str = "cholesky"
) -> QRResult:
    """Return the QR factorisation by blocks of Householder reflections, all in float32.

    Parameters
    ----------
    a : array_like
        A float32 or float64 matrix ``(m, n)`` of NumPy or CuPy, as for `qr`.
    mode : {"reduced", "complete"}, optional
        The shape of Q: ``(m, k)`` with ``k = min(m, n)``, or ``(m, m)``.
    block : int, optional
        Columns whose reflections are applied together, 1 to 128.
    panel : {"cholesky", "caqr", "geqrf"}, optional
        How a block is factored, as for `qr` with ``method="householder"``.

    Returns
    -------
    QRResult
        ``(Q, R)`` in the type of `a` and in Fortran order, the diagonal of R not negative;
        ``info.compute`` is ``"fp32"``. With ``"complete"`` R is ``(m, n)``, zero below row k.

    Raises
    ------
    TypeError
        If `a` is an MDArray (`mdqr.linalg.qr` keeps its digits), or not real; if `block` is no
        integer.
    ValueError
        If `a` has not two axes, or an option is unknown or out of range.
    numpy.linalg.LinAlgError
        If an entry of `a` is not finite, or R does not fit its type.

    See Also
    --------
    qr : Recursive, with products on tensor cores; ``method="householder"`` is its stable member.
    mdqr.linalg.qr : Factors to the last digit of their precision.

    Notes
    -----
    A. Kerr, D. Campbell and M. Richards 2009, Algorithm 3: the reflections of a block are
    ``P = I + W Y^T``; they are applied to the columns behind as ``A + Y (W^T A)``, and to a full Q,
    which starts as the identity, as ``Q + (Q W) Y^T``. With ``"reduced"`` Q is formed from the last
    block to the first, for its k columns alone. Their Y are Householder vectors, computed column by
    column; here W and Y are another basis of the same product, found from the orthonormal factor of
    the block. Products are those of float32, never TF32. Columns are scaled by powers of two.

    With u the unit roundoff of float32, ``norm(a - Q @ R) <= c * u * norm(a)`` column by column and
    ``norm(Q.T @ Q - I) <= c * u`` for every matrix, c some tens. The paper accepts up to
    ``2 * m * u`` for both.

    Examples
    --------
    >>> import numpy as np, mdqr
    >>> a = np.vander(np.linspace(0, 1, 50), 4).astype(np.float32)
    >>> Q, R = mdqr.tensorcore.blocked_householder(a, mode="complete")
    >>> Q.shape, R.shape, bool(np.abs(Q.T @ Q - np.eye(50)).max() < 1e-5)
    ((50, 50), (50, 4), True)
    """
    call = "blocked_householder"
    choose(call, "mode", mode, MODES)
    choose(call, "panel", panel, PANELS)
    width = as_integer(block)
    if width is None or not 1 <= width <= CUTOFF:
        raise ValueError(f"{call}: block must be an integer from 1 to {CUTOFF}; got {block!r}")
    a, plan = real_matrix(call, "a", a), Plan(call, call, "fp32", panel, True)
    choice, last = plan.fallbacks()
    with suppress(DoubtfulPanel):
        return _factored(engine_for(a), a, choice, mode, width)
    return _factored(engine_for(a), a, last, mode, width)


def _factored(engine: Engine, a: Block, plan: Plan, mode: str, block: int) -> QRResult:
    (m, n), k = a.shape, min(a.shape)
    full = mode == "complete"
    work, exponents = engine.load(a, scaled=True)
    r = engine.matrix(m if full else k, n, zero=True)
    signs = engine.matrix(k, 1)[:, 0]
    # Q, or, while a full one grows by rows, its transpose.
    q = _identity(engine, m, m if full else k)
    panel, reflections = orthonormal_panel(engine, plan.panel), []
    for first in range(0, k, block):
        last = min(first + block, k)
        y = work[first:, first:last]
        panel(y, r[first:last, first:last])
        found = _reflection(engine, first, y, signs[first:last])
        behind = work[first:, last:]
        _apply(engine, found.y, found.w, behind)
        rows = slice(first, last)
        engine.xp.multiply(behind[: last - first], signs[rows, None], out=r[rows, last:])
        if full:
            _apply(engine, found.y, found.w, q[first:])
        else:
            reflections.append(found)
    check(engine, plan.panel)
    for found in reversed(reflections):
        _apply(engine, found.w, found.y, q[found.first :, found.first :])
    if full:
        q = engine.xp.asfortranarray(q.T)
    q[:, :k] *= signs
    big = rescaled(engine, plan, r, exponents, a.dtype)
    zero = settle(engine, plan, r[:k], big)
    factors = Factors(q, r, exponents)
    info = QRInfo(plan.method, plan.compute, plan.panel, 1, zero, None, factors)
    return QRResult(q.astype(a.dtype, order="F", copy=False), big, info)


def _identity(engine: Engine, rows: int, columns: int) -> Block:
    q = engine.matrix(rows, columns, zero=True)
    q.reshape(-1, order="F")[:: rows + 1] = 1.0
    return q


def _reflection(engine: Engine, first: int, y: Block, signs: Block) -> _Reflection:
    """Return the reflections of an orthonormal panel, which becomes their Y."""
    k = engine.matrix(len(signs), len(signs))
    engine.reflector(y, k, signs)
    w = engine.matrix(*y.shape)
    engine.add(w, Operand((y,), FP32), Operand((k,), FP32), -1, fresh=True)
    return _Reflection(first, w, y)


def _apply(engine: Engine, p: Block, x: Block, c: Block) -> None:
    """Add ``p @ (x.T @ c)`` to `c`."""
    if not c.size:
        return
    short = engine.matrix(x.shape[1], c.shape[1])
    engine.inner(Operand((x,), FP32), Operand((c,), FP32), short)
    engine.add(c, Operand((p,), FP32), Operand((short,), FP32), 1)
