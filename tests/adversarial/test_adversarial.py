"""Random problems that are hard to solve: what functions say of their answers is true."""

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest

import mdqr
from adversarial.judge import verdict_of
from adversarial.problems import Problem, limbs, problem
from adversarial.run import run
from adversarial.verdicts import DEFECTS, truths


def _fractions(x):
    """Real and imaginary parts as object arrays of fractions."""
    x = x if isinstance(x, mdqr.MDArray) else mdqr.array(x, precision=mdqr.d)
    parts = [x.real, x.imag] if x.is_complex else [x, 0 * x]
    return [np.asarray(part.to_fractions()) for part in parts]


# The exact solution makes the gradient A^H W (b - A x) zero, in arithmetic of its own.
@pytest.mark.parametrize("index", range(60))
def test_exact_solution(index):
    given = problem(7, index)
    exact = truths(given)
    if len(exact) > 1 or exact[0].singular:
        assert len(exact) > 1 or exact[0].rank < exact[0].columns
        return
    (truth,) = exact
    (a, c), (b, d) = _fractions(given.a), _fractions(given.b)
    b, d = b.reshape(len(a), -1), d.reshape(len(a), -1)
    w = [Fraction(1)] * len(a) if given.weights is None else _fractions(given.weights)[0]
    scale = [[Fraction(2) ** int(e) for e in row] for row in truth.exponents]
    x, y = np.zeros((2, *truth.exponents.shape), dtype=object)
    for out, part in zip((x, y), truth.numerators, strict=False):
        for j, k in np.ndindex(out.shape):
            out[j, k] = Fraction(int(part[j][k]), int(truth.denominator)) * scale[j][k]
    re, im = ((b - a @ x + c @ y).T * w).T, ((d - a @ y - c @ x).T * w).T
    assert not (a.T @ re + c.T @ im).any()
    assert not (a.T @ im - c.T @ re).any()


# The estimate is the 2-norm condition of float64 numbers where these have digits for it.
@pytest.mark.parametrize("index", range(40))
def test_exact_condition(index):
    given = problem(8, index)
    truth = truths(given)[0]
    if given.weights is not None or not truth.condition < 1e10:
        return
    a = given.a if isinstance(given.a, np.ndarray) else given.a.to_numpy()
    a = a[0] if a.ndim == 3 else a
    a = a / 2.0 ** np.frexp(np.abs(a).max(axis=0))[1]
    norms = np.linalg.norm(a, axis=0)
    a = a * 2.0 ** -np.floor(np.log2(norms))
    # Other powers of two for the columns change it by 2 at most.
    assert 0.49 < truth.condition / np.linalg.cond(a) < 2.05


def _answered(precision):
    """A problem, its answer, bound and digits, as `lstsq` should give them."""
    a = mdqr.random.normal((6, 3), precision=precision, rng=1)
    b = mdqr.random.normal((6,), precision=precision, rng=2)
    given = Problem(0, 0, "", "", a, b, None, None, precision)
    found = mdqr.linalg.lstsq(a, b, method="householder")
    return given, found.x, found.info.error_bound, found.info.digits


def _warning():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.warn("few digits", mdqr.PrecisionWarning, stacklevel=1)
    return caught


def test_verdict_of_a_right_answer(precision):
    given, x, bound, digits = _answered(precision)
    assert not verdict_of(given, x, bound, digits).flags
    flags = verdict_of(given, x, bound, digits, caught=_warning()).flags
    assert flags == {"warned", "needless_warning"}


def test_verdict_of_wrong_answers(precision):
    given, x, bound, digits = _answered(precision)
    wrong = x * (1 + mdqr.array(64 * precision.eps, precision=precision))
    found = verdict_of(given, wrong, bound, digits)
    assert found.flags == {"silent_error", "bound_violated", "false_digits"}
    # 64 eps of an error, and a bound of half an eps at most.
    assert found.excess > 1.7
    assert found.violations == found.false == {"ordinary": 3}
    honest = verdict_of(given, wrong, 100 * precision.eps * abs(x.to_numpy()), digits - 3)
    assert honest.flags == {"silent_error", "missing_warning"}
    most = 100 * precision.eps * abs(x.to_numpy())
    warned = verdict_of(given, wrong, most, digits - 3, caught=_warning())
    assert warned.flags == {"warned"}
    none = verdict_of(given, x * math.inf, bound, digits)
    assert none.flags == {"infinite_silent"}
    error = np.linalg.LinAlgError("singular")
    assert verdict_of(given, None, None, None, error).flags == {"needless_error"}
    assert verdict_of(given, None, None, None, ValueError()).flags == {"crashed"}


