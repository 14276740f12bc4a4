"""Solution paths followed by series: each step as long as poles and curvature allow."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

import mdqr
from mdqr._array.array import MDArray
from mdqr._functions.creation import array
from mdqr._pickles import pickled_fields
from mdqr._progress import Progress, Report, with_report
from mdqr._stability import experimental
from mdqr._typing import PrecisionLike
from mdqr.linalg import Info
from mdqr.series._analysis.pade import Pade, pade
from mdqr.series._arithmetic.series import PowerSeries
from mdqr.series._errors import NotASolutionError, SingularJacobianError, required
from mdqr.series._solver.newton_series import newton_series, warn_far, working_precision
from mdqr.series._solver.solution import SeriesSolution
from mdqr.series._solver.steps import Distances, Predictor
from mdqr.series._systems.system import System

# Of the distance to the nearest pole, and of the distance to the nearest path: S. Telen, M. Van
# Barel and J. Verschelde 2020.
_POLE, _CURVATURE = 0.5, 0.005
_LONGEST, _MOST_STEPS = 0.1, 1000
# Degrees of the Pade approximants that predict, and the step below which a path stops: before a
# singularity, usually.
_DEGREES, _LEAST_STEP = (5, 1), 1e-8
# A step that leaves less than this part of the way goes to the end.
_LAST = 2.0**-20
_AT_END = "the path has its end"
# Unknowns that a path shows.
_MOST_SHOWN = 4
_NOT_FINITE = "coefficients or derivatives leave the range of doubles"


@experimental
@pickled_fields
@dataclass(frozen=True, repr=False)
class Piece:
    """A Pade approximant of each unknown in ``t - t0``, for t from t0 to `t_end`."""

    t0: float
    t_end: float
    coeffs: MDArray
    degrees: tuple[int, int]

    def __repr__(self) -> str:
        degrees = "/".join(map(str, self.degrees))
        return f"<Piece from t = {self.t0:g} to {self.t_end:g}, approximants [{degrees}]>"

    @cached_property
    def approximants(self) -> list[Pade]:
        """The approximants, made of the series ``(n, d + 1)`` when they are asked for."""
        return [pade(PowerSeries(row), *self.degrees) for row in self.coeffs]


@experimental
@pickled_fields
@dataclass(frozen=True, repr=False)
class Path:
    """A solution path from a start point.

    Attributes
    ----------
    t : numpy.ndarray
        The values of the parameter at the steps, float64.
    x : MDArray
        Solutions there, ``(len(t), n)``, refined to the digits that their condition leaves.
    radius : numpy.ndarray
        Estimated distances of the nearest singularity at each step but the last.
    pieces : list of Piece
        What the path is between the steps.
    success : bool
        Whether it reached its end.
    message : str
        Why it stopped.
    """

    t: np.ndarray
    x: MDArray
    radius: np.ndarray
    pieces: list[Piece]
    success: bool
    message: str

    def __repr__(self) -> str:
        n, steps = self.x.shape[-1], len(self.t) - 1
        lengths = abs(np.diff(self.t))
        end = ", ".join(f"{value:.8g}" for value in self.x[-1].to_numpy()[:_MOST_SHOWN])
        what, near = f"{n} unknown{'s' * (n != 1)}", "none known"
        if steps:
            near = f"{self.radius.min():.2g} away, at t = {self.t[self.radius.argmin()]:.6g}"
            what += f", {steps} steps of {lengths.min():.2g} to {lengths.max():.2g}"
        lines = [
            f"<Path from t = {self.t[0]:g} to {self.t[-1]:g}, {self.x.precision}",
            what,
            f"nearest singularity {near}",
            f"at the end x = [{end}{', ...' if n > _MOST_SHOWN else ''}]",
            f"{self.message}>",
        ]
        return "\n  ".join(lines)

    @property
    def info(self) -> Info:
        """The precision of the solutions, and the number of steps as `iterations`."""
        return Info(self.x.precision, iterations=len(self.t) - 1)

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


@experimental
def track(
    system: System,
    x0: Any,
    *,
    t_end: float = 1.0,
    t0: float = 0.0,
    precision: PrecisionLike | None = None,
    device: str | None = None,
    progress: Progress = None,
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
        That of series and solutions; by default the highest of the MDArrays in `x0` and `system`,
        or else dd.
    device : str, optional
        "cpu" or "cuda".
    progress : callable or bool, optional
        Called as ``progress("paths", done, total)`` after each path; True for a bar.

    Returns
    -------
    Path or list of Path
        One for a single start point; an empty list for none.

    Raises
    ------
    NotASolutionError, SingularJacobianError
        As `newton_series`, at the start.
    TypeError
        If `system` is none.
    ValueError
        If the system has more equations than unknowns, an option is out of range, or t0, t_end or
        x0 is not finite.

    Warns
    -----
    UserWarning
        As `newton_series`, if the solution at t0 is far from a start point.

    Notes
    -----
    A step is at most half of the distance of the nearest pole of the approximants. It is so short
    that their error stays below 0.005 of the distance of other paths, which the second derivatives
    bound (S. Telen, M. Van Barel and J. Verschelde, SIAM J. Sci. Comput. 42, 2020). Approximants
    are of the degrees [5/1]. `solve` has an endgame: paths that end in singular
    solutions stop before, where steps become shorter than 1e-8. Steps are predicted in
    float64, and their ends refined; all paths are expanded at once, each at its value of the
    parameter.

    Examples
    --------
    >>> from mdqr import series
    >>> h = series.System.from_strings(["x^2 - 1 - 3*t"], ["x"], "t")
    >>> float(series.track(h, [1.0]).x[-1, 0])
    2.0
    """
    if not (progress is None or isinstance(progress, Report)):
        return with_report(track, locals())
    required("track", "system", system, System)
    n = len(system.variables)
    if system.equations != n:
        raise ValueError(f"{system.equations} equations in {n} unknowns; as many are needed")
    x = array(x0, precision=working_precision(precision, system, x0), device=device)
    if x.ndim not in (1, 2) or x.shape[-1] != n:
        raise ValueError(f"x0 must have shape ({n},) or (paths, {n}); got {x.shape}")
    interval = float(t0), float(t_end)
    if not np.isfinite(interval).all():
        raise ValueError(f"t0 and t_end must be finite; got {t0} and {t_end}")
    if not x.size:
        return []
    starts = x.reshape(-1, n)
    paths = _Paths(system, starts, interval)
    warn_far("track", paths.start_distance)
    ended = 0
    while ended < len(starts):
        if paths.finished == ended:
            paths.advance()
        if progress is not None:
            for count in range(ended + 1, paths.finished + 1):
                progress("paths", count, len(starts))
        ended = paths.finished
    found = [paths.path(i) for i in range(len(starts))]
    return found if x.ndim > 1 else found[0]


