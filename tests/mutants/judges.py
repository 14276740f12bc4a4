"""Judges of bounds that are too small: claims of the package against exact results.

A judge yields ``log2(error / bound)`` for one claim after the other: above 0 the claim is false.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from adversarial.run import judged
from adversarial.verdicts import DEFECTS

from mdqr._precision import Precision

ROOT = Path(__file__).resolve().parents[2]
_LOG2_10 = math.log2(10)


def over(errors: np.ndarray, bounds: np.ndarray) -> Iterator[float]:
    """Yield log2 of errors over their bounds, float64 of one shape; of zeros there is none."""
    for error, bound in zip(np.ravel(errors), np.ravel(bounds), strict=True):
        if error:
            yield math.log2(error) - (math.log2(bound) if bound > 0 else -math.inf)


@dataclass(frozen=True)
class Claims:
    """Claims of the package about problems, each with its exact result."""

    name: str
    make: Callable[[Precision], Iterator[float]]

    def __str__(self) -> str:
        return self.name

    def __call__(self, precision: Precision) -> Iterator[float]:
        """Yield log2 of the errors over their bounds."""
        return self.make(precision)


@dataclass(frozen=True)
class Family:
    """Problems of a family of `tests.adversarial`: `count` of answers in a precision.

    `first` is an index next to one that notices a mutant in dd, to save time.
    """

    name: str
    count: int = 20
    seed: int = 29
    first: int = 0

    def __str__(self) -> str:
        return f"{self.name}, {self.count} problems"

    def __call__(self, precision: Precision) -> Iterator[float]:
        """Yield one figure for each problem: its worst."""
        left, index = self.count, self.first
        while left and index < self.first + 40 * self.count:
            given, verdict = judged(self.name, self.seed, index)
            index += 1
            if given.answer != precision:
                continue
            left -= 1
            if verdict.flags & set(DEFECTS):
                yield max(verdict.excess * _LOG2_10, 1.0)
            elif verdict.gaps:
                yield -min(gap for _, gap in verdict.gaps) * _LOG2_10


@dataclass(frozen=True)
class Tests:
    """Tests by their node, run in this process: they fail, or not."""

    node: str
    parameters: str = ""

    # Not a class of tests.
    __test__ = False

    def __str__(self) -> str:
        return self.node.removeprefix("tests/")

    def __call__(self, precision: Precision) -> Iterator[float]:
        """Yield 1 if one of them fails, else -1."""
        parameters = f"[{self.parameters.format(precision)}]" if self.parameters else ""
        options = ["-q", "-x", "--no-header", "--tb=no", "-p", "no:cacheprovider", "-p", "no:xdist"]
        options += ["-m", "not long and not kernels"]  # any precision
        with redirect_stdout(StringIO()):
            code = pytest.main([*options, f"{ROOT}/{self.node}{parameters}"])
        if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            raise RuntimeError(f"{self.node}{parameters}: pytest ends with {code!r}")
        yield -1.0 if code == pytest.ExitCode.OK else 1.0
