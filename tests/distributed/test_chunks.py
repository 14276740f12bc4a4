"""Solutions do not depend on how rows are cut, and are those of all rows together."""

from __future__ import annotations

import pickle
from fractions import Fraction
from itertools import pairwise

import flint
import numpy as np
import pytest

import mdqr
from mdqr import distributed as md
from mdqr import linalg
from mdqr.distributed._job import Where, job_of
from mdqr.distributed._passes import errors_of
from mdqr.distributed._refinement import problem_of, step
from mdqr.distributed._tree import tree
from mdqr.linalg._shared import pairs

PRECISIONS = [mdqr.d, mdqr.dd, mdqr.qd, mdqr.od]
ROWS = 70


def problem(precision, n, seed, *, is_complex=False, k=None):
    rng = np.random.default_rng(seed)
    t = mdqr.random.uniform((ROWS,), precision=precision, rng=rng)
    a = mdqr.vander(t, n)
    b = mdqr.random.normal((ROWS,) if k is None else (ROWS, k), precision=precision, rng=rng)
    if is_complex:
        a = a + 1j * mdqr.random.normal((ROWS, n), precision=precision, rng=rng)
        b = b + 1j * mdqr.random.normal(b.shape, precision=precision, rng=rng)
    return a, b


def cut(cuts, *arrays):
    return [tuple(x[i:j] for x in arrays) for i, j in pairwise(cuts)]


CUTS = [
    [0, ROWS],
    [0, 35, ROWS],
    list(range(0, ROWS + 1, 10)),
    [0, 3, 3, 4, 40, 40, ROWS, ROWS],
    [*range(64), ROWS],
]


def require_limbs(fit, one):
    """Eight limbs may hold more than 424 bits, so that solutions within eps may differ there."""
    if fit.x.precision < mdqr.od:
        assert mdqr.array_equal(fit.x, one.x)
    assert (np.abs((fit.x - one.x).to_numpy()) <= one.info.error_bound).all()


@pytest.mark.parametrize("precision", PRECISIONS, ids=str)
@pytest.mark.parametrize(
    ("n", "is_complex", "k"), [(6, False, None), (4, True, None), (5, False, 3)]
)
def test_limbs_are_those_of_all_rows_together(precision, n, is_complex, k):
    a, b = problem(precision, n, 5, is_complex=is_complex, k=k)
    one = linalg.lstsq(a, b)
    for cuts in CUTS:
        fit = md.lstsq(cut(cuts, a, b))
        require_limbs(fit, one)
        assert fit.info.rows == tuple(np.diff(cuts))
        assert fit.info.unique_rounding.all()
        np.testing.assert_allclose(fit.residuals.to_numpy(), one.residuals.to_numpy(), rtol=1e-15)
        np.testing.assert_allclose(
            fit.info.standard_errors().to_numpy(), one.info.standard_errors().to_numpy(), rtol=1e-6
        )
        np.testing.assert_allclose(
            fit.info.r_squared.to_numpy(), one.info.r_squared.to_numpy(), rtol=1e-12
        )
        assert (fit.info.data_digits <= one.info.data_digits + 0.1).all()
        assert (fit.info.data_digits >= one.info.data_digits - 1.5).all()


def test_limbs_beyond_the_bits_of_the_precision_are_right():
    """Limbs of x near a shorter number have gaps, and hold more bits."""
    a = mdqr.array([["1.1", 1], ["2.1", 2], ["3.1", 3]], precision=mdqr.qd)
    b = mdqr.array(["1", 2, "3.3"], precision=mdqr.qd)
    fit, one = md.lstsq([(a, b)]), linalg.lstsq(a, b)
    assert mdqr.array_equal(fit.x, mdqr.array(exact(a, b), precision=mdqr.qd))
    assert (abs(fit.x - one.x).to_numpy() <= one.info.error_bound).all()


