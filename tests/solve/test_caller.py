"""Messages name the function that was called, and warnings its caller's line."""

import warnings
from functools import partial

import numpy as np
import pytest

import mdqr
from mdqr.linalg._shared.caller import Caller
from mdqr.linalg._solve.lstsq import solved_for

FIT = Caller("fit", "the matrix of powers", "y")


def _called(function, a, b, **options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function(a, b, **options)
    assert {each.filename for each in caught} == {__file__}
    return [str(each.message) for each in caught]


def _undetermined():
    """Entries that do not determine the fit, of which dd shows no digit."""
    a = np.random.default_rng(5).integers(-99, 99, (13, 5)).astype(float)
    a[:, 3] = a[:, 1] + a[:, 2]
    a[12] = [0, 0, 0, 2.0**-100, 0]
    return a, np.ones(13)


@pytest.mark.parametrize("wrap", [lambda f: f, lambda f: lambda *a, **options: f(*a, **options)])
def test_warnings_name_the_caller_and_point_to_its_line(wrap):
    rank, digits = _called(wrap(partial(solved_for, FIT)), *_undetermined(), precision=mdqr.dd)
    assert rank.startswith("fit: the matrix of powers has numerical rank 4 of 5")
    assert digits.startswith("fit: about 0 of 31 digits")
    assert "of the solution for the matrix of powers and y as stored" in digits
    assert "max_condition" not in rank
    assert "info." not in rank


def test_errors_name_the_caller_and_what_its_matrix_is():
    with pytest.raises(np.linalg.LinAlgError, match="fit: the matrix of powers is rank deficient"):
        solved_for(FIT, np.ones((3, 2)), [1.0, 2.0, 3.0])
    with pytest.raises(np.linalg.LinAlgError, match="fit: the entry in row 0, column 0 of y is"):
        solved_for(FIT, np.eye(2), [np.nan, 1.0])
    with pytest.raises(ValueError, match="fit: weights must be finite"):
        solved_for(FIT, np.eye(2), [1.0, 1.0], weights=[-1.0, 1.0])
