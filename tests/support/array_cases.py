"""Arrays and exact values for the tests of the array layer."""

import math
from fractions import Fraction

import numpy as np
from hypothesis import settings

import mdqr
from mdqr.testing import arrays
from mdqr.testing._exact import SCALE, to_integers

# For tests that run for every precision and field, and whose subject is neither.
few_examples = settings(max_examples=settings.default.max_examples // 3)
SPECIALS = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan]


def finite(precision, shape=64, dtype=float):
    """Draw finite values."""
    return arrays(precision, shape, dtype=dtype, allow_nan=False, allow_infinity=False)


def counted(precision, shape, dtype=float):
    """Return an array whose planes hold distinct small integers: every double says its place."""
    front = (2, precision.limbs) if dtype is complex else (precision.limbs,)
    block = np.arange(1.0, np.prod((*front, *shape), dtype=int) + 1).reshape(*front, *shape)
    return mdqr.from_limbs(block, dtype=dtype, normalize=False)


def planes(a):
    """Return the limb planes of `a`, real ones first, as views."""
    parts = a.limbs if a.is_complex else [a.limbs]
    return [part[i, ...] for part in parts for i in range(len(part))]


def exact(a):
    """Return the exact values of a real array as an object array of Fractions."""
    units = to_integers(a.limbs)
    values = np.empty(units.shape, dtype=object)
    for place in np.ndindex(units.shape):
        values[place] = Fraction(units[place], 2**SCALE)
    return values


def full_width(rng, precision, shape=(), dtype=None):
    """Return normal values with every limb filled."""
    return mdqr.random.normal(shape, precision=precision, rng=rng, dtype=dtype)


def same_bits(a, b):
    """Return whether two arrays have the same limbs, bit for bit."""
    return (
        a.precision is b.precision
        and a.is_complex == b.is_complex
        and a.shape == b.shape
        and np.ascontiguousarray(a.limbs).tobytes() == np.ascontiguousarray(b.limbs).tobytes()
    )