@pytest.mark.parametrize("precision", PRECISIONS[1:], ids=str)
def test_weights_count_as_given(precision):
    a, b = problem(precision, 5, 8)
    weights = 10.0 ** np.random.default_rng(3).uniform(-250, -240, ROWS)
    weights[[4, 40]] = 0.0
    one = linalg.lstsq(a, b, weights=weights)
    for cuts in CUTS:
        fit = md.lstsq(cut(cuts, a, b, weights))
        require_limbs(fit, one)
        assert sum(fit.info.rows) == ROWS - 2


@pytest.mark.parametrize(("precision", "n"), [(mdqr.dd, 18), (mdqr.dd, 30), (mdqr.qd, 36)], ids=str)
def test_ill_conditioned_rows_take_a_higher_working_precision_where_needed(precision, n):
    a, b = problem(precision, n, 2)
    one = linalg.lstsq(a, b)
    for cuts in CUTS[1:4]:
        fit = md.lstsq(cut(cuts, a, b))
        assert mdqr.array_equal(fit.x, one.x)
        assert fit.info.condition > 1e10


def exact(a, b):
    """The solution in rational numbers."""

    def rational(x):
        values = x.to_fractions().reshape(x.shape[0], -1)
        return flint.fmpq_mat(
            [[flint.fmpq(v.numerator, v.denominator) for v in row] for row in values.tolist()]
        )  # fmt: skip

    left, right = rational(a), rational(b)
    found = (left.transpose() * left).solve(left.transpose() * right)
    return [Fraction(int(v.p), int(v.q)) for v in found.entries()]


@pytest.mark.parametrize("precision", PRECISIONS, ids=str)
def test_limbs_are_those_of_the_exact_solution(precision):
    for seed in range(3):
        a, b = problem(precision, 7, seed)
        fit = md.lstsq(cut(CUTS[3], a, b))
        nearest = mdqr.array(exact(a, b), precision=precision)
        assert fit.info.unique_rounding.all()
        assert mdqr.array_equal(fit.x, nearest)


def errors(a, b, x):
    return np.array([
        float(abs(p - q)) for p, q in zip(exact(a, b), x.to_fractions().ravel(), strict=True)
    ])  # fmt: skip


@pytest.mark.parametrize("precision", [mdqr.dd, mdqr.qd], ids=str)
@pytest.mark.parametrize("passes", [1, 2, 3])
@pytest.mark.parametrize("n", [3, 12, 20])
def test_bounds_hold(precision, passes, n):
    """Before all digits are found, so that no last rounding hides what is claimed."""
    for seed in range(3):
        a, b = problem(precision, n, seed)
        fit = md.lstsq(cut(CUTS[3], a, b), passes=passes)
        assert (errors(a, b, fit.x) <= fit.info.error_bound).all()
        assert np.isfinite(fit.info.error_bound).all()


def test_the_bound_of_one_pass_is_no_wild_guess():
    """A bound smaller by 2**-40 would not hold, nor that of a pass by 2**-30."""
    a, b = problem(mdqr.dd, 12, 0)
    parts = cut(CUTS[3], a, b)
    fit = md.lstsq(parts, passes=1)
    assert (errors(a, b, fit.x) > fit.info.error_bound * 2.0**-40).any()


def test_what_a_bound_claims_is_checked_by_this():
    """A claim that is 2**-10 of the error of a solution from elsewhere is found out."""
    a, b = problem(mdqr.qd, 6, 1)
    x = linalg.lstsq(a, b).x * (1 + mdqr.qd("1e-20"))
    info = md.certify_lstsq(cut(CUTS[3], a, b), None, x)
    true = errors(a, b, x)
    assert (true <= info.error_bound).all()
    assert (true > info.error_bound * 2.0**-1).all()
    np.testing.assert_allclose(info.digits, 20.0, atol=0.1)


