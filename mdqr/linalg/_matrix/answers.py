"""Results of functions of one matrix: the value, warnings, and the info of its errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, Literal, Protocol, cast, overload

import numpy as np

from mdqr._array.array import MDArray
from mdqr._errors import place_of_least, warn_of_precision
from mdqr._limbs import planes
from mdqr._limbs.planes import Kind
from mdqr._precision import PRECISIONS, Precision
from mdqr._typing import PrecisionLike
from mdqr.linalg._matrix.given import Given, Keep, first_limbs, frobenius, given_matrix
from mdqr.linalg._shared.checks import Checks, of_batch
from mdqr.linalg._shared.info import Info
from mdqr.linalg._shared.operands import memory_guard
from mdqr.linalg._spectral.disks import SLACK

# The relative change of a matrix by which condition numbers are bounded.
_CHANGE = 2.0**-60
# Last corrections beyond this show that nothing was found.
_NOTHING = 2.0**-10
# Warnings are given from so many eps on.
_ACCURATE = 2.0**10


class OfMatrix(Protocol):
    """The types of functions of one matrix."""

    @overload
    def __call__(
        self,
        a: Any,
        /,
        *,
        precision: PrecisionLike | None = ...,
        data_error: Mapping[str, Any] | None = ...,
        return_info: Literal[False] = ...,
    ) -> MDArray: ...
    @overload
    def __call__(
        self,
        a: Any,
        /,
        *,
        precision: PrecisionLike | None = ...,
        data_error: Mapping[str, Any] | None = ...,
        return_info: Literal[True],
    ) -> tuple[MDArray, Info]: ...


class OfTwo(Protocol):
    """The types of functions of a matrix and one more operand."""

    @overload
    def __call__(
        self,
        a: Any,
        other: Any,
        /,
        *,
        precision: PrecisionLike | None = ...,
        data_error: Mapping[str, Any] | None = ...,
        return_info: Literal[False] = ...,
    ) -> MDArray: ...
    @overload
    def __call__(
        self,
        a: Any,
        other: Any,
        /,
        *,
        precision: PrecisionLike | None = ...,
        data_error: Mapping[str, Any] | None = ...,
        return_info: Literal[True],
    ) -> tuple[MDArray, Info]: ...


class OfFour(Protocol):
    """The types of functions of four matrices."""

    @overload
    def __call__(
        self,
        a: Any,
        b: Any,
        q: Any,
        r: Any,
        /,
        *,
        precision: PrecisionLike | None = ...,
        data_error: Mapping[str, Any] | None = ...,
        return_info: Literal[False] = ...,
    ) -> MDArray: ...
    @overload
    def __call__(
        self,
        a: Any,
        b: Any,
        q: Any,
        r: Any,
        /,
        *,
        precision: PrecisionLike | None = ...,
        data_error: Mapping[str, Any] | None = ...,
        return_info: Literal[True],
    ) -> tuple[MDArray, Info]: ...


def of_matrix(function: Callable[..., Any]) -> OfMatrix:
    """Let type checkers see by `return_info` which result a function has."""
    return cast("OfMatrix", function)


def of_two(function: Callable[..., Any]) -> OfTwo:
    """Let type checkers see the result of a function of two operands."""
    return cast("OfTwo", function)


def of_four(function: Callable[..., Any]) -> OfFour:
    """Let type checkers see the result of a function of four operands."""
    return cast("OfFour", function)


# Bounds of the errors of entries of the value, or of norms of errors, given bounds of the errors of
# the entries of the matrix.
Error = Callable[[np.ndarray], np.ndarray]


class Found:
    """The function of the scaled matrices ``(batch, n, n)``.

    Attributes
    ----------
    value : MDArray
        The values.
    error : callable
        Bounds of the errors, given bounds of errors of entries of the matrices.
    last : numpy.ndarray
        Relative sizes of last corrections; zeros where nothing is iterated.
    of_norm : bool
        Whether bounds depend on the Frobenius norms of errors alone.
    """

    def __init__(
        self,
        value: MDArray,
        error: Error,
        last: np.ndarray | None = None,
        *,
        of_norm: bool = False,
    ) -> None:
        self.value, self.error, self.of_norm = value, error, of_norm
        self.last = np.zeros(len(value)) if last is None else last


def answered(
    name: str,
    a: Any,
    precision: PrecisionLike | None,
    data_error: Mapping[str, Any] | None,
    return_info: bool,
    evaluate: Callable[[Given], Found],
    missing: str,
    method: str,
    *,
    is_tight: bool = False,
    bound_kind: str = "proven",
) -> Any:
    """Return a function of matrices, and its info if asked for.

    `missing` is the predicate of the error message of a matrix without a value. Unless the bounds
    are tight, they are computed by the value of the next higher precision.
    """
    given = given_matrix(name, a, precision, data_error)
    higher = None if is_tight else _higher(given)
    if return_info:  # nothing of it may be a view of what users have
        keep: Keep = "" if higher else "errors" if _is_full(given) else "norms"
        given = given._replace(matrix=given.matrix.copy(), keep=keep)
    n = given.shape[-1]
    with memory_guard(name, given.inputs, 24 * n * n, "take smaller matrices"):
        found = evaluate(given)
        last = found.last.reshape(given.shape[:-2])
        require_value(name, f"a {missing}", given.inputs.precision, last)
        x = given.answer(found.value, Checks(), name)
    if not return_info:
        return x
    sizes = abs(first_limbs(given.matrix))
    error = found.error if higher is None else _by_higher(given, found, evaluate, higher)
    is_rounded = found.value.precision.limbs > x.precision.limbs
    spread = partial(given.spread, value=x, is_rounded=is_rounded)
    return x.copy(), Info(
        given.inputs.precision,
        abs(first_limbs(x)),
        lambda: spread(error(np.zeros(sizes.shape))),
        lambda: spread(error(given.entry_errors())),
        condition=lambda: _condition(given, found, error, sizes),
        bound_kind=bound_kind,
        method=method,
    )


def _higher(given: Given) -> Precision | None:
    """Return the next higher precision; None where answers have fewer limbs."""
    work = given.matrix.precision
    return min((p for p in PRECISIONS if p.limbs > work.limbs and _is_full(given)), default=None)


def _is_full(given: Given) -> bool:
    """Return whether answers have as many limbs as their matrices."""
    return given.inputs.precision.limbs >= given.matrix.precision.limbs


def _by_higher(
    given: Given, found: Found, evaluate: Callable[[Given], Found], precision: Precision
) -> Error:
    """Return bounds by the value of a higher precision and the bounds of that."""

    @cache
    def better() -> tuple[Found, np.ndarray]:
        field = given.matrix.is_complex
        block = planes.widen(given.matrix._block, field, precision.limbs)
        wide = MDArray._wrap(block, precision, field)
        other = evaluate(given._replace(matrix=wide, keep="norms"))
        kind = Kind(precision.limbs, other.value.is_complex)
        backend = given.inputs.backend
        moved = backend.binary("subtract", other.value._block, found.value._block, kind=kind)
        return other, SLACK * abs(first_limbs(other.value._like(moved)))

    def error(of_a: np.ndarray) -> np.ndarray:
        other, distance = better()
        found = other.error(of_a)
        return distance + (found[:, None, None] if found.ndim == 1 else found)

    return error


def require_value(function: str, missing: str, precision: Precision, last: np.ndarray) -> None:
    """Raise where nothing was found, and warn where values have lost digits.

    `last` are the last corrections, of the shape of the batch, `missing` is the message.
    """
    bad = ~(last <= _NOTHING)
    if bad.any():
        where = of_batch(tuple(map(int, np.argwhere(bad)[0])))
        raise np.linalg.LinAlgError(f"{function}: {missing}{where}")
    worst = last.max(initial=0.0)
    if worst > _ACCURATE * max(precision.eps, PRECISIONS[1].eps):
        warn_of_precision(
            f"linalg.{function}",
            f"{missing}, or nearly so: about {-np.log10(worst):.0f} digits of the result are "
            "correct. Take a higher precision",
            digits=float(-np.log10(worst)),
            precision=precision,
            index=place_of_least(-last) if last.shape else None,
        )


@np.errstate(all="ignore")
def _condition(given: Given, found: Found, error: Error, sizes: np.ndarray) -> Any:
    """Return bounds of condition numbers of the balanced matrices, in the Frobenius norm."""
    change = _CHANGE * frobenius(sizes)
    # Changes of this norm: of all entries together, or each of them of that size.
    entry = change / (max(1, sizes.shape[-1]) if found.of_norm else 1)
    moved = error(np.broadcast_to(entry[:, None, None], sizes.shape))
    if found.of_norm:
        moved = moved if moved.ndim == 1 else moved.max(axis=(-2, -1), initial=0.0)
    else:
        moved = frobenius(moved)
    relative = moved / frobenius(first_limbs(found.value)) / _CHANGE
    return np.where(np.isnan(relative), np.inf, relative).reshape(given.shape[:-2])[()]
