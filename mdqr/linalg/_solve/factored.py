"""Factored systems: scaled, sorted, with a triangle whose zeros on the diagonal have a message."""

from __future__ import annotations

from dataclasses import replace
from typing import NoReturn

import numpy as np

from mdqr._backend.protocol import Backend
from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Block, Kind
from mdqr._precision import PRECISIONS, Precision
from mdqr.linalg._factor import householder
from mdqr.linalg._factor.householder import Factors
from mdqr.linalg._factor.triangular import Triangle
from mdqr.linalg._shared.checks import Checks, first_true, of_batch
from mdqr.linalg._shared.operands import Callback, Inputs
from mdqr.linalg._solve.augmented import System, take_rows

# Rows whose sizes differ by more powers of two are sorted.
_SORTED_SPAN = 8


def factored(
    function: str,
    inputs: Inputs | System,
    given: Block,
    checks: Checks,
    *,
    kind: Kind | None = None,
    rows: Block | None = None,
    weight: Block | None = None,
    root: Block | None = None,
    callback: Callback | None = None,
) -> System:
    """Scale, sort and factor matrices with at least as many rows as columns.

    Parameters
    ----------
    function : str
        The public function, for messages.
    inputs : Inputs or System
        Whose backend and field are taken.
    given : Block
        The matrices.
    checks : Checks
        Gets what is demanded of them: that no column depends on others exactly, and where rows are
        sorted that none is zero.
    kind : Kind, optional
        That of the work, by default that of `inputs`.
    rows, weight, root : Block, optional
        As in `System`.
    callback : callable, optional
        Called as ``callback("factor", done, total)``.
    """
    kind = kind or inputs.kind
    backend, field = inputs.backend, kind.is_complex
    scaled, powers = backend.balance_columns(given, rows, is_complex=field)
    work = scaled
    if root is not None:
        work = backend.binary("multiply", root, scaled, kind=kind)
    order = None
    # Scaled rows are of one size.
    if rows is None or root is not None:
        bits = scaling.magnitude_bits(work, field)
        require_columns(function, checks, bits)
        order = _row_order(checks, bits, weighted=root is not None)
    factors = _factors(backend, work, order, kind, callback, keep=work is scaled)
    triangle = triangle_of(factors, function, checks)
    return System(
        backend, kind, scaled, factors, triangle, checks, given, powers, rows, weight,
        root, order,
    )  # fmt: skip


def refactored(system: System, order: Block, function: str) -> System:
    """Return a system whose rows are factored in another order."""
    work = system.a if system.root is None else system.binary("multiply", system.root, system.a)
    factors = _factors(system.backend, work, order, system.kind, None, keep=system.root is None)
    triangle = triangle_of(factors, function, system.checks)
    return replace(system, factors=factors, triangle=triangle, order=order)


def _factors(
    backend: Backend,
    work: Block,
    order: Block | None,
    kind: Kind,
    callback: Callback | None,
    *,
    keep: bool,
) -> Factors:
    """Factor `work`, which is overwritten unless it is to be kept."""
    sorted_ = work if order is None else take_rows(work, order)
    wide = planes.widen(sorted_, kind.is_complex, kind.limbs)
    wide = wide.copy() if keep and wide is work else wide
    return householder.factor(backend, wide, kind=kind, callback=callback)


def triangle_of(factors: Factors, function: str, checks: Checks) -> Triangle:
    """Return the triangle R of a factorisation with at least as many rows as columns.

    Demanded: no diagonal entry is exactly zero, and all entries are finite.
    """
    return Triangle(
        factors.backend,
        factors.h[..., : factors.count, :],
        kind=factors.kind,
        function=function,
        checks=checks,
        singular=deficient,
    )


def deficient(
    function: str,
    column: int,
    batch: tuple[int, ...],
    found: float = np.inf,
    work: Precision | None = None,
) -> str:
    """Return the message for a rank-deficient matrix, to the precision `work` if it is given."""
    size = "infinite" if np.isinf(found) else f"about {found:.1e}"
    higher = [p for p in PRECISIONS if work is not None and p > work]
    ways = [] if function == "solve" else ["leave it out"]
    if higher:
        ways.append(f"if the entries are exact, try precision=mdqr.{higher[0].name}")
    return (
        f"{function}: a is {_what(function)}: column {column} depends on the other columns"
        f"{of_batch(batch)} (condition {size})" + ("; " if ways else "") + ", or ".join(ways)
    )


def require_columns(function: str, checks: Checks, bits: Block) -> None:
    """Demand that no column is zero, from the bits of the leading magnitudes."""
    largest = scaling.largest(bits, -2, 0)

    def complain() -> NoReturn:
        *batch, column = first_true(largest == 0)
        raise np.linalg.LinAlgError(
            f"{function}: a is {_what(function)}: column {column} is zero"
            f"{of_batch(tuple(batch))}" + ("" if function == "solve" else "; leave it out")
        )

    checks.require((largest != 0).all(), complain)


def _what(function: str) -> str:
    """Return the word for a matrix without full rank: square ones are singular."""
    return "singular" if function == "solve" else "rank deficient"


def _row_order(checks: Checks, bits: Block, *, weighted: bool) -> Block | None:
    """Return the order of decreasing row maxima, or None where it does not matter."""
    xp = planes.namespace(bits)
    largest = scaling.largest(bits, -1, 0)
    if largest.size == 0:
        return None
    if not weighted:
        exponent = scaling.exponents_of(largest)
        low = xp.where(largest > 0, exponent, -scaling.ABSENT).min()
        high = xp.where(largest > 0, exponent, scaling.ABSENT).max()
        if checks.settle(high - low)[0] <= _SORTED_SPAN:
            return None
    return xp.argsort(-largest, axis=-1, kind="stable")
