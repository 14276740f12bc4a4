"""Operands of exact products, and the bound of those that "auto" forms."""

from __future__ import annotations

from fractions import Fraction

import linalg_cases as cases
import numpy as np
from exact_matrices import flushed

import mdqr
from mdqr._backend.host import backend
from mdqr._precision import PRECISIONS
from mdqr.linalg._products.exact import product

HOST = backend.backend()
MULTIPLES = PRECISIONS[1:]


def auto(a, b, kind):
    """The product as "auto" forms it above the crossover; None where that goes directly."""
    x, y = a._block, b._block
    out = kind.empty(np, (a.shape[0], b.shape[1]))
    if not product.multiply(HOST, x, y, kind=kind, out=out):
        return None
    return mdqr.from_limbs(out, dtype=complex if kind.is_complex else float)


def within_auto_bound(a, b, found):
    """``abs(error) <= 2 eps (abs(a) @ abs(b))`` in every entry, parts of complex ones.

    And what each limb may lose below the range.
    """
    x, y = cases.Exact.of(a), cases.Exact.of(b)
    error = (cases.Exact.of(found) - x @ y).moduli()
    factor = (3 if found.is_complex else 2) * Fraction(found.precision.eps)
    return error.within(factor, x.moduli() @ y.moduli() + flushed(found.shape, found.precision))


def full(shape, precision, dtype, rng):
    """Entries of all sizes in (-1, 1) with full limbs."""
    return mdqr.random.uniform(shape, low=-1, high=1, precision=precision, dtype=dtype, rng=rng)


def by_powers(a, exponent):
    """a times 2**exponent."""
    return a * np.ldexp(1.0, exponent)