def test_data_bounds_hold_for_moved_data():
    a, b = problem(mdqr.qd, 5, 9)
    sizes = {"a_rtol": [1e-9, 1e-8, 0.0, 1e-9, 0.0], "b_atol": 1e-9}
    info = md.lstsq(cut(CUTS[2], a, b), data_error=sizes).info
    x = linalg.lstsq(a, b).x
    rng = np.random.default_rng(0)
    worst = np.zeros(5)
    for _ in range(20):
        signs = rng.choice([-1.0, 1.0], a.shape) * sizes["a_rtol"]
        moved = linalg.lstsq(a * (1 + signs), b + 1e-9 * rng.choice([-1.0, 1.0], ROWS)).x
        worst = np.maximum(worst, np.abs((moved - x).to_numpy()))
    assert (worst <= info.data_error_bound).all()
    assert (worst > info.data_error_bound * 2.0**-10).all()


@pytest.mark.parametrize("method", ["householder", "products"])
@pytest.mark.parametrize("key", ["a_rtol", "b_rtol"])
def test_errors_of_data_whose_squares_underflow(key, method):
    """Of b times ``1 + delta``, or a over it, the solution is, too."""
    a = mdqr.random.normal((9, 3), precision=mdqr.hd, rng=1)
    b, delta = a @ mdqr.random.normal((3,), precision=mdqr.hd, rng=2), 1e-200
    errors = {"a_rtol": 0.0, "b_rtol": 0.0, key: 1.01 * delta}
    info = md.lstsq([(a[:4], b[:4]), (a[4:], b[4:])], data_error=errors, method=method).info
    x = md.lstsq([(a, b)]).x
    assert (info.data_error_bound >= delta * abs(x.to_numpy())).all()
    assert (info.data_digits <= 200.1).all()


@pytest.mark.parametrize("method", ["householder", "products"])
def test_no_bound_is_zero_by_underflow(method):
    a = mdqr.random.normal((5, 2), precision=mdqr.hd, rng=5)
    b = mdqr.random.normal((5,), precision=mdqr.hd, rng=6) * 2.0**-600
    with pytest.warns(mdqr.PrecisionWarning, match="the worst has 14. digits"):
        fit = md.lstsq([(a[:3], b[:3]), (a[3:], b[3:])], method=method)
    for info in (fit.info, md.certify_lstsq([(a, b)], None, fit.x, method=method)):
        assert (info.error_bound > 0).all()


@pytest.mark.parametrize("weighted", [False, True])
def test_absolute_errors_of_data_are_those_of_their_size(weighted):
    """Of entries of modulus 1 they are relative ones; tiny ones change nothing."""
    a, b = problem(mdqr.qd, 4, 9)
    w = [np.linspace(1, 9, ROWS)] if weighted else []
    signs = np.sign(np.random.default_rng(2).normal(size=(ROWS, 4)))
    for x, first, second in [
        (signs, {"a_rtol": 1e-9}, {"a_atol": 1e-9, "a_rtol": 0.0}),
        (a, {"a_rtol": 1e-9}, {"a_rtol": 1e-9, "a_atol": [0.0, 0.0, 0.0, 1e-200]}),
    ]:
        bounds = [
            md.lstsq(cut(CUTS[3], mdqr.array(x, precision="qd"), b, *w), data_error=e).info
            for e in (first, second)
        ]
        np.testing.assert_allclose(
            bounds[0].data_error_bound, bounds[1].data_error_bound, rtol=1e-12
        )


def test_merging_costs_digits_by_depth_not_by_parts():
    precision = mdqr.dd
    t = mdqr.random.uniform((3000,), precision=precision, rng=0)
    a, b = mdqr.vander(t, 6), mdqr.sin(t)
    whole = linalg.UpdatableLstsq(a, b, keep_data=False).info.digits
    many = md.factor([(a[i : i + 5], b[i : i + 5]) for i in range(0, 3000, 5)]).info.digits
    assert (many > whole - 1.2).all()
    assert (many <= whole).all()


def test_a_factor_goes_on_and_is_pickled():
    a, b = problem(mdqr.qd, 5, 4)
    known = pickle.loads(pickle.dumps(md.factor(cut([0, 20, 50], a, b))))
    known.merge(md.factor(cut([50, 60, ROWS], a, b)))
    assert known.shape == (ROWS, 5)
    size = abs(known.solve() - linalg.lstsq(a, b).x).to_numpy()
    assert (size <= known.info.error_bound).all()


