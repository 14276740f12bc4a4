"""Recommendation of a precision for the orders of a system."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from mdqr._precision import PRECISIONS, Precision
from mdqr.series._errors import required
from mdqr.series._solver.newton_series import newton_series, warn_far
from mdqr.series._systems.system import System


def recommended_precision(
    system: System, x0: Any, *, degree: int, digits: float = 8, t0: Any = 0
) -> Precision:
    """Return the lowest precision in which all orders have so many digits, as measured.

    Parameters
    ----------
    system : System
        The equations.
    x0 : array_like
        Start points, as for `newton_series`.
    degree : int
        The last order.
    digits : float, optional
        Decimal digits that every order is to have, relative to its largest component.
    t0 : number, optional
        Where the series are expanded.

    Returns
    -------
    Precision
        The precision.

    Raises
    ------
    ValueError
        If even the highest precision has fewer; the message names the first such order.
    SingularJacobianError, NotASolutionError, TypeError
        As `newton_series`.

    Warns
    -----
    UserWarning
        As `newton_series`, if the solution is far from `x0`.

    Notes
    -----
    The system is solved in one precision after the other, and `SeriesSolution.digits` decides: what
    counts is the condition of the orders, not the size of the coefficients.

    Examples
    --------
    >>> from mdqr import series
    >>> h = series.System.from_strings(["x^2 - 1 - t"], ["x"])
    >>> series.recommended_precision(h, [1], degree=31, digits=20)
    mdqr.dd
    """
    required("recommended_precision", "system", system, System)
    degree = operator.index(degree)
    found = np.zeros(degree + 1)
    for precision in PRECISIONS:
        if precision.digits < digits:
            continue
        s = newton_series(
            system, x0, degree=degree, precision=precision, t0=t0, max_distance=math.inf
        )
        found = s.digits.reshape(-1, degree + 1).min(axis=0)
        if found.min() >= digits:
            warn_far("recommended_precision", s.info.start_distance)
            return precision
    bad = int(np.flatnonzero(found < digits)[0])
    raise ValueError(
        f"orders from {bad} on have fewer than {digits:g} digits even in {PRECISIONS[-1].name}; "
        f"ask for a lower degree, or expand about another t0"
    )
