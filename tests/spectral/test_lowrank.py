"""Approximations of low rank, norms by singular values, and polar decompositions."""

from __future__ import annotations

import linalg_cases as cases
import mpmath
import numpy as np
import pytest
import scipy.linalg
from each_case import each_case
from hypothesis import given
from hypothesis import strategies as st

import mdqr
from mdqr._precision import PRECISIONS
from mdqr.linalg import LinAlgError, lowrank, matrix_rank, norm, pinv, polar, svdvals
from mdqr.testing import assert_same_bits, matrix


def size(exact):
    """The Frobenius norm of an exact matrix."""
    with mpmath.workdps(30):
        total = mpmath.mpf(sum(int(v) for v in exact.squares().ravel()))
        return float(mpmath.sqrt(total) * mpmath.mpf(2) ** -exact.exponent)


def adjoint(x):
    return x.mT.conj()


def off(q):
    """The distance of columns from orthonormal ones."""
    exact = cases.Exact.of(q)
    return size(exact.H @ exact - cases.identity(q.shape[-1]))


def accept(a, u, s, vh, left_out=0.0):
    """What is left is what was left out, vectors are orthonormal, values in order."""
    k, eps = min(a.shape), s.precision.eps
    whole = float(norm(a))
    rest = cases.Exact.of(a) - cases.Exact.of(u * s) @ cases.Exact.of(vh)
    # Products of U and s are rounded once; both norms are Frobenius's.
    assert size(rest) <= left_out + (60 * k + 8) * eps * k**0.5 * whole + 1e-322
    for q in (u, adjoint(vh)):
        assert off(q) <= 60 * k * eps * k**0.5
    found = s.to_fractions()
    assert (found[:-1] >= found[1:]).all()


@given(
    st.sampled_from(PRECISIONS),
    st.sampled_from([float, complex]),
    st.integers(1, 9),
    st.integers(1, 9),
    st.integers(1, 9),
    st.integers(-12, 12),
    st.integers(-60, 60),
    st.integers(0, 2**32 - 1),
)
def test_matrices_of_low_rank(precision, dtype, m, n, rank, rows, columns, seed):
    """Products of thin matrices of integers have exactly that rank, whatever they are scaled by."""
    rng, rank = np.random.default_rng(seed), min(m, n, rank)
    x, y = rng.integers(-99, 99, (m, rank)), rng.integers(-99, 99, (rank, n))
    a = mdqr.array((x @ y).tolist(), precision=precision, dtype=dtype)
    if dtype is complex:
        a = a * 1j
    a = cases.scaled(a, rows, columns)
    if not float(norm(a)):
        return
    u, s, vh = lowrank(a, rtol=0)
    accept(a, u, s, vh)
    accept(a, *lowrank(a, rank))
    values = svdvals(a)
    least = 60 * min(m, n) * precision.eps * float(values[0])
    assert float(abs(s - values[: len(s)]).max()) <= 2 * least
    assert len(values) == len(s) or float(values[len(s)]) <= 2 * least


@pytest.mark.parametrize("r", [1, 4, 9])
def test_nearest_matrix_of_a_rank(precision, dtype, r, rng):
    a = mdqr.random.normal((12, 9), precision=precision, dtype=dtype, rng=rng)
    for b in (a, a.T):
        u, s, vh = lowrank(b, r)
        assert [x.shape for x in (u, s, vh)] == [(b.shape[0], r), (r,), (r, b.shape[1])]
        accept(b, u, s, vh, float(norm(svdvals(b)[r:])))


def test_batches(multiple, dtype, rng):
    a = mdqr.random.normal((2, 3, 6, 5), precision=multiple, dtype=dtype, rng=rng)
    u, s, vh = lowrank(a, 2)
    assert [x.shape for x in (u, s, vh)] == [(2, 3, 6, 2), (2, 3, 2), (2, 3, 2, 5)]
    for place in np.ndindex(2, 3):
        left = float(norm(svdvals(a[place])[2:]))
        accept(a[place], u[place], s[place], vh[place], left)
    with pytest.raises(ValueError, match="give r for a batch"):
        lowrank(a)


def test_numerical_rank(multiple):
    """By default that of the entries; smaller values are right too where the caller wants them."""
    i = mdqr.arange(1, 21, precision=multiple)
    hilbert = 1 / (i[:, None] + i - 1)
    values = svdvals(hilbert)
    for rtol in (1e-5, 1e-9):
        assert lowrank(hilbert, rtol=rtol).S.shape == ((values > rtol * values[0]).sum(),)
    assert lowrank(hilbert.to_numpy(), precision=multiple).S.shape == (13,)
    assert lowrank(hilbert.to_numpy(), rtol=0, precision=multiple).S.shape == (20,)