class _Paths:
    """Paths that advance together, each by steps of its own length."""

    def __init__(
        self,
        system: System,
        starts: MDArray,
        interval: tuple[float, float],
    ) -> None:
        self._system = system
        self._begin, self._end = interval
        self._way = 1.0 if self._end >= self._begin else -1.0
        count = len(starts)
        self._t = np.full(count, self._begin)
        self._distance = Distances(system)
        s = newton_series(
            system, starts, degree=self._degree, precision=starts.precision, t0=self._t,
            max_distance=np.inf,
        )  # fmt: skip
        self.start_distance = s.info.start_distance
        self._like = s.coeffs[:0]
        self._series = _expansions(s)
        self._times: list[list[float]] = [[self._begin] for _ in range(count)]
        self._points = [[each.point] for each in self._series]
        self._radii: list[list[float]] = [[] for _ in range(count)]
        self._pieces: list[list[Piece]] = [[] for _ in range(count)]
        self._reasons = [""] * count
        self._step = np.zeros(count)
        self._radius, self._apart = np.zeros(count), np.zeros(count)
        self._plans: dict[int, Predictor] = {}
        self._planned = np.zeros(count, dtype=bool)
        for i in np.flatnonzero(self._t == self._end):
            self._stop(int(i), _AT_END)

    @property
    def _degree(self) -> int:
        return sum(_DEGREES) + 2

    @property
    def active(self) -> np.ndarray:
        """The paths that go on."""
        return np.array([i for i, reason in enumerate(self._reasons) if not reason], int)

    @property
    def finished(self) -> int:
        """The number of paths that have ended."""
        return len(self._reasons) - len(self.active)

    def path(self, i: int) -> Path:
        """Return a path that is done."""
        xs = mdqr.stack(self._points[i])
        success = self._reasons[i] == _AT_END
        return Path(
            np.array(self._times[i]), xs, np.array(self._radii[i]), self._pieces[i], success,
            self._reasons[i],
        )  # fmt: skip

    def advance(self) -> None:
        """Try one step of every path; those that fail are tried with half of it."""
        self._plan(self.active[~self._planned[self.active]])
        active = self.active
        if not active.size:
            return
        left = abs(self._end - self._t[active])
        new = np.where(
            self._step[active] == left, self._end, self._t[active] + self._way * self._step[active]
        )
        predicted = np.stack(
            [
                self._plans[i](h) * self._series[i].unit
                for i, h in zip(active, new - self._t[active], strict=True)
            ]
        )
        right = np.isfinite(predicted).all(axis=-1)
        found: dict[int, _Expansion] = {}
        if right.any():
            found = self._expand(active[right], predicted[right], new[right])
        for i, t, x in zip(active.tolist(), new.tolist(), predicted, strict=True):
            if i in found and self._is_near(i, found[i].values[:, 0], x):
                self._accept(i, t, found[i])
            else:
                self._halve(i)

    def _plan(self, which: np.ndarray) -> None:
        """Find approximants and steps from the series of paths."""
        if not which.size:
            return
        values = np.stack([self._series[i].values for i in which])
        right = np.isfinite(values).all(axis=(-2, -1))
        for i in which[~right]:
            self._stop(int(i), _NOT_FINITE)
        which, values = which[right], values[right]
        if not which.size:
            return
        # Unknowns of any size are compared with each other.
        unit = np.stack([self._series[i].unit for i in which])
        powers = np.stack([self._series[i].powers for i in which])
        values = values / unit[..., None]
        eps = self._like.precision.eps
        plan = Predictor.of(values, *_DEGREES, longest=_LONGEST, eps=eps)
        radius, error = plan.radius(), plan.error()
        distance = self._distance(values[..., 0], self._t[which], powers)
        with np.errstate(divide="ignore", invalid="ignore"):
            curved = (_CURVATURE * distance / error) ** (1 / (sum(_DEGREES) + 1))
        # Where nothing is left out, no distance limits a step.
        curved = np.where(error > 0, curved, np.inf)
        left = abs(self._end - self._t[which])
        steps = np.minimum.reduce([_POLE * radius, curved, np.full(len(which), _LONGEST)])
        # Rounding errors of t shall not leave a last step of their size.
        steps = np.where(steps >= left * (1 - _LAST), left, steps)
        self._step[which], self._radius[which], self._planned[which] = steps, radius, True
        self._apart[which] = distance
        for place, i in enumerate(which):
            self._plans[i] = plan.one(place)
            if np.isnan(steps[place]):
                self._stop(int(i), _NOT_FINITE)
            else:
                self._check(int(i))

    def _check(self, i: int) -> None:
        # Shorter steps would not change t.
        least = max(_LEAST_STEP, 4 * float(np.spacing(abs(self._t[i]))))
        if not self._step[i] >= least and self._step[i] != abs(self._end - self._t[i]):
            near = f"singularity at a distance of about {self._radius[i]:.2g}"
            self._stop(i, f"steps below {least:g}, {near}")

    def _is_near(self, i: int, found: np.ndarray, predicted: np.ndarray) -> bool:
        """Say whether a path is where it was predicted, compared with its size.

        Or with how far others are, where that is more: at zero a path has no size.
        """
        series = self._series[i]
        moved, *sizes = (
            abs(x / series.unit).max() for x in (found - predicted, predicted, series.values[:, 0])
        )
        return bool(moved <= _LONGEST * max(*sizes, self._apart[i]))

    def _halve(self, i: int) -> None:
        self._step[i] /= 2
        self._check(i)

    def _stop(self, i: int, reason: str) -> None:
        self._reasons[i] = reason
        self._plans.pop(i, None)

    def _accept(self, i: int, t: float, series: _Expansion) -> None:
        held = self._series[i].coeffs
        self._pieces[i].append(Piece(float(self._t[i]), t, held, _DEGREES))
        self._radii[i].append(float(self._radius[i]))
        self._times[i].append(t)
        self._points[i].append(series.point)
        self._series[i], self._t[i], self._planned[i] = series, t, False
        if t == self._end:
            self._stop(i, _AT_END)
        elif len(self._times[i]) > _MOST_STEPS:
            self._stop(i, f"more than {_MOST_STEPS} steps")

    def _expand(self, which: np.ndarray, x: np.ndarray, t: np.ndarray) -> dict[int, _Expansion]:
        """Return the series of paths at points, without those that have none there."""
        precision, device = self._like.precision, self._like.device
        starts = array(x, precision=precision, device=device)
        try:
            s = newton_series(
                self._system, starts, degree=self._degree, precision=precision, t0=t,
                max_distance=np.inf,
            )  # fmt: skip
        except (NotASolutionError, SingularJacobianError):
            if len(which) == 1:
                return {}
            half = len(which) // 2
            parts = slice(half), slice(half, None)
            first, second = (self._expand(which[p], x[p], t[p]) for p in parts)
            return first | second
        return dict(zip(which.tolist(), _expansions(s), strict=True))


class _Expansion(NamedTuple):
    """The series of one path: its point on the device, all on the host, and that in float64.

    Unknowns were scaled by `unit` ``(n,)``, and terms by ``2**powers``.
    """

    point: MDArray
    coeffs: MDArray
    values: np.ndarray
    unit: np.ndarray
    powers: np.ndarray


def _expansions(s: SeriesSolution) -> list[_Expansion]:
    """Return the series of paths ``(paths, n, d + 1)`` one by one; a device is read once."""
    held = s.coeffs.to_device("cpu")
    scale = s._equations.scale
    unit, powers = (
        np.broadcast_to(part, (len(held), part.shape[1]))
        for part in (2.0**scale.unknowns, scale.powers)
    )
    return list(map(_Expansion, s.coeffs[..., 0], held, held.to_numpy(), unit, powers))
