"""Powers of two that rows and columns are scaled by, so that their norms are nearly equal."""

from __future__ import annotations

import numpy as np

_MOST_PASSES = 16
_MOST_POWER = 400
# Norms that do not become less than that part of what they were are left.
_WORTH = 2.0**-8


@np.errstate(all="ignore")
def balancing_powers(sizes: np.ndarray) -> np.ndarray:
    """Return int64 d ``(batch, n)`` for which ``2**-d[i] a[i, j] 2**d[j]`` is balanced.

    `sizes` are moduli of entries, at most about 1. Norms have the diagonal, so that rounding errors
    of vectors do not grow where little would be won (R. James, J. Langou and B. R. Lowery, On
    matrix balancing and eigenvector computation, 2014); rows are not permuted.
    """
    n = sizes.shape[-1]
    sizes = sizes * sizes
    before = sizes.sum(axis=(-2, -1))
    powers = np.zeros(sizes.shape[:-1], dtype=np.int64)
    for _ in range(_MOST_PASSES):
        moved = False
        for i in range(n):
            column, row = sizes[:, :, i].sum(axis=-1), sizes[:, i, :].sum(axis=-1)
            step = np.rint(0.25 * (np.log2(row) - np.log2(column)))
            step = np.where((row > 0) & (column > 0), np.clip(step, -_MOST_POWER, _MOST_POWER), 0)
            step = step.astype(np.int64)
            # The diagonal stays.
            factor, one = np.ldexp(1.0, 2 * step), sizes[:, i, i]
            after = (column - one) * factor + (row - one) / factor + 2 * one
            step = np.where(after < 0.9 * (column + row), step, 0)
            step = np.where(abs(powers[:, i] + step) <= _MOST_POWER, step, 0)
            if step.any():
                moved = True
                powers[:, i] += step
                factor = np.ldexp(1.0, 2 * step)[:, None]
                sizes[:, :, i] *= factor
                sizes[:, i, :] /= factor
        if not moved:
            break
    worth = sizes.sum(axis=(-2, -1)) < _WORTH**2 * before
    return np.where(worth[:, None], powers, 0)
