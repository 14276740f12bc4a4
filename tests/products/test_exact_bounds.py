"""Bounds of exact products, and the matrices that they serve."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import linalg_cases as cases
import numpy as np
import pytest
from exact_product_cases import MULTIPLES, auto, by_powers, full, within_auto_bound
from hypothesis import given, settings
from hypothesis import strategies as st

import mdqr
from mdqr._limbs.planes import Kind
from mdqr._precision import PRECISIONS
from mdqr.linalg import matmul
from mdqr.testing import arrays


@pytest.mark.parametrize("shape", [(1, 1, 1), (7, 30, 5), (33, 9, 40), (70, 65, 129)], ids=str)
def test_both_bounds(precision, dtype, shape, rng):
    if precision == mdqr.d:
        pytest.skip('of "exact" alone: BLAS multiplies otherwise')
    m, k, n = shape
    a, b = (
        full((m, k), precision, dtype, rng),
        full((k, n), precision, dtype, rng),
    )
    kind = Kind(precision.limbs, dtype is complex)
    found = auto(a, b, kind)
    if found is not None:
        assert within_auto_bound(a, b, found)
    check_exact_bound(a, b, matmul(a, b, method="exact"))


def check_exact_bound(a, b, found):
    """The bound of the docstring, without balancing: k 2**(e + f - 53 N - 3) and one rounding."""
    x, y = cases.Exact.of(a), cases.Exact.of(b)
    error = (cases.Exact.of(found) - x @ y).moduli()
    peaks = [
        mdqr.array(2.0 ** np.ceil(np.log2(abs(v).max(axis=axis).to_numpy())), precision=mdqr.dd)
        for v, axis in ((a, 1), (b, 0))
    ]
    size = cases.Exact.of(peaks[0][:, None] * peaks[1][None, :])
    limbs, k = found.precision.limbs, a.shape[1]
    lost = cases.Exact(
        size.real * 2 * k * (1 + found.is_complex), None, size.exponent + 53 * limbs + 3
    )
    # Parts of complex numbers are rounded each.
    exact = (x @ y).moduli()
    eps_bits = -round(math.log2(found.precision.eps))
    assert error.within(
        Fraction(1), lost + cases.Exact(exact.real, None, exact.exponent + eps_bits)
    )


@pytest.mark.parametrize("precision", MULTIPLES, ids=str)
def test_exact_bound_where_every_term_loses_half_a_unit(precision):
    """Terms below half a unit beside large ones that cancel, in lines that nothing balances."""
    limbs, many = precision.limbs, 32
    small = mdqr.full(many, (1 - 2.0**-20) * 2.0 ** (-53 * limbs - 6), precision=precision)
    large = mdqr.full(many, 0.75, precision=precision)
    pairs = [mdqr.concatenate(pair) for pair in ((small, large), (large, small))]
    front = large[:2] * np.array([1.0, -1.0])
    a = mdqr.stack([mdqr.concatenate([front, pair]) for pair in pairs])
    b = mdqr.stack([mdqr.concatenate([large[:2], pair]) for pair in pairs[::-1]]).T
    found = matmul(a, b, method="exact")
    check_exact_bound(a, b, found)
    error = abs(found[0, 0] - 1.5 * many * small[0])
    # A bit more than `full_bits` would show: the bound is 2^4 times what is lost here.
    assert 0.9 < float(error * 2.0 ** (53 * limbs + 6)) / (1.5 * many) < 1.0


@pytest.mark.parametrize(
    "pair", list(itertools.product([p.limbs for p in PRECISIONS], repeat=2)), ids=str
)
@pytest.mark.parametrize("precision", MULTIPLES, ids=str)
def test_operands_of_any_precision(pair, precision, rng):
    if max(pair) > precision.limbs:
        pytest.skip("the result would have more limbs")
    names = {each.limbs: each for each in PRECISIONS}
    a = full((20, 33), names[pair[0]], float, rng)
    b = full((33, 17), names[pair[1]], float, rng)
    found = auto(a, b, Kind(precision.limbs, False))
    assert within_auto_bound(a, b, found)


FAMILIES = ("lognormal", "columns", "rows", "graded", "inner", "one wild column", "hilbert")


def family(name, size, n, precision, rng, dtype=float):
    """Matrices of the families where fixed-point rows and columns are tried."""
    a, b = (
        full((n, n), precision, dtype, rng),
        full((n, n), precision, dtype, rng),
    )
    powers = np.rint(size * rng.standard_normal(n)).astype(int)
    if name == "lognormal":
        steps = np.rint(size / 4 * rng.standard_normal((2, n, n))).astype(int)
        return by_powers(a, steps[0]), by_powers(b, steps[1])
    if name == "columns":
        return by_powers(a, powers), by_powers(b, powers[::-1])
    if name == "rows":
        return by_powers(a, powers[:, None]), by_powers(b, powers[:, None])
    if name == "graded":
        return cases.scaled(a, rows=-size, columns=size), cases.scaled(b, rows=-size)
    if name == "inner":
        return by_powers(a, powers), by_powers(b, -powers[:, None])
    if name == "one wild column":
        a = a.copy()
        a[:, 0] = by_powers(a[:, 0], -size * np.arange(n))
        return a, b
    i = mdqr.arange(1, n + 1, precision=precision)
    h = 1 / (i[:, None] + i - 1)
    return h * (1 - 2j) if dtype is complex else h, b


@pytest.mark.parametrize("size", [1, 8, 20])
@pytest.mark.parametrize("name", FAMILIES)
def test_families(multiple, dtype, name, size, rng):
    """Within the bound of "auto" or by limbs; and of "exact", balanced or not."""
    a, b = family(name, size, 30, multiple, rng, dtype)
    found = auto(a, b, Kind(multiple.limbs, dtype is complex))
    assert found is None or within_auto_bound(a, b, found)
    check_exact_bound(a, b, matmul(a, b, method="exact"))


@pytest.mark.parametrize("name", ["inner", "rows", "columns"])
def test_balancing_serves_scaled_matrices(name, rng):
    """Powers of two between rows, columns and terms do not send products the direct way."""
    if name == "inner":
        a, b = family(name, 20, 30, mdqr.dd, rng)
    elif name == "rows":
        a, b = (
            cases.scaled(full((30, 30), mdqr.dd, float, rng), rows=20),
            full((30, 30), mdqr.dd, float, rng),
        )
    else:
        a, b = (
            full((30, 30), mdqr.dd, float, rng),
            cases.scaled(full((30, 30), mdqr.dd, float, rng), columns=-20),
        )
    found = auto(a, b, Kind(2, False))
    assert found is not None
    assert within_auto_bound(a, b, found)


def test_too_wild_rows_go_directly():
    a = mdqr.array([[1.0, 2.0**-300], [1.0, 1.0]], precision="dd")
    b = mdqr.array([[0.0, 1.0], [1.0, 2.0**-300]], precision="dd")
    assert auto(a, b, Kind(2, False)) is None


@settings(max_examples=30)
@given(data=st.data())
def test_bound_for_any_entries(data):
    finite = {"allow_nan": False, "allow_infinity": False}
    span = {"min_exponent": -60, "max_exponent": 60}
    a = data.draw(arrays(mdqr.dd, (4, 6), **finite, **span))
    b = data.draw(arrays(mdqr.dd, (6, 3), **finite, **span))
    found = auto(a, b, Kind(2, False))
    assert found is None or within_auto_bound(a, b, found)


# -- zeros, structure and the limits of doubles ------------------------------------------------


def test_triangles_are_products_of_residues(rng):
    """Zeros of the pattern are no small entries."""
    a = full((40, 40), mdqr.qd, float, rng)
    # Moduli between 1 and 2: small entries near the diagonal would be cut to nothing.
    a = mdqr.triu(a + np.where(a.to_numpy() < 0, -1.0, 1.0))
    found = auto(a, a, Kind(4, False))
    assert found is not None
    assert within_auto_bound(a, a, found)
    assert (found.to_numpy()[np.tril_indices(40, -1)] == 0).all()


def test_zero_rows_and_columns(rng):
    a, b = (
        full((9, 8), mdqr.dd, float, rng).copy(),
        full((8, 7), mdqr.dd, float, rng).copy(),
    )
    a[3] = 0
    b[:, 2] = 0
    b[5] = 0
    found = auto(a, b, Kind(2, False))
    assert within_auto_bound(a, b, found)
    assert not found[3].to_numpy().any()
    assert not found[:, 2].to_numpy().any()
    nothing = auto(
        mdqr.zeros((3, 4), precision=mdqr.dd), mdqr.zeros((4, 2), precision=mdqr.dd), Kind(2, False)
    )
    assert not nothing.to_numpy().any()


@pytest.mark.parametrize("exponent", [-1060, -900, -500, 480])
def test_ends_of_the_range(exponent, rng):
    a = by_powers(full((6, 9), mdqr.qd, float, rng), exponent)
    b = full((9, 5), mdqr.qd, float, rng)
    found = matmul(a, b, method="exact")
    error = (cases.Exact.of(found) - cases.Exact.of(a) @ cases.Exact.of(b)).moduli()
    size = cases.Exact.of(a).moduli() @ cases.Exact.of(b).moduli()
    smallest = cases.Exact.of(mdqr.full((6, 5), 2.0**-1074, precision=mdqr.dd))
    eps = Fraction(mdqr.qd.eps)
    assert all(
        e <= 20 * eps * s + t
        for e, s, t in zip(*(_values(x) for x in (error, size, smallest)), strict=True)
    )


def _values(x):
    return [Fraction(int(v)) * Fraction(2) ** -x.exponent for v in x.real.ravel()]


def test_overflow_is_infinite():
    a = mdqr.full((2, 2), 2.0**1000, precision="dd")
    found = matmul(a, -a, method="exact")
    assert (found.to_numpy() == -math.inf).all()
    assert not found.limbs[1].any()


@pytest.mark.parametrize("special", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_refused(special, dtype, rng):
    a = full((8, 6), mdqr.dd, dtype, rng).copy()
    b = full((6, 5), mdqr.dd, dtype, rng)
    a[2, 3] = special
    with pytest.raises(mdqr.linalg.LinAlgError, match=r"finite.*direct"):
        matmul(a, b, method="exact")
