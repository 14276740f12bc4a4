"""Tools for testing numerical code: strategies, exact references, error measures, test problems.

Hypothesis is needed only to make a strategy (`floats`, `arrays`, `pairs`).
"""

from __future__ import annotations

from typing import Final

from mdqr.testing import _families
from mdqr.testing._allclose import assert_allclose
from mdqr.testing._assertions import assert_close, assert_same_bits, ulp_error
from mdqr.testing._matrices import MATRIX_KINDS, matrix
from mdqr.testing._oracles import Exact, exact
from mdqr.testing._problems import LSTSQ_PROBLEMS, LstsqProblem, lstsq_problem
from mdqr.testing._relations import RELATIONS
from mdqr.testing._strategies import arrays, floats, pairs

FAMILIES: Final = tuple(_families.FAMILIES)

__all__ = [
    "FAMILIES",
    "LSTSQ_PROBLEMS",
    "MATRIX_KINDS",
    "RELATIONS",
    "Exact",
    "LstsqProblem",
    "arrays",
    "assert_allclose",
    "assert_close",
    "assert_same_bits",
    "exact",
    "floats",
    "lstsq_problem",
    "matrix",
    "pairs",
    "ulp_error",
]


def __dir__() -> list[str]:
    return sorted(__all__)
