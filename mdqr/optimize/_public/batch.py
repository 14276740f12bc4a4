"""Batches: the public side of many fits of one model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

import mdqr
from mdqr._array.array import MDArray
from mdqr._backend import for_block
from mdqr._errors import warn_of_precision
from mdqr._limbs.scaling import column_exponents, powers_of_two, top_exponents
from mdqr._pickles import State
from mdqr._precision import Precision
from mdqr._stability import experimental
from mdqr.optimize._batch.algebra import swept, to_host
from mdqr.optimize._batch.problems import Problems
from mdqr.optimize._batch.solve import Outcome, solve
from mdqr.optimize._model.points import norms_of, power_near_one, rounding, shifted
from mdqr.optimize._public.result import FitStatistics, OptimizeResult
from mdqr.optimize._public.statistics import LEAST, Linearised
from mdqr.optimize._public.ways_out import MESSAGES, NO_MINIMUM, of_dependent, of_rounding
from mdqr.optimize._solver.flat import dependent, is_flat
from mdqr.optimize._solver.solve import CONVERGED, FLAT, NEARLY_ZERO, NONE


@experimental
class BatchInfo(FitStatistics):
    """Quality and statistics of a batch of fits; arrays have the shape of the batch in front.

    Attributes
    ----------
    method, derivatives : str
        "newton" and "differences".
    iterations : int
        The most steps of any problem before Newton's.
    noise : numpy.ndarray
        Rounding errors of the function, relative to its values.
    error_bound : numpy.ndarray
        Estimated bounds of the errors of x, as `FitInfo` has them; infinite where a problem has no
        minimum.
    digits : numpy.ndarray
        Correct decimal digits of x for the function as it is.
    bound_kind : str
        "estimated".
    """

    derivatives = "differences"
    _more = ("noise",)

    def __init__(
        self,
        precision: Precision,
        sizes: np.ndarray,
        bound: np.ndarray,
        linearised: Linearised,
        found: np.ndarray,
        **known: Any,
    ) -> None:
        super().__init__(precision, sizes, bound, bound, bound_kind="estimated", **known)
        self._linearised, self._found = linearised, found
        self.noise: np.ndarray = np.zeros(())

    def _state(self) -> dict[str, Any]:
        jacobian, r, doubt = self._linearised
        here = Linearised(jacobian.to_device("cpu"), r.to_device("cpu"), doubt)
        return super()._state() | here._asdict() | {"found": self._found}

    @classmethod
    def _restored(cls, state: State) -> BatchInfo:
        self = super()._restored(state)
        self._linearised = Linearised.restored(state)
        self._found = state.checked("found", np.ndarray)
        return self

    @property
    def residual_std(self) -> MDArray:
        """Residual standard deviations; NaN without degrees of freedom."""
        m, n = self._linearised.jacobian.shape[-2:]
        squares, power = self._squares()
        found = mdqr.sqrt(squares / (m - n)) if m > n else squares * np.nan
        return shifted(found, power).astype(self.precision).to_device("cpu")

    def _squares(self) -> tuple[MDArray, Any]:
        """Return sums of squares of residuals over powers of two, and the exponents of these."""
        r = self._linearised.r
        power = top_exponents(r._block, is_complex=False, axis=-1)
        unit = shifted(r, -power[..., None])
        return (unit * unit).sum(axis=-1), power

    def _inverse(self) -> tuple[MDArray, Any, Any]:
        """Return the inverses of ``J^T J`` by scaled columns, exponents, and which are known."""
        a, _, doubt = self._linearised
        xp, (m, n) = for_block(a.limbs).xp, a.shape[-2:]
        powers = -column_exponents(a._block, is_complex=False).reshape(-1, n)
        wide = shifted(a.reshape(-1, m, n), powers[:, None, :])
        inverse, definite = swept(xp, mdqr.moveaxis(wide.mT @ wide, 0, -1))
        # 1 / smin**2 of the scaled Jacobian is at most n times the largest entry.
        wrong = ((xp.asarray(doubt.reshape(-1, n)) * powers_of_two(powers)) ** 2).sum(axis=-1)
        wrong = wrong + m * n * a.precision.eps
        sure = wrong * n * xp.abs(inverse.limbs[0]).max(axis=(0, 1)) < LEAST
        known = definite & sure & xp.asarray(self._found.reshape(-1))
        return mdqr.moveaxis(inverse, -1, 0), powers, known

    def covariance(self, *, scaled: bool = True) -> MDArray:
        """Return the covariance matrices of the parameters.

        Parameters
        ----------
        scaled : bool, default: True
            Whether to multiply by the variances of the residuals.

        Returns
        -------
        MDArray
            ``(..., n, n)``; infinite where a problem has no minimum, or a Jacobian that is singular
            within its errors.
        """
        (*batch, _, n), xp = self._linearised.jacobian.shape, self._xp
        inverse, powers, known = self._inverse()
        powers = powers[:, :, None] + powers[:, None]
        if scaled:
            variance, power = self._variance()
            inverse, powers = inverse * variance[:, None, None], powers + 2 * power[:, None, None]
        pcov = shifted(inverse, powers)
        pcov = mdqr.where(known[:, None, None] & xp.isfinite(pcov.limbs[0]), pcov, np.inf)
        return pcov.reshape(*batch, n, n).astype(self.precision).to_device("cpu")

    def _variance(self) -> tuple[MDArray, Any]:
        """Return variances of residuals over powers of four, and the exponents of their roots."""
        m, n = self._linearised.jacobian.shape[-2:]
        squares, power = self._squares()
        found = squares / (m - n) if m > n else mdqr.full_like(squares, np.inf)
        return found.reshape(-1), power.reshape(-1)

    @property
    def _xp(self) -> Any:
        return for_block(self._linearised.jacobian.limbs).xp

    def standard_errors(self) -> MDArray:
        """Return the standard errors of the parameters, ``(..., n)``."""
        *batch, _, n = self._linearised.jacobian.shape
        index = np.arange(n)
        inverse, powers, known = self._inverse()
        variance, power = self._variance()
        root = mdqr.sqrt(inverse[:, index, index] * variance[:, None])
        found = mdqr.where(known[:, None], shifted(root, powers + power[:, None]), np.inf)
        return found.reshape(*batch, n).astype(self.precision).to_device("cpu")


BatchInfo.__module__ = "mdqr.optimize"


def fitted(
    name: str,
    values: Callable[[Any, Any, Precision | None], Any],
    residuals: Callable[[Any, Any, Precision | None], Any],
    start: MDArray,
    precision: Precision,
    *,
    separable: bool,
    linear: list[int] | None,
    names: list[str],
) -> OptimizeResult:
    """Return the results of a batch from starting points ``(..., n)`` in the highest precision."""
    shape, n = start.shape[:-1], start.shape[-1]
    x0 = start.reshape(-1, n).T.astype(mdqr.dd)
    problems = Problems(name, values, residuals, separable=separable, like=x0, precision=precision)
    x0, first = _scaled(problems, x0)
    problems.try_doubles(x0)
    outcome = solve(problems, x0, linear)
    result = _result(problems, outcome, shape, names, first)
    sizes = outcome.sizes if problems.units is None else outcome.sizes * problems.units
    _warn(problems, result, to_host(sizes).T)
    return result


def _scaled(problems: Problems, x0: MDArray) -> tuple[MDArray, np.ndarray]:
    """Return the starts in units in which sums of squares stay in range, and norms of residuals.

    Raises
    ------
    ValueError
        If residuals are not finite there.
    """
    xp = problems.xp
    r = problems.at(x0[:, None])[0]
    if not r.shape[-1]:
        raise ValueError(f"{problems.name}: the function returned no residuals")
    finite = to_host(xp.isfinite(r.limbs[0]).all(axis=-1))
    if not finite.all():
        k = int(np.flatnonzero(~finite)[0])
        raise ValueError(
            f"{problems.name}: residuals are not finite in the initial point of problem {k}"
        )
    scale = power_near_one(abs(r.limbs[0]).max(axis=-1))
    if bool((scale != 1.0).any()):
        problems.scale = scale
    units = power_near_one(abs(x0.limbs[0]))
    if bool((units != 1.0).any()):
        problems.units = 1.0 / units
        x0 = x0 * units
    return x0, norms_of(to_host(r.limbs[0]).T)


def _result(
    problems: Problems,
    outcome: Outcome,
    shape: tuple[int, ...],
    names: list[str],
    first: np.ndarray,
) -> OptimizeResult:
    """Return the results; `first` are norms of the residuals at the starts."""
    p, n = problems.precision, outcome.x.shape[0]
    values, (r, jacobian, doubt), error = _in_units_of_caller(problems, outcome)
    with np.errstate(over="ignore", invalid="ignore"):
        gradient = (jacobian.mT @ r[..., None])[..., 0]
        cost = (r[:, None] @ r[..., None])[:, 0, 0] * 0.5
    exact = Linearised(jacobian, r, doubt)
    x, r, jacobian, gradient, cost = _rounded((values, r, jacobian, gradient, cost), p)
    found = to_host(outcome.found)
    near = np.abs(to_host(x.limbs[0]))
    bound = to_host(error) + rounding(p, near)
    rows = r.shape[-1]
    info = BatchInfo(
        p,
        near.reshape((*shape, n)),
        bound.reshape((*shape, n)),
        Linearised(
            exact.jacobian.reshape((*shape, rows, n)),
            exact.r.reshape((*shape, rows)),
            to_host(doubt).reshape((*shape, n)),
        ),
        found.reshape(shape),
        method="newton",
        iterations=int(to_host(outcome.steps).max(initial=0)),
    )
    info.noise = to_host(outcome.unit).reshape(shape)
    status, message = _ends(r, jacobian, found, near, names, first)
    status = status.reshape(shape)
    return OptimizeResult(
        x=x.reshape((*shape, n)),
        cost=cost.reshape(shape),
        fun=_as_complex(problems, r, -1).reshape((*shape, -1)),
        jac=_as_complex(problems, jacobian, -2).reshape((*shape, -1, n)),
        grad=gradient.reshape((*shape, n)),
        optimality=np.abs(to_host(gradient.limbs[0])).max(axis=-1, initial=0.0).reshape(shape),
        active_mask=np.zeros((*shape, n), dtype=int),
        nfev=problems.nfev,
        njev=problems.nfev,
        status=status,
        success=status > 0,
        message=message,
        info=info,
    )


def _in_units_of_caller(
    problems: Problems, outcome: Outcome
) -> tuple[MDArray, tuple[MDArray, MDArray, Any], Any]:
    """Return x, residuals, Jacobians and their doubts, and errors; problems on the first axis."""
    x, r, jacobian = outcome.x.T, outcome.r.T, mdqr.moveaxis(outcome.jacobian, -1, 0).mT
    doubt, error = outcome.doubt.T, outcome.error.T
    if problems.units is not None:
        units = problems.units.T
        x, error, doubt = x * units, error * units, doubt / units
        jacobian = jacobian / units[:, None]
    if problems.scale is not None:
        r = r / problems.scale[:, None]
        jacobian = jacobian / problems.scale[:, None, None]
        doubt = doubt / problems.scale[:, None]
    return x, (r, jacobian, doubt), error


def _rounded(arrays: Sequence[MDArray], precision: Precision) -> list[MDArray]:
    """Return arrays in a precision, by one call for all."""
    joined = mdqr.concatenate([a.reshape(-1) for a in arrays]).astype(precision)
    ends = np.cumsum([a.size for a in arrays])
    parts = mdqr.split(joined, ends[:-1].tolist())
    return [part.reshape(a.shape) for part, a in zip(parts, arrays, strict=True)]


def _ends(
    r: MDArray,
    jacobian: MDArray,
    found: np.ndarray,
    sizes: np.ndarray,
    names: list[str],
    first: np.ndarray,
) -> tuple[np.ndarray, str]:
    """Return the status of each problem, and all of them in words."""
    status = np.where(found, CONVERGED, NONE)
    lost = np.flatnonzero(~found)
    if not lost.size:
        return status, MESSAGES[CONVERGED]
    lacks: dict[int, str] = {}
    for k in lost.tolist():
        near, a = to_host(r.limbs[0, k]), to_host(jacobian.limbs[0, k])
        size = np.where(sizes[k] > 0, sizes[k], 1.0)
        unit = 2.0 ** -np.frexp(np.max(np.abs(near), initial=0.0))[1]
        vanish = np.max(np.abs(near), initial=0.0) <= NEARLY_ZERO**0.5 * first[k]
        if vanish or is_flat(a * size * unit, near * unit, near * unit):
            status[k] = FLAT
        lacks[k] = of_dependent([names[j] for j in dependent(a, size)])
    texts = []
    for end, what in ((FLAT, MESSAGES[FLAT]), (NONE, f"{NO_MINIMUM}.")):
        (which,) = np.nonzero(status == end)
        if which.size:
            one = next((k for k in which.tolist() if lacks[k]), None)
            cause = f" Problem {one}: {lacks[one]}" if one is not None else ""
            texts.append(f"{which.size} of {found.size} problems: {what}{cause}")
    return status, " ".join(texts)


def _as_complex(problems: Problems, stacked: MDArray, axis: int) -> MDArray:
    if not problems.is_complex:
        return stacked
    real, imag = mdqr.split(stacked, 2, axis=axis)
    return real + imag * 1j


def _warn(problems: Problems, result: OptimizeResult, sizes: np.ndarray) -> None:
    """Warn of problems without a minimum, of few digits, and of a function that has few."""
    info, p = result.info, problems.precision
    warn = partial(
        warn_of_precision,
        f"optimize.{problems.name}",
        digits=float(np.min(info.digits)),
        precision=p,
    )
    if problems.unit:
        all_found = bool((result.status == CONVERGED).all())
        text = of_rounding(problems.unit, float(np.min(info.digits)) if all_found else None)
        warn(text if all_found else f"{result.message} {text}")
        return
    # A parameter that may be zero has no digits, and a small error nevertheless.
    near = np.abs(to_host(result.x.limbs[0]))
    size = np.maximum(near, sizes.reshape(near.shape))
    size = np.where(near > info.error_bound, near, size)
    weak = np.flatnonzero((info.error_bound > p.eps**0.5 * size).any(axis=-1))
    if not weak.size:
        return
    advice = "look at `status` and `info.digits`" if result.success.all() else "change their x0"
    first = ", ".join(map(str, weak[:5].tolist())) + (" ..." if weak.size > 5 else "")
    which = f"Problems {first} have" if weak.size > 1 else f"Problem {first} has"
    warn(f"{result.message} {which} less than half of the digits; {advice}")
