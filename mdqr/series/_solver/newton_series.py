"""Power series solutions of polynomial systems."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from mdqr._array.array import MDArray
from mdqr._backend.blocks import native_abs
from mdqr._core.promotion import precisions_in
from mdqr._errors import place_of_least, shortened, warn_caller, warn_of_precision
from mdqr._functions.creation import array
from mdqr._limbs.planes import Block
from mdqr._precision import PRECISIONS, Precision, as_precision, dd, precision_of_limbs
from mdqr._progress import Progress, Report, with_report
from mdqr._typing import PrecisionLike
from mdqr.series._errors import NotASolutionError, required
from mdqr.series._solver import newton, online
from mdqr.series._solver.equations import Equations
from mdqr.series._solver.scaling import growth
from mdqr.series._solver.solution import SeriesInfo, SeriesSolution
from mdqr.series._systems.system import System

_METHODS = ("auto", "online", "newton")
# Orders from which the growth of more coefficients is estimated, in float64.
_GROWTH = 8
# Relative distances from which a solution may be another one than was meant.
_FAR = 0.03
# Orders may differ by so many bits, or that part of those down to `Precision.tiny`, else they are
# found again, with t scaled otherwise.
_MOST_BITS, _MOST_PART, _MOST_TRIALS = 256, 0.4, 8


def newton_series(
    system: System,
    x0: Any,
    *,
    degree: int,
    precision: PrecisionLike | None = None,
    t0: Any = 0,
    method: Literal["auto", "online", "newton"] = "auto",
    verify: bool = False,
    max_distance: float | None = None,
    device: str | None = None,
    progress: Progress = None,
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
    precision : Precision or str, optional
        The working precision, and the precision of the result; by default the highest of the
        MDArrays in `x0`, `t0` and `system`, or else dd.
    t0 : number or array_like, optional
        Where the series are expanded; for start points ``(..., n)`` also an array ``(...)``.
    method : {"auto", "online", "newton"}, optional
        "online": one order after the other. "newton": Newton's method on series, which takes more
        time and memory and is meant as a check. "auto" is "online".
    verify : bool, optional
        Solve again in the next precision, and measure the digits by that.
    max_distance : float, optional
        The largest relative distance, ``info.start_distance``, by which the solution may be from
        `x0`; beyond it `NotASolutionError` is raised. By default a warning is given beyond 0.03.
    device : str, optional
        "cpu" or "cuda"; where x0 is, by default.
    progress : callable or bool, optional
        Called as ``progress("orders", done, total)``, with `verify` in both precisions; True
        for a bar.

    Returns
    -------
    SeriesSolution
        The coefficients and their digits.

    Raises
    ------
    SingularJacobianError
        If the Jacobian at the start is singular: then x is not a power series in t.
    NotASolutionError
        If Newton's method does not lead from x0 to a solution at t0, or to one beyond
        `max_distance`.
    TypeError
        If `system` is none, or `degree` no integer.
    ValueError
        If shapes do not fit, the system has fewer equations than unknowns, an option is unknown, or
        a higher precision to verify by does not exist; if x0 or t0 is not finite, or coefficients
        leave the range of doubles there.

    Warns
    -----
    UserWarning
        If the solution is farther from `x0` than 0.03 of its size: perhaps it is another one.
    PrecisionWarning
        With ``verify=True``: if an order has fewer than half of the digits of the precision.

    Notes
    -----
    The Jacobian at the start is inverted once; with more than 64 unknowns by QR in as few limbs
    as make steps of refinement converge. With x_k = 0 first, the residual of order k of the
    equations is ``-J0 x_k``; steps of refinement follow (the recurrence of the asymptotic numerical
    method). Unknowns, equations and t are scaled by powers of two, separately for each start point,
    so that no order leaves the range where the coefficients do not. Overdetermined systems are
    solved by least squares, order by order, each after those before it: exact for consistent ones,
    and for others not the least sum over all orders.

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
    if not (progress is None or isinstance(progress, Report)):
        return with_report(newton_series, locals())
    required("newton_series", "system", system, System)
    precision, degree = working_precision(precision, system, x0, t0), operator.index(degree)
    _check_options(method, degree)
    higher = _higher(precision) if verify else None
    x, point = _operands(system, x0, t0, precision, device)
    equations, begin = _start(system, point, x)
    distance = _distance(equations, begin, x)
    if max_distance is not None and not distance <= max_distance:
        raise NotASolutionError(0.0, distance, max_distance)
    if max_distance is None:
        warn_far("newton_series", distance)
    history: list[int] = []

    def expand(equations: Equations) -> Block:
        if method == "newton":
            values, history[:] = newton.expand(equations, begin, degree, progress)
            return values
        return online.expand(equations, begin, degree, progress)

    equations, values = _in_range(equations, begin, degree, expand)
    way = "newton" if method == "newton" else "online"
    exponent = equations.exponents(x.shape[:-1])
    condition = begin.inverse.condition
    known = (way, begin.steps, condition, distance, exponent, history, higher)
    info = SeriesInfo(*known, iterations=len(history), precision=precision)
    found = SeriesSolution._make(system, point, precision, equations, begin, values, info)
    if not higher:
        return found
    # About the same point: t0 as given may have more digits than the precision.
    first = found.without_noise[..., 0]
    again = newton_series(
        system, first, degree=degree, precision=higher, t0=point, progress=progress
    )
    found._compare(again.coeffs)
    _warn(found, precision)
    return found


def _check_options(method: str, degree: int) -> None:
    """Raise ValueError for an unknown method or a negative degree."""
    if method not in _METHODS:
        raise ValueError(
            f'method must be "auto", "online" or "newton"; got {shortened(repr(method))}'
        )
    if degree < 0:
        raise ValueError(f"degree must be at least 0; got {degree}")


def working_precision(precision: PrecisionLike | None, system: System, *points: Any) -> Precision:
    """Return the precision asked for, else the highest of the operands, else dd."""
    if precision is not None:
        return as_precision(precision)
    return max(system._precisions.union(*map(precisions_in, points)), default=dd)


def _higher(precision: Precision) -> Precision:
    """Return the next precision."""
    if precision == PRECISIONS[-1]:
        raise ValueError(
            f"{precision} is the highest precision: there is none to verify by; use precision="
            f"mdqr.{PRECISIONS[-2]}, or compare with another method"
        )
    return precision.next


def _operands(
    system: System, x0: Any, t0: Any, precision: Precision, device: str | None
) -> tuple[MDArray, MDArray]:
    """Return start points and t0 in the field of the work."""
    n, m = len(system.variables), system.equations
    if m < n:
        raise ValueError(f"{m} equations do not determine {n} unknowns; give at least {n}")
    x = array(x0, precision=precision, device=device)
    point = array(t0, precision=precision, device="cpu")
    if not np.isfinite(point._block).all():
        raise ValueError(f"t0 must be finite; got {t0}")
    shape = x.shape
    if shape[-1:] != (n,):
        raise ValueError(f"x0 must have shape ({n},) or (..., {n}); got {shape}")
    if 0 in shape:
        raise ValueError(f"x0 has no start point; its shape is {shape}")
    if point.shape not in ((), shape[:-1]):
        raise ValueError(
            f"t0 must be one number, or one for each start point {shape[:-1]}; its shape is "
            f"{point.shape}"
        )
    if x.is_complex or point.is_complex or system.is_complex:
        x, point = x.astype(dtype=complex), point.astype(dtype=complex)
    return x, point


def _start(system: System, t0: MDArray, x: MDArray) -> tuple[Equations, online.Start]:
    """Return the equations, scaled by start points, and the refined ones.

    Rounding errors instead of an unknown that is zero do not tell its scale.
    """
    size = _on_host(native_abs(x._block, x.is_complex)).reshape(-1, x.shape[-1])
    if not np.isfinite(size).all():
        raise ValueError("x0 must be finite")
    equations = Equations.of(system, t0, size, x.device)
    begin = online.start(equations, x._block, x.precision)
    if not equations.scale.unknowns.any():
        return equations, begin
    noise = _on_host(online.is_noise(equations, begin, x.precision)).reshape(size.shape)
    if not size[noise].any():
        return equations, begin
    equations = Equations.of(system, t0, np.where(noise, 0.0, size), x.device)
    return equations, online.start(equations, x._block, x.precision)


def _distance(equations: Equations, begin: online.Start, x: MDArray) -> float:
    """Return how far solutions are from start points, relative to the larger, the worst of all."""
    kind, n = equations.kind, equations.variables
    backend, given = equations.backend, equations.inward(x._block)
    found = begin.values[..., :n, 0]
    moved = equations.size(backend.binary("subtract", found, given, kind=kind))
    size = backend.xp.maximum(equations.size(found), equations.size(given))
    top = size.max(axis=-1)
    ratio = moved.max(axis=-1) / backend.xp.where(top > 0, top, 1.0)
    return float(ratio.max())


def warn_far(function: str, distance: float) -> None:
    """Warn the caller of a public function where Newton's method went far from a start point."""
    if distance > _FAR:
        warn_caller(
            UserWarning(
                f"{function}: the solution at t0 is at a relative distance of {distance:.2g} from "
                "x0; perhaps it is not the one that was meant"
            )
        )


