"""Arrays of balls: midpoints in multiple-double precision, radii in float64.

Each operation gives a ball that contains all results for operands out of theirs: its radius has
the rounding error of the midpoint, too, at most 2 eps of a sum, a product or a quotient
(complex: 4 eps of products, 10 eps of quotients), as `mdqr.add` and its like state. Radii are
rounded upwards by a factor of ``1 + 2^-30``, more than the rounding errors of a sum of 2^20
products in float64, and by `_LEAST`, above all that underflows. Overflow makes them infinite
or NaN, which proves nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import mdqr
from mdqr._array.array import MDArray
from mdqr._precision import Precision

_UPWARDS, _LEAST = 1.0 + 2.0**-30, 2.0**-1000
_DOWNWARDS = 1.0 - 2.0**-30
_ADD, _MULTIPLY, _DIVIDE = (2.0, 2.0), (2.0, 4.0), (2.0, 10.0)  # eps: real, complex
_EXACT = (bool, int, float, complex, np.bool_, np.integer, np.float64, np.complex128)
_WHOLE = 2**53


def up(x: Any) -> Any:
    """Return an upper bound of what a few float64 operations on positive numbers rounded."""
    return x * _UPWARDS + _LEAST


def size(x: MDArray) -> np.ndarray:
    """Return upper bounds of moduli."""
    return np.asarray(up(np.abs(x.to_numpy())))


@dataclass(eq=False)
class Ball:
    """Numbers `mid` with errors of at most `rad` in modulus, of one shape."""

    mid: MDArray
    rad: Any = 0.0

    def __post_init__(self) -> None:
        self.rad = np.broadcast_to(np.asarray(self.rad, dtype=float), self.mid.shape)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return self.mid.shape

    @property
    def size(self) -> np.ndarray:
        """Upper bounds of moduli, float64."""
        return np.asarray(up(size(self.mid) + self.rad))

    @property
    def least(self) -> np.ndarray:
        """Lower bounds of moduli, at least 0."""
        near = np.abs(self.mid.to_numpy()) * _DOWNWARDS - up(self.rad) - _LEAST
        return np.maximum(near, 0.0)

    @property
    def T(self) -> Ball:
        """The transposed matrix."""
        return Ball(self.mid.T, self.rad.T)

    def eps(self, factors: tuple[float, float], mid: MDArray) -> np.ndarray:
        """Return the rounding error of a midpoint."""
        return np.asarray(factors[mid.is_complex] * mid.precision.eps * size(mid))

    def __getitem__(self, key: Any) -> Ball:
        return Ball(self.mid[key], self.rad[key])

    def __neg__(self) -> Ball:
        return Ball(-self.mid, self.rad)

    def __add__(self, other: Ball) -> Ball:
        mid = self.mid + other.mid
        return Ball(mid, up(self.rad + other.rad + self.eps(_ADD, mid)))

    def __sub__(self, other: Ball) -> Ball:
        return self + -other

    def __mul__(self, other: Ball) -> Ball:
        mid = self.mid * other.mid
        rad = size(self.mid) * other.rad + self.rad * other.size
        return Ball(mid, up(rad + self.eps(_MULTIPLY, mid)))

    def __truediv__(self, other: Ball) -> Ball:
        mid = self.mid / other.mid
        with np.errstate(all="ignore"):
            # a / b - m / n = (a - m) / b + m (n - b) / (n b)
            rad = (self.rad + size(mid) * _UPWARDS * other.rad) / other.least
        return Ball(mid, up(up(rad) + self.eps(_DIVIDE, mid)))

    def times(self, factor: float) -> Ball:
        """Return the product with a power of two, or an integer up to 2^20."""
        mid = self.mid * factor
        return Ball(mid, up(self.rad * abs(factor) + self.eps(_ADD, mid)))

    def __matmul__(self, other: Ball) -> Ball:
        """Multiply matrices, or a matrix and a vector."""
        mid, terms = self.mid @ other.mid, self.shape[-1]
        a, b = size(self.mid), other.size
        rounding = 4.0 * (terms + 16.0) * mid.precision.eps
        return Ball(mid, up(self.rad @ b + a @ other.rad + rounding * (a @ size(other.mid))))

    def sum(self, axis: int) -> Ball:
        """Return sums along an axis."""
        mid, terms = self.mid.sum(axis=axis), self.shape[axis]
        rounding = 4.0 * (terms + 16.0) * mid.precision.eps
        return Ball(mid, up(self.rad.sum(axis=axis) + rounding * size(self.mid).sum(axis=axis)))

    def reshape(self, shape: tuple[int, ...]) -> Ball:
        """Return the array in another shape."""
        return Ball(self.mid.reshape(shape), self.rad.reshape(shape))

    def broadcast_to(self, shape: tuple[int, ...]) -> Ball:
        """Return the array repeated to a shape."""
        return Ball(mdqr.broadcast_to(self.mid, shape), np.broadcast_to(self.rad, shape))

    def parts(self, axis: int) -> Ball:
        """Return real and imaginary parts one after the other."""
        mid = mdqr.concatenate([self.mid.real, self.mid.imag], axis=axis)
        return Ball(mid, np.concatenate([self.rad, self.rad], axis=axis))


def stack(balls: list[Ball]) -> Ball:
    """Return arrays of one shape along a new first axis."""
    return Ball(mdqr.stack([b.mid for b in balls]), np.stack([b.rad for b in balls]))


def enclosed(x: Any, precision: Precision) -> Ball:
    """Return numbers in a precision, with what their conversion rounds.

    Raises
    ------
    TypeError
        If an entry is not a number.
    """
    if isinstance(x, Ball):
        return x
    if isinstance(x, MDArray):
        mid = x.astype(precision)
        if x.precision <= precision:
            return Ball(mid)
        lost = x - mid.astype(x.precision)
        return Ball(mid, np.where(np.asarray(lost == 0), 0.0, size(lost)))
    if isinstance(x, (str, bytes)):
        raise TypeError("texts are no numbers here")
    mid = mdqr.array(x, precision=precision)
    is_exact = isinstance(x, _EXACT) or (isinstance(x, np.ndarray) and x.dtype.kind in "biufc")
    if is_exact and not np.any(np.abs(mid.to_numpy()) > _WHOLE):
        return Ball(mid)
    return Ball(mid, up(4.0 * precision.eps * size(mid)))