def test_an_iterator_is_read_once():
    a, b = problem(mdqr.qd, 5, 4)
    parts = cut(CUTS[2], a, b)
    with pytest.warns(mdqr.PrecisionWarning):
        fit = md.lstsq(iter(parts))
    assert fit.info.passes == 1
    assert (errors(a, b, fit.x) <= fit.info.error_bound).all()
    with pytest.raises(ValueError, match="come once"):
        md.lstsq(iter(parts), passes=2)


def test_infos_are_pickled_without_rows():
    a, b = problem(mdqr.qd, 5, 4)
    fit = md.lstsq(cut(CUTS[2], a, b))
    copied = pickle.loads(pickle.dumps(fit))
    assert len(pickle.dumps(fit)) < 8000
    assert copied.info.rows == fit.info.rows
    assert mdqr.array_equal(copied.info.standard_errors(), fit.info.standard_errors())
    assert mdqr.array_equal(copied.info.R, fit.info.R)


@pytest.mark.parametrize("options", [{}, {"weights": np.linspace(1, 2, ROWS)}], ids=["", "weights"])
@pytest.mark.parametrize("k", [None, 2])
def test_rank_by_a_tolerance(k, options):
    """With residuals and statistics of all rows; without a bound, as R has errors of its own."""
    a, b = problem(mdqr.qd, 4, 4, k=k)
    a[:, 3] = 1
    twice = mdqr.column_stack([a, a[:, :1]])
    fit = md.lstsq(cut(CUTS[2], twice, b, *options.values()), rcond=1e-40)
    one = linalg.lstsq(twice, b, rcond=1e-40, **options)
    assert fit.rank == one.rank == 4
    both = [(fit.x, one.x), (fit.residuals.reshape(-1), one.residuals.reshape(-1))]
    for name in ("residual_std", "r_squared", "standard_errors", "covariance"):
        values = (getattr(x.info, name) for x in (fit, one))
        both.append(tuple(x() if callable(x) else x for x in values))
    for found, known in [*both, (pickle.loads(pickle.dumps(fit)).info.r_squared, both[3][1])]:
        assert mdqr.allclose(found, known, rtol=1e-50)
    assert np.isnan(fit.info.error_bound).all()
    assert np.isnan(fit.info.digits).all()


@pytest.mark.parametrize(
    "options", [{"passes": 2}, {"method": "products"}, {"data_error": {"a_rtol": 1e-3}}], ids=str
)
def test_options_of_full_rank_are_refused_beside_a_tolerance(options):
    a, b = problem(mdqr.qd, 4, 4)
    with pytest.raises(ValueError, match=f"{next(iter(options))}=.* is for full rank"):
        md.lstsq([(a, b)], rcond=1e-40, **options)
    with pytest.raises(ValueError, match="rcond must be None or a finite number"):
        md.lstsq([(a, b)], rcond="1e-40")


@pytest.mark.parametrize("is_complex", [False, True])
def test_qr_and_gram(is_complex):
    a, _ = problem(mdqr.qd, 6, 3, is_complex=is_complex)
    parts = [x for (x,) in cut(CUTS[3], a)]
    Q, R = md.qr(parts)
    q = mdqr.concatenate([Q[i] for i in range(len(Q))])
    found = linalg.certify(a, q, R)
    assert max(found.columnwise, found.orthogonality) < 20 * 6
    assert mdqr.allclose(md.qr(parts, "r"), linalg.qr(a, "r"), rtol=1e-55)
    for cuts in CUTS:
        g = md.gram([x for (x,) in cut(cuts, a)])
        assert mdqr.array_equal(g, md.gram(parts))
        assert mdqr.array_equal(g, g.H)


