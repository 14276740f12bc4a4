"""Linear systems."""

from __future__ import annotations

from typing import Any

from mdqr._array.array import MDArray
from mdqr._backend.protocol import MOST_COLUMNS, Block, small_systems
from mdqr._limbs import planes
from mdqr._precision import Precision
from mdqr.linalg._factor.condition import condition
from mdqr.linalg._factor.triangular import right_hand_side
from mdqr.linalg._shared import scaling
from mdqr.linalg._shared.checks import Checks
from mdqr.linalg._shared.operands import (
    Callback,
    Inputs,
    broadcast_batch,
    check_callback,
    gather,
    room,
    square_order,
)
from mdqr.linalg._solve import rank
from mdqr.linalg._solve.factored import factored, require_columns
from mdqr.linalg._solve.refined import Refined
from mdqr.linalg._solve.right_sides import spread_of


def solve(
    a: Any,
    b: Any,
    *,
    precision: Precision | str | None = None,
    callback: Callback | None = None,
) -> MDArray:
    """Solve ``a x = b`` for square matrices by QR and refinement.

    Parameters
    ----------
    a : array_like
        Matrices ``(..., n, n)``.
    b : array_like
        A vector ``(n,)``, or matrices ``(..., n, k)``: only a 1-D `b` is a vector.
    precision : Precision or str, optional
        The precision of the solution; by default the highest of the operands.
    callback : callable, optional
        Called as ``callback(stage, done, total)``; the stages are "factor", "condition", "refine".

    Returns
    -------
    MDArray
        The solution, ``(n,)`` or ``(..., n, k)``.

    Raises
    ------
    TypeError
        If `callback` cannot be called.
    ValueError
        If the shapes do not fit.
    numpy.linalg.LinAlgError
        If an operand is not finite, a column of `a` is zero or depends on the others, or a
        component of the solution is beyond the largest double.
    MemoryError
        If there is no room for the factorisation; with what was wanted.

    Warns
    -----
    PrecisionWarning
        If a component is not shown to be right to ``4 eps``, with the digits of the worst.

    Notes
    -----
    Householder QR with rows and columns scaled by powers of two, and refinement until each
    component is shown to be right to ``4 eps``, as in `lstsq`. On the CPU, systems of at most 64
    unknowns whose condition float64 can tell (to about 1e12) are solved by one kernel call: a
    float64 inverse, refinement with exact residuals, and a proof that each component is right to
    little more than half a unit of its last limb. A batch goes this way as a whole, or not at all.

    Examples
    --------
    >>> import mdqr
    >>> a = mdqr.array([[2.0, 1.0], [1.0, 3.0]], precision=mdqr.qd)
    >>> mdqr.linalg.solve(a, [3.0, 4.0]).to_numpy().tolist()
    [1.0, 1.0]
    """
    check_callback("solve", callback)
    inputs = gather(a, b, precision=precision)
    n = square_order("solve", "a", inputs.shape(0))
    with room("solve", inputs, 5 * n * n, "take fewer unknowns"):
        return _solved(inputs, n, callback)


def _solved(inputs: Inputs, n: int, callback: Callback | None) -> MDArray:
    """Factor, refine, bound the error."""
    field, work, checks = inputs.is_complex, inputs.work, Checks()
    right, is_vector = right_hand_side("solve", inputs.blocks[1], inputs.shape(1), n)
    _, (block, right) = broadcast_batch("solve", [inputs.blocks[0], right], field)
    x = None if callback else _proven(block, right, inputs)
    if x is not None:
        return inputs.wrap(x[..., 0] if is_vector else x)
    scaling.require_finite(checks, "solve", "a", block, field)
    scaling.require_finite(checks, "solve", "b", right, field)
    bits = scaling.magnitude_bits(block, field)
    require_columns("solve", checks, bits)
    rows = _row_powers(bits)
    system = factored("solve", inputs, block, checks, rows=rows, callback=callback)
    estimate = condition(system.triangle)
    value, vector, spread = checks.settle(estimate.value, estimate.vector, spread_of(system, right))
    if callback is not None:
        callback("condition", 1, 1)
    rank.require_regular("solve", system, rank.Decisive(value, vector), work)
    found = Refined("solve", system, right, float(spread), estimate, inputs, callback)
    found.warn(value, stacklevel=3)
    return inputs.wrap(found.x[..., 0] if is_vector else found.x)


def _proven(a: Block, b: Block, inputs: Inputs) -> Block | None:
    """Return x if one kernel call proves every component of the batch, else None."""
    backend = small_systems(inputs.backend)
    if backend is None or not a.size or not b.size or a.shape[-1] > MOST_COLUMNS:
        return None
    found = backend.solve_small(a, b, kind=inputs.kind)
    return None if found.status.any() else found.x


def _row_powers(bits: Block) -> Block:
    """Return the powers of two that bring rows near 1, once the columns are."""
    xp = planes.namespace(bits)
    exponent = bits >> 52
    exponent = exponent - scaling.largest(exponent, -2, 0, keepdims=True)
    return -scaling.largest(xp.where(bits > 0, exponent, scaling.ABSENT), -1, 0)