def test_ranks_by_values_above_rounding(precision, dtype, rng):
    """`matrix_rank` stops at the numerical rank, unless the tolerance is below rounding errors."""
    a = mdqr.random.normal((3, 12, 9), precision=precision, dtype=dtype, rng=rng)
    a[1] = a[1, :, :4] @ a[1, :4]
    a[2] = cases.scaled(a[2], 0, -7)
    for rtol in (None, 1e-9, np.array([1e-3, 1e-6, 1e-9])):
        values = svdvals(a)
        least = 12 * precision.eps if rtol is None else rtol
        wanted = (values > values[:, :1] * np.broadcast_to(least, 3)[:, None]).sum(axis=-1)
        assert matrix_rank(a, rtol=rtol).tolist() == wanted.tolist()
    graded = cases.scaled(a[0], 0, -40)
    assert matrix_rank(graded, rtol=0) == 9


def test_columns_beyond_the_rank_are_not_factored(multiple, rng):
    a = cases.random(60, 5, multiple, float, rng) @ cases.random(5, 50, multiple, float, rng)
    seen = []
    lowrank(a, progress=lambda *call: seen.append(call))
    done, total = max(call[1:] for call in seen if call[0] == "factor")
    assert done < 50
    assert total == 50


def test_kernel_of_the_intermediate_representation():
    """cosh(c x y / 2) / cosh(c y / 2) on Gauss points of segments that cluster where it varies."""
    c, points, dd = 1e3, 6, mdqr.dd
    nodes, weights = np.polynomial.legendre.leggauss(points)

    def grid(segments):
        edges = np.concatenate([[0.0], (10 * c) ** np.linspace(-1, 0, segments)])
        half, middle = np.diff(edges) / 2, (edges[1:] + edges[:-1]) / 2
        where = (middle[:, None] + half[:, None] * nodes).ravel()
        return mdqr.array(where, precision=dd), np.sqrt(half[:, None] * weights).ravel()

    (y, of_y), (t, of_t) = grid(14), grid(12)  # t = 1 - x
    kernel = mdqr.exp(-(c / 2) * (t[:, None] * y)) / (1 + mdqr.exp(-c * y))
    kernel = kernel * (1 + mdqr.exp(-c * ((1 - t)[:, None] * y))) * of_t[:, None] * of_y
    u, s, vh = lowrank(kernel)
    assert 30 < len(s) < 60 < min(kernel.shape)
    exact = svdvals(kernel.astype(mdqr.qd))
    assert float(abs(s - exact[: len(s)]).max()) <= 60 * 72 * dd.eps * float(s[0])
    accept(kernel, u, s, vh, float(norm(exact[len(s) :])))
    assert lowrank(kernel, rtol=2.0**-52).S.shape == ((exact > 2.0**-52 * exact[0]).sum(),)


def test_empty_and_zero_matrices(multiple):
    for shape in ((0, 3), (3, 0)):
        u, s, vh = lowrank(mdqr.zeros(shape, precision=multiple))
        assert [x.shape for x in (u, s, vh)] == [(shape[0], 0), (0,), (0, shape[1])]
    u, s, vh = lowrank(mdqr.zeros((4, 3), precision=multiple), 2)
    assert s.to_numpy().tolist() == [0.0, 0.0]
    accept(mdqr.zeros((4, 3), precision=multiple), u, s, vh)
    assert lowrank(mdqr.zeros((4, 3), precision=multiple)).S.shape == (0,)


def test_batches_without_matrices(multiple):
    a = mdqr.zeros((0, 3, 5), precision=multiple)
    assert [x.shape for x in lowrank(a, 2)] == [(0, 3, 2), (0, 2), (0, 2, 5)]
    assert matrix_rank(a).shape == matrix_rank(a, rtol=0).shape == (0,)
    assert pinv(a).shape == (0, 5, 3)
    assert norm(a, 2, axis=(-2, -1)).shape == (0,)


def test_bad_arguments_of_lowrank(multiple):
    a = mdqr.ones((3, 4), precision=multiple)
    for r in (0, 4, 1.5, True):
        with pytest.raises(ValueError, match="r must be an integer from 1 to 3"):
            lowrank(a, r)
    with pytest.raises(ValueError, match="give r or rtol"):
        lowrank(a, 1, rtol=0.1)
    with pytest.raises(ValueError, match="rtol must be None or at least 0"):
        lowrank(a, rtol=-1)
    with pytest.raises(ValueError, match="at least two dimensions"):
        lowrank(mdqr.ones(3, precision=multiple), 1)
    with pytest.raises(TypeError, match=r"progress must be .*callable"):
        lowrank(a, 1, progress=3)
    a[1, 2] = np.inf
    with pytest.raises(
        LinAlgError, match="lowrank: the entry in row 1, column 2 of a is NaN or infinite"
    ):
        lowrank(a, 1)


def test_far_scales_of_lowrank(multiple, rng):
    a = cases.random(6, 5, multiple, float, rng)
    s = lowrank(a, 3).S
    for power in (cases.in_range(-300, multiple), 900):
        moved = lowrank(a * 2.0**power, 3).S / 2.0**power
        assert float(abs(moved - s).max()) < 1000 * multiple.eps
    with pytest.raises(LinAlgError, match="of s is beyond the largest double"):
        lowrank(mdqr.full((3, 3), 1e308, precision=multiple))


