"""Powers of two at which numbers of a precision keep all their limbs."""

from __future__ import annotations

import math

import numpy as np


def room(precision):
    """Return how many powers of two below 1 all limbs of a number are normal doubles."""
    return 1022 - 54 * precision.limbs


def in_range(exponents, precision):
    """Return exponents, raised to where numbers near that power of two hold all their bits."""
    found = np.maximum(exponents, math.frexp(precision.tiny)[1] + 1).astype(np.int32)
    return found if found.ndim else int(found)