def _on_host(block: Block) -> np.ndarray:
    return block if isinstance(block, np.ndarray) else block.get()


def _warn(found: SeriesSolution, precision: Precision) -> None:
    digits = found.digits
    bad = np.flatnonzero(digits.reshape(-1, found.degree + 1).min(axis=0) < precision.digits / 2)
    if bad.size:
        warn_of_precision(
            "series.newton_series",
            f"orders from {bad[0]} on have fewer than half of the {precision.digits} digits; take "
            "a higher precision",
            digits=digits.min(),
            precision=precision,
            index=place_of_least(digits),
        )


def _in_range(
    equations: Equations, begin: online.Start, degree: int, expand: Callable[[Equations], Block]
) -> tuple[Equations, Block]:
    """Return what `expand` finds where t is scaled so that orders are near one size.

    The first of many orders tell how, in float64; where later ones grow otherwise all are found
    again, from the equations as they were given: lost limbs do not come back.
    """
    given = equations
    if degree > _GROWTH:
        single = equations.first_limbs(1)
        values = online.expand(single, begin.first_limb(equations.kind), _GROWTH)
        equations = given.scaled(given.slower(growth(_tops(single, values))))
    values = expand(equations)
    tiny = -math.log2(precision_of_limbs(equations.kind.limbs).tiny)
    most = min(_MOST_BITS, _MOST_PART * tiny)
    for _ in range(_MOST_TRIALS if degree else 0):
        rates = growth(_tops(equations, values))
        rates[abs(rates) * degree <= most] = 0.0
        slower = equations.slower(rates)
        if (slower == equations.exponent).all():
            break
        equations = given.scaled(slower)
        values = expand(equations)
    return equations, values


def _tops(equations: Equations, values: Block) -> np.ndarray:
    """Return the sizes of orders ``(items, d + 1)``, those of the largest unknowns."""
    size = equations.size(values[..., : equations.variables, :]).max(axis=-2)
    size = size.reshape(-1, size.shape[-1])
    return _on_host(size)
