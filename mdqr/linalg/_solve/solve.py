"""Square systems and inverses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import Any, Literal, NoReturn, overload

import numpy as np

from mdqr._array.array import MDArray
from mdqr._backend.protocol import Backend
from mdqr._limbs import scaling
from mdqr._limbs.folds import is_any
from mdqr._limbs.planes import Block, Kind
from mdqr._precision import PRECISIONS, Precision
from mdqr._progress import Progress, Report, Reporter, with_report
from mdqr._typing import PrecisionLike, SolveMethod
from mdqr.linalg._shared.caller import INV, SOLVE, Caller
from mdqr.linalg._shared.checks import Checks, raise_nonfinite
from mdqr.linalg._shared.data_error import check_data_error
from mdqr.linalg._shared.hints import takes_hints
from mdqr.linalg._shared.info import Info
from mdqr.linalg._shared.operands import Inputs, gather, memory_guard, square_order
from mdqr.linalg._solve.answer import Answer
from mdqr.linalg._solve.choose import check_method, choose
from mdqr.linalg._solve.data_error import NAMES
from mdqr.linalg._solve.info import Data, info_of, warn_if_undetermined
from mdqr.linalg._solve.problem import Decisive, Problem, as_columns
from mdqr.linalg._solve.ranks.decision import require_regular
from mdqr.linalg._solve.solvers import shared, small
from mdqr.linalg._solve.system import System, raise_for_zero_column


@overload
def solve(
    a: Any,
    b: Any,
    /,
    *,
    method: SolveMethod = "auto",
    verified: bool = False,
    precision: PrecisionLike | None = None,
    data_error: Mapping[str, Any] | None = None,
    return_info: Literal[False] = False,
    progress: Progress = None,
    devices: Sequence[str] | None = None,
) -> MDArray: ...


@overload
def solve(
    a: Any,
    b: Any,
    /,
    *,
    method: SolveMethod = "auto",
    verified: bool = False,
    precision: PrecisionLike | None = None,
    data_error: Mapping[str, Any] | None = None,
    return_info: Literal[True],
    progress: Progress = None,
    devices: Sequence[str] | None = None,
) -> tuple[MDArray, Info]: ...


@takes_hints
def solve(
    a: Any,
    b: Any,
    /,
    *,
    method: SolveMethod = "auto",
    verified: bool = False,
    precision: PrecisionLike | None = None,
    data_error: Mapping[str, Any] | None = None,
    return_info: bool = False,
    progress: Progress = None,
    devices: Sequence[str] | None = None,
) -> MDArray | tuple[MDArray, Info]:
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
    data_error : dict, optional
        As in `lstsq`, with the keys ``a_atol``, ``a_rtol``, ``b_atol`` and ``b_rtol``: bounds of
        the errors of a and b, for `info.data_digits`.
    return_info : bool, optional
        Whether to return what is known of the errors, too.
    progress : callable or bool, optional
        As in `lstsq`: ``progress(stage, done, total)``, or True for a bar.
    devices : sequence of str, optional
        GPUs that share in one system, as ``["cuda:0", "cuda:1"]``: each has some rows of a and of
        its inverse in float64, and a float64 copy of a, so that all of them may hold what one could
        not. Operands may be in host memory; the solution is where `a` is.

    Returns
    -------
    MDArray or tuple
        The solution, ``(n,)`` or ``(..., n, k)``; with `return_info` ``(x, info)``, an `Info`: its
        condition number refers to `a` with rows and columns scaled by powers of two.

    Raises
    ------
    TypeError
        If `progress` is neither callable nor a bool, `data_error` is not a dict, or `devices` is
        not a sequence of names.
    ValueError
        If the shapes do not fit, errors of the data are negative or not finite, or `verified` is
        asked of "householder"; with `devices`, if `a` or `b` is a batch, or of precision d,
        `method` is "householder", or a device does not exist, or these are GPUs and "cpu".
    ImportError
        If a GPU of `devices` needs CuPy, which cannot be imported.
    numpy.linalg.LinAlgError
        If an operand is not finite, a column of `a` is zero or depends on the others, a
        component of the solution is beyond the largest double, or `method` is "refine", or
        `verified` or `devices` asked for, and that does not serve: devices take conditions to about
        1e10.
    MemoryError
        If memory for the factorisation cannot be allocated; the message gives the requested size.

    Warns
    -----
    PrecisionWarning
        If the error bound of a component exceeds ``4 eps``, with the digits of the worst.
    DataPrecisionWarning
        If the entries of `a` were rounded to a precision in which they do not determine x.

    Notes
    -----
    As `lstsq`, with rows scaled too and an approximate inverse of the matrix itself. Systems of at
    most 64 unknowns are one kernel call, unless `progress` is given, with the same limbs on CPU
    and GPU. On a GPU so are real ones of at most 128 for one or two right-hand sides. Each matrix
    of a batch is solved by its own method.

    Examples
    --------
    >>> import mdqr
    >>> a = mdqr.array([[2.0, 1.0], [1.0, 3.0]], precision=mdqr.qd)
    >>> mdqr.linalg.solve(a, [3.0, 4.0]).to_numpy().tolist()
    [1.0, 1.0]
    >>> x, info = mdqr.linalg.solve(a, [3.0, 4.0], data_error={"b_rtol": 1e-9}, return_info=True)
    >>> info.digits.tolist(), info.data_digits.round(1).tolist()
    ([63.0, 63.0], [8.6, 8.7])
    """
    if not (progress is None or isinstance(progress, Report)):
        return with_report(solve, locals())
    return solution_for(
        SOLVE,
        a,
        b,
        method=method,
        verified=verified,
        precision=precision,
        data_error=data_error,
        return_info=return_info,
        report=progress,
        devices=devices,
    )