def test_verdict_of_an_answer_to_a_singular_problem(precision):
    given, x, bound, digits = _answered(precision)
    given.a[:, 1] = 2 * given.a[:, 0]
    assert verdict_of(given, x, bound, digits).flags == {"singular_silent"}
    found = verdict_of(given, x, bound, 0 * digits, caught=_warning())
    assert found.outcome == "singular_warned"


def test_verdict_of_zeros(precision):
    a = mdqr.eye(2, precision=precision)
    given = Problem(0, 0, "", "", a, a[0], None, None, precision)
    x = mdqr.array([1, 1e-300], precision=precision)
    found = verdict_of(given, x, np.array([0.0, 1e-299]), np.array([10.0, 0.5]))
    assert found.flags == {"silent_zero", "false_digits", "missing_warning"}
    found = verdict_of(given, a[0], np.zeros(2), np.full(2, 15.0))
    assert not found.flags


def _require_no_defect(found):
    wrong = {flag: found.offenders[flag][:3] for flag in DEFECTS if found.flags[flag]}
    assert not wrong, wrong


# Problems of every run and of the long profile.
COUNTS = {
    "lstsq": (150, 20_000),
    "lstsq by Householder": (50, 20_000),
    "lstsq of wide matrices": (60, 20_000),
    "lstsq of zeros": (75, 20_000),
    "lstsq near its limit": (50, 20_000),
    "lstsq with digits": (40, 20_000),
    "solve": (100, 20_000),
    "data errors near singular": (40, 20_000),
    "solve_triangular": (100, 10_000),
    "qr_factor": (100, 10_000),
    "UpdatableLstsq": (50, 5_000),
    "tensorcore": (60, 5_000),
    "eig": (20, 20_000),
    "eig of pairs": (30, 20_000),
    "radius": (20, 20_000),
    "pade": (60, 20_000),
    "powers of series": (100, 20_000),
    "texts of systems": (100, 20_000),
    "close solutions": (2, 2_000),
    "sparse systems": (4, 2_000),
    "svd": (30, 20_000),
    "eigh": (30, 20_000),
    "eigh of two": (30, 20_000),
    "pinv": (30, 20_000),
    "roots": (20, 20_000),
}


@pytest.mark.parametrize("name", COUNTS)
def test_sample(name):
    _require_no_defect(run(name, seed=3, count=COUNTS[name][0]))


@pytest.mark.long
@pytest.mark.parametrize("name", COUNTS)
def test_many(name):
    _require_no_defect(run(name, seed=4, count=COUNTS[name][1]))


# Findings of random problems: a bound that left out what scaling lost to underflow; columns of U
# that were infinite; residuals in parts that cancel; weights of 2^-1000 and less; warnings of
# NumPy; a bound and a sum of squares at the ends of the range; roots that round to zero beside
# those that are zero; three real ones 1e-64 apart that were not told apart; a subnormal radius;
# what powers of two take from small entries, times large vectors; moduli of subnormal errors;
# shifts whose squares underflow; conditions near 1 / eps, of which the largest value alone suffers;
# conditions whose squares are beyond the largest double.
@pytest.mark.parametrize(
    ("name", "seed", "index"),
    [
        ("lstsq", 505, 3906),
        ("tensorcore", 505, 15252),
        ("tensorcore", 505, 19524),
        ("lstsq", 7, 1324),
        ("lstsq", 7, 2747),
        ("lstsq", 101, 15752),
        ("lstsq", 101, 3182),
        ("lstsq", 101, 16783),
        ("lstsq", 202, 9463),
        ("lstsq", 202, 11964),
        ("lstsq", 202, 7940),
        ("lstsq", 101, 980),
        ("lstsq", 101, 5378),
        ("lstsq", 101, 5751),
        ("lstsq", 818, 13488),
        ("lstsq", 818, 7538),
        ("lstsq near its limit", 818, 7073),
        ("lstsq near its limit", 818, 3494),
        ("lstsq of wide matrices", 2811, 6874),
        ("lstsq of wide matrices", 31, 10),
        ("roots", 11, 77),
        ("roots", 11, 1022),
        ("roots", 11, 1188),
        ("roots", 23, 480),
        ("eigh of two", 2811, 13240),
        ("eigh of two", 2811, 5222),
        ("eigh of two", 2811, 7845),
        ("pinv", 2811, 14395),
        ("pinv", 2811, 6683),
        ("det", 2811, 3570),
        ("eig", 2811, 4445),
    ],
)
def test_found_once(name, seed, index):
    _require_no_defect(run(name, seed, 1, 1, index))


def test_problems_are_the_same_again():
    first, second = (problem(5, 11) for _ in range(2))
    assert np.array_equal(limbs(first.a), limbs(second.a))
    assert np.array_equal(limbs(first.b), limbs(second.b))
