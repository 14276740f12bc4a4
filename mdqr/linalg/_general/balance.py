"""Powers of two that rows and columns are scaled by, so that their norms are nearly equal."""

from __future__ import annotations

import numpy as np

_MOST_PASSES = 100
_MOST_POWER = 400
# Norms that do not become less than that part of what they were are left.
_WORTH = 0.9
# Passes end when logarithms of factors change by less.
_SMALL = 0.1


@np.errstate(all="ignore")
def balancing_powers(sizes: np.ndarray) -> np.ndarray:
    """Return int64 d ``(batch, n)`` for which ``2**-d[i] a[i, j] 2**d[j]`` is balanced.

    `sizes` are moduli of entries, at most about 1. Norms have the diagonal, so that rounding errors
    of vectors do not grow where little would be won (R. James, J. Langou and B. R. Lowery, On
    matrix balancing and eigenvector computation, 2014); rows are not permuted.
    """
    n = sizes.shape[-1]
    squares = sizes * sizes
    logs = np.zeros(sizes.shape[:-1])
    for _ in range(_MOST_PASSES):
        moved = 0.0
        for i in range(n):
            column, row = squares[:, :, i].sum(axis=-1), squares[:, i, :].sum(axis=-1)
            step = 0.25 * (np.log2(row) - np.log2(column))
            step = np.where(np.isfinite(step) & (abs(logs[:, i] + step) <= _MOST_POWER), step, 0.0)
            logs[:, i] += step
            moved = max(moved, float(abs(step).max(initial=0.0)))
            factor = np.exp2(2 * step)[:, None]
            # The diagonal stays, but for rounding.
            squares[:, :, i] *= factor
            squares[:, i, :] /= factor
        if moved < _SMALL:
            break
    powers = np.rint(logs).astype(np.int64)
    after = sizes * np.exp2(powers[:, None, :] - powers[:, :, None])
    worth = (after * after).sum(axis=(-2, -1)) < _WORTH**2 * (sizes * sizes).sum(axis=(-2, -1))
    return np.where(worth[:, None], powers, 0)
