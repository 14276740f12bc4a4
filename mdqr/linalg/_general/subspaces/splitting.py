"""Triangular matrices to diagonal blocks, as few eigenvalues together as their condition allows.

One complex matrix, in host memory. Blocks are sets of rows, wherever these are: nothing is
reordered.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mdqr._backend.blocks import native_abs, to_native
from mdqr._backend.protocol import Backend
from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Block, Kind
from mdqr.linalg._factor.triangular import substitute
from mdqr.linalg._shared.operands import precision_for
from mdqr.linalg._spectral.disks import components

# Entries of eigenvectors that are larger are scaled.
_LARGE = 2.0**200


# Powers of 1 / eps that entries of V, and conditions of eigenvalues, may reach.
_MOST = 0.8


class Split(NamedTuple):
    """``T V = V M``, with M zero between rows of different labels; all upper triangular."""

    v: Block
    m: Block
    labels: np.ndarray
    inverse: Block


@np.errstate(all="ignore")
def split(backend: Backend, t: Block, kind: Kind, noise: float = 0.0) -> Split:
    """Return the blocks of an upper triangular matrix, V with a unit diagonal.

    Rows stay together where rounding errors times conditions reach from one eigenvalue to another
    (C. A. Bavely and G. W. Stewart, An algorithm for computing reducing subspaces by block
    diagonalization, 1979, with a limit of V). `noise` is the norm of errors that T has besides.
    """
    n, eps, one = int(t.shape[-1]), precision_for(kind.limbs).eps, kind.identity(np, t.shape[2:])
    size = float(native_abs(t, True).max(initial=0.0))
    gaps = abs(_differences(backend, t, kind))
    labels, near = np.arange(n), (gaps <= 4 * eps * size) | np.eye(n, dtype=bool)
    while True:
        labels, again = components(near), True
        while again:
            v, m, labels, again = _split(backend, t, labels, eps**-_MOST, kind)
        inverse = substitute(backend, v, one, kind=kind, lower=False)
        columns = np.linalg.norm(to_native(np, v, True), axis=0)
        conditions = columns * np.linalg.norm(to_native(np, inverse, True), axis=1)
        # Rows of too large conditions join those that are nearest, not all that errors reach.
        apart, large = labels[:, None] != labels, ~(conditions <= eps**-_MOST)
        reach = np.where(large, 0.0, (16 * n * eps * size + noise) * conditions)
        least = np.where(apart, gaps, np.inf).min(axis=1, initial=np.inf, keepdims=True)
        joined = (gaps <= reach[:, None] + reach) | (large[:, None] & (gaps <= least))
        if not (apart & joined).any():
            return Split(v, m, labels, inverse)
        near = joined | joined.T | ~apart


def _differences(backend: Backend, t: Block, kind: Kind) -> np.ndarray:
    """Return the differences of all diagonal entries, complex128."""
    one = planes.diagonal(t)
    apart = backend.binary(
        "subtract",
        np.broadcast_to(one[..., :, None], t.shape),
        np.broadcast_to(one[..., None, :], t.shape),
        kind=kind,
    )
    return np.asarray(to_native(np, apart, True))


def _split(
    backend: Backend, t: Block, labels: np.ndarray, limit: float, kind: Kind
) -> tuple[Block, Block, np.ndarray, bool]:
    """Try labels; return V, M, better labels, and whether another try is needed."""
    n, labels = len(labels), labels.copy()
    v, m = kind.identity(np, (n, n)), kind.zeros(np, (n, n))
    planes.diagonal(m)[...] = planes.diagonal(t)
    for i in reversed(range(n - 1)):
        after = slice(i + 1, n)
        s = backend.matmul(t[..., i : i + 1, after], v[..., after, after], kind=kind)
        while True:
            row = _row(backend, m, s, labels, i, kind)
            sizes = native_abs(row, True)[0]
            # Of a row that grows, what grows most joins.
            if not sizes.max() > limit:
                break
            joined = labels[i + 1 + int(sizes.argmax())]
            alone = (labels[after] != labels[i]).all()
            labels[labels == joined] = labels[i]
            if not alone:
                return v, m, labels, True
        same = labels[after] == labels[i]
        m[..., i, after] = np.where(same, s[..., 0, :], 0.0)
        v[..., i, after] = row[..., 0, :]
    return v, m, labels, False


def _row(backend: Backend, m: Block, s: Block, labels: np.ndarray, i: int, kind: Kind) -> Block:
    """Return row i of V right of the diagonal, ``(1, n - i - 1)``: ``v (M - m_ii) = s``."""
    n = len(labels)
    later, one = labels[i + 1 :], planes.diagonal(m)
    row = kind.zeros(np, (1, n - i - 1))
    kinds, counts = np.unique(later[later != labels[i]], return_counts=True)
    single = np.flatnonzero(np.isin(later, kinds[counts == 1]))
    gaps = backend.binary("subtract", one[..., i + 1 + single], one[..., i : i + 1], kind=kind)
    with np.errstate(all="ignore"):
        row[..., single] = backend.binary("divide", s[..., single], gaps[..., None, :], kind=kind)
    for label in kinds[counts > 1]:
        members = np.flatnonzero(later == label)
        block = m[..., i + 1 + members[:, None], i + 1 + members].copy()
        inner = planes.diagonal(block)
        inner[...] = backend.binary("subtract", inner, one[..., i : i + 1], kind=kind)
        known = s[..., members].swapaxes(-1, -2)
        with np.errstate(all="ignore"):
            found = substitute(backend, block.swapaxes(-1, -2), known, kind=kind, lower=True)
        row[..., members] = found.swapaxes(-1, -2)
    return row


def eigenvectors(backend: Backend, m: Block, labels: np.ndarray, kind: Kind) -> Block:
    """Return eigenvectors of an upper triangular matrix as columns, not normalised.

    Entries between rows of different labels do not count. Where eigenvalues of a block are equal
    to rounding, so are vectors, unless nothing couples them: these are vectors of another matrix.
    """
    n, eps = int(m.shape[-1]), precision_for(kind.limbs).eps
    same = labels[:, None] == labels
    one, v = planes.diagonal(m), kind.identity(np, (n, n))
    m = np.where(same, m, 0.0)
    sizes = native_abs(m, True).max(axis=-1, initial=0.0)
    least = np.maximum(eps * np.where(same, sizes, 0.0).max(axis=-1, initial=0.0), 2.0**-1000)
    for i in reversed(range(n - 1)):
        after = slice(i + 1, n)
        if not same[i, after].any():
            continue
        s = backend.matmul(m[..., i : i + 1, after], v[..., after, after], kind=kind)
        gaps = backend.binary("subtract", one[..., after], one[..., i : i + 1], kind=kind)
        small = native_abs(gaps, True) < least[i]
        gaps = np.where(small, 0.0, gaps)
        gaps[0, 0] = np.where(small, least[i], gaps[0, 0])
        row = backend.binary("divide", s, gaps[..., None, :], kind=kind)
        row = np.where(planes.nonzero(s, True), row, 0.0)
        v[..., i : i + 1, after] = row
        exponents = scaling.top_exponents(v, True, -2)
        down = np.where(exponents > np.log2(_LARGE), -exponents, 0)
        if down.any():
            v = backend.ldexp(v, np.broadcast_to(down, (n, n)), is_complex=True)
    return v
