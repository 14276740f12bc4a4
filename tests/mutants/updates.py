"""Solutions of changing least squares by an R that is off, against exact ones."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from adversarial.exact import Truth, integers
from adversarial.problems import limbs

import mdqr
from mdqr._precision import Precision
from mutants.judges import Claims

_TRIALS = 40


def _drifted(precision: Precision) -> Iterator[float]:
    for trial in range(_TRIALS):
        rng = np.random.default_rng(trial)
        a, b = (mdqr.random.normal(s, precision=precision, rng=rng) for s in ((7, 3), (7,)))
        known = mdqr.linalg.UpdatableLstsq(a, b)
        r = known._fit.r
        known._fit = replace(known._fit, r=r * (1 + 2.0**-7 * rng.uniform(-1, 1, r.shape[-2:])))
        x, bounds = known.solve(), known.info.error_bound
        ints, exponents = integers(limbs(x)[..., None], ())
        truth = Truth(limbs(a), limbs(b)[..., None])
        for j, bound in enumerate(bounds):
            error = truth.log2_error(ints[:, j, 0].tolist(), int(exponents[j, 0]), j, 0)
            yield error - math.log2(bound)


DRIFTED = Claims("updates of an R that is off", _drifted)
