"""Algebraic Riccati equations, by the names of SciPy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mdqr._array.array import MDArray
from mdqr._backend.protocol import Backend
from mdqr._docstrings import documented
from mdqr._limbs import planes
from mdqr._limbs.planes import Kind
from mdqr._stability import experimental
from mdqr._typing import Floats, PrecisionLike
from mdqr.linalg._matrix.answers import of_four, require_value
from mdqr.linalg._matrix.equations import Operands, gathered, last_rounding, wrapped
from mdqr.linalg._matrix.given import first_limbs
from mdqr.linalg._matrix.refined.discrete import Discrete
from mdqr.linalg._matrix.refined.linear import EntryErrors, Equation, Solutions
from mdqr.linalg._matrix.refined.riccati import (
    Continuous,
    ErrorsOfData,
    Riccati,
    RiccatiSolution,
    RiccatiSolutions,
    hermitian_part,
)
from mdqr.linalg._matrix.series.followed import Followed, product_errors
from mdqr.linalg._products.matmul import matmul
from mdqr.linalg._shared.info import Info
from mdqr.linalg._shared.operands import memory_guard, square_order
from mdqr.linalg._spectral.disks import SLACK

# Relative differences from Hermitian matrices that count as rounding errors.
_ASYMMETRY = 2.0**-40


@experimental
@of_four
def solve_continuous_are(
    a: Any,
    b: Any,
    q: Any,
    r: Any,
    /,
    *,
    precision: PrecisionLike | None = None,
    data_error: Mapping[str, Any] | None = None,
    return_info: bool = False,
) -> Any:
    """Solve ``a^H x + x a - x b inv(r) b^H x + q = 0``; as `scipy.linalg.solve_continuous_are`.

    Parameters
    ----------
    a : array_like
        Matrices ``(..., n, n)``.
    b : array_like
        Matrices ``(..., n, k)``.
    q : array_like
        Hermitian matrices ``(..., n, n)``.
    r : array_like
        Hermitian matrices ``(..., k, k)``, not singular; leading dimensions broadcast. Of r and q
        the Hermitian part is taken.
    precision : Precision or str, optional
        The precision of the result; by default the highest of the operands.
    data_error : dict, optional
        Bounds of the errors of entries, as in `lstsq`, with the keys ``a_atol``, ``a_rtol`` and the
        same for the other operands. The default is half a unit in the last place of the precision
        in which they were given.
    return_info : bool, optional
        Whether to return what is known of the errors, too.

    Returns
    -------
    MDArray or tuple
        The stabilizing solutions ``(..., n, n)``: the eigenvalues of ``a - b inv(r) b^H x`` have
        negative real parts. With `return_info` ``(x, info)``, an `Info` whose bounds are proven,
        and infinite where nothing is.

    Raises
    ------
    TypeError
        If `data_error` is not a dict.
    ValueError
        If the leading dimensions do not broadcast, q or r is not Hermitian, or errors of the data
        are negative or not finite.
    numpy.linalg.LinAlgError
        If the shapes do not fit, an entry is not finite, `r` is singular, or no stabilizing
        solution was found.
    MemoryError
        If memory cannot be allocated; the message gives the requested size.

    Warns
    -----
    PrecisionWarning
        If the closed loop is hardly stable, and the solution has lost digits.

    Notes
    -----
    Newton's method (D. L. Kleinman 1968) from the stable subspace of the Hamiltonian matrix in
    float64, with residuals and ``b inv(r) b^H`` in twice the limbs.

    Examples
    --------
    >>> import mdqr
    >>> x, info = mdqr.linalg.solve_continuous_are(
    ...     [[4]], [[1]], [[9]], [[1]], precision=mdqr.qd, return_info=True
    ... )
    >>> x.to_numpy().tolist(), bool(info.error_bound.max() < 1e-60)
    ([[9.0]], True)
    """
    given = (a, b, q, r)
    return _solved("solve_continuous_are", Continuous, given, precision, data_error, return_info)


@experimental
@of_four
@documented(solve_continuous_are)
def solve_discrete_are(
    a: Any,
    b: Any,
    q: Any,
    r: Any,
    /,
    *,
    precision: PrecisionLike | None = None,
    data_error: Mapping[str, Any] | None = None,
    return_info: bool = False,
) -> Any:
    """Solve ``a^H x a - x - a^H x b inv(r + b^H x b) b^H x a + q = 0``.

    As `scipy.linalg.solve_discrete_are`; `r` must have an inverse.

    Returns
    -------
    MDArray or tuple
        The stabilizing solutions ``(..., n, n)``: the eigenvalues of the closed loop
        ``inv(I + b inv(r) b^H x) a`` are in the unit disk. With `return_info` ``(x, info)``, an
        `Info` whose bounds are proven, and infinite where nothing is.

    Notes
    -----
    As `solve_continuous_are`, from a solution in float64 by doubling.

    >>> x = mdqr.linalg.solve_discrete_are([[0]], [[1]], [[3]], [[1]], precision=mdqr.qd)
    >>> x.to_numpy().tolist()
    [[3.0]]
    """
    return _solved("solve_discrete_are", Discrete, (a, b, q, r), precision, data_error, return_info)


def _solved(
    function: str,
    solution: type[RiccatiSolution],
    given: tuple[Any, ...],
    precision: PrecisionLike | None,
    data_error: Mapping[str, Any] | None,
    return_info: bool,
) -> Any:
    operands = gathered(function, ("a", "b", "q", "r"), given, precision, data_error)
    inputs, (a, b, q, r) = operands.inputs, operands.arrays
    _check_shapes(function, operands)
    q, r = (_hermitian(function, *pair) for pair in (("q", q), ("r", r)))
    n = a.shape[-1]
    with memory_guard(function, inputs, 40 * n * n, "take smaller matrices"):
        wide, gain = _gain(operands, r)
        require_value(
            function, "r is singular", inputs.precision, gain.last.reshape(operands.batch)
        )
        g = matmul(b, gain.value)
        found = RiccatiSolutions(Riccati(inputs.backend, a, g, q), solution)
        last = found.last.reshape(operands.batch)
        require_value(function, "no stabilizing solution was found", inputs.precision, last)
        x = wrapped(function, operands, found.value._block)
    if not return_info:
        return x

    rounding = last_rounding(found.value, x)

    def bound(errors: list[np.ndarray]) -> Floats:
        with np.errstate(all="ignore"):
            of_g = _errors_of_g(inputs.backend, wide, gain, g, errors)
            error = found.error(ErrorsOfData(errors[0], of_g, errors[2])).reshape(x.shape)
            return np.asarray(SLACK * (error + rounding) + 2.0**-1070)

    return x.copy(), Info(
        inputs.precision,
        abs(first_limbs(x)),
        lambda: bound([0.0 * e for e in operands.errors]),
        lambda: bound(operands.errors),
        method="Newton",
        iterations=found.steps,
    )


def _check_shapes(function: str, operands: Operands) -> None:
    a, b, q, r = operands.arrays
    n, k = square_order(function, "a", a.shape), square_order(function, "r", r.shape)
    for name, x, shape in (("b", b, (n, k)), ("q", q, (n, n))):
        if x.shape[-2:] != shape:
            raise np.linalg.LinAlgError(
                f"{function}: {name} must have the shape {shape}; got {x.shape[-2:]}"
            )


def _hermitian(function: str, name: str, x: MDArray) -> MDArray:
    """Return the Hermitian part of what should be Hermitian."""
    native = first_limbs(x)
    other = native.conj().swapaxes(-1, -2)
    if abs(native - other).max(initial=0.0) > _ASYMMETRY * abs(native).max(initial=0.0):
        raise ValueError(f"{function}: {name} must be Hermitian")
    return hermitian_part(x)


def _gain(operands: Operands, r: MDArray) -> tuple[MDArray, Solutions]:
    """Return B, and the solutions K of ``R K = B^H``, in twice the limbs if these exist."""
    b = operands.arrays[1]
    work = b.precision.next
    b, r = (
        MDArray._wrap(planes.widen(x._block, x.is_complex, work.limbs), work, x.is_complex)
        for x in (b, r)
    )
    kind, n = Kind(work.limbs, b.is_complex), b.shape[-2]
    zeros = b._like(kind.zeros(operands.inputs.backend.xp, (len(b), n, n)))
    adjoint = b._like(planes.adjoint(b._block, b.is_complex))
    return b, Solutions(Equation(operands.inputs.backend, r, zeros, adjoint))


def _errors_of_g(
    backend: Backend, b: MDArray, gain: Solutions, g: MDArray, errors: list[np.ndarray]
) -> np.ndarray:
    """Return bounds of the errors of ``G = B K``."""
    of_b, of_k = abs(first_limbs(b)), abs(first_limbs(gain.value))
    n = b.shape[-2]
    lost = gain.error(EntryErrors(errors[3], np.zeros((len(b), n, n)), errors[1].swapaxes(-1, -2)))
    left, right = ((x, Followed.none(x.shape)) for x in (b, gain.value))
    rounding = product_errors(backend, left, right, g).entries()
    return np.asarray(SLACK * (rounding + of_b @ lost + errors[1] @ (of_k + lost)))