def solution_for(
    caller: Caller,
    a: Any,
    b: Any,
    *,
    method: SolveMethod = "auto",
    verified: bool = False,
    precision: PrecisionLike | None = None,
    data_error: Mapping[str, Any] | None = None,
    return_info: bool = False,
    report: Reporter | None = None,
    devices: Sequence[str] | None = None,
) -> Any:
    """Run `solve`, with messages and warnings in the words of another public function."""
    function = caller.function
    check_method(function, method, proof="verified=True" if verified else None)
    check_data_error(function, data_error, NAMES[:2])
    inputs = gather(a, b, precision=precision)
    n = square_order(function, caller.a, inputs.shape(0))
    if devices is not None:
        shared.check(function, devices, inputs, method)
    with memory_guard(function, inputs, 5 * n * n, "take fewer unknowns"):
        return _solved(
            caller, inputs, (a, b), data_error, method, report, verified, return_info, devices
        )


@overload
def inv(
    a: Any,
    /,
    *,
    method: SolveMethod = "auto",
    verified: bool = False,
    precision: PrecisionLike | None = None,
    data_error: Mapping[str, Any] | None = None,
    return_info: Literal[False] = False,
    progress: Progress = None,
) -> MDArray: ...


@overload
def inv(
    a: Any,
    /,
    *,
    method: SolveMethod = "auto",
    verified: bool = False,
    precision: PrecisionLike | None = None,
    data_error: Mapping[str, Any] | None = None,
    return_info: Literal[True],
    progress: Progress = None,
) -> tuple[MDArray, Info]: ...


@takes_hints
def inv(
    a: Any,
    /,
    *,
    method: SolveMethod = "auto",
    verified: bool = False,
    precision: PrecisionLike | None = None,
    data_error: Mapping[str, Any] | None = None,
    return_info: bool = False,
    progress: Progress = None,
) -> MDArray | tuple[MDArray, Info]:
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
        The precision of the inverse; by default the precision of `a`.
    data_error : dict, optional
        As in `lstsq`, with the keys ``a_atol`` and ``a_rtol``, for `info.data_digits`.
    return_info : bool, optional
        As in `solve`.
    progress : callable or bool, optional
        As in `solve`.

    Returns
    -------
    MDArray or tuple
        The inverses, ``(..., n, n)``; with `return_info` ``(inverse, info)``, as in `solve`.

    Raises
    ------
    TypeError
        If `progress` is neither callable nor a bool, or `data_error` is not a dict.
    ValueError
        If `a` is not square, or `verified` is asked of "householder".
    numpy.linalg.LinAlgError
        As `solve`.
    MemoryError
        If memory for the factorisation cannot be allocated; the message gives the requested size.

    Warns
    -----
    PrecisionWarning
        If the error bound of an entry exceeds ``4 eps``, with the digits of the worst.
    DataPrecisionWarning
        If the entries of `a` were rounded to a precision in which they do not determine the
        inverse.

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
    if not (progress is None or isinstance(progress, Report)):
        return with_report(inv, locals())
    return inverse_for(
        INV,
        a,
        method=method,
        verified=verified,
        precision=precision,
        data_error=data_error,
        return_info=return_info,
        report=progress,
    )


