"""Bounds of the errors of pseudoinverses of full rank, by residuals in twice the limbs.

With ``E = I - X A`` for A with independent columns, ``X - A^+ = X (I - A A^+) - E A^+``, and the
first term is ``(X - X (A X)^H) (I - A A^+)``, for X X^H A^H vanishes there. Neither is larger than
the residuals E and ``F = X - X (A X)^H``, times A^+ or 1. Of square A the first one is zero.
What the powers of two that A is divided by take from its entries counts as errors of the data.
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
from mdqr.linalg._shared.operands import Inputs, precision_for, square_of
from mdqr.linalg._spectral.disks import SLACK
from mdqr.linalg._spectral.residual_bounds import LOST, known, lost_by_scaling

# Entries of A are near 1; what underflow takes, and from a bound at the end.
_LEAST = 2.0**-990
_END = 2.0**-1070
_AGAIN = 3


def pseudo_inverse_info(
    given: Inputs,
    result: MDArray,
    top: Block,
    s: MDArray,
    kept: Any,
    unit: float,
) -> Info:
    """Return the info of pseudoinverses X of matrices that were divided by ``2**top``.

    `s` are singular values of the quotients, `kept` tells which count, and entries have errors of
    `unit` of themselves.
    """
    kind, field = given.kind, given.is_complex
    a, x = (host_block(flat(y, field)).copy() for y in (given.blocks[0], result._block))
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
    backend, field, back = for_block(a), kind.is_complex, powers[:, None, None]
    x = backend.ldexp(planes.widen(x, field, kind.limbs), back, is_complex=field)
    near = backend.ldexp(a, -back, is_complex=field)
    lost = lost_by_scaling(backend, a, near, -back, field)
    a, wide = planes.widen(near, field, kind.limbs), a.shape[-2] < a.shape[-1]
    if wide:
        a, x, lost = (
            planes.adjoint(a, kind.is_complex),
            planes.adjoint(x, kind.is_complex),
            lost.swapaxes(-1, -2),
        )
    of_a, of_x = known(a, kind).sizes, known(x, kind).sizes
    e, f = _residuals(backend, a, x, kind)
    found = []
    of_data = np.where((of_a > 0) & (unit > 0), unit * of_a * SLACK + LOST, 0.0)
    for errors in (lost, lost + of_data):
        # With A + D the residuals change by X D, and by X (D X)^H.
        turned = (errors @ of_x).swapaxes(-1, -2)
        found.append(_combined(of_x, e + of_x @ errors, f + of_x @ turned))
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
    square = x.shape[-2] == x.shape[-1]
    # Nothing is outside of the range of a regular matrix.
    outer = np.zeros_like(rows) if square else np.hypot.reduce(f, axis=-1, keepdims=True)
    # A^+ = X - (X - A^+): rows of the difference are at most the largest of these.
    most = x.max(axis=-2, keepdims=True, initial=0.0) + outer.max(
        axis=-2, keepdims=True, initial=0.0
    )
    most = most / np.where(norm < 0.5, 1 - norm, 0.0)
    far = rows * most + outer
    # Again, with that for what X is off: rows and columns may be far apart.
    for _ in range(_AGAIN):
        far = np.minimum(far, e @ (x + far) + outer)
    return np.asarray(far)


@np.errstate(all="ignore")
def _residuals(backend: Any, a: Block, x: Block, kind: Kind) -> tuple[np.ndarray, np.ndarray]:
    """Return upper bounds of the moduli of ``I - X A`` and ``X - X (A X)^H``, m >= n."""
    eps, (m, n) = precision_for(kind.limbs).eps, a.shape[-2:]
    few, of_a, of_x = 8 * m + 64, known(a, kind).sizes, known(x, kind).sizes
    one = kind.identity(np, (*a.shape[kind.lead : -2], n, n))
    e = known(backend.residual([(1, one)], x, a, kind=kind), kind).sizes
    e = e * (1 + eps) + few * square_of(eps) * (of_x @ of_a + np.eye(n)) + _LEAST
    # A X = P - Q, rounded and what that is off.
    p = backend.matmul(a, x, kind=kind)
    q = backend.residual([(1, p)], a, x, kind=kind)
    of_p, of_q = known(p, kind).sizes, known(q, kind).sizes
    off = eps * of_q + few * square_of(eps) * (of_a @ of_x + of_p) + _LEAST
    more = backend.matmul(x, planes.adjoint(q, kind.is_complex), kind=kind)
    f = known(
        backend.residual([(1, x), (1, more)], x, planes.adjoint(p, kind.is_complex), kind=kind),
        kind,
    ).sizes
    lost = few * square_of(eps) * (of_x @ of_p.swapaxes(-1, -2) + of_x + known(more, kind).sizes)
    lost = lost + of_x @ (few * eps * of_q + off).swapaxes(-1, -2)
    return e, (f * (1 + eps) + lost) * SLACK + _LEAST
