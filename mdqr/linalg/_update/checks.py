"""Conditions on matrices of an update, whatever its arithmetic."""

from __future__ import annotations

from mdqr._backend.protocol import Block
from mdqr.linalg._shared import scaling
from mdqr.linalg._shared.checks import Checks
from mdqr.linalg._update.engine import Engine


def require_finite(checks: Checks, function: str, engine: Engine, name: str, x: Block) -> None:
    """Demand finite numbers of an operand."""
    checks.require(
        engine.finite(x),
        lambda: scaling.complain_of_special(function, name, engine.to_block(x), engine.is_complex),
    )


def require_in_range(checks: Checks, function: str, engine: Engine, name: str, x: Block) -> None:
    """Demand that nothing overflowed in what was computed from finite numbers."""
    checks.require(
        engine.finite(x),
        lambda: scaling.complain_of_range(
            function, name, engine.to_block(x), engine.is_complex, ""
        ),
    )
