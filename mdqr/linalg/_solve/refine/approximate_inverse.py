"""Approximate inverses in float64, with proven bounds of what they leave.

X is an approximate inverse of square A, or of R where ``A = Q R``. What it leaves, ``I - X A`` or
``I - (A X)^H (A X)``, is bounded by its computed value, the rounding errors of the products and the
lower limbs of A. With a bound below 1 every residual bounds the error of an approximate solution
(S. M. Rump 2010; for least squares by ``e = X z``, ``X^H A^H A X z = X^H A^H (b - A x)``).
"""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType

import numpy as np

from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Block
from mdqr.linalg._shared.checks import Checks

U = 2.0**-53
# For the roundings of float64 in the bounds themselves.
UP = 1 + 2.0**-30
# What is left is multiplied by at most this in each step.
_MOST = 2.0**-6
# A Gram matrix squares the condition: beyond this of what it leaves, the factor is made once more.
_GOOD = 2.0**-20
_POWER_STEPS = 12
_GOLDEN = 0.6180339887498949
# Triangles of at most this order are inverted by the library.
_LEAF = 64


@dataclass(frozen=True)
class ApproximateInverse:
    """X with ``I - X A`` or ``I - (A X)^H (A X)`` of norm at most `rate`.

    `x` is ``(..., n, n)`` float64 or complex128. `rate` ``(..., 1, 1)`` bounds the norm of the
    maximum of square matrices, and the 2-norm of others; `rows` ``(..., n, 1)`` are the sums of the
    rows of ``|I - X A|``, or the lengths of the rows of X times `rate`.
    """

    xp: ModuleType
    is_square: bool
    x: Block
    rate: Block
    rows: Block

    def times(self, v: Block) -> Block:
        """Return the step that a residual ``b - A x``, or ``A^H (b - A x)``, asks for."""
        return self.x @ (v if self.is_square else self._transposed @ v)

    def image(self, v: Block) -> Block:
        """Return ``X^H v``: of a gradient, what lies in the range of A, in an orthonormal basis."""
        return self._transposed @ v

    def correction(self, v: Block, delta: Block) -> tuple[Block, Block]:
        """Return the step that a residual asks for, and a bound of the error that it leaves.

        Parameters
        ----------
        v : Block
            ``b - A x`` ``(..., n, k)``, or ``A^H (b - A x)``, rounded to float64.
        delta : Block
            A bound of its error in each component, the rounding to float64 aside.
        """
        xp, c, size = self.xp, _constant(self.x), self.xp.abs(v)
        if self.is_square:
            dx, spread = self.x @ v, self.spread(delta + c * size)
            norm = scaling.largest(xp.abs(dx) + spread, -2, 0.0, keepdims=True)
        else:
            image, absolute = self._transposed @ v, xp.abs(self.x)
            loose = xp.abs(self._transposed) @ (delta + c * size)
            dx, spread = self.x @ image, absolute @ (loose + c * xp.abs(image))
            norm = _lengths(xp, xp.abs(image) + loose)
        return dx, (spread + self.rows * (norm / (1.0 - self.rate))) * UP

    def condition(self, a: Block) -> Block:
        """Estimate the 2-norm condition number of the scaled matrices `a`: a lower bound."""
        return largest_singular_value(self.xp, a) * largest_singular_value(self.xp, self.x)

    def spread(self, delta: Block) -> Block:
        """Return what errors `delta` of residuals can do to x."""
        if not self.is_square:
            delta = self.xp.abs(self._transposed) @ delta
        return self.xp.abs(self.x) @ delta

    @property
    def _transposed(self) -> Block:
        return self.x.swapaxes(-1, -2).conj()


def approximate_inverse(xp: ModuleType, a: Block, checks: Checks) -> ApproximateInverse | None:
    """Invert the leading limbs of scaled matrices.

    Parameters
    ----------
    xp : module
        numpy or cupy.
    a : Block
        Leading limbs ``(..., m, n)``, m >= n, float64 or complex128, within ``2**-51`` of the
        entries: half of the room that products have for more than their roundings.
    checks : Checks
        Asked for what decides.

    Returns
    -------
    ApproximateInverse or None
        None where the matrices are too near to singular for float64.
    """
    with np.errstate(all="ignore"):
        makers = (_of_square,) if a.shape[-1] == a.shape[-2] else (_by_gram, _by_qr)
        for make in makers:
            try:
                found = make(xp, a, checks)
            except np.linalg.LinAlgError:
                continue
            if bool(checks.settle((found.rate <= _MOST).all())[0]):
                return found
    return None


def _constant(a: Block) -> float:
    """Return the bound of the error of a sum of products of rows of `a`, beside its own rounding.

    For any order of the terms; products of complex numbers err by ``5**0.5`` units.
    """
    return (a.shape[-1] + 8) * (4 if a.dtype.kind == "c" else 1) * U


