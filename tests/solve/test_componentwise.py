"""Bounds of single unknowns by an approximate pseudo-inverse."""

import numpy as np

import mdqr
from mdqr.linalg._factor.condition import condition
from mdqr.linalg._shared.caller import LSTSQ
from mdqr.linalg._shared.checks import Checks
from mdqr.linalg._shared.operands import gather
from mdqr.linalg._solve.householder.augmented import contraction_limit
from mdqr.linalg._solve.householder.componentwise import Inverse
from mdqr.linalg._solve.structure import Joined
from mdqr.linalg._solve.system import System


def test_errors_of_the_inverse_count_for_residuals_whose_squares_vanish(rng):
    """Their lengths were 0, and what errors of the inverse make of them was left out."""
    inputs = gather(mdqr.random.normal((7, 4), precision=mdqr.dd, rng=rng), precision=None)
    system = System.of(LSTSQ, inputs.backend, inputs.blocks[0], Checks(), kind=inputs.kind)
    limit = contraction_limit(system, condition(system.triangle), inputs.work.eps)
    inverse = Inverse(system, Joined.of(system), inputs.work.eps, limit)
    # Nothing is left but what errors of the inverse do.
    inverse._rows = 0 * inverse._rows
    f, g = abs(rng.standard_normal((1, 7, 1))), np.zeros((1, 4, 1))
    bound = inverse.bound(f, g)
    tiny = np.ldexp(inverse.bound(np.ldexp(f, -560), g), 560)
    assert (bound > 0).all()
    # The sum of moduli instead of the length.
    assert (tiny >= bound).all()
    assert (tiny <= 7**0.5 * bound * (1 + 2.0**-40)).all()
