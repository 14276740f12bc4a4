"""Random integers, exponents and limbs, for problems that are made without rounding."""

from __future__ import annotations

import math
import random

import numpy as np

from mdqr._precision import PRECISIONS

LOWEST, HIGHEST = -1074, 1023


class Draw(random.Random):
    """Random draws by the standard library, whose sequence is the same on every machine."""

    def chance(self, probability):
        return self.random() < probability

    def precision(self, *weights):
        """A precision; those beyond the weights have the last of them."""
        more = len(PRECISIONS) - len(weights)
        return self.choices(PRECISIONS, (*weights, *weights[-1:] * more))[0]

    def loguniform(self, low, high):
        return math.exp(self.uniform(math.log(low), math.log(high)))

    def wide(self, bits):
        """An integer of at most `bits` bits: random, in runs of ones and zeros, or sparse."""
        kind = self.random()
        if kind < 0.8:
            value = self.getrandbits(bits) | 1 << (bits - 1)
        elif kind < 0.9:
            value = 1
            while value.bit_length() < bits:
                run = self.randint(1, 70)
                value = value << run | (((1 << run) - 1) * self.getrandbits(1))
            value = value & ((1 << bits) - 1) | 1
        else:
            value = sum(1 << self.randrange(bits) for _ in range(self.randint(1, 5)))
        return -value if self.getrandbits(1) else value

    def full(self, shape, bits):
        """An object array of integers of full width."""
        return np.array([self.wide(bits) for _ in range(math.prod(shape))], dtype=object).reshape(
            shape
        )

    def small(self, shape, most=9):
        """An object array of small integers."""
        return np.array(
            [self.randint(-most, most) for _ in range(math.prod(shape))], dtype=object
        ).reshape(shape)

    def exponents(self, shape, most):
        """An array of exponents between -most and most."""
        return np.array(
            [self.randint(-most, most) for _ in range(math.prod(shape))], dtype=np.int64
        ).reshape(shape)


def product(x, y):
    """Return the product of matrices ``(parts, m, n)`` of integers, real or complex."""
    if len(x) == len(y) == 1:
        return (x[0] @ y[0])[None]
    re, im = x[0], x[1] if len(x) == 2 else 0 * x[0]
    y_re, y_im = y[0], y[1] if len(y) == 2 else 0 * y[0]
    return np.stack([re @ y_re - im @ y_im, re @ y_im + im @ y_re])


def conjugate_transpose(x):
    """Return the conjugate transpose of a matrix ``(parts, m, n)``."""
    transposed = x.swapaxes(-1, -2)
    return transposed if len(x) == 1 else np.stack([transposed[0], -transposed[1]])


def limbs_of(ints, exponents, count):
    """Return limbs ``(parts, count, ...)`` of ``ints * 2**exponents``, each the nearest double.

    What is beyond the range is moved to its end, and what is below it is rounded to a subnormal.
    """
    exponents = np.broadcast_to(exponents, ints.shape)
    flat = [
        _limbs(int(value), int(exponent), count)
        for value, exponent in zip(ints.ravel(), exponents.ravel(), strict=True)
    ]
    block = np.array(flat, dtype=np.float64).reshape(*ints.shape, count)
    return np.ascontiguousarray(np.moveaxis(block, -1, 1))


def _limbs(value, exponent, count):
    out = []
    exponent = min(exponent, HIGHEST - value.bit_length())
    for _ in range(count):
        if not value:
            break
        excess = max(value.bit_length() - 1000, 0)
        leading = float(value >> excess)
        out.append(math.ldexp(leading, exponent + excess))
        value -= int(leading) << excess
    return out + [0.0] * (count - len(out))