def _of_square(xp: ModuleType, a: Block, _: Checks) -> ApproximateInverse:
    x = xp.linalg.inv(a)
    size = xp.abs(a)
    left = xp.abs(xp.eye(a.shape[-1]) - x @ a).sum(axis=-1, keepdims=True)
    rows = (left + 2 * _constant(a) * (xp.abs(x) @ size.sum(axis=-1, keepdims=True) + 1)) * UP
    rate = scaling.largest(rows, -2, 0.0, keepdims=True)
    return ApproximateInverse(xp, True, x, rate, rows)


def _by_gram(xp: ModuleType, a: Block, checks: Checks) -> ApproximateInverse:
    """Invert the Cholesky factor of the Gram matrix, and of what that makes of A if need be."""
    x, b = None, a
    for _ in range(2):
        factor = xp.linalg.cholesky(b.swapaxes(-1, -2).conj() @ b)
        step = inverse_of_lower(xp, factor).swapaxes(-1, -2).conj()
        x = step if x is None else x @ step
        found = _of_tall(xp, a, x)
        if not checks.settle((found.rate > _GOOD).any())[0]:
            break
        b = a @ x
    return found


def _by_qr(xp: ModuleType, a: Block, _: Checks) -> ApproximateInverse:
    r = xp.linalg.qr(a, mode="r")
    return _of_tall(xp, a, inverse_of_lower(xp, r.swapaxes(-1, -2)).swapaxes(-1, -2))


def _of_tall(xp: ModuleType, a: Block, x: Block) -> ApproximateInverse:
    n = a.shape[-1]
    b, sizes = a @ x, (xp.abs(a), xp.abs(x))
    h = xp.eye(n) - b.swapaxes(-1, -2).conj() @ b
    norm = _frobenius(xp, b)
    # b differs from A X by its rounding and by the lower limbs of A.
    rows = sizes[0] @ sizes[1].sum(axis=-1, keepdims=True)
    columns = sizes[0].sum(axis=-2, keepdims=True) @ sizes[1]
    worst = rows.max(axis=(-2, -1), keepdims=True) * columns.max(axis=(-2, -1), keepdims=True)
    off = 2 * _constant(a) * worst**0.5
    gram = _constant(b.swapaxes(-1, -2)) * (norm**2 + n**0.5)
    left = _frobenius(xp, h) + gram
    # The 2-norm of b is at most that of I - h.
    rate = (left + off * (2 * (1 + left) ** 0.5 + off)) * UP
    lengths = (sizes[1] ** 2).sum(axis=-1, keepdims=True) ** 0.5
    return ApproximateInverse(xp, False, x, rate, lengths * rate * UP)


def _lengths(xp: ModuleType, sizes: Block) -> Block:
    """Return the lengths of columns, of which no square vanishes that counts."""
    top = scaling.largest(sizes, -2, 0.0, keepdims=True) + 2.0**-1000
    return top * ((sizes / top) ** 2).sum(axis=-2, keepdims=True) ** 0.5


def _frobenius(xp: ModuleType, x: Block) -> Block:
    return (xp.abs(x) ** 2).sum(axis=(-2, -1), keepdims=True) ** 0.5


def largest_singular_value(xp: ModuleType, a: Block) -> Block:
    """Return the 2-norms of matrices ``(..., m, n)`` by power iteration: lower bounds."""
    place = xp.arange(1.0, a.shape[-1] + 1.0)[:, None]
    x = xp.broadcast_to(
        (place * (place + 1.0) * _GOLDEN) % 1.0 - 0.5, (*a.shape[:-2], len(place), 1)
    )
    for _ in range(_POWER_STEPS):
        x = x / _frobenius(xp, x)
        y = a @ x
        x = a.swapaxes(-1, -2).conj() @ y
    return _frobenius(xp, y)[..., 0, 0]


def inverse_of_lower(xp: ModuleType, a: Block) -> Block:
    """Return the inverses of lower triangles ``(..., n, n)``, nearly all by products.

    The inverses of diagonal blocks are joined in pairs, all pairs of one size at once.
    """
    n = a.shape[-1]
    pairs = max(0, (n - 1) // _LEAF).bit_length()
    width = -(-n // 2**pairs)
    padded = width * 2**pairs
    wide = xp.broadcast_to(xp.eye(padded, dtype=a.dtype), (*a.shape[:-2], padded, padded)).copy()
    wide[..., :n, :n] = a
    found = xp.linalg.inv(_diagonal_blocks(wide, width, 0))
    while width < padded:
        below = _diagonal_blocks(wide, width, 1)
        first, second = found[..., ::2, :, :], found[..., 1::2, :, :]
        joined = xp.zeros((*first.shape[:-2], 2 * width, 2 * width), dtype=a.dtype)
        joined[..., :width, :width], joined[..., width:, width:] = first, second
        joined[..., width:, :width] = -(second @ (below @ first))
        found, width = joined, 2 * width
    return found[..., 0, :n, :n]


def _diagonal_blocks(a: Block, width: int, below: int) -> Block:
    """Return the blocks of a width on the diagonal, or all second ones from one further down."""
    count = a.shape[-1] // width
    blocks = a.reshape(*a.shape[:-2], count, width, count, width)
    xp = planes.namespace(a)
    at = xp.arange(below, count, 1 + below)
    return xp.moveaxis(blocks[..., at, :, at - below, :], 0, -3)
