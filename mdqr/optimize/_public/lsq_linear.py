"""Linear least squares with bounds, and with variables that are not negative."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import mdqr
from mdqr._array.array import MDArray
from mdqr._errors import place_of_least, warn_of_precision
from mdqr._limbs import planes
from mdqr._precision import PRECISIONS, Precision, as_precision, precision_of_limbs
from mdqr._progress import Progress, Report, Steps, with_report
from mdqr._stability import experimental
from mdqr._typing import PrecisionLike
from mdqr.linalg import LinAlgError, lstsq
from mdqr.linalg._shared.info import Info, WithInfo
from mdqr.linalg._shared.operands import gather, trim
from mdqr.optimize._enclosure.ball import up
from mdqr.optimize._enclosure.krawczyk import Unproven
from mdqr.optimize._model.box import Box, box_of, numbers
from mdqr.optimize._model.points import norms_of, shifted
from mdqr.optimize._public.options import check_limit, refuse_unknown
from mdqr.optimize._public.result import OptimizeResult
from mdqr.optimize._solver.active_set import (
    Dependent,
    Search,
    Solution,
    System,
    convex_error,
    in_range,
    proven_error,
    solve,
)
from mdqr.optimize._solver.proof import with_rounding

_METHODS = ("auto", "bvls", "trf")


class _Fields(NamedTuple):
    x: MDArray
    rnorm: MDArray


@experimental
class NNLSResult(WithInfo, _Fields):
    """A solution that is not negative; unpacks as SciPy's ``(x, rnorm)``.

    Attributes
    ----------
    x : MDArray
        The solution, ``(n,)``.
    rnorm : MDArray
        The norm of ``A x - b`` (0-d).
    info : Info
        Bounds and digits of x.
    """


NNLSResult.__module__ = "mdqr.optimize"


@experimental
def nnls(
    A: Any,
    b: Any,
    maxiter: int | None = None,
    *,
    precision: PrecisionLike | None = None,
    progress: Progress = None,
    **others: Any,
) -> NNLSResult:
    """Minimise ``|| A x - b ||`` for ``x >= 0``.

    Parameters
    ----------
    A : array_like
        The matrix, ``(m, n)``; where it or b are complex, real and imaginary parts are equations.
    b : array_like
        The right-hand side, ``(m,)``.
    maxiter : int, optional
        How many least-squares problems may be solved, by default ``3 n`` and at least 30.
    precision : Precision or str, optional
        The precision of the result; by default the highest of A and b; of float64, d.
    progress : callable or bool, optional
        Called as ``progress(stage, done, total)``; True shows a bar.
    **others
        SciPy's options that are not needed; they raise TypeError.

    Returns
    -------
    NNLSResult
        ``(x, rnorm)``, with `info`: see `lsq_linear`.

    Raises
    ------
    TypeError
        If A or b does not hold numbers, or an option is not needed.
    ValueError
        If shapes do not fit, or values are not finite.
    RuntimeError
        If `maxiter` is reached.
    numpy.linalg.LinAlgError
        If columns of A are linearly dependent, so that the solution is not unique.

    Warns
    -----
    PrecisionWarning
        If it is not shown which variables are zero, or x has less than half of its digits.

    Notes
    -----
    Lawson and Hanson's method (1974), in float64 and then in the precision of the result.

    Examples
    --------
    >>> import mdqr
    >>> x, rnorm = mdqr.optimize.nnls([[1, 0], [1, 0], [0, 1]], [2, 1, -1], precision="qd")
    >>> x.to_numpy().tolist()
    [1.5, 0.0]
    """
    if not (progress is None or isinstance(progress, Report)):
        return with_report(nnls, locals())
    refuse_unknown("nnls", others)
    check_limit("nnls", "maxiter", maxiter)
    system, work = _system("nnls", A, b, precision)
    n = system.a.shape[1]
    box = box_of("nnls", (0, np.inf), n, PRECISIONS[-1])
    found, info = _solved("nnls", system, box, work, maxiter, progress)
    if not found.converged:
        raise RuntimeError(f"nnls: maximum number of iterations reached: {found.steps}")
    r = system.a @ found.x.astype(work.next) - system.b
    result = NNLSResult(found.x, mdqr.linalg.norm(r).astype(work))
    return result._described(info)


@experimental
def lsq_linear(
    A: Any,
    b: Any,
    bounds: Any = (-np.inf, np.inf),
    method: str = "auto",
    tol: float | None = None,
    *,
    max_iter: int | None = None,
    precision: PrecisionLike | None = None,
    progress: Progress = None,
    **others: Any,
) -> OptimizeResult:
    """Minimise ``|| A x - b ||**2 / 2`` for x within bounds.

    Parameters
    ----------
    A : array_like
        The matrix, ``(m, n)``; where it or b are complex, real and imaginary parts are equations.
    b : array_like
        The right-hand side, ``(m,)``.
    bounds : pair of array_like, optional
        Lower and upper bounds, or an object with `lb` and `ub`.
    method : {"auto", "bvls", "trf"}, optional
        All are one method, with an active set.
    tol : None, optional
        Only None: the tolerance follows from the precision.
    max_iter : int, optional
        How many least-squares problems may be solved, by default ``3 n`` and at least 30.
    precision : Precision or str, optional
        The precision of the result; by default the highest of A and b; of float64, d.
    progress : callable or bool, optional
        Called as ``progress(stage, done, total)``; True shows a bar.
    **others
        SciPy's options that are not needed; they raise TypeError.

    Returns
    -------
    OptimizeResult
        With `x`, `fun` (``A x - b``), `cost`, `optimality`, `active_mask`, `unbounded_sol`, `nit`,
        `status`, `success`, `message` and `info`. `status` is 1 where the solution was found, and
        0 where `max_iter` was reached.

    Raises
    ------
    TypeError
        If A or b does not hold numbers, or `tol` or another option is not needed.
    ValueError
        If shapes do not fit, values are not finite, or bounds are not ``lower < upper``.
    numpy.linalg.LinAlgError
        If columns of A are linearly dependent, so that the solution is not unique.

    Warns
    -----
    PrecisionWarning
        If it is not shown which variables are at bounds, `max_iter` was reached, or x has less than
        half of its digits.

    See Also
    --------
    mdqr.linalg.lstsq : No bounds.

    Notes
    -----
    P. B. Stark and R. L. Parker's method (1995), in float64 and then in the precision of the
    result. `info.error_bound` is proven, in the next precision above the result's. The conditions
    of Karush, Kuhn and Tucker hold for a gradient that differs from the computed one by a known
    amount, and the sum of squares is strictly convex. Where it is not shown to be convex, the
    bound is infinite, and digits are 0 (`bound_kind` "estimated").

    Examples
    --------
    >>> import mdqr
    >>> a = mdqr.array([["0.1", "0.2"], ["0.3", "0.5"], ["0.7", "0.6"]], precision=mdqr.qd)
    >>> found = mdqr.optimize.lsq_linear(a, ["1", "2", "3"], bounds=(0, 3))
    >>> found.x.to_strings(20).tolist()
    ['1.7457627118644067797', '3.0000000000000000000']
    >>> found.active_mask.tolist(), found.info.bound_kind
    ([0, 1], 'proven')
    """
    if not (progress is None or isinstance(progress, Report)):
        return with_report(lsq_linear, locals())
    name = "lsq_linear"
    refuse_unknown(name, others)
    check_limit(name, "max_iter", max_iter)
    if method not in _METHODS:
        raise ValueError(f"{name}: `method` must be one of {_METHODS}; got {method!r}")
    if tol is not None:
        refuse_unknown(name, {"tol": tol})
    system, work = _system(name, A, b, precision)
    n = system.a.shape[1]
    box = box_of(name, bounds, n, PRECISIONS[-1])
    found, info = _solved(name, system, box, work, max_iter, progress)
    r = system.a @ found.x.astype(work.next) - system.b
    gradient = (r @ system.a).to_numpy()
    free = np.asarray(found.mask * gradient >= 0) | (found.mask == 0)
    return OptimizeResult(
        x=found.x,
        fun=_as_given(r.astype(work), len(A)),
        cost=((r * r).sum() * 0.5).astype(work),
        optimality=float(np.max(np.abs(gradient[free]), initial=0.0)),
        active_mask=found.mask.copy(),
        unbounded_sol=found.x.copy() if not box.bounded else _unbounded(system, work),
        nit=found.steps,
        status=int(found.converged),
        success=found.converged,
        message="The solution within the bounds was found."
        if found.converged
        else "The maximum number of iterations is exceeded.",
        info=info,
    )


def _system(name: str, A: Any, b: Any, precision: PrecisionLike | None) -> tuple[System, Precision]:
    """Return the equations as they are given, and the precision of the result."""
    for label, value in (("A", A), ("b", b)):
        _check_numbers(name, label, value)
    a, right = _as_held(name, "A", A), _as_held(name, "b", b)
    work = (
        as_precision(precision) if precision is not None else gather(A, b, precision=None).precision
    )
    if a.ndim != 2 or not a.size:
        raise ValueError(f"{name}: `A` must be a matrix with entries; got shape {a.shape}")
    if right.shape != a.shape[:1]:
        raise ValueError(
            f"{name}: `b` must have shape {a.shape[:1]} for a matrix {a.shape}; got {right.shape}"
        )
    for label, value in (("A", a), ("b", right)):
        if not bool(mdqr.isfinite(value).all()):
            raise ValueError(f"{name}: `{label}` must not contain infs or NaNs")
    if a.is_complex or right.is_complex:
        a = mdqr.concatenate([a.real, a.imag])
        right = mdqr.concatenate([right.real, right.imag])
    none = mdqr.zeros(a.shape[1], precision=work)
    return System(a, right, none, none), work


def _as_held(name: str, label: str, value: Any) -> MDArray:
    """Return numbers in the lowest precision that holds them, or else in the highest."""
    if isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.itemsize <= 8:
        return numbers(name, label, value, PRECISIONS[0])
    x = value if isinstance(value, MDArray) else numbers(name, label, value, PRECISIONS[-1])
    block, is_complex = trim([(x._block, x._complex)])[0]
    return MDArray._wrap(
        block, precision_of_limbs(planes.limb_count(block, is_complex)), is_complex
    )


def _check_numbers(name: str, label: str, value: Any) -> None:
    """Refuse sparse matrices, operators, text and None."""
    if hasattr(value, "toarray"):
        raise TypeError(f"{name}: `{label}` is sparse; give {label}.toarray()")
    if hasattr(value, "matvec"):
        raise TypeError(f"{name}: `{label}` is an operator; give the matrix itself")
    if value is None or isinstance(value, (str, bytes)):
        kind = type(value).__name__
        raise TypeError(f"{name}: `{label}` must be an array of numbers; got {kind}")


def _as_given(r: MDArray, m: int) -> MDArray:
    """Return the residuals of m equations, complex ones from their parts."""
    return r if r.shape[0] == m else r[:m] + r[m:] * 1j


def _solved(
    name: str, system: System, box: Box, work: Precision, most: int | None, progress: Any
) -> tuple[Solution, Info]:
    """Return the solution in the precision of the result, and its report."""
    n = system.a.shape[1]
    system, powers = in_range(system._replace(lower=box.lower, upper=box.upper))
    steps = Steps(progress, "steps") if progress is not None else None
    with np.errstate(all="ignore"):
        try:
            found = solve(system, work, max(30, 3 * n) if most is None else int(most), steps)
        except Dependent as cause:
            raise LinAlgError(
                f"{name}: {cause}, and the solution is not unique: leave one out, or bound it"
            ) from cause
        bound, failure = _bound(system, found, work)
        text = f"the digits are not known: {failure}" if failure else _weak(system, found, bound)
        if powers is not None:
            found, bound = _in_units(found, bound, powers)
    if steps is not None:
        steps.end()
    info = Info(
        work,
        np.abs(found.x.to_numpy()),
        bound,
        method="active set",
        iterations=found.steps,
        condition=lambda: _condition(system.a, found.mask == 0),
        bound_kind="proven" if not failure else "estimated",
    )
    if text:
        warn_of_precision(
            f"optimize.{name}",
            text,
            digits=float(np.min(info.digits)),
            precision=work,
            index=place_of_least(info.digits),
        )
    return found, info


def _weak(system: System, found: Solution, bound: np.ndarray) -> str:
    """Return a sentence on an entry with less than half of the digits, or an empty one."""
    sizes = [np.max(np.abs(x.to_numpy()), initial=0.0) for x in (found.x, system.b, system.a)]
    size = max(sizes[0], sizes[1] / sizes[2] if sizes[2] else 0.0)
    j = int(np.argmax(bound))
    if not size or not bound[j] > found.x.precision.eps**0.5 * size:
        return ""
    return (
        f"x[{j}] has an error of up to {bound[j] / size:.1g} of the size of x: columns of A nearly "
        "depend on each other; ask for a higher precision"
    )


def _in_units(
    found: Solution, bound: np.ndarray, powers: np.ndarray
) -> tuple[Solution, np.ndarray]:
    """Return a solution and its bounds times powers of two, by which limbs may underflow."""
    x = shifted(found.x, powers)
    lost = np.abs((shifted(x, -powers) - found.x).to_numpy())
    bound = np.where(lost > 0, up(bound + up(lost)), bound)
    there = np.ldexp(bound, powers)
    there = np.where(np.ldexp(there, -powers) < bound, np.nextafter(there, np.inf), there)
    return found._replace(x=x), there


def _bound(system: System, found: Solution, work: Precision) -> tuple[np.ndarray, str]:
    """Return proven bounds of the errors of x, or infinite ones and the reason."""
    nothing = np.full(found.x.shape[0], np.inf)
    if not found.converged:
        return nothing, "the maximum number of iterations is reached"
    wide = work.next
    x = found.x.astype(wide).copy()
    free = np.flatnonzero(found.mask == 0)
    try:
        if free.size and wide > work:
            exact = Search(system._replace(b=system.b.astype(wide)), 1, None)
            x[free] = exact.free_minimum(x, found.mask)
        x = mdqr.minimum(mdqr.maximum(x, system.lower), system.upper).astype(wide)
        try:
            bound = proven_error(system, found, x)
        except Unproven:
            bound = convex_error(system, x)
    except (Unproven, LinAlgError) as failure:
        return nothing, str(failure)
    return with_rounding(bound, x, found.x), ""


def _unbounded(system: System, work: Precision) -> MDArray:
    try:
        return lstsq(system.a, system.b, max_condition=np.inf, precision=work).x
    except LinAlgError:
        # The one of least norm.
        return lstsq(system.a, system.b, rtol=max(system.a.shape) * work.eps, precision=work).x


def _condition(a: MDArray, free: np.ndarray) -> float:
    """Return the condition number of the columns of free variables, scaled to unit norm."""
    near = a.to_numpy()[:, free]
    if not near.size:
        return 1.0
    return float(np.linalg.cond(near / norms_of(near))) if near.any(axis=0).all() else np.inf
