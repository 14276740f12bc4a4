"""Correct decimal digits, from error bounds."""

from __future__ import annotations

from typing import Any

import numpy as np


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
