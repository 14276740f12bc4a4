"""Results of fits: what SciPy returns, with a report on the digits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import mdqr
from mdqr._array.array import MDArray
from mdqr._pickles import State
from mdqr._precision import Precision
from mdqr._stability import experimental
from mdqr.linalg._shared.info import Info
from mdqr.optimize._model.box import numbers
from mdqr.optimize._model.points import norms_of
from mdqr.optimize._public.predict import Prediction, predicted
from mdqr.optimize._public.statistics import Linearised, statistics_of


@experimental
class OptimizeResult(dict[str, Any]):
    """The result of a fit; its items are attributes, too.

    Attributes
    ----------
    x : MDArray
        The parameters, ``(n,)``.
    cost : MDArray
        Half the sum of squares of the residuals, or of their losses (0-d).
    fun : MDArray
        The residuals, ``(m,)``.
    jac : MDArray
        The Jacobian, ``(m, n)``.
    grad : MDArray
        The gradient ``J^T r``, ``(n,)``; with a loss, the gradient of the cost.
    optimality : float
        The largest component of the gradient of parameters that are not held at a bound.
    active_mask : numpy.ndarray
        -1 for parameters at their lower bound, 1 at the upper one, else 0.
    nfev, njev : int
        Points that were tried, as `max_nfev` counts them, and Jacobians. How often the function was
        evaluated for these, its rounding errors and second derivatives: `info.evaluations`.
    status : int
        3: converged to all digits; 1: the gradient is zero, and the Jacobian singular; 0: the
        limit of evaluations is reached; -2: stopped by `callback`; -3: no minimum was found.
    success : bool
        True if `status` is positive.
    message : str
        The status in words.
    info : FitInfo
        Digits, error bounds and statistics.
    """

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"a fit has no attribute {name!r}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def __delattr__(self, name: str) -> None:
        try:
            del self[name]
        except KeyError:
            raise AttributeError(f"a fit has no attribute {name!r}") from None

    def copy(self) -> OptimizeResult:
        """Return a result with the same items, and arrays of its own."""
        arrays = (MDArray, np.ndarray)
        items = {key: v.copy() if isinstance(v, arrays) else v for key, v in self.items()}
        return type(self)(items)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self})

    def __repr__(self) -> str:
        if not {"x", "info", "success", "status"} <= set(self):
            return (
                f"<OptimizeResult of {', '.join(self)}>" if self else "<OptimizeResult of nothing>"
            )
        digits = float(np.min(self.info.digits, initial=float(self.x.precision.digits)))
        if self.x.ndim > 1:
            return (
                f"<OptimizeResult of {self.status.size} problems, x of shape {self.x.shape}, "
                f"digits>={digits:.1f} success in {np.count_nonzero(self.success)}>"
            )
        cost = f"cost={float(self.cost):.6g} " if "cost" in self else ""
        return (
            f"<OptimizeResult x={self.x.to_strings(8).tolist()} {cost}"
            f"digits>={digits:.1f} success={self.success} status={self.status}>"
        )


class FitStatistics(Info, ABC):
    """The base of the reports on a fit and on a batch of fits."""

    noise: Any
    _linearised: Linearised

    @property
    @abstractmethod
    def residual_std(self) -> Any:
        """Residual standard deviation."""

    @abstractmethod
    def standard_errors(self) -> Any:
        """Return the standard errors of the parameters."""

    @abstractmethod
    def covariance(self, *, scaled: bool = True) -> Any:
        """Return the covariance matrix of the parameters."""


@experimental
class FitInfo(FitStatistics):
    """Quality and statistics of a fit.

    Attributes
    ----------
    method : str
        "newton", or "levenberg-marquardt" where it did not converge to all digits.
    derivatives : str
        "differences", of the function in higher precision, "series" for exact ones by
        `mdqr.series.PowerSeries`, or "jac" for the caller's.
    linear : list of int
        Parameters in which the model is linear, which were solved for.
    iterations : int
        Steps of both methods.
    history : numpy.ndarray
        Newton's steps relative to x; float64.
    noise : float
        Rounding errors of the function, relative to its values.
    evaluations : int
        Points at which the function was evaluated.
    condition : float
        Condition number of the Jacobian with columns of unit norm.
    error_bound : numpy.ndarray
        Bounds of the errors of x, proven with `verified`, else estimated: twice the last step, and
        the errors of the gradient times the inverse of the Hessian. Infinite where the fit did not
        converge.
    digits : numpy.ndarray
        Correct decimal digits of x for the function as it is; 0 where the fit did not converge.
    bound_kind : str
        "proven" with `verified`, else "estimated".
    data_digits : numpy.ndarray
        Correct decimal digits for all `ydata` within half a unit in the last place of the precision
        in which they were given. Of `least_squares`, whose data are inside the function, they are
        `digits`.
    """

    derivatives: str
    linear: list[int]
    noise: float
    evaluations: int
    _more = ("derivatives", "linear", "noise", "evaluations")

    def __init__(
        self,
        precision: Precision,
        sizes: np.ndarray,
        bound: np.ndarray,
        data_bound: np.ndarray,
        linearised: Linearised,
        total: MDArray | None,
        **known: Any,
    ) -> None:
        super().__init__(
            precision,
            sizes,
            bound,
            data_bound,
            condition=self._condition,
            **known,
        )
        self._linearised, self._total = linearised, total
        self._statistics: Any = None

    def _state(self) -> dict[str, Any]:
        return super()._state() | self._linearised._asdict() | {"total": self._total}

    @classmethod
    def _restored(cls, state: State) -> FitInfo:
        self = super()._restored(state)
        self._linearised = Linearised.restored(state)
        self._total = state.checked("total", (MDArray, type(None)))
        self._statistics = None
        return self

    def _condition(self) -> float:
        a = self._linearised.jacobian.to_numpy()
        norms = norms_of(a)
        if np.any(norms <= 4.0 * self._linearised.doubt) or not np.isfinite(norms).all():
            return np.inf
        s = np.linalg.svd(a / norms, compute_uv=False)
        return float(s[0] / s[-1]) if s[-1] > 0 and len(s) == a.shape[1] else np.inf

    def _solved(self) -> Any:
        """Return the statistics of the least-squares problem that the Jacobian makes there.

        Raises
        ------
        LinAlgError
            If the Jacobian does not have full rank, or not beyond its errors.
        """
        if self._statistics is None:
            precision = self.precision or self._linearised.r.precision
            self._statistics = statistics_of(self._linearised, precision)
        return self._statistics

    @property
    def residual_std(self) -> Any:
        """Residual standard deviation (0-d); NaN without degrees of freedom."""
        return self._solved().residual_std

    @property
    def r_squared(self) -> Any:
        """Coefficient of determination about the mean of `ydata` (0-d).

        Raises
        ------
        ValueError
            If the fit is one of `least_squares`, whose data are inside the function.
        """
        if self._total is None:
            raise ValueError("r_squared: least_squares does not know the data; use curve_fit")
        r = self._linearised.r
        return 1 - (r * r).sum() / self._total

    def standard_errors(self) -> Any:
        """Return the standard error of each parameter.

        Returns
        -------
        MDArray
            `residual_std` times the roots of the diagonal of ``(J^T J)^-1``, ``(n,)``.
        """
        return self._solved().standard_errors()

    def covariance(self, *, scaled: bool = True) -> Any:
        """Return the covariance matrix of the parameters.

        Parameters
        ----------
        scaled : bool, default: True
            Whether to multiply by the variance of the residuals.

        Returns
        -------
        MDArray
            ``residual_std**2 (J^T J)^-1``, ``(n, n)``.
        """
        return self._solved().covariance(scaled=scaled)


@experimental
class RootInfo(Info):
    """Quality of a zero of a system of equations.

    Attributes
    ----------
    method : str
        "newton", or "levenberg-marquardt" where no zero was found.
    derivatives : str
        "differences", "series", or "jac" for the caller's.
    iterations : int
        Steps of both methods.
    history : numpy.ndarray
        Newton's steps relative to x; float64.
    noise : float
        Rounding errors of the function, relative to its values.
    evaluations : int
        Points at which the function was evaluated.
    condition : float
        Condition number of the Jacobian.
    error_bound : numpy.ndarray
        Bounds of the errors of x (of complex values: of their moduli); infinite where no zero was
        found.
    digits : numpy.ndarray
        Correct decimal digits of x; 0 where no zero was found.
    bound_kind : str
        "proven" with `verified`, else "estimated".
    """

    derivatives: str
    noise: float
    evaluations: int
    _more = ("derivatives", "noise", "evaluations")


class _Fields(NamedTuple):
    popt: MDArray
    pcov: MDArray


@experimental
class CurveFitResult(_Fields):
    """A fit of a curve; unpacks as SciPy's ``(popt, pcov)``.

    Attributes
    ----------
    popt : MDArray
        The parameters, ``(n,)``.
    pcov : MDArray
        Their covariance matrix, ``(n, n)``; infinite where the Jacobian is singular at the minimum,
        so that it is not determined.
    info : FitInfo
        Digits, error bounds and statistics.
    result : OptimizeResult
        All that `least_squares` returns.
    """

    info: FitStatistics
    result: OptimizeResult
    absolute_sigma: bool = False

    def _replace(self, **fields: Any) -> CurveFitResult:
        replaced: CurveFitResult = super()._replace(**fields)
        replaced.__dict__.update(self.__dict__)
        return replaced

    def predict(
        self, f: Callable[..., Any], xdata: Any, *, level: float = 0.95, sigma: Any = 1
    ) -> Prediction:
        """Return values of the curve, with confidence and prediction bands.

        Parameters
        ----------
        f : callable
            The function that was fitted.
        xdata : array_like
            Where; as for `curve_fit`.
        level : float, default: 0.95
            The probability that an interval has its value.
        sigma : array_like, optional
            Standard deviations of new observations, relative to the residual standard deviation,
            or absolute ones after ``absolute_sigma=True``.

        Returns
        -------
        Prediction
            ``(values, standard_errors, confidence, prediction)``. Bands are half widths, by
            Student's distribution, with `absolute_sigma` by the normal one. They hold for curves
            that are nearly linear in the parameters within their standard errors.

        Raises
        ------
        TypeError, ValueError
            If `f` cannot be called or is complex, `xdata` is empty, `level` is not between 0 and 1,
            `sigma` is negative, or the fit is a batch.
        """
        if self.popt.ndim > 1:
            raise ValueError("predict: a batch of fits has no bands; fit the data sets one by one")
        new = numbers("predict", "sigma", sigma, self.popt.precision)
        if new.is_complex or not bool(((new >= 0) & mdqr.isfinite(new)).all()):
            raise ValueError("predict: `sigma` must not be negative, and finite")
        degrees = self.result.fun.size - self.popt.size
        if self.absolute_sigma:
            return predicted(f, xdata, self.popt, self.pcov, new, np.inf, level)
        deviation = new * self.info.residual_std
        return predicted(f, xdata, self.popt, self.pcov, deviation, degrees, level)


for _class in (OptimizeResult, FitInfo, RootInfo, CurveFitResult):
    _class.__module__ = "mdqr.optimize"
