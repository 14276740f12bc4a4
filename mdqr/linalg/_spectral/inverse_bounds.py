"""Bounds of the errors of pseudoinverses of full rank, by residuals in twice the limbs.

With ``E = I - X A`` for A with independent columns, ``X - A^+ = X (I - A A^+) - E A^+``, and the
first term is ``(X - X (A X)^H) (I - A A^+)``, for X X^H A^H vanishes there. Neither is larger than
the residuals E and ``F = X - X (A X)^H``, times A^+ or 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mdqr._array.array import MDArray
from mdqr._backend import for_block
from mdqr._backend.blocks import native_abs
from mdqr._limbs import planes
from mdqr._limbs.device import host_block
from mdqr._limbs.planes import Block, Kind
from mdqr.linalg._factor.lu import flat
from mdqr.linalg._shared.checks import fetch
from mdqr.linalg._shared.info import Info
from mdqr.linalg._shared.operands import Inputs, precision_for
from mdqr.linalg._spectral.disks import SLACK
from mdqr.linalg._spectral.onesided.jacobi import adjoint
from mdqr.linalg._spectral.residual_bounds import known

# Entries of A are near 1; what underflow takes, and from a bound at the end.
_LEAST = 2.0**-990
_END = 2.0**-1070


def pseudo_inverse_info(
    given: Inputs,
    near: MDArray,
    result: MDArray,
    top: Block,
    s: MDArray,
    kept: Any,
    unit: float,
) -> Info:
    """Return the info of pseudoinverses X of matrices ``2**top near``.

    `s` are singular values of `near`, `kept` tells which count, and entries have errors of `unit`
    of themselves.
    """
    kind, field = given.kind, given.is_complex
    a, x = (host_block(flat(y._block, field)).copy() for y in (near, result))
    (powers,) = fetch(top.reshape(-1))
    shape, count = result.shape, min(given.shape(0)[-2:])
    full = fetch(kept.all(axis=-1))[0].reshape(-1) & (kept.shape[-1] == count)
    cells: dict[str, np.ndarray] = {}

    def made(name: str) -> np.ndarray:
        if not cells:
            cells["stored"], cells["data"] = _bounds(a, x, powers, full, unit, kind)
        return cells[name].reshape(shape)

    values = s.to_numpy()

    def condition() -> np.ndarray:
        with np.errstate(all="ignore"):
            least = np.where(full.reshape(values.shape[:-1]), values[..., -1], 0.0)
            return np.where(least > 0, values[..., 0] / least, np.inf)

    return Info(
        given.precision,
        lambda: native_abs(x, field).reshape(shape),
        lambda: made("stored"),
        lambda: made("data"),
        condition=condition if count else 1.0,
    )


@np.errstate(all="ignore")
def _bounds(
    a: Block, x: Block, powers: np.ndarray, full: np.ndarray, unit: float, kind: Kind
) -> tuple[np.ndarray, np.ndarray]:
    """Return bounds ``(batch, n, m)`` for data as stored, and within their errors."""
    backend = for_block(a)
    x = backend.ldexp(
        planes.widen(x, kind.is_complex, kind.limbs),
        powers[:, None, None],
        is_complex=kind.is_complex,
    )
    wide = a.shape[-2] < a.shape[-1]
    if wide:
        a, x = adjoint(a, kind), adjoint(x, kind)
    of_a, of_x = known(a, kind).sizes, known(x, kind).sizes
    e, f = _residuals(backend, a, x, kind)
    found = [_combined(of_x, e, f)]
    # With A + D the residuals change by X D, and by X (D X)^H; a loss is the difference twice.
    errors = unit * of_a * SLACK
    more = of_x @ errors
    turned = (errors @ of_x).swapaxes(-1, -2)
    found.append(_combined(of_x, e + more, f + of_x @ turned))
    for i, bound in enumerate(found):
        bound = bound.swapaxes(-1, -2) if wide else bound
        bound = np.ldexp(bound * SLACK + _LEAST, -powers[:, None, None]) * SLACK + _END
        bound = np.where(full[:, None, None], bound, np.inf)
        found[i] = np.nan_to_num(bound, nan=np.inf, posinf=np.inf)
    return found[0], found[1]


@np.errstate(all="ignore")
def _combined(x: np.ndarray, e: np.ndarray, f: np.ndarray) -> np.ndarray:
    """Return bounds of ``abs(E) abs(A^+) + norm of rows of F``; infinite unless norm(E) < 1."""
    rows = e.sum(axis=-1, keepdims=True)
    norm = rows.max(axis=-2, keepdims=True, initial=0.0) * SLACK
    outer = np.hypot.reduce(f, axis=-1, keepdims=True)
    # A^+ = X - (X - A^+): rows of the difference are at most the largest of these.
    most = x.max(axis=-2, keepdims=True, initial=0.0) + outer.max(
        axis=-2, keepdims=True, initial=0.0
    )
    most = most / np.where(norm < 0.5, 1 - norm, 0.0)
    far = rows * most + outer
    # Once more, with that for what X is off.
    return np.asarray(np.minimum(far, e @ (x + far) + outer))


@np.errstate(all="ignore")
def _residuals(backend: Any, a: Block, x: Block, kind: Kind) -> tuple[np.ndarray, np.ndarray]:
    """Return upper bounds of the moduli of ``I - X A`` and ``X - X (A X)^H``, m >= n."""
    eps, (m, n) = precision_for(kind.limbs).eps, a.shape[-2:]
    few, of_a, of_x = 8 * m + 64, known(a, kind).sizes, known(x, kind).sizes
    one = kind.identity(np, (*a.shape[kind.lead : -2], n, n))
    e = known(backend.residual([(1, one)], x, a, kind=kind), kind).sizes
    e = e * (1 + eps) + few * eps**2 * (of_x @ of_a + 1.0) + _LEAST
    # A X = P - Q, rounded and what that is off.
    p = backend.matmul(a, x, kind=kind)
    q = backend.residual([(1, p)], a, x, kind=kind)
    of_p, of_q = known(p, kind).sizes, known(q, kind).sizes
    off = eps * of_q + few * eps**2 * (of_a @ of_x + of_p) + _LEAST
    more = backend.matmul(x, adjoint(q, kind), kind=kind)
    f = known(backend.residual([(1, x), (1, more)], x, adjoint(p, kind), kind=kind), kind).sizes
    lost = few * eps**2 * (of_x @ of_p.swapaxes(-1, -2) + of_x + known(more, kind).sizes)
    lost = lost + of_x @ (few * eps * of_q + off).swapaxes(-1, -2)
    return e, (f * (1 + eps) + lost) * SLACK + _LEAST
