"""The precisions and their constants."""

import copy
import math
import pickle

import mpmath
import numpy as np
import pytest

import mdqr
from mdqr import linalg, optimize, series
from mdqr._precision import PRECISIONS, as_precision


def test_precisions_are_single_ordered_hashable_and_immutable():
    assert list(PRECISIONS) == sorted(PRECISIONS)
    assert len(set(PRECISIONS)) == len(PRECISIONS)
    for p in PRECISIONS:
        assert as_precision(p.name) is as_precision(p) is p
        assert pickle.loads(pickle.dumps(p)) is copy.deepcopy(p) is copy.copy(p) is p
        assert p.bits == 53 * p.limbs
        assert 10**p.digits <= 2**p.bits < 10 ** (p.digits + 1)
        assert p.huge == np.finfo(float).max
        assert eval(repr(p)) is p
        assert str(p) == p.name
        with pytest.raises(AttributeError, match="immutable"):
            p.limbs = 3
        with pytest.raises(AttributeError, match="immutable"):
            del p.limbs


def test_eps_and_tiny_are_the_contract():
    contract = {
        1: (-52, -1022),
        2: (-104, -960),
        4: (-210, -856),
        8: (-423, -640),
        16: (-847, -216),
    }
    assert {p.limbs: (math.log2(p.eps), math.log2(p.tiny)) for p in PRECISIONS} == contract


def test_constants_are_correctly_rounded(precision):
    # Greedy limbs of a number that is no tie: within half an ulp of the last limb.
    with mpmath.workprec(2 * precision.bits + 64):
        for constant, reference in ((precision.pi, mpmath.pi), (precision.e, mpmath.e)):
            error = abs(constant.to_mpmath().item() - reference)
            assert error <= np.spacing(abs(constant.limbs[-1])) / 2
            assert constant.precision is precision


@pytest.mark.parametrize(
    ("wrong", "error"), [("xd", ValueError), (4, TypeError), (None, TypeError)]
)
def test_wrong_precisions_say_which_there_are(wrong, error):
    with pytest.raises(error, match=r'mdqr\.qd \("qd"\)'):
        as_precision(wrong)


def test_an_unknown_number_of_limbs_says_which_there_are():
    with pytest.raises(ValueError, match=r"no precision has 3 limbs.*2 \(dd\)"):
        mdqr.from_limbs(np.zeros((3, 2)))


def test_the_lowest_precision_of_so_many_digits():
    highest = PRECISIONS[-1]
    for digits in (0.5, *range(1, highest.digits + 1), np.float32(2.5)):
        found = mdqr.precision_for_digits(digits)
        assert found.digits >= digits
        assert all(p.digits < digits for p in PRECISIONS if p < found)


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (0, ValueError, "greater than 0"),
        (math.nan, ValueError, "greater than 0"),
        (math.inf, ValueError, "at most"),
        (PRECISIONS[-1].digits + 1, ValueError, PRECISIONS[-1].name),
        ("30", TypeError, "real number"),
        (True, TypeError, "real number"),
        (30j, TypeError, "real number"),
    ],
)
def test_digits_that_no_precision_has(wrong, error, message):
    with pytest.raises(error, match=message):
        mdqr.precision_for_digits(wrong)


def two_arrays():
    """A matrix and a vector of hexa-double."""
    return (mdqr.random.normal(shape, precision="hd", rng=3) for shape in ((6, 6), (6,)))


# Calls that tests with all precisions do not try.
OFFERED = {
    "logm": lambda a, b: linalg.logm(a @ a.T),
    "sinm": lambda a, b: linalg.sinm(a),
    "fractional_matrix_power": lambda a, b: linalg.fractional_matrix_power(a @ a.T, 0.3),
    "funm": lambda a, b: linalg.funm(a, mdqr.exp),
    "solve_sylvester": lambda a, b: linalg.solve_sylvester(a, a @ a.T, a),
    "qz": lambda a, b: linalg.qz(a, a.T),
    "schur": lambda a, b: linalg.schur(a),
    "roots": lambda a, b: linalg.roots(b),
    "norm": lambda a, b: linalg.norm(b, 3),
    "kaiser": lambda a, b: mdqr.kaiser(5, 3, precision="hd"),
    "quantile": lambda a, b: mdqr.quantile(b, 0.3),
    "polyfit": lambda a, b: mdqr.polyfit(b, b, 2),
    "fft": lambda a, b: mdqr.fft.fft(b),
    "curve_fit": lambda a, b: optimize.curve_fit(
        lambda x, p, q: p / (q + x * x), mdqr.arange(9, precision="hd"),
        1 / (2 + mdqr.arange(9, precision="hd") ** 2), [1, 1.5],
    ),
    "lsq_linear": lambda a, b: optimize.lsq_linear(a, b),
    "track": lambda a, b: series.track(
        series.System.from_strings(["x^2 - 2 - t"], ["x"]), [2**0.5], precision="hd"
    ),
    "slogdet": lambda a, b: linalg.slogdet(a),
    "subspace_angles": lambda a, b: linalg.subspace_angles(a[:, :2], a[:, 1:3]),
    "sinc": lambda a, b: mdqr.sinc(b),
    "logspace": lambda a, b: mdqr.logspace(0, 1, 3, precision="hd"),
    "geomspace": lambda a, b: mdqr.geomspace(1, 2, 3, precision="hd"),
    "minimax": lambda a, b: mdqr.approx.minimax(lambda x: x**3, 2, precision="hd"),
}  # fmt: skip


@pytest.mark.parametrize("name", OFFERED)
def test_hexa_double_offers(name):
    OFFERED[name](*two_arrays())


def test_paths_end_in_octo_double():
    system = series.System.from_strings(["x^2 - 2"], ["x"])
    with pytest.raises(ValueError, match="for precisions up to od; got hd"):
        series.solve(system, precision="hd")
