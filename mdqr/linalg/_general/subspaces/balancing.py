"""Balancing: rows and columns are scaled by powers of two before eigenvalues are computed."""

from __future__ import annotations

import numpy as np

from mdqr._backend.blocks import native_abs
from mdqr._backend.protocol import Backend
from mdqr._limbs import scaling
from mdqr._limbs.planes import Block

# Sizes far apart take one for every bit or two, by which the longest rows and columns move.
_MOST_PASSES = 1200
# Powers lie within this: their squares, and entries times two of them, stay doubles.
_MOST_POWER = 510
# Norms that do not become less than that part of what they were are left.
_WORTH = 0.9
# Shorter rows and columns count as that part of the longest one.
_SHORTEST = 2.0**-8
# No power of two makes a row and its column shorter together where their squares, as binary
# logarithms, are nearer.
_BALANCED = 2.0
# Passes end when logarithms of factors change by less.
_SMALL = 0.1


@np.errstate(all="ignore")
def balanced(backend: Backend, a: Block) -> tuple[Block, np.ndarray, np.ndarray]:
    """Return ``2**(d[j] - d[i] - top) a[i, j]``, at most 1, and the powers d and top.

    Entries of any sizes are scaled but once, so that none is lost before it counts.
    """
    sizes = np.log2(native_abs(a, True))
    # Moduli may overflow, parts of entries do not.
    sizes = np.where(sizes < np.inf, sizes, 1024.0)
    powers = balancing_powers(sizes)
    moves = powers[:, None, :] - powers[:, :, None]
    exponents = scaling.exponents_or_absent(scaling.magnitude_bits(a, True))
    top = (exponents + moves).max(axis=(-2, -1))
    top = np.where(np.isfinite(sizes).any(axis=(-2, -1)), top, 0)
    return backend.ldexp(a, moves - top[:, None, None], is_complex=True), powers, top


@np.errstate(all="ignore")
def balancing_powers(sizes: np.ndarray) -> np.ndarray:
    """Return int64 d ``(batch, n)`` for which ``2**-d[i] a[i, j] 2**d[j]`` is balanced.

    `sizes` are binary logarithms of moduli of entries. Norms have the diagonal, so that rounding
    errors of vectors grow by little where little would be won (R. James, J. Langou and B. R.
    Lowery, On matrix balancing and eigenvector computation, 2014); rows are not permuted.
    """
    n = sizes.shape[-1]
    squares = 2 * sizes
    logs = np.zeros(sizes.shape[:-1])
    apart = _norms(squares, -1) - _norms(squares, -2)
    if (abs(apart) < _BALANCED).all():
        return logs.astype(np.int64)
    for _ in range(_MOST_PASSES):
        moved, least = 0.0, _norms(squares, -1).max(axis=-1) + 2 * np.log2(_SHORTEST)
        for i in range(n):
            column, row = (
                np.maximum(_norms(part, -1), least) for part in (squares[:, :, i], squares[:, i])
            )
            step = 0.25 * (row - column)
            # Only the distances of powers matter.
            trial = logs.copy()
            trial[:, i] += step
            spread = trial.max(axis=1) - trial.min(axis=1)
            step = np.where(np.isfinite(step) & (spread <= 2 * _MOST_POWER), step, 0.0)
            if not step.any():
                continue
            logs[:, i] += step
            moved = max(moved, float(abs(step).max(initial=0.0)))
            change = 2 * step[:, None]
            # The diagonal stays, but for rounding.
            squares[:, :, i] += change
            squares[:, i, :] -= change
        if moved < _SMALL:
            break
    powers = np.rint(logs).astype(np.int64)
    if n:
        powers -= ((powers.max(axis=-1) + powers.min(axis=-1)) // 2)[:, None]
    after = 2 * (sizes + powers[:, None, :] - powers[:, :, None])
    won = _norms(2 * sizes, (-2, -1)) - _norms(after, (-2, -1))
    return np.where((won > -2 * np.log2(_WORTH))[:, None], powers, 0)


def _norms(squares: np.ndarray, axis: int | tuple[int, ...]) -> np.ndarray:
    """Return the logarithms of sums of numbers that are given by logarithms."""
    top = squares.max(axis=axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    sums = np.log2(np.exp2(squares - top).sum(axis=axis, keepdims=True)) + top
    return np.asarray(np.squeeze(sums, axis=axis))
