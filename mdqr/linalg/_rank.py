"""Rank from condition estimates, and what to do about missing rank."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from mdqr import _limbs
from mdqr._backend.protocol import Block
from mdqr._errors import PrecisionWarning
from mdqr.linalg import _householder, _scaling
from mdqr.linalg._augmented import System, refine
from mdqr.linalg._checks import Checks
from mdqr.linalg._condition import condition
from mdqr.linalg._householder import Factors
from mdqr.linalg._operands import Callback, Inputs
from mdqr.linalg._triangular import Triangle

_DEPENDENT_BITS = 8


class Decisive(NamedTuple):
    """A condition estimate on the host: numbers of the batch shape, and directions ``(..., n)``."""

    value: np.ndarray
    vector: np.ndarray


def triangle_of(factors: Factors, function: str, checks: Checks) -> Triangle:
    """Return the triangle R of a factorisation with at least as many rows as columns.

    Demanded: no diagonal entry is exactly zero, and all entries are finite.
    """
    return Triangle(
        factors.backend,
        factors.h[..., : factors.count, :],
        limbs=factors.limbs,
        is_complex=factors.is_complex,
        function=function,
        checks=checks,
        singular=deficient,
    )


def factored(
    inputs: Inputs | System,
    a: Block,
    limbs: int,
    function: str,
    checks: Checks,
    callback: Callback | None = None,
) -> System:
    """Factor the unweighted problem of matrices whose columns are near 1."""
    field = inputs.is_complex
    work = _limbs.widen(a, field, limbs)
    factors = _householder.factor(
        inputs.backend,
        work.copy() if work is a else work,
        limbs=limbs,
        is_complex=field,
        callback=callback,
    )
    triangle = triangle_of(factors, function, checks)
    return System(inputs.backend, limbs, field, a, factors, triangle, checks)


def deficient(function: str, column: int, batch: tuple[int, ...], found: float = np.inf) -> str:
    """Return the message for a rank-deficient matrix."""
    size = "infinite" if np.isinf(found) else f"about {found:.1e}"
    return (
        f"{function}: a is rank deficient: column {column} depends on the other columns"
        f"{_scaling.of_batch(batch)} (condition {size}); leave it out"
    )


def decide(
    system: System, found: Decisive, eps: float, rcond: float | None, inputs: Inputs
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
    rcond : float or None
        As in `lstsq`.
    inputs : Inputs
        The operands, for the precision of the work.

    Raises
    ------
    ValueError
        If `rcond` is negative or NaN.
    numpy.linalg.LinAlgError
        If a matrix is rank deficient and the caller gave `rcond`, or a column depends on the
        others as far as the work can tell.
    """
    if rcond is not None and not rcond >= 0:
        raise ValueError(f"lstsq: rcond must be None or at least 0; got {rcond!r}")
    m, n = system.a.shape[-2:]
    threshold = eps * max(m, n) if rcond is None else float(rcond)
    rank = np.full(found.value.shape, n, dtype=np.int64)
    for index in np.ndindex(found.value.shape):
        value = float(found.value[index])
        if value * threshold < 1.0:
            continue
        vector = found.vector[index]
        if rcond is not None or _depends(system, index, vector, value, inputs.work.eps):
            raise np.linalg.LinAlgError(deficient("lstsq", _last_large(vector), index, value))
        rank[index] = _peeled(system, index, int(vector.argmax()), threshold)
    return rank


def _last_large(vector: np.ndarray) -> int:
    """Return the last column with a good share in the direction that is nearly lost."""
    return int(np.flatnonzero(vector >= 0.1)[-1])


def require_regular(function: str, system: System, found: Decisive, eps: float) -> None:
    """Raise LinAlgError if a column depends on the others as far as the work can tell."""
    for index in np.ndindex(found.value.shape):
        value = float(found.value[index])
        if _depends(system, index, found.vector[index], value, eps):
            column = _last_large(found.vector[index])
            raise np.linalg.LinAlgError(deficient(function, column, index, value))


def _depends(
    system: System, index: tuple[int, ...], vector: np.ndarray, value: float, eps: float
) -> bool:
    """Return whether a column depends on the others as far as the work can tell.

    Only where the condition hides the smallest singular value below the rounding errors is there
    doubt. Then the column is fitted by the others: refinement finds its distance from them to
    about ``eps**2`` times their condition, while a matrix that is merely ill conditioned leaves a
    distance near eps.
    """
    n = system.columns
    if value * n * eps < 1.0:
        return False
    if n == 1:
        return True
    front = (slice(None),) * _limbs.lead(system.is_complex)
    a = system.a[front + index]
    column = int(vector.argmax())
    rest = factored(system, _without(a, column), system.limbs, "lstsq", Checks())
    limit = 4.0 * n * eps * system.backend.xp.asarray(condition(rest.triangle).value)
    (known,) = rest.checks.settle(limit)
    if not known < 0.5:
        return True
    target = a[..., column : column + 1]
    distance = refine(rest, target, eps, limit).r
    sizes = rest.checks.settle(
        *(_scaling.leading(x, system.is_complex).max() for x in (distance, target))
    )
    noise = eps * min(8.0 * float(known), 2.0**-_DEPENDENT_BITS)
    return bool(sizes[0] <= noise * sizes[1])


def _without(block: Block, column: int) -> Block:
    """Return matrices less one column."""
    parts = [block[..., :column], block[..., column + 1 :]]
    return _limbs.namespace(block).concatenate(parts, axis=-1)


def _peeled(system: System, index: tuple[int, ...], column: int, threshold: float) -> int:
    """Return the number of columns left when those that depend on others are taken out of R."""
    front = (slice(None),) * _limbs.lead(system.is_complex)
    r = system.factors.form_r(system.columns)[front + index]
    while r.shape[-1] > 1:
        r = _without(r, column)
        factors = _householder.factor(
            system.backend,
            r.copy(),
            limbs=system.limbs,
            is_complex=system.is_complex,
            keep_q=False,
        )
        checks = Checks()
        found = condition(triangle_of(factors, "lstsq", checks))
        value, vector = checks.settle(found.value, found.vector)
        if float(value) * threshold < 1.0:
            break
        column = int(vector.argmax())
    return int(r.shape[-1])


def warn_if_deficient(function: str, rank: Any, n: int, missing: bool) -> None:
    """Warn where the solution is right for the entries as given, but they may not determine it."""
    if missing or bool((rank == n).all()):
        return
    warnings.warn(
        f"{function}: a has numerical rank {int(rank.min())} of {n} to the precision of its "
        "entries: x solves the entries as they are given, and if those are rounded, few or none "
        "of its digits mean anything; rcond=0 says that they are exact",
        PrecisionWarning,
        stacklevel=4,
    )