@each_case("order", [2, -2, "nuc"])
@each_case("shape", [(5, 3), (3, 5), (2, 4, 4), (2, 1, 3, 2)])
def test_norms_are_those_of_numpy(precision, dtype, order, shape, rng):
    a = mdqr.random.normal(shape, precision=precision, dtype=dtype, rng=rng)
    axes = {"axis": (0, -1)} if len(shape) > 2 else {}
    for keepdims in (False, True):
        found = norm(a, order, keepdims=keepdims, **axes)
        wanted = np.linalg.norm(a.to_numpy(), order, keepdims=keepdims, **axes)
        assert found.shape == wanted.shape
        assert not found.is_complex
        assert abs(found.to_numpy() / wanted - 1).max() < 1e-12
    assert_same_bits(mdqr.linalg.matrix_norm(a, ord=order), norm(a, order, axis=(-2, -1)))


def test_norms_of_exact_singular_values(multiple, dtype, rng):
    """Balls of mpmath with 300 digits around those of the limbs as held."""
    a = mdqr.random.normal((5, 4), precision=multiple, dtype=dtype, rng=rng)
    with mpmath.workdps(300):
        values = mpmath.svd(mpmath.matrix(a.to_mpmath().tolist()), compute_uv=False)
        values = sorted((values[i] for i in range(4)), reverse=True)
        for order, wanted, factor in (
            (2, values[0], 160),
            ("nuc", sum(values), 800),
            (-2, values[-1], 160 * float(values[0] / values[-1])),
        ):
            error = abs(norm(a, order).to_mpmath().item() / wanted - 1)
            assert error <= factor * multiple.eps


def test_norms_of_what_has_none(multiple):
    assert float(norm(mdqr.zeros((0, 3), precision=multiple), "nuc")) == 0.0
    with pytest.raises(ValueError, match="no entries does not exist"):
        norm(mdqr.zeros((0, 3), precision=multiple), 2)
    with pytest.raises(LinAlgError, match="norm: the entry in row 0, column 0 of a is NaN"):
        norm(mdqr.full((2, 2), np.nan, precision=multiple), 2)
    with pytest.raises(ValueError, match="ord of a matrix must be None"):
        norm(mdqr.ones((2, 2), precision=multiple), 3)


def test_norm_of_more_limbs_than_asked_for(rng):
    """Data stay as they are: the norm of a small difference is that of all limbs."""
    a = mdqr.random.normal((3, 3), precision=mdqr.qd, rng=rng)
    found = norm(a, 2, precision=mdqr.dd)
    assert found.precision is mdqr.dd
    assert float(abs(found - norm(a, 2))) <= mdqr.dd.eps * float(found)


@pytest.mark.parametrize("shape", [(4, 4), (6, 3), (3, 6), (2, 3, 5, 4)], ids=str)
@pytest.mark.parametrize("side", ["right", "left"])
def test_polar(precision, dtype, shape, side, rng):
    a = mdqr.random.normal(shape, precision=precision, dtype=dtype, rng=rng)
    u, p = polar(a, side)
    k, eps = min(shape[-2:]), precision.eps
    assert (p == adjoint(p)).all()
    for place in np.ndindex(shape[:-2]):
        first, second = (cases.Exact.of(x[place]) for x in ((u, p) if side == "right" else (p, u)))
        rest = cases.Exact.of(a[place]) - first @ second
        assert size(rest) <= 100 * k * eps * float(norm(a[place]))
        unit = u[place] if shape[-2] >= shape[-1] else adjoint(u[place])
        assert off(unit) <= 100 * k * eps
        wanted = scipy.linalg.polar(a[place].to_numpy(), side)
        assert abs(u[place].to_numpy() - wanted[0]).max() < 1e-12
        assert abs(p[place].to_numpy() - wanted[1]).max() < 1e-12


def test_polar_of_exact_factors(multiple, dtype):
    """A matrix made of a unitary and a definite one of integers gives both back."""
    unit = mdqr.array([[3, -4], [4, 3]], precision=multiple) / 5
    definite = mdqr.array([[7, 2], [2, 5]], precision=multiple)
    if dtype is complex:
        unit, definite = unit * 1j, definite + mdqr.array([[0, 1j], [-1j, 0]], precision=multiple)
    u, p = polar(unit @ definite)
    assert float(norm(p - definite)) <= 300 * multiple.eps * 9
    # By the sum of the two smallest singular values, all of them: the trace, 12.
    assert float(norm(u - unit)) <= 300 * multiple.eps * 9 / 12
    u, p = polar(definite @ unit, "left")
    assert float(norm(p - definite)) <= 300 * multiple.eps * 9


def test_polar_without_full_rank(multiple):
    a = matrix("rank_deficient", 5, 5, precision=multiple, rng=1)
    u, p = polar(a)
    assert off(u) <= 500 * multiple.eps
    assert float(norm(u @ p - a)) <= 500 * multiple.eps * float(norm(a))
    u, p = polar(mdqr.zeros((3, 2), precision=multiple))
    assert off(u) <= 500 * multiple.eps
    assert not p.to_numpy().any()
    assert [x.shape for x in polar(mdqr.zeros((0, 2), precision=multiple))] == [(0, 2), (2, 2)]
    with pytest.raises(ValueError, match="side must be"):
        polar(a, "both")
