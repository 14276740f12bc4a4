"""Determinants of octo-double factors, which an inverse of few limbs corrects to first order."""

from __future__ import annotations

from fractions import Fraction

import flint
import numpy as np
import pytest

import mdqr
from mdqr._backend import for_block
from mdqr._limbs import planes
from mdqr._limbs.planes import Kind
from mdqr._precision import PRECISIONS
from mdqr.linalg import det
from mdqr.linalg._factor.determinants import correction, inverse
from mdqr.linalg._factor.determinants.elimination import Elimination


def rationals(block):
    """The exact matrix of a block ``(limbs, 1, n, n)``."""
    exact = np.asarray(mdqr.from_limbs(planes.widen(block[:, 0], False, 8)).to_fractions())
    return flint.fmpq_mat([[flint.fmpq(x.numerator, x.denominator) for x in row] for row in exact])


def fraction(value):
    return Fraction(int(value.p), int(value.q))


def norm(matrix):
    """The maximum norm of an exact matrix."""
    return max(sum(abs(fraction(x)) for x in row) for row in matrix.tolist())


def eliminated(n, limbs, rng):
    """Factors of a random matrix with all limbs filled."""
    precision = next(p for p in PRECISIONS if p.limbs == limbs)
    a = mdqr.random.normal((1, n, n), precision=precision, rng=rng).limbs
    backend = for_block(a)
    a, _ = backend.balance_columns(a, None, is_complex=False)
    return Elimination(backend, a, Kind(limbs, False))


def perturbed(known, size, rng):
    """An inverse that errs by `size`, and what is shown of it."""
    x = np.linalg.inv(known.a[0]) * (1 + size * rng.standard_normal(known.a.shape[1:]))
    return inverse.of(known.backend, known.a, x[None], Kind(1, False), 2.0**-52)


def error_over_bound(error, bound):
    """The quotient of an error and its bound."""
    bound = Fraction(float(bound))
    assert error <= bound
    return float(error / bound)


@pytest.mark.parametrize("limbs", [1, 2, 4])
def test_bounds_of_traces_hold_and_are_close(limbs, rng):
    """By inverses that err by more than rounding does, so that what is left out shows."""
    closest, one = 0.0, flint.fmpq_mat(2, 2, [1, 0, 0, 1])
    for _ in range(100):
        known = eliminated(2, limbs, rng)
        found = correction.trace(known, perturbed(known, 2.0**-20, rng), np.inf)
        lower, upper = np.tril(known.factors.lu, -1), np.triu(known.factors.lu)
        planes.set_unit_diagonal(lower, False)
        m = one - rationals(known.a).inv() * rationals(lower) * rationals(upper)
        value = sum(map(Fraction, found.value[:, 0].tolist()))
        trace = fraction(m[0, 0]) + fraction(m[1, 1])
        closest = max(closest, error_over_bound(abs(value - trace), found.error[0]))
        left_out = abs(1 / fraction((one - m).det()) / (1 + trace) - 1)
        assert left_out <= Fraction(float(found.minors[0]))
    # Quad-doubles err by much less than eps, and tests of these bounds find that in the others.
    assert closest > 2.0**-10 or limbs == 4


@pytest.mark.parametrize("n", [3, 50])
def test_bounds_of_improved_inverses_hold_and_are_close(n, rng):
    known = eliminated(n, 4, rng)
    near = perturbed(known, 2.0**-20, rng)
    found = correction.improved(known, near, np.array([0]))
    one = rationals(Kind(1, False).identity(np, (n, n))[:, None])
    rest = one - rationals(found.block) * rationals(known.a)
    assert found.spread[0] < near.spread[0] ** 1.5
    assert error_over_bound(norm(rest), found.spread[0]) > 2.0**-10


@pytest.mark.parametrize("n", [5, 64])
@pytest.mark.parametrize("limbs", [2, 4])
def test_what_integers_cut_off_is_bounded(n, limbs, rng):
    """Columns of two large entries that cancel, and many small ones, which lose their last bits."""
    precision = next(p for p in PRECISIONS if p.limbs == limbs)
    kind = Kind(limbs, False)
    b = mdqr.random.normal((1, n, n), precision=precision, rng=rng).limbs * 2.0**-70
    a = rng.uniform(0.5, 1.0, (1, 1, n, n))
    b[:, :, :2] = 0.0
    b[0, :, 0], b[0, :, 1], a[..., 1] = 0.75, -0.75, a[..., 0]
    c = kind.zeros(np, (1, n))
    found, cut = correction._rest(for_block(a), c, a, b, kind, 40)
    wanted, closest = rationals(a) * rationals(b), 0.0
    values = np.asarray(mdqr.from_limbs(found[:, 0]).to_fractions())
    for i, j in np.ndindex(n, n):
        exact = fraction(wanted[i, j])
        rounding = Fraction(precision.eps) * abs(exact)
        error = max(abs(values[i, j] + exact) - rounding, Fraction(0))
        closest = max(closest, error_over_bound(error, cut[0, i]))
    assert closest > 2.0**-10 or n == 5  # residuals cut nothing off


@pytest.mark.parametrize("kind", ["normal", "integers", "graded", "of condition 1e30"])
@pytest.mark.parametrize("n", [20, 65])
def test_large_matrices_have_all_digits(kind, n, rng):
    a = mdqr.random.normal((n, n), precision=mdqr.od, rng=rng)
    if kind == "integers":
        a = mdqr.array(rng.integers(-9, 10, (n, n)), precision=mdqr.od) / 3
    elif kind == "graded":
        a = a * 2.0 ** np.linspace(-110, 110, n)[:, None].round()
    elif kind == "of condition 1e30":
        a[0] = a[1] + a[0] * 2.0**-100
    found, info = det(a, return_info=True)
    exact = fraction(rationals(a.limbs[:, None]).det())
    error = abs(Fraction(found.to_fractions().item()) - exact)
    assert error <= Fraction(float(info.error_bound))
    assert float(info.error_bound) <= 1.1 * (2 * n + 16) * mdqr.od.eps * float(abs(found))


def test_complex_matrices_are_corrected(rng):
    """The square of the modulus of that of X + iY is that of ``[[X, -Y], [Y, X]]``."""
    n = 50
    a = mdqr.random.normal((n, n), precision=mdqr.od, dtype="complex", rng=rng)
    found, info = det(a, return_info=True)
    x, y = (rationals(part.limbs[:, None]) for part in (a.real, a.imag))
    whole = flint.fmpq_mat(2 * n, 2 * n)
    for i, j in np.ndindex(n, n):
        whole[i, j] = whole[n + i, n + j] = x[i, j]
        whole[n + i, j], whole[i, n + j] = y[i, j], -y[i, j]
    square = fraction(whole.det())
    real, imag = (Fraction(part.to_fractions().item()) for part in (found.real, found.imag))
    relative = abs(real**2 + imag**2 - square) / square
    bound = Fraction(float(info.error_bound)) / Fraction(float(abs(found)))
    assert relative <= 2 * bound + bound**2
    assert bound < 1.1 * (4 * n + 16) * mdqr.od.eps
