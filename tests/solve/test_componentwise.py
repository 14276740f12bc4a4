"""Bounds of single unknowns by an approximate pseudo-inverse."""

import numpy as np

import mdqr
from mdqr.linalg._factor.condition import condition
from mdqr.linalg._shared.caller import LSTSQ
from mdqr.linalg._shared.checks import Checks
from mdqr.linalg._shared.operands import gather
from mdqr.linalg._solve.householder.augmented import Extension, contraction_limit
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


def test_residuals_of_huge_solutions_have_all_bits_of_the_matrix():
    """Operands were moved down where solutions are near the upper end, and lost their last bits."""
    a = mdqr.array([[1.0, 2.0**-1072], [0.0, 1.0]], precision=mdqr.od)
    b, x = (mdqr.array([[p], [q]], precision=mdqr.od) for p, q in ((0.5, 2.0**989), (1, 2.0**990)))
    inputs = gather(a, b, precision=None)
    system = System.of(LSTSQ, inputs.backend, a._block, Checks(), kind=inputs.kind)
    extension = Extension(system, mdqr.od, 1)
    assert extension.exact
    assert system.a[0].tolist() == [[0.5, 2.0**-1073], [0.0, 0.5]]
    found, power = extension.residual(b._block, extension.spread(x._block), [])
    assert found[0].ravel().tolist() == [-np.ldexp(1.0, power - 83), 0.0]
