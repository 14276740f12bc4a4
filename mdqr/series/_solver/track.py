"""Solution paths followed by series: each step as long as poles and curvature allow."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

import mdqr
from mdqr._array.array import MDArray
from mdqr._functions.creation import array
from mdqr._precision import Precision, as_precision
from mdqr.series._analysis.pade import Pade, pade
from mdqr.series._errors import NotASolutionError, SingularJacobianError
from mdqr.series._solver.newton_series import newton_series
from mdqr.series._solver.solution import SeriesSolution
from mdqr.series._systems.system import System

# Of the distance to the nearest pole, and of the distance to the nearest path: S. Telen, M. Van
# Barel and J. Verschelde 2020.
_POLE, _CURVATURE = 0.5, 0.005
_LONGEST, _MOST_STEPS = 0.1, 1000


class Piece(NamedTuple):
    """A Pade approximant of each unknown in ``t - t0``, for t from t0 to `stop`."""

    t0: float
    stop: float
    approximants: list[Pade]


@dataclass(frozen=True)
class Path:
    """A solution path from a start point.

    Attributes
    ----------
    t : numpy.ndarray
        The values of the parameter at the steps, float64.
    x : MDArray
        Solutions there, ``(len(t), n)``, refined to all digits.
    radius : numpy.ndarray
        Estimated distances of the nearest singularity at each step but the last.
    pieces : list of Piece
        What the path is between the steps.
    success : bool
        Whether it reached its end.
    reason : str
        Why it stopped.
    """

    t: np.ndarray
    x: MDArray
    radius: np.ndarray
    pieces: list[Piece]
    success: bool
    reason: str

    def __call__(self, t: float) -> MDArray:
        """Return approximate unknowns ``(n,)`` at a value of the parameter on the path.

        Raises
        ------
        ValueError
            If it is not on the path.
        """
        ends = sorted((float(self.t[0]), float(self.t[-1])))
        if not (self.pieces and ends[0] <= t <= ends[1]):
            raise ValueError(f"the path goes from {self.t[0]} to {self.t[-1]}; got {t}")
        forward = self.t[-1] >= self.t[0]
        place = np.searchsorted(self.t if forward else -self.t, t if forward else -t, "right") - 1
        piece = self.pieces[min(max(int(place), 0), len(self.pieces) - 1)]
        return mdqr.stack([each(t - piece.t0) for each in piece.approximants])


Path.__module__ = Piece.__module__ = "mdqr.series"


def track(
    system: System,
    x0: Any,
    *,
    t_end: float = 1.0,
    t0: float = 0.0,
    precision: Precision | str = "dd",
    approximant: tuple[int, int] = (5, 1),
    min_step: float = 1e-8,
    device: str | None = None,
    callback: Callable[[str, int, int], object] | None = None,
) -> Path | list[Path]:
    """Follow the solution path from a start point.

    Parameters
    ----------
    system : System
        As many equations as unknowns.
    x0 : array_like
        Start points at t0, ``(n,)`` or ``(paths, n)``.
    t_end : float, optional
        Where the path is to end, on the real axis.
    t0 : float, optional
        Where it begins.
    precision : Precision or str, optional
        That of series and solutions.
    approximant : tuple of int, optional
        Degrees of the Pade approximants that predict.
    min_step : float, optional
        The path stops where steps would be shorter: before a singularity, as a rule.
    device : str, optional
        "cpu" or "cuda".
    callback : callable, optional
        Called as ``callback("paths", done, total)`` after each of several paths.

    Returns
    -------
    Path or list of Path
        One for a single start point.

    Raises
    ------
    NotASolutionError, SingularJacobianError
        As `newton_series`, at the start.
    ValueError
        If there are more equations than unknowns, or an option is out of range.

    Notes
    -----
    A step is at most half of the distance of the nearest pole of the approximants, and so short
    that their error stays below 0.005 of the distance of other paths, which the second derivatives
    bound (S. Telen, M. Van Barel and J. Verschelde, SIAM J. Sci. Comput. 42, 2020). There is no
    endgame: paths that end in singular solutions stop before.

    Examples
    --------
    >>> from mdqr import series
    >>> h = series.System.from_strings(["x^2 - 1 - 3*t"], ["x"], "t")
    >>> float(series.track(h, [1.0]).x[-1, 0])
    2.0
    """
    n = len(system.variables)
    if system.equations != n:
        raise ValueError(f"{system.equations} equations in {n} unknowns; as many are needed")
    if min(approximant) < 0 or not sum(approximant):
        raise ValueError(f"approximant must be two degrees; got {approximant}")
    precision = as_precision(precision)
    x = array(x0, precision=precision, device=device)
    if x.ndim == 1:
        return _follow(system, x, float(t0), float(t_end), approximant, min_step)
    paths: list[Path] = []
    for one in x:
        paths.append(_follow(system, one, float(t0), float(t_end), approximant, min_step))
        if callback is not None:
            callback("paths", len(paths), len(x))
    return paths


def _follow(
    system: System,
    x: MDArray,
    t0: float,
    t_end: float,
    degrees: tuple[int, int],
    min_step: float,
) -> Path:
    way = 1.0 if t_end >= t0 else -1.0
    times, points, radii, pieces = [t0], [], [], []
    precision, t = x.precision, t0
    degree, reason = sum(degrees) + 2, "the path has its end"
    s = newton_series(system, x, degree=degree, precision=precision, t0=t)
    points.append(s.coeffs[:, 0])
    while t != t_end:
        if len(times) > _MOST_STEPS:
            reason = f"more than {_MOST_STEPS} steps"
            break
        found = [pade(s[i], *degrees) for i in range(len(system.variables))]
        radius = _nearest(found)
        step = _step(system, s, found, radius, degrees, abs(t_end - t))
        while step >= min_step or step == abs(t_end - t):
            new = t_end if step == abs(t_end - t) else t + way * step
            # Approximants are on the host.
            predicted = mdqr.stack([each(new - t) for each in found]).to_device(x.device)
            try:
                s = newton_series(system, predicted, degree=degree, precision=precision, t0=new)
            except (NotASolutionError, SingularJacobianError):
                step /= 2
                continue
            moved = abs(s.coeffs[:, 0] - predicted).max()
            if float(moved) <= _LONGEST * max(1.0, float(abs(predicted).max())):
                break
            step /= 2
        else:
            reason = f"steps below {min_step:g}, singularity at a distance of about {radius:.2g}"
            break
        pieces.append(Piece(t, new, found))
        radii.append(radius)
        times.append(new)
        points.append(s.coeffs[:, 0])
        t = new
    xs = mdqr.stack([p.astype(dtype=complex) if s.coeffs.is_complex else p for p in points])
    return Path(np.array(times), xs, np.array(radii), pieces, t == t_end, reason)


def _nearest(approximants: list[Pade]) -> float:
    """Return the smallest modulus of a pole."""
    moduli = [abs(each.poles.values).to_numpy() for each in approximants]
    return float(min((m.min() for m in moduli if m.size), default=math.inf))


def _step(
    system: System,
    s: SeriesSolution,
    approximants: list[Pade],
    radius: float,
    degrees: tuple[int, int],
    left: float,
) -> float:
    """Return a step by the distance of poles and by that of other paths."""
    error = math.hypot(*(float(abs(each.error)) for each in approximants))
    distance = _distance(system, s)
    order = sum(degrees) + 1
    curved = (_CURVATURE * distance / error) ** (1 / order) if error > 0 else math.inf
    return min(_POLE * radius, curved, _LONGEST, left)


def _distance(system: System, s: SeriesSolution) -> float:
    """Estimate the distance of the nearest other solution, in float64.

    ``2 sigma_min(J) / norm(sigma_max(H_1), ..., sigma_max(H_n))``, H_i the second derivatives.
    """
    x = s.coeffs[:, 0].to_device("cpu").to_numpy()
    t = complex(s.t0) if s.t0.is_complex else float(s.t0)
    powers, terms = system.float64(t)
    n = len(x)
    jacobian = np.zeros((n, n), dtype=complex)
    hessians = np.zeros((n, n, n), dtype=complex)
    for exponents, equation, value in zip(powers, system.term_equations, terms, strict=True):
        for i in np.flatnonzero(exponents):
            first = exponents.copy()
            first[i] -= 1
            scaled = value * exponents[i]
            jacobian[equation, i] += scaled * np.prod(x**first)
            for j in np.flatnonzero(first):
                second = first.copy()
                second[j] -= 1
                hessians[equation, i, j] += scaled * first[j] * np.prod(x**second)
    curvature = float(np.linalg.norm(np.linalg.norm(hessians, 2, axis=(1, 2))))
    least = float(np.linalg.svd(jacobian, compute_uv=False).min())
    return 2 * least / curvature if curvature > 0 else math.inf
