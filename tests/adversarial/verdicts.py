"""What was found of one problem, and what makes an answer a defect."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

import mdqr

from .exact import Truth
from .problems import limbs

# A LinAlgError for a regular problem is needless where condition * n * eps is below this.
NEEDLESS = 0.03

DEFECTS = {
    "crashed": "raised something else than LinAlgError",
    "singular_silent": "the matrix is exactly singular, and an answer came without a warning",
    "infinite_silent": "the answer is not finite, without a warning or with digits",
    "silent_error": "wrong by more than 4 eps in a component, without a warning",
    "silent_underflow": "the same in a component below `Precision.tiny`",
    "silent_zero": "the same in a component that is exactly 0",
    "bound_violated": "the error is beyond the bound",
    "false_digits": "more digits are claimed than are right",
    "missing_warning": "a component claims less than 4 eps and is not exact, without a warning",
    "needless_error": f"LinAlgError though condition * n * eps is below {NEEDLESS}",
    "needless_rank_warning": "the rank was doubted, at a condition as far below its limit",
    "lost_more": "more digits were lost than `lost_digits` says, by more than one",
    "residual_wrong": "the sum of squares is off by more than it may be, without a warning",
    "data_bound_violated": "data within their errors have a result beyond the bound for them",
    "counts_wrong": "a disk that has one root, as it says, has more",
    "order_wrong": "roots do not follow each other by decreasing modulus",
    "symmetry_lost": "roots of a real polynomial are not exactly real, or exactly conjugate",
    "other_degrees": "the approximant of a quotient has other degrees",
    "leaked_warning": "a warning of another kind than PrecisionWarning",
}


@dataclass
class Verdict:
    """Flags that count a problem, and figures of its components."""

    outcome: str = "solved"
    flags: set = field(default_factory=set)
    components: int = 0
    # log10(bound / error) of components in the normal range whose error is not 0, by kind.
    gaps: list = field(default_factory=list)
    # Digits that are right beyond those claimed, where fewer than the precision's are claimed.
    understated: list = field(default_factory=list)
    # Components beyond their bound and with false digits, by kind.
    violations: Counter = field(default_factory=Counter)
    false: Counter = field(default_factory=Counter)
    # log10 of how far the error is beyond the bound; digits claimed too much; log10 of the largest
    # relative error of a silent answer, in units of eps.
    excess: float = 0.0
    overclaim: float = 0.0
    silent: float = 0.0
    condition: float = 0.0
    message: str = ""

    def note(self, flag, measure=None, size=0.0):
        """Set a flag, and keep the largest of its measure."""
        self.flags.add(flag)
        if measure is not None:
            setattr(self, measure, max(getattr(self, measure), size))

    def note_warnings(self, caught):
        """Note what warnings were given; return whether one says that digits are missing.

        That the data may not determine x says nothing of x: it solves the entries as given.
        """
        kinds = Counter(_kind(warning) for warning in caught)
        for kind in kinds:
            self.note(kind)
        if kinds["leaked_warning"]:
            self.message = str([str(w.message) for w in caught])[:300]
        return kinds["warned"] > 0

    def note_error(self, error):
        """Note what was raised; return whether it is a LinAlgError."""
        self.message = f"{type(error).__name__}: {error}"[:300]
        if isinstance(error, np.linalg.LinAlgError):
            return True
        self.outcome = "crashed"
        self.note("crashed")
        return False


def _kind(warning):
    if not issubclass(warning.category, mdqr.PrecisionWarning):
        return "leaked_warning"
    of_data = issubclass(warning.category, mdqr.DataPrecisionWarning)
    return "rank_warning" if of_data else "warned"


def answered(call):
    """Return what a call gives or raises, and the warnings that it gave."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found, error = call(), None
        except Exception as raised:
            found, error = None, raised
    return found, error, caught


def truths(problem):
    """Return the exact solution of each member of the batch."""
    a, b = limbs(problem.a), limbs(problem.b)
    w = None if problem.weights is None else limbs(problem.weights)
    if problem.b.ndim == 1:
        b = b[..., None]
    if a.ndim == 4:
        return [Truth(a, b, w)]
    return [Truth(a[:, :, i], b[:, :, i], w) for i in range(a.shape[2])]
