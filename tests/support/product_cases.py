"""Products and residuals of the CUDA kernels, and their bounds against exact arithmetic."""

from __future__ import annotations

from fractions import Fraction

import linalg_cases as cases
import numpy as np
import pytest

import mdqr
from mdqr._backend.cuda.products import products
from mdqr._limbs.planes import Kind
from mdqr._precision import PRECISIONS

# Compiling takes most of the time: by default the lower precisions, one field each.
CASES = [
    pytest.param(
        (precision, dtype),
        id=f"{precision}-{dtype.__name__}",
        marks=() if precision is PRECISIONS[1] and dtype is complex else pytest.mark.long,
    )
    for precision in PRECISIONS[1:]
    for dtype in (complex, float)
]

WILD = {"allow_nan": False, "allow_infinity": False, "min_exponent": -250, "max_exponent": 250}


def call(kernels, a, b, *, conj_a=False, conj_b=False, c=None, subtract=False, out=None):
    """The product of arrays as an array."""
    addend = None if c is None else c.limbs
    block = products.matmul(
        kernels, a.limbs, b.limbs, Kind(max(a.precision, b.precision).limbs, a.is_complex),
        conj_a, conj_b, addend, subtract, out,
    )  # fmt: skip
    return mdqr.from_limbs(block, dtype=complex if a.is_complex else float, normalize=False)


def check(result, a, b, c=None, subtract=False):
    """The product within ``(k + 8) eps abs(a) @ abs(b)``, the sum with `c` rounded by 2 eps."""
    x, y = cases.Exact.of(a), cases.Exact.of(b)
    wanted, room = x @ y, x.moduli() @ y.moduli()
    eps = Fraction(result.precision.eps)
    found = cases.Exact.of(result)
    # Each part of a complex entry is a sum of 2k real products: the modulus is within sqrt 2 of it,
    # and the moduli of the oracle are rounded up.
    bound = room.real * (a.shape[-1] + 8) * 2
    unit = room.exponent
    if c is not None:
        start = cases.Exact.of(c)
        wanted = start - wanted if subtract else start + wanted
        size = wanted.moduli()
        top = max(size.exponent, unit)
        bound = bound * 2 ** (top - unit) + 4 * size.at(top).real
        unit = top
    elif subtract:
        wanted = -wanted
    error = (found - wanted).moduli()
    limit = cases.Exact(bound, None, unit)
    assert error.within(eps, limit)
    assert is_normal(result.limbs, result.is_complex)


def is_normal(block, is_complex):
    """Whether every number is normalised, without negative zeros below its leading limb."""
    planes = np.moveaxis(block, 1, 0) if is_complex else block
    pairs = (planes[:-1] + planes[1:]) == planes[:-1]
    return bool(pairs.all() and not np.signbit(planes[1:][planes[1:] == 0]).any())


def draw(kind, rng, *shape):
    return cases.random(*shape, *kind, rng)


def check_residual(kernels, kind, terms, a, b, conj_a):
    """Within ``eps`` of the result and ``(k + 8) eps**2`` of the sums of moduli."""
    precision, dtype = kind
    block = products.residual(
        kernels, [(sign, term.limbs) for sign, term in terms], a.limbs, b.limbs,
        Kind(precision.limbs, dtype is complex), conj_a,
    )  # fmt: skip
    x, y = cases.Exact.of(a.conj() if conj_a else a), cases.Exact.of(b)
    wanted, room = x @ y, x.moduli() @ y.moduli()
    wanted = -wanted
    for sign, term in terms:
        value = cases.Exact.of(term)
        wanted = wanted - value if sign < 0 else wanted + value
        room = room + value.moduli()
    found = cases.Exact.of(mdqr.from_limbs(block, dtype=dtype, normalize=False))
    eps = Fraction(precision.eps)
    size = wanted.moduli()
    top = max(size.exponent, room.exponent)
    # Twice for the moduli of complex errors.
    bound = size.at(top).real * eps.denominator
    bound = 2 * (bound + (a.shape[-1] + 8) * room.at(top).real)
    assert (found - wanted).moduli().within(eps**2, cases.Exact(bound, None, top))
