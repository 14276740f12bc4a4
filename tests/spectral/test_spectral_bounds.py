"""Errors that `svd`, `eigh` and `pinv` report, against exact values."""

from __future__ import annotations

import copy
import pickle
import warnings
from fractions import Fraction
from functools import cache

import linalg_cases as cases
import mpmath
import numpy as np
import pytest
from adversarial import spectra

import mdqr
from mdqr.linalg import eigh, eigvalsh, pinv, svd, svdvals
from mdqr.linalg._spectral import claims, inverse_bounds

FAMILIES = {
    "svd": spectra.svd,
    "eigh": spectra.eigh,
    "eigh of two": spectra.eigh_of_two,
    "pinv": spectra.pinv,
}


def hermitian(n, precision, dtype, rng):
    g = cases.random(n, n, precision, dtype, rng)
    return g + g.mT.conj()


def hilbert(n, precision):
    i = mdqr.arange(1, n + 1, precision=precision)
    return 1 / (i[:, None] + i - 1)


def distances(n, precision):
    """``abs(i - j)``: eigenvalues of both signs."""
    i = mdqr.arange(n, precision=precision)
    return abs(i[:, None] - i)


@cache
def verdicts(name, factor):
    """Precisions of problems, and whether a bound is false, if bounds are scaled: as many as asked.

    A list of those so far, and a function that adds one.
    """
    found = []

    def more():
        scaled, bounds = claims._scaled, inverse_bounds._bounds
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(claims, "_scaled", lambda *given: factor * scaled(*given))
            patch.setattr(
                inverse_bounds, "_bounds", lambda *given: tuple(factor * x for x in bounds(*given))
            )
            given, verdict = FAMILIES[name](29, len(found))
        found.append(
            (given.answer if verdict.components else None, "bound_violated" in verdict.flags)
        )

    return found, more


def violated(name, precision, factor):
    """The number of the first four problems of one precision of which a bound is false."""
    found, more = verdicts(name, factor)
    while len(false := [wrong for answer, wrong in found if answer is precision]) < 4:
        more()
    return sum(false[:4])


@pytest.mark.parametrize("name", FAMILIES)
def test_bounds_are_true_and_not_far_from_false(name, precision):
    """A bound 2**10 times as small is false for one in four problems at least."""
    assert violated(name, precision, 1.0) == 0
    assert violated(name, precision, 2.0**-10) > 0


@pytest.mark.parametrize("seed", [194, 196, 197, 199])
def test_squares_of_what_is_outside_count_below_the_range(seed):
    """Of a singular value near eps in hd, whose bound is a thousandth of it."""
    a = mdqr.random.normal((3, 2), precision=mdqr.hd, rng=seed)
    a[:, 1] = a[:, 0] + a[:, 1] * 2.0 ** -(850 + seed % 12)
    found = svd(a, full_matrices=False)
    with mpmath.workprec(4000):
        m = mpmath.matrix(a.to_mpmath().tolist())
        g = m.T * m
        half, det = (g[0, 0] + g[1, 1]) / 2, g[0, 0] * g[1, 1] - g[0, 1] ** 2
        least = mpmath.sqrt(det / (half + mpmath.sqrt(half**2 - det)))
        error = abs(found.S[1].to_mpmath().item() - least)
        assert error <= found.info.error_bound[1] <= 4 * error


@pytest.mark.parametrize("n", [6, 8, 10, 12])
def test_a_pair_keeps_its_digits_at_any_condition_of_b(multiple, n):
    """The bound that was stated was false by the condition of b: 117,000 times at order 10."""
    a, b = distances(n, multiple), hilbert(n, multiple)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = eigh(a, b=b)
    sizes = abs(found.eigenvalues.to_numpy())
    assert (found.info.error_bound <= 4 * multiple.eps * sizes).all()
    if multiple is not mdqr.hd:
        exact = eigvalsh(a, b=b, precision=mdqr.hd)
        error = abs(exact - found.eigenvalues).to_numpy()
        assert (error <= 4 * multiple.eps * sizes).all()
        assert (error <= found.info.error_bound).all()


