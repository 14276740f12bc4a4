"""Correct decimal digits, from error bounds, and the precision that proves so many."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from mdqr._precision import PRECISIONS, precision_for_digits

_R = TypeVar("_R")


def digits_within(relative: Any, most: Any) -> np.ndarray:
    """Return the correct decimal digits of values, relative to the exact ones.

    A value v within ``rho |v|`` of the exact one has an error of at most ``rho / (1 - rho)`` of
    that, for it is at least ``(1 - rho) |v|``. From ``rho = 1/2`` on that may be all of it.

    Parameters
    ----------
    relative : array_like
        Error bounds over the moduli of the values that were found: rho; NaN shows nothing.
    most : array_like
        The most digits that a value has.
    """
    relative = np.asarray(relative)
    with np.errstate(all="ignore"):
        error = np.where(relative < 0.5, relative / (1.0 - relative), 1.0)
        return np.asarray(np.clip(0.0 - np.log10(error), 0.0, most))


def in_least_precision(function: str, digits: float, solve: Callable[..., _R]) -> _R:
    """Return the result in the lowest precision that proves so many digits of all values.

    Parameters
    ----------
    function : str
        The public function, for messages.
    digits : float
        The number of digits.
    solve : callable
        Called as ``solve(precision=precision)``; its result has an `info`.

    Raises
    ------
    numpy.linalg.LinAlgError
        If not even the highest precision does.
    """
    first = PRECISIONS.index(precision_for_digits(digits))
    proven, condition = 0.0, np.nan
    for precision in PRECISIONS[first:]:
        try:
            found: Any = solve(precision=precision)
        except np.linalg.LinAlgError:
            if precision is PRECISIONS[-1]:
                raise
            continue
        proven, condition = _proven(found.info), float(np.max(found.info.condition, initial=1.0))
        if proven >= digits:
            return found
    raise np.linalg.LinAlgError(
        f"{function}: digits={float(digits):g}, but mdqr.{PRECISIONS[-1].name}, the highest "
        f"precision, proves {int(proven)} digits of the worst component: the condition (about "
        f"{condition:.1e}) is too large, or the component is zero or tiny beside others; "
        "precision= in its place takes what is found"
    )


def _proven(info: Any) -> float:
    """Return the fewest digits of a value that are proven."""
    is_proven = bool((np.asarray(info.bound_kind) == "proven").all())
    return float(np.min(info.digits, initial=np.inf)) if is_proven else 0.0
