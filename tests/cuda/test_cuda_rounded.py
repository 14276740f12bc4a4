"""Solutions rounded and bounded by one kernel are those that array operations find."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from cuda_cases import EVERY, assert_same
from kernel_hashes import draws, plain

from mdqr._backend.host import backend as host
from mdqr._limbs import planes
from mdqr._limbs.planes import Kind
from mdqr._precision import PRECISIONS
from mdqr.linalg._solve.answer import Part, unknowns
from mdqr.linalg._solve.householder.augmented import Solution

# Effects of the powers of two of rows and columns: none near the ends of the range, underflow, and
# overflow.
SPANS = {"near": (-40, 40), "small": (-1120, -980), "large": (960, 1080)}


def system_of(backend, precision, is_complex, powers):
    kind = Kind(precision.limbs, is_complex)
    return SimpleNamespace(backend=backend, kind=kind, powers=powers)


def problem(rng, precision, is_complex, span, held=2):
    """Return the solution, what corrects it, errors, and the powers of rows and columns."""
    batch, n, k = (2,), 5, 3
    x = draws(rng, precision.limbs, (*batch, n, k), is_complex, plain)
    low = draws(rng, held, (*batch, n, k), is_complex, plain) * 2.0 ** -rng.integers(20, 60)
    error = rng.random((*batch, n, k)) * 2.0 ** (-53.0 * precision.limbs - rng.integers(0, 40))
    error[0, 0, 0], error[1, 2, 1] = 0.0, np.nan
    block = x.swapaxes(0, 1) if is_complex else x
    block[:, ..., 1, 2] = 0.0
    return x, low, error, (rng.integers(*span, (*batch, n)), rng.integers(-9, 9, (*batch, k)))


def found_by(backend, precision, is_complex, given, answer):
    x, low, error, (rows, columns) = given
    part = Part(x, x, columns, Solution(x, x, x, [], low), error)
    return unknowns(system_of(backend, precision, is_complex, rows), [part], answer)


@pytest.mark.parametrize("span", SPANS)
@pytest.mark.parametrize(("precision", "dtype"), EVERY)
def test_as_on_the_host(cuda, rng, precision, dtype, span):
    """The same limbs; bounds differ by roundings, and where limbs underflow by some units."""
    is_complex, answers = dtype is complex, (precision, PRECISIONS[0])
    for answer in answers:
        given = problem(rng, precision, is_complex, SPANS[span])
        for case in (given, (given[0], None, *given[2:])):
            ours = found_by(cuda, precision, is_complex, case, answer)
            wanted = found_by(host.backend(), precision, is_complex, case, answer)
            tiny = 64 * 2.0**-1074
            if span == "near":
                assert_same(ours.x, wanted.x)
            known = np.isfinite(wanted.x)
            assert (abs(ours.x[known] - wanted.x[known]) <= tiny).all()
            for mine, theirs in zip(ours[1:3], wanted[1:3], strict=True):
                finite = np.isfinite(theirs)
                if span == "near":
                    np.testing.assert_array_equal(np.isfinite(mine), finite)
                assert (mine[finite] >= theirs[finite] * (1 - 2.0**-40)).all()
            near = np.isfinite(wanted.bound)
            assert (ours.bound[near] <= wanted.bound[near] * (1 + 2.0**-40) + tiny).all()
            assert not (ours.kept & ~wanted.kept).any()
            if span == "near":
                np.testing.assert_array_equal(ours.kept, wanted.kept)


@pytest.mark.parametrize("held", [1, 4, 8])
def test_bounds_hold_of_fractions(cuda, rng, held):
    """Sums of full width and of another number of limbs, in a batch that is not contiguous."""
    precision = PRECISIONS[2]
    x, low, error, (rows, columns) = problem(rng, precision, False, SPANS["near"], held)
    x, low = x[..., ::-1, :], low[..., ::-1, :]
    error[np.isnan(error)] = 0.0
    found = found_by(cuda, precision, False, (x, low, error, (rows, columns)), precision)
    for place in np.ndindex(error.shape):
        item, i, j = place
        scale = Fraction(2) ** int(rows[item, i] - columns[item, j])
        exact, rounded, limbs = (
            sum(map(Fraction, block[(slice(None), *place)].tolist()))
            for block in (planes.widen(np.concatenate([x, low]), False, 12), found.x, low)
        )
        off = abs(exact * scale - rounded) + Fraction(float(error[place])) * scale
        assert off <= Fraction(float(found.bound[place]))
        assert limbs == 0 or off <= abs(rounded) * Fraction(float(found.relative[place]))