def test_pair_of_multiple_values(multiple, rng):
    """Values that are equal, or nearly so, are turned within their span."""
    n = 6
    t = mdqr.tril(mdqr.array(rng.integers(1, 9, (n, n)), precision=multiple))
    values = mdqr.array([1, 1, 1, 2, 3, 3], precision=multiple)
    a, b = (t * values) @ t.mT, t @ t.mT
    found = eigh(a, b=b)
    error = abs(found.eigenvalues - values).to_numpy()
    assert (error <= 64 * multiple.eps).all()
    assert (error <= found.info.error_bound).all()


def test_few_digits_of_a_pair_are_said():
    with pytest.warns(mdqr.PrecisionWarning, match="eigvalsh: the condition of b leaves"):
        eigvalsh(distances(13, mdqr.d), b=hilbert(13, mdqr.d))


def off(found, exact):
    """Distances of columns from exact ones of length 1, with the best phase."""
    products = abs((found.mT.conj() * exact.mT).sum(axis=-1))
    squares = (abs(found) ** 2).sum(axis=-2)
    return mdqr.sqrt(abs(squares + 1 - 2 * products)).to_numpy()


@pytest.mark.parametrize("shape", [(5, 5), (7, 4), (4, 7)], ids=str)
def test_vectors(dtype, shape, rng):
    """Vectors of dd against those of od; their bound is true, and within 2**10 of the error."""
    a = cases.random(*shape, mdqr.dd, dtype, rng)
    near, far = svd(a, False), svd(a, False, precision=mdqr.od)
    for one, other in ((near.U, far.U), (near.Vh.mT.conj(), far.Vh.mT.conj())):
        error = off(one.astype(mdqr.od), other)
        assert (error <= near.info.vector_error_bound).all()
        assert (error.max() >= near.info.vector_error_bound * 2.0**-10).any()
    if shape[0] == shape[1]:
        a = hermitian(5, mdqr.dd, dtype, rng)
        near, far = eigh(a), eigh(a, precision=mdqr.od)
        error = off(near.eigenvectors.astype(mdqr.od), far.eigenvectors)
        assert (error <= near.info.vector_error_bound).all()
        assert (error >= near.info.vector_error_bound * 2.0**-10).any()


def test_vectors_of_a_pair(dtype, rng):
    """In the norm of b, which of vectors of dd against those of od is a product in od."""
    a, g = hermitian(5, mdqr.dd, dtype, rng), cases.random(5, 5, mdqr.dd, dtype, rng, cond=1e4)
    b = g.mT.conj() @ g
    b = (b + b.mT.conj()) / 2
    near, far = eigh(a, b=b), eigh(a, b=b, precision=mdqr.od)
    g = mdqr.linalg.cholesky(b, upper=True, precision=mdqr.od)
    error = off(g @ near.eigenvectors, g @ far.eigenvectors)
    assert (error <= near.info.vector_error_bound).all()
    assert (error >= near.info.vector_error_bound * 2.0**-10).any()


def test_vectors_of_equal_values_are_not_determined(multiple):
    a = mdqr.diag(mdqr.array([1, 1, 2], precision=multiple))
    assert np.isinf(eigh(a).info.vector_error_bound).tolist() == [True, True, False]
    assert np.isinf(svd(a).info.vector_error_bound).tolist() == [False, True, True]


@pytest.mark.parametrize("function", [svdvals, eigvalsh])
def test_data_errors(multiple, function, rng):
    """Changes within `data_error` move values by at most its bound, some by 2**-10 of it."""
    a = hermitian(4, multiple, float, rng)
    rtol = 2.0**-20
    values, info = function(a, return_info=True, data_error={"a_rtol": rtol})
    worst = np.zeros(4)
    for _ in range(20):
        signs = np.triu(rng.choice([-1.0, 1.0], (4, 4)))
        signs = signs + np.triu(signs, 1).T
        moved = function(a * (1 + rtol * mdqr.array(signs, precision=multiple)))
        worst = np.maximum(worst, abs(moved - values).to_numpy())
    assert (worst <= info.data_error_bound).all()
    assert (worst >= info.data_error_bound * 2.0**-10).any()
    assert (info.data_digits <= info.digits).all()
    assert (info.error_bound < info.data_error_bound * 2.0**-20).all()


def test_data_errors_are_checked():
    a = np.eye(2)
    with pytest.raises(ValueError, match="svd: data_error has the keys a_atol, a_rtol"):
        svd(a, data_error={"b_atol": 1})
    with pytest.raises(TypeError, match="eigh: data_error must be a dict"):
        eigh(a, data_error=1)
    with pytest.raises(ValueError, match="eigvalsh: data_error: b_rtol must be finite"):
        eigvalsh(a, b=a, return_info=True, data_error={"b_rtol": -1.0})


