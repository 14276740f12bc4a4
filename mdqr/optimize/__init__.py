"""Nonlinear least squares in any precision: `curve_fit` and `least_squares`, as SciPy names them.

Data flow in one direction. A public function of `_public` makes a `Problem`
(`_solver/problem.py`) of what the caller gave. `_model` has what the problem consists of, a
subject a file: the `Function`, which evaluates residuals in any precision, at many points in one
call where the caller's function broadcasts, and counts (`function.py`); its rounding errors,
measured by a table of differences (`noise.py`); its derivatives, the caller's or differences
whose length follows from these errors (`derivatives.py`); bounds (`box.py`) and losses
(`loss.py`). `_solver/solve.py` tries starting points and rules of damping until one ends in a
minimum. Each attempt is a `Descent` (`descend.py`: Levenberg and Marquardt, residuals in dd,
steps in float64, parameters at bounds held, those that are linear solved for; `linear.py` finds
these). It yields points at which Newton's method may converge. `newton.py` tries: it evaluates in
qd, then in the next precision above the result's, iterates until steps are within the rounding
errors, and bounds the remaining error. Where the Hessian is not positive definite or steps grow,
the descent goes on. `_public/report.py` makes the result and its warnings, `_public/result.py`
has the classes.
"""

from mdqr.optimize._public.curve_fit import curve_fit
from mdqr.optimize._public.least_squares import least_squares
from mdqr.optimize._public.result import CurveFitResult, FitInfo, OptimizeResult

__all__ = ["CurveFitResult", "FitInfo", "OptimizeResult", "curve_fit", "least_squares"]


def __dir__() -> list[str]:
    return sorted(__all__)
