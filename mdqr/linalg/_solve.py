"""Linear systems."""

from __future__ import annotations

from typing import Any

from mdqr import _limbs
from mdqr._array import MDArray
from mdqr._precision import Precision
from mdqr.linalg import _bounds, _householder, _rank, _scaling
from mdqr.linalg._augmented import System, refine
from mdqr.linalg._condition import condition
from mdqr.linalg._operands import Inputs, broadcast_batch, gather, room, square_order
from mdqr.linalg._triangular import right_hand_side


def solve(a: Any, b: Any, *, precision: Precision | str | None = None) -> MDArray:
    """Solve ``a x = b`` for square matrices by QR and refinement.

    Parameters
    ----------
    a : array_like
        Matrices ``(..., n, n)``.
    b : array_like
        A vector ``(n,)``, or matrices ``(..., n, k)``: only a 1-D `b` is a vector.
    precision : Precision or str, optional
        The precision of the solution; by default the highest of the operands.

    Returns
    -------
    MDArray
        The solution, ``(n,)`` or ``(..., n, k)``.

    Raises
    ------
    ValueError
        If the shapes do not fit.
    numpy.linalg.LinAlgError
        If an operand is not finite, or a column of `a` depends on the others.
    MemoryError
        If there is no room for the factorisation; with what was wanted.

    Warns
    -----
    PrecisionWarning
        If fewer digits are correct than the precision promises, with their number.

    Notes
    -----
    Householder QR with columns scaled by powers of two, then at most three refinement steps with
    residuals as if in twice the precision: each component is right to ``4 eps`` as long as the
    condition number is below about ``eps**-0.75``.

    Examples
    --------
    >>> import mdqr
    >>> a = mdqr.array([[2.0, 1.0], [1.0, 3.0]], precision=mdqr.qd)
    >>> mdqr.linalg.solve(a, [3.0, 4.0]).to_numpy().tolist()
    [1.0, 1.0]
    """
    inputs = gather(a, b, precision=precision)
    n = square_order("solve", "a", inputs.shape(0))
    with room("solve", inputs, 4 * n * n, "take fewer unknowns"):
        return _solved(inputs, n)


def _solved(inputs: Inputs, n: int) -> MDArray:
    """Factor, refine, bound the error."""
    field, work = inputs.is_complex, inputs.work
    right, is_vector = right_hand_side("solve", inputs.blocks[1], inputs.shape(1), n)
    _scaling.require_finite("solve", "a", inputs.blocks[0], field)
    _scaling.require_finite("solve", "b", right, field)
    _, (block, right) = broadcast_batch("solve", [inputs.blocks[0], right], field)
    alpha = _scaling.column_exponents(block, field)
    beta = _scaling.column_exponents(right, field)
    scaled = _scaling.shifted(inputs.backend, block, -alpha[..., None, :], field)
    factors = _householder.factor(
        inputs.backend,
        _limbs.widen(scaled, field, work.limbs).copy(),
        limbs=work.limbs,
        is_complex=field,
    )
    triangle = _rank.triangle_of(factors, "solve")
    system = System(inputs.backend, work.limbs, field, scaled, factors, triangle)
    estimate = condition(triangle)
    _rank.require_regular("solve", system, estimate, work.eps)
    limit = _bounds.contraction_limit(system, estimate, work.eps)
    right = _scaling.shifted(inputs.backend, right, -beta[..., None, :], field)
    solution = refine(system, right, work.eps, limit)
    found = _bounds.bounds(system, solution, estimate, work, inputs.precision)
    worst = float(estimate.value.max(initial=1.0))
    _bounds.warn_if_missing("solve", found, worst, work, inputs.precision)
    x = _scaling.shifted(
        inputs.backend, solution.x, beta[..., None, :] - alpha[..., :, None], field
    )
    return inputs.wrap(x[..., 0] if is_vector else x)
