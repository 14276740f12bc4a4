"""The precisions and their constants."""

import copy
import math
import pickle

import mpmath
import numpy as np
import pytest

import mdqr
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
    contract = {1: (-52, -1022), 2: (-104, -960), 4: (-210, -856), 8: (-423, -640)}
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
