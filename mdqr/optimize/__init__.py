"""Least squares and systems of equations in any precision, by the names of SciPy.

Data flow in one direction. A public function of `_public` makes a `Problem` (`_solver/problem.py`)
of what the caller gave. `_model` has what the problem consists of, a subject a file: the
`Function`, which evaluates residuals in any precision, at many points in one call where the
caller's function broadcasts, and counts (`function.py`), also in float64 (`doubles.py`); its
rounding errors, measured by a table of differences (`noise.py`); its derivatives, the caller's or
differences whose length follows from these errors (`derivatives.py`), or power series
(`forward.py`); bounds (`box.py`) and losses (`loss.py`). `_solver/solve.py` tries starting points
and rules of damping until one ends in a minimum, in float64 first. Each attempt is a `Descent`
(`descend.py`: Levenberg and Marquardt, residuals in float64 or dd, steps in float64, parameters at
bounds held, those that are linear solved for; `linear.py` finds these). It yields points at which
Newton's method may converge. `newton.py` tries: it evaluates in qd, then in the next precision
above the result's, iterates until steps are within the rounding errors, and bounds the remaining
error. Where the Hessian is not positive definite or steps grow, the descent goes on. `_enclosure`
evaluates the function in balls, and `_solver/proof.py` proves the minimum with it. `root` takes
descents to where `zero.py` finds a zero; `lsq_linear` and `nnls` are in `active_set.py`.
`_public/report.py` makes the result and its warnings, `_public/result.py` has the classes.

`_batch` has the same method for many problems at once: every step is one call for all of them,
on the host or a GPU; each has its own damping and its own end.
"""

from mdqr.optimize._public.batch import BatchInfo
from mdqr.optimize._public.curve_fit import curve_fit
from mdqr.optimize._public.least_squares import least_squares
from mdqr.optimize._public.lsq_linear import NNLSResult, lsq_linear, nnls
from mdqr.optimize._public.predict import Prediction
from mdqr.optimize._public.result import CurveFitResult, FitInfo, OptimizeResult, RootInfo
from mdqr.optimize._public.root import root

__all__ = [
    "BatchInfo",
    "CurveFitResult",
    "FitInfo",
    "NNLSResult",
    "OptimizeResult",
    "Prediction",
    "RootInfo",
    "curve_fit",
    "least_squares",
    "lsq_linear",
    "nnls",
    "root",
]


def __dir__() -> list[str]:
    return sorted(__all__)