def test_bad_chunks_are_named():
    a, b = problem(mdqr.qd, 4, 3)
    parts = cut(CUTS[2], a, b)
    bad = a[20:30].copy()
    bad[7, 2] = np.nan
    for broken, error, text in [
        ((bad, b[20:30]), np.linalg.LinAlgError, "chunk 2: the entry in row 7, column 2 of a"),
        ((a[20:30, :3], b[20:30]), ValueError, "chunk 2: shapes"),
        (
            (mdqr.random.normal((10, 4), precision=mdqr.od, rng=0), b[20:30]),
            ValueError,
            "chunk 2 has precision od",
        ),
        ((a[20:30] * 1j, b[20:30]), ValueError, "chunk 2 is complex"),
        ((np.full((10, 4), "1.x"), b[20:30]), ValueError, "chunk 2: .*1.x"),
        ((a[20:30], b[20:30], -np.ones(10)), ValueError, "chunk 2: the weight of row 0"),
        (object(), ValueError, "chunk 2 has 1 parts"),
    ]:
        with pytest.raises(error, match=text):
            md.lstsq([*parts[:2], broken, *parts[3:]])
        with pytest.raises(error, match=text):
            md.lstsq(iter([*parts[:2], broken, (bad, b[:3]), *parts[3:]]))


def test_rows_that_change_between_passes_are_told():
    a, b = problem(mdqr.qd, 4, 3)
    calls = []

    def chunk(i):
        calls.append(i)
        return a[10 * i : 10 * i + 10] * (1 + (len(calls) > 9)), b[10 * i : 10 * i + 10]

    with pytest.raises(RuntimeError, match="not the same in pass 2"):
        md.lstsq(md.Rows(chunk, 7))


def test_too_few_and_dependent_rows_are_refused():
    a, b = problem(mdqr.od, 4, 3)
    with pytest.raises(np.linalg.LinAlgError, match=r"3 rows in all.*rcond= finds the shortest"):
        md.lstsq([(a[:3], b[:3])])
    shortest = md.lstsq([(a[:2], b[:2]), (a[2:3], b[2:3])], rcond=1e-100)
    assert mdqr.allclose(shortest.x, linalg.lstsq(a[:3], b[:3], rcond=1e-100).x, rtol=1e-115)
    with pytest.raises(np.linalg.LinAlgError, match="there are no rows"):
        md.lstsq([])
    with pytest.raises(np.linalg.LinAlgError, match=r"no correct digit|singular"):
        md.lstsq([(a[:, [0, 0]], b)])
    with pytest.raises(ValueError, match="fan_in"):
        md.lstsq([(a, b)], fan_in=1)


def test_progress_and_options():
    a, b = problem(mdqr.qd, 4, 3)
    seen = []
    md.lstsq(cut(CUTS[2], a, b), progress=lambda *stage: seen.append(stage))
    assert seen[:2] == [("factor", 1, 7), ("factor", 2, 7)]
    assert seen[-1] == ("pass 2", 7, 7)


@pytest.mark.parametrize("precision", [mdqr.dd, mdqr.qd], ids=str)
@pytest.mark.parametrize("n", [4, 20])
def test_bounds_hold_before_the_last_rounding(precision, n):
    """The pair of each pass against rational arithmetic: a pass more must not claim too much."""
    for seed in range(2):
        a, b = problem(precision, n, seed)
        job = job_of("lstsq", (cut(CUTS[3], a, b), None, None), None, Where(), 8, None)
        node = tree("lstsq", job.engine, job.source, job.form, 8)
        known = problem_of(node.problem._fit, "lstsq")
        x = known.scaled(known.solved.x)
        at, nearest = pairs.Pair(x, np.zeros_like(x)), exact(a, b)
        for number in range(2, 5):
            sums = job.pass_of(known, at, errors_of("lstsq", None, job.form), number)
            made = step(known, at, sums)
            at = made.x
            shift = known.unit[None, :] - known.solved.powers[:, None]
            bound = np.ldexp(made.bound, shift).ravel()
            high, low = (mdqr.from_limbs(known.unscaled(part)).to_fractions() for part in at)
            found = (high + low).ravel()
            true = [float(abs(p - q)) for p, q in zip(nearest, found, strict=True)]
            assert (np.array(true) <= bound).all()
