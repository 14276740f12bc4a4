"""Linear systems."""

from __future__ import annotations

from typing import Any

import numpy as np

from mdqr._array.array import MDArray
from mdqr._limbs import scaling
from mdqr._limbs.planes import Kind
from mdqr._precision import Precision
from mdqr.linalg._shared.caller import INV, SOLVE, Caller
from mdqr.linalg._shared.checks import Checks
from mdqr.linalg._shared.operands import (
    Callback,
    Inputs,
    broadcast_batch,
    check_callback,
    gather,
    memory_guard,
    right_hand_side,
    square_order,
)
from mdqr.linalg._solve.deficiency import require_columns
from mdqr.linalg._solve.rank import Decisive, require_regular
from mdqr.linalg._solve.system import System
from mdqr.linalg._solve.ways.methods import Problem, answer, check_method
from mdqr.linalg._solve.ways.small import small_solution


def solve(
    a: Any,
    b: Any,
    *,
    method: str = "auto",
    verified: bool = False,
    precision: Precision | str | None = None,
    callback: Callback | None = None,
) -> MDArray:
    """Solve ``a x = b`` for square matrices.

    Parameters
    ----------
    a : array_like
        Matrices ``(..., n, n)``.
    b : array_like
        A vector ``(n,)``, or matrices ``(..., n, k)``: only a 1-D `b` is a vector.
    method : {"auto", "householder", "refine"}, optional
        As in `lstsq`.
    verified : bool, optional
        Whether LinAlgError is to be raised unless bounds are proven and all digits are as promised.
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
        If the shapes do not fit, or `verified` is asked of "householder".
    numpy.linalg.LinAlgError
        If an operand is not finite, a column of `a` is zero or depends on the others, a
        component of the solution is beyond the largest double, or `method` is "refine", or
        `verified` asked for, and that does not serve.
    MemoryError
        If there is no memory for the factorisation; with what was wanted.

    Warns
    -----
    PrecisionWarning
        If a component is not shown to be right to ``4 eps``, with the digits of the worst.

    Notes
    -----
    As `lstsq`, with rows scaled too and an approximate inverse of the matrix itself.
    Systems of at most 64 unknowns are one kernel call, unless a callback is given, with the same
    limbs on CPU and GPU. Each matrix of a batch takes its own way.

    Examples
    --------
    >>> import mdqr
    >>> a = mdqr.array([[2.0, 1.0], [1.0, 3.0]], precision=mdqr.qd)
    >>> mdqr.linalg.solve(a, [3.0, 4.0]).to_numpy().tolist()
    [1.0, 1.0]
    """
    check_method("solve", method, verified=verified)
    check_callback("solve", callback)
    inputs = gather(a, b, precision=precision)
    n = square_order("solve", "a", inputs.shape(0))
    with memory_guard("solve", inputs, 5 * n * n, "take fewer unknowns"):
        return _solved(SOLVE, inputs, method, callback, verified)


def inv(
    a: Any,
    *,
    method: str = "auto",
    verified: bool = False,
    precision: Precision | str | None = None,
    callback: Callback | None = None,
) -> MDArray:
    """Return inverses of matrices; as `numpy.linalg.inv`.

    Parameters
    ----------
    a : array_like
        Matrices ``(..., n, n)``.
    method : {"auto", "householder", "refine"}, optional
        As in `lstsq`.
    verified : bool, optional
        Whether LinAlgError is to be raised unless bounds are proven and all digits are as promised.
    precision : Precision or str, optional
        The precision of the inverse; by default that of `a`.
    callback : callable, optional
        As in `solve`.

    Returns
    -------
    MDArray
        The inverses, ``(..., n, n)``.

    Raises
    ------
    TypeError
        If `callback` cannot be called.
    ValueError
        If `a` is not square, or `verified` is asked of "householder".
    numpy.linalg.LinAlgError
        As `solve`.
    MemoryError
        If there is no memory for the factorisation; with what was wanted.

    Warns
    -----
    PrecisionWarning
        If an entry is not shown to be right to ``4 eps``, with the digits of the worst.

    See Also
    --------
    solve : The solution of a system, in less time than by an inverse.

    Notes
    -----
    `solve` with the identity: every entry is refined, and has its own bound.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.linalg.inv(mdqr.array([[2.0, 1.0], [7.0, 4.0]], precision=mdqr.qd)).to_numpy().tolist()
    [[4.0, -1.0], [-7.0, 2.0]]
    """
    check_method("inv", method, verified=verified)
    check_callback("inv", callback)
    inputs = gather(a, precision=precision)
    n, field, xp = square_order("inv", "a", inputs.shape(0)), inputs.is_complex, inputs.backend.xp
    inputs = inputs._replace(blocks=[*inputs.blocks, Kind(1, field).identity(xp, (n, n))])
    with memory_guard("inv", inputs, 6 * n * n, "take fewer unknowns"):
        return _solved(INV, inputs, method, callback, verified)


def _solved(
    caller: Caller, inputs: Inputs, method: str, callback: Callback | None, verified: bool
) -> MDArray:
    """Take the cheapest way that shows all digits."""
    function, n = caller.function, inputs.shape(0)[-1]
    field, work, checks = inputs.is_complex, inputs.work, Checks()
    right, is_vector = right_hand_side(function, inputs.blocks[1], inputs.shape(1), n)
    _, (a, b) = broadcast_batch(function, [inputs.blocks[0], right], field)
    limit = n * work.eps
    small = None if callback else small_solution(inputs, a, b, method, limit)
    if small is not None and small.promised:
        return inputs.wrap(small.x[..., 0] if is_vector else small.x)
    checks.require_finite(function, "a", a, field)
    checks.require_finite(function, "b", b, field)
    bits = scaling.magnitude_bits(a, field)
    require_columns(caller, checks, bits)
    rows = scaling.row_powers(bits)
    system = System.of(
        caller, inputs.backend, a, checks, kind=inputs.kind, rows=rows, callback=callback
    )

    def decide(system: System, found: Decisive) -> np.ndarray:
        require_regular(system, found, work)
        return np.full(found.value.shape, n)

    problem = Problem(system, b, inputs, limit, decide, callback)
    found, condition, _ = answer(problem, method, small, verified=verified)
    found.warn(condition)
    return inputs.wrap(found.x[..., 0] if is_vector else found.x)
