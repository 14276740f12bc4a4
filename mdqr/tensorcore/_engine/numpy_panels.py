"""The panels in NumPy: what the CUDA kernels compute, in the same steps."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from mdqr._backend.float_panels import FAN_IN, SMALL, rows_of_block

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]

# Squares of lengths below which a column depends on others as far as float32 can tell, relative to
# its square; kernels/cuda/tensorcore/cholesky.cu.
ROUNDING_LEVEL = np.float32(2.0**-40)
LEAST = 2.0**-43
# Of pivots, for diagonals between 1/4 and 1. From ONE_PASS on, errors of 2^-53 in the Gram matrix
# are below those of float32 in Q. Columns below LATE wait for the next pass: to eliminate by them
# too would square a condition that float64 cannot hold squared.
ONE_PASS, LATE, PASSES = 2.0**-23, 2.0**-16, 3
# Squares of the lengths of columns of the inverse triangle, of columns scaled to 1, from which on
# pivots are rounding errors; kernels/cuda/tensorcore/cholesky.hpp.
SOUND = 2.0**43


def product(a: Floats, b: Floats) -> Doubles:
    """Return ``a @ b`` in float64."""
    return np.matmul(a, b, dtype=np.float64)


def gram_schmidt_blocks(x: Floats, above: Floats | None) -> tuple[Floats, Floats]:
    """Return Q and R of blocks ``(b, rows, w)`` by modified Gram-Schmidt; R has `SMALL` rows.

    In the last block of a tree, which has squares of lengths `above`, columns that depend on
    others become zero.
    """
    q, (count, _, width) = x.copy(), x.shape
    r = np.zeros((count, SMALL, width), dtype=np.float32)
    least = np.zeros((count, width), dtype=np.float32)
    if above is not None:
        least = ROUNDING_LEVEL * (np.einsum("bij,bij->bj", x, x) + above)
    for k in range(width):
        sums = np.einsum("bi,bij->bj", q[:, :, k], q[:, :, k:], dtype=np.float64)
        sums = sums.astype(np.float32)
        gone = sums[:, :1] <= least[:, k, None]
        inverse = np.where(gone, 0, 1 / np.sqrt(np.where(gone, 1, sums[:, :1])))
        r[:, k, k:] = sums * inverse
        q[:, :, k] *= inverse
        q[:, :, k + 1 :] -= q[:, :, k : k + 1] * r[:, k, None, k + 1 :]
    return q, r


def factor_tree(a: Floats, r: Floats, above: Floats, block_rows: int) -> None:
    """Factor up to 32 columns in place: blocks of rows, then 16 triangles a block."""
    rows, width = a.shape
    count = -(-rows // block_rows)
    x = np.zeros((count * block_rows, width), dtype=np.float32)
    x[:rows] = a
    blocks = x.reshape(count, block_rows, width)
    q, triangles = gram_schmidt_blocks(blocks, above if count == 1 else None)
    if count == 1:
        a[:] = q[0, :rows]
        r[:] = triangles[0, :width]
        return
    tree = triangles.reshape(count * SMALL, width)
    factor_tree(tree, r, above, FAN_IN * SMALL)
    a[:] = product(q, tree.reshape(count, SMALL, width)[:, :width]).reshape(-1, width)[:rows]


def caqr(a: Floats, r: Floats) -> None:
    """Factor up to 128 columns in place, 32 at a time."""
    block_rows, n = rows_of_block(len(a)), a.shape[1]
    for first in range(0, n, SMALL):
        last = min(first + SMALL, n)
        q, above = a[:, first:last], r[:first, first:last]
        factor_tree(q, r[first:last, first:last], np.einsum("ij,ij->j", above, above), block_rows)
        r[first:last, last:] = product(q.T, a[:, last:])
        a[:, last:] -= product(q, r[first:last, last:])


def _column_scales(squares: Doubles) -> Doubles:
    """Return powers of two near the reciprocals of the roots; 0 for zero columns."""
    _, exponents = np.frexp(squares)
    scales = np.ldexp(1.0, -((exponents + (exponents > 0)) // 2))
    return np.where(squares > 0, scales, np.where(squares == 0, 0.0, np.nan))


class Triangle:
    """The Cholesky factor of a Gram matrix with its inverse, by Gauss-Jordan elimination.

    Rows end as those of the triangle right of the diagonal, as columns of its inverse on the left.
    A column that is late is what the others leave of it, in the unit of its length: in the triangle
    it has a diagonal alone.
    """

    def __init__(self, gram: Doubles, limits: Doubles, late: float) -> None:
        n, squares = len(gram), np.diagonal(gram)
        scale = _column_scales(squares)
        self.again = False
        # Lengths tell what depends on others; pivots are differences, and rounding
        # errors where it matters.
        dead = (squares == 0) | (squares < limits)
        is_late = np.zeros(n, dtype=bool)
        self.verified = True
        g, lengths = gram * scale * scale[:, None], np.ones(n)
        for k in range(n):
            pivot, least = g[k, k], max(limits[k] * scale[k] ** 2, 2.0**-1000)
            is_late[k] = not dead[k] and pivot < late
            if not dead[k] and not is_late[k]:
                square = 1 + np.dot(g[k, :k], g[k, :k])
                self.verified &= bool(square <= SOUND * (pivot if late else max(pivot, least)))
            if not late:
                dead[k] |= pivot < least
            self.again |= bool(not dead[k] and pivot < max(ONE_PASS, late))
            skipped = dead[k] or is_late[k]
            factors = g[k, k + 1 :] * (0.0 if skipped else 1 / pivot)
            row = g[k].copy()
            row[k] = 1.0
            g[k + 1 :, k] = 0.0
            g[k + 1 :] -= factors[:, None] * row
            lengths[k] = 1.0 if skipped else np.sqrt(pivot)
        unscaled = np.divide(1.0, scale, out=np.zeros(n), where=scale != 0)
        left = np.tril(g, -1) + np.eye(n)
        rows = np.triu(g) / lengths[:, None] * unscaled
        rows[is_late] = np.diag(unscaled)[is_late]
        self.dead, self.late = dead, is_late
        self.r = np.where(dead[:, None], 0.0, rows)
        self.inverse = np.where(dead, 0.0, scale[:, None] * (left / lengths[:, None]).T)
        # In the units of what this pass makes; columns of length 1 are never below.
        self.limits = np.where(is_late, limits * scale**2, 0.0)


def cholesky_passes(
    a: Floats, r: Floats, floor: int, *, done: bool = False
) -> Iterator[tuple[Triangle, Doubles, bool]]:
    """Factor up to 128 columns in place, again as long as a pass loses what float32 holds.

    Yields the triangle of each pass, which can be asked for another, the Gram matrix, and whether
    the pass is the last one. With `done` `a` and `r` are Q and R already.
    """
    limits = np.zeros(a.shape[1])
    for made in range(PASSES):
        is_last = made + 1 == PASSES
        x = a.astype(np.float64)
        gram = x.T @ x
        if made == 0:
            limits = np.maximum(2.0**floor, LEAST * np.diagonal(gram))
        found = Triangle(gram, limits, 0.0 if is_last else LATE)
        limits = found.limits
        a[:] = x @ found.inverse
        r[:] = found.r @ r if made or done else found.r
        yield found, gram, is_last
        if not found.again:
            break


def cholesky(a: Floats, r: Floats, floor: int) -> bool:
    """Factor up to 128 columns in place; return whether Q R equals them."""
    verified = True
    for found, *_ in cholesky_passes(a, r, floor):
        verified &= found.verified
    return verified


def geqrf(a: Floats, r: Floats) -> None:
    """Factor by LAPACK in float64, with a diagonal of R that is not negative."""
    q, triangle = np.linalg.qr(a.astype(np.float64))
    signs = np.where(np.diagonal(triangle) < 0, -1, 1).astype(np.float32)
    a[:] = q * signs
    r[:] = triangle * signs[:, None]
