"""mdqr.testing: test matrices have the condition they claim, problems are solved exactly."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

import mdqr
from mdqr._limbs.planes import is_normalised
from mdqr.testing import (
    LSTSQ_PROBLEMS,
    MATRIX_KINDS,
    assert_close,
    assert_same_bits,
    lstsq_problem,
    matrix,
)


def planes(x):
    """Return all limbs as ``(N, parts, *shape)``."""
    block = np.asarray(x._block)
    return np.moveaxis(block, 0, 1) if x.is_complex else block[:, None]


def singular_values(a):
    """Return the singular values by mpmath, with digits to spare."""
    with mpmath.workdps(300):
        entries = mpmath.matrix(a.to_mpmath().tolist())
        svd = mpmath.svd_c if a.is_complex else mpmath.svd_r
        return list(svd(entries, compute_uv=False))


def condition(a):
    values = singular_values(a)
    with mpmath.workdps(300):
        return values[0] / values[-1]


class TestMatrices:
    @pytest.mark.parametrize("kind", MATRIX_KINDS)
    def test_entries_are_normalised(self, kind, precision, dtype):
        a = matrix(kind, 7, 5, precision=precision, dtype=dtype, rng=1)
        assert a.shape == (7, 5)
        assert a.is_complex is (dtype is complex)
        assert is_normalised(planes(a)).all()

    @pytest.mark.parametrize("shape", [(9, 6), (6, 9), (12, 12), (1, 4), (5, 1)], ids=str)
    def test_prescribed_condition(self, shape, precision, dtype):
        """Rounding the entries moves singular values by at most eps * norm_F(A)."""
        cond = 10.0 ** (0.7 * precision.digits) if min(shape) > 1 else 1.0
        a = matrix("random", *shape, cond=cond, precision=precision, dtype=dtype, rng=2)
        assert (planes(a)[-1] != 0).mean() > 0.9
        values = singular_values(a)
        with mpmath.workdps(300):
            slack = 4 * precision.eps
            assert abs(values[0] - 1) <= slack
            assert abs(values[-1] - 1 / mpmath.mpf(cond)) <= slack

    def test_condition_of_1e100(self, dtype):
        a = matrix("random", 20, 20, cond=1e100, precision=mdqr.od, dtype=dtype, rng=3)
        assert abs(condition(a) / mpmath.mpf(1e100) - 1) < 1e-20

    def test_orthogonal_factors(self, precision, dtype):
        """With condition 1 the matrix is the product of the factors: all singular values are 1."""
        a = matrix("random", 12, 8, cond=1, precision=precision, dtype=dtype, rng=4)
        with mpmath.workdps(300):
            assert max(abs(value - 1) for value in singular_values(a)) <= 4 * precision.eps

    def test_hilbert(self, precision):
        a = matrix("hilbert", 12, 12, precision=precision)
        i, j = np.indices((12, 12))
        # correctly rounded: half of 2**-bits, which is eps / 8 at most for several limbs
        assert_close(a, np.frompyfunc(lambda k: Fraction(1, int(k) + 1), 1, 1)(i + j), ulps=0.5)
        if precision.limbs > 2:  # the rounded matrix has the condition of the exact one
            assert condition(a) == pytest.approx(1.7132e16, rel=1e-3)

    def test_vandermonde(self, precision, dtype):
        a = matrix("vandermonde", 10, 8, precision=precision, dtype=dtype)
        with mpmath.workdps(300):
            phase = mpmath.mpf(1) if dtype is float else mpmath.mpc(3, 4) / 5
            for i, j in np.ndindex(10, 8):
                wanted = (phase * (i + 1) / 10) ** j
                assert abs(a[i, j].to_mpmath()[()] - wanted) <= precision.eps * abs(wanted)

    @pytest.mark.parametrize("cond", [1e3, 1e70])
    def test_laeuchli(self, cond, precision, dtype):
        a = matrix("laeuchli", 10, 8, cond=cond, precision=precision, dtype=dtype)
        assert condition(a) == pytest.approx(cond, rel=1e-12)
        assert (np.asarray(a.limbs)[..., 9, :] == 0).all()

    def test_laeuchli_gram_matrix_is_singular_by_default(self, precision):
        a = matrix("laeuchli", 5, 4, precision=precision)
        assert float(a[1, 0]) ** 2 < precision.eps

    def test_kahan(self, precision):
        a = matrix("kahan", 20, 18, precision=precision)
        assert (a.to_numpy()[np.tril_indices(20, -1, 18)] == 0).all()
        assert_close(a[1, 1], Fraction(12, 13), ulps=0.5)
        assert_close(a[1, 2], Fraction(-60, 169), ulps=0.5)
        # the diagonal, from 1 to (12/13)**17 = 1/3.9, hides most of the condition
        assert condition(a) > 50 * (13 / 12) ** 17

    def test_graded(self, precision, dtype):
        a = matrix("graded", 8, 6, precision=precision, dtype=dtype, rng=5)
        norms = np.linalg.norm(a.to_numpy(), axis=0)
        steps = np.log2(norms[:-1] / norms[1:])
        assert (np.abs(steps - 20) < 4).all()  # columns of a matrix of condition 10
        assert (planes(a)[-1] != 0).mean() > 0.9

    def test_rank_deficient(self, precision, dtype):
        a = matrix("rank_deficient", 8, 6, precision=precision, dtype=dtype, rng=6)
        values = singular_values(a)
        assert values[2] > 1e-3
        assert values[3] < mpmath.mpf(10) ** -200
        assert (planes(a)[-1] != 0).mean() > 0.9

    def test_zero_columns(self, precision, dtype):
        a = matrix("zero_columns", 8, 6, precision=precision, dtype=dtype, rng=7).to_numpy()
        assert np.flatnonzero((a == 0).all(axis=0)).tolist() == [0, 3]

    def test_seeds(self):
        a, b, c = (matrix("random", 4, 3, precision=mdqr.dd, rng=seed) for seed in (1, 1, 2))
        assert_same_bits(a, b)
        assert not mdqr.array_equal(a, c)

    def test_bad_arguments(self):
        for arguments, options, message in [
            (("band", 3, 3), {}, "there are random, graded"),
            (("random", 0, 3), {}, "at least 1"),
            (("random", 3, 3), {"cond": 0.5}, "at least 1"),
            (("random", 3, 3), {"cond": 1e40}, "too large for dd .* take a higher precision"),
            (("hilbert", 3, 3), {"cond": 10}, "cannot be chosen"),
            (("laeuchli", 3, 3), {}, "more rows than columns; given 3 by 3"),
            (("kahan", 2, 3), {}, "no fewer rows"),
            (("random", 3, 3), {"dtype": int}, "wanted float or complex"),
        ]:
            with pytest.raises(ValueError, match=message):
                matrix(*arguments, precision=mdqr.dd, **options)


# Certified values of the NIST Statistical Reference Datasets: estimates and standard errors.
CERTIFIED = {
    "norris": [
        ("-0.262323073774029", "0.232818234301152"),
        ("1.00211681802045", "0.429796848199937E-03"),
    ],
    "pontius": [
        ("0.673565789473684E-03", "0.107938612033077E-03"),
        ("0.732059160401003E-06", "0.157817399981659E-09"),
        ("-0.316081871345029E-14", "0.486652849992036E-16"),
    ],
    "filip": [
        ("-1467.48961422980", "298.084530995537"),
        ("-2772.17959193342", "559.779865474950"),
        ("-2316.37108160893", "466.477572127796"),
        ("-1127.97394098372", "227.204274477751"),
        ("-354.478233703349", "71.6478660875927"),
        ("-75.1242017393757", "15.2897178747400"),
        ("-10.8753180355343", "2.23691159816033"),
        ("-1.06221498588947", "0.221624321934227"),
        ("-0.670191154593408E-01", "0.142363763154724E-01"),
        ("-0.246781078275479E-02", "0.535617408889821E-03"),
        ("-0.402962525080404E-04", "0.896632837373868E-05"),
    ],
    "noint1": [("2.07438016528926", "0.0165289256198347")],
    "noint2": [("0.727272727272727", "0.0420827318078432")],
    "longley": [
        ("-3482258.63459582", "890420.383607373"),
        ("15.0618722713733", "84.9149257747669"),
        ("-0.0358191792925910", "0.0334910077722432"),
        ("-2.02022980381683", "0.488399681651699"),
        ("-1.03322686717359", "0.214274163161675"),
        ("-0.0511041056535807", "0.226073200069370"),
        ("1829.15146461355", "455.478499142212"),
    ],
    "wampler3": [
        ("1", "2152.32624678170"),
        ("1", "2363.55173469681"),
        ("1", "779.343524331583"),
        ("1", "101.475507550350"),
        ("1", "5.64566512170752"),
        ("1", "0.112324854679312"),
    ],
}


class TestProblems:
    @pytest.mark.parametrize("name", LSTSQ_PROBLEMS)
    def test_residual_is_orthogonal(self, name):
        problem = lstsq_problem(name)
        residual = problem.b - problem.a @ problem.x
        assert all(value == 0 for value in problem.a.T @ residual)
        assert residual @ residual == problem.residual

    @pytest.mark.parametrize("name", CERTIFIED)
    def test_certified_values(self, name):
        problem = lstsq_problem(name)
        errors = problem.standard_errors(20)
        for x, error, (estimate, deviation) in zip(problem.x, errors, CERTIFIED[name], strict=True):
            assert float(x) == pytest.approx(float(estimate), rel=1e-14)
            assert float(error) == pytest.approx(float(deviation), rel=1e-14)

    def test_residual_std(self):
        assert float(lstsq_problem("longley").residual_std()) == pytest.approx(304.854073561965)

    def test_wampler_has_integer_solutions(self):
        for noise in "1345":
            assert (lstsq_problem("wampler" + noise).x == 1).all()
        assert lstsq_problem("wampler2").x[5] == Fraction(1, 100_000)

    def test_unknown_name(self):
        with pytest.raises(ValueError, match="there are norris, pontius, noint1"):
            lstsq_problem("longly")
