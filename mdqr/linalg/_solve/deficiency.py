"""Messages for matrices with linearly dependent columns, and the columns concerned."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from mdqr._limbs import scaling
from mdqr._limbs.planes import Block
from mdqr.linalg._factor.householder import Factors
from mdqr.linalg._factor.triangular import Triangle
from mdqr.linalg._shared.caller import LSTSQ, Caller
from mdqr.linalg._shared.checks import Checks, first_true, of_batch


def triangle_of(factors: Factors, caller: Caller, checks: Checks, line: str = "column") -> Triangle:
    """Return the triangle R of a factorisation with at least as many rows as columns.

    Demanded: no diagonal entry is exactly zero, and all entries are finite.
    """
    return Triangle(
        factors.backend,
        factors.h[..., : factors.count, :],
        kind=factors.kind,
        function=caller.function,
        checks=checks,
        singular=lambda _, column, batch: deficient(caller, column, batch, line=line),
    )


def deficient(
    caller: Caller,
    column: int,
    batch: tuple[int, ...],
    found: float = np.inf,
    advice: str = "",
    line: str = "column",
) -> str:
    """Return the message for a rank-deficient matrix; `advice` replaces that to leave it out.

    `line` is what messages call a column: "row" for those of the conjugate transpose.
    """
    size = "infinite" if np.isinf(found) else f"about {found:.1e}"
    if caller == LSTSQ:
        advice = advice or "leave it out, or let rtol say what counts as rank"
    return (
        f"{caller.function}: {caller.a} is {_what(caller)}: {line} {column} depends on the other "
        f"{line}s"
        f"{of_batch(batch)} (condition {size})" + (f"; {advice}" if advice else "")
    )


def require_columns(caller: Caller, checks: Checks, bits: Block, line: str = "column") -> None:
    """Demand that no column is zero, from the bits of the leading magnitudes."""
    largest = scaling.largest(bits, -2, 0)

    def raise_error() -> NoReturn:
        *batch, column = first_true(largest == 0)
        raise np.linalg.LinAlgError(
            f"{caller.function}: {caller.a} is {_what(caller)}: {line} {column} is zero"
            f"{of_batch(tuple(batch))}" + ("; leave it out" if caller == LSTSQ else "")
        )

    checks.require((largest != 0).all(), raise_error)


def _what(caller: Caller) -> str:
    """Return the word for a matrix without full rank: square ones are singular."""
    return "singular" if caller.wants_square else "rank deficient"
