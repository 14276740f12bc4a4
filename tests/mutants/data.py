"""Results of data within their errors, with the worst of some signs, against their bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import linalg_cases as cases
import numpy as np

from mdqr._precision import Precision
from mdqr.linalg import inv, lstsq, solve
from mutants.judges import Claims, over

_RTOL = 2.0**-20
_DRAWS = 40


def _worst(call: Callable[..., Any], given: list[Any], rng: Any) -> np.ndarray:
    """Return the largest changes of a result for relative errors of the operands."""
    exact = call(*given)
    changes = []
    for _ in range(_DRAWS):
        signs = [rng.choice([-1.0, 1.0], x.shape) for x in given]
        moved = [x * (1 + _RTOL * s) for x, s in zip(given, signs, strict=True)]
        changes.append(abs(call(*moved) - exact).to_numpy())
    return np.max(changes, axis=0)


def _claims(name: str, m: int, n: int, way: Callable[..., Any], operands: int = 2) -> Claims:
    """Return claims of ``way(*operands, **options)``, which returns a result and its info."""

    def claims(precision: Precision) -> Iterator[float]:
        for trial in range(3):
            rng = np.random.default_rng([trial, m, n])
            given = [cases.random(m, n, precision, float, rng)]
            given += [cases.random(m, 1, precision, float, rng)[:, 0]] * (operands > 1)
            errors = {f"{name}_rtol": _RTOL for name in "ab"[:operands]}
            worst = _worst(lambda *x: way(*x)[0], given, rng)
            bound = way(*given, data_error=errors)[1].data_error_bound
            yield from over(worst, bound)

    return Claims(name, claims)


def _lstsq(a: Any, b: Any, **options: Any) -> tuple[Any, Any]:
    found = lstsq(a, b, **options)
    return found.x, found.info


def _solve(a: Any, b: Any, **options: Any) -> tuple[Any, Any]:
    return solve(a, b, return_info=True, **options)


def _inv(a: Any, **options: Any) -> tuple[Any, Any]:
    return inv(a, return_info=True, **options)


TALL = _claims("lstsq within data errors", 6, 3, _lstsq)
WIDE = _claims("lstsq of wide matrices within data errors", 3, 6, _lstsq)
SOLVE = _claims("solve within data errors", 3, 3, _solve)
INV = _claims("inv within data errors", 3, 3, _inv, operands=1)
