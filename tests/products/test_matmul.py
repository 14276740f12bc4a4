"""Matrix products: the componentwise bound, NumPy's shapes, bad input."""

from __future__ import annotations

import os
import subprocess
import sys
from fractions import Fraction

import linalg_cases as cases
import numpy as np
import pytest
from each_case import each_case
from exact_matrices import flushed
from exact_matrices import product as integer_product
from hypothesis import given, settings
from hypothesis import strategies as st

import mdqr
from mdqr._backend.host import backend
from mdqr._limbs.planes import Kind
from mdqr.linalg import matmul
from mdqr.linalg._products import matmul as _products
from mdqr.testing import arrays, assert_same_bits


def check(a, b, product):
    """``abs(error) <= (k + 8) eps (abs(a) @ abs(b))`` in every entry; parts of complex ones."""
    x, y = cases.Exact.of(a), cases.Exact.of(b)
    error = (cases.Exact.of(product) - x @ y).moduli()
    # Each part of a complex entry is a sum of 2k real products, below sqrt(2) of their moduli.
    factor = (a.shape[1] + 8) * (3 if product.is_complex else 1)
    # Products of limbs may be below the range.
    lost = flushed(product.shape, product.precision)
    lost = cases.Exact(lost.real * a.shape[1] * product.precision.limbs, None, lost.exponent)
    sizes = x.moduli() @ y.moduli() + lost
    assert error.within(factor * Fraction(product.precision.eps), sizes)


@pytest.mark.parametrize("shape", [(1, 1, 1), (7, 30, 5), (33, 9, 40), (1, 200, 1)], ids=str)
def test_bound(precision, dtype, shape, rng):
    m, k, n = shape
    a = cases.random(m, k, precision, dtype, rng)
    b = cases.random(k, n, precision, dtype, rng)
    check(a, b, matmul(a, b))


def finite(precision, shape, dtype):
    return arrays(
        precision,
        shape,
        dtype=dtype,
        allow_nan=False,
        allow_infinity=False,
        min_exponent=-250,
        max_exponent=250,
    )


@settings(max_examples=25)
@given(data=st.data())
def test_bound_for_wild_entries(precision, dtype, data):
    a = data.draw(finite(precision, (4, 6), dtype))
    b = data.draw(finite(precision, (6, 3), dtype))
    check(a, b, matmul(a, b))


@each_case(
    "left, right",
    [
        ((3,), (3,)),
        ((3,), (3, 2)),
        ((4, 3), (3,)),
        ((4, 3), (3, 2)),
        ((5, 4, 3), (3, 2)),
        ((4, 3), (5, 3, 2)),
        ((5, 1, 4, 3), (6, 3, 2)),
        ((3,), (5, 3, 2)),
        ((5, 4, 3), (3,)),
        ((0, 3), (3, 2)),
        ((4, 0), (0, 2)),
        ((2, 0, 3), (2, 3, 0)),
    ],
)
def test_shapes_are_those_of_numpy(precision, dtype, left, right):
    a = np.arange(1.0, 1.0 + np.prod(left)).reshape(left)
    b = np.arange(2.0, 2.0 + np.prod(right)).reshape(right)
    if dtype is complex:
        a = a * (1 - 2j)
    product = matmul(mdqr.array(a, precision=precision), b)
    with np.errstate(invalid="ignore"):
        wanted = a @ b
    assert product.shape == wanted.shape
    assert product.is_complex == (dtype is complex)
    assert np.array_equal(product.to_numpy(), wanted)


def test_every_pair_of_precisions(rng):
    for p in mdqr.d, mdqr.qd:
        for q in mdqr.dd, mdqr.od:
            a, b = cases.random(5, 7, p, float, rng), cases.random(7, 3, q, complex, rng)
            for x, y in ((a, b), (b.T, a.T)):
                product = matmul(x, y)
                assert product.precision is max(p, q)
                check(x, y, product)


def test_fewer_limbs_have_the_same_bits(multiple, rng):
    a = rng.standard_normal((6, 9))
    b = cases.random(9, 4, multiple, float, rng)
    assert_same_bits(matmul(a, b), matmul(mdqr.array(a, precision=multiple), b))


def test_a_lower_precision_of_the_answer(rng):
    a, b = (cases.random(6, 6, mdqr.od, float, rng) for _ in range(2))
    product = matmul(a, b, precision="dd")
    assert product.precision is mdqr.dd
    assert_same_bits(product, matmul(a, b).astype(precision=mdqr.dd))


def test_methods(multiple, rng):
    a = cases.random(5, 5, multiple, float, rng)
    assert_same_bits(matmul(a, a, method="direct"), matmul(a, a))
    with pytest.raises(ValueError, match='method must be "auto", "direct" or "exact"; got \'crt\''):
        matmul(a, a, method="crt")


