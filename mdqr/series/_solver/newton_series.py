"""Power series solutions of polynomial systems."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from mdqr._array.array import MDArray
from mdqr._errors import PrecisionWarning
from mdqr._functions.creation import array
from mdqr._precision import PRECISIONS, Precision, as_precision
from mdqr.series._solver import inverse, newton, online
from mdqr.series._solver.equations import Equations
from mdqr.series._solver.solution import SeriesInfo, SeriesSolution
from mdqr.series._systems.system import System

_METHODS = ("auto", "online", "newton")
# Orders from which the growth of the coefficients is estimated, in float64.
_GROWTH = 6


def newton_series(
    system: System,
    x0: Any,
    *,
    degree: int,
    precision: Precision | str,
    t0: Any = 0,
    method: str = "auto",
    verify: bool = False,
    device: str | None = None,
    callback: Callable[[str, int, int], object] | None = None,
) -> SeriesSolution:
    """Return the power series ``x(t)`` with ``F(x(t), t) = 0`` that start near `x0` at `t0`.

    Parameters
    ----------
    system : System
        m equations in n unknowns, m >= n.
    x0 : array_like
        Start points ``(n,)`` or ``(..., n)``: approximate solutions at t0, which are refined.
    degree : int
        The last order.
    precision : Precision or str
        The precision of the work and of the result.
    t0 : number or array_like, optional
        Where the series are expanded; for start points ``(..., n)`` also an array ``(...)``.
    method : {"auto", "online", "newton"}, optional
        "online": one order after the other. "newton": Newton's method on series, which takes more
        time and memory and serves as a check. "auto" is "online".
    verify : bool, optional
        Solve again in the next precision, and measure the digits by that.
    device : str, optional
        "cpu" or "cuda"; where x0 is, by default.
    callback : callable, optional
        Called as ``callback("orders", done, total)``.

    Returns
    -------
    SeriesSolution
        The coefficients and their digits.

    Raises
    ------
    SingularJacobianError
        If the Jacobian at the start is singular: then x is no power series in t.
    NotASolutionError
        If Newton's method does not lead from x0 to a solution at t0.
    ValueError
        If shapes do not fit, there are fewer equations than unknowns, an option is unknown, or
        there is no higher precision to verify by.

    Warns
    -----
    PrecisionWarning
        With ``verify=True``: if an order has fewer than half of the digits of the precision.

    Notes
    -----
    The Jacobian at the start is inverted once; that of more than 64 unknowns by QR in as few limbs
    as make steps of refinement converge. With x_k = 0 first, what is left of order k of the
    equations is ``-J0 x_k``; steps of refinement follow (the recurrence of the asymptotic numerical
    method). t is scaled by a power of two, from the growth of the first orders. Overdetermined
    systems are solved by least squares, order by order, each after those before it: exact for
    consistent ones, and for others not the least sum over all orders.

    A small residual does not make orders right: errors grow with the condition of the problem, see
    `SeriesSolution.digits`.

    Examples
    --------
    >>> from mdqr import series
    >>> h = series.System.from_strings(["x^2 - 2 - t"], ["x"], "t")
    >>> s = series.newton_series(h, [1.4], degree=8, precision="qd")
    >>> s["x"](0).to_strings(50).item()
    '1.4142135623730950488016887242096980785696718753769'
    """
    precision = as_precision(precision)
    if method not in _METHODS:
        raise ValueError(f'method must be "auto", "online" or "newton"; got {method!r}')
    if degree < 0:
        raise ValueError(f"degree must be at least 0; got {degree}")
    higher = _higher(precision) if verify else None
    x, point = _operands(system, x0, t0, precision, device)
    equations = Equations.of(system, point, x.is_complex, x.device)
    begin = online.start(equations, x._block, precision)
    condition = inverse.condition(begin.jacobian, begin.inverse, equations.kind)
    equations = equations.scaled(_exponent(equations, begin, degree))
    history: list[int] = []
    if method == "newton":
        values, history = newton.expand(equations, begin, degree, precision.eps, callback)
    else:
        values = online.expand(equations, begin, degree, callback)
    better = None
    if higher:
        first = MDArray._wrap(values[..., : x.shape[-1], 0], precision, x.is_complex)
        better = newton_series(system, first, degree=degree, precision=higher, t0=t0).coeffs
    way = "newton" if method == "newton" else "online"
    info = SeriesInfo(way, begin.steps, condition, equations.exponent, history, higher)
    found = SeriesSolution(system, point, precision, equations, begin, values, info, better)
    if higher:
        _warn(found, precision)
    return found


def _higher(precision: Precision) -> Precision:
    """Return the next precision."""
    found = [p for p in PRECISIONS if p > precision]
    if not found:
        raise ValueError(
            f"{precision} is the highest precision: there is none to verify by; use precision="
            f"mdqr.{PRECISIONS[-2]}, or compare with another method"
        )
    return found[0]


def _operands(
    system: System, x0: Any, t0: Any, precision: Precision, device: str | None
) -> tuple[MDArray, MDArray]:
    """Return start points and t0 in the field of the work."""
    n, m = len(system.variables), system.equations
    if m < n:
        raise ValueError(f"{m} equations do not determine {n} unknowns; give at least {n}")
    x = array(x0, precision=precision, device=device)
    if x.shape[-1:] != (n,):
        raise ValueError(f"x0 must have shape ({n},) or (..., {n}); got {x.shape}")
    if not x.size:
        raise ValueError(f"x0 has no start point; its shape is {x.shape}")
    point = array(t0, precision=precision, device="cpu")
    if point.shape not in ((), x.shape[:-1]):
        raise ValueError(
            f"t0 must be one number, or one for each start point {x.shape[:-1]}; its shape is "
            f"{point.shape}"
        )
    if x.is_complex or point.is_complex or system.is_complex:
        x, point = x.astype(dtype=complex), point.astype(dtype=complex)
    return x, point


def _warn(found: SeriesSolution, precision: Precision) -> None:
    digits = found.digits.reshape(-1, found.degree + 1).min(axis=0)
    bad = np.flatnonzero(digits < precision.digits / 2)
    if bad.size:
        warnings.warn(
            f"newton_series: orders from {bad[0]} on have fewer than half of the "
            f"{precision.digits} digits; take a higher precision",
            PrecisionWarning,
            stacklevel=3,
        )


def _exponent(equations: Equations, begin: online.Start, degree: int) -> int:
    """Return the power of two for t that keeps coefficients near one size."""
    orders = min(degree, _GROWTH)
    if orders < 1:
        return 0
    single = equations.first_limbs(1)
    values = online.expand(single, begin.first_limb(equations.kind), orders)
    size = single.size(values[..., : equations.variables, :])
    top = size.reshape(-1, orders + 1).max(axis=0).tolist()
    held = [(k, math.log2(size)) for k, size in enumerate(top) if 0.0 < size < math.inf]
    # Growth from the first order that is not zero; one order alone is brought to 1.
    if not held:
        return 0
    start, first = held[0]
    rates = [(size - first) / (k - start) for k, size in held[1:]] or [
        first / start if start else 0.0
    ]
    return -round(max(rates))
