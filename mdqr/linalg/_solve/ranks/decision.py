"""Rank from condition estimates, and messages if it is missing."""

from __future__ import annotations

import numpy as np

from mdqr._errors import DataPrecisionWarning, place_of_least, warn_of_precision
from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Block
from mdqr._precision import PRECISIONS, Precision
from mdqr.linalg._factor import householder
from mdqr.linalg._factor.condition import condition
from mdqr.linalg._shared.caller import LSTSQ, Caller
from mdqr.linalg._shared.checks import Checks
from mdqr.linalg._shared.operands import Inputs
from mdqr.linalg._solve.householder.augmented import refine
from mdqr.linalg._solve.problem import SMALL, Decisive
from mdqr.linalg._solve.system import UNDERFLOW, System, deficient, triangle_of

_DEPENDENT_BITS = 8
# So many multiply-adds take about a second in the highest precision.
_SOON = 2**23


def decide(
    system: System, found: Decisive, eps: float, least: float | None, inputs: Inputs
) -> np.ndarray:
    """Return the numerical rank of each matrix, int64 of the batch shape.

    Parameters
    ----------
    system : System
        The factored problem.
    found : Decisive
        Its condition.
    eps : float
        The eps of the data.
    least : float or None
        The least reciprocal condition number that the caller accepts.
    inputs : Inputs
        The operands, for the working precision.

    Raises
    ------
    numpy.linalg.LinAlgError
        If a matrix is rank deficient and the caller gave `least`, or a column is linearly dependent
        on the others to working precision.
    """
    m, n = system.a.shape[-2:]
    threshold, line = eps * max(m, n) if least is None else least, system.line
    rank = np.full(found.value.shape, n, dtype=np.int64)
    for index in np.ndindex(found.value.shape):
        value = float(found.value[index])
        rounded = value * threshold >= 1.0
        # The entries may have more digits than the work.
        if not rounded and value * n * inputs.work.eps < 1.0:
            continue
        vector = found.vector[index]
        if (rounded and least is not None) or _depends(
            system, index, vector, value, inputs.work.eps
        ):
            if value * n * inputs.work.eps < 1.0:
                most = f"max_condition={1.0 / threshold:.3g}"
                advice = f"{most} refuses that; give more, or leave the {line} out"
            else:
                advice = _advice(system, index, value, inputs.work)
            column = _last_large(vector)
            raise np.linalg.LinAlgError(
                deficient(system.caller, column, index, value, advice, line)
            )
        if rounded:
            rank[index] = _peeled(system, index, int(vector.argmax()), threshold)
    return rank


def _last_large(vector: np.ndarray) -> int:
    """Return the last column with a large component in the direction that is nearly lost."""
    return int(np.flatnonzero(vector >= 0.1)[-1])


def require_regular(system: System, found: Decisive, work: Precision) -> None:
    """Raise LinAlgError if a column is linearly dependent on the others to working precision."""
    for index in np.ndindex(found.value.shape):
        value = float(found.value[index])
        if _depends(system, index, found.vector[index], value, work.eps):
            column, advice = _last_large(found.vector[index]), _advice(system, index, value, work)
            raise np.linalg.LinAlgError(deficient(system.caller, column, index, value, advice))


def _advice(system: System, index: tuple[int, ...], value: float, work: Precision) -> str:
    """Return advice on a matrix whose columns the work cannot tell apart.

    Its condition is lost in rounding errors, and is found in higher precisions; "" for a matrix
    whose columns depend on each other in all of them. For large ones that takes long.
    """
    a, n, front = system.a, system.columns, (slice(None),) * system.kind.lead
    verb = "tells" if a.shape[-2] * n**2 <= _SOON else "may tell"
    for precision in (p for p in PRECISIONS if p > work):
        if verb == "tells":
            kind = system.kind._replace(limbs=precision.limbs)
            try:
                trial = System.of(
                    system.caller, system.backend, a[front + index], Checks(), kind=kind
                )
                value = float(trial.checks.settle(condition(trial.triangle).value)[0])
            except np.linalg.LinAlgError:
                return ""
        if value * n * precision.eps < SMALL:
            leave = f", or leave the {system.line} out" if system.caller == LSTSQ else ""
            return (
                f"precision=mdqr.{precision.name} {verb} them apart if the entries are exact; if "
                f"they are rounded, give them with more digits too{leave}"
            )
    return ""


def _depends(
    system: System, index: tuple[int, ...], vector: np.ndarray, value: float, eps: float
) -> bool:
    """Return True if a column is linearly dependent on the others to working precision.

    Only where the condition hides the smallest singular value below the rounding errors is that
    open. Then the column is fitted by the others: refinement finds its distance from them to
    about ``eps**2`` times their condition, while a matrix that is merely ill conditioned leaves a
    distance near eps.
    """
    n = system.columns
    if value * n * eps < 1.0:
        return False
    if n == 1:
        return True
    front = (slice(None),) * system.kind.lead
    a = system.a[front + index]
    column = int(vector.argmax())
    rest = System.of(system.caller, system.backend, _without(a, column), Checks(), kind=system.kind)
    limit = 4.0 * n * eps * system.backend.xp.asarray(condition(rest.triangle).value)
    (known,) = rest.checks.settle(limit)
    if not known < 0.5:
        return True
    target = a[..., column : column + 1]
    distance = refine(rest, target, eps, limit).r
    sizes = rest.checks.settle(
        *(scaling.leading(x, system.kind.is_complex).max() for x in (distance, target))
    )
    # Residuals keep what underflows, times the condition of the others.
    left = float(known) * (8.0 * eps + a.shape[-2] * UNDERFLOW / eps)
    level = min(left, eps * 2.0**-_DEPENDENT_BITS)
    return bool(sizes[0] <= level * sizes[1])


def _without(block: Block, column: int) -> Block:
    """Return matrices less one column."""
    parts = [block[..., :column], block[..., column + 1 :]]
    return planes.namespace(block).concatenate(parts, axis=-1)


def _peeled(system: System, index: tuple[int, ...], column: int, threshold: float) -> int:
    """Return the number of columns left when those that depend on others are taken out of R."""
    front = (slice(None),) * system.kind.lead
    r = system.factors.form_r(system.columns)[front + index]
    while r.shape[-1] > 1:
        r = _without(r, column)
        factors = householder.factor(
            system.backend,
            r.copy(),
            kind=system.kind,
            keep_q=False,
        )
        checks = Checks()
        found = condition(triangle_of(factors, system.caller, checks))
        value, vector = checks.settle(found.value, found.vector)
        if float(value) * threshold < 1.0:
            break
        column = int(vector.argmax())
    return int(r.shape[-1])


def warn_if_deficient(caller: Caller, rank: np.ndarray, n: int, inputs: Inputs) -> None:
    """Warn where the solution is that of the entries as given, which may not determine it."""
    if bool((rank == n).all()):
        return
    options = " (info.data_digits tells); max_condition=math.inf says that they are exact"
    warn_of_precision(
        caller.public,
        f"{caller.a} has numerical rank {int(rank.min())} of {n} to the precision of its entries: "
        "x solves the entries as they are given, and if those are rounded, few or none of its "
        "digits mean anything in any precision" + (options if caller == LSTSQ else ""),
        precision=inputs.precision,
        index=place_of_least(rank),
        category=DataPrecisionWarning,
    )
