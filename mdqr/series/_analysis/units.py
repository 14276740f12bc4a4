"""Series in the unit of t in which their coefficients are near one size.

Ratios, poles and approximants of ``c(2^p t)`` are those of ``c(t)`` times powers of two: all is
computed there, so that no answer depends on the unit of t or of c.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mdqr._array.array import MDArray
from mdqr._backend import for_block


class Unit(NamedTuple):
    """Powers of two: ``2**size c(2**time t)`` is computed with."""

    time: int
    size: int

    @classmethod
    def of(cls, c: MDArray) -> Unit:
        """Return the unit in which the line through ``log2 abs(c_k)`` is level, at about 1.

        Exponents are integers and the line is exact: another unit gives another `time`, and the
        same limbs.
        """
        k, e = _exponents(c)
        if not k.size:
            return cls(0, 0)
        n, k_sum, e_sum = len(k), sum(k.tolist()), sum(e.tolist())
        above = n * int(k @ e) - k_sum * e_sum
        below = n * int(k @ k) - k_sum**2
        time = -((2 * above + below) // (2 * below)) if below else 0
        return cls(time, -int((e + time * k).max()))

    def inward(self, c: MDArray, first: int = 0) -> MDArray:
        """Return coefficients of the orders from `first` on in this unit."""
        return ldexp(c, self.size + self.time * (first + np.arange(c.shape[-1])))

    def outward(self, c: MDArray, first: int = 0, size: int | None = None) -> MDArray:
        """Return coefficients as they were given, those of 1 for a `size` of 0."""
        powers = -self.time * (first + np.arange(c.shape[-1]))
        return ldexp(c, powers - (self.size if size is None else size))


def _exponents(c: MDArray) -> tuple[np.ndarray, np.ndarray]:
    """Return the orders whose coefficients are not zero, and the exponents of these."""
    values = c.to_device("cpu").to_numpy()
    size = np.maximum(abs(values.real), abs(values.imag))
    k = np.flatnonzero(size)
    return k, np.frexp(size[k])[1].astype(np.int64)


def ldexp(x: MDArray, powers: np.ndarray | int) -> MDArray:
    """Return numbers times powers of two: exactly, but where these leave the range of doubles."""
    backend = for_block(x._block)
    powers = np.broadcast_to(np.asarray(powers, np.int64), x.shape)
    block = backend.ldexp(x._block, backend.xp.asarray(powers), is_complex=x.is_complex)
    return MDArray._wrap(block, x.precision, x.is_complex)
