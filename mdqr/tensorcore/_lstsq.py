"""Least squares in float64 by a factorisation in low precision."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from mdqr._backend.float_panels import CUTOFF
from mdqr._errors import shown, warn_of_precision
from mdqr._io.format import summary
from mdqr._limbs.device import is_cuda_array
from mdqr._limbs.planes import Block
from mdqr._pickles import pickled_fields
from mdqr._precision import PRECISIONS
from mdqr._typing import Compute, NumberArray
from mdqr.linalg._shared.info import Info
from mdqr.linalg._shared.operands import as_integer
from mdqr.tensorcore._algorithms.cgls import Iterate, System, cgls, norms
from mdqr.tensorcore._algorithms.passes import Passes, finish
from mdqr.tensorcore._algorithms.preconditioner import Preconditioner, Size
from mdqr.tensorcore._algorithms.reflections import with_fallbacks
from mdqr.tensorcore._engine.formats import FINE
from mdqr.tensorcore._engine.protocol import Engine
from mdqr.tensorcore._input import engine_for, real_array, real_matrix
from mdqr.tensorcore._plan import Plan, plan_of

_EPS = 2.0**-52
# Above this norm of R**-1 its columns depend on others as far as float32 can tell, and products of
# float64 with it keep too little.
_SINGULAR = 2.0**30
# Of fewer columns as many: rounding errors of QR are some eps whatever their number.
_LEAST_ORDER = 16
# Columns are scaled if their exponents are beyond: of others neither ``a.T @ r`` overflows, nor x
# before it has the exponents of b back.
_FAR = 512
# Exponents of R are larger than those of its columns by so many at most.
_HEADROOM = 64
# Lengths are no smaller, or zero.
_TINY = 2.0**-900
# Squares of singular values of R**-1, over the largest: each stands for several directions that
# take about an iteration each.
_MANY = 16.0


class LstsqInfo(Info):
    """Facts of a solution; see `mdqr.linalg.Info`.

    Bounds of errors are NaN: they take a residual in a higher precision, which costs more than the
    solution. `gradient` and `condition` are estimates.

    Attributes
    ----------
    method : str
        ``"cgls"``, or ``"direct"`` if the iteration did not converge.
    iterations : int
        Iterations made, for all columns of b together.
    gradient : ndarray
        For each column of b the length of ``R**-T @ a.T @ (b - a @ x)``, about the part of the
        residual that a better x would remove, relative to the length of the column; float64.
    condition : float
        Estimate of the 2-norm of the pseudoinverse of `a`, its columns scaled to length 1.
    compute : str
        What the last R was made in.
    """

    _more = ("gradient", "compute")

    def __init__(
        self, method: str, iterations: int, gradient: np.ndarray, condition: float, compute: str
    ) -> None:
        super().__init__(PRECISIONS[0], condition=condition, method=method, iterations=iterations)
        self.gradient, self.compute = gradient, compute

    def _shown(self) -> str:
        return (
            f"method={self.method!r} iterations={self.iterations} condition={self.condition:.2g} "
            f"gradient<={np.max(self.gradient, initial=0.0):.1e} compute={self.compute!r}"
        )


@pickled_fields
class LstsqResult(NamedTuple):
    """A least-squares solution.

    Attributes
    ----------
    x : ndarray
        The solution in float64, ``(n,)`` or ``(n, k)`` as b.
    residuals : ndarray
        Sums of squares of ``b - a @ x``, ``(1,)`` or ``(k,)``; infinite where they overflow.
    rank : int
        The number of columns of a: one of lower rank is refused.
    info : LstsqInfo
        How it was found.
    """

    x: NumberArray
    residuals: NumberArray
    rank: int
    info: LstsqInfo

    def __repr__(self) -> str:
        return summary(self)


def lstsq(
    a: Any,
    b: Any,
    *,
    compute: Compute = "fp16",
    max_iterations: int = 100,
) -> LstsqResult:
    """Solve least-squares problems to the accuracy of float64, factoring on tensor cores.

    Parameters
    ----------
    a : array_like
        A float32 or float64 matrix ``(m, n)``, ``m >= n``, of full column rank.
    b : array_like
        ``(m,)`` or ``(m, k)``, on the device of `a`.
    compute : str, optional
        As for `qr`. Finer products cost more and need fewer iterations: fewer than 20 usually, as
        long as the unit roundoff of the format times the square of the condition is below 1.
    max_iterations : int, optional
        After so many iterations without convergence the problem is solved by QR in float64.

    Returns
    -------
    LstsqResult
        ``(x, residuals, rank, info)``, as `mdqr.linalg.lstsq`.

    Raises
    ------
    TypeError
        If `a` or `b` is an MDArray (`mdqr.linalg.lstsq` keeps its digits), or not real.
    ValueError
        If shapes or devices do not match, m < n, or an option is unknown.
    numpy.linalg.LinAlgError
        If an entry is not finite, or a column of `a` is linearly dependent on those before it to
        working precision, or x does not fit float64.

    Warns
    -----
    PrecisionWarning
        If x is by QR in float64, since the iteration did not converge, or R is singular where `a`
        is not.

    See Also
    --------
    mdqr.linalg.lstsq : More digits, weights, rank, and a bound of the error.

    Notes
    -----
    R of ``a = Q R`` in `compute` is the right preconditioner of conjugate gradients on the normal
    equations (CGLS), which multiply by `a` in float64 (S. Zhang, E. Baharlouei, P. Wu 2020,
    Algorithm 3). With c the condition of `a`, ``norm(a @ (x - x*))`` is some
    ``2**-52 * sqrt(n) * (norm(b) + c * norm(b - a @ x))``, as of Householder QR, and what the last
    places of x make of it. That is checked before x is returned. A gradient leaves of
    ``a @ (x - x*)`` its length over the least singular value of ``a @ R**-1`` at most. Lanczos
    steps on a random vector, next to the first iterations, estimate that value and c. They miss a
    value with a probability of a thousandth. Where R has lost too much of `a` another is made, and
    then a QR in float64.

    Another R is made, in "fp16x2" (not for "fp32"), before any iteration if ``u * c > 1`` and the
    Frobenius norm of ``R**-1`` is 4 times its 2-norm or more. Then rounding has changed many
    directions, and each would take about an iteration. So it is too if after 24 iterations the
    last 16 promise that 48 more are not enough, or if what is promised of x is not reached. The
    search goes on where it was.

    Examples
    --------
    >>> import numpy as np, mdqr
    >>> t = np.linspace(0, 1, 50)
    >>> x, residuals, rank, info = mdqr.tensorcore.lstsq(np.vander(t, 3), 3 * t**2 + 1)
    >>> bool(np.abs(x - [3, 0, 1]).max() < 1e-13), rank, info.method
    (True, 3, 'cgls')
    """
    plan = plan_of("lstsq", "auto", compute)
    a, b = real_matrix("lstsq", "a", a), real_array("lstsq", "b", b)
    _check(a, b)
    most = as_integer(max_iterations)
    if most is None or most < 1:
        raise ValueError(
            f"lstsq: max_iterations must be a positive integer; got {shown(max_iterations)}"
        )
    with np.errstate(all="ignore"):
        x, squares, found, method, made = _solved(a, b, plan, most)
    info = LstsqInfo(method, found.iterations, found.gradient, found.condition, made)
    return LstsqResult(x[:, 0] if b.ndim == 1 else x, squares, a.shape[1], info)


def _solved(a: Block, b: Block, plan: Plan, most: int) -> tuple[Block, Block, Iterate, str, str]:
    """Return x, the squares of residuals, what was iterated, by which method and format."""
    engine = engine_for(a)
    xp, m = engine.xp, len(a)
    columns, exponents = _near_one(engine, b.reshape(m, -1))
    whole, scales = _in_one_piece(a), xp.zeros(a.shape[1], dtype=np.int32)
    try:
        tried, made = _iterated(engine, (a, whole, columns), plan, most)
    except _FarFromOne:
        found = engine.exponents(a)
        scales = xp.where(xp.abs(found) > _FAR - _HEADROOM, found, scales)
        whole = xp.ldexp(whole, -scales)
        tried, made = _iterated(engine, (whole, whole, columns), plan, most)
    if tried is not None and tried.reached.all():
        found, method = tried, "cgls"
    else:
        found, method = _direct(engine, whole, columns, tried), "direct"
    x = xp.ldexp(found.x, exponents - scales[:, None])
    squares = xp.ldexp(norms(found.r), exponents) ** 2
    _, (finite,) = engine.report(xp.isfinite(x).all())
    if not finite:
        raise np.linalg.LinAlgError("lstsq: x does not fit float64; multiply a by a power of two")
    if found is not tried:
        _warn(tried)
    return x, squares, found, method, made


def _check(a: Block, b: Block) -> None:
    if is_cuda_array(a) != is_cuda_array(b) or (is_cuda_array(a) and a.device != b.device):
        raise ValueError("lstsq: a and b lie on different devices; move one, with cupy.asarray")
    if b.ndim not in (1, 2) or len(b) != len(a):
        raise ValueError(
            f"lstsq: b must be ({len(a)},) or ({len(a)}, k) as a has {len(a)} rows; "
            f"got the shape {b.shape}"
        )
    if not len(a) >= a.shape[1] > 0:
        raise ValueError(
            f"lstsq: a must have at least as many rows as columns, and one; got {a.shape}: "
            "numpy.linalg.lstsq and cupy.linalg.lstsq find the shortest x"
        )


def _near_one(engine: Engine, b: Block) -> tuple[Block, Block]:
    """Return the columns of b in float64, scaled by powers of two, and the exponents of these."""
    xp = engine.xp
    b = b.astype(np.float64, order="F")
    _, (finite,) = engine.report(xp.isfinite(b).all())
    if not finite:
        raise np.linalg.LinAlgError("lstsq: b has entries that are not finite")
    exponents = engine.exponents(b)
    return xp.asfortranarray(xp.ldexp(b, -exponents)), exponents


def _in_one_piece(a: Block) -> Block:
    """Return `a` in float64, with contiguous rows or columns."""
    if a.dtype == np.float64 and (a.flags.f_contiguous or a.flags.c_contiguous):
        return a
    return a.astype(np.float64, order="F")


def _iterated(
    engine: Engine, problem: tuple[Block, Block, Block], plan: Plan, most: int
) -> tuple[Iterate | None, str]:
    """Return what was found, and the format of the last R."""
    a, whole, b = problem
    found: Iterate | None = None
    # Of one panel R is the same whatever the format.
    for final in (FINE[plan.compute] == plan.compute or a.shape[1] <= CUTOFF, True):
        m = with_fallbacks(partial(_preconditioner, a), plan)
        _require_near_one(engine, a, m)
        if m is None:
            return None, plan.compute
        size = m.size()
        if not size.norm < _SINGULAR:
            return None, plan.compute
        if final or not _loses_many(size, plan):
            system = System(engine, whole, m, size, final)
            found = _continued(system, b, most, found)
        if final or (found and (found.reached.all() or found.iterations >= most)):
            break
        plan = plan._replace(compute=FINE[plan.compute])
        del m
    return found, plan.compute


class _FarFromOne(Exception):
    """Columns whose products with unknowns may overflow, or underflow."""


def _require_near_one(engine: Engine, a: Block, m: Preconditioner | None) -> None:
    """Raise if columns are far from 1, as R tells; the matrix is read only where there is none."""
    if a.dtype == np.float32:
        return
    exponents = engine.exponents(a) if m is None else m.exponents
    if engine.report((engine.xp.abs(exponents) > _FAR).any())[1][0]:
        raise _FarFromOne


def _preconditioner(a: Block, plan: Plan) -> Preconditioner | None:
    """Return R of `a`, if its diagonal is not zero."""
    engine, n = engine_for(a), a.shape[1]
    q, scales = engine.load(a, scaled=True)
    r = engine.matrix(n, n, zero=True)
    Passes(engine, plan, q, r).first()
    return None if finish(engine, plan, r, r) else Preconditioner(engine, r, scales)


def _loses_many(size: Size, plan: Plan) -> bool:
    """Say whether the errors of the format change many directions, as far as R tells."""
    return plan.form.unit * size.norm > 1 and size.rank >= _MANY


def _continued(system: System, b: Block, most: int, before: Iterate | None) -> Iterate:
    if before is None:
        return cgls(system, b, most)
    found = cgls(system, b, most - before.iterations, before.x)
    return found._replace(iterations=found.iterations + before.iterations)


def _warn(found: Iterate | None) -> None:
    if found is None or found.condition == np.inf:
        why = "columns depend on others as far as the format can tell"
    else:
        unknown = ", with an R of unknown accuracy," if np.isnan(found.condition) else ""
        gradient = found.gradient.max(initial=0.0)
        why = f"gradients stayed at {gradient:.1e} of b{unknown} for {found.iterations} iterations"
    warn_of_precision("tensorcore.lstsq", f"{why}; solved by QR in float64 instead")


def _dependent(column: int) -> np.linalg.LinAlgError:
    return np.linalg.LinAlgError(
        f"lstsq: column {column} of a depends on those before it as far as float64 can tell; "
        "mdqr.linalg.lstsq keeps more digits, and numpy.linalg.lstsq finds the shortest x"
    )


def _direct(engine: Engine, a: Block, b: Block, tried: Iterate | None) -> Iterate:
    """Return the solution by Householder QR in float64."""
    xp, n = engine.xp, a.shape[1]
    # Columns below 1, so that neither lengths nor the steps of the library overflow.
    scales = engine.exponents(a)
    q, r = xp.linalg.qr(xp.ldexp(a, -scales))
    ratios = xp.abs(xp.diagonal(r)) / xp.maximum(norms(r), _TINY)
    least = _EPS * max(n, _LEAST_ORDER)
    _, (any_lost, first, weakest) = engine.report(
        (ratios <= least).any(), (ratios <= least).argmax(), ratios.argmin()
    )
    if any_lost:
        raise _dependent(int(first))
    m = Preconditioner(engine, r, scales)
    size = m.size()
    condition = size.norm * size.longest
    if not condition * least < 1:
        raise _dependent(int(weakest))
    # By substitution: inverses of blocks lose digits where R is ill-conditioned.
    x = xp.ldexp(xp.linalg.solve(r, q.T @ b), -scales[:, None])
    system = System(engine, a, m, size, True)
    rest = system.residual(xp.asfortranarray(x), b)
    _, (gradient, length) = engine.report(norms(system.gradient(rest)), norms(b))
    made = tried.iterations if tried else 0
    relative = gradient / np.where(length > 0, length, 1)
    return Iterate(x, rest, made, np.ones(len(length), dtype=bool), relative, condition)
