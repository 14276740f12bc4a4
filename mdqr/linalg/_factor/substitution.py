"""Solutions of triangular systems, with proven error bounds."""

from __future__ import annotations

from typing import Any, Literal, overload

from mdqr._array.array import MDArray
from mdqr._errors import advised, shown
from mdqr._limbs import planes
from mdqr._limbs.planes import Block
from mdqr._progress import Progress, Report, with_report
from mdqr._typing import PrecisionLike, Transposition
from mdqr.linalg._factor.solution_bounds import Errors, Factor, solution_info, turned
from mdqr.linalg._factor.triangular import Triangle
from mdqr.linalg._shared.checks import Checks
from mdqr.linalg._shared.hints import takes_hints
from mdqr.linalg._shared.info import Info
from mdqr.linalg._shared.operands import (
    Inputs,
    as_integer,
    data_precision,
    entry_unit,
    gather,
    on_host,
    right_hand_side,
    square_order,
)

_TRANS = "NTC"


@overload
def solve_triangular(
    a: Any,
    b: Any,
    /,
    trans: Transposition = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    *,
    precision: PrecisionLike | None = None,
    return_info: Literal[False] = False,
    progress: Progress = None,
) -> MDArray: ...


@overload
def solve_triangular(
    a: Any,
    b: Any,
    /,
    trans: Transposition = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    *,
    precision: PrecisionLike | None = None,
    return_info: Literal[True],
    progress: Progress = None,
) -> tuple[MDArray, Info]: ...


@takes_hints
@advised
def solve_triangular(
    a: Any,
    b: Any,
    /,
    trans: Transposition = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    *,
    precision: PrecisionLike | None = None,
    return_info: bool = False,
    progress: Progress = None,
) -> MDArray | tuple[MDArray, Info]:
    """Solve ``op(a) x = b`` for a triangular matrix by substitution.

    Parameters
    ----------
    a : array_like
        Matrices ``(..., n, n)``; only the named triangle is read.
    b : array_like
        A vector ``(n,)``, or matrices ``(..., n, k)``: only a 1-D `b` is a vector.
    trans : {0, 1, 2, "N", "T", "C"}, optional
        Solve with `a` (0, "N"), its transpose (1, "T") or its conjugate transpose (2, "C").
    lower : bool, optional
        Whether `a` is lower triangular.
    unit_diagonal : bool, optional
        Take the diagonal as ones; it is not read.
    precision : Precision or str, optional
        The precision of the solution; by default the highest of the operands.
    return_info : bool, optional
        Whether to return proven error bounds, too.
    progress : callable or bool, optional
        Called as ``progress("substitute", done, total)`` after each tile of rows; True for a
        bar.

    Returns
    -------
    MDArray
        The solution, ``(n,)`` or ``(..., n, k)``.
    Info
        Proven bounds of the error of each component, as stored and within half a unit in the last
        place of the entries; only with `return_info`. The first one that is read costs some n
        times as much as a vector x.

    Raises
    ------
    TypeError
        If `progress` is neither callable nor a bool.
    ValueError
        If the shapes do not fit or `trans` is unknown.
    numpy.linalg.LinAlgError
        If a diagonal entry is exactly zero, an operand is not finite, or the solution overflows.

    Notes
    -----
    Substitution by tiles of rows with divisions, no inverted tiles. The solution satisfies
    ``(op(a) + E) x = b`` with ``abs(E) <= (n + 16) eps abs(a)`` in every entry (N. J. Higham,
    Accuracy and Stability of Numerical Algorithms, chapter 8). Components below the smallest
    doubles are an exception. Rows and columns are scaled by powers of two before. Columns of `b`
    whose solution spans more than the exponents of doubles are solved row by row, more slowly, with
    components that have exponents of their own.

    Examples
    --------
    >>> import mdqr
    >>> a = mdqr.array([[2.0, 1.0], [0.0, 4.0]], precision=mdqr.qd)
    >>> mdqr.linalg.solve_triangular(a, [4.0, 8.0]).to_numpy().tolist()
    [1.0, 2.0]
    """
    if not (progress is None or isinstance(progress, Report)):
        return with_report(solve_triangular, locals())
    letter = letter_of("solve_triangular", trans)
    inputs = gather(a, b, precision=precision, trimmed=on_host(a, b))
    n = square_order("solve_triangular", "a", inputs.shape(0))
    right, is_vector = right_hand_side("solve_triangular", inputs.blocks[1], inputs.shape(1), n)
    checks = Checks()
    triangle = Triangle(
        inputs.backend,
        inputs.blocks[0],
        kind=inputs.kind,
        lower=lower,
        unit_diagonal=unit_diagonal,
        function="solve_triangular",
        checks=checks,
    )
    x = triangle.solve(
        right,
        letter,
        checks=checks,
        report=progress,
        name="b",
        entries=lambda: inputs.blocks[0],
    )
    checks.settle()
    if not return_info:
        return inputs.wrap(x[..., 0] if is_vector else x)
    return inputs.wrap(x[..., 0] if is_vector else x), _info(
        inputs, (a, b), letter, right, x, lower, unit_diagonal, is_vector
    )


def _info(
    inputs: Inputs,
    given: tuple[Any, Any],
    letter: str,
    b: Block,
    x: Block,
    lower: bool,
    unit_diagonal: bool,
    is_vector: bool,
) -> Info:
    """Return what is known of the errors of a solution."""
    field, xp, a = inputs.is_complex, inputs.backend.xp, inputs.blocks[0]
    k = int(unit_diagonal)
    part = xp.tril(a, -k) if lower else xp.triu(a, k)
    if unit_diagonal:
        planes.set_unit_diagonal(part, field)
    units = [entry_unit(each, data_precision(each, inputs.work)) for each in given]
    return solution_info(
        inputs,
        [turned(Factor(part, lower, unit_diagonal), letter, field)],
        b,
        x,
        Errors(a=units[0], b=units[1]),
        is_vector=is_vector,
    )


def letter_of(function: str, trans: Any) -> str:
    """Return "N", "T" or "C".

    Raises
    ------
    ValueError
        If `trans` means none of them.
    """
    number = as_integer(trans)
    if number in (0, 1, 2):
        return _TRANS[number]
    if isinstance(trans, str) and len(trans) == 1 and trans in _TRANS:
        return trans
    raise ValueError(f'{function}: trans must be 0, 1, 2, "N", "T" or "C"; got {shown(trans)}')