def inverse_for(
    caller: Caller,
    a: Any,
    *,
    method: SolveMethod = "auto",
    verified: bool = False,
    precision: PrecisionLike | None = None,
    data_error: Mapping[str, Any] | None = None,
    return_info: bool = False,
    report: Reporter | None = None,
) -> Any:
    """Run `inv`, with messages and warnings in the words of another public function."""
    function = caller.function
    check_method(function, method, proof="verified=True" if verified else None)
    check_data_error(function, data_error, NAMES[:1])
    inputs = gather(a, precision=precision)
    n, xp = square_order(function, caller.a, inputs.shape(0)), inputs.backend.xp
    one = Kind(1, inputs.is_complex).identity(xp, (n, n))
    inputs = inputs._replace(blocks=[*inputs.blocks, one])
    with memory_guard(function, inputs, 6 * n * n, "take fewer unknowns"):
        return _solved(caller, inputs, (a,), data_error, method, report, verified, return_info)


def _solved(
    caller: Caller,
    inputs: Inputs,
    given: tuple[Any, ...],
    data_error: Mapping[str, Any] | None,
    method: str,
    report: Reporter | None,
    verified: bool,
    return_info: bool,
    devices: Sequence[str] | None = None,
) -> Any:
    """Take the cheapest way that shows all digits."""
    inputs, is_vector, _ = as_columns(caller, inputs)
    n = inputs.shape(0)[-1]
    data = Data(caller, inputs, given, is_vector).with_errors(data_error)
    if devices is not None and all(block.size for block in inputs.blocks):
        wants_proof = verified or method == "refine"
        found: Answer = shared.solve(_problem(data, report), devices, verified=wants_proof)
        found.warn(is_vector=is_vector)
        return _answered(data, found, return_info)
    known = None if report else small.solve(inputs, method, n * inputs.work.eps)
    if known is not None and known.promised:
        found = known
    else:
        found = choose(_problem(data, report), method, known=known, verified=verified)
        found.warn(is_vector=is_vector)
    return _answered(data, found, return_info)


def _answered(data: Data, found: Answer, return_info: bool) -> Any:
    """Return x, with its info if asked for, and warn where the data do not determine it."""
    condition, inputs, n = found.condition, data.inputs, data.inputs.shape(0)[-1]
    # Most are good enough for all data.
    if condition.size and n * condition.max() * PRECISIONS[0].eps >= 1.0:
        warn_if_undetermined(data, condition)
    x = inputs.wrap(found.x[..., 0] if data.is_vector else found.x)
    return (x, info_of(data, found)) if return_info else x


def _problem(data: Data, report: Reporter | None) -> Problem:
    """Return the scaled problem."""
    caller, inputs, checks = data.caller, data.inputs, Checks()
    a, b = inputs.blocks
    function, field, backend = caller.function, inputs.is_complex, inputs.backend
    work = partial(_scaled, is_complex=field)
    rows, *balanced, faults = backend.recorded(("scaled", field), (a, b), work)

    def raise_for_zeros() -> NoReturn:
        bits = scaling.magnitude_bits(a, field)
        raise_for_zero_column(caller, scaling.largest(bits, -2, 0) == 0)

    checks.refuse(
        faults,
        partial(raise_nonfinite, function, caller.a, a, field),
        partial(raise_nonfinite, function, caller.b, b, field),
        raise_for_zeros,
    )

    def in_precision(work: Precision) -> Problem:
        operands, n = inputs._replace(work=work), a.shape[-1]
        system = System.of(
            caller,
            backend,
            a,
            checks,
            kind=operands.kind,
            rows=rows,
            report=report,
            balanced=(balanced[0], balanced[1]),
        )

        def decide(system: System, found: Decisive) -> np.ndarray:
            require_regular(system, found, work)
            return np.full(found.value.shape, n)

        @cache
        def raised() -> Problem:
            return in_precision(work.next)

        return Problem(
            system, b, operands, n * work.eps, decide, raised, is_inverse=caller != SOLVE
        )

    return in_precision(inputs.work)


def _scaled(backend: Backend, a: Block, b: Block, *, is_complex: bool) -> list[Block]:
    """Return powers for the rows of a, it with them and its columns near 1, their powers, faults.

    Whether an entry of a, or of b, is not finite, and whether a column of a is zero.
    """
    bits, faults = scaling.magnitude_bits(a, is_complex), backend.xp.empty(3, dtype=np.int64)
    rows = scaling.row_powers(bits)
    near, powers = backend.balance_columns(a, rows, is_complex=is_complex)
    faults[0], faults[1] = (~scaling.finite(x, is_complex) for x in (a, b))
    faults[2] = is_any(scaling.largest(bits, -2, 0) == 0)
    return [rows, near, powers, faults]