@pytest.mark.parametrize(
    ("left", "right", "message"),
    [
        ((), (3,), r"scalars are no matrices; got shapes \(\) and \(3,\)"),
        ((4, 3), (2, 3), r"shapes \(4, 3\) and \(2, 3\) do not fit: 3 columns against 2 rows"),
        ((3,), (4,), "do not fit: 3 columns against 4 rows"),
        ((2, 3, 3), (4, 3, 3), "do not broadcast to one batch"),
    ],
)
def test_bad_shapes(left, right, message):
    with pytest.raises(ValueError, match=message):
        matmul(mdqr.ones(left, precision=mdqr.dd), np.ones(right))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_not_finite_entries_go_their_way(multiple, bad, rng):
    a = rng.standard_normal((4, 5))
    b = rng.standard_normal((5, 3))
    a[1, 2] = bad
    product = matmul(mdqr.array(a, precision=multiple), b).to_numpy()
    with np.errstate(invalid="ignore"):
        wanted = a @ b
    assert np.array_equal(np.isnan(product), np.isnan(wanted))
    assert np.array_equal(product[1], wanted[1], equal_nan=True)
    assert np.isfinite(product[[0, 2, 3]]).all()


@pytest.mark.parametrize("batch", [(), (3,)], ids=str)
def test_progress_counts_the_columns(multiple, dtype, batch, monkeypatch, rng):
    a = cases.random(6, 7, multiple, dtype, rng)
    b = mdqr.random.normal((*batch, 7, 200), precision=multiple, dtype=dtype, rng=rng)
    # Memory of two tiles of 64 columns of the product with one matrix, less than of one with three.
    monkeypatch.setattr(_products, "_PIECE", 2 * 64 * 6 * 7 * multiple.limbs**2)
    calls = []
    product = matmul(a, b, progress=lambda *call: calls.append(call))
    assert_same_bits(product, matmul(a, b))
    ends = [64, 128, 192, 200] if batch else [128, 200]
    assert calls == [("matmul", end, 200) for end in ends]
    with pytest.raises(TypeError, match=r"^matmul: progress must be .*callable.*got list"):
        matmul(a, b, progress=calls)


def test_terms_that_are_left_where_the_largest_meet_zeros(multiple, dtype):
    """What underflows beside the largest values is no zero."""
    options = {"precision": multiple, "dtype": dtype}
    last = mdqr.array([[0, 1]] * 3, **options)
    for large, small in ((2.0**900, 2.0**-300), (2.0**540, 2.0**-540)):
        for n in (1, 3):
            far = mdqr.array([[large] * n, [small] * n], **options)
            for a, b in ((last, far), (far.T, last.T)):
                assert (matmul(a, b) == small).all()
                left = backend.backend().residual(
                    [], a.limbs, b.limbs, kind=Kind(multiple.limbs, dtype is complex)
                )
                assert (mdqr.from_limbs(left, dtype=dtype) == -small).all()


@pytest.fixture(scope="module")
def long_rows():
    """Return factors of a wild range, their exact product, and that of the moduli."""
    rng = np.random.default_rng(8)
    k = 2**15 + 100
    shapes = ((9, k), (k, 2))
    mantissas = [rng.integers(-(2**52), 2**52, shape) for shape in shapes]
    exponents = [rng.integers(-250, 251, shape) for shape in shapes]
    x, y = (np.ldexp(m.astype(float), e) for m, e in zip(mantissas, exponents, strict=True))
    a, b = (m.astype(object) << (e + 250) for m, e in zip(mantissas, exponents, strict=True))
    sums = integer_product(a, b), integer_product(abs(a), abs(b))
    to_fractions = np.frompyfunc(lambda value: Fraction(value, 2**500), 1, 1)
    return x, y, *map(to_fractions, sums)


def test_long_rows_of_wild_range_are_summed_exactly(precision, long_rows):
    """Beyond the digits and beyond the blocks that exact sums are computed in."""
    x, y, wanted, sizes = long_rows
    got = matmul(x, y, precision=precision, method="direct").to_fractions()
    for i, j in np.ndindex(got.shape):
        want, most = wanted[i, j], (len(y) + 8) * sizes[i, j]
        bound = abs(want) if precision.limbs > 2 else most  # dd has no digits
        assert abs(got[i, j] - want) <= precision.eps * bound


@pytest.mark.parametrize("level", ["portable", "v3", "v4", "neon"])
def test_products_with_the_transpose_are_symmetric(level):
    """To the last bit: every shape takes another way through the kernels."""
    code = """
import sys
import numpy as np, mdqr
from mdqr._precision import PRECISIONS
for precision in (p.name for p in PRECISIONS[1:]):
    for rows, columns in [(5, 3), (300, 1), (40, 9), (130, 20), (700, 7), (9, 70)]:
        x = mdqr.random.normal((rows, columns), precision=precision, rng=rows)
        g = (x.T @ x).limbs
        assert (g == g.swapaxes(-1, -2)).all(), (precision, rows, columns)
        x = mdqr.random.normal((rows, columns), precision=precision, rng=rows, dtype=complex)
        re, im = (x.H @ x).limbs
        assert (re == re.swapaxes(-1, -2)).all(), (precision, rows, columns)
        assert (im == -im.swapaxes(-1, -2)).all(), (precision, rows, columns)
"""
    found = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"MDQR_CPU_LEVEL": level},
        capture_output=True,
        text=True,
        check=False,
    )
    if "MDQR_CPU_LEVEL" in found.stderr:
        pytest.skip(f"this CPU has no level {level}")
    assert found.returncode == 0, found.stderr
