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
from mdqr._limbs.scaling import powers_of_two
from mdqr._pickles import State
from mdqr._precision import Precision
from mdqr._stability import experimental
from mdqr.optimize._batch.algebra import swept, to_host
from mdqr.optimize._batch.problems import Problems
from mdqr.optimize._batch.solve import Outcome, solve
from mdqr.optimize._public.result import FitStatistics, OptimizeResult
from mdqr.optimize._public.statistics import LEAST, Linearised
from mdqr.optimize._public.ways_out import MESSAGES, NO_MINIMUM, of_dependent, of_rounding
from mdqr.optimize._solver.flat import dependent, is_flat
from mdqr.optimize._solver.solve import CONVERGED, FLAT, NONE


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
        a, r, _ = self._linearised
        m, n = a.shape[-2:]
        squares = (r * r).sum(axis=-1)
        found: MDArray = mdqr.sqrt(squares / (m - n)) if m > n else squares * np.nan
        return found.astype(self.precision).to_device("cpu")

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
        a, r, doubt = self._linearised
        xp, (m, n) = for_block(a.limbs).xp, a.shape[-2:]
        wide = a.reshape(-1, m, n)
        near = xp.sqrt((wide.limbs[0] ** 2).sum(axis=-2))
        scale = powers_of_two(-xp.log2(xp.where(near > 0, near, 1.0)))
        wide = wide * scale[:, None, :]
        gram = mdqr.moveaxis(wide.mT @ wide, 0, -1)
        inverse, definite = swept(xp, gram.copy())
        pcov = mdqr.moveaxis(inverse, -1, 0) * scale[:, None, :] * scale[..., None]
        if scaled:
            variance = (r * r).sum(axis=-1) / (m - n) if m > n else (r * r).sum(axis=-1) * np.inf
            pcov = pcov * variance.reshape(-1, 1, 1)
        # 1 / smin**2 of the scaled Jacobian is at most n times the largest entry.
        wrong = ((xp.asarray(doubt.reshape(-1, n)) * scale) ** 2).sum(axis=-1)
        wrong = wrong + m * n * a.precision.eps
        sure = wrong * n * xp.abs(inverse.limbs[0]).max(axis=(0, 1)) < LEAST
        known = (definite & sure & xp.asarray(self._found.reshape(-1)))[:, None, None]
        pcov = mdqr.where(known & xp.isfinite(pcov.limbs[0]), pcov, np.inf)
        return pcov.reshape((*a.shape[:-2], n, n)).astype(self.precision).to_device("cpu")

    def standard_errors(self) -> MDArray:
        """Return the standard errors of the parameters, ``(..., n)``."""
        index = np.arange(self._linearised[0].shape[-1])
        return mdqr.sqrt(self.covariance()[..., index, index])


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
    _scale(problems, x0)
    problems.try_doubles(x0)
    outcome = solve(problems, x0, linear)
    result = _result(problems, outcome, shape, names)
    _warn(problems, result, to_host(outcome.sizes).T)
    return result


def _scale(problems: Problems, x0: MDArray) -> None:
    """Refuse starts that are not finite, and let sums of squares stay in range."""
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
    largest = abs(r.limbs[0]).max(axis=-1)
    far = (largest > 0) & ((largest < 1e-60) | (largest > 1e60))
    if bool(far.any()):
        problems.scale = powers_of_two(-xp.log2(xp.where(far, largest, 1.0)))


def _result(
    problems: Problems, outcome: Outcome, shape: tuple[int, ...], names: list[str]
) -> OptimizeResult:
    p, n = problems.precision, outcome.x.shape[0]
    r, jacobian, doubt = outcome.r.T, mdqr.moveaxis(outcome.jacobian, -1, 0).mT, outcome.doubt.T
    if problems.scale is not None:
        r = r / problems.scale[:, None]
        jacobian = jacobian / problems.scale[:, None, None]
        doubt = doubt / problems.scale[:, None]
    gradient = (jacobian.mT @ r[..., None])[..., 0]
    cost = (r[:, None] @ r[..., None])[:, 0, 0] * 0.5
    exact = Linearised(jacobian, r, doubt)
    x, r, jacobian, gradient, cost = _rounded((outcome.x.T, r, jacobian, gradient, cost), p)
    found = to_host(outcome.found)
    near = np.abs(to_host(x.limbs[0]))
    bound = to_host(outcome.error).T + p.eps * near
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
    status, message = _ends(r, jacobian, found, near, names)
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


def _rounded(arrays: Sequence[MDArray], precision: Precision) -> list[MDArray]:
    """Return arrays in a precision, by one call for all."""
    joined = mdqr.concatenate([a.reshape(-1) for a in arrays]).astype(precision)
    ends = np.cumsum([a.size for a in arrays])
    parts = mdqr.split(joined, ends[:-1].tolist())
    return [part.reshape(a.shape) for part, a in zip(parts, arrays, strict=True)]


def _ends(
    r: MDArray, jacobian: MDArray, found: np.ndarray, sizes: np.ndarray, names: list[str]
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
        if is_flat(a * size, near, near):
            status[k] = FLAT
        lacks[k] = of_dependent([names[j] for j in dependent(a, size)])
    texts = []
    for end, what in ((FLAT, MESSAGES[FLAT][:-1]), (NONE, NO_MINIMUM)):
        (which,) = np.nonzero(status == end)
        if which.size:
            first = next((k for k in which.tolist() if lacks[k]), None)
            cause = f" Problem {first}: {lacks[first]}" if first is not None else ""
            texts.append(f"{what} in {which.size} of {found.size} problems.{cause}")
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
    # A parameter that is zero has no digits, and a small error nevertheless.
    size = np.maximum(np.abs(to_host(result.x.limbs[0])), sizes.reshape(result.x.shape))
    weak = np.flatnonzero((info.error_bound > p.eps**0.5 * size).any(axis=-1))
    if not weak.size:
        return
    advice = "look at `status` and `info.digits`" if result.success.all() else "change their x0"
    first = ", ".join(map(str, weak[:5].tolist())) + (" ..." if weak.size > 5 else "")
    warn(f"{result.message} Problems {first} have less than half of the digits; {advice}")