def test_a_zero_that_is_rounding_errors_has_no_digits():
    a = mdqr.array([[1, 2, 3], [2, 1, 3], [3, 1, 4]], precision=mdqr.dd)
    values, info = svdvals(a, return_info=True)
    assert float(values[2]) <= info.error_bound[2] <= 1e-31
    assert info.digits.round().tolist() == [31.0, 31.0, 0.0]
    assert info.bound_kind == "proven"


def test_zeros_are_exact(multiple):
    _, info = svdvals(mdqr.zeros((3, 2), precision=multiple), return_info=True)
    assert info.error_bound.tolist() == [0.0, 0.0]
    assert info.digits.tolist() == [float(multiple.digits)] * 2


def test_info_is_of_the_results_as_they_were(multiple, dtype, rng):
    """Bounds are made late, from copies; shapes are those of the values."""
    a = cases.random(4, 3, multiple, dtype, rng)
    stack = mdqr.stack([a, 2 * a])
    found = svd(stack)
    known = svd(stack).info.error_bound
    stack[...] = 0
    found.S[...] = 0
    assert found.info.error_bound.tolist() == known.tolist()
    assert found.info.vector_error_bound.shape == found.S.shape == (2, 3)


def test_info_stays_with_copies(multiple, rng):
    for found in (
        svd(cases.random(3, 3, multiple, float, rng)),
        eigh(hermitian(3, multiple, float, rng)),
    ):
        for other in (copy.copy(found), copy.deepcopy(found), pickle.loads(pickle.dumps(found))):
            assert len(other) == len(found)
            assert (other.info.error_bound == found.info.error_bound).all()
            assert (other.info.vector_error_bound == found.info.vector_error_bound).all()


def test_part_of_the_values_has_its_part_of_the_bounds(multiple, rng):
    a = hermitian(5, multiple, float, rng)
    part = eigh(a, subset_by_index=[1, 2]).info
    assert (part.error_bound == eigh(a).info.error_bound[1:3]).all()


def test_rounded_answers(rng):
    """The last rounding is what counts in a precision below that of the data."""
    a = cases.random(4, 4, mdqr.qd, float, rng)
    values, info = svdvals(a, return_info=True, precision=mdqr.d)
    exact = svdvals(a, precision=mdqr.od)
    error = [abs(x - y) for x, y in zip(values.to_fractions(), exact.to_fractions(), strict=True)]
    assert all(
        e <= Fraction(b) * (1 + Fraction(2) ** -20)
        for e, b in zip(error, info.error_bound, strict=True)
    )
    assert (info.error_bound <= 2.0**-53 * values.to_numpy()).all()


def test_pseudoinverse_of_missing_rank_has_no_bound(multiple):
    x, info = pinv(mdqr.ones((3, 2), precision=multiple), return_info=True)
    assert x.shape == info.error_bound.shape
    assert np.isinf(info.error_bound).all()
    assert (info.digits == 0).all()


@pytest.mark.parametrize("p", [None, 1, -1, 2, -2, np.inf, "fro"])
def test_condition_of_singular_matrices(multiple, p):
    """As NumPy's: infinite for zeros and zero pivots, about 1 / eps where rounding is left."""
    zero, one = mdqr.zeros((2, 2), precision=multiple), mdqr.eye(2, precision=multiple)
    found = mdqr.linalg.cond(mdqr.stack([zero, one]), p).to_numpy()
    assert found.tolist() == [np.inf, 2.0 if p == "fro" else 1.0]
    found = float(mdqr.linalg.cond(mdqr.array([[1, 2], [2, 4]], precision=multiple), p))
    if p in (None, 2, -2):
        assert found <= 100 * multiple.eps if p == -2 else found >= 0.01 / multiple.eps
    else:
        assert found == np.inf


@pytest.mark.parametrize("p", [None, 1, -2, "fro", "nuc"])
@pytest.mark.parametrize("shape", [(0, 0), (2, 0, 0)])
def test_no_condition_without_entries(p, shape):
    with pytest.raises(ValueError, match="cond: a matrix without entries has no condition"):
        mdqr.linalg.cond(np.zeros(shape), p)
