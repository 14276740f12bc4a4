"""Types other than `MDArray` that answer functions of mdqr and NumPy by methods of their own.

Truncated series and enclosures are arrays of something else than numbers: ``mdqr.exp(x)`` and
``np.exp(x)`` of them are ``x.exp()``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

# Operators of NumPy's arrays and scalars with such an operand on the right.
_REFLECTED = {
    "add": "__radd__",
    "subtract": "__rsub__",
    "multiply": "__rmul__",
    "divide": "__rtruediv__",
    "power": "__rpow__",
    "matmul": "__rmatmul__",
}
_OPERATORS = {name: reflected.replace("__r", "__") for name, reflected in _REFLECTED.items()}
_OPERATORS |= {"negative": "__neg__", "positive": "__pos__"}


class Answers:
    """Answers functions by methods of their names; without one they are refused.

    `_answered` are the names of these functions.
    """

    __slots__ = ()
    __array_priority__ = 2000
    _answered: frozenset[str] = frozenset()

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        name = ufunc.__name__
        if method != "__call__" or options:
            raise TypeError(f"np.{name} of a {type(self).__name__} has no such form")
        return answer_of(name, inputs)


def answer_of(name: str, operands: tuple[Any, ...]) -> Any:
    """Return the answer of the first operand that answers a function.

    Raises
    ------
    TypeError
        If the operand has no such function.
    """
    first = operands[0]
    if isinstance(first, Answers):
        if name in _OPERATORS:
            return getattr(first, _OPERATORS[name])(*operands[1:])
        if name in first._answered:
            return getattr(first, name)(*operands[1:])
    elif len(operands) == 2 and name in _REFLECTED:
        return getattr(operands[1], _REFLECTED[name])(first)
    kind = next(type(x).__name__ for x in operands if isinstance(x, Answers))
    raise TypeError(f"{name} does not exist for a {kind}")


def answered(function: Callable[..., Any], operands: tuple[Any, ...]) -> Any:
    """Return the answer to a function that refused its operands; None if none answers."""
    if not any(isinstance(x, Answers) for x in operands):
        return None
    return answer_of(function.__name__, operands)
